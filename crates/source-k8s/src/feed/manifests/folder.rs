//! A folder of manifests as a view of objects: what its files hold, and which of them wins.
//!
//! In comes the state of a folder at each scan; out come feed events, and faults with file and line. What must hold:
//! - A file with faults adds and changes objects, and never removes one: what it last held stays in force. One that held objects and
//!   is empty has a fault: it was truncated to be written anew.
//! - A file, or folder, that cannot be read removes nothing either.
//! - As long as some file's content has never been known whole, the view is no evidence of what is *not* there.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::document::{At, DocumentReads, Format, Parsed, Unread, line_of, parse};
use super::listing::Listing;
use crate::feed::FeedEvent;
use crate::store::{Object, ObjectKey};

/// A file that was written so recently is read again at the next scan: a second write may carry the same time.
const HOT: Duration = Duration::from_secs(1);

/// A file that held objects and is empty was most likely truncated to be written anew: nothing is said of it so long.
const TRUNCATED: Duration = Duration::from_millis(300);

/// Whoever writes may be slow, or have died: nobody can tell from an empty file that it is meant to hold nothing.
const EMPTY: &str = "the file is empty; what it last held stays in force; expected objects, or a comment in a file that is to hold none";

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
    objects: Vec<HeldObject>,
    faults: Vec<At<String>>,
    unread: Vec<At<Unread>>,
    /// Its content was once known without a fault.
    known: bool,
}

/// An object of a file.
#[derive(Debug)]
struct HeldObject {
    line: u32,
    /// It was reported: no file before this one has an object with its key.
    in_force: bool,
    object: Object,
}

impl From<At<Object>> for HeldObject {
    fn from(At { line, what }: At<Object>) -> Self {
        Self { line: u32::try_from(line).unwrap_or(u32::MAX), in_force: false, object: what }
    }
}

/// The objects that were in force in files that changed or went.
type Former = BTreeMap<ObjectKey, Object>;

