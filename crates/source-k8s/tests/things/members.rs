//! A node, a pod, Gateway API routes, Services of the compatibility modes, and what they lead to.

use serde_json::{Value, json};
use zonewright_source_k8s::kind::Kind;

use super::Thing;

pub(super) fn subjects() -> Vec<Thing> {
    let mut all = vec![node(), pod(), kops("NodePort"), kops("LoadBalancer")];
    all.extend([Kind::HttpRoute, Kind::GrpcRoute, Kind::TlsRoute, Kind::TcpRoute, Kind::UdpRoute].map(route));
    all
}

pub(super) fn surroundings() -> Vec<Thing> {
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
    let kinds = ["HTTPRoute", "GRPCRoute"].map(|kind| json!({"group": "gateway.networking.k8s.io", "kind": kind}));
    json!([
        {"name": "l", "hostname": "*.example.org", "protocol": "HTTP", "port": 80,
         "allowedRoutes": {"namespaces": namespaces, "kinds": kinds}},
        {"name": "m", "hostname": "a.example.org", "protocol": "TLS", "port": 443},
        {"name": "t", "protocol": "TCP", "port": 81},
        {"name": "u", "protocol": "UDP", "port": 82}
    ])
}

fn accepted() -> Value {
    json!([{"type": "Accepted", "status": "True", "reason": "Accepted"}])
}

fn node() -> Thing {
    let addresses = json!([{"type": "ExternalIP", "address": "3.3.3.3"}, {"type": "InternalIP", "address": "::3"}]);
    Thing::new(Kind::Node, "", "worker").with("spec.unschedulable", false).with("status.addresses", addresses)
}

fn pod() -> Thing {
    Thing::new(Kind::Pod, "ns", "asking")
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
    let (listener, port) = match kind {
        Kind::TlsRoute => ("m", 443),
        Kind::TcpRoute => ("t", 81),
        Kind::UdpRoute => ("u", 82),
        _ => ("l", 80),
    };
    let references = [
        json!({"name": "gw", "sectionName": listener, "port": port}),
        json!({"kind": "ListenerSet", "name": "set"}),
        json!({"name": "gone"}),
    ];
    let answers: Vec<Value> = references.iter().map(|r| json!({"parentRef": r, "conditions": accepted()})).collect();
    let route = Thing::new(kind, "ns", "route")
        .with("spec.parentRefs", references.to_vec())
        .with("status.parents", answers)
        .ann("hostname", "b.example.org");
    if matches!(kind, Kind::TcpRoute | Kind::UdpRoute) {
        return route;
    }
    route
        .with("spec.hostnames", json!(["a.example.org", "*.example.org"]))
        .ann("gateway-hostname-source", "defined-hosts-only")
}
