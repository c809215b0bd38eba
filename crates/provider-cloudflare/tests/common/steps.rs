//! Sets of the tests, and the way from what stands to what is wanted.

use zonewright_core::catalog::FlagValue;
use zonewright_core::change::{Change, Group, Outcome, Step};
use zonewright_core::error::Result;
use zonewright_core::listing::whole;
use zonewright_core::options::OptionValue;
use zonewright_core::provider::{Adjustment, Listing, Provider};
use zonewright_core::{DnsName, RData, RecordSet, RecordType, Ttl, Zone};
use zonewright_fakes::cloudflare::{Cloudflare as Service, Plan};
use zonewright_provider_cloudflare::Cloudflare;

use super::provider;

pub(crate) const PROXIED: &str = "cloudflare-proxied";
pub(crate) const COMMENT: &str = "cloudflare-record-comment";
pub(crate) const TAGS: &str = "cloudflare-tags";
pub(crate) const HOSTNAMES: &str = "cloudflare-custom-hostname";
pub(crate) const REGION: &str = "cloudflare-region-key";

pub(crate) fn on(flag: &'static str) -> (&'static str, FlagValue) {
    (flag, FlagValue::Bool(true))
}

pub(crate) fn list(texts: &[&str]) -> FlagValue {
    FlagValue::List(texts.iter().map(|text| (*text).to_owned()).collect())
}

/// A set at `www.example.test`, with options.
pub(crate) fn www(data: &[&str], options: &[(&str, &str)]) -> RecordSet {
    let rtype = data.first().map_or(RecordType::A, |text| RData::type_of_target(text));
    let data = data.iter().map(|text| RData::parse(rtype, text).unwrap());
    let mut set = RecordSet::simple(DnsName::parse("www.example.test").unwrap(), rtype, Ttl::from_secs(300), data);
    for (key, text) in options {
        let value = text.parse().map_or_else(|_| OptionValue::Text((*text).into()), OptionValue::Bool);
        set.options.set(key, value);
    }
    set
}

pub(crate) fn named(name: &str, data: &str) -> RecordSet {
    let mut set = www(&[data], &[]);
    set.key.name = DnsName::parse(name).unwrap();
    set
}

pub(crate) fn group(change: Change) -> Group {
    Group::of(Step::record(change, None), vec![])
}

pub(crate) fn create(to: &RecordSet) -> Group {
    group(Change::Create { to: to.clone() })
}

/// A zone of this plan, and a provider.
pub(crate) async fn zone(plan: Plan, given: &[(&'static str, FlagValue)]) -> (Service, Cloudflare, Zone) {
    let service = Service::start();
    service.add_zone("example.test", plan);
    let provider = provider(&service, given);
    let zone = provider.zones().await.unwrap().pop().unwrap();
    (service, provider, zone)
}

pub(crate) async fn adjusted(provider: &Cloudflare, zone: &Zone, set: &RecordSet) -> (RecordSet, Vec<String>) {
    match provider.adjust(zone, std::slice::from_ref(set)).await.pop().unwrap() {
        Adjustment::As { mut sets, notes } => (sets.pop().unwrap(), notes),
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn listed(provider: &Cloudflare, zone: &Zone) -> Result<Vec<RecordSet>> {
    match whole(provider, zone).await? {
        Listing::Full { sets, .. } => Ok(sets),
        other => panic!("{other:?}"),
    }
}

/// Goes from what stands at `www` to a wanted set, as the engine does; demands that nothing is left to do.
pub(crate) async fn reach(provider: &Cloudflare, zone: &Zone, wanted: &RecordSet) -> Vec<String> {
    let stands = listed(provider, zone).await.unwrap().into_iter().find(|set| set.key == wanted.key);
    let (to, notes) = adjusted(provider, zone, wanted).await;
    let change = match stands {
        Some(from) if to.is_met_by(&from) => return notes,
        Some(from) => Change::Update { from, to: to.clone() },
        None => Change::Create { to: to.clone() },
    };
    let outcome = provider.apply(zone, &[group(change)]).await.pop().unwrap();
    assert!(matches!(outcome, Outcome::Applied), "{outcome:?}");
    let stands = listed(provider, zone).await.unwrap().into_iter().find(|set| set.key == wanted.key).unwrap();
    assert!(to.is_met_by(&stands), "{to:?} is wanted, and {stands:?} is read back");
    notes
}

pub(crate) fn id(zone: &Zone) -> &str {
    zone.key.zone.as_str()
}
