//! What an engine of the demo works with: the folder, the server inside, and every source that this build has.
//!
//! Besides the engine that keeps the zone there is a *look*: a dry pass from nothing over the same folder and zone. What it
//! reports is what is wrong now, so a note goes when its cause goes.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::timeout;
use zonewright_core::clock::Clock;
use zonewright_core::endpoint::{Note, Reporter, Severity};
use zonewright_core::name_policy::PermitAll;
use zonewright_core::source::SeenKinds;
use zonewright_core::store::MemoryStore;
use zonewright_core::zone::InstanceId;
use zonewright_core::{DnsName, Error, ErrorKind, RecordSet, Result};
use zonewright_engine::journal::Journaling;
use zonewright_engine::metrics::Metrics;
use zonewright_engine::{Config, Engine, Instance, Parts};
use zonewright_provider_local::{Local, LocalConfig};
use zonewright_registry::txt::{TxtConfig, TxtRegistry};
use zonewright_source_k8s::options::{SourceKind, SourceOptions};
use zonewright_source_k8s::source::K8sSource;

use super::samples::Folder;

/// The zone that the server inside answers for.
pub(super) const ZONE: &str = "demo.test";

const INSTANCE: &str = "local";

/// A look that takes longer shows nothing.
const LOOK: Duration = Duration::from_secs(5);

/// Keeps the last warnings.
#[derive(Default)]
pub(super) struct Warnings(Mutex<Vec<Note>>);

const WARNINGS: usize = 200;

impl Reporter for Warnings {
    fn report(&self, note: &Note) {
        if note.severity != Severity::Warning {
            return;
        }
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        notes.retain(|former| former != note);
        notes.push(note.clone());
        let surplus = notes.len().saturating_sub(WARNINGS);
        notes.drain(..surplus);
    }
}

impl Warnings {
    /// All of them, the newest last.
    pub(super) fn all(&self) -> Vec<Note> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes them away.
    pub(super) fn take(&self) -> Vec<Note> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The folder and the server.
#[derive(Clone)]
pub(super) struct DaemonParts {
    pub(super) folder: Folder,
    pub(super) local: Arc<Local>,
}

/// A running engine with its source; dropping the tasks ends the reading of the folder.
pub(super) struct Running {
    pub(super) engine: Engine,
    pub(super) source: Arc<K8sSource>,
    _tasks: JoinSet<()>,
}

impl DaemonParts {
    /// Starts the server at `address`, or at a free port beside it if it is taken.
    ///
    /// # Errors
    /// The address is none, or nothing can listen there.
    pub(super) async fn open(folder: Folder, address: &str) -> Result<Self> {
        let problem = |text: String| Error::new(ErrorKind::Configuration, "start the server", text);
        let address: SocketAddr = address.parse().map_err(|_| {
            problem(format!("--listen {address:?}: expected an address and a port, such as 127.0.0.1:5353"))
        })?;
        let zone = zone()?;
        let config = |listen| LocalConfig {
            instance: InstanceId::from(INSTANCE),
            listen,
            zones: vec![zone.clone()],
            ..LocalConfig::default()
        };
        let local = match Local::start(config(address)).await {
            Ok(local) => local,
            Err(_) => Local::start(config(SocketAddr::new(address.ip(), 0))).await?,
        };
        Ok(Self { folder, local })
    }

    /// Starts the engine that keeps the zone.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub(super) async fn start(&self, reporter: Arc<dyn Reporter>) -> Result<Running> {
        self.run(Config { interval: Duration::from_secs(10), ..Config::default() }, reporter).await
    }

    /// What is wrong now, the newest last; `None` where it cannot be determined.
    pub(super) async fn look(&self) -> Option<Vec<Note>> {
        let warnings = Arc::new(Warnings::default());
        let config =
            Config { one_pass: true, dry_run: true, start_timeout: Duration::from_secs(1), ..Config::default() };
        let running = self.run(config, warnings.clone()).await.ok()?;
        let settled = timeout(LOOK, running.engine.settled()).await;
        running.engine.stop().await;
        settled.ok().map(|_| warnings.take())
    }

    /// Everything that the zone holds.
    pub(super) fn records(&self) -> Vec<RecordSet> {
        zone().and_then(|zone| self.local.dump(&zone)).unwrap_or_default()
    }

    async fn run(&self, config: Config, reporter: Arc<dyn Reporter>) -> Result<Running> {
        let (source, tasks) = K8sSource::manifests(self.folder.path(), options(), &SeenKinds::default())?;
        let registry = Arc::new(TxtRegistry::new(TxtConfig::new("demo")?)?);
        let parts = Parts {
            sources: vec![source.clone()],
            instances: vec![Instance::new(InstanceId::from(INSTANCE), self.local.clone(), registry)],
            name_policy: Arc::new(PermitAll),
            store: Arc::new(MemoryStore::default()),
            journal: Journaling::default(),
            reporter,
            metrics: Arc::new(Metrics::default()),
            clock: Clock::system(),
            own_object: None,
        };
        Ok(Running { engine: Engine::start(config, parts).await, source, _tasks: tasks })
    }
}

fn zone() -> Result<DnsName> {
    DnsName::parse(ZONE).map_err(|e| Error::new(ErrorKind::Configuration, "start the server", e.to_string()))
}

/// Every source that reads objects of a kind that it knows.
fn options() -> SourceOptions {
    use SourceKind::{Connector, Empty, Fake, Unstructured};
    let reads = |source: &SourceKind| source.is_built() && !matches!(source, Connector | Empty | Fake | Unstructured);
    let sources = SourceKind::ALL.iter().map(|(source, _)| *source).filter(reads).collect();
    SourceOptions { sources, traefik_legacy: true, ..SourceOptions::default() }
}
