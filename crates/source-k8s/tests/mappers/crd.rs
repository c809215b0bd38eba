//! Section K, what elements get wrong, and the status. Joining over objects is the core's; K11, K22 and K23 also have what
//! external-dns checks later.

use serde_json::{Value, json};
use zonewright_core::endpoint::{ObjectPolicy, Sharing};
use zonewright_source_k8s::annotations::{ALPHA_PREFIX, DEFAULT_PREFIX, Prefixes};
use zonewright_source_k8s::kind::Kind;
use zonewright_source_k8s::objects::DnsEndpoint;
use zonewright_source_k8s::selector::MetadataSelector;
use zonewright_source_k8s::sources::crd::{Status, status};

use crate::scene::{Thing, check, map, options};

fn thing(endpoints: Value) -> Thing {
    Thing::new(Kind::DnsEndpoint, "foo", "test").with("metadata.generation", 1).with("spec.endpoints", endpoints)
}

fn one(rtype: &str, name: &str, targets: &[&str]) -> Thing {
    thing(json!([{"dnsName": name, "recordType": rtype, "targets": targets, "recordTTL": 180}]))
}

const A: &str = "abc.example.org A 1.2.3.4 ttl=180";

fn a() -> Thing {
    one("A", "abc.example.org", &["1.2.3.4"])
}

#[test]
fn filters() {
    check("K1", &a(), |o| o.namespace = "foo".to_owned(), A);
    check("K2", &a(), |o| o.namespace = "bar".to_owned(), "");
    let annotations = |text| MetadataSelector::annotations(text).expect("a filter of the vectors");
    check("K6", &a().annotation("test", "x"), |o| o.annotation_filter = annotations("test=y"), "");
    check("K7", &a().annotation("test", "x"), |o| o.annotation_filter = annotations("test=x"), A);
    let labels = |text| MetadataSelector::labels(text).expect("a filter of the vectors");
    check("K8", &a().label("test", "x"), |o| o.label_filter = labels("test=y"), "");
    check("K9", &a().label("test", "x"), |o| o.label_filter = labels("test=x"), A);
    let annotated = a().ann("controller", "other").ann("ttl", "7").ann("set-identifier", "s").ann("target", "9.9.9.9");
    check("annotations do not count, not even the controller's", &annotated.ann("hostname", "x.org"), |_| {}, A);
}

/// A DNSEndpoint may have more names than an annotation.
#[test]
fn more_names_than_an_annotation_may_give() {
    let element = |n: usize| json!({"dnsName": format!("n{n}.example.org"), "recordType": "A", "targets": ["1.2.3.4"]});
    let expected: Vec<String> = (0..5).map(|n| format!("n{n}.example.org A 1.2.3.4")).collect();
    let five = thing((0..5).map(element).collect());
    check("five", &five, |o| o.max_names_per_annotation = 2, &expected.join("|"));
}

