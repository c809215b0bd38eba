//! A provider against the service on loopback, and the service's own record sets as ours. The way between them is written here once
//! more: a mistake of the provider's own is not to cancel itself out.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![allow(dead_code, reason = "not every test uses all of it")]

#[path = "../../examples/live_clouddns/form.rs"]
pub(crate) mod form;

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;
use zonewright_core::RecordSet;
use zonewright_core::catalog::{FlagKind, FlagValue, ProviderConfig, Settings};
use zonewright_core::shared::Shared;
use zonewright_core::zone::InstanceId;
use zonewright_fakes::clouddns as fake;
use zonewright_http::Patience;
use zonewright_provider_clouddns::{CloudDns, FLAGS};

/// Longest time of a request, far above what the service on loopback needs.
const TIMEOUT: Duration = Duration::from_secs(1);
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
    let mut json = json!({ "name": set.name, "type": set.kind, "ttl": set.ttl, "rrdatas": set.rrdatas });
    if let Some(policy) = &set.routing {
        json["routingPolicy"] = policy.clone();
    }
    form::ours(&json)
}

/// One of our sets as the service has it.
pub(crate) fn theirs(set: &RecordSet) -> fake::RecordSet {
    let json = form::theirs(set);
    let text = |field: &str| json[field].as_str().unwrap().to_owned();
    let values = json["rrdatas"].as_array().into_iter().flatten();
    fake::RecordSet {
        name: text("name"),
        kind: text("type"),
        ttl: u32::try_from(json["ttl"].as_u64().unwrap()).unwrap(),
        rrdatas: values.map(|value| value.as_str().unwrap().to_owned()).collect(),
        routing: json.get("routingPolicy").cloned(),
    }
}

/// How often each operation was called since `before`.
pub(crate) fn since(service: &fake::CloudDns, before: &BTreeMap<String, usize>) -> BTreeMap<String, usize> {
    let calls = service.calls().into_iter();
    let new = calls.map(|(operation, n)| (operation.clone(), n - before.get(&operation).copied().unwrap_or(0)));
    new.filter(|(_, n)| *n > 0).collect()
}
