//! The model of external-dns: it lists, plans from the list, and writes, each at a time of its own.
//!
//! In: what it is asked for, and the zones. Out: changes by which it takes what is free or its own, with its claims. A blunt
//! one sends single records without looking at what stands, as it does with RFC 2136.

use std::collections::BTreeMap;

use zonewright_core::{RData, RecordKey, RecordSet, RecordType};

use crate::names::{MANAGED, Saying, Sets, saying, set, text};
use crate::truth::{Author, Truth, with, without};

/// One external-dns.
#[derive(Debug)]
pub(crate) struct Peer {
    owner: &'static str,
    blunt: bool,
    requests: BTreeMap<RecordKey, RData>,
    seen: Vec<Sets>,
}

impl Peer {
    pub(crate) fn new(owner: &'static str, blunt: bool) -> Self {
        Self { owner, blunt, requests: BTreeMap::new(), seen: Vec::new() }
    }

    pub(crate) fn request(&mut self, key: &RecordKey, data: Option<RData>) {
        match data {
            Some(data) => self.requests.insert(key.clone(), data),
            None => self.requests.remove(key),
        };
    }

    pub(crate) fn list(&mut self, truth: &Truth) {
        self.seen = truth.zones.iter().map(|content| content.sets.clone()).collect();
    }

    fn claim(&self, place: &RecordKey) -> RecordSet {
        text(
            place,
            &format!("\"heritage=external-dns,external-dns/owner={},external-dns/resource=service/ns/p\"", self.owner),
        )
    }

    fn owns(&self, sets: &Sets, place: &RecordKey) -> bool {
        let ours = |data: &RData| matches!(saying(data), Saying::Claim { owner, .. } if owner == self.owner);
        sets.get(place).is_some_and(|set| set.data.as_records().iter().any(ours))
    }

    /// Writes what follows from the last list.
    pub(crate) fn apply(&mut self, truth: &mut Truth) {
        for zone in 0..self.seen.len() {
            let seen = std::mem::take(&mut self.seen[zone]);
            for (old, new) in self.plan(truth, zone, &seen) {
                self.send(truth, zone, &old, &new);
            }
        }
        self.seen.clear();
    }

    /// Record sets that go, and those that come: a record with its claim.
    fn plan(&self, truth: &Truth, zone: usize, seen: &Sets) -> Vec<(Vec<RecordSet>, Vec<RecordSet>)> {
        let apex = truth.zones[zone].zone.name.clone();
        let mut plan = Vec::new();
        for (key, data) in self.requests.iter().filter(|(key, _)| key.name != apex) {
            let Some((place, _)) = truth.all_places(key, &apex).into_iter().next() else { continue };
            if truth.zone_of(0, &key.name) != zone {
                continue;
            }
            let wanted = set(key, [data.clone()]);
            let at_name: Vec<&RecordSet> = seen
                .values()
                .filter(|set| truth.rows().same(&set.key, key) && MANAGED.contains(&set.key.rtype))
                .collect();
            match seen.get(key) {
                Some(stands) if self.owns(seen, &place) && stands.data != wanted.data => {
                    plan.push((vec![stands.clone()], vec![wanted]));
                }
                None if at_name.is_empty() => plan.push((Vec::new(), vec![wanted, self.claim(&place)])),
                _ => {}
            }
        }
        for stands in
            seen.values().filter(|set| MANAGED.contains(&set.key.rtype) && !self.requests.contains_key(&set.key))
        {
            let Some((place, _)) = truth.all_places(&stands.key, &apex).into_iter().next() else { continue };
            if self.owns(seen, &place) {
                plan.push((vec![stands.clone(), self.claim(&place)], Vec::new()));
            }
        }
        plan
    }

    fn send(&self, truth: &mut Truth, zone: usize, old: &[RecordSet], new: &[RecordSet]) {
        let sets = &truth.zones[zone].sets;
        let mut changes: BTreeMap<RecordKey, Option<RecordSet>> = BTreeMap::new();
        for set in old {
            let stands = sets.get(&set.key);
            let exact = stands.is_some_and(|stands| stands.data.contains(&set.data));
            if !exact && !self.blunt {
                return;
            }
            changes.insert(set.key.clone(), stands.and_then(|stands| without(stands, set)));
        }
        for set in new {
            let stands = changes.get(&set.key).cloned().unwrap_or_else(|| sets.get(&set.key).cloned());
            if stands.is_some() && !self.blunt && old.is_empty() {
                return;
            }
            let one = set.key.rtype == RecordType::Cname;
            let to = if self.blunt && !one { with(stands.as_ref(), set) } else { set.clone() };
            changes.insert(set.key.clone(), Some(to));
        }
        // A server that keeps to the rules ignores a CNAME beside data, and data beside a CNAME.
        let mut after = sets.clone();
        for (key, to) in &changes {
            match to {
                Some(set) => after.insert(key.clone(), set.clone()),
                None => after.remove(key),
            };
        }
        let comes = changes.iter().filter(|(_, to)| to.is_some());
        let crowded = comes.into_iter().any(|(key, _)| truth.rows().hindered(&after, key, true).is_some());
        let changes: Vec<(RecordKey, Option<RecordSet>)> =
            changes.into_iter().filter(|(key, to)| sets.get(key) != to.as_ref()).collect();
        if !crowded && !changes.is_empty() {
            truth.foreign(Author::Peer, zone, &changes);
            for (key, to) in &changes {
                truth.tell(|| format!("peer writes: {}", to.as_ref().map_or(format!("- {key}"), ToString::to_string)));
            }
        }
    }
}
