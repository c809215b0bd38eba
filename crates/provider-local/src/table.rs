//! The zones and what they hold.
//!
//! In: record sets that passed [`crate::rules`]. Out: sets by name and by tree, and the history of each zone. What must
//! hold: a change is staged as a whole, then either committed (serial, journal) or reverted; readers see nothing between.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use zonewright_core::change::{Change, Group};
use zonewright_core::error::{Error, ErrorKind};
use zonewright_core::provider::{Delta, Record};
use zonewright_core::{DnsName, RecordKey, RecordSet, RecordType, Ttl};

use crate::journal::Journal;
use crate::rules;
use crate::soa::Soa;

/// All record sets of one name.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    /// The name.
    pub(crate) name: DnsName,
    /// Its sets; never empty.
    pub(crate) sets: BTreeMap<RecordType, RecordSet>,
}

/// One zone.
#[derive(Debug)]
pub(crate) struct ZoneTable {
    /// The apex.
    pub(crate) apex: DnsName,
    /// Start of authority; its serial rises with each change.
    pub(crate) soa: Soa,
    /// What changed since the zone was loaded.
    pub(crate) journal: Journal,
    nodes: BTreeMap<Vec<u8>, Node>,
}

/// What a staged change replaced, newest last.
#[derive(Debug, Default)]
#[must_use = "a staged change is committed or reverted"]
pub(crate) struct Staged {
    undo: Vec<(RecordKey, Option<RecordSet>)>,
}

impl ZoneTable {
    /// An empty zone.
    pub(crate) fn new(apex: DnsName, soa: Soa, journal: Journal) -> Self {
        Self { apex, soa, journal, nodes: BTreeMap::new() }
    }

    /// The node of exactly this name.
    pub(crate) fn node(&self, name: &DnsName) -> Option<&Node> {
        self.nodes.get(&tree_key(name))
    }

    /// The set of this key.
    pub(crate) fn find(&self, key: &RecordKey) -> Option<&RecordSet> {
        self.node(&key.name)?.sets.get(&key.rtype).filter(|set| set.key == *key)
    }

    /// Whether the name has records or is above one that has (an empty non-terminal, RFC 4592 2.2.2).
    pub(crate) fn exists(&self, name: &DnsName) -> bool {
        let key = tree_key(name);
        self.nodes.range(key.clone()..).next().is_some_and(|(found, _)| found.starts_with(&key))
    }

    /// A name strictly below this one that has records.
    pub(crate) fn below(&self, name: &DnsName) -> Option<&DnsName> {
        let key = tree_key(name);
        let mut from_here = self.nodes.range(key.clone()..).filter(|(found, _)| found.len() > key.len());
        from_here.next().filter(|(found, _)| found.starts_with(&key)).map(|(_, node)| &node.name)
    }

    /// All sets but the SOA, in tree order.
    pub(crate) fn sets(&self) -> impl Iterator<Item = &RecordSet> {
        self.nodes.values().flat_map(|node| node.sets.values())
    }

    /// Puts a set in place without asking or remembering; for loading.
    pub(crate) fn load(&mut self, set: RecordSet) {
        self.swap(&set.key.clone(), Some(set));
    }

    /// Carries all groups out in memory, or none: then the answer says, for each group, whether and why it is to blame.
    pub(crate) fn stage(&mut self, groups: &[Group]) -> Result<Staged, Vec<Option<Error>>> {
        let verdicts: Vec<Option<Error>> = rules::judge(self, groups);
        if verdicts.iter().any(Option::is_some) {
            return Err(verdicts);
        }
        let mut staged = Staged::default();
        for (at, group) in groups.iter().enumerate() {
            if let Err(error) = self.carry_out(group, &mut staged) {
                self.undo(staged);
                return Err((0..groups.len()).map(|i| (i == at).then(|| error.clone())).collect());
            }
        }
        self.soa.bump(&staged.undo);
        Ok(staged)
    }

    fn carry_out(&mut self, group: &Group, staged: &mut Staged) -> Result<(), Error> {
        for change in group.changes() {
            self.put(change.key(), change.to().cloned(), staged);
        }
        group.changes().try_for_each(|change| self.check_after(change))
    }

    fn check_after(&self, change: &Change) -> Result<(), Error> {
        rules::check_name(self, &change.key().name)
            .map_err(|problem| Error::new(ErrorKind::Invalid, "apply", format!("{}: {problem}", change.key())))
    }

    /// Stages one set, or the absence of one, from outside.
    pub(crate) fn stage_foreign(&mut self, key: &RecordKey, set: Option<RecordSet>) -> Result<Staged, String> {
        let mut staged = Staged::default();
        self.put(key, set, &mut staged);
        match rules::check_name(self, &key.name) {
            Ok(()) => {
                self.soa.bump(&staged.undo);
                Ok(staged)
            }
            Err(problem) => {
                self.undo(staged);
                Err(format!("{key}: {problem}"))
            }
        }
    }

