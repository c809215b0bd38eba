//! The tests of sections 3.10 and 3.11. Templates are tested with the engine, joining over objects by the core.

use serde_json::json;
use zonewright_source_k8s::annotations::Prefixes;
use zonewright_source_k8s::kind::Kind;
use zonewright_source_k8s::selector::MetadataSelector;

use crate::scene::{Thing, check, check_in, map, options};

fn gateway(hosts: &[&str]) -> Thing {
    Thing::new(Kind::IstioGateway, "ns", "gw")
        .with("spec.selector", json!({"istio": "in"}))
        .with("spec.servers", json!([{ "hosts": hosts }]))
}

fn bound(hosts: &[&str]) -> Thing {
    Thing::new(Kind::IstioVirtualService, "ns", "vs")
        .with("spec.hosts", json!(hosts))
        .with("spec.gateways", json!(["gw"]))
}

fn service(name: &str, entries: &str) -> Thing {
    Thing::new(Kind::Service, "istio-system", name)
        .with("spec", json!({"type": "LoadBalancer", "selector": {"istio": "in", "app": "gw"}}))
        .status(entries)
}

fn ingress(namespace: &str, entries: &str) -> Thing {
    Thing::new(Kind::Ingress, namespace, "front").status(entries)
}

const A: &str = "a.org A 8.8.8.8";

/// Where a Gateway's addresses come from; the same for both sources.
#[test]
fn addresses() {
    let one = |entries| vec![service("in", entries)];
    let both_fields =
        service("in", "").with("status.loadBalancer.ingress", json!([{"ip": "8.8.8.8", "hostname": "lb.org"}]));
    let elsewhere = service("in", "1.1.1.1").with("spec.selector", json!({"istio": "other"}));
    let unselective = service("in", "1.1.1.1").with("spec.selector", json!(null));
    let external = service("in", "9.9.9.9").with("spec.externalIPs", json!(["8.8.8.8"]));
    for (id, others, expected) in [
        ("address", one("8.8.8.8"), A),
        ("host name", one("lb.org"), "a.org CNAME lb.org"),
        ("both, in two entries", one("8.8.8.8 lb.org"), "a.org A 8.8.8.8 | a.org CNAME lb.org"),
        ("both, in one entry", vec![both_fields], A),
        ("two services, sorted", vec![service("b", "8.8.8.8"), service("a", "9.9.9.9")], "a.org A 8.8.8.8 9.9.9.9"),
        ("two services, one address", vec![service("a", "8.8.8.8"), service("b", "8.8.8.8")], A),
        (
            "external addresses win, for each service",
            vec![external, service("b", "7.7.7.7")],
            "a.org A 7.7.7.7 8.8.8.8",
        ),
        ("any type", vec![service("in", "8.8.8.8").with("spec.type", "ClusterIP")], A),
        ("no service", vec![], "a.org pending"),
        ("blank", one(""), "a.org pending"),
        ("another selector", vec![elsewhere], "a.org pending"),
        ("no selector", vec![unselective], "a.org pending"),
    ] {
        check_in(id, &gateway(&["a.org"]), &others, |_| {}, expected);
        let mut others = others;
        others.push(gateway(&["*"]));
        check_in(id, &bound(&["a.org"]), &others, |_| {}, expected);
    }
}

#[test]
fn selectors() {
    let check = |id: &str, own: serde_json::Value, theirs: serde_json::Value, expected: &str| {
        let service = service("in", "8.8.8.8").with("spec.selector", theirs);
        check_in(id, &gateway(&["a.org"]).with("spec.selector", own), &[service], |_| {}, expected);
    };
    check("subset", json!({"a": "1"}), json!({"a": "1", "b": "2"}), A);
    check("superset", json!({"a": "1", "b": "2"}), json!({"a": "1"}), "a.org pending");
    check("empty selects all", json!({}), json!({"a": "1"}), A);
    check("empty selects those that select nothing", json!(null), json!(null), A);
}

