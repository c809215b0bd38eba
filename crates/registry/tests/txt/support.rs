//! Zones, changes and verdicts as short texts, so that a case is a few lines.
//!
//! A record is `name TYPE[@set-id] data`, several data separated by ` ; `. Data of the form `!owner[:resource]` stands for the
//! text of a claim, on the way in and on the way out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use zonewright_core::change::{Change, Group, Precondition, Role, Step};
use zonewright_core::record::{RecordData, SetId};
use zonewright_core::registry::{Dropped, Published, Registry};
use zonewright_core::zone::{InstanceId, ZoneKey};
use zonewright_core::{DnsName, RData, RecordKey, RecordSet, Ttl, Zone};
use zonewright_registry::txt::{TxtConfig, TxtRegistry};

/// What the zones of one instance hold.
pub(crate) struct World(Vec<(Zone, BTreeMap<RecordKey, RecordSet>)>, BTreeSet<ZoneKey>);

impl World {
    /// Lines: `zone name` begins a zone, `zone name unread` one that was not read yet, others are records of it. The first zone is the one that tests work in.
    pub(crate) fn new(text: &str) -> Self {
        let mut zones: Vec<(Zone, BTreeMap<_, _>)> = Vec::new();
        let mut unread = BTreeSet::new();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if let Some(name) = line.strip_prefix("zone ") {
                let (name, read) = name.strip_suffix(" unread").map_or((name, true), |name| (name, false));
                let id = format!("z{}", zones.len());
                let zone = Zone::new(&InstanceId::from("i"), &id, DnsName::parse(name).expect(name));
                unread.extend((!read).then(|| zone.key.clone()));
                zones.push((zone, BTreeMap::new()));
            } else {
                let mut set = record(line);
                set.ttl = Ttl::from_secs(300);
                zones.last_mut().expect("a zone line first").1.insert(set.key.clone(), set);
            }
        }
        Self(zones, unread)
    }

    pub(crate) fn zone(&self) -> &Zone {
        &self.0[0].0
    }

    pub(crate) fn record(&self, key: &RecordKey) -> RecordSet {
        self.0[0].1.get(key).unwrap_or_else(|| panic!("{key} is not published")).clone()
    }

    pub(crate) fn edit(&mut self, key: &RecordKey, edit: impl FnOnce(&mut RecordSet)) {
        edit(self.0[0].1.get_mut(key).expect("published"));
    }

    /// Adds or replaces a record of the first zone.
    pub(crate) fn put(&mut self, set: RecordSet) {
        self.0[0].1.insert(set.key.clone(), RecordSet { ttl: Ttl::from_secs(300), ..set });
    }

    /// What the first zone holds.
    pub(crate) fn records(&self) -> Vec<RecordSet> {
        self.0[0].1.values().cloned().collect()
    }

    /// The preconditions of a group that do not hold.
    fn broken(&self, group: &Group) -> Vec<Precondition> {
        let sets = &self.0[0].1;
        let holds = |condition: &Precondition| match condition {
            Precondition::Exact(set) => sets.get(&set.key) == Some(set),
            Precondition::Absent(key) => !sets.contains_key(key),
            Precondition::NameNotInUse(name) => sets.keys().all(|key| key.name != *name),
        };
        group.preconditions().into_iter().filter(|condition| !holds(condition)).collect()
    }

    /// Whether a group can be carried out.
    pub(crate) fn holds(&self, group: &Group) -> bool {
        self.broken(group).is_empty()
    }

    /// Carries a group out in the first zone; its preconditions must hold.
    pub(crate) fn apply(&mut self, group: &Group) {
        let broken = self.broken(group);
        assert!(broken.is_empty(), "{broken:?} does not hold for {group:?}");
        let sets = &mut self.0[0].1;
        for change in group.changes() {
            sets.remove(change.key());
            if let Some(to) = change.to() {
                sets.insert(to.key.clone(), RecordSet { ttl: Ttl::from_secs(300), ..to.clone() });
            }
        }
    }
}

impl Published for World {
    fn find(&self, near: &ZoneKey, key: &RecordKey) -> Option<(ZoneKey, RecordSet)> {
        let mut zones: Vec<_> = self.0.iter().collect();
        zones.sort_by_key(|(zone, _)| (zone.key != *near, std::cmp::Reverse(zone.name.label_count())));
        zones.iter().find_map(|(zone, sets)| Some((zone.key.clone(), sets.get(key)?.clone())))
    }

    fn zones_at(&self, name: &DnsName) -> Vec<(Zone, bool)> {
        let unread = |zone: &Zone| self.1.contains(&zone.key);
        let at = self.0.iter().filter(|(zone, _)| zone.name == *name);
        at.map(|(zone, _)| (zone.clone(), !unread(zone))).collect()
    }
}

pub(crate) fn registry(prefix: &str, suffix: &str, wildcard: &str) -> TxtRegistry {
    let config = TxtConfig::new("me").expect("an owner");
    let (prefix, suffix, wildcard_replacement) = (prefix.into(), suffix.into(), wildcard.into());
    TxtRegistry::new(TxtConfig { prefix, suffix, wildcard_replacement, ..config }).expect("affixes that work")
}

