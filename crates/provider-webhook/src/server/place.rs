//! Bundles to groups, one for each zone that a name belongs to.
//!
//! In: a bundle, and what the provider is. Out: groups with the exact old side of each change as precondition, or why
//! nothing of the bundle can be done. What is wanted is lowered to what the zone can hold, as everywhere.

use std::collections::BTreeMap;
use std::sync::Arc;

use tracing::warn;
use zonewright_core::capability::Capability;
use zonewright_core::change::{Change, Group, Step};
use zonewright_core::contend::Wanted;
use zonewright_core::endpoint::{ObjectRef, Origin, Targets};
use zonewright_core::interpret::has_identifier;
use zonewright_core::lower::{Lowered, lower};
use zonewright_core::options::{OptionReader, Properties};
use zonewright_core::record::{Routing, SetId};
use zonewright_core::zone::{ZoneRule, route};
use zonewright_core::{DnsName, ErrorKind, RData, RecordKey, RecordSet, RecordType, Ttl, Zone};

use super::ask::{Ask, Bundle};
use super::scope::Scope;
use crate::convert::{decode, ttl};
use crate::wire::Endpoint;

/// Why something cannot be done.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Objection {
    pub(super) kind: ErrorKind,
    pub(super) text: String,
}

fn invalid(text: impl Into<String>) -> Objection {
    Objection { kind: ErrorKind::Invalid, text: text.into() }
}

/// What the provider is.
pub(super) struct Places<'a> {
    pub(super) zones: &'a [Zone],
    pub(super) rule: ZoneRule,
    pub(super) scope: &'a Scope,
    pub(super) options: &'a OptionReader,
    pub(super) capability: &'a dyn Fn(&Zone) -> Capability,
}

/// What stands at a key, and what shall.
#[derive(Debug, Default)]
struct Wish {
    from: Option<RecordSet>,
    to: Option<Wanted>,
}

impl<'a> Places<'a> {
    /// The zones that a name belongs to, with their positions.
    ///
    /// # Errors
    /// There is none.
    fn zones_of(&self, name: &DnsName) -> Result<Vec<(usize, &'a Zone)>, Objection> {
        let zones = route(self.rule, self.zones, name);
        if !zones.is_empty() {
            let place = |zone: &'a Zone| Some((self.zones.iter().position(|known| known.key == zone.key)?, zone));
            return Ok(zones.into_iter().filter_map(place).collect());
        }
        let all: Vec<&str> = self.zones.iter().map(|zone| zone.name.as_str()).collect();
        let all = if all.is_empty() { "none".to_owned() } else { all.join(", ") };
        Err(Objection { kind: ErrorKind::NotFound, text: format!("{name} is in no zone that is served here ({all})") })
    }

    /// The groups of a bundle with the positions of their zones.
    ///
    /// # Errors
    /// What speaks against it; nothing of it is to be done then.
    pub(super) fn groups(&self, bundle: &Bundle) -> Result<Vec<(usize, Group)>, Objection> {
        if let Some(problem) = &bundle.problem {
            return Err(invalid(problem));
        }
        let name = bundle.name.as_ref().ok_or_else(|| invalid(format!("{:?} is no domain name", bundle.said)))?;
        if !self.scope.takes(name) {
            return Err(invalid(format!("{name} is outside of the domain filter of this server")));
        }
        if let Some(endpoint) = bundle.forged() {
            let text = format!(
                "{} TXT reads as an ownership record and has an ownership record of its own; expected another text",
                endpoint.name
            );
            return Err(invalid(text));
        }
        let mut groups: BTreeMap<usize, Group> = BTreeMap::new();
        for wish in self.wishes(bundle)?.into_values() {
            let Some(at) = wish.key() else { continue };
            for (place, zone) in self.zones_of(&at.name)? {
                let empty =
                    || Group { name: name.clone(), steps: vec![], stored: vec![], requires: vec![], objects: vec![] };
                groups.entry(place).or_insert_with(empty).steps.extend(self.step(&wish, zone)?);
            }
        }
        Ok(groups.into_iter().map(in_order).collect())
    }

    /// What an endpoint asks for, lowered, with the position of the zone that counts: the nearest.
    ///
    /// # Errors
    /// It cannot be understood, or has no place here.
    pub(super) fn adjustable(&self, endpoint: &Endpoint) -> Result<(usize, RecordSet), Objection> {
        let mut wanted = wanted(endpoint)?;
        let nowhere = || invalid(format!("{} is in no zone", wanted.key.name));
        let (place, zone) = self.zones_of(&wanted.key.name)?.into_iter().next().ok_or_else(nowhere)?;
        // A caller that reads its records back without an identifier would make and remove them in turns.
        let id = wanted.key.set_id.take();
        wanted.key.set_id = id.filter(|_| has_identifier(&wanted.routing, &(self.capability)(zone)));
        Ok((place, self.lowered(&wanted, zone)?))
    }

    /// What is asked for by key. A delete and a create of one key are an update.
    fn wishes(&self, bundle: &Bundle) -> Result<BTreeMap<RecordKey, Wish>, Objection> {
        let mut wishes: BTreeMap<RecordKey, Wish> = BTreeMap::new();
        for ask in &bundle.asks {
            let (from, to) = match ask {
                Ask::Delete(old) => (Some(old), None),
                Ask::Update(old, new) => (Some(old), Some(new)),
                Ask::Create(new) => (None, Some(new)),
            };
            if let Some(from) = from.map(|old| standing(old, self.options)).transpose()? {
                put(&mut wishes.entry(from.key.clone()).or_default().from, from, |set| &set.key)?;
            }
            if let Some(to) = to.map(wanted).transpose()? {
                put(&mut wishes.entry(to.key.clone()).or_default().to, to, |to| &to.key)?;
            }
        }
        Ok(wishes)
    }

