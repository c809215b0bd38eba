//! The feed from a cluster: one watch for each kind in use.
//!
//! In come the typed events of `zonewright-cluster`; out come feed events for the index, in batches. What must hold: the
//! order of each watch is kept, and nothing is read that no chosen source reads.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use zonewright_cluster::{Cluster, Event as WatchEvent, Key, WatchSpec};

use crate::annotations::AnnotationFilterKeys;
use crate::feed::Event;
use crate::kind::Kind;
use crate::objects::{EndpointSlice, Ingress, Node, Pod, Service};
use crate::options::SourceOptions;
use crate::source::K8sSource;
use crate::store::{Object, ObjectKey};

/// Events that wait for the index; a list of many objects is taken in by batches of so many.
const BATCH: usize = 256;

/// Starts the watches of every kind that `options` need.
pub(crate) fn spawn(cluster: &Cluster, options: &SourceOptions, source: &Arc<K8sSource>) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    for kind in options.kinds() {
        let feed = Feed {
            kind,
            spec: spec(kind, &options.namespace),
            keep: options.annotation_keys(),
            source: Arc::clone(source),
        };
        let cluster = cluster.clone();
        match kind {
            Kind::Service => tasks.spawn(feed.run::<Service>(cluster, Object::Service)),
            Kind::Ingress => tasks.spawn(feed.run::<Ingress>(cluster, Object::Ingress)),
            Kind::EndpointSlice => tasks.spawn(feed.run::<EndpointSlice>(cluster, Object::EndpointSlice)),
            Kind::Pod => tasks.spawn(feed.run::<Pod>(cluster, Object::Pod)),
            Kind::Node => tasks.spawn(feed.run::<Node>(cluster, Object::Node)),
        };
    }
    tasks
}

fn spec(kind: Kind, namespace: &str) -> WatchSpec {
    let row = kind.spec();
    let mut spec = WatchSpec::new(row.group, row.version, row.plural, row.name, row.namespaced);
    spec.namespace = Some(namespace.to_owned()).filter(|namespace| row.namespaced && !namespace.is_empty());
    spec
}

/// One watch on its way to the index.
struct Feed {
    kind: Kind,
    spec: WatchSpec,
    keep: AnnotationFilterKeys,
    source: Arc<K8sSource>,
}

impl Feed {
    /// Goes on until its task ends.
    async fn run<T>(self, cluster: Cluster, wrap: fn(Arc<T>) -> Object)
    where
        T: DeserializeOwned + Prune + Send,
    {
        let (sink, events) = mpsc::channel(BATCH);
        let spec = self.spec.clone();
        tokio::join!(zonewright_cluster::watch::<T>(&cluster, spec, sink), self.take_in(events, wrap));
    }

    async fn take_in<T: Prune>(self, mut events: mpsc::Receiver<WatchEvent<T>>, wrap: fn(Arc<T>) -> Object) {
        let mut batch = Vec::with_capacity(BATCH);
        while events.recv_many(&mut batch, BATCH).await > 0 {
            let translated: Vec<Event> = batch.drain(..).map(|event| self.translate(event, wrap)).collect();
            self.source.feed(translated);
        }
    }

    fn translate<T: Prune>(&self, event: WatchEvent<T>, wrap: fn(Arc<T>) -> Object) -> Event {
        let kind = self.kind;
        match event {
            WatchEvent::Begin => Event::Begin(kind),
            WatchEvent::Listed(object) => Event::Listed(self.keep(object, wrap)),
            WatchEvent::Done => Event::Done(kind),
            WatchEvent::Applied(object) => Event::Applied(self.keep(object, wrap)),
            WatchEvent::Deleted(key) => Event::Deleted(self.key(&key)),
            WatchEvent::Open => Event::Open(kind),
            WatchEvent::Unreadable { key, error } => {
                let key = self.key(&key);
                tracing::warn!(object = %key, error, "an object cannot be read; what was known of it stays");
                Event::Unreadable(key)
            }
            WatchEvent::Lost { since, text } => {
                tracing::debug!(watch = %self.spec, text, "the watch was lost");
                Event::Lost(kind, since)
            }
            WatchEvent::Denied { text } => {
                tracing::warn!(watch = %self.spec, text, "the API server does not know this kind");
                Event::Denied(kind)
            }
            WatchEvent::Forbidden { verb, text } => {
                tracing::error!(watch = %self.spec, verb, text, "a right is missing; nothing that rests on this kind is deleted");
                Event::Forbidden(kind)
            }
        }
    }

    fn key(&self, key: &Key) -> ObjectKey {
        ObjectKey::new(self.kind, &key.namespace, &key.name)
    }

    fn keep<T: Prune>(&self, mut object: T, wrap: fn(Arc<T>) -> Object) -> Object {
        object.prune(&self.keep);
        wrap(Arc::new(object))
    }
}

/// A type that drops what no mapper reads.
trait Prune {
    fn prune(&mut self, keep: &AnnotationFilterKeys);
}

macro_rules! prune {
    ($($object:ident),*) => {
        $(impl Prune for $object {
            fn prune(&mut self, keep: &AnnotationFilterKeys) {
                $object::prune(self, keep);
            }
        })*
    };
}

prune!(Service, Ingress, EndpointSlice, Pod, Node);
