//! Arguments of external-dns one by one: what is taken over as it stands, and what is refused, with the reason.
//!
//! A command line is refused as a whole at its first mistake; who moves over wants to hear all of them at once. In: arguments.
//! Out: [`Sorted`]. The grammar is that of [`super::argv`].

use std::collections::BTreeSet;

use zonewright_core::catalog::FlagKind;

use super::owner::FlagOwner;
use super::set::{FlagRow, FlagSet};
use super::{nearest, peer, removed, value};
use crate::catalog::{self, Catalog};

/// Arguments that were looked at one by one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Sorted {
    /// What is taken over, in the order given.
    pub(crate) taken: Vec<Taken>,
    /// What is not.
    pub(crate) refused: Vec<Refused>,
}

/// One flag with one value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Taken {
    /// The flag's name.
    pub(crate) name: &'static str,
    /// Its value; of a switch whether it is on.
    pub(crate) value: String,
    /// The kind of the flag.
    pub(crate) kind: FlagKind,
    /// The variable that stands in for the flag.
    pub(crate) env: String,
}

impl Taken {
    /// As an argument.
    pub(crate) fn argument(&self) -> String {
        match (self.kind, self.value.as_str()) {
            (FlagKind::Bool, "false") => format!("--no-{}", self.name),
            (FlagKind::Bool, _) => format!("--{}", self.name),
            (_, value) => format!("--{}={value}", self.name),
        }
    }

    /// Whether its value must not be printed.
    pub(crate) fn is_secret(&self) -> bool {
        self.kind == FlagKind::Secret
    }
}

/// An argument that is not taken over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refused {
    /// The argument, without its value if that may be a secret.
    pub(crate) what: String,
    /// Why it is refused, a sentence for the user.
    pub(crate) why: String,
}

/// Looks at each argument. `known` gives the value of a variable that an argument refers to as `$(NAME)`.
pub(crate) fn sort(catalog: &Catalog, arguments: &[String], known: &dyn Fn(&str) -> Option<String>) -> Sorted {
    let set = FlagSet::daemon(catalog);
    let mut out = Sorted::default();
    let mut seen = BTreeSet::new();
    let mut left = arguments.iter().peekable();
    while let Some(argument) = left.next() {
        let Some((name, mut text)) = split(argument) else {
            out.refuse(shown(argument), "it is no flag");
            continue;
        };
        if let Some((row, on)) = set.switch(name) {
            match text {
                Some(text) => out.refuse(
                    format!("--{name}={text}"),
                    format!("a switch takes no value: write --{name} or --no-{name}"),
                ),
                None => out.take(row, on.to_string()),
            }
            continue;
        }
        let Some(row) = set.row(name) else {
            out.refuse(format!("--{name}"), unknown(name, &set));
            continue;
        };
        let next = |argument: &&&String| argument.len() <= 1 || !argument.starts_with('-');
        if text.is_none() {
            text = left.next_if(|argument| next(&argument)).map(String::as_str);
        }
        let Some(text) = text else {
            out.refuse(format!("--{name}"), "it needs a value");
            continue;
        };
        if !row.spec.kind.repeats() && !seen.insert(row.spec.name) {
            out.refuse(
                format!("--{name}"),
                "it is given twice, and external-dns refuses that too; the first value counts",
            );
            continue;
        }
        match value::parse(&row.spec, vec![expanded(text, known, row.spec.kind)]) {
            Ok(_) => out.take(row, text.to_owned()),
            Err(problem) if row.spec.kind == FlagKind::Secret => out.refuse(format!("--{name}"), problem),
            Err(problem) => out.refuse(format!("--{name}={text}"), problem),
        }
    }
    out
}

impl Sorted {
    fn take(&mut self, row: &FlagRow, value: String) {
        self.taken.push(Taken { name: row.spec.name, value, kind: row.spec.kind, env: row.spec.env() });
    }

