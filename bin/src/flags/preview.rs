//! `zonewright plan`: the flags of the daemon, and how its answer is printed.

use std::ffi::OsString;

use zonewright_core::catalog::{FlagSpec, FlagValue};

use super::command::OUTPUT;
use super::environment::Environment;
use super::set::FlagSet;
use super::{Command, Invocation, Stop, checked, given, help, parsing, settings};
use crate::catalog::Catalog;

/// The name of the command.
pub(super) const WORD: &str = "plan";

/// What it does, in one line of the help.
pub(super) const ABOUT: &str = "Show what would be changed and why, without changing anything. Status 2: there are changes, 0: \
                                nothing to do, 3: deletes are held, 4: something could not be read";

/// Its own flags.
pub(super) const FLAGS: &[FlagSpec] = &[OUTPUT];

const USAGE: &str = "zonewright plan --source=SOURCE... --provider=PROVIDER --policy=POLICY [FLAGS OF THE DAEMON]";

/// Reads a command line that begins with [`WORD`].
///
/// # Errors
/// The help text, or what is wrong.
pub(super) fn parse(
    catalog: &Catalog,
    arguments: impl IntoIterator<Item = OsString>,
    environment: Environment<'_>,
) -> Result<Invocation, Stop> {
    let set = FlagSet::daemon(catalog).with(FLAGS);
    let about = |_| help::small(&FlagSet::small(FLAGS), USAGE, ABOUT);
    let (values, _) = given(catalog, arguments, &set, 0, about)?;
    let mut settings = settings::fill(&set, values, environment).map_err(parsing)?;
    for flag in ["once", "dry-run"] {
        settings.set(flag, FlagValue::Bool(true), false);
    }
    if !settings.given("log-level") {
        // What is to be said stands in the plan.
        settings.set("log-level", FlagValue::Text("error".to_owned()), false);
    }
    let invocation = checked(catalog, settings, &set, true)?;
    Ok(Invocation { command: Command::Plan, ..invocation })
}
