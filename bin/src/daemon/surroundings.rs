//! What a daemon has from its first moment on: the order to stop, metrics and probes.
//!
//! In come the settings; out goes something that answers probes and knows of the order to stop while the rest is still being started.
//! What must hold: nothing else is begun before an address in use is reported.

use std::process::ExitCode;
use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;
use tracing::info;
use zonewright_core::catalog::Settings;
use zonewright_core::{Error, ErrorKind, Result};
use zonewright_engine::Engine;
use zonewright_engine::metrics::Metrics;

use super::metrics;
use crate::http::{self, HealthCheck, PageServer, StatusPages};
use crate::{config, status, summary};

/// The order to stop, metrics and probes.
pub(crate) struct Surroundings {
    pub(crate) stop: CancellationToken,
    pub(super) metrics: Arc<Metrics>,
    pub(super) health: Arc<EngineHealth>,
    server: Option<PageServer>,
}

impl Surroundings {
    /// Listens for signals, and for whoever probes and measures: an address in use is reported before anything else begins.
    ///
    /// # Errors
    /// What keeps it from listening; flags that make no sense.
    pub(crate) async fn open(settings: &Settings) -> Result<Self> {
        let stop = CancellationToken::new();
        on_signal(stop.clone())?;
        info!(version = env!("CARGO_PKG_VERSION"), given = summary::given(settings), "zonewright starts");
        config::engine(settings)?;
        let (metrics, health) = (Arc::new(metrics()), Arc::new(EngineHealth::default()));
        let shown = metrics.clone();
        let pages = StatusPages { metrics: Arc::new(move || shown.text()), health: health.clone() };
        let server = listen(settings, pages, stop.clone()).await?;
        Ok(Self { stop, metrics, health, server })
    }

    /// The status of a process that was to stop before anything was read.
    pub(crate) async fn stopped_early(self, settings: &Settings) -> ExitCode {
        info!("Received SIGTERM. Terminating...");
        self.close().await;
        if settings.bool("once") {
            return status::unread("everything", "stopped by a signal before anything was read");
        }
        ExitCode::SUCCESS
    }

    /// Stops answering.
    pub(super) async fn close(self) {
        self.stop.cancel();
        if let Some(server) = self.server {
            let _ = server.task.await;
        }
    }
}

/// What the probes ask of the engine; until there is one, the process is alive and not ready.
#[derive(Default)]
pub(super) struct EngineHealth(OnceLock<Arc<Engine>>);

impl EngineHealth {
    /// From now on the engine answers.
    pub(super) fn knows(&self, engine: Arc<Engine>) {
        // There is one engine in a process.
        let _ = self.0.set(engine);
    }
}

impl HealthCheck for EngineHealth {
    fn live(&self) -> std::result::Result<(), String> {
        let stuck = self.0.get().map(|engine| engine.health().stuck).unwrap_or_default();
        if stuck.is_empty() { Ok(()) } else { Err(stuck.join("\n")) }
    }

    fn ready(&self) -> std::result::Result<(), String> {
        let Some(engine) = self.0.get() else { return Err("starting: the saved state is being read".to_owned()) };
        let unready = engine.health().unready;
        if unready.is_empty() { Ok(()) } else { Err(unready.join("\n")) }
    }
}

/// Listens at `--metrics-address`, unless it is empty.
pub(crate) async fn listen(
    settings: &Settings,
    pages: StatusPages,
    stop: CancellationToken,
) -> Result<Option<PageServer>> {
    let address = settings.text("metrics-address");
    if address.is_empty() {
        return Ok(None);
    }
    let server = http::serve(address, pages, stop).await?;
    info!(address = %server.address, "serving metrics and probes");
    Ok(Some(server))
}

/// The order to stop.
pub(crate) fn on_signal(stop: CancellationToken) -> Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let open = |kind| {
        signal(kind).map_err(|e| Error::new(ErrorKind::Configuration, "listen for signals", "SIGTERM").caused_by(e))
    };
    let (mut term, mut int) = (open(SignalKind::terminate())?, open(SignalKind::interrupt())?);
    tokio::spawn(async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
        stop.cancel();
    });
    Ok(())
}
