//! What a zone holds, as far as we know: listed once, then kept current by our own writes and by audits.
//!
//! Most sets of a zone are one record without options, so each is kept in little more than its data, and put together again
//! when it is asked for.

mod slim;
mod step;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use crate::change::{Group, Role};
use crate::name::DnsName;
use crate::options::Options;
use crate::provider::{Delta, Listing, Token};
use crate::record::{RecordKey, RecordSet};
use crate::rtype::RecordType;

use slim::{Slim, Slims};
use step::{add, remove};

/// The published records of one zone.
#[derive(Debug, Default)]
pub struct ZoneView {
    names: BTreeMap<DnsName, Slims>,
    token: Option<Token>,
    /// Names that we wrote, or that were read by themselves, and when: a listing that lags shows them as they were before.
    written: HashMap<DnsName, Instant>,
    /// Names where we wrote claims and have not read since.
    unread: HashSet<DnsName>,
    complete: bool,
    /// How many record sets there are of each type.
    types: BTreeMap<RecordType, usize>,
    /// Names that changed since [`ZoneView::take_touched`].
    touched: Touched,
    /// How many names were gone through in walks over all of them.
    walked: AtomicU64,
    /// How many names there were when they were last laid out anew.
    laid_out: usize,
}

/// Names whose content changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Touched {
    /// These names alone.
    Names(HashSet<DnsName>),
    /// So many that they are not listed.
    All,
}

impl Default for Touched {
    /// None.
    fn default() -> Self {
        Self::Names(HashSet::new())
    }
}

/// More names that changed are not listed one by one.
const MOST_TOUCHED: usize = 10_000;

/// The names whose content changed, each with what stood there before.
pub type Changed = BTreeMap<DnsName, Vec<RecordSet>>;

impl ZoneView {
    /// Whether the zone has been listed once.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// The state that a delta can be asked since; `None` where only a listing of everything shows what stands.
    pub fn token(&self) -> Option<&Token> {
        self.token.as_ref()
    }

    fn slims(&self, name: &DnsName) -> &[Slim] {
        self.names.get(name).map_or(&[], Slims::as_slice)
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
        self.note_walk();
        self.names.keys()
    }

    /// Number of record sets of each type.
    pub fn types(&self) -> &BTreeMap<RecordType, usize> {
        &self.types
    }

    /// The names whose content changed since this was last asked.
    pub fn take_touched(&mut self) -> Touched {
        std::mem::take(&mut self.touched)
    }

    /// Whether [`ZoneView::take_touched`] has any.
    pub fn is_touched(&self) -> bool {
        self.touched != Touched::default()
    }

    /// How many names were gone through in walks over all of them so far: nothing that is asked at rest may need one.
    pub fn walked(&self) -> u64 {
        self.walked.load(Ordering::Relaxed)
    }

    fn note_walk(&self) {
        self.walked.fetch_add(self.names.len() as u64, Ordering::Relaxed);
    }

    /// Every record set, in the order of the names.
    pub fn sets(&self) -> impl Iterator<Item = RecordSet> {
        self.sets_of(|_| true)
    }

    /// Every record set of certain types, in the order of the names.
    pub fn sets_of(&self, wanted: impl Fn(RecordType) -> bool) -> impl Iterator<Item = RecordSet> {
        self.note_walk();
        let all = self.names.iter().flat_map(|(name, slims)| slims.as_slice().iter().map(move |slim| (name, slim)));
        all.filter(move |(_, slim)| wanted(slim.rtype())).map(|(name, slim)| slim.at(name))
    }

