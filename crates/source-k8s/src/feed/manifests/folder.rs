//! A folder of manifests as a view of objects: what its files hold, and which of them wins.
//!
//! In comes the state of a folder at each scan; out come feed events, and faults with file and line. What must hold:
//! - A file with faults adds and changes objects, and never removes one: what it last held stays in force.
//! - A file, or folder, that cannot be read removes nothing either.
//! - As long as some file's content has never been known whole, the view is no evidence of what is *not* there.
//! - An object that was passed on is not kept, only a digest of what its document said. One that another file's object hides is kept.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::document::{At, Digest, DocumentReads, Format, Parsed, Stated, Unread, line_of, parse};
use crate::feed::FeedEvent;
use crate::store::{Object, ObjectKey};

/// A file that was written so recently is read again at the next scan: a second write may carry the same time.
const HOT: Duration = Duration::from_secs(1);

/// A file that held objects and is empty was most likely truncated to be written anew: it is left alone so long.
const TRUNCATED: Duration = Duration::from_millis(300);

/// Something wrong with a file of the folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileProblem {
    /// The file, or folder.
    pub file: PathBuf,
    /// The line, counted from 1; 0 if the whole file is meant.
    pub line: usize,
    /// What is wrong, and what was expected.
    pub message: String,
}

impl fmt::Display for FileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file.display(), self.message),
            line => write!(f, "{}:{line}: {}", self.file.display(), self.message),
        }
    }
}

/// An object of the folder that nothing reads: its source is not among the chosen ones, or there is none.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnreadObject {
    /// The file.
    pub file: PathBuf,
    /// The line, counted from 1.
    pub line: usize,
    /// `apiVersion`.
    pub api_version: String,
    /// `kind`.
    pub kind: String,
}

/// What a scan gave.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// What changed.
    pub(super) events: Vec<FeedEvent>,
    /// Everything that is wrong now.
    pub(super) faults: Vec<FileProblem>,
    /// The objects of kinds that nothing reads.
    pub(super) unread: Vec<UnreadObject>,
    /// When to look again, if it is sooner than usual.
    pub(super) again: Option<Duration>,
}

/// The folder as last seen.
#[derive(Debug)]
pub(super) struct Folder {
    dir: PathBuf,
    wanted: DocumentReads,
    files: BTreeMap<PathBuf, File>,
    /// What was passed on last of each object.
    held: BTreeMap<ObjectKey, Digest>,
    listed: bool,
    /// Something could not be read at the last scan.
    unreadable: bool,
    /// Everything that was wrong then.
    faults: Vec<FileProblem>,
}

/// What became of a file at a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refresh {
    /// It is as it was read.
    Same,
    /// It was read.
    Read,
    /// It should not be read now, but after so much time.
    Later(Duration),
}

/// What is known of one file.
#[derive(Debug, Default)]
struct File {
    stamp: Option<Stamp>,
    objects: Vec<At<Entry>>,
    faults: Vec<At<String>>,
    unread: Vec<At<Unread>>,
    /// Its content was once known without a fault.
    known: bool,
}

/// An object that a file states, or stated last before it had faults.
#[derive(Debug)]
struct Entry {
    key: ObjectKey,
    digest: Digest,
    /// Until it is passed on.
    object: Option<Object>,
}

impl From<Stated> for Entry {
    fn from(Stated { object, digest }: Stated) -> Self {
        Self { key: object.key(), digest, object: Some(object) }
    }
}

/// An object of the merged view: where it stands, and what its document says.
#[derive(Debug, Clone)]
struct Winner {
    file: Arc<Path>,
    line: usize,
    digest: Digest,
}

/// What distinguishes one state of a file from another without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    len: u64,
    modified: Option<SystemTime>,
    inode: (u64, u64),
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self { len: metadata.len(), modified: metadata.modified().ok(), inode: identity(metadata) }
    }

    /// Time since the last write; a time in the future counts as long ago.
    fn age(&self, now: SystemTime) -> Duration {
        self.modified.and_then(|modified| now.duration_since(modified).ok()).unwrap_or(Duration::MAX)
    }
}

/// Device and inode, where the system has them.
pub(super) fn identity(metadata: &Metadata) -> (u64, u64) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        (metadata.dev(), metadata.ino())
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        (0, 0)
    }
}

/// The manifest files below a folder.
#[derive(Debug, Default)]
struct Listing {
    files: BTreeMap<PathBuf, (Format, Metadata)>,
    /// Files and folders that cannot be read, and why.
    unreadable: BTreeMap<PathBuf, String>,
    visited: BTreeSet<PathBuf>,
}

impl Folder {
    /// A folder that has not been looked at.
    pub(super) fn new(dir: PathBuf, wanted: DocumentReads) -> Self {
        Self {
            dir,
            wanted,
            files: BTreeMap::new(),
            held: BTreeMap::new(),
            listed: false,
            unreadable: false,
            faults: Vec::new(),
        }
    }

