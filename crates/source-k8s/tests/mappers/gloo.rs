//! The tests of section 3.15. Templates are tested with the engine.

use serde_json::{Value, json};
use zonewright_core::catalog::{FlagValue, Settings};
use zonewright_core::endpoint::ObjectPolicy;
use zonewright_source_k8s::kind::Kind;
use zonewright_source_k8s::options::SourceOptions;
use zonewright_source_k8s::templates::Templates;

use crate::scene::{Thing, check_in, map, options};

const NS: &str = "gloo-system";

fn proxy(listeners: Value) -> Thing {
    Thing::new(Kind::GlooProxy, NS, "gw").with("spec.listeners", listeners)
}

#[expect(clippy::needless_pass_by_value, reason = "every caller makes it in the call")]
fn http(hosts: Value) -> Value {
    json!({"httpListener": {"virtualHosts": hosts}})
}

fn made_of(kind: &str, name: &str) -> Value {
    json!({"sources": [{"resourceKind": kind, "resourceRef": {"namespace": NS, "name": name}}]})
}

fn one() -> Thing {
    proxy(json!([http(json!([{"domains": ["a.org"]}]))]))
}

fn service(entries: &str) -> Thing {
    Thing::new(Kind::Service, NS, "gw").with("spec.type", "LoadBalancer").status(entries)
}

fn of_gateway() -> Thing {
    let mut listener = http(json!([{"domains": ["a.org"]}]));
    listener["metadataStatic"] = made_of("*v1.Gateway", "gate");
    proxy(json!([listener]))
}

fn gateway() -> Thing {
    Thing::new(Kind::GlooGateway, NS, "gate")
}

fn ingress(entries: &str) -> Thing {
    Thing::new(Kind::Ingress, NS, "front").status(entries)
}

const A: &str = "a.org A 1.1.1.1";

#[test]
fn domains() {
    let others = [service("1.1.1.1")];
    let check = |id: &str, listeners: Value, expected: &str| check_in(id, &proxy(listeners), &others, |_| {}, expected);
    check(
        "of a listener",
        json!([http(json!([{"domains": ["a.org", "b.org."]}]))]),
        "a.org A 1.1.1.1 | b.org A 1.1.1.1",
    );
    let shared = |refs: &[&str]| {
        json!([{"aggregateListener": {"httpFilterChains": [{"virtualHostRefs": refs}],
        "httpResources": {"virtualHosts": {"v0": {"domains": ["a.org"]}, "v1": {"domains": ["b.org"]}}}}}])
    };
    check("that filter chains name", shared(&["v0", "unknown"]), A);
    check("that no filter chain names", shared(&[]), "");
    check("any host", json!([http(json!([{"domains": ["*", "a.org"]}]))]), "a.org A 1.1.1.1 | ! AnyHost");
    check(
        "with a port",
        json!([http(json!([{"domains": ["a.org:8080", "a.org"]}]))]),
        "a.org A 1.1.1.1 | ! InvalidHostname",
    );
    check("of other listeners", json!([{"tcpListener": {"tcpHosts": []}}, {"hybridListener": {}}]), "");
    check("null", json!([{"httpListener": null, "aggregateListener": null, "metadataStatic": null}]), "");
}

#[test]
fn targets() {
    let gate = |name: &str| gateway().ann("ingress", name);
    for (id, thing, others, expected) in [
        ("service", one(), vec![service("1.1.1.1 lb.org")], "a.org A 1.1.1.1 | a.org CNAME lb.org"),
        ("blank service", one(), vec![service("")], "a.org pending"),
        ("no service", one(), vec![], "a.org pending"),
        (
            "a service of another type",
            one(),
            vec![service("1.1.1.1").with("spec.type", "NodePort")],
            "! UnsupportedService",
        ),
        ("target", one().ann("target", "t.org"), vec![service("1.1.1.1")], "a.org CNAME t.org"),
        ("a gateway without ingress", of_gateway(), vec![gateway(), service("1.1.1.1")], A),
        ("an empty ingress", of_gateway(), vec![gate(""), service("1.1.1.1")], A),
        (
            "ingress",
            of_gateway(),
            vec![gate("front"), ingress("2.2.2.2 lb.org"), service("1.1.1.1")],
            "a.org A 2.2.2.2 | a.org CNAME lb.org",
        ),
        ("ingress by namespace", of_gateway(), vec![gate("gloo-system/front"), ingress("2.2.2.2")], "a.org A 2.2.2.2"),
        ("blank ingress", of_gateway(), vec![gate("front"), ingress(""), service("1.1.1.1")], "a.org pending"),
        ("no ingress", of_gateway(), vec![gate("front"), service("1.1.1.1")], "a.org pending"),
        ("no name of an ingress", of_gateway(), vec![gate("a/b/c")], "a.org pending | ! InvalidAnnotation"),
        ("no gateway", of_gateway(), vec![service("1.1.1.1")], "a.org pending"),
        ("target before gateway", of_gateway().ann("target", "t.org"), vec![], "a.org CNAME t.org"),
    ] {
        check_in(id, &thing, &others, |_| {}, expected);
    }
}

