//! Batches that the service refuses for one set: what the others of the call come to.

use std::sync::Arc;
use std::time::Duration;

use crate::common::{dump, since, theirs};
use crate::requests::{group, one_zone, set};
use zonewright_core::change::{Blame, Change, Group, Outcome, Precondition, Step};
use zonewright_core::error::{Error, ErrorKind, Retry};
use zonewright_core::options::{OptionValue, Options};
use zonewright_core::provider::Provider;
use zonewright_core::record::{AliasTarget, Routing, SetId};
use zonewright_core::{RecordData, RecordKey, RecordSet, RecordType, Ttl};
use zonewright_engine::layer::Batcher;
use zonewright_fakes::route53::{BatchErrorForm, RecordSet as Theirs, Routing as TheirRouting};

fn create(name: &str) -> Group {
    group(Change::Create { to: set(name, RecordType::A, &["192.0.2.9"]) })
}

fn routed(name: &str, identifier: &str, routing: Routing) -> RecordSet {
    let plain = set(name, RecordType::A, &["192.0.2.9"]);
    RecordSet { key: RecordKey { set_id: SetId::new(identifier), ..plain.key.clone() }, routing, ..plain }
}

/// An address whose health this check watches.
fn checked(name: &str, check: &str) -> Group {
    let mut options = Options::default();
    options.set("aws/health-check-id", OptionValue::Text(check.into()));
    group(Change::Create { to: RecordSet { options, ..set(name, RecordType::A, &["192.0.2.9"]) } })
}

/// The error of a group that was refused for itself.
#[track_caller]
fn own(outcome: &Outcome) -> &Error {
    match outcome {
        Outcome::Refused { error, blame: Blame::Group } => error,
        other => panic!("not refused for itself: {other:?}"),
    }
}

#[track_caller]
fn not_blamed(outcome: &Outcome) {
    assert!(matches!(outcome, Outcome::Refused { blame: Blame::Batch, .. }), "{outcome:?}");
}

/// The service says of one record that its health check is not there, with the status of a zone that is not there.
#[tokio::test]
async fn a_health_check_that_is_not_there_is_the_trouble_of_one_record() {
    let (service, provider, zone) = one_zone().await;
    service.register_health_check("hc-1");
    let groups =
        [create("good.example.test"), checked("bad.example.test", "hc-10"), checked("ok.example.test", "hc-1")];
    let outcomes = provider.apply(&zone, &groups).await;
    let error = own(&outcomes[1]);
    assert_eq!((error.kind, error.retry), (ErrorKind::Invalid, Retry::Backoff), "it may be made later: {error}");
    assert!(error.context.contains("hc-10"), "{error}");
    not_blamed(&outcomes[0]);
    not_blamed(&outcomes[2]);
    let [good, bad, ok] = groups;
    let outcomes = provider.apply(&zone, &[good, ok]).await;
    assert!(matches!(*outcomes, [Outcome::Applied, Outcome::Applied]), "{outcomes:?}");
    let outcomes = provider.apply(&zone, std::slice::from_ref(&bad)).await;
    assert_eq!(own(&outcomes[0]).kind, ErrorKind::Invalid);
    service.register_health_check("hc-10");
    let outcomes = provider.apply(&zone, &[bad]).await;
    assert!(matches!(*outcomes, [Outcome::Applied]), "{outcomes:?}");
}

/// What an object writes where the id of a check belongs is quoted by the service, and is no id of another object's check.
#[tokio::test]
async fn an_id_that_quotes_the_check_of_another_record_is_blamed_alone() {
    let (service, provider, zone) = one_zone().await;
    service.register_health_check("hc-1");
    let groups = [checked("ok.example.test", "hc-1"), checked("bad.example.test", "not hc-1")];
    let outcomes = provider.apply(&zone, &groups).await;
    not_blamed(&outcomes[0]);
    assert_eq!(own(&outcomes[1]).kind, ErrorKind::Invalid);
}

/// The claim on an alias is a text under the policy of the alias, and such a primary needs a health check.
#[tokio::test]
async fn a_claim_that_would_be_a_primary_without_a_health_check_is_refused_in_words_that_help() {
    let (service, provider, zone) = one_zone().await;
    let target = AliasTarget {
        target: "one-1.eu-west-1.elb.amazonaws.com".into(),
        zone: Some("Z32O12XQLNTSW2".into()),
        evaluate_health: true,
    };
    let primary = Routing::Failover { primary: true };
    let record =
        RecordSet { ttl: None, data: RecordData::Alias(target), ..routed("app.example.test", "one", primary.clone()) };
    let text = set("a-app.example.test", RecordType::Txt, &["\"heritage=external-dns,external-dns/owner=me\""]);
    let claim =
        RecordSet { key: RecordKey { set_id: SetId::new("one"), ..text.key.clone() }, routing: primary, ..text };
    let mut claimed = group(Change::Create { to: record.clone() });
    claimed.steps.push(Step::claim(Change::Create { to: claim }));
    let before = service.calls();
    let outcomes = provider.apply(&zone, &[create("good.example.test"), claimed]).await;
    assert!(matches!(outcomes[0], Outcome::Applied), "{outcomes:?}");
    let error = own(&outcomes[1]);
    assert_eq!(error.kind, ErrorKind::Invalid);
    for part in ["a-app.example.test TXT", "aws-health-check-id", "--registry"] {
        assert!(error.context.contains(part), "{part}: {error}");
    }
    assert_eq!(since(&service, &before)["ChangeResourceRecordSets"], 1);
    let outcomes = provider.apply(&zone, &[group(Change::Create { to: record })]).await;
    assert!(matches!(*outcomes, [Outcome::Applied]), "an alias alone needs none: {outcomes:?}");
}

