//! What a mapper may read besides its own object, and a note of everything that it read.
//!
//! A mapper gets a [`Lookup`] and asks it for nodes, pods or gateways. Each answer leaves a [`Dependency`], so the index
//! knows which objects to map again when something changes, and no mapper holds a line of invalidation code. What must
//! hold: a mapper reads nothing of the cluster but through here, and nothing beyond the reach of its source.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use zonewright_core::DnsName;
use zonewright_core::source::{Presence, PublishedNames};

use crate::annotations::carries;
use crate::kind::Kind;
use crate::objects::{EndpointSlice, Node, Pod, TextMap};
use crate::store::{Object, ObjectKey, Store, TypedObject};

/// Labels that must all be there; an empty selector matches everything.
pub type LabelMap = BTreeMap<String, String>;

/// How far a source sees the objects of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadScope {
    /// Every namespace, or a cluster-scoped kind.
    All,
    /// One namespace.
    Namespace(Arc<str>),
}

impl ReadScope {
    /// What is meant by a namespace flag: empty for all.
    pub fn of(namespace: &str) -> Self {
        if namespace.is_empty() { Self::All } else { Self::Namespace(Arc::from(namespace)) }
    }

    /// Whether objects of this namespace (empty for cluster-scoped ones) are seen.
    pub fn has(&self, namespace: &str) -> bool {
        match self {
            Self::All => true,
            Self::Namespace(only) => namespace.is_empty() || **only == *namespace,
        }
    }

    /// The least that holds both.
    #[must_use]
    pub fn join(self, other: &Self) -> Self {
        if self == *other { self } else { Self::All }
    }
}

/// What a source reads, and how far.
pub type Reads = BTreeMap<Kind, ReadScope>;

/// One thing that a mapper read.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dependency {
    /// One object, whether it was there or not.
    Object(ObjectKey),
    /// Every object of a kind.
    All(Kind),
    /// The objects of a kind whose labels match: those of a Pod, those that a Service selects by.
    Selected {
        /// The kind.
        kind: Kind,
        /// The only namespace; `None` for all.
        namespace: Option<Arc<str>>,
        /// Labels.
        selector: Arc<LabelMap>,
    },
    /// The EndpointSlices of a Service.
    Slices {
        /// Namespace of both.
        namespace: Arc<str>,
        /// Name of the Service.
        service: Arc<str>,
    },
}

impl Dependency {
    /// The kind that was read.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Object(key) => key.kind,
            Self::All(kind) | Self::Selected { kind, .. } => *kind,
            Self::Slices { .. } => Kind::EndpointSlice,
        }
    }

    /// Whether this reading may lack an object of which nothing but its name is known.
    pub fn may_miss(&self, key: &ObjectKey) -> bool {
        match self {
            Self::Object(read) => read == key,
            Self::All(kind) => *kind == key.kind,
            Self::Selected { kind, namespace, .. } => {
                *kind == key.kind && namespace.as_ref().is_none_or(|namespace| *namespace == key.namespace)
            }
            Self::Slices { namespace, .. } => key.kind == Kind::EndpointSlice && *namespace == key.namespace,
        }
    }
}

/// Whether labels satisfy a selector.
pub fn selects(selector: &LabelMap, labels: &TextMap) -> bool {
    selector.iter().all(|(key, value)| labels.get(key) == Some(value.as_str()))
}

/// Read access for one run of one mapper.
pub struct Lookup<'a> {
    store: &'a Store,
    reach: &'a Reads,
    published: Option<&'a dyn PublishedNames>,
    noted: RefCell<BTreeSet<Dependency>>,
    /// Whether it was asked what is published.
    asked: Cell<bool>,
    /// A prefix of annotations to look out for, and whether an object that was read carries it.
    prefix: Option<&'a str>,
    carried: Cell<bool>,
}

impl std::fmt::Debug for Lookup<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lookup").field("reach", &self.reach).field("noted", &self.noted).finish_non_exhaustive()
    }
}

impl<'a> Lookup<'a> {
    /// Access to as much of `store` as `reach` allows.
    pub fn new(store: &'a Store, reach: &'a Reads) -> Self {
        Self {
            store,
            reach,
            published: None,
            noted: RefCell::default(),
            asked: Cell::new(false),
            prefix: None,
            carried: Cell::new(false),
        }
    }

