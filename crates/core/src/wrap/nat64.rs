//! IPv4 addresses out of IPv6 ones that a NAT64 gateway translates (RFC 6052): an AAAA record inside one of the networks
//! brings an A record beside it.

use std::collections::HashMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use super::Wrapping;
use crate::endpoint::{Endpoint, Targets};
use crate::rdata::{Members, RData};
use crate::rtype::RecordType;

impl Wrapping {
    pub(super) fn add_nat64(&self, endpoints: &mut Vec<Endpoint>) {
        if self.nat64.is_empty() {
            return;
        }
        let made: Vec<Endpoint> = endpoints.iter().filter_map(|endpoint| self.translated(endpoint)).collect();
        let mut places = HashMap::new();
        for (at, endpoint) in endpoints.iter().enumerate() {
            places.entry(endpoint.key()).or_insert(at);
        }
        for made in made {
            let at = *places.entry(made.key()).or_insert(endpoints.len());
            match endpoints.get_mut(at) {
                Some(same) => join(same, &made),
                None => endpoints.push(made),
            }
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

/// Adds the targets of an endpoint to those that the object states for the same record set.
fn join(same: &mut Endpoint, made: &Endpoint) {
    if let Targets::Records(records) = &mut same.targets {
        let known = Members::of(records);
        let new: Vec<RData> = made.targets.as_records().iter().filter(|data| !known.holds(data)).cloned().collect();
        records.extend(new);
    }
}
