//! What is posted, when, and what becomes of what cannot be.

use std::future::{pending, ready};

use serde_json::Value;
use tokio::time::Instant;
use zonewright_core::endpoint::{ObjectRef, Reporter, TypeMeta, Uid};

use super::*;
use crate::events::{EventReporter, EventTally, QUEUE};
use crate::fake::{Fake, Step};

const POST: &str = "POST /apis/events.k8s.io/v1/namespaces/shop/events";

pub(in crate::events) fn note(object: &str, reason: &'static str, message: &str) -> Note {
    let object = ObjectRef {
        types: TypeMeta::new("v1", "Service"),
        namespace: "shop".into(),
        name: object.into(),
        uid: Uid::from(&*format!("uid-{object}")),
    };
    Note::warning(&object, reason, message)
}

fn options(dry_run: bool) -> EventOptions {
    EventOptions { dry_run, instance: "zonewright-0".to_owned() }
}

/// Reports the notes, posts them all, and returns what became of them.
async fn report_all(fake: &Fake, dry_run: bool, notes: &[Note]) -> EventTally {
    let (reporter, poster) = EventReporter::new(&fake.cluster(), options(dry_run));
    for note in notes {
        reporter.report(note);
    }
    let tally = reporter.tally.clone();
    drop(reporter);
    poster.run(pending()).await;
    tally.read()
}

fn posted() -> Step {
    Step::json(POST, &json!({ "metadata": { "name": "x" } }))
}

fn terminating() -> Value {
    json!({ "kind": "Status", "code": 403, "reason": "Forbidden", "message": "namespace shop is being terminated",
        "details": { "causes": [{ "reason": "NamespaceTerminating" }] } })
}

