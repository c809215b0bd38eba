//! Batches that the service refuses, or puts off: what the groups of the call come to.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::common::{create, group, id, named, since, www, zone};
use zonewright_core::catalog::FlagValue;
use zonewright_core::change::{Blame, Change, Group, Outcome};
use zonewright_core::error::{ErrorKind, Retry};
use zonewright_core::provider::Provider;
use zonewright_core::{RecordSet, Ttl};
use zonewright_engine::layer::Batcher;
use zonewright_fakes::cloudflare::{Fault, Plan, Record};

#[tokio::test]
async fn a_full_zone_is_reported_and_asked_again_later() {
    let (service, provider, zone) = zone(Plan::Free, &[]).await;
    service.set_record_limit(id(&zone), 1);
    let outcomes = provider.apply(&zone, &[create(&www(&["192.0.2.1", "192.0.2.2"], &[]))]).await;
    let [Outcome::Refused { error, blame: Blame::Group }] = outcomes.as_slice() else { panic!("{outcomes:?}") };
    assert!(error.kind == ErrorKind::Invalid && error.retry == Retry::Backoff, "{error:?}");
    assert!(service.records(id(&zone)).is_empty(), "all or nothing");
}

/// What takes up no more room goes on, and what does is not searched through one by one.
#[tokio::test]
async fn a_zone_that_is_full_takes_what_needs_no_room() {
    let at_once = FlagValue::Duration { length: Duration::ZERO, negative: false };
    let (service, provider, zone) = zone(Plan::Free, &[("batch-change-interval", at_once)]).await;
    service.put(id(&zone), Record::new("www.example.test", "A", "192.0.2.1").with_ttl(300));
    service.set_record_limit(id(&zone), 1);
    let provider = Batcher::new(Arc::new(provider));
    let from = www(&["192.0.2.1"], &[]);
    let to = RecordSet { ttl: Ttl::from_secs(60), ..from.clone() };
    let mut groups: Vec<Group> = (0..100).map(|n| create(&named(&format!("n{n}.example.test"), "192.0.2.9"))).collect();
    groups.insert(50, group(Change::Update { from, to }));
    let before = service.calls();
    let mut outcomes = provider.apply(&zone, &groups).await;
    let calls = since(&service, &before)["BatchRecords"];
    assert!(calls <= 20, "{calls} calls");
    assert!(matches!(outcomes.remove(50), Outcome::Applied));
    let ttls: Vec<u32> = service.records(id(&zone)).iter().map(|record| record.ttl).collect();
    assert_eq!(ttls, [60]);
    for outcome in &outcomes {
        let Outcome::Refused { error, .. } = outcome else { panic!("{outcome:?}") };
        assert_eq!((error.kind, error.retry), (ErrorKind::Invalid, Retry::Backoff), "{error}");
        assert!(error.context.contains("81045"), "{error}");
    }
    // Room for some is filled, over a few calls.
    service.set_record_limit(id(&zone), 11);
    groups.remove(50);
    for _ in 0..10 {
        let outcomes = provider.apply(&zone, &groups).await;
        let mut outcomes = outcomes.iter();
        groups.retain(|_| !matches!(outcomes.next(), Some(Outcome::Applied)));
    }
    assert_eq!((groups.len(), service.records(id(&zone)).len()), (90, 11));
}

/// The service compares nothing: a batch that it puts off for long goes back, and the names are read again before the next one.
#[tokio::test]
async fn a_batch_that_is_put_off_is_not_sent_on_an_old_reading() {
    let (service, provider, zone) = zone(Plan::Free, &[]).await;
    let begun = Instant::now();
    for (seconds, expected) in [(1, "applied"), (8, "not_sent")] {
        service.set_retry_after(seconds);
        service.fail("BatchRecords", Fault::Throttled, 1);
        let before = service.calls();
        let to = named(&format!("n{seconds}.example.test"), "192.0.2.1");
        let outcome = provider.apply(&zone, &[create(&to)]).await.pop().unwrap();
        let batches = since(&service, &before)["BatchRecords"];
        let sent = if expected == "applied" { 2 } else { 1 };
        assert_eq!((outcome.label(), batches), (expected, sent), "{seconds} s: {outcome:?}");
    }
    assert!(begun.elapsed() < Duration::from_secs(6), "it does not wait for what it does not send");
}
