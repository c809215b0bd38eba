//! The feeds that are no objects of a cluster: the connector protocol, and made-up records.
//!
//! In comes a list of endpoints, again and again; out go the events of a list, with one object for each name, as if they
//! were DNSEndpoints of a kind of their own. What must hold: a list that could not be had is a lost view and never an empty
//! one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::connector;
use crate::fake::Fake;
use crate::feed::{FeedEvent, resolver};
use crate::kind::Kind;
use crate::options::SourceOptions;
use crate::source::K8sSource;
use crate::store::Object;

/// Least time between two lists.
const PAUSE: Duration = Duration::from_secs(1);

/// Starts a task for each such kind among those that `options` need.
pub(crate) fn spawn(tasks: &mut JoinSet<()>, options: &Arc<SourceOptions>, source: &Arc<K8sSource>) {
    let reads = options.reads();
    if reads.contains_key(&Kind::Connector) {
        tasks.spawn(connector(Arc::clone(options), Arc::clone(source)));
    }
    if reads.contains_key(&Kind::Host) {
        tasks.spawn(resolver::run(Arc::clone(options), Arc::clone(source), resolver::system));
    }
    if reads.contains_key(&Kind::Fake) {
        tasks.spawn(fake(Arc::clone(options), Arc::clone(source)));
    }
}

async fn connector(options: Arc<SourceOptions>, source: Arc<K8sSource>) {
    loop {
        match connector::fetch(&options.connector_server).await {
            Ok(endpoints) => source.feed(list(Kind::Connector, endpoints, &options)),
            Err(error) => {
                tracing::warn!(source = "connector", "{error}; what it gave before stays");
                source.note_failure(Kind::Connector, error.to_string());
                source.feed([FeedEvent::Lost(Kind::Connector, Instant::now())]);
            }
        }
        sleep(options.poll_interval.max(PAUSE)).await;
    }
}

async fn fake(options: Arc<SourceOptions>, source: Arc<K8sSource>) {
    let mut fake = Fake::new(&options.templates);
    loop {
        source.feed(list(Kind::Fake, fake.endpoints(), &options));
        sleep(options.poll_interval.max(PAUSE)).await;
    }
}

/// The events of a whole list.
pub(crate) fn list(kind: Kind, endpoints: Vec<Value>, options: &SourceOptions) -> Vec<FeedEvent> {
    let mut by_name: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for endpoint in endpoints {
        let name = endpoint.get("dnsName").and_then(Value::as_str).unwrap_or_default().to_owned();
        by_name.entry(name).or_default().push(endpoint);
    }
    let keep = options.keep();
    let object = |(name, endpoints): (String, Vec<Value>)| {
        let value = json!({"metadata": {"name": name}, "spec": {"endpoints": endpoints}});
        let read = Object::from_value(kind, value, &keep);
        read.map_err(|error| tracing::warn!(source = %kind.id(), name, %error, "an endpoint cannot be read")).ok()
    };
    let objects = by_name.into_iter().filter_map(object).map(FeedEvent::Listed);
    [FeedEvent::Begin(kind)].into_iter().chain(objects).chain([FeedEvent::Done(kind), FeedEvent::Open(kind)]).collect()
}
