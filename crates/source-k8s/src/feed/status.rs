//! Writes into the status of DNSEndpoints which generation was read and what is wrong with it.
//!
//! In come the statuses that became due while objects were mapped; out go writes, one after the other. What must hold: a
//! status that cannot be written holds up the others for a few attempts and no longer, and is tried again every minute for as
//! long as it is the newest of an object that is there.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use zonewright_cluster::{Cluster, WatchKey, WatchSpec};
use zonewright_core::{ErrorKind, Result};

use crate::kind::Kind;
use crate::source::{K8sSource, wait_until};
use crate::sources::crd::Status;
use crate::store::ObjectKey;

/// Attempts for one status, as long as others could be written.
const ATTEMPTS: u32 = 4;

/// When a status that could not be written is due again.
const AGAIN: Duration = Duration::from_mins(1);

/// What is said once.
const NO_SUBRESOURCE: &str = "no DNSEndpoint gets a status, which says what is wrong with it: apply the \
    CustomResourceDefinition anew, with `subresources: {status: {}}` in its version";

/// Goes on until `ending` is over, and writes what is due by then.
pub(crate) async fn run(cluster: Cluster, source: Arc<K8sSource>, ending: impl Future<Output = ()>) {
    let row = Kind::DnsEndpoint.spec();
    let kind = WatchSpec::new(row.group, row.version, row.plural, row.name, row.namespaced);
    report(&InCluster { cluster, kind }, &source, ending).await;
}

/// Where statuses are written.
trait Statuses {
    /// Tries once to write a status.
    fn write(&self, key: &ObjectKey, status: &Status) -> impl Future<Output = Result<()>> + Send;
}

struct InCluster {
    cluster: Cluster,
    kind: WatchSpec,
}

impl Statuses for InCluster {
    async fn write(&self, key: &ObjectKey, status: &Status) -> Result<()> {
        let place = WatchKey { namespace: key.namespace.to_string(), name: key.name.to_string(), uid: String::new() };
        self.cluster.write_status(&self.kind, &place, status.observed_generation, &fields(status)).await
    }
}

async fn report(place: &impl Statuses, source: &K8sSource, ending: impl Future<Output = ()>) {
    let mut ending = pin!(ending);
    let (mut unwritten, mut attempts, mut ended) = (Unwritten::default(), ATTEMPTS, false);
    let mut unsupported = false;
    while !ended {
        let due = tokio::select! {
            due = source.due_statuses() => due,
            () = wait_until(unwritten.next()) => {
                unwritten.put_back(source);
                continue;
            }
            () = &mut ending => {
                ended = true;
                source.take_statuses()
            }
        };
        for (key, status) in due {
            match write(place, &key, &status, attempts).await {
                Ok(()) => {
                    attempts = ATTEMPTS;
                    unwritten.0.remove(&key);
                }
                // So it is with every object of the kind.
                Err(error) if error.kind == ErrorKind::Unsupported => {
                    unwritten.0.remove(&key);
                    if !std::mem::replace(&mut unsupported, true) {
                        tracing::warn!(object = %key, error = error.chain(), "{NO_SUBRESOURCE}");
                    }
                }
                Err(error) => {
                    // Perhaps none can be written now: the others are not kept waiting for that.
                    attempts = 1;
                    if unwritten.0.insert(key.clone(), Some((Instant::now() + AGAIN, status))).is_none() {
                        tracing::warn!(object = %key, error = error.chain(), "the status could not be written; it is tried again");
                    }
                }
            }
        }
    }
}

/// Writes a status, in so many attempts. An object that is gone has none.
async fn write(place: &impl Statuses, key: &ObjectKey, status: &Status, attempts: u32) -> Result<()> {
    let mut attempt = 1;
    loop {
        match place.write(key, status).await {
            Err(error) if error.kind == ErrorKind::NotFound => {
                tracing::debug!(object = %key, error = error.chain(), "no status is written");
                return Ok(());
            }
            Err(error) if error.kind == ErrorKind::Unsupported => return Err(error),
            Err(_) if attempt < attempts => sleep(Duration::from_secs(1) * attempt).await,
            done => return done,
        }
        attempt += 1;
    }
}

/// The statuses that could not be written, each with the moment at which it is due again; `None` for those that are due.
#[derive(Debug, Default)]
struct Unwritten(BTreeMap<ObjectKey, Option<(Instant, Status)>>);

impl Unwritten {
    /// When the next one is due.
    fn next(&self) -> Option<Instant> {
        self.0.values().flatten().map(|(at, _)| *at).min()
    }

    /// Gives back what is due now, and forgets what was due before: its object went.
    fn put_back(&mut self, source: &K8sSource) {
        let now = Instant::now();
        self.0.retain(|key, waiting| match waiting.take() {
            None => false,
            Some((at, status)) if at > now => {
                *waiting = Some((at, status));
                true
            }
            Some((_, status)) => source.put_back_status(key, status),
        });
    }
}

