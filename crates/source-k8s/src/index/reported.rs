//! What was reported of each object, by source, namespace and name.
//!
//! One entry for each object that asks for something, so each key is little more than the name: a source maps objects of one kind.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::sync::Arc;

use zonewright_core::endpoint::{Mapped, ObjectRef};

use crate::kind::Kind;
use crate::objects::Meta;
use crate::readers::Reader;
use crate::role::SourceRole;
use crate::store::ObjectKey;

/// What was reported of one object.
#[derive(Debug)]
pub(super) struct Reported {
    /// Who it is, where that is not [implied].
    object: Option<Box<ObjectRef>>,
    pub(super) mapped: Arc<Mapped>,
}

impl Reported {
    pub(super) fn new(reader: &Reader, object: ObjectRef, mapped: Arc<Mapped>) -> Self {
        let object = (implied(reader, &mapped) != object).then(|| Box::new(object));
        Self { object, mapped }
    }

    /// The object that it was reported of.
    pub(super) fn object(&self, reader: &Reader) -> ObjectRef {
        self.object.as_deref().cloned().unwrap_or_else(|| implied(reader, &self.mapped))
    }
}

/// Who the object is by its first endpoint; else by its reader's key, without a UID.
fn implied(reader: &Reader, mapped: &Mapped) -> ObjectRef {
    let asks = mapped.endpoints.first().map(|endpoint| endpoint.origin.object.clone());
    asks.unwrap_or_else(|| {
        let ObjectKey { kind, namespace, name } = reader.key.clone();
        Meta { namespace, name, ..Meta::default() }.object_ref(kind)
    })
}

/// What a source reported of the objects of one namespace, by name.
type Names = BTreeMap<Arc<str>, Reported>;

/// What was reported of all objects.
#[derive(Debug)]
pub(super) struct ReportedObjects {
    /// The kind that each source maps, with its objects by namespace.
    sources: Vec<(Kind, BTreeMap<Arc<str>, Names>)>,
    len: usize,
}

impl ReportedObjects {
    pub(super) fn new(roles: &[SourceRole]) -> Self {
        Self { sources: roles.iter().map(|role| (role.kind, BTreeMap::new())).collect(), len: 0 }
    }

