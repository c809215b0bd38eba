//! Proof that objects were deleted, for as long as deletes may rest on it.
//!
//! In come DELETE events by name and label; out goes whether the object behind a label is gone. What must hold: the proof
//! outlives the deletes that rest on it, and what nobody deletes by it does not stay: it ends with the last record that it is
//! about, with [`LIFE`], and beyond [`MOST`] names with the age. What loses its proof is an ordinary delete, which the brake
//! counts.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use crate::clock::Timestamp;
use crate::name::DnsName;

/// A proof that was not used within this time is none any more.
pub(super) const LIFE: Duration = Duration::from_hours(7 * 24);
/// A proof is not looked at before this time: a record of its name may still be on its way.
pub(super) const REST: Duration = Duration::from_mins(10);
/// How often those are looked at that outlasted it: what a record still needs ends with its delete, in nearly every case.
pub(super) const PAUSE: Duration = Duration::from_hours(1);
/// Most names, and most labels: about 40 MB.
pub(super) const MOST: usize = 200_000;

/// Proof that objects are gone from a name; it lasts until the records they held are gone.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Tombstone {
    /// The labels that the endpoints of the objects carried at this name.
    resources: BTreeSet<Option<Arc<str>>>,
    /// When the last of them was deleted.
    since: Timestamp,
}

/// The proofs at hand.
#[derive(Debug, Default)]
pub(super) struct Tombstones {
    names: HashMap<DnsName, Tombstone>,
    /// Labels of objects of which it was never known what they ask for.
    labels: HashMap<Arc<str>, Timestamp>,
    /// When they are to be looked at; nothing is done before.
    due: Option<Timestamp>,
}

impl Tombstones {
    /// The objects behind these labels were deleted, and asked for this name.
    pub(super) fn add(&mut self, name: &DnsName, labels: BTreeSet<Option<Arc<str>>>, now: Timestamp) {
        let fresh = || Tombstone { resources: BTreeSet::new(), since: now };
        let entry = self.names.entry(name.clone()).or_insert_with(fresh);
        entry.resources.extend(labels);
        entry.since = now;
        self.look_at(now.plus(REST));
        drop_oldest(&mut self.names, MOST, |tombstone| tombstone.since);
    }

    /// The object behind this label was deleted, and nobody knows which names it asked for.
    pub(super) fn add_label(&mut self, label: &Arc<str>, now: Timestamp) {
        self.labels.insert(label.clone(), now);
        self.look_at(now.plus(LIFE));
        drop_oldest(&mut self.labels, MOST, |since| *since);
    }

    fn look_at(&mut self, at: Timestamp) {
        self.due = Some(self.due.map_or(at, |due| due.min(at)));
    }

    /// When something may be found that is to be forgotten.
    pub(super) fn due(&self) -> Option<Timestamp> {
        self.due.filter(|_| !self.names.is_empty() || !self.labels.is_empty())
    }

    /// Whether the object behind this label is gone from this name.
    pub(super) fn prove(&self, name: &DnsName, resource: Option<&Arc<str>>) -> bool {
        resource.is_some_and(|label| self.labels.contains_key(label))
            || self.names.get(name).is_some_and(|tombstone| tombstone.resources.contains(&resource.cloned()))
    }

    /// The proof about a name is void, or no longer needed.
    pub(super) fn remove(&mut self, name: &DnsName) {
        self.names.remove(name);
    }

    /// An object of this label is there again.
    pub(super) fn remove_label(&mut self, label: &Arc<str>) {
        self.labels.remove(label);
    }

    /// Forgets what is too old, and of what has rested what no record needs any more.
    pub(super) fn collect_stale_claims(
        &mut self,
        now: Timestamp,
        needed: impl Fn(&DnsName, &BTreeSet<Option<Arc<str>>>) -> bool,
    ) {
        let lives = |since: Timestamp| since.plus(LIFE) > now;
        let rests = |since: Timestamp| since.plus(REST) > now;
        self.names
            .retain(|name, Tombstone { resources, since }| lives(*since) && (rests(*since) || needed(name, resources)));
        self.labels.retain(|_, since| lives(*since));
        self.due = None;
        let fresh = self.names.values().map(|tombstone| tombstone.since.plus(REST)).filter(|at| *at > now).min();
        let old = (!self.names.is_empty() || !self.labels.is_empty()).then(|| now.plus(PAUSE));
        fresh.into_iter().chain(old).for_each(|at| self.look_at(at));
    }

