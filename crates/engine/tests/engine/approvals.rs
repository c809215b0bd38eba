//! What becomes of approvals and held plans when a process dies, a view comes into doubt, or a state could not be read for a while.

use std::sync::atomic::Ordering;
use std::time::Duration;

use zonewright_core::store::StateStore as _;
use zonewright_engine::Engine;

use crate::brake::{held, put, vanish, zones};
use crate::sim::{Fault, World, after, rest, set};

/// So many records of one zone, all of whose objects are gone from a new list.
async fn all_held(names: usize) -> (World, Engine) {
    let world = zones(1, names);
    let engine = world.start().await;
    rest(&engine).await;
    world.cluster.vanish_all();
    rest(&engine).await;
    (world, engine)
}

/// A process that dies right after it made approved records anew leaves no approval of them behind.
#[tokio::test(start_paused = true)]
async fn an_approval_ends_before_its_record_is_made_anew() {
    let world = zones(1, 60);
    let engine = world.start().await;
    rest(&engine).await;
    world.cluster.vanish_all();
    after(&engine, Duration::from_secs(5)).await;
    engine.approve(&held(&engine, 0)).unwrap();
    rest(&engine).await;
    put(&world, 0, 60);
    rest(&engine).await;
    let saved = world.store.load().await.unwrap().unwrap();
    engine.stop().await;
    // What stands there is what the process had saved when it died, within two seconds.
    world.store.save(&saved).await.unwrap();
    let engine = world.start().await;
    rest(&engine).await;
    world.cluster.vanish_all();
    assert_eq!((rest(&engine).await.held, world.sim.records().len()), (60, 60));
}

/// A process that is killed in the midst of approved deletes leaves no approval of those behind that it had sent, whatever became of
/// them: the next one may be unable to read the state, and make the same records anew, before the one after it looks.
#[tokio::test(start_paused = true)]
async fn a_killed_process_leaves_no_approval_of_what_it_sent() {
    let (world, engine) = all_held(250).await;
    world.sim.pace(Duration::from_millis(10));
    engine.approve(&held(&engine, 0)).unwrap();
    tokio::time::sleep(Duration::from_millis(5)).await;
    let saved = world.store.load().await.unwrap().unwrap();
    rest(&engine).await;
    assert_eq!(world.sim.records().len(), 0);
    engine.stop().await;
    world.store.save(&saved).await.unwrap();

    world.store.unreadable.store(true, Ordering::SeqCst);
    put(&world, 0, 250);
    let engine = world.start().await;
    rest(&engine).await;
    assert_eq!(world.sim.records().len(), 250);
    engine.stop().await;
    world.store.unreadable.store(false, Ordering::SeqCst);
    vanish(&world, 0, 1..250);

    let engine = world.start().await;
    // Of those that were not sent yet the approval was not used: it covers each delete once.
    assert_eq!((rest(&engine).await.held, world.sim.records().len()), (99, 100));
}

/// The same where one process makes the records anew and then finds the approval.
#[tokio::test(start_paused = true)]
async fn an_approval_that_is_read_late_does_not_cover_what_was_made_meanwhile() {
    let (world, engine) = all_held(60).await;
    world.sim.fault("z0.test", Fault::Down);
    engine.approve(&held(&engine, 0)).unwrap();
    after(&engine, Duration::from_secs(5)).await;
    engine.stop().await;
    world.sim.fault("z0.test", None);
    for record in world.sim.records() {
        world.sim.remove(&set(&record).key);
    }

    world.store.unreadable.store(true, Ordering::SeqCst);
    put(&world, 0, 60);
    let engine = world.start().await;
    rest(&engine).await;
    assert_eq!(world.sim.records().len(), 60);
    world.store.unreadable.store(false, Ordering::SeqCst);
    after(&engine, Duration::from_mins(1)).await;
    world.cluster.vanish_all();
    assert_eq!((rest(&engine).await.held, world.sim.records().len()), (60, 60));
}

