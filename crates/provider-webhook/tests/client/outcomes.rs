//! What became of groups, by the status and, where that says too little, by the records.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::common::{Answer, Peer, answer, listed, set, zone};
use serde_json::json;
use zonewright_core::ErrorKind;
use zonewright_core::change::{Blame, Change, Group, Outcome, Step};
use zonewright_core::error::Retry;
use zonewright_core::provider::Provider;
use zonewright_engine::layer::{Batcher, DryRun};
use zonewright_provider_webhook::Webhook;

fn group(change: Change) -> Group {
    Group::of(Step::record(change, None), vec![])
}

fn create(name: &str) -> Group {
    group(Change::Create { to: set(&format!("{name} A 192.0.2.1")) })
}

fn shown(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Refused { error, blame } => format!("refused {:?} {blame:?}", error.kind),
        Outcome::Unknown(error) => format!("unknown {:?}", error.kind),
        other => other.label().to_owned(),
    }
}

#[tokio::test]
async fn a_status_is_no_more_than_it_says() {
    for (status, two, one) in [
        (400, "refused Invalid Batch", "refused Invalid Group"),
        (401, "refused Unauthorized Group", "refused Unauthorized Group"),
        (403, "refused Unauthorized Batch", "refused Unauthorized Group"),
        (404, "refused Configuration Group", "refused Configuration Group"),
        (405, "refused Configuration Group", "refused Configuration Group"),
        (408, "unknown Timeout", "unknown Timeout"),
        (409, "refused Conflict Batch", "refused Conflict Group"),
        (410, "refused Invalid Batch", "refused Invalid Group"),
        (413, "refused Invalid Batch", "refused Invalid Group"),
        (415, "refused Invalid Batch", "refused Invalid Group"),
        (422, "refused Invalid Batch", "refused Invalid Group"),
        (429, "unknown Throttled", "unknown Throttled"),
        (500, "refused Unavailable Batch", "refused Invalid Group"),
        (501, "refused Configuration Group", "refused Configuration Group"),
        (502, "unknown Unavailable", "unknown Unavailable"),
        (503, "unknown Unavailable", "unknown Unavailable"),
        (504, "unknown Timeout", "unknown Timeout"),
        (200, "unknown Protocol", "unknown Protocol"),
        (304, "unknown Protocol", "unknown Protocol"),
    ] {
        let peer = Peer::start().await;
        peer.says("POST /records", answer(status, ""));
        let provider = peer.provider();
        let zone = zone(&provider).await;
        let outcomes = provider.apply(&zone, &[create("a.b"), create("b.b")]).await;
        assert_eq!(outcomes.iter().map(shown).collect::<Vec<_>>(), [two, two], "{status}");
        assert_eq!(outcomes[0].error().unwrap().retry, Retry::Backoff, "{status}: a peer that is mended is noticed");
        assert_eq!(
            provider.apply(&zone, &[create("a.b")]).await.iter().map(shown).collect::<Vec<_>>(),
            [one],
            "{status}"
        );
        assert_eq!(peer.calls("POST /records"), 2, "{status}: one request for a call");
    }
}

#[tokio::test]
async fn retry_after_is_passed_on() {
    let peer = Peer::start().await;
    let headers = vec![("retry-after", "17".to_owned())];
    peer.says("POST /records", Answer { status: 503, headers, ..Answer::default() });
    let provider = peer.provider();
    let outcomes = provider.apply(&zone(&provider).await, &[create("a.b")]).await;
    let after = outcomes[0].error().unwrap().retry;
    assert_eq!(after, Retry::After(std::time::Duration::from_secs(17)));
}

#[tokio::test]
async fn a_wrong_success_is_believed_when_the_records_show_it() {
    let peer = Peer::start().await;
    peer.says("POST /records", Answer { obeys: true, ..answer(200, "") });
    let provider = peer.provider();
    let zone = zone(&provider).await;
    let (old, new) = (set("a.b A 192.0.2.1"), set("a.b A ttl=60 192.0.2.2"));
    for change in [
        Change::Create { to: old.clone() },
        Change::Update { from: old, to: new.clone() },
        Change::Delete { from: new },
    ] {
        let verb = change.verb();
        assert_eq!(
            provider.apply(&zone, &[group(change)]).await.iter().map(shown).collect::<Vec<_>>(),
            ["applied"],
            "{verb}"
        );
    }
    assert_eq!(listed(&provider).await, [] as [&str; 0]);
    assert!(
        matches!(provider.reported().as_slice(), [one] if one.contains("answered POST /records with 200")),
        "{:?}",
        provider.reported()
    );
}

