//! What both programs are given in a round.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

/// A recorded run, perhaps changed.
#[derive(Debug, Clone)]
pub struct Round {
    /// The recorded run that it was made from, as group/scenario/run.
    pub base: String,
    /// What was changed, in words.
    pub changes: Vec<String>,
    /// The Kubernetes objects.
    pub objects: Vec<Value>,
    /// Flags, without those that lead to objects and records.
    pub args: Vec<String>,
    /// Environment variables.
    pub env: BTreeMap<String, String>,
    /// What the provider has: endpoints of the webhook protocol.
    pub current: Vec<Value>,
    /// What the provider is for: a domain filter of the webhook protocol.
    pub domain_filter: Value,
}

/// The part of `runs.json` that a round begins from.
#[derive(Debug, Deserialize)]
struct Recorded {
    name: String,
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    current: Vec<Value>,
    #[serde(default)]
    domain_filter: Option<Value>,
}

impl Round {
    /// The round in the form of `runs.json`, with nothing recorded yet.
    pub fn as_run(&self) -> Value {
        json!({
            "name": self.base, "args": self.args, "env": self.env, "current": self.current,
            "domain_filter": self.domain_filter, "exit": 0, "desired": [], "changes": {},
        })
    }

    /// The objects as a manifest: JSON documents, which are YAML too.
    pub fn manifest(&self) -> String {
        self.objects.iter().map(Value::to_string).collect::<Vec<_>>().join("\n---\n")
    }
}

/// Every recorded run below `corpus`, in order of its name.
///
/// # Errors
/// A file cannot be read.
pub fn recorded(corpus: &Path) -> Result<Vec<Round>> {
    let mut rounds = Vec::new();
    for group in folders(corpus)? {
        for scenario in folders(&corpus.join(&group))? {
            rounds.extend(scenario_rounds(&corpus.join(&group).join(&scenario), &format!("{group}/{scenario}"))?);
        }
    }
    ensure!(!rounds.is_empty(), "{} holds no recorded run", corpus.display());
    Ok(rounds)
}

fn scenario_rounds(folder: &Path, name: &str) -> Result<Vec<Round>> {
    let read = |file: &str| fs::read_to_string(folder.join(file)).with_context(|| format!("{name}/{file}"));
    // As Kubernetes' tools write it: `y` is a text, only `true` and `false` are not (YAML 1.2).
    let yaml = serde_saphyr::options! { strict_booleans: true };
    let objects: Vec<Value> = serde_saphyr::from_multiple_with_options(&read("objects.yaml")?, yaml)
        .context(format!("{name}/objects.yaml"))?;
    let runs: Vec<Recorded> = serde_json::from_str(&read("runs.json")?).context(format!("{name}/runs.json"))?;
    let round = |run: Recorded| Round {
        base: format!("{name}/{}", run.name),
        changes: Vec::new(),
        objects: objects.iter().filter(|object| object.is_object()).cloned().collect(),
        args: run.args,
        env: run.env,
        current: run.current,
        domain_filter: run.domain_filter.unwrap_or_else(|| json!({})),
    };
    Ok(runs.into_iter().map(round).collect())
}

fn folders(parent: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(parent).with_context(|| format!("cannot read {}", parent.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.path().is_dir() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort_unstable();
    Ok(names)
}
