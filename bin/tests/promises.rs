//! Every promise of `docs/safety.md` and every rule of `docs/kops.md` names tests, and each of them exists.

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

/// Checks the table below a heading of a page: at least so many rows, and each names tests that exist.
#[track_caller]
fn names_tests(page: &str, heading: &str, least: usize) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = std::fs::read_to_string(root.join(page)).unwrap_or_else(|error| panic!("{page}: {error}"));
    let table = text.split(&format!("## {heading}")).nth(1).expect("the heading is on the page");
    let rows = table.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
    let rows: Vec<&str> = rows.take_while(|line| line.starts_with('|')).collect();
    assert!(rows.len() >= least, "{page} has {} rows", rows.len());
    let mut code = String::new();
    for folder in ["crates", "bin/src", "bin/tests"] {
        sources(&root.join(folder), &mut code);
    }
    let missing: Vec<(&str, &str)> = rows
        .iter()
        .flat_map(|row| {
            // The first column may show flags and fields.
            let tests = row.trim_end_matches(['|', ' ']).rsplit_once('|').map_or("", |(_, tests)| tests);
            let names: Vec<&str> = tests.split('`').skip(1).step_by(2).collect();
            assert!(!names.is_empty(), "{page}: no test is named: {row}");
            names.into_iter().map(move |name| (*row, name))
        })
        .filter(|(_, name)| !code.contains(&format!("fn {name}(")))
        .collect();
    assert!(missing.is_empty(), "{page}: no such test: {missing:#?}");
}

#[test]
fn every_promise_names_tests_that_exist() {
    names_tests("docs/safety.md", "Which test shows which promise", 30);
}

#[test]
fn every_rule_of_kops_names_tests_that_exist() {
    names_tests("docs/kops.md", "Which test shows which rule", 44);
}
