//! The daemon: parts from settings, the engine, and what is around it until the order to stop.

pub(crate) mod surroundings;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};
use zonewright_core::catalog::Settings;
use zonewright_core::clock::Clock;
use zonewright_core::endpoint::{ObjectRef, Reporter, TypeMeta, Uid};
use zonewright_core::name_policy::PermitAll;
use zonewright_core::plan::Adoptable;
use zonewright_core::shared::Shared;
use zonewright_core::source::Source;
use zonewright_core::store::{MemoryStore, StateStore};
use zonewright_core::wrap::Wrapped;
use zonewright_core::zone::ZoneKey;
use zonewright_core::{Error, ErrorKind, Result};
use zonewright_engine::journal::Journaling;
use zonewright_engine::metrics::Metrics;
use zonewright_engine::{self as engine, Engine, Outcome, Parts};
use zonewright_source_k8s::options::SourceOptions;
use zonewright_source_k8s::source::K8sSource;

use crate::catalog::Catalog;
use crate::command_flags;
use crate::connection::{self, Connection};
use crate::instance::InstanceSettings;
use crate::preview::{self, Gatherer, Preview};
use crate::reporter::LogReporter;
use crate::state_lock::StateLock;
use crate::{config, control, journal, saved, state_dir, status};

pub(crate) use self::surroundings::Surroundings;

/// How long the end waits for what is still written to objects. Events take five seconds at most and then say how many were left;
/// statuses have all the time that a single pass has, and after a signal as much as events.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(7);
const ONCE_GRACE: Duration = Duration::from_mins(1);

/// Runs until SIGTERM or SIGINT, or one pass with `--once`.
///
/// # Errors
/// What keeps it from starting. Nothing ends it later.
pub(crate) async fn run(catalog: &Catalog, settings: &Settings, listed: &[InstanceSettings]) -> Result<ExitCode> {
    run_in(Surroundings::open(settings).await?, catalog, settings, listed).await
}

/// As [`run`], where signals and probes are served already.
///
/// # Errors
/// As [`run`].
pub(crate) async fn run_in(
    around: Surroundings,
    catalog: &Catalog,
    settings: &Settings,
    listed: &[InstanceSettings],
) -> Result<ExitCode> {
    // An API server that hangs costs half a minute for each request.
    let started = tokio::select! {
        started = start(&around, catalog, settings, listed) => Some(started?),
        () = around.stop.cancelled() => None,
    };
    match started {
        Some(started) => serve(started, around, settings).await,
        None => Ok(around.stopped_early(settings).await),
    }
}

/// The engine at work, and what it works with.
struct Started {
    engine: Arc<Engine>,
    gathered: Option<Arc<Gatherer>>,
    lock: Option<StateLock>,
    tasks: Tasks,
}

async fn start(
    around: &Surroundings,
    catalog: &Catalog,
    settings: &Settings,
    listed: &[InstanceSettings],
) -> Result<Started> {
    let config = config::engine(settings)?;
    let metrics = &around.metrics;
    let cluster = connection::open(catalog, settings).await?;
    let shared = shared(metrics);
    let documents = connection::documents(catalog, settings, cluster.as_ref());
    let instances = config::instances(catalog, settings, listed, documents, &shared).await?;
    let world = DaemonParts::open(settings, &config, cluster).await?;
    if config.dry_run {
        info!("running in dry-run mode: no change is made to any zone");
    }
    let looks = config.dry_run && config.one_pass;
    let gathered = looks.then(|| Arc::new(Gatherer::before(world.reporter.clone())));
    let reporter = gathered.clone().map_or(world.reporter, |gatherer| gatherer as Arc<dyn Reporter>);
    let parts = Parts {
        sources: vec![Wrapped::around(world.source, config::wrapping(settings)?)],
        instances,
        name_policy: Arc::new(PermitAll),
        store: world.store,
        journal: world.journal,
        reporter,
        metrics: metrics.clone(),
        clock: Clock::system(),
        own_object: own_object(),
    };
    let engine = Arc::new(Engine::start(config, parts).await);
    around.health.knows(engine.clone());
    Ok(Started { engine, gathered, lock: world.lock, tasks: world.tasks })
}

