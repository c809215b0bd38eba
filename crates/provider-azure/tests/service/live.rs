//! The run against a zone that a person gives, shown at the service on loopback: the same way, with another address.

use crate::suite::{Access, Tried};
use serde_json::json;
use zonewright_conformance::live::{CaseResult, run};
use zonewright_core::{ErrorKind, Result};
use zonewright_fakes::azure::{AzureDns, Kind, RecordSet, TOKEN};

/// Plays these cases, or all.
async fn play(
    service: &AzureDns,
    (kind, zone): (Kind, &str),
    cases: &[&str],
    show: impl FnMut(&CaseResult),
) -> Result<Vec<CaseResult>> {
    let text = str::to_owned;
    let access = Access {
        token: text(TOKEN),
        endpoint: service.url(),
        subscription: text("sub"),
        group: text("group"),
        private: kind == Kind::Private,
        qps: Some(0),
    };
    let tried = Tried::new(zone, &access).await?;
    let cases: Vec<String> = cases.iter().map(|case| (*case).to_owned()).collect();
    run(&tried, &cases, show).await
}

#[tokio::test]
async fn every_case_passes_and_the_zone_is_left_empty() {
    for kind in [Kind::Public, Kind::Private] {
        let service = AzureDns::start();
        let zone = service.add_zone(kind, "sub", "group", "throw-away.test");
        let before = service.sets(&zone).len();
        let mut shown = 0;
        let verdicts = play(&service, (kind, "throw-away.test"), &[], |_| shown += 1).await.unwrap();
        let failed: Vec<_> = verdicts.iter().filter(|verdict| !verdict.passed).collect();
        assert!(failed.is_empty() && verdicts.len() > 30 && shown == verdicts.len(), "{kind:?}: {failed:?}");
        assert_eq!(service.sets(&zone).len(), before);
    }
}

#[tokio::test]
async fn a_zone_in_use_is_refused() {
    let service = AzureDns::start();
    let zone = service.add_zone(Kind::Public, "sub", "group", "in-use.test");
    service.put(&zone, RecordSet::new("www", "A", 60, vec![json!({ "ipv4Address": "192.0.2.1" })]));
    let before = service.sets(&zone);
    let error = play(&service, (Kind::Public, "in-use.test"), &[], |_| {}).await.unwrap_err();
    assert!(error.kind == ErrorKind::Configuration && error.context.contains("www A"), "{error}");
    assert_eq!(service.sets(&zone), before);
    let error = play(&service, (Kind::Public, "other.test"), &[], |_| {}).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
    let error = play(&service, (Kind::Public, "in-use.test"), &["no_such_case"], |_| {}).await.unwrap_err();
    assert!(error.context.contains("no_such_case"), "{error}");
}
