//! Section N: node addresses and SRV records.

use serde_json::json;
use zonewright_source_k8s::kind::Kind;

use crate::node::node;
use crate::scene::{Thing, check_in, map, options};

const SRV: &str = "_foo._tcp.foo.example.org SRV 0 50 30192 foo.example.org.";

fn base() -> Thing {
    Thing::new(Kind::Service, "testing", "foo")
        .with("spec.type", "NodePort")
        .with("spec.ports", json!([{"nodePort": 30192}]))
        .ann("hostname", "foo.example.org.")
}

fn local() -> Thing {
    base().with("spec.externalTrafficPolicy", "Local")
}

fn nodes() -> Vec<Thing> {
    vec![
        node("node1", "ext:54.10.11.1 int:10.0.1.1 ext:2001:DB8::1 int:2001:DB8::2 node1"),
        node("node2", "ext:54.10.11.2 int:10.0.1.2 ext:2001:DB8::3 int:2001:DB8::4 node2"),
        node("node3", "ext:54.10.11.3"),
    ]
}

/// A pod in one of the states that rank nodes.
fn pod(name: &str, node: &str, state: &str) -> Thing {
    let ready = if state.starts_with("ready") { "True" } else { "False" };
    let phase = if state == "pending" { "Pending" } else { "Running" };
    let pod = Thing::new(Kind::Pod, "testing", name).with("spec.nodeName", node).with("status.phase", phase).with(
        "status.conditions",
        json!([{"type": "Initialized", "status": "True"}, {"type": "Ready", "status": ready}]),
    );
    if state == "ready leaving" { pod.with("metadata.deletionTimestamp", "2024-01-01T00:00:00Z") } else { pod }
}

fn two_nodes() -> Vec<Thing> {
    nodes().into_iter().take(2).collect()
}

#[test]
fn all_nodes() {
    let internal_only = [node("node1", "int:10.0.1.1 int:2001:DB8::1"), node("node2", "int:10.0.1.2 int:2001:DB8::2")];
    let public = "foo.example.org A 54.10.11.1 54.10.11.2 | foo.example.org AAAA 2001:db8::1 2001:db8::3";
    let private = "foo.example.org A 10.0.1.1 10.0.1.2 | foo.example.org AAAA 2001:db8::2 2001:db8::4";
    let inner = "foo.example.org A 10.0.1.1 10.0.1.2 | foo.example.org AAAA 2001:db8::1 2001:db8::2";
    let all_ipv6 = "foo.example.org A 54.10.11.1 54.10.11.2 | foo.example.org AAAA 2001:db8::1 2001:db8::3 2001:db8::2 2001:db8::4";
    let check = |id, thing: &Thing, nodes: &[Thing], expose, expected: &str| {
        check_in(id, thing, nodes, |o| o.expose_internal_ipv6 = expose, &format!("{SRV} | {expected}"));
    };
    check("N1", &base(), &two_nodes(), false, public);
    check("N4", &base(), &internal_only, false, inner);
    check("N9", &base().ann("access", "private"), &two_nodes(), false, private);
    check("N10", &base().ann("access", "public"), &two_nodes(), false, public);
    check("N11", &base().ann("access", "public"), &two_nodes(), true, all_ipv6);
    check(
        "public without external addresses",
        &base().ann("access", "public"),
        &internal_only,
        false,
        "foo.example.org pending",
    );
    check(
        "an unknown word counts as absent",
        &base().ann("access", "Public"),
        &two_nodes(),
        false,
        &format!("{public} | ! InvalidAnnotation"),
    );
    check("no nodes", &base(), &[], false, "foo.example.org pending");
    check_in("N2", &base(), &two_nodes(), |o| o.ignore_hostname_annotation = true, "");
    let with_ttl = [SRV, "foo.example.org A 54.10.11.1 54.10.11.2", "foo.example.org AAAA 2001:db8::1 2001:db8::3"];
    check_in(
        "N17",
        &base().ann("ttl", "300"),
        &two_nodes(),
        |_| {},
        &with_ttl.map(|l| format!("{l} ttl=300")).join("|"),
    );
}

#[test]
fn cordoned_nodes() {
    let mut cordoned = two_nodes();
    cordoned[0] = cordoned[0].with("spec.unschedulable", true);
    let rest = format!("{SRV} | foo.example.org A 54.10.11.2 | foo.example.org AAAA 2001:db8::3");
    check_in("N16", &base().ann("access", "public"), &cordoned, |o| o.exclude_unschedulable = true, &rest);
    let none = format!("{SRV} | foo.example.org pending");
    check_in("all of them", &base(), &cordoned[..1], |o| o.exclude_unschedulable = true, &none);
}

