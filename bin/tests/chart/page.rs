//! The table of values in `deploy/chart/README.md`: made from the comments and values of `values.yaml`, written by `BLESS=1`.

use std::fmt::Write as _;

use serde_json::Value;

use crate::charts::{Documented, at, documented, file, folder, yaml};

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
