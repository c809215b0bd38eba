//! The task that posts. In: notes from the queue. Out: Events (events.k8s.io/v1).
//!
//! The name of an Event is the object's name and a digest of what is said, so what was posted before, by this process or
//! another, is found by its name and becomes a series instead of a second Event.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::Method;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use k8s_openapi::jiff::Timestamp;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use zonewright_core::endpoint::{Note, Severity, shortened};

use super::gather::gather;
use super::recent::Fingerprint;
use super::{BURST, Counters, EventOptions, INTERVAL, MAX_NOTE};
use crate::api::Failure;
use crate::bucket::Bucket;
use crate::cluster::Cluster;

const CONTROLLER: &str = "zonewright";
/// What was attempted when the note arose; the API wants a word here.
const ACTION: &str = "Publish";
/// Longest part of an object's name in an Event's name: 253 less the dot and the digest.
const MAX_STEM: usize = 236;
/// Events about objects outside namespaces live here.
const CLUSTER_SCOPED: &str = "default";
const ATTEMPTS: u32 = 3;
/// How long the first note waits for others about its object.
const TOGETHER: Duration = Duration::from_millis(500);

/// Posts what an [`EventReporter`](super::EventReporter) takes.
#[derive(Debug)]
pub struct EventPoster {
    cluster: Cluster,
    options: EventOptions,
    notes: mpsc::Receiver<Note>,
    tally: Arc<Counters>,
    bucket: Bucket,
    complained: AtomicBool,
}

impl EventPoster {
    pub(super) fn new(
        cluster: Cluster,
        options: EventOptions,
        notes: mpsc::Receiver<Note>,
        tally: Arc<Counters>,
    ) -> Self {
        let bucket = Bucket::new(INTERVAL, BURST);
        Self { cluster, options, notes, tally, bucket, complained: AtomicBool::new(false) }
    }

    /// Posts until the reporter is dropped, or `ending` is over; then what was told so far is posted, and the task ends.
    pub async fn run(mut self, ending: impl Future<Output = ()>) {
        let mut ending = pin!(ending);
        let mut ended = false;
        loop {
            let first = tokio::select! {
                biased;
                first = self.notes.recv() => first,
                () = &mut ending, if !ended => {
                    ended = true;
                    self.notes.close();
                    continue;
                }
            };
            let Some(first) = first else { return };
            // What is found out about an object in several steps comes within moments, and belongs into one event.
            if !ended && timeout(TOGETHER, &mut ending).await.is_ok() {
                ended = true;
                self.notes.close();
            }
            let mut notes = vec![first];
            while let Ok(note) = self.notes.try_recv() {
                notes.push(note);
            }
            self.post_all(notes).await;
        }
    }

    async fn post_all(&mut self, notes: Vec<Note>) {
        for note in gather(notes) {
            self.bucket.take().await;
            match self.post_patiently(&note).await {
                Ok(()) => Counters::count(&self.tally.posted),
                Err(failure) => self.failed(&note, &failure),
            }
        }
    }

    async fn post_patiently(&self, note: &Note) -> Result<(), Failure> {
        let mut result = self.post(note).await;
        for attempt in 1..ATTEMPTS {
            match &result {
                Err(failure) if is_passing(failure) => sleep(pause(attempt, failure)).await,
                _ => break,
            }
            result = self.post(note).await;
        }
        result
    }

    async fn post(&self, note: &Note) -> Result<(), Failure> {
        let event = event(note, &self.options.instance);
        match self.cluster.write::<Event>(Method::POST, &self.path(note, None), &event).await {
            Err(failure) if failure.is_because("AlreadyExists") => self.repeat(note).await,
            answer => answer.map(drop),
        }
    }

    /// Adds to the series of an Event that is there. Not being allowed to is no loss: the Event itself is there.
    async fn repeat(&self, note: &Note) -> Result<(), Failure> {
        match self.repeat_series(note).await {
            Err(failure) if matches!(failure.code(), Some(403 | 404 | 409 | 422)) => Ok(()),
            answer => answer,
        }
    }

    async fn repeat_series(&self, note: &Note) -> Result<(), Failure> {
        let name = event_name(note);
        let found: Event = self.cluster.read(&self.path(note, Some(&name))).await?;
        let count = found.series.map_or(1, |series| series.count).saturating_add(1);
        let series = json!({ "series": { "count": count, "lastObservedTime": MicroTime(Timestamp::now()) } });
        self.cluster.write::<Event>(Method::PATCH, &self.path(note, Some(&name)), &series).await.map(drop)
    }

