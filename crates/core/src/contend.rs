//! Who gets a name.
//!
//! In come all endpoints at one name and what is published there; out goes at most one wanted record set for each type and
//! set identifier, and a note for everybody who does not get what they asked for.

mod cname;
mod namespace;
mod routing;

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use crate::capability::{Capability, CnameRules};
use crate::claim::Claim;
use crate::endpoint::{Endpoint, Labels, Note, ObjectPolicy, ObjectRef, Origin, Sharing, Targets};
use crate::name::DnsName;
use crate::options::Properties;
use crate::rdata::{Members, RData};
use crate::record::{RecordKey, RecordSet, Routing, SetId, Ttl};
use crate::rtype::RecordType;
use crate::zone::Zone;

/// How objects of the holder kind share a name (`--same-name`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SameName {
    /// One of them gets it.
    #[default]
    Holder,
    /// Those of one source are joined, as external-dns does.
    Union,
}

/// How objects share names: the flags `--same-name`, `--cname-yields` and `--union-namespaces`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent rules, each with its own name; no state machine")]
pub struct NameRules {
    /// How objects of the holder kind share a name.
    pub same_name: SameName,
    /// Whether a CNAME yields to any other wanted type of its name, as in external-dns, even where its object holds the name.
    pub cname_yields: bool,
    /// Whether the members of one name come from one namespace: the holder's, else that of the oldest member.
    pub one_namespace: bool,
    /// Whether all sets of a name and type have one kind of routing policy, since each is a record of its own. It is so of a
    /// provider, and no flag says it.
    pub one_kind: bool,
    /// Whether a CNAME at this name is flattened: the name is the apex of a zone whose provider does that.
    pub flattened: bool,
}

impl NameRules {
    /// The same for one name in a zone.
    #[must_use]
    pub fn at(self, name: &DnsName, zone: &Zone, capability: &Capability) -> Self {
        Self { one_kind: capability.one_kind, flattened: capability.cname.flattened && *name == zone.name, ..self }
    }

    fn excludes(self, one: RecordType, other: RecordType) -> bool {
        CnameRules { alone: true, flattened: self.flattened }.excludes(one, other, self.flattened)
    }
}

/// One record set that shall stand, decided but not yet in a provider's terms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Name, type and set identifier under which it is published.
    pub key: RecordKey,
    /// Targets; in the holder's order, or sorted for a union.
    pub targets: Targets,
    /// TTL; `None` leaves it to the provider.
    pub ttl: Option<Ttl>,
    /// Routing policy, as the provider interprets the endpoint.
    pub routing: Routing,
    /// Provider-specific properties as stated.
    pub properties: Properties,
    /// Where the holder comes from.
    pub origin: Arc<Origin>,
    /// The label for the claim.
    pub resource: Option<Arc<str>>,
    /// Further labels for the claim.
    pub labels: Labels,
    /// The holder's own policy.
    pub policy: Option<ObjectPolicy>,
    /// Every object that has a part in it.
    pub objects: Vec<ObjectRef>,
}

/// What is published under a key, and our claim on it.
#[derive(Debug, Clone, Copy)]
pub struct PublishedRecord<'a> {
    /// The record set.
    pub set: &'a RecordSet,
    /// Our claim; `None` under a registry that keeps none.
    pub claim: Option<&'a Claim>,
}

/// What is known about one name besides its endpoints.
pub trait ContentionFacts {
    /// Our record set under a key, if there is one and it is ours.
    fn ours(&self, key: &RecordKey) -> Option<PublishedRecord<'_>>;

    /// Our record sets of a type at the name, under any identifier.
    fn published(&self, rtype: RecordType) -> Vec<PublishedRecord<'_>>;

    /// Whether surplus targets under this key may be an inheritance: at the first reading of the zone by this process, or
    /// because they were found to be one then.
    fn may_inherit(&self, key: &RecordKey) -> bool;
}

