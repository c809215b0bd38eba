//! Each moment's patch, the table of `Created`, and what Gardener waits for.

use proptest::prelude::*;

use super::*;
use crate::types::{LastError, LastOperation, OPERATION};

const NOW: &str = "2026-01-31T12:00:00Z";

fn at() -> Moment {
    Moment::of(&DnsRecord::default(), "2026-01-31T12:00:00.9Z".parse().unwrap())
}

fn zone(status: &str, mark: &str) -> ZoneText {
    ZoneText { status: status.to_owned(), mark: mark.to_owned() }
}

fn record(last: &str) -> DnsRecord {
    let mut record = DnsRecord::default();
    (record.metadata.generation, record.status.observed_generation) = (4, 4);
    let last = last.split_once(' ');
    record.status.last_operation = last.map(|(kind, state)| LastOperation::new(kind, state));
    record
}

#[test]
fn a_start_leaves_the_last_error_and_the_generation_alone() {
    let of = |operation, action| started(&record("Reconcile Error"), (operation, action), at());
    assert_eq!(
        of(Operation::Reconcile, Procedure::Reconcile),
        json!({ "status": { "lastOperation": {
            "type": "Reconcile", "state": "Processing", "progress": 1, "description": "Reconciling the DNSRecord",
            "lastUpdateTime": NOW,
        } } })
    );
    let said = |operation, action| of(operation, action)["status"]["lastOperation"]["description"].clone();
    assert_eq!(said(Operation::Restore, Procedure::Restore), "Restoring the DNSRecord");
    assert_eq!(said(Operation::Migrate, Procedure::Migrate), "Migrating the DNSRecord");
    assert_eq!(said(Operation::Delete, Procedure::Delete), "Deleting the DNSRecord");
}

#[test]
fn nothing_was_sent_for_an_object_that_begins_here() {
    let mark = |last: &str, operation, action| {
        started(&record(last), (operation, action), at())["status"]["providerStatus"]["zones"].clone()
    };
    assert_eq!(mark("", Operation::Create, Procedure::Reconcile), json!([]));
    assert_eq!(mark("Create Error", Operation::Create, Procedure::Reconcile), Value::Null, "another controller began");
    assert_eq!(mark("", Operation::Restore, Procedure::Restore), Value::Null, "another seed began");
}

#[test]
fn a_success_clears_the_error_and_says_where_the_records_are() {
    let mut before = record("Create Processing");
    before.metadata.generation = 5;
    let patch = succeeded(&before, (Operation::Create, Procedure::Reconcile), Some(&zone("Z1", "p/Z1")), at());
    assert_eq!(
        patch["status"]["lastOperation"],
        json!({
            "type": "Create", "state": "Succeeded", "progress": 100,
            "description": "Successfully reconciled DNSRecord", "lastUpdateTime": NOW,
        })
    );
    let status = patch["status"].as_object().unwrap();
    assert_eq!(status["lastError"], Value::Null);
    assert_eq!((&status["observedGeneration"], &status["zone"]), (&json!(5), &json!("Z1")));
    assert_eq!(status["providerStatus"]["zones"], json!(["p/Z1"]));
    assert_eq!(status["conditions"][0]["status"], "True");
    let migrated = succeeded(&before, (Operation::Migrate, Procedure::Migrate), None, at());
    let keys: Vec<&String> = migrated["status"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["lastError", "lastOperation", "observedGeneration"]);
    assert_eq!(migrated["status"]["lastOperation"]["description"], "Successfully migrated DNSRecord");
}

#[test]
fn an_error_is_in_the_operation_and_beside_it() {
    let patch = failed(
        &record("Create Processing"),
        (Operation::Create, Procedure::Reconcile),
        ("no zone", &["ERR_CONFIGURATION_PROBLEM"]),
        at(),
    );
    let said = "Error reconciling DNSRecord: no zone";
    assert_eq!(
        patch["status"]["lastError"],
        json!({ "description": said, "codes": ["ERR_CONFIGURATION_PROBLEM"], "lastUpdateTime": NOW })
    );
    assert_eq!(
        patch["status"]["lastOperation"],
        json!({ "type": "Create", "state": "Error", "progress": 50, "description": said, "lastUpdateTime": NOW })
    );
    assert_eq!((&patch["status"]["observedGeneration"], &patch["status"]["zone"]), (&json!(4), &Value::Null));
    let uncoded = failed(&record(""), (Operation::Delete, Procedure::Delete), ("x", &[]), at());
    assert_eq!(uncoded["status"]["lastError"]["codes"], Value::Null, "those of an earlier error go");
    assert_eq!(uncoded["status"]["lastError"]["description"], "Error deleting DNSRecord: x");
    assert_eq!(uncoded["status"]["conditions"], Value::Null, "deletions say nothing of creation");
}