    fn path(&self, note: &Note, name: Option<&str>) -> String {
        let collection = format!("/apis/events.k8s.io/v1/namespaces/{}/events", namespace(note));
        let dry_run = if self.options.dry_run { "?dryRun=All" } else { "" };
        match name {
            Some(name) => format!("{collection}/{name}{dry_run}"),
            None => format!("{collection}{dry_run}"),
        }
    }

    fn failed(&self, note: &Note, failure: &Failure) {
        Counters::count(&self.tally.failed);
        let object = &note.object;
        let reason = note.reason;
        if is_missing_right(failure) && !self.complained.swap(true, Ordering::Relaxed) {
            tracing::warn!(%object, "events cannot be posted, the right to create events.events.k8s.io is missing; not said again: {failure}");
        } else {
            tracing::debug!(%object, reason, "event not posted: {failure}");
        }
    }
}

/// A namespace that is going away refuses with the same status as a missing right.
fn is_missing_right(failure: &Failure) -> bool {
    failure.code() == Some(403) && !failure.is_because("NamespaceTerminating")
}

fn is_passing(failure: &Failure) -> bool {
    matches!(failure, Failure::Unreachable(_)) || failure.code().is_some_and(|code| code == 429 || code >= 500)
}

fn pause(attempt: u32, failure: &Failure) -> Duration {
    failure.retry_after().unwrap_or_default().clamp(Duration::from_secs(1) * attempt, Duration::from_secs(30))
}

fn namespace(note: &Note) -> &str {
    if note.object.namespace.is_empty() { CLUSTER_SCOPED } else { &note.object.namespace }
}

fn event_name(note: &Note) -> String {
    let stem = cut(&note.object.name, MAX_STEM).trim_end_matches(['.', '-']);
    format!("{stem}.{}", Fingerprint::of(note).text())
}

fn event(note: &Note, instance: &str) -> Event {
    let object = &note.object;
    let namespace = namespace(note).to_owned();
    let regarding = ObjectReference {
        api_version: Some(object.api_version.to_string()),
        kind: Some(object.kind.to_string()),
        namespace: Some(object.namespace.to_string()).filter(|namespace| !namespace.is_empty()),
        name: Some(object.name.to_string()),
        uid: Some(object.uid.to_string()),
        ..ObjectReference::default()
    };
    let metadata = ObjectMeta { name: Some(event_name(note)), namespace: Some(namespace), ..ObjectMeta::default() };
    Event {
        metadata,
        event_time: Some(MicroTime(Timestamp::now())),
        reporting_controller: Some(CONTROLLER.to_owned()),
        reporting_instance: Some(cut(instance, 128).to_owned()),
        action: Some(ACTION.to_owned()),
        reason: Some(note.reason.to_owned()),
        regarding: Some(regarding),
        note: Some(shortened(&note.message, MAX_NOTE).into_owned()),
        type_: Some(kind(note.severity).to_owned()),
        ..Event::default()
    }
}

fn kind(severity: Severity) -> &'static str {
    match severity {
        Severity::Normal => "Normal",
        Severity::Warning => "Warning",
    }
}

/// At most this many octets, cut between characters.
fn cut(text: &str, octets: usize) -> &str {
    text.get(..text.floor_char_boundary(octets)).unwrap_or(text)
}

#[cfg(test)]
pub(super) mod tests {
    use std::future::{pending, ready};

    use serde_json::Value;
    use tokio::time::Instant;
    use zonewright_core::endpoint::{ObjectRef, Reporter};

    use super::*;
    use crate::events::{EventReporter, EventTally, QUEUE};
    use crate::fake::{Fake, Step};

    const POST: &str = "POST /apis/events.k8s.io/v1/namespaces/shop/events";

    pub(in crate::events) fn note(object: &str, reason: &'static str, message: &str) -> Note {
        let object = ObjectRef {
            api_version: "v1".into(),
            kind: "Service".into(),
            namespace: "shop".into(),
            name: object.into(),
            uid: format!("uid-{object}").into(),
        };
        Note::warning(&object, reason, message)
    }

    fn options(dry_run: bool) -> EventOptions {
        EventOptions { dry_run, instance: "zonewright-0".to_owned() }
    }

