//! Which deletes the brake has to count.
//!
//! In: a delete, what the same write created, and what objects ask for. Out: whether it counts: what is replaced does not, nor what goes with an object
//! of which a DELETE event told.

use std::collections::BTreeSet;

use zonewright_core::{RData, RecordKey};

use super::judge::Judged;
use super::{Right, Truth};
use crate::cluster::{Ask, Sight};
use crate::names::ADDRESSES;
use crate::rules::Rule;

impl Truth {
    /// Whether the brake has to count a delete. `created`: what the same write took for new; `used`: what of that has taken the place of
    /// another object's set already.
    pub(super) fn counts(
        &mut self,
        step: &Judged<'_>,
        right: &Right,
        (created, used): (&BTreeSet<RecordKey>, &mut BTreeSet<RecordKey>),
        sight: &Sight,
    ) -> bool {
        let label = right.resource();
        if self.is_replaced(step, label, (created, used), sight) || sight.is_buried(&step.key.name, label) {
            return false;
        }
        // Where nothing holds a write together, what was to replace it may have been refused since.
        let otherwise = self.profile.staged && sight.asked_otherwise(step.key, self.patience());
        // Somebody gave the claim to another object, unseen: what was read of it counts.
        let unseen = self.excused(step.daemon, step.zone, step.key)
            || self.objects.is_some() && sight.changed_within(&step.key.name, self.patience());
        let risen = sight.was_buried(&step.key.name, label, self.patience());
        self.verdicts.note(Rule::Brake, !(otherwise || unseen || risen));
        !(otherwise || unseen || risen)
    }

    /// Whether a record of another type comes in place of one that goes: of A, AAAA and CNAME, for the same object; where a
    /// CNAME excludes the other, for any; or a set of another kind of routing, which takes the place of one.
    fn is_replaced(
        &mut self,
        step: &Judged<'_>,
        label: Option<&str>,
        (created, used): (&BTreeSet<RecordKey>, &mut BTreeSet<RecordKey>),
        sight: &Sight,
    ) -> bool {
        let key = step.key;
        let rows = self.rows();
        let addresses = |other: &RecordKey| [key.rtype, other.rtype].iter().all(|rtype| ADDRESSES.contains(rtype));
        let beside = |other: &RecordKey| {
            other != key && rows.takes_place(other, key) && (addresses(other) || rows.other_kind(other, key))
        };
        let mut fits = |truth: &mut Self, other: &RecordKey| {
            let right = truth.right(step.zone, other);
            let by = right.resource();
            let same = label.is_none() || by.is_none() || by == label;
            let own = same || truth.comes_for(step.zone, other, label, sight);
            other.rtype.excludes(key.rtype) || own || rows.other_kind(other, key) && used.insert(other.clone())
        };
        let here: Vec<RecordKey> = created.iter().filter(|other| beside(other)).cloned().collect();
        if here.iter().any(|other| fits(self, other)) {
            return true;
        }
        if !self.profile.staged {
            return false;
        }
        // Where a write needs several steps, what comes was accepted a moment before, or has to wait until the other is gone.
        let lately: Vec<RecordKey> = self
            .added
            .iter()
            .filter(|((daemon, other), own)| {
                let recent = own.iter().any(|(_, at)| at.elapsed() < super::lately::LATELY);
                *daemon == step.daemon && beside(other) && recent
            })
            .map(|((_, other), _)| other.clone())
            .filter(|other| self.zones[step.zone].sets.contains_key(other))
            .collect();
        lately.iter().any(|other| fits(self, other)) || sight.asks_for_another_type(key, self.patience())
    }

    /// Whether what was written holds what the object of a label asks for. A row or an object that announced a write still names
    /// whom the record was claimed for before.
    fn comes_for(&self, zone: usize, key: &RecordKey, label: Option<&str>, sight: &Sight) -> bool {
        let Some(set) = self.zones[zone].sets.get(key).filter(|_| self.objects.is_some()) else { return false };
        let data = set.data.as_records();
        let asks: Vec<Ask> = sight.asks(&key.name).into_iter().filter(|ask| ask.key == *key).collect();
        let holds_all = |ask: &&Ask| ask.data.iter().all(|wanted| data.contains(wanted));
        // A name that objects share holds what all of them ask for.
        let by_somebody = |one: &RData| asks.iter().any(|ask| ask.data.contains(one));
        asks.iter().filter(holds_all).any(|ask| Some(&*ask.label) == label) && data.iter().all(by_somebody)
    }
}
