//! Which names a route gets, and at which targets.

use serde_json::json;
use zonewright_core::endpoint::Sharing;
use zonewright_source_k8s::kind::Kind;

use super::{check, family, gateway, http, listener, route, to_gateway};
use crate::scene::{Thing, map, options};

/// One Gateway with a listener for each host.
fn serving(hosts: &[&str]) -> Vec<Thing> {
    let listeners: Vec<_> = hosts.iter().map(|host| listener(&format!("l-{host}"), host)).collect();
    vec![gateway("gw").listeners(&listeners)]
}

#[test]
fn hosts_meet_listeners() {
    for (id, served, hosts, expected) in [
        ("no host on the listener", &[""][..], &["test.example.internal"][..], "test.example.internal A 1.2.3.4"),
        (
            "G10",
            &["foo.example.internal", "bar.example.internal"],
            &["*.example.internal"],
            "foo.example.internal A 1.2.3.4 | bar.example.internal A 1.2.3.4",
        ),
        ("G13", &["*.example.internal"], &["foo.example.internal"], "foo.example.internal A 1.2.3.4"),
        ("G14", &["foo.example.internal"], &["*.example.internal"], "foo.example.internal A 1.2.3.4"),
        ("G15", &["*.example.internal"], &["*.example.internal"], "*.example.internal A 1.2.3.4"),
        ("G16", &["foo.example.internal"], &[], "foo.example.internal A 1.2.3.4"),
        ("G18", &[""], &[], ""),
        (
            "two listeners of one host",
            &["foo.example.internal", "foo.example.internal"],
            &[],
            "foo.example.internal A 1.2.3.4",
        ),
        ("case and final dot", &["*.example.internal"], &["Foo.Example.Internal."], "foo.example.internal A 1.2.3.4"),
        (
            "one of two",
            &["*.one.internal"],
            &["a.one.internal", "a.two.internal"],
            "a.one.internal A 1.2.3.4 | ! NoMatchingListener",
        ),
        ("not below a wildcard", &["*.example.internal"], &["example.internal"], "! NoMatchingListener"),
        (
            "no host of a listener",
            &[""],
            &["a_b.example.internal", "a.example.internal"],
            "a.example.internal A 1.2.3.4 | ! InvalidHostname",
        ),
        ("an address", &[""], &["1.2.3.4"], "! InvalidHostname"),
        (
            "a listener with a bad host",
            &["a_b.example.internal", ""],
            &["a.example.internal"],
            "a.example.internal A 1.2.3.4 | ! InvalidHostname",
        ),
    ] {
        check(id, &http(hosts), &serving(served), |_| {}, expected);
    }
}

#[test]
fn targets() {
    let two = [
        gateway("gw").listeners(&[listener("l", "*.one.internal")]),
        gateway("other").listeners(&[listener("l", "*.two.internal")]).at("2.3.4.5"),
    ];
    let both = http(&["test.one.internal", "test.two.internal"]).to("other");
    check("G26", &both, &two, |_| {}, "test.one.internal A 1.2.3.4 | test.two.internal A 2.3.4.5");
    let host = &["a.example.internal"][..];
    check("G30", &http(host), &[gateway("gw").ann("target", "4.3.2.1")], |_| {}, "a.example.internal A 4.3.2.1");
    check(
        "G31",
        &http(host).to("other"),
        &[gateway("gw").ann("target", "4.3.2.1"), gateway("other").at("2.3.4.5")],
        |_| {},
        "a.example.internal A 4.3.2.1 2.3.4.5",
    );
    check(
        "an empty target annotation",
        &http(host),
        &[gateway("gw").ann("target", "")],
        |_| {},
        "a.example.internal A 1.2.3.4",
    );
    check(
        "no valid target",
        &http(host),
        &[gateway("gw").ann("target", "a..b")],
        |_| {},
        "a.example.internal pending | ! InvalidTarget",
    );
    let mixed = json!([{"type": "IPAddress", "value": "2001:db8::1"}, {"type": "Hostname", "value": "lb.example.com"}, {"value": ""}]);
    check(
        "by value, whatever the type",
        &http(host),
        &[gateway("gw").with("status.addresses", mixed)],
        |_| {},
        "a.example.internal AAAA 2001:db8::1 | a.example.internal CNAME lb.example.com",
    );
    check(
        "the route's own is not read, and that is reported",
        &http(host).ann("target", "9.9.9.9"),
        &[gateway("gw")],
        |_| {},
        "a.example.internal A 1.2.3.4 | ! InvalidAnnotation",
    );
    check(
        "one Gateway without address",
        &http(host).to("other"),
        &[gateway("gw"), gateway("other").with("status", json!({}))],
        |_| {},
        "a.example.internal A 1.2.3.4 | names pending",
    );
    check(
        "a listener's host waits too",
        &http(&[]),
        &[serving(&["b.example.internal"])[0].with("status", json!({}))],
        |_| {},
        "b.example.internal pending",
    );
}

