//! `zonewright kops`: every rule by which dns-controller reads objects.

use serde_json::json;
use zonewright_core::endpoint::Sharing;
use zonewright_source_k8s::kind::Kind;
use zonewright_source_k8s::options::{KopsOptions, SourceOptions};
use zonewright_source_k8s::sources::roles;

use crate::node::node;
use crate::scene::{Thing, check_in, map, options};

const EXTERNAL: &str = "dns.alpha.kubernetes.io/external";
const INTERNAL: &str = "dns.alpha.kubernetes.io/internal";
const EXTERNAL_IP: &str = "dns.alpha.kubernetes.io/external-ip";

/// Both families, as the flags stand otherwise.
const BOTH: KopsOptions =
    KopsOptions { watch_ingress: true, internal_ipv4: true, internal_ipv6: true, external_ipv6: true };

/// The nodes of a cluster.
fn nodes() -> Vec<Thing> {
    let worker = |name, addresses| node(name, addresses).label("node-role.kubernetes.io/node", "");
    vec![
        node("cp", "ext:203.0.113.10 int:10.0.0.10").label("node-role.kubernetes.io/control-plane", ""),
        worker("w1", "ext:203.0.113.1 int:10.0.0.1"),
        worker("w2", "ext:203.0.113.2 int:10.0.0.2 int:2001:DB8::2"),
        node("former", "ext:203.0.113.3 int:10.0.0.3").label("kubernetes.io/role", "node"),
        node("bare", "int:10.0.0.4"),
        node("former-cp", "ext:203.0.113.5 int:10.0.0.5").label("kubernetes.io/role", "master"),
        node("stated", "int:10.0.0.6")
            .annotation(EXTERNAL_IP, "203.0.113.6")
            .label("node-role.kubernetes.io/spot-worker", ""),
        node("both", "ext:203.0.113.7 int:10.0.0.7")
            .annotation(EXTERNAL_IP, "203.0.113.77")
            .label("node-role.kubernetes.io/spot-worker", "")
            .label("node-role.kubernetes.io/node", ""),
        node("wrong", "int:10.0.0.8")
            .annotation(EXTERNAL_IP, "gate.example.org")
            .label("node-role.kubernetes.io/bastion", ""),
    ]
}

fn with(id: &str, thing: &Thing, kops: KopsOptions, expected: &str) {
    check_in(id, thing, &nodes(), |o| o.kops = Some(kops), expected);
}

fn check(id: &str, thing: &Thing, expected: &str) {
    with(id, thing, BOTH, expected);
}

fn pod(node: &str, ips: &str) -> Thing {
    let list: Vec<_> = ips.split_whitespace().map(|ip| json!({ "ip": ip })).collect();
    Thing::new(Kind::Pod, "kube-system", "kube-apiserver")
        .with("spec", json!({"nodeName": node, "hostNetwork": true}))
        .with("status", json!({"podIP": ips.split_whitespace().next(), "podIPs": list}))
}

fn service(service_type: &str) -> Thing {
    Thing::new(Kind::Service, "ns", "web").with("spec.type", service_type)
}

#[test]
fn external_of_pods() {
    let on = |node| pod(node, "10.9.9.9").annotation(EXTERNAL, "api.k8s.test");
    check("the external address of the node", &on("cp"), "api.k8s.test A 203.0.113.10 ttl=60");
    check(
        "and its internal IPv6 address",
        &on("w2"),
        "api.k8s.test A 203.0.113.2 ttl=60 | api.k8s.test AAAA 2001:db8::2 ttl=60",
    );
    let document = KopsOptions { external_ipv6: false, ..BOTH };
    with("but not as the document has it", &on("w2"), document, "api.k8s.test A 203.0.113.2 ttl=60");
    let v4 = KopsOptions { internal_ipv6: false, ..BOTH };
    with(
        "the families are those of the internal network alone",
        &on("w2"),
        v4,
        "api.k8s.test A 203.0.113.2 ttl=60 | api.k8s.test AAAA 2001:db8::2 ttl=60",
    );
    check("the annotation of a node without an ExternalIP", &on("stated"), "api.k8s.test A 203.0.113.6 ttl=60");
    check("not where there is an ExternalIP", &on("both"), "api.k8s.test A 203.0.113.7 ttl=60");
    check("no address in the annotation", &on("wrong"), "api.k8s.test pending | ! InvalidTarget");
    check("a node without one", &on("bare"), "api.k8s.test pending");
    check("a node that is gone", &on("gone"), "api.k8s.test pending");
    check("no node yet", &on(""), "api.k8s.test pending");
    check("a pod network of its own", &on("cp").with("spec.hostNetwork", false), "! InvalidAnnotation");
}

