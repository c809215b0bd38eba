//! What the same work costs a real external-dns and Zonewright at one Azure DNS, a fake of it on loopback.
//!
//! `cargo xtask sidebyside --provider azure --cost` builds both programs and runs this. Exit status: 0 where it was measured, 2 where
//! it could not be.

use std::process::ExitCode;

use anyhow::ensure;
use zonewright_sidebyside::cloud::AzureDns;
use zonewright_sidebyside::cost::measure;

fn main() -> ExitCode {
    zonewright_sidebyside::command::main("sidebyside-azure", async |options| {
        ensure!(options.cost, "at Azure DNS costs are measured, and nothing else is played: expected --cost");
        measure::<AzureDns>(&options.programs).await.map(|()| true)
    })
}
