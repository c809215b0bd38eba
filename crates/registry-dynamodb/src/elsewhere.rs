//! Where else a record stands whose row names no zone.
//!
//! In: what is known of it when a group that takes the record away is made. Out: the same, when the group is closed. What must hold: it is
//! kept only as long as the group is under way.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use zonewright_core::RecordKey;
use zonewright_core::zone::ZoneKey;

type Known = HashMap<(ZoneKey, RecordKey), BTreeSet<String>>;

/// The other zones in which the record of each group under way stands.
#[derive(Debug, Default)]
pub(crate) struct Elsewhere(Mutex<Known>);

impl Elsewhere {
    /// Remembers the other zones of a record that a group takes away in `zone`.
    pub(crate) fn note(&self, zone: &ZoneKey, record: &RecordKey, others: BTreeSet<String>) {
        let at = (zone.clone(), record.clone());
        if others.is_empty() {
            self.known().remove(&at);
        } else {
            self.known().insert(at, others);
        }
    }

    /// What was remembered, for the last time.
    pub(crate) fn take(&self, at: &(ZoneKey, RecordKey)) -> BTreeSet<String> {
        self.known().remove(at).unwrap_or_default()
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
