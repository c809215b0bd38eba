//! The feed of host names that mappers want the addresses of (`--resolve-service-load-balancer-hostname`).
//!
//! In come the names that mappers looked up; out come their addresses as objects, looked up again every now and then. What
//! must hold: a name that cannot be resolved keeps the addresses that it had; one that never could is not known, so that
//! whoever asks for it waits.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, join_all};
use serde_json::json;
use tokio::time::{Instant, sleep_until, timeout};

use crate::feed::FeedEvent;
use crate::kind::Kind;
use crate::options::SourceOptions;
use crate::source::K8sSource;
use crate::store::{Object, ObjectKey};

/// How a name is looked up.
pub(crate) type LookUp = fn(String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;

/// Longest time for one name.
const PATIENCE: Duration = Duration::from_secs(10);

/// Asks the resolver of the operating system.
pub(crate) fn system(host: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
    Box::pin(async move { Ok(tokio::net::lookup_host((host, 0)).await?.map(|address| address.ip()).collect()) })
}

/// Goes on until its task ends.
pub(crate) async fn run(options: Arc<SourceOptions>, source: Arc<K8sSource>, look_up: LookUp) {
    let mut resolver = Resolver { options, source, look_up, due: BTreeMap::new(), announced: false };
    resolver.source.feed([FeedEvent::Begin(Kind::Host)]);
    loop {
        let source = Arc::clone(&resolver.source);
        let mapped = source.mapped();
        resolver.turn().await;
        tokio::select! {
            () = mapped => {}
            () = resolver.due() => {}
        }
    }
}

struct Resolver {
    options: Arc<SourceOptions>,
    source: Arc<K8sSource>,
    look_up: LookUp,
    /// When each name is looked up again.
    due: BTreeMap<Arc<str>, Instant>,
    /// Whether the list was ended: every name that is wanted was looked up once.
    announced: bool,
}

impl Resolver {
    /// Waits until a name is to be looked up again.
    async fn due(&self) {
        match self.due.values().min() {
            Some(moment) => sleep_until(*moment).await,
            None => std::future::pending().await,
        }
    }

    async fn turn(&mut self) {
        let wanted = self.source.wanted(Kind::Host);
        self.forget(&wanted);
        let now = Instant::now();
        let due: Vec<Arc<str>> =
            wanted.into_iter().filter(|host| self.due.get(host).is_none_or(|at| *at <= now)).collect();
        let found = join_all(due.iter().map(|host| self.resolve(host))).await;
        self.source.feed(found.into_iter().flatten());
        let next = Instant::now() + self.options.poll_interval.max(Duration::from_secs(1));
        let idle = due.is_empty();
        self.due.extend(due.into_iter().map(|host| (host, next)));
        if !self.announced && idle && self.source.is_settled_but(Kind::Host) {
            self.announced = true;
            self.source.feed([FeedEvent::Done(Kind::Host), FeedEvent::Open(Kind::Host)]);
        }
    }

    /// Has the addresses go that nobody asks for. Whoever asks again later waits until the name was looked up anew.
    fn forget(&mut self, wanted: &BTreeSet<Arc<str>>) {
        let gone = self.due.extract_if(.., |host, _| !wanted.contains(host));
        let events: Vec<FeedEvent> =
            gone.map(|(host, _)| FeedEvent::Deleted(ObjectKey::new(Kind::Host, "", &host))).collect();
        self.source.feed(events);
    }

    async fn resolve(&self, host: &Arc<str>) -> Option<FeedEvent> {
        let answer = match timeout(PATIENCE, (self.look_up)(host.to_string())).await {
            Ok(answer) => answer,
            Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "no answer in time")),
        };
        match answer {
            Ok(addresses) if !addresses.is_empty() => self.object(host, &addresses),
            Ok(_) => Self::complain(host, "the answer holds no address"),
            Err(error) => Self::complain(host, &error.to_string()),
        }
    }

    fn complain(host: &str, problem: &str) -> Option<FeedEvent> {
        tracing::warn!(host, "unable to resolve {host:?}: {problem}; what was known of it stays");
        None
    }

    fn object(&self, host: &str, addresses: &[IpAddr]) -> Option<FeedEvent> {
        let mut texts: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        texts.sort();
        texts.dedup();
        let value = json!({"metadata": {"name": host}, "addresses": texts});
        let object = Object::from_value(Kind::Host, value, &self.options.keep()).ok()?;
        Some(if self.announced { FeedEvent::Applied(object) } else { FeedEvent::Listed(object) })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use zonewright_core::source::{ObjectState, SeenKinds, Source};

    use tokio::time::sleep;

    use super::*;
    use crate::index::Index;
    use crate::options::SourceKind;

    static ASKED: AtomicUsize = AtomicUsize::new(0);

    /// `up.example` is there at once, `down.example` never, `late.example` from the second question on, until the fourth.
    fn answers(host: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            match host.as_str() {
                "up.example" => Ok(vec!["2001:db8::1".parse().unwrap(), "192.0.2.1".parse().unwrap()]),
                "late.example" if (1..3).contains(&ASKED.fetch_add(1, Ordering::SeqCst)) => {
                    Ok(vec!["192.0.2.2".parse().unwrap()])
                }
                _ => Err(io::Error::other("NXDOMAIN")),
            }
        })
    }

    fn service(name: &str, hosts: &[&str]) -> serde_json::Value {
        let ingress: Vec<_> = hosts.iter().map(|host| json!({ "hostname": host })).collect();
        json!({
            "metadata": {"namespace": "ns", "name": name, "annotations": {"external-dns.kubernetes.io/hostname": format!("{name}.example.org")}},
            "spec": {"type": "LoadBalancer"}, "status": {"loadBalancer": {"ingress": ingress}},
        })
    }

    fn shown(source: &K8sSource) -> Vec<String> {
        let mut lines = Vec::new();
        for update in source.take(true).objects {
            let ObjectState::Present(mapped) = update.state else { continue };
            lines.extend(mapped.endpoints.iter().map(ToString::to_string));
            lines.extend(mapped.pending.iter().map(|pending| format!("{} waits", pending.name)));
        }
        lines.sort();
        lines
    }

    #[tokio::test(start_paused = true)]
    async fn names_become_addresses_and_keep_them() {
        let options = SourceOptions {
            sources: vec![SourceKind::Service],
            service_type_filter: crate::options::service_types(&["LoadBalancer"]).unwrap(),
            resolve_load_balancer_hostname: true,
            ..SourceOptions::default()
        };
        let options = Arc::new(options);
        let source = Arc::new(K8sSource::new(Index::new(Arc::clone(&options), &SeenKinds::default())));
        let object = |name, hosts| Object::from_value(Kind::Service, service(name, hosts), &options.keep()).unwrap();
        source.feed([
            FeedEvent::Begin(Kind::Service),
            FeedEvent::Listed(object("a", &["up.example"])),
            FeedEvent::Listed(object("b", &["down.example"])),
            FeedEvent::Listed(object("c", &["late.example", "up.example"])),
            FeedEvent::Done(Kind::Service),
            FeedEvent::Open(Kind::Service),
        ]);
        assert_eq!(shown(&source).len(), 3);
        assert!(!source.evidence().is_settled(), "names are to be resolved first");
        let _task = tokio::spawn(run(Arc::clone(&options), Arc::clone(&source), answers));
        let both = ["a.example.org A 192.0.2.1", "a.example.org AAAA 2001:db8::1", "b.example.org waits"];
        sleep(Duration::from_secs(5)).await;
        shown(&source);
        sleep(Duration::from_secs(1)).await;
        assert!(source.evidence().is_settled());
        assert_eq!(
            shown(&source),
            [&both[..], &["c.example.org A 192.0.2.1", "c.example.org AAAA 2001:db8::1"]].concat()
        );
        sleep(Duration::from_mins(1)).await;
        let all = [&both[..], &["c.example.org A 192.0.2.2 192.0.2.1", "c.example.org AAAA 2001:db8::1"]].concat();
        assert_eq!(shown(&source), all);
        sleep(Duration::from_mins(10)).await;
        assert_eq!(shown(&source), all, "a failure takes nothing away");

        let stored = || source.evidence().kinds[&Kind::Host.id()].objects;
        assert_eq!(stored(), 2, "up.example and late.example");
        source.feed([FeedEvent::Applied(object("c", &["up.example"]))]);
        sleep(Duration::from_secs(1)).await;
        shown(&source);
        sleep(Duration::from_secs(1)).await;
        assert_eq!(stored(), 1, "nobody asks for late.example any more");
        source.feed([FeedEvent::Applied(object("c", &["up.example", "late.example"]))]);
        sleep(Duration::from_secs(1)).await;
        assert_eq!(
            shown(&source),
            [&both[..], &["c.example.org A 192.0.2.1", "c.example.org AAAA 2001:db8::1"]].concat()
        );
    }
}
