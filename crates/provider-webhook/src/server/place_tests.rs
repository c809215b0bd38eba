//! Requests to groups: what is sent to which zone, and what is refused with which words.

use zonewright_core::Ttl;
use zonewright_core::capability::{RoutingKind, RoutingSupport, TargetCount, TtlRange};
use zonewright_core::options::{OptionKind, OptionSpec, OptionTable};
use zonewright_core::record::{AliasTarget, Routing};
use zonewright_core::zone::InstanceId;

use super::*;
use crate::server::ask::bundles;

const OPTIONS: OptionTable = OptionTable {
    specs: &[OptionSpec { key: "x/n", kind: OptionKind::Int { min: 0, max: 9 }, default: "0", doc: "N." }],
    ..OptionTable::NONE
};

fn zones() -> Vec<Zone> {
    let zone = |name: &str| Zone::new(&InstanceId::from("i"), name, DnsName::parse(name).unwrap());
    vec![zone("test"), zone("sub.test")]
}

/// `zone: change; change` for each group of each name, or `name! what speaks against it`.
fn placed(json: &str, narrow: impl Fn(&mut Capability)) -> Vec<String> {
    let zones = zones();
    let scope = ServedNames::new(&[], &["out.test".to_owned()], "", "").unwrap();
    let capability = |_: &Zone| {
        let mut capability = Capability::authoritative(100, TtlRange::any(Ttl::ZERO));
        narrow(&mut capability);
        capability
    };
    let places = Places {
        zones: &zones,
        rule: ZoneRule::LongestSuffix,
        scope: &scope,
        options: &OPTIONS.into(),
        capability: &capability,
        interpret: &|_: &Zone, endpoint: &Endpoint| interpretation(endpoint),
    };
    let group = |(place, group): (usize, Group)| {
        let options = |change: &Change| change.to().map_or(0, |to| to.options.iter().count());
        let routing = |change: &Change| change.to().and_then(|to| to.routing.kind()).map(|kind| format!(" {kind}"));
        let step = |change: &Change| {
            let options = if options(change) > 0 { " +options" } else { "" };
            format!("{change}{options}{}", routing(change).unwrap_or_default())
        };
        format!("{}: {}", zones[place].name, group.changes().map(step).collect::<Vec<_>>().join("; "))
    };
    let outcome = |bundle: &Bundle| match places.groups(bundle, &Standing::new()) {
        Ok(groups) => groups.into_iter().map(group).collect(),
        Err(objection) => vec![format!("{}! {:?}: {}", bundle.said, objection.kind, objection.text)],
    };
    bundles(serde_json::from_str(json).unwrap()).iter().flat_map(outcome).collect()
}

/// A weight becomes a policy, a host name with `alias` an alias of both families, and `x/zone` names the zone.
fn interpretation(endpoint: &Endpoint) -> Interpretation {
    let mut form = endpoint.clone();
    if let Some(weight) = form.extras.edit(|extras| extras.properties.remove("x/weight")) {
        let Ok(weight) = weight.parse() else {
            let text = format!("{}: x/weight: expected a number", endpoint.name);
            return Interpretation::refused(Note::warning(&endpoint.origin.object, "InvalidOption", text));
        };
        form.extras.edit(|extras| extras.routing = Routing::Weighted { weight });
    }
    let zone = form.extras.edit(|extras| extras.properties.remove("x/zone"));
    let alias = form.extras.edit(|extras| extras.properties.remove("alias"));
    let forms = match (form.targets.as_records().first(), alias.as_deref()) {
        (Some(RData::Cname(host)), Some(alias)) => {
            let alias_to = AliasTarget { target: host.as_str().into(), zone: None, evaluate_health: false };
            let of = |rtype| Endpoint {
                rtype,
                targets: Targets::Alias(Box::new(alias_to.clone())),
                ttl: None,
                ..form.clone()
            };
            let types = [RecordType::A, RecordType::Aaaa].into_iter();
            types.filter(|rtype| alias == "true" || alias == rtype.to_string()).map(of).collect()
        }
        _ => vec![form],
    };
    let made = Interpretation::forms(forms);
    match zone {
        Some(id) => made.only_in(ZoneId::from(&*id)),
        None => made,
    }
}

