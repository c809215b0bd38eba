//! What is sent and what is read, against a peer that keeps to the protocol.

use std::collections::BTreeMap;

use crate::common::{Peer, answer, config, listed, set, zone};
use secrecy::SecretString;
use serde_json::{Value, json};
use zonewright_core::change::{Change, Group, Outcome, Precondition, Step};
use zonewright_core::options::LABEL_PREFIX;
use zonewright_core::options::OptionValue;
use zonewright_core::provider::{Adjustment, Listing, Provider, Read};
use zonewright_core::zone::ZoneId;
use zonewright_core::{DnsName, ErrorKind, RecordSet};
use zonewright_provider_webhook::Webhook;

const CLAIM: &str = "\"heritage=external-dns,external-dns/owner=me,external-dns/resource=service/a/b\"";

fn name(text: &str) -> DnsName {
    DnsName::parse(text).unwrap()
}

fn record(change: Change, resource: Option<&str>) -> Step {
    Step::record(change, resource.map(Into::into))
}

fn group(name_of: &str, steps: Vec<Step>) -> Group {
    Group { name: name(name_of), steps, stored: vec![], requires: vec![], objects: vec![] }
}

fn applied(outcomes: &[Outcome]) -> bool {
    outcomes.iter().all(|outcome| matches!(outcome, Outcome::Applied))
}

#[tokio::test]
async fn the_zone_is_the_root_with_the_negotiated_filter() {
    for (filter, inside, outside) in [
        (json!({}), "a.example.com", None),
        (Value::Null, "a.example.com", None),
        (json!({"include": ["example.com"], "exclude": ["x.example.com"]}), "a.example.com", Some("x.example.com")),
        (json!({"Exclude": ["example.com"]}), "a.example.org", Some("a.example.com")),
        (json!({"regexInclude": "^[a-z]\\.", "regexExclude": "org$"}), "a.example.com", Some("a.example.org")),
    ] {
        let peer = Peer::start().await;
        peer.script().filter = filter.clone();
        let zone = zone(&peer.provider()).await;
        assert_eq!((zone.name.clone(), zone.key.zone.as_str()), (DnsName::root(), "."));
        assert!(zone.covers(&name(inside)), "{filter}");
        assert!(outside.is_none_or(|outside| !zone.covers(&name(outside))), "{filter}");
    }
}

#[tokio::test]
async fn bad_filters_are_errors_that_name_the_key() {
    for (filter, part) in [
        (json!({"include": ["a"], "regexInclude": "b"}), "both lists and regular expressions"),
        (json!({"regexInclude": "("}), "regexInclude \"(\""),
        (json!({"regexExclude": "["}), "regexExclude \"[\""),
        (json!({"include": "example.com"}), "not the JSON of the protocol"),
    ] {
        let peer = Peer::start().await;
        peer.script().filter = filter;
        let error = peer.provider().zones().await.unwrap_err();
        assert!(error.chain().contains(part), "{part}: {error}");
    }
}

#[tokio::test]
async fn a_changed_filter_is_noticed_and_holds_for_writing() {
    let peer = Peer::start().await;
    let provider = peer.provider();
    assert!(zone(&provider).await.covers(&name("a.example.com")));
    peer.script().filter = json!({"include": ["example.org"]});
    let zone = zone(&provider).await;
    assert!(!zone.covers(&name("a.example.com")));
    let create = |line| Group::of(record(Change::Create { to: set(line) }, None), vec![]);
    let outcomes =
        provider.apply(&zone, &[create("a.example.com A 192.0.2.1"), create("a.example.org A 192.0.2.1")]).await;
    let [Outcome::Refused { error, .. }, Outcome::Applied] = outcomes.as_slice() else { panic!("{outcomes:?}") };
    assert!(error.context.contains("outside of the domain filter"), "{error}");
    assert_eq!(listed(&provider).await, ["a.example.org 0 A 192.0.2.1"]);
}

#[tokio::test]
async fn a_zone_is_made_from_its_id() {
    let peer = Peer::start().await;
    let provider = peer.provider();
    assert_eq!(provider.zone(&ZoneId::from("example.com")).await.unwrap(), None);
    assert!(provider.zone(&ZoneId::from(".")).await.unwrap().is_some());
    assert!(provider.zone(&ZoneId::from(".")).await.unwrap().is_some());
    assert_eq!(peer.calls("GET /"), 1, "the filter is known");
}

