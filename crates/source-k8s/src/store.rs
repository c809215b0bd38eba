//! The objects as the feeds last saw them.
//!
//! In come whole objects, one by one; out go shared pointers by key, by namespace, and by the few other keys that a
//! mapper asks for. What must hold: an object is held once, under the namespace and name that its own metadata state,
//! and every index agrees with the table.

mod names;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;
use zonewright_core::endpoint::{ObjectRef, Uid};

use self::names::{Held, Names};
use crate::annotations::AnnotationFilterKeys;
use crate::kind::{Kind, every_kind};
use crate::objects::{
    AmbassadorHost, DnsEndpoint, EndpointSlice, F5Server, Gateway, GlooProxy, Host, HttpProxy, Ingress, IngressRoute,
    IstioGateway, IstioVirtualService, ListenerSet, Meta, Node, OpenshiftRoute, Plain, Pod, Route, RouteGroup, Service,
    TcpIngress, TextMap,
};

/// What `kubectl apply` writes: the object a second time.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

macro_rules! define_bodies {
    ($($shape:ident),*) => {
        /// What an object was read into. Cloning shares it.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Body {
            $(#[doc = concat!("See [`", stringify!($shape), "`].")] $shape(Arc<$shape>),)*
        }

        impl Body {
            fn meta(&self) -> &Meta {
                match self {
                    $(Self::$shape(body) => &body.metadata,)*
                }
            }

            /// The metadata, to be changed; `None` where the body is shared.
            fn meta_mut(&mut self) -> Option<&mut Meta> {
                match self {
                    $(Self::$shape(body) => Arc::get_mut(body).map(|body| &mut body.metadata),)*
                }
            }
        }

        $(impl TypedObject for $shape {
            fn of(body: &Body) -> Option<&Arc<Self>> {
                match body {
                    Body::$shape(body) => Some(body),
                    _ => None,
                }
            }

            fn wrap(self) -> Body {
                Body::$shape(Arc::new(self))
            }

            fn prune(&mut self, keep: &AnnotationFilterKeys) {
                self.prune(keep);
            }

            fn metadata_mut(&mut self) -> &mut Meta {
                &mut self.metadata
            }
        })*
    };
}
define_bodies!(
    Service,
    Ingress,
    EndpointSlice,
    Pod,
    Node,
    Plain,
    Gateway,
    ListenerSet,
    Route,
    DnsEndpoint,
    IstioGateway,
    IstioVirtualService,
    HttpProxy,
    TcpIngress,
    IngressRoute,
    GlooProxy,
    RouteGroup,
    OpenshiftRoute,
    AmbassadorHost,
    F5Server,
    Host
);

/// A struct that objects are read into.
pub trait TypedObject: DeserializeOwned + Send + Sync + 'static {
    /// The body, if it has this shape.
    fn of(body: &Body) -> Option<&Arc<Self>>;

    /// The body of this value.
    fn wrap(self) -> Body;

    /// Drops what no mapper reads.
    fn prune(&mut self, keep: &AnnotationFilterKeys);

    /// The metadata, to be completed.
    fn metadata_mut(&mut self) -> &mut Meta;
}

/// An object of one of the kinds that sources read. Cloning shares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    kind: Kind,
    body: Body,
}

/// What of an object is kept in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keep {
    /// The annotations.
    pub annotations: AnnotationFilterKeys,
    /// The kinds whose objects are kept whole besides, since templates read whatever they like.
    pub whole: BTreeSet<Kind>,
}

impl Keep {
    /// Whether objects of this kind are kept whole.
    pub fn keeps_whole(&self, kind: Kind) -> bool {
        matches!(kind, Kind::Custom(_)) || self.whole.contains(&kind)
    }
}

/// Kind, namespace and name: what distinguishes one object from another.
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

