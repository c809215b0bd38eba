//! A provider against the service on loopback, and the service's own record sets as ours. The way between them is written here once
//! more: a mistake of the provider's own is not to cancel itself out.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![allow(dead_code, reason = "not every test uses all of it")]

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use zonewright_core::catalog::{FlagKind, FlagValue, ProviderConfig, Settings};
use zonewright_core::record::{Geolocation, Item, Routing};
use zonewright_core::shared::Shared;
use zonewright_core::zone::InstanceId;
use zonewright_core::{DnsName, RData, RecordData, RecordSet, RecordType, Ttl};
use zonewright_fakes::clouddns as fake;
use zonewright_http::Patience;
use zonewright_provider_clouddns::{CloudDns, FLAGS};

/// Longest time of a request, far above what the service on loopback needs.
const TIMEOUT: Duration = Duration::from_millis(400);
/// The first pause before a request is made again: nothing on loopback needs one.
const PAUSE: Duration = Duration::from_millis(5);
/// The project of all zones.
pub(crate) const PROJECT: &str = "shop";

/// Settings as the command line makes them, and a token.
pub(crate) fn config(url: &str, token: &str, given: &[(&'static str, FlagValue)]) -> ProviderConfig {
    let mut settings = Settings::default();
    for flag in FLAGS {
        let value = match flag.kind {
            FlagKind::Bool => FlagValue::Bool(flag.default == "true"),
            FlagKind::Int => FlagValue::Int(flag.default.parse().unwrap()),
            FlagKind::Choice(_) => FlagValue::Text(flag.default.to_owned()),
            _ => continue,
        };
        settings.set(flag.name, value, false);
    }
    settings.set("google-project", FlagValue::Text(PROJECT.to_owned()), true);
    // The pace of the real service is a matter of its own.
    settings.set("google-api-qps", FlagValue::Int(0), true);
    for (name, value) in given {
        settings.set(name, value.clone(), true);
    }
    let secrets = [("accessToken", token), ("endpoint", url)];
    let credentials = secrets.map(|(name, value)| (name.to_owned(), value.into())).into_iter().collect();
    let shared = Shared::default();
    shared.get::<Patience>().set(TIMEOUT, PAUSE);
    ProviderConfig { instance: InstanceId::from("google"), settings, credentials, shared }
}

/// A provider with the token that may do everything.
pub(crate) fn provider(service: &fake::CloudDns, given: &[(&'static str, FlagValue)]) -> CloudDns {
    CloudDns::new(&config(&service.url(), fake::TOKEN, given)).unwrap()
}

/// What the zone holds.
pub(crate) fn dump(service: &fake::CloudDns, zone: &str) -> Vec<RecordSet> {
    service.sets(zone).iter().map(ours).collect()
}

/// A record set of the service as ours.
pub(crate) fn ours(set: &fake::RecordSet) -> RecordSet {
    let rtype: RecordType = set.kind.parse().unwrap();
    let parsed = |text: &str| RData::parse(rtype, text).unwrap();
    let name = DnsName::parse(&set.name).unwrap();
    let plain = RecordSet::simple(name, rtype, Ttl::from_secs(set.ttl), set.rrdatas.iter().map(|text| parsed(text)));
    let Some(policy) = &set.routing else { return plain };
    let items = |key: &str| policy[key]["items"].as_array().cloned().unwrap_or_default();
    let item = |routing: Routing, item: &Value| Item {
        routing,
        records: item["rrdatas"].as_array().unwrap().iter().map(|text| parsed(text.as_str().unwrap())).collect(),
    };
    let weighted = items("wrr").into_iter().map(|value| {
        let weight = value["weight"].as_f64().unwrap().to_string().parse().unwrap();
        item(Routing::Weighted { weight }, &value)
    });
    let placed = items("geo").into_iter().map(|value| {
        let country = Some(value["location"].as_str().unwrap().into());
        item(Routing::Geolocation { location: Geolocation { country, ..Geolocation::default() } }, &value)
    });
    RecordSet { data: RecordData::items(weighted.chain(placed)), ..plain }
}

/// One of our sets as the service has it.
pub(crate) fn theirs(set: &RecordSet) -> fake::RecordSet {
    let texts = |records: &[RData]| records.iter().map(ToString::to_string).collect::<Vec<_>>();
    let item = |item: &Item| match &item.routing {
        Routing::Weighted { weight } => ("wrr", json!({ "weight": weight, "rrdatas": texts(&item.records) })),
        Routing::Geolocation { location } => {
            ("geo", json!({ "location": location.country.as_deref().unwrap(), "rrdatas": texts(&item.records) }))
        }
        other => panic!("{other:?}"),
    };
    let routing = match &set.data {
        RecordData::Items(items) => {
            let (kinds, items): (Vec<&str>, Vec<Value>) = items.iter().map(item).unzip();
            Some(json!({ kinds[0]: { "items": items } }))
        }
        _ => None,
    };
    fake::RecordSet {
        name: format!("{}.", set.key.name.as_str()),
        kind: set.key.rtype.to_string(),
        ttl: set.ttl.map_or(300, Ttl::secs),
        rrdatas: texts(set.data.as_records()),
        routing,
    }
}

/// How often each operation was called since `before`.
pub(crate) fn since(service: &fake::CloudDns, before: &BTreeMap<String, usize>) -> BTreeMap<String, usize> {
    let calls = service.calls().into_iter();
    let new = calls.map(|(operation, n)| (operation.clone(), n - before.get(&operation).copied().unwrap_or(0)));
    new.filter(|(_, n)| *n > 0).collect()
}
