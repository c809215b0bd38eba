//! How many pages each zone has, for providers that can read many names at once by them.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::zone::ZoneId;

/// The pages of the last complete listing of each zone.
#[derive(Debug, Default)]
pub struct Sizes(Mutex<BTreeMap<ZoneId, usize>>);

impl Sizes {
    /// A listing ended with this page, counted from 1.
    pub fn ended(&self, zone: &ZoneId, page: usize) {
        self.known().insert(zone.clone(), page);
    }

    /// Whether all pages of the zone are fewer than these. Not while nobody has listed it.
    pub fn is_below(&self, zone: &ZoneId, requests: usize) -> bool {
        self.known().get(zone).is_some_and(|pages| *pages < requests)
    }

    /// Forgets the zones that are no longer there.
    pub fn retain(&self, is_there: impl Fn(&ZoneId) -> bool) {
        self.known().retain(|zone, _| is_there(zone));
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<ZoneId, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_small_once_it_was_listed() {
        let (sizes, zone) = (Sizes::default(), ZoneId::from("z"));
        assert!(!sizes.is_below(&zone, 100));
        sizes.ended(&zone, 2);
        assert!(sizes.is_below(&zone, 3) && !sizes.is_below(&zone, 2));
        sizes.retain(|_| false);
        assert!(!sizes.is_below(&zone, 3));
    }
}
