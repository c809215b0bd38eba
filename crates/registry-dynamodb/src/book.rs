//! The rows in memory, and the order in which the table is read and written.
//!
//! In: groups before and after they are sent. Out: the same groups, without those whose rows could not be opened. What must
//! hold: memory says what the table says, or what it will say as soon as it takes writes again; what is owed to it is written
//! before anything is read or opened; one call is in flight at a time, so that a reading never misses a write of ours.

mod writing;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;
use tracing::{info, warn};
use zonewright_core::claim::OwnerId;
use zonewright_core::error::Error;
use zonewright_core::registry::{Contents, ExternalChanges};
use zonewright_core::zone::{Zone, ZoneKey};
use zonewright_core::{RecordKey, Result};

use super::changes::Changes;
use super::elsewhere::Elsewhere;
use super::key;
use super::row::Row;
use super::rows::{Rows, Stored};
use super::stale::{self, Missing};
use super::table::{Done, Table, Write};

/// The table and what is known of it.
#[derive(Debug)]
pub(crate) struct Book {
    me: OwnerId,
    table: Table,
    /// How long a reading is good for; zero: only for those who asked before it began.
    cache: Duration,
    rows: RwLock<Rows>,
    changes: std::sync::Mutex<Changes>,
    state: Mutex<TableState>,
    pub(crate) elsewhere: Elsewhere,
    /// Numbers whoever asks for a reading, and each reading, in the order in which they come.
    turns: AtomicU64,
}

/// What only whoever reads or writes the table looks at.
#[derive(Debug, Default)]
struct TableState {
    /// Whether the table had the right shape when it was last described.
    checked: bool,
    /// When the last good reading began, with its number.
    read: Option<(u64, Instant)>,
    /// The number of the last reading if it failed, and why.
    failed: Option<(u64, Error)>,
    /// Something is known to differ from what was read.
    stale: bool,
    /// Writes that the table did not take yet, by the key of the row; memory counts them as done.
    owed: BTreeMap<String, Write>,
    /// Why a write that was owed is given up, until whoever ends a pass hears of it.
    given_up: Option<Box<Error>>,
    /// What stood before groups were opened that are not closed yet.
    before: HashMap<(ZoneKey, RecordKey), Option<Row>>,
    /// Keys that are no keys, and were reported.
    reported: BTreeSet<String>,
    /// Rows of ours whose records were not seen.
    missing: Missing,
}

impl Book {
    pub(crate) fn new(me: OwnerId, table: Table, cache: Duration) -> Self {
        let (rows, changes, state) = (RwLock::default(), std::sync::Mutex::default(), Mutex::default());
        Self { me, table, cache, rows, changes, state, elsewhere: Elsewhere::default(), turns: AtomicU64::default() }
    }

    pub(crate) fn table(&self) -> &str {
        &self.table.name
    }

