//! What the same work costs a real external-dns and Zonewright at one Cloud DNS, a fake of it on loopback.
//!
//! `cargo xtask sidebyside --provider google --cost` builds both programs and runs this. Exit status: 0 where it was measured, 2 where
//! it could not be.

use std::process::ExitCode;

use anyhow::ensure;
use zonewright_sidebyside::cloud::CloudDns;
use zonewright_sidebyside::cost::measure;

fn main() -> ExitCode {
    zonewright_sidebyside::command::main("sidebyside-clouddns", async |options| {
        ensure!(options.cost, "at Cloud DNS costs are measured, and nothing else is played: expected --cost");
        measure::<CloudDns>(&options.programs).await.map(|()| true)
    })
}
