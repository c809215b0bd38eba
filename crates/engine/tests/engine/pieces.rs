//! Rounds of so many names that they are carried out in pieces, one prepared while the one before it is in flight.

use std::time::Duration;

use zonewright_engine::Engine;

use crate::sim::{Fault, World, after, is_claim, rest};

/// Many pieces: with the small calls of the simulated provider one holds 100 groups.
const MANY: usize = 1_200;

fn host(number: usize) -> String {
    format!("n{number:04}.example")
}

async fn many() -> (World, Engine) {
    so_many(MANY).await
}

async fn so_many(names: usize) -> (World, Engine) {
    let world = World::new(&["example"]);
    for number in 0..names {
        world.cluster.put(&format!("s{number}"), &[&format!("{} A 192.0.2.1", host(number))]);
    }
    let engine = world.start().await;
    (world, engine)
}

fn pairs(world: &World) -> (usize, usize) {
    let content = world.sim.content();
    let claims = content.sets.values().filter(|set| is_claim(set)).count();
    (content.sets.len() - claims, claims)
}

#[tokio::test(start_paused = true)]
async fn every_piece_is_carried_out() {
    let (world, engine) = many().await;
    rest(&engine).await;
    assert_eq!(pairs(&world), (MANY, MANY));
    let writes = world.sim.calls().1;
    after(&engine, Duration::from_mins(10)).await;
    assert_eq!(world.sim.calls().1, writes, "and then silence");
}

/// No piece holds more deletes than may pass; all of them together do.
#[tokio::test(start_paused = true)]
async fn the_brake_judges_the_whole_round() {
    let (world, engine) = many().await;
    rest(&engine).await;
    for number in (0..MANY).filter(|number| number % 8 == 0) {
        world.cluster.vanish(&format!("s{number}"));
    }
    // New names must not raise the share that may go.
    for number in 0..400 {
        world.cluster.put(&format!("new{number}"), &[&format!("{number}.new.example A 192.0.2.1")]);
    }
    let outcome = rest(&engine).await;
    assert_eq!((outcome.held, pairs(&world).0), (150, MANY + 400));
    let plan = &engine.plans()[0].1;
    assert!(plan.reason.contains("at most 120 of 1200 owned records"), "{}", plan.reason);
    engine.approve(&plan.hash.clone()).unwrap();
    rest(&engine).await;
    assert_eq!(pairs(&world), (MANY + 400 - 150, MANY + 400 - 150));
}

/// The claim on `n0150.example` belongs where a CNAME is on its way in the piece before.
#[tokio::test(start_paused = true)]
async fn a_change_that_meets_one_in_flight_waits_for_it() {
    let world = World::new(&["example"]);
    world.cluster.put("cname", &["a-n0150.example CNAME lb.test"]);
    for number in 0..MANY {
        world.cluster.put(&format!("s{number}"), &[&format!("{} A 192.0.2.1", host(number))]);
    }
    let engine = world.start().await;
    rest(&engine).await;
    assert_eq!(pairs(&world), (MANY, MANY), "all but one");
    assert!(world.reports.has("s150", "ClaimRefused"));
    assert!(!world.sim.records().iter().any(|line| line.starts_with("n0150.")));
}

#[tokio::test(start_paused = true)]
async fn after_an_error_no_further_piece_is_sent_and_no_name_is_lost() {
    for fault in [Fault::Down, Fault::LostAnswer, Fault::LostWrite] {
        let (world, engine) = many().await;
        world.sim.fault_after(3, "example", fault);
        tokio::time::sleep(Duration::from_millis(500)).await;
        let sent = pairs(&world).0;
        assert!(sent <= 100, "{fault:?}: {sent} records; the second piece was prepared, and must not be sent");
        world.sim.fault("example", None);
        after(&engine, Duration::from_mins(10)).await;
        assert_eq!(pairs(&world), (MANY, MANY), "{fault:?}");
    }
}