#[test]
fn target_and_ingress_annotations() {
    let lb = service("in", "8.8.8.8");
    let gateway = gateway(&["a.org"]);
    for (id, gateway, ingress, expected) in [
        ("target", gateway.ann("target", "t.org"), None, "a.org CNAME t.org"),
        ("empty target", gateway.ann("target", ""), None, A),
        ("ingress", gateway.ann("ingress", "front"), Some(ingress("ns", "1.1.1.1")), "a.org A 1.1.1.1"),
        ("ingress elsewhere", gateway.ann("ingress", "x/front"), Some(ingress("x", "h.org")), "a.org CNAME h.org"),
        (
            "ingress in the wrong place",
            gateway.ann("ingress", "x/front"),
            Some(ingress("ns", "1.1.1.1")),
            "a.org pending",
        ),
        ("missing ingress", gateway.ann("ingress", "front"), None, "a.org pending"),
        ("blank ingress", gateway.ann("ingress", "front"), Some(ingress("ns", "")), "a.org pending"),
        ("bad ingress", gateway.ann("ingress", "a/b/c"), None, "a.org pending | ! InvalidAnnotation"),
        ("empty ingress", gateway.ann("ingress", ""), None, A),
        (
            "target before ingress",
            gateway.ann("target", "t.org").ann("ingress", "front"),
            Some(ingress("ns", "1.1.1.1")),
            "a.org CNAME t.org",
        ),
    ] {
        let mut others = vec![lb.clone()];
        others.extend(ingress);
        check_in(id, &gateway, &others, |_| {}, expected);
        others.push(gateway);
        check_in(id, &bound(&["a.org"]), &others, |_| {}, expected);
    }
    let custom = gateway.annotation("split.example/ingress", "front").ann("ingress", "gone");
    let prefixes = || Prefixes::parse(&["split.example/"]).expect("a prefix");
    let others = [lb, ingress("ns", "1.1.1.1")];
    check_in("the prefix in force", &custom, &others, |o| o.annotation_prefixes = prefixes(), "a.org A 1.1.1.1");
}

#[test]
fn names_of_gateways() {
    let lb = [service("in", "8.8.8.8")];
    let check = |id: &str, thing: &Thing, expected: &str| check_in(id, thing, &lb, |_| {}, expected);
    check("with a namespace", &gateway(&["ns/a.org", "*/b.org"]), "a.org A 8.8.8.8 | b.org A 8.8.8.8");
    check("any host", &gateway(&["*", "ns/*", ""]), "");
    check("any host, and a name", &gateway(&["*"]).ann("hostname", "a.org"), A);
    check("a wildcard", &gateway(&["ns/*.a.org"]), "*.a.org A 8.8.8.8");
    check("two slashes", &gateway(&["a/b/c.org"]), "a/b/c.org A 8.8.8.8");
    check("none", &gateway(&[]), "");
    check("two annotated", &gateway(&[]).ann("hostname", "a.org, b.org"), "a.org A 8.8.8.8 | b.org A 8.8.8.8");
    let set = gateway(&["a.org"]).ann("ttl", "60").ann("aws-weight", "10").ann("set-identifier", "s");
    check("settings", &set, "a.org A 8.8.8.8 ttl=60 set=s aws/weight=10");
    check("another controller", &gateway(&["a.org"]).ann("controller", "x"), "");
    check_in(
        "ignored annotation",
        &gateway(&["a.org"]).ann("hostname", "b.org"),
        &lb,
        |o| o.ignore_hostname_annotation = true,
        A,
    );
    check_in("another namespace", &gateway(&["a.org"]), &lb, |o| o.namespace = "other".to_owned(), "");
    check_in(
        "a service in another namespace",
        &gateway(&["a.org"]),
        &lb,
        |o| o.namespace = "ns".to_owned(),
        "a.org pending",
    );
    let filter = || MetadataSelector::labels("app=web").expect("a filter");
    check_in("label filter", &gateway(&["a.org"]), &lb, |o| o.label_filter = filter(), "");
    check_in("label filter", &gateway(&["a.org"]).label("app", "web"), &lb, |o| o.label_filter = filter(), A);
}

#[test]
fn names_of_virtual_services() {
    let others = [service("in", "8.8.8.8"), gateway(&["a.org", "*.b.org"])];
    let check = |id: &str, thing: &Thing, expected: &str| check_in(id, thing, &others, |_| {}, expected);
    check(
        "restricted by the gateway's hosts",
        &bound(&["a.org", "x.b.org", "c.org"]),
        "a.org A 8.8.8.8 | x.b.org A 8.8.8.8",
    );
    check("annotated, restricted too", &bound(&[]).ann("hostname", "a.org,c.org"), A);
    check("any host", &bound(&["*", ""]), "");
    check("with a namespace", &bound(&["ns/a.org"]), A);
    check("any host of a namespace stands for no name", &bound(&["ns/*"]), "! AnyHost");
    check("own target, whatever the gateway's hosts", &bound(&["c.org"]).ann("target", "t.org"), "c.org CNAME t.org");
    check(
        "own target, no gateway",
        &bound(&["c.org"]).ann("target", "t.org").with("spec.gateways", json!([])),
        "c.org CNAME t.org",
    );
    check("bad own target", &bound(&["c.org"]).ann("target", "a:b"), "c.org pending | ! InvalidTarget");
    check("ttl", &bound(&["a.org"]).ann("ttl", "60"), "a.org A 8.8.8.8 ttl=60");
    check("another controller", &bound(&["a.org"]).ann("controller", "x"), "");
    check_in(
        "ignored annotation",
        &bound(&["a.org"]).ann("hostname", "x.b.org"),
        &others,
        |o| o.ignore_hostname_annotation = true,
        A,
    );
    for (id, gateways, expected) in [
        ("no gateways", json!([]), ""),
        ("mesh", json!(["mesh", ""]), ""),
        ("missing", json!(["nope"]), "a.org pending"),
        ("missing beside one that is there", json!(["nope", "gw"]), "a.org A 8.8.8.8 | names pending"),
        ("with its namespace", json!(["ns/gw"]), A),
        ("elsewhere", json!(["x/gw"]), "a.org pending"),
        ("more than a name", json!(["a/b/c", "gw"]), "a.org A 8.8.8.8 | ! InvalidGateway"),
    ] {
        check(id, &bound(&["a.org"]).with("spec.gateways", gateways), expected);
    }
}

