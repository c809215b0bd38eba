//! The bill of materials of an image, as CycloneDX 1.6: the crates that are linked, and what comes beside them.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::Result;
use serde_json::{Value, json};

use super::contents::Contents;
use crate::process::capture;
use crate::{python, workspace};

/// The bill for a target, which is a static program; without one for this machine's program and its libraries.
pub(super) fn bill(version: &str, target: Option<&str>, contents: &Contents) -> Result<Value> {
    let mut components = crates(target)?;
    let rustc = capture(Command::new("rustc").arg("--version"))?;
    let rustc = rustc.split(' ').nth(1).unwrap_or_default();
    components.push(json!({"type": "library", "name": "rust-std", "version": rustc}));
    if target.is_some() {
        components.push(json!({"type": "library", "name": "musl", "version": python::MUSL}));
    }
    for path in contents.paths() {
        components.push(json!({"type": "file", "name": path}));
    }
    let authorities =
        capture(Command::new("dpkg-query").args(["--show", "--showformat=${Version}", "ca-certificates"]));
    if let Ok(version) = authorities {
        components.push(json!({"type": "data", "name": "ca-certificates", "version": version.trim()}));
    }
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "zonewright", "version": version}},
        "components": components,
    }))
}

/// The crates that are linked.
fn crates(target: Option<&str>) -> Result<Vec<Value>> {
    let mut tree = workspace::cargo()?;
    tree.args(["tree", "--locked", "--package", "zonewright", "--no-default-features", "--features", "full"]);
    tree.args(["--edges", "normal", "--prefix", "none", "--format", "{p}|{l}"]);
    if let Some(target) = target {
        tree.args(["--target", target]);
    }
    Ok(components(&capture(&mut tree)?))
}

/// Lines such as `serde v1.0.0|MIT OR Apache-2.0`, with a folder or `(*)` behind the version of some.
fn components(tree: &str) -> Vec<Value> {
    let mut found = BTreeMap::new();
    for line in tree.lines() {
        let Some((package, licence)) = line.trim_end_matches(" (*)").split_once('|') else { continue };
        let mut words = package.split(' ');
        let (Some(name), Some(version)) = (words.next(), words.next()) else { continue };
        found.insert((name, version.trim_start_matches('v')), licence.replace('/', " OR "));
    }
    let component = |((name, version), licence): ((&str, &str), String)| {
        let mut component = json!({
            "type": "library", "name": name, "version": version, "purl": format!("pkg:cargo/{name}@{version}"),
        });
        if !licence.is_empty() {
            component["licenses"] = json!([{"expression": licence}]);
        }
        component
    };
    found.into_iter().map(component).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_are_read_from_the_tree_once_each() {
        let tree = "zonewright v0.1.0 (/src/bin)|Apache-2.0\nserde v1.0.2|MIT/Apache-2.0\nserde v1.0.2|MIT/Apache-2.0 (*)\nx v1|\n";
        let told: Vec<(String, Value)> = components(tree)
            .into_iter()
            .map(|component| {
                (component["purl"].as_str().unwrap().to_owned(), component["licenses"][0]["expression"].clone())
            })
            .collect();
        let expected = [
            ("pkg:cargo/serde@1.0.2", json!("MIT OR Apache-2.0")),
            ("pkg:cargo/x@1", Value::Null),
            ("pkg:cargo/zonewright@0.1.0", json!("Apache-2.0")),
        ];
        assert_eq!(told, expected.map(|(purl, licence)| (purl.to_owned(), licence)));
    }
}
