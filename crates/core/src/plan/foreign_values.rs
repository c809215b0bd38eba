//! Values of others in a record set of ours: they stay, whatever becomes of ours.
//!
//! In: a published set whose claim says which of its values are not ours ([`FOREIGN_VALUE_LABEL`]). Out: what is wanted together with
//! them, and a set that nobody wants any more without ours. What must hold: no value that the claim does not cover is taken away.

use std::borrow::Cow;

use super::row::{Row, held, skip_of};
use super::{FOREIGN_VALUE_LABEL, NamePlan, PlannedGroup};
use crate::change::{Change, Group, Step};
use crate::claim::Ownership;
use crate::rdata::RData;
use crate::record::{RecordData, RecordSet};

/// The values of a set that its claim says are not ours.
fn foreign<'s>(set: &'s RecordSet, ownership: &Ownership) -> Vec<&'s RData> {
    let Some(claim) = ownership.claim().filter(|claim| claim.label(FOREIGN_VALUE_LABEL).is_some()) else {
        return Vec::new();
    };
    let RecordData::Records(records) = &set.data else { return Vec::new() };
    let named = |record: &&RData| {
        let text = record.to_string();
        claim.labels.iter().any(|(key, value)| **key == *FOREIGN_VALUE_LABEL && **value == *text)
    };
    records.iter().filter(named).collect()
}

/// Whether a set holds values of others.
pub(super) fn is_shared(set: &RecordSet, ownership: &Ownership) -> bool {
    !foreign(set, ownership).is_empty()
}

/// What is wanted, and the values of others that stand.
pub(super) fn beside<'w>(wanted: &'w RecordSet, published: &RecordSet, ownership: &Ownership) -> Cow<'w, RecordSet> {
    let others = foreign(published, ownership);
    match &wanted.data {
        RecordData::Records(records) if others.iter().any(|other| !records.contains(other)) => {
            let data = RecordData::records(records.iter().chain(others).cloned());
            Cow::Owned(RecordSet { data, ..wanted.clone() })
        }
        _ => Cow::Borrowed(wanted),
    }
}

impl Row<'_> {
    /// Takes our values out of shared sets that nobody asks for; what is left is not ours from here on.
    pub(super) fn leave_shared(&mut self, out: &mut NamePlan) {
        let shared: Vec<usize> = (0..self.published.len())
            .filter(|at| {
                let (set, ownership) = &self.published[*at];
                is_shared(set, ownership) && !self.is_placed(&set.key)
            })
            .collect();
        for at in shared {
            let (set, ownership) = self.published[at].clone();
            if let Some(why) = self.delete_forbidden(set, &ownership) {
                out.skips.push(skip_of(&set.key, why));
            } else {
                let data = RecordData::records(foreign(set, &ownership).into_iter().cloned());
                let change = Change::Update { from: set.clone(), to: RecordSet { data, ..set.clone() } };
                let resource = ownership.claim().and_then(|claim| claim.resource.clone());
                let step = Step { held: held(&ownership), ..Step::record(change, resource) };
                out.groups.push(PlannedGroup { group: Group::of(step, Vec::new()), counted: Vec::new() });
            }
            self.published[at].1 = Ownership::Unclaimed;
        }
    }
}
