//! What the flags choose, whether this build has it, and which flags go with something else.

use zonewright_core::catalog::{FlagFeature, FlagSpec, FlagValue, ProviderEntry, Settings};
use zonewright_source_k8s::options::SourceKind;

use super::set::{FlagRow, FlagSet};
use crate::catalog::{self, Catalog, InTree};

/// Sources that this build has, in alphabetical order.
pub(super) fn sources_here() -> Vec<&'static str> {
    let built = SourceKind::ALL.iter().filter(|(source, _)| source.is_built());
    let mut words: Vec<&str> = built.map(|(_, word)| *word).collect();
    words.sort_unstable();
    words
}

/// What the flags choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// Value of `--provider`.
    pub provider: String,
    /// Values of `--source` in the order given.
    pub sources: Vec<String>,
    /// Value of `--registry`.
    pub registry: String,
    /// Whether the settings file lists providers: then none is chosen by `--provider`.
    pub instances: bool,
    /// Whether `--webhook-server` is on: the provider is served, and neither sources nor registry are used.
    pub webhook_server: bool,
}

impl Selection {
    /// The choice that the settings hold.
    pub fn of(settings: &Settings) -> Self {
        Self {
            provider: settings.text("provider").to_owned(),
            sources: settings.list("source").to_vec(),
            registry: settings.text("registry").to_owned(),
            instances: false,
            webhook_server: settings.bool("webhook-server"),
        }
    }
}

/// Refuses what was chosen and is not here.
///
/// # Errors
/// One sentence for each thing, in one line.
pub(super) fn available(
    selection: &Selection,
    settings: &Settings,
    set: &FlagSet,
    catalog: &Catalog,
) -> Result<(), String> {
    let mut problems = Vec::new();
    let Selection { provider, registry, .. } = selection;
    let entry = catalog.provider(provider);
    if entry.is_none() && !selection.instances {
        problems.push(missing("provider", provider, catalog::PROVIDERS, &catalog.provider_names()));
    }
    if selection.webhook_server {
        problems.extend(server_problem(entry));
    } else {
        problems.extend(selection.sources.iter().filter_map(|source| source_problem(source)));
        if catalog.registry(registry).is_none() {
            problems.push(missing("registry", registry, catalog::REGISTRIES, &catalog.registry_names()));
        }
        problems.extend(cluster_problem(settings));
    }
    problems.extend(set.rows().iter().filter_map(|row| feature_problem(row, selection, settings)));
    if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) }
}

/// Why a provider or registry is not here.
fn missing(what: &str, name: &str, in_tree: &[InTree], here: &[&str]) -> String {
    let why = match in_tree.iter().find(|one| one.names.contains(&name)) {
        Some(InTree { feature, .. }) => format!("is not compiled into this build (Cargo feature {feature})"),
        None => "does not exist in Zonewright yet".to_owned(),
    };
    let here = if here.is_empty() { "none".to_owned() } else { here.join(", ") };
    format!("--{what}={name} {why}; available here: {here}")
}

/// A flag that was given, is to be obeyed, and cannot be.
fn feature_problem(row: &FlagRow, selection: &Selection, settings: &Settings) -> Option<String> {
    let FlagSpec { name, feature, .. } = row.spec;
    let FlagFeature { name: feature, remedy, .. } = feature.filter(|feature| !feature.is_built)?;
    let wanted = row.is_selected(selection) && settings.given(name) && settings.value(name).is_some_and(says_something);
    wanted.then(|| format!("--{name} is not compiled into this build (Cargo feature {feature}): {remedy}"))
}

fn source_problem(word: &str) -> Option<String> {
    let feature = SourceKind::parse(word).filter(|source| !source.is_built())?.feature()?;
    Some(format!(
        "--source={word} is not compiled into this build (Cargo feature source-{feature}); available here: {}",
        sources_here().join(", ")
    ))
}

fn server_problem(entry: Option<&ProviderEntry>) -> Option<String> {
    if !cfg!(feature = "webhook-server") {
        return Some("--webhook-server is not compiled into this build (Cargo feature webhook-server)".to_owned());
    }
    let ProviderEntry { name, unserved, .. } = entry?;
    unserved.map(|why| format!("--webhook-server cannot serve --provider={name}: {why}"))
}

fn cluster_problem(settings: &Settings) -> Option<String> {
    let alone = !cfg!(feature = "cluster") && settings.text("manifests").is_empty();
    alone.then(|| "this build has no Kubernetes client (Cargo feature cluster): give --manifests".to_owned())
}

fn says_something(value: &FlagValue) -> bool {
    use secrecy::ExposeSecret;
    match value {
        FlagValue::Bool(on) => *on,
        FlagValue::Text(text) => !text.is_empty(),
        FlagValue::Secret(secret) => !secret.expose_secret().is_empty(),
        FlagValue::List(list) => list.iter().any(|text| !text.is_empty()),
        FlagValue::Map(map) => !map.is_empty(),
        FlagValue::Int(_) | FlagValue::Duration { .. } => true,
    }
}

/// Flags that were given and belong to nothing that was chosen, in one sentence.
pub(super) fn ignored(selection: &Selection, settings: &Settings, set: &FlagSet) -> Option<String> {
    let foreign = |row: &&FlagRow| settings.given(row.spec.name) && !row.is_selected(selection);
    let names: Vec<String> = set.rows().iter().filter(foreign).map(|row| format!("--{}", row.spec.name)).collect();
    (!names.is_empty())
        .then(|| format!("ignored, since no chosen provider, source or registry reads them: {}", names.join(" ")))
}
