//! One pass (`--once`): what fails is tried again until the time for that is over, what goes on is waited for, and whatever
//! was not read or not written is reported.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::{Instant, timeout};
use zonewright_core::documents::Document;
use zonewright_core::source::SourceErrors;
use zonewright_core::store::StateStore as _;
use zonewright_core::testing::documents::{Fault as Shelf, MemoryDocuments};
use zonewright_engine::{Changes, Engine, Outcome, PassProblem, PlannedChange};
use zonewright_registry::configmap::{ConfigMapConfig, ConfigMapRegistry};

use crate::sim::{Fault, World};

const PATIENCE: Duration = Duration::from_secs(30);

/// A world of so many names, whose engines make one pass.
fn world(names: usize) -> World {
    let mut world = World::new(&["example"]);
    world.config.one_pass = true;
    world.config.start_timeout = PATIENCE;
    for n in 0..names {
        world.cluster.put(&format!("s{n}"), &[&format!("n{n}.example A 192.0.2.1")]);
    }
    world
}

/// The outcome of one pass, and how long it took.
async fn pass(world: &World) -> (Outcome, Duration) {
    let began = Instant::now();
    let engine = world.start().await;
    let outcome = engine.settled().await;
    engine.stop().await;
    (outcome, began.elapsed())
}

fn created(created: usize) -> Outcome {
    Outcome { changes: Changes { created, ..Changes::default() }, ..Outcome::default() }
}

#[tokio::test(start_paused = true)]
async fn a_pass_counts_what_it_did() {
    let mut world = world(3);
    world.sim.insert(&["n0.example A 203.0.113.1"]);
    let outcome = pass(&world).await.0;
    assert_eq!(outcome, Outcome { left_alone: 1, ..created(2) });
    assert!(!outcome.is_up_to_date());
    world.cluster.vanish("s0");
    assert!(pass(&world).await.0.is_up_to_date());
    world.cluster.vanish("s1");
    world.cluster.put("s2", &["n2.example A 192.0.2.2"]);
    let changes = Changes { created: 0, updated: 1, deleted: 1, claims: 0 };
    world.config.dry_run = true;
    for _ in 0..2 {
        assert_eq!(pass(&world).await.0, Outcome { changes, dry_run: true, ..Outcome::default() });
    }
    world.config.dry_run = false;
    assert_eq!(pass(&world).await.0, Outcome { changes, ..Outcome::default() });
}

/// In a dry run the same is planned again and again, and counted once.
#[tokio::test(start_paused = true)]
async fn a_dry_run_counts_what_it_plans_again_once() {
    let mut world = world(2);
    world.config.dry_run = true;
    let engine = world.start().await;
    engine.settled().await;
    world.cluster.put("s0", &["n0.example A 192.0.2.9"]);
    let outcome = crate::sim::after(&engine, Duration::from_mins(10)).await;
    assert_eq!(outcome, Outcome { dry_run: true, ..created(2) });
}

