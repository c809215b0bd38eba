//! Shell completion and the manual page. The Go program's parser has these switches built in;
//! scripts of its users call them.
//!
//! In: what is asked for. Out: a text for standard output. What must hold: nothing is offered that the command line refuses.

use clap::Command;
use clap_complete::Shell;
use zonewright_core::catalog::FlagKind;

use super::help;
use super::set::FlagSet;
use crate::catalog::Catalog;

/// A text about the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Page {
    /// `--help-man`: a manual page for `man -l -`.
    Manual,
    /// `--completion-script-bash` and its kin: a script to be sourced.
    Script(Shell),
    /// `--completion-bash WORD...`: what the last of these words can become, a line each.
    Candidates(Vec<String>),
}

impl Page {
    /// The page that a switch asks for; `rest` is what follows it.
    pub(super) fn of(switch: &str, rest: impl Iterator<Item = String>) -> Option<Self> {
        match switch {
            "--help-man" => Some(Self::Manual),
            "--completion-script-bash" => Some(Self::Script(Shell::Bash)),
            "--completion-script-zsh" => Some(Self::Script(Shell::Zsh)),
            "--completion-bash" => Some(Self::Candidates(rest.collect())),
            _ => None,
        }
    }

    /// Its text; `commands` are those beside the daemon.
    pub(super) fn text(&self, catalog: &Catalog, commands: Vec<Command>) -> String {
        let set = FlagSet::daemon(catalog);
        let whole = |commands| help::program(&set, catalog, false).subcommands(commands);
        match self {
            Self::Manual => manual(whole(commands)),
            Self::Script(shell) => script(*shell, whole(commands)),
            Self::Candidates(words) => candidates(words, &set, &commands).into_iter().map(|word| word + "\n").collect(),
        }
    }
}

fn manual(command: Command) -> String {
    let mut out = Vec::new();
    // Writing into memory cannot fail.
    let _ = clap_mangen::Man::new(command).render(&mut out);
    String::from_utf8_lossy(&out).into_owned()
}

fn script(shell: Shell, mut command: Command) -> String {
    let mut out = Vec::new();
    clap_complete::generate(shell, &mut command, "zonewright", &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

fn candidates(words: &[String], set: &FlagSet, commands: &[Command]) -> Vec<String> {
    let (last, before) = words.split_last().map_or(("", words), |(last, before)| (last.as_str(), before));
    let named = before.last().and_then(|word| word.strip_prefix("--")).and_then(|name| set.row(name));
    let all: Vec<String> = match named.map(|row| row.spec.kind) {
        Some(FlagKind::Choice(choices) | FlagKind::ChoiceList(choices)) => {
            choices.iter().map(|choice| (*choice).to_owned()).collect()
        }
        Some(kind) if kind != FlagKind::Bool => return Vec::new(),
        _ if before.is_empty() && !last.starts_with('-') => {
            commands.iter().map(|command| command.get_name().to_owned()).collect()
        }
        _ => set.rows().iter().filter(|row| row.shown).map(|row| format!("--{}", row.spec.name)).collect(),
    };
    all.into_iter().filter(|word| word.starts_with(last) && !word.is_empty()).collect()
}
