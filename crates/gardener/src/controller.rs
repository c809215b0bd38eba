//! The controller at work: watches, the queue, attempts, leases.
//!
//! In: a connection, what to handle, providers, a registry, the order to stop. Out: DNSRecords that are handled until then. What
//! must hold: who does not lead any more begins nothing.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::de::DeserializeOwned;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};
use zonewright_cluster::{Cluster, Election, LeaseHolder, LeaseTimes, WatchEvent, WatchSpec, watch};
use zonewright_core::Result;
use zonewright_core::endpoint::Reporter;
use zonewright_core::registry::Registry;

use crate::accounts::ProviderAccounts;
use crate::attempts;
use crate::filter::RecordFilter;
use crate::metrics::ControllerMetrics;
use crate::reconcile::Reconciler;
use crate::types::{self, ClusterObject, DnsRecord, Namespace, RecordName};
use crate::world::ClusterState;

/// Events of a watch that wait to be taken.
const EVENTS: usize = 256;
/// The lease by which Gardener sees that an extension works.
const HEARTBEAT: &str = "gardener-extension-heartbeat";
/// The name of this extension in that lease.
const EXTENSION: &str = "zonewright-gardener";

/// How leases are had.
#[derive(Debug, Clone)]
pub struct Leases {
    /// The lease of the election, as namespace and name; without one this process always works.
    pub election: Option<(String, String)>,
    /// Distinguishes this process from the others.
    pub me: String,
    /// Namespace of the heartbeat.
    pub heartbeat: String,
    /// From one heartbeat to the next.
    pub interval: Duration,
}

/// What the controller works with.
pub struct ControllerParts {
    /// The API server.
    pub cluster: Cluster,
    /// Which objects are handled.
    pub scope: RecordFilter,
    /// Attempts at once for each account.
    pub at_once: usize,
    /// Providers by credential.
    pub accounts: ProviderAccounts,
    /// Whose records are.
    pub registry: Arc<dyn Registry>,
    /// What was done.
    pub tally: ControllerMetrics,
    /// Where events of objects go.
    pub reporter: Arc<dyn Reporter>,
    /// The leases by which processes agree who works.
    pub leases: Leases,
}

impl std::fmt::Debug for ControllerParts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ControllerParts")
            .field("scope", &self.scope)
            .field("leases", &self.leases)
            .finish_non_exhaustive()
    }
}

/// The controller: watches, queue and attempts.
#[derive(Debug)]
pub struct Controller {
    cluster: Cluster,
    world: Arc<Mutex<ClusterState>>,
    reconciler: Arc<Reconciler>,
    leases: Leases,
    /// Something is due.
    due: Arc<Notify>,
    /// Why it is not ready; empty if it is.
    watch_errors: Mutex<Vec<(&'static str, String)>>,
    leads: Mutex<bool>,
}

impl Controller {
    /// A controller that does nothing yet.
    pub fn new(parts: ControllerParts) -> Arc<Self> {
        let ControllerParts { cluster, scope, at_once, accounts, registry, tally, reporter, leases } = parts;
        let world = Arc::new(Mutex::new(ClusterState::new(scope, at_once)));
        let objects = Arc::new(cluster.clone());
        let reconciler = Arc::new(Reconciler { objects, accounts, registry, world: world.clone(), tally, reporter });
        let (due, watch_errors, leads) = (Arc::new(Notify::new()), Mutex::default(), Mutex::new(false));
        Arc::new(Self { cluster, world, reconciler, leases, due, watch_errors, leads })
    }

    /// Works until `stop` is cancelled.
    ///
    /// # Errors
    /// This process does not lead any more: another one works, and this one has to end.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) -> Result<()> {
        let mut election = self.leases.election.as_ref().map(|(namespace, name)| {
            Election::new(&self.cluster, namespace, name, &self.leases.me, LeaseTimes::default())
        });
        if let Some(election) = &mut election {
            tokio::select! {
                () = election.acquire() => {}
                () = stop.cancelled() => return Ok(()),
            }
        }
        *lock(&self.leads) = true;
        let Leases { heartbeat, interval, .. } = &self.leases;
        let beat = LeaseHolder::new(&self.cluster, heartbeat, HEARTBEAT, EXTENSION, *interval);
        let lost = {
            let work = self.clone().work(stop.clone());
            let hold = async {
                match &mut election {
                    Some(election) => election.hold().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = work => None,
                error = hold => Some(error),
                () = beat.run() => None,
            }
        };
        *lock(&self.leads) = false;
        match (lost, election) {
            (Some(error), _) => Err(error),
            (None, Some(mut election)) => {
                let _ = timeout(Duration::from_secs(5), election.release()).await;
                Ok(())
            }
            (None, None) => Ok(()),
        }
    }

    /// Whether everything that is watched is known. Who waits to lead is ready to.
    ///
    /// # Errors
    /// What is missing, one on each line.
    pub fn ready(&self) -> std::result::Result<(), String> {
        if !*lock(&self.leads) {
            return Ok(());
        }
        let mut problems: Vec<String> =
            lock(&self.watch_errors).iter().map(|(kind, text)| format!("{kind}: {text}")).collect();
        if problems.is_empty() && !lock(&self.world).is_complete() {
            problems.push("the first lists are not complete".to_owned());
        }
        if problems.is_empty() { Ok(()) } else { Err(problems.join("\n")) }
    }

