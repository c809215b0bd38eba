//! What a mapper may read besides its own object, and a note of everything that it read.
//!
//! A mapper gets a [`Lookup`] and asks it for nodes, pods or slices. Each answer leaves a [`Dependency`], so the index
//! knows which objects to map again when something changes, and no mapper holds a line of invalidation code. What must
//! hold: a mapper reads nothing of the cluster but through here.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::kind::Kind;
use crate::objects::{EndpointSlice, Node, Pod, TextMap};
use crate::store::{Object, ObjectKey, Store};

/// `spec.selector` of a Service: labels that must all be there; empty means every pod of the namespace.
pub type PodSelector = BTreeMap<String, String>;

/// One thing that a mapper read.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dependency {
    /// One object, whether it was there or not.
    Object(ObjectKey),
    /// Every object of a kind.
    All(Kind),
    /// The pods of a namespace whose labels match.
    Pods {
        /// Namespace.
        namespace: Arc<str>,
        /// Labels.
        selector: Arc<PodSelector>,
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
            Self::All(kind) => *kind,
            Self::Pods { .. } => Kind::Pod,
            Self::Slices { .. } => Kind::EndpointSlice,
        }
    }
}

/// Whether labels satisfy a selector.
pub fn selects(selector: &PodSelector, labels: &TextMap) -> bool {
    selector.iter().all(|(key, value)| labels.get(key) == Some(value.as_str()))
}

/// Read access for one run of one mapper.
#[derive(Debug)]
pub struct Lookup<'a> {
    store: &'a Store,
    kinds: &'a BTreeSet<Kind>,
    reads: RefCell<BTreeSet<Dependency>>,
}

impl<'a> Lookup<'a> {
    /// Access to `store`, of which only `kinds` are fed.
    pub fn new(store: &'a Store, kinds: &'a BTreeSet<Kind>) -> Self {
        Self { store, kinds, reads: RefCell::default() }
    }

    /// Whether this kind is fed at all. One that is not reads as empty.
    pub fn reads(&self, kind: Kind) -> bool {
        self.kinds.contains(&kind)
    }

    /// Every node, sorted by name.
    pub fn nodes(&self) -> Vec<Arc<Node>> {
        self.note(Dependency::All(Kind::Node));
        self.store.all(Kind::Node).filter_map(node_of).collect()
    }

    /// One node.
    pub fn node(&self, name: &str) -> Option<Arc<Node>> {
        self.note(Dependency::Object(ObjectKey::new(Kind::Node, "", name)));
        self.store.object(Kind::Node, "", name).and_then(node_of)
    }

    /// The pods of a namespace that `selector` matches, sorted by name; an empty selector matches all of them.
    pub fn pods(&self, namespace: &str, selector: &PodSelector) -> Vec<Arc<Pod>> {
        self.note(Dependency::Pods { namespace: Arc::from(namespace), selector: Arc::new(selector.clone()) });
        let pods = self.store.in_namespace(Kind::Pod, namespace).filter_map(pod_of);
        pods.filter(|pod| selects(selector, &pod.metadata.labels)).collect()
    }

    /// The EndpointSlices that carry the Service's name in their label, sorted by name.
    pub fn endpoint_slices(&self, namespace: &str, service: &str) -> Vec<Arc<EndpointSlice>> {
        self.note(Dependency::Slices { namespace: Arc::from(namespace), service: Arc::from(service) });
        self.store.slices_of(namespace, service).filter_map(slice_of).collect()
    }

    /// Everything that was read, each once.
    pub fn into_reads(self) -> BTreeSet<Dependency> {
        self.reads.into_inner()
    }

    fn note(&self, dependency: Dependency) {
        if self.reads(dependency.kind()) {
            self.reads.borrow_mut().insert(dependency);
        }
    }
}

fn node_of(object: &Object) -> Option<Arc<Node>> {
    match object {
        Object::Node(node) => Some(Arc::clone(node)),
        _ => None,
    }
}

fn pod_of(object: &Object) -> Option<Arc<Pod>> {
    match object {
        Object::Pod(pod) => Some(Arc::clone(pod)),
        _ => None,
    }
}

fn slice_of(object: &Object) -> Option<Arc<EndpointSlice>> {
    match object {
        Object::EndpointSlice(slice) => Some(Arc::clone(slice)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::annotations::AnnotationFilterKeys;

    fn object(kind: Kind, namespace: &str, name: &str, labels: &[(&str, &str)]) -> Object {
        let labels: BTreeMap<&str, &str> = labels.iter().copied().collect();
        let value = json!({"metadata": {"namespace": namespace, "name": name, "labels": labels}});
        Object::from_value(kind, value, &AnnotationFilterKeys::new([], [])).expect("the shape of any object")
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

    fn selector(labels: &[(&str, &str)]) -> PodSelector {
        labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn answers_are_sorted_by_name() {
        let store = store();
        let kinds = BTreeSet::from([Kind::Pod, Kind::Node, Kind::EndpointSlice]);
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
        let kinds = BTreeSet::from([Kind::Pod, Kind::Node]);
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