/// `observedGeneration` is external-dns'. The condition is ours, and kept only where the resource definition has a place for
/// it.
fn fields(status: &Status) -> Value {
    let good = status.problems.is_empty();
    let message =
        if good { format!("{} record sets are asked for", status.endpoints) } else { status.problems.join("; ") };
    let condition = json!({
        "type": "Accepted",
        "status": if good { "True" } else { "False" },
        "reason": if good { "Valid" } else { "InvalidEndpoint" },
        "message": message,
        "observedGeneration": status.observed_generation,
    });
    json!({ "observedGeneration": status.observed_generation, "conditions": [condition] })
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use tokio::time::timeout;
    use zonewright_core::Error;
    use zonewright_core::source::{SeenKinds, Source};

    use super::*;
    use crate::feed::FeedEvent;
    use crate::index::Index;
    use crate::options::{SourceKind, SourceOptions};
    use crate::store::Object;

    /// A server that refuses the first writes to some objects, and the seconds at which each was tried.
    struct Refusing {
        began: Instant,
        refused: Mutex<BTreeMap<&'static str, (usize, ErrorKind)>>,
        tried: Mutex<Vec<(u64, String)>>,
    }

    impl Statuses for Refusing {
        async fn write(&self, key: &ObjectKey, status: &Status) -> Result<()> {
            let line = format!("{} {}", key.name, status.observed_generation);
            self.tried.lock().unwrap().push((self.began.elapsed().as_secs(), line));
            match self.refused.lock().unwrap().get_mut(&*key.name) {
                Some((left, kind)) if *left > 0 => {
                    *left -= 1;
                    Err(Error::new(*kind, "write status", "refused"))
                }
                _ => Ok(()),
            }
        }
    }

    /// Objects that nobody has answered yet.
    struct Scene {
        source: K8sSource,
        options: SourceOptions,
    }

    impl Scene {
        fn new(names: &[&str]) -> Self {
            let options = SourceOptions { sources: vec![SourceKind::Crd], ..SourceOptions::default() };
            let index = Index::new(Arc::new(options.clone()), &SeenKinds::default());
            let scene = Self { source: K8sSource::new(index), options };
            for name in names {
                scene.put(name, 1);
            }
            scene
        }

        fn put(&self, name: &str, generation: i64) {
            let metadata = json!({"namespace": "a", "name": name, "generation": generation});
            let object =
                Object::from_value(Kind::DnsEndpoint, json!({"metadata": metadata, "spec": {}}), &self.options.keep());
            self.take(FeedEvent::Applied(object.unwrap()));
        }

        fn take(&self, event: FeedEvent) {
            self.source.feed([event]);
            // What an engine does not take twice in a row is held.
            self.source.take(false);
            self.source.take(false);
        }

        /// What is tried in so many seconds, while something else happens.
        async fn tried(
            &self,
            seconds: u64,
            refused: &[(&'static str, usize, ErrorKind)],
            meanwhile: impl Future<Output = ()>,
        ) -> Vec<(u64, String)> {
            let refused = refused.iter().map(|(name, times, kind)| (*name, (*times, *kind))).collect();
            let server = Refusing { began: Instant::now(), refused: Mutex::new(refused), tried: Mutex::default() };
            let reporting = report(&server, &self.source, std::future::pending());
            let both = async { tokio::join!(reporting, meanwhile) };
            assert!(timeout(Duration::from_secs(seconds), both).await.is_err());
            server.tried.into_inner().unwrap()
        }
    }

    fn lines(tried: &[(u64, String)]) -> Vec<String> {
        tried.iter().map(|(second, line)| format!("{second}: {line}")).collect()
    }

    const DOWN: ErrorKind = ErrorKind::Unavailable;

    /// It holds up the others for its attempts, and only the first does.
    #[tokio::test(start_paused = true)]
    async fn a_status_that_could_not_be_written_is_tried_again_after_a_minute() {
        let scene = Scene::new(&["a", "b", "c"]);
        let tried = scene.tried(600, &[("a", 5, DOWN), ("b", 1, DOWN)], async {}).await;
        let expected = ["0: a 1", "1: a 1", "3: a 1", "6: a 1", "6: b 1", "6: c 1", "66: a 1", "67: a 1", "67: b 1"];
        assert_eq!(lines(&tried), expected);
    }

    #[tokio::test(start_paused = true)]
    async fn an_object_that_is_gone_or_whose_kind_has_no_status_is_tried_once() {
        for kind in [ErrorKind::NotFound, ErrorKind::Unsupported] {
            let scene = Scene::new(&["a", "b"]);
            let tried = scene.tried(600, &[("a", 9, kind), ("b", 9, kind)], async {}).await;
            assert_eq!(lines(&tried), ["0: a 1", "0: b 1"]);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_newer_status_or_the_end_of_its_object_ends_the_attempts() {
        for deleted in [false, true] {
            let scene = Scene::new(&["a"]);
            let tried = scene.tried(600, &[("a", 4, DOWN)], async {
                sleep(Duration::from_secs(30)).await;
                if deleted {
                    scene.take(FeedEvent::Deleted(ObjectKey::new(Kind::DnsEndpoint, "a", "a")));
                } else {
                    scene.put("a", 2);
                }
            });
            let rest = if deleted { &[][..] } else { &["30: a 2"] };
            assert_eq!(lines(&tried.await), [&["0: a 1", "1: a 1", "3: a 1", "6: a 1"][..], rest].concat());
        }
    }

    #[test]
    fn problems_are_in_the_condition() {
        let status = |problems: &[&str]| Status {
            observed_generation: 3,
            is_due: true,
            endpoints: 2,
            problems: problems.iter().map(|problem| (*problem).to_owned()).collect(),
        };
        let good = fields(&status(&[]));
        assert_eq!(good["observedGeneration"], 3);
        assert_eq!(
            (&good["conditions"][0]["status"], &good["conditions"][0]["reason"]),
            (&json!("True"), &json!("Valid"))
        );
        let bad = fields(&status(&["a", "b"]));
        assert_eq!(bad["conditions"][0]["status"], "False");
        assert_eq!(bad["conditions"][0]["message"], "a; b");
    }
}
