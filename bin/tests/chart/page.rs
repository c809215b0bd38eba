//! The pages: the table of values in `deploy/chart/README.md`, made from the comments and values of `values.yaml` and written by
//! `BLESS=1`; and that values and commands which pages show are taken.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::charts::{Documented, arguments, at, documented, file, folder, install, root, yaml};
use crate::needs_helm;

const BEGIN: &str = "<!-- begin: made from values.yaml by the test `chart` -->\n";
const END: &str = "<!-- end -->\n";

/// Longer defaults are left to the file.
const SHORT: usize = 40;

fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        value if value.to_string().len() > SHORT => "see [values.yaml](values.yaml)".to_owned(),
        value => format!("`{value}`"),
    }
}

fn table() -> String {
    let values = yaml(&file("values.yaml"));
    let mut table = String::from("| value | default | meaning |\n|---|---|---|\n");
    for Documented { path, text } in documented() {
        let default = at(&values, &path).map(shown).unwrap_or_default();
        let _ = writeln!(table, "| `{path}` | {default} | {text} |");
    }
    table
}

#[test]
fn the_table_of_values_is_that_of_the_file() {
    let page = file("README.md");
    let (head, rest) = page.split_once(BEGIN).expect("the table's beginning is marked");
    let (_, foot) = rest.split_once(END).expect("the table's end is marked");
    let made = format!("{head}{BEGIN}{}{END}{foot}", table());
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(folder().join("README.md"), &made).expect("write the page");
        return;
    }
    assert!(page == made, "write it with BLESS=1 cargo test -p zonewright --test chart page");
}

#[test]
fn versions_are_those_of_the_program() {
    let chart = yaml(&file("Chart.yaml"));
    assert_eq!(chart["appVersion"], env!("CARGO_PKG_VERSION"), "appVersion is the tag of the image");
}

/// The indented blocks of a page.
fn blocks(page: &str) -> Vec<String> {
    let mut blocks = vec![String::new()];
    for line in page.lines() {
        match (line.strip_prefix("    "), blocks.last_mut()) {
            (Some(code), Some(block)) => block.extend([code, "\n"]),
            (None, Some(block)) if line.is_empty() && !block.is_empty() => block.push('\n'),
            _ => blocks.push(String::new()),
        }
    }
    blocks.retain(|block| !block.is_empty());
    blocks
}

#[test]
fn values_on_the_page_are_taken() {
    needs_helm!();
    let values: Vec<Value> = blocks(&file("README.md"))
        .iter()
        .filter(|block| !block.starts_with(['$', '<']) && !block.starts_with("helm "))
        .map(|block| yaml(block))
        .collect();
    assert!(values.len() >= 3, "{values:?}");
    for values in values {
        if let Err(error) = install(&values) {
            panic!("{values}: {error}");
        }
    }
}

#[test]
fn the_command_of_the_page_installs_what_it_says() {
    needs_helm!();
    let page = std::fs::read_to_string(root().join("docs/start.md")).expect("the page");
    let blocks = blocks(&page);
    let command = blocks.iter().find(|block| block.starts_with("helm install")).expect("the page installs by Helm");
    let mut values = json!({});
    let words: Vec<&str> = command.split_whitespace().collect();
    for pair in words.windows(2).filter(|pair| pair[0] == "--set") {
        let (path, value) = pair[1].split_once('=').expect("--set VALUE=TEXT");
        let list = value.strip_prefix("'{").and_then(|value| value.strip_suffix("}'"));
        let value = list.map_or(json!(value), |list| json!(list.split(',').collect::<Vec<_>>()));
        *path.split('.').fold(&mut values, |values, key| &mut values[key]) = value;
    }
    let rendered = install(&values).unwrap_or_else(|error| panic!("{values}: {error}"));
    let arguments = arguments(&rendered);
    for argument in ["--txt-owner-id=my-cluster", "--provider=cloudflare", "--domain-filter=example.com"] {
        assert!(arguments.iter().any(|known| known == argument), "{argument} is not in {arguments:?}");
    }
    assert!(!rendered.notes.contains("the owner is"), "{}", rendered.notes);
}
