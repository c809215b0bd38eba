//! `zonewright migrate`: what is read, and how the answer is printed.

use zonewright_core::catalog::{FlagKind, FlagSpec};

use super::command::OUTPUT;

/// The name of the command.
pub(super) const WORD: &str = "migrate";

/// What it does, in one line of the help.
pub(super) const ABOUT: &str = "Show what to run in place of an external-dns, what differs, and what is refused with the way round; asks no \
                                cluster. Status 2: something is refused";

/// How it is called.
pub(super) const USAGE: &str = "zonewright migrate --from=FILE|- [FLAGS]";

/// The flags of the command itself.
pub(super) const FLAGS: &[FlagSpec] = &[
    FlagSpec::new(
        "from",
        FlagKind::Text,
        "Manifests with external-dns' Deployment, values of its chart, or its arguments; -: standard input",
    )
    .or("-"),
    FlagSpec::new("name", FlagKind::Text, "Workload to read where there are several, as NAMESPACE/NAME or NAME"),
    OUTPUT,
];
