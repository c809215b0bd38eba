//! Section L: ListenerSets.

use serde_json::{Value, json};
use zonewright_source_k8s::kind::Kind;
use zonewright_source_k8s::options::SourceOptions;
use zonewright_source_k8s::selector::MetadataSelector;

use super::{check, gateway, listener, namespace, route};
use crate::scene::Thing;

const APP: &str = "app.example.com A 10.0.0.1";

fn admitting(from: &Value) -> Thing {
    let gateway = gateway("gw").at("10.0.0.1").listeners(&[]);
    gateway.with("spec.allowedListeners", json!({ "namespaces": from }))
}

fn all() -> Thing {
    admitting(&json!({"from": "All"}))
}

fn accepted(status: &str) -> Value {
    json!([{"type": "Accepted", "status": status, "reason": "Because"}])
}

/// The ListenerSet `edge/set` of `infra/gw`, with everything accepted.
fn set(entries: &[Value]) -> Thing {
    let status = |entry: &Value| json!({"name": entry["name"], "conditions": accepted("True")});
    Thing::new(Kind::ListenerSet, "edge", "set")
        .with("spec.parentRef", json!({"name": "gw", "namespace": "infra"}))
        .with("spec.listeners", entries.to_vec())
        .with("status.conditions", accepted("True"))
        .with("status.listeners", entries.iter().map(status).collect::<Vec<_>>())
}

fn app() -> Thing {
    set(&[listener("app", "app.example.com")])
}

fn reference() -> Value {
    json!({"group": "gateway.networking.k8s.io", "kind": "ListenerSet", "name": "set", "namespace": "edge"})
}

fn attached(hosts: &[&str]) -> Thing {
    route(Kind::HttpRoute, hosts).refers(reference()).answered(&reference(), "True")
}

fn with_sets(id: &str, route: &Thing, others: &[Thing], change: impl FnOnce(&mut SourceOptions), expected: &str) {
    let on = |o: &mut SourceOptions| {
        o.gateway_listener_sets = true;
        change(o);
    };
    check(id, route, others, on, expected);
}

#[test]
fn hosts() {
    let host = attached(&["app.example.com"]);
    with_sets("L1", &host, &[all(), app()], |_| {}, APP);
    with_sets("L1, the set's host", &attached(&[]), &[all(), app()], |_| {}, APP);
    let wild = set(&[listener("app", "*.example.com")]);
    with_sets(
        "L2",
        &attached(&["sub.domain.example.com"]),
        &[all(), wild],
        |_| {},
        "sub.domain.example.com A 10.0.0.1",
    );
    check("L3", &host, &[all(), app()], |_| {}, "");
    let two = set(&[listener("app", "app.example.com"), listener("api", "api.example.com")]);
    let mut section = reference();
    section["sectionName"] = "api".into();
    let one = route(Kind::HttpRoute, &[]).refers(section.clone()).answered(&section, "True");
    with_sets("L13", &one, &[all(), two], |_| {}, "api.example.com A 10.0.0.1");
}

#[test]
fn flags() {
    let host = attached(&["app.example.com"]);
    let by = |text: &str| MetadataSelector::annotations(text).unwrap();
    let labelled = [all().label("foo", "bar"), app()];
    with_sets("L4, L17", &host, &labelled, |o| o.gateway_label_filter = by("foo=bar"), APP);
    with_sets("L4, L17", &host, &labelled, |o| o.gateway_label_filter = by("foo=x"), "");
    with_sets("L5", &host.label("foo", "bar"), &[all(), app()], |o| o.label_filter = by("foo=bar"), APP);
    with_sets("L5", &host, &[all(), app()], |o| o.label_filter = by("foo=bar"), "");
    with_sets("L14, L16", &host, &[all(), app()], |o| o.gateway_namespace = "infra".to_owned(), APP);
    with_sets("L14, elsewhere", &host, &[all(), app()], |o| o.gateway_namespace = "edge".to_owned(), "");
    with_sets("routes of one namespace, sets of all", &host, &[all(), app()], |o| o.namespace = "web".to_owned(), APP);
    with_sets("the name is the Gateway's", &host, &[all(), app()], |o| o.gateway_name = "gw".to_owned(), APP);
    with_sets("the name is the Gateway's", &host, &[all(), app()], |o| o.gateway_name = "set".to_owned(), "");
    let filtered = host.annotation("foo", "bar");
    with_sets(
        "annotations of the set",
        &filtered,
        &[all(), app().annotation("foo", "bar")],
        |o| o.annotation_filter = by("foo=bar"),
        APP,
    );
    with_sets("annotations of the set", &filtered, &[all(), app()], |o| o.annotation_filter = by("foo=bar"), "");
    with_sets("another controller's set", &host, &[all(), app().ann("controller", "x")], |_| {}, "");
}

