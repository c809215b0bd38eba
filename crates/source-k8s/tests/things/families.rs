//! An object of each kind of the further sources, and what they refer to.

use serde_json::json;
use zonewright_source_k8s::kind::Kind;

use super::{Thing, custom};

pub(super) fn subjects() -> Vec<Thing> {
    let mut all = vec![gloo(), openshift()];
    all.extend([Kind::DnsEndpoint, Kind::Connector, Kind::Fake].map(dns_endpoint));
    all.extend(istio());
    all.extend(hosted());
    all
}

pub(super) fn surroundings() -> Vec<Thing> {
    let gateway = istio().swap_remove(0).with("metadata.name", "front");
    vec![
        gateway.ann("ingress", "ns/front"),
        Thing::new(Kind::Ingress, "ns", "front").status("5.5.5.5 lb.example.com"),
        Thing::new(Kind::Service, "ns", "front")
            .with("spec", json!({"type": "LoadBalancer", "selector": {"a": "b"}}))
            .status("6.6.6.6"),
        Thing::new(Kind::GlooGateway, "ns", "front").ann("ingress", "front"),
        Thing::new(Kind::GlooVirtualService, "ns", "front").ann("ttl", "60"),
    ]
}

fn dns_endpoint(kind: Kind) -> Thing {
    let element = |rtype: &str, target: &str| {
        json!({"dnsName": "a.example.org", "recordType": rtype, "targets": [target], "recordTTL": 60, "setIdentifier": "",
               "labels": {"resource": "crd/ns/de", "team": "a"}, "providerSpecific": [{"name": "alias", "value": "true"}]})
    };
    let elements = [
        element("A", "1.1.1.1"),
        element("A", "lb.example.org"),
        element("TXT", "x"),
        element("MX", "1 a.org"),
        json!(null),
    ];
    Thing::new(kind, "ns", "de").with("spec.endpoints", json!(elements))
}

fn istio() -> Vec<Thing> {
    let servers = json!([{"hosts": ["*/*.example.org", "a.example.org"]}]);
    vec![
        Thing::new(Kind::IstioGateway, "ns", "gw").with("spec", json!({"selector": {"a": "b"}, "servers": servers})),
        Thing::new(Kind::IstioVirtualService, "ns", "vs").with(
            "spec",
            json!({"hosts": ["a.example.org", "x/b.example.org"], "gateways": ["front", "ns/front", "gone"], "exportTo": ["."]}),
        ),
    ]
}

fn gloo() -> Thing {
    let host = json!({"domains": ["a.example.org"],
        "metadata": {"sources": [{"kind": "*v1.VirtualService", "name": "front", "namespace": "ns"}]},
        "metadataStatic": {"sources": [{"resourceKind": "*v1.VirtualService", "resourceRef": {"name": "front", "namespace": "ns"}}]}});
    let listener = json!({"httpListener": {"virtualHosts": [host]},
        "aggregateListener": {"httpFilterChains": [{"virtualHostRefs": ["v"]}], "httpResources": {"virtualHosts": {"v": host}}},
        "metadataStatic": {"sources": [{"resourceKind": "*v1.Gateway", "resourceRef": {"name": "front", "namespace": "ns"}}]}});
    Thing::new(Kind::GlooProxy, "gloo-system", "front").with("spec.listeners", json!([listener]))
}

fn openshift() -> Thing {
    let router = json!({"host": "a.example.org", "routerName": "r", "routerCanonicalHostname": "r.example.com",
                        "conditions": [{"type": "Admitted", "status": "True"}]});
    Thing::new(Kind::OpenshiftRoute, "ns", "r")
        .with("spec.host", "b.example.org")
        .with("status.ingress", json!([router]))
}

fn hosted() -> Vec<Thing> {
    let route = |kind| {
        Thing::new(kind, "ns", "r")
            .with("spec.routes", json!([{"match": "Host(`a.example.org`,`b.example.org`)"}]))
            .ann("target", "t.org")
            .ann("hostname", "a.example.org")
    };
    let server = |kind| {
        Thing::new(kind, "ns", "s")
            .with(
                "spec",
                json!({"host": "a.example.org", "hostAliases": ["b.example.org"], "virtualServerAddress": "1.1.1.1"}),
            )
            .with("status.vsAddress", "1.1.1.1")
    };
    vec![
        Thing::new(Kind::HttpProxy, "ns", "p").with("spec.virtualhost.fqdn", "a.example.org").status("1.1.1.1"),
        Thing::new(Kind::TcpIngress, "ns", "t")
            .with("spec.rules", json!([{"host": "a.example.org"}]))
            .status("1.1.1.1"),
        Thing::new(Kind::RouteGroup, "ns", "g")
            .with("spec.hosts", json!(["a.example.org"]))
            .with("status.loadBalancer.routeGroup", json!([{"ip": "1.1.1.1"}])),
        Thing::new(Kind::AmbassadorHost, "ns", "h")
            .with("spec.hostname", "a.example.org")
            .annotation("external-dns.ambassador-service", "front.ns"),
        route(Kind::IngressRoute),
        route(Kind::IngressRouteTcp),
        route(Kind::IngressRouteUdp),
        route(Kind::OldIngressRoute),
        route(Kind::OldIngressRouteTcp),
        route(Kind::OldIngressRouteUdp),
        server(Kind::F5VirtualServer),
        server(Kind::F5TransportServer),
        Thing::new(custom(), "ns", "c").with("kind", "Thing").ann("hostname", "a.example.org").ann("target", "1.1.1.1"),
    ]
}