async fn serve(started: Started, around: Surroundings, settings: &Settings) -> Result<ExitCode> {
    let Started { engine, gathered, lock, tasks } = started;
    let stop = &around.stop;
    let pass = if settings.bool("once") {
        let outcome = tokio::select! {
            outcome = engine.settled() => outcome,
            () = stop.cancelled() => engine.outcome(),
        };
        if let Some(notes) = gathered {
            let (zones, notes, outcome) = (engine.preview(), notes.take(), outcome.clone());
            let flags = command_flags::given(settings);
            preview::print(&Preview { flags, zones, notes, outcome }, false);
        }
        Some(outcome)
    } else {
        if let Err(error) = control::serve(&state_dir::folder(settings), engine.clone(), stop.clone()).await {
            error!(
                error = error.chain(),
                "the control socket is not available: `zonewright plans`, `approve`, `undo` and `pinned` will not work; \
                 `zonewright explain` and `plan` do with the daemon's flags, and ask no daemon"
            );
        } else {
            engine.metrics().control_socket.set(1);
        }
        stop.cancelled().await;
        info!("Received SIGTERM. Terminating...");
        None
    };
    let patience = if stop.is_cancelled() { SHUTDOWN_GRACE } else { ONCE_GRACE };
    stop.cancel();
    let left = engine.stop().await;
    drop(lock);
    tasks.end(patience).await;
    around.close().await;
    let ended = |mut outcome: Outcome| {
        outcome.end(left);
        status::of_pass(&outcome)
    };
    Ok(pass.map_or(ExitCode::SUCCESS, ended))
}

/// What is wanted and stands unclaimed: one look at everything, without changing anything.
///
/// # Errors
/// What keeps it from starting, and what could not be read.
pub(crate) async fn adoptable(
    catalog: &Catalog,
    settings: &Settings,
    listed: &[InstanceSettings],
) -> Result<Vec<(ZoneKey, Adoptable)>> {
    let reporter = Arc::new(LogReporter::new(None));
    // What stands is asked for, not what an undo has pinned.
    let (adoptable, outcome) = look(catalog, settings, listed, reporter, false, Engine::adoptable).await?;
    let failures = outcome.failures();
    if failures.is_empty() {
        return Ok(adoptable);
    }
    Err(Error::new(ErrorKind::Unavailable, "look at what is wanted", failures.join("; ")))
}

/// Looks once at everything, without changing anything; returns what is asked of the engine then, and how the pass went. `saved`:
/// with the state that a daemon saved, its pins and approvals.
///
/// # Errors
/// What keeps it from starting.
pub(crate) async fn look<T>(
    catalog: &Catalog,
    settings: &Settings,
    listed: &[InstanceSettings],
    reporter: Arc<dyn Reporter>,
    saved: bool,
    asked: impl FnOnce(&Engine) -> T,
) -> Result<(T, Outcome)> {
    let config = engine::Config { dry_run: true, one_pass: true, ..config::engine(settings)? };
    let cluster = connection::open(catalog, settings).await?;
    let documents = connection::documents(catalog, settings, cluster.as_ref());
    let instances = config::instances(catalog, settings, listed, documents, &Shared::default()).await?;
    let world = DaemonParts::open(settings, &config, cluster).await?;
    let parts = Parts {
        sources: vec![Wrapped::around(world.source, config::wrapping(settings)?)],
        instances,
        name_policy: Arc::new(PermitAll),
        store: if saved { world.store } else { Arc::new(MemoryStore::default()) },
        journal: Journaling::default(),
        reporter,
        metrics: Arc::new(Metrics::default()),
        clock: Clock::system(),
        own_object: None,
    };
    let engine = Engine::start(config, parts).await;
    let outcome = engine.settled().await;
    let answer = asked(&engine);
    engine.stop().await;
    drop(world.tasks);
    Ok((answer, outcome))
}

/// What is read, and where it is reported and kept.
pub(crate) struct DaemonParts {
    pub(crate) source: Arc<dyn Source>,
    store: Arc<dyn StateStore>,
    /// As long as the state may be saved, no command changes it.
    lock: Option<StateLock>,
    pub(crate) journal: Journaling,
    reporter: Arc<dyn Reporter>,
    pub(crate) tasks: Tasks,
}

/// What goes on beside the engine.
pub(crate) struct Tasks {
    /// What feeds the source; ends when it is dropped.
    readers: JoinSet<()>,
    /// What writes to objects of the cluster, until `ending`.
    writers: JoinSet<()>,
    ending: CancellationToken,
}

impl Tasks {
    fn of(readers: JoinSet<()>) -> Self {
        Self { readers, writers: JoinSet::new(), ending: CancellationToken::new() }
    }

    /// Ends them; events and statuses that are due are written first, within this time.
    async fn end(self, patience: Duration) {
        drop(self.readers);
        self.ending.cancel();
        if tokio::time::timeout(patience, self.writers.join_all()).await.is_err() {
            warn!("some events and statuses were not written: the API server did not answer in time");
        }
    }
}

