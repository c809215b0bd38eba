//! Intents of writes that were begun, in the sets where claims stand.
//!
//! In: a set, and what is published. Out: the claims that its intents speak, which hold only while the record that was
//! announced stands exactly so.

use zonewright_core::claim::OwnerId;
use zonewright_core::intent::{Announced, Intent};
use zonewright_core::rdata::Txt;
use zonewright_core::{RData, RecordKey, RecordSet};

use super::rules::Rules;
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
pub(super) fn begun<'a>(rules: &Rules, set: &'a RecordSet) -> Vec<Begun<'a>> {
    let read = |data: &'a RData| {
        let RData::Txt(txt) = data else { return None };
        let intent = Intent::parse(&txt.text()?)?;
        let claim = rules.codec.read(&Txt::from_text(&intent.claim));
        Some(Begun { data, intent, claim })
    };
    set.data.as_records().iter().filter_map(read).collect()
}

/// Whether a set holds the first half of an unfinished write, also one that cannot be read further.
pub(super) fn holds_intent(set: &RecordSet) -> bool {
    set.data.as_records().iter().any(|data| matches!(data, RData::Txt(txt) if is_intent(txt)))
}

/// Whether a member of a set is an intent of ours.
pub(super) fn is_ours(rules: &Rules, set: &RecordSet, data: &RData) -> bool {
    begun(rules, set).iter().any(|begun| begun.data == data && rules.is_of_us(begun.owner().as_ref()))
}

/// Whether a set holds intents of ours, all of them void, and nothing else: a new claim may take its place.
pub(super) fn is_void(view: &View<'_>, set: &RecordSet) -> bool {
    let begun = begun(view.rules, set);
    let void = |one: &Begun<'_>| view.rules.is_of_us(one.owner().as_ref()) && !one.holds(view, set);
    !begun.is_empty() && begun.len() == set.data.as_records().len() && begun.iter().all(void)
}
