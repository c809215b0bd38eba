//! `zonewright gardener --admission`: the webhook that holds DNSRecords against their rules when they are written.
//!
//! In come the settings; out goes an HTTPS server that answers until the order to stop. It asks nobody anything: it needs no
//! kubeconfig, no rights and no lease, and any number of them may run.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tracing::info;
use zonewright_core::catalog::Settings;
use zonewright_core::{Error, ErrorKind, Result};
use zonewright_gardener::admission::{AdmissionServer, Certificate};

use crate::daemon::{self, surroundings};
use crate::http::{self, HealthCheck, StatusPages};
use crate::summary;

/// The flag of the address.
const ADDRESS: &str = "admission-bind-address";
/// The flag of the folder with certificate and key.
const CERTIFICATE: &str = "admission-cert-dir";

/// Answers until SIGTERM or SIGINT.
///
/// # Errors
/// What keeps it from starting. Nothing ends it later.
pub(crate) async fn run(settings: &Settings) -> Result<ExitCode> {
    let stop = CancellationToken::new();
    surroundings::on_signal(stop.clone())?;
    info!(version = env!("CARGO_PKG_VERSION"), given = summary::given(settings), "zonewright starts");
    let certificate = Certificate::read(Path::new(settings.text(CERTIFICATE)))?;
    let listener = http::listen(ADDRESS, settings.text(ADDRESS)).await?;
    let metrics = Arc::new(daemon::metrics());
    let pages = StatusPages { metrics: Arc::new(move || metrics.text()), health: Arc::new(Serving) };
    let probes = http::serve(settings.text("health-bind-address"), pages, stop.clone()).await?;
    info!(address = %probes.address, "metrics and probes");
    let address = listener
        .local_addr()
        .map_err(|error| Error::new(ErrorKind::Configuration, "listen", format!("--{ADDRESS}")).caused_by(error))?;
    info!(%address, "answering admission reviews of DNSRecords");
    AdmissionServer::new(certificate).serve(listener, stop).await;
    info!("Received SIGTERM. Terminating...");
    let _ = probes.task.await;
    Ok(ExitCode::SUCCESS)
}

/// What the probes ask: it serves from the moment that it listens, and nothing that it needs can be lost.
struct Serving;

impl HealthCheck for Serving {
    fn live(&self) -> std::result::Result<(), String> {
        Ok(())
    }

    fn ready(&self) -> std::result::Result<(), String> {
        Ok(())
    }
}
