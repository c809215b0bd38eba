//! Bundles to groups, one for each zone that a name belongs to.
//!
//! In: a bundle, and what the provider is. Out: groups with the exact old side of each change as precondition, or why
//! nothing of the bundle can be done. What is wanted is interpreted by the provider and lowered to what the zone can hold, as
//! everywhere: a caller's `aws/weight` becomes a routing policy, its `alias` an alias of both address families.

use std::collections::BTreeMap;
use std::sync::Arc;

use tracing::warn;
use zonewright_core::capability::Capability;
use zonewright_core::change::{Change, Group, Step};
use zonewright_core::contend::Wanted;
use zonewright_core::endpoint::{
    Endpoint, EndpointExtras, Labels, Note, ObjectRef, Origin, Sharing, Targets, TypeMeta, Uid,
};
use zonewright_core::interpret::{Interpretation, Interpreted, has_identifier, interpret};
use zonewright_core::lower::{Lowered, lower};
use zonewright_core::options::OptionReader;
use zonewright_core::record::SetId;
use zonewright_core::zone::{ZoneId, ZoneRule, route};
use zonewright_core::{DnsName, ErrorKind, RData, RecordData, RecordKey, RecordSet, RecordType, Zone};

use super::ask::{Ask, Bundle};
use super::form::Form;
use super::former::OldPlace;
use super::horizon::{Standing, is_claim, settled};
use super::scope::ServedNames;
use super::unstated::as_it_stands;
use crate::convert::{decode, ttl};
use crate::wire;

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
    pub(super) scope: &'a ServedNames,
    pub(super) options: &'a OptionReader,
    pub(super) capability: &'a dyn Fn(&Zone) -> Capability,
    pub(super) interpret: &'a dyn Fn(&Zone, &Endpoint) -> Interpretation,
}

/// What stands at a key, and what shall, with the resource that asks for it.
#[derive(Debug, Default)]
pub(super) struct Pair {
    /// What the caller takes to be there, each content once. Where the name is in one zone there is one at most.
    pub(super) from: Vec<RecordSet>,
    pub(super) to: Option<(RecordSet, Option<Arc<str>>)>,
    /// The new side names another zone: nothing happens in this one.
    pub(super) elsewhere: bool,
    /// A zone below this one has the name, so that the record may be one on which that zone depends, such as its glue: nothing goes without
    /// a claim.
    pub(super) claimed_only: bool,
    /// The positions of such zones whose apex has the name: the claim on what stands there has its place in the zone above.
    pub(super) apex_of: Vec<usize>,
}

/// The pairs of each zone, by its position.
pub(super) type Pairs = BTreeMap<usize, BTreeMap<RecordKey, Pair>>;

impl<'a> Places<'a> {
    /// The zones that a name belongs to, with their positions.
    ///
    /// # Errors
    /// There is none.
    pub(super) fn zones_of(&self, name: &DnsName) -> Result<Vec<(usize, &'a Zone)>, Objection> {
        let zones = route(self.rule, self.zones, name);
        if !zones.is_empty() {
            let place = |zone: &'a Zone| Some((self.zones.iter().position(|known| known.key == zone.key)?, zone));
            return Ok(zones.into_iter().filter_map(place).collect());
        }
        let all: Vec<&str> = self.zones.iter().map(|zone| zone.name.as_str()).collect();
        let all = if all.is_empty() { "none".to_owned() } else { all.join(", ") };
        Err(Objection { kind: ErrorKind::NotFound, text: format!("{name} is in no zone that is served here ({all})") })
    }

