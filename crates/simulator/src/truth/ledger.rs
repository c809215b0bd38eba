//! What the brake must have seen: counted deletes, how many records there were, and what was approved.
//!
//! In: what a daemon did, was told and read. Out: how much of the window is used, and whether an approval covers a delete.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use tokio::time::Instant;
use zonewright_core::clock::Timestamp;
use zonewright_core::guard::Brake;
use zonewright_core::{RecordData, RecordKey, RecordSet};

use super::Right;

/// What was approved of one delete: it covers that record, with that content and that right, once.
#[derive(Debug)]
pub(super) struct Approved {
    /// `None` where the record, or its claim, had been changed unseen: what was shown is what the daemon knew of it, and the judge does not
    /// know that.
    pub(super) data: Option<RecordData>,
    pub(super) right: Option<Right>,
    /// How often each kind had come into doubt then.
    pub(super) doubts: [u64; 2],
    pub(super) until: Timestamp,
    pub(super) at: Instant,
}

/// What the brake must have seen of one daemon and zone, or of a daemon and all its zones.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// Counted deletes: when by the daemon's own clock, when by ours, and of what.
    deletes: VecDeque<(Timestamp, Instant, RecordKey)>,
    /// How many records the daemon's owner had, and when, by both clocks.
    peaks: VecDeque<(Timestamp, Instant, usize)>,
    /// The same without what stood only in the midst of a round: a process that replaces records one by one, the new ones first,
    /// never had the sum, and one that dies meanwhile cannot tell of it. Nor does it know of what somebody put there since it listed the zone.
    pub(super) firm: VecDeque<(Timestamp, Instant, usize)>,
    /// Each approval of a delete by itself: what is forgotten of a later one speaks of no earlier one.
    pub(super) approved: BTreeMap<RecordKey, Vec<Approved>>,
    /// Deletes for which an approval was used.
    pub(super) spent: BTreeSet<RecordKey>,
    /// The approvals that writes used up, until they are answered.
    used: BTreeMap<RecordKey, Vec<Approved>>,
    /// Approved deletes of writes without an answer: whether they were done is not known before the record is read.
    open: BTreeSet<RecordKey>,
    /// Deletes without an answer, approved or not, of the record or of its claim.
    lost: BTreeSet<RecordKey>,
}

impl Ledger {
    /// The daemon lost its memory of what it was told after `since`. What it deleted was written down before.
    pub(super) fn forget(&mut self, since: Instant) {
        self.approved.retain(|_, given| {
            given.retain(|approved| approved.at <= since);
            !given.is_empty()
        });
        self.peaks.retain(|(_, at, _)| *at <= since);
        self.firm.retain(|(_, at, _)| *at <= since);
    }

    /// Another process goes on: what lies before its window is forgotten, and what its clock puts into the future counts as of
    /// now.
    pub(super) fn taken_over(&mut self, brake: &Brake, now: Timestamp) {
        self.trim(brake, now);
        self.deletes.iter_mut().for_each(|(at, ..)| *at = (*at).min(now));
        self.peaks.iter_mut().chain(&mut self.firm).for_each(|(at, ..)| *at = (*at).min(now));
        // It counts what its predecessor heard nothing of as done.
        self.lost.clear();
    }

    /// Forgets what lies before the window. A clock that jumped ahead makes things old; one that was turned back does not make
    /// them young again.
    pub(super) fn trim(&mut self, brake: &Brake, now: Timestamp) {
        let within = |at: Timestamp, when: Instant| at.plus(brake.window) > now && when.elapsed() < brake.window;
        self.deletes.retain(|(at, when, _)| within(*at, *when));
        self.peaks.retain(|(at, when, _)| within(*at, *when));
        self.firm.retain(|(at, when, _)| within(*at, *when));
    }

    pub(super) fn peak(&self) -> usize {
        most(&self.peaks)
    }

    /// Notes how many there are. `known`: of how many the daemon could know, where its round is over.
    pub(super) fn owns(&mut self, owned: usize, known: Option<usize>, now: Timestamp) {
        let firm = known.map(|known| (&mut self.firm, known));
        for (peaks, owned) in [(&mut self.peaks, owned)].into_iter().chain(firm) {
            while peaks.back().is_some_and(|(.., former)| *former <= owned) {
                peaks.pop_back();
            }
            peaks.push_back((now, Instant::now(), owned));
        }
    }