    /// Makes a staged change part of the zone's history.
    pub(crate) fn commit(&mut self, staged: &Staged) {
        let delta = self.delta(staged);
        self.journal.push(delta);
    }

    /// Takes a staged change back.
    pub(crate) fn revert(&mut self, staged: Staged) {
        self.soa.unbump(&staged.undo);
        self.undo(staged);
    }

    fn undo(&mut self, staged: Staged) {
        for (key, old) in staged.undo.into_iter().rev() {
            self.swap(&key, old);
        }
    }

    fn put(&mut self, key: &RecordKey, set: Option<RecordSet>, staged: &mut Staged) {
        let set = set.map(|set| RecordSet { ttl: set.ttl.or(Some(rules::default_ttl())), ..set });
        let old = self.swap(key, set);
        staged.undo.push((key.clone(), old));
    }

    /// Puts a set in place or takes it out; gives the old one.
    fn swap(&mut self, key: &RecordKey, set: Option<RecordSet>) -> Option<RecordSet> {
        match (self.nodes.entry(tree_key(&key.name)), set) {
            (Entry::Occupied(mut node), Some(set)) => node.get_mut().sets.insert(key.rtype, set),
            (Entry::Occupied(mut node), None) => {
                let old = node.get_mut().sets.remove(&key.rtype);
                if node.get().sets.is_empty() {
                    node.remove();
                }
                old
            }
            (Entry::Vacant(free), Some(set)) => {
                free.insert(Node { name: key.name.clone(), sets: BTreeMap::from([(key.rtype, set)]) });
                None
            }
            (Entry::Vacant(_), None) => None,
        }
    }

    fn delta(&self, staged: &Staged) -> Delta {
        let mut delta = Delta::default();
        for (key, old) in &staged.undo {
            let (old, new) = (records(old.as_ref()), records(self.find(key)));
            delta.removed.extend(old.iter().filter(|record| !new.contains(record)).cloned());
            delta.added.extend(new.iter().filter(|record| !old.contains(record)).cloned());
        }
        delta
    }
}

/// The single records of a set.
fn records(set: Option<&RecordSet>) -> Vec<Record> {
    let Some(set) = set else { return Vec::new() };
    let ttl = set.ttl.unwrap_or(Ttl::MAX);
    let record = |data: &zonewright_core::RData| Record { name: set.key.name.clone(), ttl, data: data.clone() };
    set.data.as_records().iter().map(record).collect()
}

/// Labels from the root down, each behind its length: a name sorts directly before everything below it.
fn tree_key(name: &DnsName) -> Vec<u8> {
    let labels: Vec<Vec<u8>> = name.raw_labels().collect();
    let mut key = Vec::with_capacity(name.as_str().len() + 1);
    for label in labels.iter().rev() {
        key.push(u8::try_from(label.len()).expect("a label has at most 63 octets, checked when parsed"));
        key.extend_from_slice(label);
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{set, zone};
    use zonewright_core::change::Step;

    #[test]
    fn names_above_records_exist() {
        let zone = zone(&["a.b.c.example.test 60 A 192.0.2.1", "cc.example.test 60 A 192.0.2.1"]);
        for (name, exists, below) in [
            ("example.test", true, true),
            ("c.example.test", true, true),
            ("b.c.example.test", true, true),
            ("a.b.c.example.test", true, false),
            ("x.a.b.c.example.test", false, false),
            ("cc.example.test", true, false),
            ("d.example.test", false, false),
            ("b.example.test", false, false),
        ] {
            let name = DnsName::parse(name).unwrap();
            assert_eq!((zone.exists(&name), zone.below(&name).is_some()), (exists, below), "{name}");
        }
    }

    #[test]
    fn a_reverted_change_leaves_no_trace() {
        let mut zone = zone(&["a.example.test 60 A 192.0.2.1"]);
        let before: Vec<RecordSet> = zone.sets().cloned().collect();
        let serial = zone.soa.serial;
        let (old, new) = (set("a.example.test 60 A 192.0.2.1"), set("a.example.test 90 A 192.0.2.2"));
        let update = Group::of(Step::record(Change::Update { from: old, to: new }, None), vec![]);
        let create = Group::of(Step::record(Change::Create { to: set("b.example.test 60 A 192.0.2.1") }, None), vec![]);
        let staged = zone.stage(&[update, create]).unwrap();
        assert_ne!(zone.sets().cloned().collect::<Vec<_>>(), before);
        assert_eq!(zone.soa.serial, serial + 1);
        zone.revert(staged);
        assert_eq!(zone.sets().cloned().collect::<Vec<_>>(), before);
        assert_eq!(zone.soa.serial, serial);
    }
}
