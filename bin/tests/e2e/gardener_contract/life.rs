//! The life of one object: operations, every field of the status, finalizer and annotations, and a controller that is killed.

use serde_json::{Value, json};
use zonewright_fakes::route53::Fault;
use zonewright_testkit::{KubeApi, require};

use super::accept::{self, OPERATION, TIMESTAMP};
use super::clouds::{KEY, a, aws, aws_before};
use super::world::{FINALIZER, everything_is_seen, operation, state};
use crate::{LATER, until};

const CHANGE: &str = "ChangeResourceRecordSets";

#[test]
fn the_annotation_reconcile_goes_before_the_provider_is_asked() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    let record = world.record("web");
    aws.service.fail(CHANGE, Fault::Slow, 1);
    record.create(&a("web", "192.0.2.1"));
    aws.is_asked_to_write(0);
    let object = record.get();
    assert!(object["metadata"]["annotations"][OPERATION].is_null(), "{object:#}");
    assert_eq!((operation(&object), state(&object)), ("Create", "Processing"));
    assert_eq!(object["metadata"]["finalizers"], json!([FINALIZER]));
}

#[test]
fn the_annotation_restore_stays_until_it_is_done() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    let record = world.record("web");
    record.put(&a("web", "192.0.2.1"), &json!({ OPERATION: "wait-for-state" }));
    aws.service.fail(CHANGE, Fault::Slow, 1);
    record.ask("restore", &Value::Null);
    aws.is_asked_to_write(0);
    let object = record.get();
    assert_eq!(object["metadata"]["annotations"][OPERATION], "restore");
    assert_eq!((operation(&object), state(&object)), ("Restore", "Processing"));
}

/// What was asked for and what was under way decide on the operation.
#[test]
fn the_type_of_the_operation() {
    require!(KubeApi::TOOLS);
    let (_aws, mut world) = aws_before();
    let rows = [
        ("created", "", None, "Create"),
        ("creating", "", Some(("Create", "Error")), "Create"),
        ("migrating", "", Some(("Migrate", "Processing")), "Migrate"),
        ("restoring", "", Some(("Restore", "Error")), "Restore"),
        ("reconciling", "", Some(("Reconcile", "Error")), "Reconcile"),
        ("asked", "reconcile", Some(("Create", "Succeeded")), "Reconcile"),
        ("restored", "restore", Some(("Reconcile", "Succeeded")), "Restore"),
        ("migrated", "migrate", Some(("Reconcile", "Succeeded")), "Migrate"),
    ];
    for (name, annotation, last, _) in rows {
        let record = world.record(name);
        let annotations = if annotation.is_empty() { json!({}) } else { json!({ OPERATION: annotation }) };
        record.put(&a(name, "192.0.2.1"), &annotations);
        if let Some((kind, state)) = last {
            record.set_status(&json!({ "lastOperation": {
                "type": kind, "state": state, "progress": 50, "description": "as it was left",
                "lastUpdateTime": "2026-01-31T12:00:00Z",
            } }));
        }
    }
    world.start();
    for (name, _, _, expected) in rows {
        let done = |object: &Value| {
            let last = &object["status"]["lastOperation"];
            last["state"] == "Succeeded" && last["lastUpdateTime"] != "2026-01-31T12:00:00Z"
        };
        let object = world.record(name).shows("done", done);
        assert_eq!(operation(&object), expected, "{name}");
        assert!(object["metadata"]["annotations"][OPERATION].is_null(), "{name}");
    }
    let record = world.record("created");
    record.deleted();
}

