//! The suite that every provider passes, against a public zone of a real account: `cargo xtask live --provider azure --zone ZONE`.
//!
//! The zone is one that a person gives for it: it may hold no records but its SOA and NS, and holds none others afterwards. It is in
//! the resource group `AZURE_RESOURCE_GROUP` of the subscription `AZURE_SUBSCRIPTION_ID`; `AZURE_ACCESS_TOKEN` is a token for it, as
//! `az account get-access-token` prints it.

mod form;
mod suite;

use std::process::ExitCode;

use suite::{Access, Tried};

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> ExitCode {
    zonewright_conformance::live::main(async |zone| Tried::new(zone, &Access::of_environment(false)?).await).await
}
