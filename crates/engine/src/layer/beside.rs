//! What stands at a name beside our own records, where a create merely adds to it.
//!
//! In: sets that were created or are to go, and what was read at their names. Out: what speaks against them, and how ours goes while
//! theirs stays.

use zonewright_core::change::Change;
use zonewright_core::rdata::RData;
use zonewright_core::record::{RecordData, RecordSet};

/// What speaks against a record set that was just created, by what is found at its name, where `excludes` says which sets
/// cannot stand together.
pub(super) fn conflict(
    set: &RecordSet,
    found: &[RecordSet],
    excludes: &dyn Fn(&RecordSet, &RecordSet) -> bool,
) -> Option<String> {
    let here: Vec<&RecordSet> = found.iter().filter(|other| other.key.name == set.key.name).collect();
    let Some(own) = here.iter().find(|other| other.key == set.key) else {
        return Some(format!("{} was confirmed, but is not there", set.key));
    };
    if let Some(foreign) = own.data.as_records().iter().find(|data| !set.data.as_records().contains(data)) {
        return Some(format!("{}: {foreign} was put there by another writer meanwhile", set.key));
    }
    let other = here.iter().find(|other| excludes(set, other))?;
    Some(format!("{}: {} was put beside it by another writer meanwhile", set.key, other.key))
}

/// What speaks against a claim set that was just changed, by what is found at its name.
pub(super) fn edited(set: &RecordSet, found: &[RecordSet]) -> Option<String> {
    match found.iter().find(|other| other.key == set.key) {
        None => Some(format!("{} was taken away by another writer meanwhile", set.key)),
        Some(own) if own.data != set.data => Some(format!("{} was changed by another writer meanwhile", set.key)),
        Some(_) => None,
    }
}

pub(super) fn created(change: &Change) -> Option<&RecordSet> {
    match change {
        Change::Create { to } => Some(to),
        Change::Update { .. } | Change::Delete { .. } => None,
    }
}

pub(super) fn deleted(change: &Change) -> Option<&RecordSet> {
    match change {
        Change::Delete { from } => Some(from),
        Change::Create { .. } | Change::Update { .. } => None,
    }
}

/// The change that takes the members of a set away and leaves those that stand beside them, if there are any.
pub(super) fn leave_others(from: &RecordSet, found: &[RecordSet]) -> Option<Change> {
    let stands = found.iter().find(|set| set.key == from.key && set.data.contains(&from.data))?;
    let (all, ours) = (stands.data.as_records(), from.data.as_records());
    let others: Vec<RData> = all.iter().filter(|data| !ours.contains(data)).cloned().collect();
    let to = (!others.is_empty()).then(|| RecordSet { data: RecordData::records(others), ..stands.clone() })?;
    Some(Change::Update { from: stands.clone(), to })
}