    /// The groups of a bundle with the positions of their zones; `read` is what stands at [`Places::names_to_read`].
    ///
    /// # Errors
    /// What speaks against it; nothing of it is to be done then.
    pub(super) fn groups(&self, bundle: &Bundle, read: &Standing) -> Result<Vec<(usize, Group)>, Objection> {
        if let Some(problem) = &bundle.problem {
            return Err(invalid(problem));
        }
        let name = bundle.name.as_ref().ok_or_else(|| invalid(format!("{:?} is no domain name", bundle.said)))?;
        if !self.scope.takes(name) {
            return Err(outside(name));
        }
        if let Some(endpoint) = bundle.forged() {
            let text = format!(
                "{} TXT reads as an ownership record and has an ownership record of its own; expected another text",
                endpoint.name
            );
            return Err(invalid(text));
        }
        let mut groups = Vec::new();
        for (place, pairs) in settled(self.pairs(bundle)?, &self.names_to_read(bundle), read)? {
            let steps = pairs.into_iter().filter_map(|(key, pair)| pair.step(&key).transpose());
            let steps = steps.collect::<Result<Vec<Step>, Objection>>()?;
            // A claim may stand beside the names of the filter, and what it stands for may not.
            if let Some(step) =
                steps.iter().find(|step| !self.scope.takes(&step.change.key().name) && !is_of_claims(step))
            {
                return Err(outside(&step.change.key().name));
            }
            if !steps.is_empty() {
                let empty = Group { name: name.clone(), steps, stored: vec![], requires: vec![], objects: vec![] };
                let sets = read.get(&place).and_then(|read| read.as_ref().ok());
                groups.push((place, as_it_stands(in_order(empty), sets)));
            }
        }
        Ok(groups)
    }

    /// What an endpoint asks for, interpreted and lowered, with the position of the zone that counts: the nearest, or the one that
    /// the endpoint names.
    ///
    /// # Errors
    /// It cannot be understood, or has no place here.
    pub(super) fn adjustable(&self, endpoint: &wire::Endpoint) -> Result<(usize, Vec<RecordSet>), Objection> {
        let wanted = wanted(endpoint)?;
        let zones = self.zones_of(&wanted.name)?;
        let candidates = ids(&zones);
        for (place, zone) in zones {
            if let Some(sets) = self.forms(&wanted, zone, &candidates)? {
                return Ok((place, sets));
            }
        }
        Err(invalid(format!("{} is in no zone", wanted.name)))
    }

    /// What stands and what shall, by zone and key. A delete and a create of one key are an update.
    fn pairs(&self, bundle: &Bundle) -> Result<Pairs, Objection> {
        let (olds, news) = sides(bundle, self.options)?;
        let mut pairs = Pairs::new();
        for old in olds {
            for OldPlace { place, zone, claimed_only, apex_of } in self.zones_of_old(&old.key.name)? {
                let id = old.key.set_id.clone().filter(|_| has_identifier(&old.routing, &(self.capability)(zone)));
                let old = RecordSet { key: RecordKey { set_id: id, ..old.key.clone() }, ..old.clone() };
                outside_the_apex(&old.key, zone)?;
                let pair = pairs.entry(place).or_default().entry(old.key.clone()).or_default();
                (pair.claimed_only, pair.apex_of) = (claimed_only, apex_of);
                if !pair.from.contains(&old) {
                    pair.from.push(old);
                }
            }
        }
        for new in news {
            let zones = self.zones_of(&new.name)?;
            let candidates = ids(&zones);
            for (place, zone) in zones {
                outside_the_apex(&new.key(), zone)?;
                let pairs = pairs.entry(place).or_default();
                let Some(sets) = self.forms(&new, zone, &candidates)? else {
                    pairs.entry(new.key()).or_default().elsewhere = true;
                    continue;
                };
                for set in sets {
                    outside_the_apex(&set.key, zone)?;
                    let pair = pairs.entry(set.key.clone()).or_default();
                    put(&mut pair.to, &set.key.clone(), (set, new.resource.clone()))?;
                }
            }
        }
        Ok(pairs)
    }