#[test]
fn internal_of_pods() {
    let on = |node, ips| pod(node, ips).annotation(INTERNAL, "api.internal.k8s.test");
    let one = "api.internal.k8s.test A 10.9.9.9 ttl=60";
    check("one address, unchecked", &on("cp", "10.9.9.9"), one);
    with("also where its family is off", &on("cp", "10.9.9.9"), KopsOptions { internal_ipv4: false, ..BOTH }, one);
    check("of a node that is not known", &on("gone", "10.9.9.9"), one);
    check("an IPv6 address", &on("cp", "2001:db8::9"), "api.internal.k8s.test AAAA 2001:db8::9 ttl=60");
    check(
        "of several those of the node",
        &on("w2", "10.0.0.2 10.9.9.9 2001:db8:0::2"),
        "api.internal.k8s.test A 10.0.0.2 ttl=60 | api.internal.k8s.test AAAA 2001:db8::2 ttl=60",
    );
    check("none of the node", &on("w1", "10.9.9.8 10.9.9.9"), "api.internal.k8s.test pending");
    check("several, and no node", &on("gone", "10.9.9.8 10.9.9.9"), "api.internal.k8s.test pending");
    check("no address yet", &on("cp", ""), "api.internal.k8s.test pending");
    check("no node yet", &on("", "10.9.9.9"), "api.internal.k8s.test pending");
    check("a pod network of its own", &on("cp", "10.9.9.9").with("spec.hostNetwork", false), "! InvalidAnnotation");
}

#[test]
fn names_in_annotations() {
    let named = |names: &str| pod("cp", "10.0.0.10").annotation(INTERNAL, names);
    let two = "a.k8s.test A 10.0.0.10 ttl=60 | b.k8s.test A 10.0.0.10 ttl=60";
    check("a list", &named("a.k8s.test,b.k8s.test"), two);
    check("with white space", &named(" a.k8s.test ,\tb.k8s.test\n"), two);
    check("an empty element", &named("a.k8s.test, ,b.k8s.test,"), two);
    check("a bad name costs only itself", &named("a.k8s.test,a..b,b.k8s.test"), &format!("{two} | ! InvalidHostname"));
    check("twice the same", &named("a.k8s.test,A.K8S.test."), "a.k8s.test A 10.0.0.10 ttl=60");
    check("nothing", &named(" "), "");
    check("no annotation", &pod("cp", "10.0.0.10"), "");
    check(
        "both annotations",
        &named("a.k8s.test").annotation(EXTERNAL, "b.k8s.test"),
        "a.k8s.test A 10.0.0.10 ttl=60 | b.k8s.test A 203.0.113.10 ttl=60",
    );
    check(
        "annotations of external-dns are not read",
        &named("a.k8s.test").ann("hostname", "x.k8s.test").ann("ttl", "5").ann("target", "192.0.2.9"),
        "a.k8s.test A 10.0.0.10 ttl=60",
    );
}

#[test]
fn load_balancers() {
    let balancer = service("LoadBalancer").status("192.0.2.1 lb.example.org 2001:db8::1");
    let all = |name: &str| {
        format!("{name} A 192.0.2.1 ttl=60 | {name} AAAA 2001:db8::1 ttl=60 | {name} CNAME lb.example.org ttl=60")
    };
    check("external", &balancer.annotation(EXTERNAL, "e.k8s.test"), &all("e.k8s.test"));
    check("internal is no different", &balancer.annotation(INTERNAL, "i.k8s.test"), &all("i.k8s.test"));
    check(
        "both",
        &balancer.annotation(EXTERNAL, "e.k8s.test").annotation(INTERNAL, "i.k8s.test"),
        &format!("{} | {}", all("e.k8s.test"), all("i.k8s.test")),
    );
    check("no status", &balancer.annotation(EXTERNAL, "e.k8s.test").status(""), "e.k8s.test pending");
    let both = json!([{ "ip": "192.0.2.1", "hostname": "lb.example.org" }]);
    check(
        "an entry with address and host name gives both",
        &service("LoadBalancer").with("status.loadBalancer.ingress", both).annotation(EXTERNAL, "e.k8s.test"),
        "e.k8s.test A 192.0.2.1 ttl=60 | e.k8s.test CNAME lb.example.org ttl=60",
    );
    check("no annotation", &balancer, "");
}

