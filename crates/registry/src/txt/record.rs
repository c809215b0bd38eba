//! Texts that read as claims and are none: TXT records that an object asked for.
//!
//! In: a TXT set, and what is published. Out: whether it is a record with a typed claim of its own, whoever's. Such a set gives
//! nobody a right, whatever it says: else whoever may publish a text could make any record of the zone an owner's. A claim of its
//! own counts only where it is none of those texts itself; each stands at a longer name, so the question comes to an end.
//!
//! Two kinds of claims stand at the same names and are no proof of a record: what other affixes put there for the record of an
//! object that never asks for texts, and what former settings put there for the very record that the set claims.

use zonewright_core::zone::ZoneKey;
use zonewright_core::{DnsName, RecordKey, RecordSet, RecordType};

use super::intents::{begun, holds_intent};
use super::rules::{Rules, apex_name, apex_type};
use super::value::Heritage;
use super::view::{View, holds_closed, text_key};

/// What labels of claims begin with whose objects ask for addresses and names alone.
const NEVER_TEXTS: [&str; 22] = [
    "service",
    "ingress",
    "node",
    "pod",
    "gateway",
    "listenerset",
    "httproute",
    "grpcroute",
    "tlsroute",
    "tcproute",
    "udproute",
    "virtualservice",
    "httpproxy",
    "tcpingress",
    "ingressroute",
    "ingressroutetcp",
    "ingressrouteudp",
    "routegroup",
    "route",
    "host",
    "virtualserver",
    "transportserver",
];

/// Whether a TXT set of `zone` is a record that an object asked for, whatever its text says.
pub(super) fn is_record(view: &View<'_>, zone: &ZoneKey, set: &RecordSet) -> bool {
    let claims_it = |key: RecordKey| {
        let (holder, claim) = view.published.find(zone, &key)?;
        (holder == *zone && speaks_for(view, set, &claim) && !is_record(view, zone, &claim)).then_some(())
    };
    set.key.rtype == RecordType::Txt && own_keys(view, zone, set).into_iter().find_map(claims_it).is_some()
}

/// A claim of this zone that would read as a TXT record once `claim`, the claim on `key`, stands: by the settings of another time
/// that is where the claim on such a record belongs.
pub(super) fn mistaken(view: &View<'_>, key: &RecordKey, claim: &RecordSet) -> Option<RecordSet> {
    let by_name = view.rules.all_affixes().flat_map(|affixes| affixes.sources(&claim.key.name));
    let by_apex = apex_type(view.zone, &claim.key.name).map(|rtype| (view.zone.name.clone(), rtype));
    let texts = by_name.chain(by_apex).filter(|(_, rtype)| *rtype == RecordType::Txt);
    let others = texts.map(|(name, _)| text_key(&name, key.set_id.as_ref())).filter(|other| other != key);
    let reads_as_claim = |set: &RecordSet| {
        let says_so = !view.rules.heritages(set).is_empty() || holds_closed(view.rules, set);
        says_so && !is_record(view, &view.zone.key, set)
    };
    let mut standing = others.filter_map(|other| view.here(&other)).filter(reads_as_claim);
    standing.find(|set| speaks_for(view, set, claim))
}

/// Where typed claims on the TXT record at a name stand, by the settings of today and the former ones.
pub(super) fn own_keys(view: &View<'_>, zone: &ZoneKey, set: &RecordSet) -> Vec<RecordKey> {
    let name = &set.key.name;
    let typed = view.rules.all_affixes().filter_map(|affixes| affixes.typed(name, RecordType::Txt).ok());
    let is_apex = *zone == view.zone.key && *name == view.zone.name;
    let apex = is_apex.then(|| apex_name(view.zone, RecordType::Txt).ok()).flatten();
    typed.chain(apex).map(|name| text_key(&name, set.key.set_id.as_ref())).collect()
}

/// Whether what stands where the claim on a TXT record belongs is one.
fn speaks_for(view: &View<'_>, set: &RecordSet, claim: &RecordSet) -> bool {
    let heritages = view.rules.heritages(claim);
    let named = heritages.iter().filter(|(_, heritage)| heritage.owner().is_some());
    let mut asked =
        named.filter(|(_, heritage)| may_ask_for_texts(heritage) && !is_moving(view.rules, set, claim, heritage));
    asked.next().is_some()
        || holds_closed(view.rules, claim)
        || begun(view.rules, claim).iter().any(|begun| begun.intent.covers(set))
}

fn may_ask_for_texts(heritage: &Heritage) -> bool {
    let resource = heritage.resource();
    let kind = resource.as_deref().and_then(|resource| resource.split('/').next()).unwrap_or_default();
    !NEVER_TEXTS.iter().any(|never| never.eq_ignore_ascii_case(kind))
}

/// Whether both sets claim one record, by the settings of different times, for one resource: a claim that is being moved.
fn is_moving(rules: &Rules, set: &RecordSet, claim: &RecordSet, heritage: &Heritage) -> bool {
    let resource = heritage.resource();
    let is_same = |other: &Heritage| other.resource() == resource;
    if rules.earlier.is_empty() || !rules.heritages(set).iter().any(|(_, other)| is_same(other)) {
        return false;
    }
    let of = |set: &RecordSet| -> Vec<(DnsName, RecordType)> {
        rules.all_affixes().flat_map(|affixes| affixes.sources(&set.key.name)).collect()
    };
    let claimed = of(claim);
    of(set).iter().any(|record| claimed.contains(record))
}

impl View<'_> {
    /// Whether a set of this zone is no claim, and none that is unfinished: its text is none, or it is a record that an object asked
    /// for.
    pub(super) fn is_ordinary(&self, set: &RecordSet) -> bool {
        let says_so = !self.rules.heritages(set).is_empty() || holds_intent(set);
        !says_so || is_record(self, &self.zone.key, set)
    }

    /// Whether an ordinary record stands in this zone under a key.
    pub(super) fn stands(&self, key: &RecordKey) -> bool {
        self.here(key).is_some_and(|set| self.is_ordinary(&set))
    }
}