    /// What a zone holds for an endpoint; `None` where the endpoint names another zone.
    ///
    /// # Errors
    /// The provider cannot publish it, or the zone cannot hold it.
    fn forms(&self, asked: &Endpoint, zone: &Zone, candidates: &[ZoneId]) -> Result<Option<Vec<RecordSet>>, Objection> {
        let capability = (self.capability)(zone);
        let made = (self.interpret)(zone, asked);
        let Interpreted { forms, elsewhere, notes } = interpret(asked, zone, candidates, &capability, made);
        let said = said(notes);
        if elsewhere {
            return Ok(None);
        }
        if forms.is_empty() {
            let nothing = || format!("{} {}: it cannot be published in zone {}", asked.name, asked.rtype, zone.name);
            let text = Some(said).filter(|said| !said.is_empty()).unwrap_or_else(nothing);
            return Err(Objection { kind: ErrorKind::Unsupported, text });
        }
        if !said.is_empty() {
            warn!(zone = %zone.name, "{said}");
        }
        let sets = forms.into_iter().map(|form| self.lowered(&published_as(form.into_owned()), zone));
        sets.collect::<Result<_, _>>().map(Some)
    }

    /// A wanted set as the zone can hold it; what is lost on the way is logged.
    ///
    /// # Errors
    /// The zone cannot hold it at all.
    fn lowered(&self, to: &Wanted, zone: &Zone) -> Result<RecordSet, Objection> {
        let Lowered { set, notes } = lower(to, zone, &(self.capability)(zone), self.options, None);
        let said = said(notes);
        if set.is_some() && !said.is_empty() {
            warn!(zone = %zone.name, "{said}");
        }
        set.ok_or(Objection { kind: ErrorKind::Unsupported, text: said })
    }
}

impl Pair {
    /// The step from one side to the other.
    fn step(mut self, key: &RecordKey) -> Result<Option<Step>, Objection> {
        if self.elsewhere {
            return Ok(None);
        }
        let from = self.from.pop();
        if !self.from.is_empty() {
            return Err(twice(key));
        }
        Ok(match (from, self.to) {
            (None, Some((to, resource))) => Some(Step::record(Change::Create { to }, resource)),
            (Some(from), Some((to, resource))) => Some(Step::record(Change::Update { from, to }, resource)),
            (Some(from), None) => Some(Step::record(Change::Delete { from }, None)),
            (None, None) => None,
        })
    }
}

fn ids(zones: &[(usize, &Zone)]) -> Vec<ZoneId> {
    zones.iter().map(|(_, zone)| zone.key.zone.clone()).collect()
}

fn outside(name: &DnsName) -> Objection {
    invalid(format!("{name} is outside of the domain filter of this server"))
}

/// Whether all that goes and comes reads as ownership records.
fn is_of_claims(step: &Step) -> bool {
    let mut sets = step.change.from().into_iter().chain(step.change.to());
    sets.all(is_claim)
}

fn said(notes: Vec<Note>) -> String {
    notes.into_iter().map(|note| note.message).collect::<Vec<_>>().join("; ")
}

fn outside_the_apex(key: &RecordKey, zone: &Zone) -> Result<(), Objection> {
    if key.makes_zone(&zone.name) {
        let text = format!("{key}: NS and SOA records at the apex of a zone are never touched");
        return Err(Objection { kind: ErrorKind::Unsupported, text });
    }
    Ok(())
}

/// The old sides and the new ones of a bundle.
pub(super) fn sides(bundle: &Bundle, options: &OptionReader) -> Result<(Vec<RecordSet>, Vec<Endpoint>), Objection> {
    let (mut olds, mut news) = (Vec::new(), Vec::new());
    for ask in &bundle.asks {
        let (from, to) = match ask {
            Ask::Delete(old) => (Some(old), None),
            Ask::Update(old, new) => (Some(old), Some(new)),
            Ask::Create(new) => (None, Some(new)),
        };
        olds.extend(from.map(|old| standing(old, options)).transpose()?);
        news.extend(to.map(wanted).transpose()?);
    }
    Ok((olds, news))
}

fn put<T: PartialEq>(side: &mut Option<T>, key: &RecordKey, content: T) -> Result<(), Objection> {
    match side {
        Some(there) if *there != content => Err(twice(key)),
        _ => {
            *side = Some(content);
            Ok(())
        }
    }
}

fn twice(key: &RecordKey) -> Objection {
    invalid(format!("{key} is changed more than once in one request; expected once"))
}