impl DaemonParts {
    /// Opens what the settings name.
    ///
    /// # Errors
    /// What cannot be opened.
    pub(crate) async fn open(
        settings: &Settings,
        config: &engine::Config,
        cluster: Option<Connection>,
    ) -> Result<Self> {
        let patience = if config.one_pass { config.start_timeout } else { Duration::ZERO };
        let options = SourceOptions { patience, ..SourceOptions::from_settings(settings)? };
        let (saved, lock) = saved::open(settings, config.dry_run).await?;
        match settings.text("manifests") {
            "" => Ok(Self { lock, ..Self::cluster(settings, config, options, cluster, saved).await? }),
            folder => {
                let store = saved.unwrap_or_else(|| memory("there is neither --state-dir nor a cluster"));
                let seen = engine::seen_kinds(&*store).await;
                let (source, tasks) = K8sSource::manifests(Path::new(folder), options, &seen)?;
                let journal = journal::in_folder(settings, config.dry_run)?;
                let reporter = Arc::new(LogReporter::new(None));
                Ok(Self { source, store, lock, journal, reporter, tasks: Tasks::of(tasks) })
            }
        }
    }

    #[cfg(feature = "cluster")]
    async fn cluster(
        settings: &Settings,
        config: &engine::Config,
        options: SourceOptions,
        cluster: Option<Connection>,
        saved: Option<Arc<dyn StateStore>>,
    ) -> Result<Self> {
        use zonewright_cluster::{ConfigMapStore, EventOptions, EventReporter};

        let Some(cluster) = cluster else { return Err(connection::none()) };
        let store: Arc<dyn StateStore> = match saved {
            Some(store) => store,
            None if cluster.in_cluster() => {
                Arc::new(ConfigMapStore::new(&cluster, cluster.namespace(), settings.text("txt-owner-id")))
            }
            None => memory("there is no --state-dir, and the process does not run in a cluster"),
        };
        let journal = journal::in_cluster(settings, &cluster, config.dry_run)?;
        let seen = engine::seen_kinds(&*store).await;
        let (source, tasks) = K8sSource::watch(&cluster, options, &seen);
        let mut tasks = Tasks::of(tasks);
        if !config.dry_run {
            let ending = tasks.ending.clone().cancelled_owned();
            tasks.writers.spawn(source.clone().report_statuses(cluster.clone(), ending));
        }
        let instance = std::env::var("POD_NAME")
            .or_else(|_| std::env::var("HOSTNAME"))
            .unwrap_or_else(|_| "zonewright".to_owned());
        let (events, poster) = EventReporter::new(&cluster, EventOptions { dry_run: config.dry_run, instance });
        tasks.writers.spawn(poster.run(tasks.ending.clone().cancelled_owned()));
        let reporter = Arc::new(LogReporter::new(Some(Arc::new(events))));
        Ok(Self { source, store, lock: None, journal, reporter, tasks })
    }

    #[cfg(not(feature = "cluster"))]
    #[expect(clippy::unused_async, reason = "the same shape with and without the feature")]
    async fn cluster(
        _: &Settings,
        _: &engine::Config,
        _: SourceOptions,
        _: Option<Connection>,
        _: Option<Arc<dyn StateStore>>,
    ) -> Result<Self> {
        Err(connection::none())
    }
}

fn memory(why: &str) -> Arc<dyn StateStore> {
    warn!("{why}: the brake's window and approvals are kept in memory only and lost at a restart");
    Arc::new(MemoryStore::default())
}

/// The pod that this process runs in, where the downward API says so.
fn own_object() -> Option<ObjectRef> {
    let var = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
    Some(ObjectRef {
        types: TypeMeta::new("v1", "Pod"),
        namespace: Arc::from(var("POD_NAMESPACE")?),
        name: Arc::from(var("POD_NAME")?),
        uid: Uid::from(&*var("POD_UID")?),
    })
}

/// The metrics, with what was built.
pub(crate) fn metrics() -> Metrics {
    let metrics = Metrics::default();
    metrics.build_info(env!("CARGO_PKG_VERSION"), option_env!("ZONEWRIGHT_REVISION").unwrap_or("unknown"));
    metrics
}

/// What the provider instances have in common, with its metrics among those of the process.
#[cfg_attr(not(feature = "http"), expect(unused_variables, reason = "no provider here speaks HTTP"))]
pub(crate) fn shared(metrics: &Metrics) -> Shared {
    let shared = Shared::default();
    #[cfg(feature = "http")]
    {
        use zonewright_http::RequestTimes;
        let times = shared.get::<RequestTimes>();
        metrics.add_external_dns(RequestTimes::NAME, RequestTimes::HELP, times.family());
    }
    shared
}

#[cfg(all(test, feature = "http"))]
mod tests {
    use super::*;

    #[test]
    fn requests_of_providers_are_among_the_metrics() {
        let metrics = metrics();
        let times = shared(&metrics).get::<zonewright_http::RequestTimes>();
        let url = "http://localhost:8888/records".parse().expect("an address");
        times.observe(&url, "records", "GET", Some(200), std::time::Duration::from_millis(3));
        let line = "external_dns_http_request_duration_seconds_count{handler=\"instrumented_http\",scheme=\"http\",\
                    host=\"localhost:8888\",path=\"records\",method=\"get\",status=\"200\"} 1";
        assert!(metrics.text().contains(line), "{}", metrics.text());
    }
}
