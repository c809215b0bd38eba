//! The run against a zone that a person gives, shown at the service on loopback: the same way, with another address.

use crate::suite::{Options, Tried};
use zonewright_conformance::live::{CaseResult, run};
use zonewright_core::{ErrorKind, Result};
use zonewright_fakes::route53::{RecordSet, Route53};

const ACCOUNT: &str = "000000000001";

/// Plays the whole suite.
async fn play(service: &Route53, zone: &str, show: impl FnMut(&CaseResult)) -> Result<Vec<CaseResult>> {
    let access = Some(["AKIDFAKE".to_owned(), "s3cr3t".to_owned(), service.url()]);
    let tried = Tried::new(zone, &Options { access, qps: Some(0) }).await?;
    run(&tried, &[], show).await
}

#[tokio::test]
async fn every_case_passes_and_the_zone_is_left_empty() {
    let service = Route53::start();
    let zone = service.add_zone(ACCOUNT, "throw-away.test", false, &[]);
    let mut shown = 0;
    let verdicts = play(&service, "throw-away.test", |_| shown += 1).await.unwrap();
    let failed: Vec<_> = verdicts.iter().filter(|verdict| !verdict.passed).collect();
    assert!(failed.is_empty() && verdicts.len() > 30 && shown == verdicts.len(), "{failed:?}");
    assert_eq!(service.sets(&zone).len(), 2, "SOA and NS");
}

#[tokio::test]
async fn a_zone_in_use_is_refused() {
    let service = Route53::start();
    let zone = service.add_zone(ACCOUNT, "in-use.test", false, &[]);
    service.put(&zone, RecordSet::new("www.in-use.test.", "A", 300, &["192.0.2.1"]));
    let before = service.sets(&zone);
    let error = play(&service, &zone, |_| {}).await.unwrap_err();
    assert!(error.kind == ErrorKind::Configuration && error.context.contains("www.in-use.test"), "{error}");
    assert_eq!(service.sets(&zone), before);
    let error = play(&service, "other.test", |_| {}).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
}
