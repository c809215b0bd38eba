//! Names that the server refuses while everything can be read: the names wait, not the zone. Where nothing is accepted at all
//! the zone pauses, and probes.

use std::time::Duration;

use zonewright_engine::Engine;

use crate::sim::{Fault, World, after, rest};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_mins(1);

fn times(world: &World, who: &str, reason: &str) -> usize {
    world.reports.0.lock().unwrap().iter().filter(|note| &*note.object.name == who && note.reason == reason).count()
}

/// How many events on objects say that their zone does not work.
fn blamed_on_the_zone(world: &World) -> Vec<String> {
    let notes = world.reports.0.lock().unwrap();
    let of_zone = notes.iter().filter(|note| note.reason.starts_with("ZoneNot"));
    of_zone.map(|note| format!("{}: {}", note.object.name, note.message)).collect()
}

fn is_live(world: &World, name: &str) -> bool {
    world.sim.records().iter().any(|record| record.starts_with(&format!("{name} ")))
}

/// What the metric says of the zone; `/readyz` must say the same.
#[track_caller]
fn is_ready(engine: &Engine) -> bool {
    let text = engine.metrics().text();
    let metric = text.contains("zonewright_zone_ready{zone=\"sim/example\"} 1");
    let health = engine.health();
    assert_eq!(metric, health.is_ready(), "the metric and /readyz agree: {health:?}");
    metric
}

/// A published name, and some that the server refuses.
async fn refusing(count: usize) -> (World, Engine) {
    let world = World::new(&["example"]);
    world.cluster.put("old", &["old.example A 192.0.2.1"]);
    let engine = world.start().await;
    rest(&engine).await;
    engine.stop().await;
    world.sim.deny(&["bad.example"]);
    for n in 0..count {
        world.cluster.put(&format!("b{n:02}"), &[&format!("n{n:02}.bad.example A 192.0.2.1")]);
    }
    let engine = world.start().await;
    rest(&engine).await;
    (world, engine)
}

#[tokio::test(start_paused = true)]
async fn a_good_name_is_live_at_once_while_others_are_refused() {
    for later in [0, 1, 2, 5, 11, 23, 47, 100] {
        let (world, engine) = refusing(3).await;
        tokio::time::sleep(SECOND * later).await;
        assert!(is_ready(&engine), "{later} s after the start");
        world.cluster.put("good", &["good.example A 192.0.2.1"]);
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(is_live(&world, "good.example"), "{later} s after the start");
        let outcome = after(&engine, 10 * MINUTE).await;
        assert_eq!((outcome.refused, outcome.failures().len()), (3, 0));
        assert!(is_ready(&engine));
        assert_eq!(blamed_on_the_zone(&world), [""; 0]);
        assert_eq!(["b00", "b01", "b02", "good"].map(|who| times(&world, who, "RecordRefused")), [1, 1, 1, 0]);
        engine.stop().await;
    }
}

/// What the server allows later is there one pause later; what the object changes is tried at once.
#[tokio::test(start_paused = true)]
async fn refused_names_are_tried_again() {
    let (world, engine) = refusing(3).await;
    for n in 0..30 {
        after(&engine, MINUTE).await;
        assert!(is_ready(&engine), "three names are three names, however often they are tried");
        world.cluster.put("b01", &[&format!("n01.bad.example A 192.0.2.{n}")]);
    }
    world.cluster.put("b00", &["n00.bad.example A 192.0.2.2"]);
    rest(&engine).await;
    assert_eq!(times(&world, "b00", "RecordRefused"), 2, "it asks for something else, and that is refused too");
    world.sim.deny(&[]);
    world.cluster.put("b00", &["n00.bad.example A 192.0.2.3"]);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(is_live(&world, "n00.bad.example"));
    after(&engine, 76 * SECOND).await;
    assert_eq!(world.sim.records().len(), 4);
}

