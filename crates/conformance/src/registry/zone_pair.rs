//! The zones of one provider instance, in memory, with a registry at work on them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use zonewright_core::change::{Change, Group, Outcome, Precondition, Step};
use zonewright_core::claim::{Ownership, judge};
use zonewright_core::error::{Error, ErrorKind};
use zonewright_core::registry::{Contents, Published, Registry, StaleClaims};
use zonewright_core::zone::{InstanceId, ZoneKey};
use zonewright_core::{DnsName, RecordKey, RecordSet, RecordType, Ttl, Zone};

use crate::provider::specimen;

/// What a zone holds.
type Sets = BTreeMap<RecordKey, RecordSet>;

/// Why a group was not carried out.
#[derive(Debug)]
pub(crate) enum Stopped {
    /// The registry dropped it, for this reason.
    Dropped(String),
    /// A precondition did not hold: this one.
    Refused(String),
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dropped(reason) => write!(f, "dropped: {reason}"),
            Self::Refused(condition) => write!(f, "refused: {condition}"),
        }
    }
}

/// Two zones, one inside the other, and what they hold.
#[derive(Debug, Clone)]
pub(crate) struct ZonePair {
    zones: Vec<(Zone, Sets)>,
}

impl ZonePair {
    /// `example.test` and `sub.example.test`, both empty.
    pub(crate) fn new() -> Self {
        let instance = InstanceId::from("conformance");
        let zone = |name: &str| (Zone::new(&instance, name, parse(name)), Sets::new());
        Self { zones: vec![zone("sub.example.test"), zone("example.test")] }
    }

    /// The zone that a name belongs to.
    pub(crate) fn zone_of(&self, name: &DnsName) -> Zone {
        let found = self.zones.iter().find(|(zone, _)| name.is_within(&zone.name));
        found.unwrap_or_else(|| panic!("the suite's own name {name} is in no zone")).0.clone()
    }

    /// Everything in all zones.
    pub(crate) fn all(&self) -> Vec<RecordSet> {
        self.zones.iter().flat_map(|(_, sets)| sets.values().cloned()).collect()
    }

    /// Puts a set in place, past the registry.
    pub(crate) fn put(&mut self, set: RecordSet) {
        let zone = self.zone_of(&set.key.name).key;
        let set = RecordSet { ttl: set.ttl.or(Ttl::from_secs(300)), ..set };
        self.sets_mut(&zone).insert(set.key.clone(), set);
    }

    /// Takes a set out, past the registry.
    pub(crate) fn take(&mut self, key: &RecordKey) {
        let zone = self.zone_of(&key.name).key;
        self.sets_mut(&zone).remove(key);
    }

    fn sets_mut(&mut self, zone: &ZoneKey) -> &mut Sets {
        let found = self.zones.iter_mut().find(|(known, _)| known.key == *zone);
        &mut found.unwrap_or_else(|| panic!("the suite has no zone {zone}")).1
    }

    /// Whose a record set is, in the eyes of a registry.
    pub(crate) fn ownership(&self, registry: &dyn Registry, key: &RecordKey) -> Ownership {
        let claims = registry.claims(&self.zone_of(&key.name), key, self);
        judge(&claims, registry.owner())
    }

    /// Adds the claims to a group.
    pub(crate) async fn decorate(&self, registry: &dyn Registry, group: Group) -> Result<Group, Stopped> {
        registry.load().await.unwrap_or_else(|e| panic!("load: {e:?}"));
        let zone = self.zone_of(&group.name);
        one(registry.decorate(&zone, vec![group], self)).map_err(|(_, dropped)| stopped(dropped.reason))
    }

    /// Carries a group out: decorate, prepare, the zone, commit. A group that is refused leaves the zones as they were.
    pub(crate) async fn carry(&mut self, registry: &dyn Registry, group: Group) -> Result<Group, Stopped> {
        let group = self.decorate(registry, group).await?;
        self.send(registry, group).await
    }

    /// The second half of [`ZonePair::carry`], for groups that were decorated earlier.
    pub(crate) async fn send(&mut self, registry: &dyn Registry, group: Group) -> Result<Group, Stopped> {
        let zone = self.zone_of(&group.name);
        self.send_in(registry, &zone, group).await
    }

    /// What ends claims that speak for no record, with the zone to send it to.
    pub(crate) fn what(&self, registry: &dyn Registry) -> Vec<(Zone, Group)> {
        let of = |(zone, sets): &(Zone, Sets)| {
            let claims = sets.values().filter(|set| registry.is_claim(set));
            let swept = claims.filter_map(|set| registry.collect_stale_claims(zone, set, StaleClaims::Claims, self));
            let groups: Vec<Group> = swept.chain(registry.leftovers(zone, self)).collect();
            groups.into_iter().map(|group| (zone.clone(), group)).collect::<Vec<_>>()
        };
        self.zones.iter().flat_map(of).collect()
    }

    /// As [`ZonePair::send`], in a zone of this instance.
    pub(crate) async fn send_in(
        &mut self,
        registry: &dyn Registry,
        zone: &Zone,
        group: Group,
    ) -> Result<Group, Stopped> {
        let prepared = one(registry.prepare(zone, vec![group]).await);
        let group = prepared.map_err(|(_, dropped)| stopped(dropped.reason))?;
        let broken = group.preconditions().into_iter().find(|condition| !self.holds(&zone.key, condition));
        let broken = broken.map(|condition| format!("{condition:?}"));
        let outcome = match &broken {
            None => Outcome::Applied,
            Some(condition) => Outcome::refused(Error::new(ErrorKind::Conflict, "apply", condition)),
        };
        if broken.is_none() && !group.changes_nothing() {
            group.changes().for_each(|change| self.apply(&zone.key, change));
        }
        let committed = registry.commit(zone, std::slice::from_ref(&group), &[outcome]).await;
        committed.unwrap_or_else(|e| panic!("commit: {e:?}"));
        registry.load().await.unwrap_or_else(|e| panic!("load: {e:?}"));
        broken.map_or(Ok(group), |condition| Err(Stopped::Refused(condition)))
    }