    /// The same, with access to what is published.
    #[must_use]
    pub fn with_published(self, published: Option<&'a dyn PublishedNames>) -> Self {
        Self { published, ..self }
    }

    /// Whether the object with this resource label has a record at `name`. Where nobody knows what is published, it has none.
    pub fn presence(&self, name: &DnsName, resource: Option<&Arc<str>>) -> Presence {
        self.asked.set(true);
        self.published.map_or(Presence::Free, |published| published.presence(name, resource))
    }

    /// Whether it was asked what is published.
    pub fn asked_for_presence(&self) -> bool {
        self.asked.get()
    }

    /// The same access, which looks out for annotations that begin with `prefix`.
    #[must_use]
    pub(crate) fn looking_out_for(self, prefix: Option<&'a str>) -> Self {
        Self { prefix, ..self }
    }

    /// Whether an object that was read carries such an annotation.
    pub(crate) fn has_found_prefix(&self) -> bool {
        self.carried.get()
    }

    /// Whether this kind is read at all. One that is not reads as empty.
    pub fn reads(&self, kind: Kind) -> bool {
        self.reach.contains_key(&kind)
    }

    /// One object.
    pub fn object<T: TypedObject>(&self, kind: Kind, namespace: &str, name: &str) -> Option<Arc<T>> {
        self.note(Dependency::Object(ObjectKey::new(kind, namespace, name)));
        self.seen(kind, self.store.object(kind, namespace, name))
    }

    /// Every object of a kind, sorted by namespace and name.
    pub fn all<T: TypedObject>(&self, kind: Kind) -> Vec<Arc<T>> {
        self.note(Dependency::All(kind));
        self.store.all(kind).filter_map(|object| self.seen(kind, Some(object))).collect()
    }

    /// The Pods or Services of one namespace (`None` for all) that `selector` matches, sorted; an empty selector matches
    /// all of them. A Pod is matched by its labels, a Service by those that it selects by.
    pub fn selected<T: TypedObject>(&self, kind: Kind, namespace: Option<&str>, selector: &LabelMap) -> Vec<Arc<T>> {
        self.note(Dependency::Selected {
            kind,
            namespace: namespace.map(Arc::from),
            selector: Arc::new(selector.clone()),
        });
        let matches = |object: &&Object| object.selectable().is_some_and(|labels| selects(selector, labels));
        let seen = |object| self.seen(kind, Some(object));
        match namespace {
            Some(namespace) => self.store.in_namespace(kind, namespace).filter(matches).filter_map(seen).collect(),
            None => self.store.all(kind).filter(matches).filter_map(seen).collect(),
        }
    }

    /// Every node, sorted by name.
    pub fn nodes(&self) -> Vec<Arc<Node>> {
        self.all(Kind::Node)
    }

    /// One node.
    pub fn node(&self, name: &str) -> Option<Arc<Node>> {
        self.object(Kind::Node, "", name)
    }

    /// The pods of a namespace that `selector` matches, sorted by name; an empty selector matches all of them.
    pub fn pods(&self, namespace: &str, selector: &LabelMap) -> Vec<Arc<Pod>> {
        self.selected(Kind::Pod, Some(namespace), selector)
    }

    /// The EndpointSlices that carry the Service's name in their label, sorted by name.
    pub fn endpoint_slices(&self, namespace: &str, service: &str) -> Vec<Arc<EndpointSlice>> {
        self.note(Dependency::Slices { namespace: Arc::from(namespace), service: Arc::from(service) });
        let slices = self.store.slices_of(namespace, service);
        slices.filter_map(|slice| self.seen(Kind::EndpointSlice, Some(slice))).collect()
    }

    /// Everything that was read, each once.
    pub fn into_reads(self) -> BTreeSet<Dependency> {
        self.noted.into_inner()
    }

    /// The body of an object that the source may see.
    fn seen<T: TypedObject>(&self, kind: Kind, object: Option<&Object>) -> Option<Arc<T>> {
        let object = object?;
        let reach = self.reach.get(&kind)?;
        if self.prefix.is_some_and(|prefix| carries(&object.meta().annotations, prefix)) {
            self.carried.set(true);
        }
        reach.has(&object.meta().namespace).then(|| object.body().cloned()).flatten()
    }

