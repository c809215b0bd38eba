//! What a person is shown: by the probes, on objects, in metrics. A problem is reported where it is looked for, and ends.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use zonewright_core::endpoint::Endpoint;
use zonewright_core::explain::{Cause, Subject};
use zonewright_core::name_policy::{Denied, NamePolicy};
use zonewright_core::source::SourceErrors;

use crate::sim::{Fault, World, after, rest};

const MINUTE: Duration = Duration::from_mins(1);

/// The value of a series of whole numbers in the text of the metrics; 0 where there is none.
fn measured(engine: &zonewright_engine::Engine, series: &str) -> i64 {
    let text = engine.metrics().text();
    let value = text.lines().find_map(|line| line.strip_prefix(series)?.trim().parse().ok());
    value.unwrap_or_default()
}

fn times(world: &World, who: &str, reason: &str) -> usize {
    world.reports.0.lock().unwrap().iter().filter(|note| &*note.object.name == who && note.reason == reason).count()
}

/// Loops that stand still are named, and no others: a probe may end the process for it.
#[tokio::test(start_paused = true)]
async fn loops_that_do_not_turn_are_named() {
    let world = World::new(&["example"]);
    let engine = world.start().await;
    after(&engine, 60 * MINUTE).await;
    assert!(engine.health().is_live(), "{:?}", engine.health());
    engine.stop().await;
    tokio::time::sleep(2 * MINUTE).await;
    assert!(engine.health().is_live());
    tokio::time::sleep(2 * MINUTE).await;
    let stuck = ["sources: the loop does not turn", "zone example: the loop does not turn"];
    assert_eq!(engine.health().stuck, stuck);
}

#[tokio::test(start_paused = true)]
async fn objects_get_one_event_while_their_zone_does_not_work() {
    let world = World::new(&["example"]);
    world.sim.fault("example", Fault::Denied);
    world.cluster.put("a", &["a.example A 192.0.2.1"]);
    let engine = world.start().await;
    tokio::time::sleep(MINUTE).await;
    world.cluster.put("b", &["b.example A 192.0.2.1"]);
    tokio::time::sleep(10 * MINUTE).await;
    assert_eq!((times(&world, "a", "ZoneNotServed"), times(&world, "b", "ZoneNotServed")), (1, 1));
    assert!(measured(&engine, "zonewright_zone_errors_total{zone=\"sim/example\",error=\"unauthorized\"}") > 5);
    world.sim.fault("example", None);
    after(&engine, 2 * MINUTE).await;
    assert_eq!(world.sim.records().len(), 2);
    // What is over with the next attempt is not reported, nor is what does not wait.
    world.sim.fault("example", Fault::NoReads);
    tokio::time::sleep(10 * MINUTE).await;
    assert!(!engine.health().is_ready());
    assert_eq!((times(&world, "a", "ZoneNotServed"), times(&world, "b", "ZoneNotServed")), (1, 1));
}

