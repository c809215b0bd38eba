//! What the objects say, as far as it is needed between two looks at them: rights, and a print of each shard for each zone.
//! Records of others are not kept.
//!
//! In: the entries of objects, whenever they were read or written. Out: the rights on a record; which shards no longer show
//! what a zone holds. What must hold: an object that another writer changed is taken as it is now, and the names whose rights
//! it changed are reported once.

mod reading;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use zonewright_core::claim::OwnerId;
use zonewright_core::documents::Version;
use zonewright_core::registry::ExternalChanges;
use zonewright_core::{DnsName, RecordKey, ZoneKey};

use super::document::{self, Entries};
use super::entry::{Entry, ZoneRecord};
use super::right::{Kind, Right};

/// One of our objects.
#[derive(Debug, Default)]
pub(super) struct Shard {
    /// `None` where it is not known, or does not stand.
    pub(super) version: Option<Version>,
    /// The number of shards that it was written for; 0 if it holds what belongs elsewhere.
    pub(super) of: usize,
    rights: HashMap<ZoneRecord, Right>,
    prints: HashMap<Arc<str>, u64>,
}

/// An object of another owner.
#[derive(Debug)]
pub(super) struct Foreign {
    pub(super) version: Version,
    owner: OwnerId,
    rights: HashMap<ZoneRecord, Right>,
    /// Records that it hands to others than us (that may have been before we handed them back), or of which it speaks itself.
    spoken: HashSet<ZoneRecord>,
}

/// A zone takes its changed names with each reading; one that this process does not serve never does, and begins with a plan for every
/// name if it is served later. More names are not kept.
const MOST_CHANGED: usize = 50_000;

/// Everything that is known.
#[derive(Debug)]
pub(super) struct Table {
    owner: OwnerId,
    /// Longest entry that is made, in bytes.
    pub(super) longest: usize,
    /// Number of shards: a power of two.
    pub(super) width: usize,
    pub(super) shards: BTreeMap<usize, Shard>,
    pub(super) foreign: BTreeMap<String, Foreign>,
    /// Names whose rights were changed by another writer, by zone.
    changed: HashMap<Arc<str>, BTreeSet<DnsName>>,
    /// What our objects said of records before another writer changed that.
    former: HashMap<ZoneRecord, Right>,
    /// Zones that need no further look until something changes.
    settled: HashSet<Arc<str>>,
    /// How often entries were taken from objects that others had changed, or moved between ours: what a reading had decided of them, and
    /// no object says yet, is forgotten then.
    renewed: u64,
    /// Zones whose last reading missed too many of our records.
    doubted: HashSet<Arc<str>>,
    /// Whether the objects were read once.
    pub(super) loaded: bool,
}

/// The shard of a name among `width`, the same for ever: the first 32 bits of its SHA-256.
pub(super) fn home(name: &DnsName, width: usize) -> usize {
    let hash = Sha256::digest(name.as_str());
    let number = hash.iter().take(4).fold(0usize, |number, byte| number << 8 | usize::from(*byte));
    number & (width.max(1) - 1)
}

impl Table {
    pub(super) fn new(owner: &OwnerId, longest: usize) -> Self {
        Self {
            owner: owner.clone(),
            longest,
            width: 1,
            shards: BTreeMap::new(),
            foreign: BTreeMap::new(),
            changed: HashMap::new(),
            former: HashMap::new(),
            settled: HashSet::new(),
            renewed: 0,
            doubted: HashSet::new(),
            loaded: false,
        }
    }

    /// Takes over what one of our objects holds. `ours`: we wrote it.
    pub(super) fn ingest(&mut self, index: usize, version: Option<Version>, of: usize, entries: &Entries, ours: bool) {
        let mut rights: HashMap<ZoneRecord, Right> =
            document::rights(entries, &self.owner).map(|(place, right)| (place.clone(), right)).collect();
        let mut prints: HashMap<Arc<str>, u64> = HashMap::new();
        for (place, entry) in entries {
            let sum = prints.entry(place.zone.clone()).or_default();
            *sum = sum.wrapping_add(document::print(place, entry));
        }
        let misplaced = entries.keys().any(|place| home(&place.key.name, of) != index);
        let of = if misplaced { 0 } else { of };
        let former = self.shards.remove(&index);
        if let Some(former) = &former {
            carry_over(&former.rights, &mut rights);
            if !ours {
                self.note(&former.rights, &rights);
                self.remember(&former.rights, &rights);
            }
        } else if !ours && self.loaded {
            self.note(&HashMap::new(), &rights);
        }
        self.shards.insert(index, Shard { version, of, rights, prints });
        if !ours {
            self.renew();
        }
    }

    /// Every zone needs another look.
    fn renew(&mut self) {
        self.settled.clear();
        self.move_entries();
    }

