//! Section H: the pods of headless services. H32 is about two services, which the core joins; here each is alone.

use serde_json::{Value, json};
use zonewright_core::endpoint::Sharing;
use zonewright_source_k8s::kind::Kind;
use zonewright_source_k8s::objects::ServiceType::{ClusterIp, LoadBalancer, NodePort};

use crate::scene::{Thing, check_in, map, options};

fn base() -> Thing {
    Thing::new(Kind::Service, "testing", "foo")
        .with("spec.type", "ClusterIP")
        .with("spec.clusterIP", "None")
        .with("spec.selector", json!({"component": "foo"}))
        .ann("hostname", "service.example.org")
}

fn pod(name: &str, host_ip: &str) -> Thing {
    Thing::new(Kind::Pod, "testing", name)
        .label("component", "foo")
        .with("spec.nodeName", "node")
        .with("status.hostIP", host_ip)
}

fn named(name: &str, host_ip: &str) -> Thing {
    pod(name, host_ip).with("spec.hostname", name)
}

fn ready(pod: &str, address: &str) -> Value {
    json!({"addresses": [address], "conditions": {"ready": true}, "targetRef": {"kind": "Pod", "name": pod}})
}

fn unready(pod: &str, address: &str) -> Value {
    json!({"addresses": [address], "conditions": {"ready": false}, "targetRef": {"kind": "Pod", "name": pod}})
}

fn slice(address_type: &str, endpoints: &[Value]) -> Thing {
    Thing::new(Kind::EndpointSlice, "testing", "foo-1")
        .label("kubernetes.io/service-name", "foo")
        .with("addressType", address_type)
        .with("endpoints", endpoints)
}

fn node(addresses: &Value) -> Thing {
    Thing::new(Kind::Node, "", "node").with("status.addresses", addresses.clone())
}

/// foo-0 and foo-1 at two addresses, under host names of their own.
fn pair(address_type: &str, first: &str, second: &str) -> Vec<Thing> {
    let endpoints = [ready("foo-0", first), ready("foo-1", second)];
    vec![named("foo-0", "1.1.1.1"), named("foo-1", "1.1.1.2"), slice(address_type, &endpoints)]
}

const V4: [&str; 3] = [
    "foo-0.service.example.org A 1.1.1.1",
    "foo-1.service.example.org A 1.1.1.2",
    "service.example.org A 1.1.1.1 1.1.1.2",
];

/// Only the names of an annotation are limited, not those of the pods.
#[test]
fn more_names_than_an_annotation_may_give() {
    let v4 = pair("IPv4", "1.1.1.1", "1.1.1.2");
    check_in("one name, three records", &base(), &v4, |o| o.max_names_per_annotation = 1, &V4.join("|"));
}

