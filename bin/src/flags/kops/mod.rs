//! `zonewright kops`: the flags of kops' dns-controller, as settings of the daemon.
//!
//! In come arguments in dns-controller's grammar (that of Go's pflag), among them any flag of the daemon itself; out comes an
//! [`Invocation`] whose settings are the daemon's. What must hold: every flag that dns-controller takes is taken, and means what it means
//! there; what cannot be done here is refused by name, with what to do.

mod grammar;
mod table;
mod translate;

use std::ffi::OsString;

use super::environment::Environment;
use super::set::FlagSet;
use super::{Command, Invocation, Stop, checked, given, help, parsing, settings};
use crate::catalog::Catalog;

/// The word of the command.
pub(super) const WORD: &str = "kops";

/// What it does, in one line.
pub(super) const ABOUT: &str = "Run in place of kops' dns-controller, with its flags";

const USAGE: &str = "zonewright kops --internal-ipv4|--internal-ipv6 [--dns=PROVIDER] [--zone=RULE...] [FLAGS]";

const LONG_ABOUT: &str = "Runs in place of kops' dns-controller, with its flags. Every flag of the daemon that is not listed here is taken \
                          too (zonewright --help), such as --txt-owner-id, --registry and the flags of providers";

/// The flags of the command alone, for shells and the manual page.
pub(super) fn flags() -> FlagSet {
    FlagSet::small(table::FLAGS)
}

/// Reads a command line that begins with [`WORD`].
///
/// # Errors
/// The help text, or what is wrong.
pub(super) fn parse(
    catalog: &Catalog,
    arguments: impl IntoIterator<Item = OsString>,
    environment: Environment<'_>,
) -> Result<Invocation, Stop> {
    let daemon = FlagSet::daemon(catalog);
    let grammar::Split { own, rest } = grammar::split(arguments, &flags(), &daemon).map_err(parsing)?;
    let about = |_| help::small(&flags(), USAGE, LONG_ABOUT);
    let (texts, _) = given(catalog, rest, &daemon, 0, about)?;
    let mut settings = settings::fill(&daemon, texts, environment).map_err(parsing)?;
    let own = settings::fill(&flags(), own, &|_| None).map_err(parsing)?;
    translate::translate(&own, &mut settings).map_err(parsing)?;
    let invocation = checked(catalog, settings, &daemon, true)?;
    Ok(Invocation { command: Command::Kops, ..invocation })
}

#[cfg(test)]
mod tests;
