//! The deletes of a zone that wait, and those that room is reserved for in the brake's window.

use std::collections::{BTreeMap, BTreeSet};

use zonewright_core::change::Group;
use zonewright_core::clock::Timestamp;
use zonewright_core::name::DnsName;
use zonewright_core::record::RecordKey;

use crate::state::State;

/// What was ours when a round began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Before {
    /// Number of our records in the zone.
    pub(crate) owned: usize,
    /// The most of them within the brake's window.
    pub(crate) peak: usize,
}

/// Keys that room is reserved for, each with what the window said of it before.
pub(crate) type Reserved = BTreeMap<RecordKey, Option<Timestamp>>;

/// What a worker remembers of deletes between its turns.
#[derive(Debug, Default)]
pub(crate) struct Deletes {
    /// Names whose deletes are held or wait for evidence: they are planned with every turn.
    waiting: BTreeSet<DnsName>,
    /// What was ours before the round whose counted deletes still wait for the other zones.
    before: Option<Before>,
    /// Counted deletes of this round.
    reserved: Reserved,
    /// The hash of the held plan that this process reported.
    announced: Option<String>,
}

impl Deletes {
    /// The deletes at these names wait.
    pub(crate) fn wait(&mut self, names: impl IntoIterator<Item = DnsName>) {
        self.waiting.extend(names);
    }

    /// Takes the names that are looked at again.
    pub(crate) fn take_waiting(&mut self) -> BTreeSet<DnsName> {
        std::mem::take(&mut self.waiting)
    }

    /// Number of names that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// What was ours before the first round whose deletes still wait until every zone has been planned, if they do: what was
    /// created meanwhile must not let them go.
    pub(crate) fn before(&self) -> Option<Before> {
        self.before
    }

    /// Whether the deletes of a round wait until every zone has been planned once.
    pub(crate) fn wait_for_other_zones(&mut self, before: Option<Before>) {
        self.before = before;
    }

    /// Room was reserved for deletes that are about to go.
    pub(crate) fn reserve(&mut self, reserved: Reserved) {
        self.reserved.extend(reserved);
    }

    /// Takes the deletes of a group out of those that room is reserved for.
    pub(crate) fn take_reserved(&mut self, group: &Group) -> Reserved {
        let keys = group.records().map(|step| step.change.key());
        keys.filter_map(|key| self.reserved.remove_entry(key)).collect()
    }

    /// Takes all that room is still reserved for: what was not sent takes none.
    pub(crate) fn take_all_reserved(&mut self) -> Reserved {
        std::mem::take(&mut self.reserved)
    }

    /// Whether the held plan of this hash was not reported by this process; from now on it was.
    pub(crate) fn announce(&mut self, hash: &str) -> bool {
        let news = self.announced.as_deref() != Some(hash);
        self.announced = Some(hash.to_owned());
        news
    }

    /// No plan is held any more.
    pub(crate) fn nothing_held(&mut self) {
        self.announced = None;
    }
}

/// Gives back the room of deletes that were not done.
pub(crate) fn give_back(state: &State, zone: &str, reserved: Reserved) {
    if reserved.is_empty() {
        return;
    }
    state.zone(zone, |state| {
        for (key, former) in reserved {
            state.window.not_deleted(&key, former);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use zonewright_core::change::{Change, Step};
    use zonewright_core::testing::set;

    #[test]
    fn a_group_takes_its_own_reservations_alone() {
        let (a, b) = (set("a.example A 192.0.2.1"), set("b.example A 192.0.2.1"));
        let group = Group::of(Step::record(Change::Delete { from: a.clone() }, None), Vec::new());
        let mut deletes = Deletes::default();
        deletes.reserve(Reserved::from([(a.key.clone(), None), (b.key.clone(), Some(Timestamp(3)))]));
        assert_eq!(deletes.take_reserved(&group), Reserved::from([(a.key, None)]));
        assert!(deletes.take_reserved(&group).is_empty());
        assert_eq!(deletes.take_all_reserved(), Reserved::from([(b.key, Some(Timestamp(3)))]));
    }

    #[test]
    fn a_held_plan_is_reported_once_until_nothing_is_held() {
        let mut deletes = Deletes::default();
        assert_eq!(["x", "x", "y", "x"].map(|hash| deletes.announce(hash)), [true, false, true, true]);
        deletes.nothing_held();
        assert!(deletes.announce("x"));
    }
}
