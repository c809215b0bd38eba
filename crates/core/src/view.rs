//! What a zone holds, as far as we know: listed once, then kept current by our own writes and by audits.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use tokio::time::Instant;

use crate::change::Group;
use crate::name::DnsName;
use crate::provider::{Delta, Listing, Record, Token};
use crate::rdata::RData;
use crate::record::{RecordData, RecordKey, RecordSet};

/// The published records of one zone.
#[derive(Debug, Default)]
pub struct ZoneView {
    names: BTreeMap<DnsName, Vec<RecordSet>>,
    token: Option<Token>,
    written: HashMap<DnsName, Instant>,
    complete: bool,
}

impl ZoneView {
    /// Whether the zone has been listed once.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// The state that a delta can be asked since.
    pub fn token(&self) -> Option<&Token> {
        self.token.as_ref()
    }

    /// The record sets at a name.
    pub fn at(&self, name: &DnsName) -> &[RecordSet] {
        self.names.get(name).map_or(&[], Vec::as_slice)
    }

    /// One record set.
    pub fn find(&self, key: &RecordKey) -> Option<&RecordSet> {
        self.at(&key.name).iter().find(|set| set.key == *key)
    }

    /// Every name that holds something, in order.
    pub fn names(&self) -> impl Iterator<Item = &DnsName> {
        self.names.keys()
    }

    /// Every record set, in the order of the names.
    pub fn sets(&self) -> impl Iterator<Item = &RecordSet> {
        self.names.values().flatten()
    }

