//! Every promise of `docs/safety.md` names tests, and each of them exists.

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

#[test]
fn every_promise_names_tests_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = std::fs::read_to_string(root.join("docs/safety.md")).expect("docs/safety.md");
    let table = page.split("## Which test shows which promise").nth(1).expect("the table of promises");
    let rows: Vec<&str> = table.lines().skip_while(|line| !line.starts_with("|---")).skip(1).collect();
    let rows: Vec<&str> = rows.into_iter().take_while(|line| line.starts_with('|')).collect();
    assert!(rows.len() >= 30, "{} promises", rows.len());
    let mut text = String::new();
    sources(&root.join("crates"), &mut text);
    sources(&root.join("bin/tests"), &mut text);
    let missing: Vec<(&str, &str)> = rows
        .iter()
        .flat_map(|row| {
            let names: Vec<&str> = row.split('`').skip(1).step_by(2).collect();
            assert!(!names.is_empty(), "a promise without a test: {row}");
            names.into_iter().map(move |name| (*row, name))
        })
        .filter(|(_, name)| !text.contains(&format!("fn {name}(")))
        .collect();
    assert!(missing.is_empty(), "no such test: {missing:#?}");
}
