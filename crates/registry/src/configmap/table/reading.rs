//! A zone as it was read, and what the objects say of it.
//!
//! In: the contents of a zone. Out: rights that the reading confirms or withdraws, the entries that the objects are to hold, and which of
//! them do not.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use zonewright_core::claim::OwnerId;
use zonewright_core::registry::Contents;
use zonewright_core::{RecordKey, RecordSet, ZoneKey};

use super::super::document::{self, Entries};
use super::super::entry::{Entry, ZoneRecord};
use super::super::right::{Kind, Right, Seal};
use super::{Table, home};

/// The claims on so many records, or on a tenth of ours in the zone if that is more, may end after one reading.
const MOST: usize = 20;

impl Table {
    /// Confirms and withdraws what a reading of the zone decides. Where it would end the claims on very many records that no
    /// write of ours took away, the reading is doubted: they stay, for the records as they were. Returns how many those
    /// are, once.
    pub(in super::super) fn settle(&mut self, zone: &Arc<str>, contents: &dyn Contents) -> Option<usize> {
        let in_zone = |place: &&ZoneRecord| place.zone == *zone;
        let places: Vec<ZoneRecord> = self
            .shards
            .values()
            .flat_map(|shard| shard.rights.keys().filter(in_zone).cloned().collect::<Vec<_>>())
            .collect();
        let (mut owned, mut lost) = (0, Vec::new());
        for place in places {
            let Some(right) = self.own(&place).cloned() else { continue };
            owned += usize::from(right.kind == Kind::Own);
            let standing = contents.find(&place.key).map(|set| Seal::of(&set));
            let heard = right.owner != self.owner && self.hears(&right.owner);
            let firm = || self.foreign.values().any(|foreign| foreign.rights.get(&place).is_some_and(Right::is_firm));
            let taken = if right.kind == Kind::Own { firm() } else { self.is_taken(&place, &right.owner) };
            let rivalled = right.kind == Kind::Own && right.only.is_some() && self.is_announced(&place, standing);
            match right.clone().settled(standing, heard, taken, rivalled) {
                None if right.lost && standing.is_none() => lost.push(place),
                settled if settled.as_ref() != Some(&right) => {
                    // Somebody may have waited for what our objects noted for another owner.
                    if settled.is_none() && right.owner != self.owner {
                        self.note_changed(&place);
                    }
                    self.set(&place, settled);
                }
                _ => {}
            }
        }
        if lost.len() > MOST.max(owned / 10) {
            return self.doubted.insert(zone.clone()).then_some(lost.len());
        }
        self.doubted.remove(zone);
        for place in &lost {
            self.set(place, None);
        }
        None
    }

    /// Whether an object of another owner speaks for a record as it stands, not confirmed, for another owner than us.
    fn is_announced(&self, place: &ZoneRecord, standing: Option<Seal>) -> bool {
        let mut rights = self.foreign.values().filter_map(|foreign| foreign.rights.get(place));
        rights.any(|right| right.rivals(&self.owner, standing))
    }

    /// The entry of a record that stands.
    pub(in super::super) fn entry(&self, place: &ZoneRecord, set: &RecordSet) -> Entry {
        let seal = Some(Seal::of(set));
        let foreign = self.foreign.values().filter_map(|foreign| foreign.rights.get(place));
        let elsewhere = foreign.filter(|right| right.kind == Kind::Own && right.speaks(seal).is_some());
        let elsewhere: Option<&OwnerId> = elsewhere.map(|right| &right.owner).next();
        let own = self.own(place);
        let entry = Entry::of(place, set, own, elsewhere);
        // What is ours is known by its values.
        if own.is_some_and(|right| right.kind == Kind::Own) { entry } else { entry.within(self.longest) }
    }

