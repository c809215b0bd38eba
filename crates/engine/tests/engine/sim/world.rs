//! Provider, cluster, state and events of one engine.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use zonewright_core::clock::{Clock, Timestamp};
use zonewright_core::endpoint::{Note, Reporter};
use zonewright_core::name_policy::{NamePolicy, PermitAll};
use zonewright_core::registry::Registry;
use zonewright_core::store::{MemoryStore, StateStore};
use zonewright_core::zone::InstanceId;
use zonewright_core::{Error, ErrorKind, Result};
use zonewright_engine::journal::Journaling;
use zonewright_engine::metrics::Metrics;
use zonewright_engine::{Config, Engine, Instance, Parts};
use zonewright_registry::txt::{FormerNames, TxtConfig, TxtRegistry};

use super::{Cluster, Sim, object};

#[derive(Default)]
pub(crate) struct Reports(pub Mutex<Vec<Note>>);

impl Reporter for Reports {
    fn report(&self, note: &Note) {
        self.0.lock().unwrap().push(note.clone());
    }
}

impl Reports {
    pub(crate) fn has(&self, who: &str, reason: &str) -> bool {
        self.0.lock().unwrap().iter().any(|n| &*n.object.name == who && n.reason == reason)
    }
}

/// Keeps the state, and the approvals that somebody put beside it.
#[derive(Default)]
pub(crate) struct MemoryState {
    document: MemoryStore,
    /// From now on nothing can be saved.
    pub(crate) full: AtomicBool,
    /// From now on nothing can be read.
    pub(crate) unreadable: AtomicBool,
    /// How long each saving takes.
    pub(crate) pace: Mutex<Duration>,
    pub(crate) approvals: Mutex<BTreeSet<String>>,
}

#[async_trait]
impl StateStore for MemoryState {
    async fn load(&self) -> Result<Option<Vec<u8>>> {
        if self.unreadable.load(Ordering::SeqCst) {
            return Err(Error::new(ErrorKind::Unavailable, "read the state", "nobody answers"));
        }
        self.document.load().await
    }

    async fn save(&self, document: &[u8]) -> Result<()> {
        let pace = *self.pace.lock().unwrap();
        if !pace.is_zero() {
            tokio::time::sleep(pace).await;
        }
        if self.full.load(Ordering::SeqCst) {
            return Err(Error::new(ErrorKind::Unauthorized, "save the state", "no right to write"));
        }
        self.document.save(document).await
    }

    async fn approvals(&self) -> Result<BTreeSet<String>> {
        Ok(self.approvals.lock().unwrap().clone())
    }

    fn approve_with(&self, _: &str) -> Option<String> {
        None
    }

    fn place(&self) -> String {
        self.document.place()
    }
}

/// Everything together. An engine can be stopped and another started on the same world.
pub(crate) struct World {
    pub(crate) sim: Arc<Sim>,
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) store: Arc<MemoryState>,
    pub(crate) journal: Journaling,
    pub(crate) reports: Arc<Reports>,
    pub(crate) config: Config,
    /// Goes on over restarts.
    pub(crate) clock: Clock,
    pub(crate) owner: &'static str,
    pub(crate) name_policy: Arc<dyn NamePolicy>,
    /// `--txt-prefix`, and the former ones.
    pub(crate) prefixes: (&'static str, &'static [&'static str]),
}

impl World {
    pub(crate) fn new(zones: &[&str]) -> Self {
        Self {
            sim: Sim::new(zones),
            cluster: Cluster::new(),
            store: Arc::default(),
            journal: Journaling::default(),
            reports: Arc::new(Reports::default()),
            config: Config::default(),
            clock: Clock::starting_at(Timestamp(1_000_000_000)),
            owner: "me",
            name_policy: Arc::new(PermitAll),
            prefixes: ("", &[]),
        }
    }

    /// Another cluster on the same zones.
    pub(crate) fn beside(&self) -> Self {
        Self { sim: self.sim.clone(), ..Self::new(&[]) }
    }

    pub(crate) async fn start(&self) -> Engine {
        let former = |prefix: &&str| FormerNames {
            prefix: (*prefix).to_owned(),
            suffix: String::new(),
            wildcard_replacement: String::new(),
        };
        let registry = TxtRegistry::new(TxtConfig {
            prefix: self.prefixes.0.to_owned(),
            former: self.prefixes.1.iter().map(former).collect(),
            ..TxtConfig::new(self.owner).unwrap()
        });
        self.start_with(Arc::new(registry.unwrap())).await
    }

    pub(crate) async fn start_with(&self, registry: Arc<dyn Registry>) -> Engine {
        let instance = Instance::new(InstanceId::from("sim"), self.sim.clone(), registry);
        self.start_instances(vec![instance]).await
    }

    pub(crate) async fn start_instances(&self, instances: Vec<Instance>) -> Engine {
        let store: Arc<dyn StateStore> = self.store.clone();
        Engine::start(
            self.config.clone(),
            Parts {
                sources: vec![self.cluster.clone()],
                instances,
                name_policy: self.name_policy.clone(),
                store,
                journal: self.journal.clone(),
                reporter: self.reports.clone(),
                metrics: Arc::new(Metrics::default()),
                clock: self.clock,
                own_object: Some(object("zonewright-pod")),
            },
        )
        .await
    }
}

/// Lets the engine come to rest: what the source reported is taken over, planned and sent.
pub(crate) async fn rest(engine: &Engine) -> zonewright_engine::Outcome {
    // The paused clock moves only when every task waits: after this the intake has turned.
    tokio::time::sleep(Duration::from_millis(1)).await;
    engine.settled().await
}

/// As [`rest`], after so much time.
pub(crate) async fn after(engine: &Engine, time: Duration) -> zonewright_engine::Outcome {
    tokio::time::sleep(time).await;
    rest(engine).await
}
