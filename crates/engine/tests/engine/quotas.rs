//! Quotas: what is new waits where there is no room, what is published stays and is followed.

use std::time::Duration;

use zonewright_core::quota::QuotaLimits;

use crate::sim::{World, after, rest};

const MINUTE: Duration = Duration::from_mins(1);

fn world(per_namespace: usize, per_object: usize) -> World {
    let mut world = World::new(&["example", "other.test"]);
    world.config.quotas = QuotaLimits { per_namespace, per_object };
    world
}

fn waiting(engine: &zonewright_engine::Engine) -> Option<i64> {
    let text = engine.metrics().text();
    let series = "zonewright_quota_waiting_records{namespace=\"ns\"} ";
    text.lines().find_map(|line| line.strip_prefix(series)?.trim().parse().ok())
}

#[tokio::test(start_paused = true)]
async fn what_waits_comes_when_there_is_room() {
    let world = world(2, 0);
    // Older objects have smaller names here.
    world.cluster.put("a", &["a.example A 192.0.2.1", "a.other.test A 192.0.2.1"]);
    world.cluster.put("b", &["b.example A 192.0.2.1", "elsewhere.test A 192.0.2.1"]);
    let engine = world.start().await;
    rest(&engine).await;
    assert_eq!(world.sim.records(), ["a.example A 192.0.2.1", "a.other.test A 192.0.2.1"]);
    assert!(world.reports.has("b", "QuotaExceeded") && !world.reports.has("a", "QuotaExceeded"));
    assert_eq!(waiting(&engine), Some(1));
    // Who is there keeps the place, and what is published is followed.
    world.cluster.put("A", &["older.example A 192.0.2.1"]);
    world.cluster.put("a", &["a.example A 192.0.2.2", "a.other.test CNAME b.other.test."]);
    rest(&engine).await;
    assert_eq!(world.sim.records(), ["a.example A 192.0.2.2", "a.other.test CNAME b.other.test."]);
    world.cluster.put("a", &["a.example A 192.0.2.2"]);
    rest(&engine).await;
    assert_eq!(world.sim.records(), ["a.example A 192.0.2.2", "older.example A 192.0.2.1"]);
    world.cluster.delete("A");
    rest(&engine).await;
    assert_eq!(world.sim.records(), ["a.example A 192.0.2.2", "b.example A 192.0.2.1"]);
    assert_eq!(waiting(&engine), Some(0));
}

#[tokio::test(start_paused = true)]
async fn a_restart_with_less_room_takes_nothing_away() {
    let mut world = world(0, 0);
    world.cluster.put("z", &["z1.example A 192.0.2.1", "z2.example A 192.0.2.1", "z3.other.test A 192.0.2.1"]);
    let engine = world.start().await;
    rest(&engine).await;
    engine.stop().await;
    world.config.quotas = QuotaLimits { per_namespace: 2, per_object: 1 };
    world.cluster.put("a", &["a.example A 192.0.2.1"]);
    world.cluster.put(
        "z",
        &["new.example A 192.0.2.1", "z1.example A 192.0.2.2", "z2.example A 192.0.2.2", "z3.other.test A 192.0.2.2"],
    );
    let engine = world.start().await;
    rest(&engine).await;
    let followed = ["z1.example A 192.0.2.2", "z2.example A 192.0.2.2", "z3.other.test A 192.0.2.2"];
    assert_eq!(world.sim.records(), followed);
    assert!(world.reports.has("a", "QuotaExceeded") && world.reports.has("z", "QuotaExceeded"));
    after(&engine, 10 * MINUTE).await;
    assert_eq!(world.sim.records(), followed);
}

/// Another process of the same owner wrote it: it is published, and nothing says that nobody asks for it.
#[tokio::test(start_paused = true)]
async fn what_another_process_published_meanwhile_stays() {
    let world = world(1, 0);
    world.cluster.put("a", &["a.example A 192.0.2.1"]);
    world.cluster.put("b", &["b.example A 192.0.2.1"]);
    let engine = world.start().await;
    rest(&engine).await;
    assert_eq!(world.sim.records(), ["a.example A 192.0.2.1"]);
    let claim = "heritage=external-dns,external-dns/owner=me,external-dns/resource=service/ns/b";
    let claim = format!("a-b.example TXT \"{claim}\"");
    world.sim.insert(&["b.example A 192.0.2.9", &claim]);
    after(&engine, 2 * MINUTE).await;
    assert_eq!(world.sim.records(), ["a.example A 192.0.2.1", "b.example A 192.0.2.1"]);
}

/// Only what is asked for counts: a record that outlives its object by a policy takes no room.
#[tokio::test(start_paused = true)]
async fn a_record_that_is_retained_after_its_object_takes_no_room() {
    let world = world(1, 0);
    world.cluster.put("a", &["a.example A 192.0.2.1", "policy:retain"]);
    world.cluster.put("b", &["b.example A 192.0.2.1"]);
    let engine = world.start().await;
    rest(&engine).await;
    assert_eq!(world.sim.records(), ["a.example A 192.0.2.1"]);
    world.cluster.delete("a");
    rest(&engine).await;
    assert_eq!(world.sim.records(), ["a.example A 192.0.2.1", "b.example A 192.0.2.1"]);
    assert_eq!(waiting(&engine), Some(0));
    // Nor does a name that lies in no zone.
    world.cluster.put("b", &["b.example A 192.0.2.1", "nowhere.invalid A 192.0.2.1"]);
    rest(&engine).await;
    assert_eq!(waiting(&engine), Some(0));
}
