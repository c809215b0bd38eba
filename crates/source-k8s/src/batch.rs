//! Objects that are to be mapped, with everything that their mappers may read.
//!
//! In come objects and a snapshot of the store, out go mappings. Nothing here needs the index, so that feeds and the engine go
//! on while an object is mapped, however large it is. What must hold: a mapping is what the snapshot gives; whoever brings it
//! back looks at what changed meanwhile.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use zonewright_core::endpoint::Mapped;

use crate::lookup::{Dependency, Lookup};
use crate::options::SourceOptions;
use crate::readers::Reader;
use crate::sources::{Role, Scope};
use crate::store::{Object, Store};

/// An object whose mapping takes longer is named in the log.
const SLOW: Duration = Duration::from_secs(1);

/// What is to be mapped.
#[derive(Debug)]
pub struct Batch {
    pub(crate) items: Vec<Item>,
    pub(crate) store: Store,
    pub(crate) roles: Arc<[Role]>,
    pub(crate) options: Arc<SourceOptions>,
}

/// One object as one source reads it.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) reader: Reader,
    /// The object; `None` if it is gone.
    pub(crate) object: Option<Object>,
    /// Whether a DELETE event said that the object which was told last is gone.
    pub(crate) tombstone: bool,
}

/// What came of one object.
#[derive(Debug)]
pub struct MappedItem {
    pub(crate) item: Item,
    /// What it asks for, and what its mapper read; `None` if it is gone.
    pub(crate) result: Option<(Mapped, BTreeSet<Dependency>)>,
}

impl Batch {
    /// Maps everything.
    pub fn map(self) -> Vec<MappedItem> {
        let Self { items, store, roles, options } = self;
        let map = |item: Item| {
            let role = roles.get(item.reader.source);
            let result = item.object.as_ref().zip(role).map(|(object, role)| map(object, role, &options, &store));
            MappedItem { item, result }
        };
        items.into_iter().map(map).collect()
    }
}

fn map(object: &Object, role: &Role, options: &SourceOptions, store: &Store) -> (Mapped, BTreeSet<Dependency>) {
    let began = Instant::now();
    let lookup = Lookup::new(store, &role.reads);
    let mapped = (role.map)(object, &Scope { role, options, lookup: &lookup });
    let took = began.elapsed();
    if took >= SLOW {
        let (object, took) = (object.reference(), zonewright_core::duration::show(took));
        tracing::warn!(%object, took, names = mapped.endpoints.len(), "mapping this object takes long; other objects wait for it");
    }
    (mapped, lookup.into_reads())
}