#[tokio::test]
async fn requests_are_measured_by_path_and_status() {
    let peer = Peer::start().await;
    peer.says("GET /records", answer(500, ""));
    let config = config(&peer.url, &[]);
    let provider = Webhook::new(&config).unwrap();
    let zone = zone(&provider).await;
    provider.records(&zone, Read::All).await.unwrap_err();
    let text = config.shared.get::<zonewright_http::RequestTimes>().text();
    for labels in [r#"path="",method="get",status="200""#, r#"path="records",method="get",status="500""#] {
        assert!(text.contains(&format!("{labels}}} 1")), "{labels} is missing in\n{text}");
    }
}

#[tokio::test]
async fn a_path_prefix_and_credentials_go_along() {
    let peer = Peer::start().await;
    let url = peer.url.replace("http://", "http://me:s%20pass@") + "/dns/";
    peer.says("GET /dns/", answer(200, "{}"));
    peer.says("GET /dns/records", answer(200, "[]"));
    let mut config = config("http://localhost:1", &[]);
    config.credentials = BTreeMap::from([("url".to_owned(), SecretString::from(url))]);
    let provider = Webhook::new(&config).unwrap();
    assert_eq!(listed(&provider).await, [] as [&str; 0]);
    assert_eq!(peer.script().headers["authorization"], "Basic bWU6cyBwYXNz");
    assert!(!format!("{provider:?}").contains("bWU6"));
    peer.says("GET /dns/records", answer(404, ""));
    let error = provider.records(&zone(&provider).await, Read::All).await.unwrap_err();
    assert!(!format!("{error:?}").contains("pass"), "{error:?}");
}

#[tokio::test]
async fn all_records_are_listed_and_some_read() {
    let peer = Peer::start().await;
    peer.holds(
        json!({"dnsName": "B.example", "recordType": "A", "targets": ["192.0.2.2", "192.0.2.1"], "recordTTL": 60}),
    );
    peer.holds(json!({"dnsName": "b.example", "recordType": "ALIAS", "targets": ["what ever"]}));
    peer.holds(json!({"dnsName": "c.example", "recordType": "A", "targets": ["lb.example"], "setIdentifier": "s"}));
    let provider = peer.provider();
    assert_eq!(
        listed(&provider).await,
        ["b.example 60 A 192.0.2.1 ; 192.0.2.2", "b.example 0 ALIAS what ever", "c.example 0 A (s) lb.example"]
    );
    let names = [name("c.example"), name("d.example")].into();
    let Listing::Names(sets) = provider.records(&zone(&provider).await, Read::Names(&names)).await.unwrap() else {
        panic!()
    };
    assert_eq!(sets.iter().map(ToString::to_string).collect::<Vec<_>>(), ["c.example 0 A (s) lb.example"]);
}

#[tokio::test]
async fn a_record_and_its_claim_are_sent_as_external_dns_sends_them() {
    let peer = Peer::start().await;
    let provider = peer.provider();
    let zone = zone(&provider).await;
    let claim = || set(&format!("a-www.example TXT {CLAIM}"));
    let create = group(
        "www.example",
        vec![
            record(Change::Create { to: set("www.example A ttl=60 192.0.2.1") }, Some("service/a/b")),
            Step::claim(Change::Create { to: RecordSet { ttl: None, ..claim() } }),
        ],
    );
    let other =
        group("mx.example", vec![record(Change::Create { to: set("mx.example MX 10_m.example") }, Some("crd/a/m"))]);
    assert!(applied(&provider.apply(&zone, &[create, other]).await));
    assert_eq!(
        peer.script().applied.pop().unwrap(),
        json!({"create": [
            {"dnsName": "www.example", "recordType": "A", "recordTTL": 60, "targets": ["192.0.2.1"], "labels": {"owner": "me", "resource": "service/a/b"}},
            {"dnsName": "mx.example", "recordType": "MX", "targets": ["10 m.example"], "labels": {"resource": "crd/a/m"}},
            {"dnsName": "a-www.example", "recordType": "TXT", "targets": [CLAIM], "labels": {"ownedRecord": "www.example"}},
        ]})
    );

    let (from, to) = (set("www.example A ttl=60 192.0.2.1"), set("www.example A 192.0.2.2 192.0.2.3"));
    let update = Group {
        requires: vec![Precondition::Exact(claim())],
        ..group("www.example", vec![record(Change::Update { from, to }, Some("service/a/new"))])
    };
    assert!(applied(&provider.apply(&zone, &[update]).await));
    assert_eq!(
        peer.script().applied.pop().unwrap(),
        json!({
            "updateOld": [{"dnsName": "www.example", "recordType": "A", "recordTTL": 60, "targets": ["192.0.2.1"], "labels": {"owner": "me", "resource": "service/a/b"}}],
            "updateNew": [{"dnsName": "www.example", "recordType": "A", "targets": ["192.0.2.2", "192.0.2.3"], "labels": {"owner": "me", "resource": "service/a/new"}}],
        })
    );

    let delete = group(
        "www.example",
        vec![
            record(Change::Delete { from: set("www.example A 192.0.2.2 192.0.2.3") }, Some("service/a/b")),
            Step::claim(Change::Delete { from: claim() }),
        ],
    );
    assert!(applied(&provider.apply(&zone, &[delete]).await));
    assert_eq!(
        peer.script().applied.pop().unwrap(),
        json!({"delete": [
            {"dnsName": "www.example", "recordType": "A", "targets": ["192.0.2.2", "192.0.2.3"], "labels": {"owner": "me", "resource": "service/a/b"}},
            {"dnsName": "a-www.example", "recordType": "TXT", "targets": [CLAIM], "labels": {"ownedRecord": "www.example"}},
        ]})
    );
    assert_eq!(listed(&provider).await, ["mx.example 0 MX 10 m.example."]);
    assert_eq!(provider.reported(), [] as [&str; 0], "nobody did anything wrong");
}

