//! `docs/metrics.md` has a row for every event that the program posts on objects.

use std::collections::BTreeSet;
use std::path::Path;

use crate::{read, root};

/// The files whose words in CamelCase are reasons of events, all of them.
const WHOLE: &[&str] = &[
    "crates/core/src/lower.rs",
    "crates/core/src/plan/why.rs",
    "crates/engine/src/announce.rs",
    "crates/source-k8s/src/map.rs",
];

/// Where a reason follows.
const CALLS: &[&str] = &["Note::warning(", "Note::normal(", ".add_with("];

/// A reason is within so many bytes of the call.
const NEAR: usize = 200;

fn sources(folder: &Path, files: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).expect("a folder of sources").flatten() {
        let path = entry.path();
        let name = path.strip_prefix(root()).unwrap_or(&path).to_string_lossy().into_owned();
        if path.is_dir() && !name.ends_with("tests") {
            sources(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "rs") && !name.contains("tests") {
            let text = std::fs::read_to_string(&path).expect("a source file");
            files.push((name, text.split("#[cfg(test)]").next().unwrap_or_default().to_owned()));
        }
    }
}

/// The files of the crates that report on objects.
fn all() -> Vec<(String, String)> {
    let mut files = Vec::new();
    let crates = [
        "core",
        "engine",
        "source-k8s",
        "provider-azure",
        "provider-clouddns",
        "provider-cloudflare",
        "provider-route53",
    ];
    for name in crates {
        sources(&root().join("crates").join(name).join("src"), &mut files);
    }
    sources(&root().join("bin/src"), &mut files);
    files
}

/// Two words or more, each with a capital: `NameConflict`, `InvalidTTL`.
fn is_reason(word: &str) -> bool {
    let capitals = word.chars().filter(char::is_ascii_uppercase).count();
    word.chars().all(|c| c.is_ascii_alphabetic())
        && word.starts_with(|c: char| c.is_ascii_uppercase())
        && capitals >= 2
        && word.chars().any(|c| c.is_ascii_lowercase())
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split('"').skip(1).step_by(2).filter(|word| is_reason(word))
}

/// The reasons that the code gives.
fn reasons(files: &[(String, String)]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (name, text) in files {
        if WHOLE.iter().any(|whole| name.ends_with(whole)) {
            found.extend(words(text).map(str::to_owned));
        }
        for call in CALLS {
            for rest in text.split(call).skip(1) {
                let near = rest.get(..rest.floor_char_boundary(NEAR)).unwrap_or(rest);
                // The reason is the first text among the arguments.
                let near = near.split(';').next().unwrap_or_default();
                found.extend(near.split('"').nth(1).filter(|word| is_reason(word)).map(str::to_owned));
            }
        }
    }
    found
}

#[test]
fn every_event_has_its_row_and_every_row_its_event() {
    let page = read("docs/metrics.md");
    let (_, events) = page.split_once("## Events").expect("the part about events");
    let rows = events.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`').map(|(reason, _)| reason));
    let rows: BTreeSet<String> = rows.map(str::to_owned).collect();
    let files = all();
    let missing: Vec<String> = reasons(&files).difference(&rows).cloned().collect();
    assert!(missing.is_empty(), "events without a row in docs/metrics.md: {missing:?}");
    let posted = |reason: &str| files.iter().any(|(_, text)| text.contains(&format!("\"{reason}\"")));
    let dead: Vec<&String> = rows.iter().filter(|reason| !posted(reason)).collect();
    assert!(dead.is_empty(), "rows in docs/metrics.md without an event: {dead:?}");
    assert!(rows.len() > 30, "{rows:?}");
}