#[test]
fn settings_of_virtual_services() {
    let named = |name: &str| Thing::new(Kind::GlooVirtualService, NS, name);
    let others = [
        service("1.1.1.1"),
        named("one").ann("ttl", "77").ann("set-identifier", "x"),
        named("two").ann("aws-weight", "1").ann("ttl", "78"),
        named("bad").ann("ttl", "x"),
    ];
    let host = |domain: &str, names: &[&str]| {
        let sources: Vec<Value> =
            names.iter().map(|name| json!({"kind": "*v1.VirtualService", "namespace": NS, "name": name})).collect();
        json!({"domains": [domain], "metadata": {"sources": sources}})
    };
    let check =
        |id: &str, hosts: Value, expected: &str| check_in(id, &proxy(json!([http(hosts)])), &others, |_| {}, expected);
    check(
        "of one",
        json!([host("a.org", &["one"]), host("b.org", &[])]),
        "a.org A 1.1.1.1 ttl=77 set=x | b.org A 1.1.1.1",
    );
    check("of two", json!([host("a.org", &["one", "two"])]), "a.org A 1.1.1.1 ttl=78 set=x aws/weight=1");
    check(
        "of a missing one",
        json!([host("a.org", &["one", "gone"]), host("b.org", &["two"])]),
        "a.org pending | b.org A 1.1.1.1 ttl=78 aws/weight=1",
    );
    check("bad", json!([host("a.org", &["bad"])]), "a.org A 1.1.1.1 | ! InvalidTTL");
    let newer = json!([{"domains": ["a.org"], "metadataStatic": made_of("*v1.VirtualService", "two")}]);
    check("as newer versions write it", newer, "a.org A 1.1.1.1 ttl=78 aws/weight=1");
    let odd = json!([{"domains": ["a.org"], "metadata": {"sources": [{"kind": "*v1.Other", "namespace": NS, "name": "one"}]}}]);
    check("of other kinds", odd, A);
    check_in("the Proxy's own do not count", &one().ann("ttl", "5").ann("hostname", "b.org"), &others, |_| {}, A);
}

#[test]
fn namespaces_and_filters() {
    let others = [service("1.1.1.1")];
    let check = |id: &str, thing: &Thing, change: fn(&mut SourceOptions), expected: &str| {
        check_in(id, thing, &others, change, expected);
    };
    check("--namespace does not count", &one(), |o| o.namespace = "other".to_owned(), A);
    check("another namespace", &one(), |o| o.gloo_namespaces = vec!["a".to_owned(), "b".to_owned()], "");
    check("one of several", &one(), |o| o.gloo_namespaces = vec!["a".to_owned(), NS.to_owned()], A);
    check("none", &one(), |o| o.gloo_namespaces = Vec::new(), "");
    check("another's", &one().ann("controller", "x"), |_| {}, "");
    let mapped = map(&one(), &others, &options(|_| {}));
    assert_eq!(mapped.endpoints[0].resource, None);
}

/// The policy of the Proxy counts for what templates give, too.
#[test]
fn the_policy_of_a_proxy() {
    let kept = one().annotation("zonewright.dev/policy", "retain");
    let mut settings = Settings::default();
    settings.set("fqdn-template", FlagValue::List(vec!["t.org".to_owned()]), true);
    settings.set("target-template", FlagValue::List(vec!["2.2.2.2".to_owned()]), true);
    let options = options(|o| {
        o.templates = Templates::from_settings(&settings).expect("a template");
        o.combine_fqdn_annotation = true;
    });
    let mapped = map(&kept, &[service("1.1.1.1")], &options);
    let policies: Vec<_> =
        mapped.endpoints.iter().map(|e| (e.name.to_string(), e.policy.map(ObjectPolicy::as_str))).collect();
    assert_eq!(policies, [("a.org".to_owned(), Some("retain")), ("t.org".to_owned(), Some("retain"))]);
}