/// Deletes go before creates: servers that work through a message in order need the room.
fn in_order(mut group: Group) -> Group {
    let rank = |step: &Step| match step.change {
        Change::Delete { .. } => 0,
        Change::Update { .. } => 1,
        Change::Create { .. } => 2,
    };
    group.steps.sort_by_key(rank);
    group
}

/// The old side: what the caller takes to be there.
fn standing(endpoint: &wire::Endpoint, options: &OptionReader) -> Result<RecordSet, Objection> {
    let set = decode(endpoint, None).map_err(|problem| invalid(problem.to_string()))?;
    if endpoint.targets.is_empty() {
        return Err(invalid(format!("{}: the old targets are not stated; expected what stands there", set.key)));
    }
    let form = Form::of(endpoint).map_err(invalid)?;
    let options = options.parse(&form.properties).0;
    // An alias has no TTL of its own.
    let ttl = set.ttl.filter(|_| form.alias.is_none());
    let data = form.alias.map_or(set.data, RecordData::Alias);
    Ok(RecordSet { options, routing: form.routing, data, ttl, ..set })
}

/// The new side, with its targets in the order in which they are stated.
///
/// # Errors
/// What cannot be a record: name, type, targets.
fn wanted(endpoint: &wire::Endpoint) -> Result<Endpoint, Objection> {
    let name = DnsName::parse(&endpoint.name).map_err(|problem| invalid(problem.to_string()))?;
    let mut rtype: RecordType =
        endpoint.rtype.parse().map_err(|_| invalid(format!("{name}: {:?} is no record type", endpoint.rtype)))?;
    let mut form = Form::of(endpoint).map_err(invalid)?;
    let targets = if let Some(alias) = form.targets() {
        alias
    } else if let Some(host) = form.host(rtype, &endpoint.targets) {
        rtype = RecordType::Cname;
        Targets::Records(vec![RData::Cname(host)])
    } else {
        Targets::Records(records(&name, rtype, &endpoint.targets)?)
    };
    Ok(Endpoint {
        name,
        rtype,
        targets,
        ttl: ttl(endpoint.ttl),
        origin: caller(),
        resource: endpoint.labels.get("resource").map(|resource| Arc::from(resource.as_str())),
        sharing: Sharing::Holder,
        policy: None,
        extras: EndpointExtras {
            set_id: SetId::new(&endpoint.set_id),
            routing: form.routing,
            properties: form.properties,
            labels: Labels::default(),
        }
        .into(),
    })
}

fn records(name: &DnsName, rtype: RecordType, targets: &[String]) -> Result<Vec<RData>, Objection> {
    let mut records: Vec<RData> = Vec::with_capacity(targets.len());
    for text in targets {
        let data = RData::parse(rtype, text).map_err(|problem| invalid(format!("{name} {rtype}: {problem}")))?;
        if !records.contains(&data) {
            records.push(data);
        }
    }
    if records.is_empty() {
        return Err(invalid(format!("{name} {rtype} has no targets; expected at least one")));
    }
    Ok(records)
}

/// An endpoint as the one that has its name: nobody contends for it here.
fn published_as(form: Endpoint) -> Wanted {
    let key = form.key();
    let Endpoint { targets, ttl, origin, resource, policy, extras, .. } = form;
    let EndpointExtras { routing, properties, labels, .. } = (*extras).clone();
    Wanted { key, targets, ttl, routing, properties, origin, resource, labels, policy, objects: Vec::new() }
}

/// Where requests come from, for notes: there is no object here, only who calls.
fn caller() -> Arc<Origin> {
    let text = Arc::from("webhook");
    let object = ObjectRef {
        types: TypeMeta::new("", Arc::clone(&text)),
        namespace: Arc::from(""),
        name: Arc::from("caller"),
        uid: Uid::default(),
    };
    Arc::new(Origin { source: text, rank: 0, object, created: None, choice: None })
}

#[cfg(test)]
#[path = "place_tests.rs"]
mod tests;