    /// Number of objects.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn get(&self, reader: &Reader) -> Option<&Reported> {
        let (kind, namespaces) = self.sources.get(reader.source)?;
        namespaces.get(&reader.key.namespace).filter(|_| *kind == reader.key.kind)?.get(&reader.key.name)
    }

    /// Puts in what was reported of an object, in the place of what was before.
    pub(super) fn insert(&mut self, reader: &Reader, reported: Reported) {
        let Some((kind, namespaces)) = self.sources.get_mut(reader.source) else { return };
        debug_assert_eq!(*kind, reader.key.kind, "a source maps one kind");
        let names = namespaces.entry(reader.key.namespace.clone()).or_default();
        if names.insert(reader.key.name.clone(), reported).is_none() {
            self.len += 1;
        }
    }

    pub(super) fn remove(&mut self, reader: &Reader) -> Option<Reported> {
        let (kind, namespaces) = self.sources.get_mut(reader.source)?;
        let names = namespaces.get_mut(&reader.key.namespace).filter(|_| *kind == reader.key.kind)?;
        let removed = names.remove(&reader.key.name)?;
        if names.is_empty() {
            namespaces.remove(&reader.key.namespace);
        }
        self.len -= 1;
        Some(removed)
    }

    /// Every object, in the order of the readers.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Reader, &Reported)> {
        self.after(None)
    }

    /// The objects after one, in the order of the readers.
    pub(super) fn after(&self, last: Option<&Reader>) -> impl Iterator<Item = (Reader, &Reported)> {
        let sources = self.sources.iter().enumerate().skip(last.map_or(0, |last| last.source));
        sources.flat_map(move |(source, (kind, namespaces))| {
            let last = last.filter(|last| last.source == source).map(|last| &last.key);
            let first = last.map_or(Unbounded, |last| Included(&*last.namespace));
            namespaces.range::<str, _>((first, Unbounded)).flat_map(move |(namespace, names)| {
                let last = last.filter(|last| last.namespace == *namespace);
                let first = last.map_or(Unbounded, |last| Excluded(&*last.name));
                names.range::<str, _>((first, Unbounded)).map(move |(name, reported)| {
                    let key = ObjectKey { kind: *kind, namespace: namespace.clone(), name: name.clone() };
                    (Reader { source, key }, reported)
                })
            })
        })
    }

    /// Lays the tables out anew, without the room that they grew with.
    pub(super) fn compact(&mut self) {
        for names in self.sources.iter_mut().flat_map(|(_, namespaces)| namespaces.values_mut()) {
            *names = std::mem::take(names).into_iter().collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{SourceKind, SourceOptions};
    use crate::sources;

    fn table() -> ReportedObjects {
        let sources = vec![SourceKind::Service, SourceKind::Ingress];
        ReportedObjects::new(&sources::roles(&SourceOptions { sources, ..SourceOptions::default() }))
    }

    fn reader(source: usize, namespace: &str, name: &str) -> Reader {
        let kind = [Kind::Service, Kind::Ingress][source];
        Reader { source, key: ObjectKey::new(kind, namespace, name) }
    }

    fn reported() -> Reported {
        Reported { object: None, mapped: Arc::default() }
    }

    #[test]
    fn an_object_is_who_it_was_reported_as() {
        let reader = reader(0, "a", "x");
        let asks: Mapped = zonewright_core::testing::mapped("Service", "y", &["y.example A 192.0.2.1"]);
        let asking = asks.endpoints[0].origin.object.clone();
        let plain = ObjectKey::new(Kind::Service, "a", "x");
        let bare = |uid: &str| {
            let (namespace, name) = (plain.namespace.clone(), plain.name.clone());
            Meta { namespace, name, uid: uid.into(), ..Meta::default() }.object_ref(Kind::Service)
        };
        for mapped in [Mapped::default(), asks].map(Arc::new) {
            for object in [bare(""), bare("u-1"), asking.clone()] {
                let reported = Reported::new(&reader, object.clone(), mapped.clone());
                assert_eq!(reported.object(&reader), object);
            }
        }
        assert!(Reported::new(&reader, bare(""), Arc::default()).object.is_none());
    }

    #[test]
    fn objects_come_in_the_order_of_their_readers() {
        let readers = [(0, "a", "x"), (0, "a", "y"), (0, "b", "x"), (1, "a", "x"), (1, "c", "x")];
        let readers = readers.map(|(source, namespace, name)| reader(source, namespace, name));
        let mut table = table();
        readers.iter().rev().chain(&readers).for_each(|reader| table.insert(reader, reported()));
        table.compact();
        let all = |last: Option<&Reader>| table.after(last).map(|(reader, _)| reader).collect::<Vec<_>>();
        assert_eq!((all(None), table.len()), (readers.to_vec(), 5));
        for (at, last) in readers.iter().enumerate() {
            assert_eq!(all(Some(last)), readers[at + 1..], "after {last:?}");
        }
        assert_eq!(all(Some(&reader(0, "aa", "z"))), readers[2..], "one that is gone");
    }

    #[test]
    fn what_is_taken_out_is_gone() {
        let mut table = table();
        table.insert(&reader(0, "a", "x"), reported());
        let other_kind = Reader { source: 1, ..reader(0, "a", "x") };
        assert!(table.get(&other_kind).is_none() && table.remove(&other_kind).is_none());
        assert!(table.remove(&reader(0, "a", "y")).is_none() && table.get(&reader(0, "a", "x")).is_some());
        assert!(table.remove(&reader(0, "a", "x")).is_some());
        assert_eq!((table.len(), table.iter().count()), (0, 0));
    }

    #[test]
    fn an_entry_is_small() {
        assert_eq!(size_of::<(Arc<str>, Reported)>(), 32);
    }
}
