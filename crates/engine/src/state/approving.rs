//! Approvals of held plans, as the document has them.
//!
//! What must hold: an approval covers each delete once, whenever a process dies. So it is saved that a delete is sent before it is,
//! and that a record is made anew before it is.

use std::collections::BTreeSet;

use tracing::info;
use zonewright_core::change::{Change, Group, Outcome};
use zonewright_core::clock::Timestamp;
use zonewright_core::error::Result;
use zonewright_core::guard::{Approval, HeldPlan, JointPlan};
use zonewright_core::record::RecordKey;

use super::State;

impl State {
    /// Hashes that were approved where the document is kept.
    ///
    /// # Errors
    /// As the store.
    pub(crate) async fn approvals(&self) -> Result<BTreeSet<String>> {
        self.store.approvals().await
    }

    /// Of the approvals that stand there now, those that were not taken yet; they are from here on.
    pub(crate) fn take(&self, standing: &BTreeSet<String>) -> BTreeSet<String> {
        let mut inner = self.lock();
        let taken = &mut inner.document.taken;
        let fresh: BTreeSet<String> = standing.difference(taken).cloned().collect();
        let changed = *taken != *standing;
        taken.clone_from(standing);
        drop(inner);
        if changed {
            self.touch();
        }
        fresh
    }

    /// How a plan is approved where the document is kept.
    pub(crate) fn approve_with(&self, hash: &str) -> Option<String> {
        self.store.approve_with(hash)
    }

    /// The plans that were held together over several zones, each under one hash.
    pub(crate) fn joint(&self) -> Vec<JointPlan> {
        self.lock().document.joint()
    }

    /// Approves the held plan of this hash, or those that are held together under it; `None` if there is none. Returns the
    /// zones and how many deletes it covers.
    pub(crate) fn approve(&self, hash: &str, until: Timestamp) -> Option<(String, usize)> {
        let mut inner = self.lock();
        let document = &mut inner.document;
        let joint = document.joint().into_iter().find(|joint| joint.hash == hash);
        let covered = |zone: &String, held: &HeldPlan| {
            held.hash == hash || joint.as_ref().is_some_and(|joint| joint.zones.contains_key(zone))
        };
        let (mut zones, mut count) = (Vec::new(), 0);
        for (zone, state) in &mut document.zones {
            let Some(held) = state.held.as_ref().filter(|held| covered(zone, held)) else { continue };
            // What was approved is what was typed: its hash leads to the deletes that it approved, and back.
            state.approvals.push(Approval { plan: hash.to_owned(), ..held.approval(until) });
            count += held.held.len();
            zones.push(zone.clone());
        }
        drop(inner);
        if zones.is_empty() {
            return None;
        }
        self.touch();
        Some((zones.join(", "), count))
    }

    /// An undo sets records back: the approvals of their deletes end, in every zone.
    pub(crate) fn revoke(&self, zone: &str, keys: &BTreeSet<RecordKey>) {
        let mut inner = self.lock();
        let zones = &mut inner.document.zones;
        let speaks = |approval: &&Approval| {
            keys.iter().any(|key| approval.spent.contains(key) || approval.open.contains_key(key))
        };
        let approvals = zones.get(zone).map_or(&[][..], |state| &state.approvals);
        let plans: BTreeSet<String> = approvals.iter().filter(speaks).map(|approval| approval.plan.clone()).collect();
        if plans.is_empty() {
            return;
        }
        for state in zones.values_mut() {
            state.approvals.retain(|approval| !plans.contains(&approval.plan));
        }
        drop(inner);
        info!(
            plans = plans.into_iter().collect::<Vec<_>>().join(", "),
            "approvals end: what they approved is set back"
        );
        self.touch();
    }

    /// Notes and saves what becomes of approvals with `groups`, which are about to be sent. A delete that one covers is sent: a
    /// process that dies now leaves no approval of it behind. A record that is made anew, or changed, is not the one whose delete was
    /// approved. The latter is made all the same where that cannot be saved; the zone's doubt about its state reports it.
    ///
    /// # Errors
    /// As [`State::save`]: no group that [rests on an approval](State::rests_on_approval) may be sent. What cannot be read is no
    /// error: nothing is saved there that covers these deletes.
    pub(crate) async fn before_sending(&self, zone: &str, groups: &[Group]) -> Result<()> {
        let blind = self.is_blind();
        if !blind && self.look(zone, |state| state.approvals.is_empty()) {
            return Ok(());
        }
        let created: Vec<&RecordKey> = keys(groups, |change| matches!(change, Change::Create { .. })).collect();
        let made = keys(groups, |change| !is_delete(change));
        let deleted = keys(groups, is_delete);
        let (again, goes) = self.note(zone, |state| {
            state.made_blindly |= blind && !created.is_empty();
            // One that was used up a moment ago may not be saved yet.
            let used = |key: &&RecordKey| state.approvals.iter().any(|approval| approval.spent.contains(*key));
            let again = created.iter().any(used) | state.spend(made);
            let goes = deleted.fold(false, |goes, key| goes | state.send(key));
            (again, goes)
        });
        if !again && !goes {
            return Ok(());
        }
        // A failure is reported by whoever keeps the state, too.
        match self.save().await {
            Err(error) if goes && !blind => Err(error),
            _ => Ok(()),
        }
    }

    /// Whether a group takes away what an approval covers.
    pub(crate) fn rests_on_approval(&self, zone: &str, group: &Group) -> bool {
        self.look(zone, |state| {
            let covered = |key| state.approvals.iter().any(|approval| approval.open.contains_key(key));
            keys(std::slice::from_ref(group), is_delete).any(covered)
        })
    }

    /// What was not done is covered as before. A delete without an answer stays sent until it is sent again, or found absent.
    pub(crate) fn after_sending(&self, zone: &str, groups: &[Group], outcomes: &[Outcome]) {
        let not_done = |outcome: &Outcome| matches!(outcome, Outcome::NotSent(_) | Outcome::Refused { .. });
        let stayed = groups.iter().zip(outcomes).filter(|(_, outcome)| not_done(outcome)).map(|(group, _)| group);
        let mut stayed = stayed.flat_map(|group| keys(std::slice::from_ref(group), is_delete)).peekable();
        if stayed.peek().is_some() && self.note(zone, |state| stayed.fold(false, |any, key| any | state.not_done(key)))
        {
            self.touch();
        }
    }
}

fn is_delete(change: &Change) -> bool {
    matches!(change, Change::Delete { .. })
}

/// The keys of the records that groups change so.
fn keys(groups: &[Group], of: impl Fn(&Change) -> bool) -> impl Iterator<Item = &RecordKey> {
    groups.iter().flat_map(Group::records).filter(move |step| of(&step.change)).map(|step| step.change.key())
}
