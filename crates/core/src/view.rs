//! What a zone holds, as far as we know: listed once, then kept current by our own writes and by audits.
//!
//! Most sets of a zone are one record without options, so each is kept in little more than its data, and put together again
//! when it is asked for.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::Duration;

use tokio::time::Instant;

use crate::change::{Group, Role};
use crate::name::DnsName;
use crate::options::Options;
use crate::provider::{Delta, Listing, Record, Token};
use crate::rdata::RData;
use crate::record::{AliasTarget, Item, RecordData, RecordKey, RecordSet, Routing, SetId, Ttl};
use crate::rtype::RecordType;

/// The published records of one zone.
#[derive(Debug, Default)]
pub struct ZoneView {
    names: BTreeMap<DnsName, Box<[Slim]>>,
    token: Option<Token>,
    /// Names that we wrote, or that were read by themselves, and when: a listing that lags shows them as they were before.
    written: HashMap<DnsName, Instant>,
    /// Names where we wrote claims and have not read since.
    unread: HashSet<DnsName>,
    complete: bool,
}

/// The names whose content changed, each with what stood there before.
pub type Changed = BTreeMap<DnsName, Vec<RecordSet>>;

/// A record set without its name.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Slim {
    rtype: RecordType,
    ttl: Option<Ttl>,
    data: Data,
    /// What few sets have.
    rest: Option<Box<Rest>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Data {
    One(RData),
    Many(Box<[RData]>),
    Alias(Box<AliasTarget>),
    Items(Box<[Item]>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Rest {
    set_id: Option<SetId>,
    routing: Routing,
    options: Options,
}

impl Slim {
    fn new(set: RecordSet) -> Self {
        let RecordSet { key: RecordKey { rtype, set_id, .. }, ttl, data, routing, options } = set;
        let data = match data {
            RecordData::Alias(alias) => Data::Alias(Box::new(alias)),
            RecordData::Items(items) => Data::Items(items.into()),
            RecordData::Records(mut records) if records.len() == 1 => match records.pop() {
                Some(only) => Data::One(only),
                None => Data::Many(Box::default()),
            },
            RecordData::Records(records) => Data::Many(records.into()),
        };
        let plain = set_id.is_none() && routing == Routing::Simple && options.is_empty();
        let rest = (!plain).then(|| Box::new(Rest { set_id, routing, options }));
        Self { rtype, ttl, data, rest }
    }

    fn set_id(&self) -> Option<&SetId> {
        self.rest.as_ref()?.set_id.as_ref()
    }

    fn is(&self, key: &RecordKey) -> bool {
        self.rtype == key.rtype && self.set_id() == key.set_id.as_ref()
    }

    fn at(&self, name: &DnsName) -> RecordSet {
        let data = match &self.data {
            Data::One(only) => RecordData::Records(vec![only.clone()]),
            Data::Many(records) => RecordData::Records(records.to_vec()),
            Data::Alias(alias) => RecordData::Alias((**alias).clone()),
            Data::Items(items) => RecordData::Items(items.to_vec()),
        };
        let (routing, options) = match &self.rest {
            Some(rest) => (rest.routing.clone(), rest.options.clone()),
            None => (Routing::Simple, Options::default()),
        };
        let key = RecordKey { name: name.clone(), rtype: self.rtype, set_id: self.set_id().cloned() };
        RecordSet { key, ttl: self.ttl, data, routing, options }
    }
}

impl ZoneView {
    /// Whether the zone has been listed once.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// The state that a delta can be asked since; `None` where only a listing of everything tells what stands.
    pub fn token(&self) -> Option<&Token> {
        self.token.as_ref()
    }

    fn slims(&self, name: &DnsName) -> &[Slim] {
        self.names.get(name).map_or(&[], |slims| slims)
    }

    /// The record sets at a name, in the order of their keys.
    pub fn at(&self, name: &DnsName) -> Vec<RecordSet> {
        self.slims(name).iter().map(|slim| slim.at(name)).collect()
    }

    /// One record set.
    pub fn find(&self, key: &RecordKey) -> Option<RecordSet> {
        self.slims(&key.name).iter().find(|slim| slim.is(key)).map(|slim| slim.at(&key.name))
    }

    /// Whether a record set of this key stands.
    pub fn holds(&self, key: &RecordKey) -> bool {
        self.slims(&key.name).iter().any(|slim| slim.is(key))
    }

    /// Every name that holds something, in order.
    pub fn names(&self) -> impl Iterator<Item = &DnsName> {
        self.names.keys()
    }

    /// The type of every record set.
    pub fn types(&self) -> impl Iterator<Item = RecordType> {
        self.names.values().flatten().map(|slim| slim.rtype)
    }

    /// Every record set, in the order of the names.
    pub fn sets(&self) -> impl Iterator<Item = RecordSet> {
        self.sets_of(|_| true)
    }

    /// Every record set of certain types, in the order of the names.
    pub fn sets_of(&self, wanted: impl Fn(RecordType) -> bool) -> impl Iterator<Item = RecordSet> {
        let all = self.names.iter().flat_map(|(name, slims)| slims.iter().map(move |slim| (name, slim)));
        all.filter(move |(_, slim)| wanted(slim.rtype)).map(|(name, slim)| slim.at(name))
    }

    /// Whether what stands at a name was read of the zone since we last wrote a claim there.
    pub fn is_read(&self, name: &DnsName) -> bool {
        !self.unread.contains(name)
    }

    /// The number of names that we wrote, or read by themselves, and that a listing may not show so yet, and of those with claims of ours that were not
    /// read since.
    pub fn unsettled(&self) -> (usize, usize) {
        (self.written.len(), self.unread.len())
    }

    /// Number of record sets.
    pub fn len(&self) -> usize {
        self.names.values().map(|slims| slims.len()).sum()
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Takes over what a provider answered to a question that was put at `began`. A name that we wrote after that, or less
    /// than `settle` before it, keeps what we wrote, and one that was read by itself so lately what was read: a stale listing
    /// never resurrects. Returns what changed; of the first
    /// listing nothing, since nothing was known before it.
    pub fn take(
        &mut self,
        listing: Listing,
        asked: Option<&BTreeSet<DnsName>>,
        began: Instant,
        settle: Duration,
    ) -> Changed {
        // Later listings begin later: what is too old for this one is too old for them. A targeted read says nothing of how far a
        // listing lags.
        if !matches!(listing, Listing::Names(_)) {
            self.written.retain(|_, at| *at + settle >= began);
        }
        let mut changed = Changed::new();
        match listing {
            // A page says nothing of what the others hold: a listing is taken over as a whole ([`crate::listing::Pages`]).
            Listing::Unchanged | Listing::Page { .. } => {}
            Listing::Full { sets, token } => {
                self.token = token;
                let known = std::mem::replace(&mut self.complete, true);
                self.replace_all(sets, &mut changed);
                let written = &self.written;
                self.unread.retain(|name| written.contains_key(name));
                if !known {
                    changed.clear();
                }
            }
            Listing::Delta { steps, token } => {
                self.token = Some(token);
                for step in steps {
                    self.step(step, &mut changed);
                }
                // What came and went again is no change.
                changed.retain(|name, former| self.at(name) != *former);
            }
            Listing::Names(sets) => {
                let mut fresh: BTreeMap<DnsName, Vec<Slim>> =
                    asked.into_iter().flatten().map(|name| (name.clone(), Vec::new())).collect();
                for set in sets {
                    fresh.entry(set.key.name.clone()).or_default().push(Slim::new(set));
                }
                // A targeted read is asked after the writes that it is about, so it is newer than they are.
                for (name, slims) in fresh {
                    self.know(name.clone(), began);
                    self.replace(name.clone(), slims, &mut changed);
                    self.unread.remove(&name);
                }
            }
        }
        changed
    }

    /// A name was read by itself at `began`: a listing that lags shows what is older. One that does not lag and begins at the same
    /// moment counts.
    fn know(&mut self, name: DnsName, began: Instant) {
        let Some(before) = began.checked_sub(Duration::from_nanos(1)) else { return };
        let at = self.written.entry(name).or_insert(before);
        *at = (*at).max(before);
    }

    fn replace_all(&mut self, sets: Vec<RecordSet>, changed: &mut Changed) {
        let mut fresh: BTreeMap<DnsName, Vec<Slim>> = BTreeMap::new();
        for set in sets {
            let name = set.key.name.clone();
            let slims = fresh.entry(name).or_default();
            slims.reserve_exact(1);
            slims.push(Slim::new(set));
        }
        for name in self.written.keys() {
            let kept = self.names.get(name).map(|kept| kept.to_vec());
            let listed = match &kept {
                Some(kept) => fresh.insert(name.clone(), kept.clone()),
                None => fresh.remove(name),
            };
            // The listing is passed over here, so what changes since it are not all that is not known: the next one shows the rest.
            if listed.map(sorted) != kept.map(sorted) {
                self.token = None;
            }
        }
        let former: Vec<DnsName> = self.names.keys().filter(|name| !fresh.contains_key(*name)).cloned().collect();
        for (name, slims) in fresh {
            self.replace(name, slims, changed);
        }
        for name in former {
            self.replace(name, Vec::new(), changed);
        }
    }

    /// Sets what stands at a name; notes what stood there before, if this is news.
    fn replace(&mut self, name: DnsName, slims: Vec<Slim>, changed: &mut Changed) {
        let slims = sorted(slims);
        if self.slims(&name) == slims.as_slice() {
            return;
        }
        let former = self.at(&name);
        // A claim is written with the options of its record, and a provider may keep none with texts: that is no change by others.
        let now: Vec<RecordSet> = slims.iter().map(|slim| slim.at(&name)).collect();
        let is_news = self.is_read(&name) || plain(&former) != plain(&now);
        if slims.is_empty() {
            self.names.remove(&name);
        } else {
            self.names.insert(name.clone(), slims.into_boxed_slice());
        }
        if is_news {
            changed.entry(name).or_insert(former);
        }
    }

    /// One step of a zone's history. Our own writes come back in it too: they change nothing.
    fn step(&mut self, step: Delta, changed: &mut Changed) {
        let mut touched: BTreeMap<DnsName, Vec<RecordSet>> = BTreeMap::new();
        for record in step.removed.iter().chain(&step.added) {
            touched.entry(record.name.clone()).or_insert_with(|| self.at(&record.name));
        }
        for record in step.removed {
            if let Some(sets) = touched.get_mut(&record.name) {
                remove(sets, &record);
            }
        }
        for record in step.added {
            if let Some(sets) = touched.get_mut(&record.name) {
                add(sets, record);
            }
        }
        for (name, sets) in touched {
            self.replace(name.clone(), sets.into_iter().map(Slim::new).collect(), changed);
            // The zone's history tells of our write too; what it tells of a name that was written after it began may be older.
            if !self.written.contains_key(&name) {
                self.unread.remove(&name);
            }
        }
    }

    /// Writes a group through that the provider confirmed. `fill` completes a set that left its TTL to the provider.
    pub fn write(&mut self, group: &Group, at: Instant, fill: impl Fn(&RecordSet) -> RecordSet) {
        for change in group.changes() {
            let name = change.key().name.clone();
            let mut slims: Vec<Slim> =
                self.slims(&name).iter().filter(|slim| !slim.is(change.key())).cloned().collect();
            slims.extend(change.to().map(|to| Slim::new(fill(to))));
            self.replace(name.clone(), slims, &mut Changed::new());
            self.written.insert(name, at);
        }
        let claims = group.steps.iter().filter(|step| step.role == Role::Claim);
        self.unread.extend(claims.map(|step| step.change.key().name.clone()));
    }
}

/// Sets, of which texts have no options.
fn plain(sets: &[RecordSet]) -> Vec<RecordSet> {
    let one = |set: &RecordSet| match set.key.rtype {
        RecordType::Txt => RecordSet { options: Options::default(), ..set.clone() },
        _ => set.clone(),
    };
    sets.iter().map(one).collect()
}

/// In the order of their keys.
fn sorted(mut slims: Vec<Slim>) -> Vec<Slim> {
    slims.sort_by(|a, b| (a.rtype, a.set_id()).cmp(&(b.rtype, b.set_id())));
    slims
}

fn key_of(record: &Record) -> RecordKey {
    RecordKey::simple(record.name.clone(), record.data.rtype())
}

fn records(set: &RecordSet) -> Vec<RData> {
    set.data.as_records().to_vec()
}

fn remove(sets: &mut Vec<RecordSet>, record: &Record) {
    let key = key_of(record);
    let Some(at) = sets.iter().position(|set| set.key == key) else { return };
    let left: Vec<RData> = records(&sets[at]).into_iter().filter(|data| *data != record.data).collect();
    if left.is_empty() {
        sets.remove(at);
    } else {
        sets[at].data = RecordData::records(left);
    }
}

fn add(sets: &mut Vec<RecordSet>, record: Record) {
    let key = key_of(&record);
    match sets.iter_mut().find(|set| set.key == key) {
        Some(set) => {
            set.data = RecordData::records(records(set).into_iter().chain([record.data]));
            set.ttl = Some(record.ttl);
        }
        None => sets.push(RecordSet::simple(record.name, key.rtype, Some(record.ttl), [record.data])),
    }
}

#[cfg(test)]
mod tests;