#[tokio::test]
async fn after_an_error_of_the_peer_the_records_show_what_was_done() {
    let peer = Peer::start().await;
    peer.holds(json!({"dnsName": "old.b", "recordType": "A", "targets": ["192.0.2.9"], "recordTTL": 60}));
    peer.script().bad = Some(("bad", 500));
    peer.script().sloppy = true;
    let provider = peer.provider();
    let zone = zone(&provider).await;
    let groups = [
        group(Change::Delete { from: set("old.b A ttl=60 192.0.2.9") }),
        create("a.b"),
        create("bad.b"),
        create("c.b"),
    ];
    let outcomes = provider.apply(&zone, &groups).await;
    let expected = ["applied", "applied", "refused Unavailable Batch", "refused Unavailable Batch"];
    assert_eq!(outcomes.iter().map(shown).collect::<Vec<_>>(), expected);

    // A record without its claim, and records that cannot be read: nobody knows.
    let mut half = create("d.b");
    half.steps.push(Step::record(Change::Create { to: set("bad-d.b TXT claim") }, None));
    assert_eq!(provider.apply(&zone, &[half]).await.iter().map(shown).collect::<Vec<_>>(), ["unknown Unavailable"]);
    peer.says("GET /records", answer(500, ""));
    let outcomes = provider.apply(&zone, &[create("bad-e.b"), create("f.b")]).await;
    assert_eq!(outcomes.iter().map(shown).collect::<Vec<_>>(), ["unknown Unavailable"; 2]);
}

/// A peer that works record by record may have begun before it says what it cannot take.
#[tokio::test]
async fn a_status_about_a_record_is_no_word_that_nothing_was_done() {
    for status in [303, 400, 409, 410, 422] {
        let peer = Peer::start().await;
        peer.holds(json!({"dnsName": "a.b", "recordType": "A", "targets": ["192.0.2.9"], "recordTTL": 60}));
        peer.script().bad = Some(("bad", status));
        peer.script().sloppy = true;
        let provider = peer.provider();
        let zone = zone(&provider).await;
        let gone = || group(Change::Delete { from: set("a.b A ttl=60 192.0.2.9") });
        let outcomes = provider.apply(&zone, &[gone(), create("bad.b")]).await;
        let labels: Vec<&str> = outcomes.iter().map(Outcome::label).collect();
        assert_eq!(labels, ["applied", "refused"], "{status}: {outcomes:?}");

        // A record whose claim is the bad one, and one that stands without a claim: nobody knows whose it is.
        let mut half = create("c.b");
        half.steps.push(Step::record(Change::Create { to: set("bad-c.b TXT claim") }, None));
        let outcomes = provider.apply(&zone, &[half]).await;
        assert_eq!(outcomes[0].label(), "unknown", "{status}: {outcomes:?}");
        let outcomes = provider.apply(&zone, &[create("d.b"), create("bad.b")]).await;
        let expected = if status == 303 { "applied" } else { "unknown" };
        assert_eq!(outcomes[0].label(), expected, "{status}: {outcomes:?}");

        // The peer did nothing: that is a refusal, and stays one.
        peer.script().sloppy = false;
        for _ in 0..2 {
            let outcomes = provider.apply(&zone, &[create("bad.b")]).await;
            assert!(
                shown(&outcomes[0]).starts_with("refused") && shown(&outcomes[0]).ends_with("Group"),
                "{outcomes:?}"
            );
        }
        // Records that cannot be read say nothing.
        peer.says("GET /records", answer(500, ""));
        assert_eq!(provider.apply(&zone, &[create("bad.b")]).await[0].label(), "unknown", "{status}");
    }
}

/// Another writer's record, equal to ours by chance: the peer says that it is there, and it is not taken for ours.
#[tokio::test]
async fn an_equal_record_that_a_peer_calls_a_conflict_is_not_applied() {
    let peer = Peer::start().await;
    peer.holds(json!({"dnsName": "a.b", "recordType": "A", "targets": ["192.0.2.1"]}));
    let provider = peer.provider();
    let outcomes = provider.apply(&zone(&provider).await, &[create("a.b")]).await;
    assert_eq!(outcomes.iter().map(shown).collect::<Vec<_>>(), ["refused Conflict Group"]);
}

