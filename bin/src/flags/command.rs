//! The commands beside the daemon: each is one word before its flags.

use std::ffi::OsString;

use zonewright_core::catalog::{FlagKind, FlagSpec, FlagValue};

use super::environment::Environment;
#[cfg(feature = "kops")]
use super::kops::table as kops;
use super::set::FlagSet;
use super::table::{JOURNAL_DIR, KUBECONFIG, MANIFESTS, OWNER_ID, SERVER, STATE_DIR};
use super::{
    Command, Invocation, Order, Stop, explain, gardener, given, help, migrate, nearest, parsing, preview, settings,
};
use crate::catalog::Catalog;

/// The former name of `--output=json`; not in the help text.
const JSON: FlagSpec = FlagSpec::new("json", FlagKind::Bool, "Print JSON");

/// What the commands that work on held plans are given.
const PLANS: &[FlagSpec] = &[STATE_DIR, OWNER_ID, KUBECONFIG, SERVER, STATE_NAMESPACE, OUTPUT, JSON];

pub(super) const OUTPUT: FlagSpec =
    FlagSpec::new("output", FlagKind::Choice(&["table", "json"]), "Output format").or("table");
const SINCE: FlagSpec = FlagSpec::new(
    "since",
    FlagKind::Text,
    "Select changes since a time such as 2026-01-31T12:00:00Z, or a duration ago such as 30m",
);
const PLAN: FlagSpec =
    FlagSpec::new("plan", FlagKind::Text, "Select the changes of one plan, by its hash in the history");
const ZONE: FlagSpec = FlagSpec::new("zone", FlagKind::Text, "Select changes in one zone, by its name or id");

const HISTORY: &[FlagSpec] = &[
    SINCE,
    PLAN,
    ZONE,
    FlagSpec::new("limit", FlagKind::Int, "Maximum number of entries").or("100"),
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
    FlagSpec::new("yes", FlagKind::Bool, "Carry out the plan without confirmation"),
    FlagSpec::new(
        "pin-for",
        FlagKind::Duration,
        "Duration for which restored names are pinned: nothing else changes them",
    )
    .or("24h"),
    FlagSpec::new("unpin", FlagKind::Text, "Unpin this name, or every name with the word all"),
    STATE_DIR,
    OWNER_ID,
    OUTPUT,
];

const PINNED: &[FlagSpec] = &[STATE_DIR, OWNER_ID, KUBECONFIG, SERVER, STATE_NAMESPACE, OUTPUT];

const RECORDS: &[FlagSpec] = &[
    FlagSpec::new("zone", FlagKind::Text, "Select records in one zone, by its name or id"),
    FlagSpec::new("owner", FlagKind::Text, "Select the records that this owner claims"),
    FlagSpec::new("limit", FlagKind::Int, "Maximum number of records; 0: no limit").or("1000"),
    STATE_DIR,
    OWNER_ID,
    OUTPUT,
];

const INVENTORY: &[FlagSpec] = &[STATE_DIR, OWNER_ID, OUTPUT];

/// Commands whose word may be left out.
const OPTIONAL: &[&str] = &["history", "records"];

const DEMO: &[FlagSpec] = &[
    MANIFESTS,
    FlagSpec::new("listen", FlagKind::Text, "Listen address of the embedded DNS server").or("127.0.0.1:5353"),
    FlagSpec::new("plain", FlagKind::Bool, "Print lines instead of a full-screen view"),
];

/// One command: its word, its help, its flags and what else it takes.
struct CommandSpec {
    name: &'static str,
    usage: &'static str,
    about: &'static str,
    flags: &'static [FlagSpec],
    /// What the one word after the command is, if there is one.
    takes: Option<&'static str>,
}

