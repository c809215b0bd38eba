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

/// So many objects are mapped at a time, so that what came of them is taken over before it is much.
const PART: usize = 1_024;

/// What is to be mapped.
pub struct MappingBatch {
    /// The objects, in order.
    pub(crate) readers: Arc<Vec<Reader>>,
    /// How many of them have been mapped.
    pub(crate) mapped: usize,
    /// Of which of them a DELETE event said that the object which was reported last is gone.
    pub(crate) tombstones: BTreeSet<Reader>,
    pub(crate) store: Store,
    pub(crate) roles: Arc<[SourceRole]>,
    pub(crate) options: Arc<SourceOptions>,
    /// The well-known annotation prefix that is not in force.
    pub(crate) other_prefix: Option<Arc<Other>>,
    pub(crate) published: Option<Arc<dyn PublishedNames>>,
}

impl std::fmt::Debug for MappingBatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MappingBatch").field("readers", &self.readers).finish_non_exhaustive()
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
    pub fn map(mut self) -> Vec<MappedItem> {
        std::iter::from_fn(|| self.map_part()).flatten().collect()
    }

    /// Maps the next objects; `None` if all are mapped.
    pub(crate) fn map_part(&mut self) -> Option<Vec<MappedItem>> {
        let part: Vec<MappedItem> =
            self.readers.iter().skip(self.mapped).take(PART).map(|reader| self.map_one(reader)).collect();
        self.mapped += part.len();
        Some(part).filter(|part| !part.is_empty())
    }

    fn map_one(&self, reader: &Reader) -> MappedItem {
        let object = self.store.object(reader.key.kind, &reader.key.namespace, &reader.key.name);
        let result = object.zip(self.roles.get(reader.source)).map(|(object, role)| {
            let lookup = Lookup::new(&self.store, &role.reads).with_published(self.published.as_deref());
            let other = self.other_prefix.as_deref();
            map(object, role, &self.options, other, lookup.looking_out_for(other.map(|other| other.prefix)))
        });
        let tombstone = self.tombstones.contains(reader);
        MappedItem { item: BatchItem { reader: reader.clone(), object: object.cloned(), tombstone }, result }
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

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Mutex, PoisonError};

    use serde_json::json;

    use super::*;
    use crate::kind::Kind;
    use crate::options::SourceKind;

    /// What was logged.
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl Write for Log {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// What is logged while one Service is mapped, which takes at least so long.
    fn logged(map_fn: crate::role::MapFn) -> String {
        let options = SourceOptions::default();
        let role = SourceRole::new(SourceKind::Service, Kind::Service, "service", &options, map_fn);
        let value =
            json!({"metadata": {"namespace": "shop", "name": "web", "uid": "1"}, "spec": {"type": "ClusterIP"}});
        let object = Object::from_value(Kind::Service, value, &options.keep()).expect("a Service");
        let store = Store::default();
        // Whether a line is of interest to anybody is asked of the thread that says it first, which may be another test's.
        let _ = tracing::subscriber::set_global_default(tracing_subscriber::registry());
        let log = Log::default();
        let writer = log.clone();
        let subscriber =
            tracing_subscriber::fmt().with_ansi(false).without_time().with_writer(move || writer.clone()).finish();
        tracing::subscriber::with_default(subscriber, || {
            map(&object, &role, &options, None, Lookup::new(&store, &role.reads));
        });
        let log = log.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&log).into_owned()
    }

    #[test]
    fn an_object_whose_mapping_takes_longer_than_a_second_is_named_in_the_log() {
        let slow = logged(|_, _| {
            // The mapping is timed by the clock of the machine.
            std::thread::sleep(SLOW);
            Mapped::default()
        });
        assert!(slow.contains("WARN") && slow.contains("mapping this object takes long"), "{slow}");
        assert!(slow.contains("Service shop/web") && slow.contains("names=0"), "{slow}");
        assert_eq!(logged(|_, _| Mapped::default()), "", "others are not");
    }
}
