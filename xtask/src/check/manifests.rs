//! Every member inherits from the workspace, and every dependency has its reason beside it.

use std::fs;

use anyhow::{Context, Result};

use crate::workspace;

/// What `[package]` must take from the workspace.
const INHERITED: &[&str] = &["version", "edition", "rust-version", "license"];
/// The prefix of our own packages, which need no reason.
const OWN: &str = "zonewright";

pub(super) fn check() -> Result<Vec<String>> {
    let root = workspace::root()?;
    let mut problems = Vec::new();
    for member in workspace::members()? {
        let path = member.folder.join("Cargo.toml");
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let shown = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
        let found = inheritance(&text).into_iter().chain(reasons(&text));
        problems.extend(found.map(|problem| format!("{shown}: {problem}")));
    }
    Ok(problems)
}

/// What the manifest does not inherit.
fn inheritance(manifest: &str) -> Vec<String> {
    let missing = INHERITED.iter().filter(|key| !has(manifest, "package", &format!("{key}.workspace")));
    let mut problems: Vec<String> =
        missing.map(|key| format!("`{key}` is not inherited: write `{key}.workspace = true`")).collect();
    if !has(manifest, "lints", "workspace") {
        problems.push("the lints are not inherited: write `[lints]`, `workspace = true`".to_owned());
    }
    problems
}

/// Whether the table holds `key = true`.
fn has(manifest: &str, table: &str, key: &str) -> bool {
    lines(manifest).any(|line| {
        let assignment = line.text.split_once('=').map(|(key, value)| (key.trim(), value.trim()));
        line.table == table && assignment == Some((key, "true"))
    })
}

/// The dependencies that have no comment above them or above the block of lines in which they stand.
fn reasons(manifest: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let mut explained = false;
    for line in lines(manifest) {
        if line.text.is_empty() {
            explained = false;
        } else if line.text.starts_with('#') {
            explained = true;
        } else if let Some(name) = dependency(&line).filter(|name| !name.starts_with(OWN) && !explained) {
            problems.push(format!("line {}: `{name}` has no comment above it that says what it is for", line.number));
        }
    }
    problems
}

/// The dependency that this line begins: `name = ...` in a table of dependencies, or the table's own header.
fn dependency<'a>(line: &Line<'a>) -> Option<&'a str> {
    if let Some(header) = line.text.strip_prefix('[') {
        let (table, name) = header.trim_end_matches(']').rsplit_once('.')?;
        return is_dependencies(table).then_some(name);
    }
    let assigns = is_dependencies(line.table) && line.text.contains('=') && line.starts;
    assigns.then(|| line.text.split(['.', '=', ' ']).next()).flatten()
}

fn is_dependencies(table: &str) -> bool {
    ["dependencies", "build-dependencies"].iter().any(|kind| table == *kind || table.ends_with(&format!(".{kind}")))
}

/// A line of a manifest and where it stands.
struct Line<'a> {
    number: usize,
    /// Name of the table, without brackets.
    table: &'a str,
    text: &'a str,
    /// Whether a value can begin here: not inside a list that goes over several lines.
    starts: bool,
}

fn lines(manifest: &str) -> impl Iterator<Item = Line<'_>> {
    let mut table = "";
    let mut open = 0_usize;
    manifest.lines().enumerate().map(move |(index, line)| {
        let text = line.trim();
        let starts = open == 0;
        if starts && text.starts_with('[') {
            table = text.trim_matches(['[', ']']);
        } else if !text.starts_with('#') {
            open = (open + text.matches('[').count()).saturating_sub(text.matches(']').count());
        }
        Line { number: index + 1, table, text, starts }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "\
[package]
version.workspace = true
edition.workspace = true
rust-version.workspace = true
license.workspace = true

[lints]
workspace = true
";

    #[test]
    fn what_is_not_inherited_is_named() {
        assert_eq!(inheritance(GOOD), Vec::<String>::new());
        let check = |from: &str, to: &str, expected: &str| {
            let problems = inheritance(&GOOD.replace(from, to));
            assert!(problems.len() == 1 && problems[0].contains(expected), "{problems:?}");
        };
        check("edition.workspace = true", "edition = \"2024\"", "`edition`");
        check("[lints]", "[other]", "lints");
    }

    #[test]
    fn every_dependency_has_its_reason() {
        let check = |dependencies: &str, expected: &[&str]| {
            let problems = reasons(&format!("[package]\nname = \"x\"\n{dependencies}"));
            assert_eq!(problems.len(), expected.len(), "{dependencies}: {problems:?}");
            assert!(problems.iter().zip(expected).all(|(problem, name)| problem.contains(name)), "{problems:?}");
        };
        check("[dependencies]\n# why\nserde = \"1\"", &[]);
        check("[dependencies]\nserde = \"1\"", &["`serde`"]);
        check(
            "[dependencies]\n# why both\nserde.workspace = true\nserde_json.workspace = true\n\ntokio = \"1\"",
            &["`tokio`"],
        );
        check("[dependencies]\nzonewright-core.workspace = true", &[]);
        check("[dependencies]\n# why\ntokio = { version = \"1\", features = [\n  \"rt\",\n\n  \"x=y\",\n] }", &[]);
        check("[dev-dependencies]\nproptest = \"1\"", &[]);
        check("[target.'cfg(unix)'.dependencies]\nlibc = \"1\"", &["`libc`"]);
        check("[dependencies.serde]\nversion = \"1\"", &["`serde`"]);
        check("# why\n[dependencies.serde]\nversion = \"1\"", &[]);
    }
}