#[test]
fn several_gateways_are_joined() {
    let named = |name: &str, target: &str| gateway(&["*"]).with("metadata.name", name).ann("target", target);
    let others = [
        named("one", "2.2.2.2,1.1.1.1"),
        named("two", "1.1.1.1,t.org"),
        named("closed", "3.3.3.3").with("spec.servers", json!([])),
    ];
    let thing = bound(&["a.org"]).with("spec.gateways", json!(["one", "two", "closed"]));
    check_in("first seen first", &thing, &others, |_| {}, "a.org A 2.2.2.2 1.1.1.1 | a.org CNAME t.org");
}

/// What one gives is published; what the other gave stays for the grace.
#[test]
fn of_two_gateways_or_services_one_that_is_blank_takes_nothing_away() {
    let rest = "a.org A 8.8.8.8 | names pending";
    for (id, blank, expected) in [
        ("a load balancer", service("b", ""), rest),
        ("of another type", service("b", "").with("spec.type", "ClusterIP"), A),
        ("with external addresses", service("b", "").with("spec.externalIPs", json!(["8.8.8.8"])), A),
        ("elsewhere", service("b", "").with("spec.selector", json!({"istio": "other"})), A),
    ] {
        let mut others = vec![service("in", "8.8.8.8"), blank];
        check_in(id, &gateway(&["a.org"]), &others, |_| {}, expected);
        others.push(gateway(&["*"]));
        check_in(id, &bound(&["a.org"]), &others, |_| {}, expected);
    }
    let blank = gateway(&["*"]).with("metadata.name", "blank").with("spec.selector", json!({"istio": "none"}));
    let others = [service("in", "8.8.8.8"), gateway(&["*"]), blank];
    check_in("a Gateway", &bound(&["a.org"]).with("spec.gateways", json!(["gw", "blank"])), &others, |_| {}, rest);
    let bound_elsewhere = [service("in", "8.8.8.8"), gateway(&["*"]), others[2].with("spec.servers", json!([]))];
    let thing = bound(&["a.org"]).with("spec.gateways", json!(["gw", "blank"]));
    check_in("a Gateway that does not let the host through", &thing, &bound_elsewhere, |_| {}, A);
}

/// The binding of hosts, namespaces and exports.
#[test]
fn binding() {
    for (namespace, host, export, expected) in [
        ("ns", "*", &[][..], true),
        ("other", "*", &[], true),
        ("other", "a.org", &[], true),
        ("other", "*.org", &[], true),
        ("other", "b.org", &[], false),
        ("other", "*/*", &[], true),
        ("other", "other/*", &[], true),
        ("other", "other/*.org", &[], true),
        ("other", "other/b.org", &[], false),
        ("ns", "other/*", &[], false),
        ("ns", "./*", &[], true),
        ("other", "./*", &[], false),
        ("ns", "./*.org", &[], true),
        ("other", "a/b/*", &[], false),
        ("other", "*", &["*"], true),
        ("other", "*", &["ns"], true),
        ("other", "*", &["x", "ns"], true),
        ("other", "*", &["x"], false),
        ("ns", "*", &["."], true),
        ("other", "*", &["."], false),
    ] {
        let thing = bound(&["a.org"])
            .with("metadata.namespace", namespace)
            .with("spec.gateways", json!(["ns/gw"]))
            .with("spec.exportTo", json!(export));
        let others = [service("in", "8.8.8.8"), gateway(&[host])];
        check_in(&format!("{namespace} {host} {export:?}"), &thing, &others, |_| {}, if expected { A } else { "" });
    }
}

#[test]
fn labels() {
    let resource = |thing: &Thing| map(thing, &[], &options(|_| {})).endpoints[0].resource.clone();
    assert_eq!(resource(&gateway(&["a.org"]).ann("target", "t.org")).as_deref(), Some("gateway/ns/gw"));
    assert_eq!(resource(&bound(&["a.org"]).ann("target", "t.org")).as_deref(), Some("virtualservice/ns/vs"));
}

/// Nothing is looked up that the result does not rest on.
#[test]
fn what_is_read() {
    check("a target needs no service", &gateway(&["a.org"]).ann("target", "t.org"), |_| {}, "a.org CNAME t.org");
    let kinds = |thing: &Thing| map(thing, &[], &options(|_| {})).kinds;
    assert_eq!(kinds(&gateway(&["a.org"]).ann("target", "t.org")), [Kind::IstioGateway.id()].into());
}
