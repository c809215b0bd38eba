//! The deletes of a zone that wait, and those that room is reserved for in the brake's window.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;
use zonewright_core::change::Group;
use zonewright_core::clock::Timestamp;
use zonewright_core::name::DnsName;
use zonewright_core::record::RecordKey;

use crate::state::State;

/// What was ours when a round began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Before {
    /// How many records the process had made, less those that it had deleted.
    pub(crate) made: isize,
    /// The most of our records within the brake's window.
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
    /// Records that were asked for since a round was judged, where the held plan may depend on it: what came back is not planned again
    /// with every round, as what is held is.
    asked: BTreeSet<RecordKey>,
    /// Counted deletes of this round.
    reserved: Reserved,
    /// The hash of the held plan that this process reported.
    announced: Option<String>,
    /// A held plan that is reported once it has settled.
    settling: Option<Settling>,
}

/// A held plan that grows or shrinks at short intervals is reported when it has not for this long.
const SETTLE: Duration = Duration::from_secs(3);

/// It is reported after this time whether or not it has settled.
const LONGEST: Duration = Duration::from_secs(30);

/// A held plan that is not reported yet.
#[derive(Debug)]
struct Settling {
    hash: String,
    text: String,
    due: Instant,
    latest: Instant,
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
    /// created meanwhile must not let them pass.
    pub(crate) fn before(&self) -> Option<Before> {
        self.before
    }

    /// Whether the deletes of a round wait until every zone has been planned once.
    pub(crate) fn wait_for_other_zones(&mut self, before: Option<Before>) {
        self.before = before;
    }

    /// These records are asked for.
    pub(crate) fn ask(&mut self, keys: impl IntoIterator<Item = RecordKey>) {
        self.asked.extend(keys);
    }

    /// The records that were asked for since a round was judged.
    pub(crate) fn asked(&self) -> &BTreeSet<RecordKey> {
        &self.asked
    }

    /// A round was judged, and what is held since is known.
    pub(crate) fn judged(&mut self) {
        self.asked.clear();
    }

    /// Room was reserved for deletes that are about to go. Where it was before in this round, the window's word from before that
    /// holds: what is not done gives all of it back.
    pub(crate) fn reserve(&mut self, reserved: Reserved) {
        for (key, former) in reserved {
            self.reserved.entry(key).or_insert(former);
        }
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
        self.settling = None;
    }

    /// A held plan is reported when it has settled.
    pub(crate) fn settle(&mut self, hash: String, text: String, now: Instant) {
        let latest = self.settling.as_ref().map_or(now + LONGEST, |former| former.latest);
        self.settling = Some(Settling { hash, text, due: latest.min(now + SETTLE), latest });
    }

    /// When a held plan is to be reported.
    pub(crate) fn announcement_due(&self) -> Option<Instant> {
        self.settling.as_ref().map(|settling| settling.due)
    }

    /// Takes the held plan that is to be reported now: its hash, and what is said.
    pub(crate) fn take_settled(&mut self, now: Instant) -> Option<(String, String)> {
        let settled = self.settling.take_if(|settling| settling.due <= now)?;
        Some((settled.hash, settled.text))
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
        deletes.reserve(Reserved::from([(b.key.clone(), Some(Timestamp(5)))]));
        assert_eq!(deletes.take_all_reserved(), Reserved::from([(b.key, Some(Timestamp(3)))]));
    }

    #[test]
    fn a_held_plan_is_reported_once_until_nothing_is_held() {
        let mut deletes = Deletes::default();
        assert_eq!(["x", "x", "y", "x"].map(|hash| deletes.announce(hash)), [true, false, true, true]);
        deletes.nothing_held();
        assert!(deletes.announce("x"));
    }

    /// Of plans that follow one another closely the last is reported; one that never settles, after a while.
    #[test]
    fn a_held_plan_settles_before_it_is_reported() {
        let (mut deletes, start) = (Deletes::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        let hash = |taken: Option<(String, String)>| taken.map(|(hash, _)| hash);
        for second in 0..5 {
            deletes.settle(second.to_string(), String::new(), at(second));
            assert_eq!(hash(deletes.take_settled(at(second))), None);
        }
        assert_eq!(deletes.announcement_due(), Some(at(7)));
        assert_eq!(hash(deletes.take_settled(at(7))).as_deref(), Some("4"));
        assert_eq!(hash(deletes.take_settled(at(20))), None, "once");
        let reported = (40..100).filter(|second| {
            deletes.settle(second.to_string(), String::new(), at(*second));
            deletes.take_settled(at(*second)).is_some()
        });
        assert_eq!(reported.count(), 1);
        deletes.settle("x".to_owned(), String::new(), start);
        deletes.nothing_held();
        assert_eq!(deletes.announcement_due(), None);
    }
}