/// K3 to K5, K10 to K24: what each type takes.
#[test]
fn types() {
    for (id, rtype, name, targets, expected) in [
        ("K3", "A", "abc.example.org", &[][..], "abc.example.org A ttl=180"),
        ("K4", "A", "abc.example.org", &["1.2.3.4"], A),
        ("two", "A", "abc.example.org", &["1.2.3.4", "1.2.3.5"], "abc.example.org A 1.2.3.4 1.2.3.5 ttl=180"),
        ("AAAA", "AAAA", "a.org", &["2001:db8::1", "::ffff:1.2.3.4"], "a.org AAAA 2001:db8::1 ::ffff:1.2.3.4 ttl=180"),
        ("K10", "NS", "a.org", &["ns1.k8s.io", "ns2.k8s.io"], "a.org NS ns1.k8s.io. ns2.k8s.io. ttl=180"),
        ("K11", "SRV", "_svc._tcp.a.org", &["0 0 80 abc.example.org"], "! InvalidEndpoint"),
        ("K12", "SRV", "_svc._tcp.a.org", &["0 0 80 b.org."], "_svc._tcp.a.org SRV 0 0 80 b.org. ttl=180"),
        ("K13", "NAPTR", "a.org", &[r#"100 10 "u" "s" "!x!y!" ."#], r#"a.org NAPTR 100 10 "u" "s" "!x!y!" . ttl=180"#),
        ("K14", "NAPTR", "a.org", &[r#"100 10 "u" "s" "" b.org"#], "! InvalidEndpoint"),
        ("K15", "CNAME", "a.org", &["foo.example.org."], "a.org CNAME foo.example.org ttl=180"),
        ("K16", "CNAME", "a.org", &["foo.example.org"], "a.org CNAME foo.example.org ttl=180"),
        ("K17", "DNAME", "a.org", &["foo.example.org."], "a.org DNAME foo.example.org. ttl=180"),
        ("K18", "DNAME", "a.org", &["foo.example.org"], "a.org DNAME foo.example.org. ttl=180"),
        ("K20", "TXT", "a.org", &["foo."], r#"a.org TXT "foo." ttl=180"#),
        ("TXT in quotes", "TXT", "a.org", &["\"a b\""], r#"a.org TXT "a b" ttl=180"#),
        ("TXT, empty", "TXT", "a.org", &[""], r#"a.org TXT "" ttl=180"#),
        ("K21", "A", "a.org", &["1.2.3.4."], "! InvalidEndpoint"),
        ("K22, later", "MX", "a.org", &["example.com."], "! InvalidEndpoint"),
        ("K23, later", "MX", "a.org", &["example.com"], "! InvalidEndpoint"),
        ("MX", "MX", "a.org", &["10 mail.b.org", "20 mail2.b.org."], "a.org MX 10 mail.b.org. 20 mail2.b.org. ttl=180"),
        ("MX, too high", "MX", "a.org", &["70000 mail.b.org"], "! InvalidEndpoint"),
        ("PTR", "PTR", "1.2.0.192.in-addr.arpa", &["b.org"], "1.2.0.192.in-addr.arpa PTR b.org. ttl=180"),
        ("PTR elsewhere", "PTR", "a.org", &["b.org"], "! InvalidEndpoint"),
        ("PTR at the top", "PTR", "in-addr.arpa", &["b.org"], "! InvalidEndpoint"),
        ("PTR to an address", "PTR", "1.2.0.192.in-addr.arpa", &["1.2.3.4"], "! InvalidEndpoint"),
        ("PTR to nothing", "PTR", "1.2.0.192.in-addr.arpa", &[], "! InvalidEndpoint"),
        ("CAA", "CAA", "a.org", &["0 issue \"ca.example\""], "a.org CAA 0 issue \"ca.example\" ttl=180"),
        ("K25", "CNAME", "a.org", &[], "! InvalidEndpoint"),
        ("CNAME to itself", "CNAME", "a.org", &["a.org"], "a.org pending | ! InvalidTarget"),
        ("CNAME to an address", "CNAME", "a.org", &["1.2.3.4"], "! InvalidEndpoint"),
        ("A to a host", "A", "a.org", &["b.org"], "! InvalidEndpoint"),
        ("A to an IPv6 address", "A", "a.org", &["2001:db8::1"], "! InvalidEndpoint"),
        ("AAAA to an IPv4 address", "AAAA", "a.org", &["1.2.3.4"], "! InvalidEndpoint"),
        ("one bad target of two", "A", "a.org", &["1.2.3.4", "x"], "! InvalidEndpoint"),
        ("NS with a dot", "NS", "a.org", &["ns1.k8s.io."], "! InvalidEndpoint"),
        ("no type", "", "a.org", &["1.2.3.4"], "! InvalidEndpoint"),
        ("a type of another spelling", "a", "a.org", &["1.2.3.4"], "! InvalidEndpoint"),
        ("an unknown type", "SPF", "a.org", &["x"], "! InvalidEndpoint"),
        ("a type that is never written", "SOA", "a.org", &["x"], "! InvalidEndpoint"),
        ("no name", "A", "", &["1.2.3.4"], "! InvalidHostname"),
        ("a name with a dot", "A", "A.org.", &["1.2.3.4"], "a.org A 1.2.3.4 ttl=180"),
        ("a wildcard", "A", "*.a.org", &["1.2.3.4"], "*.a.org A 1.2.3.4 ttl=180"),
    ] {
        check(id, &one(rtype, name, targets), |_| {}, expected);
    }
}

#[test]
fn several_elements() {
    let cname = json!({"dnsName": "xyz.example.org", "recordType": "CNAME", "targets": ["abc.example.org"]});
    let address = |targets: &[&str], ttl: i64| json!({"dnsName": "a.org", "recordType": "A", "targets": targets, "recordTTL": ttl});
    let check = |id: &str, elements: Value, expected: &str| check(id, &thing(elements), |_| {}, expected);
    check("K5", json!([address(&["1.2.3.4"], 0), cname]), "a.org A 1.2.3.4 | xyz.example.org CNAME abc.example.org");
    let dname = json!({"dnsName": "xyz.example.org", "recordType": "DNAME", "targets": ["b.org"]});
    check("K19", json!([cname, dname]), "xyz.example.org CNAME abc.example.org | xyz.example.org DNAME b.org.");
    check("null stands for nothing", json!([null, cname]), "xyz.example.org CNAME abc.example.org");
    check("none at all", json!(null), "");
    check(
        "joined",
        json!([address(&["1.1.1.1"], 5), address(&["2.2.2.2", "1.1.1.1"], 5)]),
        "a.org A 1.1.1.1 2.2.2.2 ttl=5",
    );
    let at_odds = json!([address(&["1.1.1.1"], 5), address(&["2.2.2.2"], 6), address(&["3.3.3.3"], 5)]);
    check("of several TTLs the first counts", at_odds, "a.org A 1.1.1.1 3.3.3.3 ttl=5 | ! InvalidEndpoint");
    let sets = json!([{"dnsName": "a.org", "recordType": "A", "targets": ["1.1.1.1"], "setIdentifier": "one", "recordTTL": 1},
                      {"dnsName": "a.org", "recordType": "A", "targets": ["2.2.2.2"], "setIdentifier": "two", "recordTTL": 2}]);
    check("sets are apart", sets, "a.org A 1.1.1.1 ttl=1 set=one | a.org A 2.2.2.2 ttl=2 set=two");
    check(
        "a bad one costs itself",
        json!([address(&["x"], 0), cname]),
        "xyz.example.org CNAME abc.example.org | ! InvalidEndpoint",
    );
    for ttl in [-1, 2_147_483_648_i64, i64::MIN, i64::MAX] {
        check("a TTL that is none", json!([address(&["1.1.1.1"], ttl)]), "a.org A 1.1.1.1 | ! InvalidTTL");
    }
}

/// K24, and the alias form.
#[test]
fn properties() {
    let with = |rtype: &str, target: &str, name: &str, value: &str| {
        thing(json!([{"dnsName": "a.org", "recordType": rtype, "targets": [target], "setIdentifier": "s",
                      "providerSpecific": [{"name": name, "value": value}]}]))
    };
    check(
        "K24",
        &with("CNAME", "b.org", "aws/failover", "PRIMARY"),
        |_| {},
        "a.org CNAME b.org set=s aws/failover=PRIMARY",
    );
    check("address", &with("A", "1.1.1.1", "alias", "true"), |_| {}, "a.org A 1.1.1.1 set=s alias=true");
    check("host", &with("A", "lb.b.org", "alias", "true"), |_| {}, "a.org A alias of lb.b.org set=s alias=true");
    check("host, not asked for", &with("A", "lb.b.org", "alias", "false"), |_| {}, "! InvalidEndpoint");
    check("no host", &with("A", "l b", "alias", "true"), |_| {}, "! InvalidEndpoint");
    check("CNAME", &with("CNAME", "lb.b.org", "alias", "false"), |_| {}, "a.org CNAME lb.b.org set=s alias=false");
    check("a type without alias form", &with("MX", "5 b.org", "alias", "false"), |_| {}, "! InvalidEndpoint");
}

/// K25: which element, which field, what was found, what was expected.
#[test]
fn what_is_reported() {
    for (rtype, target, pieces) in [
        ("A", "1.2.3.4.", &["spec.endpoints[1].targets[0] of a.org", "use \"1.2.3.4\" not \"1.2.3.4.\""][..]),
        ("NAPTR", "100 10 u s r b.org", &["targets[0]", "use \"100 10 u s r b.org.\" not"]),
        ("SRV", "0 0 80 b.org", &["targets[0]", "use \"0 0 80 b.org.\" not"]),
        ("A", "x", &["spec.endpoints[1].targets[0] of a.org", "\"x\"", "an IPv4 address such as"]),
        ("X", "x", &["spec.endpoints[1].recordType of a.org", "\"X\"", "expected one of A, AAAA, CNAME"]),
        ("PTR", "b.org", &["spec.endpoints[1].dnsName of a.org", "in-addr.arpa or ip6.arpa"]),
    ] {
        let thing = thing(json!([null, {"dnsName": "a.org", "recordType": rtype, "targets": [target]}]));
        let notes = map(&thing, &[], &options(|_| {})).notes;
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert_eq!(notes[0].object.to_string(), "DNSEndpoint foo/test");
        for piece in pieces {
            assert!(notes[0].message.contains(piece), "{:?} lacks {piece:?}", notes[0].message);
        }
    }
    check(
        "K25, nothing to report",
        &one("SRV", "_a._tcp.b.org", &["0 0 80 c.org."]),
        |_| {},
        "_a._tcp.b.org SRV 0 0 80 c.org. ttl=180",
    );
}

/// K29, and the policy, which is ours.
#[test]
fn origin_and_label() {
    let mapped = map(&a().annotation("zonewright.dev/policy", "retain"), &[], &options(|_| {}));
    let endpoint = &mapped.endpoints[0];
    assert_eq!(endpoint.resource.as_deref(), Some("crd/foo/test"));
    assert_eq!((&*endpoint.origin.source, endpoint.sharing), ("crd", Sharing::Holder));
    assert_eq!(endpoint.policy.map(ObjectPolicy::as_str), Some("retain"));
}

/// Labels go into the claim, except for those that say whose it is.
#[test]
fn labels() {
    let thing = thing(json!([{"dnsName": "a.org", "recordType": "A", "targets": ["1.1.1.1"],
                              "labels": {"custom": "x", "owner": "me", "resource": "service/a/b", "zonewright-item": "y"}}]));
    let mapped = map(&thing, &[], &options(|_| {}));
    let labels: Vec<_> = mapped.endpoints[0].extras.labels.iter().map(|(key, value)| (&**key, &**value)).collect();
    assert_eq!(labels, [("custom", "x")]);
    assert_eq!(mapped.endpoints[0].resource.as_deref(), Some("crd/foo/test"));
}

/// K26: what is to be written into the status.
#[test]
fn statuses() {
    let of = |thing: &Thing| {
        let object = thing.object(&options(|_| {}).keep()).expect("a DNSEndpoint");
        status(object.body::<DnsEndpoint>().expect("a DNSEndpoint"), &map(thing, &[], &options(|_| {})))
    };
    let due = Status { observed_generation: 1, is_due: true, endpoints: 1, problems: Vec::new() };
    assert_eq!(of(&a()), Some(due.clone()));
    assert_eq!(of(&a().with("status.observedGeneration", 1)), Some(Status { is_due: false, ..due.clone() }));
    assert_eq!(
        of(&a().with("status.observedGeneration", 1).with("metadata.generation", 2))
            .map(|s| (s.observed_generation, s.is_due)),
        Some((2, true))
    );
    assert_eq!(of(&a().with("metadata.generation", 0)), None, "a manifest");
    let bad = of(&one("A", "a.org", &["x"])).expect("a generation");
    assert_eq!((bad.endpoints, bad.is_due), (0, true));
    assert!(bad.problems[0].contains("targets[0] of a.org"), "{:?}", bad.problems);
}

/// What cannot be read may be what stands there, as another program understood it: nothing of the object goes for that.
#[test]
fn an_element_that_cannot_be_read_keeps_what_is_published() {
    let octal = json!([
        {"dnsName": "text.example.org", "recordType": "TXT", "targets": ["\"caf\\303\\251\""]},
        {"dnsName": "abc.example.org", "recordType": "A", "targets": ["1.2.3.4"]},
    ]);
    let mapped = map(&thing(octal), &[], &options(|_| {}));
    assert_eq!((mapped.endpoints.len(), mapped.notes.len()), (1, 1));
    assert_eq!(mapped.unknown[0].resource.as_deref(), Some("crd/foo/test"));
    assert!(mapped.unknown[0].reason.contains("text.example.org"), "{}", mapped.unknown[0].reason);
    assert!(
        mapped.notes[0].message.ends_with("and what the object has published stays"),
        "{}",
        mapped.notes[0].message
    );
    let unnamed = map(&one("A", "a.*.example.org", &["1.2.3.4"]), &[], &options(|_| {}));
    assert_eq!(unnamed.unknown[0].resource.as_deref(), Some("crd/foo/test"), "a name that is refused may stand, too");
    assert!(map(&a(), &[], &options(|_| {})).unknown.is_empty());
}

/// The name of a property is not read under a prefix that is not in force, and a record that was published with it stays as it is.
#[test]
fn a_property_under_the_other_prefix_is_told_and_kept() {
    let proxied = |prefix: &str| {
        let property = json!([{"name": format!("{prefix}cloudflare-proxied"), "value": "true"}]);
        thing(json!([
            {"dnsName": "a.org", "recordType": "A", "targets": ["1.2.3.4"], "providerSpecific": property},
            {"dnsName": "b.org", "recordType": "A", "targets": ["1.2.3.4"]},
        ]))
    };
    let asked = |prefix: &str, prefixes: &[&str]| {
        let annotation_prefixes = Prefixes::parse(prefixes).expect("prefixes");
        let mapped = map(&proxied(prefix), &[], &options(|o| o.annotation_prefixes = annotation_prefixes.clone()));
        assert_eq!(mapped.endpoints.len(), 2, "what it asks for in the prefix in force");
        let other = mapped.other_prefix.iter().flat_map(|other| &other.endpoints).map(ToString::to_string);
        (other.collect::<Vec<_>>(), mapped.notes.iter().map(|note| note.reason).collect::<Vec<_>>())
    };
    let kept = (vec!["a.org A 1.2.3.4".to_owned()], vec!["OtherAnnotationPrefix"]);
    assert_eq!(asked(ALPHA_PREFIX, &[DEFAULT_PREFIX]), kept);
    assert_eq!(asked(DEFAULT_PREFIX, &[ALPHA_PREFIX]), kept);
    let nothing = (Vec::new(), Vec::new());
    assert_eq!(asked(ALPHA_PREFIX, &[ALPHA_PREFIX]), nothing);
    assert_eq!(asked(ALPHA_PREFIX, &[DEFAULT_PREFIX, ALPHA_PREFIX]), nothing);
    assert_eq!(asked(ALPHA_PREFIX, &["own.example/"]), nothing, "another instance's");
    assert_eq!(asked("own.example/", &[DEFAULT_PREFIX]), nothing);
}
