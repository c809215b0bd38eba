//! Claims in objects beside the zones: who speaks for what by them, read anew from their text.
//!
//! In: the text of an object, as somebody writes it. Out: by what right a record stands: by the statement of its owner's own object.

mod by_hand;
mod right;
mod unseen;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;
use zonewright_core::capability::CreateMode;
use zonewright_core::documents::Document;
use zonewright_core::{RecordKey, RecordSet};

use super::judge::Judged;
use super::rows::{self, Named};
use super::words::{Place, Word, word};
use super::{Author, Right, Truth};
use crate::names::is_record;
use crate::rules::Rule;

/// One object.
#[derive(Debug, Clone)]
struct Object {
    version: u64,
    document: Document,
    words: BTreeMap<Place, Word>,
}

/// All objects, of all owners; or all rows of a table, each of which is taken for an object of its own.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    all: BTreeMap<String, Object>,
    /// The zones, where these are rows.
    rows: Option<Vec<Named>>,
    versions: u64,
    /// The newest version by which each author changed what an object says of a record.
    touched: HashMap<Place, BTreeMap<(String, Author), u64>>,
    /// When somebody else than a daemon last changed what is said of any record, and of each.
    changed_by_others: Option<Instant>,
    spoken: HashMap<Place, Instant>,
    /// Every object that there ever was.
    names: BTreeSet<String>,
    /// The newest version of an object that a daemon has seen.
    read: HashMap<(usize, String), u64>,
    /// When a daemon read another version of an object than before: that version, and the newest of all objects then.
    learned: HashMap<(usize, String), Vec<(u64, u64)>>,
    /// The version by which a daemon last wrote of a record, and when.
    wrote: HashMap<(usize, Place), (u64, Instant)>,
    /// Claims that processes of an owner have narrowed to the record as it stood, for the time of a write, or whose
    /// announcement was fulfilled; they may widen them again.
    narrowed: BTreeSet<(String, Place)>,
    /// By what right a record stood, and as what, after our daemons and commands last wrote of it.
    pub(super) left: HashMap<Place, (Right, String)>,
    /// Records that an announcement in the very same words made an owner's who had no claim on them; it may be taken back.
    borrowed: BTreeSet<(String, Place)>,
}

fn entries(document: &Document) -> Vec<Value> {
    serde_json::from_str(&document.text).unwrap_or_default()
}

fn words(document: &Document) -> BTreeMap<Place, Word> {
    entries(document).iter().filter_map(word).collect()
}

impl Object {
    fn holder(&self) -> Option<&String> {
        self.document.notes.get("owner")
    }
}

impl Objects {
    /// The rows of a table beside these zones: the id of each, and its label.
    pub(crate) fn of_rows(zones: Vec<Named>) -> Self {
        Self { rows: Some(zones), ..Self::default() }
    }

    pub(crate) fn are_rows(&self) -> bool {
        self.rows.is_some()
    }

    fn words(&self, document: &Document) -> BTreeMap<Place, Word> {
        match &self.rows {
            Some(zones) => rows::words(document, zones),
            None => words(document),
        }
    }

    /// What an object holds.
    pub(crate) fn read(&self, name: &str) -> Option<&Document> {
        self.all.get(name).map(|object| &object.document)
    }

    /// How often somebody has written one.
    pub(crate) fn versions(&self) -> u64 {
        self.versions
    }

    /// As many objects after a name; the daemon has seen them then, and that there is nothing between them.
    pub(crate) fn see_page(&mut self, daemon: usize, after: Option<&str>, most: usize) -> Vec<(String, Document)> {
        let above = |name: &&String| after.is_none_or(|after| name.as_str() > after);
        let page: Vec<(String, Document)> = self
            .all
            .iter()
            .filter(|(name, _)| above(name))
            .take(most)
            .map(|(name, object)| (name.clone(), object.document.clone()))
            .collect();
        let last = page.get(most.saturating_sub(1)).map(|(name, _)| name);
        let seen = self.names.iter().filter(|name| above(name) && last.is_none_or(|last| *name <= last));
        for name in seen {
            let at = (daemon, name.clone());
            let before = self.read.insert(at.clone(), self.versions).unwrap_or(0);
            if let Some(object) = self.all.get(name).filter(|object| object.version > before) {
                self.learned.entry(at).or_default().push((object.version, self.versions));
            }
        }
        page
    }