/// A zone of an earlier pass that the list leaves out, and of which nobody can say whether it is there, was not read.
#[tokio::test(start_paused = true)]
async fn a_zone_of_an_earlier_pass_that_cannot_be_asked_for_is_told() {
    let mut world = World::new(&["example", "sub.example"]);
    (world.config.one_pass, world.config.start_timeout) = (true, PATIENCE);
    world.cluster.put("a", &["a.example A 192.0.2.1", "a.sub.example A 192.0.2.1"]);
    assert_eq!(pass(&world).await.0, created(2));
    world.sim.leave_out("sub.example", None);
    world.cluster.put("b", &["b.example A 192.0.2.1"]);
    let (outcome, took) = pass(&world).await;
    assert_eq!((outcome.changes.created, outcome.unread.len()), (1, 1), "{outcome:?}");
    assert!(outcome.unread[0].why.contains("cannot be asked for: ") && took >= PATIENCE, "{outcome:?}, {took:?}");
    // Whether it is there is known in time.
    let sim = Arc::clone(&world.sim);
    tokio::spawn(async move {
        tokio::time::sleep(PATIENCE / 2).await;
        sim.leave_out("sub.example", true);
    });
    world.cluster.put("c", &["c.sub.example A 192.0.2.1"]);
    assert_eq!(pass(&world).await.0, created(1));
    assert!(world.sim.records().contains(&"c.sub.example A 192.0.2.1".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_zone_that_is_back_in_time_is_served() {
    let world = world(3);
    world.sim.fault("example", Fault::NoReads);
    let sim = Arc::clone(&world.sim);
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(29)).await;
        sim.fault("example", None);
    });
    let (outcome, took) = pass(&world).await;
    assert_eq!(outcome, created(3));
    // That attempt has pauses of its own, by chance.
    assert!(took <= PATIENCE + Duration::from_secs(5), "the last attempt comes when the time is over: {took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_zone_that_stays_away_is_not_read() {
    let world = world(3);
    world.sim.fault("example", Fault::Denied);
    let (outcome, took) = pass(&world).await;
    assert_eq!(outcome.failures(), ["zone example: read records: BADSIG"]);
    assert_eq!((outcome.unread.len(), outcome.changes), (1, Changes::default()));
    assert!((PATIENCE..PATIENCE + Duration::from_secs(5)).contains(&took), "{took:?}");
}

/// A reading that stands still ends by itself; until then it may be a long transfer.
#[tokio::test(start_paused = true)]
async fn a_reading_under_way_is_not_cut() {
    let mut world = world(1);
    world.config.start_timeout = Duration::from_secs(1);
    world.sim.fault("example", Fault::Stall);
    let (outcome, took) = pass(&world).await;
    assert_eq!(outcome.failures(), ["zone example: list records: no answer within 1h0m0s"]);
    assert!(took >= Duration::from_hours(1), "{took:?}");
}

/// Sources say themselves what they wait for no longer.
#[tokio::test(start_paused = true)]
async fn sources_that_go_on_are_waited_for() {
    let world = world(2);
    world.cluster.unsettle();
    let engine = world.start().await;
    let early = timeout(Duration::from_hours(2), engine.settled()).await;
    assert!(early.is_err(), "{early:?}");
    assert_eq!((engine.outcome().unfinished, engine.outcome().failures().len()), (true, 2), "{}", engine.outcome());
    world.cluster.trust(true, true);
    assert_eq!(engine.settled().await, created(2));
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_not_read_is_reported_with_its_reason() {
    let world = world(2);
    world.cluster.trust(false, false);
    assert_eq!(pass(&world).await.0.failures(), ["services: not read to its end"]);
    let reason = "web.yaml:2: no YAML".to_owned();
    let unread = [(Arc::from("services"), reason)].into_iter().collect();
    *world.cluster.errors.lock().unwrap() = SourceErrors { unread, ..SourceErrors::default() };
    assert_eq!(pass(&world).await.0.failures(), ["services: web.yaml:2: no YAML"]);
}

/// A pass that is broken off before anything was taken over reports all the same what it did not read.
#[tokio::test(start_paused = true)]
async fn a_kind_that_was_never_taken_over_is_reported() {
    let world = world(2);
    world.cluster.trust(false, false);
    let unread = [(Arc::from("services"), "no answer".to_owned())].into_iter().collect();
    *world.cluster.errors.lock().unwrap() = SourceErrors { unread, ..SourceErrors::default() };
    let engine = world.start().await;
    assert!(engine.outcome().failures().contains(&"services: no answer".to_owned()), "{}", engine.outcome());
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_written_is_counted() {
    let world = world(3);
    world.sim.refuse(&["n1.example"]);
    assert_eq!(pass(&world).await.0, Outcome { refused: 1, ..created(2) });
    world.sim.refuse(&[]);
    world.cluster.put("more", &["more.example A 192.0.2.1"]);
    let engine = world.start().await;
    world.sim.fault_after(0, "example", Fault::Denied);
    world.sim.unstall_reads();
    let outcome = engine.settled().await;
    assert_eq!((outcome.unread.len(), outcome.unwritten.len(), outcome.refused), (0, 0, 2), "{outcome}");
}

/// What another writer did a moment ago is read and planned again before the pass ends.
#[tokio::test(start_paused = true)]
async fn a_conflict_is_settled_within_the_pass() {
    let world = world(2);
    let engine: Engine = world.start().await;
    engine.settled().await;
    world.sim.insert(&["late.example A 203.0.113.9"]);
    world.cluster.put("late", &["late.example A 192.0.2.1"]);
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(engine.settled().await, Outcome { left_alone: 1, ..created(2) });
}

/// Each change with its reason, what is left alone and why, and the same after it was looked at twice.
#[tokio::test(start_paused = true)]
async fn a_dry_run_can_be_looked_at() {
    let mut world = world(3);
    world.sim.insert(&["n0.example A 203.0.113.1"]);
    pass(&world).await;
    world.cluster.vanish("s1");
    world.cluster.put("s2", &["n2.example A 192.0.2.2"]);
    world.cluster.put("s3", &["n3.example A 192.0.2.3"]);
    world.config.dry_run = true;
    let engine = world.start().await;
    engine.settled().await;
    let zones = engine.preview();
    engine.stop().await;
    let [zone] = zones.as_slice() else { panic!("one zone: {zones:?}") };
    let line = |planned: &PlannedChange| format!("{}: {}", planned.change, planned.reason);
    assert_eq!(
        zone.changes.iter().map(line).collect::<Vec<_>>(),
        [
            "- n1.example 0 A 192.0.2.1: no object requests it any more",
            "~ n2.example 0 A 192.0.2.2 (was 192.0.2.1): the data differs",
            "+ n3.example 0 A 192.0.2.3: no record stands there",
        ]
    );
    let objects = |planned: &PlannedChange| planned.objects.iter().map(|one| one.name.to_string()).collect::<Vec<_>>();
    assert_eq!(
        zone.changes.iter().map(objects).collect::<Vec<_>>(),
        [vec![], vec!["s2".to_owned()], vec!["s3".to_owned()]]
    );
    let [left] = zone.left_alone.as_slice() else { panic!("one is left: {zone:?}") };
    assert_eq!((left.key.to_string(), left.reason.as_str()), ("n0.example A".to_owned(), "ForeignRecord"));
    assert!(left.why.contains("nobody claims"), "{}", left.why);
    assert!(zone.held.is_none());
}

/// Held deletes are reported with what would go; a pass that sends what it plans keeps nothing to look at.
#[tokio::test(start_paused = true)]
async fn held_deletes_can_be_looked_at() {
    let mut world = world(30);
    pass(&world).await;
    (0..30).for_each(|n| world.cluster.vanish(&format!("s{n}")));
    world.config.dry_run = true;
    let engine = world.start().await;
    engine.settled().await;
    let zones = engine.preview();
    engine.stop().await;
    let held = zones.first().and_then(|zone| zone.held.clone()).expect("held deletes");
    assert_eq!((held.count, held.sets.len()), (30, 30));
    assert!(zones.iter().all(|zone| zone.changes.is_empty()), "{zones:?}");
    world.config.dry_run = false;
    world.cluster.put("new", &["new.example A 192.0.2.2"]);
    let engine = world.start().await;
    engine.settled().await;
    assert!(engine.preview().iter().all(|zone| zone.changes.is_empty()));
    engine.stop().await;
}

/// The state is that of the process that deletes: what a dry run would hold is no plan of it.
#[tokio::test(start_paused = true)]
async fn a_dry_run_leaves_the_saved_state_as_it_is() {
    let mut world = world(30);
    pass(&world).await;
    let saved = world.store.load().await.unwrap();
    assert!(saved.is_some());
    world.cluster.vanish_all();
    world.config.dry_run = true;
    assert_eq!(pass(&world).await.0.held, 30);
    assert_eq!(world.store.load().await.unwrap(), saved);
    world.config.dry_run = false;
    assert_eq!(pass(&world).await.0.held, 30);
}

/// A pass with claims in objects: what it says, and what was left at its end.
async fn pass_with_objects(world: &World, store: &Arc<MemoryDocuments>) -> (Outcome, Vec<PassProblem>) {
    let config = ConfigMapConfig::new("me", store.clone()).unwrap();
    let engine = world.start_with(Arc::new(ConfigMapRegistry::new(config))).await;
    let outcome = engine.settled().await;
    (outcome, engine.stop().await)
}

/// Claims that cannot be read are waited for like a zone; a pass that did not get them has not read the zone, and deletes nothing.
#[tokio::test(start_paused = true)]
async fn claims_that_cannot_be_read_are_tried_again_and_then_reported() {
    let world = world(3);
    let store = Arc::new(MemoryDocuments::default());
    let pass = async || pass_with_objects(&world, &store).await.0;
    assert_eq!(pass().await, created(3));
    let sound = store.document("me-registry").unwrap();
    let damage = || store.edit("me-registry", Some(Document { text: "no list".to_owned(), ..sound.clone() }));
    damage();
    world.cluster.vanish("s0");
    let outcome = pass().await;
    assert_eq!(
        (outcome.unread.len(), outcome.changes, world.sim.records().len()),
        (1, Changes::default(), 3),
        "{outcome}"
    );
    // It is put right while the pass waits for it.
    let mends = async {
        tokio::time::sleep(PATIENCE / 2).await;
        store.edit("me-registry", Some(sound.clone()));
    };
    let (outcome, ()) = tokio::join!(pass(), mends);
    assert_eq!((outcome.unread.len(), outcome.changes.deleted, world.sim.records().len()), (0, 1, 2), "{outcome}");
}

/// What was sent stands; that it could not be written down is no success. It is tried once more at the end.
#[tokio::test(start_paused = true)]
async fn a_pass_says_that_it_could_not_write_down_claims() {
    let world = world(3);
    let store = Arc::new(MemoryDocuments::default());
    let pass = async || pass_with_objects(&world, &store).await;
    assert_eq!(pass().await, (created(3), Vec::new()));
    // The intent is written; what became of it is not, and is at the end.
    world.cluster.put("late", &["late.example A 192.0.2.8"]);
    store.fail([Shelf::None, Shelf::Before]);
    assert_eq!(pass().await, (created(1), Vec::new()));
    assert!(!store.document("me-registry").unwrap().text.contains("intent"));

    world.cluster.put("more", &["more.example A 192.0.2.9"]);
    store.fail([Shelf::None, Shelf::CrashBefore]);
    let (mut outcome, left) = pass().await;
    assert_eq!(outcome, created(1));
    outcome.end(left);
    let expected = "not written: claims of zone example: ";
    assert!(outcome.to_string().contains(expected), "{outcome}");
    store.revive();
    assert_eq!(pass().await.1, Vec::new());
}

/// The state may be written until the pass is done, and not at its end.
#[tokio::test(start_paused = true)]
async fn a_pass_says_that_it_could_not_save_its_state() {
    let world = world(3);
    let engine = world.start().await;
    let mut outcome = engine.settled().await;
    assert_eq!(outcome, created(3));
    world.store.full.store(true, Ordering::SeqCst);
    outcome.end(engine.stop().await);
    assert!(outcome.to_string().contains("; not written: state of the brake: "), "{outcome}");
    outcome.end(vec![PassProblem { what: "state of the brake".to_owned(), why: "once more".to_owned() }]);
    assert_eq!(outcome.unwritten.len(), 1, "it is said once: {outcome}");
    world.store.full.store(false, Ordering::SeqCst);
    assert_eq!(pass(&world).await.0, Outcome::default());
}
