//! How the service spells what was read, where we would spell it otherwise.
//!
//! A `DELETE` has to state the values as they are kept, and the service compares text: `mail.example.org.` and
//! `mail.example.org` are two. What we read as equal to our own spelling needs no memory; of the rest the answer itself is kept, as
//! long as the set is read as the same.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use aws_sdk_route53::types::ResourceRecordSet;
use zonewright_core::zone::ZoneId;
use zonewright_core::{DnsName, RecordKey, RecordSet};

use crate::convert;

/// The sets that are spelled otherwise, by zone and key.
#[derive(Debug, Default)]
pub(crate) struct Exact(Mutex<HashMap<(ZoneId, RecordKey), ResourceRecordSet>>);

impl Exact {
    /// Takes note of a set that was read.
    pub(crate) fn keep(&self, zone: &ZoneId, answer: ResourceRecordSet, set: &RecordSet) {
        let at = (zone.clone(), set.key.clone());
        let ours = convert::write(set).is_ok_and(|ours| is_spelled(&ours, &answer));
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

    /// The set as the service spells it.
    ///
    /// # Errors
    /// What of it the service has no form for.
    pub(crate) fn spelling(&self, zone: &ZoneId, set: &RecordSet) -> Result<ResourceRecordSet, String> {
        let known = self.known().get(&(zone.clone(), set.key.clone())).cloned();
        match known.filter(|answer| convert::read(answer).is_ok_and(|read| read == *set)) {
            Some(answer) => Ok(answer),
            None => convert::write(set),
        }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<(ZoneId, RecordKey), ResourceRecordSet>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether both are the same text for the service. Names and types are no content; it keeps names in lower case, with octal
/// escapes, and a final dot.
fn is_spelled(ours: &ResourceRecordSet, answer: &ResourceRecordSet) -> bool {
    let alias = |set: &ResourceRecordSet| {
        let alias = set.alias_target()?;
        Some((alias.dns_name().to_owned(), alias.hosted_zone_id().to_owned(), alias.evaluate_target_health()))
    };
    let near = |set: &ResourceRecordSet| set.geo_proximity_location().cloned();
    ours.ttl() == answer.ttl()
        && ours.resource_records() == answer.resource_records()
        && alias(ours) == alias(answer)
        && ours.weight() == answer.weight()
        && ours.multi_value_answer() == answer.multi_value_answer()
        && near(ours) == near(answer)
        && ours.cidr_routing_config() == answer.cidr_routing_config()
}
