//! A real external-dns and Zonewright at one Cloud DNS, a fake of it on loopback.
//!
//! `cargo xtask sidebyside --provider google` builds both programs and runs this. Exit status: 0 where neither finds anything to do
//! after the other, 1 where one does, 2 where it could not be found out.

mod objects;
mod swap;

use std::process::ExitCode;

use zonewright_sidebyside::cloud::CloudDns;
use zonewright_sidebyside::cost::measure;

fn main() -> ExitCode {
    zonewright_sidebyside::command::main("sidebyside-clouddns", async |options| {
        if options.cost {
            return measure::<CloudDns>(&options.programs).await.map(|()| true);
        }
        anyhow::ensure!(!options.large, "--large is played at Route 53 alone");
        swap::play(&options.programs, options.verbose).await
    })
}
