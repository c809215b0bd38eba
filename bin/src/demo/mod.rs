//! `zonewright demo`: the whole flow without a cluster and without a DNS server outside.
//!
//! A folder of manifests is read, an authoritative server inside answers for `demo.test`, and the screen shows names,
//! records, owners, what just changed and what is wrong. Held plans are approved or refused there, and changes undone.

mod lines;
mod picture;
mod samples;
mod screen;
mod session;
mod world;

use std::io::IsTerminal;
use std::process::ExitCode;

use tokio_util::sync::CancellationToken;
use zonewright_core::Result;
use zonewright_core::catalog::Settings;

use samples::Folder;
use session::Session;
use world::DaemonParts;

use crate::output::Written;

/// Runs until the user has seen enough.
///
/// # Errors
/// What keeps it from starting: the folder, or the address.
pub(crate) async fn run(settings: &Settings, stop: CancellationToken) -> Result<ExitCode> {
    let folder = Folder::open(settings.text("manifests"))?;
    let session = Session::start(DaemonParts::open(folder, settings.text("listen")).await?).await?;
    let mut written = Written::All;
    if settings.bool("plain") || !std::io::stdout().is_terminal() {
        written = lines::follow(|| session.picture(), stop).await;
    } else {
        screen::show(&session, stop).await?;
    }
    session.stop().await;
    Ok(written.or_failure(ExitCode::SUCCESS))
}
