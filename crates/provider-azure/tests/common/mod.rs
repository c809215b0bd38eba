//! A provider against the service on loopback, and the service's own record sets as ours. The way between them is written here once
//! more: a mistake of the provider's own is not to cancel itself out.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![allow(dead_code, reason = "not every test uses all of it")]

#[path = "../../examples/live_azure/form.rs"]
pub(crate) mod form;

use std::collections::BTreeMap;
use std::time::Duration;

use zonewright_core::catalog::{FlagKind, FlagValue, ProviderConfig, Settings};
use zonewright_core::options::{OptionValue, Options};
use zonewright_core::shared::Shared;
use zonewright_core::zone::InstanceId;
use zonewright_core::{DnsName, RecordSet, RecordType, Ttl};
use zonewright_fakes::azure as fake;
use zonewright_http::Patience;
use zonewright_provider_azure::{AzureDns, FLAGS};

/// Longest time of a request, far above what the service on loopback needs.
const TIMEOUT: Duration = Duration::from_secs(1);
/// The first pause before a request is made again: nothing on loopback needs one.
const PAUSE: Duration = Duration::from_millis(5);
/// Where all zones are.
pub(crate) const SUBSCRIPTION: &str = "sub-1";
pub(crate) const GROUP: &str = "Shop";
/// The zone of most tests.
pub(crate) const ZONE: &str = "example.test";

/// Settings as the command line makes them, and the Secret's keys.
pub(crate) fn config(secrets: &[(&str, &str)], given: &[(&'static str, FlagValue)]) -> ProviderConfig {
    let mut settings = Settings::default();
    for flag in FLAGS {
        let value = match flag.kind {
            FlagKind::Bool => FlagValue::Bool(flag.default == "true"),
            FlagKind::Int => FlagValue::Int(flag.default.parse().unwrap()),
            FlagKind::Choice(_) | FlagKind::Text => FlagValue::Text(flag.default.to_owned()),
            _ => continue,
        };
        settings.set(flag.name, value, false);
    }
    settings.set("azure-subscription-id", FlagValue::Text(SUBSCRIPTION.to_owned()), true);
    settings.set("azure-resource-group", FlagValue::Text(GROUP.to_owned()), true);
    // The pace of the real service is a matter of its own.
    settings.set("azure-api-qps", FlagValue::Int(0), true);
    for (name, value) in given {
        settings.set(name, value.clone(), true);
    }
    let credentials = secrets.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
    let shared = Shared::default();
    shared.get::<Patience>().set(TIMEOUT, PAUSE);
    ProviderConfig { instance: InstanceId::from("azure"), settings, credentials, shared }
}

/// A provider with this token.
pub(crate) fn provider_as(
    service: &fake::AzureDns,
    kind: fake::Kind,
    token: &str,
    given: &[(&'static str, FlagValue)],
) -> AzureDns {
    let config = config(&[("accessToken", token), ("endpoint", &service.url())], given);
    AzureDns::with_variables(&config, kind == fake::Kind::Private, &|_| None).unwrap()
}

/// A provider with the token that may do everything.
pub(crate) fn provider(service: &fake::AzureDns, kind: fake::Kind, given: &[(&'static str, FlagValue)]) -> AzureDns {
    provider_as(service, kind, fake::TOKEN, given)
}

/// What the zone holds, but for the SOA.
pub(crate) fn dump(service: &fake::AzureDns, zone: &str, apex: &str) -> Vec<RecordSet> {
    service.sets(zone).iter().map(|set| ours(set, apex)).collect()
}

/// A record set of the service as ours.
pub(crate) fn ours(set: &fake::RecordSet, apex: &str) -> RecordSet {
    let rtype: RecordType = set.kind.parse().unwrap();
    let name = form::absolute(&set.name, apex);
    let data = set.records.iter().map(|record| form::value(rtype, record));
    let ttl = Ttl::from_secs(u32::try_from(set.ttl).unwrap());
    let mut ours = RecordSet::simple(DnsName::parse(&name).unwrap(), rtype, ttl, data);
    let tags: Vec<String> = set.metadata.iter().map(|(key, value)| format!("{key}={value}")).collect();
    if !tags.is_empty() {
        ours.options.set("azure/tags", OptionValue::Text(tags.join(",").into()));
    }
    ours
}

/// One of our sets as the service has it.
pub(crate) fn theirs(set: &RecordSet, apex: &str) -> fake::RecordSet {
    let name = form::relative(set.key.name.as_str(), apex);
    let records = set.data.as_records().iter().map(form::record).collect();
    let ttl = set.ttl.map_or(300, Ttl::secs).into();
    fake::RecordSet::new(name, &set.key.rtype.to_string(), ttl, records)
}

/// Metadata as an option.
pub(crate) fn tags(text: &str) -> Options {
    let mut options = Options::default();
    options.set("azure/tags", OptionValue::Text(text.into()));
    options
}

/// How often each operation was called since `before`.
pub(crate) fn since(service: &fake::AzureDns, before: &BTreeMap<String, usize>) -> BTreeMap<String, usize> {
    let calls = service.calls().into_iter();
    let new = calls.map(|(operation, n)| (operation.clone(), n - before.get(&operation).copied().unwrap_or(0)));
    new.filter(|(_, n)| *n > 0).collect()
}
