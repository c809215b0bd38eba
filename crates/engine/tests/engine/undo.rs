//! Undo and holds: what we changed goes back and stays so until somebody wants it otherwise; nothing else is touched.

use std::time::Duration;

use zonewright_core::DnsName;
use zonewright_core::clock::Timestamp;
use zonewright_core::plan::Policy;
use zonewright_engine::journal::Query;
use zonewright_engine::{Engine, UndoPlan, UndoReport, UndoRequest};

use crate::journal::history;
use crate::sim::{Fault, World, after, name, rest};

const MINUTE: Duration = Duration::from_mins(1);
const DAY: Duration = Duration::from_hours(24);

fn now() -> Timestamp {
    Timestamp(1_000_000_000 + i64::try_from(START.with(tokio::time::Instant::elapsed).as_millis()).unwrap())
}

thread_local! {
    /// Set before the first engine of a test starts; the clock of each engine begins at the same moment.
    static START: tokio::time::Instant = tokio::time::Instant::now();
}

fn since(at: Timestamp) -> UndoRequest {
    UndoRequest { query: Query { since: Some(at), ..Query::default() }, pin_for: DAY }
}

async fn undo(engine: &Engine, request: UndoRequest) -> (UndoPlan, UndoReport) {
    let plan = engine.plan_undo(&request).await.unwrap();
    let report = if plan.is_empty() { UndoReport::default() } else { engine.undo(&plan.hash).await.unwrap() };
    rest(engine).await;
    (plan, report)
}

fn lines(plan: &UndoPlan) -> Vec<String> {
    let records = |line: &&String| !line.contains("heritage=");
    plan.zones.iter().flat_map(|zone| zone.changes.iter().filter(records).cloned()).collect()
}

/// `x.example` at 1 and `y.example` at 1; a minute later, at the moment that is returned, `x` goes to 2, `y` goes, and `z`
/// comes.
async fn changed() -> (World, Engine, Timestamp, Vec<String>) {
    START.with(|_| {});
    let world = World::new(&["example"]);
    world.sim.insert(&["foreign.example A 203.0.113.1"]);
    world.cluster.put("a", &["x.example A 192.0.2.1"]);
    world.cluster.put("b", &["y.example A 192.0.2.1"]);
    let engine = world.start().await;
    after(&engine, MINUTE).await;
    let (then, before) = (now(), world.sim.all());
    world.cluster.put("a", &["x.example A 192.0.2.2"]);
    world.cluster.delete("b");
    world.cluster.put("c", &["z.example A 192.0.2.1"]);
    after(&engine, MINUTE).await;
    assert_eq!(
        world.sim.records(),
        ["foreign.example A 203.0.113.1", "x.example A 192.0.2.2", "z.example A 192.0.2.1"]
    );
    (world, engine, then, before)
}

