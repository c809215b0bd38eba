//! Objects that are to be mapped, with everything that their mappers may read.
//!
//! In come objects and a snapshot of the store, out go mappings. Nothing here needs the index, so that feeds and the engine go
//! on while an object is mapped, however large it is. What must hold: a mapping is what the snapshot gives; whoever brings it
//! back looks at what changed meanwhile.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use zonewright_core::endpoint::Mapped;
use zonewright_core::source::PublishedNames;

use crate::annotations::carries;
use crate::lookup::{Dependency, Lookup};
use crate::options::SourceOptions;
use crate::other_prefix::Other;
use crate::readers::Reader;
use crate::role::{MapScope, SourceRole};
use crate::store::{Object, Store};

/// An object whose mapping takes longer is named in the log.
const SLOW: Duration = Duration::from_secs(1);

/// What is to be mapped.
pub struct MappingBatch {
    pub(crate) items: Vec<BatchItem>,
    pub(crate) store: Store,
    pub(crate) roles: Arc<[SourceRole]>,
    pub(crate) options: Arc<SourceOptions>,
    /// The well-known annotation prefix that is not in force.
    pub(crate) other_prefix: Option<Arc<Other>>,
    pub(crate) published: Option<Arc<dyn PublishedNames>>,
}

impl std::fmt::Debug for MappingBatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MappingBatch").field("items", &self.items).finish_non_exhaustive()
    }
}

/// One object as one source reads it.
#[derive(Debug)]
pub(crate) struct BatchItem {
    pub(crate) reader: Reader,
    /// The object; `None` if it is gone.
    pub(crate) object: Option<Object>,
    /// Whether a DELETE event said that the object which was reported last is gone.
    pub(crate) tombstone: bool,
}

/// What came of one object.
#[derive(Debug)]
pub struct MappedItem {
    pub(crate) item: BatchItem,
    /// `None` if it is gone.
    pub(crate) result: Option<Mapping>,
}

/// What a mapper gave.
#[derive(Debug)]
pub(crate) struct Mapping {
    /// What the object asks for.
    pub(crate) mapped: Mapped,
    /// What the mapper read.
    pub(crate) reads: BTreeSet<Dependency>,
    /// Whether it asked what is published.
    pub(crate) by_presence: bool,
}

impl Mapping {
    /// Whether nothing but the object itself has a part in it, and all of it is known.
    pub(crate) fn rests_on_itself(&self) -> bool {
        self.reads.is_empty() && !self.by_presence && self.mapped.unknown.is_empty()
    }
}

impl MappingBatch {
    /// Maps everything.
    pub fn map(self) -> Vec<MappedItem> {
        let Self { items, store, roles, options, other_prefix, published } = self;
        let prefix = other_prefix.as_ref().map(|other| other.prefix);
        let map = |item: BatchItem| {
            let role = roles.get(item.reader.source);
            let result = item.object.as_ref().zip(role).map(|(object, role)| {
                let lookup = Lookup::new(&store, &role.reads).with_published(published.as_deref());
                map(object, role, &options, other_prefix.as_deref(), lookup.looking_out_for(prefix))
            });
            MappedItem { item, result }
        };
        items.into_iter().map(map).collect()
    }
}

fn map(
    object: &Object,
    role: &SourceRole,
    options: &SourceOptions,
    other: Option<&Other>,
    lookup: Lookup<'_>,
) -> Mapping {
    let began = Instant::now();
    let mut mapped = (role.map)(object, &MapScope { role, options, lookup: &lookup });
    if let Some(other) = other
        && (carries(&object.meta().annotations, other.prefix) || lookup.has_found_prefix())
    {
        let second = (role.map)(object, &MapScope { role, options: &other.options, lookup: &lookup });
        other.note(object.reference(), &mut mapped, second);
    }
    let took = began.elapsed();
    if took >= SLOW {
        let (object, took) = (object.reference(), zonewright_core::duration::show(took));
        tracing::warn!(%object, took, names = mapped.endpoints.len(), "mapping this object takes long; other objects wait for it");
    }
    let by_presence = lookup.asked_for_presence();
    Mapping { mapped, reads: lookup.into_reads(), by_presence }
}
