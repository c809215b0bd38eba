//! Which parents count, who accepted whom, and which listeners take a route.

use serde_json::{Value, json};
use zonewright_source_k8s::kind::Kind;
use zonewright_source_k8s::selector::MetadataSelector;

use super::{check, family, gateway, http, listener, namespace, route, to_gateway};
use crate::scene::{Thing, map, options};

const TEST: &str = "test.example.internal";

#[test]
fn gateways_that_flags_choose() {
    let both = http(&[TEST]).to("other");
    let two = [gateway("gw"), gateway("other").at("2.3.4.5").label("foo", "bar")];
    let by = |text: &str| MetadataSelector::annotations(text).unwrap();
    check("G9", &both, &two, |_| {}, "test.example.internal A 1.2.3.4 2.3.4.5");
    check("G1", &both, &two, |o| o.gateway_name = "gw".to_owned(), "test.example.internal A 1.2.3.4");
    check("G5", &both, &two, |o| o.gateway_label_filter = by("foo=bar"), "test.example.internal A 2.3.4.5");
    let far = json!({"name": "gw", "namespace": "far"});
    let spread = http(&[TEST]).refers(far.clone()).answered(&far, "True");
    let spread_gateways = [gateway("gw"), gateway("gw").with("metadata.namespace", "far").at("2.3.4.5")];
    check(
        "G3",
        &spread,
        &spread_gateways,
        |o| o.gateway_namespace = "infra".to_owned(),
        "test.example.internal A 1.2.3.4",
    );
    check(
        "another controller's Gateway",
        &both,
        &[two[0].clone(), two[1].ann("controller", "x")],
        |_| {},
        "test.example.internal A 1.2.3.4",
    );
    check("none is left: nothing is asked for", &http(&[TEST]), &two, |o| o.gateway_name = "x".to_owned(), "");
    check("none is left, and none is missing", &http(&[TEST]), &[], |o| o.gateway_namespace = "x".to_owned(), "");
}

#[test]
fn routes_that_flags_choose() {
    let all = [gateway("gw")];
    let plain = http(&[TEST]).label("foo", "bar").annotation("foo", "bar");
    let by = |text: &str| MetadataSelector::labels(text).unwrap();
    let yes = "test.example.internal A 1.2.3.4";
    check("G4", &plain, &all, |o| o.namespace = "web".to_owned(), yes);
    check("G4", &plain, &all, |o| o.namespace = "other".to_owned(), "");
    check("G6", &plain, &all, |o| o.label_filter = by("foo=bar"), yes);
    check("G6", &plain, &all, |o| o.label_filter = by("foo=x"), "");
    check("G7", &plain, &all, |o| o.annotation_filter = by("foo=bar"), yes);
    check("G7", &plain, &all, |o| o.annotation_filter = by("foo=x"), "");
    check("G8", &plain.ann("controller", "something-else"), &all, |_| {}, "");
}