/// What a scan changed.
#[derive(Debug, Default)]
struct Changes {
    /// Objects that are new, or not as they were.
    came: Vec<Object>,
    /// What no file holds any more.
    gone: Vec<ObjectKey>,
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

impl Folder {
    /// A folder that has not been looked at.
    pub(super) fn new(dir: PathBuf, wanted: DocumentReads) -> Self {
        Self { dir, wanted, files: BTreeMap::new(), listed: false, unreadable: false, faults: Vec::new() }
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
        let mut former = Former::new();
        let gone = self.files.extract_if(.., |file, _| !listing.files.contains_key(file) && !away(file));
        let mut changed = false;
        for (_, mut file) in gone {
            changed = true;
            file.withdraw(&mut former);
        }
        let mut again = None;
        for (path, (format, metadata)) in &listing.files {
            let file = self.files.entry(path.clone()).or_default();
            match file.refresh(path, *format, metadata, &self.wanted, now, &mut former) {
                Refresh::Same => {}
                Refresh::Read => changed = true,
                Refresh::Later(pause) => again = again.max(Some(pause)),
            }
        }
        if changed || !self.listed || !listing.unreadable.is_empty() || self.unreadable {
            self.unreadable = !listing.unreadable.is_empty();
            return self.conclude(&listing, &former, again);
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

    fn conclude(&mut self, listing: &Listing, former: &Former, again: Option<Duration>) -> Scan {
        let mut faults: Vec<FileProblem> = listing.unreadable.iter().map(|(file, why)| fault(file, 0, why)).collect();
        for (path, file) in &self.files {
            faults.extend(file.faults.iter().map(|at| fault(path, at.line, &at.what)));
        }
        let whole = listing.unreadable.is_empty() && self.files.values().all(|file| file.known);
        let hidden = self.hidden(&mut faults);
        let changes = self.put_in_force(&hidden, former);
        let events = if whole && !self.listed { self.list() } else { self.differ(changes, whole) };
        self.listed |= whole;
        self.faults.clone_from(&faults);
        Scan { events, faults, unread: self.unread(), again }
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

    /// The places of the objects that are not used, in order: of two with one key the one in the first file by name, and the first in a
    /// file, wins.
    fn hidden(&self, faults: &mut Vec<FileProblem>) -> Vec<(usize, usize)> {
        let mut winners: HashMap<ObjectKey, (&Path, u32)> = HashMap::new();
        let mut hidden = Vec::new();
        for (number, (path, file)) in self.files.iter().enumerate() {
            for (at, HeldObject { line, object, .. }) in file.objects.iter().enumerate() {
                match winners.entry(object.key()) {
                    Entry::Vacant(entry) => {
                        entry.insert((path, *line));
                    }
                    Entry::Occupied(entry) => {
                        let (key, (first, at_line)) = (entry.key(), entry.get());
                        let message = format!("{key} is also in {}:{at_line}, which is used", first.display());
                        faults.push(fault(path, *line as usize, &message));
                        hidden.push((number, at));
                    }
                }
            }
        }
        hidden
    }

    /// Puts in force what is not hidden. Returns what is new by it, and what is gone.
    fn put_in_force(&mut self, hidden: &[(usize, usize)], former: &Former) -> Changes {
        let mut changes = Changes::default();
        let mut gone: BTreeSet<&ObjectKey> = former.keys().collect();
        for (number, file) in self.files.values_mut().enumerate() {
            for (at, held) in file.objects.iter_mut().enumerate() {
                let was = std::mem::replace(&mut held.in_force, hidden.binary_search(&(number, at)).is_err());
                if was || !held.in_force {
                    continue;
                }
                let key = held.object.key();
                gone.remove(&key);
                if former.get(&key) != Some(&held.object) {
                    changes.came.push(held.object.clone());
                }
            }
        }
        changes.gone = gone.into_iter().cloned().collect();
        changes
    }

    fn in_force(&self) -> impl Iterator<Item = &Object> {
        let held = self.files.values().flat_map(|file| &file.objects);
        held.filter(|held| held.in_force).map(|held| &held.object)
    }

    fn list(&self) -> Vec<FeedEvent> {
        let mut events = self.each_kind(FeedEvent::Begin);
        events.extend(self.in_force().cloned().map(FeedEvent::Listed));
        events.extend(self.each_kind(FeedEvent::Done));
        events.extend(self.each_kind(FeedEvent::Open));
        events
    }

    fn differ(&self, Changes { came, gone }: Changes, whole: bool) -> Vec<FeedEvent> {
        let mut events: Vec<FeedEvent> = came.into_iter().map(FeedEvent::Applied).collect();
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
        former: &mut Former,
    ) -> Refresh {
        let stamp = Stamp::of(metadata);
        if self.stamp.as_ref() == Some(&stamp) {
            return Refresh::Same;
        }
        let age = stamp.age(now);
        let truncated = stamp.len == 0 && !self.objects.is_empty();
        if truncated && age < TRUNCATED {
            return Refresh::Later(TRUNCATED);
        }
        let parsed = if truncated { faulty(0, EMPTY.to_owned()) } else { read(path, format, wanted) };
        self.take(parsed, former);
        // What has a fault is read again: the cause may lie outside the file (a permission).
        self.stamp = (age >= HOT && self.faults.is_empty()).then_some(stamp);
        Refresh::Read
    }

    fn take(&mut self, parsed: Parsed, former: &mut Former) {
        self.withdraw(former);
        let mut objects: Vec<HeldObject> = parsed.objects.into_iter().map(HeldObject::from).collect();
        objects.shrink_to_fit();
        let mut namespaces = BTreeSet::new();
        for held in &mut objects {
            held.object.share_namespace(&mut namespaces);
        }
        let old = std::mem::replace(&mut self.objects, objects);
        self.faults = parsed.faults;
        self.unread = parsed.unread;
        if self.faults.is_empty() {
            self.known = true;
            return;
        }
        let stated: BTreeSet<ObjectKey> = self.objects.iter().map(|held| held.object.key()).collect();
        self.objects.extend(old.into_iter().filter(|held| !stated.contains(&held.object.key())));
    }

    /// Takes its objects out of force.
    fn withdraw(&mut self, former: &mut Former) {
        for held in self.objects.iter_mut().filter(|held| held.in_force) {
            held.in_force = false;
            former.insert(held.object.key(), held.object.clone());
        }
    }
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

#[cfg(test)]
mod tests;
