//! Cost follows the change in a cluster of 50,000 objects too: what is added maps its dependents and nothing else, whatever
//! else there is. Counted, not timed.

use std::sync::Arc;

use zonewright_core::source::SeenKinds;
use zonewright_source_k8s::feed::FeedEvent;
use zonewright_source_k8s::index::Index;
use zonewright_source_k8s::options::{SourceKind, SourceOptions};
use zonewright_source_k8s::store::Object;

use crate::support::{apply, headless, node, node_port, pod, slice};

const NAMESPACES: usize = 100;
/// Headless Services of one namespace, and what is behind each.
const SERVICES: usize = 5;
const PODS: usize = 88;
const SLICES: usize = 10;
const NODES: usize = 100;
/// Services of type NodePort: every node counts for them.
const NODE_PORTS: usize = 3;

const OBJECTS: usize = NAMESPACES * SERVICES * (PODS + SLICES + 1) + NODES + NODE_PORTS;

fn namespace(at: usize) -> String {
    format!("team-{at}")
}

fn of_service(at: usize, number: usize) -> Vec<Object> {
    let (namespace, name) = (namespace(at), format!("s{number}"));
    let host = format!("{name}.{namespace}.example.com");
    let pods = (0..PODS).map(|p| pod(&namespace, &format!("{name}-{p}"), &name, &format!("n{}", p % NODES), ""));
    let slices =
        (0..SLICES).map(|s| slice(&namespace, &format!("{name}-{s}"), &name, &format!("{name}-{s}"), "10.0.0.1", true));
    pods.chain(slices).chain([headless(&namespace, &name, &host, &name)]).collect()
}

fn cluster(sources: &[SourceKind]) -> Index {
    let options = SourceOptions { sources: sources.to_vec(), ..SourceOptions::default() };
    let mut index = Index::new(Arc::new(options), &SeenKinds::default());
    let services = (0..NAMESPACES).flat_map(|at| (0..SERVICES).flat_map(move |number| of_service(at, number)));
    let nodes = (0..NODES).map(|n| node(&format!("n{n}"), &format!("198.51.100.{n}"), "1"));
    let ports =
        (0..NODE_PORTS).map(|n| node_port("edge", &format!("np{n}"), &format!("np{n}.example.com"), "x", "Cluster"));
    let mut count = 0;
    apply(&mut index, services.chain(nodes).chain(ports).inspect(|_| count += 1).map(FeedEvent::Applied));
    assert_eq!(count, OBJECTS);
    let reported = index.take(false).objects.len();
    assert!(reported >= NAMESPACES * SERVICES + NODE_PORTS, "every Service asks for a name, {reported} were reported");
    index
}

/// Adds an object; returns how many were mapped, and how many updates came of it.
fn cost(index: &mut Index, object: Object) -> (u64, usize) {
    let before = index.remapped();
    apply(index, [FeedEvent::Applied(object)]);
    let reported = index.take(false).objects.len();
    (index.remapped() - before, reported)
}

#[test]
fn what_is_added_maps_its_dependents() {
    const { assert!(OBJECTS >= 49_000) };
    let mut index = cluster(&[SourceKind::Service]);
    assert_eq!(index.remapped(), (NAMESPACES * SERVICES + NODE_PORTS) as u64, "each once at first");
    let mut check = |what: &str, object: Object, expected: (u64, usize)| {
        assert_eq!(cost(&mut index, object), expected, "{what}: (mapped, reported)");
    };
    check("a pod of one Service", pod("team-7", "s2-new", "s2", "n1", ""), (1, 0));
    check("a slice that names it", slice("team-7", "s2-new", "s2", "s2-new", "10.0.0.2", true), (1, 1));
    check("a pod of no Service", pod("team-7", "x-new", "x", "n1", ""), (0, 0));
    check("a pod where no Service is", pod("nowhere", "s2-new", "s2", "n1", ""), (0, 0));
    check("a slice of no Service", slice("team-7", "x-new", "x", "x-new", "10.0.0.2", true), (0, 0));
    check("a node", node("new", "203.0.113.1", "1"), (NODE_PORTS as u64, NODE_PORTS));
    check("its heartbeat", node("new", "203.0.113.1", "2"), (0, 0));
}

/// With sources of their own, a pod and a node are mapped themselves besides.
#[test]
fn what_is_added_maps_itself() {
    let mut index = cluster(&[SourceKind::Service, SourceKind::Pod, SourceKind::Node]);
    let mut check = |what: &str, object: Object, expected: u64| {
        assert_eq!(cost(&mut index, object).0, expected, "{what}");
    };
    check("a pod of one Service, and itself", pod("team-7", "s2-new", "s2", "n1", ""), 2);
    check("a pod of no Service: itself", pod("team-7", "x-new", "x", "n1", ""), 1);
    check("a slice of one Service", slice("team-7", "s2-new", "s2", "s2-new", "10.0.0.2", true), 1);
    check("a node: itself and what counts nodes", node("new", "203.0.113.1", "1"), NODE_PORTS as u64 + 1);
}