    /// Entries are about to go from one of our objects to another.
    pub(super) fn move_entries(&mut self) {
        self.renewed = self.renewed.wrapping_add(1);
    }

    /// A number that changes with what may undo a decision.
    pub(super) fn renewed(&self) -> u64 {
        self.renewed
    }

    /// One of our objects is gone. Returns the number of claims that went with it.
    pub(super) fn lose(&mut self, index: usize) -> usize {
        let Some(former) = self.shards.remove(&index) else { return 0 };
        self.note(&former.rights, &HashMap::new());
        self.remember(&former.rights, &HashMap::new());
        self.renew();
        former.rights.values().filter(|right| right.kind == Kind::Own).count()
    }

    /// Drops what is kept of objects that were never written: more were to be made, and that failed. What is known of their records was
    /// kept there and nowhere else, so the objects that stand say it again. Returns whether there were any.
    pub(super) fn drop_unwritten(&mut self, stands: impl Fn(usize) -> bool) -> bool {
        let unwritten = |index: &usize, shard: &mut Shard| shard.version.is_none() && !stands(*index);
        let dropped: Vec<Shard> = self.shards.extract_if(.., unwritten).map(|(_, shard)| shard).collect();
        for shard in &dropped {
            self.note(&shard.rights, &HashMap::new());
        }
        !dropped.is_empty()
    }

    /// Keeps what our objects said where they say something else now.
    fn remember(&mut self, former: &HashMap<ZoneRecord, Right>, now: &HashMap<ZoneRecord, Right>) {
        let own = |right: &&Right| right.kind == Kind::Own;
        let same = |place: &ZoneRecord, right: &Right| now.get(place).is_some_and(|now| now.says_as(right));
        for (place, right) in former.iter().filter(|(place, right)| own(right) && !same(place, right)) {
            if self.former.len() < MOST_CHANGED {
                self.former.entry(place.clone()).or_insert_with(|| right.clone());
            }
        }
    }

    fn note(&mut self, former: &HashMap<ZoneRecord, Right>, now: &HashMap<ZoneRecord, Right>) {
        let same = |place: &ZoneRecord| match (former.get(place), now.get(place)) {
            (Some(old), Some(new)) => old.owner == new.owner && old.resource == new.resource && old.only == new.only,
            _ => false,
        };
        former.keys().chain(now.keys()).filter(|place| !same(place)).for_each(|place| self.note_changed(place));
    }

    /// Whoever asks for the name of a record is planned again.
    fn note_changed(&mut self, place: &ZoneRecord) {
        let changed = self.changed.entry(place.zone.clone()).or_default();
        if changed.len() < MOST_CHANGED {
            changed.insert(place.key.name.clone());
        }
    }

    /// Takes over an object of another owner: its own records, and what it hands to others.
    pub(super) fn ingest_foreign(&mut self, name: &str, version: Version, owner: &OwnerId, entries: &Entries) {
        let counts = |right: &Right| matches!(right.kind, Kind::Own | Kind::Given);
        let all: Vec<(ZoneRecord, Right)> = document::rights(entries, owner)
            .filter(|(_, right)| counts(right))
            .map(|(place, right)| (place.clone(), right))
            .collect();
        let taken = all.iter().filter(|(_, right)| right.kind != Kind::Given || right.owner != self.owner);
        let spoken = taken.map(|(place, _)| place.clone()).collect();
        let rights: HashMap<ZoneRecord, Right> = all.into_iter().collect();
        let former = self.foreign.remove(name).map(|former| former.rights).unwrap_or_default();
        if self.loaded {
            self.note(&former, &rights);
        }
        self.foreign.insert(name.to_owned(), Foreign { version, owner: owner.clone(), rights, spoken });
        self.renew();
    }

    /// Forgets objects of others that are gone.
    pub(super) fn keep_foreign(&mut self, names: &BTreeSet<&str>) {
        let gone = self.foreign.extract_if(.., |name, _| !names.contains(name.as_str()));
        for (_, foreign) in gone.collect::<Vec<_>>() {
            self.note(&foreign.rights, &HashMap::new());
            self.renew();
        }
    }

    pub(super) fn home(&self, place: &ZoneRecord) -> usize {
        home(&place.key.name, self.width)
    }

    /// The keys with set identifiers at these names of which our own objects speak.
    pub(super) fn item_keys(&self, zone: &ZoneKey, names: &BTreeSet<DnsName>) -> BTreeSet<RecordKey> {
        let is_item = |place: &&ZoneRecord| place.key.set_id.is_some() && names.contains(&place.key.name);
        let all = self.shards.values().flat_map(|shard| shard.rights.keys()).filter(is_item);
        all.filter(|place| **place == ZoneRecord::new(zone, &place.key)).map(|place| place.key.clone()).collect()
    }

