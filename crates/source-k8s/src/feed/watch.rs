//! The feed from a cluster: one watch for each kind in use.
//!
//! In come the typed events of `zonewright-cluster`; out come feed events for the index, in batches. What must hold: the
//! order of each watch is kept, and nothing is read that no chosen source reads.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use zonewright_cluster::{Cluster, WatchEvent, WatchSpec};
use zonewright_core::endpoint::Uid;

use crate::feed::{FeedEvent, Unreadable};
use crate::kind::Kind;
use crate::lookup::ReadScope;
use crate::objects::{EndpointSlice, Ingress, Node, Pod, Service};
use crate::options::SourceOptions;
use crate::source::K8sSource;
use crate::store::{Keep, Object, ObjectKey, TypedObject};

/// Events that wait for the index; a list of many objects is taken in by batches of so many.
const BATCH: usize = 256;

/// Starts the watches of every kind that `options` need.
pub(crate) fn spawn(cluster: &Cluster, options: &SourceOptions, source: &Arc<K8sSource>) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    let keep = options.keep();
    for (kind, reach) in options.reads().into_iter().filter(|(kind, _)| !kind.is_polled()) {
        let feed = Feed { kind, spec: spec(kind, &reach), keep: keep.clone(), source: Arc::clone(source) };
        let cluster = cluster.clone();
        // The kinds that there may be very many of are read straight into what mappers need; of the others, and of what is
        // kept whole, the JSON value is read first.
        match kind {
            _ if keep.keeps_whole(kind) => tasks.spawn(feed.run(cluster, Feed::read_value)),
            Kind::Service => tasks.spawn(feed.run(cluster, Feed::read_shape::<Service>)),
            Kind::Ingress => tasks.spawn(feed.run(cluster, Feed::read_shape::<Ingress>)),
            Kind::EndpointSlice => tasks.spawn(feed.run(cluster, Feed::read_shape::<EndpointSlice>)),
            Kind::Pod => tasks.spawn(feed.run(cluster, Feed::read_shape::<Pod>)),
            Kind::Node => tasks.spawn(feed.run(cluster, Feed::read_shape::<Node>)),
            _ => tasks.spawn(feed.run(cluster, Feed::read_value)),
        };
    }
    tasks
}

fn spec(kind: Kind, reach: &ReadScope) -> WatchSpec {
    let row = kind.spec();
    let mut spec = WatchSpec::new(row.group, row.version, row.plural, row.name, row.namespaced);
    spec.namespace = match reach {
        ReadScope::Namespace(namespace) if row.namespaced => Some(namespace.to_string()),
        _ => None,
    };
    spec
}

/// One watch on its way to the index.
struct Feed {
    kind: Kind,
    spec: WatchSpec,
    keep: Keep,
    source: Arc<K8sSource>,
}

impl Feed {
    /// Goes on until its task ends.
    async fn run<T>(self, cluster: Cluster, read: Read<T>)
    where
        T: DeserializeOwned + Send,
    {
        let (sink, events) = mpsc::channel(BATCH);
        let spec = self.spec.clone();
        tokio::join!(zonewright_cluster::watch::<T>(&cluster, spec, sink), self.take_in(events, read));
    }

    async fn take_in<T>(self, mut events: mpsc::Receiver<WatchEvent<T>>, read: Read<T>) {
        let mut batch = Vec::with_capacity(BATCH);
        let mut refusal = None;
        while events.recv_many(&mut batch, BATCH).await > 0 {
            for event in &batch {
                self.complain(event, &mut refusal);
            }
            let translated: Vec<FeedEvent> = batch.drain(..).map(|event| self.translate(event, read)).collect();
            self.source.feed(translated);
        }
    }