/// What was approved is that records go for which nobody asks. An object that comes back before its record went ends that for it: when it
/// goes once more, somebody has to look once more.
#[tokio::test(start_paused = true)]
async fn an_approval_ends_when_its_object_comes_back() {
    for (back, left) in [(60, 60), (25, 25), (0, 0)] {
        let mut world = zones(1, 60);
        world.config.brake.approval_ttl = Duration::from_hours(3);
        let engine = world.start().await;
        rest(&engine).await;
        world.cluster.vanish_all();
        rest(&engine).await;
        let hash = held(&engine, 0);
        let names: Vec<String> = (0..60).map(|n| format!("n{n}.z0.test")).collect();
        world.sim.refuse(&names.iter().map(String::as_str).collect::<Vec<_>>());
        engine.approve(&hash).unwrap();
        after(&engine, Duration::from_mins(1)).await;
        put(&world, 0, back);
        after(&engine, Duration::from_mins(1)).await;
        world.cluster.vanish_all();
        after(&engine, Duration::from_mins(1)).await;
        world.sim.refuse(&[]);
        // What a server calls wrong is tried again after an hour.
        after(&engine, Duration::from_mins(65)).await;
        assert_eq!((rest(&engine).await.held, world.sim.records().len()), (left, left), "{back} came back");
    }
}

/// Where it cannot be saved that an approval is used up, it is not used.
#[tokio::test(start_paused = true)]
async fn what_is_approved_goes_once_that_can_be_saved() {
    let (world, engine) = all_held(60).await;
    world.sim.fault("z0.test", Fault::Down);
    engine.approve(&held(&engine, 0)).unwrap();
    after(&engine, Duration::from_secs(5)).await;
    world.store.full.store(true, Ordering::SeqCst);
    world.sim.fault("z0.test", None);
    after(&engine, Duration::from_mins(5)).await;
    assert_eq!(world.sim.records().len(), 60);
    world.store.full.store(false, Ordering::SeqCst);
    after(&engine, Duration::from_mins(2)).await;
    assert_eq!((world.sim.records().len(), engine.plans().len()), (0, 0));
}

/// Of many approved deletes those that come into doubt before their turn wait, and go when the doubt is over.
#[tokio::test(start_paused = true)]
async fn approved_deletes_that_come_into_doubt_are_not_forgotten() {
    let (world, engine) = all_held(250).await;
    world.sim.pace(Duration::from_millis(10));
    engine.approve(&held(&engine, 0)).unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    world.cluster.trust(true, false);
    assert_eq!((rest(&engine).await.held, world.sim.records().len()), (50, 50));
    world.cluster.trust(true, true);
    rest(&engine).await;
    assert_eq!((world.sim.records().len(), engine.plans().len()), (0, 0));
}

/// What an earlier process held is no plan any more where this one has judged the zone without its state.
#[tokio::test(start_paused = true)]
async fn a_state_that_can_be_read_again_brings_back_no_old_plan() {
    let world = zones(1, 60);
    let engine = world.start().await;
    rest(&engine).await;
    world.cluster.vanish_all();
    assert_eq!(rest(&engine).await.held, 60);
    engine.stop().await;
    world.store.unreadable.store(true, Ordering::SeqCst);
    put(&world, 0, 60);
    let engine = world.start().await;
    assert_eq!(rest(&engine).await.held, 0);
    world.store.unreadable.store(false, Ordering::SeqCst);
    assert_eq!(after(&engine, Duration::from_mins(1)).await.held, 0);
}

/// Nobody who approves a plan today wants what is still undone of it tomorrow.
#[tokio::test(start_paused = true)]
async fn an_approval_ends_after_an_hour() {
    for (minutes, left) in [(55, 0), (61, 60)] {
        let (world, engine) = all_held(60).await;
        world.sim.fault("z0.test", Fault::Down);
        engine.approve(&held(&engine, 0)).unwrap();
        after(&engine, Duration::from_mins(minutes)).await;
        assert_eq!(world.sim.records().len(), 60);
        world.sim.fault("z0.test", None);
        after(&engine, Duration::from_mins(3)).await;
        assert_eq!((world.sim.records().len(), rest(&engine).await.held), (left, left), "after {minutes} minutes");
    }
}

/// A zone of so many records, whose objects are not in a view any more that is doubted because it looks empty.
async fn all_in_doubt(names: usize) -> (World, Engine) {
    let world = zones(1, names);
    let engine = world.start().await;
    rest(&engine).await;
    world.cluster.doubt(1);
    world.cluster.vanish_all();
    rest(&engine).await;
    (world, engine)
}

