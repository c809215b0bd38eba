//! The form in which a set is read back, and what the service would refuse of it.
//!
//! Limits: <https://cloud.google.com/dns/quotas>

use zonewright_core::provider::Adjustment;
use zonewright_core::{RData, RecordData, RecordSet, RecordType, Ttl};

use crate::convert::DEFAULT_TTL;
use crate::policy;
use crate::wire::Quota;

/// Most records of a delegation.
const SERVERS: usize = 8;

/// What becomes of a wanted set, which may be one item of a routing policy.
pub(crate) fn adjust(set: &RecordSet, quota: Quota) -> Adjustment {
    let refused = if set.routing.is_simple() { refusal(set, quota) } else { refused_item(set, quota) };
    if let Some(why) = refused {
        return Adjustment::Refused(why);
    }
    Adjustment::to(RecordSet { ttl: set.ttl.or_else(|| Ttl::from_secs(DEFAULT_TTL)), ..set.clone() })
}

/// The types that the service has, of those that can be written: all but DNAME.
pub(crate) fn types() -> Vec<RecordType> {
    RecordType::WRITABLE.into_iter().filter(|rtype| *rtype != RecordType::Dname).collect()
}

/// Why the service would refuse this whole set, whatever else stands in the zone.
pub(crate) fn refusal(set: &RecordSet, quota: Quota) -> Option<String> {
    if let Some(why) = refused_type(set) {
        return Some(why);
    }
    match &set.data {
        RecordData::Records(records) => refused_records(set.key.rtype, records, quota),
        RecordData::Items(items) => {
            let most = quota.items_per_routing_policy;
            if items.len() > most {
                return Some(format!("the routing policy has {} items; the project takes at most {most}", items.len()));
            }
            items.iter().find_map(|item| {
                let bad = policy::check(&item.routing).err();
                bad.or_else(|| refused_records(set.key.rtype, &item.records, quota))
            })
        }
        RecordData::Alias(_) => Some("alias records of Cloud DNS are not published".to_owned()),
    }
}

/// Why the service would refuse this item of a routing policy.
fn refused_item(set: &RecordSet, quota: Quota) -> Option<String> {
    let records = match &set.data {
        RecordData::Records(records) => records,
        RecordData::Alias(_) | RecordData::Items(_) => {
            return Some("an item of a routing policy holds records".to_owned());
        }
    };
    refused_type(set)
        .or_else(|| policy::check(&set.routing).err())
        .or_else(|| refused_records(set.key.rtype, records, quota))
}

fn refused_type(set: &RecordSet) -> Option<String> {
    let rtype = set.key.rtype;
    (!types().contains(&rtype)).then(|| format!("Cloud DNS has no records of type {rtype}"))
}

fn refused_records(rtype: RecordType, records: &[RData], quota: Quota) -> Option<String> {
    let most = if rtype == RecordType::Ns { SERVERS } else { quota.resource_records_per_rrset };
    if records.len() > most {
        return Some(format!("the set has {} records; the project takes at most {most}", records.len()));
    }
    let bytes: usize = records.iter().map(|record| record.to_string().len()).sum();
    // An update takes the old values away in the same request.
    let most = quota.total_rrdata_size_per_change / 2;
    (bytes > most).then(|| format!("the values have {bytes} bytes; they are published up to {most}"))
}

#[cfg(test)]
mod tests {
    use zonewright_core::DnsName;
    use zonewright_core::record::{Geolocation, Routing};

    use super::*;

    fn a(count: u8) -> RecordSet {
        let name = DnsName::parse("www.example.org").unwrap();
        let data = (0..count).map(|i| RData::parse(RecordType::A, &format!("192.0.2.{i}")).unwrap());
        RecordSet::simple(name, RecordType::A, None, data)
    }

    fn quota() -> Quota {
        Quota { resource_records_per_rrset: 3, total_rrdata_size_per_change: 60, ..Quota::default() }
    }

    #[track_caller]
    fn check(set: &RecordSet, refused: Option<&str>) {
        match (adjust(set, quota()), refused) {
            (Adjustment::Refused(why), Some(said)) => assert!(why.contains(said), "{why}"),
            (Adjustment::As { sets, .. }, None) => assert_eq!(sets[0].ttl.map(Ttl::secs), Some(300)),
            (other, said) => panic!("{other:?}; expected {said:?}"),
        }
    }

    #[test]
    fn limits() {
        check(&a(3), None);
        check(&a(4), Some("at most 3"));
        let long = RData::parse(RecordType::Txt, &format!("\"{}\"", "x".repeat(29))).unwrap();
        let mut text = a(0);
        (text.key.rtype, text.data) = (RecordType::Txt, RecordData::records([long]));
        check(&text, Some("31 bytes"));
        let mut dname = a(0);
        dname.key.rtype = RecordType::Dname;
        check(&dname, Some("DNAME"));
    }

    #[test]
    fn items() {
        let item = |routing| RecordSet { routing, ..a(1) };
        let place = |country: Option<&str>, continent: Option<&str>| Routing::Geolocation {
            location: Geolocation {
                country: country.map(Into::into),
                continent: continent.map(Into::into),
                subdivision: None,
            },
        };
        check(&item(Routing::Weighted { weight: 1_000 }), None);
        check(&item(Routing::Weighted { weight: 1_001 }), Some("1001"));
        check(&item(place(Some("europe-west3"), None)), None);
        check(&item(place(None, Some("EU"))), Some("google-location"));
        check(&item(Routing::Failover { primary: true }), Some("failover"));
    }
}
