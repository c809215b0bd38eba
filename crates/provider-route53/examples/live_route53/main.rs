//! The suite that every provider passes, against a zone of a real account: `cargo xtask live --provider route53 --zone ZONE`.
//!
//! The zone is one that a person gives for it: it may hold nothing but its SOA and NS, and holds nothing else afterwards. Credentials
//! are found as every AWS program finds them; `AWS_ENDPOINT_URL` leads elsewhere.

mod suite;

use std::process::ExitCode;

use suite::{Options, Tried};

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> ExitCode {
    zonewright_conformance::live::main(async |zone| Tried::new(zone, &Options::default()).await).await
}