macro_rules! define_reading {
    ($($(#[$doc:meta])* $variant:ident($($row:tt)*) => $shape:ident;)*) => {
        /// Reads the body of an object of `kind`.
        fn read(kind: Kind, value: Value, keep: &Keep) -> Result<Body, Misshapen> {
            match kind {
                $(Kind::$variant => read_as::<$shape>(kind, value, keep),)*
                Kind::Custom(_) => read_as::<Plain>(kind, value, keep),
            }
        }
    };
}
every_kind!(define_reading);

fn read_as<T: TypedObject>(kind: Kind, value: Value, keep: &Keep) -> Result<Body, Misshapen> {
    let mut object = T::deserialize(&value).map_err(|error| misshapen::<T>(&value, &error))?;
    object.prune(&keep.annotations);
    object.metadata_mut().whole = keep.keeps_whole(kind).then(|| Arc::new(whole(kind, value)));
    Ok(object.wrap())
}

/// A field that has not the shape that the Kubernetes API gives it: which one, what was found and what was expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Misshapen(String);

/// Reads once more, and keeps track of the place.
fn misshapen<T: TypedObject>(value: &Value, error: &serde_json::Error) -> Misshapen {
    match serde_path_to_error::deserialize::<_, T>(value) {
        Err(placed) if placed.path().iter().next().is_some() => Misshapen(format!("{}: {error}", placed.path())),
        _ => Misshapen(error.to_string()),
    }
}

impl Object {
    /// Reads an object of `kind` from its JSON form; what `keep` does not name and no mapper reads is dropped.
    ///
    /// # Errors
    /// A field does not have the shape that the Kubernetes API gives it.
    pub fn from_value(kind: Kind, value: Value, keep: &Keep) -> Result<Self, Misshapen> {
        Ok(Self { kind, body: read(kind, value, keep)? })
    }

    /// An object that was read into its shape already; what `keep` does not name and no mapper reads is dropped.
    pub fn from_shape<T: TypedObject>(kind: Kind, mut object: T, keep: &Keep) -> Self {
        object.prune(&keep.annotations);
        Self { kind, body: object.wrap() }
    }

    /// The kind.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The body, if it has this shape.
    pub fn body<T: TypedObject>(&self) -> Option<&Arc<T>> {
        T::of(&self.body)
    }

    /// The metadata.
    pub fn meta(&self) -> &Meta {
        self.body.meta()
    }

    /// The key under which the object is held.
    pub fn key(&self) -> ObjectKey {
        let meta = self.meta();
        let namespace = if self.kind.spec().namespaced { Arc::clone(&meta.namespace) } else { Arc::default() };
        ObjectKey { kind: self.kind, namespace, name: Arc::clone(&meta.name) }
    }

    /// One text for the namespace of many objects, each of which nothing else has yet.
    pub(crate) fn share_namespace(&mut self, known: &mut BTreeSet<Arc<str>>) {
        let Some(meta) = self.body.meta_mut() else { return };
        if let Some(known) = known.get(&meta.namespace) {
            meta.namespace = Arc::clone(known);
        } else {
            known.insert(Arc::clone(&meta.namespace));
        }
    }

    /// Points to the object.
    pub fn reference(&self) -> ObjectRef {
        self.meta().object_ref(self.kind)
    }

    /// The labels that selectors are held against: those of a Pod, or those that a Service itself selects by.
    pub fn selectable(&self) -> Option<&TextMap> {
        match &self.body {
            Body::Pod(pod) => Some(&pod.metadata.labels),
            Body::Service(service) => Some(&service.spec.selector),
            _ => None,
        }
    }

    fn service_of_slice(&self) -> Option<&str> {
        self.body::<EndpointSlice>()?.service()
    }
}

/// The whole object for templates, without the bookkeeping of the API server, and with the kind that objects of a typed
/// list do not state.
fn whole(kind: Kind, mut value: Value) -> Value {
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.remove(LAST_APPLIED);
        }
    }
    if let Some(fields) = value.as_object_mut() {
        let spec = kind.spec();
        fields.entry("apiVersion").or_insert_with(|| spec.api_version().into());
        if !spec.name.is_empty() {
            fields.entry("kind").or_insert_with(|| spec.name.into());
        }
    }
    value
}

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
        let known = self.tables.get(&object.kind).and_then(|table| table.get_key_value(&*object.meta().namespace));
        if let Some(((known, _), meta)) = known.zip(object.body.meta_mut()) {
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
        self.held(key)?;
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

    fn held(&self, key: &ObjectKey) -> Option<&Held> {
        self.tables.get(&key.kind)?.get(&key.namespace)?.get(&key.name)
    }

    /// Whether an object is there, pruned or not.
    pub fn holds(&self, key: &ObjectKey) -> bool {
        self.held(key).is_some()
    }

    /// Whether an object is there of which nothing is left but who it is.
    pub fn is_pruned(&self, key: &ObjectKey) -> bool {
        self.held(key).is_some_and(|held| held.object().is_none())
    }

    /// Points to an object that is there, pruned or not.
    pub fn reference(&self, key: &ObjectKey) -> Option<ObjectRef> {
        Some(match self.held(key)? {
            Held::Whole(object) => object.reference(),
            Held::Remains(uid) => bare(key, uid).object_ref(key.kind),
        })
    }

    /// One object.
    pub fn object(&self, kind: Kind, namespace: &str, name: &str) -> Option<&Object> {
        self.tables.get(&kind)?.get(namespace)?.get(name)?.object()
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
                Some(Object { kind, body: Plain { metadata: bare(&key, uid) }.wrap() })
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