#[tokio::test(start_paused = true)]
async fn a_note_becomes_an_event_on_its_object() {
    let fake = Fake::new(vec![posted()]);
    let note = note("web", "InvalidName", "a_b.example.com is no host name");
    assert_eq!(report_all(&fake, false, &[note]).await.posted, 1);
    let event = fake.sent(0);
    let check = |path: &str, expected: &str| {
        assert_eq!(event.pointer(path).and_then(Value::as_str), Some(expected), "{path}");
    };
    check("/type", "Warning");
    check("/reason", "InvalidName");
    check("/note", "a_b.example.com is no host name");
    check("/regarding/uid", "uid-web");
    check("/regarding/kind", "Service");
    check("/reportingController", "zonewright");
    check("/reportingInstance", "zonewright-0");
    check("/metadata/namespace", "shop");
    assert!(event["metadata"]["name"].as_str().unwrap().starts_with("web."));
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_stores_nothing() {
    let fake = Fake::new(vec![posted().with("?dryRun=All")]);
    report_all(&fake, true, &[note("web", "One", "text")]).await;
    assert_eq!(fake.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn repeated_notes_and_objects_without_uid_are_skipped() {
    let fake = Fake::new(vec![posted()]);
    let mut unborn = note("manifest", "One", "text");
    unborn.object.uid = "".into();
    let notes = [note("web", "One", "text"), note("web", "One", "text"), unborn];
    assert_eq!(report_all(&fake, false, &notes).await, EventTally { posted: 1, skipped: 2, ..EventTally::default() });
}

#[tokio::test(start_paused = true)]
async fn an_event_that_is_there_becomes_a_series() {
    let found = json!({ "metadata": { "name": "x" }, "series": { "count": 4, "lastObservedTime": "2024-01-01T00:00:00.000000Z" } });
    let fake = Fake::new(vec![
        Step::refused(POST, 409, "AlreadyExists", "events \"x\" already exists"),
        Step::json(&POST.replace("POST", "PATCH"), &found),
        Step::json(&POST.replace("POST", "PATCH"), &found),
    ]);
    assert_eq!(report_all(&fake, false, &[note("web", "One", "text")]).await.posted, 1);
    assert_eq!(fake.sent(1), json!({}), "the first patch changes nothing");
    assert_eq!(fake.sent(2)["series"]["count"], 5);
}

#[tokio::test(start_paused = true)]
async fn a_thousand_objects_have_their_events_within_a_minute() {
    let fake = Fake::new((0..1_000).map(|_| posted()).collect());
    let notes: Vec<_> = (0..1_000).map(|number| note(&format!("web-{number}"), "One", "text")).collect();
    let start = Instant::now();
    assert_eq!(report_all(&fake, false, &notes).await.posted, 1_000);
    // 25 at once, the others 50 ms apart, after the wait for more of the first.
    assert_eq!(start.elapsed(), TOGETHER + Duration::from_millis(975 * 50));
}

#[tokio::test(start_paused = true)]
async fn an_object_has_no_more_than_its_share() {
    let fake = Fake::new((0..26).map(|_| posted()).collect());
    let (reporter, poster) = EventReporter::new(&fake.cluster(), options(false));
    let reporting = async {
        for number in 0..40 {
            reporter.report(&note("web", "One", &number.to_string()));
            sleep(TOGETHER * 2).await;
        }
        reporter.report(&note("api", "One", "text"));
        let tally = reporter.tally.clone();
        drop(reporter);
        tally
    };
    let (tally, ()) = tokio::join!(reporting, poster.run(pending()));
    assert_eq!(tally.read(), EventTally { posted: 26, skipped: 15, ..EventTally::default() });
}

#[tokio::test(start_paused = true)]
async fn the_end_waits_five_seconds_and_problems_go_first() {
    let fake = Fake::new((0..2_000).map(|_| posted()).collect());
    let (reporter, poster) = EventReporter::new(&fake.cluster(), options(false));
    let of = |name: String, severity| Note { severity, ..note(&name, "One", "text") };
    for number in 0..500 {
        reporter.report(&of(format!("fine-{number}"), Severity::Normal));
    }
    reporter.report(&of("broken".to_owned(), Severity::Warning));
    let start = Instant::now();
    poster.run(ready(())).await;
    assert_eq!((start.elapsed(), fake.sent(0)["type"].clone()), (LAST, json!("Warning")));
    let EventTally { posted, left, .. } = reporter.tally();
    // The burst, and 20 a second.
    assert!(posted + left == 501 && (124..=125).contains(&posted), "{posted} {left}");
}

#[tokio::test(start_paused = true)]
async fn the_end_cuts_a_long_queue_short() {
    let fake = Fake::new((0..2_000).map(|_| posted()).collect());
    let (reporter, poster) = EventReporter::new(&fake.cluster(), options(false));
    for number in 0..1_000 {
        reporter.report(&note(&format!("web-{number}"), "One", "text"));
    }
    let start = Instant::now();
    poster.run(sleep(Duration::from_secs(2))).await;
    assert_eq!(start.elapsed().as_secs(), 7);
    let EventTally { posted, left, .. } = reporter.tally();
    assert!(posted + left == 1_000 && left > 800, "{posted} {left}");
}

#[tokio::test(start_paused = true)]
async fn what_is_wrong_with_one_object_is_one_event() {
    let fake = Fake::new(vec![posted(), posted(), posted()]);
    let (reporter, poster) = EventReporter::new(&fake.cluster(), options(false));
    let reporting = async {
        reporter.report(&note("web", "One", "the TTL"));
        reporter.report(&note("api", "One", "the host"));
        sleep(TOGETHER / 2).await;
        reporter.report(&note("web", "Two", "the zone"));
        // Later is another event.
        sleep(TOGETHER * 4).await;
        reporter.report(&note("web", "Three", "the target"));
        drop(reporter);
    };
    tokio::join!(poster.run(pending()), reporting);
    let sent = |at: usize| (fake.sent(at)["reason"].clone(), fake.sent(at)["note"].clone());
    assert_eq!(sent(0), (json!("SeveralProblems"), json!("(1) the TTL; (2) the zone")));
    assert_eq!((sent(1).1, sent(2).1), (json!("the host"), json!("the target")));
}

#[tokio::test(start_paused = true)]
async fn what_was_reported_before_the_end_is_posted() {
    let fake = Fake::new(vec![posted(), posted()]);
    let (reporter, poster) = EventReporter::new(&fake.cluster(), options(false));
    reporter.report(&note("web", "One", "the TTL"));
    let begun = Instant::now();
    poster.run(sleep(TOGETHER / 5)).await;
    assert_eq!((reporter.tally().posted, begun.elapsed() < TOGETHER), (1, true));
    // What comes after is lost, and counted.
    reporter.report(&note("web", "Two", "the host"));
    assert_eq!(reporter.tally().dropped, 1);
    // The end may have come before the task began.
    let (reporter, poster) = EventReporter::new(&fake.cluster(), options(false));
    reporter.report(&note("web", "One", "the TTL"));
    poster.run(ready(())).await;
    assert_eq!(reporter.tally().posted, 1);
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_loses_notes_and_remembers_none_of_them() {
    let fake = Fake::new(Vec::new());
    let (reporter, _poster) = EventReporter::new(&fake.cluster(), options(false));
    for number in 0..QUEUE + 3 {
        reporter.report(&note(&format!("web-{number}"), "One", "text"));
    }
    reporter.report(&note(&format!("web-{}", QUEUE + 2), "One", "text"));
    assert_eq!(reporter.tally(), EventTally { dropped: 4, ..EventTally::default() });
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_posted_is_dropped_and_the_next_goes_on() {
    for (refusal, attempts) in [
        (Step::refused(POST, 403, "Forbidden", "User cannot create events"), 1),
        (Step::refused(POST, 404, "NotFound", "namespaces \"shop\" not found"), 1),
        (Step::status(POST, &terminating()), 1),
        (Step::refused(POST, 422, "Invalid", "no"), 1),
    ] {
        let fake = Fake::new(vec![refusal, posted()]);
        let tally = report_all(&fake, false, &[note("web", "One", "text"), note("api", "Two", "text")]).await;
        assert_eq!((tally.failed, tally.posted), (1, 1));
        assert_eq!(fake.requests().len(), attempts + 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_passing_failure_is_tried_three_times() {
    let fake = Fake::new(vec![Step::unreachable(POST), Step::refused(POST, 503, "", "away"), posted()]);
    assert_eq!(report_all(&fake, false, &[note("web", "One", "text")]).await.posted, 1);
}

#[test]
fn only_a_missing_right_is_one() {
    let failure = |status: &Value| {
        let status = serde_json::from_value(status.clone()).unwrap();
        Failure::Refused(Box::new(crate::api::Refusal::of_status(status, 0)))
    };
    assert!(!is_missing_right(&failure(&terminating())));
    assert!(is_missing_right(&failure(&json!({ "code": 403, "reason": "Forbidden", "message": "no" }))));
}

#[test]
fn names_and_notes_fit_the_api() {
    let long = note(&"x".repeat(253), "One", &"ä".repeat(1_000));
    assert!(event_name(&long).len() <= 253);
    let text = event(&long, "me").note.unwrap();
    assert!((MAX_NOTE - 8..=MAX_NOTE).contains(&text.len()) && text.contains(" ... "), "{}", text.len());
    assert!(event_name(&note("a.", "One", "")).starts_with("a.") && !event_name(&note("a.", "One", "")).contains(".."));
}
