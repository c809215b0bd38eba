//! Bad objects that got past the webhook, and names with a dot at their end.

use serde_json::{Value, json};
use zonewright_testkit::{KubeApi, require};

use super::clouds::{a, aws, record, with};

/// A webhook need not be there: the controller says the same, with the field, and others go on.
#[test]
fn what_the_rules_refuse_the_controller_refuses_too() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    for (name, spec, field) in [
        ("upper", a("WEB", "192.0.2.1"), "spec.name"),
        ("label", with(a("x", "192.0.2.1"), &json!({ "name": "test" })), "spec.name"),
        ("inside", a("a_b", "192.0.2.1"), "spec.name"),
        ("wild", record("*", "TXT", &["text"]), "spec.name"),
        ("family", a("six", "2001:db8::1"), "spec.values[0]"),
        ("six", record("six", "AAAA", &["192.0.2.1"]), "spec.values[0]"),
        ("two", record("two", "CNAME", &["a.example.com", "b.example.com"]), "spec.values"),
        ("none", record("none", "A", &[]), "spec.values"),
        ("kind", record("kind", "MX", &["10 mail"]), "spec.recordType"),
        ("ttl", with(a("ttl", "192.0.2.1"), &json!({ "ttl": -1 })), "spec.ttl"),
        ("large", with(a("large", "192.0.2.1"), &json!({ "ttl": 2_147_483_648_i64 })), "spec.ttl"),
    ] {
        let object = world.record(name);
        object.create(&spec);
        let codes = object.fails(&[field]);
        assert_eq!(codes, ["ERR_CONFIGURATION_PROBLEM"], "{name}");
    }
    world.record("good").created(&a("good", "192.0.2.1"));
    aws.shows(&["good.shop.test A 120 192.0.2.1"]);
    assert_eq!(aws.writes(), 1, "nothing else was asked for");
    // What never was sent goes without a word.
    for name in ["upper", "family", "kind"] {
        world.record(name).deleted();
    }
    // And what is mended is served.
    world.record("ttl").does("reconcile", &json!({ "ttl": 0 }));
    aws.shows(&["good.shop.test A 120 192.0.2.1", "ttl.shop.test A 0 192.0.2.1"]);
}

#[test]
fn a_dot_at_the_end_means_nothing() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    let object = world.record("web");
    object.created(&with(a("web", "192.0.2.1"), &json!({ "name": "web.shop.test." })));
    let alias = world.record("alias");
    alias.created(&record("alias", "CNAME", &["other.example.com."]));
    let shown: Vec<String> = aws.shown().iter().map(|line| line.trim_end_matches('.').to_owned()).collect();
    assert_eq!(shown, ["alias.shop.test CNAME 120 other.example.com", "web.shop.test A 120 192.0.2.1"]);
    let writes = aws.writes();
    alias.does("reconcile", &json!({ "values": ["other.example.com"] }));
    object.does("reconcile", &Value::Null);
    assert_eq!(aws.writes(), writes);
    object.deleted();
    alias.deleted();
    aws.shows(&[]);
}

/// What Gardener's own creators ask for: each form of name and type.
#[test]
fn the_records_that_gardener_makes() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    for (name, spec) in [
        ("foo-internal", a("api.foo.internal", "192.0.2.1")),
        ("foo-external", record("api.foo", "AAAA", &["2001:db8::1"])),
        ("foo-ingress", a("*.ingress.foo", "192.0.2.2")),
        ("challenge", with(record("x", "TXT", &["token"]), &json!({ "name": "_acme-challenge.foo.shop.test" }))),
    ] {
        world.record(name).created(&spec);
    }
    aws.shows(&[
        "api.foo.internal.shop.test A 120 192.0.2.1",
        "api.foo.shop.test AAAA 120 2001:db8::1",
        "*.ingress.foo.shop.test A 120 192.0.2.2",
        "_acme-challenge.foo.shop.test TXT 120 \"token\"",
    ]);
}