const COMMANDS: &[CommandSpec] = &[
    CommandSpec {
        name: "plans",
        usage: "zonewright plans [FLAGS]",
        about: "Show held plans: deletes that wait for an approval",
        flags: PLANS,
        takes: None,
    },
    CommandSpec {
        name: "approve",
        usage: "zonewright approve HASH [FLAGS]",
        about: "Approve a held plan. The approval covers exactly the deletes shown, and expires",
        flags: PLANS,
        takes: Some("the hash of a held plan"),
    },
    CommandSpec {
        name: "history",
        usage: "zonewright history [NAME|ZONE] [FLAGS]",
        about: "Show the changes made to zones, newest first, with their outcome",
        flags: HISTORY,
        takes: Some("a name or a zone"),
    },
    CommandSpec {
        name: "undo",
        usage: "zonewright undo --since TIME | --plan HASH | --unpin NAME [FLAGS]",
        about: "Undo changes. Shows the plan first; restored names are pinned afterwards",
        flags: UNDO,
        takes: None,
    },
    CommandSpec {
        name: "pinned",
        usage: "zonewright pinned [FLAGS]",
        about: "Show pinned names: names that an undo restored and nothing else changes",
        flags: PINNED,
        takes: None,
    },
    CommandSpec {
        name: migrate::WORD,
        usage: migrate::USAGE,
        about: migrate::ABOUT,
        flags: migrate::FLAGS,
        takes: None,
    },
    CommandSpec {
        name: "records",
        usage: "zonewright records [NAME|ZONE] [FLAGS]",
        about: "Show the records that the daemon reads in its zones, with owner and resource",
        flags: RECORDS,
        takes: Some("a name or a zone"),
    },
    CommandSpec {
        name: "zones",
        usage: "zonewright zones [FLAGS]",
        about: "Show the daemon's zones: records, held deletes, refused names, and whether each is ready",
        flags: INVENTORY,
        takes: None,
    },
    CommandSpec {
        name: "owners",
        usage: "zonewright owners [FLAGS]",
        about: "Show the owners that claim records in the daemon's zones",
        flags: INVENTORY,
        takes: None,
    },
    CommandSpec {
        name: "demo",
        usage: "zonewright demo [FLAGS]",
        about: "Run a demonstration: a folder of manifests and an embedded DNS server",
        flags: DEMO,
        takes: None,
    },
];

/// Where commands look for the ConfigMaps of a daemon.
pub(super) const STATE_NAMESPACE: FlagSpec = FlagSpec::new(
    "state-namespace",
    FlagKind::Text,
    "Namespace of the daemon's state and journal; empty: that of the kubeconfig or of the pod",
);

const INSTANCE: FlagSpec =
    FlagSpec::new("provider-instance", FlagKind::Text, "Provider instance, where the settings file lists several");

const YES: FlagSpec = FlagSpec::new("yes", FlagKind::Bool, "Carry out the plan without confirmation");

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
        about: "Claim unowned records whose values match what the cluster requests; changes no record",
        flags: &[
            YES,
            INSTANCE,
            STATE_NAMESPACE,
            OUTPUT,
            FlagSpec::new("force", FlagKind::List, "Claim the records at this name whatever their values; repeatable"),
        ],
        order: Order::Adopt,
    },
    OwnershipCommand {
        name: "transfer",
        usage: "zonewright transfer --from=OWNER --to=OWNER [NAME|KIND/NAMESPACE/NAME...] [FLAGS OF THE DAEMON]",
        about: "Transfer the records of one owner to another; changes no record. Can be interrupted and repeated",
        flags: &[
            YES,
            INSTANCE,
            STATE_NAMESPACE,
            OUTPUT,
            FlagSpec::new("from", FlagKind::Text, "Owner id of the records now"),
            FlagSpec::new("to", FlagKind::Text, "New owner id"),
        ],
        order: Order::Transfer,
    },
    OwnershipCommand {
        name: "release",
        usage: "zonewright release --txt-owner-id=OWNER [NAME|KIND/NAMESPACE/NAME...] [FLAGS OF THE DAEMON]",
        about: "Drop the claims of one owner and leave its records",
        flags: &[YES, INSTANCE, STATE_NAMESPACE, OUTPUT],
        order: Order::Release,
    },
    OwnershipCommand {
        name: "drain",
        usage: "zonewright drain --txt-owner-id=OWNER [NAME|KIND/NAMESPACE/NAME...] [FLAGS OF THE DAEMON]",
        about: "Delete every record of one owner with its claims, also those of a cluster that no longer exists",
        flags: &[YES, INSTANCE, STATE_NAMESPACE, OUTPUT],
        order: Order::Drain,
    },
];