#[test]
fn addresses_of_pods() {
    let v4 = pair("IPv4", "1.1.1.1", "1.1.1.2");
    let v6 = pair("IPv6", "2001:db8::1", "2001:db8::2");
    let v6_lines = [
        "foo-0.service.example.org AAAA 2001:db8::1",
        "foo-1.service.example.org AAAA 2001:db8::2",
        "service.example.org AAAA 2001:db8::1 2001:db8::2",
    ];
    let brief = base().ann("ttl", "1");
    let with_ttl = |lines: [&str; 3]| lines.map(|line| format!("{line} ttl=1")).join("|");
    check_in("H1", &base(), &v4, |_| {}, &V4.join("|"));
    check_in("H2", &base(), &v6, |o| o.service_type_filter = vec![ClusterIp, LoadBalancer], &v6_lines.join("|"));
    check_in("H3", &base(), &v4, |o| o.ignore_hostname_annotation = true, "");
    check_in("H4", &brief, &v4, |_| {}, &with_ttl(V4));
    check_in("H5", &brief, &v6, |_| {}, &with_ttl(v6_lines));
    check_in("H8", &base(), &[pod("foo-0", ""), pod("foo-1", ""), v4[2].clone()], |_| {}, V4[2]);
    let shared = |kind, first, second| {
        let endpoints = [ready("foo-0", first), ready("foo-1", first), ready("foo-2", second)];
        [pod("foo-0", ""), pod("foo-1", ""), pod("foo-2", ""), slice(kind, &endpoints)]
    };
    check_in("H9", &base(), &shared("IPv4", "1.1.1.1", "1.1.1.2"), |_| {}, V4[2]);
    check_in("H10", &base(), &shared("IPv6", "2001:db8::1", "2001:db8::2"), |_| {}, v6_lines[2]);
    let inner = Thing::new(Kind::Service, "testing", "foo")
        .with("spec.clusterIP", "None")
        .ann("internal-hostname", "service.example.org");
    check_in("an internal name is no other", &inner, &v4, |_| {}, &V4.join("|"));
    let first = [
        pod("foo-0", ""),
        slice("IPv4", &[json!({"addresses": ["9.9.9.9", "1.1.1.1"], "targetRef": {"kind": "Pod", "name": "foo-0"}})]),
    ];
    check_in("the first address; no condition is ready", &base(), &first, |_| {}, "service.example.org A 9.9.9.9");
    check_in(
        "H42",
        &base().ann("hostname", "test.example.com"),
        &[named("my-pod", ""), slice("IPv4", &[ready("my-pod", "1.1.1.1")])],
        |_| {},
        "my-pod.test.example.com A 1.1.1.1 | test.example.com A 1.1.1.1",
    );
    let below = base().ann("hostname", "*.example.org");
    check_in(
        "no pod names below a wildcard",
        &below,
        &v4,
        |_| {},
        "*.example.org A 1.1.1.1 1.1.1.2 | ! InvalidHostname",
    );
}

#[test]
fn readiness() {
    let pods = [named("foo-0", ""), named("foo-1", "")];
    let half = slice("IPv4", &[ready("foo-0", "1.1.1.1"), unready("foo-1", "1.1.1.2")]);
    let others = [&pods[..], &[half]].concat();
    let published = base().with("spec.publishNotReadyAddresses", true);
    let ready_only = "foo-0.service.example.org A 1.1.1.1 | service.example.org A 1.1.1.1";
    check_in("H6", &base(), &others, |_| {}, ready_only);
    check_in("H7", &published, &others, |_| {}, &V4.join("|"));
    check_in("H36", &base(), &others, |o| o.always_publish_not_ready_addresses = true, &V4.join("|"));
    let none = [&pods[..], &[slice("IPv4", &[unready("foo-0", "1.1.1.1")])]].concat();
    check_in("no ready endpoint", &base(), &none, |_| {}, "service.example.org pending");
    check_in("no endpoint", &base(), &pods, |_| {}, "service.example.org pending");
    assert_eq!(map(&base(), &none, &options(|_| {})).pending[0].reason, "endpoints: 1 not ready");
    assert_eq!(map(&base(), &pods, &options(|_| {})).pending[0].reason, "no endpoints");
}

#[test]
fn targets_that_pods_state() {
    let with = |target: &str| [pod("foo-0", "").ann("target", target), slice("IPv4", &[ready("foo-0", "9.9.9.9")])];
    check_in("H11", &base(), &with("1.2.3.4"), |_| {}, "service.example.org A 1.2.3.4");
    check_in("H12", &base(), &with("2001:db8::4"), |_| {}, "service.example.org AAAA 2001:db8::4");
    check_in("bad", &base(), &with("a b!"), |_| {}, "service.example.org pending | ! InvalidTarget");
}