#[test]
fn acceptance() {
    let all = [gateway("gw")];
    let bare = route(Kind::HttpRoute, &[TEST]);
    let answered_with = |status: &str| bare.refers(to_gateway("gw")).answered(&to_gateway("gw"), status);
    check("True", &answered_with("True"), &all, |_| {}, "test.example.internal A 1.2.3.4");
    check("False", &answered_with("False"), &all, |_| {}, "! RouteNotAccepted");
    check("Unknown", &answered_with("Unknown"), &all, |_| {}, "test.example.internal pending");
    let silent = answered_with("True").with("status.parents", json!([{"parentRef": to_gateway("gw")}]));
    check("G2: nobody has decided yet", &silent, &all, |_| {}, "test.example.internal pending");
    check("no answer at all yet", &bare.refers(to_gateway("gw")), &all, |_| {}, "test.example.internal pending");
    check("G17", &bare, &all, |_| {}, "");
    check("G33", &bare.answered(&to_gateway("gw"), "True"), &all, |_| {}, "");
    let moved = bare.refers(to_gateway("new")).answered(&to_gateway("gw"), "True");
    check(
        "G34: moved, and not yet answered",
        &moved,
        &[gateway("gw"), gateway("new")],
        |_| {},
        "test.example.internal pending",
    );
    check(
        "the Gateway is not there",
        &answered_with("True"),
        &[],
        |_| {},
        "test.example.internal pending | ! ParentNotFound",
    );
    check(
        "no address yet",
        &answered_with("True"),
        &[gateway("gw").with("status", json!({}))],
        |_| {},
        "test.example.internal pending",
    );
    let service = json!({"name": "svc", "kind": "Service", "group": ""});
    check("a mesh", &bare.refers(service.clone()).answered(&service, "True"), &all, |_| {}, "");
    let mixed = answered_with("False").to("other");
    check(
        "one of two",
        &mixed,
        &[gateway("gw"), gateway("other")],
        |_| {},
        "test.example.internal A 1.2.3.4 | ! RouteNotAccepted",
    );
    let conditions = json!([{"type": "ResolvedRefs", "status": "False"}, {"type": "Accepted", "status": "True"}]);
    let several = answered_with("True")
        .with("status.parents", json!([{"parentRef": to_gateway("gw"), "conditions": conditions}]));
    check("other conditions do not count", &several, &all, |_| {}, "test.example.internal A 1.2.3.4");
}

/// Names that the route does not state are a listener's: they wait by name where it is known, else all of the route's do.
#[test]
fn names_of_a_listener_wait_while_its_gateway_has_not_judged_or_is_missing() {
    let serving = [gateway("gw").listeners(&[listener("l", "a.example.internal"), listener("m", "b.example.org")])];
    for (hosts, own) in [(&[][..], " | b.example.org"), (&["*.example.internal"], "")] {
        let silent = route(Kind::HttpRoute, hosts).refers(to_gateway("gw"));
        let answered = |status: &str| silent.answered(&to_gateway("gw"), status);
        let each = |what: &str| format!("a.example.internal{own}").replace(" |", &format!("{what} |")) + what;
        check("True", &answered("True"), &serving, |_| {}, &each(" A 1.2.3.4"));
        check("no answer at all yet", &silent, &serving, |_| {}, &each(" pending"));
        check("Unknown", &answered("Unknown"), &serving, |_| {}, &each(" pending"));
        check("False", &answered("False"), &serving, |_| {}, "! RouteNotAccepted");
        let stated = hosts.iter().map(|host| format!("{host} pending | ")).collect::<Vec<_>>().concat();
        let missing = format!("{stated}names pending | ! ParentNotFound");
        check("the Gateway is not there", &answered("True"), &[], |_| {}, &missing);
        check("nor has it ever answered", &silent, &[], |_| {}, &missing);
        let two = answered("True").to("other");
        let other = [serving[0].with("metadata.name", "other")];
        let rest = format!("{} | names pending | ! ParentNotFound", each(" A 1.2.3.4"));
        check("one of two is not there", &two, &other, |_| {}, &rest);
    }
    let selecting = json!({"namespaces": {"from": "Selector", "selector": {"matchLabels": {"team": "foo"}}}});
    let mut listener = listener("l", "a.example.internal");
    listener["allowedRoutes"] = selecting;
    let gateway = [gateway("gw").listeners(&[listener])];
    check("the Namespace is not there", &http(&[]), &gateway, |_| {}, "a.example.internal pending | ! ParentNotFound");
}

