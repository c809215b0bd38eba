//! Reverse names: a PTR record for each address, where the flags or the object ask for it.
//!
//! An object says with the property `record-type` whether it wants them (`ptr`) or not (anything else). The names of all
//! objects at one address are members of its reverse name.

use std::collections::{BTreeMap, HashSet};
use std::net::IpAddr;

use super::Wrapping;
use crate::endpoint::{Endpoint, Extras, Mapped, Severity, Sharing, Targets};
use crate::name::DnsName;
use crate::notes::Notes;
use crate::rdata::RData;
use crate::record::Ttl;
use crate::rtype::RecordType;

const PROPERTY: &str = "record-type";

/// The names at one address, in order, and the TTL of its reverse name.
struct Reverse<'a> {
    from: &'a Endpoint,
    ttl: Option<Ttl>,
    names: Vec<RData>,
    seen: HashSet<&'a DnsName>,
}

impl Wrapping {
    /// Adds the reverse names of what the object asks for, and takes out the property that is meant for here.
    pub(super) fn add_reverse_names(&self, out: &mut Mapped) {
        let Some(by_default) = self.ptr else { return };
        let mut endpoints = std::mem::take(&mut out.endpoints);
        let (mut wanted, mut notes) = (Vec::new(), Notes::default());
        for (at, endpoint) in endpoints.iter_mut().enumerate() {
            let asked = endpoint.extras.edit(|extras| extras.properties.remove(PROPERTY));
            if !has_reverse(endpoint) {
                if asked.is_some() {
                    let object = &endpoint.origin.object;
                    notes.add_with(object, Severity::Warning, "NoReverseName", || unsupported(endpoint));
                }
            } else if asked.map_or(by_default, |value| value.eq_ignore_ascii_case("ptr")) {
                wanted.push(at);
            }
        }
        let reverse = reverse_names(wanted.iter().filter_map(|at| endpoints.get(*at)));
        endpoints.extend(reverse);
        out.endpoints = endpoints;
        out.notes.extend(notes.into_vec());
    }
}

fn has_reverse(endpoint: &Endpoint) -> bool {
    matches!(endpoint.rtype, RecordType::A | RecordType::Aaaa) && !endpoint.name.is_wildcard()
}

fn unsupported(endpoint: &Endpoint) -> String {
    format!(
        "annotation or property {PROPERTY}: {} {} has no reverse name; only addresses of names without a wildcard have one",
        endpoint.name, endpoint.rtype
    )
}

fn reverse_names<'a>(endpoints: impl Iterator<Item = &'a Endpoint>) -> Vec<Endpoint> {
    let mut found: BTreeMap<DnsName, Reverse<'a>> = BTreeMap::new();
    for endpoint in endpoints {
        for address in endpoint.targets.as_records().iter().filter_map(address) {
            let fresh = || Reverse { from: endpoint, ttl: endpoint.ttl, names: Vec::new(), seen: HashSet::new() };
            let reverse = found.entry(DnsName::reverse(address)).or_insert_with(fresh);
            // An unset TTL counts as the smallest.
            reverse.ttl = reverse.ttl.min(endpoint.ttl);
            if reverse.seen.insert(&endpoint.name) {
                reverse.names.push(RData::Ptr(endpoint.name.clone()));
            }
        }
    }
    found.into_iter().map(|(name, reverse)| reverse.endpoint(name)).collect()
}

impl Reverse<'_> {
    fn endpoint(self, name: DnsName) -> Endpoint {
        Endpoint {
            name,
            rtype: RecordType::Ptr,
            targets: Targets::Records(self.names),
            ttl: self.ttl,
            origin: self.from.origin.clone(),
            resource: None,
            sharing: Sharing::Union,
            policy: self.from.policy,
            extras: Extras::default(),
        }
    }
}

fn address(data: &RData) -> Option<IpAddr> {
    match data {
        RData::A(address) => Some(IpAddr::V4(*address)),
        RData::Aaaa(address) => Some(IpAddr::V6(*address)),
        _ => None,
    }
}
