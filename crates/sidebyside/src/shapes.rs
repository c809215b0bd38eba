//! The objects that both programs are given: Services and `DNSEndpoint`s.

use serde_json::{Map, Value, json};

const PREFIX: &str = "external-dns.kubernetes.io/";

/// A Service of type LoadBalancer: its name, its host name, where it is reached, annotations without their prefix.
pub fn service(name: &str, host: &str, targets: &[&str], annotations: &[(&str, &str)]) -> Value {
    let mut stated: Map<String, Value> =
        annotations.iter().map(|(key, value)| (format!("{PREFIX}{key}"), json!(value))).collect();
    stated.insert(format!("{PREFIX}hostname"), json!(host));
    let entry = |target: &&str| match target.parse::<std::net::IpAddr>() {
        Ok(_) => json!({ "ip": target }),
        Err(_) => json!({ "hostname": target }),
    };
    let ingress: Vec<Value> = targets.iter().map(entry).collect();
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {
            "name": name, "namespace": "shop", "uid": format!("uid-{name}"), "annotations": stated,
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": { "type": "LoadBalancer", "ports": [{ "port": 80 }] },
        "status": { "loadBalancer": { "ingress": ingress } },
    })
}

/// A `DNSEndpoint` with these elements: name in the zone, type, targets.
pub fn endpoints(zone: &str, name: &str, elements: &[(&str, &str, &[&str])]) -> Value {
    let element = |(name, rtype, targets): &(&str, &str, &[&str])| json!({ "dnsName": format!("{name}.{zone}"), "recordType": rtype, "recordTTL": 180, "targets": targets });
    let elements: Vec<Value> = elements.iter().map(element).collect();
    json!({
        "apiVersion": "externaldns.k8s.io/v1alpha1", "kind": "DNSEndpoint",
        "metadata": {
            "name": name, "namespace": "shop", "uid": format!("uid-{name}"), "generation": 1,
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": { "endpoints": elements },
        "status": { "observedGeneration": 1 },
    })
}
