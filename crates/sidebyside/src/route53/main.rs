//! A real external-dns and Zonewright at one Route 53, a fake of it on loopback.
//!
//! `cargo xtask sidebyside --provider aws` builds both programs and runs this. Exit status: 0 where neither finds anything to do
//! after the other, 1 where one does, 2 where it could not be found out.

mod large;
mod objects;
mod swap;

use std::process::ExitCode;

use zonewright_fakes::route53::Route53;
use zonewright_sidebyside::cost::measure;

fn main() -> ExitCode {
    zonewright_sidebyside::command::main("sidebyside-route53", async |options| {
        if options.cost {
            return measure::<Route53>(&options.programs).await.map(|()| true);
        }
        if options.large {
            return large::measure(&options.programs).await.map(|()| true);
        }
        swap::play(&options.programs, options.verbose).await
    })
}