    fn note(&self, dependency: Dependency) {
        if self.reads(dependency.kind()) {
            self.noted.borrow_mut().insert(dependency);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::annotations::AnnotationFilterKeys;
    use crate::store::Keep;

    fn object(kind: Kind, namespace: &str, name: &str, labels: &[(&str, &str)]) -> Object {
        let labels: BTreeMap<&str, &str> = labels.iter().copied().collect();
        let value = json!({"metadata": {"namespace": namespace, "name": name, "labels": labels}});
        let keep = Keep { annotations: AnnotationFilterKeys::new([], []), whole: BTreeSet::new() };
        Object::from_value(kind, value, &keep).expect("the shape of any object")
    }

    fn store() -> Store {
        let slice = |name, service| object(Kind::EndpointSlice, "a", name, &[("kubernetes.io/service-name", service)]);
        Store::from_iter([
            object(Kind::Pod, "a", "p2", &[("app", "web"), ("tier", "x")]),
            object(Kind::Pod, "a", "p1", &[("app", "web")]),
            object(Kind::Pod, "a", "p3", &[]),
            object(Kind::Pod, "b", "p1", &[("app", "web")]),
            object(Kind::Node, "", "n2", &[]),
            object(Kind::Node, "", "n1", &[]),
            slice("s2", "web"),
            slice("s1", "web"),
            slice("s3", "db"),
        ])
    }

    fn reads(kinds: &[Kind]) -> Reads {
        kinds.iter().map(|kind| (*kind, ReadScope::All)).collect()
    }

    fn selector(labels: &[(&str, &str)]) -> LabelMap {
        labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn answers_are_sorted_by_name() {
        let store = store();
        let kinds = reads(&[Kind::Pod, Kind::Node, Kind::EndpointSlice]);
        let lookup = Lookup::new(&store, &kinds);
        let pods = |labels: &[(&str, &str)]| -> Vec<String> {
            lookup.pods("a", &selector(labels)).iter().map(|pod| pod.metadata.name.to_string()).collect()
        };
        assert_eq!(pods(&[("app", "web")]), ["p1", "p2"]);
        assert_eq!(pods(&[("app", "web"), ("tier", "x")]), ["p2"]);
        assert_eq!(pods(&[]), ["p1", "p2", "p3"], "an empty selector is every pod of the namespace");
        assert_eq!(pods(&[("app", "")]), [""; 0]);
        assert_eq!(lookup.nodes().iter().map(|node| &*node.metadata.name).collect::<Vec<_>>(), ["n1", "n2"]);
        assert!(lookup.node("n1").is_some() && lookup.node("n3").is_none());
        let slices = lookup.endpoint_slices("a", "web");
        assert_eq!(slices.iter().map(|slice| &*slice.metadata.name).collect::<Vec<_>>(), ["s1", "s2"]);
        assert!(lookup.endpoint_slices("b", "web").is_empty());
    }

    #[test]
    fn every_read_is_noted_found_or_not() {
        let store = store();
        let kinds = reads(&[Kind::Pod, Kind::Node]);
        let lookup = Lookup::new(&store, &kinds);
        lookup.node("nobody");
        lookup.nodes();
        lookup.pods("a", &selector(&[("app", "x")]));
        lookup.pods("a", &selector(&[("app", "x")]));
        assert!(!lookup.reads(Kind::EndpointSlice));
        lookup.endpoint_slices("a", "web");
        let kinds: Vec<Kind> = lookup.into_reads().iter().map(Dependency::kind).collect();
        assert_eq!(kinds, [Kind::Node, Kind::Node, Kind::Pod], "a kind that is not fed never changes");
    }

    #[test]
    fn an_object_is_held_once_and_indexes_follow_it() {
        let mut store = store();
        let moved = object(Kind::EndpointSlice, "a", "s1", &[("kubernetes.io/service-name", "db")]);
        assert!(store.insert(moved).is_some());
        let names = |store: &Store, service: &str| -> Vec<String> {
            store.slices_of("a", service).map(|slice| slice.meta().name.to_string()).collect()
        };
        assert_eq!(
            (names(&store, "web"), names(&store, "db")),
            (vec!["s2".to_owned()], vec!["s1".to_owned(), "s3".to_owned()])
        );
        assert!(store.remove(&ObjectKey::new(Kind::EndpointSlice, "a", "s1")).is_some());
        assert!(store.remove(&ObjectKey::new(Kind::EndpointSlice, "a", "s1")).is_none());
        assert_eq!((names(&store, "db"), store.len(Kind::EndpointSlice)), (vec!["s3".to_owned()], 2));
    }
}