    /// Tells the notes, posts them all, and says what became of them.
    async fn tell(fake: &Fake, dry_run: bool, notes: &[Note]) -> EventTally {
        let (reporter, poster) = EventReporter::new(&fake.cluster(), options(dry_run));
        for note in notes {
            reporter.tell(note);
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
        assert_eq!(tell(&fake, false, &[note]).await.posted, 1);
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
        tell(&fake, true, &[note("web", "One", "text")]).await;
        assert_eq!(fake.requests().len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn repeated_notes_and_objects_without_uid_are_skipped() {
        let fake = Fake::new(vec![posted()]);
        let mut unborn = note("manifest", "One", "text");
        unborn.object.uid = "".into();
        let told = [note("web", "One", "text"), note("web", "One", "text"), unborn];
        assert_eq!(tell(&fake, false, &told).await, EventTally { posted: 1, skipped: 2, ..EventTally::default() });
    }

    #[tokio::test(start_paused = true)]
    async fn an_event_that_is_there_becomes_a_series() {
        let found = json!({ "metadata": { "name": "x" }, "series": { "count": 4, "lastObservedTime": "2024-01-01T00:00:00.000000Z" } });
        let fake = Fake::new(vec![
            Step::refused(POST, 409, "AlreadyExists", "events \"x\" already exists"),
            Step::json(&POST.replace("POST", "GET"), &found),
            Step::json(&POST.replace("POST", "PATCH"), &found),
        ]);
        assert_eq!(tell(&fake, false, &[note("web", "One", "text")]).await.posted, 1);
        assert_eq!(fake.sent(2)["series"]["count"], 5);
    }

    #[tokio::test(start_paused = true)]
    async fn posts_come_in_a_burst_and_then_one_a_second() {
        let fake = Fake::new((0..30).map(|_| posted()).collect());
        let notes: Vec<_> = (0..30).map(|number| note(&format!("web-{number}"), "One", "text")).collect();
        let start = Instant::now();
        assert_eq!(tell(&fake, false, &notes).await.posted, 30);
        assert_eq!(start.elapsed().as_secs(), 5);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_wrong_with_one_object_is_one_event() {
        let fake = Fake::new(vec![posted(), posted(), posted()]);
        let (reporter, poster) = EventReporter::new(&fake.cluster(), options(false));
        let reporting = async {
            reporter.tell(&note("web", "One", "the TTL"));
            reporter.tell(&note("api", "One", "the host"));
            sleep(TOGETHER / 2).await;
            reporter.tell(&note("web", "Two", "the zone"));
            // Later is another event.
            sleep(TOGETHER * 4).await;
            reporter.tell(&note("web", "Three", "the target"));
            drop(reporter);
        };
        tokio::join!(poster.run(pending()), reporting);
        let told = |at: usize| (fake.sent(at)["reason"].clone(), fake.sent(at)["note"].clone());
        assert_eq!(told(0), (json!("SeveralProblems"), json!("(1) the TTL; (2) the zone")));
        assert_eq!((told(1).1, told(2).1), (json!("the host"), json!("the target")));
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_told_before_the_end_is_posted() {
        let fake = Fake::new(vec![posted(), posted()]);
        let (reporter, poster) = EventReporter::new(&fake.cluster(), options(false));
        reporter.tell(&note("web", "One", "the TTL"));
        let told = Instant::now();
        poster.run(sleep(TOGETHER / 5)).await;
        assert_eq!((reporter.tally().posted, told.elapsed() < TOGETHER), (1, true));
        // What comes after is lost, and counted.
        reporter.tell(&note("web", "Two", "the host"));
        assert_eq!(reporter.tally().dropped, 1);
        // The end may have come before the task began.
        let (reporter, poster) = EventReporter::new(&fake.cluster(), options(false));
        reporter.tell(&note("web", "One", "the TTL"));
        poster.run(ready(())).await;
        assert_eq!(reporter.tally().posted, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_queue_loses_notes_and_remembers_none_of_them() {
        let fake = Fake::new(Vec::new());
        let (reporter, _poster) = EventReporter::new(&fake.cluster(), options(false));
        for number in 0..QUEUE + 3 {
            reporter.tell(&note("web", "One", &number.to_string()));
        }
        reporter.tell(&note("web", "One", &(QUEUE + 2).to_string()));
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
            let tally = tell(&fake, false, &[note("web", "One", "text"), note("api", "Two", "text")]).await;
            assert_eq!((tally.failed, tally.posted), (1, 1));
            assert_eq!(fake.requests().len(), attempts + 1);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_passing_failure_is_tried_three_times() {
        let fake = Fake::new(vec![Step::unreachable(POST), Step::refused(POST, 503, "", "away"), posted()]);
        assert_eq!(tell(&fake, false, &[note("web", "One", "text")]).await.posted, 1);
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
        let told = event(&long, "me").note.unwrap();
        assert!((MAX_NOTE - 8..=MAX_NOTE).contains(&told.len()) && told.contains(" ... "), "{}", told.len());
        assert!(
            event_name(&note("a.", "One", "")).starts_with("a.") && !event_name(&note("a.", "One", "")).contains("..")
        );
    }
}