#[test]
fn attachment() {
    let host = attached(&["app.example.com"]);
    let refused = "! RouteNotAccepted";
    let waiting = "app.example.com pending";
    let bare = route(Kind::HttpRoute, &["app.example.com"]).refers(reference());
    with_sets("L6", &bare.answered(&reference(), "False"), &[all(), app()], |_| {}, refused);
    with_sets("L6, nobody has said", &bare, &[all(), app()], |_| {}, waiting);
    with_sets("L7", &host, &[gateway("gw"), app()], |_| {}, refused);
    with_sets("L8", &host, &[all(), app().with("status.conditions", accepted("False"))], |_| {}, refused);
    with_sets("L8, nobody has said", &host, &[all(), app().with("status.conditions", json!([]))], |_| {}, waiting);
    with_sets("L9", &host, &[all(), app().with("status.listeners", json!([]))], |_| {}, waiting);
    let entry = json!([{"name": "app", "conditions": accepted("False")}]);
    with_sets(
        "L10",
        &host,
        &[all(), app().with("status.listeners", entry)],
        |_| {},
        &format!("{refused} | ! NoMatchingListener"),
    );
    with_sets("L20", &host, &[app()], |_| {}, "app.example.com pending | ! ParentNotFound");
    with_sets("the set is missing", &host, &[all()], |_| {}, "app.example.com pending | ! ParentNotFound");
    let mut same = listener("app", "app.example.com");
    same["allowedRoutes"] = Value::Null;
    with_sets("L12", &host, &[all(), set(&[same.clone()])], |_| {}, "! NoMatchingListener");
    let near = host.with("metadata.namespace", "edge");
    with_sets("L12, the set's namespace", &near, &[all(), set(&[same.clone()])], |_| {}, APP);
    let infra = host.with("metadata.namespace", "infra");
    with_sets("L12, the Gateway's namespace", &infra, &[all(), set(&[same])], |_| {}, "! NoMatchingListener");
}

#[test]
fn admission_by_the_gateway() {
    let host = attached(&["app.example.com"]);
    let edge = namespace("edge", "listener-set", "enabled");
    let selector = |value: &str| json!({"from": "Selector", "selector": {"matchLabels": {"listener-set": value}}});
    for (id, from, expected) in [
        ("L15", selector("enabled"), APP),
        ("another label", selector("x"), "! RouteNotAccepted"),
        ("no selector", json!({"from": "Selector"}), "! RouteNotAccepted"),
        ("Same", json!({"from": "Same"}), "! RouteNotAccepted"),
        ("None", json!({"from": "None"}), "! RouteNotAccepted"),
        ("default", json!({}), "! RouteNotAccepted"),
    ] {
        with_sets(id, &host, &[admitting(&from), app(), edge.clone()], |_| {}, expected);
    }
    let unknown = "app.example.com pending | ! ParentNotFound";
    with_sets("the namespace is not there", &host, &[admitting(&selector("enabled")), app()], |_| {}, unknown);
    let near = app().with("spec.parentRef", json!({"name": "gw"}));
    let own = all().with("metadata.namespace", "edge");
    with_sets("the Gateway beside the set", &host, &[own, near], |_| {}, APP);
}

#[test]
fn targets() {
    let host = attached(&["app.example.com"]);
    let on_gateway = all().ann("target", "override.example.com");
    let on_set = app().ann("target", "ls-override.example.com");
    with_sets("L11", &host, &[on_gateway.clone(), app()], |_| {}, "app.example.com CNAME override.example.com");
    with_sets("L18", &host, &[all(), on_set.clone()], |_| {}, "app.example.com CNAME ls-override.example.com");
    with_sets("L19", &host, &[on_gateway, on_set], |_| {}, "app.example.com CNAME ls-override.example.com");
    with_sets("no address yet", &host, &[all().with("status", json!({})), app()], |_| {}, "app.example.com pending");
}
