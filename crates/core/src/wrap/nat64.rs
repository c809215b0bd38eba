//! IPv4 addresses out of IPv6 ones that a NAT64 gateway translates (RFC 6052): an AAAA record inside one of the networks
//! brings an A record beside it.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::Wrapping;
use crate::endpoint::{Endpoint, Targets};
use crate::rdata::RData;
use crate::rtype::RecordType;

impl Wrapping {
    pub(super) fn add_nat64(&self, endpoints: &mut Vec<Endpoint>) {
        if self.nat64.is_empty() {
            return;
        }
        for made in endpoints.iter().filter_map(|endpoint| self.translated(endpoint)).collect::<Vec<_>>() {
            join(endpoints, made);
        }
    }

    /// The IPv4 side of an endpoint; `None` if none of its addresses is translated.
    fn translated(&self, endpoint: &Endpoint) -> Option<Endpoint> {
        let records: Vec<RData> =
            endpoint.targets.as_records().iter().filter_map(|data| self.translate(data)).collect();
        let targets = Targets::Records(records);
        let made = || Endpoint { rtype: RecordType::A, targets: targets.clone(), ..endpoint.clone() };
        (!targets.as_records().is_empty()).then(made)
    }

    fn translate(&self, data: &RData) -> Option<RData> {
        let RData::Aaaa(address) = data else { return None };
        self.nat64.contains(&prefix(*address)).then(|| RData::A(embedded(*address)))
    }
}

fn prefix(address: Ipv6Addr) -> Ipv6Addr {
    Ipv6Addr::from_bits(address.to_bits() >> 32 << 32)
}

/// The last 32 bits.
fn embedded(address: Ipv6Addr) -> Ipv4Addr {
    let [.., a, b, c, d] = address.octets();
    Ipv4Addr::new(a, b, c, d)
}

/// Adds an endpoint; where the object asks for the same record set already, its targets.
fn join(endpoints: &mut Vec<Endpoint>, made: Endpoint) {
    let same =
        |other: &&mut Endpoint| other.name == made.name && other.rtype == made.rtype && other.set_id == made.set_id;
    match endpoints.iter_mut().find(same) {
        Some(Endpoint { targets: Targets::Records(records), .. }) => {
            let new: Vec<RData> =
                made.targets.as_records().iter().filter(|data| !records.contains(data)).cloned().collect();
            records.extend(new);
        }
        Some(_) => {}
        None => endpoints.push(made),
    }
}
