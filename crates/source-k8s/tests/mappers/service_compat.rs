//! `--compatibility` of services: mate, molecule, kops' dns-controller.

use serde_json::json;
use zonewright_core::endpoint::Sharing;
use zonewright_source_k8s::kind::Kind;
use zonewright_source_k8s::options::{Compatibility, SourceOptions};

use crate::node::node;
use crate::scene::{Thing, check, check_in, map, options};

const MATE: &str = "zalando.org/dnsname";
const EXTERNAL: &str = "dns.alpha.kubernetes.io/external";
const INTERNAL: &str = "dns.alpha.kubernetes.io/internal";

fn service() -> Thing {
    Thing::new(Kind::Service, "ns", "web").with("spec.type", "LoadBalancer").status("1.2.3.4 lb.example.com")
}

fn mode(compatibility: Compatibility) -> impl Fn(&mut SourceOptions) {
    move |o| o.compatibility = compatibility
}

#[test]
fn mate() {
    let mate = mode(Compatibility::Mate);
    let named = service().annotation(MATE, "foo.example.org.");
    let all = "foo.example.org A 1.2.3.4 | foo.example.org CNAME lb.example.com";
    check("the name", &named, &mate, all);
    check("mode off", &named, |_| {}, "");
    check("any type", &named.with("spec.type", "ClusterIP"), &mate, all);
    check(
        "the whole value is one name",
        &service().annotation(MATE, "a.example.org,b.example.org"),
        &mate,
        "! InvalidHostname",
    );
    check("IPv6", &named.status("2001:db8::1"), &mate, "foo.example.org AAAA 2001:db8::1");
    check("no status", &named.status(""), &mate, "foo.example.org pending");
    check(
        "not with an annotation of ours",
        &named.ann("hostname", "bar.example.org"),
        &mate,
        "bar.example.org A 1.2.3.4 | bar.example.org CNAME lb.example.com",
    );
    check(
        "ttl, target and set identifier do not count",
        &named.ann("ttl", "5").ann("target", "9.9.9.9").ann("set-identifier", "a").ann("aws-weight", "1"),
        &mate,
        all,
    );
    let ignoring = |o: &mut SourceOptions| {
        mate(o);
        o.ignore_hostname_annotation = true;
    };
    check("our annotation ignored", &named.ann("hostname", "bar.example.org"), ignoring, all);
    check("the controller counts", &named.ann("controller", "other"), &mate, "");
}

#[test]
fn molecule() {
    let molecule = mode(Compatibility::Molecule);
    let named = service().status("1.2.3.4").annotation("domainName", "a.example.org, b.example.org");
    let all = "a.example.org A 1.2.3.4 | b.example.org A 1.2.3.4";
    check("the names", &named.label("dns", "route53"), &molecule, all);
    check("without the label", &named, &molecule, "");
    check("another value", &named.label("dns", "other"), &molecule, "");
    check("mode off", &named.label("dns", "route53"), |_| {}, "");
    check("another mode", &named.label("dns", "route53"), mode(Compatibility::Mate), "");
    check(
        "an empty element",
        &named.label("dns", "route53").annotation("domainName", "a.example.org,"),
        &molecule,
        "a.example.org A 1.2.3.4 | ! InvalidHostname",
    );
}

#[test]
fn kops_load_balancer() {
    let kops = mode(Compatibility::KopsDnsController);
    let both = service()
        .status("1.2.3.4")
        .annotation(EXTERNAL, "e.example.org, f.example.org")
        .annotation(INTERNAL, "i.example.org");
    check("both", &both, &kops, "e.example.org A 1.2.3.4 | f.example.org A 1.2.3.4 | i.example.org A 1.2.3.4");
    check("waiting", &both.status(""), &kops, "e.example.org pending | f.example.org pending | i.example.org pending");
    check("another type", &both.with("spec.type", "ClusterIP"), &kops, "! InvalidAnnotation");
    check("nothing asked for", &service().with("spec.type", "ClusterIP"), &kops, "");
    check("mode off", &both, |_| {}, "");
}

#[test]
fn kops_node_port() {
    let worker = |name: &str, addresses: &str| node(name, addresses).label("node-role.kubernetes.io/node", "");
    let nodes = [
        worker("n1", "ext:54.10.11.1 int:10.0.1.1 int:2001:DB8::1"),
        worker("n2", "int:10.0.1.2").with("spec.unschedulable", true),
        node("control", "ext:54.10.11.9 int:10.0.1.9").label("node-role.kubernetes.io/control-plane", ""),
    ];
    let kops = mode(Compatibility::KopsDnsController);
    let check = |id: &str, thing: &Thing, expose: bool, expected: &str| {
        let change = |o: &mut SourceOptions| {
            kops(o);
            o.exclude_unschedulable = true;
            o.expose_internal_ipv6 = expose;
        };
        check_in(id, thing, &nodes, change, expected);
    };
    let port = Thing::new(Kind::Service, "ns", "web").with("spec.type", "NodePort");
    let port = port.with("spec.ports", json!([{"nodePort": 30000}])).with("spec.externalTrafficPolicy", "Local");
    let external = port.annotation(EXTERNAL, "e.example.org");
    check("external", &external, false, "e.example.org A 54.10.11.1");
    check("external, exposed", &external, true, "e.example.org A 54.10.11.1 | e.example.org AAAA 2001:db8::1");
    let internal = port.annotation(INTERNAL, "i.example.org");
    check(
        "internal, cordoned ones too",
        &internal,
        false,
        "i.example.org A 10.0.1.1 10.0.1.2 | i.example.org AAAA 2001:db8::1",
    );
    check("both at once", &external.annotation(INTERNAL, "i.example.org"), false, "! InvalidAnnotation");
    check("neither", &port, false, "");
    check_in("no worker", &external, &nodes[2..], &kops, "e.example.org pending");
}

#[test]
fn endpoints_are_bare() {
    for (compatibility, key, sharing) in
        [(Compatibility::Mate, MATE, Sharing::Holder), (Compatibility::KopsDnsController, EXTERNAL, Sharing::Union)]
    {
        let named = service().annotation(key, "foo.example.org").annotation("zonewright.dev/policy", "retain");
        let mapped = map(&named, &[], &options(mode(compatibility)));
        for endpoint in &mapped.endpoints {
            assert_eq!((endpoint.resource.as_deref(), endpoint.ttl, endpoint.sharing), (None, None, sharing));
            assert!(endpoint.policy.is_some(), "what the object allows holds for every name");
        }
        assert!(!mapped.endpoints.is_empty());
        let waiting = map(&named.status(""), &[], &options(mode(compatibility)));
        assert_eq!(waiting.pending[0].resource, None);
    }
}
