//! `zonewright kops`: the flags of kops' dns-controller, as settings of the daemon.
//!
//! In come arguments in dns-controller's grammar (that of Go's pflag), among them any flag of the daemon itself; out come the values of
//! dns-controller's flags and, for the daemon's own parser, the other arguments. What must hold: every flag that dns-controller takes is
//! taken, and means what it means there; what cannot be done here is refused by name, with what to do.

mod grammar;
pub(super) mod table;
mod translate;

use std::ffi::OsString;

use zonewright_core::catalog::Settings;

use super::set::FlagSet;
use super::{help, settings};

pub(super) use translate::translate;

const USAGE: &str = "zonewright kops --internal-ipv4|--internal-ipv6 [--dns=PROVIDER] [--zone=RULE...] [FLAGS]";

const ABOUT: &str = "Runs in place of kops' dns-controller, with its flags. Every flag of the daemon that is not listed here is taken \
                     too (zonewright --help), such as --txt-owner-id, --registry and the flags of providers";

/// A command line of dns-controller.
#[derive(Debug)]
pub(super) struct Line {
    /// A value for each of dns-controller's flags.
    pub(super) own: Settings,
    /// The other arguments, in the daemon's grammar.
    pub(super) rest: Vec<OsString>,
}

/// Reads the arguments after the word; `daemon` has the flags that are left to the daemon.
///
/// # Errors
/// What is wrong with one of dns-controller's flags.
pub(super) fn read(arguments: impl IntoIterator<Item = OsString>, daemon: &FlagSet) -> Result<Line, String> {
    let ours = FlagSet::small(table::FLAGS);
    let grammar::Split { own, rest } = grammar::split(arguments, &ours, daemon)?;
    let own = settings::fill(&ours, own, &|_| None)?;
    Ok(Line { own, rest })
}

/// The help text.
pub(super) fn help() -> String {
    help::alone(&FlagSet::small(table::FLAGS), USAGE, ABOUT)
}

#[cfg(test)]
mod tests;
