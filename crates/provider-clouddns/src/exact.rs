//! How the service spells what was read, where we would spell it otherwise.
//!
//! A deletion has to state the set as it is kept. What we read as equal to our own spelling needs no memory; of the rest the answer
//! itself is kept, as long as the set is read as the same. So a health check of a routing policy, or an item that is not understood,
//! is sent back as it stood.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use zonewright_core::zone::ZoneId;
use zonewright_core::{DnsName, RecordKey, RecordSet};

use crate::convert;
use crate::wire::Rrset;

/// The sets that are spelled otherwise, by zone and key.
#[derive(Debug, Default)]
pub(crate) struct Exact(Mutex<HashMap<(ZoneId, RecordKey), Rrset>>);

impl Exact {
    /// Takes note of a set that was read.
    pub(crate) fn keep(&self, zone: &ZoneId, answer: Rrset, set: &RecordSet) {
        let at = (zone.clone(), set.key.clone());
        let ours = convert::write(set, None).is_ok_and(|ours| convert::is_spelled(&ours, &answer));
        let mut known = self.known();
        if ours {
            known.remove(&at);
        } else {
            known.insert(at, answer);
        }
    }

    /// What stood at these names is being read anew.
    pub(crate) fn forget(&self, zone: &ZoneId, names: &BTreeSet<DnsName>) {
        self.known().retain(|(at, key), _| at != zone || !names.contains(&key.name));
    }

    /// Forgets the zones that are no longer there.
    pub(crate) fn retain(&self, is_there: impl Fn(&ZoneId) -> bool) {
        self.known().retain(|(zone, _), _| is_there(zone));
    }

    /// The set as the service spells it.
    ///
    /// # Errors
    /// What of it the service has no form for.
    pub(crate) fn spelling(&self, zone: &ZoneId, set: &RecordSet) -> Result<Rrset, String> {
        let known = self.known().get(&(zone.clone(), set.key.clone())).cloned();
        match known.filter(|answer| convert::read(answer).is_ok_and(|read| read == *set)) {
            Some(answer) => Ok(answer),
            None => convert::write(set, None),
        }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<(ZoneId, RecordKey), Rrset>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
