//! What objects get wrong: each piece is lost alone, and reported with the key, the value and what was expected.

use serde_json::json;
use zonewright_source_k8s::kind::Kind;

use crate::scene::{Thing, check, map, options};

fn service() -> Thing {
    Thing::new(Kind::Service, "ns", "web")
        .with("spec.type", "LoadBalancer")
        .status("1.2.3.4")
        .ann("hostname", "ok.example.org")
}

/// The one note of `thing`: its reason, and all these pieces in its message.
fn reports(thing: &Thing, reason: &str, pieces: &[&str]) {
    let notes = map(thing, &[], &options(|_| {})).notes;
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert_eq!((notes[0].reason, notes[0].object.to_string().as_str()), (reason, "Service ns/web"));
    for piece in pieces {
        assert!(notes[0].message.contains(piece), "{:?} lacks {piece:?}", notes[0].message);
    }
}

#[test]
fn host_names() {
    let key = "external-dns.kubernetes.io/hostname";
    let long = format!("{}.example.org", "a".repeat(64));
    for (bad, problem) in [
        (long.as_str(), "longer than 63"),
        ("a..example.org", "empty label"),
        ("a.*.example.org", "wildcard in the wrong place"),
        ("a*.example.org", "wildcard in the wrong place"),
        ("a@example.org", "letters, digits"),
        ("a\t.example.org", "white space"),
        ("https://example.org", "letters, digits"),
        (".", "root"),
    ] {
        let thing = service().ann("hostname", &format!("ok.example.org,{bad}"));
        check(bad, &thing, |_| {}, "ok.example.org A 1.2.3.4 | ! InvalidHostname");
        reports(&thing, "InvalidHostname", &[key, &format!("{bad:?}"), problem]);
    }
    let gaps = service().ann("hostname", "ok.example.org,,");
    check("empty elements", &gaps, |_| {}, "ok.example.org A 1.2.3.4 | ! InvalidHostname");
    reports(&gaps, "InvalidHostname", &[key, "\"ok.example.org,,\"", "2 of 3 elements empty"]);
    check("an empty value", &service().ann("hostname", ""), |_| {}, "! InvalidHostname");
}

#[test]
fn targets() {
    let key = "external-dns.kubernetes.io/target";
    for bad in ["1.2.3.4:80", "[::1]", "a..b", "a/b:c", "fe80::1%eth0"] {
        let thing = service().ann("target", &format!("{bad},4.3.2.1"));
        check(bad, &thing, |_| {}, "ok.example.org A 4.3.2.1 | ! InvalidTarget");
        reports(&thing, "InvalidTarget", &[key, &format!("{bad:?}"), "expected an IP address or a host name"]);
        check("nothing is left", &service().ann("target", bad), |_| {}, "ok.example.org pending | ! InvalidTarget");
    }
    check("gap", &service().ann("target", "4.3.2.1,"), |_| {}, "ok.example.org A 4.3.2.1 | ! InvalidTarget");
    for odd in ["010.1.2.3", "1.2.3", "1.2.3.0/24"] {
        let thing = service().ann("target", odd);
        check(
            "S61: no address, so a host name",
            &thing,
            |_| {},
            &format!("ok.example.org CNAME {odd} | ! SuspectTarget"),
        );
    }
    let status = service().with("status.loadBalancer.ingress", json!([{"ip": "1.2.3.4:80"}, {"ip": "4.3.2.1"}]));
    check("status", &status, |_| {}, "ok.example.org A 4.3.2.1 | ! InvalidTarget");
    reports(&status, "InvalidTarget", &["status.loadBalancer.ingress", "\"1.2.3.4:80\""]);
}

#[test]
fn an_alias_of_itself() {
    let alone = service().status("ok.example.org");
    check("alone", &alone, |_| {}, "ok.example.org pending | ! InvalidTarget");
    reports(&alone, "InvalidTarget", &["ok.example.org would be an alias of itself"]);
    let other = service().status("ok.example.org lb.example.com");
    check("among others", &other, |_| {}, "ok.example.org CNAME lb.example.com | ! InvalidTarget");
}

#[test]
fn settings() {
    for (key, value, reason, pieces) in [
        ("ttl", "foo", "InvalidTTL", &["/ttl=\"foo\"", "\"foo\" is not a valid TTL value: time: invalid duration"][..]),
        ("ttl", "0", "InvalidTTL", &["/ttl=\"0\"", "TTL value 0 must be between [1, 2147483647]"]),
        ("alias", "A", "InvalidAnnotation", &["/alias=\"A\"", "`true` or `false`"]),
        ("cloudflare-proxy", "true", "InvalidAnnotation", &["/cloudflare-proxy=\"true\"", "proxied"]),
    ] {
        let thing = service().ann(key, value);
        check(key, &thing, |_| {}, &format!("ok.example.org A 1.2.3.4 | ! {reason}"));
        reports(&thing, reason, pieces);
    }
    let policy = service().annotation("zonewright.dev/policy", "never");
    check("policy", &policy, |_| {}, "ok.example.org A 1.2.3.4 | ! InvalidAnnotation");
    reports(
        &policy,
        "InvalidAnnotation",
        &["zonewright.dev/policy=\"never\"", "sync, upsert-only, create-only, frozen, retain"],
    );
}

#[test]
fn each_problem_is_reported_once() {
    let thing = service().ann("hostname", "ok.example.org,a..b,c..d").ann("ttl", "x").ann("target", "1.1.1.1,x:y");
    let expected = "ok.example.org A 1.1.1.1 | ! InvalidHostname | ! InvalidHostname | ! InvalidTTL | ! InvalidTarget";
    check("four problems", &thing, |_| {}, expected);
    let both = thing.ann("internal-hostname", "in.example.org");
    check("on both sides", &both, |_| {}, &format!("{expected} | in.example.org A 1.1.1.1"));
}

#[test]
fn an_object_that_does_not_count_reports_nothing() {
    let thing = service().ann("ttl", "foo").ann("controller", "other");
    check("another controller", &thing, |_| {}, "");
    assert_eq!(map(&thing, &[], &options(|_| {})).kinds, [Kind::Service.id()].into());
}

#[test]
fn rejections_say_why() {
    let thing = service().ann("controller", "other");
    let service = serde_json::from_value(thing.body).expect("a service");
    let reason = options(|_| {}).accepts_service(&service).expect_err("another controller").to_string();
    assert_eq!(
        reason,
        "controller 'external-dns.kubernetes.io/controller' value does not match, found: 'other', required: 'dns-controller'"
    );
}
