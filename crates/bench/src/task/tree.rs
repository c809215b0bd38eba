//! How many crates each set of features pulls in, and which of them speak HTTP.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, bail};

use crate::build::cargo;
use crate::report::Section;

/// What a cloud SDK, or a second HTTP client, would bring; a `*` at the end stands for anything.
const ABSENT: &[&str] = &["reqwest", "ureq", "isahc", "curl", "aws-*", "google-cloud*", "azure_*"];
/// The crates that make HTTP.
const HTTP: &[&str] = &["axum", "hyper", "hyper-util", "kube-client", "h2"];

pub(super) fn run() -> Result<String> {
    let sets: [(&str, &[&str]); 4] = [
        ("`provider-rfc2136` alone, `--manifests` only", &["--no-default-features", "--features", "provider-rfc2136"]),
        ("`provider-rfc2136,cluster`", &["--no-default-features", "--features", "provider-rfc2136,cluster"]),
        ("default", &[]),
        ("`full`", &["--features", "full"]),
    ];
    let rows = sets.iter().map(|(what, features)| row(what, features)).collect::<Result<Vec<_>>>()?;
    let about = "Crates by `cargo tree`, normal dependencies, and those among them that make HTTP. `cargo xtask check` proves \
                 on every change that no cloud SDK and no HTTP client but that of the Kubernetes client is among them.";
    let head = ["features", "crates", "HTTP", "cloud SDK or another HTTP client"];
    Ok(Section::new("Dependencies", about).table(&head, &rows).finish())
}

fn row(what: &str, features: &[&str]) -> Result<Vec<String>> {
    let crates = tree(features)?;
    let of = |patterns: &[&str]| {
        let found = crates.iter().filter(|name| patterns.iter().any(|pattern| matches(pattern, name)));
        let found: Vec<&str> = found.map(String::as_str).collect();
        if found.is_empty() { "none".to_owned() } else { found.join(", ") }
    };
    Ok(vec![what.to_owned(), crates.len().to_string(), of(HTTP), of(ABSENT)])
}

fn tree(features: &[&str]) -> Result<BTreeSet<String>> {
    let fixed = ["tree", "--locked", "--package", "zonewright", "--edges", "normal", "--prefix", "none"];
    let output = cargo().args(fixed).args(features).output().context("run cargo tree")?;
    if !output.status.success() {
        bail!("cargo tree: {}", String::from_utf8_lossy(&output.stderr));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text
        .lines()
        .filter_map(|line| line.split(' ').next())
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect())
}

fn matches(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(name == pattern, |prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_ending() {
        assert!(matches("aws-*", "aws-config") && !matches("aws-*", "paws-x") && !matches("ureq", "ureq-proto"));
    }
}
