//! The command as clap sees it, and the texts that people see: help and version.

use clap::{Arg, ArgAction, Command};
use zonewright_core::catalog::{FlagKind, FlagSpec};

use super::selection::sources_here;
use super::set::{FlagRow, FlagSet};
use super::value_names::value_name;
use crate::catalog::Catalog;

/// Id of the words that are no flags.
pub(super) const WORDS: &str = "words";

const AFTER: &str = "Flags of other providers, sources and registries of external-dns are accepted too; --help-long and \
                     docs/flags.md list them.\n\nAn environment variable is read if its flag is not given; for a repeatable \
                     flag it contains one value per line. An argument @FILE is replaced by the lines of the file.";

/// What is said to whoever gives nothing at all.
pub(super) const FIRST: &str = "\
Zonewright keeps DNS zones in step with a Kubernetes cluster.

  zonewright demo                  See it work: a folder of manifests and a DNS server inside
  zonewright plan FLAGS            Show what would be changed, with the daemon's flags; nothing is written
  zonewright FLAGS                 Run; needs --source, --provider and --policy
  zonewright migrate --from=FILE   Show what to run in place of an external-dns
  zonewright --help                All commands and flags; zonewright help COMMAND for one";

/// The command for a set of flags; words that are no flags are left to the caller.
pub(super) fn command(set: &FlagSet) -> Command {
    let mut command = Command::new("zonewright")
        .next_line_help(true)
        .no_binary_name(true)
        .disable_help_flag(true)
        .disable_version_flag(true);
    for row in set.rows() {
        command = command.arg(argument(row));
        if row.spec.kind == FlagKind::Bool {
            command = command.arg(negation(&row.spec));
        }
    }
    command.arg(Arg::new(WORDS).num_args(0..).hide(true))
}

/// The same for flags that no environment variable stands in for.
#[cfg(feature = "kops")]
pub(super) fn command_alone(set: &FlagSet) -> Command {
    let help = |row: &FlagRow| noted(&row.spec, choices(row.spec.kind), String::new());
    set.rows().iter().fold(command(set), |command, row| command.mut_arg(row.spec.name, |arg| arg.help(help(row))))
}

/// Id and long name of the flag that switches another off.
pub(super) fn negated(name: &str) -> String {
    format!("no-{name}")
}

/// Version line.
pub(super) fn version() -> String {
    format!("zonewright {}\n", env!("CARGO_PKG_VERSION"))
}

/// Help of the daemon; `long` also lists the flags and words of everything that is not here.
pub(super) fn daemon(set: &FlagSet, catalog: &Catalog, long: bool) -> String {
    let long =
        program(set, catalog, long).arg(built_in("help-long", "Print all flags, including those of other builds"));
    render(long)
}

/// The daemon as clap sees it, as far as it is shown.
pub(super) fn program(set: &FlagSet, catalog: &Catalog, long: bool) -> Command {
    let usage = "zonewright --source=SOURCE... --provider=PROVIDER --policy=POLICY [FLAGS]\n       \
                 zonewright COMMAND [FLAGS]";
    let mut command = command(set).about("Keeps DNS zones in step with a Kubernetes cluster").override_usage(usage);
    if !long {
        for row in set.rows() {
            let hidden = !row.shown || row.spec.feature.is_some_and(|feature| !feature.is_built);
            command = command.mut_arg(row.spec.name, |arg| arg.hide(hidden));
        }
        for (name, words) in
            [("source", sources_here()), ("provider", catalog.provider_names()), ("registry", catalog.registry_names())]
        {
            let Some(row) = set.row(name) else { continue };
            command = command.mut_arg(name, |arg| arg.help(sentence(&row.spec, &words)));
        }
    }
    let commands = "Commands:\n  plan          Show what would be changed, without changing anything\n  \
                    migrate       Show what to run in place of an external-dns\n  \
                    records       Show the records of the daemon's zones, with their owners\n  \
                    zones         Show the daemon's zones\n  \
                    owners        Show who claims records in them\n  \
                    plans         Show held plans\n  approve HASH  Approve a held plan\n  \
                    history       Show the changes made to zones\n  \
                    undo          Undo changes and pin the restored names\n  \
                    pinned        Show pinned names\n  \
                    adopt         Claim unowned records that match what the cluster requests\n  \
                    transfer      Transfer the records of one owner to another\n  \
                    release       Drop the claims of one owner and leave its records\n  \
                    drain         Delete every record of one owner\n  \
                    rbac          Print the RBAC roles that these flags need\n  \
                    kops          Run in place of kops' dns-controller, with its flags\n  \
                    demo          Run a demonstration with an embedded DNS server\n  \
                    help COMMAND  Print the help of a command\n  \
                    version       Print the version";
    command.after_help(format!("{commands}\n\n{AFTER}"))
}

/// Help of a command with a few flags.
pub(super) fn small(set: &FlagSet, usage: &'static str, about: &'static str) -> String {
    let mut command = command(set).about(about).override_usage(usage);
    for row in set.rows().iter().filter(|row| HIDDEN.contains(&row.spec.name)) {
        command = command.mut_arg(row.spec.name, |arg| arg.hide(true));
    }
    render(command)
}

/// Help of a command whose flags have no environment variables.
#[cfg(feature = "kops")]
pub(super) fn alone(set: &FlagSet, usage: &'static str, about: &'static str) -> String {
    render(command_alone(set).about(about).override_usage(usage))
}

/// Flags of commands that are taken and not shown, since another one has their place.
const HIDDEN: &[&str] = &["json"];

fn built_in(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).help(help).action(ArgAction::SetTrue).help_heading("Help")
}

fn render(command: Command) -> String {
    let (help, version) = (built_in("help", "Print help"), built_in("version", "Print version"));
    let mut command = command.arg(help.short('h')).arg(version.short('V'));
    command.render_help().to_string()
}

fn argument(row: &FlagRow) -> Arg {
    let spec = &row.spec;
    let arg =
        Arg::new(spec.name).long(spec.name).help(sentence(spec, choices(spec.kind))).help_heading(row.heading.clone());
    match spec.kind {
        FlagKind::Bool => arg.action(ArgAction::SetTrue),
        kind if kind.repeats() => arg.action(ArgAction::Append).value_name(value_name(spec)),
        _ => arg.action(ArgAction::Set).value_name(value_name(spec)),
    }
}

fn negation(spec: &FlagSpec) -> Arg {
    let name = negated(spec.name);
    Arg::new(name.clone()).long(name).action(ArgAction::SetTrue).conflicts_with(spec.name).hide(true)
}

fn choices(kind: FlagKind) -> &'static [&'static str] {
    match kind {
        FlagKind::Choice(words) | FlagKind::ChoiceList(words) => words,
        _ => &[],
    }
}

fn sentence(spec: &FlagSpec, words: &[&str]) -> String {
    noted(spec, words, spec.env())
}

/// What a flag does, with its words, its default and the variable that stands in for it.
fn noted(spec: &FlagSpec, words: &[&str], variable: String) -> String {
    let words: Vec<&str> = words.iter().copied().filter(|word| !word.is_empty()).collect();
    let default = match (spec.kind, spec.default) {
        (FlagKind::Bool, "true") => format!("on; --{} turns it off", negated(spec.name)),
        (FlagKind::Bool, _) => String::new(),
        (_, default) => default.to_owned(),
    };
    let notes = [("one of", words.join(", ")), ("default", default), ("env", variable)];
    let notes = notes.into_iter().filter(|(_, text)| !text.is_empty());
    notes.fold(spec.help.to_owned(), |out, (what, text)| format!("{out} [{what}: {text}]"))
}
