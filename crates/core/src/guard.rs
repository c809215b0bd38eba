//! The brake: no mass deletion out of a mistake.
//!
//! It is no rate. If the deletes wanted and those done in the window together exceed a share of the zone's owned records,
//! all counted deletes of the zone are held, and so are those that would leave the owner nothing. A held plan is visible
//! and can be approved; an approval covers the deletes it was given for and expires.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::clock::Timestamp;
use crate::record::RecordKey;

/// The numbers of the brake; flags change or switch off each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Brake {
    /// Whether it works at all.
    pub enabled: bool,
    /// This many deletes within the window always pass.
    pub min_deletes: usize,
    /// Or this share of the owned records of the zone, whichever is more.
    pub percent: usize,
    /// Length of the window.
    pub window: Duration,
    /// An owner that had at least this many records in the zone within the window is not left without any; 0 switches
    /// this rule off.
    pub owner_floor: usize,
    /// How long an approval holds.
    pub approval_ttl: Duration,
}

impl Default for Brake {
    fn default() -> Self {
        Self {
            enabled: true,
            min_deletes: 20,
            percent: 10,
            window: Duration::from_hours(1),
            owner_floor: 10,
            approval_ttl: Duration::from_hours(1),
        }
    }
}

/// What happened in a zone within the window. Survives restarts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// When how many counted deletes were done.
    #[serde(default)]
    deletes: VecDeque<(Timestamp, usize)>,
    /// Counted deletes that were sent and of which no answer is known, and when: they may have been done. Tried again, they
    /// are still one.
    #[serde(default, with = "pairs")]
    lost: BTreeMap<RecordKey, Timestamp>,
    /// When the zone held how many of our records: falling counts, each the largest since the one before.
    #[serde(default)]
    peaks: VecDeque<(Timestamp, usize)>,
}

impl Window {
    /// Notes counted deletes that were done.
    pub fn deleted<'a>(&mut self, keys: impl IntoIterator<Item = &'a RecordKey>, now: Timestamp) {
        let count = keys.into_iter().map(|key| self.lost.remove(key)).count();
        if count > 0 {
            self.deletes.push_back((now, count));
        }
    }

    /// Notes counted deletes that are about to be sent, or whose answer was lost. Returns what was noted of each before.
    pub fn may_have_deleted<'a>(
        &mut self,
        keys: impl IntoIterator<Item = &'a RecordKey>,
        now: Timestamp,
    ) -> BTreeMap<RecordKey, Option<Timestamp>> {
        keys.into_iter().map(|key| (key.clone(), self.lost.insert(key.clone(), now))).collect()
    }

    /// A delete was not done after all: `former` is what was noted before. An earlier one may have been.
    pub fn not_deleted(&mut self, key: &RecordKey, former: Option<Timestamp>) {
        match former {
            Some(at) => drop(self.lost.insert(key.clone(), at)),
            None => drop(self.lost.remove(key)),
        }
    }

    /// Another process goes on with this window at `now`. Whether deletes without an answer were done, when, and whether their
    /// records were made again, it cannot know: each counts as done now.
    pub fn taken_over(&mut self, now: Timestamp) {
        let count = std::mem::take(&mut self.lost).len();
        if count > 0 {
            self.deletes.push_back((now, count));
        }
    }

    /// Notes a record that was made: a delete of it whose answer was lost has been done, and the next one is another.
    pub fn created(&mut self, key: &RecordKey) {
        if let Some(at) = self.lost.remove(key) {
            let place = self.deletes.partition_point(|(other, _)| *other <= at);
            self.deletes.insert(place, (at, 1));
        }
    }

    /// Notes how many records we own now.
    pub fn owns(&mut self, count: usize, now: Timestamp) {
        while self.peaks.back().is_some_and(|(_, former)| *former <= count) {
            self.peaks.pop_back();
        }
        self.peaks.push_back((now, count));
    }

    /// Forgets what lies before the window.
    pub fn trim(&mut self, window: Duration, now: Timestamp) {
        while self.deletes.front().is_some_and(|(at, _)| at.plus(window) < now) {
            self.deletes.pop_front();
        }
        self.lost.retain(|_, at| at.plus(window) >= now);
        // The last count before the window still held at its beginning.
        while self.peaks.get(1).is_some_and(|(at, _)| at.plus(window) < now) {
            self.peaks.pop_front();
        }
    }

    /// The deletes done within the window, but for those `wanted` once more: they stand, so they were not done.
    fn deletes(&self, window: Duration, wanted: &BTreeSet<RecordKey>, now: Timestamp) -> usize {
        let within = |at: &Timestamp| at.plus(window) >= now;
        let done: usize = self.deletes.iter().filter(|(at, _)| within(at)).map(|(_, count)| count).sum();
        done + self.lost.iter().filter(|(key, at)| within(at) && !wanted.contains(*key)).count()
    }

    /// The most records of ours that the zone held at any time within the window.
    pub fn peak(&self, window: Duration, now: Timestamp) -> usize {
        let within = self.peaks.iter().filter(|(at, _)| at.plus(window) >= now);
        let before = self.peaks.iter().rev().find(|(at, _)| at.plus(window) < now);
        within.chain(before).map(|(_, count)| *count).max().unwrap_or(0)
    }
}

