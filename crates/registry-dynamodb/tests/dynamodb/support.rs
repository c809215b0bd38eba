//! Short forms: a service with a table, registries over it, zones in memory, and groups carried out step by step.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use zonewright_core::change::{Change, Group, Outcome, Step};
use zonewright_core::claim::{Ownership, judge};
use zonewright_core::error::{Error, ErrorKind};
use zonewright_core::registry::{ClaimFormat as _, ClaimStore as _, Contents, Published};
use zonewright_core::zone::{InstanceId, ZoneKey};
use zonewright_core::{DnsName, RData, RecordKey, RecordSet, Ttl, Zone};
use zonewright_fakes::dynamodb::{DynamoDb, Item, Schema};
use zonewright_registry::txt::TxtConfig;
use zonewright_registry_dynamodb::{AccessKeys, DynamoConfig, DynamoRegistry};

pub(crate) const TABLE: &str = "claims";

/// A service with an empty table, and pages of few rows.
pub(crate) fn service() -> DynamoDb {
    let service = DynamoDb::start();
    service.create_table(TABLE, Schema::hash("k", "S"));
    service.set_page(100);
    service
}

pub(crate) fn config(service: &DynamoDb, owner: &str) -> DynamoConfig {
    DynamoConfig {
        table: TABLE.to_owned(),
        region: Some("eu-test-1".to_owned()),
        endpoint: Some(service.url()),
        keys: Some(AccessKeys { id: "id".to_owned(), secret: "secret".to_owned().into() }),
        ..DynamoConfig::new(TxtConfig::new(owner).unwrap())
    }
}

pub(crate) async fn registry(service: &DynamoDb, owner: &str) -> DynamoRegistry {
    DynamoRegistry::connect(config(service, owner)).await.unwrap()
}

/// A registry that has read the table.
pub(crate) async fn loaded(service: &DynamoDb, owner: &str) -> DynamoRegistry {
    let registry = registry(service, owner).await;
    registry.load().await.unwrap();
    registry
}

/// `name TYPE target target ...`; blanks in a target are written as `_`.
pub(crate) fn set(line: &str) -> RecordSet {
    let mut words = line.split(' ');
    let name = DnsName::parse(words.next().unwrap()).unwrap();
    let rtype = words.next().unwrap().parse().unwrap();
    let data = words.map(|word| RData::parse(rtype, &word.replace('_', " ")).unwrap());
    RecordSet::simple(name, rtype, Ttl::from_secs(300), data)
}

/// The TXT claim of an owner on a record.
pub(crate) fn txt_claim(name: &str, owner: &str) -> RecordSet {
    let text = format!("\"heritage=external-dns,external-dns/owner={owner},external-dns/resource=service/ns/old\"");
    set(&format!("{name} TXT {text}"))
}

pub(crate) const RESOURCE: &str = "service/ns/web";

pub(crate) fn group(change: Change) -> Group {
    Group::of(Step::record(change, Some(Arc::from(RESOURCE))), vec![])
}

pub(crate) fn create(line: &str) -> Group {
    group(Change::Create { to: set(line) })
}

pub(crate) fn update(from: &str, to: &str) -> Group {
    group(Change::Update { from: set(from), to: set(to) })
}

pub(crate) fn delete(line: &str) -> Group {
    group(Change::Delete { from: set(line) })
}

/// A row as external-dns writes it.
pub(crate) fn row(key: &str, owner: &str) -> Item {
    let item =
        json!({ "k": { "S": key }, "o": { "S": owner }, "l": { "M": { "resource": { "S": "service/ns/old" } } } });
    item.as_object().unwrap().clone()
}

/// Rows as `KEY OWNER label=value ..`.
pub(crate) fn shown(service: &DynamoDb) -> Vec<String> {
    let text = |value: &Value| value["S"].as_str().unwrap_or("?").to_owned();
    let line = |item: Item| {
        let labels = item["l"]["M"].as_object().unwrap().iter().map(|(key, value)| format!("{key}={}", text(value)));
        let words: Vec<String> = [text(&item["k"]), text(&item["o"])].into_iter().chain(labels).collect();
        words.join(" ")
    };
    service.items(TABLE).into_iter().map(line).collect()
}

/// Zones in memory.
#[derive(Debug, Clone)]
pub(crate) struct Zones(Vec<(Zone, BTreeMap<RecordKey, RecordSet>)>);

impl Zones {
    /// Zones by id; all are named `example`.
    pub(crate) fn new(ids: &[&str]) -> Self {
        let name = DnsName::parse("example").unwrap();
        let zone = |id: &&str| (Zone::new(&InstanceId::from("test"), id, name.clone()), BTreeMap::new());
        Self(ids.iter().map(zone).collect())
    }

    pub(crate) fn zone(&self, id: &str) -> Zone {
        self.0.iter().find(|(zone, _)| zone.key.zone.as_str() == id).unwrap().0.clone()
    }

    fn sets(&mut self, id: &str) -> &mut BTreeMap<RecordKey, RecordSet> {
        &mut self.0.iter_mut().find(|(zone, _)| zone.key.zone.as_str() == id).unwrap().1
    }