/// What takes up no more room goes on, and what does is not searched through one by one.
#[tokio::test]
async fn a_zone_that_is_full_takes_what_needs_no_room() {
    let (service, provider, zone) = one_zone().await;
    let id = zone.key.zone.as_str();
    service.set_limit(id, 3);
    let provider = Batcher::new(Arc::new(provider));
    let from = set("www.example.test", RecordType::A, &["192.0.2.1"]);
    let to = RecordSet { ttl: Ttl::from_secs(60), ..from.clone() };
    let names: Vec<String> = (0..200).map(|n| format!("n{n}.example.test")).collect();
    let mut groups: Vec<Group> = names.iter().map(|name| create(name)).collect();
    groups.insert(100, group(Change::Update { from, to: to.clone() }));
    let before = service.calls();
    let mut outcomes = provider.apply(&zone, &groups).await;
    let calls = since(&service, &before)["ChangeResourceRecordSets"];
    assert!(calls <= 20, "{calls} calls");
    assert!(matches!(outcomes.remove(100), Outcome::Applied));
    assert!(dump(&service, id).contains(&to));
    for outcome in &outcomes {
        let Outcome::Refused { error, .. } = outcome else { panic!("{outcome:?}") };
        assert_eq!((error.kind, error.retry), (ErrorKind::Invalid, Retry::Backoff), "{error}");
        assert!(error.context.contains("quota") && error.context.contains("MAX_RRSETS_BY_ZONE"), "{error}");
    }
    // Room for some is filled, over a few calls.
    service.set_limit(id, 13);
    groups.remove(100);
    for _ in 0..10 {
        let outcomes = provider.apply(&zone, &groups).await;
        let mut outcomes = outcomes.iter();
        groups.retain(|_| !matches!(outcomes.next(), Some(Outcome::Applied)));
    }
    assert_eq!((groups.len(), service.sets(id).len()), (190, 13));
}

/// A set identifier is any text: what it says of other names is not the service's word.
#[tokio::test]
async fn a_set_identifier_has_no_other_record_refused() {
    for identifier in [
        "x', name='victim.example.test.', type='A",
        "x RRSet with DNS name victim.example.test.",
        "blue', type='A",
        "blue'",
        "blue]",
    ] {
        for form in [BatchErrorForm::ErrorResponse, BatchErrorForm::Messages] {
            let (service, provider, zone) = one_zone().await;
            service.set_batch_error_form(form);
            let id = zone.key.zone.as_str();
            let name = "app.example.test";
            let standing = Theirs::new(&format!("{name}."), "A", 60, &["192.0.2.7"]);
            service.put(id, standing.routed(identifier, TheirRouting::Weight(1)));
            let routing = Routing::Weighted { weight: 1 };
            let forged = group(Change::Create { to: routed(name, identifier, routing.clone()) });
            let beside = group(Change::Create { to: routed(name, "blue", routing) });
            let groups = [create("victim.example.test"), forged, beside];
            let outcomes = provider.apply(&zone, &groups).await;
            not_blamed(&outcomes[0]);
            not_blamed(&outcomes[2]);
            let outcomes = Batcher::new(Arc::new(provider)).apply(&zone, &groups).await;
            let [Outcome::Applied, Outcome::Refused { error, .. }, Outcome::Applied] = &*outcomes else {
                panic!("{identifier:?}: {outcomes:?}")
            };
            assert_eq!(error.kind, ErrorKind::Conflict, "{error}");
        }
    }
}

/// Two records whose right is one claim in the old format: it is compared once, for both.
#[tokio::test]
async fn what_two_groups_demand_alike_is_sent_once() {
    let (service, provider, zone) = one_zone().await;
    let claim = set("example.test", RecordType::Txt, &["\"heritage=external-dns,external-dns/owner=me\""]);
    let put = |claim: &RecordSet| service.put(zone.key.zone.as_str(), theirs(claim));
    put(&claim);
    let demanding = |rtype, data: &str, claim: &RecordSet| {
        let mut group = group(Change::Create { to: set("new.example.test", rtype, &[data]) });
        group.requires = vec![Precondition::Exact(claim.clone())];
        group
    };
    let both =
        |claim| [demanding(RecordType::A, "192.0.2.9", claim), demanding(RecordType::Aaaa, "2001:db8::9", claim)];
    let before = service.calls();
    let outcomes = provider.apply(&zone, &both(&claim)).await;
    assert!(matches!(*outcomes, [Outcome::Applied, Outcome::Applied]), "{outcomes:?}");
    assert_eq!(since(&service, &before)["ChangeResourceRecordSets"], 1);
    // Where it has changed, both are told.
    put(&RecordSet { ttl: Ttl::from_secs(u32::try_from(Duration::from_hours(1).as_secs()).unwrap()), ..claim.clone() });
    for outcome in provider.apply(&zone, &both(&claim)).await {
        assert_eq!(own(&outcome).kind, ErrorKind::Conflict);
    }
}