    fn step(&self, wish: &Wish, zone: &Zone) -> Result<Option<Step>, Objection> {
        if let Some(key) = wish.key().filter(|key| key.makes_zone(&zone.name)) {
            let text = format!("{key}: NS and SOA records at the apex of a zone are never touched");
            return Err(Objection { kind: ErrorKind::Unsupported, text });
        }
        let to = wish.to.as_ref().map(|to| self.lowered(to, zone)).transpose()?;
        let resource = wish.to.as_ref().and_then(|to| to.resource.clone());
        let change = match (wish.from.clone(), to) {
            (None, Some(to)) => Change::Create { to },
            (Some(from), Some(to)) => Change::Update { from, to },
            (Some(from), None) => Change::Delete { from },
            (None, None) => return Ok(None),
        };
        Ok(Some(Step::record(change, resource)))
    }

    /// A wanted set as the zone can hold it; what is lost on the way is logged.
    ///
    /// # Errors
    /// The zone cannot hold it at all.
    fn lowered(&self, to: &Wanted, zone: &Zone) -> Result<RecordSet, Objection> {
        let Lowered { set, notes } = lower(to, zone, &(self.capability)(zone), self.options, None);
        let told = notes.into_iter().map(|note| note.message).collect::<Vec<_>>().join("; ");
        if set.is_some() && !told.is_empty() {
            warn!(zone = %zone.name, "{told}");
        }
        set.ok_or(Objection { kind: ErrorKind::Unsupported, text: told })
    }
}

impl Wish {
    fn key(&self) -> Option<&RecordKey> {
        self.from.as_ref().map(|set| &set.key).or(self.to.as_ref().map(|to| &to.key))
    }
}

fn put<T>(side: &mut Option<T>, content: T, key: impl Fn(&T) -> &RecordKey) -> Result<(), Objection> {
    match side.replace(content) {
        None => Ok(()),
        Some(other) => Err(invalid(format!("{} is changed more than once in one request; expected once", key(&other)))),
    }
}

/// Deletes go before creates: servers that work through a message in order need the room.
fn in_order((place, mut group): (usize, Group)) -> (usize, Group) {
    let rank = |step: &Step| match step.change {
        Change::Delete { .. } => 0,
        Change::Update { .. } => 1,
        Change::Create { .. } => 2,
    };
    group.steps.sort_by_key(rank);
    (place, group)
}

/// The old side: what the caller takes to be there.
fn standing(endpoint: &Endpoint, options: &OptionReader) -> Result<RecordSet, Objection> {
    let set = decode(endpoint, Some(Ttl::ZERO)).map_err(|problem| invalid(problem.to_string()))?;
    if endpoint.targets.is_empty() {
        return Err(invalid(format!("{}: the old targets are not stated; expected what stands there", set.key)));
    }
    Ok(RecordSet { options: options.parse(&properties(endpoint)).0, ..set })
}

/// The new side, with its targets in the order in which they are stated.
///
/// # Errors
/// What cannot be a record: name, type, targets.
fn wanted(endpoint: &Endpoint) -> Result<Wanted, Objection> {
    let name = DnsName::parse(&endpoint.name).map_err(|problem| invalid(problem.to_string()))?;
    let rtype: RecordType =
        endpoint.rtype.parse().map_err(|_| invalid(format!("{name}: {:?} is no record type", endpoint.rtype)))?;
    let mut records: Vec<RData> = Vec::with_capacity(endpoint.targets.len());
    for text in &endpoint.targets {
        let data = RData::parse(rtype, text).map_err(|problem| invalid(format!("{name} {rtype}: {problem}")))?;
        if !records.contains(&data) {
            records.push(data);
        }
    }
    if records.is_empty() {
        return Err(invalid(format!("{name} {rtype} has no targets; expected at least one")));
    }
    Ok(Wanted {
        key: RecordKey { name, rtype, set_id: SetId::new(&endpoint.set_id) },
        targets: Targets::Records(records),
        ttl: ttl(endpoint.ttl),
        routing: Routing::Simple,
        properties: properties(endpoint),
        origin: caller(),
        resource: endpoint.labels.get("resource").map(|resource| Arc::from(resource.as_str())),
        labels: Box::default(),
        policy: None,
        objects: Vec::new(),
    })
}

fn properties(endpoint: &Endpoint) -> Properties {
    endpoint.properties.iter().map(|p| (Arc::from(p.name.as_str()), Arc::from(p.value.as_str()))).collect()
}

/// Where the wishes come from, for notes: there is no object here, only who calls.
fn caller() -> Arc<Origin> {
    let text = Arc::from("webhook");
    let object = ObjectRef {
        api_version: Arc::from(""),
        kind: Arc::clone(&text),
        namespace: Arc::from(""),
        name: Arc::from("caller"),
        uid: Arc::from(""),
    };
    Arc::new(Origin { source: text, rank: 0, object, created: None, choice: None })
}

#[cfg(test)]
#[path = "place_tests.rs"]
mod tests;