/// Nothing is accepted at all: the zone fails.
#[tokio::test(start_paused = true)]
async fn sixteen_refusals_in_a_row_pause_the_zone() {
    let (world, engine) = refusing(40).await;
    let mut unready = 0;
    let mut busiest = 0;
    for _ in 0..600 {
        let writes = world.sim.calls().1;
        tokio::time::sleep(SECOND / 2).await;
        busiest = busiest.max(world.sim.calls().1 - writes);
        unready += u32::from(!is_ready(&engine));
    }
    assert!(unready > 530, "not ready within half a minute, and then for good: {unready}");
    assert!(busiest <= 16, "at most 16 are probed per attempt: {busiest}");
    let names = engine.health().unready;
    assert!(names.iter().any(|text| text.contains("zone example") && text.contains("in a row")), "{names:?}");
    let reports: Vec<usize> = (0..40).map(|n| times(&world, &format!("b{n:02}"), "RecordRefused")).collect();
    assert_eq!(reports, [1; 40], "new names first: each was tried, and reported once");
    assert_eq!(times(&world, "old", "ZoneNotServed"), 0);
    world.sim.deny(&[]);
    let outcome = after(&engine, 76 * SECOND).await;
    assert_eq!((outcome.failures().len(), outcome.refused, world.sim.records().len()), (0, 0, 41));
    assert!(is_ready(&engine));
}

/// A single accepted name ends the pause; the others that are refused are from then on parked by themselves.
#[tokio::test(start_paused = true)]
async fn in_a_paused_zone_new_names_go_first() {
    let (world, engine) = refusing(40).await;
    after(&engine, 20 * MINUTE).await;
    assert!(!is_ready(&engine));
    world.cluster.put("z-good", &["z-good.example A 192.0.2.1"]);
    tokio::time::sleep(2 * SECOND).await;
    assert!(is_live(&world, "z-good.example"), "it did not wait for the end of the pause");
    for _ in 0..600 {
        assert!(is_ready(&engine));
        tokio::time::sleep(SECOND).await;
    }
    world.cluster.put("also", &["also.example A 192.0.2.1"]);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(is_live(&world, "also.example"));
    assert_eq!(rest(&engine).await.refused, 40);
    let reports: Vec<usize> = (0..40).map(|n| times(&world, &format!("b{n:02}"), "RecordRefused")).collect();
    assert_eq!(reports, [1; 40]);
}

/// The first sixteen in the order of names are refused, the rest would be accepted.
#[tokio::test(start_paused = true)]
async fn refused_names_that_come_first_keep_the_others_back_for_one_pause() {
    let (world, engine) = refusing(0).await;
    for n in 0..20 {
        world.cluster.put(&format!("b{n:02}"), &[&format!("a{n:02}.bad.example A 192.0.2.1")]);
    }
    for n in 0..200 {
        world.cluster.put(&format!("g{n}"), &[&format!("good{n}.example A 192.0.2.1")]);
    }
    tokio::time::sleep(5 * SECOND).await;
    assert_eq!(world.sim.records().len(), 201);
    assert!(is_ready(&engine));
}

/// A zone that refuses everything and is asked for nothing any more does not fail.
#[tokio::test(start_paused = true)]
async fn a_pause_ends_when_nobody_asks_for_anything_refused() {
    let (world, engine) = refusing(20).await;
    after(&engine, 2 * MINUTE).await;
    assert!(!is_ready(&engine));
    for n in 0..20 {
        world.cluster.delete(&format!("b{n:02}"));
    }
    let outcome = after(&engine, 3 * MINUTE).await;
    assert_eq!((outcome.failures().len(), outcome.refused), (0, 0));
    assert!(is_ready(&engine));
}

/// Names that were refused go one by one, after the others: no search for the culprit is made anew each time.
#[tokio::test(start_paused = true)]
async fn what_was_refused_shares_no_call_with_new_names() {
    let (world, _engine) = refusing(3).await;
    world.sim.fault("example", Fault::Down);
    tokio::time::sleep(3 * MINUTE).await;
    for n in 0..8 {
        world.cluster.put(&format!("g{n}"), &[&format!("n0{n}.example A 192.0.2.1")]);
    }
    tokio::time::sleep(SECOND).await;
    let writes = world.sim.calls().1;
    world.sim.fault("example", None);
    while !is_live(&world, "n00.example") {
        tokio::time::sleep(SECOND / 10).await;
    }
    tokio::time::sleep(SECOND / 10).await;
    assert_eq!(world.sim.records().len(), 9);
    assert_eq!(world.sim.calls().1 - writes, 2 + 3, "eight groups in calls of four, and three for themselves");
}

