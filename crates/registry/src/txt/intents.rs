//! Intents of writes that were begun, in the sets where claims stand.
//!
//! In: a set, and what is published. Out: the claims that its intents speak, which hold only while the record that was
//! announced stands exactly so; and what is to become of intents that speak for nothing.

use zonewright_core::change::{Change, Group, Step};
use zonewright_core::claim::OwnerId;
use zonewright_core::intent::{Announced, Intent};
use zonewright_core::rdata::Txt;
use zonewright_core::registry::{ClaimAnomaly, StaleClaims};
use zonewright_core::{RData, RecordData, RecordKey, RecordSet};

use super::TxtRegistry;
use super::anomaly::anomaly;
use super::record::is_record;
use super::value::{Heritage, is_intent};
use super::view::View;

/// An intent, the data that holds it, and the claim that it announces; no claim where that cannot be read.
pub(super) struct Begun<'a> {
    pub(super) data: &'a RData,
    pub(super) intent: Intent,
    pub(super) claim: Option<Heritage>,
}

impl Begun<'_> {
    /// Who began the write, if that can be read.
    pub(super) fn owner(&self) -> Option<OwnerId> {
        self.claim.as_ref()?.owner()
    }

    /// Whether it speaks for `key`: what stands there was announced so. Where nothing stands, the rest of its group speaks.
    pub(super) fn speaks_for(&self, key: &RecordKey, view: &View<'_>, set: &RecordSet) -> bool {
        view.here(key).map_or_else(|| self.holds(view, set), |standing| self.intent.covers(&standing))
    }

    /// Whether a record that it announced stands as announced.
    pub(super) fn holds(&self, view: &View<'_>, set: &RecordSet) -> bool {
        let key = |record: &Announced| RecordKey {
            name: record.name.clone(),
            rtype: record.rtype,
            set_id: set.key.set_id.clone(),
        };
        let stands = |record| view.here(&key(record)).is_some_and(|standing| self.intent.covers(&standing));
        self.intent.records.iter().any(stands)
    }
}

/// The intents in a set.
pub(super) fn begun<'a>(registry: &TxtRegistry, set: &'a RecordSet) -> Vec<Begun<'a>> {
    let read = |data: &'a RData| {
        let RData::Txt(txt) = data else { return None };
        let intent = Intent::parse(&txt.text()?)?;
        let claim = registry.codec.read(&Txt::from_text(&intent.claim));
        Some(Begun { data, intent, claim })
    };
    set.data.as_records().iter().filter_map(read).collect()
}

/// Whether a set holds the first half of an unfinished write, also one that cannot be read further.
pub(super) fn holds_intent(set: &RecordSet) -> bool {
    set.data.as_records().iter().any(|data| matches!(data, RData::Txt(txt) if is_intent(txt)))
}

/// Whether a member of a set is an intent of ours.
pub(super) fn is_ours(registry: &TxtRegistry, set: &RecordSet, data: &RData) -> bool {
    begun(registry, set).iter().any(|begun| begun.data == data && registry.is_of_us(begun.owner().as_ref()))
}

/// Whether a set holds intents of ours, all of them void, and nothing else: a new claim may take its place.
pub(super) fn is_void(view: &View<'_>, set: &RecordSet) -> bool {
    let begun = begun(view.registry, set);
    let void = |one: &Begun<'_>| view.registry.is_of_us(one.owner().as_ref()) && !one.holds(view, set);
    !begun.is_empty() && begun.len() == set.data.as_records().len() && begun.iter().all(void)
}

/// The group that takes away what is ours and speaks for nothing.
pub(super) fn collect_stale_claims(view: &View<'_>, set: &RecordSet, what: StaleClaims) -> Option<Group> {
    if is_record(view, &view.zone.key, set) {
        return None;
    }
    let begun = begun(view.registry, set);
    let heritages = view.registry.heritages(set);
    let orphaned = what == StaleClaims::Claims && matches!(anomaly(view, set), Some(ClaimAnomaly::Orphan(_)));
    let ours = |data: &RData| heritages.iter().any(|(at, heritage)| *at == data && view.registry.is_ours(heritage));
    let unfinished = |data: &RData| {
        begun
            .iter()
            .any(|one| one.data == data && view.registry.is_of_us(one.owner().as_ref()) && !one.holds(view, set))
    };
    let void = |data: &RData| unfinished(data) || (orphaned && ours(data));
    let rest: Vec<RData> = set.data.as_records().iter().filter(|data| !void(data)).cloned().collect();
    if rest.len() == set.data.as_records().len() {
        return None;
    }
    let change = if rest.is_empty() {
        Change::Delete { from: set.clone() }
    } else {
        Change::Update { from: set.clone(), to: RecordSet { data: RecordData::records(rest), ..set.clone() } }
    };
    Some(Group {
        name: set.key.name.clone(),
        steps: vec![Step::claim(change)],
        requires: Vec::new(),
        objects: Vec::new(),
    })
}
