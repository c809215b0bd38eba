//! The objects as the feeds last saw them.
//!
//! In come whole objects, one by one; out go shared pointers by key, by namespace, and by the few other keys that a
//! mapper asks for. What must hold: an object is held once, under the namespace and name that its own metadata state,
//! and every index agrees with the table.

mod names;
mod object;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use zonewright_core::endpoint::{ObjectRef, Uid};

use self::names::{Held, Names};
pub use self::object::{Body, Keep, Misshapen, Object, ObjectKey, TypedObject};
use crate::kind::Kind;
use crate::objects::Meta;

/// Objects by namespace and name, so that a namespace is a range and its name is held once.
type Table = BTreeMap<Arc<str>, Names>;

/// Names of objects by the namespace and name of a Service.
type NamesByService = BTreeMap<(Arc<str>, Arc<str>), BTreeSet<Arc<str>>>;

/// The objects of every kind. A clone shares everything: only the pieces of namespaces that change while it lasts are copied.
///
/// Of an object that was [pruned](Store::prune) the store says that it is there, and who it is: whoever reads objects does not meet it.
#[derive(Debug, Clone, Default)]
pub struct Store {
    tables: BTreeMap<Kind, Arc<Table>>,
    /// The EndpointSlices of each Service.
    slices: Arc<NamesByService>,
}

/// An object that was taken out of the store; `None` if it had been pruned.
pub type Removed = Option<Object>;

impl Store {
    /// Puts an object in place; returns the one that stood there, unless that had been pruned.
    pub fn insert(&mut self, mut object: Object) -> Option<Object> {
        // One text for the namespace of all its objects.
        let known = self.tables.get(&object.kind()).and_then(|table| table.get_key_value(&*object.meta().namespace));
        if let Some(((known, _), meta)) = known.zip(object.meta_mut()) {
            meta.namespace = Arc::clone(known);
        }
        let key = object.key();
        let old = self.remove(&key);
        if let Some(service) = object.service_of_slice() {
            let at = (Arc::clone(&key.namespace), Arc::from(service));
            Arc::make_mut(&mut self.slices).entry(at).or_default().insert(Arc::clone(&key.name));
        }
        let table = Arc::make_mut(self.tables.entry(key.kind).or_default());
        table.entry(key.namespace).or_default().insert(key.name, Held::Whole(object));
        old.flatten()
    }

    /// Takes an object out; `None` if it is not there.
    pub fn remove(&mut self, key: &ObjectKey) -> Option<Removed> {
        self.held(key.kind, &key.namespace, &key.name)?;
        let table = Arc::make_mut(self.tables.get_mut(&key.kind)?);
        let names = table.get_mut(&key.namespace)?;
        let old = names.remove(&key.name)?.into_object();
        if names.is_empty() {
            table.remove(&key.namespace);
        }
        if let Some(old) = &old {
            self.forget_slice(old, key);
        }
        Some(old)
    }

    /// Keeps of an object only who it is. Returns whether it was there as it was mapped.
    pub fn prune(&mut self, mapped: &Object) -> bool {
        let key = mapped.key();
        let there = self
            .object(key.kind, &key.namespace, &key.name)
            .is_some_and(|object| std::ptr::eq(object.meta(), mapped.meta()));
        let tables = self.tables.get_mut(&key.kind).map(Arc::make_mut).filter(|_| there);
        let names = tables.and_then(|table| table.get_mut(&key.namespace));
        if let Some(held) = names.and_then(|names| names.get_mut(&key.name)) {
            *held = Held::Remains(mapped.meta().uid.clone());
        }
        there
    }

    /// Lays the tables out anew, without the room that they grew with.
    pub fn compact(&mut self) {
        for table in self.tables.values_mut() {
            Arc::make_mut(table).values_mut().for_each(Names::compact);
        }
    }

    fn forget_slice(&mut self, old: &Object, key: &ObjectKey) {
        let Some(service) = old.service_of_slice() else { return };
        let at = (Arc::clone(&key.namespace), Arc::from(service));
        let slices = Arc::make_mut(&mut self.slices);
        if let Some(names) = slices.get_mut(&at) {
            names.remove(&key.name);
            if names.is_empty() {
                slices.remove(&at);
            }
        }
    }

