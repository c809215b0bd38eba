//! The sources that look beyond their own objects: a change of what they refer to maps them again, and nothing else; and
//! whatever happens, the result is that of mapping everything from scratch.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use zonewright_core::source::SeenKinds;
use zonewright_source_k8s::feed::FeedEvent;
use zonewright_source_k8s::index::Index;
use zonewright_source_k8s::kind::Kind;
use zonewright_source_k8s::options::{SourceKind, SourceOptions};
use zonewright_source_k8s::store::{Object, ObjectKey};

use crate::support::{Engine, apply, object};

fn options() -> SourceOptions {
    use SourceKind::{AmbassadorHost, Crd, GlooProxy, IstioGateway, IstioVirtualService};
    let sources = vec![IstioGateway, IstioVirtualService, GlooProxy, AmbassadorHost, Crd];
    SourceOptions { sources, ..SourceOptions::default() }
}

fn index() -> Index {
    Index::new(Arc::new(options()), &SeenKinds::default())
}

#[expect(clippy::needless_pass_by_value, reason = "every caller makes it in the call")]
fn of(kind: Kind, namespace: &str, name: &str, annotations: Value, mut rest: Value) -> Object {
    rest["metadata"] = json!({"namespace": namespace, "name": name, "annotations": annotations});
    object(kind, rest)
}

fn service(namespace: &str, name: &str, app: &str, address: &str) -> Object {
    let rest = json!({"spec": {"type": "LoadBalancer", "selector": {"app": app}},
                      "status": {"loadBalancer": {"ingress": [{"ip": address}]}}});
    of(Kind::Service, namespace, name, json!({}), rest)
}

fn ingress(namespace: &str, name: &str, address: &str) -> Object {
    of(Kind::Ingress, namespace, name, json!({}), json!({"status": {"loadBalancer": {"ingress": [{"ip": address}]}}}))
}

/// A Gateway that selects `app`, or stands behind the Ingress `behind`.
fn gateway(name: &str, app: &str, behind: &str) -> Object {
    let rest =
        json!({"spec": {"selector": {"app": app}, "servers": [{"hosts": [format!("{name}.gw.org"), "*.vs.org"]}]}});
    of(Kind::IstioGateway, "ns", name, json!({"external-dns.kubernetes.io/ingress": behind}), rest)
}

fn virtual_service(name: &str, gateways: &[&str]) -> Object {
    let rest = json!({"spec": {"hosts": [format!("{name}.vs.org")], "gateways": gateways}});
    of(Kind::IstioVirtualService, "ns", name, json!({}), rest)
}

fn host(name: &str, service: &str) -> Object {
    let rest = json!({"spec": {"hostname": format!("{name}.host.org")}});
    of(Kind::AmbassadorHost, "ns", name, json!({"external-dns.ambassador-service": service}), rest)
}

/// A Proxy whose virtual host was made of `settings`, and its listener of a Gateway.
fn proxy(name: &str, settings: &str, gate: &str) -> Object {
    let made_of = |kind: &str, name: &str| json!({"sources": [{"resourceKind": kind, "resourceRef": {"namespace": "ns", "name": name}}]});
    let host =
        json!({"domains": [format!("{name}.gloo.org")], "metadataStatic": made_of("*v1.VirtualService", settings)});
    let mut listener = json!({"httpListener": {"virtualHosts": [host]}});
    if !gate.is_empty() {
        listener["metadataStatic"] = made_of("*v1.Gateway", gate);
    }
    of(Kind::GlooProxy, "gloo-system", name, json!({}), json!({"spec": {"listeners": [listener]}}))
}

fn settings(name: &str, ttl: &str) -> Object {
    of(Kind::GlooVirtualService, "ns", name, json!({"external-dns.kubernetes.io/ttl": ttl}), json!({}))
}

fn gate(name: &str, behind: &str) -> Object {
    of(Kind::GlooGateway, "ns", name, json!({"external-dns.kubernetes.io/ingress": behind}), json!({}))
}

fn cluster() -> (Index, Engine) {
    let mut index = index();
    let objects = [
        service("sys", "in", "web", "192.0.2.1"),
        service("gloo-system", "p1", "none", "192.0.2.2"),
        ingress("ns", "front", "192.0.2.3"),
        gateway("g1", "web", ""),
        gateway("g2", "db", "front"),
        virtual_service("v1", &["g1"]),
        virtual_service("v2", &["g2", "gone"]),
        virtual_service("v3", &["mesh"]),
        host("h1", "in.sys"),
        host("h2", "gone.sys"),
        proxy("p1", "s1", ""),
        proxy("p2", "s2", "gate"),
        settings("s1", "60"),
        settings("s2", "60"),
        gate("gate", "front"),
    ];
    apply(&mut index, objects.map(FeedEvent::Applied));
    let mut engine = Engine::default();
    engine.take(index.take(false));
    (index, engine)
}