#[test]
fn every_field_of_the_status() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    let record = world.record("web");
    aws.service.fail(CHANGE, Fault::Slow, 1);
    record.create(&a("web", "192.0.2.1"));
    aws.is_asked_to_write(0);
    let status = record.status();
    assert_eq!(status["lastOperation"]["description"], "Reconciling the DNSRecord");
    assert_eq!(status["lastOperation"]["progress"], 1);
    assert!(status["observedGeneration"].is_null() && status["lastError"].is_null(), "{status:#}");
    record.shows("done", |object| state(object) == "Succeeded");

    record.does("reconcile", &json!({ "ttl": 60 }));
    let object = record.get();
    let status = &object["status"];
    let last = &status["lastOperation"];
    assert_eq!(last["description"], "Successfully reconciled DNSRecord");
    assert_eq!((&last["progress"], &last["type"]), (&json!(100), &json!("Reconcile")));
    assert_eq!(status["observedGeneration"], object["metadata"]["generation"]);
    assert_eq!(status["zone"], json!(aws.zone));
    let created = &status["conditions"][0];
    assert_eq!(
        (&created["type"], &created["status"], &created["reason"]),
        (&json!("Created"), &json!("True"), &json!("Success"))
    );
    for field in ["message", "lastTransitionTime", "lastUpdateTime"] {
        assert!(created[field].is_string(), "{created}");
    }

    aws.service.fail(CHANGE, Fault::Denied, 1000);
    record.ask("reconcile", &json!({ "values": ["192.0.2.2"] }));
    record.fails(&[]);
    let object = record.get();
    let (status, last) = (&object["status"], &object["status"]["lastOperation"]);
    let description = last["description"].as_str().unwrap_or_default();
    assert!(description.starts_with("Error reconciling DNSRecord: "), "{description}");
    assert_eq!(last["progress"], 50);
    assert_eq!(status["lastError"]["description"], last["description"]);
    assert!(status["lastError"]["lastUpdateTime"].is_string(), "{status:#}");
    assert_eq!(status["observedGeneration"], object["metadata"]["generation"]);
    assert_eq!(status["conditions"][0]["status"], "True", "what was created once stays created");
}

/// The error stays while the next attempt is under way, and goes with its success.
#[test]
fn the_last_error_stays_until_it_succeeds() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    let record = world.record("web");
    aws.service.fail(CHANGE, Fault::Denied, 1000);
    record.create(&a("web", "192.0.2.1"));
    record.fails(&[]);
    aws.service.fail(CHANGE, Fault::Denied, 0);
    aws.service.fail(CHANGE, Fault::Slow, 1);
    let before = aws.writes();
    let asked = record.ask("reconcile", &Value::Null);
    aws.is_asked_to_write(before);
    let object = record.get();
    assert_eq!(state(&object), "Processing");
    assert!(object["status"]["lastError"].is_object(), "{object:#}");
    record.answers(&asked);
    assert!(record.status()["lastError"].is_null());
}

#[test]
fn the_condition_created() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    let condition = |object: &Value| {
        let created = &object["status"]["conditions"][0];
        let text = |field: &str| created[field].as_str().unwrap_or_default().to_owned();
        (text("status"), text("reason"), text("lastTransitionTime"))
    };
    let record = world.record("web");
    aws.service.fail(CHANGE, Fault::Denied, 1000);
    record.create(&a("web", "192.0.2.1"));
    record.fails(&[]);
    let (status, reason, first) = condition(&record.get());
    assert_eq!((status.as_str(), reason.as_str()), ("False", "Error"));
    record.ask("reconcile", &json!({ "ttl": 60 }));
    record.shows("observed", |object| object["status"]["observedGeneration"] == object["metadata"]["generation"]);
    record.fails(&[]);
    assert_eq!(condition(&record.get()).2, first, "what does not change has the time of its change");
    aws.service.fail(CHANGE, Fault::Denied, 0);
    record.does("reconcile", &Value::Null);
    let (status, reason, became) = condition(&record.get());
    assert_eq!((status.as_str(), reason.as_str()), ("True", "Success"));
    aws.service.fail(CHANGE, Fault::Denied, 1000);
    record.ask("reconcile", &json!({ "values": ["192.0.2.2"] }));
    record.fails(&[]);
    assert_eq!(condition(&record.get()), ("True".to_owned(), "Success".to_owned(), became));
}

/// An object whose every attempt failed before anything was sent goes without the provider, which may not even let us in.
#[test]
fn what_was_never_sent_is_deleted_without_the_provider() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    aws.service.expire(KEY);
    let record = world.record("web");
    record.create(&a("web", "192.0.2.1"));
    record.fails(&[]);
    record.deleted();
    assert_eq!(aws.writes(), 0);
}

/// The change was carried out and its answer lost, and then nothing works any more: when it goes, the record goes too.
#[test]
fn what_may_have_been_sent_is_deleted_at_the_provider() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    let record = world.record("web");
    aws.service.fail(CHANGE, Fault::ConnectionLost, 1);
    aws.service.fail_after("ListResourceRecordSets", 0, Fault::Denied, 0);
    aws.service.fail_after(CHANGE, 1, Fault::Denied, 1000);
    record.create(&a("web", "192.0.2.1"));
    until("the record", LATER, || aws.shown() == ["web.shop.test A 120 192.0.2.1"]);
    aws.service.fail(CHANGE, Fault::Denied, 0);
    record.delete();
    record.ask_if_there("reconcile");
    record.is_gone();
    aws.shows(&[]);
}

