//! The comparison finds every damage, and nothing else.

use serde_json::{Value, json};

use super::*;
use crate::provider::Sent;
use crate::recorded::Update;

/// What a program does to an endpoint.
type Damage = fn(&mut Endpoint);

fn endpoint(value: Value) -> Endpoint {
    serde_json::from_value(value).expect("an endpoint")
}

/// A recorded run with a change of each kind.
fn recorded() -> Run {
    let web = json!({
        "dnsName": "web.example.com", "recordType": "A", "recordTTL": 60, "targets": ["192.0.2.1", "192.0.2.2"],
        "labels": {"owner": "me", "resource": "ingress/default/web"},
        "providerSpecific": [{"name": "webhook/weight", "value": "5"}],
    });
    let six = json!({"dnsName": "six.example.com", "recordType": "AAAA", "targets": ["2001:db8::1"]});
    let old = json!({"dnsName": "six.example.com", "recordType": "AAAA", "targets": ["2001:db8::2"]});
    let gone = json!({"dnsName": "gone.example.com", "recordType": "CNAME", "targets": ["lb.example.net"]});
    serde_json::from_value(json!({
        "name": "all",
        "args": ["--policy=sync", "--domain-filter=example.com"],
        "exit": 0,
        "current": [old, gone],
        "desired": [web, six],
        "changes": {"create": [web], "update": [{"from": old, "to": six}], "delete": [gone]},
    }))
    .expect("a run")
}

/// A run of a program that does exactly what is recorded.
fn faithful(run: &Run) -> Played {
    let sent = Sent { desired: run.desired.clone(), changes: run.changes.clone(), problems: Vec::new() };
    Played { failed: run.exit != 0, sent, output: String::new() }
}

/// The differences of a program that does what is recorded but for this.
fn differences_with(run: &Run, damage: impl FnOnce(&mut Played)) -> Vec<String> {
    let mut played = faithful(run);
    damage(&mut played);
    differences(run, &played)
}

#[test]
fn the_recorded_run_itself_does_not_differ() {
    assert_eq!(differences_with(&recorded(), |_| ()), Vec::<String>::new());
}

#[test]
fn every_damage_is_found() {
    let check = |expected: &str, damage: fn(&mut Played)| {
        let found = differences_with(&recorded(), damage);
        assert!(found.len() == 1 && found[0].starts_with(&format!("  {expected}")), "{expected}: {found:?}");
    };
    check("exit: expected success, got failure", |played| played.failed = true);
    check("desired: missing     web.example.com A", |played| drop(played.sent.desired.remove(0)));
    check("desired: different\n    expected  six", |played| played.sent.desired[1].targets = vec!["::1".to_owned()]);
    check("desired: unexpected  new.example.com A", |played| {
        let invented = json!({"dnsName": "new.example.com", "recordType": "A", "targets": ["192.0.2.9"]});
        played.sent.desired.push(endpoint(invented));
    });
    check("create: missing     web.example.com A", |played| played.sent.changes.create.clear());
    check("create: unexpected  web.example.com A", |played| {
        let again = played.sent.changes.create[0].clone();
        played.sent.changes.create.push(again);
    });
    check("create: unexpected  out.example.org TXT", |played| {
        let invented = json!({"dnsName": "out.example.org", "recordType": "TXT", "targets": ["x"]});
        played.sent.changes.create.push(endpoint(invented));
    });
    let damages: [(&str, Damage); 8] = [
        ("target", |web| web.targets[0] = "192.0.2.9".to_owned()),
        ("fewer targets", |web| drop(web.targets.pop())),
        ("TTL", |web| web.record_ttl = 61),
        ("no TTL", |web| web.record_ttl = 0),
        ("label", |web| drop(web.labels.insert("owner".to_owned(), "you".to_owned()))),
        ("no label", |web| drop(web.labels.remove("resource"))),
        ("property", |web| web.provider_specific[0].value = "6".to_owned()),
        ("no property", |web| web.provider_specific.clear()),
    ];
    for (what, damage) in damages {
        let found = differences_with(&recorded(), |played| damage(&mut played.sent.changes.create[0]));
        assert!(found.len() == 1 && found[0].starts_with("  create: different\n"), "{what}: {found:?}");
    }
    check("update: missing     six.example.com AAAA", |played| played.sent.changes.update.clear());
    check("update: different\n", |played| played.sent.changes.update[0].to.record_ttl = 5);
    check("update: different\n", |played| played.sent.changes.update[0].from.record_ttl = 5);
    check("update: unexpected  x.example.com A", |played| {
        let side = |address| endpoint(json!({"dnsName": "x.example.com", "recordType": "A", "targets": [address]}));
        played.sent.changes.update.push(Update { from: side("192.0.2.1"), to: side("192.0.2.2") });
    });
    check("delete: missing     gone.example.com CNAME", |played| played.sent.changes.delete.clear());
    check("delete: unexpected  web.example.com A", |played| {
        let web = played.sent.changes.create[0].clone();
        played.sent.changes.delete.push(web);
    });
    check("POST /records: 1 updateOld, but 0 updateNew", |played| {
        played.sent.problems.push("POST /records: 1 updateOld, but 0 updateNew".to_owned());
    });
}

