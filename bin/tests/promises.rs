//! Every promise of `docs/safety.md`, every rule of `docs/kops.md` and every case of `docs/gardener-contract.md` names tests, and each of
//! them exists.

use std::path::Path;

/// The text of every Rust file below a folder.
fn sources(folder: &Path, text: &mut String) {
    for entry in std::fs::read_dir(folder).expect("a folder of the project").flatten() {
        let path = entry.path();
        if path.is_dir() && !path.ends_with("target") {
            sources(&path, text);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            text.push_str(&std::fs::read_to_string(&path).expect("a source file"));
        }
    }
}

/// The rows of the table below a heading of a page.
fn rows(page: &str, heading: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(page);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{page}: {error}"));
    let table = text.split(&format!("## {heading}")).nth(1).unwrap_or_else(|| panic!("{page} has no {heading}"));
    let rows = table.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
    rows.take_while(|line| line.starts_with('|')).map(str::to_owned).collect()
}

/// The last cell of each row names tests that are in one of these folders; there are so many rows at least.
#[track_caller]
fn every_row_names_tests(rows: &[String], least: usize, folders: &[&str]) {
    assert!(rows.len() >= least, "{} rows", rows.len());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut code = String::new();
    for folder in folders {
        sources(&root.join(folder), &mut code);
    }
    let missing: Vec<(&str, &str)> = rows
        .iter()
        .flat_map(|row| {
            // The other columns may show flags and fields.
            let tests = row.trim_end_matches(['|', ' ']).rsplit_once('|').map_or("", |(_, tests)| tests);
            let names: Vec<&str> = tests.split('`').skip(1).step_by(2).collect();
            assert!(!names.is_empty(), "a row without a test: {row}");
            names.into_iter().map(move |name| (row.as_str(), name))
        })
        .filter(|(_, name)| !code.contains(&format!("fn {name}(")))
        .collect();
    assert!(missing.is_empty(), "no such test: {missing:#?}");
}

#[test]
fn every_promise_names_tests_that_exist() {
    let promises = rows("safety.md", "Which test shows which promise");
    every_row_names_tests(&promises, 80, &["crates", "bin/src", "bin/tests"]);
}

/// What a build for release is made of says it; a test itself has to unwind.
#[test]
fn a_panic_ends_the_program_that_is_shipped() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml");
    let manifest = std::fs::read_to_string(manifest).expect("the workspace's manifest");
    let table = |name: &str| {
        let from = manifest.split(&format!("[profile.{name}]\n")).nth(1).unwrap_or_else(|| panic!("no profile {name}"));
        from.split("\n[").next().unwrap_or_default().to_owned()
    };
    assert!(table("release").lines().any(|line| line == "panic = \"abort\""), "{}", table("release"));
    let dist = table("dist");
    assert!(dist.contains("inherits = \"release\"") && !dist.contains("panic"), "{dist}");
}

#[test]
fn every_rule_of_kops_names_tests_that_exist() {
    let rules = rows("kops.md", "Which test shows which rule");
    every_row_names_tests(&rules, 44, &["crates", "bin/src", "bin/tests"]);
}

#[test]
fn every_case_of_gardeners_contract_names_tests_that_exist() {
    let folders = ["crates/gardener", "bin/tests/e2e"];
    let cases = rows("gardener-contract.md", "Cases");
    let number = |row: &String| row.split('|').nth(1).and_then(|cell| cell.trim().parse::<usize>().ok());
    let numbers: Vec<usize> = cases.iter().filter_map(number).collect();
    assert_eq!(numbers, (1..=66).collect::<Vec<_>>(), "every case, once and in order");
    every_row_names_tests(&cases, 66, &folders);
    every_row_names_tests(&rows("gardener-contract.md", "What Gardener does and waits for"), 10, &folders);
}
