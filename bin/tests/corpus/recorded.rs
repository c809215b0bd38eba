//! What is recorded: the runs of a scenario, and endpoints as they stand in the webhook protocol.
//!
//! In: the JSON of `runs.json`, and of what the program sends. Out: values. A field that is not known here is an error, so
//! that nothing is left out of the comparison unseen; `null` stands for an empty value.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::de::Deserializer;
use serde::{Deserialize, Serialize};

/// One run of one scenario.
#[derive(Debug)]
pub(crate) struct Case {
    /// As group/scenario/run.
    pub(crate) name: String,
    /// The file with the objects.
    pub(crate) objects: PathBuf,
    pub(crate) run: Run,
}

/// A run of external-dns: what it was given, and what it did.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Run {
    pub(crate) name: String,
    /// Flags, without those that say where objects and records are.
    pub(crate) args: Vec<String>,
    #[serde(default)]
    pub(crate) env: BTreeMap<String, String>,
    /// What the provider has already.
    #[serde(default)]
    pub(crate) current: Vec<Endpoint>,
    /// What the provider is for.
    #[serde(default)]
    pub(crate) domain_filter: DomainFilter,
    /// Exit status.
    pub(crate) exit: i32,
    /// What was sent to be adjusted: all that was wanted.
    pub(crate) desired: Vec<Endpoint>,
    /// What was sent to be done.
    pub(crate) changes: Changes,
}

/// The domain filter of the webhook protocol.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub(crate) struct DomainFilter {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) include: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) exclude: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) regex_include: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) regex_exclude: String,
}

/// An endpoint of the webhook protocol.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub(crate) struct Endpoint {
    pub(crate) dns_name: String,
    pub(crate) record_type: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) set_identifier: String,
    /// Seconds; 0 is unset.
    #[serde(rename = "recordTTL", skip_serializing_if = "is_unset")]
    pub(crate) record_ttl: i64,
    #[serde(deserialize_with = "null_is_empty", skip_serializing_if = "Vec::is_empty")]
    pub(crate) targets: Vec<String>,
    #[serde(deserialize_with = "null_is_empty", skip_serializing_if = "Vec::is_empty")]
    pub(crate) provider_specific: Vec<Property>,
    #[serde(deserialize_with = "null_is_empty", skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) labels: BTreeMap<String, String>,
}

/// A provider-specific property.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Property {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) value: String,
}

/// All changes of a run.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Changes {
    pub(crate) create: Vec<Endpoint>,
    pub(crate) update: Vec<Update>,
    pub(crate) delete: Vec<Endpoint>,
}

/// The two sides of a changed endpoint.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Update {
    pub(crate) from: Endpoint,
    pub(crate) to: Endpoint,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn is_unset(ttl: &i64) -> bool {
    *ttl == 0
}

/// Reads a value or `null`.
pub(crate) fn null_is_empty<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: Deserialize<'de> + Default,
    D: Deserializer<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// All runs of a group, by scenario and then as recorded.
#[track_caller]
pub(crate) fn cases(corpus: &Path, group: &str) -> Vec<Case> {
    let folder = corpus.join(group);
    let scenarios = folders(&folder);
    scenarios
        .iter()
        .flat_map(|scenario| scenario_cases(&folder.join(scenario), &format!("{group}/{scenario}")))
        .collect()
}

#[track_caller]
fn scenario_cases(folder: &Path, name: &str) -> Vec<Case> {
    let objects = folder.join("objects.yaml");
    assert!(objects.is_file(), "{name} has no objects.yaml");
    let text = fs::read(folder.join("runs.json")).unwrap_or_else(|error| panic!("{name}/runs.json: {error}"));
    let runs: Vec<Run> = serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{name}/runs.json: {error}"));
    assert!(!runs.is_empty(), "{name} holds no run");
    let case = |run: Run| Case { name: format!("{name}/{}", run.name), objects: objects.clone(), run };
    runs.into_iter().map(case).collect()
}

/// The names of the folders in a folder, sorted.
#[track_caller]
pub(crate) fn folders(parent: &Path) -> Vec<String> {
    let entries = fs::read_dir(parent).unwrap_or_else(|error| panic!("{}: {error}", parent.display()));
    let entries = entries.map(|entry| entry.expect("a readable entry"));
    let mut names: Vec<String> = entries
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