    /// The entries of a zone in one shard, or in all: of what stands, and of what does not stand and is claimed. `known` has the
    /// entries that stand in the object.
    pub(in super::super) fn wanted(
        &self,
        zone: &ZoneKey,
        shard: usize,
        contents: &dyn Contents,
        known: &Entries,
    ) -> Entries {
        let mut wanted = Entries::new();
        contents.each(&mut |set| {
            if home(&set.key.name, self.width) == shard {
                let place = ZoneRecord::new(zone, &set.key);
                let entry = self.entry(&place, &set);
                wanted.insert(place, entry);
            }
        });
        let zone: Arc<str> = Arc::from(zone.to_string());
        for (place, right) in self.claimed(&zone).filter(|(place, _)| self.home(place) == shard) {
            if !wanted.contains_key(place) {
                let mut entry = known.get(place).cloned().unwrap_or_else(|| Entry::bare(place, right));
                entry.belong(right);
                wanted.insert(place.clone(), entry);
            }
        }
        wanted
    }

    /// The records of a zone that our own objects claim for us, in the order of their keys.
    pub(in super::super) fn owned(&self, zone: &ZoneKey) -> BTreeSet<RecordKey> {
        let own = |(_, right): &(&ZoneRecord, &Right)| right.kind == Kind::Own;
        self.claimed(&Arc::from(zone.to_string())).filter(own).map(|(place, _)| place.key.clone()).collect()
    }

    fn claimed(&self, zone: &Arc<str>) -> impl Iterator<Item = (&ZoneRecord, &Right)> {
        let zone = zone.clone();
        self.shards.values().flat_map(|shard| &shard.rights).filter(move |(place, _)| place.zone == zone)
    }

    /// The shards that do not show what the zone holds.
    pub(in super::super) fn stale(&self, zone: &ZoneKey, contents: &dyn Contents) -> BTreeSet<usize> {
        let text: Arc<str> = Arc::from(zone.to_string());
        let mut sums: BTreeMap<usize, u64> = BTreeMap::new();
        let mut standing: HashSet<ZoneRecord> = HashSet::new();
        let mut add = |place: &ZoneRecord, print: u64| {
            let sum = sums.entry(self.home(place)).or_default();
            *sum = sum.wrapping_add(print);
        };
        contents.each(&mut |set| {
            let place = ZoneRecord { key: set.key.clone(), zone: text.clone() };
            add(&place, document::print(&place, &self.entry(&place, &set)));
            if self.own(&place).is_some() {
                standing.insert(place);
            }
        });
        for (place, right) in self.claimed(&text).filter(|(place, _)| !standing.contains(place)) {
            add(place, right_print(place, right));
        }
        let mut stale: BTreeSet<usize> = BTreeSet::new();
        for index in 0..self.width {
            let shard = self.shards.get(&index);
            let shown = shard.and_then(|shard| shard.prints.get(&text)).copied().unwrap_or_default();
            let missing = index == 0 && shard.is_none_or(|shard| shard.version.is_none());
            if missing || shown != sums.get(&index).copied().unwrap_or_default() {
                stale.insert(index);
            }
        }
        stale
    }

    /// Notes that a zone is in step, if nothing in it waits for another reading, and nothing was taken from the objects anew since the
    /// last one was settled: what that had decided would stay forgotten.
    pub(in super::super) fn rest(&mut self, zone: &Arc<str>, renewed: u64) {
        if self.renewed == renewed && self.claimed(zone).all(|(_, right)| !right.is_open()) {
            self.settled.insert(zone.clone());
        }
    }

    pub(in super::super) fn is_settled(&self, zone: &Arc<str>) -> bool {
        self.settled.contains(zone)
    }

    pub(in super::super) fn unsettle(&mut self, zone: &Arc<str>) {
        self.settled.remove(zone);
    }
}

/// The print of the entry of a record that does not stand: with the data that it was last known with.
fn right_print(place: &ZoneRecord, right: &Right) -> u64 {
    let mut entry = Entry::bare(place, right);
    entry.belong(right);
    document::print_of(place, &entry, right.seen)
}
