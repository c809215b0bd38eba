//! The commands beside the daemon: each is one word before its flags.

use std::ffi::OsString;

use zonewright_core::catalog::{FlagKind, FlagSpec, FlagValue};

use super::environment::Environment;
use super::set::FlagSet;
use super::table::{JOURNAL_DIR, KUBECONFIG, MANIFESTS, OWNER_ID, SERVER, STATE_DIR};
use super::{Command, Invocation, Order, Stop, given, help, parsing, settings};
use crate::catalog::Catalog;

const JSON: FlagSpec = FlagSpec::new("json", FlagKind::Bool, "Print JSON");

/// What the commands that work on held plans are given.
const PLANS: &[FlagSpec] = &[STATE_DIR, OWNER_ID, KUBECONFIG, SERVER, STATE_NAMESPACE, JSON];

const OUTPUT: FlagSpec =
    FlagSpec::new("output", FlagKind::Choice(&["table", "json"]), "For people, or JSON").or("table");
const SINCE: FlagSpec = FlagSpec::new(
    "since",
    FlagKind::Text,
    "Only what was changed since: a time such as 2026-01-31T12:00:00Z, or how long ago, such as 30m",
);
const PLAN: FlagSpec = FlagSpec::new("plan", FlagKind::Text, "Only what this plan changed; the history shows its hash");
const ZONE: FlagSpec = FlagSpec::new("zone", FlagKind::Text, "Only in this zone, by its name or id");

const HISTORY: &[FlagSpec] = &[
    SINCE,
    PLAN,
    ZONE,
    FlagSpec::new("limit", FlagKind::Int, "Most entries to show").or("100"),
    STATE_DIR,
    JOURNAL_DIR,
    OWNER_ID,
    KUBECONFIG,
    SERVER,
    STATE_NAMESPACE,
    OUTPUT,
];

const UNDO: &[FlagSpec] = &[
    SINCE,
    PLAN,
    ZONE,
    FlagSpec::new("yes", FlagKind::Bool, "Carry the plan out without asking"),
    FlagSpec::new("hold-for", FlagKind::Duration, "How long nothing else is done at the names that were set back")
        .or("24h"),
    FlagSpec::new("release", FlagKind::Text, "End the hold of this name, or of all with the word all"),
    STATE_DIR,
    OWNER_ID,
    OUTPUT,
];

const HOLDS: &[FlagSpec] = &[STATE_DIR, OWNER_ID, KUBECONFIG, SERVER, STATE_NAMESPACE, OUTPUT];

/// Commands whose word may be left out.
const OPTIONAL: &[&str] = &["history"];

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
        name: "history",
        usage: "zonewright history [NAME|ZONE] [FLAGS]",
        about: "Shows what was changed, the newest first, with what became of it",
        flags: HISTORY,
        takes: Some("a name or a zone"),
    },
    Word {
        name: "undo",
        usage: "zonewright undo --since TIME | --plan HASH | --release NAME [FLAGS]",
        about: "Sets back what was changed and nothing else; the plan is shown first, and the names are on hold afterwards",
        flags: UNDO,
        takes: None,
    },
    Word {
        name: "holds",
        usage: "zonewright holds [FLAGS]",
        about: "Shows the names that an undo set back and holds",
        flags: HOLDS,
        takes: None,
    },
    Word {
        name: "demo",
        usage: "zonewright demo [FLAGS]",
        about: "Shows the whole flow with a folder of manifests and a DNS server inside",
        flags: DEMO,
        takes: None,
    },
];

/// Where commands look for the ConfigMaps of a daemon.
const STATE_NAMESPACE: FlagSpec = FlagSpec::new(
    "state-namespace",
    FlagKind::Text,
    "Namespace in which the daemon keeps state and journal; empty means that of the kubeconfig or of the pod",
);

const YES: FlagSpec = FlagSpec::new("yes", FlagKind::Bool, "Go on without asking");

/// A command on claims: it takes the flags of the daemon and its own.
struct OwnershipCommand {
    name: &'static str,
    usage: &'static str,
    about: &'static str,
    flags: &'static [FlagSpec],
    order: Order,
}

const OWNERSHIP_COMMANDS: &[OwnershipCommand] = &[
    OwnershipCommand {
        name: "adopt",
        usage: "zonewright adopt [NAME|KIND/NAMESPACE/NAME...] [FLAGS OF THE DAEMON]",
        about: "Shows the records that the cluster wants and nobody claims, and claims those whose values match; changes no \
                record",
        flags: &[
            YES,
            STATE_NAMESPACE,
            FlagSpec::new(
                "force",
                FlagKind::List,
                "Also claim what stands at this name, whatever it holds (can be repeated)",
            ),
        ],
        order: Order::Adopt,
    },
    OwnershipCommand {
        name: "transfer",
        usage: "zonewright transfer --from=OWNER --to=OWNER [NAME|KIND/NAMESPACE/NAME...] [FLAGS OF THE DAEMON]",
        about: "Gives the records of one owner to another; changes no record. Can be broken off and repeated",
        flags: &[
            YES,
            STATE_NAMESPACE,
            FlagSpec::new("from", FlagKind::Text, "Owner id that holds the records now"),
            FlagSpec::new("to", FlagKind::Text, "Owner id that is to hold them"),
        ],
        order: Order::Transfer,
    },
    OwnershipCommand {
        name: "release",
        usage: "zonewright release --txt-owner-id=OWNER [NAME|KIND/NAMESPACE/NAME...] [FLAGS OF THE DAEMON]",
        about: "Drops the claims of one owner and leaves its records",
        flags: &[YES, STATE_NAMESPACE],
        order: Order::Release,
    },
    OwnershipCommand {
        name: "drain",
        usage: "zonewright drain --txt-owner-id=OWNER [NAME|KIND/NAMESPACE/NAME...] [FLAGS OF THE DAEMON]",
        about: "Deletes every record of one owner with its claims, also of a cluster that is gone",
        flags: &[YES, STATE_NAMESPACE],
        order: Order::Drain,
    },
];

