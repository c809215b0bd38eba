//! Leases (coordination.k8s.io/v1): who of several processes works, and that one works at all.
//!
//! In: a lease by its name, and who asks. Out: [`Election`] says when this process leads and when no longer; [`LeaseHolder`]
//! renews a lease that nobody contends for. The algorithm of the election is that of client-go, so that its programs and ours
//! can take turns.
//!
//! What must hold: a lease of another holder is taken only after it has stood unchanged for its whole duration by this
//! process' own clock, whatever the clocks of others say; every write names the resource version that was read; who could not
//! renew for [`LeaseTimes::renew_deadline`] does not lead any more. That time counts from the request, as others count the lease's
//! duration: an answer may come late.

use std::time::Duration;

use http::Method;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use rand::Rng as _;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};
use tracing::{debug, info, warn};
use zonewright_core::{Error, ErrorKind, Result};

use crate::api::Failure;
use crate::cluster::Cluster;

/// How long things take in an election.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseTimes {
    /// How long a lease stands that is not renewed.
    pub duration: Duration,
    /// How long the leader tries to renew before it gives up.
    pub renew_deadline: Duration,
    /// From one attempt to the next.
    pub retry: Duration,
}

impl Default for LeaseTimes {
    /// Those of client-go: 15 s, 10 s, 2 s.
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { duration: seconds(15), renew_deadline: seconds(10), retry: seconds(2) }
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    resource_version: String,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Lease {
    metadata: Meta,
    #[serde(default)]
    spec: Spec,
}

/// What a lease says. Times of others are kept as texts: they are never compared with our clock.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    #[serde(skip_serializing_if = "Option::is_none")]
    holder_identity: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lease_duration_seconds: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    acquire_time: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    renew_time: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lease_transitions: Option<u32>,
}

impl Spec {
    fn holder(&self) -> &str {
        self.holder_identity.as_deref().unwrap_or_default()
    }
}

/// The lease of another process, and since when it stands so by our clock.
#[derive(Debug, Clone)]
struct Observed {
    spec: Spec,
    since: Instant,
}

/// What to do about a lease.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// It is another's.
    Wait,
    /// Take the lease, or renew it, by this `spec`.
    Write(Spec),
}

/// Decides by what was read; `observed` is brought up to date.
fn step(me: &str, times: LeaseTimes, found: &Spec, observed: &mut Option<Observed>, now: (Instant, &str)) -> Step {
    let (instant, wall) = now;
    if observed.as_ref().is_none_or(|known| known.spec != *found) {
        *observed = Some(Observed { spec: found.clone(), since: instant });
    }
    let since = observed.as_ref().map_or(instant, |known| known.since);
    let mine = found.holder() == me;
    let stands = found.lease_duration_seconds.map_or(times.duration, |seconds| Duration::from_secs(seconds.into()));
    if !mine && !found.holder().is_empty() && since + stands > instant {
        return Step::Wait;
    }
    let transitions = found.lease_transitions.unwrap_or(0);
    Step::Write(Spec {
        holder_identity: Some(me.to_owned()),
        lease_duration_seconds: Some(seconds(times.duration)),
        acquire_time: if mine { found.acquire_time.clone() } else { Some(wall.to_owned()) },
        renew_time: Some(wall.to_owned()),
        lease_transitions: Some(if mine || found == &Spec::default() { transitions } else { transitions + 1 }),
    })
}

fn seconds(length: Duration) -> u32 {
    u32::try_from(length.as_secs()).unwrap_or(u32::MAX)
}

/// The present time as leases carry it.
fn wall() -> String {
    serde_json::to_value(MicroTime(Timestamp::now()))
        .ok()
        .and_then(|v| v.as_str().map(str::to_owned))
        .unwrap_or_default()
}

/// The Lease object of an election, and the way to it.
#[derive(Debug, Clone)]
struct LeaseRef {
    cluster: Cluster,
    namespace: String,
    name: String,
}

impl LeaseRef {
    fn collection(&self) -> String {
        format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases", self.namespace)
    }

    async fn read(&self) -> Result<Option<Lease>, Failure> {
        match self.cluster.read(&format!("{}/{}", self.collection(), self.name)).await {
            Ok(lease) => Ok(Some(lease)),
            Err(failure) if failure.reason() == "NotFound" => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    async fn create(&self, spec: &Spec) -> Result<(), Failure> {
        let object = json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": { "name": self.name },
            "spec": spec,
        });
        self.cluster.write::<serde::de::IgnoredAny>(Method::POST, &self.collection(), &object).await.map(drop)
    }

    /// Writes over a lease as it was read; labels and what else others keep there stay.
    async fn update(&self, version: &str, spec: &Spec) -> Result<(), Failure> {
        let patch = json!({ "metadata": { "resourceVersion": version }, "spec": spec });
        let place = format!("{}/{}", self.collection(), self.name);
        self.cluster.write::<serde::de::IgnoredAny>(Method::PATCH, &place, &patch).await.map(drop)
    }
}

/// Why a lease is lost that was renewed.
const LATE: &str = "the answer to its renewal came too late";

/// The election of one leader.
#[derive(Debug)]
pub struct Election {
    place: LeaseRef,
    me: String,
    times: LeaseTimes,
    observed: Option<Observed>,
    /// When the renewal, or acquisition, was begun that succeeded last.
    renewed: Option<Instant>,
}