/// A crash between the answer of the provider and the status: nothing is made twice, and nothing is left behind.
#[test]
fn a_crash_after_the_provider_was_asked_leaves_nothing_behind() {
    require!(KubeApi::TOOLS);
    let (aws, mut world) = aws();
    let (asked, path) = {
        let record = world.record("web");
        // Carried out, and never answered.
        aws.service.fail(CHANGE, Fault::Late, 1);
        (record.create(&a("web", "192.0.2.1")), record.path.clone())
    };
    aws.shows(&["web.shop.test A 120 192.0.2.1"]);
    world.kill();
    let gone = world.kube().get(&path).expect_success();
    assert_eq!(state(&gone), "Processing");
    world.start();
    world.record("web").answers(&asked);
    aws.shows(&["web.shop.test A 120 192.0.2.1"]);
    // The same at a change, and then at the end.
    aws.service.fail(CHANGE, Fault::Late, 1);
    let asked = world.record("web").ask("reconcile", &json!({ "values": ["192.0.2.2"] }));
    aws.shows(&["web.shop.test A 120 192.0.2.2"]);
    world.kill();
    world.start();
    world.record("web").answers(&asked);
    aws.service.fail(CHANGE, Fault::Late, 1);
    world.record("web").delete();
    aws.shows(&[]);
    world.kill();
    world.start();
    world.record("web").is_gone();
}

#[test]
fn an_object_without_our_finalizer_just_goes() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    let record = world.record("web");
    // Deleted with a finalizer of others alone: it is not ours to do anything.
    let mut object = record.object(&a("web", "192.0.2.1"), &json!({}));
    object["metadata"]["finalizers"] = json!(["example.com/other"]);
    object["spec"]["type"] = json!("not-yet");
    let collection = record.path.rsplit_once('/').expect("a path").0;
    world.kube().post(collection, &object).expect_success();
    record.set_status(&json!({ "lastOperation": {
        "type": "Create", "state": "Succeeded", "progress": 100, "description": "elsewhere",
        "lastUpdateTime": "2026-01-31T12:00:00Z",
    } }));
    record.delete();
    record.change(&json!({ "spec": { "type": "aws-route53" } }));
    everything_is_seen(&world, &a("sentinel", "192.0.2.99"));
    let object = record.get();
    assert_eq!((operation(&object), state(&object)), ("Create", "Succeeded"), "{object:#}");
    assert_eq!(aws.calls("DELETE"), 1, "that of the sentinel");
    record.change(&json!({ "metadata": { "finalizers": null } }));
    record.is_gone();
}

#[test]
fn a_forced_deletion_ends_whatever_the_provider_says() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    let record = world.record("web");
    record.created(&a("web", "192.0.2.1"));
    aws.service.expire(KEY);
    record.delete();
    record.fails(&[]);
    let annotations = json!({ "confirmation.gardener.cloud/force-deletion": "true" });
    world.cluster(&world.namespace, &json!({ "metadata": { "annotations": annotations } }));
    record.hurry();
    record.is_gone();
}

/// Each request ends in a status write, and nothing else does; the predicate holds at every moment of a second.
#[test]
fn each_request_is_answered_at_any_moment_of_a_second() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    let record = world.record("web");
    record.created(&a("web", "192.0.2.1"));
    everything_is_seen(&world, &a("sentinel", "192.0.2.99"));
    let (writes, requests) = (aws.writes(), aws.service.requests());
    for _ in 0..20 {
        record.does("reconcile", &Value::Null);
    }
    assert_eq!(aws.writes(), writes, "what is as it should be is not written");
    assert_eq!(aws.service.requests(), requests + 20, "the name is read once for each request");
    // A request that is answered says so once: the object does not change any more.
    let before = record.get();
    everything_is_seen(&world, &a("sentinel", "192.0.2.99"));
    assert_eq!(record.get(), before);
    let answered = accept::accepted(&before, before["metadata"]["annotations"][TIMESTAMP].as_str().unwrap_or_default());
    assert_eq!(answered, Ok(()));
}
