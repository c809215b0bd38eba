//! The tests of section 3.17. Templates are tested with the engine.

use serde_json::{Value, json};
use zonewright_source_k8s::kind::Kind;
use zonewright_source_k8s::selector::MetadataSelector;

use crate::scene::{Thing, check, map, options};

fn router(name: &str, host: &str, canonical: &str, admitted: &str) -> Value {
    json!({"host": host, "routerName": name, "routerCanonicalHostname": canonical,
           "conditions": [{"type": "Other", "status": "True"}, {"type": "Admitted", "status": admitted}]})
}

fn route(status: Value) -> Thing {
    Thing::new(Kind::OpenshiftRoute, "ns", "route").with("spec.host", "spec.org").with("status.ingress", status)
}

fn served() -> Thing {
    route(json!([router("default", "a.org", "router.org", "True")]))
}

const A: &str = "a.org CNAME router.org";

#[test]
fn routers() {
    let two = route(json!([router("one", "a.org", "one.org", "True"), router("two", "b.org", "two.org", "True")]));
    let first_refused =
        route(json!([router("one", "a.org", "one.org", "False"), router("two", "b.org", "two.org", "True")]));
    for (id, thing, name, expected) in [
        ("any", served(), "", A),
        ("by name", served(), "default", A),
        ("another name", served(), "other", ""),
        ("the first of two", two.clone(), "", "a.org CNAME one.org"),
        ("the named one of two", two, "two", "b.org CNAME two.org"),
        ("the first that admitted", first_refused.clone(), "", "b.org CNAME two.org"),
        ("not admitted by the named one", first_refused, "one", "a.org pending"),
        ("not admitted", route(json!([router("one", "a.org", "one.org", "False")])), "", "a.org pending"),
        ("no name of its own", route(json!([router("one", "a.org", "", "True")])), "", "a.org pending"),
        ("nobody said anything", route(json!([])), "", "spec.org pending"),
        ("no status", route(json!(null)), "", "spec.org pending"),
        ("no host", route(json!([router("one", "", "one.org", "True")])), "", ""),
    ] {
        check(id, &thing, |o| o.openshift_router_name = name.to_owned(), expected);
    }
}

#[test]
fn annotations() {
    for (id, thing, expected) in [
        ("hostname", served().ann("hostname", "b.org"), "a.org CNAME router.org | b.org CNAME router.org"),
        ("hostname, not admitted", route(json!([])).ann("hostname", "b.org"), "b.org pending | spec.org pending"),
        ("target", served().ann("target", "1.1.1.1"), "a.org A 1.1.1.1"),
        (
            "target, not admitted",
            route(json!([])).ann("target", "1.1.1.1").ann("hostname", "b.org"),
            "b.org A 1.1.1.1 | spec.org pending",
        ),
        ("settings", served().ann("ttl", "60").ann("aws-weight", "1"), "a.org CNAME router.org ttl=60 aws/weight=1"),
        ("another's", served().ann("controller", "other"), ""),
    ] {
        check(id, &thing, |_| {}, expected);
    }
    check("ignored", &served().ann("hostname", "b.org"), |o| o.ignore_hostname_annotation = true, A);
    let filter = || MetadataSelector::labels("app=web").expect("a filter");
    check("label filter", &served().label("app", "web"), |o| o.label_filter = filter(), A);
    check("label filter", &served(), |o| o.label_filter = filter(), "");
    assert_eq!(map(&served(), &[], &options(|_| {})).endpoints[0].resource.as_deref(), Some("route/ns/route"));
}