impl Election {
    /// An election by the lease `name` in `namespace`; `me` distinguishes this process from every other.
    pub fn new(cluster: &Cluster, namespace: &str, name: &str, me: &str, times: LeaseTimes) -> Self {
        let place = LeaseRef { cluster: cluster.clone(), namespace: namespace.to_owned(), name: name.to_owned() };
        Self { place, me: me.to_owned(), times, observed: None, renewed: None }
    }

    /// Waits until this process leads.
    pub async fn acquire(&mut self) {
        info!(lease = self.place.name, namespace = self.place.namespace, me = self.me, "waiting to become the leader");
        loop {
            let asked = Instant::now();
            match self.attempt().await {
                Ok(true) if asked.elapsed() < self.times.renew_deadline => {
                    info!(lease = self.place.name, me = self.me, "this process is the leader");
                    self.renewed = Some(asked);
                    return;
                }
                // Another process may have it by now; else the next attempt renews it.
                Ok(true) => warn!(lease = self.place.name, "the lease was acquired too late to be relied on"),
                Ok(false) => {}
                Err(failure) => warn!(lease = self.place.name, %failure, "the lease could not be acquired"),
            }
            // Processes that were started together do not go on asking together.
            sleep(self.times.retry.mul_f64(rand::rng().random_range(1.0..1.2))).await;
        }
    }

    /// Renews the lease until that cannot be done any more.
    ///
    /// # Errors
    /// Always, when it returns: why this process does not lead any more.
    pub async fn hold(&mut self) -> Error {
        let mut renewed = self.renewed.unwrap_or_else(Instant::now);
        let mut why = LATE.to_owned();
        loop {
            let rest = self.times.renew_deadline.saturating_sub(renewed.elapsed());
            sleep(self.times.retry.min(rest)).await;
            let asked = Instant::now();
            let rest = self.times.renew_deadline.saturating_sub(renewed.elapsed());
            if rest.is_zero() {
                return self.lost(&why);
            }
            why = match timeout(rest, self.attempt()).await {
                Ok(Ok(true)) => {
                    (renewed, why) = (asked, LATE.to_owned());
                    continue;
                }
                Ok(Ok(false)) => return self.lost("another process holds it"),
                Ok(Err(failure)) => failure.to_string(),
                Err(_) => "no answer in time".to_owned(),
            };
            debug!(lease = self.place.name, why, "the lease was not renewed");
        }
    }

    /// Gives the lease back, so that another process need not wait. Nothing rests on it.
    pub async fn release(&mut self) {
        let Ok(Some(lease)) = self.place.read().await else { return };
        if lease.spec.holder() != self.me {
            return;
        }
        let now = wall();
        let spec = Spec {
            holder_identity: Some(String::new()),
            lease_duration_seconds: Some(1),
            acquire_time: Some(now.clone()),
            renew_time: Some(now),
            ..lease.spec
        };
        if let Err(failure) = self.place.update(&lease.metadata.resource_version, &spec).await {
            debug!(lease = self.place.name, %failure, "the lease was not given back");
        }
    }

    fn lost(&self, why: &str) -> Error {
        let text = format!("{}/{}: {why}", self.place.namespace, self.place.name);
        Error::new(ErrorKind::Unavailable, "hold the leader's lease", text)
    }

    /// Takes or renews the lease; whether it is ours now.
    async fn attempt(&mut self) -> Result<bool, Failure> {
        let now = wall();
        let found = self.place.read().await?;
        let spec = found.as_ref().map(|lease| lease.spec.clone()).unwrap_or_default();
        let Step::Write(new) = step(&self.me, self.times, &spec, &mut self.observed, (Instant::now(), &now)) else {
            return Ok(false);
        };
        let written = match &found {
            None => self.place.create(&new).await,
            Some(lease) => self.place.update(&lease.metadata.resource_version, &new).await,
        };
        match written {
            Ok(()) => {
                self.observed = Some(Observed { spec: new, since: Instant::now() });
                Ok(true)
            }
            // Another process was faster: the next attempt reads what it wrote.
            Err(failure) if failure.code() == Some(409) && spec.holder() != self.me => Ok(false),
            Err(failure) => Err(failure),
        }
    }
}

/// Renews a lease that nobody else wants, so that others see that this process works.
#[derive(Debug)]
pub struct LeaseHolder {
    place: LeaseRef,
    me: String,
    interval: Duration,
}

impl LeaseHolder {
    /// A holder of the lease `name` in `namespace`, which is renewed every `interval` and says so.
    pub fn new(cluster: &Cluster, namespace: &str, name: &str, me: &str, interval: Duration) -> Self {
        let place = LeaseRef { cluster: cluster.clone(), namespace: namespace.to_owned(), name: name.to_owned() };
        Self { place, me: me.to_owned(), interval }
    }

    /// Renews it for ever.
    pub async fn run(self) {
        loop {
            if let Err(failure) = self.renew().await {
                warn!(lease = self.place.name, namespace = self.place.namespace, %failure, "the lease was not renewed");
            }
            sleep(self.interval).await;
        }
    }

    async fn renew(&self) -> Result<(), Failure> {
        let spec = Spec {
            holder_identity: Some(self.me.clone()),
            lease_duration_seconds: Some(seconds(self.interval)),
            renew_time: Some(wall()),
            ..Spec::default()
        };
        match self.place.read().await? {
            None => self.place.create(&spec).await,
            Some(lease) => self.place.update(&lease.metadata.resource_version, &spec).await,
        }
    }
}

#[cfg(test)]
#[path = "lease_tests.rs"]
mod tests;
