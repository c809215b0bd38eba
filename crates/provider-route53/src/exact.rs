//! How the service spells what was read, where we would spell it otherwise.
//!
//! A `DELETE` has to state the values as they are kept, and the service compares text: `mail.example.org.` and
//! `mail.example.org` are two. What we read as equal to our own spelling needs no memory; of the rest the answer itself is kept, as
//! long as the set is read as the same. What must hold: a listing of the whole zone leaves nothing here that it did not show.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use aws_sdk_route53::types::ResourceRecordSet;
use zonewright_core::zone::ZoneId;
use zonewright_core::{DnsName, RecordKey, RecordSet};

use crate::convert;

/// The sets that are spelled otherwise, by zone and key.
#[derive(Debug, Default)]
pub(crate) struct Exact(Mutex<HashMap<ZoneId, Spellings>>);

/// Those of one zone.
#[derive(Debug, Default)]
struct Spellings {
    /// Listings that have begun.
    listings: u64,
    /// Each with the listing in whose time it was read last.
    sets: HashMap<RecordKey, (ResourceRecordSet, u64)>,
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

    /// The zone is gone.
    pub(crate) fn forget_zone(&self, zone: &ZoneId) {
        self.known().remove(zone);
    }

    /// Takes note of a set that was read.
    pub(crate) fn keep(&self, zone: &ZoneId, answer: ResourceRecordSet, set: &RecordSet) {
        let ours = convert::write(set).is_ok_and(|ours| is_spelled(&ours, &answer));
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

    /// The set as the service spells it.
    ///
    /// # Errors
    /// What of it the service has no form for.
    pub(crate) fn spelling(&self, zone: &ZoneId, set: &RecordSet) -> Result<ResourceRecordSet, String> {
        let known = self.known().get(zone).and_then(|known| known.sets.get(&set.key)).map(|(answer, _)| answer.clone());
        match known.filter(|answer| convert::read(answer).is_ok_and(|read| read == *set)) {
            Some(answer) => Ok(answer),
            None => convert::write(set),
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

#[cfg(test)]
mod tests {
    use aws_sdk_route53::types::{ResourceRecord, RrType};

    use super::*;

    const NUMBER: usize = 1_000;

    /// Services of others, whose targets have no final dot, as a listing shows them.
    fn list(exact: &Exact, zone: &ZoneId, count: usize) -> Vec<RecordSet> {
        exact.begin(zone);
        let sets = (0..count).map(|n| {
            let value = ResourceRecord::builder().value("10 5 5060 sip.example.net").build().unwrap();
            let set = ResourceRecordSet::builder().name(format!("_sip._tcp.n{n}.example.org.")).r#type(RrType::Srv);
            let answer = set.ttl(300).resource_records(value).build().unwrap();
            let set = convert::read(&answer).unwrap();
            exact.keep(zone, answer, &set);
            set
        });
        let sets = sets.collect();
        exact.end(zone);
        sets
    }

    #[test]
    fn what_a_listing_does_not_show_any_more_is_forgotten() {
        let (exact, zone, other) = (Exact::default(), ZoneId::from("Z1"), ZoneId::from("Z2"));
        list(&exact, &other, 1);
        let sets = list(&exact, &zone, NUMBER);
        assert_eq!((sets.len(), exact.size()), (NUMBER, NUMBER + 1));
        let spelled = exact.spelling(&zone, &sets[NUMBER - 1]).unwrap();
        assert_eq!(spelled.resource_records()[0].value(), "10 5 5060 sip.example.net");
        list(&exact, &zone, 10);
        assert_eq!(exact.size(), 11);
        list(&exact, &zone, 0);
        assert_eq!(exact.size(), 1, "that of the other zone");
        exact.forget_zone(&other);
        assert!(exact.known().len() == 1 && exact.size() == 0);
    }
}
