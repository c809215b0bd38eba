//! What costs nothing while nothing changes: no name is looked at, whatever the size of the zone.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::sim::{World, after, rest, set};

/// A world of so many names, among as many foreign ones.
fn world(names: usize) -> World {
    let world = World::new(&["example"]);
    let foreign: Vec<String> = (0..names).map(|n| format!("foreign-{n}.example A 203.0.113.1")).collect();
    world.sim.insert(&foreign.iter().map(String::as_str).collect::<Vec<_>>());
    for n in 0..names {
        world.cluster.put(&format!("s{n:04}"), &[&format!("n{n}.example A 192.0.2.1")]);
    }
    world
}

/// The value of a series.
fn metric(text: &str, series: &str) -> String {
    let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.unwrap_or("none").to_owned()
}

#[tokio::test(start_paused = true)]
async fn an_hour_of_rest_walks_over_no_name() {
    let world = world(500);
    let engine = world.start().await;
    rest(&engine).await;
    assert_eq!(world.sim.records().len(), 1_000);
    // A name that waits for its targets, and a proof that nobody uses, are looked at when it is time.
    world.cluster.put("waits", &["pending:waits.example"]);
    after(&engine, Duration::from_hours(2)).await;
    let (walked, interpreted) = (engine.names_walked(), world.sim.interpreted());
    let (reads, shown) = (world.sim.calls().0, world.cluster.shown.load(Ordering::SeqCst));
    assert!(walked > 0 && interpreted > 0 && shown > 0, "the counters count: {walked} {interpreted} {shown}");
    after(&engine, Duration::from_hours(1)).await;
    let shown = world.cluster.shown.load(Ordering::SeqCst) - shown;
    assert_eq!(world.sim.calls().0 - reads, 60, "one question each interval");
    assert_eq!(engine.names_walked() - walked, 0);
    assert_eq!(world.sim.interpreted() - interpreted, 0);
    // A sixth of the slow pass over the 501 objects, in parts of two.
    assert!((80..=120).contains(&shown), "{shown}");
}

/// With its first part tables that the start has filled are laid out anew: that belongs to the start, and not to the first minute at rest.
#[tokio::test(start_paused = true)]
async fn the_slow_pass_begins_as_soon_as_all_zones_are_planned() {
    let world = world(500);
    let engine = world.start().await;
    after(&engine, Duration::from_secs(5)).await;
    assert_eq!(world.cluster.shown.load(Ordering::SeqCst), 500 + 2, "all of it, and a first part");
    after(&engine, Duration::from_secs(50)).await;
    assert_eq!(world.cluster.shown.load(Ordering::SeqCst), 500 + 2, "the next part comes with the next interval");
}

#[tokio::test(start_paused = true)]
async fn a_change_that_was_not_reported_is_found_within_hours() {
    let world = world(30);
    let engine = world.start().await;
    rest(&engine).await;
    world.cluster.lose_next();
    world.cluster.put("s0007", &["moved.example A 192.0.2.1"]);
    world.cluster.lose_next();
    world.cluster.vanish("s0009");
    after(&engine, Duration::from_mins(1)).await;
    assert!(world.sim.records().contains(&"n7.example A 192.0.2.1".to_owned()));
    after(&engine, Duration::from_hours(13)).await;
    let records = world.sim.records();
    let has = |line: &str| records.iter().any(|record| record == line);
    assert!(has("moved.example A 192.0.2.1") && !has("n7.example A 192.0.2.1") && !has("n9.example A 192.0.2.1"));
    assert_eq!(records.len(), 59);
}

#[tokio::test(start_paused = true)]
async fn numbers_follow_what_changes() {
    let world = world(40);
    let engine = world.start().await;
    after(&engine, Duration::from_mins(2)).await;
    let numbers = |engine: &zonewright_engine::Engine| {
        let text = engine.metrics().text();
        let of = |family: &str| metric(&text, &format!("external_dns_{family}{{record_type=\"a\"}}"));
        [of("source_records"), of("registry_records"), of("controller_verified_records")]
    };
    assert_eq!(numbers(&engine), ["40", "80", "40"]);
    // Two objects go, a third asks for another type, a foreign hand takes a record away and may not get it back.
    world.cluster.delete("s0001");
    world.cluster.delete("s0002");
    world.cluster.put("s0003", &["n3.example AAAA 2001:db8::1"]);
    world.sim.deny(&["n5.example"]);
    world.sim.remove(&set("n5.example A 192.0.2.1").key);
    after(&engine, Duration::from_mins(3)).await;
    assert_eq!(numbers(&engine), ["37", "76", "36"]);
    world.sim.deny(&[]);
    after(&engine, Duration::from_hours(2)).await;
    assert_eq!(numbers(&engine), ["37", "77", "37"]);
}