#[tokio::test(start_paused = true)]
async fn what_was_done_since_goes_back_and_stays_so() {
    let (world, engine, then, before) = changed().await;
    world.sim.insert(&["late.example A 203.0.113.2"]);
    let writes = world.sim.calls().1;
    let plan = engine.plan_undo(&since(then)).await.unwrap();
    assert_eq!(
        lines(&plan),
        ["~ x.example 0 A 192.0.2.1 (was 192.0.2.2)", "+ y.example 0 A 192.0.2.1", "- z.example 0 A 192.0.2.1",]
    );
    assert_eq!(world.sim.calls().1, writes, "a plan sends nothing");
    let ready = |who: &str| {
        let reports = world.reports.0.lock().unwrap();
        reports.iter().filter(|note| &*note.object.name == who && note.reason == "RecordReady").count()
    };
    let before_undo = (ready("a"), ready("c"));
    let report = engine.undo(&plan.hash).await.unwrap();
    assert_eq!((report.restored.len(), report.failed), (3, vec![]));
    assert_eq!((ready("a"), ready("c")), (before_undo.0 + 1, before_undo.1), "what goes is not ready");
    let mut expected = before.clone();
    expected.push("late.example 0 A 203.0.113.2".to_owned());
    expected.sort();
    let all = || {
        let mut all = world.sim.all();
        all.sort();
        all
    };
    assert_eq!(all(), expected, "to the letter, claims too");
    assert_eq!(world.sim.calls().1, writes + 1, "in one call");
    after(&engine, MINUTE * 30).await;
    assert_eq!(all(), expected, "and the next rounds leave it");
    assert_eq!(world.sim.calls().1, writes + 1);
    assert!(
        world.reports.has("a", "RecordPinned")
            && engine.metrics().text().contains("zonewright_held_names{zone=\"sim/example\"} 3")
    );
    let holds = engine.pins();
    assert_eq!(
        holds.iter().map(|(zone, hold)| (zone.as_str(), hold.plan.clone(), hold.names.len())).collect::<Vec<_>>(),
        [("sim/example", plan.hash.clone(), 3)]
    );
    assert!(engine.plans().is_empty(), "the delete of a pinned name is no held plan");
    assert!(engine.undo(&plan.hash).await.is_err(), "a plan is carried out once");
    // The history shows it, under the plan's hash.
    let recorded = engine.history(&Query { plan: Some(plan.hash), ..Query::default() }, 10).await.unwrap().0;
    assert_eq!(recorded.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_release_lets_the_objects_have_it_their_way() {
    let (world, engine, then, before) = changed().await;
    let (wanted, _) = (world.sim.all(), undo(&engine, since(then)).await);
    assert_eq!(world.sim.all(), before);
    assert_eq!(engine.unpin(Some(&name("nobody.example"))).len(), 0);
    assert_eq!(engine.unpin(Some(&name("x.example"))).len(), 1);
    rest(&engine).await;
    assert_eq!(
        world.sim.records(),
        ["foreign.example A 203.0.113.1", "x.example A 192.0.2.2", "y.example A 192.0.2.1"]
    );
    assert_eq!(engine.unpin(None).len(), 2);
    rest(&engine).await;
    assert_eq!(world.sim.all(), wanted);
    assert!(engine.pins().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_change_of_the_object_releases_and_doubt_does_not() {
    let (world, engine, then, before) = changed().await;
    undo(&engine, since(then)).await;
    // The same again, a blank status, an object that cannot be read and a lost view are no changes.
    world.cluster.put("a", &["x.example A 192.0.2.2"]);
    rest(&engine).await;
    world.cluster.put("a", &["pending:x.example"]);
    rest(&engine).await;
    world.cluster.put("a", &["unknown"]);
    rest(&engine).await;
    world.cluster.trust(false, true);
    world.cluster.vanish("a");
    rest(&engine).await;
    world.cluster.put("a", &["x.example A 192.0.2.2"]);
    world.cluster.trust(true, true);
    after(&engine, MINUTE).await;
    assert_eq!((world.sim.all(), engine.pins()[0].1.names.len()), (before, 3));
    // Another target is one, for its name alone.
    world.cluster.put("a", &["x.example A 192.0.2.3"]);
    rest(&engine).await;
    assert_eq!(
        world.sim.records(),
        ["foreign.example A 203.0.113.1", "x.example A 192.0.2.3", "y.example A 192.0.2.1"]
    );
    assert_eq!(engine.pins()[0].1.names.keys().map(DnsName::as_str).collect::<Vec<_>>(), ["y.example", "z.example"]);
    // Another object that asks is one too.
    world.cluster.put("d", &["y.example A 192.0.2.9"]);
    rest(&engine).await;
    assert!(world.sim.records().contains(&"y.example A 192.0.2.9".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_hold_ends_with_its_time() {
    let (world, engine, then, before) = changed().await;
    undo(&engine, UndoRequest { pin_for: Duration::from_hours(1), ..since(then) }).await;
    after(&engine, MINUTE * 59).await;
    assert_eq!(world.sim.all(), before);
    after(&engine, MINUTE * 2).await;
    assert!(world.sim.records().contains(&"x.example A 192.0.2.2".to_owned()));
    assert!(
        engine.pins().is_empty() && engine.metrics().text().contains("zonewright_held_names{zone=\"sim/example\"} 0")
    );
}

#[tokio::test(start_paused = true)]
async fn a_restart_keeps_the_hold() {
    let (world, engine, then, before) = changed().await;
    let wanted = world.sim.all();
    undo(&engine, since(then)).await;
    engine.stop().await;
    // Not everything can be read at first, so that what is asked for looks otherwise than it is.
    world.cluster.trust(false, false);
    world.cluster.vanish("a");
    let engine = world.start().await;
    rest(&engine).await;
    assert_eq!(world.sim.all(), before);
    world.cluster.put("a", &["x.example A 192.0.2.2"]);
    world.cluster.trust(true, true);
    after(&engine, MINUTE * 10).await;
    assert_eq!(world.sim.all(), before);
    assert!(engine.metrics().text().contains("zonewright_held_names{zone=\"sim/example\"} 3"));
    engine.unpin(None);
    rest(&engine).await;
    assert_eq!(world.sim.all(), wanted);
}

#[tokio::test(start_paused = true)]
async fn an_undo_can_be_undone() {
    let (world, engine, then, before) = changed().await;
    let wanted = world.sim.all();
    let (first, _) = undo(&engine, since(then)).await;
    assert_eq!(world.sim.all(), before);
    let of = |plan: &UndoPlan| UndoRequest {
        query: Query { plan: Some(plan.hash.clone()), ..Query::default() },
        pin_for: DAY,
    };
    let (second, report) = undo(&engine, of(&first)).await;
    assert_eq!((report.restored.len(), world.sim.all()), (3, wanted.clone()));
    let (_, report) = undo(&engine, of(&second)).await;
    assert_eq!((report.restored.len(), world.sim.all()), (3, before));
    // All of it together changed nothing but what stood before.
    let (plan, _) = undo(&engine, since(then)).await;
    assert!(plan.is_empty(), "{plan:?}");
}

#[tokio::test(start_paused = true)]
async fn what_somebody_else_changed_since_stays() {
    let (world, engine, then, _) = changed().await;
    // By hand, and not seen yet by an audit.
    world.sim.insert(&["x.example A 203.0.113.9"]);
    let plan = engine.plan_undo(&since(then)).await.unwrap();
    assert_eq!(plan.len(), 3);
    let report = engine.undo(&plan.hash).await.unwrap();
    assert_eq!(report.restored.len(), 2);
    assert_eq!(report.failed.len(), 1);
    assert!(report.failed[0].1.contains("changed since by another writer: x.example 0 A 203.0.113.9"), "{report:?}");
    assert!(!world.sim.records().contains(&"x.example A 192.0.2.1".to_owned()), "it is not set back");
    assert!(!engine.pins()[0].1.names.contains_key(&name("x.example")), "what was not set back is not held");
}

/// An undo reads names; what it finds changed there by others is repaired as if an audit had found it.
#[tokio::test(start_paused = true)]
async fn an_edit_that_an_undo_finds_is_repaired() {
    let (world, engine, then, _) = changed().await;
    let request = since(then);
    let plan = engine.plan_undo(&request).await.unwrap();
    world.sim.insert(&["x.example A 203.0.113.9"]);
    let report = engine.undo(&plan.hash).await.unwrap();
    assert!(report.failed.iter().any(|(title, _)| title.contains("x.example")), "{report:?}");
    after(&engine, MINUTE * 3).await;
    assert!(world.sim.records().contains(&"x.example A 192.0.2.2".to_owned()), "{:?}", world.sim.records());
}

#[tokio::test(start_paused = true)]
async fn what_somebody_else_claims_or_holds_now_stays() {
    let (world, engine, then, _) = changed().await;
    world.sim.remove(&crate::sim::set("a-x.example TXT x").key);
    world.sim.insert(&["a-x.example TXT \"heritage=external-dns,external-dns/owner=other\""]);
    world.sim.insert(&["y.example A 203.0.113.9"]);
    after(&engine, MINUTE).await;
    let plan = engine.plan_undo(&since(then)).await.unwrap();
    assert_eq!(lines(&plan), ["- z.example 0 A 192.0.2.1"]);
    let skipped: Vec<&str> = plan.zones[0].skipped.iter().map(|(what, _)| what.as_str()).collect();
    assert_eq!(skipped, ["x.example A", "y.example A"], "{plan:?}");
    assert!(plan.zones[0].skipped[0].1.contains("owner other claims"), "{plan:?}");
}

#[tokio::test(start_paused = true)]
async fn policy_filters_and_zones_are_kept_to() {
    let (mut world, engine, then, before) = changed().await;
    let wanted = world.sim.all();
    engine.stop().await;
    world.config.policy = Policy::UpsertOnly;
    let engine = world.start().await;
    rest(&engine).await;
    let plan = engine.plan_undo(&since(then)).await.unwrap();
    assert_eq!(plan.zones[0].skipped, [("z.example A".to_owned(), "the policy allows no deletes".to_owned())]);
    engine.stop().await;

    world.config.policy = Policy::Sync;
    world.config.managed.remove(&zonewright_core::RecordType::A);
    let engine = world.start().await;
    rest(&engine).await;
    let plan = engine.plan_undo(&since(then)).await.unwrap();
    assert!(
        plan.is_empty() && plan.zones[0].skipped.iter().all(|(_, why)| why.contains("outside the filters")),
        "{plan:?}"
    );
    engine.stop().await;
    assert_eq!(world.sim.all(), wanted);

    world.config = zonewright_engine::Config::default();
    let engine = world.start().await;
    rest(&engine).await;
    let other = UndoRequest { query: Query { zone: Some("other.test".to_owned()), ..since(then).query }, pin_for: DAY };
    assert!(engine.plan_undo(&other).await.unwrap().is_empty());
    let this = UndoRequest { query: Query { zone: Some("example".to_owned()), ..since(then).query }, pin_for: DAY };
    undo(&engine, this).await;
    assert_eq!(world.sim.all(), before);
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_sends_nothing_and_holds_nothing() {
    let (mut world, engine, then, _) = changed().await;
    engine.stop().await;
    world.config.dry_run = true;
    let (wanted, writes) = (world.sim.all(), world.sim.calls().1);
    let engine = world.start().await;
    rest(&engine).await;
    let (plan, report) = undo(&engine, since(then)).await;
    assert!(plan.dry_run);
    assert_eq!((report.dry, report.restored.len(), engine.pins().len()), (3, 0, 0));
    assert_eq!((world.sim.all(), world.sim.calls().1), (wanted, writes));
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_is_reported_and_not_held() {
    let (world, engine, then, _) = changed().await;
    world.sim.refuse(&["x.example"]);
    let (_, report) = undo(&engine, since(then)).await;
    assert_eq!(report.restored.len(), 2);
    assert!(report.failed[0].0.contains("x.example") && report.failed[0].1.contains("refused"), "{report:?}");
    assert_eq!(engine.pins()[0].1.names.len(), 2);
    assert!(world.sim.records().contains(&"x.example A 192.0.2.2".to_owned()));
}

/// The write is carried out and its answer is lost: the names stay pinned, and a reading finds out.
#[tokio::test(start_paused = true)]
async fn an_unanswered_undo_is_held_and_settled() {
    let (world, engine, then, before) = changed().await;
    let plan = engine.plan_undo(&since(then)).await.unwrap();
    world.sim.fault("example", Fault::LostAnswer);
    let report = engine.undo(&plan.hash).await.unwrap();
    assert_eq!((report.restored.len(), report.failed.len()), (0, 3));
    world.sim.fault("example", None);
    after(&engine, MINUTE * 5).await;
    assert_eq!((world.sim.all(), engine.pins()[0].1.names.len()), (before, 3));
    let recorded = history(&engine).await;
    assert!(recorded[..3].iter().all(|line| line.ends_with(": applied (found)")), "{recorded:?}");
}

#[tokio::test(start_paused = true)]
async fn a_zone_that_cannot_be_served_gives_up_the_undo() {
    let (world, engine, then, _) = changed().await;
    let plan = engine.plan_undo(&since(then)).await.unwrap();
    let wanted = world.sim.all();
    world.sim.fault("example", Fault::Down);
    after(&engine, MINUTE * 3).await;
    let report = engine.undo(&plan.hash).await.unwrap();
    assert_eq!((report.restored.len(), report.failed.len()), (0, 3), "{report:?}");
    world.sim.fault("example", None);
    after(&engine, MINUTE * 10).await;
    assert_eq!((world.sim.all(), engine.pins().len()), (wanted, 0), "nothing is done later behind the operator's back");
}

/// The zone is busy with a call that is never answered: the order is taken back after a while.
#[tokio::test(start_paused = true)]
async fn a_zone_that_stands_still_gives_up_the_undo() {
    let (world, engine, then, _) = changed().await;
    let plan = engine.plan_undo(&since(then)).await.unwrap();
    world.sim.fault("example", Fault::Stall);
    tokio::time::sleep(MINUTE).await;
    let report = engine.undo(&plan.hash).await.unwrap();
    assert_eq!(report.failed.len(), 3);
    assert!(report.failed[0].1.contains("nothing will be"), "{report:?}");
    let wanted = world.sim.all();
    world.sim.fault("example", None);
    after(&engine, MINUTE * 10).await;
    assert_eq!((world.sim.all(), engine.pins().len()), (wanted, 0));
}

/// Creates are undone by deletes, which an operator asked for: the brake does not count them, nor hold them.
#[tokio::test(start_paused = true)]
async fn many_creates_are_undone_without_the_brake() {
    START.with(|_| {});
    let world = World::new(&["example"]);
    world.cluster.put("a", &["x.example A 192.0.2.1"]);
    world.cluster.put("k", &["kept.example A 192.0.2.1"]);
    let engine = world.start().await;
    after(&engine, MINUTE).await;
    let (then, before) = (now(), world.sim.all());
    let many: Vec<String> = (0..150).map(|number| format!("n{number}.example A 192.0.2.1")).collect();
    world.cluster.put("b", &many.iter().map(String::as_str).collect::<Vec<_>>());
    after(&engine, MINUTE).await;
    let (_, report) = undo(&engine, since(then)).await;
    assert_eq!((report.restored.len(), world.sim.all()), (150, before));
    // A single delete of the usual kind goes through afterwards.
    world.cluster.vanish("a");
    rest(&engine).await;
    assert_eq!(world.sim.records(), ["kept.example A 192.0.2.1"], "{:?}", engine.plans());
}

#[tokio::test(start_paused = true)]
async fn an_approved_plan_is_undone_by_its_hash() {
    let world = World::new(&["example"]);
    let lines: Vec<String> = (0..30).map(|number| format!("n{number}.example A 192.0.2.1")).collect();
    world.cluster.put("a", &lines.iter().map(String::as_str).collect::<Vec<_>>());
    world.cluster.put("b", &["x.example A 192.0.2.1"]);
    let engine = world.start().await;
    rest(&engine).await;
    let before = world.sim.all();
    world.cluster.vanish("a");
    rest(&engine).await;
    let hash = engine.plans()[0].1.hash.clone();
    world.cluster.put("c", &["y.example A 192.0.2.1"]);
    engine.approve(&hash);
    rest(&engine).await;
    assert_eq!(world.sim.records(), ["x.example A 192.0.2.1", "y.example A 192.0.2.1"]);
    let request = UndoRequest { query: Query { plan: Some(hash), ..Query::default() }, pin_for: DAY };
    let (_, report) = undo(&engine, request).await;
    assert_eq!(report.restored.len(), 30, "its deletes and nothing of the round beside them");
    let now = world.sim.all();
    assert!(before.iter().all(|line| now.contains(line)) && now.len() == before.len() + 2);
    after(&engine, MINUTE * 30).await;
    assert_eq!(world.sim.all(), now);
}

/// Where the provider takes no preconditions, what stands there is read right before all the same.
#[tokio::test(start_paused = true)]
async fn without_preconditions_the_reading_decides() {
    let (world, engine, then, _) = changed().await;
    world.sim.blind();
    let plan = engine.plan_undo(&since(then)).await.unwrap();
    world.sim.insert(&["x.example A 203.0.113.9"]);
    let report = engine.undo(&plan.hash).await.unwrap();
    assert_eq!((report.restored.len(), report.failed.len()), (2, 1));
    assert!(!world.sim.records().contains(&"x.example A 192.0.2.1".to_owned()), "it is not set back");
}