/// A provider that has aliases and weighted sets.
fn cloud(capability: &mut Capability) {
    capability.alias = true;
    capability.set_ids = true;
    capability.one_kind = true;
    capability.routing = RoutingSupport::PerSet(&[RoutingKind::Weighted]);
}

fn asked(rtype: &str, target: &str, id: &str, properties: &[(&str, &str)]) -> String {
    let properties: Vec<_> =
        properties.iter().map(|(name, value)| serde_json::json!({"name": name, "value": value})).collect();
    serde_json::json!({"dnsName": "a.test", "recordType": rtype, "targets": [target], "recordTTL": 60,
        "setIdentifier": id, "providerSpecific": properties})
    .to_string()
}

#[test]
fn what_the_providers_properties_ask_for_is_published() {
    let create = |endpoint: &str| placed(&format!(r#"{{"create":[{endpoint}]}}"#), cloud);
    let weighted = [("x/weight", "7")];
    for (endpoint, expected) in [
        (asked("A", "192.0.2.1", "blue", &weighted), "test: + a.test 60 A (blue) 192.0.2.1 weighted"),
        (
            asked("CNAME", "lb.test", "", &[("alias", "true")]),
            "test: + a.test A alias of lb.test; + a.test AAAA alias of lb.test",
        ),
        (asked("A", "lb.test", "", &[("alias", "true")]), "test: + a.test A alias of lb.test"),
        (asked("A", "192.0.2.1", "", &[("x/zone", "test")]), "test: + a.test 60 A 192.0.2.1"),
        (
            asked("A", "192.0.2.1", "", &[("x/zone", "other")]),
            "a.test! Unsupported: a.test A: zone other is none of those that hold this name (test); nothing is published",
        ),
        (
            asked("A", "192.0.2.1", "blue", &[("x/weight", "much")]),
            "a.test! Unsupported: a.test: x/weight: expected a number",
        ),
    ] {
        assert_eq!(create(&endpoint), [expected], "{endpoint}");
    }
}

#[test]
fn a_host_name_that_becomes_an_alias_is_one_group_with_what_goes() {
    let (old, new) = (asked("CNAME", "lb.test", "", &[]), asked("CNAME", "lb.test", "", &[("alias", "true")]));
    let found = placed(&format!(r#"{{"updateOld":[{old}],"updateNew":[{new}]}}"#), cloud);
    assert_eq!(found.len(), 1);
    for part in ["test: - a.test 60 CNAME lb.test.", "+ a.test", "AAAA"] {
        assert!(found[0].contains(part), "{found:?} has no {part:?}");
    }
}

#[track_caller]
fn check(json: &str, expected: &[&str]) {
    assert_eq!(placed(json, |_| {}), expected, "{json}");
}

fn a(name: &str, target: &str) -> String {
    format!(r#"{{"dnsName":"{name}","recordType":"A","targets":["{target}"],"recordTTL":60}}"#)
}

fn cname(name: &str) -> String {
    format!(r#"{{"dnsName":"{name}","recordType":"CNAME","targets":["b.test."]}}"#)
}

#[test]
fn each_change_carries_what_stood_before() {
    let (one, two) = (a("a.test", "192.0.2.1"), a("a.test", "192.0.2.2"));
    check(&format!(r#"{{"create":[{one}]}}"#), &["test: + a.test 60 A 192.0.2.1"]);
    check(&format!(r#"{{"delete":[{one}]}}"#), &["test: - a.test 60 A 192.0.2.1"]);
    check(
        &format!(r#"{{"updateOld":[{one}],"updateNew":[{two}]}}"#),
        &["test: ~ a.test 60 A 192.0.2.2 (was 192.0.2.1)"],
    );
    check(&format!(r#"{{"delete":[{one}],"create":[{two}]}}"#), &["test: ~ a.test 60 A 192.0.2.2 (was 192.0.2.1)"]);
}

#[test]
fn a_change_of_type_is_one_group_with_the_delete_first() {
    let (address, alias) = (a("a.test", "192.0.2.1"), cname("a.test"));
    check(
        &format!(r#"{{"create":[{alias}],"delete":[{address}]}}"#),
        &["test: - a.test 60 A 192.0.2.1; + a.test CNAME b.test."],
    );
    check(
        &format!(r#"{{"updateOld":[{address}],"updateNew":[{alias}]}}"#),
        &["test: - a.test 60 A 192.0.2.1; + a.test CNAME b.test."],
    );
}

#[test]
fn names_go_to_the_zone_that_is_nearest() {
    let list = [a("x.sub.test", "192.0.2.1"), a("a.test", "192.0.2.1"), a("a.other", "192.0.2.1")].join(",");
    check(
        &format!(r#"{{"create":[{list}]}}"#),
        &[
            "a.other! NotFound: a.other is in no zone that is served here (test, sub.test)",
            "test: + a.test 60 A 192.0.2.1",
            "sub.test: + x.sub.test 60 A 192.0.2.1",
        ],
    );
    let claim = r#"{"dnsName":"a-sub.test","recordType":"TXT","targets":["x"],"labels":{"ownedRecord":"sub.test"}}"#;
    check(
        &format!(r#"{{"create":[{},{claim}]}}"#, a("sub.test", "192.0.2.1")),
        &["test: + a-sub.test TXT \"x\"", "sub.test: + sub.test 60 A 192.0.2.1"],
    );
}

#[test]
fn what_cannot_be_done_is_said_and_takes_its_name_along() {
    let one = |json: &str, expected: &str| check(&format!(r#"{{"create":[{json}]}}"#), &[expected]);
    one(&a("a..test", "192.0.2.1"), "a..test! Invalid: \"a..test\" is no domain name");
    one(
        &a("x.out.test", "192.0.2.1"),
        "x.out.test! Invalid: x.out.test is outside of the domain filter of this server",
    );
    one(
        &a("a.test", "nonsense"),
        "a.test! Invalid: a.test A: \"nonsense\" is no A data; expected an IPv4 address such as 192.0.2.1",
    );
    one(r#"{"dnsName":"a.test","targets":["x"]}"#, "a.test! Invalid: a.test: \"\" is no record type");
    one(r#"{"dnsName":"a.test","recordType":"A"}"#, "a.test! Invalid: a.test A has no targets; expected at least one");
    one(
        r#"{"dnsName":"a.test","recordType":"TYPE65280","targets":["x"]}"#,
        "a.test! Unsupported: a.test TYPE65280: this provider has no records of type TYPE65280",
    );
    one(
        r#"{"dnsName":"b.test","recordType":"CNAME","targets":["b.test"]}"#,
        "b.test! Unsupported: b.test CNAME points to itself",
    );
    let twice = [a("a.test", "192.0.2.1"), a("a.test", "192.0.2.2")].join(",");
    one(&twice, "a.test! Invalid: a.test A is changed more than once in one request; expected once");
    let claim = r#"{"dnsName":"a-a.test","recordType":"TXT","targets":["x"],"labels":{"ownedRecord":"a.test"}}"#;
    one(
        &format!("{claim},{}", a("a.test", "nonsense")),
        "a.test! Invalid: a.test A: \"nonsense\" is no A data; expected an IPv4 address such as 192.0.2.1",
    );
    check(
        r#"{"delete":[{"dnsName":"sub.test","recordType":"NS","targets":["ns.test"]}]}"#,
        &["sub.test! Unsupported: sub.test NS: NS and SOA records at the apex of a zone are never touched"],
    );
    check(
        r#"{"delete":[{"dnsName":"a.test","recordType":"A"}]}"#,
        &["a.test! Invalid: a.test A: the old targets are not stated; expected what stands there"],
    );
}

/// Whatever a request calls it: the other side of an update, or the claim of a name inside.
#[test]
fn nothing_outside_of_the_filter_is_changed_but_a_claim() {
    let (inside, out) = (a("a.test", "192.0.2.1"), a("x.out.test", "192.0.2.1"));
    let text = |targets: &str| {
        format!(
            r#"{{"dnsName":"x.out.test","recordType":"TXT","targets":[{targets}],"labels":{{"ownedRecord":"a.test"}}}}"#
        )
    };
    let claim = r#""heritage=external-dns,external-dns/owner=me""#;
    let denied = "a.test! Invalid: x.out.test is outside of the domain filter of this server";
    check(&format!(r#"{{"updateOld":[{out}],"updateNew":[{inside}]}}"#), &[denied]);
    for list in ["create", "delete"] {
        check(&format!(r#"{{"{list}":[{}]}}"#, text(r#""v=spf1 -all""#)), &[denied]);
        check(&format!(r#"{{"{list}":[{}]}}"#, text(&format!(r#"{claim},"v=spf1 -all""#))), &[denied]);
    }
    check(
        &format!(r#"{{"create":[{}]}}"#, text(claim)),
        &["test: + x.out.test TXT \"heritage=external-dns,external-dns/owner=me\""],
    );
    // An alias holds no text that reads as a claim, and none that does not.
    let alias = asked("A", "lb.test", "", &[("alias", "true"), ("zonewright/alias-health", "false")]);
    let old = alias.replace("a.test", "x.out.test");
    assert_eq!(placed(&format!(r#"{{"updateOld":[{old}],"updateNew":[{inside}]}}"#), cloud), [denied]);
}

#[test]
fn wanted_sets_are_lowered_to_what_the_zone_holds() {
    let two = |rtype: &str, one: &str, other: &str| {
        format!(
            r#"{{"create":[{{"dnsName":"a.test","recordType":"{rtype}","targets":["{one}","{other}"],"recordTTL":5}}]}}"#
        )
    };
    let (addresses, hosts) = (two("A", "192.0.2.9", "192.0.2.1"), two("CNAME", "y.test", "x.test"));
    check(&addresses, &["test: + a.test 5 A 192.0.2.1 ; 192.0.2.9"]);
    check(&hosts, &["test: + a.test 5 CNAME y.test."]);
    let first = |capability: &mut Capability| capability.targets = TargetCount::First;
    assert_eq!(placed(&addresses, first), ["test: + a.test 5 A 192.0.2.9"]);
    let floor = |capability: &mut Capability| capability.ttl.min = Ttl::from_secs(30).unwrap();
    assert_eq!(placed(&hosts, floor), ["test: + a.test 30 CNAME y.test."]);
}

#[test]
fn options_of_the_provider_are_parsed_and_others_dropped() {
    let with = |name: &str, value: &str| {
        let properties = format!(r#"[{{"name":"{name}","value":"{value}"}}]"#);
        let endpoint = a("a.test", "192.0.2.1")
            .replace("\"recordTTL\"", &format!(r#""providerSpecific":{properties},"recordTTL""#));
        format!(r#"{{"create":[{endpoint}]}}"#)
    };
    check(&with("x/n", "7"), &["test: + a.test 60 A 192.0.2.1 +options"]);
    for (name, value) in [("x/n", "ten"), ("x/other", "1"), ("alias", "true"), ("aws/weight", "10")] {
        check(&with(name, value), &["test: + a.test 60 A 192.0.2.1"]);
    }
}

/// Programs whose objects may ask for any text would let them forge a claim; what they claim as a record is no claim.
#[test]
fn a_text_that_reads_as_a_claim_and_is_claimed_itself_is_refused() {
    let text = |name: &str, labels: &str| {
        format!(
            r#"{{"dnsName":"{name}","recordType":"TXT","targets":["\"heritage=external-dns,external-dns/owner=me\""],"labels":{{{labels}}}}}"#
        )
    };
    let (forged, claim) = (text("a-b.test", ""), text("txt-a-b.test", r#""ownedRecord":"a-b.test""#));
    check(
        &format!(r#"{{"create":[{forged},{claim}]}}"#),
        &[
            "a-b.test! Invalid: a-b.test TXT reads as an ownership record and has an ownership record of its own; expected another text",
        ],
    );
    assert_eq!(placed(&format!(r#"{{"delete":[{forged},{claim}]}}"#), |_| {}).len(), 1, "it may go");
    let (record, its) = (a("b.test", "192.0.2.1"), text("a-b.test", r#""ownedRecord":"b.test""#));
    assert!(!placed(&format!(r#"{{"create":[{record},{its}]}}"#), |_| {})[0].contains('!'), "the claim of a record");
    assert!(!placed(&format!(r#"{{"create":[{forged}]}}"#), |_| {})[0].contains('!'), "callers that do not say");
}
