//! Zones and sets in one line each, for unit tests.

use zonewright_core::{DnsName, RData, RecordSet, RecordType, Ttl};

use crate::journal::Journal;
use crate::soa::{Soa, localhost};
use crate::table::ZoneTable;

/// `name ttl TYPE data`, several data parted by ` | `.
pub(crate) fn set(line: &str) -> RecordSet {
    let mut words = line.splitn(4, ' ');
    let mut word = || words.next().unwrap_or_else(|| panic!("{line:?} is too short"));
    let (name, ttl, rtype, data) = (word(), word(), word(), word());
    let rtype: RecordType = rtype.parse().unwrap();
    let data = data.split(" | ").map(|text| RData::parse(rtype, text).unwrap());
    RecordSet::simple(DnsName::parse(name).unwrap(), rtype, Ttl::from_secs(ttl.parse().unwrap()), data)
}

/// The zone `example.test` with serial 1, one name server, and these sets.
pub(crate) fn zone(lines: &[&str]) -> ZoneTable {
    let apex = DnsName::parse("example.test").unwrap();
    let mut zone = ZoneTable::new(apex.clone(), Soa::fresh(&apex, 1), Journal::new(1, 100));
    zone.load(RecordSet::simple(apex, RecordType::Ns, Ttl::from_secs(3600), [RData::Ns(localhost())]));
    for line in lines {
        zone.load(set(line));
    }
    zone
}
