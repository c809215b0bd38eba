//! A change that rests on a reading: it goes soon after it, or not at all.

use std::time::{Duration, Instant};

use crate::common::{PROJECT, provider};
use zonewright_core::change::{Change, Group, Precondition, Step};
use zonewright_core::provider::Provider;
use zonewright_core::{DnsName, RData, RecordSet, RecordType, Ttl};
use zonewright_fakes::clouddns::{CloudDns as Service, Fault, Kind};

fn set(name: &str, rtype: RecordType, data: &str) -> RecordSet {
    RecordSet::simple(DnsName::parse(name).unwrap(), rtype, Ttl::from_secs(300), [RData::parse(rtype, data).unwrap()])
}

/// The service compares what changes, and no claim that stays.
#[tokio::test]
async fn a_change_that_is_put_off_does_not_outlast_the_claim_that_was_read() {
    let service = Service::start();
    service.add_zone(PROJECT, "shop-zone", "example.test.", Kind::Public);
    let provider = provider(&service, &[]);
    let zone = provider.zones().await.unwrap().pop().unwrap();
    let claim = Precondition::Exact(set("a-www.example.test", RecordType::Txt, "\"ours\""));
    for (seconds, requires, expected, sent) in
        [(1, vec![claim.clone()], "applied", 2), (4, vec![claim], "not_sent", 1), (4, vec![], "applied", 2)]
    {
        let wait = format!("{seconds} s, {} required", requires.len());
        service.set_retry_after(seconds);
        service.fail("CreateChange", Fault::Throttled, 1);
        let to = set(&format!("n{seconds}.example.test"), RecordType::A, "192.0.2.1");
        let (begun, before) = (Instant::now(), service.calls().get("CreateChange").copied().unwrap_or(0));
        let group = Group { requires, ..Group::of(Step::record(Change::Create { to }, None), vec![]) };
        let outcome = provider.apply(&zone, &[group]).await.pop().unwrap();
        let calls = service.calls()["CreateChange"] - before;
        assert_eq!((outcome.label(), calls), (expected, sent), "{wait}: {outcome:?}");
        let waited = begun.elapsed() >= Duration::from_secs(seconds);
        assert_eq!(waited, expected == "applied", "{wait}: it waits for nothing that it does not send");
    }
}
