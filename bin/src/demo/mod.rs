//! `zonewright demo`: the whole flow without a cluster and without a DNS server outside.
//!
//! A folder of manifests is read, an authoritative server inside answers for `demo.test`, and the screen shows names,
//! records, owners, and what just changed.

mod lines;
mod picture;
mod screen;

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use zonewright_core::catalog::Settings;
use zonewright_core::clock::Clock;
use zonewright_core::endpoint::{Note, Reporter, Severity};
use zonewright_core::name_policy::PermitAll;
use zonewright_core::store::MemoryStore;
use zonewright_core::zone::InstanceId;
use zonewright_core::{DnsName, Error, ErrorKind, Result};
use zonewright_engine::journal::Journaling;
use zonewright_engine::metrics::Metrics;
use zonewright_engine::{Config, Engine, Instance, Parts};
use zonewright_provider_local::{Local, LocalConfig};
use zonewright_registry::txt::{TxtConfig, TxtRegistry};
use zonewright_source_k8s::options::{SourceKind, SourceOptions};
use zonewright_source_k8s::source::K8sSource;

use picture::Picture;

const ZONE: &str = "demo.test";

const INSTANCE: &str = "local";

/// The folder that is made where none is given.
const FOLDER: &str = "zonewright-demo";

/// The sample manifests.
const SAMPLES: [(&str, &str); 3] = [
    ("web.yaml", include_str!("../../demo/web.yaml")),
    ("shop.yaml", include_str!("../../demo/shop.yaml")),
    ("broken.yaml", include_str!("../../demo/broken.yaml")),
];

/// Keeps the last warnings for the picture.
#[derive(Default)]
struct Warnings(Mutex<Vec<Note>>);

const WARNINGS: usize = 50;

impl Reporter for Warnings {
    fn tell(&self, note: &Note) {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        notes.retain(|former| former != note);
        if note.severity == Severity::Warning {
            notes.push(note.clone());
        }
        let surplus = notes.len().saturating_sub(WARNINGS);
        notes.drain(..surplus);
    }
}

impl Warnings {
    fn all(&self) -> Vec<Note> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Runs until the user has seen enough.
///
/// # Errors
/// What keeps it from starting: the folder, or the address.
pub(crate) async fn run(settings: &Settings, stop: CancellationToken) -> Result<ExitCode> {
    let folder = folder(settings.text("manifests"))?;
    let local = serve(settings.text("listen")).await?;
    let options = SourceOptions { sources: vec![SourceKind::Service, SourceKind::Ingress], ..SourceOptions::default() };
    let (source, tasks) = K8sSource::manifests(&folder, options, &zonewright_core::source::SeenKinds::default())?;
    let warnings = Arc::new(Warnings::default());
    let registry = Arc::new(TxtRegistry::new(TxtConfig::new("demo")?)?);
    let parts = Parts {
        sources: vec![source.clone()],
        instances: vec![Instance::new(InstanceId::from(INSTANCE), local.clone(), registry)],
        name_policy: Arc::new(PermitAll),
        store: Arc::new(MemoryStore::default()),
        journal: Journaling::default(),
        reporter: warnings.clone(),
        metrics: Arc::new(Metrics::default()),
        clock: Clock::system(),
        own_object: None,
    };
    let engine = Engine::start(Config { interval: Duration::from_secs(10), ..Config::default() }, parts).await;
    engine.settled().await;
    let paint = || Picture::of(&engine, &warnings.all(), &source.faults(), local.addr(), &folder);
    if settings.bool("plain") || !std::io::stdout().is_terminal() {
        lines::follow(paint, stop).await;
    } else {
        screen::show(paint, stop).await?;
    }
    engine.stop().await;
    drop(tasks);
    Ok(ExitCode::SUCCESS)
}

/// The folder to read: the given one, or a new one with samples. Files that are there already stay as they are.
fn folder(given: &str) -> Result<PathBuf> {
    if !given.is_empty() {
        return Ok(PathBuf::from(given));
    }
    let folder = PathBuf::from(FOLDER);
    let problem = |e| Error::new(ErrorKind::Configuration, "make the demo's folder", FOLDER).caused_by(e);
    std::fs::create_dir_all(&folder).map_err(problem)?;
    for (name, text) in SAMPLES {
        let file = folder.join(name);
        if !file.exists() {
            std::fs::write(file, text).map_err(problem)?;
        }
    }
    Ok(folder)
}

/// The server at `address`, or at a free port beside it if it is taken.
async fn serve(address: &str) -> Result<Arc<Local>> {
    let zone =
        DnsName::parse(ZONE).map_err(|e| Error::new(ErrorKind::Configuration, "start the server", e.to_string()))?;
    let address: SocketAddr = address.parse().map_err(|_| {
        let text = format!("--listen {address:?}: expected an address and a port, such as 127.0.0.1:5353");
        Error::new(ErrorKind::Configuration, "start the server", text)
    })?;
    let config = |listen| LocalConfig {
        instance: InstanceId::from(INSTANCE),
        listen,
        zones: vec![zone.clone()],
        ..LocalConfig::default()
    };
    match Local::start(config(address)).await {
        Ok(local) => Ok(local),
        Err(_) => Local::start(config(SocketAddr::new(address.ip(), 0))).await,
    }
}

/// The file that the first lines tell to edit.
fn example(folder: &Path) -> PathBuf {
    let web = folder.join("web.yaml");
    if web.exists() { web } else { folder.to_path_buf() }
}
