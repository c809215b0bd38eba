//! The simulated world.

mod cluster;
mod log;
mod provider;
mod world;

use zonewright_core::{DnsName, RData, RecordSet, RecordType, Ttl};

pub(crate) use cluster::Cluster;
use cluster::object;
pub(crate) use log::Log;
pub(crate) use provider::{Fault, Sim, is_claim};
pub(crate) use world::{World, after, rest};

pub(crate) fn name(text: &str) -> DnsName {
    DnsName::parse(text).unwrap()
}

/// `name TYPE data data`; blanks inside data are written `_`.
pub(crate) fn set(line: &str) -> RecordSet {
    let mut words = line.split(' ');
    let owner = name(words.next().unwrap());
    let rtype: RecordType = words.next().unwrap().parse().unwrap();
    let data = words.map(|word| RData::parse(rtype, &word.replace('_', " ")).unwrap());
    RecordSet::simple(owner, rtype, Ttl::from_secs(0), data)
}
