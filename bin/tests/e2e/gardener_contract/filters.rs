//! Which objects are handled, and what starts work.

use serde_json::{Value, json};
use zonewright_fakes::route53::Fault;
use zonewright_testkit::{KubeApi, require};

use super::accept::{self, OPERATION, TIMESTAMP};
use super::clouds::{a, aws, aws_before, with};
use super::world::{World, everything_is_seen, operation, state};
use crate::{LATER, until};

/// What a controller before this one left behind.
fn left(kind: &str, state: &str) -> Value {
    json!({
        "observedGeneration": 1,
        "lastOperation": {
            "type": kind, "state": state, "progress": 50, "description": "as it was left",
            "lastUpdateTime": "2026-01-31T12:00:00Z",
        },
    })
}

fn seen(world: &World) {
    everything_is_seen(world, &a("sentinel", "192.0.2.99"));
}

#[test]
fn what_succeeded_before_the_start_is_left_alone() {
    require!(KubeApi::TOOLS);
    let (aws, mut world) = aws_before();
    let record = world.record("done");
    record.put(&a("done", "192.0.2.1"), &json!({})).set_status(&left("Reconcile", "Succeeded"));
    let before = record.get();
    let path = record.path.clone();
    world.start();
    seen(&world);
    assert_eq!(world.kube().get(&path).expect_success(), before);
    aws.shows(&[]);
}

#[test]
fn what_was_unfinished_before_the_start_is_done() {
    require!(KubeApi::TOOLS);
    let (aws, mut world) = aws_before();
    for (name, last) in [
        ("processing", Some(left("Create", "Processing"))),
        ("error", Some(left("Reconcile", "Error"))),
        ("failed", Some(left("Reconcile", "Failed"))),
        ("new", None),
    ] {
        let record = world.record(name);
        record.put(&a(name, "192.0.2.1"), &json!({}));
        if let Some(last) = last {
            record.set_status(&last);
        }
    }
    world.start();
    for name in ["processing", "error", "failed", "new"] {
        world.record(name).shows("done", |object| state(object) == "Succeeded");
    }
    let line = |name: &str| format!("{name}.shop.test A 120 192.0.2.1");
    let lines = ["error", "failed", "new", "processing"].map(line);
    aws.shows(&lines.each_ref().map(String::as_str));
}

#[test]
fn a_changed_spec_waits_for_the_annotation() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    let record = world.record("web");
    record.created(&a("web", "192.0.2.1"));
    record.change(&json!({ "spec": { "values": ["192.0.2.2"] } }));
    let before = record.get();
    seen(&world);
    assert_eq!(record.get(), before, "nothing was written");
    aws.shows(&["web.shop.test A 120 192.0.2.1"]);
    record.does("reconcile", &Value::Null);
    aws.shows(&["web.shop.test A 120 192.0.2.2"]);
}

#[test]
fn with_the_flag_a_changed_spec_is_enough() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws_before();
    let world = world.arg("--ignore-operation-annotation").started();
    let record = world.record("web");
    record.put(&a("web", "192.0.2.1"), &json!({}));
    aws.shows(&["web.shop.test A 120 192.0.2.1"]);
    record.change(&json!({ "spec": { "values": ["192.0.2.2"] } }));
    aws.shows(&["web.shop.test A 120 192.0.2.2"]);
    let done = |object: &Value| {
        state(object) == "Succeeded" && object["status"]["observedGeneration"] == object["metadata"]["generation"]
    };
    let object = record.shows("done", done);
    // Its own writes do not start it again.
    seen(&world);
    assert_eq!(record.get(), object);
}

/// A deletion that fails is retried at its own pace: its own status writes are no reason to hurry.
#[test]
fn a_deletion_that_fails_does_not_start_itself_again() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    let record = world.record("web");
    record.created(&a("web", "192.0.2.1"));
    aws.service.fail("ChangeResourceRecordSets", Fault::Denied, 1000);
    let before = aws.service.requests();
    record.delete();
    let codes = record.fails(&[]);
    assert_eq!(codes, ["ERR_INFRA_UNAUTHORIZED"]);
    seen_elsewhere(&world);
    assert!(aws.service.requests() - before < 30, "{} requests", aws.service.requests() - before);
    aws.service.fail("ChangeResourceRecordSets", Fault::Denied, 0);
    // As when a person has mended the account, and Gardener asks again.
    record.ask("reconcile", &Value::Null);
    record.is_gone();
    aws.shows(&[]);
}

/// Some twenty events of other objects pass.
fn seen_elsewhere(world: &World) {
    let other = world.record("other-type");
    other.put(&with(a("other", "192.0.2.9"), &json!({ "type": "openstack-designate" })), &json!({}));
    for n in 0..20 {
        other.change(&json!({ "metadata": { "annotations": { "n": n.to_string() } } }));
    }
}

