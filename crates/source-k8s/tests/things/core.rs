//! Services and Ingresses, and the pods, nodes and slices behind them.

use serde_json::json;
use zonewright_source_k8s::kind::Kind;

use super::Thing;

pub(super) fn subjects() -> Vec<Thing> {
    let named = |kind| Thing::new(kind, "ns", "web").ann("hostname", "a.example.org");
    let spec = json!({
        "type": "NodePort", "clusterIP": "None", "ports": [{"nodePort": 30000, "protocol": "TCP"}],
        "externalTrafficPolicy": "Local", "externalIPs": ["1.2.3.5"], "externalName": "x.example.com",
        "publishNotReadyAddresses": false, "selector": {"app": "web"}
    });
    let node_port = named(Kind::Service)
        .ann("internal-hostname", "i.example.org")
        .with("spec", spec)
        .status("1.2.3.4 lb.example.com");
    let of_type = |name: &str| node_port.with("spec.type", name).with("metadata.name", name.to_lowercase());
    let rules = json!([{"host": "b.example.org"}]);
    let ingress = named(Kind::Ingress)
        .with("spec", json!({"ingressClassName": "public", "rules": rules, "tls": [{"hosts": ["c.example.org"]}]}))
        .status("lb.example.com 1.2.3.4");
    vec![
        node_port.clone(),
        // Headless: the slice and the pod are its own.
        node_port.with("spec.type", "ClusterIP"),
        of_type("ClusterIP").with("spec.clusterIP", "10.0.0.1"),
        of_type("LoadBalancer"),
        of_type("ExternalName"),
        ingress,
    ]
}

pub(super) fn surroundings() -> Vec<Thing> {
    let endpoint = json!({
        "addresses": ["1.1.1.1"], "conditions": {"ready": true}, "targetRef": {"kind": "Pod", "apiVersion": "", "name": "pod"}
    });
    vec![
        Thing::new(Kind::Pod, "ns", "pod")
            .label("app", "web")
            .with("spec", json!({"nodeName": "node", "hostname": "pod"}))
            .with(
                "status",
                json!({"phase": "Running", "hostIP": "1.1.1.1", "conditions": [{"type": "Ready", "status": "True"}]}),
            )
            .ann("target", "2.2.2.2"),
        // What a resolver would say of the host of a load balancer.
        Thing::new(Kind::Host, "", "lb.example.com").with("addresses", json!(["4.4.4.4", "4::4"])),
        Thing::new(Kind::Node, "", "node")
            .label("node-role.kubernetes.io/node", "")
            .with("status.addresses", json!([{"type": "ExternalIP", "address": "3.3.3.3"}])),
        Thing::new(Kind::EndpointSlice, "ns", "web-1")
            .label("kubernetes.io/service-name", "web")
            .with("addressType", "IPv4")
            .with("endpoints", json!([endpoint])),
    ]
}
