//! The command line and the environment: external-dns' grammar, flags and checks, and our own flags.
//!
//! In come the arguments, the environment and the catalogue of providers and registries; out comes an [`Invocation`] whose settings are
//! complete and consistent, or a [`Stop`] with the text to print. A command line of external-dns is taken as it stands;
//! what it asks for and this build cannot do is refused by name, never passed over in silence.

mod argv;
mod command;
mod environment;
mod explain;
#[cfg(feature = "config-file")]
mod file;
mod gardener;
mod help;
#[cfg(feature = "config-file")]
mod instances;
#[cfg(feature = "kops")]
mod kops;
mod migrate;
mod nearest;
mod owner;
mod peer;
mod preview;
mod reference;
mod removed;
mod selection;
mod set;
mod settings;
mod shell;
pub(crate) mod sorting;
mod sources;
mod table;
#[cfg(test)]
mod tests;
mod validate;
mod value;
mod value_names;

use std::ffi::OsString;

use zonewright_core::catalog::Settings;
use zonewright_core::explain::Subject;

pub use environment::Environment;
pub use reference::page as reference;
pub use selection::Selection;

use crate::catalog::Catalog;
use crate::instance::InstanceSettings;
pub use crate::ownership::Order;
use argv::Given;
use set::FlagSet;

/// What a command line asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Keep zones in step; what external-dns does.
    Daemon,
    /// The same in place of kops' dns-controller.
    Kops,
    /// Show what a pass would change, without changing anything.
    Plan,
    /// Show what to run in place of an external-dns.
    Migrate,
    /// Show held plans.
    Plans,
    /// Approve a held plan.
    Approve {
        /// Hash of the held deletes, as the user typed it.
        hash: String,
    },
    /// Claims change hands, or an owner leaves for good.
    Ownership {
        /// What is to become of the claims.
        order: Order,
        /// Which records are meant: names and resources.
        words: Vec<String>,
    },
    /// Show what was changed.
    History {
        /// At which name or in which zone; empty for everything.
        name: String,
    },
    /// Show the records of zones, with whose they are.
    Records {
        /// At which name or in which zone; empty for everything.
        name: String,
    },
    /// Show the zones.
    Zones,
    /// Show who claims records.
    Owners,
    /// Undo changes, or unpin names.
    Undo,
    /// Explain why a name is there, or is not.
    Explain {
        /// The name or the object.
        about: Subject,
    },
    /// Show pinned names.
    Pinned,
    /// Show the whole flow without a cluster and without a DNS server outside.
    Demo,
    /// Handle the DNSRecords of a Gardener landscape.
    Gardener,
    /// Print the roles that a daemon with these flags needs.
    Rights,
    /// Print the reference of all flags.
    FlagReference,
    /// Print the table of providers.
    ProviderTable,
}

/// A command line that makes sense.
#[derive(Debug, Clone)]
pub struct Invocation {
    /// What to do.
    pub command: Command,
    /// A value for every flag that the command knows.
    pub settings: Settings,
    /// The provider instances of the settings file; none where the flags describe the only one.
    pub instances: Vec<InstanceSettings>,
    /// What to log as soon as logging works.
    pub notices: Vec<Notice>,
}

/// Something that the user should know about the command line, though it works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// Good to know.
    Info(String),
    /// Something to change.
    Warning(String),
}

impl Notice {
    /// Writes the notice to the log.
    pub fn log(&self) {
        match self {
            Self::Info(text) => tracing::info!("{text}"),
            Self::Warning(text) => tracing::warn!("{text}"),
        }
    }
}

/// The command line ends here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// The user asked for this text: standard output, status 0.
    Answer(String),
    /// What is wrong, in one line: standard error, status 1.
    Refusal(String),
}

/// Reads the arguments after the program's name.
///
/// The first one may be the name of a command; without one they are the daemon's.
///
/// # Errors
/// [`Stop`]: a text that was asked for, or what is wrong.
pub fn parse(
    catalog: &Catalog,
    arguments: impl IntoIterator<Item = OsString>,
    environment: Environment<'_>,
) -> Result<Invocation, Stop> {
    let mut arguments = arguments.into_iter().peekable();
    let word = |argument: &OsString| argument.to_str().is_some_and(|text| !text.starts_with(['-', '@']));
    match arguments.next_if(word) {
        Some(word) if word == "version" => Err(Stop::Answer(help::version())),
        Some(word) if word == "help" => match arguments.next() {
            Some(topic) => parse(catalog, [topic, "--help".into()], environment),
            None => daemon(catalog, ["--help".into()], environment),
        },
        Some(word) if command::order(&word).is_some() => command::ownership(catalog, &word, arguments, environment),
        Some(word) if explain::WORDS.iter().any(|known| word == *known) => {
            explain::parse(catalog, arguments, environment)
        }
        Some(word) if word == gardener::WORD => command::extension(catalog, arguments, environment),
        Some(word) if word == preview::WORD => preview::parse(catalog, arguments, environment),
        Some(word) if word == command::RIGHTS => command::rights(catalog, arguments, environment),
        #[cfg(feature = "kops")]
        Some(word) if word == kops::table::WORD => in_place_of_dns_controller(catalog, arguments, environment),
        Some(word) => command::parse(catalog, &word.to_string_lossy(), arguments, environment),
        None => daemon(catalog, arguments, environment),
    }
}

