//! What is ours in a set of claims and speaks for nothing: intents of writes that came to nothing, and claims without a record.
//!
//! In: a set, and what is published. Out: the group that takes them away.

use zonewright_core::change::{Change, Group, Step};
use zonewright_core::registry::{ClaimAnomaly, StaleClaims};
use zonewright_core::{RData, RecordData, RecordSet};

use super::anomaly::anomaly;
use super::intents::begun;
use super::record::is_record;
use super::view::View;

/// The group that takes away what is ours and speaks for nothing.
pub(super) fn collect_stale_claims(view: &View<'_>, set: &RecordSet, what: StaleClaims) -> Option<Group> {
    if is_record(view, &view.zone.key, set) {
        return None;
    }
    let begun = begun(view.rules, set);
    let heritages = view.rules.heritages(set);
    let orphaned = what == StaleClaims::Claims && matches!(anomaly(view, set), Some(ClaimAnomaly::Orphan(_)));
    let ours = |data: &RData| heritages.iter().any(|(at, heritage)| *at == data && view.rules.is_ours(heritage));
    let unfinished = |data: &RData| {
        begun.iter().any(|one| one.data == data && view.rules.is_of_us(one.owner().as_ref()) && !one.holds(view, set))
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
        stored: Vec::new(),
        requires: Vec::new(),
        objects: Vec::new(),
    })
}
