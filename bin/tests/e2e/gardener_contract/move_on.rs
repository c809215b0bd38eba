//! Migrate and restore.

use serde_json::{Value, json};
use zonewright_testkit::{KubeApi, require};

use super::clouds::{ACCOUNT, ZONE, a, aws};
use super::world::{everything_is_seen, operation, state};

#[test]
fn migrating_leaves_the_record_and_drops_every_finalizer() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    let record = world.record("web");
    record.created(&a("web", "192.0.2.1"));
    let mut finalizers = record.get()["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    finalizers.push(json!("example.com/other"));
    record.change(&json!({ "metadata": { "finalizers": finalizers } }));
    let requests = aws.service.requests();
    record.does("migrate", &Value::Null);
    let object = record.get();
    assert_eq!((operation(&object), state(&object)), ("Migrate", "Succeeded"));
    assert!(object["metadata"]["finalizers"].is_null(), "{object:#}");
    assert_eq!(aws.service.requests(), requests, "the provider is not asked");
    // It goes without a word.
    record.delete();
    record.is_gone();
    everything_is_seen(&world, &a("sentinel", "192.0.2.99"));
    aws.shows(&["web.shop.test A 120 192.0.2.1"]);
}

/// What was migrated is not touched by a request for anything but a restore.
#[test]
fn what_was_migrated_is_not_reconciled() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    let record = world.record("web");
    record.created(&a("web", "192.0.2.1"));
    record.does("migrate", &Value::Null);
    record.ask("reconcile", &json!({ "values": ["192.0.2.2"] }));
    everything_is_seen(&world, &a("sentinel", "192.0.2.99"));
    let object = record.get();
    assert_eq!((operation(&object), state(&object)), ("Migrate", "Succeeded"), "{object:#}");
    aws.shows(&["web.shop.test A 120 192.0.2.1"]);
    record.does("restore", &Value::Null);
    aws.shows(&["web.shop.test A 120 192.0.2.2"]);
}

#[test]
fn a_restore_looks_for_the_zone_again() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    let record = world.record("web");
    record.created(&a("web", "192.0.2.1"));
    record.does("migrate", &Value::Null);
    // A longer zone came meanwhile; and the account shows its id in place of the former one.
    let inner = aws.service.add_zone(ACCOUNT, &format!("web.{ZONE}"), false, &[]);
    record.does("restore", &Value::Null);
    assert_eq!(record.status()["zone"], json!(inner));
    assert_eq!(aws.shown_in(&inner), ["web.shop.test A 120 192.0.2.1"]);
}
