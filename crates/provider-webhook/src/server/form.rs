//! Record sets that the protocol has no fields for, as endpoints: aliases and routing policies.
//!
//! In: a set of the provider, or an endpoint of a caller. Out: the other of the two. As external-dns has it at Route 53, an alias is
//! an address record with a host name as its target and the property `alias`. The rest of it, and the routing policy, are
//! properties of this server, the same for every provider. What must hold: a set that is listed and sent back is the same set,
//! so that a caller who compares finds nothing to do, and the old side of a change is exactly what stands. Properties of the
//! provider itself (`aws/weight`) are the provider's to read: [`zonewright_core::provider::Provider::interpret`].

use std::sync::Arc;

use zonewright_core::endpoint::Targets;
use zonewright_core::options::Properties;
use zonewright_core::record::{AliasTarget, Routing};
use zonewright_core::{DnsName, RData, RecordData, RecordSet, RecordType};

use crate::convert::{self, Quoting};
use crate::wire::{Endpoint, Property};

/// The routing policy, as JSON.
const ROUTING: &str = "zonewright/routing";
/// Whether the health of an alias's target counts: `true` or `false`. It marks an alias that this server has spelled.
const HEALTH: &str = "zonewright/alias-health";
/// The zone that an alias's target lives in, where the provider asks for it.
const ZONE: &str = "zonewright/alias-zone";
/// The property by which external-dns asks for an alias.
const ALIAS: &str = "alias";

/// What an endpoint says beyond the fields of the protocol.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Form {
    /// The alias that it is, if this server has spelled it.
    pub(super) alias: Option<AliasTarget>,
    /// Its routing policy.
    pub(super) routing: Routing,
    /// The provider's own properties.
    pub(super) properties: Properties,
}

impl Form {
    /// Reads the properties of an endpoint.
    ///
    /// # Errors
    /// Which property is wrong, and what was expected.
    pub(super) fn of(endpoint: &Endpoint) -> Result<Self, String> {
        let mut form = Self::default();
        let (mut health, mut zone) = (None, None);
        for Property { name, value } in &endpoint.properties {
            match name.as_str() {
                ROUTING => {
                    form.routing = routing(value)
                        .ok_or_else(|| wrong(endpoint, name, value, "a routing policy as it is listed"))?;
                }
                HEALTH => health = Some(*value == "true"),
                ZONE => zone = Some(Arc::from(value.as_str())),
                _ => drop(form.properties.insert(name.as_str().into(), value.as_str().into())),
            }
        }
        let address = matches!(endpoint.rtype.to_ascii_uppercase().as_str(), "A" | "AAAA");
        if let (Some(evaluate_health), true) = (health, address) {
            let [target] = endpoint.targets.as_slice() else {
                return Err(format!(
                    "{} {}: an alias has {} targets; expected one",
                    endpoint.name,
                    endpoint.rtype,
                    endpoint.targets.len()
                ));
            };
            form.alias = Some(AliasTarget { target: target.as_str().into(), zone, evaluate_health });
            form.properties.remove(ALIAS);
        }
        Ok(form)
    }

    /// The targets of an endpoint that is no alias of this server's own spelling, and the type that they are stated under. An
    /// address record with a host name is how external-dns writes an alias: it is read as a host name for which an alias of that
    /// type is asked, which every provider with aliases understands.
    pub(super) fn host(&mut self, rtype: RecordType, targets: &[String]) -> Option<DnsName> {
        let [target] = targets else { return None };
        let asked = self.properties.get(ALIAS).is_some_and(|alias| matches!(&**alias, "true" | "A" | "AAAA"));
        let host = DnsName::parse(target).ok().filter(|_| asked && rtype.is_address())?;
        if RData::parse(rtype, target).is_ok() {
            return None;
        }
        self.properties.insert(ALIAS.into(), rtype.to_string().into());
        Some(host)
    }

    /// The alias as targets.
    pub(super) fn targets(&self) -> Option<Targets> {
        self.alias.clone().map(|alias| Targets::Alias(Box::new(alias)))
    }
}

fn routing(text: &str) -> Option<Routing> {
    serde_json::from_str(text).ok()
}

fn wrong(endpoint: &Endpoint, name: &str, value: &str, expected: &str) -> String {
    format!("{} {}: property {name}={value:?}: expected {expected}", endpoint.name, endpoint.rtype)
}