fn daemon(
    catalog: &Catalog,
    arguments: impl IntoIterator<Item = OsString>,
    environment: Environment<'_>,
) -> Result<Invocation, Stop> {
    let set = FlagSet::daemon(catalog);
    let mut arguments = arguments.into_iter().peekable();
    let bare = arguments.peek().is_none();
    let (values, _) = given(catalog, arguments, &set, 0, |long| help::daemon(&set, catalog, long))?;
    let settings = settings::fill(&set, values, environment).map_err(parsing)?;
    if bare && settings.all_given().next().is_none() {
        return Err(Stop::Refusal(help::FIRST.to_owned()));
    }
    checked(catalog, settings, &set, true)
}

/// Reads the command line of `zonewright kops`: dns-controller's flags, and any of the daemon's.
#[cfg(feature = "kops")]
fn in_place_of_dns_controller(
    catalog: &Catalog,
    arguments: impl IntoIterator<Item = OsString>,
    environment: Environment<'_>,
) -> Result<Invocation, Stop> {
    let set = FlagSet::daemon(catalog);
    let kops::Line { own, rest } = kops::read(arguments, &set).map_err(parsing)?;
    let (values, _) = given(catalog, rest, &set, 0, |_| kops::help())?;
    let mut settings = settings::fill(&set, values, environment).map_err(parsing)?;
    kops::translate(&own, &mut settings).map_err(parsing)?;
    let invocation = checked(catalog, settings, &set, true)?;
    Ok(Invocation { command: Command::Kops, ..invocation })
}

/// What a command line gives, with at most so many loose words; `help` is its help text, long or short.
///
/// # Errors
/// A text that is asked for, such as the help text; what is wrong.
fn given(
    catalog: &Catalog,
    arguments: impl IntoIterator<Item = OsString>,
    set: &FlagSet,
    words: usize,
    help: impl FnOnce(bool) -> String,
) -> Result<(argv::Texts, Vec<String>), Stop> {
    match argv::read(arguments, set, words).map_err(parsing)? {
        Given::Help { long } => Err(Stop::Answer(help(long))),
        Given::Version => Err(Stop::Answer(help::version())),
        Given::Page(page) => Err(Stop::Answer(page.text(catalog, command::commands()))),
        Given::Values(values, words) => Ok((values, words)),
    }
}

/// Checks settings as a whole; `sources` are not needed by every command.
fn checked(catalog: &Catalog, mut settings: Settings, set: &FlagSet, sources: bool) -> Result<Invocation, Stop> {
    let mut notices = validate::carry_over(&mut settings, set);
    let instances = instances(catalog, &settings, set).map_err(parsing)?;
    required(&settings, sources, !instances.is_empty()).map_err(parsing)?;
    let selection = Selection { instances: !instances.is_empty(), ..Selection::of(&settings) };
    validate::check(&settings, &selection, catalog)
        .and_then(|()| selection::available(&selection, &settings, set, catalog))
        .map_err(|problem| Stop::Refusal(format!("config validation failed: {problem}")))?;
    notices.extend(validate::doubts(&settings));
    notices.extend(selection::ignored(&selection, &settings, set).map(Notice::Info));
    Ok(Invocation { command: Command::Daemon, settings, instances, notices })
}

/// The provider instances of the settings file.
///
/// # Errors
/// What is wrong with one, or goes not with several.
#[cfg(feature = "config-file")]
fn instances(catalog: &Catalog, settings: &Settings, set: &FlagSet) -> Result<Vec<InstanceSettings>, String> {
    let path = settings.text("config");
    let found = if path.is_empty() { Vec::new() } else { instances::read(path, set, catalog, settings)? };
    let with = |flag: &str| format!("--{flag} does not go with a list of providers in the settings file");
    if found.is_empty() {
        return Ok(found);
    }
    if settings.given("provider") {
        return Err(format!("{}: each of them has its type there", with("provider")));
    }
    if settings.bool("webhook-server") {
        return Err(format!("{}: it serves one provider", with("webhook-server")));
    }
    if settings.text("registry") == "dynamodb" && found.len() > 1 {
        return Err(format!(
            "{}: a row is known by name and type alone, so it cannot be of two zones",
            with("registry=dynamodb")
        ));
    }
    Ok(found)
}

#[cfg(not(feature = "config-file"))]
#[expect(clippy::unnecessary_wraps, reason = "the same shape with and without the feature")]
fn instances(_: &Catalog, _: &Settings, _: &FlagSet) -> Result<Vec<InstanceSettings>, String> {
    Ok(Vec::new())
}

fn required(settings: &Settings, sources: bool, instances: bool) -> Result<(), String> {
    // The webhook server reads no objects.
    let sources = sources && !settings.bool("webhook-server");
    let sources = (sources && settings.list("source").is_empty()).then_some("'--source'");
    let provider = (!instances && settings.text("provider").is_empty()).then_some("'--provider'");
    let missing: Vec<&str> = sources.into_iter().chain(provider).collect();
    if missing.is_empty() { Ok(()) } else { Err(format!("required flag(s) {} not provided", missing.join(", "))) }
}

fn parsing(problem: impl std::fmt::Display) -> Stop {
    Stop::Refusal(format!("flag parsing error: {problem}"))
}
