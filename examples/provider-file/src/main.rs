//! Zonewright with one more provider.

use std::process::ExitCode;

fn main() -> ExitCode {
    zonewright::run(&zonewright::Catalog::built_in().with(provider_file::ENTRY))
}
