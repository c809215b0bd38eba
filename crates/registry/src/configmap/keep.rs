//! Reading and writing the objects.
//!
//! In: edits of entries by record. Out: objects that hold them, and a [`Table`] that says what they hold. What must hold: an
//! object is only replaced as it was read; what another writer changed in it is taken over first, and their word on an owner
//! is not overwritten; an entry stands in the shard of its name before it is taken out of another one.

mod load;
mod spread;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use zonewright_core::claim::OwnerId;
use zonewright_core::documents::{Document, DocumentStore, Version};
use zonewright_core::{Error, ErrorKind, Result};

use super::document::{self, Entries};
use super::entry::{Entry, ZoneRecord};
use super::name;
use super::right::Right;
use super::table::Table;

/// The note that names the owner of an object.
const OWNER: &str = "owner";
/// The note that says among how many shards an object is one.
const SHARDS: &str = "shards";
/// More attempts than there can be writers.
const ATTEMPTS: usize = 8;
/// More shards than any zone needs: some ten million records.
const MOST_SHARDS: usize = 4096;

/// An entry may have this part of an object.
const SHARE: usize = 4;
/// There is always room for an entry of so many bytes.
const ROOM: usize = 1_000;

/// What becomes of an entry. An object is only replaced as it was read, but what was read for that may be newer than what the
/// edit rests on: what another process of the owner, or a person by hand, made of the entry since is not written over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit {
    /// The new one, or none.
    pub(super) to: Option<Entry>,
    /// One of these must stand; where there are none, anything may.
    pub(super) over: Vec<Over>,
    /// Whether it is written ahead: out of date, it is refused. Others are passed over then.
    pub(super) ahead: bool,
}

/// What an entry must be, to be replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Over {
    /// This entry.
    Entry(Box<Entry>),
    /// An entry that says this of our right, or none where that is nothing.
    Right(Option<Right>),
}

impl Edit {
    /// What stands before it is written, or after: its answer may have been lost.
    pub(super) fn around(&self) -> Vec<Over> {
        let after = self.to.clone().map_or(Over::Right(None), |entry| Over::Entry(Box::new(entry)));
        if self.over.is_empty() { Vec::new() } else { self.over.iter().cloned().chain([after]).collect() }
    }

    /// The same, to be written also where `ahead` stands by now: that was to come in its place, and may have.
    pub(super) fn or_over(self, ahead: Entry) -> Self {
        let ahead = (!self.over.is_empty()).then(|| Over::Entry(Box::new(ahead)));
        Self { over: self.over.into_iter().chain(ahead).collect(), ..self }
    }

    /// Whether it may be written.
    fn fits(&self, table: &Table, place: &ZoneRecord, standing: Option<&Entry>) -> bool {
        let stands = |over: &Over| match over {
            Over::Entry(expected) => standing == Some(expected),
            Over::Right(expected) => table.says(place, standing, expected.as_ref()),
        };
        self.over.is_empty() || self.over.iter().any(stands)
    }
}

/// What becomes of entries.
pub(super) type Edits = HashMap<ZoneRecord, Edit>;

/// A record of a group that is under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Flight {
    /// What our entry said before.
    pub(super) former: Option<Right>,
    /// The entry that was written ahead.
    pub(super) ahead: Option<Entry>,
}

/// A change of the entries of one object.
type Work<'a> = &'a mut (dyn FnMut(&Table, &mut Entries) + Send);

/// What only one task at a time may touch.
#[derive(Debug, Default)]
pub(super) struct Writer {
    /// Entries of objects as they stand; kept while groups are under way.
    cache: HashMap<usize, Entries>,
    /// Edits that are not written yet.
    pub(super) dirty: Edits,
    /// Records of groups that are under way.
    pub(super) flight: HashMap<ZoneRecord, Flight>,
    /// What was written where it belongs, and may not be taken yet from where it stood; where answers were lost, all that may stand.
    copied: HashMap<ZoneRecord, Vec<Entry>>,
    /// Numbers of objects that are called like shards and are none.
    apart: BTreeSet<usize>,
}

