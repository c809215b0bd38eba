//! `--webhook-server`: the chosen provider for programs that speak the webhook protocol.
//!
//! In come the settings; out goes a server that answers until the order to stop, and then ends what it has begun. No object
//! is read, nothing is planned, and no registry is opened: what is ours is the caller's affair.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tracing::info;
use zonewright_core::catalog::Settings;
use zonewright_core::{Error, ErrorKind, Result};
use zonewright_engine::layer::Layers;
use zonewright_provider_webhook::server::{ServedNames, Server, Serving, Times};

use crate::catalog::Catalog;
use crate::daemon::{self, surroundings};
use crate::http::{self, HealthCheck, StatusPages};
use crate::{config, summary};

/// Serves until SIGTERM or SIGINT.
///
/// # Errors
/// What keeps it from starting. Nothing ends it later.
pub(crate) async fn run(catalog: &Catalog, settings: &Settings) -> Result<ExitCode> {
    let stop = CancellationToken::new();
    surroundings::on_signal(stop.clone())?;
    info!(version = env!("CARGO_PKG_VERSION"), given = summary::given(settings), "zonewright starts");
    let metrics = Arc::new(daemon::metrics());
    let (entry, id) = config::provider(catalog, settings)?;
    let scope = scope(settings)?;
    // An address in use is reported before anything else begins.
    let listener = http::listen(ADDRESS, settings.text(ADDRESS)).await?;
    let provider = config::build(entry, &id, settings, &daemon::shared(&metrics)).await?;
    let dry_run = settings.bool("dry-run");
    let server = Server::new(Serving {
        provider: Layers { dry_run, ..Layers::new(id) }.around(provider, &metrics),
        options: config::options(entry, settings),
        scope,
        times: times(settings),
        limit: usize::try_from(settings.int("webhook-provider-max-body-size")).ok().filter(|bytes| *bytes > 0),
    });
    let pages = StatusPages { metrics: Arc::new(move || metrics.text()), health: Arc::new(Readable(server.clone())) };
    let probes = surroundings::listen(settings, pages, stop.clone()).await?;
    if dry_run {
        info!("running in dry-run mode: no change is made to any zone");
    }
    let address = listener
        .local_addr()
        .map_err(|error| Error::new(ErrorKind::Configuration, "listen", format!("--{ADDRESS}")).caused_by(error))?;
    info!(provider = entry.name, %address, "serving the provider over the webhook protocol");
    server.serve(listener, stop).await;
    info!("Received SIGTERM. Terminating...");
    if let Some(probes) = probes {
        let _ = probes.task.await;
    }
    Ok(ExitCode::SUCCESS)
}

/// The flag of the address.
const ADDRESS: &str = "webhook-server-address";

fn scope(settings: &Settings) -> Result<ServedNames> {
    let (include, exclude) = (settings.list("domain-filter"), settings.list("exclude-domains"));
    let (regex, regex_exclude) = (settings.text("regex-domain-filter"), settings.text("regex-domain-exclusion"));
    ServedNames::new(include, exclude, regex, regex_exclude)
        .map_err(|error| Error::new(ErrorKind::Configuration, "read the flags", error.to_string()))
}

/// The time-outs of the flags; 0 is none.
fn times(settings: &Settings) -> Times {
    let some = |what: &str| -> Option<Duration> {
        Some(settings.duration(&format!("webhook-provider-{what}-timeout"))).filter(|time| !time.is_zero())
    };
    Times { read: some("read"), write: some("write"), header: some("read-header"), idle: some("idle") }
}

/// What the probes ask of the server: it is ready while the provider can be read.
struct Readable(Arc<Server>);

impl HealthCheck for Readable {
    fn live(&self) -> std::result::Result<(), String> {
        Ok(())
    }

    fn ready(&self) -> std::result::Result<(), String> {
        self.0.readable()
    }
}
