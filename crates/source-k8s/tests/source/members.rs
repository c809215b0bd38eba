//! Nodes, pods and Gateway API routes: a change of what they lead to maps them again, and nothing else; and whatever
//! happens, the result is that of mapping everything from scratch.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use zonewright_core::source::SeenKinds;
use zonewright_source_k8s::feed::FeedEvent;
use zonewright_source_k8s::index::Index;
use zonewright_source_k8s::kind::Kind;
use zonewright_source_k8s::options::{Compatibility, SourceKind, SourceOptions};
use zonewright_source_k8s::store::{Object, ObjectKey};

use crate::support::{Engine, apply, node, object};

const PREFIX: &str = "external-dns.kubernetes.io/";

fn options() -> SourceOptions {
    use SourceKind::{GatewayHttpRoute, GatewayTlsRoute, Node, Pod, Service};
    SourceOptions {
        sources: vec![Service, Node, Pod, GatewayHttpRoute, GatewayTlsRoute],
        compatibility: Compatibility::KopsDnsController,
        gateway_listener_sets: true,
        ..SourceOptions::default()
    }
}

fn index() -> Index {
    Index::new(Arc::new(options()), &SeenKinds::default())
}

/// A pod that asks for names at its own address and at those of its node; empty for none.
fn pod(name: &str, node: &str, inner: &str, outer: &str) -> Object {
    let mut annotations = json!({});
    for (key, value) in [("internal-hostname", inner), ("hostname", outer)] {
        if !value.is_empty() {
            annotations[format!("{PREFIX}{key}")] = value.into();
        }
    }
    let metadata = json!({"namespace": "ns", "name": name, "annotations": annotations});
    object(Kind::Pod, json!({"metadata": metadata, "spec": {"nodeName": node}, "status": {"podIP": "10.0.0.1"}}))
}

fn worker(name: &str, address: &str, role: &str) -> Object {
    let labels = if role.is_empty() { json!({}) } else { json!({format!("node-role.kubernetes.io/{role}"): ""}) };
    let addresses = json!([{"type": "ExternalIP", "address": address}]);
    object(Kind::Node, json!({"metadata": {"name": name, "labels": labels}, "status": {"addresses": addresses}}))
}

fn kops(name: &str) -> Object {
    let annotations = json!({"dns.alpha.kubernetes.io/external": format!("{name}.kops.org")});
    let metadata = json!({"namespace": "ns", "name": name, "annotations": annotations});
    object(Kind::Service, json!({"metadata": metadata, "spec": {"type": "NodePort"}}))
}

fn accepted(status: &str) -> Value {
    json!([{"type": "Accepted", "status": status}])
}

/// What a listener takes: `All`, or namespaces of team `x` with `MetadataSelector`.
fn taking(from: &str) -> Value {
    json!({"from": from, "selector": {"matchLabels": {"team": "x"}}})
}

fn listener(from: &str) -> Value {
    json!({"name": "l", "protocol": "HTTP", "port": 80, "allowedRoutes": {"namespaces": taking(from)}})
}

fn gateway(name: &str, from: &str, address: &str) -> Object {
    let spec = json!({"listeners": [listener(from)], "allowedListeners": {"namespaces": taking("All")}});
    let addresses = if address.is_empty() { json!([]) } else { json!([{ "value": address }]) };
    let metadata = json!({"namespace": "infra", "name": name});
    object(Kind::Gateway, json!({"metadata": metadata, "spec": spec, "status": {"addresses": addresses}}))
}

fn set(gateway: &str, status: &str) -> Object {
    let spec = json!({"parentRef": {"name": gateway, "namespace": "infra"}, "listeners": [listener("All")]});
    let status = json!({"conditions": accepted(status), "listeners": [{"name": "l", "conditions": accepted("True")}]});
    object(
        Kind::ListenerSet,
        json!({"metadata": {"namespace": "infra", "name": "set"}, "spec": spec, "status": status}),
    )
}

/// A route of namespace `ns` to a Gateway or ListenerSet of namespace `infra`.
fn route(kind: Kind, name: &str, parent_kind: &str, parent: &str, status: &str) -> Object {
    let reference = json!({"kind": parent_kind, "name": parent, "namespace": "infra"});
    let parents = json!([{"parentRef": reference, "conditions": accepted(status)}]);
    let spec = json!({"hostnames": [format!("{name}.route.org")], "parentRefs": [reference]});
    let metadata = json!({"namespace": "ns", "name": name});
    object(kind, json!({"metadata": metadata, "spec": spec, "status": {"parents": parents}}))
}

fn http(name: &str, parent: &str) -> Object {
    route(Kind::HttpRoute, name, "Gateway", parent, "True")
}

fn namespace(name: &str, team: &str) -> Object {
    object(Kind::Namespace, json!({"metadata": {"name": name, "labels": {"team": team}}}))
}

