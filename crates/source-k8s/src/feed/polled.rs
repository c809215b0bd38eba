//! The feeds that are no objects of a cluster: the connector protocol, and made-up records.
//!
//! In comes a list of endpoints, again and again; out go the events of a list, with one object for each name, as if they
//! were DNSEndpoints of a kind of their own. What must hold: a list that could not be had is a lost view and never an empty
//! one, and an endpoint of it that cannot be read is there.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use zonewright_core::endpoint::Uid;

use crate::connector;
use crate::fake::Fake;
use crate::feed::{FeedEvent, Unreadable, resolver};
use crate::kind::Kind;
use crate::options::SourceOptions;
use crate::source::K8sSource;
use crate::store::{Object, ObjectKey};

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
        Object::from_value(kind, value, &keep).map_or_else(
            |error| {
                tracing::warn!(source = %kind.id(), name, %error, "an endpoint cannot be read; what its name has stays");
                let (key, error) = (ObjectKey::new(kind, "", &name), Arc::from(error.to_string()));
                FeedEvent::Unreadable(Unreadable { key, uid: Uid::default(), error })
            },
            FeedEvent::Listed,
        )
    };
    let objects = by_name.into_iter().map(object);
    [FeedEvent::Begin(kind)].into_iter().chain(objects).chain([FeedEvent::Done(kind), FeedEvent::Open(kind)]).collect()
}

#[cfg(test)]
mod tests {
    use zonewright_core::source::{ObjectState, SeenKinds};

    use super::*;
    use crate::index::Index;
    use crate::options::SourceKind;

    const KIND: Kind = Kind::Connector;

    fn index(options: &SourceOptions) -> Index {
        Index::new(Arc::new(options.clone()), &SeenKinds::default())
    }

    /// Takes in a list: what every object asks for now, whether any is gone, and whether the view is complete.
    fn take(index: &mut Index, endpoints: Vec<Value>, options: &SourceOptions) -> (Vec<String>, bool, bool) {
        for event in list(KIND, endpoints, options) {
            index.apply(event, Instant::now());
        }
        let gone = |state: &ObjectState| matches!(state, ObjectState::Gone { .. });
        let gone = index.take(false).objects.iter().any(|update| gone(&update.state));
        let mut asked = Vec::new();
        for update in index.take(true).objects {
            if let ObjectState::Present(mapped) = update.state {
                asked.extend(mapped.endpoints.iter().map(ToString::to_string));
            }
        }
        asked.sort();
        (asked, gone, index.states(Instant::now())[&KIND.id()].complete)
    }

    #[test]
    fn an_endpoint_that_cannot_be_read_is_not_gone() {
        let options = SourceOptions { sources: vec![SourceKind::Connector], ..SourceOptions::default() };
        let endpoint = |name: &str, ttl: Value| json!({"dnsName": name, "recordType": "A", "targets": ["192.0.2.1"], "recordTTL": ttl});
        let (a, b, c) = ("a.example A 192.0.2.1", "b.example A 192.0.2.1", "c.example A 192.0.2.1");
        let good = |name: &str| endpoint(name, json!(300));
        let bad = |name: &str| endpoint(name, json!(300.5));
        let mut known = index(&options);
        let all = vec![good("a.example"), good("b.example")];
        assert_eq!(take(&mut known, all, &options), (vec![a.to_owned(), b.to_owned()], false, true));
        let later = vec![bad("a.example"), good("b.example"), good("c.example")];
        let (asked, gone, _) = take(&mut known, later.clone(), &options);
        assert_eq!((asked, gone), (vec![a.to_owned(), b.to_owned(), c.to_owned()], false), "what it asked for stays");
        assert_eq!(take(&mut known, vec![good("b.example")], &options), (vec![b.to_owned()], true, true));
        let (asked, _, complete) = take(&mut index(&options), later, &options);
        assert_eq!((asked, complete), (vec![b.to_owned(), c.to_owned()], false), "nobody knows what it asks for");
        let nameless = vec![good("b.example"), json!({"dnsName": 5, "recordType": "A", "targets": ["192.0.2.1"]})];
        assert_eq!(take(&mut known, nameless, &options), (vec![b.to_owned()], false, false), "it may be any of them");
    }

    #[test]
    fn what_a_connector_says_needs_no_form_of_the_final_dot() {
        let options = SourceOptions { sources: vec![SourceKind::Connector], ..SourceOptions::default() };
        let endpoint =
            |name: &str, rtype: &str, target: &str| json!({"dnsName": name, "recordType": rtype, "targets": [target]});
        for (endpoint, expected) in [
            (endpoint("sub.example", "NS", "ns1.example."), "sub.example NS ns1.example."),
            (endpoint("1.2.0.192.in-addr.arpa", "PTR", "a.example."), "1.2.0.192.in-addr.arpa PTR a.example."),
            (endpoint("_x._tcp.example", "SRV", "0 0 80 a.example"), "_x._tcp.example SRV 0 0 80 a.example."),
        ] {
            let (asked, _, _) = take(&mut index(&options), vec![endpoint], &options);
            assert_eq!(asked, [expected]);
        }
    }

    #[test]
    fn what_a_connector_says_and_cannot_be_written_stays() {
        let options = SourceOptions { sources: vec![SourceKind::Connector], ..SourceOptions::default() };
        let labelled = json!({"resource": "service/ns/web"});
        for (labels, resource) in [(json!({}), None), (labelled, Some("service/ns/web"))] {
            for (name, rtype) in [("a.example", "SPF"), ("a.*.example", "A")] {
                let endpoint =
                    json!({"dnsName": name, "recordType": rtype, "targets": ["192.0.2.1"], "labels": labels});
                let mut index = index(&options);
                for event in list(KIND, vec![endpoint], &options) {
                    index.apply(event, Instant::now());
                }
                let objects = index.take(true).objects;
                let [ObjectState::Present(mapped)] = &*objects.iter().map(|update| &update.state).collect::<Vec<_>>()
                else {
                    panic!("{objects:?}")
                };
                let kept: Vec<_> = mapped.unknown.iter().map(|unknown| unknown.resource.as_deref()).collect();
                assert_eq!((mapped.endpoints.len(), kept), (0, vec![resource]), "{name} {rtype}");
            }
        }
    }
}
