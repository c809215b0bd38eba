//! `zonewright kops`: the daemon in place of kops' dns-controller.
//!
//! In come the settings that [`crate::flags`] made of dns-controller's; the daemon runs by them. What is left to do is what a flag cannot
//! say: who the owner is, and which zones count.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use zonewright_core::catalog::{FlagValue, Settings};
use zonewright_core::provider::Provider;
use zonewright_core::shared::Shared;
use zonewright_core::zone_rules::ZoneRules;
use zonewright_core::{Error, ErrorKind, RData, Result};
use zonewright_engine::layer::SelectedZones;
use zonewright_source_k8s::options::KOPS;

use crate::catalog::Catalog;
use crate::daemon::{self, Surroundings};
use crate::status;

/// How long a list of zones is kept, as in dns-controller.
const ZONES_KEPT: Duration = Duration::from_mins(15);

/// What kops itself writes to the names of the API when it makes a cluster, until the controller publishes them: so resolvers do not
/// remember that there is no such name.
const PLACEHOLDERS: [RData; 2] =
    [RData::A(Ipv4Addr::new(203, 0, 113, 123)), RData::Aaaa(Ipv6Addr::new(0xfd00, 0xdead, 0xadd, 0, 0, 0, 0, 0))];

/// Values that hold the place of ours, where the program is this command.
pub(crate) fn placeholders(settings: &Settings) -> Vec<RData> {
    if settings.bool(KOPS) { PLACEHOLDERS.to_vec() } else { Vec::new() }
}

/// Runs until SIGTERM or SIGINT.
///
/// # Errors
/// As [`daemon::run`].
pub(crate) async fn run(catalog: &Catalog, settings: &Settings) -> Result<ExitCode> {
    let mut settings = settings.clone();
    let around = Surroundings::open(&settings).await?;
    if !settings.given("txt-owner-id") {
        let owner = tokio::select! {
            owner = owner(catalog, &settings) => owner,
            () = around.stop.cancelled() => return Ok(around.stopped_early(&settings).await),
        };
        let owner = match owner {
            Err(error) if settings.bool("once") && error.kind != ErrorKind::Configuration => {
                return Ok(status::unread(UID, &error.chain()));
            }
            owner => owner?,
        };
        tracing::info!(owner, "the owner of records is this cluster, by the UID of the namespace kube-system");
        settings.set("txt-owner-id", FlagValue::Text(owner), true);
    }
    daemon::run_in(around, catalog, &settings, &[]).await
}

/// What says which cluster this is.
const UID: &str = "the UID of the namespace kube-system";

/// The provider with the zones that `--zone` lets through, where the program is this command.
///
/// # Errors
/// A rule is none.
pub(crate) fn selected(provider: Arc<dyn Provider>, settings: &Settings, shared: &Shared) -> Result<Arc<dyn Provider>> {
    if !settings.bool(KOPS) {
        return Ok(provider);
    }
    let rules = ZoneRules::parse(settings.list("zone").iter().map(String::as_str))
        .map_err(|problem| Error::new(ErrorKind::Configuration, "read the flags", format!("--zone: {problem}")))?;
    Ok(Arc::new(SelectedZones::new(provider, rules, ZONES_KEPT, shared.get())))
}

/// Who writes records where nobody says so: the cluster itself, so that several may share a zone. The API server may come up after this
/// process, so it is asked until it answers; with `--once` until `--start-timeout` is over, as for every other reading.
///
/// # Errors
/// There is no cluster to ask; with `--once` also that it did not answer.
#[cfg(feature = "cluster")]
async fn owner(catalog: &Catalog, settings: &Settings) -> Result<String> {
    use tokio::time::Instant;

    let cluster = crate::connection::open(catalog, settings).await?.ok_or_else(nobody)?;
    let patience = settings.bool("once").then(|| settings.duration("start-timeout"));
    let (began, mut pause) = (Instant::now(), FIRST_PAUSE);
    loop {
        let left = patience.map(|patience| patience.saturating_sub(began.elapsed()));
        // The last attempt is made when the time is over.
        let wait = left.map_or(pause, |left| left.min(pause));
        match cluster.uid().await {
            Ok(uid) => return Ok(format!("kops-{uid}")),
            Err(error) if left.is_some_and(|left| left.is_zero()) => return Err(error),
            Err(error) => {
                let next_attempt = zonewright_core::duration::show(wait);
                tracing::warn!(error = error.chain(), next_attempt, "it is not known yet which cluster this is");
            }
        }
        tokio::time::sleep(wait).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Pauses between two questions.
#[cfg(feature = "cluster")]
const FIRST_PAUSE: Duration = Duration::from_secs(1);
#[cfg(feature = "cluster")]
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

#[cfg(not(feature = "cluster"))]
#[expect(clippy::unused_async, reason = "the same shape with and without the feature")]
async fn owner(_: &Catalog, _: &Settings) -> Result<String> {
    Err(nobody())
}

fn nobody() -> Error {
    let text = "with --manifests there is no cluster to name as the owner of records: give --txt-owner-id";
    Error::new(ErrorKind::Configuration, "read the flags", text)
}
