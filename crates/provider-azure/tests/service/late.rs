//! Writes that rest on a reading: they go soon after it, or not at all.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::common::{GROUP, SUBSCRIPTION, ZONE, ours, provider, theirs};
use futures::future::join_all;
use tokio::task::JoinSet;
use zonewright_core::catalog::FlagValue;
use zonewright_core::change::{Change, Group, Outcome, Precondition, Step};
use zonewright_core::error::ErrorKind;
use zonewright_core::listing::whole;
use zonewright_core::provider::{Provider, Read};
use zonewright_core::{DnsName, RData, RecordSet, RecordType, Ttl, Zone};
use zonewright_fakes::azure::{AzureDns as Service, Fault, Kind};

fn set(name: &str, rtype: RecordType, data: &str) -> RecordSet {
    RecordSet::simple(DnsName::parse(name).unwrap(), rtype, Ttl::from_secs(300), [RData::parse(rtype, data).unwrap()])
}

fn www(address: &str) -> RecordSet {
    set("www.example.test", RecordType::A, address)
}

fn claim(text: &str) -> RecordSet {
    set("a-www.example.test", RecordType::Txt, &format!("\"{text}\""))
}

/// A service with a record that we claim, and the id of its zone.
fn claimed() -> (Service, String) {
    let service = Service::start();
    let id = service.add_zone(Kind::Public, SUBSCRIPTION, GROUP, ZONE);
    for set in [www("192.0.2.1"), claim("ours")] {
        service.put(&id, theirs(&set, ZONE));
    }
    (service, id)
}

fn requiring(claim: &RecordSet, change: Change) -> Group {
    Group { requires: vec![Precondition::Exact(claim.clone())], ..Group::of(Step::record(change, None), vec![]) }
}

/// An update of a record whose claim is ours.
fn change(from: &str, to: &str) -> Group {
    requiring(&claim("ours"), Change::Update { from: www(from), to: www(to) })
}

async fn apply(provider: &impl Provider, zone: &Zone, group: Group) -> Outcome {
    provider.apply(zone, &[group]).await.pop().unwrap()
}

/// A write states its own set alone: what it says of the claim was true when that was read.
#[tokio::test]
async fn a_write_that_is_put_off_does_not_outlast_the_claim_that_was_read() {
    let (service, id) = claimed();
    let provider = provider(&service, Kind::Public, &[]);
    let zone = provider.zones().await.unwrap().pop().unwrap();
    whole(&provider, &zone).await.unwrap();
    // A pause is waited for; after a longer one the claim is read again, and the record, whose ETag is not known after what failed.
    let reads_so_far = || service.calls().get("GetRecordSet").copied().unwrap_or_default();
    for (pause, reads, from, to) in [(1, 1, "192.0.2.1", "192.0.2.0"), (4, 3, "192.0.2.0", "192.0.2.2")] {
        let before = reads_so_far();
        service.set_retry_after(pause);
        service.fail("PutRecordSet", Fault::Throttled, 1);
        let outcome = apply(&provider, &zone, change(from, to)).await;
        assert!(matches!(outcome, Outcome::Applied), "{outcome:?}");
        assert_eq!(reads_so_far() - before, reads, "{pause} s");
    }
    // Meanwhile the claim becomes another owner's.
    let before = service.calls()["PutRecordSet"];
    service.fail("PutRecordSet", Fault::Throttled, 1);
    let taken_over = async {
        while service.calls()["PutRecordSet"] == before {
            tokio::task::yield_now().await;
        }
        service.put(&id, theirs(&claim("theirs"), ZONE));
    };
    let (outcome, ()) = tokio::join!(apply(&provider, &zone, change("192.0.2.2", "192.0.2.3")), taken_over);
    assert_eq!(outcome.error().map(|error| error.kind), Some(ErrorKind::Conflict), "{outcome:?}");
    assert_eq!(service.calls()["PutRecordSet"], before + 1);
    let stands = service.sets(&id).into_iter().find(|set| set.name == "www").unwrap();
    assert_eq!(ours(&stands, ZONE), www("192.0.2.2"));
}

