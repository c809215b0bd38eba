//! A zone in memory, a registry over documents in memory, and short forms.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use zonewright_core::change::{Change, Group, Outcome, Step};
use zonewright_core::claim::{Ownership, judge};
use zonewright_core::documents::{Document, DocumentStore};
use zonewright_core::registry::{Contents, Dropped, Published, Registry};
use zonewright_core::testing::documents::MemoryDocuments;
use zonewright_core::zone::InstanceId;
use zonewright_core::{DnsName, Error, ErrorKind, RData, RecordKey, RecordSet, RecordType, Zone, ZoneKey};
use zonewright_registry::configmap::{ConfigMapConfig, ConfigMapRegistry};

/// `name TYPE data data`.
pub(crate) fn set(line: &str) -> RecordSet {
    let mut words = line.split(' ');
    let name = DnsName::parse(words.next().unwrap()).unwrap();
    let rtype: RecordType = words.next().unwrap().parse().unwrap();
    let data = words.map(|word| RData::parse(rtype, word).unwrap());
    RecordSet::simple(name, rtype, None, data)
}

/// The zone `org`, and what it holds.
pub(crate) struct Zones {
    pub(crate) zone: Zone,
    pub(crate) sets: BTreeMap<RecordKey, RecordSet>,
}

impl Zones {
    pub(crate) fn new(lines: &[&str]) -> Self {
        let zone = Zone::new(&InstanceId::from("sim"), "org", DnsName::parse("org").unwrap());
        let sets = lines.iter().map(|line| set(line)).map(|set| (set.key.clone(), set)).collect();
        Self { zone, sets }
    }

    pub(crate) fn put(&mut self, line: &str) {
        let set = set(line);
        self.sets.insert(set.key.clone(), set);
    }

    fn apply(&mut self, change: &Change) {
        match change.to() {
            Some(to) => drop(self.sets.insert(to.key.clone(), to.clone())),
            None => drop(self.sets.remove(change.key())),
        }
    }
}

impl Contents for Zones {
    fn find(&self, key: &RecordKey) -> Option<RecordSet> {
        self.sets.get(key).cloned()
    }

    fn each(&self, visit: &mut dyn FnMut(RecordSet)) {
        self.sets.values().cloned().for_each(visit);
    }
}

impl Published for Zones {
    fn find(&self, near: &ZoneKey, key: &RecordKey) -> Option<(ZoneKey, RecordSet)> {
        self.sets.get(key).map(|set| (near.clone(), set.clone()))
    }

    fn zones_at(&self, _: &DnsName) -> Vec<(Zone, bool)> {
        Vec::new()
    }
}

/// The registry of `me` over a store.
pub(crate) fn registry(store: &Arc<impl DocumentStore + 'static>, limit: usize) -> ConfigMapRegistry {
    let config = ConfigMapConfig::new("me", store.clone()).unwrap();
    ConfigMapRegistry::new(ConfigMapConfig { limit, ..config })
}

pub(crate) fn create(line: &str) -> Group {
    of(Change::Create { to: set(line) })
}

pub(crate) fn update(from: &str, to: &str) -> Group {
    of(Change::Update { from: set(from), to: set(to) })
}

pub(crate) fn delete(line: &str) -> Group {
    of(Change::Delete { from: set(line) })
}

fn of(change: Change) -> Group {
    Group::of(Step::record(change, Some("service/ns/web".into())), vec![])
}

/// Reads objects and zone, as the engine does at each audit.
pub(crate) async fn audit(registry: &dyn Registry, zones: &Zones) -> BTreeSet<DnsName> {
    registry.load().await.unwrap();
    registry.resync(&zones.zone, zones, true).await.unwrap().names
}

pub(crate) async fn prepare(
    registry: &dyn Registry,
    zones: &Zones,
    groups: Vec<Group>,
) -> Vec<Result<Group, (Group, Dropped)>> {
    registry.prepare(&zones.zone, groups).await
}

/// Announces groups; every one must go through.
pub(crate) async fn announce(registry: &dyn Registry, zones: &Zones, groups: Vec<Group>) -> Vec<Group> {
    prepare(registry, zones, groups).await.into_iter().map(Result::unwrap).collect()
}

/// Carries groups out; every one must go through.
pub(crate) async fn carry(registry: &dyn Registry, zones: &mut Zones, groups: Vec<Group>) {
    let ready = announce(registry, zones, groups).await;
    ready.iter().flat_map(Group::changes).for_each(|change| zones.apply(change));
    let outcomes: Vec<Outcome> = ready.iter().map(|_| Outcome::Applied).collect();
    registry.commit(&zones.zone, &ready, &outcomes).await.unwrap();
}

pub(crate) fn refusal() -> Outcome {
    Outcome::refused(Error::new(ErrorKind::Conflict, "apply", "not as expected"))
}

pub(crate) fn ownership(registry: &dyn Registry, zones: &Zones, line: &str) -> Ownership {
    judge(&registry.claims(&zones.zone, &set(line).key, zones), registry.owner())
}

pub(crate) fn is_ours(registry: &dyn Registry, zones: &Zones, line: &str) -> bool {
    ownership(registry, zones, line).is_ours()
}

/// The records of an object, as JSON.
pub(crate) fn records(store: &MemoryDocuments, name: &str) -> Vec<Value> {
    let document = store.document(name).unwrap_or_else(|| panic!("there is no object {name}"));
    serde_json::from_str(&document.text).unwrap()
}

/// The record of a name in an object.
pub(crate) fn record(store: &MemoryDocuments, name: &str) -> Option<Value> {
    records(store, "me-registry").into_iter().find(|record| record["dnsname"] == name)
}

/// Changes the text of an object by another hand.
pub(crate) fn edit(store: &MemoryDocuments, name: &str, change: impl FnOnce(String) -> String) {
    let document = store.document(name).unwrap();
    store.edit(name, Some(Document { text: change(document.text), ..document }));
}
