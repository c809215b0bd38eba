//! How the service spells what was read, where we would spell it otherwise.
//!
//! A deletion has to state the set as it is kept. What we read as equal to our own spelling needs no memory; of the rest the answer
//! itself is kept, as long as the set is read as the same. So a health check of a routing policy, or an item that is not understood,
//! is sent back as it stood. What must hold: a listing of the whole zone leaves nothing here that it did not show.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use zonewright_core::zone::ZoneId;
use zonewright_core::{DnsName, RecordKey, RecordSet};

use crate::convert;
use crate::wire::Rrset;

/// The sets that are spelled otherwise, by zone and key.
#[derive(Debug, Default)]
pub(crate) struct Exact(Mutex<HashMap<ZoneId, Spellings>>);

/// Those of one zone.
#[derive(Debug, Default)]
struct Spellings {
    /// Listings that have begun.
    listings: u64,
    /// Each with the listing in whose time it was read last.
    sets: HashMap<RecordKey, (Rrset, u64)>,
}

impl Exact {
    /// A listing of the whole zone begins.
    pub(crate) fn begin(&self, zone: &ZoneId) {
        self.known().entry(zone.clone()).or_default().listings += 1;
    }

    /// A listing of the whole zone has come to its end: what it did not show stands no more. Should another one have begun meanwhile,
    /// a spelling may be lost with it; then a change is refused as a conflict, and the set is read again.
    pub(crate) fn end(&self, zone: &ZoneId) {
        if let Some(Spellings { listings, sets }) = self.known().get_mut(zone) {
            sets.retain(|_, (_, seen)| seen == listings);
            sets.shrink_to_fit();
        }
    }

    /// Takes note of a set that was read.
    pub(crate) fn keep(&self, zone: &ZoneId, answer: Rrset, set: &RecordSet) {
        let ours = convert::write(set, None).is_ok_and(|ours| convert::is_spelled(&ours, &answer));
        let mut known = self.known();
        let Spellings { listings, sets } = known.entry(zone.clone()).or_default();
        if ours {
            sets.remove(&set.key);
        } else {
            sets.insert(set.key.clone(), (answer, *listings));
        }
    }

    /// What stood at these names is being read anew.
    pub(crate) fn forget(&self, zone: &ZoneId, names: &BTreeSet<DnsName>) {
        if let Some(known) = self.known().get_mut(zone) {
            known.sets.retain(|key, _| !names.contains(&key.name));
        }
    }

    /// Forgets the zones that are no longer there.
    pub(crate) fn retain(&self, is_there: impl Fn(&ZoneId) -> bool) {
        self.known().retain(|zone, _| is_there(zone));
    }

    /// The set as the service spells it.
    ///
    /// # Errors
    /// What of it the service has no form for.
    pub(crate) fn spelling(&self, zone: &ZoneId, set: &RecordSet) -> Result<Rrset, String> {
        let known = self.known().get(zone).and_then(|known| known.sets.get(&set.key)).map(|(answer, _)| answer.clone());
        match known.filter(|answer| convert::read(answer).is_ok_and(|read| read == *set)) {
            Some(answer) => Ok(answer),
            None => convert::write(set, None),
        }
    }

    #[cfg(test)]
    pub(crate) fn size(&self) -> usize {
        self.known().values().map(|known| known.sets.len()).sum()
    }

    fn known(&self) -> MutexGuard<'_, HashMap<ZoneId, Spellings>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
