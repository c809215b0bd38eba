//! The tests of section 3.16; what concerns requests is the watch's. Templates are tested with the engine.

use serde_json::json;
use zonewright_source_k8s::kind::Kind;
use zonewright_source_k8s::options::SourceOptions;
use zonewright_source_k8s::selector::MetadataSelector;

use crate::scene::{Thing, check, map, options};

fn group_of(kind: Kind, hosts: &[&str]) -> Thing {
    Thing::new(kind, "ns", "rg")
        .with("spec.hosts", json!(hosts))
        .with("status.loadBalancer.routeGroup", json!([{"hostname": "lb.org"}]))
}

fn entries(thing: &Thing, entries: serde_json::Value) -> Thing {
    thing.with("status.loadBalancer.routeGroup", entries)
}

/// The same kind under another group, which is held whole.
fn other() -> Kind {
    Kind::custom("x.io", "v2", "routegroups", "RouteGroup", true)
}

fn at_other(o: &mut SourceOptions) {
    o.routegroup = other();
}

#[test]
fn names_and_targets() {
    for kind in [Kind::RouteGroup, other()] {
        let group = |hosts: &[&str]| group_of(kind, hosts);
        for (id, thing, expected) in [
            ("host name", group(&["a.org"]), "a.org CNAME lb.org"),
            ("address", entries(&group(&["a.org"]), json!([{"ip": "1.1.1.1"}])), "a.org A 1.1.1.1"),
            ("IPv6", entries(&group(&["a.org"]), json!([{"ip": "::1"}])), "a.org AAAA ::1"),
            (
                "mixed",
                entries(&group(&["a.org"]), json!([{"ip": "1.1.1.1", "hostname": "lb.org"}])),
                "a.org A 1.1.1.1 | a.org CNAME lb.org",
            ),
            ("blank", entries(&group(&["a.org"]), json!([])), "a.org pending"),
            ("no hosts", group(&[]), ""),
            ("empty host", group(&["", "a.org"]), "a.org CNAME lb.org"),
            ("annotated", group(&["a.org"]).ann("hostname", "b.org"), "a.org CNAME lb.org | b.org CNAME lb.org"),
            ("target", group(&["a.org"]).ann("target", "t.org"), "a.org CNAME t.org"),
            (
                "settings",
                group(&["a.org"]).ann("ttl", "60").ann("aws-weight", "1"),
                "a.org CNAME lb.org ttl=60 aws/weight=1",
            ),
            ("another's", group(&["a.org"]).ann("controller", "other"), ""),
        ] {
            check(id, &thing, |o| o.routegroup = kind, expected);
        }
        let mapped = map(&group(&["a.org"]), &[], &options(|o| o.routegroup = kind));
        assert_eq!(mapped.endpoints[0].resource.as_deref(), Some("routegroup/ns/rg"));
    }
    let both = group_of(Kind::RouteGroup, &["a.org"]).ann("hostname", "b.org");
    check("ignored", &both, |o| o.ignore_hostname_annotation = true, "a.org CNAME lb.org");
    let filter = || MetadataSelector::labels("app in (web, db)").expect("a filter");
    check("label filter", &both.label("app", "x"), |o| o.label_filter = filter(), "");
}

/// What has another shape is not taken for one that asks for nothing.
#[test]
fn an_object_of_another_shape() {
    let odd = group_of(other(), &[]).with("spec.hosts", "a.org");
    check("reported", &odd, at_other, "! UnreadableObject");
    let mapped = map(&odd, &[], &options(at_other));
    assert_eq!(mapped.unknown[0].resource.as_deref(), Some("routegroup/ns/rg"));
    assert!(group_of(Kind::RouteGroup, &[]).with("spec.hosts", "a.org").object(&options(|_| {}).keep()).is_none());
}
