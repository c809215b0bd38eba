//! The run against a zone that a person gives, shown at the service on loopback: the same way, with another address.

use crate::suite::{Access, Tried};
use zonewright_conformance::live::{CaseResult, run};
use zonewright_core::{ErrorKind, Result};
use zonewright_fakes::clouddns::{CloudDns, Kind, RecordSet, TOKEN};

/// Plays these cases, or all.
async fn play(
    service: &CloudDns,
    zone: &str,
    cases: &[&str],
    show: impl FnMut(&CaseResult),
) -> Result<Vec<CaseResult>> {
    let access =
        Access { token: TOKEN.to_owned(), endpoint: service.url(), project: "project".to_owned(), qps: Some(0) };
    let tried = Tried::new(zone, &access).await?;
    let cases: Vec<String> = cases.iter().map(|case| (*case).to_owned()).collect();
    run(&tried, &cases, show).await
}

#[tokio::test]
async fn every_case_passes_and_the_zone_is_left_empty() {
    for kind in [Kind::Public, Kind::Private] {
        let service = CloudDns::start();
        let zone = service.add_zone("project", "throw-away", "throw-away.test.", kind);
        let before = service.sets(&zone);
        let mut shown = 0;
        let verdicts = play(&service, "throw-away.test", &[], |_| shown += 1).await.unwrap();
        let failed: Vec<_> = verdicts.iter().filter(|verdict| !verdict.passed).collect();
        assert!(failed.is_empty() && verdicts.len() > 30 && shown == verdicts.len(), "{kind:?}: {failed:?}");
        assert_eq!(service.sets(&zone).len(), before.len());
    }
}

#[tokio::test]
async fn a_zone_in_use_is_refused() {
    let service = CloudDns::start();
    let zone = service.add_zone("project", "in-use", "in-use.test.", Kind::Public);
    service.put(&zone, RecordSet::new("www.in-use.test.", "A", 60, &["192.0.2.1"]));
    let before = service.sets(&zone);
    let error = play(&service, "in-use.test", &[], |_| {}).await.unwrap_err();
    assert!(error.kind == ErrorKind::Configuration && error.context.contains("www.in-use.test. A"), "{error}");
    assert_eq!(service.sets(&zone), before);
    let error = play(&service, "other.test", &[], |_| {}).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
    let error = play(&service, "in-use.test", &["no_such_case"], |_| {}).await.unwrap_err();
    assert!(error.context.contains("no_such_case"), "{error}");
}