/// A registry whose other settings `set` makes.
pub(crate) fn registry_with(set: impl FnOnce(&mut TxtConfig)) -> TxtRegistry {
    let mut config = TxtConfig::new("me").expect("an owner");
    set(&mut config);
    TxtRegistry::new(config).expect("settings that work")
}

pub(crate) fn key(text: &str) -> RecordKey {
    let (name, kind) = text.split_once(' ').expect("name and type");
    let (rtype, set_id) = kind.split_once('@').map_or((kind, None), |(rtype, id)| (rtype, SetId::new(id)));
    RecordKey { name: DnsName::parse(name).expect(name), rtype: rtype.parse().expect(rtype), set_id }
}

pub(crate) fn record(text: &str) -> RecordSet {
    let mut words = text.splitn(3, ' ');
    let head = [words.next(), words.next()].map(|word| word.expect("name and type")).join(" ");
    let key = key(&head);
    let data = words.next().unwrap_or_else(|| panic!("no data in {text:?}")).split(" ; ");
    let data = data.map(|text| RData::parse(key.rtype, &long_form(text)).unwrap_or_else(|e| panic!("{e}")));
    RecordSet { data: RecordData::records(data), ..RecordSet::simple(key.name.clone(), key.rtype, None, []) }
        .with_set_id(key.set_id)
}

trait WithSetId {
    fn with_set_id(self, set_id: Option<SetId>) -> Self;
}

impl WithSetId for RecordSet {
    fn with_set_id(mut self, set_id: Option<SetId>) -> Self {
        self.key.set_id = set_id;
        self
    }
}

fn long_form(data: &str) -> String {
    let Some(claim) = data.strip_prefix('!') else { return data.to_owned() };
    match claim.split_once(':') {
        None => format!("heritage=external-dns,external-dns/owner={claim}"),
        Some((owner, resource)) => {
            format!("heritage=external-dns,external-dns/owner={owner},external-dns/resource={resource}")
        }
    }
}

fn short_form(text: &str) -> String {
    text.replace("\"heritage=external-dns,external-dns/owner=", "!")
        .replace(",external-dns/resource=", ":")
        .replace('"', "")
}

/// `+ record`, `~ record` or `- key`, with `[resource]` at the end; several changes of one group are separated by ` & `.
pub(crate) fn group(world: &World, text: &str) -> Group {
    let steps: Vec<Step> = text.split(" & ").map(|text| step(world, text)).collect();
    Group { name: steps[0].change.key().name.clone(), steps, stored: vec![], requires: vec![], objects: vec![] }
}

fn step(world: &World, text: &str) -> Step {
    let (text, resource) = match text.strip_suffix(']').and_then(|text| text.split_once(" [")) {
        Some((text, resource)) => (text, Some(Arc::from(resource))),
        None => (text, None),
    };
    let change = match text.split_at(2) {
        ("+ ", text) => Change::Create { to: record(text) },
        ("~ ", text) => {
            let to = record(text);
            let from = world.record(&to.key);
            Change::Update {
                to: RecordSet { routing: from.routing.clone(), options: from.options.clone(), ..to },
                from,
            }
        }
        ("- ", text) => Change::Delete { from: world.record(&key(text)) },
        _ => panic!("{text:?} is no change"),
    };
    Step::record(change, resource)
}

/// The claim steps in order, then what is required (`= record`), or `dropped: reason`.
pub(crate) fn verdict(result: &Result<Group, (Group, Dropped)>) -> Vec<String> {
    let group = match result {
        Ok(group) => group,
        Err((_, dropped)) => return vec![format!("dropped: {}", short_form(&dropped.reason))],
    };
    let plain = |set: &RecordSet| RecordSet { ttl: None, ..set.clone() };
    let change = |change: &Change| match change {
        Change::Create { to } => Change::Create { to: plain(to) },
        Change::Update { from, to } => Change::Update { from: plain(from), to: plain(to) },
        Change::Delete { from } => Change::Delete { from: plain(from) },
    };
    let claims = group.steps.iter().filter(|step| step.role == Role::Claim);
    let mut lines: Vec<String> = claims.map(|step| short_form(&change(&step.change).to_string())).collect();
    for condition in &group.requires {
        match condition {
            Precondition::Exact(set) => lines.push(short_form(&format!("= {}", plain(set)))),
            Precondition::Absent(key) => lines.push(format!("no {key}")),
            Precondition::NameNotInUse(name) => lines.push(format!("nothing at {name}")),
        }
    }
    lines
}

pub(crate) fn decorate(
    registry: &dyn Registry,
    world: &World,
    groups: &[&str],
) -> Vec<Result<Group, (Group, Dropped)>> {
    let groups = groups.iter().map(|text| group(world, text)).collect();
    registry.decorate(world.zone(), groups, world)
}