#[test]
fn node_ports() {
    let port = service("NodePort");
    check(
        "external",
        &port.annotation(EXTERNAL, "e.k8s.test"),
        "e.k8s.test A 203.0.113.7 203.0.113.3 203.0.113.1 203.0.113.2 ttl=60",
    );
    // The flags for families are for the addresses of single nodes.
    for options in [BOTH, KopsOptions { internal_ipv6: false, ..BOTH }, KopsOptions { internal_ipv4: false, ..BOTH }] {
        with(
            "internal",
            &port.annotation(INTERNAL, "i.k8s.test"),
            options,
            "i.k8s.test A 10.0.0.4 10.0.0.7 10.0.0.3 10.0.0.1 10.0.0.2 ttl=60 | i.k8s.test AAAA 2001:db8::2 ttl=60",
        );
    }
    check(
        "both at once are read as neither",
        &port.annotation(EXTERNAL, "e.k8s.test").annotation(INTERNAL, "i.k8s.test"),
        "! InvalidAnnotation",
    );
    for other in ["ClusterIP", "ExternalName"] {
        check(other, &service(other).annotation(INTERNAL, "i.k8s.test"), "! InvalidAnnotation");
        check(other, &service(other), "");
    }
    check_in("no node", &port.annotation(INTERNAL, "i.k8s.test"), &[], |o| o.kops = Some(BOTH), "i.k8s.test pending");
}

#[test]
fn ingresses() {
    let ingress = Thing::new(Kind::Ingress, "ns", "web")
        .with("spec.rules", json!([{ "host": "a.k8s.test" }, { "host": "" }, {}, { "host": "*.k8s.test" }]))
        .with("spec.tls", json!([{ "hosts": ["tls.k8s.test"] }]))
        .annotation(EXTERNAL, "x.k8s.test")
        .ann("hostname", "y.k8s.test")
        .status("192.0.2.1");
    let all = "a.k8s.test A 192.0.2.1 ttl=60 | *.k8s.test A 192.0.2.1 ttl=60";
    check("the hosts of its rules", &ingress, all);
    let both = json!([{ "ip": "192.0.2.1", "hostname": "lb.example.org" }]);
    check(
        "address and host name",
        &ingress.with("spec.rules", json!([{ "host": "a.k8s.test" }])).with("status.loadBalancer.ingress", both),
        "a.k8s.test A 192.0.2.1 ttl=60 | a.k8s.test CNAME lb.example.org ttl=60",
    );
    check("no status", &ingress.status(""), "a.k8s.test pending | *.k8s.test pending");
    check(
        "a bad host costs only itself",
        &ingress.with("spec.rules", json!([{ "host": "a.k8s.test" }, { "host": "b..c" }])),
        "a.k8s.test A 192.0.2.1 ttl=60 | ! InvalidHostname",
    );
    let kinds = |watch_ingress| -> Vec<Kind> {
        let options = options(|o| o.kops = Some(KopsOptions { watch_ingress, ..BOTH }));
        roles(&options).into_iter().map(|role| role.kind).collect()
    };
    assert_eq!(kinds(true), [Kind::Service, Kind::Pod, Kind::Ingress]);
    assert_eq!(kinds(false), [Kind::Service, Kind::Pod]);
}

/// What is joined, what carries no label, and what every removal rests on.
#[test]
fn endpoints_are_members_of_their_names() {
    let things = [
        pod("cp", "10.0.0.10").annotation(INTERNAL, "a.k8s.test"),
        service("LoadBalancer").annotation(EXTERNAL, "a.k8s.test").status("192.0.2.1"),
        Thing::new(Kind::Ingress, "ns", "web")
            .with("spec.rules", json!([{ "host": "a.k8s.test" }]))
            .status("192.0.2.2"),
    ];
    let kops = |watch_ingress| options(|o| o.kops = Some(KopsOptions { watch_ingress, ..BOTH }));
    for thing in &things {
        let mapped = map(thing, &nodes(), &kops(true));
        let endpoint = &mapped.endpoints[0];
        assert_eq!((endpoint.sharing, &endpoint.resource), (Sharing::Union, &None), "{:?}", thing.kind);
        let kinds: Vec<&str> = mapped.kinds.iter().map(|kind| &**kind).collect();
        assert_eq!(kinds, ["ingresses.networking.k8s.io", "nodes", "pods", "services"]);
    }
    let mapped = map(&things[0], &nodes(), &kops(false));
    let kinds: Vec<&str> = mapped.kinds.iter().map(|kind| &**kind).collect();
    assert_eq!(kinds, ["nodes", "pods", "services"]);
}

#[test]
fn filters_and_the_object_policy_count_and_the_controller_annotation_does_not() {
    let named = pod("cp", "10.0.0.10").annotation(INTERNAL, "a.k8s.test");
    let kops = |change: fn(&mut SourceOptions)| {
        options(|o| {
            o.kops = Some(BOTH);
            change(o);
        })
    };
    let count = |thing: &Thing, options: &SourceOptions| map(thing, &nodes(), options).endpoints.len();
    assert_eq!(count(&named, &kops(|o| o.namespace = "kube-system".to_owned())), 1);
    assert_eq!(count(&named, &kops(|o| o.namespace = "shop".to_owned())), 0);
    assert_eq!(count(&named.ann("controller", "other"), &kops(|_| {})), 1);
    let frozen = named.annotation("zonewright.dev/policy", "retain");
    assert!(map(&frozen, &nodes(), &kops(|_| {})).endpoints[0].policy.is_some());
}
