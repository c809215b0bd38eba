//! No file names a folder of somebody's machine or the host of a package registry: both are true in one place only.

use std::fs;

use anyhow::Result;

use crate::workspace;

/// Absolute folders of one machine. Written in parts, so that this file passes its own check.
const FOLDERS: &[&str] = &[concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/Us", "ers/")];

/// Hosts of package registries and their mirrors: which of them is used is a setting of the machine.
const HOSTS: &[&str] = &[
    concat!("crates.io", "/api"),
    concat!("index.", "crates.io"),
    concat!("static.", "crates.io"),
    concat!("proxy.", "golang"),
    concat!("sum.", "golang"),
    concat!("pypi", ".org"),
    concat!("files.", "pythonhosted"),
    concat!("registry.", "npmjs"),
    concat!("deb.", "debian.org"),
];

pub(super) fn check() -> Result<Vec<String>> {
    let root = workspace::root()?;
    let mut problems = Vec::new();
    for file in workspace::files()? {
        // A file that was deleted but is still in git's index, or is no text, says nothing.
        let Ok(text) = fs::read_to_string(root.join(&file)) else { continue };
        for (index, line) in text.lines().enumerate() {
            if let Some(pattern) = forbidden(line) {
                problems.push(format!("{}:{}: names {pattern}", file.display(), index + 1));
            }
        }
    }
    Ok(problems)
}

/// The first thing in the line that must not be there.
fn forbidden(line: &str) -> Option<&'static str> {
    let folder = FOLDERS.iter().find(|folder| line.match_indices(**folder).any(|(at, _)| begins_a_path(line, at)));
    folder.or_else(|| HOSTS.iter().find(|host| line.contains(**host))).copied()
}

/// Whether the slash at `at` begins an absolute path, and is not a part of a longer one or of an address.
fn begins_a_path(line: &str, at: usize) -> bool {
    !line[..at].ends_with(|before: char| before.is_alphanumeric() || "._-~})]$*".contains(before))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machine_paths_and_registry_hosts_are_found() {
        let check = |line: &str, expected: bool| assert_eq!(forbidden(line).is_some(), expected, "{line}");
        check(concat!("see /wo", "rk/main"), true);
        check(concat!("\"/ro", "ot/.cache\""), true);
        check(concat!("path = \"/ho", "me/someone\""), true);
        check(concat!("https://example.com/ho", "me/page"), false);
        check(concat!("frame/wo", "rk/x"), false);
        check(concat!("$FOLDER/wo", "rk/x"), false);
        check(concat!("https://proxy.", "golang.org"), true);
        check("registry+https://github.com/rust-lang/crates.io-index", false);
        check("https://crates.io/crates/kube", false);
    }
}