/// The outcome for one name.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Contended {
    /// What shall stand, in the order of the keys.
    pub wanted: Vec<Wanted>,
    /// Notes for the objects that lost something.
    pub notes: Vec<Note>,
    /// Keys whose published targets are kept as an inherited union.
    pub inherited: Vec<RecordKey>,
}

/// Several endpoints that want the same, or that are joined.
#[derive(Debug, Clone)]
struct Side<'a> {
    /// Sorted by source and label; the first speaks for all.
    endpoints: Vec<&'a Endpoint>,
    targets: Targets,
}

/// Decides over one name.
pub fn contend(name: &DnsName, endpoints: &[&Endpoint], rules: NameRules, scene: &dyn ContentionFacts) -> Contended {
    let mut out = Contended::default();
    let alike;
    let endpoints = if rules.one_kind {
        let one = routing::keep_one_kind(endpoints, scene, &mut out.notes);
        alike = cname::keep_apart(&one, endpoints, rules, scene, &mut out.notes);
        &*alike
    } else {
        endpoints
    };
    let mut rows: BTreeMap<Option<SetId>, BTreeMap<RecordType, Vec<&Endpoint>>> = BTreeMap::new();
    for endpoint in endpoints {
        rows.entry(endpoint.extras.set_id.clone()).or_default().entry(endpoint.rtype).or_default().push(endpoint);
    }
    for (set_id, mut types) in rows {
        let at = |rtype| RecordKey { name: name.clone(), rtype, set_id: set_id.clone() };
        if rules.one_namespace {
            namespace::keep_one(&at, &mut types, rules.same_name, scene, &mut out.notes);
        }
        cname::settle(&at, &mut types, rules, scene, &mut out.notes);
        let holders = holders(&at, &types, scene);
        for (rtype, rivals) in types {
            decide(at(rtype), &rivals, rules, (scene, &holders), &mut out);
        }
    }
    out
}

/// What is asked for at one name under one set identifier.
type Row<'a> = BTreeMap<RecordType, Vec<&'a Endpoint>>;

/// The labels of the objects that hold a record of any type at the name: they keep it when they change its type.
fn holders(at: &dyn Fn(RecordType) -> RecordKey, types: &Row<'_>, scene: &dyn ContentionFacts) -> Vec<Arc<str>> {
    // Where one object asks, there is nothing to hold against another.
    if types.values().all(|rivals| rivals.len() < 2) {
        return Vec::new();
    }
    let label = |rtype| scene.ours(&at(rtype))?.claim?.resource.clone();
    RecordType::WRITABLE.into_iter().filter_map(label).collect()
}

impl PublishedRecord<'_> {
    /// Whether an object holds the record: the claim names it; where that names nobody, it asks for what is published.
    fn is_held_by(&self, endpoint: &Endpoint) -> bool {
        if let Some(resource) = self.claim.and_then(|claim| claim.resource.as_deref()) {
            return endpoint.resource.as_deref() == Some(resource);
        }
        endpoint.rtype == self.set.key.rtype && endpoint.targets.same(&Targets::from(&self.set.data))
    }
}

fn decide(
    key: RecordKey,
    rivals: &[&Endpoint],
    rules: NameRules,
    (scene, holders): (&dyn ContentionFacts, &[Arc<str>]),
    out: &mut Contended,
) {
    let standing = scene.ours(&key);
    let sides = sides(rivals, rules.same_name);
    let Some(winner) = choose(&sides, standing, holders) else { return };
    let mut wanted = sides[winner].wanted(key, standing, holders);
    let losers = || sides.iter().enumerate().filter(|(i, _)| *i != winner).map(|(_, side)| side);
    if let Some(standing) = standing.filter(|_| scene.may_inherit(&wanted.key)) {
        let namespace = &wanted.origin.object.namespace;
        let may_add = |side: &&Side<'_>| !rules.one_namespace || side.is_in(namespace);
        let asked: Vec<&RData> = losers().filter(may_add).flat_map(|side| side.targets.as_records()).collect();
        if let Some(targets) = inherit(&wanted, standing.set, &asked) {
            let text = format!(
                "{} keeps the targets {} that it was published with: other objects still ask for them",
                wanted.key,
                show(&targets)
            );
            out.notes.push(Note::normal(&wanted.origin.object, "InheritedUnion", text));
            wanted.objects.extend(losers().flat_map(|side| side.endpoints.iter().map(|e| e.origin.object.clone())));
            wanted.targets = Targets::Records(targets);
            out.inherited.push(wanted.key.clone());
        }
    }
    if !out.inherited.contains(&wanted.key) {
        out.notes.extend(losers().flat_map(|side| &side.endpoints).map(|endpoint| lost(endpoint, &wanted)));
    }
    out.wanted.push(wanted);
}

