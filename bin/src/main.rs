//! The Zonewright daemon and its commands.

use std::process::ExitCode;

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    zonewright::run(&zonewright::Catalog::built_in())
}