#[test]
fn another_name_type_or_set_is_another_endpoint() {
    let damages: [Damage; 3] = [
        |web| web.dns_name = "www.example.com".to_owned(),
        |web| web.record_type = "AAAA".to_owned(),
        |web| web.set_identifier = "blue".to_owned(),
    ];
    for damage in damages {
        let found = differences_with(&recorded(), |played| damage(&mut played.sent.changes.create[0]));
        let starts: Vec<&str> = found.iter().filter_map(|line| line.get(..20)).collect();
        assert_eq!(starts, ["  create: missing   ", "  create: unexpected"], "{found:?}");
    }
}

#[test]
fn what_carries_no_meaning_is_not_found() {
    let check = |what: &str, change: fn(&mut Sent)| {
        let found = differences_with(&recorded(), |played| change(&mut played.sent));
        assert!(found.is_empty(), "{what}: {found:?}");
    };
    check("order", |sent| {
        sent.desired.reverse();
        sent.changes.create[0].targets.reverse();
    });
    check("case and final dots", |sent| {
        sent.changes.create[0].dns_name = "WEB.example.com.".to_owned();
        sent.changes.delete[0].targets = vec!["LB.Example.net.".to_owned()];
    });
    check("spelling of addresses", |sent| sent.changes.update[0].to.targets = vec!["2001:DB8:0:0::0001".to_owned()]);
    check("a TTL of 0", |sent| sent.changes.update[0].to.record_ttl = 0);
    check("empty labels", |sent| drop(sent.changes.create[0].labels.insert("set".to_owned(), String::new())));
    check("an update with equal sides", |sent| {
        let side = sent.changes.create[0].clone();
        let mut same = side.clone();
        same.targets.reverse();
        sent.changes.update.push(Update { from: side, to: same });
    });
    check("wanted twice", |sent| sent.desired.extend_from_within(..));
    check("wanted, of a type that is not managed", |sent| {
        sent.desired.push(endpoint(json!({"dnsName": "web.example.com", "recordType": "TXT", "targets": ["x"]})));
    });
    check("wanted, outside the domain filter", |sent| {
        sent.desired.push(endpoint(json!({"dnsName": "web.example.org", "recordType": "A", "targets": ["192.0.2.1"]})));
    });
    check("wanted, a CNAME beside an address", |sent| {
        sent.desired
            .push(endpoint(json!({"dnsName": "web.example.com", "recordType": "CNAME", "targets": ["lb.test"]})));
    });
}

#[test]
fn any_one_of_several_recorded_names_is_right() {
    let mut run = recorded();
    let alias =
        |targets: Value| endpoint(json!({"dnsName": "a.example.com", "recordType": "CNAME", "targets": targets}));
    run.desired.push(alias(json!(["one.test", "two.test"])));
    run.changes.create.push(alias(json!(["one.test", "two.test"])));
    let check = |targets: Value, right: bool| {
        let found = differences_with(&run, |played| {
            played.sent.desired[2] = alias(targets.clone());
            played.sent.changes.create[1] = alias(targets.clone());
        });
        assert_eq!(found.is_empty(), right, "{targets}: {found:?}");
    };
    check(json!(["one.test"]), true);
    check(json!(["TWO.test."]), true);
    check(json!(["one.test", "two.test"]), true);
    check(json!(["three.test"]), false);
    check(json!(["one.test", "three.test"]), false);
    check(json!([]), false);
}

#[test]
fn of_a_run_that_must_fail_only_the_exit_counts() {
    let mut run = recorded();
    run.exit = 1;
    assert_eq!(differences_with(&run, |played| played.sent = Sent::default()), Vec::<String>::new());
    let found = differences_with(&run, |played| {
        played.failed = false;
        played.output = "1\n2\n3\n4\n5\n6\n7\n".to_owned();
    });
    let shown: Vec<String> = (2..=7).map(|line| format!("  output: {line}")).collect();
    assert_eq!(found[0], "  exit: expected failure, got success");
    assert_eq!(found[1..], shown);
}