/// What may not go is known even while nothing can be written.
#[tokio::test(start_paused = true)]
async fn a_held_plan_is_visible_though_the_zone_cannot_be_written() {
    let (world, engine) = many().await;
    rest(&engine).await;
    world.sim.fault_after(0, "example", Fault::LostWrite);
    world.cluster.put("s0", &[&format!("{} A 192.0.2.2", host(0))]);
    for number in (1..MANY).filter(|number| number % 8 == 0) {
        world.cluster.vanish(&format!("s{number}"));
    }
    rest(&engine).await;
    assert_eq!(engine.plans().first().map(|(_, plan)| plan.held.len()), Some(149));
}

/// What is in flight has its turn while the next piece is prepared, so that its message is sent before and not after that. On the
/// clock of the machine, as the next test.
#[tokio::test]
async fn the_piece_in_flight_has_its_turn_while_the_next_is_prepared() {
    let (world, _engine) = many().await;
    let (mut known, mut most) = (None, 0);
    let watch = async {
        while pairs(&world).0 < MANY - 100 {
            tokio::task::yield_now().await;
            let now = world.sim.interpreted();
            most = most.max(known.map_or(0, |known| now - known));
            // The metrics look at every name before the first is sent.
            known = (world.sim.calls().1 > 0).then_some(now);
        }
    };
    tokio::time::timeout(Duration::from_mins(2), watch).await.expect("every name is published");
    assert!((1..=64).contains(&most), "{most} names in one go, of pieces of 100");
}

/// Probes and metrics are answered by the same threads: however many names are planned at once, and though nothing is to be sent,
/// other work has its turn between them. On the clock of the machine, since what waits in turn keeps a paused one from going on.
#[tokio::test]
async fn other_work_has_its_turn_while_many_names_are_planned() {
    for unlimited in [false, true] {
        let (world, first) = many().await;
        if unlimited {
            world.sim.lift_limits();
        }
        rest(&first).await;
        let before = world.sim.interpreted();
        let _second = World { cluster: world.cluster.clone(), ..world.beside() }.start().await;
        let (mut known, mut most) = (before, 0);
        let watch = async {
            // The metrics look at every name when the table is taken over, and once more after everything was planned.
            while known <= before + 2 * MANY {
                tokio::task::yield_now().await;
                let now = world.sim.interpreted();
                most = most.max(now - known);
                known = now;
            }
        };
        tokio::time::timeout(Duration::from_mins(2), watch).await.expect("every name is planned");
        // Those that are planned, and as many that the metrics look at.
        assert!(most <= 2 * 256, "{most} of {MANY} names in one go, with a limit of changes: {}", !unlimited);
    }
}

/// A change does not wait until the metrics have looked at every name, as they do after a start.
#[tokio::test]
async fn a_change_is_answered_while_all_names_are_counted() {
    let names = 3 * MANY;
    let (world, first) = so_many(names).await;
    world.sim.lift_limits();
    rest(&first).await;
    first.stop().await;
    let before = world.sim.interpreted();
    let _second = World { cluster: world.cluster.clone(), ..world.beside() }.start().await;
    let watch = async {
        // Each is planned once; the rest is the look that follows.
        while world.sim.interpreted() <= before + names + names / 8 {
            tokio::task::yield_now().await;
        }
        world.cluster.put("late", &["late.example A 192.0.2.1"]);
        while pairs(&world).0 == names {
            tokio::task::yield_now().await;
        }
        world.sim.interpreted() - before
    };
    let answered = tokio::time::timeout(Duration::from_mins(2), watch).await.expect("the late name is published");
    assert!(answered < 2 * names - names / 4, "{} of {names} names were looked at before it was", answered - names);
}

/// A delete that the brake counts needs no call of its own where the round fits one piece.
#[tokio::test(start_paused = true)]
async fn a_small_round_is_one_call() {
    let world = World::new(&["example"]);
    world.cluster.put("a", &["x.example A 192.0.2.1"]);
    let engine = world.start().await;
    rest(&engine).await;
    let writes = world.sim.calls().1;
    world.cluster.put("a", &["y.example A 192.0.2.1"]);
    rest(&engine).await;
    assert_eq!((world.sim.records(), world.sim.calls().1), (vec!["y.example A 192.0.2.1".to_owned()], writes + 1));
}
