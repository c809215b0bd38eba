//! The task that posts. In: notes from the queue. Out: Events (events.k8s.io/v1).
//!
//! The name of an Event is the object's name and a digest of what is said, so what was posted before, by this process or
//! another, is found by its name and becomes a series instead of a second Event.

use std::collections::VecDeque;
use std::future::pending;
use std::iter::from_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::Shared;
use futures::{FutureExt as _, StreamExt as _, stream};
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
use super::{BURST, Counters, EventOptions, INTERVAL, LAST, MAX_NOTE};
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
/// Posts that may be under way at the same time, so that a slow API server does not slow the pace.
const AT_ONCE: usize = 4;
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

    /// Posts until the reporter is dropped, or `ending` is over; then what was reported so far is posted, problems first and for no longer
    /// than five seconds, and the task ends.
    pub async fn run(mut self, ending: impl Future<Output = ()>) {
        let ending = ending.shared();
        let mut waiting = VecDeque::new();
        while let Some(notes) = self.next(&ending).await {
            waiting.extend(gather(notes));
            self.post_until(&mut waiting, ending.clone()).await;
            if ending.peek().is_some() {
                break;
            }
        }
        self.notes.close();
        let queued = from_fn(|| self.notes.try_recv().ok());
        let left: Vec<Note> = waiting.into_iter().chain(queued).collect();
        self.post_last(gather(left)).await;
    }

    /// What was reported of late, waited for; `None` when there is nothing and no more will come.
    async fn next(&mut self, ending: &Shared<impl Future<Output = ()>>) -> Option<Vec<Note>> {
        let first = tokio::select! {
            biased;
            first = self.notes.recv() => first?,
            () = ending.clone() => return None,
        };
        // What is found out about an object in several steps comes within moments, and belongs into one event; with the end it goes at once.
        let _ = timeout(TOGETHER, ending.clone()).await;
        Some([first].into_iter().chain(from_fn(|| self.notes.try_recv().ok())).collect())
    }

    /// Posts what waits at the pace of the bucket, some at the same time, until all of it is posted or `end` comes; then what was begun is
    /// finished and the rest stays.
    async fn post_until(&self, waiting: &mut VecDeque<Note>, end: impl Future<Output = ()>) {
        let turns = stream::unfold(waiting, async |waiting| {
            if !waiting.is_empty() {
                self.bucket.take().await;
            }
            waiting.pop_front().map(|note| (note, waiting))
        });
        turns.take_until(end).for_each_concurrent(AT_ONCE, |note| self.post_one(note)).await;
    }

    async fn post_last(&self, mut left: Vec<Note>) {
        if left.is_empty() {
            return;
        }
        left.sort_by_key(|note| note.severity == Severity::Normal);
        let count = left.len() as u64;
        let done = || self.tally.posted.load(Ordering::Relaxed) + self.tally.failed.load(Ordering::Relaxed);
        let before = done();
        let _ = timeout(LAST, self.post_until(&mut left.into(), pending())).await;
        let unposted = count.saturating_sub(done() - before);
        if unposted > 0 {
            self.tally.left.fetch_add(unposted, Ordering::Relaxed);
            tracing::warn!("{unposted} of {count} events were not posted before the end");
        }
    }

    async fn post_one(&self, note: Note) {
        match self.post_patiently(&note).await {
            Ok(()) => Counters::count(&self.tally.posted),
            Err(failure) => self.failed(&note, &failure),
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

    /// A patch without a change is answered with what stands: whoever writes events has the rights `create` and `patch`, and no `get`.
    async fn repeat_series(&self, note: &Note) -> Result<(), Failure> {
        let path = self.path(note, Some(&event_name(note)));
        let found: Event = self.cluster.write(Method::PATCH, &path, &json!({})).await?;
        let count = found.series.map_or(1, |series| series.count).saturating_add(1);
        let series = json!({ "series": { "count": count, "lastObservedTime": MicroTime(Timestamp::now()) } });
        self.cluster.write::<Event>(Method::PATCH, &path, &series).await.map(drop)
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
        api_version: Some(object.types.api_version.to_string()),
        kind: Some(object.kind().to_string()),
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

/// At most this many bytes, cut between characters.
fn cut(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}

#[cfg(test)]
#[path = "post_tests.rs"]
pub(super) mod tests;