/// All zones of an account wait for the same pace: who waits for long reads late, and not early.
#[tokio::test]
async fn what_many_zones_write_is_read_right_before() {
    let service = Service::start();
    let zones = ["a.test", "b.test", "c.test"];
    for name in zones {
        let id = service.add_zone(Kind::Public, SUBSCRIPTION, GROUP, name);
        service.put(&id, theirs(&set(&format!("a-www.{name}"), RecordType::Txt, "\"ours\""), name));
    }
    let provider = provider(&service, Kind::Public, &[("azure-api-qps", FlagValue::Int(1))]);
    let zones = provider.zones().await.unwrap();
    // Twenty go at once, and then one each second.
    let calls = zones.iter().map(|zone| {
        let name = zone.name.as_str();
        let claim = set(&format!("a-www.{name}"), RecordType::Txt, "\"ours\"");
        let create = |at| Change::Create { to: set(&format!("n{at}.{name}"), RecordType::A, "192.0.2.1") };
        let groups: Vec<Group> = (0..9).map(|at| requiring(&claim, create(at))).collect();
        let provider = &provider;
        async move { provider.apply(zone, &groups).await }
    });
    let outcomes: Vec<Outcome> = join_all(calls).await.into_iter().flatten().collect();
    let labels: Vec<&str> = outcomes.iter().map(Outcome::label).collect();
    assert_eq!(labels, ["applied"; 27]);
}

/// Zones that are read name by name have more requests waiting than may be under way: a change's do not wait for them.
#[tokio::test]
async fn a_change_is_not_held_up_by_zones_that_are_read() {
    let (service, _) = claimed();
    let provider = Arc::new(provider(&service, Kind::Public, &[("azure-api-qps", FlagValue::Int(1))]));
    let zone = provider.zones().await.unwrap().pop().unwrap();
    let mut others = JoinSet::new();
    for at in 0..8 {
        let (provider, zone) = (provider.clone(), zone.clone());
        let names = BTreeSet::from([DnsName::parse(&format!("other{at}.example.test")).unwrap()]);
        others.spawn(async move { while provider.records(&zone, Read::Names(&names)).await.is_ok() {} });
    }
    // Thirty go at once, and then three each second.
    while service.calls().get("GetRecordSet").copied().unwrap_or_default() < 30 {
        tokio::task::yield_now().await;
    }
    let create = Change::Create { to: set("new.example.test", RecordType::Cname, "other.example.net") };
    for group in [change("192.0.2.1", "192.0.2.2"), requiring(&claim("ours"), create)] {
        let outcome = tokio::time::timeout(Duration::from_secs(15), apply(&*provider, &zone, group)).await.unwrap();
        assert!(matches!(outcome, Outcome::Applied), "{outcome:?}");
    }
}

/// The service counts each action by itself: who may not list for five minutes may well write.
#[tokio::test]
async fn a_listing_that_is_throttled_holds_up_no_change() {
    let (service, _) = claimed();
    let provider = provider(&service, Kind::Public, &[]);
    let zone = provider.zones().await.unwrap().pop().unwrap();
    // Five hundred pages in five minutes are allowed, of whoever asks.
    assert_eq!(provider.capability(None).audit_pace, Duration::from_secs(1));
    service.set_retry_after(307);
    for operation in ["ListZones", "ListRecordSets"] {
        service.fail(operation, Fault::Throttled, 1);
    }
    assert_eq!(provider.zones().await.unwrap_err().kind, ErrorKind::Throttled);
    assert_eq!(whole(&provider, &zone).await.unwrap_err().kind, ErrorKind::Throttled);
    let outcome = apply(&provider, &zone, change("192.0.2.1", "192.0.2.2")).await;
    assert!(matches!(outcome, Outcome::Applied), "{outcome:?}");
}