#[test]
fn other_types_and_classes_are_not_ours() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    for (name, fields) in [
        ("type", json!({ "type": "openstack-designate" })),
        ("case", json!({ "type": "AWS-Route53" })),
        ("class", json!({ "class": "other" })),
        ("empty", json!({ "class": "" })),
    ] {
        world.record(name).create(&with(a(name, "192.0.2.1"), &fields));
    }
    seen(&world);
    for name in ["type", "case", "class", "empty"] {
        let object = world.record(name).get();
        assert!(object["status"].is_null() && object["metadata"]["finalizers"].is_null(), "{object:#}");
        assert_eq!(object["metadata"]["annotations"][OPERATION], "reconcile");
    }
    aws.shows(&[]);
}

#[test]
fn the_namespace_garden_has_no_cluster() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    let name = format!("seed-ingress-{}", world.namespace);
    let record = world.record_in("garden", &name);
    let secret = json!({ "secretRef": { "name": "dns", "namespace": world.namespace } });
    record.created(&with(a("*.ingress", "192.0.2.1"), &secret));
    aws.shows(&["*.ingress.shop.test A 120 192.0.2.1"]);
    record.deleted();
    aws.shows(&[]);
}

#[test]
fn a_shoot_without_its_cluster_waits_for_it() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    let namespace = world.plain_shoot();
    let record = world.record_in(&namespace, "web");
    let secret = json!({ "secretRef": { "name": "dns", "namespace": world.namespace } });
    let asked = record.create(&with(a("web", "192.0.2.1"), &secret));
    seen(&world);
    assert!(record.status().is_null(), "{:#}", record.get());
    aws.shows(&[]);
    // The next request after the Cluster came is answered.
    world.cluster(&namespace, &json!({}));
    let again = record.ask("reconcile", &Value::Null);
    record.answers(&again);
    assert_ne!(asked, again);
    aws.shows(&["web.shop.test A 120 192.0.2.1"]);
}

#[test]
fn a_shoot_that_has_failed_is_left_alone_also_when_it_goes() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    let record = world.record("web");
    record.created(&a("web", "192.0.2.1"));
    let cluster = |state: &str| {
        world.cluster(&world.namespace, &json!({ "status": { "lastOperation": { "state": state } } }));
    };
    cluster("Failed");
    // Its Cluster is known as failed once a request goes unanswered: the sentinel lives in another shoot.
    let elsewhere = world.shoot();
    let sentinel = |name: &str| {
        let sentinel = world.record_in(&elsewhere, name);
        let secret = json!({ "secretRef": { "name": "dns", "namespace": world.namespace } });
        sentinel.created(&with(a(name, "192.0.2.9"), &secret));
        sentinel.deleted();
    };
    sentinel("first");
    let asked = record.ask("reconcile", &json!({ "values": ["192.0.2.2"] }));
    sentinel("second");
    assert!(accept::accepted(&record.get(), &asked).is_err());
    record.delete();
    sentinel("third");
    let object = record.get();
    assert_eq!((operation(&object), state(&object)), ("Create", "Succeeded"));
    aws.shows(&["web.shop.test A 120 192.0.2.1"]);
    cluster("Processing");
    record.ask("reconcile", &Value::Null);
    record.is_gone();
    aws.shows(&[]);
}

/// A shoot that sleeps is served as any other, and the annotation by which another controller of Gardener leaves entries alone means
/// nothing on a DNSRecord.
#[test]
fn a_hibernated_shoot_and_an_annotation_to_ignore_are_no_reason_to_wait() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    let asleep = json!({
        "spec": { "hibernation": { "enabled": true } },
        "status": { "isHibernated": true, "lastOperation": { "state": "Succeeded" } },
    });
    world.cluster(&world.namespace, &asleep);
    let record = world.record("web");
    let asked = accept::now();
    let annotations = json!({ OPERATION: "reconcile", TIMESTAMP: asked, "dns.gardener.cloud/ignore": "true" });
    record.put(&a("web", "192.0.2.1"), &annotations);
    record.answers(&asked);
    record.does("reconcile", &json!({ "values": ["192.0.2.2"] }));
    aws.shows(&["web.shop.test A 120 192.0.2.2"]);
    record.deleted();
    aws.shows(&[]);
}

#[test]
fn wait_for_state_waits_for_the_restore() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    let record = world.record("web");
    record.put(&a("web", "192.0.2.1"), &json!({ OPERATION: "wait-for-state", TIMESTAMP: accept::now() }));
    seen(&world);
    let object = record.get();
    assert!(object["status"].is_null() && object["metadata"]["finalizers"].is_null(), "{object:#}");
    assert_eq!(object["metadata"]["annotations"][OPERATION], "wait-for-state");
    aws.shows(&[]);
    record.does("restore", &Value::Null);
    assert_eq!(operation(&record.get()), "Restore");
    aws.shows(&["web.shop.test A 120 192.0.2.1"]);
    until("one finalizer", LATER, || record.get()["metadata"]["finalizers"] == json!([super::world::FINALIZER]));
}
