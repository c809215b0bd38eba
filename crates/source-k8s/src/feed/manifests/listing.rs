//! Which manifest files there are below a folder, without a look into them.
//!
//! In comes a folder; out come its files, each with its format and what the system knows of it, and what cannot be read, a link that
//! leads nowhere among it. Names that begin with a dot are passed over.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use super::document::Format;

/// The manifest files below a folder.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) files: BTreeMap<PathBuf, (Format, Metadata)>,
    /// Files and folders that cannot be read, and why.
    pub(super) unreadable: BTreeMap<PathBuf, String>,
    visited: BTreeSet<PathBuf>,
}

impl Listing {
    /// Goes through a folder.
    pub(super) fn walk(&mut self, dir: &Path) {
        // Two ways to one folder, as a mounted ConfigMap has them, are one; a link to a folder above ends here.
        match fs::canonicalize(dir).and_then(|real| Ok((real, fs::read_dir(dir)?))) {
            Ok((real, entries)) if self.visited.insert(real.clone()) => {
                entries.for_each(|entry| self.note(dir, entry));
            }
            Ok(_) => {}
            Err(error) => self.unreadable(dir, &error),
        }
    }

    fn note(&mut self, dir: &Path, entry: io::Result<fs::DirEntry>) {
        let path = match entry {
            Ok(entry) => entry.path(),
            Err(error) => return self.unreadable(dir, &error),
        };
        if is_hidden(&path) {
            return;
        }
        match fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => self.walk(&path),
            Ok(metadata) if metadata.is_file() => {
                if let Some(format) = format_of(&path) {
                    self.files.insert(path, (format, metadata));
                }
            }
            Ok(_) => {}
            // What the link leads to is away, and may be a folder.
            Err(error) if error.kind() == io::ErrorKind::NotFound && path.is_symlink() => {
                self.unreadable.insert(path, "cannot be read: it is a link that leads nowhere".to_owned());
            }
            // Gone since the folder was read: it is not there.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => self.unreadable(&path, &error),
        }
    }

    fn unreadable(&mut self, path: &Path, error: &io::Error) {
        self.unreadable.insert(path.to_owned(), format!("cannot be read: {error}"));
    }
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

/// The format by the extension; editors' backup and swap files (`web.yaml~`, `web.yaml.swp`) have another.
fn format_of(path: &Path) -> Option<Format> {
    match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "yaml" | "yml" => Some(Format::Yaml),
        "json" => Some(Format::Json),
        _ => None,
    }
}
