//! `zonewright gardener`: the extension controller of Gardener, wired.
//!
//! In come the settings; out goes a controller that handles DNSRecords until the order to stop, or until another process leads.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tracing::info;
use zonewright_cluster::{EventOptions, EventReporter};
use zonewright_core::catalog::Settings;
use zonewright_core::{Error, ErrorKind, Result};
use zonewright_gardener::accounts::{Backend, ProviderAccounts};
use zonewright_gardener::controller::{Controller, ControllerParts, Leases};
use zonewright_gardener::filter::RecordFilter;
use zonewright_gardener::metrics::ControllerMetrics;
use zonewright_gardener::secret::ProviderKind;

use crate::catalog::Catalog;
use crate::daemon::{self, surroundings};
use crate::http::{self, HealthCheck, StatusPages};
use crate::{config, connection, summary};

/// Works until SIGTERM or SIGINT.
///
/// # Errors
/// What keeps it from starting; that another process leads.
pub(crate) async fn run(catalog: &Catalog, settings: &Settings) -> Result<ExitCode> {
    let stop = CancellationToken::new();
    surroundings::on_signal(stop.clone())?;
    info!(version = env!("CARGO_PKG_VERSION"), given = summary::given(settings), "zonewright gardener starts");
    let backends = backends(catalog, settings)?;
    let types: Vec<String> = backends.iter().map(|backend| backend.kind.as_str().to_owned()).collect();
    let scope =
        RecordFilter::new(&words(settings, "extension-classes"), &types, settings.bool("ignore-operation-annotation"));
    let metrics = Arc::new(daemon::metrics());
    let Some(cluster) = connection::open(catalog, settings).await? else { return Err(connection::none()) };
    let shared = daemon::shared(&metrics);
    let (reporter, poster) = EventReporter::new(&cluster, EventOptions { dry_run: false, instance: host() });
    let poster = tokio::spawn(poster.run(stop.clone().cancelled_owned()));
    let controller = Controller::new(ControllerParts {
        leases: leases(settings, cluster.namespace()),
        scope,
        at_once: usize::try_from(settings.int("dnsrecord-max-concurrent-reconciles")).unwrap_or(1),
        accounts: ProviderAccounts::new(&backends, settings.clone(), shared, metrics.clone()),
        registry: config::registry(catalog, settings, None).await?,
        tally: ControllerMetrics::registered(&metrics),
        reporter: Arc::new(reporter),
        cluster,
    });
    let pages =
        StatusPages { metrics: Arc::new(move || metrics.text()), health: Arc::new(Watched(controller.clone())) };
    let servers = listen(settings, &pages, &stop).await?;
    info!(types = types.join(","), "handling DNSRecords");
    let ended = controller.run(stop.clone()).await;
    stop.cancel();
    for server in servers {
        let _ = server.task.await;
    }
    let _ = poster.await;
    ended.map(|()| ExitCode::SUCCESS)
}

/// The types that are asked for, each with its provider.
fn backends(catalog: &Catalog, settings: &Settings) -> Result<Vec<Backend>> {
    let backend = |kind: ProviderKind| catalog.provider(kind.provider()).map(|entry| Backend { kind, entry: *entry });
    let here: Vec<Backend> = ProviderKind::ALL.into_iter().filter_map(backend).collect();
    let asked = words(settings, "types");
    if asked.is_empty() {
        return Ok(here);
    }
    let one = |name: &String| {
        let found = here.iter().find(|backend| backend.kind.as_str() == name).copied();
        found.ok_or_else(|| {
            let known: Vec<&str> = here.iter().map(|backend| backend.kind.as_str()).collect();
            let text = format!("--types={name}: no provider of this build serves it; expected {}", known.join(", "));
            Error::new(ErrorKind::Configuration, "read the flags", text)
        })
    };
    asked.iter().map(one).collect()
}

/// The words of a flag that holds several, separated by commas or given one by one.
fn words(settings: &Settings, flag: &str) -> Vec<String> {
    let all = settings.list(flag).iter().flat_map(|text| text.split(','));
    all.map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// The pod, as events and leases name it.
fn host() -> String {
    let name = std::env::var("POD_NAME").or_else(|_| std::env::var("HOSTNAME")).unwrap_or_default();
    if name.is_empty() { "zonewright".to_owned() } else { name }
}

fn leases(settings: &Settings, home: &str) -> Leases {
    let namespace = |flag: &str| Some(settings.text(flag)).filter(|text| !text.is_empty()).unwrap_or(home).to_owned();
    let election = settings
        .bool("leader-election")
        .then(|| (namespace("leader-election-namespace"), settings.text("leader-election-id").to_owned()));
    let seconds = u64::try_from(settings.int("heartbeat-renew-interval-seconds")).unwrap_or(30);
    Leases {
        election,
        // Two processes on one host differ by their number, two pods by their name.
        me: format!("{}_{}_{}", host(), std::process::id(), jiff::Timestamp::now().as_nanosecond()),
        heartbeat: namespace("heartbeat-namespace"),
        interval: Duration::from_secs(seconds),
    }
}

/// Listens at both addresses; each shows all pages.
async fn listen(settings: &Settings, pages: &StatusPages, stop: &CancellationToken) -> Result<Vec<http::PageServer>> {
    let mut servers = Vec::new();
    let (metrics, health) = (settings.text("metrics-bind-address"), settings.text("health-bind-address"));
    let second = Some(health).filter(|health| *health != metrics || health.ends_with(":0"));
    for address in [Some(metrics), second].into_iter().flatten() {
        if address.is_empty() || address == "0" {
            continue;
        }
        let server = http::serve(address, pages.clone(), stop.clone()).await?;
        info!(address = %server.address, "serving metrics and probes");
        servers.push(server);
    }
    Ok(servers)
}

/// What the probes ask of the controller.
struct Watched(Arc<Controller>);

impl HealthCheck for Watched {
    fn live(&self) -> std::result::Result<(), String> {
        Ok(())
    }

    fn ready(&self) -> std::result::Result<(), String> {
        self.0.ready()
    }
}