/// Whether the names lie in a zone at all is not known then. A failure that is over with the next attempt is not reported.
#[tokio::test(start_paused = true)]
async fn objects_get_one_event_while_the_zones_cannot_be_listed() {
    let world = World::new(&["example"]);
    world.cluster.put("a", &["a.example A 192.0.2.1"]);
    world.sim.fail_lists(1);
    let engine = world.start().await;
    after(&engine, 2 * MINUTE).await;
    assert_eq!(times(&world, "a", "ZoneNotServed"), 0);
    engine.stop().await;
    world.sim.fail_lists(1_000);
    world.cluster.put("b", &["b.example A 192.0.2.1"]);
    let engine = world.start().await;
    tokio::time::sleep(30 * MINUTE).await;
    assert_eq!((times(&world, "a", "ZoneNotServed"), times(&world, "b", "ZoneNotServed")), (1, 1));
    world.sim.fail_lists(0);
    after(&engine, 30 * MINUTE).await;
    assert_eq!(world.sim.records().len(), 2);
    assert_eq!((times(&world, "a", "ZoneNotServed"), times(&world, "b", "ZoneNotServed")), (1, 1));
    engine.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_denied_name_is_explained() {
    struct NotYours;
    impl NamePolicy for NotYours {
        fn permit(&self, _: &Endpoint) -> Result<(), Denied> {
            Err(Denied("not yours".to_owned()))
        }
    }
    let mut world = World::new(&["example"]);
    world.name_policy = Arc::new(NotYours);
    world.cluster.put("a", &["a.example A 192.0.2.1"]);
    let engine = world.start().await;
    rest(&engine).await;
    let name = Subject::Name("a.example".parse().unwrap());
    let verdict = engine.explain(&name, "a test", None).await.verdict;
    assert_eq!(verdict.cause, Cause::Denied);
    assert!(verdict.sentence.contains("a.example") && verdict.sentence.contains("not yours"), "{verdict:?}");
    assert_eq!(times(&world, "a", "Denied"), 1);
    engine.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_zone_that_vanishes_is_reported_and_loses_nothing() {
    let world = World::new(&["example", "other.test"]);
    world.cluster.put("a", &["a.example A 192.0.2.1", "a.other.test A 192.0.2.1"]);
    let engine = world.start().await;
    rest(&engine).await;
    world.sim.leave_out("example", false);
    after(&engine, 3 * MINUTE).await;
    assert!(world.reports.has("a", "NoMatchingZone"));
    assert!(measured(&engine, "zonewright_zone_errors_total{zone=\"sim/example\",error=\"not_found\"}") > 0);
    assert_eq!(world.sim.records(), ["a.example A 192.0.2.1", "a.other.test A 192.0.2.1"]);
    world.cluster.put("a", &["a.example A 192.0.2.2", "a.other.test A 192.0.2.2"]);
    after(&engine, MINUTE).await;
    assert_eq!(world.sim.records(), ["a.example A 192.0.2.1", "a.other.test A 192.0.2.2"]);
    world.sim.leave_out("nothing", false);
    after(&engine, 3 * MINUTE).await;
    assert_eq!(world.sim.records(), ["a.example A 192.0.2.2", "a.other.test A 192.0.2.2"]);
}

#[tokio::test(start_paused = true)]
async fn troubles_of_sources_are_counted_and_named() {
    let world = World::new(&["example"]);
    let engine = world.start().await;
    rest(&engine).await;
    *world.cluster.errors.lock().unwrap() =
        SourceErrors { failures: 3, standing: vec!["web.yaml:2: no YAML".to_owned()], ..SourceErrors::default() };
    after(&engine, MINUTE).await;
    assert_eq!(measured(&engine, "external_dns_source_errors_total"), 3);
    assert_eq!(measured(&engine, "zonewright_source_faults"), 1);
    assert!(engine.health().is_ready(), "its last good content stays in force");
    world.cluster.trust(true, false);
    after(&engine, MINUTE).await;
    assert!(
        engine.health().unready.contains(&"cannot be read: web.yaml:2: no YAML".to_owned()),
        "{:?}",
        engine.health()
    );
    world.cluster.trust(true, true);
    *world.cluster.errors.lock().unwrap() = SourceErrors { failures: 4, ..SourceErrors::default() };
    after(&engine, MINUTE).await;
    assert_eq!(measured(&engine, "external_dns_source_errors_total"), 4);
    assert!(engine.health().is_ready() && measured(&engine, "zonewright_source_faults") == 0);
}

/// Without the right to save, work goes on with what is known in memory.
#[tokio::test(start_paused = true)]
async fn a_state_that_cannot_be_saved_stops_nothing() {
    let world = World::new(&["example"]);
    world.store.full.store(true, Ordering::SeqCst);
    let lines: Vec<String> = (0..30).map(|n| format!("n{n}.example A 192.0.2.1")).collect();
    let all: Vec<&str> = lines.iter().map(String::as_str).collect();
    world.cluster.put("a", &all);
    let engine = world.start().await;
    rest(&engine).await;
    assert_eq!(world.sim.records().len(), 30);
    world.cluster.put("a", &all[..20]);
    after(&engine, MINUTE).await;
    assert_eq!(world.sim.records().len(), 20);
    // The brake counts in memory: ten are done, fifteen more would be too many.
    world.cluster.put("a", &all[..5]);
    assert_eq!(after(&engine, MINUTE).await.held, 15);
}

/// The numbers of external-dns are right as soon as the first pass is over, long before the first interval is.
#[tokio::test(start_paused = true)]
async fn endpoints_are_counted_from_the_first_pass() {
    let mut world = World::new(&["example"]);
    world.config.interval = Duration::from_hours(1);
    world.sim.insert(&["foreign.example A 203.0.113.1"]);
    for n in 0..3 {
        world.cluster.put(&format!("s{n}"), &[&format!("n{n}.example A 192.0.2.1")]);
    }
    let engine = world.start().await;
    after(&engine, Duration::from_secs(5)).await;
    assert_eq!(measured(&engine, "external_dns_source_endpoints_total"), 3);
    // The three with their claims, and the foreign one.
    assert_eq!(measured(&engine, "external_dns_registry_endpoints_total"), 7);
    assert_eq!(measured(&engine, "external_dns_controller_verified_records{record_type=\"a\"}"), 3);
}