fn lost(endpoint: &Endpoint, wanted: &Wanted) -> Note {
    let text = format!(
        "{} is held by {}, with other targets; it is released when that object no longer requests it",
        wanted.key, wanted.origin.object
    );
    Note::warning(&endpoint.origin.object, "NameConflict", text)
}

fn show(records: &[RData]) -> String {
    records.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Endpoints whose targets are joined.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Union {
    /// Those that are members of a name by nature.
    Members,
    /// Those of one source, where its objects are joined.
    Source(Arc<str>),
}

/// The union that an endpoint is a member of.
fn union_of(endpoint: &Endpoint, mode: SameName) -> Option<Union> {
    let may = matches!(endpoint.targets, Targets::Records(_)) && endpoint.rtype != RecordType::Cname;
    match endpoint.sharing {
        Sharing::Union if may => Some(Union::Members),
        Sharing::Holder if may && mode == SameName::Union => Some(Union::Source(endpoint.origin.source.clone())),
        _ => None,
    }
}

/// Joins members, then puts together those who want the same.
fn sides<'a>(rivals: &[&'a Endpoint], mode: SameName) -> Vec<Side<'a>> {
    let mut unions: BTreeMap<Union, Vec<&Endpoint>> = BTreeMap::new();
    let mut sides: Vec<Side<'a>> = Vec::new();
    for &endpoint in rivals {
        match union_of(endpoint, mode) {
            Some(group) => unions.entry(group).or_default().push(endpoint),
            None => sides.push(Side { endpoints: vec![endpoint], targets: endpoint.targets.clone() }),
        }
    }
    sides.extend(unions.into_values().map(Side::join));
    let mut merged: Vec<Side<'a>> = Vec::new();
    for side in sides {
        match merged.iter_mut().find(|m| m.targets.same(&side.targets)) {
            Some(same) => same.endpoints.extend(side.endpoints),
            None => merged.push(side),
        }
    }
    for side in &mut merged {
        side.endpoints.sort_by(|a, b| by_label(a, b));
    }
    merged
}

/// Order in which endpoints that want the same speak: by source, then by label.
fn by_label(a: &Endpoint, b: &Endpoint) -> Ordering {
    (a.origin.rank, &a.resource, a.origin.object.path()).cmp(&(b.origin.rank, &b.resource, b.origin.object.path()))
}

impl<'a> Side<'a> {
    fn join(endpoints: Vec<&'a Endpoint>) -> Self {
        let mut records: Vec<RData> = endpoints.iter().flat_map(|e| e.targets.as_records()).cloned().collect();
        if let [only] = endpoints.as_slice() {
            return Self { targets: only.targets.clone(), endpoints };
        }
        records.sort();
        records.dedup();
        Self { endpoints, targets: Targets::Records(records) }
    }

    fn asks_for(&self, resource: &str) -> bool {
        self.endpoints.iter().any(|e| e.resource.as_deref() == Some(resource))
    }

    fn is_in(&self, namespace: &str) -> bool {
        self.endpoints.iter().all(|endpoint| *endpoint.origin.object.namespace == *namespace)
    }