#[test]
fn addresses_of_hosts() {
    let by_node = base().ann("endpoints-type", "NodeExternalIP");
    let by_host = base().ann("endpoints-type", "HostIP");
    let at = |kind: &str, address: &str| json!({"type": kind, "address": address});
    let others = |addresses: Value| [pod("foo-0", ""), slice("IPv4", &[ready("foo-0", "4.3.2.1")]), node(&addresses)];
    let external = at("ExternalIP", "1.2.3.4");
    let internal6 = at("InternalIP", "2001:db8::4");
    for (id, addresses, expose, expected) in [
        ("H13", json!([external]), false, "service.example.org A 1.2.3.4"),
        ("H14", json!([internal6, at("ExternalIP", "2001:db8::5")]), false, "service.example.org AAAA 2001:db8::5"),
        ("H15", json!([internal6]), true, "service.example.org AAAA 2001:db8::4"),
        (
            "H16",
            json!([external, internal6]),
            true,
            "service.example.org A 1.2.3.4 | service.example.org AAAA 2001:db8::4",
        ),
        ("H39", json!([external, at("InternalIP", "10.0.0.1")]), false, "service.example.org A 1.2.3.4"),
        ("no external address", json!([internal6]), false, "service.example.org pending"),
    ] {
        check_in(id, &by_node, &others(addresses), |o| o.expose_internal_ipv6 = expose, expected);
    }
    let cluster = others(json!([external]));
    check_in(
        "H19",
        &by_node,
        &cluster,
        |o| o.service_type_filter = vec![ClusterIp],
        "service.example.org pending | ! NodesNotRead",
    );
    check_in(
        "H20",
        &by_node,
        &cluster,
        |o| o.service_type_filter = vec![ClusterIp, NodePort],
        "service.example.org A 1.2.3.4",
    );
    check_in("node unknown", &by_node, &cluster[..2], |_| {}, "service.example.org pending");
    let hosted = |ip| [pod("foo-0", ip), slice("IPv4", &[ready("foo-0", "4.3.2.1")])];
    check_in("H17", &by_host, &hosted("1.2.3.4"), |_| {}, "service.example.org A 1.2.3.4");
    check_in("H18", &by_host, &hosted("2001:db8::4"), |_| {}, "service.example.org AAAA 2001:db8::4");
    check_in("H38", &by_host, &hosted("1.2.3.4"), |_| {}, "service.example.org A 1.2.3.4");
    check_in("no host address yet", &by_host, &hosted(""), |_| {}, "service.example.org pending");
    let odd = base().ann("endpoints-type", "hostip");
    check_in(
        "an unknown word counts as absent",
        &odd,
        &hosted("1.2.3.4"),
        |_| {},
        "service.example.org A 4.3.2.1 | ! InvalidAnnotation",
    );
}

#[test]
fn publish_host_ip() {
    let others = pair("IPv4", "4.3.2.1", "4.3.2.2");
    check_in("H21", &base(), &others, |o| o.publish_host_ip = true, &V4.join("|"));
    let six = [named("foo-0", "2001:db8::1"), slice("IPv6", &[ready("foo-0", "2001:db8::9")])];
    let expected = "foo-0.service.example.org AAAA 2001:db8::1 | service.example.org AAAA 2001:db8::1";
    check_in("H22", &base(), &six, |o| o.publish_host_ip = true, expected);
    check_in("H23", &base(), &others, |o| (o.publish_host_ip, o.ignore_hostname_annotation) = (true, true), "");
    let brief = V4.map(|line| format!("{line} ttl=1")).join("|");
    check_in("H24", &base().ann("ttl", "1"), &others, |o| o.publish_host_ip = true, &brief);
    let half = slice("IPv4", &[ready("foo-0", "4.3.2.1"), unready("foo-1", "4.3.2.2")]);
    let half = [&others[..2], &[half]].concat();
    let ready_only = "foo-0.service.example.org A 1.1.1.1 | service.example.org A 1.1.1.1";
    check_in("H26", &base(), &half, |o| o.publish_host_ip = true, ready_only);
    let published = base().with("spec.publishNotReadyAddresses", true);
    check_in("H27", &published, &half, |o| o.publish_host_ip = true, &V4.join("|"));
    let bare = [pod("foo-0", "1.1.1.1"), pod("foo-1", "1.1.1.2"), others[2].clone()];
    check_in("H28", &base(), &bare, |o| o.publish_host_ip = true, V4[2]);
    let loose = slice("IPv4", &[json!({"addresses": ["4.3.2.1"]})]);
    check_in(
        "H31",
        &base(),
        &[others[0].clone(), loose],
        |o| o.publish_host_ip = true,
        "service.example.org pending | ! PodNotFound",
    );
}