    /// Every object, with its version.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&String, u64, &Document)> {
        self.all.iter().map(|(name, object)| (name, object.version, &object.document))
    }

    /// One object; the daemon has seen it then.
    pub(crate) fn see(&mut self, daemon: usize, name: &str) -> Option<(u64, Document)> {
        let versions = self.versions;
        let found = self.all.get(name).map(|object| (object.version, object.document.clone()));
        let version = found.as_ref().map_or(versions, |(version, _)| *version);
        if self.read.insert((daemon, name.to_owned()), version) != Some(version) {
            self.learned.entry((daemon, name.to_owned())).or_default().push((version, versions));
        }
        found
    }

    /// A daemon that is started again has seen nothing.
    pub(super) fn forget(&mut self, daemon: usize) {
        self.read.retain(|(who, _), _| *who != daemon);
        self.learned.retain(|(who, _), _| *who != daemon);
    }

    /// The names of the records of which an object would say something else, with both words.
    fn changes(&self, name: &str, document: Option<&Document>) -> Vec<(Place, Option<Word>, Option<Word>)> {
        let old = self.all.get(name).map(|object| object.words.clone()).unwrap_or_default();
        let new = document.map(|document| self.words(document)).unwrap_or_default();
        let places: BTreeSet<&Place> = old.keys().chain(new.keys()).collect();
        let both = |place: &Place| (place.clone(), old.get(place).cloned(), new.get(place).cloned());
        places.into_iter().map(both).filter(|(_, old, new)| old != new).collect()
    }

    fn put(&mut self, author: Author, name: &str, document: Option<Document>) -> u64 {
        self.versions += 1;
        for (place, old, new) in self.changes(name, document.as_ref()) {
            let old = old.filter(|_| matches!(author, Author::Daemon(_)));
            if let (Some(old), Some(new)) = (old, new) {
                let at = (new.owner, place.clone());
                match (old.only, new.only) {
                    (None, Some(_)) => self.narrowed.insert(at),
                    (_, None) if new.next.is_none() => self.narrowed.remove(&at),
                    _ => false,
                };
            }
            if let Author::Daemon(daemon) = author {
                self.wrote.insert((daemon, place.clone()), (self.versions, Instant::now()));
            } else {
                self.changed_by_others = Some(Instant::now());
                self.spoken.insert(place.clone(), Instant::now());
            }
            self.touched.entry(place).or_default().insert((name.to_owned(), author), self.versions);
        }
        self.names.insert(name.to_owned());
        match document {
            Some(document) => {
                let words = self.words(&document);
                self.all.insert(name.to_owned(), Object { version: self.versions, document, words });
            }
            None => drop(self.all.remove(name)),
        }
        if let Author::Daemon(daemon) = author {
            self.read.insert((daemon, name.to_owned()), self.versions);
        }
        self.versions
    }
}

impl Truth {
    /// What entries call a zone.
    pub(super) fn label(&self, zone: usize) -> String {
        self.zones[zone].zone.key.to_string()
    }

    /// By what right a record stands by the objects; `None` where claims are in the zones.
    pub(super) fn right_by_objects(&self, zone: usize, key: &RecordKey) -> Option<Right> {
        let objects = self.objects.as_ref()?;
        Some(objects.right(&self.label(zone), key, self.zones[zone].sets.get(key)))
    }

    /// A process was shown all of a zone as it is: the records that its owner's claims speak for, and that stand no more, are gone
    /// for it, whether or not it could note that yet.
    pub(crate) fn note_gone(&mut self, daemon: usize, zone: usize) {
        let label = self.label(zone);
        let Some(objects) = &self.objects else { return };
        let owner = self.parties[daemon].owner.as_ref();
        let words = objects.all.values().flat_map(|object| &object.words);
        let of_owner = words.filter(|((at, _), word)| *at == label && Some(&word.owner) == owner);
        let gone = of_owner.map(|((_, key), _)| key).filter(|key| !self.zones[zone].sets.contains_key(key));
        let gone: Vec<_> = gone.map(|key| (daemon, (zone, key.clone()))).collect();
        self.shown_gone.extend(gone);
    }

