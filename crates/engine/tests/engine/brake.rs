//! The brake over several zones, and what an approval covers.

use std::sync::atomic::Ordering;
use std::time::Duration;

use zonewright_core::store::StateStore as _;
use zonewright_engine::journal::{MemoryJournal, Query};
use zonewright_engine::{Engine, UndoRequest};

use crate::sim::{Fault, World, after, name, rest};

const MINUTE: Duration = Duration::from_mins(1);

/// Zones `z0.test`, `z1.test` ... with so many names each, every name of an object of its own.
pub(crate) fn zones(zones: usize, names: usize) -> World {
    let labels: Vec<String> = (0..zones).map(|zone| format!("z{zone}.test")).collect();
    let world = World::new(&labels.iter().map(String::as_str).collect::<Vec<_>>());
    for zone in 0..zones {
        put(&world, zone, names);
    }
    world
}

pub(crate) fn put(world: &World, zone: usize, names: usize) {
    for n in 0..names {
        world.cluster.put(&format!("s{zone}-{n}"), &[&format!("n{n}.z{zone}.test A 192.0.2.1")]);
    }
}

pub(crate) fn vanish(world: &World, zone: usize, names: std::ops::Range<usize>) {
    names.for_each(|n| world.cluster.vanish(&format!("s{zone}-{n}")));
}

/// The hash of the plan that one zone holds.
pub(crate) fn held(engine: &Engine, zone: usize) -> String {
    let label = format!("sim/z{zone}.test");
    engine.plans().into_iter().find(|(zone, _)| *zone == label).unwrap().1.hash
}

/// What the metric says of the saved state.
fn is_trusted(engine: &Engine) -> bool {
    engine.metrics().text().contains("zonewright_state_trusted 1")
}

/// Thirty zones of nine names: no zone notices anything, and together everything would go.
#[tokio::test(start_paused = true)]
async fn many_small_zones_are_not_emptied_one_by_one() {
    let mut world = zones(30, 9);
    // What is held is planned anew at each of them.
    world.config.interval = Duration::from_mins(15);
    let engine = world.start().await;
    rest(&engine).await;
    engine.stop().await;
    let before = world.sim.all();
    world.cluster.vanish_all();
    world.cluster.put("asks for nothing", &[]);
    let engine = world.start().await;
    let outcome = rest(&engine).await;
    assert_eq!((world.sim.all() == before, outcome.held), (true, 270));
    after(&engine, MINUTE * 90).await;
    assert_eq!(world.sim.all(), before);
    let reason = engine.plans()[0].1.reason.clone();
    assert!(reason.contains("zones sim/z0.test (9)") && reason.contains("namespaces ns (270)"), "{reason}");

    let joint = engine.joint_plans();
    assert_eq!((joint.len(), joint[0].deletes(), joint[0].zones.len()), (1, 270, 30));
    let reported = world.reports.0.lock().unwrap().iter().any(|note| note.message.contains(&joint[0].hash));
    assert!(reported, "the joint plan is reported with its hash");
    assert_eq!(engine.approve(&joint[0].hash).unwrap().1, 270);
    rest(&engine).await;
    assert_eq!((world.sim.all(), engine.plans().len()), (Vec::new(), 0));
}

/// What was written without an answer, and found by a reading, is ours as anything else: the floor counts it.
#[tokio::test(start_paused = true)]
async fn what_was_written_without_an_answer_counts_as_ours() {
    let world = zones(1, 0);
    // All of it in one call; and a list says what has changed.
    world.sim.lift_limits();
    world.sim.list_changes();
    let engine = world.start().await;
    rest(&engine).await;
    world.sim.fault("z0.test", Fault::LostAnswer);
    put(&world, 0, 11);
    tokio::time::sleep(Duration::from_millis(100)).await;
    world.sim.fault("z0.test", None);
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!((world.sim.targeted(), world.sim.calls().1), (1, 1), "it is read by its names, and not written again");
    let metrics = engine.metrics().text();
    let owned = metrics.lines().find(|line| line.starts_with("zonewright_owned_records{"));
    assert_eq!(owned, Some("zonewright_owned_records{zone=\"sim/z0.test\"} 11"));
    world.cluster.delete("s0-0");
    world.cluster.delete("s0-1");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(world.sim.records().len(), 9);
    vanish(&world, 0, 2..11);
    world.cluster.put("asks for nothing", &[]);
    let outcome = rest(&engine).await;
    assert_eq!((world.sim.records().len(), outcome.held), (9, 9));
}

