//! What the flags choose, whether this build has it, and which flags go with something else.

use zonewright_core::catalog::{FlagValue, Settings};
use zonewright_source_k8s::options::SourceKind;

use super::set::{FlagSet, Row};
use crate::catalog::Catalog;

/// Sources that this build has, in alphabetical order.
pub(super) fn sources_here() -> Vec<&'static str> {
    let built = SourceKind::ALL.iter().filter(|(source, _)| source.is_built());
    let mut words: Vec<&str> = built.map(|(_, word)| *word).collect();
    words.sort_unstable();
    words
}

/// Registries that exist.
pub(super) const REGISTRIES_HERE: &[&str] = &[
    #[cfg(feature = "cluster")]
    "configmap",
    #[cfg(feature = "registry-dynamodb")]
    "dynamodb",
    "noop",
    "txt",
];

/// Registries that are not in every build, and the Cargo feature that compiles each in.
const REGISTRY_FEATURES: &[(&str, &str)] = &[("configmap", "cluster"), ("dynamodb", "registry-dynamodb")];

/// Providers that exist, and the Cargo feature that compiles each in.
const FEATURES: &[(&str, &str)] = &[
    ("inmemory", "provider-local"),
    ("local", "provider-local"),
    ("rfc2136", "provider-rfc2136"),
    ("webhook", "provider-webhook"),
];

/// A flag that needs more than its provider, and that the usual image leaves out.
pub(super) struct Special {
    /// Name of the flag.
    pub(super) flag: &'static str,
    /// The Cargo feature that compiles it in.
    pub(super) feature: &'static str,
    /// Whether this build has it.
    pub(super) is_built: bool,
    /// The stage of the Dockerfile that has it, and what else does for its users.
    remedy: &'static str,
}

/// All of them.
pub(super) const SPECIAL: &[Special] = &[Special {
    flag: "rfc2136-gss-tsig",
    feature: "rfc2136-gss-tsig",
    is_built: cfg!(feature = "rfc2136-gss-tsig"),
    remedy: "use the image that deploy/Dockerfile makes with --target kerberos, or sign with a TSIG key",
}];

/// What the flags choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// Value of `--provider`.
    pub provider: String,
    /// Values of `--source` in the order given.
    pub sources: Vec<String>,
    /// Value of `--registry`.
    pub registry: String,
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
    problems.extend(provider_problem(selection, catalog));
    if selection.webhook_server {
        problems.extend(server_problem(selection));
    } else {
        problems.extend(selection.sources.iter().filter_map(|source| source_problem(source)));
        problems.extend(registry_problem(&selection.registry));
        problems.extend(cluster_problem(settings));
    }
    problems.extend(SPECIAL.iter().filter_map(|special| {
        let Special { flag, feature, is_built, remedy } = special;
        let wanted = set.row(flag)?.is_selected(selection)
            && settings.given(flag)
            && settings.value(flag).is_some_and(says_something);
        (wanted && !is_built)
            .then(|| format!("--{flag} is not compiled into this build (Cargo feature {feature}): {remedy}"))
    }));
    if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) }
}

fn provider_problem(selection: &Selection, catalog: &Catalog) -> Option<String> {
    let name = selection.provider.as_str();
    if catalog.find(name).is_some() {
        return None;
    }
    let here = catalog.names().join(", ");
    let here = if here.is_empty() { "none" } else { &here };
    Some(match FEATURES.iter().find(|(known, _)| *known == name) {
        Some((_, feature)) => {
            format!(
                "--provider={name} is not compiled into this build (Cargo feature {feature}); available here: {here}"
            )
        }
        None => format!("--provider={name} does not exist in Zonewright yet; available here: {here}"),
    })
}

fn source_problem(word: &str) -> Option<String> {
    let feature = SourceKind::parse(word).filter(|source| !source.is_built())?.feature()?;
    Some(format!(
        "--source={word} is not compiled into this build (Cargo feature source-{feature}); available here: {}",
        sources_here().join(", ")
    ))
}

fn registry_problem(word: &str) -> Option<String> {
    if REGISTRIES_HERE.contains(&word) {
        return None;
    }
    let here = REGISTRIES_HERE.join(", ");
    Some(match REGISTRY_FEATURES.iter().find(|(known, _)| *known == word) {
        Some((_, feature)) => format!(
            "--registry={word} is not compiled into this build (Cargo feature {feature}); available here: {here}"
        ),
        None => format!("--registry={word} does not exist in Zonewright yet; available here: {here}"),
    })
}

fn server_problem(selection: &Selection) -> Option<String> {
    if !cfg!(feature = "webhook-server") {
        return Some("--webhook-server is not compiled into this build (Cargo feature webhook-server)".to_owned());
    }
    (selection.provider == "webhook").then(|| {
        "--webhook-server cannot serve --provider=webhook: that one speaks the protocol itself; let its callers use \
         the address in --webhook-provider-url"
            .to_owned()
    })
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
    let foreign = |row: &&Row| settings.given(row.spec.name) && !row.is_selected(selection);
    let names: Vec<String> = set.rows().iter().filter(foreign).map(|row| format!("--{}", row.spec.name)).collect();
    (!names.is_empty())
        .then(|| format!("ignored, since no chosen provider, source or registry reads them: {}", names.join(" ")))
}