    /// Whether an entry speaks for one way only in which its record may stand, and the record is gone.
    pub(crate) fn has_word_on_what_is_gone(&self) -> bool {
        let all = self.objects.iter().flat_map(|objects| objects.all.values());
        let stands = |(label, key): &Place| {
            self.zones.iter().any(|zone| zone.zone.key.to_string() == *label && zone.sets.contains_key(key))
        };
        all.flat_map(|object| &object.words).any(|(place, word)| word.only.is_some() && !stands(place))
    }

    /// A daemon writes an object: judged by what becomes of the rights on records that stand.
    pub(crate) fn note_object(&mut self, daemon: usize, name: &str, document: Option<Document>) -> u64 {
        if self.parties[daemon].dry_run {
            self.broken(Rule::DryRun, format!("daemon {daemon} wrote {name}"));
        }
        self.tell_changes(&format!("daemon {daemon}"), name, document.as_ref());
        let standing: Vec<(usize, RecordSet)> = self.spoken_of(name, document.as_ref());
        let before: Vec<(bool, bool, bool)> = standing
            .iter()
            .map(|(zone, set)| {
                let was_ours = self.is_of(daemon, *zone, &set.key);
                let excused = self.may_change_hands(daemon, *zone, &set.key);
                (was_ours, excused, self.sets_word_back(daemon, *zone, name, set))
            })
            .collect();
        let disputed = self.disputed_by(daemon, name, &standing);
        self.note_overwritten(daemon, name, document.as_ref());
        let version = self.put_object(Author::Daemon(daemon), name, document);
        self.note_words_left(&standing);
        self.note_settled(daemon, name);
        for (zone, key) in disputed {
            // It has taken its own word back.
            if self.is_managed(zone, &key) {
                self.zones[zone].shadow.remove(&key);
            }
        }
        for ((zone, set), (was_ours, excused, undone)) in standing.iter().zip(before) {
            let is_ours = self.is_of(daemon, *zone, &set.key);
            if was_ours == is_ours {
                continue;
            }
            if undone {
                self.verdicts.note(Rule::Command, true);
                self.cast_shadows();
                continue;
            }
            let step = Judged::still(daemon, *zone, set, was_ours, is_ours);
            if self.is_borrowed(&step, excused) || excused {
                self.zones[*zone].shadow.remove(&set.key);
                continue;
            }
            self.judge_claim(&step);
        }
        version
    }

    /// The records of which the daemon's own object says something else than another's.
    fn disputed_by(&self, daemon: usize, name: &str, standing: &[(usize, RecordSet)]) -> Vec<(usize, RecordKey)> {
        let object = self.objects.as_ref().and_then(|objects| objects.all.get(name));
        if object.and_then(Object::holder) != self.parties[daemon].owner.as_ref() {
            return Vec::new();
        }
        let disputed =
            |(zone, set): &&(usize, RecordSet)| self.right_by_objects(*zone, &set.key) == Some(Right::Several);
        standing.iter().filter(disputed).map(|(zone, set)| (*zone, set.key.clone())).collect()
    }

    /// A write of a row demands that it is still its owner's, no more: what else somebody changed in it unseen is written over,
    /// and may be widened again.
    fn note_overwritten(&mut self, daemon: usize, name: &str, document: Option<&Document>) {
        let Some(owner) = self.parties[daemon].owner.clone() else { return };
        let Some(objects) = self.objects.as_mut().filter(|objects| objects.are_rows()) else { return };
        for ((zone, key), ..) in objects.changes(name, document) {
            if objects.changed_unseen(daemon, &zone, &key) {
                objects.narrowed.insert((owner.clone(), (zone, key)));
            }
        }
    }

    /// Whether the right to a record may come or go with an object that a daemon writes. An object cannot demand anything of
    /// a zone: what somebody wrote there unseen is not told from what was read. Where a create merely adds, the name was perhaps
    /// read back for another set alone.
    fn may_change_hands(&mut self, daemon: usize, zone: usize, key: &RecordKey) -> bool {
        let additive = self.profile.capability.create == CreateMode::Additive;
        additive && self.changed_since_listed(daemon, zone, &key.name)
            || self.changed_unseen(daemon, zone, &key.name)
            || self.excused(daemon, zone, key)
            || self.is_narrowed(daemon, zone, key)
            || self.is_settling(daemon, zone, key)
    }