/// What may have been made counts among what an owner may have had, until long after it is known that it was not.
#[tokio::test(start_paused = true)]
async fn what_may_have_been_made_counts_for_the_floor() {
    let world = zones(1, 9);
    world.sim.lift_limits();
    let engine = world.start().await;
    rest(&engine).await;
    world.sim.fault("z0.test", Fault::LostWrite);
    let more = ["one", "two"];
    for name in more {
        world.cluster.put(name, &[&format!("{name}.z0.test A 192.0.2.1")]);
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(world.sim.calls().1, 2, "nine in one write, and two whose write is lost");
    for name in more {
        world.cluster.delete(name);
    }
    world.sim.fault("z0.test", None);
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(world.sim.records().len(), 9);
    vanish(&world, 0, 0..9);
    world.cluster.put("asks for nothing", &[]);
    let outcome = rest(&engine).await;
    assert_eq!((world.sim.records().len(), outcome.held), (9, 9));
}

/// What stood in another zone before a start at which the state could not be read counts, once that can be read: nothing else speaks of it.
#[tokio::test(start_paused = true)]
async fn what_stood_before_counts_for_the_floor_once_the_state_is_read() {
    let world = zones(2, 6);
    world.cluster.put("asks for nothing", &[]);
    let engine = world.start().await;
    rest(&engine).await;
    vanish(&world, 1, 0..6);
    assert_eq!((rest(&engine).await.held, world.sim.records().len()), (0, 6));
    engine.stop().await;
    world.store.unreadable.store(true, Ordering::SeqCst);
    // The zone is judged without it: a stranger's name in it is asked for.
    world.sim.insert(&["stranger.z1.test A 192.0.2.9"]);
    world.cluster.put("asks in vain", &["stranger.z1.test A 192.0.2.1"]);
    let engine = world.start().await;
    rest(&engine).await;
    vanish(&world, 0, 0..6);
    assert_eq!(rest(&engine).await.held, 6);
    let reason = || engine.plans().first().map(|(_, plan)| plan.reason.clone()).unwrap_or_default();
    assert!(reason().contains("the state of the brake cannot be read"), "{}", reason());
    world.store.unreadable.store(false, Ordering::SeqCst);
    let outcome = after(&engine, MINUTE * 2).await;
    assert_eq!((world.sim.records().len(), outcome.held), (7, 6));
    assert!(reason().contains("leave nothing of the 12 records"), "{}", reason());
    // What is held for that stays held when an hour has passed, and it is not lately any more.
    assert_eq!(after(&engine, MINUTE * 70).await.held, 6);
}

/// The approval of one zone's plan lets that zone's deletes go, and takes no room of the others.
#[tokio::test(start_paused = true)]
async fn one_zone_of_several_can_be_approved() {
    let world = zones(4, 9);
    let engine = world.start().await;
    rest(&engine).await;
    vanish(&world, 0, 0..9);
    vanish(&world, 1, 0..9);
    vanish(&world, 2, 0..9);
    rest(&engine).await;
    let left = world.sim.records().len();
    assert!(left >= 36 - 20, "at most twenty went at once: {left}");
    let (zone, plan) = engine.plans().swap_remove(0);
    assert_eq!(engine.approve(&plan.hash), Some((zone, 9)));
    rest(&engine).await;
    assert_eq!(world.sim.records().len(), left - 9);
}

/// No counted delete goes before every zone has been planned, or has failed.
#[tokio::test(start_paused = true)]
async fn deletes_wait_until_every_zone_is_known() {
    let world = zones(3, 5);
    let engine = world.start().await;
    rest(&engine).await;
    engine.stop().await;
    world.cluster.vanish("s0-0");
    world.cluster.delete("s1-0");
    world.cluster.put("new", &["new.z0.test A 192.0.2.7"]);
    world.sim.fault("z2.test", Fault::Stall);
    let engine = world.start().await;
    tokio::time::sleep(Duration::from_secs(20)).await;
    let records = world.sim.records();
    assert!(records.contains(&"new.z0.test A 192.0.2.7".to_owned()), "creates do not wait");
    assert!(records.contains(&"n0.z0.test A 192.0.2.1".to_owned()), "{records:?}");
    assert!(engine.plans().is_empty(), "nothing is held");
    // The stalled zone fails in the end: it holds up nobody for ever.
    after(&engine, MINUTE * 3).await;
    assert!(!world.sim.records().contains(&"n0.z0.test A 192.0.2.1".to_owned()));
}

/// A list of zones that fails at first does not let the first zone go ahead of the others once it comes.
#[tokio::test(start_paused = true)]
async fn zones_that_are_listed_late_are_waited_for_too() {
    let world = zones(30, 9);
    let engine = world.start().await;
    rest(&engine).await;
    engine.stop().await;
    world.cluster.vanish_all();
    world.sim.fail_lists(12);
    let engine = world.start().await;
    after(&engine, MINUTE * 3).await;
    assert_eq!((world.sim.records().len(), rest(&engine).await.held), (270, 270));
}

/// What goes meanwhile, since its object was seen to be deleted, does not count as what is left.
#[tokio::test(start_paused = true)]
async fn what_goes_while_deletes_wait_does_not_count_as_left() {
    let world = zones(2, 12);
    let engine = world.start().await;
    rest(&engine).await;
    engine.stop().await;
    world.sim.fault("z1.test", Fault::Stall);
    vanish(&world, 0, 0..11);
    let engine = world.start().await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    world.cluster.delete("s0-11");
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(!world.sim.records().contains(&"n11.z0.test A 192.0.2.1".to_owned()), "it goes at once");
    after(&engine, MINUTE * 3).await;
    let left = world.sim.records().iter().filter(|record| record.contains("z0.test")).count();
    assert_eq!(left, 11, "they would leave nothing of twelve");
    assert!(engine.plans().iter().any(|(zone, plan)| zone == "sim/z0.test" && plan.reason.contains("leave nothing")));
    engine.stop().await;
}

/// What is created while deletes wait for the other zones neither raises their share nor counts as what is left.
#[tokio::test(start_paused = true)]
async fn what_is_created_while_deletes_wait_does_not_let_them_go() {
    let world = zones(2, 6);
    let engine = world.start().await;
    rest(&engine).await;
    engine.stop().await;
    world.cluster.vanish_all();
    world.cluster.put("new", &["new.z0.test A 192.0.2.7"]);
    let engine = world.start().await;
    assert_eq!((rest(&engine).await.held, world.sim.records().len()), (12, 13));
}

/// Four zones of three names: an owner of twelve is not left without anything.
#[tokio::test(start_paused = true)]
async fn nobody_is_left_without_anything_over_all_zones() {
    let world = zones(4, 3);
    let engine = world.start().await;
    rest(&engine).await;
    engine.stop().await;
    world.cluster.vanish_all();
    let engine = world.start().await;
    assert_eq!(rest(&engine).await.held, 12);
    after(&engine, MINUTE * 90).await;
    assert_eq!(world.sim.records().len(), 12);
}

/// A zone that is held by its own numbers holds up no other.
#[tokio::test(start_paused = true)]
async fn a_held_zone_is_no_burden_for_others() {
    let world = zones(2, 60);
    let engine = world.start().await;
    rest(&engine).await;
    vanish(&world, 0, 0..60);
    assert_eq!(rest(&engine).await.held, 60);
    vanish(&world, 1, 0..4);
    assert_eq!(rest(&engine).await.held, 60);
    assert_eq!(world.sim.records().len(), 116);
}

/// What was approved and done is covered no more when the same is wanted again, also within the hour.
#[tokio::test(start_paused = true)]
async fn an_approval_covers_each_delete_once() {
    let world = zones(1, 60);
    let engine = world.start().await;
    rest(&engine).await;
    world.cluster.vanish_all();
    rest(&engine).await;
    engine.approve(&held(&engine, 0)).unwrap();
    rest(&engine).await;
    assert_eq!(world.sim.records().len(), 0);
    put(&world, 0, 60);
    rest(&engine).await;
    engine.stop().await;
    let engine = world.start().await;
    rest(&engine).await;
    world.cluster.vanish_all();
    assert_eq!(rest(&engine).await.held, 60, "over a restart, too");
    assert_eq!(world.sim.records().len(), 60);
}

/// An approved delete that was refused is still covered; one whose answer was lost is settled by a reading.
#[tokio::test(start_paused = true)]
async fn what_was_not_done_stays_approved() {
    let world = zones(1, 60);
    let engine = world.start().await;
    rest(&engine).await;
    world.cluster.vanish_all();
    rest(&engine).await;
    world.sim.refuse(&["n7.z0.test"]);
    engine.approve(&held(&engine, 0)).unwrap();
    rest(&engine).await;
    assert_eq!(world.sim.records(), ["n7.z0.test A 192.0.2.1"]);
    engine.stop().await;
    world.sim.refuse(&[]);
    let engine = world.start().await;
    rest(&engine).await;
    assert_eq!((world.sim.records().len(), engine.plans().len()), (0, 0), "still approved after a restart");

    for fault in [Fault::LostAnswer, Fault::LostWrite] {
        let world = zones(1, 60);
        let engine = world.start().await;
        rest(&engine).await;
        world.cluster.vanish_all();
        rest(&engine).await;
        world.sim.fault("z0.test", fault);
        engine.approve(&held(&engine, 0)).unwrap();
        after(&engine, Duration::from_secs(2)).await;
        world.sim.fault("z0.test", None);
        after(&engine, MINUTE * 5).await;
        assert_eq!((world.sim.records().len(), engine.plans().len()), (0, 0), "{fault:?}");
        put(&world, 0, 60);
        rest(&engine).await;
        world.cluster.vanish_all();
        assert_eq!((rest(&engine).await.held, world.sim.records().len()), (60, 60), "{fault:?}");
    }
}

/// The approval is for what was shown, not for whatever stands at that name later.
#[tokio::test(start_paused = true)]
async fn another_content_is_another_delete() {
    let world = zones(1, 60);
    let engine = world.start().await;
    rest(&engine).await;
    world.cluster.vanish_all();
    rest(&engine).await;
    let names: Vec<String> = (0..30).map(|n| format!("n{n}.z0.test")).collect();
    world.sim.refuse(&names.iter().map(String::as_str).collect::<Vec<_>>());
    engine.approve(&held(&engine, 0)).unwrap();
    rest(&engine).await;
    assert_eq!(world.sim.records().len(), 30);
    // The objects come back and ask for something else, which can be written again.
    world.sim.refuse(&[]);
    for n in 0..30 {
        world.cluster.put(&format!("s0-{n}"), &[&format!("n{n}.z0.test A 192.0.2.9")]);
    }
    after(&engine, MINUTE * 2).await;
    assert!(world.sim.records().iter().all(|line| line.ends_with("192.0.2.9")), "{:?}", world.sim.records());
    world.cluster.vanish_all();
    assert_eq!((after(&engine, MINUTE).await.held, world.sim.records().len()), (30, 30));
}

/// What an operator approved takes no room: ordinary deletes go on in the same hour.
#[tokio::test(start_paused = true)]
async fn approved_deletes_take_no_room() {
    let world = zones(1, 90);
    let engine = world.start().await;
    rest(&engine).await;
    vanish(&world, 0, 0..60);
    rest(&engine).await;
    engine.approve(&held(&engine, 0)).unwrap();
    rest(&engine).await;
    vanish(&world, 0, 60..75);
    assert_eq!((rest(&engine).await.held, world.sim.records().len()), (0, 15));
    // Nor does a delete that comes while approved ones wait hold them up.
    let world = zones(1, 90);
    let engine = world.start().await;
    rest(&engine).await;
    vanish(&world, 0, 0..60);
    rest(&engine).await;
    world.sim.fault("z0.test", Fault::Down);
    engine.approve(&held(&engine, 0)).unwrap();
    vanish(&world, 0, 60..65);
    after(&engine, MINUTE).await;
    world.sim.fault("z0.test", None);
    after(&engine, MINUTE * 3).await;
    assert_eq!((world.sim.records().len(), engine.plans().len()), (25, 0));
}

/// A zone of so many names whose objects have vanished, with a journal, and the hash of the plan that holds their deletes.
async fn journaled_and_held(names: usize) -> (World, Engine, String) {
    let mut world = zones(1, names);
    world.journal.store = std::sync::Arc::new(MemoryJournal::default());
    let engine = world.start().await;
    rest(&engine).await;
    world.cluster.vanish_all();
    rest(&engine).await;
    let hash = held(&engine, 0);
    (world, engine, hash)
}

/// An operator who undoes approved deletes does not approve them a second time when the names are no longer pinned.
#[tokio::test(start_paused = true)]
async fn an_undo_revokes_the_approval() {
    let (world, engine, hash) = journaled_and_held(60).await;
    engine.approve(&hash).unwrap();
    rest(&engine).await;
    let query = Query { plan: Some(hash), ..Query::default() };
    let plan = engine.plan_undo(&UndoRequest { query, pin_for: Duration::from_hours(24) }).await.unwrap();
    assert_eq!(engine.undo(&plan.hash).await.unwrap().restored.len(), 60);
    rest(&engine).await;
    assert_eq!(engine.unpin(None).len(), 60);
    assert_eq!((rest(&engine).await.held, world.sim.records().len()), (60, 60));
    assert_eq!(engine.unpin(Some(&name("n1.z0.test"))).len(), 0);
}

/// An undo that comes while approved deletes are still being sent ends the rest of them, and does not wait for their end.
#[tokio::test(start_paused = true)]
async fn an_undo_stops_what_an_approval_still_lets_go() {
    let (world, engine, hash) = journaled_and_held(900).await;
    world.sim.pace(Duration::from_millis(100));
    engine.approve(&hash).unwrap();
    tokio::time::sleep(Duration::from_secs(6)).await;
    let query = Query { plan: Some(hash), ..Query::default() };
    let plan = engine.plan_undo(&UndoRequest { query, pin_for: Duration::from_hours(24) }).await.unwrap();
    assert!(!engine.undo(&plan.hash).await.unwrap().restored.is_empty());
    world.sim.pace(Duration::ZERO);
    let held = rest(&engine).await.held;
    // Two pieces were done and are back, one more was on its way; the rest, prepared or not, waits for another approval.
    assert_eq!((world.sim.records().len(), held), (800, 600));
}

/// What was held in a zone that is gone cannot go: a pass is done without it. Should the zone come back, it is held as before.
#[tokio::test(start_paused = true)]
async fn what_is_held_in_a_zone_that_is_gone_keeps_no_pass_from_its_end() {
    let world = zones(2, 12);
    let engine = world.start().await;
    rest(&engine).await;
    vanish(&world, 1, 0..12);
    assert_eq!(rest(&engine).await.held, 12);
    world.sim.leave_out("z1.test", false);
    assert_eq!(after(&engine, MINUTE * 3).await.held, 0);
    world.sim.leave_out("z2.test", false);
    assert_eq!((after(&engine, MINUTE * 3).await.held, world.sim.records().len()), (12, 24));
}

/// The approval of one zone's plan accepts no doubt about the records of another zone.
#[tokio::test(start_paused = true)]
async fn an_approval_does_not_reach_beyond_its_plan() {
    let world = zones(2, 6);
    let engine = world.start().await;
    rest(&engine).await;
    world.cluster.doubt(1);
    world.cluster.vanish_all();
    rest(&engine).await;
    assert_eq!(world.sim.records().len(), 12);
    engine.approve(&held(&engine, 0)).unwrap();
    rest(&engine).await;
    let left = world.sim.records();
    assert!(left.len() == 6 && left.iter().all(|line| line.contains("z1.test")), "{left:?}");
    assert!(engine.health().is_ready(), "what was accepted is nothing to warn of: {:?}", engine.health());
    after(&engine, MINUTE * 90).await;
    assert_eq!(world.sim.records(), left);
    engine.approve(&held(&engine, 1)).unwrap();
    rest(&engine).await;
    assert_eq!(world.sim.records().len(), 0);
}

/// Doubt that comes later is another: it was not seen when the plan was approved.
#[tokio::test(start_paused = true)]
async fn an_approval_does_not_accept_later_doubt() {
    for (complete, later) in [(false, Some(2)), (true, None)] {
        let world = zones(1, 6);
        let engine = world.start().await;
        rest(&engine).await;
        world.cluster.doubt(1);
        world.cluster.vanish_all();
        rest(&engine).await;
        // It is refused for now: the approval stays open.
        let names: Vec<String> = (0..6).map(|n| format!("n{n}.z0.test")).collect();
        world.sim.refuse(&names.iter().map(String::as_str).collect::<Vec<_>>());
        engine.approve(&held(&engine, 0)).unwrap();
        rest(&engine).await;
        match later {
            Some(number) => world.cluster.doubt(number),
            // The watch is lost.
            None => world.cluster.trust(complete, false),
        }
        world.sim.refuse(&[]);
        after(&engine, MINUTE * 50).await;
        assert_eq!(world.sim.records().len(), 6, "{later:?}");
    }
}

/// A state that cannot be saved any more holds what is counted: a restart would forget it.
#[tokio::test(start_paused = true)]
async fn a_state_that_cannot_be_saved_holds_counted_deletes() {
    let world = zones(1, 6);
    let engine = world.start().await;
    rest(&engine).await;
    world.store.full.store(true, Ordering::SeqCst);
    world.cluster.vanish("s0-0");
    world.cluster.delete("s0-1");
    assert_eq!((rest(&engine).await.held, world.sim.records().len()), (1, 5), "what was seen to go goes");
    assert!(engine.plans()[0].1.reason.contains("cannot be saved"), "{}", engine.plans()[0].1.reason);
    assert!(!engine.health().is_ready());
    after(&engine, MINUTE).await;
    assert!(!is_trusted(&engine));
    world.store.full.store(false, Ordering::SeqCst);
    after(&engine, MINUTE).await;
    assert_eq!((world.sim.records().len(), engine.plans().len(), engine.health().is_ready()), (4, 0, true));
    assert!(is_trusted(&engine));
}

/// Where the right to write was missing from the beginning, memory has to do, and that is said at the start.
#[tokio::test(start_paused = true)]
async fn a_store_that_may_not_be_written_is_as_good_as_memory() {
    let world = zones(1, 6);
    world.store.full.store(true, Ordering::SeqCst);
    let engine = world.start().await;
    rest(&engine).await;
    world.cluster.vanish("s0-0");
    assert_eq!((rest(&engine).await.held, world.sim.records().len()), (0, 5));
}

/// A state that is there and cannot be read is not an empty one.
#[tokio::test(start_paused = true)]
async fn a_state_that_cannot_be_read_holds_counted_deletes_and_is_kept() {
    for garbled in [true, false] {
        let world = zones(1, 60);
        let engine = world.start().await;
        rest(&engine).await;
        vanish(&world, 0, 0..15);
        rest(&engine).await;
        engine.stop().await;
        let saved = world.store.load().await.unwrap().unwrap();
        if garbled {
            world.store.save(b"{\"zones\": 5}").await.unwrap();
        } else {
            world.store.unreadable.store(true, Ordering::SeqCst);
        }
        vanish(&world, 0, 15..18);
        let engine = world.start().await;
        rest(&engine).await;
        world.cluster.delete("s0-20");
        assert_eq!((rest(&engine).await.held, world.sim.records().len()), (3, 44), "garbled: {garbled}");
        after(&engine, MINUTE * 70).await;
        assert_eq!(world.sim.records().len(), 44);
        assert!(!engine.health().is_ready() && !is_trusted(&engine));
        world.store.unreadable.store(false, Ordering::SeqCst);
        if garbled {
            assert_eq!(world.store.load().await.unwrap().unwrap(), b"{\"zones\": 5}", "nothing was written over it");
            world.store.save(&saved).await.unwrap();
        }
        after(&engine, MINUTE).await;
        assert_eq!(world.sim.records().len(), 41, "three more within the twenty of an hour, and an hour is over");
        assert!(engine.plans().is_empty() && engine.health().is_ready() && is_trusted(&engine));
    }
}

/// Judging and reserving is one step: while the room of one zone is being saved, it is no room of another.
#[tokio::test(start_paused = true)]
async fn two_zones_never_use_the_same_room() {
    let world = zones(4, 9);
    let engine = world.start().await;
    rest(&engine).await;
    *world.store.pace.lock().unwrap() = Duration::from_secs(5);
    (0..4).for_each(|zone| vanish(&world, zone, 0..6));
    after(&engine, MINUTE * 5).await;
    assert_eq!(world.sim.records().len(), 36 - 18, "three zones have room within twenty");
    assert_eq!(rest(&engine).await.held, 6);
}

/// Where no claims are kept every record counts as ours, and so does every delete.
#[tokio::test(start_paused = true)]
async fn the_brake_works_without_claims() {
    let world = zones(1, 60);
    let start = || world.start_with(std::sync::Arc::new(zonewright_registry::noop::NoopRegistry));
    let engine = start().await;
    rest(&engine).await;
    engine.stop().await;
    let before = world.sim.all();
    assert_eq!(before.len(), 60, "records alone");
    world.cluster.vanish_all();
    let engine = start().await;
    after(&engine, MINUTE * 90).await;
    assert_eq!((rest(&engine).await.held, world.sim.all() == before), (60, true));
}

/// What is shown of a plan has a bound, what is kept of it has none.
#[tokio::test(start_paused = true)]
async fn of_a_held_plan_every_delete_is_kept_and_the_first_two_hundred_with_their_content() {
    let world = zones(1, 250);
    let engine = world.start().await;
    rest(&engine).await;
    world.cluster.vanish_all();
    rest(&engine).await;
    engine.stop().await;
    let engine = world.start().await;
    rest(&engine).await;
    let plan = engine.plans().remove(0).1;
    assert_eq!((plan.held.len(), plan.samples.len()), (250, 200));
    assert!(plan.held.values().all(Option::is_some), "each with its digest");
    assert!(plan.samples.keys().eq(plan.held.keys().take(200)), "the first ones");
    assert!(plan.samples.values().all(|content| content == "192.0.2.1"), "{:?}", plan.samples);
}

/// What was approved for several zones under one hash ends in all of them as soon as it is set back in one.
#[tokio::test(start_paused = true)]
async fn an_undo_in_one_zone_ends_the_approval_in_all() {
    let mut world = zones(4, 30);
    world.journal.store = std::sync::Arc::new(MemoryJournal::default());
    let engine = world.start().await;
    rest(&engine).await;
    engine.stop().await;
    (0..4).for_each(|zone| vanish(&world, zone, 0..15));
    let engine = world.start().await;
    assert_eq!(rest(&engine).await.held, 60);
    // Two zones cannot be written when their deletes are approved with the others.
    let away = ["z2.test", "z3.test"];
    for zone in away {
        world.sim.fault(zone, Fault::Down);
    }
    let hash = engine.joint_plans()[0].hash.clone();
    assert_eq!(engine.approve(&hash).unwrap().1, 60);
    after(&engine, MINUTE).await;
    assert_eq!(world.sim.records().len(), 90);
    let query = Query { plan: Some(hash), ..Query::default() };
    let plan = engine.plan_undo(&UndoRequest { query, pin_for: Duration::from_hours(24) }).await.unwrap();
    assert_eq!(engine.undo(&plan.hash).await.unwrap().restored.len(), 30);
    for zone in away {
        world.sim.fault(zone, None);
    }
    after(&engine, MINUTE * 5).await;
    // They are ordinary deletes again: those of one zone have room within twenty, those of the other have none.
    assert_eq!((world.sim.records().len(), rest(&engine).await.held), (105, 15));
}

/// Whoever deleted objects a week ago does not answer for what goes today.
#[tokio::test(start_paused = true)]
async fn deletes_whose_proof_is_a_week_old_count() {
    for (days, left) in [(6, 0), (8, 60)] {
        let mut world = zones(1, 60);
        world.config.interval = Duration::from_hours(1);
        let engine = world.start().await;
        rest(&engine).await;
        world.sim.fault("z0.test", Fault::Down);
        (0..60).for_each(|n| world.cluster.delete(&format!("s0-{n}")));
        // In leaps: of all the turns that nothing comes with, a few are enough.
        for _ in 0..4 * days {
            tokio::time::advance(Duration::from_hours(6)).await;
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        world.sim.fault("z0.test", None);
        let outcome = after(&engine, MINUTE * 5).await;
        assert_eq!((world.sim.records().len(), outcome.held), (left, left), "after {days} days");
    }
}