#[test]
fn endpoints_that_give_nothing() {
    let pod = pod("pod1", "1.1.1.1");
    let waiting = "service.example.org pending";
    let lost = "service.example.org pending | ! PodNotFound";
    let to = |reference: Value| slice("IPv4", &[json!({"addresses": ["4.3.2.1"], "targetRef": reference})]);
    for (id, slice, expected) in [
        ("H33", slice("IPv4", &[ready("pod9", "4.3.2.1")]), lost),
        ("H34", slice("FQDN", &[ready("pod1", "a.example.com")]), waiting),
        ("H37", slice("IPv4", &[json!({"addresses": [], "targetRef": {"kind": "Pod", "name": "pod1"}})]), waiting),
        ("H40 found", to(json!({"kind": "Pod", "name": "pod1"})), "service.example.org A 4.3.2.1"),
        ("H40 nil", to(json!(null)), lost),
        ("H40 kind", to(json!({"kind": "Service", "name": "pod1"})), lost),
        ("H40 apiVersion", to(json!({"kind": "Pod", "name": "pod1", "apiVersion": "v1"})), lost),
        (
            "another service's slice",
            slice("IPv4", &[ready("pod1", "4.3.2.1")]).label("kubernetes.io/service-name", "bar"),
            waiting,
        ),
    ] {
        check_in(id, &base(), &[pod.clone(), slice], |_| {}, expected);
    }
    let fqdn = slice("FQDN", &[ready("pod1", "a.example.com")]);
    check_in("H35", &base(), &[pod.clone(), fqdn], |o| o.publish_host_ip = true, "service.example.org A 1.1.1.1");
    let unselected = pod.label("component", "bar");
    check_in(
        "a pod that the selector leaves out",
        &base(),
        &[unselected, slice("IPv4", &[ready("pod1", "4.3.2.1")])],
        |_| {},
        lost,
    );
    let one_lost =
        [pod, slice("IPv4", &[ready("pod1", "4.3.2.1"), ready("pod8", "4.3.2.8"), ready("pod9", "4.3.2.9")])];
    check_in("one note for all", &base(), &one_lost, |_| {}, "service.example.org A 4.3.2.1 | ! PodNotFound");
    let message = &map(&base(), &one_lost, &options(|_| {})).notes[0].message;
    assert!(message.starts_with("2 endpoints") && message.contains("Pod pod8 (4.3.2.8)"), "{message}");
}

/// H41: types apart, each target once; and each pod's name is distinguished from the service's.
#[test]
fn grouping() {
    let endpoints = [ready("foo-0", "1.2.3.4"), ready("foo-1", "5.6.7.8"), ready("foo-2", "1.2.3.4")];
    let six = slice("IPv6", &[ready("foo-0", "2001:db8::1")]).with("metadata.name", "foo-2");
    let others = [pod("foo-0", ""), pod("foo-1", ""), pod("foo-2", ""), slice("IPv4", &endpoints), six];
    let expected = "service.example.org A 1.2.3.4 5.6.7.8 ttl=300 | service.example.org AAAA 2001:db8::1 ttl=300";
    check_in("H41", &base().ann("ttl", "300"), &others, |_| {}, expected);
}

#[test]
fn members_share_their_name() {
    let mapped = map(&base(), &pair("IPv4", "1.1.1.1", "1.1.1.2"), &options(|_| {}));
    assert!(
        mapped
            .endpoints
            .iter()
            .all(|e| e.sharing == Sharing::Union && e.resource.as_deref() == Some("service/testing/foo"))
    );
    let own = map(&base().ann("target", "1.1.1.1"), &[], &options(|_| {}));
    assert_eq!(own.endpoints[0].sharing, Sharing::Holder);
}

#[test]
fn evidence() {
    let others = pair("IPv4", "1.1.1.1", "1.1.1.2");
    let kinds = |thing: &Thing| map(thing, &others, &options(|_| {})).kinds;
    let (service, slice, pod, node) = (Kind::Service.id(), Kind::EndpointSlice.id(), Kind::Pod.id(), Kind::Node.id());
    assert_eq!(kinds(&base()), [service.clone(), slice.clone(), pod.clone()].into());
    assert_eq!(kinds(&base().ann("endpoints-type", "NodeExternalIP")), [service, slice, pod, node].into());
}
