//! A provider against the service on loopback, and the service's own sets as ours. The way between them is written here once more:
//! a mistake of the provider's own is not to cancel itself out.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![allow(dead_code, reason = "not every test uses all of it")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use zonewright_core::catalog::{FlagKind, FlagValue, ProviderConfig, Settings};
use zonewright_core::options::{OptionValue, Options};
use zonewright_core::rdata::Txt;
use zonewright_core::record::{AliasTarget, GeoPlace, Geolocation, SetId};
use zonewright_core::shared::Shared;
use zonewright_core::zone::InstanceId;
use zonewright_core::{RData, RecordData, RecordKey, RecordSet, RecordType, Ttl};
use zonewright_fakes::route53 as fake;
use zonewright_http::Patience;
use zonewright_provider_route53::{FLAGS, Route53, name, txt};

/// The account of [`KEY`].
pub(crate) const ACCOUNT: &str = "000000000001";
/// The access key that the service knows from the start.
pub(crate) const KEY: &str = "AKIDFAKE";
/// The key itself.
pub(crate) const SECRET: &str = "s3cr3t-key";
/// Longest time of a request, far above what the service on loopback needs.
const TIMEOUT: Duration = Duration::from_secs(1);
/// The first pause before a request is made again: nothing on loopback needs one.
const PAUSE: Duration = Duration::from_millis(5);

/// Settings as the command line makes them, and the access key of `account`.
pub(crate) fn config(url: &str, key: &str, given: &[(&'static str, FlagValue)]) -> ProviderConfig {
    let mut settings = Settings::default();
    for flag in FLAGS {
        let value = match flag.kind {
            FlagKind::Bool => FlagValue::Bool(flag.default == "true"),
            FlagKind::Int => FlagValue::Int(flag.default.parse().unwrap()),
            _ => continue,
        };
        settings.set(flag.name, value, false);
    }
    // The pace of the real service is a matter of its own.
    settings.set("aws-api-qps", FlagValue::Int(0), true);
    for (name, value) in given {
        settings.set(name, value.clone(), true);
    }
    let secrets = [("accessKeyID", key), ("secretAccessKey", SECRET), ("endpoint", url)];
    let credentials = secrets.map(|(name, value)| (name.to_owned(), value.into())).into_iter().collect();
    let shared = Shared::default();
    shared.get::<Patience>().set(TIMEOUT, PAUSE);
    ProviderConfig { instance: InstanceId::from("aws"), settings, credentials, shared }
}

/// A provider of the first account.
pub(crate) fn provider(service: &fake::Route53, given: &[(&'static str, FlagValue)]) -> Route53 {
    Route53::new(&config(&service.url(), KEY, given)).unwrap()
}

/// What the zone holds, but for its SOA and NS.
pub(crate) fn dump(service: &fake::Route53, zone: &str) -> Vec<RecordSet> {
    service.sets(zone).iter().map(ours).filter(|set| set.key.rtype != RecordType::Soa).collect()
}

/// A set of the service as ours.
pub(crate) fn ours(set: &fake::RecordSet) -> RecordSet {
    let rtype: RecordType = set.kind.parse().unwrap();
    let value = |text: &String| match rtype {
        RecordType::Txt => RData::Txt(Txt::from_strings(txt::read(text).unwrap())),
        _ => RData::parse(rtype, text).unwrap(),
    };
    let data = match &set.alias {
        Some(alias) => RecordData::Alias(AliasTarget {
            target: alias.name.trim_end_matches('.').into(),
            zone: Some(alias.zone.as_str().into()),
            evaluate_health: alias.evaluate_health,
        }),
        None => RecordData::records(set.values.iter().map(value)),
    };
    let mut options = Options::default();
    if let Some(id) = &set.health_check {
        options.set("aws/health-check-id", OptionValue::Text(id.as_str().into()));
    }
    RecordSet {
        key: RecordKey {
            name: name::read(&set.name).unwrap(),
            rtype,
            set_id: set.identifier.as_deref().and_then(SetId::new),
        },
        ttl: set.ttl.map(|ttl| Ttl::from_secs(u32::try_from(ttl).unwrap()).unwrap()),
        data,
        routing: set.routing.as_ref().map(routing).unwrap_or_default(),
        options,
    }
}

fn routing(policy: &fake::Routing) -> zonewright_core::record::Routing {
    use zonewright_core::record::Routing;
    let text = |text: &Option<String>| text.as_deref().map(Arc::from);
    match policy {
        fake::Routing::Weight(weight) => Routing::Weighted { weight: u32::try_from(*weight).unwrap() },
        fake::Routing::Region(region) => Routing::Latency { region: region.as_str().into() },
        fake::Routing::Failover(role) => Routing::Failover { primary: role == "PRIMARY" },
        fake::Routing::MultiValue => Routing::Multivalue,
        fake::Routing::Location { continent, country, subdivision } => Routing::Geolocation {
            location: Geolocation {
                continent: text(continent),
                country: text(country),
                subdivision: text(subdivision),
            },
        },
        fake::Routing::Proximity { region, local_zone_group, coordinates, bias } => {
            let place = match (region, local_zone_group, coordinates) {
                (Some(region), _, _) => GeoPlace::Region(region.as_str().into()),
                (_, Some(group), _) => GeoPlace::LocalZoneGroup(group.as_str().into()),
                (_, _, Some((latitude, longitude))) => {
                    GeoPlace::Coordinates(latitude.as_str().into(), longitude.as_str().into())
                }
                _ => panic!("a set without a place"),
            };
            Routing::Geoproximity { place, bias: i16::try_from(bias.unwrap_or(0)).unwrap() }
        }
        fake::Routing::Cidr { .. } => panic!("the tests have no CIDR routing"),
    }
}

/// One of our sets as the service has it; simple ones and aliases.
pub(crate) fn theirs(set: &RecordSet) -> fake::RecordSet {
    let (name, kind) = (name::write(&set.key.name), set.key.rtype.to_string());
    match &set.data {
        RecordData::Alias(alias) => fake::RecordSet::alias(&name, &kind, alias.zone.as_deref().unwrap(), &alias.target),
        data => {
            let text = |data: &RData| match data {
                RData::Txt(text) => txt::write(text.strings()),
                other => other.to_string(),
            };
            let values: Vec<String> = data.as_records().iter().map(text).collect();
            let values: Vec<&str> = values.iter().map(String::as_str).collect();
            fake::RecordSet::new(&name, &kind, set.ttl.map_or(300, |ttl| i64::from(ttl.secs())), &values)
        }
    }
}

/// How often each operation was called since `before`.
pub(crate) fn since(service: &fake::Route53, before: &BTreeMap<String, usize>) -> BTreeMap<String, usize> {
    let calls = service.calls().into_iter();
    let new = calls.map(|(operation, n)| (operation.clone(), n - before.get(&operation).copied().unwrap_or(0)));
    new.filter(|(_, n)| *n > 0).collect()
}