fn cluster() -> (Index, Engine) {
    let mut index = index();
    let objects = [
        worker("n1", "198.51.100.1", "node"),
        worker("n2", "198.51.100.2", "control-plane"),
        pod("p1", "n1", "p1.in.org", ""),
        pod("p2", "n1", "", "p2.out.org"),
        pod("p3", "gone", "", "p3.out.org"),
        kops("k1"),
        gateway("open", "All", "192.0.2.1"),
        gateway("chosen", "Selector", "192.0.2.2"),
        set("open", "True"),
        namespace("ns", "x"),
        namespace("other", "x"),
        http("r1", "open"),
        http("r2", "chosen"),
        http("r3", "gone"),
        route(Kind::HttpRoute, "r4", "ListenerSet", "set", "True"),
    ];
    apply(&mut index, objects.map(FeedEvent::Applied));
    let mut engine = Engine::default();
    engine.take(index.take(false));
    (index, engine)
}

#[test]
fn everything_finds_what_it_leads_to() {
    let expected = [
        "k1.kops.org A 198.51.100.1",
        "n1 A 198.51.100.1",
        "n2 A 198.51.100.2",
        "p1.in.org A 10.0.0.1",
        "p2.out.org A 198.51.100.1",
        "r1.route.org A 192.0.2.1",
        "r2.route.org A 192.0.2.2",
        "r4.route.org A 192.0.2.1",
    ];
    assert_eq!(cluster().1.endpoints(), expected);
}

#[test]
fn a_change_maps_its_readers() {
    let check = |what: &str, event: FeedEvent, expected: (u64, usize)| {
        let (mut index, _) = cluster();
        let before = index.remapped();
        apply(&mut index, [event]);
        let reported = index.take(false).objects.len();
        assert_eq!((index.remapped() - before, reported), expected, "{what}: (mapped, reported)");
    };
    let applied = FeedEvent::Applied;
    let deleted = |kind, namespace: &str, name: &str| FeedEvent::Deleted(ObjectKey::new(kind, namespace, name));
    check("a node: itself, p2, k1", applied(worker("n1", "198.51.100.9", "node")), (3, 3));
    check("a node that comes: itself, p3, k1", applied(worker("gone", "198.51.100.9", "")), (3, 2));
    check("a node's heartbeat", applied(node("n2", "198.51.100.2", "2")), (2, 0));
    check("a pod", applied(pod("p1", "n1", "p9.in.org", "")), (1, 1));
    check("a gateway: r1, r4", applied(gateway("open", "All", "192.0.2.9")), (2, 2));
    check("a gateway that comes: r3", applied(gateway("gone", "All", "192.0.2.9")), (1, 1));
    check("a gateway that nobody names", applied(gateway("x", "All", "192.0.2.9")), (0, 0));
    check("a gateway that goes: r2", deleted(Kind::Gateway, "infra", "chosen"), (1, 1));
    check("a set: r4", applied(set("open", "False")), (1, 1));
    check("the labels of a namespace: r2", applied(namespace("ns", "y")), (1, 1));
    check("another namespace", applied(namespace("other", "y")), (0, 0));
    check("a route", applied(http("r1", "chosen")), (1, 1));
    check("what a controller writes again", applied(http("r1", "open")), (0, 0));
}

fn word<const N: usize>(words: [&'static str; N]) -> impl Strategy<Value = &'static str> {
    prop::sample::select(words.to_vec())
}

fn any_object() -> impl Strategy<Value = Object> {
    let address = || word(["192.0.2.1", "192.0.2.2", ""]);
    let gateways = || word(["open", "chosen", "gone"]);
    let status = || word(["True", "False", "Unknown"]);
    prop_oneof![
        (word(["n1", "n2"]), address(), word(["node", ""])).prop_map(|(n, a, role)| worker(n, a, role)),
        (word(["p1", "p2"]), word(["n1", "n2", ""]), word(["", "in.org"]), word(["", "out.org"]))
            .prop_map(|(name, node, inner, outer)| pod(name, node, inner, outer)),
        word(["k1", "k2"]).prop_map(kops),
        (gateways(), word(["All", "Same", "Selector"]), address()).prop_map(|(n, from, a)| gateway(n, from, a)),
        (gateways(), status()).prop_map(|(gateway, status)| set(gateway, status)),
        word(["x", "y"]).prop_map(|team| namespace("ns", team)),
        (word(["r1", "r2"]), gateways(), status()).prop_map(|(n, parent, status)| route(
            Kind::HttpRoute,
            n,
            "Gateway",
            parent,
            status
        )),
        (word(["r1", "r2"]), status()).prop_map(|(n, status)| route(Kind::HttpRoute, n, "ListenerSet", "set", status)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn incremental_equals_from_scratch(steps in prop::collection::vec((any_object(), 0..10_u8), 1..50)) {
        let mut truth = BTreeMap::new();
        let (mut live, mut engine) = (index(), Engine::default());
        for (object, turn) in steps {
            let event = if turn < 3 {
                truth.remove(&object.key());
                FeedEvent::Deleted(object.key())
            } else {
                truth.insert(object.key(), object.clone());
                FeedEvent::Applied(object)
            };
            apply(&mut live, [event]);
            if turn % 2 == 0 {
                engine.take(live.take(false));
            }
        }
        engine.take(live.take(false));

        let mut fresh = index();
        apply(&mut fresh, truth.into_values().map(FeedEvent::Applied));
        let mut scratch = Engine::default();
        scratch.take(fresh.take(true));
        prop_assert_eq!(engine.asking(), scratch.asking());
    }
}