/// Who approves deletes on a view that looks empty says that it is as it should be. That is said of this doubt and of no other.
#[tokio::test(start_paused = true)]
async fn readiness_does_not_warn_of_doubt_that_was_accepted_and_warns_of_the_next() {
    let (world, engine) = all_in_doubt(6).await;
    assert!(!engine.health().is_ready());
    engine.approve(&held(&engine, 0)).unwrap();
    rest(&engine).await;
    assert!(world.sim.records().is_empty() && engine.health().is_ready(), "{:?}", engine.health());
    after(&engine, Duration::from_hours(3)).await;
    assert!(engine.health().is_ready(), "the approval is over, and the view is what it was: {:?}", engine.health());
    world.cluster.doubt(2);
    rest(&engine).await;
    assert_eq!(engine.health().unready, ["services: not read completely"]);
}

/// Doubt about one kind that was accepted accepts none about another kind that the same deletes rest on.
#[tokio::test(start_paused = true)]
async fn an_approval_accepts_doubt_about_no_other_kind() {
    for (nodes, left) in [(None, 0), (Some(1), 6)] {
        let world = zones(1, 6);
        world.cluster.doubt_nodes(None);
        let engine = world.start().await;
        rest(&engine).await;
        world.cluster.doubt(1);
        world.cluster.vanish_all();
        rest(&engine).await;
        world.sim.fault("z0.test", Fault::Down);
        engine.approve(&held(&engine, 0)).unwrap();
        rest(&engine).await;
        world.cluster.doubt_nodes(nodes);
        rest(&engine).await;
        world.sim.fault("z0.test", None);
        after(&engine, Duration::from_mins(30)).await;
        assert_eq!(world.sim.records().len(), left, "{nodes:?}");
        assert_eq!(engine.health().is_ready(), nodes.is_none(), "{:?}", engine.health());
    }
}

/// Doubt that comes after an approval is not covered by it; who approves the same deletes once more accepts it too.
#[tokio::test(start_paused = true)]
async fn a_second_approval_accepts_the_doubt_that_came_after_the_first() {
    let (world, engine) = all_in_doubt(6).await;
    world.sim.fault("z0.test", Fault::Down);
    engine.approve(&held(&engine, 0)).unwrap();
    rest(&engine).await;
    world.cluster.doubt(2);
    rest(&engine).await;
    world.sim.fault("z0.test", None);
    after(&engine, Duration::from_mins(5)).await;
    assert_eq!(world.sim.records().len(), 6);
    engine.approve(&held(&engine, 0)).unwrap();
    rest(&engine).await;
    assert_eq!((world.sim.records().len(), engine.plans().len()), (0, 0));
}

/// What is written beside the state while nothing is held, or is still there when a state is lost, approves nothing later.
#[tokio::test(start_paused = true)]
async fn an_approval_that_was_left_standing_approves_nothing_later() {
    let (world, engine) = all_held(60).await;
    let hash = held(&engine, 0);
    engine.approve(&hash).unwrap();
    rest(&engine).await;
    assert_eq!(world.sim.records(), Vec::<String>::new());
    // A second person approves what went a moment ago. The objects come back.
    world.store.approvals.lock().unwrap().insert(hash);
    after(&engine, Duration::from_mins(1)).await;
    put(&world, 0, 60);
    after(&engine, Duration::from_hours(30)).await;
    world.cluster.vanish_all();
    after(&engine, Duration::from_mins(5)).await;
    assert_eq!(world.sim.records().len(), 60);
    // The one that let them go is still there when the state cannot be read.
    let hash = held(&engine, 0);
    world.store.approvals.lock().unwrap().insert(hash);
    after(&engine, Duration::from_secs(11)).await;
    assert_eq!(world.sim.records(), Vec::<String>::new());
    put(&world, 0, 60);
    after(&engine, Duration::from_hours(30)).await;
    engine.stop().await;
    world.store.unreadable.store(true, Ordering::SeqCst);
    let engine = world.start().await;
    rest(&engine).await;
    world.cluster.vanish_all();
    after(&engine, Duration::from_mins(5)).await;
    assert_eq!(world.sim.records().len(), 60);
}
