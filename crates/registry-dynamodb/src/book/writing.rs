//! Rows are opened before groups are sent, and closed by what became of them.
//!
//! In: groups, and their outcomes. Out: the groups whose rows are open. What must hold: a row that cannot be opened keeps its group from
//! being sent; what the table does not take is owed, and a later write to the same row takes its place; a row that somebody took
//! meanwhile has its name planned again.

use std::sync::PoisonError;

use tracing::{error, warn};
use zonewright_core::Result;
use zonewright_core::change::{Group, Outcome};
use zonewright_core::error::Error;
use zonewright_core::registry::Dropped;
use zonewright_core::zone::Zone;

use super::{Book, TableState};
use crate::claim_effect::{ClaimEffect, effects};
use crate::row::Row;
use crate::rows::Stored;
use crate::table::{Done, Write};
use crate::{error, key};

impl Book {
    /// Writes what is owed.
    ///
    /// # Errors
    /// The table does not take it yet.
    pub(super) async fn pay(&self, state: &mut TableState) -> Result<()> {
        self.pay_all(state).await.map_or(Ok(()), Err)
    }

    /// Writes what is owed. Returns why something is owed still.
    async fn pay_all(&self, state: &mut TableState) -> Option<Error> {
        let writes: Vec<Write> = state.owed.values().cloned().collect();
        let mut unpaid = None;
        for (write, done) in writes.iter().zip(self.table.write(&writes).await) {
            match done {
                Done::Failed(problem) if error::may_pass(&problem) => unpaid = Some(problem),
                done => {
                    state.owed.remove(write.key());
                    self.note(state, write, &done);
                    self.tell_of_loss(write, &done);
                    if let Done::Failed(problem) = done {
                        error!(row = write.key(), error = problem.chain(), "a row is not written, and stays as it was");
                        state.given_up = Some(Box::new(problem));
                    }
                }
            }
        }
        unpaid
    }

    /// Takes over what became of a write. What was owed to the same row is older.
    pub(super) fn note(&self, state: &mut TableState, write: &Write, done: &Done) {
        if matches!(done, Done::Written | Done::Lost(_)) {
            state.owed.remove(write.key());
        }
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
        let close = |effect: ClaimEffect<'_>| {
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
            let unpaid = self.pay_all(&mut state).await;
            let given_up = state.given_up.take().map(|error| *error);
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
                    self.note(state, &write, &done);
                    self.tell_of_loss(&write, &done);
                }
            }
        }
        problem.map_or(Ok(()), |problem: Error| Err(problem))
    }

    /// Somebody took the row of a record that was written meanwhile: its name is planned again, so that its object hears of it.
    fn tell_of_loss(&self, write: &Write, done: &Done) {
        let (table, row) = (&self.table.name, write.key());
        match done {
            Done::Lost(Some(_)) => warn!(table, row, "the row has another owner now, and is left alone"),
            Done::Lost(None) => warn!(table, row, "the row is gone; its record is nobody's now"),
            Done::Written | Done::Failed(_) => return,
        }
        if let Ok(record) = key::parse(row) {
            let names = std::iter::once((record.name, true));
            self.changes.lock().unwrap_or_else(PoisonError::into_inner).note(names);
        }
    }
}