/// The ownership command of this name.
pub(super) fn order(word: &OsString) -> Option<Order> {
    OWNERSHIP_COMMANDS.iter().find(|command| word == command.name).map(|command| command.order)
}

/// Reads a command line that begins with an ownership command.
///
/// # Errors
/// The help text, or what is wrong.
pub(super) fn ownership(
    catalog: &Catalog,
    word: &OsString,
    arguments: impl IntoIterator<Item = OsString>,
    environment: Environment<'_>,
) -> Result<Invocation, Stop> {
    let Some(command) = OWNERSHIP_COMMANDS.iter().find(|command| word == command.name) else {
        return Err(parsing(format!("unexpected {}", word.to_string_lossy())));
    };
    let set = FlagSet::daemon(catalog).with(command.flags);
    let about = |_| help::small(&FlagSet::small(command.flags), command.usage, command.about);
    let (values, words) = given(catalog, arguments, &set, usize::MAX, about)?;
    let mut settings = settings::fill(&set, values, environment).map_err(parsing)?;
    if settings.text("policy").is_empty() {
        // What a person orders is no matter of policy.
        settings.set("policy", FlagValue::Text("sync".to_owned()), false);
    }
    if !settings.given("log-level") {
        settings.set("log-level", FlagValue::Text("warning".to_owned()), false);
    }
    let sources = command.order == Order::Adopt;
    let invocation = super::checked(catalog, settings, &set, sources)?;
    Ok(Invocation { command: Command::Ownership { order: command.order, words }, ..invocation })
}

/// The word that asks for the rights.
pub(super) const RIGHTS: &str = "rbac";

const RIGHTS_ABOUT: &str =
    "Print the RBAC roles that these flags need, for `kubectl apply`; with --service-account also their bindings";

const RIGHTS_FLAGS: &[FlagSpec] = &[FlagSpec::new(
    "service-account",
    FlagKind::Text,
    "Service account of the pod, as namespace/name: print the bindings of the roles to it as well",
)];

/// The commands as clap sees them. Those on claims, and the rights, take the flags of the daemon, too.
pub(super) fn commands() -> Vec<clap::Command> {
    let words = COMMANDS.iter().map(|word| (word.name, word.about, word.flags));
    let ownership = OWNERSHIP_COMMANDS.iter().map(|command| (command.name, command.about, command.flags));
    let extension = (gardener::WORD, gardener::ABOUT, gardener::FLAGS);
    let explain = (explain::WORDS[0], explain::ABOUT, explain::FLAGS);
    let looks = (preview::WORD, preview::ABOUT, preview::FLAGS);
    let all = words.chain(ownership).chain([explain, extension, (RIGHTS, RIGHTS_ABOUT, RIGHTS_FLAGS), looks]);
    let all = all.map(|(name, about, flags)| help::command(&FlagSet::small(flags)).name(name).about(about));
    #[cfg(feature = "kops")]
    let all = all.chain([help::command_alone(&FlagSet::small(kops::FLAGS)).name(kops::WORD).about(kops::ABOUT)]);
    all.collect()
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
    let set = FlagSet::daemon(catalog).with(RIGHTS_FLAGS);
    let usage = "zonewright rbac --source=SOURCE... [FLAGS OF THE DAEMON]";
    let about = |_| help::small(&FlagSet::small(RIGHTS_FLAGS), usage, RIGHTS_ABOUT);
    let (values, _) = given(catalog, arguments, &set, 0, about)?;
    let settings = settings::fill(&set, values, environment).map_err(parsing)?;
    if settings.list("source").is_empty() {
        return Err(parsing("required flag(s) '--source' not provided"));
    }
    Ok(Invocation { command: Command::Rights, settings, instances: Vec::new(), notices: Vec::new() })
}

