//! The tests of section 3.12.

use zonewright_source_k8s::kind::Kind;
use zonewright_source_k8s::selector::MetadataSelector;

use crate::scene::{Thing, check, map, options};

fn proxy(fqdn: &str) -> Thing {
    Thing::new(Kind::HttpProxy, "ns", "proxy").with("spec.virtualhost.fqdn", fqdn).status("8.8.8.8")
}

const A: &str = "a.org A 8.8.8.8";

#[test]
fn names_and_targets() {
    let delegate = Thing::new(Kind::HttpProxy, "ns", "proxy").status("8.8.8.8");
    for (id, thing, expected) in [
        ("address", proxy("a.org"), A),
        ("host name", proxy("a.org").status("lb.org"), "a.org CNAME lb.org"),
        ("both", proxy("a.org").status("8.8.8.8 lb.org"), "a.org A 8.8.8.8 | a.org CNAME lb.org"),
        ("blank", proxy("a.org").status(""), "a.org pending"),
        ("no host", proxy(""), ""),
        ("included by another", delegate.clone(), ""),
        ("included by another, annotated", delegate.ann("hostname", "a.org"), A),
        ("any host", proxy("*"), "! AnyHost"),
        ("whatever its state", proxy("a.org").with("status.currentStatus", "invalid"), A),
        (
            "annotated",
            proxy("a.org").ann("hostname", "b.org,c.org"),
            "a.org A 8.8.8.8 | b.org A 8.8.8.8 | c.org A 8.8.8.8",
        ),
        ("target", proxy("a.org").ann("target", "t.org"), "a.org CNAME t.org"),
        ("empty target", proxy("a.org").ann("target", ""), A),
        ("settings", proxy("a.org").ann("ttl", "60").ann("alias", "true"), "a.org A 8.8.8.8 ttl=60 alias=true"),
        ("ours", proxy("a.org").ann("controller", "dns-controller"), A),
        ("another's", proxy("a.org").ann("controller", "other"), ""),
    ] {
        check(id, &thing, |_| {}, expected);
    }
    check("ignored", &proxy("a.org").ann("hostname", "b.org"), |o| o.ignore_hostname_annotation = true, A);
    check("namespace", &proxy("a.org"), |o| o.namespace = "other".to_owned(), "");
    let filter = || MetadataSelector::labels("app=web").expect("a filter");
    check("label filter", &proxy("a.org").label("app", "web"), |o| o.label_filter = filter(), A);
    check("label filter", &proxy("a.org"), |o| o.label_filter = filter(), "");
}

#[test]
fn label() {
    let mapped = map(&proxy("a.org"), &[], &options(|_| {}));
    assert_eq!(mapped.endpoints[0].resource.as_deref(), Some("HTTPProxy/ns/proxy"));
}