    /// The record sets at the next `most` names after one, and the last of these names: for walks that do not keep the view to
    /// themselves. `None` when there are no more.
    pub fn after(&self, name: Option<&DnsName>, most: usize) -> Option<(Vec<RecordSet>, DnsName)> {
        let from = name.map_or(Unbounded, Excluded);
        let part: Vec<(&DnsName, &Slims)> = self.names.range::<DnsName, _>((from, Unbounded)).take(most).collect();
        self.walked.fetch_add(part.len() as u64, Ordering::Relaxed);
        let (last, _) = part.last()?;
        let sets = part.iter().flat_map(|(name, slims)| slims.as_slice().iter().map(|slim| slim.at(name)));
        Some((sets.collect(), (*last).clone()))
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
        self.types.values().sum()
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
        if !matches!(listing, Listing::Names(_)) && !self.written.is_empty() {
            self.written.retain(|_, at| *at + settle >= began);
            self.written.shrink_to(2 * self.written.len());
            self.compact();
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
                self.unread.shrink_to(2 * self.unread.len());
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

    fn replace_all(&mut self, mut sets: Vec<RecordSet>, changed: &mut Changed) {
        // Gone through in the order of the names, so that no second table of everything is needed.
        if !sets.is_sorted_by(|a, b| a.key.name <= b.key.name) {
            sets.sort_by(|a, b| a.key.name.cmp(&b.key.name));
        }
        // The listing is passed over where we wrote, so what changes since it are not all that is not known: the next one shows the rest.
        if self.written.keys().any(|name| sorted(listed(&sets, name)) != self.slims(name)) {
            self.token = None;
        }
        let missing = self.missing(&sets);
        let mut sets = sets.into_iter().peekable();
        while let Some(set) = sets.next() {
            let name = set.key.name.clone();
            let mut slims = vec![Slim::new(set)];
            slims.extend(std::iter::from_fn(|| sets.next_if(|next| next.key.name == name)).map(Slim::new));
            if !self.written.contains_key(&name) {
                self.replace(name, slims, changed);
            }
        }
        for name in missing {
            self.replace(name, Vec::new(), changed);
        }
        self.compact();
    }

    /// The names that hold something and are not among the sets, which are in the order of their names; none of those that we wrote.
    fn missing(&self, sets: &[RecordSet]) -> Vec<DnsName> {
        let mut listed = sets.iter().map(|set| &set.key.name).peekable();
        let is_missing = |name: &&DnsName| {
            while listed.next_if(|listed| *listed < *name).is_some() {}
            listed.peek() != Some(name) && !self.written.contains_key(*name)
        };
        self.names.keys().filter(is_missing).cloned().collect()
    }

    /// Lays the names out anew once they have grown or shrunk by a quarter: what is put in one after the other leaves much room between.
    fn compact(&mut self) {
        let names = self.names.len();
        if names.abs_diff(self.laid_out) > self.laid_out / 4 {
            self.laid_out = names;
            self.names = std::mem::take(&mut self.names).into_iter().collect();
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
        for set in &former {
            self.count(set.key.rtype, false);
        }
        for set in &now {
            self.count(set.key.rtype, true);
        }
        self.touch(&name);
        if slims.is_empty() {
            self.names.remove(&name);
        } else {
            self.names.insert(name.clone(), Slims::from(slims));
        }
        if is_news {
            changed.entry(name).or_insert(former);
        }
    }

    fn count(&mut self, rtype: RecordType, here: bool) {
        let count = self.types.entry(rtype).or_default();
        *count = if here { *count + 1 } else { count.saturating_sub(1) };
        if *count == 0 {
            self.types.remove(&rtype);
        }
    }

    fn touch(&mut self, name: &DnsName) {
        let Touched::Names(names) = &mut self.touched else { return };
        names.insert(name.clone());
        if names.len() > MOST_TOUCHED {
            self.touched = Touched::All;
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
            // The zone's history shows our write too; what it shows of a name that was written after it began may be older.
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
    slims.sort_by(|a, b| (a.rtype(), a.set_id()).cmp(&(b.rtype(), b.set_id())));
    slims
}

/// What sets in the order of their names say of one name.
fn listed(sets: &[RecordSet], name: &DnsName) -> Vec<Slim> {
    let first = sets.partition_point(|set| set.key.name < *name);
    let here = sets.iter().skip(first).take_while(|set| set.key.name == *name);
    here.cloned().map(Slim::new).collect()
}

#[cfg(test)]
mod tests;
