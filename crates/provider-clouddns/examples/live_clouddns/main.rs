//! The suite that every provider passes, against a zone of a real project: `cargo xtask live --provider clouddns --zone ZONE`.
//!
//! The zone is one that a person gives for it: it may hold no records but its SOA and NS, and holds none others afterwards. It is in
//! the project `GOOGLE_CLOUD_PROJECT`; `GOOGLE_ACCESS_TOKEN` is a token for it, as `gcloud auth print-access-token` prints it.

mod form;
mod suite;

use std::process::ExitCode;

use suite::{Access, Tried};

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> ExitCode {
    zonewright_conformance::live::main(async |zone| Tried::new(zone, &Access::of_environment()?).await).await
}
