//! The commands beside the daemon: each is one word before its flags.

use std::ffi::OsString;

use zonewright_core::catalog::{FlagKind, FlagSpec};

use super::argv::{self, Given};
use super::environment::Environment;
use super::set::FlagSet;
use super::table::{MANIFESTS, OWNER_ID, STATE_DIR};
use super::{Command, Invocation, Stop, help, parsing, settings};

const JSON: FlagSpec = FlagSpec::new("json", FlagKind::Bool, "Print JSON");

/// What the commands that work on held plans are given.
const PLANS: &[FlagSpec] = &[STATE_DIR, OWNER_ID, JSON];

const DEMO: &[FlagSpec] = &[
    MANIFESTS,
    FlagSpec::new("listen", FlagKind::Text, "Address on which the DNS server inside answers").or("127.0.0.1:5353"),
    FlagSpec::new("plain", FlagKind::Bool, "Print lines in place of a screen that is redrawn"),
];

/// One command: its word, its help, its flags and what else it takes.
struct Word {
    name: &'static str,
    usage: &'static str,
    about: &'static str,
    flags: &'static [FlagSpec],
    /// What the one word after the command is, if there is one.
    takes: Option<&'static str>,
}

const WORDS: &[Word] = &[
    Word {
        name: "plans",
        usage: "zonewright plans [FLAGS]",
        about: "Shows the deletes that are held, with the hash that approves each",
        flags: PLANS,
        takes: None,
    },
    Word {
        name: "approve",
        usage: "zonewright approve HASH [FLAGS]",
        about: "Lets the held deletes of one plan go; the approval is bound to exactly these deletes and expires",
        flags: PLANS,
        takes: Some("the hash of a held plan"),
    },
    Word {
        name: "demo",
        usage: "zonewright demo [FLAGS]",
        about: "Shows the whole flow with a folder of manifests and a DNS server inside",
        flags: DEMO,
        takes: None,
    },
];

/// Not in the help text: for whoever changes the flags.
const DOCS: Word = Word {
    name: "docs",
    usage: "zonewright docs flags",
    about: "Prints the reference of all flags",
    flags: &[],
    takes: Some("the page: flags"),
};

/// Reads a command line that begins with a word.
///
/// # Errors
/// The help text, or what is wrong.
pub(super) fn parse(
    word: &str,
    arguments: impl IntoIterator<Item = OsString>,
    environment: Environment<'_>,
) -> Result<Invocation, Stop> {
    let Some(spec) = WORDS.iter().chain([&DOCS]).find(|spec| spec.name == word) else {
        let known: Vec<&str> = WORDS.iter().map(|spec| spec.name).collect();
        return Err(parsing(format!("unexpected {word}: a command is one of {}", known.join(", "))));
    };
    let set = FlagSet::small(spec.flags);
    match argv::read(arguments, &set, usize::from(spec.takes.is_some())).map_err(parsing)? {
        Given::Help { .. } => Err(Stop::Answer(help::small(&set, spec.usage, spec.about))),
        Given::Version => Err(Stop::Answer(help::version())),
        Given::Values(values, words) => {
            let settings = settings::fill(&set, values, environment).map_err(parsing)?;
            let word = words.into_iter().next().unwrap_or_default();
            if let (Some(what), true) = (spec.takes, word.is_empty()) {
                return Err(parsing(format!("expected {what}: {}", spec.usage)));
            }
            Ok(Invocation { command: command(spec.name, word)?, settings, notices: Vec::new() })
        }
    }
}

fn command(name: &str, word: String) -> Result<Command, Stop> {
    match name {
        "plans" => Ok(Command::Plans),
        "approve" => Ok(Command::Approve { hash: word }),
        "demo" => Ok(Command::Demo),
        _ if word == "flags" => Ok(Command::FlagReference),
        _ => Err(parsing(format!("unexpected {word}: {}", DOCS.usage))),
    }
}
