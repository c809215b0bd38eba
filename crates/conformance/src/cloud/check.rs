//! The rules of the service: what it refuses.
//!
//! In: sets and groups as they would stand. Out: nothing, or why the call is refused.

use std::collections::{BTreeMap, BTreeSet};

use zonewright_core::capability::RoutingKind;
use zonewright_core::change::{Change, Group};
use zonewright_core::error::{Error, ErrorKind, Result};
use zonewright_core::in_set::policy_key;
use zonewright_core::provider::Provider;
use zonewright_core::record::{Item, Routing};
use zonewright_core::{DnsName, RecordData, RecordKey, RecordSet, RecordType};

use super::{Cloud, CloudFault, address};

impl Cloud {
    /// What one set has to keep to.
    pub(super) fn check(&self, set: &RecordSet) -> Result<()> {
        let key = &set.key;
        let invalid = |text: String| Err(Error::new(ErrorKind::Invalid, "apply changes", text));
        if !key.name.is_within(&self.zone.name) {
            return invalid(format!("{key} is outside zone {}", self.zone.name));
        }
        if !RecordType::WRITABLE.contains(&key.rtype) {
            return invalid(format!("there are no records of type {}", key.rtype));
        }
        if matches!(set.data, RecordData::Alias(_)) && (self.flattening || !address(key.rtype)) {
            return invalid(format!("{key} cannot be an alias"));
        }
        if let RecordData::Items(items) = &set.data {
            self.check_items(set, items)?;
        }
        let weighted = matches!(set.routing, Routing::Weighted { .. });
        if self.in_set && (key.set_id.is_some() || weighted) {
            return invalid(format!("{key}: there are no identifiers; the items of a policy share one record set"));
        }
        if key.set_id.is_some() != weighted || !(weighted || set.routing.is_simple()) {
            return invalid(format!("{key}: an identifier goes with a weight, and a weight with an identifier"));
        }
        if key.rtype == RecordType::Cname && key.name == self.zone.name && !self.flattening {
            return Err(Self::refused(format!("{key}: a CNAME cannot stand at the apex")));
        }
        Ok(())
    }

    /// What the items of one set have to keep to.
    fn check_items(&self, set: &RecordSet, items: &[Item]) -> Result<()> {
        let key = &set.key;
        let invalid = |text: String| Err(Error::new(ErrorKind::Invalid, "apply changes", text));
        if !self.in_set {
            return invalid(format!("{key}: each set of a routing policy is a record of its own"));
        }
        let mut kinds: Vec<_> = items.iter().map(|item| item.routing.kind()).collect();
        kinds.dedup();
        if !matches!(*kinds, [Some(RoutingKind::Weighted | RoutingKind::Geolocation)]) {
            return invalid(format!("{key}: a set has items of one policy, weights or countries"));
        }
        let places: BTreeSet<String> = items
            .iter()
            .filter(|item| item.routing.kind() == Some(RoutingKind::Geolocation))
            .map(|item| policy_key(&item.routing))
            .collect();
        if !places.is_empty() && places.len() < items.len() && self.fault != CloudFault::SharesPlaces {
            return invalid(format!("{key}: two items answer for one country"));
        }
        Ok(())
    }

    /// What the sets of the names of a group have to keep to together.
    pub(super) fn check_names(&self, sets: &BTreeMap<RecordKey, RecordSet>, group: &Group) -> Result<()> {
        let rules = self.capability(None).cname;
        let strict = self.fault == CloudFault::StrictApex;
        let names: BTreeSet<&DnsName> = group.changes().map(|change| &change.key().name).collect();
        for name in names {
            let here: Vec<&RecordSet> = sets.values().filter(|set| set.key.name == *name).collect();
            let apex = *name == self.zone.name && !strict;
            for (one, other) in here.iter().flat_map(|one| here.iter().map(move |other| (one, other))) {
                if rules.excludes(one.key.rtype, other.key.rtype, apex) {
                    return Err(Self::refused(format!("{} and {} cannot stand together", one.key, other.key)));
                }
                if one.key.rtype == other.key.rtype && one.routing.kind() != other.routing.kind() {
                    return Err(Self::refused(format!("{} and {} are routed in two ways", one.key, other.key)));
                }
            }
        }
        let kinds = |of: fn(&Change) -> Option<&RecordSet>| -> BTreeSet<bool> {
            group.changes().filter_map(of).map(|set| set.routing.is_simple()).collect()
        };
        let exchanged = kinds(Change::from).union(&kinds(Change::to)).count() > 1;
        if self.fault == CloudFault::RefusesExchange && exchanged && group.records().count() > 1 {
            return Err(Self::refused("two kinds of routing in one call".to_owned()));
        }
        Ok(())
    }
}