#[tokio::test]
async fn old_sides_are_sent_in_the_peers_own_spelling() {
    let peer = Peer::start().await;
    let listed =
        json!({"dnsName": "Bücher.example.", "recordType": "CNAME", "targets": ["LB.example."], "recordTTL": 60});
    peer.holds(listed.clone());
    let provider = peer.provider();
    let zone = zone(&provider).await;
    let Listing::Full { sets, .. } = provider.records(&zone, Read::All).await.unwrap() else { panic!() };
    let delete = Group::of(record(Change::Delete { from: sets[0].clone() }, None), vec![]);
    assert!(applied(&provider.apply(&zone, &[delete]).await));
    assert_eq!(peer.script().applied, [json!({"delete": [listed]})]);
}

#[tokio::test]
async fn nothing_is_sent_for_nothing() {
    let peer = Peer::start().await;
    let provider = peer.provider();
    let zone = zone(&provider).await;
    assert!(provider.apply(&zone, &[]).await.is_empty());
    assert!(provider.adjust(&zone, &[]).await.is_empty());
    assert_eq!((peer.calls("POST /records"), peer.calls("POST /adjustendpoints")), (0, 0));
}

/// What adjusting gives: position and set, one line each.
async fn adjusted(provider: &Webhook, sets: &[RecordSet]) -> Vec<String> {
    let zone = zone(provider).await;
    let all = provider.adjust(&zone, sets).await;
    let shown = |set: &RecordSet| format!("{set} {:?}", set.options.iter().map(|(k, _)| k).collect::<Vec<_>>());
    let one = |(from, one): (usize, &Adjustment)| -> Vec<String> {
        match one {
            Adjustment::Refused(why) => {
                assert!(why.contains("left it out"), "{why}");
                vec![format!("{from}: stays as it is")]
            }
            one => one.sets().iter().map(|set| format!("{from}: {}", shown(set))).collect(),
        }
    };
    all.iter().enumerate().flat_map(one).collect()
}

#[tokio::test]
async fn labels_and_properties_go_out_with_adjust() {
    let peer = Peer::start().await;
    let provider = peer.provider();
    let mut wanted = RecordSet { ttl: None, ..set("a.example CNAME lb.example") };
    wanted.options.set("alias", OptionValue::Text("true".into()));
    wanted.options.set("webhook/w", OptionValue::Text("1".into()));
    wanted.options.set(&format!("{LABEL_PREFIX}resource"), OptionValue::Text("service/a/b".into()));
    assert_eq!(adjusted(&provider, &[wanted]).await, ["0: a.example CNAME lb.example. [\"alias\", \"webhook/w\"]"]);
    assert_eq!(
        peer.script().adjusted,
        [json!([{
            "dnsName": "a.example", "recordType": "CNAME", "targets": ["lb.example"], "labels": {"resource": "service/a/b"},
            "providerSpecific": [{"name": "alias", "value": "true"}, {"name": "webhook/w", "value": "1"}],
        }])]
    );
}