/// A delete that is refused is not lost: it goes when it is allowed.
#[tokio::test(start_paused = true)]
async fn a_refused_delete_is_tried_again() {
    let world = World::new(&["example"]);
    for n in 0..20 {
        world.cluster.put(&format!("b{n:02}"), &[&format!("n{n:02}.bad.example A 192.0.2.1")]);
    }
    let engine = world.start().await;
    rest(&engine).await;
    world.sim.deny(&["example"]);
    for n in 0..20 {
        world.cluster.delete(&format!("b{n:02}"));
    }
    after(&engine, 10 * MINUTE).await;
    assert_eq!(world.sim.records().len(), 20);
    assert!(!is_ready(&engine));
    world.sim.deny(&[]);
    after(&engine, 76 * SECOND).await;
    assert_eq!(world.sim.all(), [""; 0]);
    assert!(is_ready(&engine));
}

/// A refusal where nothing can be read is the zone's: nothing is parked, and all of it goes with the first attempt that works.
#[tokio::test(start_paused = true)]
async fn what_is_refused_by_a_zone_that_cannot_be_read_waits_for_the_zone() {
    let (world, engine) = refusing(0).await;
    world.sim.fault("example", Fault::Denied);
    world.cluster.put("a", &["a.example A 192.0.2.1"]);
    tokio::time::sleep(35 * SECOND).await;
    assert!(!is_ready(&engine));
    assert_eq!(times(&world, "a", "ZoneNotServed"), 1);
    world.sim.fault("example", None);
    after(&engine, MINUTE).await;
    assert!(is_live(&world, "a.example") && is_ready(&engine));
}

/// The moments within so many seconds at which something is written, in seconds.
async fn attempts(world: &World, seconds: u32) -> Vec<f64> {
    let (mut at, mut writes) = (Vec::new(), world.sim.calls().1);
    for tenth in 0..10 * seconds {
        tokio::time::sleep(SECOND / 10).await;
        let now = world.sim.calls().1;
        if now > writes {
            at.push(f64::from(tenth) / 10.0);
        }
        writes = now;
    }
    at
}

/// At first soon, and no more seldom than what is mended may wait.
#[tokio::test(start_paused = true)]
async fn what_is_refused_is_tried_4_to_75_seconds_apart() {
    let (world, _engine) = refusing(1).await;
    let at = attempts(&world, 1_200).await;
    let apart: Vec<f64> = at.windows(2).map(|two| two[1] - two[0]).collect();
    assert!(at[0] > 3.5 && at[0] < 5.5, "the first pause: {at:?}");
    assert!(apart.iter().all(|pause| *pause > 3.5 && *pause < 75.5), "{apart:?}");
    assert!(apart.last().is_some_and(|pause| *pause > 59.5), "{apart:?}");
}

/// An event does not live longer than an hour: what is refused on and on is reported once an hour, and not with every attempt.
#[tokio::test(start_paused = true)]
async fn what_is_refused_for_hours_is_reported_once_an_hour() {
    let (world, engine) = refusing(1).await;
    for (minutes, reports) in [(58, 1), (4, 2), (52, 2), (12, 3)] {
        after(&engine, minutes * MINUTE).await;
        assert_eq!(times(&world, "b00", "RecordRefused"), reports);
    }
}

/// What is refused for another reason than before is reported once more, at the next attempt.
#[tokio::test(start_paused = true)]
async fn another_reason_of_a_refusal_is_reported() {
    let (world, engine) = refusing(1).await;
    after(&engine, 10 * MINUTE).await;
    assert_eq!(times(&world, "b00", "RecordRefused"), 1);
    world.sim.deny(&[]);
    world.sim.refuse(&["n00.bad.example"]);
    after(&engine, 76 * SECOND).await;
    assert_eq!(times(&world, "b00", "RecordRefused"), 2);
    let said = world.reports.0.lock().unwrap().last().map(|note| note.message.clone());
    assert!(said.as_ref().is_some_and(|text| text.contains("n00.bad.example")), "{said:?}");
}