    /// What our own objects say of a record. The entry where it belongs wins, unless another one gives the record to another owner.
    pub(super) fn own(&self, place: &ZoneRecord) -> Option<&Right> {
        let elsewhere = |shard: &&Shard| shard.of != self.width;
        let mut elsewhere = self.shards.values().filter(elsewhere).filter_map(|shard| shard.rights.get(place));
        let at_home = self.shards.get(&self.home(place)).and_then(|shard| shard.rights.get(place));
        let Some(at_home) = at_home else { return elsewhere.next() };
        let marked = |right: &&Right| match right.kind {
            Kind::Noted => !self.hears(&right.owner),
            Kind::Given => right.owner != self.owner,
            Kind::Own => false,
        };
        elsewhere.find(marked).or(Some(at_home))
    }

    /// Whether everything stands in the object where it belongs.
    pub(super) fn is_in_order(&self) -> bool {
        self.shards.values().all(|shard| shard.of == self.width)
    }

    /// Sets what we know of a record, before it is written.
    pub(super) fn set(&mut self, place: &ZoneRecord, right: Option<Right>) {
        let home = self.home(place);
        self.settled.remove(&place.zone);
        for shard in self.shards.values_mut() {
            shard.rights.remove(place);
        }
        if let Some(right) = right {
            let of = self.width;
            let shard = self.shards.entry(home).or_insert_with(|| Shard { of, ..Shard::default() });
            shard.rights.insert(place.clone(), right);
        }
    }

    /// Everything that is said of a record: by our objects, then by those of others.
    pub(super) fn rights(&self, place: &ZoneRecord) -> Vec<Right> {
        let own = self.own(place).filter(|right| !(right.kind == Kind::Noted && self.hears(&right.owner)));
        own.into_iter().chain(self.foreign.values().filter_map(|foreign| foreign.rights.get(place))).cloned().collect()
    }

    /// Whether an entry in our object was given to another owner by hand. What we note in passing of owners that speak for
    /// themselves here is no such thing.
    pub(super) fn is_marked(&self, entry: &Entry) -> bool {
        let owner = OwnerId::new(&entry.owner).filter(|owner| *owner != self.owner && !entry.given);
        owner.is_some_and(|owner| !self.hears(&owner))
    }

    /// Whether an entry in our object keeps us out of its record: another writer handed that to another owner, or gave it away by hand.
    pub(super) fn keeps_out(&self, entry: &Entry) -> bool {
        entry.given && entry.owner != self.owner.as_str() || self.is_marked(entry)
    }

    /// Whether an entry of one of our objects says `expected` of our right to its record.
    pub(super) fn says(&self, place: &ZoneRecord, entry: Option<&Entry>, expected: Option<&Right>) -> bool {
        let found = entry.and_then(|entry| entry.right(place, &self.owner).ok().flatten());
        same(found.as_ref(), expected)
    }

    /// Whether our objects still say `expected` of our right to a record.
    pub(super) fn is_as(&self, place: &ZoneRecord, expected: Option<&Right>) -> bool {
        same(self.own(place), expected)
    }

    /// Whether objects of an owner are at hand.
    fn hears(&self, owner: &OwnerId) -> bool {
        self.foreign.values().any(|foreign| foreign.owner == *owner)
    }

    fn is_taken(&self, place: &ZoneRecord, owner: &OwnerId) -> bool {
        self.foreign.values().any(|foreign| foreign.owner == *owner && foreign.spoken.contains(place))
    }

    pub(super) fn has_news(&self, zone: &Arc<str>) -> bool {
        self.changed.contains_key(zone)
    }

    /// What another writer has changed since the last call.
    pub(super) fn external_changes(&mut self, zone: &Arc<str>) -> ExternalChanges {
        let former: Vec<(ZoneRecord, Right)> = self.former.extract_if(|place, _| place.zone == *zone).collect();
        // What only went from one of our objects to another one says the same.
        let same = |place: &ZoneRecord, right: &Right| self.own(place).is_some_and(|now| now.says_as(right));
        let contested = former.iter().filter(|(place, right)| !same(place, right));
        let contested = contested.map(|(place, _)| place.key.name.clone()).collect();
        ExternalChanges { names: self.changed.remove(zone).unwrap_or_default(), contested }
    }
}

/// Whether two words say the same of our own right.
fn same(found: Option<&Right>, expected: Option<&Right>) -> bool {
    let own = |right: &&Right| right.kind == Kind::Own;
    match (found.filter(own), expected.filter(own)) {
        (None, None) => true,
        (Some(found), Some(right)) => found.says_as(right) && (&found.only, &found.next) == (&right.only, &right.next),
        _ => false,
    }
}

/// How often a record was missed is known to this process alone.
fn carry_over(former: &HashMap<ZoneRecord, Right>, rights: &mut HashMap<ZoneRecord, Right>) {
    for (place, right) in rights {
        if let Some(known) = former.get(place).filter(|known| known.owner == right.owner) {
            right.absent = known.absent;
        }
    }
}
