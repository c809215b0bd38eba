//! Which targets count: the default ones where an endpoint has none, and only those inside the networks that the user
//! chose.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use ipnet::IpNet;

use super::{Wrapping, wait};
use crate::endpoint::{Endpoint, Mapped, Severity, Targets};
use crate::explain::{Cause, Consideration, Dropped};
use crate::notes::Notes;
use crate::rdata::RData;
use crate::rtype::RecordType;

/// Whether an endpoint has no target.
pub(super) fn is_bare(endpoint: &Endpoint) -> bool {
    matches!(&endpoint.targets, Targets::Records(records) if records.is_empty())
}

impl Wrapping {
    /// Takes an endpoint over, with the default targets if it is their turn: then its own type does not count, each target
    /// has the type that it is. Without any target the name waits.
    pub(super) fn with_default_targets(&self, endpoint: &Endpoint, out: &mut Mapped) {
        let bare = is_bare(endpoint);
        if !self.default_targets.is_empty() && (bare || self.force_default_targets) {
            out.endpoints.extend(self.by_type(endpoint));
        } else if bare {
            wait(out, endpoint, "it has no targets, and there are no --default-targets");
        } else {
            out.endpoints.push(endpoint.clone());
        }
    }

    fn by_type(&self, endpoint: &Endpoint) -> impl Iterator<Item = Endpoint> {
        [RecordType::A, RecordType::Aaaa, RecordType::Cname].into_iter().filter_map(move |rtype| {
            let of_type = self.default_targets.iter().filter(|data| data.rtype() == rtype);
            let records: Vec<RData> = of_type.cloned().collect();
            let made = || Endpoint { rtype, targets: Targets::Records(records.clone()), ..endpoint.clone() };
            (!records.is_empty()).then(made)
        })
    }

    /// Takes out what the filters do not let through, and notes where nothing is left.
    pub(super) fn filter_targets(&self, out: &mut Mapped) {
        if self.target_nets.is_empty() && self.excluded_target_nets.is_empty() {
            return;
        }
        let mut notes = Notes::default();
        out.endpoints.retain_mut(|endpoint| {
            let before = endpoint.clone();
            let kept = self.keep_targets(endpoint);
            if !kept {
                let text = || format!("{before} is left out: {} lets none of its targets through", self.target_flags());
                notes.add_with(&endpoint.origin.object, Severity::Normal, Cause::TargetFiltered.reason(), text);
            }
            kept
        });
        out.notes.extend(notes.into_vec());
    }

    /// The filters on targets, as flags.
    fn target_flags(&self) -> String {
        let included = self.target_nets.iter().map(|net| format!("--target-net-filter={net}"));
        let excluded = self.excluded_target_nets.iter().map(|net| format!("--exclude-target-net={net}"));
        included.chain(excluded).collect::<Vec<_>>().join(" ")
    }

    /// Adds to what is known of an object that its targets are filtered.
    pub(super) fn consider(&self, one: &mut Consideration) {
        let wrapped = self.apply(&one.mapped);
        let filtered = wrapped.notes.iter().filter(|note| note.reason == Cause::TargetFiltered.reason());
        if filtered.count() > 0 {
            let left: Vec<_> = wrapped.endpoints.iter().map(|endpoint| &endpoint.name).collect();
            let mut names: Vec<_> = one.mapped.endpoints.iter().map(|endpoint| endpoint.name.clone()).collect();
            names.retain(|name| !left.contains(&name));
            names.dedup();
            if !names.is_empty() {
                one.considered.dropped.push(Dropped { cause: Cause::TargetFiltered, by: self.target_flags(), names });
            }
        }
        one.mapped = Arc::new(wrapped);
    }

    /// Takes the targets out that the filters do not let through; returns whether any are left.
    pub(super) fn keep_targets(&self, endpoint: &mut Endpoint) -> bool {
        match &mut endpoint.targets {
            Targets::Records(records) => {
                records.retain(|data| self.lets_through(address(data)));
                !records.is_empty()
            }
            Targets::Alias(_) => self.lets_through(None),
        }
    }

    /// A host name is in no network.
    fn lets_through(&self, address: Option<IpAddr>) -> bool {
        let inside = |nets: &[IpNet]| address.is_some_and(|address| nets.iter().any(|net| net.contains(&address)));
        (self.target_nets.is_empty() || inside(&self.target_nets)) && !inside(&self.excluded_target_nets)
    }
}

fn address(data: &RData) -> Option<IpAddr> {
    match data {
        RData::A(address) => Some(IpAddr::V4(*address)),
        RData::Aaaa(address) => Some(unmapped(*address)),
        _ => None,
    }
}

/// `::ffff:1.2.3.4` counts as `1.2.3.4`.
fn unmapped(address: Ipv6Addr) -> IpAddr {
    address.to_ipv4_mapped().map_or(IpAddr::V6(address), IpAddr::V4)
}
