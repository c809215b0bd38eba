//! The tests of section 3.13.

use serde_json::json;
use zonewright_source_k8s::kind::Kind;
use zonewright_source_k8s::selector::MetadataSelector;

use crate::scene::{Thing, check, map, options};

fn tcp() -> Thing {
    Thing::new(Kind::TcpIngress, "ns", "tcp").status("lb.org")
}

fn rule(host: &str) -> Thing {
    tcp().with("spec.rules", json!([{"port": 9000}, {"host": host, "port": 9443}]))
}

#[test]
fn names_and_targets() {
    for (id, thing, expected) in [
        ("annotated", tcp().ann("hostname", "a.org"), "a.org CNAME lb.org"),
        ("server name", rule("b.org"), "b.org CNAME lb.org"),
        ("both", rule("b.org").ann("hostname", "a.org"), "a.org CNAME lb.org | b.org CNAME lb.org"),
        ("TLS hosts do not count", tcp().with("spec.tls", json!([{"hosts": ["c.org"]}])), ""),
        ("address and host name", rule("b.org").status("8.8.8.8 lb.org"), "b.org A 8.8.8.8 | b.org CNAME lb.org"),
        ("blank", rule("b.org").status(""), "b.org pending"),
        ("target", rule("b.org").ann("target", "t.org"), "b.org CNAME t.org"),
        ("settings", rule("b.org").ann("ttl", "60").ann("aws-weight", "1"), "b.org CNAME lb.org ttl=60 aws/weight=1"),
        ("another's", rule("b.org").ann("controller", "other"), ""),
    ] {
        check(id, &thing, |_| {}, expected);
    }
    check(
        "ignored",
        &rule("b.org").ann("hostname", "a.org"),
        |o| o.ignore_hostname_annotation = true,
        "b.org CNAME lb.org",
    );
    let filter = || MetadataSelector::labels("app=web").expect("a filter");
    check("label filter", &rule("b.org").label("app", "web"), |o| o.label_filter = filter(), "b.org CNAME lb.org");
    check("label filter", &rule("b.org"), |o| o.label_filter = filter(), "");
}

#[test]
fn label() {
    let mapped = map(&rule("b.org"), &[], &options(|_| {}));
    assert_eq!(mapped.endpoints[0].resource.as_deref(), Some("tcpingress/ns/tcp"));
}
