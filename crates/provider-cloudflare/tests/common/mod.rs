//! A provider against the service on loopback, and the service's own records as our sets.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![allow(dead_code, reason = "not every test uses all of it")]

#[path = "../../examples/live_cloudflare/form.rs"]
pub(crate) mod form;
mod steps;

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use zonewright_conformance::live::settings;
use zonewright_core::RecordSet;
use zonewright_core::catalog::{FlagValue, ProviderConfig};
use zonewright_core::shared::Shared;
use zonewright_core::zone::InstanceId;
use zonewright_fakes::cloudflare as fake;
use zonewright_http::Patience;
use zonewright_provider_cloudflare::{Cloudflare, FLAGS};

#[allow(unused_imports, reason = "not every test uses them")]
pub(crate) use steps::*;

/// Longest time of a request, far above what the service on loopback needs.
const TIMEOUT: Duration = Duration::from_secs(1);
/// The first pause before a request is made again: nothing on loopback needs one.
const PAUSE: Duration = Duration::from_millis(5);

/// Settings as the command line makes them, and a token.
pub(crate) fn config(url: &str, token: &str, given: &[(&'static str, FlagValue)]) -> ProviderConfig {
    let mut settings = settings(FLAGS);
    // The pace of the real service is a matter of its own.
    settings.set("cloudflare-api-qps", FlagValue::Int(0), true);
    for (name, value) in given {
        settings.set(name, value.clone(), true);
    }
    let secrets = [("apiToken", token), ("endpoint", url)];
    let credentials = secrets.map(|(name, value)| (name.to_owned(), value.into())).into_iter().collect();
    let shared = Shared::default();
    shared.get::<Patience>().set(TIMEOUT, PAUSE);
    ProviderConfig { instance: InstanceId::from("cloudflare"), settings, credentials, shared }
}

/// A provider with the token that may do everything.
pub(crate) fn provider(service: &fake::Cloudflare, given: &[(&'static str, FlagValue)]) -> Cloudflare {
    Cloudflare::new(&config(&service.url(), fake::TOKEN, given)).unwrap()
}

/// What the zone holds.
pub(crate) fn dump(service: &fake::Cloudflare, zone: &str) -> Vec<RecordSet> {
    form::ours(&service.records(zone).iter().map(written).collect::<Vec<_>>())
}

/// A record of the service as the API writes it.
fn written(record: &fake::Record) -> Value {
    let fake::Record { name, kind, content, ttl, proxied, priority, data, comment, tags, .. } = record;
    json!({
        "name": name, "type": kind, "content": content, "ttl": ttl, "proxied": proxied, "priority": priority, "data": data,
        "comment": comment, "tags": tags,
    })
}

/// The records of one of our sets as the service has them.
pub(crate) fn theirs(set: &RecordSet) -> Vec<fake::Record> {
    let text = set.data.as_records().iter().map(ToString::to_string);
    let one = |(record, text): (Value, String)| {
        let field = |name: &str| record[name].as_str().unwrap_or(&text).to_owned();
        let made = fake::Record::new(&field("name"), &field("type"), &field("content"));
        let made = made.with_ttl(record["ttl"].as_u64().and_then(|ttl| u32::try_from(ttl).ok()).unwrap());
        let priority = record["priority"].as_u64().and_then(|priority| u16::try_from(priority).ok());
        fake::Record { priority, data: record.get("data").cloned(), ..made }
    };
    form::theirs(set).into_iter().zip(text).map(one).collect()
}

/// How often each operation was called since `before`.
pub(crate) fn since(service: &fake::Cloudflare, before: &BTreeMap<String, usize>) -> BTreeMap<String, usize> {
    let calls = service.calls().into_iter();
    let new = calls.map(|(operation, n)| (operation.clone(), n - before.get(&operation).copied().unwrap_or(0)));
    new.filter(|(_, n)| *n > 0).collect()
}
