//! Where the groups of a call come from, as their entries in the journal say it.

use std::collections::BTreeMap;
use std::sync::Arc;

use zonewright_core::change::{Change, Group};
use zonewright_core::record::RecordKey;

use super::entry::Cause;

/// A round, an undo, or a command, with the hash that names it.
#[derive(Debug, Clone)]
pub struct EntryOrigin {
    plan: String,
    cause: Cause,
    /// The approved deletes, each with the hash that was approved.
    approved: Arc<BTreeMap<RecordKey, String>>,
}

impl EntryOrigin {
    /// Something that begins now.
    pub(crate) fn new(plan: String, cause: Cause) -> Self {
        Self { plan, cause, approved: Arc::default() }
    }

    /// The hash that entries carry, for `zonewright undo --plan`.
    pub fn plan(&self) -> &str {
        &self.plan
    }

    /// From now on these deletes belong to the plans that were approved.
    pub(crate) fn approve(&mut self, approved: BTreeMap<RecordKey, String>) {
        self.approved = Arc::new(approved);
    }

    /// Whether the delete of this record belongs to a plan that was approved.
    pub(crate) fn is_approved(&self, key: &RecordKey) -> bool {
        self.approved.contains_key(key)
    }

    /// The plan and the cause of one group.
    pub(crate) fn of(&self, group: &Group) -> (String, Cause) {
        let deleted = |change: &Change| match change {
            Change::Delete { from } => self.approved.get(&from.key),
            _ => None,
        };
        let mut plans = group.records().map(|step| deleted(&step.change));
        match plans.next().flatten() {
            Some(plan) if plans.all(|other| other.is_some()) && !plan.is_empty() => (plan.clone(), Cause::Approved),
            _ => (self.plan.clone(), self.cause),
        }
    }
}
