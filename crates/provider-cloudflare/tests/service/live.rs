//! The run against a zone that a person gives, shown at the service on loopback: the same way, with another address.

use crate::suite::{Options, Tried};
use zonewright_conformance::live::{CaseResult, run};
use zonewright_core::{ErrorKind, Result};
use zonewright_fakes::cloudflare::{Cloudflare, Plan, Record, TOKEN};

/// Plays these cases, or all.
async fn play(
    service: &Cloudflare,
    zone: &str,
    cases: &[&str],
    show: impl FnMut(&CaseResult),
) -> Result<Vec<CaseResult>> {
    let access = Some([TOKEN.to_owned(), service.url()]);
    let tried = Tried::new(zone, &Options { access, qps: Some(0) }).await?;
    let cases: Vec<String> = cases.iter().map(|case| (*case).to_owned()).collect();
    run(&tried, &cases, show).await
}

#[tokio::test]
async fn every_case_passes_and_the_zone_is_left_empty() {
    let service = Cloudflare::start();
    let zone = service.add_zone("throw-away.test", Plan::Pro);
    let mut shown = 0;
    let verdicts = play(&service, "throw-away.test", &[], |_| shown += 1).await.unwrap();
    let failed: Vec<_> = verdicts.iter().filter(|verdict| !verdict.passed).collect();
    assert!(failed.is_empty() && verdicts.len() > 30 && shown == verdicts.len(), "{failed:?}");
    assert!(service.records(&zone).is_empty());
}

#[tokio::test]
async fn a_zone_in_use_is_refused() {
    let service = Cloudflare::start();
    let zone = service.add_zone("in-use.test", Plan::Pro);
    service.put(&zone, Record::new("www.in-use.test", "A", "192.0.2.1"));
    let before = service.records(&zone);
    let error = play(&service, &zone, &[], |_| {}).await.unwrap_err();
    assert!(error.kind == ErrorKind::Configuration && error.context.contains("www.in-use.test A"), "{error}");
    assert_eq!(service.records(&zone), before);
    let error = play(&service, "other.test", &[], |_| {}).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
    let error = play(&service, &zone, &["no_such_case"], |_| {}).await.unwrap_err();
    assert!(error.context.contains("no_such_case"), "{error}");
}