/// What one parent gives is published; what the other gave stays for the grace.
#[test]
fn of_two_gateways_one_that_is_not_known_takes_nothing_away() {
    let both = http(&[TEST]).to("other");
    let other = gateway("other").at("2001:db8::1");
    check(
        "both",
        &both,
        &[gateway("gw"), other.clone()],
        |_| {},
        &format!("{TEST} A 1.2.3.4 | {TEST} AAAA 2001:db8::1"),
    );
    let rest = format!("{TEST} A 1.2.3.4 | names pending");
    let missing = format!("{rest} | ! ParentNotFound");
    check("no address", &both, &[gateway("gw"), other.with("status", json!({}))], |_| {}, &rest);
    check("the Gateway is not there", &both, &[gateway("gw")], |_| {}, &missing);
    let silent = http(&[TEST]).refers(to_gateway("other"));
    check("no answer yet", &silent, &[gateway("gw"), other.clone()], |_| {}, &rest);
    let refused = silent.answered(&to_gateway("other"), "False");
    let refusal = format!("{TEST} A 1.2.3.4 | ! RouteNotAccepted");
    check("refused", &refused, &[gateway("gw"), other.clone()], |_| {}, &refusal);
    check(
        "no longer a parent",
        &http(&[TEST]),
        &[gateway("gw"), other.with("status", json!({}))],
        |_| {},
        &format!("{TEST} A 1.2.3.4"),
    );
    let label = map(&both, &[gateway("gw")], &options(|o| o.sources = family())).unknown[0].resource.clone();
    assert_eq!(label.as_deref(), Some("httproute/web/test"));
}

#[test]
fn what_is_reported() {
    let route = route(Kind::HttpRoute, &[TEST]).refers(to_gateway("gw")).answered(&to_gateway("gw"), "False");
    let all = options(|o| o.sources = family());
    let note = |others: &[Thing]| map(&route, others, &all).notes.remove(0).message;
    assert_eq!(note(&[gateway("gw")]), "Gateway infra/gw: this route is not accepted (Because)");
    assert_eq!(note(&[]), "Gateway infra/gw does not exist");
    let mapped = map(&http(&["a.example.org"]), &[gateway("gw").listeners(&[listener("x", "b.example.org")])], &all);
    assert_eq!(mapped.notes[0].message, "a.example.org: no listener of its parents serves this name for this route");
}

#[test]
fn sections_and_ports() {
    let on = |name: &str, host: &str, port: u16| {
        let mut listener = listener(name, host);
        listener["port"] = port.into();
        listener
    };
    let gateway = gateway("gw").listeners(&[
        on("foo", "foo.example.internal", 80),
        on("bar", "bar.example.internal", 80),
        on("qux", "qux.example.internal", 8080),
    ]);
    let at = |field: &str, value: Value| {
        let mut reference = to_gateway("gw");
        reference[field] = value;
        route(Kind::HttpRoute, &["*.example.internal"]).refers(reference.clone()).answered(&reference, "True")
    };
    let all = [gateway];
    check("G11", &at("sectionName", "foo".into()), &all, |_| {}, "foo.example.internal A 1.2.3.4");
    check(
        "G12",
        &at("port", 80.into()),
        &all,
        |_| {},
        "foo.example.internal A 1.2.3.4 | bar.example.internal A 1.2.3.4",
    );
    check("no such port", &at("port", 81.into()), &all, |_| {}, "! NoMatchingListener");
    check("no such section", &at("sectionName", "x".into()), &all, |_| {}, "! NoMatchingListener | ! NoSuchListener");
    let mut status = to_gateway("gw");
    status["sectionName"] = "bar".into();
    let spec_without =
        route(Kind::HttpRoute, &["*.example.internal"]).refers(to_gateway("gw")).answered(&status, "True");
    check("the section of the answer counts", &spec_without, &all, |_| {}, "bar.example.internal A 1.2.3.4");
}

