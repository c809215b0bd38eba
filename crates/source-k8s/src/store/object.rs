//! One object: what its kind was read into, and under which key it is held.
//!
//! In comes the JSON form of an object, or its shape; out goes the object with nothing but what a mapper reads.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;
use zonewright_core::endpoint::ObjectRef;

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

    /// An object of which nothing is known but its metadata.
    pub(super) fn bare(kind: Kind, metadata: Meta) -> Self {
        Self { kind, body: Plain { metadata }.wrap() }
    }

    /// The metadata, to be changed; `None` where the object is shared.
    pub(super) fn meta_mut(&mut self) -> Option<&mut Meta> {
        self.body.meta_mut()
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

    pub(super) fn service_of_slice(&self) -> Option<&str> {
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
