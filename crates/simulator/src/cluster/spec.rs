//! Objects: in, what one asks for; out, what the mapping of a real one like it would be.

use std::sync::Arc;

use zonewright_core::choice::Choice;
use zonewright_core::endpoint::{
    Endpoint, EndpointExtras, Mapped, ObjectPolicy, ObjectRef, Origin, Pending, Sharing, Targets, TypeMeta, Uid,
    Unknown,
};
use zonewright_core::record::Routing;
use zonewright_core::{DnsName, RData, RecordKey, Ttl};

use crate::setup::INSTANCES;

/// The kinds of objects: what labels call them, and what the API calls them.
pub(crate) const KINDS: [(&str, &str); 2] = [("service", "services"), ("ingress", "ingresses")];

/// An object by kind and number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Id {
    /// Place in the list of kinds.
    pub(crate) kind: usize,
    /// Its number.
    pub(crate) number: usize,
}

impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", KINDS[self.kind].0, self.number)
    }
}

/// What an object asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Spec {
    /// Names with their targets.
    pub(crate) wants: Vec<(RecordKey, Vec<RData>)>,
    /// TTL of all of them.
    pub(crate) ttl: Option<Ttl>,
    /// The weight of those with a set identifier, if they are weighted.
    pub(crate) weight: Option<u32>,
    /// Names without targets.
    pub(crate) pending: Vec<DnsName>,
    /// Whether it asks for more than can be told.
    pub(crate) unknown: bool,
    /// Its own policy.
    pub(crate) policy: Option<ObjectPolicy>,
    /// Whether it shares its names.
    pub(crate) union: bool,
    /// The instance that it names, by its place in [`INSTANCES`]; else it is for all.
    pub(crate) choice: Option<usize>,
}

impl Spec {
    /// Whether what it asks for goes to an instance.
    pub(super) fn is_for(&self, instance: usize) -> bool {
        self.choice.is_none_or(|chosen| chosen == instance)
    }

    /// The same with simple sets in place of weighted ones, or the other way round.
    pub(super) fn reweighed(self) -> Self {
        let weight = if self.weight.is_some() { None } else { Some(1) };
        Self { weight, ..self }
    }
}

impl std::fmt::Display for Spec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut parts: Vec<String> = Vec::new();
        for (key, data) in &self.wants {
            let data: Vec<String> = data.iter().map(ToString::to_string).collect();
            parts.push(format!("{key} {}", data.join(" ")));
        }
        parts.extend(self.weight.map(|weight| format!("weight {weight}")));
        parts.extend(self.pending.iter().map(|name| format!("{name} (no address yet)")));
        parts.extend(self.ttl.map(|ttl| format!("TTL {ttl}")));
        parts.extend(self.unknown.then(|| "something that cannot be told".to_owned()));
        parts.extend(self.policy.map(|policy| format!("policy {}", policy.as_str())));
        parts.extend(self.union.then(|| "shared".to_owned()));
        parts.extend(self.choice.map(|chosen| format!("at {} alone", INSTANCES[chosen])));
        if parts.is_empty() { f.write_str("nothing") } else { f.write_str(&parts.join(", ")) }
    }
}

pub(super) fn label(id: Id) -> String {
    format!("{}/ns/o{}", KINDS[id.kind].0, id.number)
}

pub(super) fn object(id: Id) -> ObjectRef {
    ObjectRef {
        types: TypeMeta::new("v1", if id.kind == 0 { "Service" } else { "Ingress" }),
        namespace: Arc::from("ns"),
        name: Arc::from(format!("o{}", id.number)),
        uid: Uid::default(),
    }
}

pub(super) fn mapped(id: Id, spec: &Spec) -> Arc<Mapped> {
    let resource: Option<Arc<str>> = Some(Arc::from(label(id)));
    let created = i64::try_from(id.number * 7 % 5).ok();
    let origin = Arc::new(Origin {
        source: Arc::from(KINDS[id.kind].0),
        rank: id.kind,
        object: object(id),
        created,
        choice: spec.choice.and_then(|chosen| Choice::parse(INSTANCES[chosen])),
    });
    let endpoint = |(key, data): &(RecordKey, Vec<RData>)| Endpoint {
        name: key.name.clone(),
        rtype: key.rtype,
        targets: Targets::Records(data.clone()),
        ttl: spec.ttl,
        origin: origin.clone(),
        resource: resource.clone(),
        sharing: if spec.union { Sharing::Union } else { Sharing::Holder },
        policy: spec.policy,
        extras: EndpointExtras { set_id: key.set_id.clone(), routing: routing(spec, key), ..EndpointExtras::default() }
            .into(),
    };
    let pending =
        |name: &DnsName| Pending { name: name.clone(), resource: resource.clone(), reason: "no address".to_owned() };
    let unknown = Unknown { resource: resource.clone(), reason: "a template failed".to_owned(), passing: false };
    Arc::new(Mapped {
        endpoints: spec.wants.iter().map(endpoint).collect(),
        pending: spec.pending.iter().map(pending).collect(),
        unknown: spec.unknown.then_some(unknown).into_iter().collect(),
        notes: [].into(),
        kinds: [Arc::from(KINDS[id.kind].1)].into(),
        other_prefix: None,
    })
}

/// How answers are chosen by what an object asks for under a key.
pub(super) fn routing(spec: &Spec, key: &RecordKey) -> Routing {
    match (spec.weight, &key.set_id) {
        (Some(weight), Some(_)) => Routing::Weighted { weight },
        _ => Routing::Simple,
    }
}

pub(super) fn names_of(spec: &Spec) -> impl Iterator<Item = &DnsName> {
    spec.wants.iter().map(|(key, _)| &key.name).chain(&spec.pending)
}