impl Writer {
    /// Forgets the entries once nothing is under way.
    pub(super) fn rest(&mut self) {
        if self.flight.is_empty() {
            self.cache.clear();
        }
    }
}

/// Our objects, and a view of those of others.
pub(super) struct Keeper {
    pub(super) owner: OwnerId,
    base: String,
    store: Arc<dyn DocumentStore>,
    limit: usize,
    table: RwLock<Table>,
}

/// How an object took its work.
#[derive(Debug, PartialEq, Eq)]
enum Put {
    Done,
    TooBig,
    /// Another writer made more shards meanwhile: nothing is written.
    Moved,
}

impl Keeper {
    pub(super) fn new(owner: OwnerId, store: Arc<dyn DocumentStore>, limit: usize) -> Self {
        let table = RwLock::new(Table::new(&owner, ROOM.max(limit / SHARE)));
        Self { base: name::base(owner.as_str()), owner, store, limit, table }
    }

    pub(super) fn table(&self) -> RwLockReadGuard<'_, Table> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn table_mut(&self) -> RwLockWriteGuard<'_, Table> {
        self.table.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn name(&self, index: usize) -> String {
        name::of_shard(&self.base, index)
    }

    fn place(&self, index: usize) -> String {
        self.store.place(&self.name(index))
    }

    /// Writes edits, and those that are left from earlier. Returns the records whose entries do not stand as they should, and
    /// the first failure.
    pub(super) async fn put(&self, writer: &mut Writer, edits: Edits) -> (HashSet<ZoneRecord>, Option<Error>) {
        let asked: HashSet<ZoneRecord> = edits.keys().cloned().collect();
        writer.dirty.extend(edits);
        let (mut refused, mut problem) = (HashSet::new(), None);
        if let Err(error) = self.put_all(writer, &mut refused, &mut problem).await {
            problem.get_or_insert(error);
        }
        refused.extend(asked.into_iter().filter(|place| writer.dirty.contains_key(place)));
        writer.rest();
        (refused, problem)
    }

    async fn put_all(
        &self,
        writer: &mut Writer,
        refused: &mut HashSet<ZoneRecord>,
        problem: &mut Option<Error>,
    ) -> Result<()> {
        let mut failed: BTreeSet<usize> = BTreeSet::new();
        self.order(writer).await?;
        loop {
            let next = {
                let table = self.table();
                writer.dirty.keys().map(|place| table.home(place)).filter(|index| !failed.contains(index)).min()
            };
            let Some(index) = next else { return Ok(()) };
            let own: Edits = self.edits_of(writer, index);
            let mut left = Left::default();
            let mut work = |table: &Table, entries: &mut Entries| left = apply(table, entries, &own);
            match self.write(writer, index, &mut work).await {
                Ok(Put::Done) => {
                    writer.dirty.retain(|place, _| !own.contains_key(place));
                    refused.extend(left.refused.iter().cloned());
                    self.believe(writer, index, &left).await?;
                }
                Ok(Put::TooBig) => {
                    failed.clear();
                    self.grow(writer).await?;
                }
                Ok(Put::Moved) => {
                    failed.clear();
                    self.order(writer).await?;
                }
                Err(error) => {
                    failed.insert(index);
                    problem.get_or_insert(error);
                }
            }
        }
    }

    /// Takes over what an object says of records, in the place of what was not written.
    async fn believe(&self, writer: &mut Writer, index: usize, left: &Left) -> Result<()> {
        if left.refused.is_empty() && left.passed_over.is_empty() {
            return Ok(());
        }
        let (_, standing) = self.current(writer, index).await?;
        let mut table = self.table_mut();
        for place in left.refused.iter().chain(&left.passed_over) {
            let right = standing.get(place).and_then(|entry| entry.right(place, &self.owner).ok().flatten());
            table.set(place, right);
        }
        Ok(())
    }

    fn edits_of(&self, writer: &Writer, index: usize) -> Edits {
        let table = self.table();
        let here = writer.dirty.iter().filter(|(place, _)| table.home(place) == index);
        here.map(|(place, edit)| (place.clone(), edit.clone())).collect()
    }

    /// Writes what a piece of work makes of the entries of one object.
    pub(super) async fn rewrite(&self, writer: &mut Writer, index: usize, work: Work<'_>) -> Result<bool> {
        match self.write(writer, index, work).await? {
            Put::Done => Ok(true),
            Put::TooBig => self.grow(writer).await.map(|()| false),
            Put::Moved => self.order(writer).await.map(|()| false),
        }
    }

    async fn write(&self, writer: &mut Writer, index: usize, work: Work<'_>) -> Result<Put> {
        let asked = self.table().width;
        for _ in 0..ATTEMPTS {
            let (version, standing) = self.current(writer, index).await?;
            if self.table().width != asked {
                return Ok(Put::Moved);
            }
            let mut entries = standing.clone();
            let (width, current) = {
                let table = self.table();
                work(&table, &mut entries);
                (table.width, table.shards.get(&index).is_some_and(|shard| shard.of == table.width))
            };
            if version.is_some() && current && entries == standing {
                // It stands so already, perhaps otherwise than we thought of it.
                self.table_mut().ingest(index, version, width, &entries, true);
                writer.cache.insert(index, entries);
                return Ok(Put::Done);
            }
            let text = document::write(&entries);
            if text.len() > self.limit && entries.len() > 1 && width < MOST_SHARDS {
                writer.cache.insert(index, standing);
                return Ok(Put::TooBig);
            }
            match self.send(index, version.as_ref(), width, text).await {
                Ok(version) => {
                    self.table_mut().ingest(index, Some(version), width, &entries, true);
                    writer.cache.insert(index, entries);
                    return Ok(Put::Done);
                }
                Err(error) => {
                    writer.cache.remove(&index);
                    // After a conflict it is known what stood before another writer changed it or took it away.
                    if error.kind != ErrorKind::Conflict {
                        self.doubt(index);
                        return Err(error);
                    }
                }
            }
        }
        let context = format!("{}: another writer changed it each of {ATTEMPTS} times", self.place(index));
        Err(Error::new(ErrorKind::Conflict, "write the registry", context))
    }

    /// The entries of an object as it stands, and its version.
    async fn current(&self, writer: &mut Writer, index: usize) -> Result<(Option<Version>, Entries)> {
        let version = self.table().shards.get(&index).and_then(|shard| shard.version.clone());
        match writer.cache.get(&index) {
            Some(entries) if version.is_some() => Ok((version, entries.clone())),
            _ => self.fetch(index).await,
        }
    }

    /// It is not known what stands.
    fn doubt(&self, index: usize) {
        if let Some(shard) = self.table_mut().shards.get_mut(&index) {
            shard.version = None;
        }
    }

    async fn send(&self, index: usize, version: Option<&Version>, width: usize, text: String) -> Result<Version> {
        let notes = [(OWNER, self.owner.to_string()), (SHARDS, width.to_string())];
        let notes = notes.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        let document = Document { notes, text };
        match version {
            Some(version) => self.store.replace(&self.name(index), version, &document).await,
            None => self.store.create(&self.name(index), &document).await,
        }
    }
}

/// Records whose edits were not carried out.
#[derive(Debug, Default)]
pub(super) struct Left {
    /// Nothing may be done that rests on them.
    refused: HashSet<ZoneRecord>,
    /// They are done with.
    passed_over: Vec<ZoneRecord>,
}

/// Carries edits out, but for those that are out of date, and for entries that another writer gave to another owner meanwhile.
pub(super) fn apply(table: &Table, entries: &mut Entries, edits: &Edits) -> Left {
    let mut left = Left::default();
    for (place, edit) in edits {
        if entries.get(place).is_some_and(|entry| table.is_marked(entry)) {
            left.refused.insert(place.clone());
            continue;
        }
        if !edit.fits(table, place, entries.get(place)) {
            if edit.ahead {
                left.refused.insert(place.clone());
            } else {
                left.passed_over.push(place.clone());
            }
            continue;
        }
        match &edit.to {
            Some(entry) => drop(entries.insert(place.clone(), entry.clone())),
            None => drop(entries.remove(place)),
        }
    }
    left
}