    /// Whether a listing that lags may have been passed over since the daemon wrote the name, until the next one.
    fn is_settling(&self, daemon: usize, zone: usize, key: &RecordKey) -> bool {
        let lag = self.profile.lag;
        let times = self.written.get(&(daemon, zone, key.name.clone()));
        let last = times.and_then(std::collections::VecDeque::back);
        !lag.is_zero() && last.is_some_and(|at| at.elapsed() < lag + Duration::from_mins(4))
    }

    /// Notes that a record stands as it was announced: its claim may be confirmed, whatever becomes of it in between.
    pub(super) fn note_fulfilled(&mut self, daemon: usize, zone: usize, key: &RecordKey) {
        let Some(owner) = self.parties[daemon].owner.clone() else { return };
        let place = (self.label(zone), key.clone());
        let Some(objects) = &mut self.objects else { return };
        let open = |word: &Word| word.owner == owner && (word.only.is_some() || word.next.is_some());
        if objects.all.values().any(|object| object.words.get(&place).is_some_and(open)) {
            objects.narrowed.insert((owner, place));
        }
    }

    /// Whether an announcement in the very words of a record that the owner's processes wrote lately made it theirs again,
    /// or of one that its last listing left out, or one that was `excused` did, or either is taken back.
    fn is_borrowed(&mut self, step: &Judged<'_>, excused: bool) -> bool {
        let Some(owner) = self.parties[step.daemon].owner.clone() else { return false };
        let at = (owner, (self.label(step.zone), step.key.clone()));
        let own = excused || self.is_of_our_owner(step) || self.looks_gone(step);
        let Some(objects) = &mut self.objects else { return false };
        if step.is_ours { own && objects.borrowed.insert(at) } else { objects.borrowed.remove(&at) }
    }

    fn is_narrowed(&self, daemon: usize, zone: usize, key: &RecordKey) -> bool {
        let Some(owner) = self.parties[daemon].owner.clone() else { return false };
        let place = (self.label(zone), key.clone());
        self.objects.as_ref().is_some_and(|objects| objects.narrowed.contains(&(owner, place)))
    }

    /// The records that stand of which an object is about to say something else: the right to no other one can change.
    pub(super) fn spoken_of(&self, name: &str, document: Option<&Document>) -> Vec<(usize, RecordSet)> {
        let changes = self.objects.as_ref().map(|objects| objects.changes(name, document)).unwrap_or_default();
        let standing = |zone: usize, (label, key): &Place| {
            let here = is_record(key) && self.label(zone) == *label;
            here.then(|| self.zones[zone].sets.get(key).cloned()).flatten()
        };
        let zones = 0..self.zones.len();
        let of = |zone| changes.iter().filter_map(move |(place, ..)| Some((zone, standing(zone, place)?)));
        zones.flat_map(of).collect()
    }

    fn put_object(&mut self, author: Author, name: &str, document: Option<Document>) -> u64 {
        // As where claims are in the zones: until the next reading a daemon counts what was given away as its own.
        let by_people = !matches!(author, Author::Daemon(_)) && !self.spoken_of(name, document.as_ref()).is_empty();
        self.changes.extend(by_people.then(|| (author, Instant::now())));
        self.objects.as_mut().map_or(0, |objects| objects.put(author, name, document))
    }

    fn tell_changes(&mut self, who: &str, name: &str, document: Option<&Document>) {
        let Some(objects) = self.objects.as_ref().filter(|_| self.story.is_some()) else { return };
        let show = |word: Option<&Word>| word.map_or("nobody's".to_owned(), Word::show);
        let lines = objects.changes(name, document).into_iter().map(|((zone, key), old, new)| {
            format!("{who} notes in {name}: {key} in {zone} is {} (was {})", show(new.as_ref()), show(old.as_ref()))
        });
        let lines: Vec<String> = lines.collect();
        for line in lines {
            self.tell(|| line);
        }
    }
}
