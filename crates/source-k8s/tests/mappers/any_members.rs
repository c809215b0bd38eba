//! A full node, pod, route and what they lead to, for the tests with any input.

use serde_json::{Value, json};
use zonewright_source_k8s::kind::Kind;
use zonewright_source_k8s::options::SourceOptions;
use zonewright_source_k8s::sources::roles;

use crate::scene::Thing;

/// The objects that are mapped by a source of this build.
pub(crate) fn subjects(options: &SourceOptions) -> Vec<Thing> {
    let roles = roles(options);
    let mut all = vec![node(), pod(), kops("NodePort"), kops("LoadBalancer")];
    all.extend([Kind::HttpRoute, Kind::TlsRoute].map(route));
    all.retain(|thing| roles.iter().any(|role| role.kind == thing.kind));
    all
}

/// What they lead to.
pub(crate) fn surroundings() -> Vec<Thing> {
    let set = Thing::new(Kind::ListenerSet, "ns", "set")
        .with("spec", json!({"parentRef": {"name": "gw"}, "listeners": listeners()}))
        .with("status", json!({"conditions": accepted(), "listeners": [{"name": "l", "conditions": accepted()}]}))
        .ann("target", "8.8.8.8");
    let admission = json!({"namespaces": {"from": "Same", "selector": {"matchLabels": {"a": "b"}}}});
    let gateway = Thing::new(Kind::Gateway, "ns", "gw")
        .with("spec", json!({"listeners": listeners(), "allowedListeners": admission}))
        .with("status.addresses", json!([{"type": "IPAddress", "value": "7.7.7.7"}]));
    vec![gateway.ann("target", "9.9.9.9"), set, Thing::new(Kind::Namespace, "", "ns").label("a", "b")]
}

fn listeners() -> Value {
    let expressions = json!([{"key": "a", "operator": "In", "values": ["b"]}]);
    let namespaces = json!({"from": "Selector", "selector": {"matchExpressions": expressions}});
    let kinds = json!([{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute"}]);
    json!([
        {"name": "l", "hostname": "*.example.org", "protocol": "HTTP", "port": 80,
         "allowedRoutes": {"namespaces": namespaces, "kinds": kinds}},
        {"name": "m", "hostname": "a.example.org", "protocol": "TLS", "port": 443}
    ])
}

fn accepted() -> Value {
    json!([{"type": "Accepted", "status": "True", "reason": "Accepted"}])
}

fn node() -> Thing {
    let addresses = json!([{"type": "ExternalIP", "address": "3.3.3.3"}, {"type": "InternalIP", "address": "::3"}]);
    Thing::new(Kind::Node, "", "node").with("spec.unschedulable", false).with("status.addresses", addresses)
}

fn pod() -> Thing {
    Thing::new(Kind::Pod, "ns", "pod")
        .with("spec", json!({"nodeName": "node", "hostNetwork": true}))
        .with("status", json!({"podIP": "1.1.1.1", "podIPs": [{"ip": "1.1.1.1"}]}))
        .ann("hostname", "a.example.org")
        .annotation("dns.alpha.kubernetes.io/internal", "b.example.org")
        .annotation("dns.alpha.kubernetes.io/external", "c.example.org")
}

fn kops(service_type: &str) -> Thing {
    Thing::new(Kind::Service, "ns", "kops")
        .with("spec.type", service_type)
        .status("1.2.3.4")
        .annotation("dns.alpha.kubernetes.io/external", "c.example.org")
        .annotation("zalando.org/dnsname", "d.example.org")
}

fn route(kind: Kind) -> Thing {
    let references = json!([{"name": "gw", "sectionName": "l", "port": 80}, {"kind": "ListenerSet", "name": "set"}, {"name": "gone"}]);
    let answers = references.as_array().into_iter().flatten();
    let answers: Vec<Value> = answers.map(|r| json!({"parentRef": r, "conditions": accepted()})).collect();
    Thing::new(kind, "ns", "route")
        .with("spec", json!({"hostnames": ["a.example.org", "*.example.org"], "parentRefs": references}))
        .with("status.parents", answers)
        .ann("hostname", "b.example.org")
        .ann("gateway-hostname-source", "defined-hosts-only")
}
