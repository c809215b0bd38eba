//! Section D: nodes under their own names.

use serde_json::json;
use zonewright_core::endpoint::Sharing;
use zonewright_source_k8s::kind::Kind;
use zonewright_source_k8s::options::{SourceKind, SourceOptions};
use zonewright_source_k8s::selector::MetadataSelector;

use crate::scene::{Thing, check as check_thing, map, options};

/// A node; addresses are `ext:<ip>` or `int:<ip>`.
pub(crate) fn node(name: &str, addresses: &str) -> Thing {
    let address = |text: &str| match text.split_once(':') {
        Some(("ext", ip)) => json!({"type": "ExternalIP", "address": ip}),
        Some((_, ip)) => json!({"type": "InternalIP", "address": ip}),
        None => json!({"type": "Hostname", "address": text}),
    };
    Thing::new(Kind::Node, "", name)
        .with("status.addresses", addresses.split_whitespace().map(address).collect::<Vec<_>>())
}

fn check(id: &str, thing: &Thing, change: impl FnOnce(&mut SourceOptions), expected: &str) {
    let nodes = |o: &mut SourceOptions| {
        o.sources = vec![SourceKind::Node];
        change(o);
    };
    check_thing(id, thing, nodes, expected);
}

#[test]
fn addresses() {
    for (id, addresses, expose, expected) in [
        ("D1", "ext:1.2.3.4", false, "node1 A 1.2.3.4"),
        ("D3", "int:2001:DB8::8", false, "node1 AAAA 2001:db8::8"),
        ("D6", "ext:1.2.3.4 ext:5.6.7.8", false, "node1 A 1.2.3.4 5.6.7.8"),
        ("D7", "ext:1.2.3.4 int:2001:DB8::8", true, "node1 A 1.2.3.4 | node1 AAAA 2001:db8::8"),
        ("D8", "ext:1.2.3.4 int:2.3.4.5", false, "node1 A 1.2.3.4"),
        ("D9", "ext:1.2.3.4 int:2.3.4.5 int:2001:DB8::8", true, "node1 A 1.2.3.4 | node1 AAAA 2001:db8::8"),
        ("D9, not exposed", "ext:1.2.3.4 int:2.3.4.5 int:2001:DB8::8", false, "node1 A 1.2.3.4"),
        ("D10", "int:2.3.4.5", false, "node1 A 2.3.4.5"),
        ("D11", "int:2.3.4.5 int:2001:DB8::8", true, "node1 A 2.3.4.5 | node1 AAAA 2001:db8::8"),
        ("D12", "int:2.3.4.5 int:2001:DB8::8", false, "node1 A 2.3.4.5 | node1 AAAA 2001:db8::8"),
        ("D13: waits, and stops nobody", "", false, "node1 pending"),
        ("D13, a host name alone", "node1.internal", false, "node1 pending"),
        ("D28", "ext:1.2.3.4 ext:2001:DB8::8", false, "node1 A 1.2.3.4 | node1 AAAA 2001:db8::8"),
        ("an address that is none", "ext:1.2.3.4 ext:1.2.3.4:80", false, "node1 A 1.2.3.4 | ! InvalidTarget"),
    ] {
        check(id, &node("node1", addresses), |o| o.expose_internal_ipv6 = expose, expected);
    }
    check("D2", &node("node1.example.org", "ext:1.2.3.4"), |_| {}, "node1.example.org A 1.2.3.4");
    check("a label of 64", &node(&"a".repeat(64), "ext:1.2.3.4"), |_| {}, "! InvalidHostname");
}

#[test]
fn annotations() {
    let plain = node("node1", "ext:1.2.3.4");
    for (id, key, value, expected) in [
        ("D14", "target", "203.2.45.7", "node1 A 203.2.45.7"),
        ("D14, empty", "target", "", "node1 A 1.2.3.4"),
        ("D14, none valid", "target", "a..b", "node1 pending | ! InvalidTarget"),
        ("D20", "controller", "dns-controller", "node1 A 1.2.3.4"),
        ("D21", "controller", "other", ""),
        ("D23", "ttl", "foo", "node1 A 1.2.3.4 | ! InvalidTTL"),
        ("D24", "ttl", "10", "node1 A 1.2.3.4 ttl=10"),
        ("D27", "aws-weight", "10", "node1 A 1.2.3.4"),
        ("D27", "set-identifier", "a", "node1 A 1.2.3.4"),
        ("D30", "hostname", "foo.example.org", "node1 A 1.2.3.4"),
    ] {
        check(id, &plain.ann(key, value), |_| {}, expected);
    }
}

#[test]
fn filters() {
    let plain = node("node1", "ext:1.2.3.4").annotation("tier", "front").label("app", "web");
    let by = |text: &str| MetadataSelector::labels(text).unwrap();
    check("D15", &plain, |_| {}, "node1 A 1.2.3.4");
    check("D16", &plain, |o| o.annotation_filter = by("tier=front"), "node1 A 1.2.3.4");
    check("D17", &plain, |o| o.annotation_filter = by("tier=back"), "");
    check("D18", &plain, |o| o.label_filter = by("app=web"), "node1 A 1.2.3.4");
    check("D19", &plain, |o| o.label_filter = by("app=db"), "");
    check("a namespace does not narrow nodes", &plain, |o| o.namespace = "web".to_owned(), "node1 A 1.2.3.4");
    let cordoned = plain.with("spec.unschedulable", true);
    check("D25", &cordoned, |o| o.exclude_unschedulable = true, "");
    check("D26", &cordoned, |o| o.exclude_unschedulable = false, "node1 A 1.2.3.4");
}

/// D30.
#[test]
fn endpoints_carry_the_nodes_label_and_join() {
    let options = options(|o| o.sources = vec![SourceKind::Node]);
    let mapped = map(&node("node1", "ext:1.2.3.4").annotation("zonewright.dev/policy", "retain"), &[], &options);
    let endpoint = &mapped.endpoints[0];
    assert_eq!(endpoint.resource.as_deref(), Some("node/node1"));
    assert_eq!(endpoint.sharing, Sharing::Union);
    assert!(endpoint.policy.is_some());
}
