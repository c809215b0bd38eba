//! How many pages each zone has, by which many names are read at once.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use zonewright_core::zone::ZoneId;

/// The pages of the last complete listing of each zone.
#[derive(Debug, Default)]
pub(crate) struct Sizes(Mutex<BTreeMap<ZoneId, usize>>);

impl Sizes {
    /// A listing ended with this page, counted from 1.
    pub(crate) fn ended(&self, zone: &ZoneId, page: usize) {
        self.known().insert(zone.clone(), page);
    }

    /// Whether all pages of the zone are fewer than these. Not while nobody has listed it.
    pub(crate) fn is_below(&self, zone: &ZoneId, requests: usize) -> bool {
        self.known().get(zone).is_some_and(|pages| *pages < requests)
    }

    /// Forgets the zones that are no longer there.
    pub(crate) fn retain(&self, is_there: impl Fn(&ZoneId) -> bool) {
        self.known().retain(|zone, _| is_there(zone));
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<ZoneId, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