    /// Creation time of the oldest object, then the first object: what decides where nothing is published.
    fn age(&self) -> (i64, (&str, &str, &str)) {
        let oldest =
            self.endpoints.iter().map(|e| (e.origin.created.unwrap_or(i64::MAX), e.origin.object.path())).min();
        oldest.unwrap_or((i64::MAX, ("", "", "")))
    }

    fn wanted(&self, key: RecordKey, standing: Option<PublishedRecord<'_>>, holders: &[Arc<str>]) -> Wanted {
        let named = standing.and_then(|s| s.claim).and_then(|claim| claim.resource.clone());
        let of = |label: &Arc<str>| self.endpoints.iter().find(|e| e.resource.as_ref() == Some(label));
        let speaker = named.iter().chain(holders).find_map(of).unwrap_or(&self.endpoints[0]);
        let key_type = key.rtype;
        Wanted {
            key,
            targets: self.targets.clone(),
            ttl: self.ttl(key_type, speaker),
            routing: speaker.extras.routing.clone(),
            properties: speaker.extras.properties.clone(),
            origin: speaker.origin.clone(),
            resource: speaker.resource.clone(),
            labels: speaker.extras.labels.clone(),
            policy: speaker.policy,
            objects: self.endpoints.iter().map(|e| e.origin.object.clone()).collect(),
        }
    }

    /// The speaker's TTL; at a reverse name, where nobody speaks for the others, the smallest, and unset is smaller still.
    fn ttl(&self, rtype: RecordType, speaker: &Endpoint) -> Option<Ttl> {
        let smallest = || self.endpoints.iter().map(|endpoint| endpoint.ttl).min().flatten();
        if rtype == RecordType::Ptr { smallest() } else { speaker.ttl }
    }
}

/// The holder: whom the claim names, while it asks (of several targets that it asks for, the published ones, or those that are published
/// beside inherited ones); else who wants what is published; else who holds another type at the name; else the oldest.
fn choose(sides: &[Side<'_>], standing: Option<PublishedRecord<'_>>, holders: &[Arc<str>]) -> Option<usize> {
    // Nearly every name has one, and nothing that is published has to be compared for that.
    if let [_] = sides {
        return Some(0);
    }
    let of = |label: &str| sides.iter().position(|side| side.asks_for(label));
    let targets = standing.map(|standing| Targets::from(&standing.set.data));
    let is_published = |side: &Side<'_>| targets.as_ref().is_some_and(|targets| side.targets.same(targets));
    let stands = |side: &Side<'_>| {
        let (asked, there) =
            (side.targets.as_records(), standing.map_or(&[][..], |standing| standing.set.data.as_records()));
        !asked.is_empty() && asked.iter().all(|data| there.contains(data))
    };
    let named = || {
        let label = standing?.claim?.resource.as_deref()?;
        let of_holder = |is: &dyn Fn(&Side<'_>) -> bool| sides.iter().position(|side| side.asks_for(label) && is(side));
        of_holder(&is_published).or_else(|| of_holder(&stands)).or_else(|| of(label))
    };
    let published = || sides.iter().position(is_published);
    let elsewhere = || holders.iter().find_map(|label| of(label));
    let oldest = || (0..sides.len()).min_by(|a, b| sides[*a].age().cmp(&sides[*b].age()));
    named().or_else(published).or_else(elsewhere).or_else(oldest)
}

/// The holder's targets and those published ones that others still ask for, if that is more than the holder's.
fn inherit(wanted: &Wanted, published: &RecordSet, asked: &[&RData]) -> Option<Vec<RData>> {
    let Targets::Records(own) = &wanted.targets else { return None };
    if wanted.key.rtype == RecordType::Cname {
        return None;
    }
    let (mine, asked) = (Members::of(own), asked.iter().copied().collect::<HashSet<&RData>>());
    let kept = published.data.as_records().iter().filter(|data| !mine.holds(data) && asked.contains(data));
    let surplus: Vec<RData> = kept.cloned().collect();
    (!surplus.is_empty()).then(|| own.iter().cloned().chain(surplus).collect())
}

#[cfg(test)]
#[path = "contend_tests.rs"]
mod tests;