/// An approval of a held plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// The deletes it was given for.
    pub keys: BTreeSet<RecordKey>,
    /// When it ends.
    pub until: Timestamp,
}

/// Deletes of one zone that wait for an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldPlan {
    /// Names the plan in commands: the first 12 digits of a SHA-256 over zone and keys.
    pub hash: String,
    /// The records that would go, with what they hold, for people.
    #[serde(with = "pairs")]
    pub deletes: BTreeMap<RecordKey, String>,
    /// Why they are held.
    pub reason: String,
    /// Since when there are deletes held in this zone.
    pub since: Timestamp,
    /// Whether they would leave the owner nothing ([`leaves_nothing`]).
    #[serde(default)]
    pub floor: bool,
}

impl HeldPlan {
    /// Why it is still held, though it would no longer leave the owner nothing: what was made since must not let go what was
    /// held. Not so where one of its deletes is no longer wanted; `counted` are those that are, `withheld` those that wait for
    /// evidence.
    pub fn stays(
        &self,
        brake: &Brake,
        counted: &BTreeSet<RecordKey>,
        withheld: &BTreeSet<RecordKey>,
    ) -> Option<String> {
        let in_force = brake.enabled && brake.owner_floor > 0 && self.floor && !counted.is_empty();
        let wanted = || self.deletes.keys().all(|key| counted.contains(key) || withheld.contains(key));
        (in_force && wanted()).then(|| self.reason.clone())
    }
}

/// A map with keys that are no texts, as a list of pairs: JSON has no other way.
mod pairs {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::record::RecordKey;

    pub(super) fn serialize<S: Serializer, V: Serialize>(
        map: &BTreeMap<RecordKey, V>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(map)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>, V: Deserialize<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<RecordKey, V>, D::Error> {
        Ok(Vec::<(RecordKey, V)>::deserialize(deserializer)?.into_iter().collect())
    }
}

/// The hash that names a set of held deletes.
pub fn hash(zone: &str, keys: impl IntoIterator<Item = impl ToString>) -> String {
    let mut digest = Sha256::new();
    digest.update(zone.as_bytes());
    for key in keys {
        digest.update([0]);
        digest.update(key.to_string().as_bytes());
    }
    let octets = digest.finalize();
    let head = octets.iter().take(6).fold(0_u64, |head, octet| head << 8 | u64::from(*octet));
    format!("{head:012x}")
}

/// What the brake looks at.
#[derive(Debug, Clone, Copy)]
pub struct Load<'a> {
    /// Counted deletes that are wanted now.
    pub counted: &'a BTreeSet<RecordKey>,
    /// Other deletes that are wanted now (proven, or replaced by another type).
    pub free: usize,
    /// Records of ours in the zone, without those that the same round made.
    pub owned: usize,
    /// The most that there were within the window ([`Window::peak`]), before the same round made any.
    pub peak: usize,
}