    fn translate<T>(&self, event: WatchEvent<T>, read: Read<T>) -> FeedEvent {
        let kind = self.kind;
        match event {
            WatchEvent::Begin => FeedEvent::Begin(kind),
            WatchEvent::Listed(object) => read(self, object).map_or_else(FeedEvent::Unreadable, FeedEvent::Listed),
            WatchEvent::Done => FeedEvent::Done(kind),
            WatchEvent::Applied(object) => read(self, object).map_or_else(FeedEvent::Unreadable, FeedEvent::Applied),
            WatchEvent::Deleted(key) => FeedEvent::Deleted(ObjectKey::new(kind, &key.namespace, &key.name)),
            WatchEvent::Open => FeedEvent::Open(kind),
            WatchEvent::Unreadable { key, error } => {
                let object = ObjectKey::new(kind, &key.namespace, &key.name);
                FeedEvent::Unreadable(unreadable(object, &key.uid, &error))
            }
            WatchEvent::Lost { since, text } => {
                tracing::debug!(watch = %self.spec, text, "the watch was lost");
                FeedEvent::Lost(kind, since)
            }
            WatchEvent::Denied { .. } => FeedEvent::Denied(kind),
            WatchEvent::Forbidden { .. } | WatchEvent::OtherVersion { .. } => FeedEvent::Forbidden(kind),
        }
    }

    /// Logs once what the API server refuses, though it is asked again and again; `logged` is what was logged last. Notes why the
    /// kind cannot be read.
    fn complain<T>(&self, event: &WatchEvent<T>, logged: &mut Option<String>) {
        match event {
            WatchEvent::Open => *logged = None,
            WatchEvent::Lost { text, .. } => self.source.note_failure(self.kind, text.clone()),
            WatchEvent::Denied { text } | WatchEvent::OtherVersion { text } | WatchEvent::Forbidden { text, .. }
                if logged.as_ref() == Some(text) => {}
            WatchEvent::Denied { text } => {
                tracing::warn!(watch = %self.spec, text, "the API server does not know this kind");
                let reason = format!("{text}, though objects of it were seen before");
                self.source.note_failure(self.kind, reason);
                *logged = Some(text.clone());
            }
            WatchEvent::OtherVersion { text } => {
                tracing::error!(watch = %self.spec, text, "no object of this kind can be read; nothing that rests on it is deleted");
                self.source.note_failure(self.kind, text.clone());
                *logged = Some(text.clone());
            }
            WatchEvent::Forbidden { verb, text } => {
                tracing::error!(watch = %self.spec, verb, text, "a right is missing; nothing that rests on this kind is deleted");
                self.source.note_failure(self.kind, text.clone());
                *logged = Some(text.clone());
            }
            _ => {}
        }
    }

    #[expect(clippy::unnecessary_wraps, reason = "the other way to read an object can fail")]
    fn read_shape<T: TypedObject>(&self, object: T) -> Result<Object, Unreadable> {
        Ok(Object::from_shape(self.kind, object, &self.keep))
    }

    fn read_value(&self, object: Value) -> Result<Object, Unreadable> {
        let text = |field: &str| object.pointer(field).and_then(Value::as_str).unwrap_or_default();
        let key = ObjectKey::new(self.kind, text("/metadata/namespace"), text("/metadata/name"));
        let uid = text("/metadata/uid").to_owned();
        Object::from_value(self.kind, object, &self.keep).map_err(|error| unreadable(key, &uid, &error.to_string()))
    }
}

/// Reads what a watch gives.
type Read<T> = fn(&Feed, T) -> Result<Object, Unreadable>;

fn unreadable(key: ObjectKey, uid: &str, error: &str) -> Unreadable {
    if key.name.is_empty() {
        let key = ObjectKey::new(key.kind, "", "");
        tracing::warn!(kind = %key.kind.id(), error, "not even the name of an object can be read; nothing of its kind is deleted");
        return Unreadable { key, uid: Uid::default(), error: Arc::from(error) };
    }
    tracing::warn!(object = %key, error, "the object cannot be read; what is published for it stays");
    Unreadable { key, uid: Uid::from(uid), error: Arc::from(error) }
}