/// G40.
#[test]
fn protocols() {
    use Kind::{GrpcRoute, HttpRoute, TcpRoute, TlsRoute, UdpRoute};
    for (kind, taken) in [
        (HttpRoute, &["HTTP", "HTTPS"][..]),
        (GrpcRoute, &["HTTP", "HTTPS"]),
        (TlsRoute, &["TLS"]),
        (TcpRoute, &["TCP", "TLS"]),
        (UdpRoute, &["UDP"]),
    ] {
        for protocol in ["HTTP", "HTTPS", "TLS", "TCP", "UDP", "http", "example.com/other", ""] {
            let mut listener = listener("l", TEST);
            listener["protocol"] = protocol.into();
            let expected = if taken.contains(&protocol) { "test.example.internal A 1.2.3.4" } else { "" };
            check(protocol, &route(kind, &[]).to("gw"), &[gateway("gw").listeners(&[listener])], |_| {}, expected);
        }
    }
}

fn allowing(allowed: Value) -> Thing {
    let mut listener = listener("http", "");
    listener["allowedRoutes"] = allowed;
    gateway("gw").listeners(&[listener])
}

#[test]
fn allowed_namespaces() {
    let yes = "test.example.internal A 1.2.3.4";
    let no = "! NoMatchingListener";
    let near = http(&[TEST]).with("metadata.namespace", "infra");
    let foo = namespace("web", "team", "foo");
    let from = |from: &str, selector: Value| allowing(json!({"namespaces": {"from": from, "selector": selector}}));
    let team = |value: &str| json!({"matchLabels": {"team": value}});
    let expression = |operator: &str, values: Value| json!({"matchExpressions": [{"key": "team", "operator": operator, "values": values}]});
    for (id, gateway, expected) in [
        ("default", allowing(Value::Null), no),
        ("G27 Same", from("Same", Value::Null), no),
        ("All", from("All", Value::Null), yes),
        ("None", from("None", Value::Null), no),
        ("another word", from("Some", team("foo")), no),
        ("G28", from("Selector", team("foo")), yes),
        ("G28", from("Selector", team("bar")), no),
        ("no selector", from("Selector", Value::Null), no),
        ("an empty selector", from("Selector", json!({})), yes),
        ("In", from("Selector", expression("In", json!(["bar", "foo"]))), yes),
        ("NotIn", from("Selector", expression("NotIn", json!(["foo"]))), no),
        ("Exists", from("Selector", expression("Exists", Value::Null)), yes),
        ("DoesNotExist", from("Selector", expression("DoesNotExist", Value::Null)), no),
        ("no such operator", from("Selector", expression("Equals", json!(["foo"]))), no),
    ] {
        check(id, &http(&[TEST]), &[gateway, foo.clone()], |_| {}, expected);
    }
    check("default, same", &near, &[allowing(Value::Null)], |_| {}, yes);
    check("G27", &near, &[from("Same", Value::Null)], |_| {}, yes);
    let unknown = "test.example.internal pending | ! ParentNotFound";
    check("G29", &http(&[TEST]), &[from("Selector", team("foo"))], |_| {}, unknown);
    check(
        "namespaces are seen whatever the flag",
        &http(&[TEST]),
        &[from("Selector", team("foo")), foo],
        |o| o.namespace = "web".to_owned(),
        yes,
    );
}

#[test]
fn allowed_kinds() {
    let kinds = |kinds: Value| allowing(json!({"namespaces": {"from": "All"}, "kinds": kinds}));
    for (kinds_json, expected) in [
        (json!([]), "test.example.internal A 1.2.3.4"),
        (json!([{"kind": "HTTPRoute"}]), "test.example.internal A 1.2.3.4"),
        (
            json!([{"kind": "GRPCRoute"}, {"group": "gateway.networking.k8s.io", "kind": "HTTPRoute"}]),
            "test.example.internal A 1.2.3.4",
        ),
        (json!([{"kind": "GRPCRoute"}]), "! NoMatchingListener"),
        (json!([{"group": "", "kind": "HTTPRoute"}]), "! NoMatchingListener"),
        (json!([{"group": "x.io", "kind": "HTTPRoute"}]), "! NoMatchingListener"),
    ] {
        check(&kinds_json.to_string(), &http(&[TEST]), &[kinds(kinds_json)], |_| {}, expected);
    }
}