    fn held(&self, kind: Kind, namespace: &str, name: &str) -> Option<&Held> {
        self.tables.get(&kind)?.get(namespace)?.get(name)
    }

    /// Whether an object is there, pruned or not.
    pub fn holds(&self, kind: Kind, namespace: &str, name: &str) -> bool {
        self.held(kind, namespace, name).is_some()
    }

    /// Whether an object is there of which nothing is left but who it is.
    pub fn is_pruned(&self, key: &ObjectKey) -> bool {
        self.held(key.kind, &key.namespace, &key.name).is_some_and(|held| held.object().is_none())
    }

    /// Points to an object that is there, pruned or not.
    pub fn reference(&self, key: &ObjectKey) -> Option<ObjectRef> {
        Some(match self.held(key.kind, &key.namespace, &key.name)? {
            Held::Whole(object) => object.reference(),
            Held::Remains(uid) => bare(key, uid).object_ref(key.kind),
        })
    }

    /// One object.
    pub fn object(&self, kind: Kind, namespace: &str, name: &str) -> Option<&Object> {
        self.held(kind, namespace, name)?.object()
    }

    /// The objects of a kind in one namespace, sorted by name.
    pub fn in_namespace(&self, kind: Kind, namespace: &str) -> impl Iterator<Item = &Object> {
        let names = self.tables.get(&kind).and_then(|table| table.get(namespace));
        names.into_iter().flat_map(Names::iter).filter_map(|(_, held)| held.object())
    }

    /// Every object of a kind, sorted by namespace and name.
    pub fn all(&self, kind: Kind) -> impl Iterator<Item = &Object> {
        let names = self.tables.get(&kind).into_iter().flat_map(|table| table.values());
        names.flat_map(Names::iter).filter_map(|(_, held)| held.object())
    }

    /// The key of every object of a kind, pruned or not, sorted by namespace and name.
    pub fn keys(&self, kind: Kind) -> impl Iterator<Item = ObjectKey> {
        let all = self.tables.get(&kind).into_iter().flat_map(|table| table.iter());
        all.flat_map(move |(namespace, names)| {
            names.iter().map(move |(name, _)| ObjectKey { kind, namespace: namespace.clone(), name: name.clone() })
        })
    }

    /// Every object of a kind that was pruned, as one that states nothing but who it is, sorted by namespace and name.
    pub fn pruned(&self, kind: Kind) -> impl Iterator<Item = Object> {
        let all = self.tables.get(&kind).into_iter().flat_map(|table| table.iter());
        all.flat_map(move |(namespace, names)| {
            names.iter().filter_map(move |(name, held)| {
                let Held::Remains(uid) = held else { return None };
                let key = ObjectKey { kind, namespace: namespace.clone(), name: name.clone() };
                Some(Object::bare(kind, bare(&key, uid)))
            })
        })
    }

    /// The EndpointSlices that name a Service, sorted by name.
    pub fn slices_of(&self, namespace: &str, service: &str) -> impl Iterator<Item = &Object> {
        let names = self.slices.get(&(Arc::from(namespace), Arc::from(service)));
        let table = self.tables.get(&Kind::EndpointSlice).and_then(|table| table.get(namespace));
        let slices = table.into_iter().flat_map(move |table| names.into_iter().flatten().map(|name| table.get(name)));
        slices.filter_map(|held| held?.object())
    }

    /// Number of objects of a kind, those that were pruned among them.
    pub fn len(&self, kind: Kind) -> usize {
        self.tables.get(&kind).map_or(0, |table| table.values().map(Names::len).sum())
    }
}

/// The metadata of an object of which nothing is left but who it is.
fn bare(key: &ObjectKey, uid: &Uid) -> Meta {
    let ObjectKey { namespace, name, .. } = key.clone();
    Meta { namespace, name, uid: uid.clone(), ..Meta::default() }
}

impl FromIterator<Object> for Store {
    fn from_iter<I: IntoIterator<Item = Object>>(objects: I) -> Self {
        let mut store = Self::default();
        for object in objects {
            store.insert(object);
        }
        store
    }
}
