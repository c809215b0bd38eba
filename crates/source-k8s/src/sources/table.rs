//! The page of sources, as far as the code knows it: what each reads and watches.
//!
//! In comes nothing; out comes a Markdown table that `docs/sources.md` holds, and a test compares. What must hold: the table
//! is made of the same roles that run.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::roles;
use crate::kind::Kind;
use crate::lookup::ReadScope;
use crate::options::{Compatibility, SourceKind, SourceOptions};

/// One row for each source that this build has, in alphabetical order.
pub fn table() -> String {
    let mut sources: Vec<&(SourceKind, &str)> =
        SourceKind::ALL.iter().filter(|(source, _)| source.is_built()).collect();
    sources.sort_unstable_by_key(|(_, word)| *word);
    let mut out =
        String::from("| `--source` | maps | label in the claim | reads besides | feature |\n|---|---|---|---|---|\n");
    for (source, word) in sources {
        let feature = source.feature().map_or_else(String::new, |feature| format!("`source-{feature}`"));
        let _ = writeln!(out, "| `{word}` | {} | {feature} |", row(*source));
    }
    out
}

/// Everything switched on that makes a source read more.
fn options(source: SourceKind) -> SourceOptions {
    SourceOptions {
        sources: vec![source],
        namespace: "N".to_owned(),
        gateway_namespace: "G".to_owned(),
        gateway_listener_sets: true,
        traefik_legacy: true,
        compatibility: Compatibility::KopsDnsController,
        unstructured: vec![Kind::custom("GROUP", "VERSION", "PLURAL", "", true)],
        ..SourceOptions::default()
    }
}

fn row(source: SourceKind) -> String {
    let roles = roles(&options(source));
    let own = |kind: &Kind| roles.iter().any(|role| role.kind == *kind);
    let mut maps: Vec<String> = roles.iter().map(|role| shown(role.kind, role.reach())).collect();
    maps.dedup();
    let mut labels: Vec<String> =
        roles.iter().filter_map(|role| role.labels.first()).map(|l| format!("`{l}`")).collect();
    let mut seen = BTreeSet::new();
    labels.retain(|label| seen.insert(label.clone()));
    let others = roles.iter().flat_map(|role| &role.reads).filter(|(kind, _)| !own(kind));
    let mut others: Vec<String> = others.map(|(kind, reach)| shown(*kind, Some(reach))).collect();
    others.sort();
    others.dedup();
    let cell = |list: Vec<String>| if list.is_empty() { "-".to_owned() } else { list.join(", ") };
    let labels = if source == SourceKind::Unstructured { vec!["the kind in lower case".to_owned()] } else { labels };
    format!("{} | {} | {}", cell(maps), cell(labels), cell(others))
}

/// A kind and how far it is read.
fn shown(kind: Kind, reach: Option<&ReadScope>) -> String {
    let id = if kind.is_polled() { kind.spec().name.to_lowercase() } else { kind.id().to_string() };
    match reach {
        _ if kind.is_polled() || !kind.spec().namespaced => format!("`{id}`"),
        Some(ReadScope::Namespace(namespace)) if **namespace == *"G" => format!("`{id}` (`--gateway-namespace`)"),
        Some(ReadScope::Namespace(_)) => format!("`{id}` (`--namespace`)"),
        _ => format!("`{id}` (all namespaces)"),
    }
}