/// What stands is neither the old side nor the new one: another writer's record, which was in the way, or a part of what was asked for.
#[tokio::test]
async fn what_was_in_the_way_is_a_refusal_and_a_part_is_none() {
    for status in [400, 422] {
        for (targets, expected) in
            [(json!(["192.0.2.66"]), "refused Invalid Group"), (json!(["192.0.2.1"]), "unknown Invalid")]
        {
            let peer = Peer::start().await;
            peer.holds(json!({"dnsName": "a.b", "recordType": "A", "targets": targets}));
            peer.says("POST /records", answer(status, ""));
            let provider = peer.provider();
            let both = group(Change::Create { to: set("a.b A 192.0.2.1 192.0.2.2") });
            let outcomes = provider.apply(&zone(&provider).await, &[both]).await;
            assert_eq!(outcomes.iter().map(shown).collect::<Vec<_>>(), [expected], "{status} {targets}");
        }
    }
}

/// The provider under the layer that cuts refused calls in halves.
fn layered(provider: Webhook) -> Batcher {
    Batcher::new(Arc::new(provider))
}

fn tally(outcomes: &[Outcome]) -> BTreeMap<String, usize> {
    let mut tally = BTreeMap::new();
    for outcome in outcomes {
        *tally.entry(shown(outcome)).or_default() += 1;
    }
    tally
}

#[tokio::test]
async fn one_bad_record_is_one_bad_record() {
    for status in [400, 422, 500] {
        for sloppy in [false, true] {
            for at in [0, 77, 199] {
                let peer = Peer::start().await;
                peer.script().bad = Some(("bad", status));
                // What a peer has done before another status is a test of its own.
                peer.script().sloppy = sloppy && status == 500;
                let provider = peer.provider();
                let zone = zone(&provider).await;
                let name = |i| if i == at { format!("bad{i:03}.b") } else { format!("n{i:03}.b") };
                let groups: Vec<Group> = (0..200).map(|i| create(&name(i))).collect();
                let outcomes = layered(provider).apply(&zone, &groups).await;
                let expected = BTreeMap::from([("applied".to_owned(), 199), ("refused Invalid Group".to_owned(), 1)]);
                assert_eq!(tally(&outcomes), expected, "{status} {sloppy} {at}");
                assert_eq!(shown(&outcomes[at]), "refused Invalid Group");
                assert_eq!(peer.script().records.len(), 199);
                assert!(peer.calls("POST /records") <= 17, "{status} {at}: {} calls", peer.calls("POST /records"));
            }
        }
    }
}

#[tokio::test]
async fn a_peer_whose_back_end_is_down_is_not_asked_a_thousand_times() {
    let peer = Peer::start().await;
    peer.says("POST /records", answer(500, "the API is down"));
    let provider = peer.provider();
    let zone = zone(&provider).await;
    let groups: Vec<Group> = (0..500).map(|i| create(&format!("n{i}.b"))).collect();
    let outcomes = layered(provider).apply(&zone, &groups).await;
    assert!(tally(&outcomes)["unknown Unavailable"] > 400, "{:?}", tally(&outcomes));
    assert!(peer.calls("POST /records") < 40, "{} calls", peer.calls("POST /records"));
}

#[tokio::test]
async fn a_peer_that_needs_credentials_is_asked_once() {
    let peer = Peer::start().await;
    peer.says("POST /records", answer(401, ""));
    let provider = peer.provider();
    let zone = zone(&provider).await;
    let groups: Vec<Group> = (0..500).map(|i| create(&format!("n{i}.b"))).collect();
    let outcomes = layered(provider).apply(&zone, &groups).await;
    assert!(outcomes.iter().all(|o| o.error().is_some_and(|e| e.kind == ErrorKind::Unauthorized)));
    assert!(matches!(&outcomes[0], Outcome::Refused { blame: Blame::Group, .. }));
    assert_eq!(peer.calls("POST /records"), 1);
}

#[tokio::test]
async fn a_dry_run_posts_no_change() {
    let peer = Peer::start().await;
    let provider = peer.provider();
    let zone = zone(&provider).await;
    let outcomes = DryRun::new(Arc::new(provider)).apply(&zone, &[create("a.b")]).await;
    assert!(matches!(outcomes.as_slice(), [Outcome::NotSent(_)]));
    assert_eq!(peer.calls("POST /records"), 0);
}