    /// Number of record sets.
    pub fn len(&self) -> usize {
        self.names.values().map(Vec::len).sum()
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Takes over what a provider answered to a question that was put at `began`. A name that we wrote after that, or less
    /// than `settle` before it, keeps what we wrote: a stale listing never resurrects. Returns the names whose content
    /// changed.
    pub fn take(
        &mut self,
        listing: Listing,
        asked: Option<&BTreeSet<DnsName>>,
        began: Instant,
        settle: Duration,
    ) -> BTreeSet<DnsName> {
        let keep: BTreeSet<DnsName> =
            self.written.iter().filter(|(_, at)| **at + settle >= began).map(|(name, _)| name.clone()).collect();
        match listing {
            Listing::Unchanged => BTreeSet::new(),
            Listing::Full { sets, token } => {
                self.written.retain(|name, _| keep.contains(name));
                self.token = token;
                self.complete = true;
                self.replace_all(sets, &keep)
            }
            Listing::Delta { steps, token } => {
                self.token = Some(token);
                steps.into_iter().flat_map(|step| self.step(step)).collect()
            }
            Listing::Names(sets) => {
                let mut fresh: BTreeMap<DnsName, Vec<RecordSet>> =
                    asked.into_iter().flatten().map(|name| (name.clone(), Vec::new())).collect();
                for set in sets {
                    fresh.entry(set.key.name.clone()).or_default().push(set);
                }
                // A targeted read is asked after the writes that it is about, so it is newer than they are.
                fresh.into_iter().filter_map(|(name, sets)| self.replace(name, sets)).collect()
            }
        }
    }

    fn replace_all(&mut self, sets: Vec<RecordSet>, keep: &BTreeSet<DnsName>) -> BTreeSet<DnsName> {
        let mut fresh: BTreeMap<DnsName, Vec<RecordSet>> = BTreeMap::new();
        for set in sets {
            fresh.entry(set.key.name.clone()).or_default().push(set);
        }
        for name in keep {
            match self.names.get(name) {
                Some(kept) => fresh.insert(name.clone(), kept.clone()),
                None => fresh.remove(name),
            };
        }
        let former: Vec<DnsName> = self.names.keys().filter(|name| !fresh.contains_key(*name)).cloned().collect();
        let mut changed: BTreeSet<DnsName> =
            fresh.into_iter().filter_map(|(name, sets)| self.replace(name, sets)).collect();
        changed.extend(former.into_iter().filter_map(|name| self.replace(name, Vec::new())));
        changed
    }

    /// Sets what stands at a name; returns the name if that is news.
    fn replace(&mut self, name: DnsName, mut sets: Vec<RecordSet>) -> Option<DnsName> {
        sets.sort_by(|a, b| a.key.cmp(&b.key));
        // Most names hold one set, and a vector that grew by itself has room for four.
        sets.shrink_to_fit();
        if self.at(&name) == sets.as_slice() {
            return None;
        }
        if sets.is_empty() {
            self.names.remove(&name);
        } else {
            self.names.insert(name.clone(), sets);
        }
        Some(name)
    }

    /// One step of a zone's history. Our own writes come back in it too: they change nothing.
    fn step(&mut self, step: Delta) -> BTreeSet<DnsName> {
        let mut touched: BTreeMap<DnsName, Vec<RecordSet>> = BTreeMap::new();
        for record in &step.removed {
            touched.entry(record.name.clone()).or_insert_with(|| self.at(&record.name).to_vec());
        }
        for record in &step.added {
            touched.entry(record.name.clone()).or_insert_with(|| self.at(&record.name).to_vec());
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
        touched.into_iter().filter_map(|(name, sets)| self.replace(name, sets)).collect()
    }

    /// Writes a group through that the provider confirmed. `fill` completes a set that left its TTL to the provider.
    pub fn write(&mut self, group: &Group, at: Instant, fill: impl Fn(&RecordSet) -> RecordSet) {
        for change in group.changes() {
            let name = change.key().name.clone();
            let mut sets = self.at(&name).to_vec();
            sets.retain(|set| set.key != *change.key());
            if let Some(to) = change.to() {
                sets.push(fill(to));
            }
            self.replace(name.clone(), sets);
            self.written.insert(name, at);
        }
    }
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
mod tests {
    use super::*;
    use crate::change::{Change, Step};
    use crate::testing::{name, set};

    fn full(lines: &[&str]) -> Listing {
        Listing::Full { sets: lines.iter().map(|l| set(l)).collect(), token: Some(Token("1".to_owned())) }
    }

    fn shown(view: &ZoneView) -> Vec<String> {
        view.sets().map(ToString::to_string).collect()
    }

    fn record(line: &str) -> Record {
        let set = set(line);
        Record { name: set.key.name, ttl: set.ttl.unwrap(), data: set.data.as_records()[0].clone() }
    }

    const NONE: Duration = Duration::ZERO;

    #[tokio::test(start_paused = true)]
    async fn a_listing_that_began_before_a_write_does_not_undo_it() {
        let mut view = ZoneView::default();
        view.take(full(&["a.example A ttl=1 192.0.2.1", "b.example A ttl=1 192.0.2.2"]), None, Instant::now(), NONE);
        let began = Instant::now();
        tokio::time::advance(Duration::from_secs(1)).await;
        let change = Change::Delete { from: set("a.example A ttl=1 192.0.2.1") };
        view.write(&Group::of(Step::record(change, None), vec![]), Instant::now(), Clone::clone);
        let stale = || full(&["a.example A ttl=1 192.0.2.1", "b.example A ttl=1 192.0.2.7"]);
        let changed = view.take(stale(), None, began, NONE);
        assert_eq!(changed, BTreeSet::from([name("b.example")]));
        assert_eq!(shown(&view), ["b.example 1 A 192.0.2.7"]);
        tokio::time::advance(Duration::from_secs(1)).await;
        view.take(stale(), None, Instant::now(), Duration::from_secs(5));
        assert_eq!(shown(&view).len(), 1, "within the time in which reads may lag behind writes");
        tokio::time::advance(Duration::from_secs(9)).await;
        view.take(stale(), None, Instant::now(), Duration::from_secs(5));
        assert_eq!(shown(&view).len(), 2, "later the listing is right");
    }

    #[tokio::test(start_paused = true)]
    async fn deltas_apply_in_order_and_own_writes_are_no_news() {
        let mut view = ZoneView::default();
        view.take(full(&["a.example A ttl=1 192.0.2.1 192.0.2.2"]), None, Instant::now(), NONE);
        let delta = Listing::Delta {
            steps: vec![
                Delta {
                    removed: vec![record("a.example A ttl=1 192.0.2.1")],
                    added: vec![record("c.example A ttl=1 192.0.2.3")],
                },
                Delta { removed: vec![record("c.example A ttl=1 192.0.2.3")], added: vec![] },
            ],
            token: Token("3".to_owned()),
        };
        let changed = view.take(delta.clone(), None, Instant::now(), NONE);
        assert_eq!(changed, BTreeSet::from([name("a.example"), name("c.example")]));
        assert_eq!(shown(&view), ["a.example 1 A 192.0.2.2"]);
        assert_eq!(view.token(), Some(&Token("3".to_owned())));
    }

    #[tokio::test(start_paused = true)]
    async fn a_targeted_read_empties_names_that_hold_nothing() {
        let mut view = ZoneView::default();
        view.take(full(&["a.example A ttl=1 192.0.2.1"]), None, Instant::now(), NONE);
        let asked = BTreeSet::from([name("a.example")]);
        let changed = view.take(Listing::Names(vec![]), Some(&asked), Instant::now(), NONE);
        assert_eq!(changed, asked);
        assert!(view.is_empty());
    }
}
