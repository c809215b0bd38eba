//! Cost follows the change: a changed object maps again what reads it, and nothing else.

use crate::support::{
    Engine, apply, balancer, headless, index, ingress, node, node_port, object, pod, slice, unreadable,
};
use zonewright_source_k8s::feed::FeedEvent;
use zonewright_source_k8s::index::Index;
use zonewright_source_k8s::kind::Kind;
use zonewright_source_k8s::store::{Object, ObjectKey};

/// A cluster with a hundred Services that nothing should touch, and one of each that reads others.
fn cluster() -> (Index, Engine) {
    let mut index = index();
    let crowd = (0..100).map(|n| balancer("crowd", &format!("s{n}"), &format!("s{n}.example.com"), "192.0.2.1"));
    let readers = [
        headless("shop", "db", "db.example.com", "db"),
        headless("shop", "cache", "cache.example.com", "cache"),
        headless("shop", "all", "all.example.com", "gone"),
        headless("open", "any", "any.example.com", ""),
        node_port("shop", "np", "np.example.com", "db", "Cluster"),
        slice("shop", "db-1", "db", "db-0", "10.0.0.1", true),
        pod("shop", "db-0", "db", "n1", "db-0"),
        node("n1", "198.51.100.1", "1"),
        ingress("shop", "web", "web.example.com", "192.0.2.7"),
    ];
    apply(&mut index, crowd.chain(readers).map(FeedEvent::Applied));
    let mut engine = Engine::default();
    engine.take(index.take(false));
    (index, engine)
}

/// Applies an event; returns how many objects were mapped again, and how many updates came of it.
fn cost(index: &mut Index, event: FeedEvent) -> (u64, usize) {
    let before = index.remapped();
    apply(index, [event]);
    let reported = index.take(false).objects.len();
    (index.remapped() - before, reported)
}

fn unlabelled(namespace: &str, name: &str) -> Object {
    object(Kind::Pod, serde_json::json!({"metadata": {"namespace": namespace, "name": name}}))
}

fn applied(object: Object) -> FeedEvent {
    FeedEvent::Applied(object)
}

fn deleted(kind: Kind, namespace: &str, name: &str) -> FeedEvent {
    FeedEvent::Deleted(ObjectKey::new(kind, namespace, name))
}

#[test]
fn each_object_is_mapped_once_at_first() {
    let (index, engine) = cluster();
    assert_eq!(index.remapped(), 106);
    assert!(engine.endpoints().contains(&"db.example.com A 10.0.0.1".to_owned()), "{:?}", engine.endpoints());
    assert!(engine.endpoints().contains(&"np.example.com A 198.51.100.1".to_owned()));
}

#[test]
fn a_change_maps_its_readers() {
    let check = |what: &str, event: FeedEvent, expected: (u64, usize)| {
        let (mut index, _) = cluster();
        assert_eq!(cost(&mut index, event), expected, "{what}: (mapped, reported)");
    };
    check("the same object again", applied(balancer("crowd", "s1", "s1.example.com", "192.0.2.1")), (0, 0));
    check("a Service", applied(balancer("crowd", "s1", "s1.example.com", "192.0.2.2")), (1, 1));
    check("a Service that asks for nothing", applied(balancer("crowd", "new", "", "192.0.2.2")), (1, 0));
    check("an Ingress", applied(ingress("shop", "web", "web.example.com", "192.0.2.8")), (1, 1));
    check("a pod of db", applied(pod("shop", "db-0", "db", "n1", "other")), (1, 1));
    check("a pod of db that no slice names", applied(pod("shop", "db-9", "db", "n1", "db-9")), (1, 0));
    check("a pod that leaves db for cache", applied(pod("shop", "db-0", "cache", "n1", "db-0")), (2, 1));
    check("a pod that nobody selects", applied(pod("shop", "x", "x", "n1", "")), (0, 0));
    check("a pod of the same label elsewhere", applied(pod("crowd", "db-0", "db", "n1", "")), (0, 0));
    check("a pod without labels that an empty selector selects", applied(unlabelled("open", "p")), (1, 0));
    check("a deleted pod", deleted(Kind::Pod, "shop", "db-0"), (1, 1));
    check("a slice of db", applied(slice("shop", "db-1", "db", "db-0", "10.0.0.2", true)), (1, 1));
    check(
        "a slice that moves to cache, which does not select its pod",
        applied(slice("shop", "db-1", "cache", "db-0", "10.0.0.2", true)),
        (2, 2),
    );
    check("a slice of a load balancer", applied(slice("crowd", "s1-x", "s1", "p", "10.0.0.2", true)), (0, 0));
    check("a node's heartbeat", applied(node("n1", "198.51.100.1", "2")), (0, 0));
    check("a node's address", applied(node("n1", "198.51.100.2", "2")), (1, 1));
    check("a new node", applied(node("n2", "198.51.100.3", "1")), (1, 1));
    check("a deleted object that was never there", deleted(Kind::Service, "crowd", "nobody"), (0, 0));
}

#[test]
fn many_changes_of_one_object_are_one_mapping() {
    let (mut index, _) = cluster();
    let before = index.remapped();
    apply(&mut index, (0..50).map(|n| applied(slice("shop", "db-1", "db", "db-0", &format!("10.0.1.{n}"), true))));
    assert_eq!(index.take(false).objects.len(), 1);
    assert_eq!(index.remapped() - before, 1);
}

#[test]
fn what_is_gone_is_read_by_nobody() {
    let (mut index, _) = cluster();
    assert_eq!(cost(&mut index, deleted(Kind::Service, "shop", "db")), (0, 1));
    assert_eq!(cost(&mut index, applied(pod("shop", "db-0", "db", "n1", "other"))), (0, 0));
}

/// Whatever comes and goes leaves nothing behind.
#[test]
fn a_thousand_cycles_leave_every_table_empty() {
    let mut index = index();
    let empty = |index: &Index| index.table_sizes().values().all(|size| *size == 0);
    assert!(empty(&index));
    for n in 0..1_000 {
        let host = format!("h{n}.example.com");
        let objects = [
            balancer("a", &format!("b{n}"), &host, "192.0.2.1"),
            headless("a", &format!("h{n}"), &host, "x"),
            node_port("a", &format!("n{n}"), &host, "x", "Local"),
            slice("a", &format!("s{n}"), &format!("h{n}"), &format!("p{n}"), "192.0.2.2", true),
            pod("a", &format!("p{n}"), "x", &format!("node{n}"), ""),
            node(&format!("node{n}"), "192.0.2.3", "1"),
            ingress("a", &format!("i{n}"), &host, "192.0.2.4"),
        ];
        let keys: Vec<ObjectKey> = objects.iter().map(Object::key).collect();
        let unread = ObjectKey::new(Kind::Service, "a", &format!("u{n}"));
        apply(&mut index, objects.into_iter().map(FeedEvent::Applied).chain([unreadable(unread.clone())]));
        index.take(n % 2 == 0);
        assert!(!empty(&index));
        apply(&mut index, keys.into_iter().chain([unread]).map(FeedEvent::Deleted));
        index.take(false);
    }
    assert!(empty(&index), "{:?}", index.table_sizes());
}