    async fn work(self: Arc<Self>, stop: CancellationToken) {
        let mut watches = JoinSet::new();
        let one = self.clone();
        watches.spawn(async move { one.watch_records().await });
        let one = self.clone();
        watches.spawn(async move { one.watch_namespaces().await });
        let one = self.clone();
        watches.spawn(async move { one.watch_clusters().await });
        attempts::run(&self.reconciler, &self.due, stop).await;
    }

    async fn watch_records(&self) {
        let mut listed: Option<HashSet<RecordName>> = None;
        self.follow(types::dns_records(), |event: WatchEvent<DnsRecord>, world| match event {
            WatchEvent::Begin => listed = Some(HashSet::new()),
            WatchEvent::Listed(record) => {
                if let Some(listed) = &mut listed {
                    listed.insert(record.record_name());
                }
                world.record(record);
            }
            WatchEvent::Done => {
                if let Some(listed) = listed.take() {
                    info!(count = listed.len(), "DNSRecords listed");
                    world.only(&listed);
                }
            }
            WatchEvent::Applied(record) => world.record(record),
            WatchEvent::Deleted(key) => {
                let name = RecordName { namespace: key.namespace, name: key.name };
                if let Some(listed) = &mut listed {
                    listed.remove(&name);
                }
                world.gone(&name);
            }
            WatchEvent::Unreadable { key, error } => {
                let name = RecordName { namespace: key.namespace, name: key.name };
                warn!(object = %name, error, "a DNSRecord cannot be read; it is left as it is");
                // It exists: it must not count as gone.
                if let Some(listed) = &mut listed {
                    listed.insert(name);
                }
            }
            _ => {}
        })
        .await;
    }

    async fn watch_namespaces(&self) {
        let mut before: HashSet<String> = HashSet::new();
        let mut listed: Option<HashSet<String>> = None;
        self.follow(types::shoot_namespaces(), |event: WatchEvent<Namespace>, world| match event {
            WatchEvent::Begin => listed = Some(HashSet::new()),
            WatchEvent::Listed(Namespace { metadata }) | WatchEvent::Applied(Namespace { metadata }) => {
                if let Some(listed) = &mut listed {
                    listed.insert(metadata.name.clone());
                }
                world.namespace(&metadata.name, true);
                before.insert(metadata.name);
            }
            WatchEvent::Done => {
                if let Some(listed) = listed.take() {
                    before.difference(&listed).for_each(|gone| world.namespace(gone, false));
                    before = listed;
                }
                world.listed.namespaces = true;
            }
            WatchEvent::Deleted(key) => {
                before.remove(&key.name);
                world.namespace(&key.name, false);
            }
            _ => {}
        })
        .await;
    }

    async fn watch_clusters(&self) {
        let mut before: HashSet<String> = HashSet::new();
        let mut listed: Option<HashSet<String>> = None;
        self.follow(types::clusters(), |event: WatchEvent<ClusterObject>, world| match event {
            WatchEvent::Begin => listed = Some(HashSet::new()),
            WatchEvent::Listed(cluster) | WatchEvent::Applied(cluster) => {
                let name = cluster.metadata.name.clone();
                world.cluster(&name, Some(&cluster));
                if let Some(listed) = &mut listed {
                    listed.insert(name.clone());
                }
                before.insert(name);
            }
            WatchEvent::Done => {
                if let Some(listed) = listed.take() {
                    before.difference(&listed).for_each(|gone| world.cluster(gone, None));
                    before = listed;
                }
                world.listed.clusters = true;
            }
            WatchEvent::Deleted(key) => {
                before.remove(&key.name);
                world.cluster(&key.name, None);
            }
            WatchEvent::Unreadable { key, error } => {
                warn!(cluster = key.name, error, "a Cluster cannot be read; its DNSRecords wait");
                world.cluster(&key.name, None);
            }
            // A garden without seeds has no such kind.
            WatchEvent::Denied { .. } => world.listed.clusters = true,
            _ => {}
        })
        .await;
    }

    /// Watches a kind; what it reports of the connection is kept for the probe.
    async fn follow<T: DeserializeOwned + Send + 'static>(
        &self,
        spec: WatchSpec,
        mut take: impl FnMut(WatchEvent<T>, &mut ClusterState),
    ) {
        let kind = kind_of(&spec);
        let (sink, mut events) = mpsc::channel(EVENTS);
        let watching = watch(&self.cluster, spec, sink);
        let taking = async {
            while let Some(event) = events.recv().await {
                self.noted(kind, &event);
                take(event, &mut lock(&self.world));
                self.due.notify_one();
            }
        };
        tokio::join!(watching, taking);
    }

    fn noted<T>(&self, kind: &'static str, event: &WatchEvent<T>) {
        let watch_error = match event {
            WatchEvent::Open | WatchEvent::Done => None,
            WatchEvent::Lost { text, .. } | WatchEvent::Forbidden { text, .. } | WatchEvent::OtherVersion { text } => {
                Some(text.clone())
            }
            WatchEvent::Denied { text } if kind != "Cluster" => Some(text.clone()),
            _ => return,
        };
        if let Some(text) = &watch_error {
            debug!(kind, text, "not fresh");
        }
        let mut watch_errors = lock(&self.watch_errors);
        watch_errors.retain(|(known, _)| *known != kind);
        watch_errors.extend(watch_error.map(|text| (kind, text)));
    }
}

fn kind_of(spec: &WatchSpec) -> &'static str {
    match spec.plural.as_str() {
        "dnsrecords" => "DNSRecord",
        "clusters" => "Cluster",
        _ => "Namespace",
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