/// Whether the counted deletes are held, and why. `None` lets them pass.
pub fn judge(brake: &Brake, window: &Window, load: Load<'_>, now: Timestamp) -> Option<String> {
    let counted = load.counted.len();
    if !brake.enabled || counted == 0 {
        return None;
    }
    let done = window.deletes(brake.window, load.counted, now);
    let limit = brake.min_deletes.max(load.owned * brake.percent / 100);
    if counted + done > limit {
        return Some(format!(
            "{counted} deletes are wanted and {done} were done within the last {}; at most {limit} of {} owned records may go in that time",
            crate::duration::show(brake.window),
            load.owned,
        ));
    }
    leaves_nothing(brake, load)
}

/// Whether the counted deletes would leave nothing of what an owner has had lately.
pub fn leaves_nothing(brake: &Brake, load: Load<'_>) -> Option<String> {
    let counted = load.counted.len();
    let left = load.owned.saturating_sub(counted + load.free);
    let peak = load.peak.max(load.owned);
    let in_force = brake.enabled && brake.owner_floor > 0 && peak >= brake.owner_floor;
    (in_force && counted > 0 && left == 0)
        .then(|| format!("{counted} deletes would leave nothing of the {peak} records that were owned here lately"))
}

/// Whether an approval covers these deletes.
pub fn is_approved<'a>(approvals: &[Approval], keys: impl IntoIterator<Item = &'a RecordKey>, now: Timestamp) -> bool {
    let mut keys = keys.into_iter().peekable();
    keys.peek().is_some() && {
        let keys: Vec<&RecordKey> = keys.collect();
        approvals.iter().any(|approval| approval.until > now && keys.iter().all(|key| approval.keys.contains(*key)))
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;
    use crate::testing::set;

    const MINUTE: i64 = 60_000;

    /// Records of the given numbers.
    fn keys(numbers: Range<usize>) -> BTreeSet<RecordKey> {
        numbers.map(|number| set(&format!("n{number}.example A 192.0.2.1")).key).collect()
    }

    fn held(deletes: &[(i64, usize)], counted: usize, free: usize, owned: usize, now: i64) -> bool {
        let mut window = Window::default();
        for (minute, count) in deletes {
            window.deleted(&keys(0..*count), Timestamp(minute * MINUTE));
        }
        let load = Load { counted: &keys(0..counted), free, owned, peak: 0 };
        judge(&Brake::default(), &window, load, Timestamp(now * MINUTE)).is_some()
    }

    #[test]
    fn twenty_or_a_tenth_whichever_is_more() {
        for (counted, owned, expected) in [
            (20, 100, false),
            (21, 100, true),
            (100, 1_000, false),
            (101, 1_000, true),
            (8_764, 8_764, true),
            (0, 50, false),
        ] {
            assert_eq!(held(&[], counted, 0, owned, 0), expected, "{counted} of {owned}");
        }
    }

    #[test]
    fn what_was_deleted_within_the_hour_counts_too() {
        assert!(!held(&[(0, 15)], 5, 0, 100, 59));
        assert!(held(&[(0, 15)], 6, 0, 100, 59));
        assert!(!held(&[(0, 15)], 20, 0, 100, 61));
        assert!(held(&[(0, 10), (30, 10)], 1, 0, 100, 45));
    }

    #[test]
    fn a_delete_whose_answer_is_lost_is_one_however_often_it_is_tried() {
        let mut window = Window::default();
        let (now, lost) = (Timestamp(0), keys(0..15));
        let held = |window: &Window, counted: &BTreeSet<RecordKey>, now| {
            judge(&Brake::default(), window, Load { counted, free: 0, owned: 100, peak: 0 }, now).is_some()
        };
        for _ in 0..3 {
            window.may_have_deleted(&lost, now);
        }
        assert!(!held(&window, &lost, now), "the same once more");
        assert!(!held(&window, &keys(20..25), now) && held(&window, &keys(20..26), now), "others come on top");
        let later = Timestamp(MINUTE);
        for (key, former) in window.may_have_deleted(&lost, later) {
            window.not_deleted(&key, former);
        }
        assert!(held(&window, &keys(20..26), later), "refused now, but maybe done before");
        for (key, former) in window.may_have_deleted(&keys(30..35), later) {
            window.not_deleted(&key, former);
        }
        assert!(!held(&window, &keys(20..25), later), "refused, and never tried before");
        window.deleted(&lost, now);
        assert!(!held(&window, &keys(20..25), now) && held(&window, &keys(20..26), now), "done at last");
        assert!(held(&window, &lost, now), "and once more is another");
        assert!(!held(&window, &lost, Timestamp(61 * MINUTE)));

        let mut window = Window::default();
        window.may_have_deleted(&lost, now);
        for key in &lost {
            window.created(key);
        }
        assert!(held(&window, &lost, now), "what was made since was gone in between");
        assert!(!held(&window, &lost, Timestamp(61 * MINUTE)));
        let mut window = Window::default();
        window.may_have_deleted(&lost, now);
        let mut kept: Window = serde_json::from_str(&serde_json::to_string(&window).unwrap()).unwrap();
        assert_eq!(kept, window);
        kept.taken_over(now);
        assert!(held(&kept, &lost, now) && !held(&kept, &keys(0..5), now), "another process counts them all");
        // When they were done, within the time that a call may take, is not known either: they count from then on.
        let mut late: Window = serde_json::from_str(&serde_json::to_string(&window).unwrap()).unwrap();
        late.taken_over(Timestamp(2 * MINUTE));
        assert!(held(&late, &lost, Timestamp(61 * MINUTE)) && !held(&late, &lost, Timestamp(63 * MINUTE)));
        window.trim(Duration::from_hours(1), Timestamp(61 * MINUTE));
        assert_eq!(window, Window::default());
    }

    #[test]
    fn an_owner_is_not_left_without_anything_it_had_lately() {
        assert!(held(&[], 10, 0, 10, 0));
        assert!(!held(&[], 9, 0, 9, 0));
        assert!(held(&[], 3, 9, 12, 0), "nothing would be left");
        assert!(!held(&[], 3, 8, 12, 0));
        assert!(!held(&[], 0, 12, 12, 0), "only counted deletes are held");
        let mut window = Window::default();
        window.owns(12, Timestamp(0));
        window.owns(4, Timestamp(10 * MINUTE));
        let judge_at = |minute: i64| {
            let now = Timestamp(minute * MINUTE);
            let load =
                Load { counted: &keys(0..4), free: 0, owned: 4, peak: window.peak(Duration::from_hours(1), now) };
            judge(&Brake::default(), &window, load, now)
        };
        assert!(judge_at(60).is_some(), "it had 12 within the hour");
        assert!(judge_at(75).is_none());
        window.trim(Duration::from_hours(1), Timestamp(75 * MINUTE));
        assert_eq!(window.peaks.len(), 1);
    }

    #[test]
    fn each_number_can_be_switched_off() {
        let counted = keys(0..50);
        let load = Load { counted: &counted, free: 0, owned: 50, peak: 50 };
        let judge = |brake: Brake| judge(&brake, &Window::default(), load, Timestamp(0)).is_some();
        assert!(!judge(Brake { enabled: false, ..Brake::default() }));
        assert!(judge(Brake { min_deletes: 1_000, ..Brake::default() }), "the floor still holds");
        assert!(!judge(Brake { min_deletes: 1_000, owner_floor: 0, ..Brake::default() }));
    }

    #[test]
    fn an_approval_covers_its_deletes_and_expires() {
        let keys: BTreeSet<RecordKey> =
            ["a.example A 192.0.2.1", "b.example A 192.0.2.1"].iter().map(|l| set(l).key).collect();
        let approvals = [Approval { keys: keys.clone(), until: Timestamp(10) }];
        assert!(is_approved(&approvals, &keys, Timestamp(9)));
        assert!(!is_approved(&approvals, &keys, Timestamp(10)));
        assert!(is_approved(&approvals, keys.iter().take(1), Timestamp(9)));
        let other = set("c.example A 192.0.2.1").key;
        assert!(!is_approved(&approvals, keys.iter().chain([&other]), Timestamp(9)));
        assert!(!is_approved(&approvals, [], Timestamp(9)));
        assert_eq!(hash("z", ["a"]), hash("z", ["a"]));
        assert_ne!(hash("z", ["a"]), hash("y", ["a"]));
        assert_ne!(hash("z", ["a", "b"]), hash("z", ["ab"]));
    }
}