    pub(crate) fn rows(&self) -> RwLockReadGuard<'_, Rows> {
        self.rows.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// What others have changed in the rows of the zone's names since this was last asked.
    pub(crate) fn external_changes(&self, zone: &Zone) -> ExternalChanges {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner).external_changes(zone)
    }

    /// Ends rows of ours that name the zone and speak for nothing there, once enough readings have shown that. What the table
    /// does not take is tried again after the next reading.
    pub(crate) async fn tidy(&self, zone: &Zone, contents: &dyn Contents) {
        let mut state = self.state.lock().await;
        let id = zone.key.zone.as_str();
        let named = stale::named(&self.rows(), &self.me, zone);
        let missing = named.iter().filter_map(|key| Some((key.clone(), self.silent(key, id, contents)?))).collect();
        let verdict = state.missing.count(&zone.key, &missing, named.len());
        if let Some(records) = verdict.doubted {
            warn!(
                table = self.table.name,
                zone = id,
                "{records} records of {} were missing three times; so many rows are kept, and end with `zonewright drain`",
                self.me
            );
        }
        let writes: Vec<Write> = verdict.end.iter().filter_map(|key| self.ending(key, id)).collect();
        for (write, done) in writes.iter().zip(self.table.write(&writes).await) {
            match &done {
                Done::Written => info!(row = write.key(), zone = id, "the record is gone, and its row with it"),
                Done::Lost(_) => {}
                Done::Failed(problem) => {
                    warn!(row = write.key(), error = problem.chain(), "a row without a record stays for now");
                }
            }
            self.note(&mut state, write, &done);
        }
    }

    /// If our row of a record does not speak for what stands in the zone: whether a write that was begun may be why.
    fn silent(&self, record: &RecordKey, zone: &str, contents: &dyn Contents) -> Option<bool> {
        let standing = contents.find(record);
        let row = self.row_of(record).filter(|row| row.owner == self.me)?;
        let met = standing.is_some() && row.speaks(zone, standing.as_ref());
        (!met).then(|| !row.is_confirmed(zone))
    }

    fn row_of(&self, record: &RecordKey) -> Option<Row> {
        let canonical = key::text(record).ok()?;
        self.rows().only(&canonical).ok().flatten().map(|found| found.row.clone())
    }

    /// What ends the right on a record in a zone.
    fn ending(&self, record: &RecordKey, zone: &str) -> Option<Write> {
        let canonical = key::text(record).ok()?;
        let rows = self.rows();
        let found = rows.only(&canonical).ok().flatten().filter(|found| found.row.owner == self.me)?;
        let (key, owner) = (found.key.to_owned(), self.me.clone());
        Some(match found.row.without_zone(zone, &BTreeSet::new()) {
            Some(row) => Write::Update { key, owner, row },
            None => Write::Delete { key, owner },
        })
    }

    fn rows_mut(&self) -> RwLockWriteGuard<'_, Rows> {
        self.rows.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn turn(&self) -> u64 {
        self.turns.fetch_add(1, Ordering::Relaxed)
    }

    /// Reads the table, unless that was done, or failed, since the caller asked, or was done within the cache's time and nothing is owed.
    pub(crate) async fn load(&self) -> Result<()> {
        let (asked, now) = (self.turn(), Instant::now());
        let mut state = self.state.lock().await;
        let good = |(read, at): (u64, Instant)| read > asked || at + self.cache > now;
        if !state.stale && state.owed.is_empty() && state.read.is_some_and(good) {
            return Ok(());
        }
        if let Some((_, problem)) = state.failed.as_ref().filter(|(failed, _)| *failed > asked) {
            return Err(problem.clone());
        }
        let first = state.read.take().is_none();
        let (number, began) = (self.turn(), Instant::now());
        let read = self.read_anew(&mut state).await;
        state.failed = read.as_ref().err().map(|problem| (number, problem.clone()));
        read?;
        if first {
            info!(table = self.table.name, rows = self.rows().len(), "claims read");
        }
        state.read = Some((number, began));
        state.stale = false;
        Ok(())
    }

    async fn read_anew(&self, state: &mut TableState) -> Result<()> {
        self.pay(state).await?;
        let stored = self.read(state).await?;
        let fresh = self.sort_out(state, stored);
        let mut rows = self.rows_mut();
        let names = rows.differing(&fresh).into_iter().filter_map(|canonical| {
            let ours = |rows: &Rows| rows.only(canonical).ok().flatten().map(|found| found.row.clone());
            let former = ours(&rows).filter(|row| row.owner == self.me);
            let same = |former: &Row| ours(&fresh).is_some_and(|row| row.says_as(former));
            Some((key::parse(canonical).ok()?.name, former.is_some_and(|former| !same(&former))))
        });
        self.changes.lock().unwrap_or_else(PoisonError::into_inner).note(names);
        *rows = fresh;
        Ok(())
    }

    async fn read(&self, state: &mut TableState) -> Result<Vec<Stored>> {
        if !state.checked {
            self.table.check().await?;
        }
        let stored = self.table.rows().await;
        state.checked = stored.is_ok();
        stored
    }

    /// Rows by the records that they are about. What is no row of a record is reported once, and left.
    fn sort_out(&self, state: &mut TableState, stored: Vec<Stored>) -> Rows {
        let mut rows = Rows::default();
        let mut reported = BTreeSet::new();
        for stored in stored {
            let canonical = key::parse(&stored.key).and_then(|record| key::text(&record));
            let problem = canonical.as_ref().err().or(stored.row.as_ref().err());
            if let Some(problem) = problem {
                if !state.reported.contains(&stored.key) {
                    warn!(table = self.table.name, row = stored.key, "a row that is no claim is left alone: {problem}");
                }
                reported.insert(stored.key.clone());
            }
            if let Ok(canonical) = canonical {
                rows.set(canonical, stored);
            }
        }
        state.reported = reported;
        rows
    }
}