    /// Counted deletes, done now by the daemon's clock. Returns how many there are within the window.
    pub(super) fn delete(&mut self, gone: &[&Counted], brake: &Brake, now: Timestamp) -> usize {
        for key in gone.iter().map(|delete| &delete.stood.key) {
            // Somebody made anew what had gone without an answer, before it was read: it looks as if it had stayed.
            if self.lost.remove(key) {
                self.undelete(key);
            }
        }
        self.deletes.extend(gone.iter().map(|delete| (now, Instant::now(), delete.stood.key.clone())));
        self.trim(brake, now);
        self.deletes.len()
    }

    /// The last delete of a record was none. Returns whether there was one.
    pub(super) fn undelete(&mut self, key: &RecordKey) -> bool {
        let last = self.deletes.iter().rposition(|(.., gone)| gone == key);
        last.and_then(|at| self.deletes.remove(at)).is_some()
    }

    /// The records that were deleted lately.
    pub(super) fn deleted(&self) -> impl Iterator<Item = &RecordKey> {
        self.deletes.iter().map(|(.., key)| key)
    }

    /// Nobody says whether these deletes were done, or whether all was that belongs to them.
    pub(super) fn lose(&mut self, keys: impl IntoIterator<Item = RecordKey>) {
        self.lost.extend(keys);
    }

    /// Uses an approval up, if there is one for exactly this. A process that could not read the state knows of none that was given
    /// before `unread`: who reads it again finds these as they were.
    pub(super) fn spend(&mut self, delete: &Counted, now: Timestamp, unread: Option<Instant>) -> bool {
        let fits = |approved: &Approved| {
            let same_right = approved.right.as_ref().is_none_or(|right| *right == delete.right);
            let same_data = approved.data.as_ref().is_none_or(|data| *data == delete.stood.data);
            approved.until > now && same_data && same_right
        };
        let known = |approved: &Approved| unread.is_none_or(|unread| approved.at >= unread);
        let covers = |approved: &Approved| known(approved) && fits(approved);
        let covered = self.approved.get(&delete.stood.key).is_some_and(|given| given.iter().any(covers));
        if covered {
            let key = &delete.stood.key;
            let given = self.approved.remove(key).unwrap_or_default();
            let (used, left): (Vec<_>, Vec<_>) = given.into_iter().partition(known);
            if !left.is_empty() {
                self.approved.insert(key.clone(), left);
            }
            self.used.insert(key.clone(), used);
            self.spent.insert(key.clone());
        }
        covered
    }

    pub(super) fn answered(&mut self, key: &RecordKey) {
        self.used.remove(key);
    }

    /// Nobody says whether a delete was done: where somebody puts the record there again, it looks as if it was not.
    pub(super) fn unanswered(&mut self, key: &RecordKey) {
        let Some(given) = self.used.remove(key) else { return };
        self.approved.entry(key.clone()).or_default().extend(given);
        self.spent.remove(key);
        self.open.insert(key.clone());
    }

    /// These records were read, and only some of them stand: the other deletes were done.
    pub(super) fn read(&mut self, is_gone: impl Fn(&RecordKey) -> bool) {
        self.lost.retain(|key| !is_gone(key));
        let gone: Vec<RecordKey> = self.open.iter().filter(|key| is_gone(key)).cloned().collect();
        for key in gone {
            self.open.remove(&key);
            self.approved.remove(&key);
            self.spent.insert(key);
        }
    }

    /// Whether an approval of this delete was used up already, or was given for something else.
    pub(super) fn reaches_beyond(&self, delete: &Counted) -> bool {
        self.spent.contains(&delete.stood.key) || self.approved.contains_key(&delete.stood.key)
    }
}

pub(super) fn most(peaks: &VecDeque<(Timestamp, Instant, usize)>) -> usize {
    peaks.iter().map(|(.., owned)| *owned).max().unwrap_or(0)
}

/// A delete that the brake counts: what stood there, and by what right.
#[derive(Debug)]
pub(super) struct Counted {
    pub(super) stood: RecordSet,
    pub(super) right: Right,
}
