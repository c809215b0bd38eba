//! The suite that every provider passes, against a zone of a real account: `cargo xtask live --provider cloudflare --zone ZONE`.
//!
//! The zone is one that a person gives for it: it may hold no records, and holds none afterwards. It needs a paid plan: the suite
//! writes more records than a free zone may have. Credentials are those of the provider (`CF_API_TOKEN`, or `CF_API_KEY` and
//! `CF_API_EMAIL`); `CLOUDFLARE_BASE_URL` leads elsewhere.

mod form;
mod suite;

use std::process::ExitCode;

use suite::{Options, Tried};

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> ExitCode {
    zonewright_conformance::live::main(async |zone| Tried::new(zone, &Options::default()).await).await
}
