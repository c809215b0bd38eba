//! Claims that say nothing useful: those that do not open, and those of ours without a record.
//!
//! In: a TXT set, and what is published. Out: what an operator should know of it.

use std::collections::BTreeSet;

use zonewright_core::registry::ClaimAnomaly;
use zonewright_core::zone::ZoneKey;
use zonewright_core::{DnsName, RData, RecordKey, RecordSet, RecordType, Zone};

use super::affix::TYPES;
use super::intents::{begun, holds_intent};
use super::record::is_record;
use super::rules::{Rules, apex_type};
use super::view::{View, is_alias};

pub(super) fn anomaly(view: &View<'_>, set: &RecordSet) -> Option<ClaimAnomaly> {
    if set.key.rtype != RecordType::Txt || is_record(view, &view.zone.key, set) {
        return None;
    }
    let rules = view.rules;
    let is_closed = |data: &RData| matches!(data, RData::Txt(txt) if rules.codec.is_closed(txt));
    if set.data.as_records().iter().any(is_closed) {
        // Long tokens that are no claims stand at other names.
        return typed(view, set).into_iter().find(|key| view.stands(key)).map(ClaimAnomaly::Closed);
    }
    let ours = rules.heritages(set).iter().any(|(_, heritage)| rules.is_ours(heritage));
    let intent = || begun(rules, set).iter().any(|begun| rules.is_of_us(begun.owner().as_ref()));
    let is_ours = ours || holds_intent(set) && intent();
    if !is_ours {
        return None;
    }
    let keys: Vec<RecordKey> = typed(view, set).into_iter().chain(old(view, set)).collect();
    let stands = |key: &RecordKey| {
        let found = view.published.find(&view.zone.key, key);
        found.is_some_and(|(zone, set)| !is_claim(view, &zone, &set))
    };
    (!keys.iter().any(stands)).then_some(ClaimAnomaly::Orphan(keys))
}

/// Whether a set is a claim, and so no record that another claim may be on.
fn is_claim(view: &View<'_>, zone: &ZoneKey, set: &RecordSet) -> bool {
    let says_so = !view.rules.heritages(set).is_empty() || holds_intent(set);
    says_so && !is_record(view, zone, set)
}

/// The names of the records that claims at a name may be on, in either format.
pub(super) fn record_names(rules: &Rules, zone: &Zone, claim: &DnsName) -> BTreeSet<DnsName> {
    let old = rules.all_affixes().flat_map(|affixes| affixes.old_sources(claim));
    sources(rules, zone, claim).map(|(name, _)| name).chain(old).collect()
}

/// The names and types that a claim at a name may be on if it names a type.
fn sources<'a>(rules: &'a Rules, zone: &Zone, claim: &'a DnsName) -> impl Iterator<Item = (DnsName, RecordType)> + 'a {
    let apex = apex_type(zone, claim).map(|rtype| (zone.name.clone(), rtype));
    rules.all_affixes().flat_map(|affixes| affixes.sources(claim)).chain(apex)
}

/// The records that a set speaks for if its claim names a type.
fn typed(view: &View<'_>, set: &RecordSet) -> Vec<RecordKey> {
    let key = |(name, rtype)| RecordKey { name, rtype, set_id: set.key.set_id.clone() };
    let with_alias = |source: RecordKey| {
        let alias = (source.rtype == RecordType::Cname).then(|| RecordKey { rtype: RecordType::A, ..source.clone() });
        [source].into_iter().chain(alias.filter(|key| may_need_the_claim_of_a_cname(view, key)))
    };
    sources(view.rules, view.zone, &set.key.name).map(key).flat_map(with_alias).collect()
}

/// Whether the claim of a CNAME may be the one of the A record `key`: it is where that is an alias. One that is none, and has a claim by
/// its own type, needs no other.
fn may_need_the_claim_of_a_cname(view: &View<'_>, key: &RecordKey) -> bool {
    let standing = view.published.find(&view.zone.key, key);
    standing.is_none_or(|(_, record)| is_alias(&record) || !view.has_typed_claim(key))
}

/// The records that a set speaks for if its claim is of the old format.
fn old(view: &View<'_>, set: &RecordSet) -> Vec<RecordKey> {
    let names = view.rules.all_affixes().flat_map(|affixes| affixes.old_sources(&set.key.name));
    let of = |name: DnsName| {
        TYPES.into_iter().map(move |rtype| RecordKey { name: name.clone(), rtype, set_id: set.key.set_id.clone() })
    };
    // A claim at its record's own name is no record of its own.
    names.flat_map(of).filter(|key| *key != set.key).collect()
}
