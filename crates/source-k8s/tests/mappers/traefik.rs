//! The tests of section 3.14. Rules are tested where they are read, templates with the engine.

use serde_json::json;
use zonewright_source_k8s::kind::Kind;
use zonewright_source_k8s::options::{SourceKind, SourceOptions};
use zonewright_source_k8s::selector::MetadataSelector;
use zonewright_source_k8s::sources::roles;

use crate::scene::{Thing, check, map, options};

const NEW: [Kind; 3] = [Kind::IngressRoute, Kind::IngressRouteTcp, Kind::IngressRouteUdp];
const OLD: [Kind; 3] = [Kind::OldIngressRoute, Kind::OldIngressRouteTcp, Kind::OldIngressRouteUdp];

fn route(kind: Kind, rules: &[&str]) -> Thing {
    let routes: Vec<_> = rules.iter().map(|rule| json!({ "match": rule, "kind": "Rule" })).collect();
    Thing::new(kind, "ns", "route").with("spec.routes", routes).ann("target", "t.org")
}

fn legacy(o: &mut SourceOptions) {
    o.traefik_legacy = true;
}

#[test]
fn hosts_of_rules() {
    for kind in [Kind::IngressRoute, Kind::OldIngressRoute, Kind::IngressRouteTcp, Kind::OldIngressRouteTcp] {
        for (id, rules, expected) in [
            ("one", &["Host(`a.org`)"][..], "a.org CNAME t.org"),
            ("header", &["HostHeader(`a.org`) && Path(`/`)"], "a.org CNAME t.org"),
            ("SNI", &["HostSNI(`a.org`)"], "a.org CNAME t.org"),
            ("several", &["Host(`a.org`,`b.org`)"], "a.org CNAME t.org | b.org CNAME t.org"),
            ("several rules", &["Host(`a.org`)", "Host(`b.org`)"], "a.org CNAME t.org | b.org CNAME t.org"),
            ("any host", &["HostSNI(`*`)", "HostSNI(`*.a.org`)"], "*.a.org CNAME t.org"),
            ("none", &["Path(`/`)"], ""),
            ("no name", &["Host(`a b`)"], "! InvalidHostname"),
        ] {
            check(id, &route(kind, rules), legacy, expected);
        }
    }
    for kind in [Kind::IngressRouteUdp, Kind::OldIngressRouteUdp] {
        check("UDP has no rules", &route(kind, &["Host(`a.org`)"]), legacy, "");
        check("UDP, annotated", &route(kind, &[]).ann("hostname", "a.org"), legacy, "a.org CNAME t.org");
    }
}

#[test]
fn annotations() {
    let both = route(Kind::IngressRoute, &["Host(`a.org`)"]).ann("hostname", "b.org");
    check("hostname", &both, |_| {}, "a.org CNAME t.org | b.org CNAME t.org");
    check("ignored", &both, |o| o.ignore_hostname_annotation = true, "a.org CNAME t.org");
    let one = route(Kind::IngressRoute, &["Host(`a.org`)"]);
    check("addresses", &one.ann("target", "1.1.1.1,::1"), |_| {}, "a.org A 1.1.1.1 | a.org AAAA ::1");
    check("settings", &one.ann("ttl", "60").ann("aws-weight", "1"), |_| {}, "a.org CNAME t.org ttl=60 aws/weight=1");
    check("an empty target is none", &one.ann("target", ""), |_| {}, "");
    let bare = Thing::new(Kind::IngressRoute, "ns", "route").with("spec.routes", json!([{"match": "Host(`a.org`)"}]));
    check("without target", &bare.ann("hostname", "b.org"), |_| {}, "");
    check("no valid target", &one.ann("target", "a:b"), |_| {}, "a.org pending | ! InvalidTarget");
    check("another's", &one.ann("controller", "other"), |_| {}, "");
    check("namespace", &one, |o| o.namespace = "other".to_owned(), "");
    let filter = || MetadataSelector::labels("app=web").expect("a filter");
    check("label filter", &one, |o| o.label_filter = filter(), "");
    check("label filter", &one.label("app", "web"), |o| o.label_filter = filter(), "a.org CNAME t.org");
}

#[test]
fn labels_are_the_same_for_both_groups() {
    for (kind, label) in
        NEW.iter().chain(&OLD).zip(["ingressroute", "ingressroutetcp", "ingressrouteudp"].iter().cycle())
    {
        let mapped = map(&route(*kind, &[]).ann("hostname", "a.org"), &[], &options(legacy));
        assert_eq!(mapped.endpoints[0].resource.as_deref(), Some(format!("{label}/ns/route").as_str()));
    }
}

#[test]
fn groups() {
    for (new, old, expected) in [
        (true, false, NEW.to_vec()),
        (false, true, OLD.to_vec()),
        (true, true, [NEW, OLD].concat()),
        (false, false, vec![]),
    ] {
        let options = options(|o| {
            o.sources = vec![SourceKind::TraefikProxy];
            (o.traefik_new, o.traefik_legacy) = (new, old);
        });
        assert_eq!(roles(&options).iter().map(|role| role.kind).collect::<Vec<_>>(), expected, "new {new}, old {old}");
    }
}