    /// Number of names, and of labels.
    pub(super) fn len(&self) -> (usize, usize) {
        (self.names.len(), self.labels.len())
    }
}

/// Where there are more than `most`, the oldest tenth goes.
fn drop_oldest<K: Eq + Hash, V>(map: &mut HashMap<K, V>, most: usize, since: impl Fn(&V) -> Timestamp) {
    if map.len() <= most {
        return;
    }
    let mut moments: Vec<Timestamp> = map.values().map(&since).collect();
    let (_, oldest, _) = moments.select_nth_unstable(most / 10);
    let oldest = *oldest;
    // Of what is equally old an even part would be arbitrary: all of it goes.
    map.retain(|_, value| since(value) > oldest);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::name;

    fn labels(text: &str) -> BTreeSet<Option<Arc<str>>> {
        BTreeSet::from([Some(Arc::from(text))])
    }

    #[test]
    fn a_proof_ends_with_its_use_and_with_its_time() {
        let mut tombstones = Tombstones::default();
        let (used, kept, label) = (name("used.example"), name("kept.example"), Arc::from("service/ns/unread"));
        tombstones.add(&used, labels("service/ns/a"), Timestamp(0));
        tombstones.add(&kept, labels("service/ns/a"), Timestamp(0));
        tombstones.add_label(&label, Timestamp(0));
        tombstones.collect_stale_claims(Timestamp(0).plus(REST / 2), |_, _| false);
        assert_eq!(tombstones.len(), (2, 1), "its record may still be on its way");
        tombstones.collect_stale_claims(Timestamp(0).plus(REST), |name, _| *name == kept);
        assert_eq!(tombstones.len(), (1, 1));
        let resource = Some(Arc::from("service/ns/a"));
        assert!(tombstones.prove(&kept, resource.as_ref()) && !tombstones.prove(&used, resource.as_ref()));
        assert!(tombstones.prove(&used, Some(&label)), "whatever its name");
        tombstones.collect_stale_claims(Timestamp(0).plus(LIFE), |_, _| true);
        assert_eq!(tombstones.len(), (0, 0));
    }

    #[test]
    fn of_too_many_the_oldest_go() {
        let mut map: HashMap<usize, Timestamp> =
            (0..=100_usize).map(|n| (n, Timestamp(i64::try_from(n).unwrap()))).collect();
        drop_oldest(&mut map, 101, |since| *since);
        assert_eq!(map.len(), 101);
        drop_oldest(&mut map, 100, |since| *since);
        assert_eq!((map.len(), map.keys().min()), (90, Some(&11)));
    }

    /// What the page of the promises says of it, in numbers.
    #[test]
    fn a_proof_lasts_seven_days_and_there_are_two_hundred_thousand_of_them() {
        let day = Duration::from_hours(24);
        let (mut tombstones, object) = (Tombstones::default(), Some(Arc::from("service/ns/a")));
        let first = name("first.example");
        tombstones.add(&first, labels("service/ns/a"), Timestamp(0));
        tombstones.collect_stale_claims(Timestamp(0).plus(6 * day + Duration::from_hours(23)), |_, _| true);
        assert!(tombstones.prove(&first, object.as_ref()));
        tombstones.collect_stale_claims(Timestamp(0).plus(7 * day), |_, _| true);
        assert!(!tombstones.prove(&first, object.as_ref()));

        let numbered = |number: i64| name(&format!("n{number}.example"));
        for number in 0..200_000 {
            tombstones.add(&numbered(number), labels("service/ns/a"), Timestamp(number));
        }
        assert_eq!(tombstones.len().0, 200_000);
        tombstones.add(&numbered(200_000), labels("service/ns/a"), Timestamp(200_000));
        assert!(!tombstones.prove(&numbered(0), object.as_ref()), "the oldest go");
        assert!([100_000, 199_999, 200_000].iter().all(|number| tombstones.prove(&numbered(*number), object.as_ref())));
    }
}
