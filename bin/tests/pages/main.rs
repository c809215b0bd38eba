//! The pages are true: their commands are taken or run, their links lead somewhere, and what is made from tables is current.

mod blocks;
mod commands;
mod events;
mod links;
mod metrics;

use std::path::{Path, PathBuf};

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A page, by its path from the root.
struct Page {
    path: String,
    text: String,
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every page of the book, and the README.
fn pages() -> Vec<Page> {
    let mut paths = vec!["README.md".to_owned()];
    let mut folders = vec!["docs".to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(root().join(&folder)).expect("a folder of pages") {
            let entry = entry.expect("an entry");
            let path = format!("{folder}/{}", entry.file_name().to_str().expect("a plain name"));
            if entry.path().is_dir() {
                folders.push(path);
            } else if entry.path().extension().is_some_and(|ending| ending == "md") {
                paths.push(path);
            }
        }
    }
    paths.sort();
    assert!(paths.len() > 30, "{paths:?}");
    paths.into_iter().map(|path| Page { text: read(&path), path }).collect()
}