#[test]
fn local_traffic_goes_where_the_best_pods_run() {
    let (one, two) = (
        "foo.example.org A 54.10.11.1 | foo.example.org AAAA 2001:db8::1",
        "foo.example.org A 54.10.11.2 | foo.example.org AAAA 2001:db8::3",
    );
    let both = "foo.example.org A 54.10.11.1 54.10.11.2 | foo.example.org AAAA 2001:db8::1 2001:db8::3";
    let none = "foo.example.org pending";
    for (id, pods, expected) in [
        ("N5", &[("node2", "not ready")][..], two),
        ("N6", &[("node2", "not ready"), ("node2", "not ready")], two),
        ("N7", &[("node1", "ready"), ("node2", "not ready")], one),
        ("N8", &[("node1", "ready"), ("node2", "not ready"), ("node3", "ready leaving")], one),
        ("N18", &[("node1", "not ready"), ("node1", "ready"), ("node2", "ready")], both),
        ("N18, turned", &[("node2", "ready"), ("node1", "ready"), ("node1", "not ready")], both),
        (
            "N19",
            &[
                ("node1", "not ready"),
                ("node1", "ready"),
                ("node2", "not ready"),
                ("node2", "ready leaving"),
                ("node3", "not ready"),
            ],
            one,
        ),
        ("N20", &[("node1", "ready leaving")], one),
        ("N21", &[("node1", "not ready")], one),
        ("N22", &[("node1", "pending")], none),
        ("N23", &[("node9", "ready")], none),
        ("N24", &[], none),
        ("N25", &[("node1", "ready"), ("node2", "ready leaving")], one),
        ("an unknown node does not outrank", &[("node9", "ready"), ("node1", "not ready")], one),
    ] {
        let mut others = nodes();
        others.extend(pods.iter().enumerate().map(|(i, (node, state))| pod(&format!("pod{i}"), node, state)));
        check_in(id, &local(), &others, |_| {}, &format!("{SRV} | {expected}"));
    }
}

#[test]
fn local_traffic_follows_the_selector() {
    let chosen = pod("a", "node1", "ready").label("app", "foo");
    let others = [nodes(), vec![chosen, pod("b", "node2", "ready").label("app", "bar")]].concat();
    let thing = local().with("spec.selector", json!({"app": "foo"}));
    let expected = format!("{SRV} | foo.example.org A 54.10.11.1 | foo.example.org AAAA 2001:db8::1");
    check_in("selected pods only", &thing, &others, |_| {}, &expected);
}

/// N26.
#[test]
fn a_pod_without_a_ready_condition_is_not_ready() {
    let bare = pod("a", "node1", "ready").with("status.conditions", json!([]));
    let others = [nodes(), vec![bare, pod("b", "node2", "ready")]].concat();
    let expected = format!("{SRV} | foo.example.org A 54.10.11.2 | foo.example.org AAAA 2001:db8::3");
    check_in("N26", &local(), &others, |_| {}, &expected);
}

#[test]
fn srv_records() {
    let nodes = [node("node1", "ext:1.1.1.1")];
    let ports = |ports| base().with("spec.ports", ports);
    let a = "foo.example.org A 1.1.1.1";
    for (id, thing, expected) in [
        (
            "ports of one protocol share a name",
            ports(
                json!([{"nodePort": 30001, "protocol": "TCP"}, {"nodePort": 30000}, {"nodePort": 30002, "protocol": "UDP"}]),
            ),
            "_foo._tcp.foo.example.org SRV 0 50 30001 foo.example.org. 0 50 30000 foo.example.org.
             | _foo._udp.foo.example.org SRV 0 50 30002 foo.example.org.",
        ),
        ("no port on nodes", ports(json!([{"port": 80}, {"nodePort": 0}, {"nodePort": 70_000}, {"nodePort": -1}])), ""),
        (
            "an alias is none",
            ports(json!([{"nodePort": 1}])).ann("aws-weight", "1"),
            "_foo._tcp.foo.example.org SRV 0 50 1 foo.example.org. aws/weight=1",
        ),
    ] {
        let a = if id == "an alias is none" { "foo.example.org A 1.1.1.1 aws/weight=1" } else { a };
        check_in(id, &thing, &nodes, |_| {}, &format!("{expected} | {a}"));
    }
    let alias = base().ann("alias", "true");
    check_in("no alias on SRV", &alias, &nodes, |_| {}, &format!("{SRV} | {a} alias=true"));
    let wildcard = base().ann("hostname", "*.example.org");
    check_in("no SRV below a wildcard", &wildcard, &nodes, |_| {}, "*.example.org A 1.1.1.1 | ! InvalidHostname");
    let long = base().with("metadata.name", "a".repeat(63));
    check_in("a name too long for a label", &long, &nodes, |_| {}, &format!("{a} | ! InvalidHostname"));
}

#[test]
fn evidence() {
    let kinds = |thing: &Thing| map(thing, &nodes(), &options(|_| {})).kinds;
    assert_eq!(kinds(&base()), [Kind::Service.id(), Kind::Node.id()].into());
    assert_eq!(kinds(&local()), [Kind::Service.id(), Kind::Node.id(), Kind::Pod.id()].into());
    assert_eq!(kinds(&base().ann("target", "1.1.1.1")), [Kind::Service.id()].into());
}
