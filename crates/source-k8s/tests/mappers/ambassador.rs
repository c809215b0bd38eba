//! The tests of section 3.18; the names of Services are tested where they are read.

use serde_json::json;
use zonewright_source_k8s::kind::Kind;
use zonewright_source_k8s::selector::MetadataSelector;

use crate::scene::{Thing, check, check_in, map, options};

const KEY: &str = "external-dns.ambassador-service";

fn host() -> Thing {
    Thing::new(Kind::AmbassadorHost, "ns", "host").with("spec.hostname", "a.org").annotation(KEY, "amb/edge")
}

fn service(namespace: &str, entries: &str) -> Thing {
    Thing::new(Kind::Service, namespace, "edge").with("spec.type", "LoadBalancer").status(entries)
}

#[test]
fn services() {
    let external =
        service("amb", "1.1.1.1").with("spec.externalIPs", json!(["2.2.2.2"])).with("spec.type", "ClusterIP");
    for (id, named, others, expected) in [
        ("address", "amb/edge", vec![service("amb", "1.1.1.1")], "a.org A 1.1.1.1"),
        ("host name", "amb/edge", vec![service("amb", "lb.org")], "a.org CNAME lb.org"),
        ("both", "amb/edge", vec![service("amb", "1.1.1.1 lb.org")], "a.org A 1.1.1.1 | a.org CNAME lb.org"),
        ("external", "amb/edge", vec![external], "a.org A 2.2.2.2"),
        ("with a dot", "edge.amb", vec![service("amb", "1.1.1.1")], "a.org A 1.1.1.1"),
        (
            "bare: the namespace default",
            "edge",
            vec![service("default", "1.1.1.1"), service("ns", "2.2.2.2")],
            "a.org A 1.1.1.1",
        ),
        ("missing", "amb/edge", vec![service("ns", "1.1.1.1")], "a.org pending"),
        ("blank", "amb/edge", vec![service("amb", "")], "a.org pending"),
        ("no name of a Service", "a/b/c", vec![], "a.org pending | ! InvalidAnnotation"),
    ] {
        check_in(id, &host().annotation(KEY, named), &others, |_| {}, expected);
    }
    let others = [service("amb", "1.1.1.1")];
    check_in(
        "--namespace does not hide the Service",
        &host(),
        &others,
        |o| o.namespace = "ns".to_owned(),
        "a.org A 1.1.1.1",
    );
}

#[test]
fn annotations_and_filters() {
    let others = [service("amb", "1.1.1.1")];
    let a = "a.org A 1.1.1.1";
    for (id, thing, expected) in [
        ("hostname does not count", host().ann("hostname", "b.org"), a),
        ("neither does the controller", host().ann("controller", "other"), a),
        ("settings", host().ann("ttl", "180").ann("aws-weight", "1"), "a.org A 1.1.1.1 ttl=180 aws/weight=1"),
        ("target", host().ann("target", "t.org"), "a.org CNAME t.org"),
        ("no name", host().with("spec.hostname", ""), ""),
        ("any host", host().with("spec.hostname", "*"), "! AnyHost"),
        ("fields that nobody reads", host().with("spec.acmeProvider", json!({"authority": "none"})), a),
    ] {
        check_in(id, &thing, &others, |_| {}, expected);
    }
    let bare = Thing::new(Kind::AmbassadorHost, "ns", "host").with("spec.hostname", "a.org").ann("target", "t.org");
    check("without the annotation", &bare, |_| {}, "");
    let labels = || MetadataSelector::labels("app=web").expect("a filter");
    let annotations = || MetadataSelector::annotations("tier=front").expect("a filter");
    check_in("label filter", &host(), &others, |o| o.label_filter = labels(), "");
    check_in("label filter", &host().label("app", "web"), &others, |o| o.label_filter = labels(), a);
    check_in("annotation filter", &host(), &others, |o| o.annotation_filter = annotations(), "");
    check_in(
        "annotation filter",
        &host().annotation("tier", "front"),
        &others,
        |o| o.annotation_filter = annotations(),
        a,
    );
    check_in("namespace", &host(), &others, |o| o.namespace = "other".to_owned(), "");
    let mapped = map(&host(), &others, &options(|_| {}));
    assert_eq!(mapped.endpoints[0].resource.as_deref(), Some("host/ns/host"));
}