    /// The folder's path.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Looks at the folder and reads the files that changed.
    pub(super) fn scan(&mut self, now: SystemTime) -> Scan {
        let mut listing = Listing::default();
        listing.walk(&self.dir);
        if let Some(why) = listing.unreadable.get(&self.dir) {
            let fault = FileProblem { file: self.dir.clone(), line: 0, message: why.clone() };
            self.unreadable = true;
            return Scan {
                events: self.each_kind(FeedEvent::Blind),
                faults: vec![fault],
                unread: self.unread(),
                again: None,
            };
        }
        let away = |file: &PathBuf| listing.unreadable.keys().any(|prefix| file.starts_with(prefix));
        let before = self.files.len();
        self.files.retain(|file, _| listing.files.contains_key(file) || away(file));
        let mut changed = self.files.len() != before;
        let mut again = None;
        for (path, (format, metadata)) in &listing.files {
            let file = self.files.entry(path.clone()).or_default();
            match file.refresh(path, *format, metadata, &self.wanted, now) {
                Refresh::Same => {}
                Refresh::Read => changed = true,
                Refresh::Later(pause) => again = again.max(Some(pause)),
            }
        }
        if changed || !self.listed || !listing.unreadable.is_empty() || self.unreadable {
            self.unreadable = !listing.unreadable.is_empty();
            return self.conclude(&listing, again);
        }
        // No file was read: everything is as it was, and nothing is gone through.
        let whole = self.files.values().all(|file| file.known);
        Scan {
            events: self.each_kind(if whole { FeedEvent::Open } else { FeedEvent::Blind }),
            faults: self.faults.clone(),
            unread: self.unread(),
            again,
        }
    }

    fn conclude(&mut self, listing: &Listing, again: Option<Duration>) -> Scan {
        let mut faults: Vec<FileProblem> = listing.unreadable.iter().map(|(file, why)| fault(file, 0, why)).collect();
        for (path, file) in &self.files {
            faults.extend(file.faults.iter().map(|at| fault(path, at.line, &at.what)));
        }
        let mut whole = listing.unreadable.is_empty() && self.files.values().all(|file| file.known);
        let mut merged = self.merge(&mut faults);
        let first = whole && !self.listed;
        let (changed, lost) = self.changed(&merged, listing, first);
        // What cannot be had again stays as it was passed on last, and the view is none to rest on.
        whole &= lost.is_empty();
        for key in lost {
            match self.held.get(&key).zip(merged.get_mut(&key)) {
                Some((digest, winner)) => winner.digest = *digest,
                None => drop(merged.remove(&key)),
            }
        }
        let events = if first && whole { self.list(changed) } else { self.differ(changed, &merged, whole) };
        self.listed |= whole;
        self.held = merged.into_iter().map(|(key, winner)| (key, winner.digest)).collect();
        if self.listed {
            self.forget_objects();
        }
        self.faults.clone_from(&faults);
        Scan { events, faults, unread: self.unread(), again }
    }

    /// The objects whose statement was not passed on yet, or all, in the order of their keys; and those that cannot be had: they were
    /// passed on once, hidden by another file's since, and their own file no longer states them (it has faults, or cannot be read).
    fn changed(
        &mut self,
        merged: &BTreeMap<ObjectKey, Winner>,
        listing: &Listing,
        all: bool,
    ) -> (Vec<Object>, Vec<ObjectKey>) {
        let (mut objects, mut lost) = (BTreeMap::new(), Vec::new());
        for (path, file) in &mut self.files {
            let mut again = None;
            for At { line, what: Entry { key, digest, object } } in &mut file.objects {
                let wins = merged.get(key).is_some_and(|winner| {
                    (&*winner.file, winner.line, winner.digest) == (path.as_path(), *line, *digest)
                });
                if !wins || !all && self.held.get(key) == Some(digest) {
                    continue;
                }
                let had = object.clone().or_else(|| {
                    let now = again.get_or_insert_with(|| stated_now(path, listing, &self.wanted)).remove(key);
                    now.filter(|stated| stated.digest == *digest).map(|stated| stated.object)
                });
                match had {
                    Some(object) => drop(objects.insert(key.clone(), object)),
                    None => lost.push(key.clone()),
                }
            }
        }
        (objects.into_values().collect(), lost)
    }

    /// Objects that were passed on are not needed again.
    fn forget_objects(&mut self) {
        let held = &self.held;
        for entry in self.files.values_mut().flat_map(|file| &mut file.objects) {
            if held.get(&entry.what.key) == Some(&entry.what.digest) {
                entry.what.object = None;
            }
        }
    }

    fn unread(&self) -> Vec<UnreadObject> {
        let of = |(path, file): (&PathBuf, &File)| -> Vec<UnreadObject> {
            let object = |At { line, what: Unread { api_version, kind } }: &At<Unread>| UnreadObject {
                file: path.clone(),
                line: *line,
                api_version: api_version.clone(),
                kind: kind.clone(),
            };
            file.unread.iter().map(object).collect()
        };
        self.files.iter().flat_map(of).collect()
    }