    fn refuse(&mut self, what: impl Into<String>, why: impl Into<String>) {
        self.refused.push(Refused { what: what.into(), why: why.into() });
    }

    /// The value of a flag that holds one.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.taken.iter().find(|taken| taken.name == name).map(|taken| taken.value.as_str())
    }
}

/// Name and attached value of a flag; `None` of what is no long flag.
fn split(argument: &str) -> Option<(&str, Option<&str>)> {
    let body = argument.strip_prefix("--").filter(|body| !body.is_empty())?;
    Some(body.split_once('=').map_or((body, None), |(name, value)| (name, Some(value))))
}

/// A loose word may be the value of a secret.
fn shown(argument: &str) -> String {
    if argument.starts_with(['-', '@']) {
        argument.to_owned()
    } else {
        format!("a word of {} characters", argument.len())
    }
}

fn unknown(name: &str, set: &FlagSet) -> String {
    if let Some(reason) = removed::reason(name) {
        return reason;
    }
    let names = set.rows().iter().map(|row| row.spec.name);
    let hint = nearest::of(name, names).map(|other| format!(", did you mean --{other}?")).unwrap_or_default();
    format!("neither external-dns nor Zonewright has it{hint}")
}

/// A value as the container gets it: `$(NAME)` replaced where it is known, else by something of the flag's kind.
fn expanded(text: &str, known: &dyn Fn(&str) -> Option<String>, kind: FlagKind) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("$(") {
        let Some((name, tail)) = after.split_once(')') else { break };
        out.push_str(before);
        out.push_str(&known(name).unwrap_or_else(|| sample(kind).to_owned()));
        rest = tail;
    }
    out + rest
}

/// A value that a flag of this kind takes.
pub(crate) fn sample(kind: FlagKind) -> &'static str {
    match kind {
        FlagKind::Bool => "true",
        FlagKind::Int | FlagKind::Int64 => "1",
        FlagKind::Duration => "1m",
        FlagKind::Map => "key=value",
        FlagKind::Choice(words) | FlagKind::ChoiceList(words) => {
            words.iter().find(|word| !word.is_empty()).copied().unwrap_or_default()
        }
        // Base64, as keys are.
        FlagKind::Text | FlagKind::Secret | FlagKind::Regex | FlagKind::List => "AAAAAAAAAAAAAAAAAAAAAA==",
    }
}

/// The flag that an environment variable stands in for: its name and kind.
pub(crate) fn of_variable(catalog: &Catalog, variable: &str) -> Option<(&'static str, FlagKind)> {
    let set = FlagSet::daemon(catalog);
    set.rows().iter().find(|row| row.spec.env() == variable).map(|row| (row.spec.name, row.spec.kind))
}

/// Whether Zonewright has a provider of this name, in this build or in another.
pub(crate) fn has_provider(catalog: &Catalog, name: &str) -> bool {
    catalog.provider(name).is_some() || catalog::PROVIDERS.iter().any(|one| one.names.contains(&name))
}

/// Whether Zonewright has a registry of this name, in this build or in another.
pub(crate) fn has_registry(catalog: &Catalog, name: &str) -> bool {
    catalog.registry(name).is_some() || catalog::REGISTRIES.iter().any(|one| one.names.contains(&name))
}

/// Whether external-dns itself has this provider built in.
pub(crate) fn is_of_peer(provider: &str) -> bool {
    peer::PROVIDERS.contains(&provider)
}

/// The flags that belong to this provider, and to nothing else that is here.
pub(crate) fn of_provider(catalog: &Catalog, provider: &str) -> BTreeSet<&'static str> {
    let set = FlagSet::daemon(catalog);
    let own = |row: &&FlagRow| {
        let is = |owner: &FlagOwner| matches!(owner, FlagOwner::Providers(names) if names.contains(&provider));
        row.owners.iter().any(is)
    };
    set.rows().iter().filter(own).map(|row| row.spec.name).collect()
}
