//! The command line of `zonewright explain`: a name or an object, and the flags of the daemon.

use std::ffi::OsString;

use zonewright_core::catalog::{FlagKind, FlagSpec, FlagValue};
use zonewright_core::explain::Subject;

use super::environment::Environment;
use super::set::FlagSet;
use super::{Command, Invocation, Stop, given, help, parsing, settings};
use crate::catalog::Catalog;

/// The words that ask for it.
pub(super) const WORDS: [&str; 2] = ["explain", "why"];

pub(super) const ABOUT: &str = "Explain why a name is published or is not, and what to do: asks the daemon; with the daemon's flags, works without it";

const USAGE: &str = "zonewright explain NAME|KIND/NAMESPACE/NAME [FLAGS OF THE DAEMON]";

pub(super) const FLAGS: &[FlagSpec] = &[
    super::command::OUTPUT,
    FlagSpec::new(
        "offline",
        FlagKind::Bool,
        "Do not ask a running daemon; read the objects and zones once with these flags, and write nothing",
    ),
    super::command::STATE_NAMESPACE,
];

/// Reads a command line that begins with one of [`WORDS`].
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
    let (values, words) = given(catalog, arguments, &set, 1, about)?;
    let mut settings = settings::fill(&set, values, environment).map_err(parsing)?;
    let Some(word) = words.first() else { return Err(parsing(format!("expected a name or an object: {USAGE}"))) };
    let about = Subject::parse(word).map_err(parsing)?;
    let command = Command::Explain { about };
    if settings.list("source").is_empty() {
        return Ok(Invocation { command, settings, instances: Vec::new(), notices: Vec::new() });
    }
    if settings.text("policy").is_empty() {
        settings.set("policy", FlagValue::Text("sync".to_owned()), false);
    }
    let invocation = super::checked(catalog, settings, &set, true)?;
    Ok(Invocation { command, ..invocation })
}