    pub(crate) fn put(&mut self, id: &str, set: RecordSet) {
        self.sets(id).insert(set.key.clone(), set);
    }

    pub(crate) fn take(&mut self, id: &str, line: &str) {
        self.sets(id).remove(&set(line).key);
    }

    pub(crate) fn all(&self, id: &str) -> Vec<String> {
        let (_, sets) = self.0.iter().find(|(zone, _)| zone.key.zone.as_str() == id).unwrap();
        sets.values().map(ToString::to_string).collect()
    }

    /// Carries out what a group changes.
    pub(crate) fn apply(&mut self, id: &str, group: &Group) {
        for change in group.changes() {
            match change.to() {
                Some(to) => self.put(id, to.clone()),
                None => drop(self.sets(id).remove(change.key())),
            }
        }
    }

    /// What one of them holds.
    pub(crate) fn contents(&self, id: &str) -> Held<'_> {
        Held(&self.0.iter().find(|(zone, _)| zone.key.zone.as_str() == id).unwrap().1)
    }

    /// Shows a zone to a registry, as the engine does after each reading.
    pub(crate) async fn read(&self, registry: &DynamoRegistry, id: &str) {
        registry.resync(&self.zone(id), &self.contents(id), true).await.unwrap();
    }

    /// Whose a record is.
    pub(crate) fn whose(&self, registry: &DynamoRegistry, id: &str, line: &str) -> Ownership {
        judge(&registry.claims(&self.zone(id), &set(line).key, self), registry.owner())
    }

    pub(crate) fn is_ours(&self, registry: &DynamoRegistry, id: &str, line: &str) -> bool {
        self.whose(registry, id, line).is_ours()
    }

    /// Decorates and prepares.
    pub(crate) async fn open(&self, registry: &DynamoRegistry, id: &str, group: Group) -> Result<Group, String> {
        let zone = self.zone(id);
        let decorated = registry.decorate(&zone, vec![group], self).pop().unwrap();
        let group = decorated.map_err(|(_, dropped)| dropped.reason)?;
        registry.prepare(&zone, vec![group]).await.pop().unwrap().map_err(|(_, dropped)| dropped.reason)
    }

    /// Decorates, prepares, applies, commits.
    pub(crate) async fn carry(&mut self, registry: &DynamoRegistry, id: &str, group: Group) -> Result<Group, String> {
        let group = self.open(registry, id, group).await?;
        self.apply(id, &group);
        registry.commit(&self.zone(id), std::slice::from_ref(&group), &[Outcome::Applied]).await.unwrap();
        Ok(group)
    }

    /// Prepares and commits a group that is decorated by nature (a claim that moves or changes hands).
    pub(crate) async fn hand_over(&mut self, registry: &DynamoRegistry, id: &str, group: Group) -> Result<(), String> {
        let prepared = registry.prepare(&self.zone(id), vec![group]).await.pop().unwrap();
        let group = prepared.map_err(|(_, dropped)| dropped.reason)?;
        if !group.changes_nothing() {
            self.apply(id, &group);
        }
        registry.commit(&self.zone(id), &[group], &[Outcome::Applied]).await.unwrap();
        Ok(())
    }
}

impl Published for Zones {
    fn find(&self, near: &ZoneKey, key: &RecordKey) -> Option<(ZoneKey, RecordSet)> {
        let (first, others): (Vec<_>, Vec<_>) = self.0.iter().partition(|(zone, _)| zone.key == *near);
        let mut in_order = first.into_iter().chain(others);
        in_order.find_map(|(zone, sets)| sets.get(key).map(|set| (zone.key.clone(), set.clone())))
    }

    fn zones_at(&self, name: &DnsName) -> Vec<(Zone, bool)> {
        let at = self.0.iter().filter(|(zone, _)| zone.name == *name);
        at.map(|(zone, _)| (zone.clone(), true)).collect()
    }
}

/// What one zone holds.
pub(crate) struct Held<'a>(&'a BTreeMap<RecordKey, RecordSet>);

impl Contents for Held<'_> {
    fn find(&self, key: &RecordKey) -> Option<RecordSet> {
        self.0.get(key).cloned()
    }

    fn each(&self, visit: &mut dyn FnMut(RecordSet)) {
        self.0.values().cloned().for_each(visit);
    }
}

pub(crate) fn refused() -> Outcome {
    Outcome::refused(Error::new(ErrorKind::Conflict, "apply", "refused for the test"))
}

pub(crate) fn unknown() -> Outcome {
    Outcome::Unknown(Error::new(ErrorKind::Timeout, "apply", "no answer, for the test"))
}

/// How often each operation was called since `before`.
pub(crate) fn since(service: &DynamoDb, before: &BTreeMap<String, usize>) -> BTreeMap<String, usize> {
    let former = |name: &String| before.get(name).copied().unwrap_or(0);
    let grown = service.calls().into_iter().map(|(name, count)| (name.clone(), count - former(&name)));
    grown.filter(|(_, count)| *count > 0).collect()
}
