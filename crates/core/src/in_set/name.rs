//! The names of items: which item of a shared record set is the one that our claim speaks for.
//!
//! In: what was read of a zone, split into items, with what the registry says. Out: the same, with the set identifiers of our
//! claims on the items and on the texts that hold these claims. What must hold: an item is named by a claim of ours that says
//! exactly what the item holds, and by no other; each claim names one item; what is not ours keeps what it was read with.

use std::collections::{BTreeMap, BTreeSet};

use super::{ITEM_LABEL, is_unnamed, label};
use crate::claim::judge;
use crate::name::DnsName;
use crate::record::{RecordData, RecordKey, RecordSet, SetId};
use crate::registry::{ClaimFormat, Published, Registry};
use crate::rtype::RecordType;
use crate::zone::{Zone, ZoneKey};

/// Names the items of ours among `sets`, which were read of `zone`. `published` is what was known before: where claims on an item
/// stand at names that were not read with it, it is asked for them.
pub fn name(sets: Vec<RecordSet>, zone: &Zone, registry: &dyn Registry, published: &dyn Published) -> Vec<RecordSet> {
    let (items, rest): (Vec<RecordSet>, Vec<RecordSet>) = sets.into_iter().partition(|set| is_unnamed(&set.key));
    let mut read = Read { zone, published, sets: BTreeMap::new(), item: None };
    read.sets = rest.into_iter().flat_map(|set| texts_apart(set, registry)).map(|set| (set.key.clone(), set)).collect();
    let mut groups: BTreeMap<(DnsName, RecordType), Vec<RecordSet>> = BTreeMap::new();
    for item in items {
        groups.entry((item.key.name.clone(), item.key.rtype)).or_default().push(item);
    }
    let at = groups.keys().map(|(name, _)| name.clone()).collect();
    let outside = if groups.is_empty() { BTreeSet::new() } else { registry.item_keys(zone, &at) };
    let mut out = Vec::new();
    for ((name, rtype), mut items) in groups {
        let simple = RecordKey::simple(name, rtype);
        for id in candidates(&simple, &outside, &read, registry) {
            let key = RecordKey { set_id: Some(id), ..simple.clone() };
            let Some(at) = items.iter().position(|item| is_meant(&key, item, &mut read, registry)) else { continue };
            let item = RecordSet { key: key.clone(), ..items.remove(at) };
            route_claims(&item, &mut read, registry);
            out.push(item);
        }
        out.extend(items);
    }
    out.extend(read.sets.into_values());
    out
}

/// Texts that are our claims on items stand under the set identifiers of these, the rest as it is.
fn texts_apart(set: RecordSet, registry: &dyn ClaimFormat) -> Vec<RecordSet> {
    if set.key.rtype != RecordType::Txt || set.key.set_id.is_some() {
        return vec![set];
    }
    let mut parts: BTreeMap<Option<SetId>, Vec<_>> = BTreeMap::new();
    for data in set.data.as_records() {
        parts.entry(registry.item_of(data)).or_default().push(data.clone());
    }
    if parts.keys().all(Option::is_none) {
        return vec![set];
    }
    let part = |(set_id, records): (Option<SetId>, Vec<_>)| RecordSet {
        key: RecordKey { set_id, ..set.key.clone() },
        data: RecordData::records(records),
        ..set.clone()
    };
    parts.into_iter().map(part).collect()
}

/// The set identifiers under which claims of ours on items of a name and type may be found, in their order.
fn candidates(
    simple: &RecordKey,
    outside: &BTreeSet<RecordKey>,
    read: &Read<'_>,
    registry: &dyn ClaimFormat,
) -> BTreeSet<SetId> {
    let alike = outside.iter().filter(|key| key.name == simple.name && key.rtype == simple.rtype);
    let mut ids: BTreeSet<SetId> = alike.filter_map(|key| key.set_id.clone()).collect();
    for name in registry.claim_names(read.zone, simple) {
        let here = read.sets.keys().filter(|key| key.name == name && key.rtype == RecordType::Txt);
        ids.extend(here.filter_map(|key| key.set_id.clone()));
    }
    ids
}

/// Whether an item is the one that our claim on `key` speaks for.
fn is_meant(key: &RecordKey, item: &RecordSet, read: &mut Read<'_>, registry: &dyn ClaimFormat) -> bool {
    let item = RecordSet { key: key.clone(), ..item.clone() };
    let wanted = label(&item);
    read.item = Some(item);
    let ownership = judge(&registry.claims(read.zone, key, read), registry.owner());
    read.item = None;
    let said = ownership.claim().and_then(|claim| claim.label(ITEM_LABEL));
    said.is_some() && said == wanted.as_deref()
}

/// The claims on an item are kept as if they were routed like it, as where each set is a record of its own.
fn route_claims(item: &RecordSet, read: &mut Read<'_>, registry: &dyn ClaimFormat) {
    for name in registry.claim_names(read.zone, &item.key) {
        let key = RecordKey { name, rtype: RecordType::Txt, set_id: item.key.set_id.clone() };
        if let Some(text) = read.sets.get_mut(&key) {
            text.routing = item.routing.clone();
        }
    }
}

/// What was read, before what was known.
struct Read<'a> {
    zone: &'a Zone,
    published: &'a dyn Published,
    sets: BTreeMap<RecordKey, RecordSet>,
    /// An item under the key that it may have.
    item: Option<RecordSet>,
}

impl Published for Read<'_> {
    fn find(&self, near: &ZoneKey, key: &RecordKey) -> Option<(ZoneKey, RecordSet)> {
        if *near == self.zone.key {
            let item = self.item.as_ref().filter(|item| item.key == *key);
            if let Some(set) = item.or_else(|| self.sets.get(key)) {
                return Some((near.clone(), set.clone()));
            }
        }
        self.published.find(near, key).filter(|_| !self.sets.keys().any(|read| read.name == key.name))
    }

    fn zones_at(&self, name: &DnsName) -> Vec<(Zone, bool)> {
        self.published.zones_at(name)
    }
}