    /// The objects of all files; of two with one key the one in the first file by name, and the first in a file, wins.
    fn merge(&self, faults: &mut Vec<FileProblem>) -> BTreeMap<ObjectKey, Winner> {
        let mut merged: BTreeMap<ObjectKey, Winner> = BTreeMap::new();
        for (path, file) in &self.files {
            let shared: Arc<Path> = Arc::from(path.as_path());
            for At { line, what: Entry { key, digest, .. } } in &file.objects {
                if let Some(winner) = merged.get(key) {
                    let message = format!("{key} is also in {}:{}, which is used", winner.file.display(), winner.line);
                    faults.push(FileProblem { file: path.clone(), line: *line, message });
                } else {
                    merged.insert(key.clone(), Winner { file: Arc::clone(&shared), line: *line, digest: *digest });
                }
            }
        }
        merged
    }

    fn list(&self, objects: Vec<Object>) -> Vec<FeedEvent> {
        let mut events = self.each_kind(FeedEvent::Begin);
        events.extend(objects.into_iter().map(FeedEvent::Listed));
        events.extend(self.each_kind(FeedEvent::Done));
        events.extend(self.each_kind(FeedEvent::Open));
        events
    }

    fn differ(&self, changed: Vec<Object>, merged: &BTreeMap<ObjectKey, Winner>, whole: bool) -> Vec<FeedEvent> {
        let mut events: Vec<FeedEvent> = changed.into_iter().map(FeedEvent::Applied).collect();
        let gone: Vec<ObjectKey> = self.held.keys().filter(|key| !merged.contains_key(*key)).cloned().collect();
        if !gone.is_empty() {
            events.push(FeedEvent::Removed(gone));
        }
        events.extend(self.each_kind(if whole { FeedEvent::Open } else { FeedEvent::Blind }));
        events
    }

    fn each_kind(&self, event: fn(crate::kind::Kind) -> FeedEvent) -> Vec<FeedEvent> {
        self.wanted.reads.keys().copied().map(event).collect()
    }
}

impl File {
    /// Reads the file if it may have changed.
    fn refresh(
        &mut self,
        path: &Path,
        format: Format,
        metadata: &Metadata,
        wanted: &DocumentReads,
        now: SystemTime,
    ) -> Refresh {
        let stamp = Stamp::of(metadata);
        if self.stamp.as_ref() == Some(&stamp) {
            return Refresh::Same;
        }
        let age = stamp.age(now);
        if stamp.len == 0 && !self.objects.is_empty() && age < TRUNCATED {
            return Refresh::Later(TRUNCATED);
        }
        self.take(read(path, format, wanted));
        // What has a fault is read again: the cause may lie outside the file (a permission).
        self.stamp = (age >= HOT && self.faults.is_empty()).then_some(stamp);
        Refresh::Read
    }

    fn take(&mut self, parsed: Parsed) {
        let stated = |At { line, what }: At<Stated>| At { line, what: Entry::from(what) };
        let old = std::mem::replace(&mut self.objects, parsed.objects.into_iter().map(stated).collect());
        self.faults = parsed.faults;
        self.unread = parsed.unread;
        if self.faults.is_empty() {
            self.known = true;
            return;
        }
        let stated: BTreeSet<ObjectKey> = self.objects.iter().map(|at| at.what.key.clone()).collect();
        self.objects.extend(old.into_iter().filter(|at| !stated.contains(&at.what.key)));
    }
}

/// What a file states at this moment.
fn stated_now(path: &Path, listing: &Listing, wanted: &DocumentReads) -> BTreeMap<ObjectKey, Stated> {
    let Some((format, _)) = listing.files.get(path) else { return BTreeMap::new() };
    let stated = read(path, *format, wanted).objects.into_iter();
    stated.map(|At { what, .. }| (what.object.key(), what)).collect()
}

fn read(path: &Path, format: Format, wanted: &DocumentReads) -> Parsed {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) => return faulty(0, format!("cannot be read: {error}")),
    };
    match std::str::from_utf8(&bytes) {
        Ok(text) => parse(text.strip_prefix('\u{feff}').unwrap_or(text), format, wanted),
        Err(error) => {
            let good = bytes.get(..error.valid_up_to()).unwrap_or_default();
            faulty(line_of(&String::from_utf8_lossy(good), good.len()), "expected UTF-8 text".to_owned())
        }
    }
}

fn faulty(line: usize, what: String) -> Parsed {
    Parsed { faults: vec![At { line, what }], ..Parsed::default() }
}

fn fault(file: &Path, line: usize, message: &str) -> FileProblem {
    FileProblem { file: file.to_owned(), line, message: message.to_owned() }
}

impl Listing {
    fn walk(&mut self, dir: &Path) {
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

#[cfg(test)]
mod tests;
