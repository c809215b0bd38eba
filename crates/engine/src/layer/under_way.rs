//! A group on its way: which of its writes are in force, what the next one takes for granted, and how all of it is taken back.

use std::collections::BTreeMap;

use zonewright_core::capability::{Atomicity, CreateMode};
use zonewright_core::change::{Group, Outcome, Precondition, Role, Step};
use zonewright_core::record::{RecordKey, RecordSet};

use super::beside::created;
use super::course::{self, Write};

/// A group on its way.
pub(super) struct Course<'a> {
    pub(super) group: &'a Group,
    pub(super) writes: Vec<Write>,
    /// How many of them are in force.
    pub(super) done: usize,
    pub(super) outcome: Option<Outcome>,
}

impl<'a> Course<'a> {
    pub(super) fn new(group: &'a Group, atomic: Atomicity, create: CreateMode) -> Self {
        if group.changes_nothing() {
            return Self { group, writes: Vec::new(), done: 0, outcome: None };
        }
        let writes = match (atomic, create) {
            (Atomicity::None, _) => course::staged(group),
            (_, CreateMode::Additive) => course::announced(group),
            _ => course::whole(group),
        };
        Self { group, writes, done: 0, outcome: None }
    }

    pub(super) fn next(&self) -> Option<&Write> {
        self.writes.get(self.done).filter(|_| self.outcome.is_none())
    }

    /// The write that went last.
    fn last(&self) -> Option<&Write> {
        self.writes.get(self.done.checked_sub(1)?)
    }

    /// What the write that went last created.
    pub(super) fn fresh(&self) -> impl Iterator<Item = &RecordSet> {
        self.last().into_iter().flat_map(Write::created)
    }

    /// The records that the writes before that created, while a claim is still to come over them.
    pub(super) fn announced(&self) -> impl Iterator<Item = &RecordSet> {
        let before = self.writes.iter().take(self.done.saturating_sub(1)).filter(|_| self.next().is_some());
        let records = before.flat_map(|write| &write.steps).filter(|step| step.role == Role::Record);
        records.filter_map(|step| created(&step.change))
    }

    /// The claims that the write that went last changed, as it left them.
    pub(super) fn changed_claims(&self) -> impl Iterator<Item = &RecordSet> {
        let claims = self.last().into_iter().flat_map(|write| &write.steps).filter(|step| step.role == Role::Claim);
        claims.filter(|step| step.change.from().is_some()).filter_map(|step| step.change.to())
    }

    /// What was written before the next write and bears it, each as it was left: the records for one of claims alone, and for one of records
    /// the claims that speak for them.
    fn written(&self) -> BTreeMap<&RecordKey, Option<&RecordSet>> {
        let Some(next) = self.next() else { return BTreeMap::new() };
        let changes_record = next.steps.iter().any(|step| step.role == Role::Record);
        let role = if changes_record { Role::Claim } else { Role::Record };
        let done = self.writes.iter().take(self.done).flat_map(|write| &write.steps);
        done.filter(|step| step.role == role).map(|step| (step.change.key(), step.change.to())).collect()
    }

    /// What the next write takes for granted of what was written before it.
    pub(super) fn rests_on_written(&self) -> Vec<Precondition> {
        let as_left = |(key, set): (&RecordKey, Option<&RecordSet>)| match set {
            Some(set) => Precondition::Exact(set.clone()),
            None => Precondition::Absent(key.clone()),
        };
        self.written().into_iter().map(as_left).collect()
    }

    pub(super) fn as_group(&self, write: &Write) -> Group {
        let mut requires = self.group.requires.clone();
        let done = || self.writes.iter().take(self.done).flat_map(|write| &write.steps);
        let stands = |one: &Precondition| match one {
            Precondition::Exact(set) => done().all(|step| *step.change.key() != set.key),
            Precondition::Absent(_) | Precondition::NameNotInUse(_) => true,
        };
        requires.extend(write.rests_on(self.group).into_iter().filter(stands));
        requires.extend(self.claims_unwritten(write));
        Group { steps: write.steps.clone(), requires, ..self.group.clone() }
    }

    /// What a write of records takes for granted of the claims that the group changes later: another writer may have changed one since it
    /// was read.
    pub(super) fn claims_unwritten(&self, write: &Write) -> Vec<Precondition> {
        if !write.steps.iter().any(|step| step.role == Role::Record) {
            return Vec::new();
        }
        let so_far = || self.writes.iter().take(self.done).chain([write]).flat_map(|write| &write.steps);
        let written = |claim: &&Step| so_far().any(|step| step.change.key() == claim.change.key());
        let claims = self.group.steps.iter().filter(|step| step.role == Role::Claim);
        claims
            .filter(|claim| !written(claim))
            .filter_map(|step| step.change.from().cloned())
            .map(Precondition::Exact)
            .collect()
    }

    /// The writes that are in force, undone from the last to the first. Where another writer (`somebody`) may have put a record there, or
    /// changed the one that the next write was for, an intent does not become the claim again that it was: that would speak
    /// for the foreign record. Where that next write was for a claim, an updated record stays as it is: whose it is now
    /// is to be read first.
    pub(super) fn way_back(&self, somebody: bool) -> WayBack {
        let in_force = || self.writes.iter().take(self.done).rev();
        let back = |write: &Write| Group { requires: Vec::new(), ..self.as_group(&write.inverse()) };
        let created = self.group.records().filter_map(|step| created(&step.change));
        let next = || self.writes.get(self.done).into_iter().flat_map(|write| &write.steps);
        let doubted: Vec<&RecordSet> = created.chain(next().filter_map(|step| step.change.from())).collect();
        let claim_doubted = next().any(|step| step.role == Role::Claim && step.change.from().is_some());
        let stays =
            |write: &Write| somebody && (write.lowers_claim(&doubted) || claim_doubted && write.updates_record());
        let groups = in_force().filter(|write| !stays(write)).map(back).collect();
        WayBack { groups, whole: !in_force().any(stays) }
    }
}

/// How a group is taken back.
pub(super) struct WayBack {
    pub(super) groups: Vec<Group>,
    /// Whether everything then stands as before.
    pub(super) whole: bool,
}