/// The order that a word gives, if it is one.
pub(super) fn order(word: &OsString) -> Option<Order> {
    OWNERSHIP_COMMANDS.iter().find(|deed| word == deed.name).map(|deed| deed.order)
}

/// Reads a command line that begins with the word of an order.
///
/// # Errors
/// The help text, or what is wrong.
pub(super) fn custody(
    catalog: &Catalog,
    word: &OsString,
    arguments: impl IntoIterator<Item = OsString>,
    environment: Environment<'_>,
) -> Result<Invocation, Stop> {
    let Some(deed) = OWNERSHIP_COMMANDS.iter().find(|deed| word == deed.name) else {
        return Err(parsing(format!("unexpected {}", word.to_string_lossy())));
    };
    let set = FlagSet::daemon(catalog).with(deed.flags);
    let about = |_| help::small(&FlagSet::small(deed.flags), deed.usage, deed.about);
    let (values, words) = given(catalog, arguments, &set, usize::MAX, about)?;
    let mut settings = settings::fill(&set, values, environment).map_err(parsing)?;
    if settings.text("policy").is_empty() {
        // What a person orders is no matter of policy.
        settings.set("policy", FlagValue::Text("sync".to_owned()), false);
    }
    if !settings.given("log-level") {
        settings.set("log-level", FlagValue::Text("warning".to_owned()), false);
    }
    let sources = deed.order == Order::Adopt;
    let invocation = super::checked(catalog, settings, &set, sources)?;
    Ok(Invocation { command: Command::Ownership { order: deed.order, words }, ..invocation })
}

/// The word that asks for the rights.
pub(super) const RIGHTS: &str = "rbac";

const RIGHTS_ABOUT: &str =
    "Prints the roles that a daemon with these flags needs in its cluster, for `kubectl apply`; binds nobody";

/// The commands as clap sees them. Those on claims, and the rights, take the flags of the daemon, too.
pub(super) fn commands() -> Vec<clap::Command> {
    let words = WORDS.iter().map(|word| (word.name, word.about, word.flags));
    let deeds = OWNERSHIP_COMMANDS.iter().map(|deed| (deed.name, deed.about, deed.flags));
    let all = words.chain(deeds).chain([(RIGHTS, RIGHTS_ABOUT, &[][..])]);
    all.map(|(name, about, flags)| help::command(&FlagSet::small(flags)).name(name).about(about)).collect()
}

/// Reads a command line that begins with [`RIGHTS`].
///
/// # Errors
/// The help text, or what is wrong.
pub(super) fn rights(
    catalog: &Catalog,
    arguments: impl IntoIterator<Item = OsString>,
    environment: Environment<'_>,
) -> Result<Invocation, Stop> {
    let set = FlagSet::daemon(catalog);
    let usage = "zonewright rbac --source=SOURCE... [FLAGS OF THE DAEMON]";
    let about =
        "Prints the roles that a daemon with these flags needs in its cluster, for `kubectl apply`; binds nobody";
    let (values, _) = given(catalog, arguments, &set, 0, |_| help::small(&FlagSet::small(&[]), usage, about))?;
    let settings = settings::fill(&set, values, environment).map_err(parsing)?;
    if settings.list("source").is_empty() {
        return Err(parsing("required flag(s) '--source' not provided"));
    }
    Ok(Invocation { command: Command::Rights, settings, notices: Vec::new() })
}

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
    catalog: &Catalog,
    word: &str,
    arguments: impl IntoIterator<Item = OsString>,
    environment: Environment<'_>,
) -> Result<Invocation, Stop> {
    let Some(spec) = WORDS.iter().chain([&DOCS]).find(|spec| spec.name == word) else {
        let known: Vec<&str> = WORDS
            .iter()
            .map(|spec| spec.name)
            .chain(OWNERSHIP_COMMANDS.iter().map(|deed| deed.name))
            .chain([RIGHTS])
            .collect();
        return Err(parsing(format!("unexpected {word}: a command is one of {}", known.join(", "))));
    };
    let set = FlagSet::small(spec.flags);
    let about = |_| help::small(&set, spec.usage, spec.about);
    let (values, words) = given(catalog, arguments, &set, usize::from(spec.takes.is_some()), about)?;
    let settings = settings::fill(&set, values, environment).map_err(parsing)?;
    let word = words.into_iter().next().unwrap_or_default();
    if let (Some(what), true) = (spec.takes, word.is_empty() && !OPTIONAL.contains(&spec.name)) {
        return Err(parsing(format!("expected {what}: {}", spec.usage)));
    }
    Ok(Invocation { command: command(spec.name, word)?, settings, notices: Vec::new() })
}

fn command(name: &str, word: String) -> Result<Command, Stop> {
    match name {
        "plans" => Ok(Command::Plans),
        "approve" => Ok(Command::Approve { hash: word }),
        "history" => Ok(Command::History { name: word }),
        "undo" => Ok(Command::Undo),
        "holds" => Ok(Command::Holds),
        "demo" => Ok(Command::Demo),
        _ if word == "flags" => Ok(Command::FlagReference),
        _ => Err(parsing(format!("unexpected {word}: {}", DOCS.usage))),
    }
}
