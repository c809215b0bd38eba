//! Watches against a scripted API server, on a paused clock: a script of answers in, the events with their virtual seconds
//! out.

mod breaks;
mod denials;
mod lists;
mod requests;

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::{WatchEvent, WatchSpec, watch};
use crate::ConnectOptions;
use crate::fake::{Fake, Piece, Step};

const LIST: &str = "GET /api/v1/services?";
const STREAM: &str = "sendInitialEvents=true";

#[derive(Debug, Clone, Deserialize)]
struct Service {
    metadata: Metadata,
    #[expect(dead_code, reason = "decoded so that an object can fail to fit")]
    #[serde(default)]
    spec: u8,
}

#[derive(Debug, Clone, Deserialize)]
struct Metadata {
    name: String,
}

fn spec() -> WatchSpec {
    WatchSpec { page_size: 2, ..WatchSpec::new("", "v1", "services", "Service", true) }
}

fn word(event: &WatchEvent<Service>) -> String {
    match event {
        WatchEvent::Begin => "begin".to_owned(),
        WatchEvent::Listed(object) => format!("listed {}", object.metadata.name),
        WatchEvent::Done => "done".to_owned(),
        WatchEvent::Applied(object) => format!("applied {}", object.metadata.name),
        WatchEvent::Deleted(key) => format!("deleted {}/{} {}", key.namespace, key.name, key.uid),
        WatchEvent::Unreadable { key, .. } => format!("unreadable {}", key.name),
        WatchEvent::Open => "open".to_owned(),
        WatchEvent::Lost { .. } => "lost".to_owned(),
        WatchEvent::Denied { .. } => "denied".to_owned(),
        WatchEvent::Forbidden { verb, .. } => format!("forbidden {verb}"),
        WatchEvent::OtherVersion { .. } => "other version".to_owned(),
    }
}

/// Everything that is reported within this virtual time.
async fn events_of(fake: &Fake, spec: WatchSpec, within: Duration) -> Vec<(Instant, WatchEvent<Service>)> {
    let cluster = fake.cluster_with(&ConnectOptions { qps: 1_000, burst: 1_000, ..ConnectOptions::default() });
    let (sink, mut events) = mpsc::channel(100);
    let running = tokio::spawn(async move { watch(&cluster, spec, sink).await });
    let end = Instant::now() + within;
    let mut reported = Vec::new();
    while let Ok(Some(event)) = timeout_at(end, events.recv()).await {
        reported.push((Instant::now(), event));
    }
    drop(events);
    running.await.unwrap();
    reported
}

async fn reported_by(fake: &Fake, within: Duration) -> Vec<String> {
    events_of(fake, spec(), within).await.iter().map(|(_, event)| word(event)).collect()
}

/// What is reported within five seconds.
async fn reported(steps: Vec<Step>) -> Vec<String> {
    reported_by(&Fake::new(steps), Duration::from_secs(5)).await
}

fn service(name: &str, version: u64) -> Value {
    json!({ "metadata": { "namespace": "n", "name": name, "uid": format!("u-{name}"), "resourceVersion": version.to_string(), "managedFields": [{}] } })
}

fn event(kind: &str, object: &Value) -> Piece {
    Piece::Line(json!({ "type": kind, "object": object }))
}

fn added(name: &str, version: u64) -> Piece {
    event("ADDED", &service(name, version))
}

fn deleted(name: &str, version: u64) -> Piece {
    event("DELETED", &service(name, version))
}

fn bookmark(version: u64) -> Piece {
    event("BOOKMARK", &json!({ "metadata": { "resourceVersion": version.to_string() } }))
}

fn listed_to(version: u64) -> Piece {
    let annotations = json!({ "k8s.io/initial-events-end": "true" });
    event("BOOKMARK", &json!({ "metadata": { "resourceVersion": version.to_string(), "annotations": annotations } }))
}

fn expired() -> Piece {
    event(
        "ERROR",
        &json!({ "kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version" }),
    )
}

fn page(names: &[&str], version: u64, more: &str) -> Value {
    let items: Vec<_> = names.iter().map(|name| service(name, 1)).collect();
    json!({ "metadata": { "resourceVersion": version.to_string(), "continue": more }, "items": items })
}

/// A streaming list of `a` up to version 5, then these pieces.
fn streamed(then: Vec<Piece>) -> Step {
    let pieces = [added("a", 3), listed_to(5)].into_iter().chain(then).collect();
    Step::stream(LIST, pieces).with(STREAM)
}

/// A watch from this version.
fn followed(version: &'static str, pieces: Vec<Piece>) -> Step {
    Step::stream(LIST, pieces).with("watch=true").with(version)
}

fn no_streaming() -> Step {
    let text = "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled";
    Step::refused(LIST, 422, "Invalid", text).with(STREAM)
}

/// The question how far the server's history reaches, answered with this version.
fn history(version: u64) -> Step {
    Step::json(LIST, &page(&[], version, "")).with("limit=1")
}

const OPENED: [&str; 4] = ["begin", "listed a", "done", "open"];

/// `OPENED`, then these.
fn opened_then(more: &[&str]) -> Vec<String> {
    OPENED.iter().chain(more).map(|word| (*word).to_owned()).collect()
}