/// A set as an endpoint.
///
/// # Errors
/// A sentence about what the protocol cannot express: items of several owners that share one set.
pub(super) fn encode(set: &RecordSet) -> Result<Endpoint, String> {
    let mut endpoint = match &set.data {
        RecordData::Alias(alias) => {
            let bare = RecordSet { data: RecordData::records([]), routing: Routing::Simple, ..set.clone() };
            let mut endpoint = convert::encode(&bare, Quoting::Bare)?;
            endpoint.targets = vec![alias.target.to_string()];
            let own = [
                (ALIAS, Some("true".to_owned())),
                (HEALTH, Some(alias.evaluate_health.to_string())),
                (ZONE, alias.zone.as_ref().map(ToString::to_string)),
            ];
            let own =
                own.into_iter().filter_map(|(name, value)| Some(Property { name: name.to_owned(), value: value? }));
            endpoint.properties.extend(own);
            endpoint
        }
        _ => convert::encode(&RecordSet { routing: Routing::Simple, ..set.clone() }, Quoting::Bare)?,
    };
    if !set.routing.is_simple() {
        let value =
            serde_json::to_string(&set.routing).map_err(|error| format!("{}: its routing policy: {error}", set.key))?;
        endpoint.properties.push(Property { name: ROUTING.to_owned(), value });
    }
    Ok(endpoint)
}

#[cfg(test)]
mod tests {
    use zonewright_core::Ttl;
    use zonewright_core::record::{GeoPlace, Geolocation, SetId};

    use super::*;

    fn set(data: RecordData, routing: Routing) -> RecordSet {
        let simple = RecordSet::simple(DnsName::parse("a.test").unwrap(), RecordType::A, Ttl::from_secs(60), []);
        let id = SetId::new("blue").filter(|_| !routing.is_simple());
        let key = zonewright_core::RecordKey { set_id: id, ..simple.key.clone() };
        RecordSet { key, data, routing, ..simple }
    }

    #[test]
    fn aliases_and_policies_go_out_and_come_back() {
        let address = RecordData::records([RData::parse(RecordType::A, "192.0.2.1").unwrap()]);
        let alias = |zone: Option<&str>, evaluate_health| {
            RecordData::Alias(AliasTarget { target: "lb.test".into(), zone: zone.map(Arc::from), evaluate_health })
        };
        let location = Geolocation { country: Some("DE".into()), ..Geolocation::default() };
        let place = GeoPlace::Coordinates("1.00".into(), "-2.50".into());
        for (data, routing) in [
            (address.clone(), Routing::Simple),
            (address.clone(), Routing::Weighted { weight: 7 }),
            (address.clone(), Routing::Failover { primary: true }),
            (address.clone(), Routing::Geolocation { location }),
            (address.clone(), Routing::Geoproximity { place, bias: -9 }),
            (address, Routing::Multivalue),
            (alias(None, false), Routing::Simple),
            (alias(Some("Z1"), true), Routing::Latency { region: "eu-west-1".into() }),
        ] {
            let sent = set(data.clone(), routing.clone());
            let endpoint = encode(&sent).unwrap();
            let form = Form::of(&endpoint).unwrap();
            assert_eq!((&form.routing, form.properties.len()), (&routing, 0), "{endpoint:?}");
            let read = form.alias.map_or(data.clone(), RecordData::Alias);
            assert_eq!(read, data, "{endpoint:?}");
            assert_eq!(endpoint.set_id == "blue", !routing.is_simple());
        }
    }

    #[test]
    fn an_alias_as_external_dns_writes_it_asks_for_a_host_name() {
        let check = |rtype: &str, target: &str, alias: &str, expected: Option<&str>| {
            let properties = vec![Property { name: ALIAS.to_owned(), value: alias.to_owned() }];
            let endpoint = Endpoint {
                rtype: rtype.to_owned(),
                targets: vec![target.to_owned()],
                properties,
                ..Endpoint::default()
            };
            let mut form = Form::of(&endpoint).unwrap();
            let host = form.host(rtype.parse().unwrap(), &endpoint.targets);
            assert_eq!(
                host.map(|_| form.properties.get(ALIAS).unwrap().to_string()).as_deref(),
                expected,
                "{endpoint:?}"
            );
        };
        check("A", "lb.test", "true", Some("A"));
        check("AAAA", "lb.test", "true", Some("AAAA"));
        check("A", "192.0.2.1", "true", None);
        check("A", "lb.test", "false", None);
        check("CNAME", "lb.test", "true", None);
        check("TXT", "lb.test", "true", None);
    }

    #[test]
    fn a_policy_that_cannot_be_read_names_its_property() {
        let properties = vec![Property { name: ROUTING.to_owned(), value: "7".to_owned() }];
        let endpoint = Endpoint { name: "a.test".to_owned(), rtype: "A".to_owned(), properties, ..Endpoint::default() };
        let said = Form::of(&endpoint).unwrap_err();
        assert_eq!(said, "a.test A: property zonewright/routing=\"7\": expected a routing policy as it is listed");
    }
}