/// Reads a command line that begins with [`gardener::WORD`].
///
/// # Errors
/// The help text, or what is wrong.
pub(super) fn extension(
    catalog: &Catalog,
    arguments: impl IntoIterator<Item = OsString>,
    environment: Environment<'_>,
) -> Result<Invocation, Stop> {
    let set = FlagSet::gardener(catalog, gardener::FLAGS);
    let arguments = arguments.into_iter().map(|argument| gardener::switch(argument, &set));
    let about = |_| help::small(&set, "zonewright gardener [FLAGS]", gardener::ABOUT);
    let (values, _) = given(catalog, arguments, &set, 0, about)?;
    let settings = settings::fill(&set, values, environment).map_err(parsing)?;
    gardener::check(&settings).map_err(|problem| Stop::Refusal(format!("config validation failed: {problem}")))?;
    Ok(Invocation { command: Command::Gardener, settings, instances: Vec::new(), notices: Vec::new() })
}

/// Not in the help text: for whoever changes the flags.
const DOCS: CommandSpec = CommandSpec {
    name: "docs",
    usage: "zonewright docs flags|providers",
    about: "Print the reference of all flags, or the table of providers",
    flags: &[],
    takes: Some("the page: flags or providers"),
};

/// The words of all commands.
fn known() -> Vec<&'static str> {
    let more = [explain::WORDS[0], gardener::WORD, RIGHTS, preview::WORD, "help", "version"];
    let words = COMMANDS.iter().map(|spec| spec.name).chain(OWNERSHIP_COMMANDS.iter().map(|command| command.name));
    words.chain(more).chain(cfg!(feature = "kops").then_some("kops")).collect()
}

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
    let Some(spec) = COMMANDS.iter().chain([&DOCS]).find(|spec| spec.name == word) else {
        let known = known();
        let hint = nearest::of(word, known.iter().copied()).map(|near| format!("; did you mean {near}?"));
        let known = known.join(", ");
        return Err(parsing(format!("unexpected {word}: a command is one of {known}{}", hint.unwrap_or_default())));
    };
    let set = FlagSet::small(spec.flags);
    let about = |_| help::small(&set, spec.usage, spec.about);
    let (values, words) = given(catalog, arguments, &set, usize::from(spec.takes.is_some()), about)?;
    let settings = settings::fill(&set, values, environment).map_err(parsing)?;
    let word = words.into_iter().next().unwrap_or_default();
    if let (Some(what), true) = (spec.takes, word.is_empty() && !OPTIONAL.contains(&spec.name)) {
        return Err(parsing(format!("expected {what}: {}", spec.usage)));
    }
    Ok(Invocation { command: command(spec.name, word)?, settings, instances: Vec::new(), notices: Vec::new() })
}

fn command(name: &str, word: String) -> Result<Command, Stop> {
    match name {
        "plans" => Ok(Command::Plans),
        "approve" => Ok(Command::Approve { hash: word }),
        "history" => Ok(Command::History { name: word }),
        "undo" => Ok(Command::Undo),
        "pinned" => Ok(Command::Pinned),
        migrate::WORD => Ok(Command::Migrate),
        "records" => Ok(Command::Records { name: word }),
        "zones" => Ok(Command::Zones),
        "owners" => Ok(Command::Owners),
        "demo" => Ok(Command::Demo),
        _ if word == "flags" => Ok(Command::FlagReference),
        _ if word == "providers" => Ok(Command::ProviderTable),
        _ => Err(parsing(format!("unexpected {word}: {}", DOCS.usage))),
    }
}
