//! The suite that every provider passes, against a private zone of a real account: `cargo xtask live --provider azure-private --zone
//! ZONE`. All else is as with public zones (`../live`).

#[path = "../live_azure/form.rs"]
mod form;
#[path = "../live_azure/suite.rs"]
mod suite;

use std::process::ExitCode;

use suite::{Access, Tried};

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> ExitCode {
    zonewright_conformance::live::main(async |zone| Tried::new(zone, &Access::of_environment(true)?).await).await
}
