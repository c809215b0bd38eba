//! A kind whose list is empty from the start, though the process before saw several of its objects.

use std::sync::atomic::Ordering;
use std::time::Duration;

use zonewright_engine::approve_saved;

use crate::brake::{held, put, zones};
use crate::sim::{Fault, World, after, rest};

/// A process has published the names of so many objects, and has ended; now there is none of them.
async fn emptied(objects: usize) -> World {
    let world = zones(1, objects);
    let engine = world.start().await;
    rest(&engine).await;
    assert_eq!(world.sim.records().len(), objects);
    engine.stop().await;
    world.cluster.vanish_all();
    world
}

#[tokio::test(start_paused = true)]
async fn a_process_that_has_just_started_does_not_believe_an_empty_list() {
    let world = emptied(5).await;
    let engine = world.start().await;
    assert_eq!((rest(&engine).await.held, world.sim.records().len()), (5, 5));
    after(&engine, Duration::from_hours(5)).await;
    assert_eq!(world.sim.records().len(), 5, "it does not end by itself");
    let unready = engine.health().unready.join("\n");
    assert!(unready.contains("services: not read completely: its list holds no object"), "{unready}");
    engine.stop().await;

    let engine = world.start().await;
    assert_eq!((rest(&engine).await.held, world.sim.records().len()), (5, 5), "nor with another restart");
    engine.approve(&held(&engine, 0)).unwrap();
    rest(&engine).await;
    assert_eq!(world.sim.records(), Vec::<String>::new());
    after(&engine, Duration::from_secs(10)).await;
    assert!(engine.health().is_ready(), "{:?}", engine.health());
    engine.stop().await;

    let engine = world.start().await;
    rest(&engine).await;
    assert!(engine.health().is_ready(), "it is known to be empty: {:?}", engine.health());
}

/// The doubt is the same in every zone: one approval is enough.
#[tokio::test(start_paused = true)]
async fn all_zones_can_be_approved_together() {
    let world = zones(3, 4);
    let engine = world.start().await;
    rest(&engine).await;
    engine.stop().await;
    world.cluster.vanish_all();
    let engine = world.start().await;
    assert_eq!(rest(&engine).await.held, 12);
    let joint = engine.joint_plans();
    assert_eq!((joint.len(), joint[0].deletes(), joint[0].zones.len()), (1, 12, 3));
    engine.approve(&joint[0].hash).unwrap();
    rest(&engine).await;
    assert_eq!((world.sim.all(), engine.plans().len()), (Vec::new(), 0));
}

/// As with a list that becomes empty while a process looks.
#[tokio::test(start_paused = true)]
async fn two_objects_may_be_gone_after_a_restart() {
    let world = emptied(2).await;
    let engine = world.start().await;
    assert_eq!((rest(&engine).await.held, world.sim.records().len()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn an_object_ends_the_doubt() {
    let world = emptied(5).await;
    let engine = world.start().await;
    rest(&engine).await;
    world.cluster.put("another", &["other.z0.test A 192.0.2.9"]);
    rest(&engine).await;
    assert_eq!(world.sim.records(), ["other.z0.test A 192.0.2.9"]);
    assert!(engine.health().is_ready(), "{:?}", engine.health());
}

/// What was deleted one by one, each seen, leaves a kind that is known to be empty.
#[tokio::test(start_paused = true)]
async fn a_kind_that_was_seen_to_become_empty_is_not_doubted() {
    let world = zones(1, 5);
    let engine = world.start().await;
    rest(&engine).await;
    for n in 0..4 {
        world.cluster.delete(&format!("s0-{n}"));
    }
    after(&engine, Duration::from_secs(5)).await;
    assert_eq!(world.sim.records().len(), 1);
    engine.stop().await;
    world.cluster.vanish_all();
    let engine = world.start().await;
    assert_eq!((rest(&engine).await.held, world.sim.records().len()), (0, 0));
}

/// Nodes, of which Services may have read addresses: nothing that is to go rests on them.
#[tokio::test(start_paused = true)]
async fn a_kind_that_nothing_waits_for_is_taken_to_be_empty() {
    let world = zones(1, 5);
    world.cluster.nodes(4);
    let engine = world.start().await;
    rest(&engine).await;
    engine.stop().await;
    world.cluster.nodes(0);
    let engine = world.start().await;
    after(&engine, Duration::from_secs(10)).await;
    assert!(engine.health().is_ready(), "{:?}", engine.health());
    world.cluster.vanish("s0-0");
    rest(&engine).await;
    assert_eq!(world.sim.records().len(), 4);
}

/// Of a zone that cannot be read nobody knows what waits for the kind.
#[tokio::test(start_paused = true)]
async fn doubt_lasts_until_every_zone_was_planned() {
    let world = emptied(5).await;
    world.sim.fault("z0.test", Fault::Down);
    let engine = world.start().await;
    after(&engine, Duration::from_mins(1)).await;
    engine.stop().await;
    world.sim.fault("z0.test", None);
    let engine = world.start().await;
    assert_eq!((after(&engine, Duration::from_mins(1)).await.held, world.sim.records().len()), (5, 5));
}

/// An approval that is given while no daemon runs counts for the next one.
#[tokio::test(start_paused = true)]
async fn what_is_held_can_be_approved_for_the_next_process() {
    let world = emptied(5).await;
    let engine = world.start().await;
    rest(&engine).await;
    let hash = held(&engine, 0);
    engine.stop().await;
    let until = world.clock.now().plus(Duration::from_hours(1));
    assert!(approve_saved(world.store.clone(), &hash, until).await.unwrap().is_some());
    let engine = world.start().await;
    assert_eq!((rest(&engine).await.held, world.sim.records().len()), (0, 0));
}

/// What goes between two single passes goes unseen, always: they would hold whatever was the last of its kind.
#[tokio::test(start_paused = true)]
async fn a_single_pass_believes_its_lists() {
    let mut world = emptied(5).await;
    world.config.one_pass = true;
    let engine = world.start().await;
    let outcome = engine.settled().await;
    assert_eq!((outcome.held, outcome.unread.len(), world.sim.records().len()), (0, 0, 0));
}

/// A state that can be read only later brings the doubt with it.
#[tokio::test(start_paused = true)]
async fn a_state_that_can_be_read_again_doubts_an_empty_list() {
    let world = emptied(5).await;
    world.store.unreadable.store(true, Ordering::SeqCst);
    let engine = world.start().await;
    assert_eq!((rest(&engine).await.held, world.sim.records().len()), (5, 5));
    world.store.unreadable.store(false, Ordering::SeqCst);
    after(&engine, Duration::from_mins(1)).await;
    assert_eq!(world.sim.records().len(), 5);
    put(&world, 0, 5);
    rest(&engine).await;
    assert_eq!((world.sim.records().len(), engine.plans().len()), (5, 0));
}