#[test]
fn created_goes_from_nothing_to_true_and_never_back() {
    let after = |before: &str, success: bool| {
        let mut record = record("Create Processing");
        let other = json!({ "type": "Other", "status": "Progressing" });
        record.status.conditions = vec![other.clone()];
        if !before.is_empty() {
            record.status.conditions.push(json!({ "type": "Created", "status": before }));
        }
        let operation = (Operation::Create, Procedure::Reconcile);
        let patch = if success {
            succeeded(&record, operation, None, at())
        } else {
            failed(&record, operation, ("x", &[]), at())
        };
        let conditions = patch["status"].get("conditions").cloned();
        conditions.map(|conditions| {
            assert_eq!(conditions[0], other, "conditions of others stay");
            conditions[1]["status"].as_str().unwrap().to_owned()
        })
    };
    assert_eq!(after("", true).as_deref(), Some("True"));
    assert_eq!(after("", false).as_deref(), Some("False"));
    assert_eq!(after("True", true), None, "unchanged, with its times");
    assert_eq!(after("True", false), None);
    assert_eq!(after("False", true).as_deref(), Some("True"));
    assert_eq!(after("False", false), None);
}

#[test]
fn what_is_announced() {
    let check = |annotation: &str, last: &str, observed: i64, operation, expected: bool| {
        let mut record = record(last);
        record.status.observed_generation = observed;
        if !annotation.is_empty() {
            record.metadata.annotations.insert(OPERATION.to_owned(), annotation.to_owned());
        }
        assert_eq!(announces(&record, operation), expected, "{annotation} {last} {observed}");
    };
    check("", "", 4, Operation::Create, true);
    check("reconcile", "Reconcile Succeeded", 4, Operation::Reconcile, true);
    check("restore", "", 4, Operation::Restore, true);
    check("", "Reconcile Succeeded", 3, Operation::Reconcile, true);
    // The next attempt of the same, and one after a restart.
    check("", "Reconcile Error", 4, Operation::Reconcile, false);
    check("", "Create Processing", 0, Operation::Create, false);
    check("", "Delete Error", 4, Operation::Delete, false);
    check("", "Reconcile Succeeded", 4, Operation::Delete, true);
    check("", "Create Error", 4, Operation::Delete, true);
    // A look without a cause.
    check("", "Reconcile Succeeded", 4, Operation::Reconcile, false);
    check("", "Create Succeeded", 4, Operation::Reconcile, false);
}

#[test]
fn an_attempt_that_shows_nothing_new_writes_nothing() {
    let operation = (Operation::Reconcile, Procedure::Reconcile);
    let mut before = record("Reconcile Succeeded");
    before.status.zone = Some("Z1".to_owned());
    assert!(!success_is_new(&before, Some(&zone("Z1", "p/Z1"))));
    assert!(success_is_new(&before, Some(&zone("Z2", "p/Z2"))) && success_is_new(&record("Reconcile Error"), None));
    before.status.provider_status = Some(SentChanges::default().with("p/Z1").to_value());
    assert!(!success_is_new(&before, Some(&zone("Z1", "p/Z1"))));
    assert!(success_is_new(&before, Some(&zone("Z1", "q/Z1"))), "it names a zone that was left");
    let mut before = record("Reconcile Error");
    let description = "Error reconciling DNSRecord: x".to_owned();
    before.status.last_error = Some(LastError { description, codes: vec!["A".to_owned()], at: None });
    assert!(!failure_is_new(&before, operation, "x", &["A"]));
    assert!(failure_is_new(&before, operation, "y", &["A"]) && failure_is_new(&before, operation, "x", &[]));
    before.status.observed_generation = 3;
    assert!(failure_is_new(&before, operation, "x", &["A"]));
}

proptest! {
    /// What Gardener compares: the request's time, cut to whole seconds, is not after `lastUpdateTime`. Clocks may differ by
    /// minutes.
    #[test]
    fn gardeners_wait_ends(now in 1_700_000_000_i64..1_900_000_000, nanos in 0_i32..1_000_000_000, skew in -300_i64..300) {
        let asked = Timestamp::new(now + skew, nanos).unwrap();
        let mut record = DnsRecord::default();
        record.metadata.annotations.insert(TIMESTAMP.to_owned(), asked.to_string());
        let patch = succeeded(
            &record,
            (Operation::Reconcile, Procedure::Reconcile),
            None,
            Moment::of(&record, Timestamp::from_second(now).unwrap()),
        );
        let written = patch["status"]["lastOperation"]["lastUpdateTime"].as_str().unwrap();
        prop_assert!(!written.contains('.') && written.ends_with('Z'), "{}", written);
        let written: Timestamp = written.parse().unwrap();
        prop_assert!(asked.as_second() <= written.as_second());
    }
}

#[test]
fn a_time_from_far_ahead_is_not_believed() {
    let mut record = DnsRecord::default();
    record.metadata.annotations.insert(TIMESTAMP.to_owned(), "2046-01-31T12:00:00Z".to_owned());
    assert_eq!(Moment::of(&record, NOW.parse().unwrap()).text(), NOW);
    record.metadata.annotations.insert(TIMESTAMP.to_owned(), "soon".to_owned());
    assert_eq!(Moment::of(&record, NOW.parse().unwrap()).text(), NOW);
}