#[test]
fn everything_finds_what_it_refers_to() {
    let expected = [
        "g1.gw.org A 192.0.2.1",
        "g2.gw.org A 192.0.2.3",
        "h1.host.org A 192.0.2.1",
        "p1.gloo.org A 192.0.2.2",
        "p2.gloo.org A 192.0.2.3",
        "v1.vs.org A 192.0.2.1",
        "v2.vs.org A 192.0.2.3",
    ];
    let endpoints = cluster().1.endpoints();
    // A Gateway's wildcard has the addresses of both Gateways, once each.
    let named: Vec<&String> = endpoints.iter().filter(|line| !line.starts_with('*')).collect();
    assert_eq!(named, expected);
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
    check("a service: g1, v1, h1", applied(service("sys", "in", "web", "192.0.2.9")), (3, 3));
    check("a service that nobody selects", applied(service("sys", "x", "x", "192.0.2.9")), (0, 0));
    check("a service that g1 selects too", applied(service("sys", "x", "web", "192.0.2.9")), (2, 2));
    check("a service that comes: h2", applied(service("sys", "gone", "x", "192.0.2.9")), (1, 1));
    check("the service of a proxy", applied(service("gloo-system", "p1", "none", "192.0.2.9")), (1, 1));
    check("an ingress: g2, v2, p2", applied(ingress("ns", "front", "192.0.2.9")), (3, 3));
    check("an ingress that nobody names", applied(ingress("ns", "x", "192.0.2.9")), (0, 0));
    check("a gateway: itself and v1", applied(gateway("g1", "none", "")), (2, 2));
    check("a gateway that comes: itself and v2", applied(gateway("gone", "web", "")), (2, 2));
    check("a virtual service", applied(virtual_service("v3", &["g1"])), (1, 1));
    check("settings: p1", applied(settings("s1", "61")), (1, 1));
    check("a gloo gateway: p2", applied(gate("gate", "gone")), (1, 1));
    check("settings that go: p1", FeedEvent::Deleted(ObjectKey::new(Kind::GlooVirtualService, "ns", "s1")), (1, 1));
}

/// What a Gateway selects is found again when its own selector changes.
#[test]
fn a_selector_that_changes_is_followed() {
    let (mut index, mut engine) = cluster();
    apply(&mut index, [FeedEvent::Applied(gateway("g1", "other", ""))]);
    engine.take(index.take(false));
    let before = index.remapped();
    apply(&mut index, [FeedEvent::Applied(service("sys", "in", "web", "192.0.2.9"))]);
    engine.take(index.take(false));
    assert_eq!(index.remapped() - before, 1, "h1 alone");
    apply(&mut index, [FeedEvent::Applied(service("sys", "in", "other", "192.0.2.9"))]);
    engine.take(index.take(false));
    assert!(engine.endpoints().contains(&"v1.vs.org A 192.0.2.9".to_owned()), "{:?}", engine.endpoints());
}

fn word<const N: usize>(words: [&'static str; N]) -> impl Strategy<Value = &'static str> {
    prop::sample::select(words.to_vec())
}

fn any_object() -> impl Strategy<Value = Object> {
    let address = || word(["192.0.2.1", "192.0.2.2"]);
    let app = || word(["web", "db", ""]);
    let behind = || word(["", "front", "sys/front", "a/b/c"]);
    prop_oneof![
        (word(["sys", "gloo-system"]), word(["in", "p1"]), app(), address())
            .prop_map(|(ns, n, app, a)| service(ns, n, app, a)),
        (word(["ns", "sys"]), address()).prop_map(|(ns, a)| ingress(ns, "front", a)),
        (word(["g1", "g2"]), app(), behind()).prop_map(|(n, app, behind)| gateway(n, app, behind)),
        (word(["v1", "v2"]), word(["g1", "g2", "mesh"]), word(["g1", "gone"]))
            .prop_map(|(n, a, b)| virtual_service(n, &[a, b])),
        (word(["h1", "h2"]), word(["in.sys", "gloo-system/p1", "in", "a/b/c"])).prop_map(|(n, s)| host(n, s)),
        (word(["p1", "p2"]), word(["s1", "s2"]), word(["", "gate"])).prop_map(|(n, s, g)| proxy(n, s, g)),
        (word(["s1", "s2"]), word(["60", "61", "x"])).prop_map(|(n, ttl)| settings(n, ttl)),
        behind().prop_map(|behind| gate("gate", behind)),
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

        let (mut fresh, mut scratch) = (index(), Engine::default());
        apply(&mut fresh, truth.into_values().map(FeedEvent::Applied));
        scratch.take(fresh.take(true));
        prop_assert_eq!(engine.asking(), scratch.asking());
    }
}
