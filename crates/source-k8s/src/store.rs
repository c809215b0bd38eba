//! The objects as the feeds last saw them.
//!
//! In come whole objects, one by one; out go shared pointers by key, by namespace, and by the few other keys that a
//! mapper asks for. What must hold: an object is held once, under the namespace and name that its own metadata state,
//! and every index agrees with the table.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use zonewright_core::endpoint::ObjectRef;

use crate::annotations::AnnotationFilterKeys;
use crate::kind::Kind;
use crate::objects::{EndpointSlice, Ingress, Meta, Node, Pod, Service};

/// An object of one of the kinds that sources read. Cloning shares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Object {
    /// A Service.
    Service(Arc<Service>),
    /// An Ingress.
    Ingress(Arc<Ingress>),
    /// An EndpointSlice.
    EndpointSlice(Arc<EndpointSlice>),
    /// A Pod.
    Pod(Arc<Pod>),
    /// A Node.
    Node(Arc<Node>),
}

/// Kind, namespace and name: what tells one object from another.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectKey {
    /// The kind.
    pub kind: Kind,
    /// Namespace; empty for cluster-scoped kinds.
    pub namespace: Arc<str>,
    /// Name.
    pub name: Arc<str>,
}

impl ObjectKey {
    /// The key of an object of `kind`; the namespace of a cluster-scoped kind is dropped.
    pub fn new(kind: Kind, namespace: &str, name: &str) -> Self {
        let namespace = if kind.spec().namespaced { namespace } else { "" };
        Self { kind, namespace: Arc::from(namespace), name: Arc::from(name) }
    }
}

impl std::fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &*self.namespace {
            "" => write!(f, "{} {}", self.kind.spec().name, self.name),
            namespace => write!(f, "{} {namespace}/{}", self.kind.spec().name, self.name),
        }
    }
}

impl Object {
    /// Reads an object of `kind` from its JSON form; what no mapper reads is dropped, and annotations that `keep` does
    /// not name.
    ///
    /// # Errors
    /// A field does not have the shape that the Kubernetes API gives it.
    pub fn from_value(kind: Kind, value: Value, keep: &AnnotationFilterKeys) -> Result<Self, serde_json::Error> {
        macro_rules! read {
            ($variant:ident, $object:ty) => {{
                let mut object: $object = serde_json::from_value(value)?;
                object.prune(keep);
                Self::$variant(Arc::new(object))
            }};
        }
        Ok(match kind {
            Kind::Service => read!(Service, Service),
            Kind::Ingress => read!(Ingress, Ingress),
            Kind::EndpointSlice => read!(EndpointSlice, EndpointSlice),
            Kind::Pod => read!(Pod, Pod),
            Kind::Node => read!(Node, Node),
        })
    }

    /// The kind.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Service(_) => Kind::Service,
            Self::Ingress(_) => Kind::Ingress,
            Self::EndpointSlice(_) => Kind::EndpointSlice,
            Self::Pod(_) => Kind::Pod,
            Self::Node(_) => Kind::Node,
        }
    }

    /// The metadata.
    pub fn meta(&self) -> &Meta {
        match self {
            Self::Service(object) => &object.metadata,
            Self::Ingress(object) => &object.metadata,
            Self::EndpointSlice(object) => &object.metadata,
            Self::Pod(object) => &object.metadata,
            Self::Node(object) => &object.metadata,
        }
    }

    /// The key under which the object is held.
    pub fn key(&self) -> ObjectKey {
        let meta = self.meta();
        let kind = self.kind();
        let namespace = if kind.spec().namespaced { Arc::clone(&meta.namespace) } else { Arc::default() };
        ObjectKey { kind, namespace, name: Arc::clone(&meta.name) }
    }

    /// Points to the object.
    pub fn reference(&self) -> ObjectRef {
        self.meta().object_ref(self.kind())
    }

    fn service_of_slice(&self) -> Option<&str> {
        match self {
            Self::EndpointSlice(slice) => slice.service(),
            _ => None,
        }
    }
}

/// Objects by namespace and name, so that a namespace is a range and its name is held once.
type Table = BTreeMap<Arc<str>, BTreeMap<Arc<str>, Object>>;

/// Names of objects by the namespace and name of a Service.
type NamesByService = BTreeMap<(Arc<str>, Arc<str>), BTreeSet<Arc<str>>>;

/// The objects of every kind.
#[derive(Debug, Default)]
pub struct Store {
    tables: BTreeMap<Kind, Table>,
    /// The EndpointSlices of each Service.
    slices: NamesByService,
}

impl Store {
    /// Puts an object in place; returns the one that stood there.
    pub fn insert(&mut self, object: Object) -> Option<Object> {
        let key = object.key();
        let old = self.remove(&key);
        if let Some(service) = object.service_of_slice() {
            let at = (Arc::clone(&key.namespace), Arc::from(service));
            self.slices.entry(at).or_default().insert(Arc::clone(&key.name));
        }
        self.tables.entry(key.kind).or_default().entry(key.namespace).or_default().insert(key.name, object);
        old
    }

    /// Takes an object out.
    pub fn remove(&mut self, key: &ObjectKey) -> Option<Object> {
        let table = self.tables.get_mut(&key.kind)?;
        let names = table.get_mut(&key.namespace)?;
        let old = names.remove(&key.name)?;
        if names.is_empty() {
            table.remove(&key.namespace);
        }
        self.forget_slice(&old, key);
        Some(old)
    }

    fn forget_slice(&mut self, old: &Object, key: &ObjectKey) {
        let Some(service) = old.service_of_slice() else { return };
        let at = (Arc::clone(&key.namespace), Arc::from(service));
        if let Some(names) = self.slices.get_mut(&at) {
            names.remove(&key.name);
            if names.is_empty() {
                self.slices.remove(&at);
            }
        }
    }

    /// One object.
    pub fn object(&self, kind: Kind, namespace: &str, name: &str) -> Option<&Object> {
        self.tables.get(&kind)?.get(namespace)?.get(name)
    }

    /// The objects of a kind in one namespace, sorted by name.
    pub fn in_namespace(&self, kind: Kind, namespace: &str) -> impl Iterator<Item = &Object> {
        let names = self.tables.get(&kind).and_then(|table| table.get(namespace));
        names.into_iter().flat_map(BTreeMap::values)
    }

    /// Every object of a kind, sorted by namespace and name.
    pub fn all(&self, kind: Kind) -> impl Iterator<Item = &Object> {
        self.tables.get(&kind).into_iter().flat_map(BTreeMap::values).flat_map(BTreeMap::values)
    }

    /// The EndpointSlices that name a Service, sorted by name.
    pub fn slices_of(&self, namespace: &str, service: &str) -> impl Iterator<Item = &Object> {
        let names = self.slices.get(&(Arc::from(namespace), Arc::from(service)));
        let table = self.tables.get(&Kind::EndpointSlice).and_then(|table| table.get(namespace));
        table.into_iter().flat_map(move |table| names.into_iter().flatten().filter_map(|name| table.get(name)))
    }

    /// Number of objects of a kind.
    pub fn len(&self, kind: Kind) -> usize {
        self.tables.get(&kind).map_or(0, |table| table.values().map(BTreeMap::len).sum())
    }
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
