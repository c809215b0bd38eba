//! An address or alias that its object asks for under another set identifier now.
//!
//! In: what is wanted and what stands at a name under all identifiers, and the plans of its rows. Out: the record that goes, in the
//! group of what comes in its place. What must hold: no object loses what it has for something that does not come. Only where the
//! sets of a name cannot be planned each by itself ([`Rules::one_kind`](super::Rules::one_kind)); elsewhere identifiers are records
//! of their own.

use super::row::{Row, is_replaced_by_own, removal, skip_of};
use super::{NamePlan, Placed, Why};
use crate::claim::Ownership;
use crate::record::{RecordKey, RecordSet};

/// What an object asks for at a name, under any identifier, and does not have yet; and what it has.
#[derive(Debug)]
pub(super) struct Room<'a> {
    missing: Vec<&'a Placed>,
    standing: Vec<&'a Placed>,
}

impl<'a> Room<'a> {
    /// Of a name at which these record sets stand.
    pub(super) fn of(placed: &[&'a Placed], published: &[(&RecordSet, Ownership)]) -> Self {
        let stands = |placed: &&Placed| published.iter().any(|(set, _)| set.key == placed.set.key);
        let (standing, missing) = placed.iter().copied().partition(stands);
        Self { missing, standing }
    }

    /// Whether nothing stands yet of what the object of a record asks for in its place, and all of it under other identifiers.
    pub(super) fn moves(&self, set: &RecordSet, ownership: &Ownership) -> bool {
        let instead = |placed: &&&Placed| is_replaced_by_own(set, ownership, placed);
        let elsewhere = |placed: &&Placed| placed.set.key.set_id != set.key.set_id;
        let mut missing = self.missing.iter().filter(instead).copied().peekable();
        missing.peek().is_some()
            && missing.all(|placed| elsewhere(&placed))
            && !self.standing.iter().any(|p| instead(&p))
    }
}

impl Row<'_> {
    /// Takes a record away together with what comes in its place under another identifier; where nothing comes, it stays.
    pub(super) fn move_away(&self, set: &RecordSet, ownership: &Ownership, out: &mut NamePlan) {
        self.left(&set.key, ownership, out);
        let instead = |key: &RecordKey| {
            self.placed.iter().any(|placed| placed.set.key == *key && is_replaced_by_own(set, ownership, placed))
        };
        let comes = out
            .groups
            .iter_mut()
            .find(|planned| planned.group.steps.iter().any(|step| step.change.to().is_some_and(|to| instead(&to.key))));
        let why = match (comes, self.delete_forbidden(set, ownership)) {
            (None, _) => Why::Unmet,
            (Some(_), Some(why)) => why,
            (Some(planned), None) => return planned.group.steps.push(removal(set, ownership)),
        };
        out.skips.push(skip_of(&set.key, why));
    }
}