#[tokio::test]
async fn each_adjusted_set_keeps_where_it_came_from() {
    type Case = (fn(Value) -> Value, &'static [&'static str], &'static [&'static str]);
    let (one, two, three) =
        ("a.example A ttl=60 192.0.2.1", "b.example CNAME ttl=60 lb.example", "b.example TXT ttl=60 text");
    let cases: [Case; 8] = [
        (
            |sent| sent,
            &[
                "0: a.example 60 A 192.0.2.1 []",
                "1: b.example 60 CNAME lb.example. []",
                "2: b.example 60 TXT \"text\" []",
            ],
            &[],
        ),
        (
            |mut sent| {
                sent[0]["recordTTL"] = json!(300);
                sent
            },
            &[
                "0: a.example 300 A 192.0.2.1 []",
                "1: b.example 60 CNAME lb.example. []",
                "2: b.example 60 TXT \"text\" []",
            ],
            &[],
        ),
        // Reversed, one of them with a property more.
        (
            |mut sent| {
                sent[0]["providerSpecific"] = json!([{"name": "webhook/on", "value": "1"}]);
                json!([sent[2], sent[1], sent[0]])
            },
            &[
                "0: a.example 60 A 192.0.2.1 [\"webhook/on\"]",
                "1: b.example 60 CNAME lb.example. []",
                "2: b.example 60 TXT \"text\" []",
            ],
            &[],
        ),
        // One CNAME becomes two address sets; the text beside it keeps its own.
        (
            |sent| {
                json!([sent[0], sent[2],
                {"dnsName": "b.example", "recordType": "A", "targets": ["192.0.2.9"]},
                {"dnsName": "b.example", "recordType": "AAAA", "targets": ["2001:db8::9"]}])
            },
            &[
                "0: a.example 60 A 192.0.2.1 []",
                "1: b.example A 192.0.2.9 []",
                "1: b.example AAAA 2001:db8::9 []",
                "2: b.example 60 TXT \"text\" []",
            ],
            &[],
        ),
        (
            |sent| json!([sent[1]]),
            &["0: stays as it is", "1: b.example 60 CNAME lb.example. []", "2: stays as it is"],
            &["left a.example A out", "left b.example TXT out"],
        ),
        // What was left out stays as it is published: no object has given it up.
        (
            |_| Value::Null,
            &["0: stays as it is", "1: stays as it is", "2: stays as it is"],
            &["left a.example A out", "left b.example CNAME out", "left b.example TXT out"],
        ),
        (
            |sent| json!([sent[0], sent[0], sent[1], sent[2], {"dnsName": "c.example", "recordType": "A"}, {"recordType": "A"}, null]),
            &[
                "0: a.example 60 A 192.0.2.1 []",
                "1: b.example 60 CNAME lb.example. []",
                "2: b.example 60 TXT \"text\" []",
            ],
            &[
                "a.example A more than once",
                "c.example A, whose name and set identifier nobody asked about",
                "the name \"\": empty name",
            ],
        ),
        (
            |mut sent| {
                sent[0]["setIdentifier"] = json!("s");
                sent
            },
            &["0: stays as it is", "1: b.example 60 CNAME lb.example. []", "2: b.example 60 TXT \"text\" []"],
            &["left a.example A out", "a.example A (s), whose name and set identifier nobody asked about"],
        ),
    ];
    for (i, (adjust, expected, reported)) in cases.into_iter().enumerate() {
        let peer = Peer::start().await;
        peer.script().adjust = Some(adjust);
        let provider = peer.provider();
        assert_eq!(adjusted(&provider, &[set(one), set(two), set(three)]).await, expected, "case {i}");
        let sentences = provider.reported();
        assert_eq!(sentences.len(), reported.len(), "case {i}: {sentences:?}");
        for part in reported {
            assert!(
                sentences.iter().any(|sentence| sentence.contains(part)),
                "case {i}: {part} is not in {sentences:?}"
            );
        }
    }
}

#[tokio::test]
async fn another_zone_is_not_this_ones() {
    let peer = Peer::start().await;
    let provider = peer.provider();
    let mut other = zone(&provider).await;
    other.key.zone = ZoneId::from("example.com");
    let adjusted = provider.adjust(&other, &[set("a.b A 192.0.2.1")]).await;
    assert!(
        matches!(adjusted.as_slice(), [Adjustment::Unknown(error)] if error.kind == ErrorKind::NotFound),
        "{adjusted:?}"
    );
    assert_eq!(provider.records(&other, Read::All).await.unwrap_err().kind, ErrorKind::NotFound);
    assert_eq!((peer.calls("POST /adjustendpoints"), peer.calls("GET /records")), (0, 0));
}