#[test]
fn annotations() {
    let all = [gateway("gw")];
    let host = http(&["a.example.internal"]);
    let named = host.ann("hostname", "b.example.internal");
    let both = "a.example.internal A 1.2.3.4 | b.example.internal A 1.2.3.4";
    check("G19, with a host", &named, &all, |_| {}, both);
    check(
        "G19, without",
        &http(&[]).ann("hostname", "b.example.internal"),
        &all,
        |_| {},
        "b.example.internal A 1.2.3.4",
    );
    check("G20", &named, &all, |o| o.ignore_hostname_annotation = true, "a.example.internal A 1.2.3.4");
    check(
        "G20, without a host",
        &http(&[]).ann("hostname", "b.example.internal"),
        &all,
        |o| o.ignore_hostname_annotation = true,
        "",
    );
    check("G24", &host.ann("ttl", "15s"), &all, |_| {}, "a.example.internal A 1.2.3.4 ttl=15");
    check("G24", &host.ann("ttl", "abc"), &all, |_| {}, "a.example.internal A 1.2.3.4 | ! InvalidTTL");
    check(
        "G25",
        &host.ann("set-identifier", "x").ann("alias", "true"),
        &all,
        |_| {},
        "a.example.internal A 1.2.3.4 set=x alias=true",
    );
    check(
        "a bad name costs itself",
        &host.ann("hostname", "b.example.internal,a_b.example.internal,"),
        &all,
        |_| {},
        &format!("{both} | ! InvalidHostname | ! InvalidHostname"),
    );
    check(
        "what stands on the Gateway is not for the route",
        &host,
        &[gateway("gw").ann("ttl", "5").ann("hostname", "x.example.org")],
        |_| {},
        "a.example.internal A 1.2.3.4",
    );
}

#[test]
fn where_names_come_from() {
    let all = [gateway("gw").listeners(&[listener("l", ""), listener("m", "l.example.internal")])];
    let named = http(&["a.example.internal"]).ann("hostname", "b.example.internal");
    let bare = http(&[]).ann("hostname", "b.example.internal");
    let [a, b, l] = ["a", "b", "l"].map(|name| format!("{name}.example.internal A 1.2.3.4"));
    for (id, thing, source, expected) in [
        ("G35", &named, "defined-hosts-only", a.clone()),
        ("G36", &named, "annotation-only", b.clone()),
        ("G36, any case", &named, "Annotation-Only", b.clone()),
        ("G37", &named, "invalid-value", format!("{a} | {b} | ! InvalidAnnotation")),
        ("an empty value", &named, "", format!("{a} | {b} | ! InvalidAnnotation")),
        ("no hosts: none of the listener", &bare, "defined-hosts-only", String::new()),
        ("no hosts: none of the listener", &bare, "annotation-only", b.clone()),
    ] {
        check(id, &thing.ann("gateway-hostname-source", source), &all, |_| {}, &expected);
    }
    check("without hosts the listener's come besides the annotation's", &bare, &all, |_| {}, &format!("{b} | {l}"));
    let only = bare.ann("gateway-hostname-source", "annotation-only");
    check("ignored", &only, &all, |o| o.ignore_hostname_annotation = true, "");
}

/// G44, G45: the hosts of the other kinds.
#[test]
fn kinds() {
    for (kind, protocol, expected) in [
        (Kind::GrpcRoute, "HTTPS", "a.example.internal A 1.2.3.4 | b.example.internal A 1.2.3.4"),
        (Kind::TlsRoute, "TLS", "a.example.internal A 1.2.3.4 | b.example.internal A 1.2.3.4"),
        (Kind::TcpRoute, "TCP", "b.example.internal A 1.2.3.4"),
        (Kind::UdpRoute, "UDP", "b.example.internal A 1.2.3.4"),
    ] {
        let mut listener = listener("l", "");
        listener["protocol"] = protocol.into();
        let route = route(kind, &["a.example.internal"]).to("gw").ann("hostname", "b.example.internal");
        check(protocol, &route, &[gateway("gw").listeners(&[listener])], |_| {}, expected);
    }
}

#[test]
fn endpoints_carry_the_routes_label_and_hold() {
    let all = options(|o| o.sources = family());
    for (kind, label) in [
        (Kind::HttpRoute, "httproute/web/test"),
        (Kind::GrpcRoute, "grpcroute/web/test"),
        (Kind::TlsRoute, "tlsroute/web/test"),
        (Kind::TcpRoute, "tcproute/web/test"),
        (Kind::UdpRoute, "udproute/web/test"),
    ] {
        let protocols = ["HTTP", "TLS", "TCP", "UDP"].map(|protocol| {
            let mut listener = listener(protocol, "a.example.internal");
            listener["protocol"] = protocol.into();
            listener
        });
        let mapped = map(&route(kind, &[]).to("gw"), &[gateway("gw").listeners(&protocols)], &all);
        let endpoint = &mapped.endpoints[0];
        assert_eq!((endpoint.resource.as_deref(), endpoint.sharing), (Some(label), Sharing::Holder));
        let waiting = map(&route(Kind::HttpRoute, &["a.b"]).refers(to_gateway("gw")), &[gateway("gw")], &all);
        assert_eq!(waiting.pending[0].resource.as_deref(), Some("httproute/web/test"));
    }
}