    /// The process ends while it carries a group out: before the zone has it, or right after that.
    pub(crate) async fn crash(&mut self, registry: &dyn Registry, group: Group, in_zone: bool) {
        let about = group.headline();
        let group = self.decorate(registry, group).await.unwrap_or_else(|e| panic!("{about}: {e}"));
        let zone = self.zone_of(&group.name);
        let prepared = one(registry.prepare(&zone, vec![group]).await);
        let group = prepared.unwrap_or_else(|(_, dropped)| panic!("{about}: {}", dropped.reason));
        if in_zone {
            group.changes().for_each(|change| self.apply(&zone.key, change));
        }
    }

    /// Hands to a registry what was read of all zones.
    pub(crate) async fn read(&self, registry: &dyn Registry) {
        for (zone, sets) in &self.zones {
            let read = registry.resync(zone, &Held(sets), true).await;
            read.unwrap_or_else(|e| panic!("resync of {}: {e:?}", zone.name));
        }
    }

    fn holds(&self, zone: &ZoneKey, condition: &Precondition) -> bool {
        let sets = self.zones.iter().find(|(known, _)| known.key == *zone).map(|(_, sets)| sets);
        let sets = sets.unwrap_or_else(|| panic!("the suite has no zone {zone}"));
        match condition {
            Precondition::Exact(set) => sets.get(&set.key).is_some_and(|found| found.data == set.data),
            Precondition::Absent(key) => !sets.contains_key(key),
            Precondition::NameNotInUse(name) => sets.keys().all(|key| key.name != *name),
        }
    }

    fn apply(&mut self, zone: &ZoneKey, change: &Change) {
        let sets = self.sets_mut(zone);
        match change.to() {
            Some(to) => sets.insert(to.key.clone(), RecordSet { ttl: to.ttl.or(Ttl::from_secs(300)), ..to.clone() }),
            None => sets.remove(change.key()),
        };
    }
}

/// What one zone holds.
struct Held<'a>(&'a Sets);

impl Contents for Held<'_> {
    fn find(&self, key: &RecordKey) -> Option<RecordSet> {
        self.0.get(key).cloned()
    }

    fn each(&self, visit: &mut dyn FnMut(RecordSet)) {
        self.0.values().cloned().for_each(visit);
    }
}

impl Published for ZonePair {
    fn find(&self, near: &ZoneKey, key: &RecordKey) -> Option<(ZoneKey, RecordSet)> {
        let (first, others): (Vec<_>, Vec<_>) = self.zones.iter().partition(|(zone, _)| zone.key == *near);
        let mut in_order = first.into_iter().chain(others);
        in_order.find_map(|(zone, sets)| sets.get(key).map(|set| (zone.key.clone(), set.clone())))
    }

    fn zones_at(&self, name: &DnsName) -> Vec<(Zone, bool)> {
        let at = self.zones.iter().filter(|(zone, _)| zone.name == *name);
        at.map(|(zone, _)| (zone.clone(), true)).collect()
    }
}

fn one<T>(answers: Vec<T>) -> T {
    let count = answers.len();
    let mut answers = answers.into_iter();
    match (answers.next(), count) {
        (Some(answer), 1) => answer,
        _ => panic!("one answer for each group; got {count} for one"),
    }
}

fn stopped(reason: String) -> Stopped {
    assert!(!reason.trim().is_empty(), "a group is dropped without a word");
    Stopped::Dropped(reason)
}

/// A name of the suite.
pub(crate) fn parse(name: &str) -> DnsName {
    DnsName::parse(name).unwrap_or_else(|e| panic!("the suite's own name: {e}"))
}

/// A set with data that suits its type.
pub(crate) fn set(name: &str, rtype: RecordType) -> RecordSet {
    specimen::set(&parse(name), rtype, 300, specimen::of_type(rtype).1)
}

/// The same key with other data.
pub(crate) fn other(set: &RecordSet) -> RecordSet {
    RecordSet {
        data: specimen::set(&set.key.name, set.key.rtype, 300, specimen::of_type(set.key.rtype).2).data,
        ..set.clone()
    }
}

/// A group of changes of one name, for a resource.
pub(crate) fn group(changes: impl IntoIterator<Item = Change>, resource: &str) -> Group {
    let step = |change| Step { labels: labels(), ..Step::record(change, Some(Arc::from(resource))) };
    let steps: Vec<Step> = changes.into_iter().map(step).collect();
    let name = steps.first().map(|step| step.change.key().name.clone());
    Group { name: name.unwrap_or_else(DnsName::root), steps, stored: vec![], requires: vec![], objects: vec![] }
}

/// A further label that every claim of the suite carries.
pub(crate) fn labels() -> Vec<(Arc<str>, Arc<str>)> {
    vec![(Arc::from("suite"), Arc::from("conformance"))]
}

/// A group that creates a set.
pub(crate) fn create(set: &RecordSet) -> Group {
    group([Change::Create { to: set.clone() }], RESOURCE)
}

/// The resource that groups of the suite name.
pub(crate) const RESOURCE: &str = "service/default/web";
