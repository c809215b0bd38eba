//! The rows in memory, and the order in which the table is read and written.
//!
//! In: groups before and after they are sent. Out: the same groups, without those whose rows could not be opened. What must
//! hold: memory says what the table says, or what it will say as soon as it takes writes again; what is owed to it is written
//! before anything is read or opened; one call is in flight at a time, so that a reading never misses a write of ours.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;
use tracing::{error, info, warn};
use zonewright_core::change::{Group, Outcome};
use zonewright_core::claim::OwnerId;
use zonewright_core::error::Error;
use zonewright_core::registry::{Contents, Dropped, ExternalChanges};
use zonewright_core::zone::{Zone, ZoneKey};
use zonewright_core::{RecordKey, Result};

use super::changes::Changes;
use super::claim_effect::effects;
use super::elsewhere::Elsewhere;
use super::row::Row;
use super::rows::{Rows, Stored};
use super::stale::{self, Missing};
use super::table::{Done, Table, Write};
use super::{error, key};

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

    /// Writes what is owed.
    ///
    /// # Errors
    /// The table does not take it yet.
    async fn pay(&self, state: &mut TableState) -> Result<()> {
        self.pay_all(state).await.0.map_or(Ok(()), Err)
    }

    /// Writes what is owed. Returns why something is owed still, and why something is given up.
    async fn pay_all(&self, state: &mut TableState) -> (Option<Error>, Option<Error>) {
        let writes: Vec<Write> = state.owed.values().cloned().collect();
        let (mut unpaid, mut given_up) = (None, None);
        for (write, done) in writes.iter().zip(self.table.write(&writes).await) {
            match done {
                Done::Failed(problem) if error::may_pass(&problem) => unpaid = Some(problem),
                done => {
                    state.owed.remove(write.key());
                    self.note(state, write, &done);
                    if let Done::Failed(problem) = done {
                        error!(row = write.key(), error = problem.chain(), "a row is not written, and stays as it was");
                        given_up = Some(problem);
                    }
                }
            }
        }
        (unpaid, given_up)
    }

    /// Takes over what became of a write.
    fn note(&self, state: &mut TableState, write: &Write, done: &Done) {
        let Some(canonical) = key::parse(write.key()).and_then(|record| key::text(&record)).ok() else { return };
        let stored = |row: &Row| Stored { key: write.key().to_owned(), row: Ok(row.clone()) };
        match (done, write) {
            (Done::Written, Write::Insert { row, .. } | Write::Update { row, .. }) => {
                self.rows_mut().set(canonical, stored(row));
            }
            (Done::Lost(Some(found)), _) => self.rows_mut().set(canonical, found.clone()),
            (Done::Written, Write::Delete { .. }) | (Done::Lost(None), Write::Update { .. } | Write::Delete { .. }) => {
                self.rows_mut().remove(&canonical, write.key());
            }
            // What stands there is not known.
            (Done::Lost(None), Write::Insert { .. }) | (Done::Failed(_), _) => state.stale = true,
        }
    }

    /// Opens the rows of groups; those whose rows do not open are given back, and nothing of them stays open.
    pub(crate) async fn prepare(&self, zone: &Zone, groups: Vec<Group>) -> Vec<Result<Group, (Group, Dropped)>> {
        let mut state = self.state.lock().await;
        if let Err(problem) = self.pay(&mut state).await {
            let reason = format!("what was done before cannot be written down: {}", problem.chain());
            return groups.into_iter().map(|group| Err((group, Dropped { reason: reason.clone() }))).collect();
        }
        let plans: Vec<Result<Vec<Write>, String>> =
            groups.iter().map(|group| self.openings(&mut state, zone, group)).collect();
        let writes: Vec<Write> = plans.iter().flatten().flatten().cloned().collect();
        let mut done = self.table.write(&writes).await.into_iter();
        let mut answers = Vec::new();
        let mut undo = Vec::new();
        for (group, plan) in groups.into_iter().zip(plans) {
            let reason = match plan {
                Ok(writes) => {
                    let outcomes: Vec<(Write, Done)> = writes.into_iter().zip(done.by_ref()).collect();
                    for (write, done) in &outcomes {
                        self.note(&mut state, write, done);
                    }
                    outcomes.iter().find_map(|(write, done)| self.obstacle(write, done))
                }
                Err(reason) => Some(reason),
            };
            match reason {
                None => answers.push(Ok(group)),
                Some(reason) => {
                    undo.extend(self.closings(&mut state, zone, &group, false));
                    answers.push(Err((group, Dropped { reason })));
                }
            }
        }
        // What fails here is owed; the groups are given back all the same.
        let _ = self.close(&mut state, undo).await;
        answers
    }

    fn openings(&self, state: &mut TableState, zone: &Zone, group: &Group) -> Result<Vec<Write>, String> {
        let rows = self.rows();
        let mut writes = Vec::new();
        for effect in effects(group, &self.me) {
            let write = effect.opening(&self.me, zone.key.zone.as_str(), &rows)?;
            let before = match &write {
                Some(Write::Update { .. }) => rows.only(&key::text(effect.key())?)?.map(|found| found.row.clone()),
                _ => None,
            };
            state.before.insert((zone.key.clone(), effect.key().clone()), before);
            writes.extend(write);
        }
        Ok(writes)
    }

    fn closings(&self, state: &mut TableState, zone: &Zone, group: &Group, applied: bool) -> Vec<Write> {
        let rows = self.rows();
        let close = |effect: super::claim_effect::ClaimEffect<'_>| {
            // A group that was never opened has nothing to close.
            let at = (zone.key.clone(), effect.key().clone());
            let before = state.before.remove(&at)?;
            let elsewhere = self.elsewhere.take(&at);
            effect.closing(&self.me, zone.key.zone.as_str(), &rows, (before.as_ref(), &elsewhere), applied)
        };
        effects(group, &self.me).into_iter().filter_map(close).collect()
    }

    /// Why a group cannot be sent whose row was to be opened.
    fn obstacle(&self, write: &Write, done: &Done) -> Option<String> {
        let table = &self.table.name;
        let row = write.key();
        match (done, write) {
            (Done::Written, _) => None,
            (Done::Failed(problem), _) => Some(format!("its row {row:?} cannot be written: {}", problem.chain())),
            (Done::Lost(Some(Stored { row: Ok(found), .. })), _) => {
                Some(format!("the row {row:?} of table {table:?} is that of {:?} now", found.owner.as_str()))
            }
            (Done::Lost(Some(Stored { row: Err(problem), .. })), _) => {
                Some(format!("the row {row:?} of table {table:?} cannot be read any more: {problem}"))
            }
            (Done::Lost(None), Write::Insert { .. }) => Some(format!(
                "a row {row:?} came into table {table:?} since it was read; nothing is created before it is known whose"
            )),
            (Done::Lost(None), _) => Some(format!("the row {row:?} of table {table:?} is not ours any more")),
        }
    }

    /// Closes the rows of groups by what became of them.
    ///
    /// # Errors
    /// The table did not take something. It is owed, and counts as written here.
    pub(crate) async fn commit(&self, zone: &Zone, groups: &[Group], outcomes: &[Outcome]) -> Result<()> {
        let mut state = self.state.lock().await;
        if groups.is_empty() {
            let (unpaid, given_up) = self.pay_all(&mut state).await;
            return unpaid.or(given_up).map_or(Ok(()), Err);
        }
        let mut writes = Vec::new();
        for (group, outcome) in groups.iter().zip(outcomes) {
            match outcome {
                Outcome::Applied => writes.extend(self.closings(&mut state, zone, group, true)),
                Outcome::Refused { .. } | Outcome::NotSent(_) => {
                    writes.extend(self.closings(&mut state, zone, group, false));
                }
                // The rows stay open: they speak for what was announced, if it stands.
                Outcome::Unknown(_) => {
                    let keys =
                        effects(group, &self.me).into_iter().map(|effect| (zone.key.clone(), effect.key().clone()));
                    for key in keys {
                        state.before.remove(&key);
                        self.elsewhere.take(&key);
                    }
                }
            }
        }
        self.close(&mut state, writes).await
    }

    async fn close(&self, state: &mut TableState, writes: Vec<Write>) -> Result<()> {
        let mut problem = None;
        let done = self.table.write(&writes).await;
        for (write, done) in writes.into_iter().zip(done) {
            match done {
                Done::Failed(failure) => {
                    self.note(state, &write, &Done::Written);
                    state.owed.insert(write.key().to_owned(), write);
                    problem = problem.or(Some(failure));
                }
                done => {
                    if let Done::Lost(Some(_)) = done {
                        warn!(
                            table = self.table.name,
                            row = write.key(),
                            "the row has another owner now, and is left alone"
                        );
                    }
                    self.note(state, &write, &done);
                }
            }
        }
        problem.map_or(Ok(()), |problem: Error| Err(problem))
    }
}
