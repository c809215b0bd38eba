//! The reference page of all flags, made from the tables; a test keeps `docs/flags.md` equal to it.

use std::fmt::Write;

use zonewright_core::catalog::{FlagKind, FlagSpec};

use super::owner::FlagOwner;
use super::selection::sources_here;
use super::set::{FlagRow, FlagSet};
use super::value_names::value_name;
use crate::catalog::Catalog;

const INTRODUCTION: &str = "\
# Flags

Made by `zonewright docs flags`; do not edit.

A command line of external-dns is taken as it stands: the same names, defaults and grammar.

- `--name value` or `--name=value`. A value that begins with `-` must be attached with `=`.
- Switches take no value: `--once`, `--no-once`.
- A flag that holds one value may be given once. Those marked *repeatable* add up, in order; commas are not split.
- `@FILE` is replaced by the lines of the file; empty lines and lines that begin with `#` are left out.
- Durations are numbers with units (`ns us ms s m h d w`), such as `1m30s`; a bare number is refused, but for `0`.
- The environment variable counts only where its flag is not given and it is not empty. A repeatable flag takes one
  value from each line.
- `-h`, `--help`, `--help-long`, `-V`, `--version`, and the words `help` and `version`; `--help-man` prints a manual page (`zonewright --help-man | man -l -`),
  `--completion-script-bash` and `--completion-script-zsh` a script to be sourced.

Flags of a provider, source or registry that is not chosen are checked and then ignored; one line of the log names
them. A flag marked with a *Cargo feature* is in builds with that feature alone; elsewhere it is refused if something that is
chosen would have to obey it.
";

/// The page, in Markdown.
pub fn page(catalog: &Catalog) -> String {
    let set = FlagSet::daemon(catalog);
    let mut out = INTRODUCTION.to_owned();
    let _ = writeln!(
        out,
        "\nSources that exist: {}. Registries: {}.",
        words(&sources_here()),
        words(&catalog.registry_names())
    );
    for (heading, rows) in sections(&set) {
        let _ = writeln!(out, "\n## {heading}\n");
        out.push_str(&rows.first().map_or_else(String::new, |row| about(row)));
        out.push_str("| flag | value | default | environment | meaning |\n|---|---|---|---|---|\n");
        for row in rows {
            out.push_str(&line(&row.spec));
        }
    }
    out
}

/// What the catalogue says of the owner of a section, as a paragraph.
fn about(row: &FlagRow) -> String {
    let (about, feature, page) = match row.owners.first() {
        Some(FlagOwner::Provider(entry)) => (entry.about, entry.feature, entry.page),
        Some(FlagOwner::Registry(entry)) => (entry.about, entry.feature, entry.page),
        _ => return String::new(),
    };
    let feature = if feature.is_empty() { String::new() } else { format!(" Cargo feature `{feature}`.") };
    let page = page.strip_prefix("docs/").map_or_else(String::new, |page| format!(" [More]({page})."));
    format!("{about}.{feature}{page}\n\n")
}

/// Rows by heading: ours in their own order, then those of providers and of what does not exist, by name.
fn sections(set: &FlagSet) -> Vec<(&str, Vec<&FlagRow>)> {
    let mut sections: Vec<(&str, Vec<&FlagRow>)> = Vec::new();
    for row in set.rows() {
        match sections.iter_mut().find(|(heading, _)| *heading == row.heading) {
            Some((_, rows)) => rows.push(row),
            None => sections.push((&row.heading, vec![row])),
        }
    }
    sections.sort_by_key(|(heading, _)| if heading.starts_with("Provider") { *heading } else { "" });
    sections
}

fn line(spec: &FlagSpec) -> String {
    let name = if spec.kind == FlagKind::Bool { format!("[no-]{}", spec.name) } else { spec.name.to_owned() };
    let default = if spec.default.is_empty() { String::new() } else { format!("`{}`", spec.default) };
    let meaning = spec.help.replace('|', "\\|");
    let note = spec.feature.map_or_else(String::new, |feature| format!("; *Cargo feature* `{}`", feature.name));
    format!("| `--{name}` | {} | {default} | `{}` | {meaning}{note} |\n", value(spec), spec.env())
}

fn value(spec: &FlagSpec) -> String {
    let one = match spec.kind {
        FlagKind::Choice(choices) | FlagKind::ChoiceList(choices) => words(choices),
        _ => value_name(spec).to_lowercase(),
    };
    if spec.kind.repeats() { format!("{one}; *repeatable*") } else { one }
}

fn words(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().filter(|word| !word.is_empty()).map(|word| format!("`{word}`")).collect();
    words.join(" ")
}
