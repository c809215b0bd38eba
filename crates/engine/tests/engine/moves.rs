//! A restart with another prefix moves the claims: behind normal changes, by reading back, whatever breaks off.

use std::time::Duration;

use zonewright_core::plan::Policy;
use zonewright_engine::Engine;
use zonewright_engine::metrics::ByZone;

use crate::sim::{Fault, World, after, rest};

fn to_move(engine: &Engine) -> i64 {
    engine.metrics().claims_to_move.get_or_create(&ByZone { zone: "sim/example".to_owned() }).get()
}

fn claim(who: &str) -> String {
    format!("\"heritage=external-dns,external-dns/owner=me,external-dns/resource=service/ns/{who}\"")
}

/// A zone with `count` records and claims without a prefix; the process that made them has ended.
async fn published(count: usize) -> World {
    let world = World::new(&["example"]);
    for n in 0..count {
        world.cluster.put(&format!("s{n}"), &[&format!("h{n}.example A 192.0.2.1")]);
    }
    let engine = world.start().await;
    rest(&engine).await;
    assert_eq!((world.sim.all().len(), to_move(&engine)), (2 * count, 0));
    engine.stop().await;
    world
}

/// How many claims stand at names with this beginning.
fn claims(world: &World, beginning: &str) -> usize {
    let is_one = |line: &&String| line.starts_with(beginning) && line.contains("heritage=external-dns");
    world.sim.all().iter().filter(is_one).count()
}

fn is_moved(world: &World, count: usize) -> bool {
    (claims(world, "new-a-"), claims(world, "a-"), world.sim.records().len()) == (count, 0, count)
}

#[tokio::test(start_paused = true)]
async fn another_prefix_moves_every_claim_and_then_is_silent() {
    let mut world = published(50).await;
    world.sim.insert(&["x.example A 192.0.2.77", "a-x.example TXT heritage=external-dns,external-dns/owner=other"]);
    let foreign = ["x.example A 192.0.2.77".to_owned()];
    world.prefixes = ("new-", &[""]);
    let before = world.sim.written().len();
    let engine = world.start().await;
    world.cluster.put("s7", &["h7.example A 192.0.2.9"]);
    rest(&engine).await;
    assert_eq!((claims(&world, "new-a-"), claims(&world, "a-")), (50, 1), "all but the other owner's");
    assert_eq!(to_move(&engine), 0);
    assert!(world.sim.records().contains(&"h7.example A 192.0.2.9".to_owned()));
    assert!(world.sim.records().contains(&foreign[0]) && world.sim.records().len() == 51);
    // The change of a record goes first; each former claim goes in a later call than the new one came.
    let written = world.sim.written().split_off(before);
    assert!(written[0].iter().any(|line| line.starts_with("~ h7.example A")), "{:?}", written[0]);
    let call_of = |line: String| {
        let calls: Vec<usize> =
            (0..written.len()).filter(|at| written[*at].iter().any(|l| l.starts_with(&line))).collect();
        assert_eq!(calls.len(), 1, "{line}");
        calls[0]
    };
    for n in 0..50 {
        assert!(call_of(format!("+ new-a-h{n}.")) < call_of(format!("- a-h{n}.")), "h{n}");
    }
    assert_eq!(written.iter().flatten().count(), 101, "{written:?}");
    let calls = world.sim.calls().1;
    after(&engine, Duration::from_mins(10)).await;
    assert_eq!(world.sim.calls().1, calls, "nothing more is written");
    engine.stop().await;
    // The former prefix is not needed any more.
    world.prefixes = ("new-", &[]);
    let engine = world.start().await;
    world.cluster.delete("s1");
    rest(&engine).await;
    assert_eq!((claims(&world, "new-a-"), world.sim.records().len()), (49, 50));
}

#[tokio::test(start_paused = true)]
async fn changes_that_come_during_a_move_go_between_its_calls() {
    let mut world = published(300).await;
    world.prefixes = ("new-", &[""]);
    let before = world.sim.written().len();
    world.sim.fault_after(0, "example", Fault::Stall);
    let engine = world.start().await;
    // The first call of the move does not return for a while; meanwhile an object changes.
    tokio::time::sleep(Duration::from_millis(50)).await;
    world.cluster.put("late", &["late.example A 192.0.2.5"]);
    tokio::time::sleep(Duration::from_millis(50)).await;
    world.sim.fault("example", None);
    after(&engine, Duration::from_mins(5)).await;
    let written = world.sim.written().split_off(before);
    let lines: Vec<&String> = written.iter().flatten().collect();
    let before = lines.iter().position(|line| line.starts_with("+ late.example")).unwrap();
    assert!(before <= 100, "it waits for one piece of the move at most, not for {before} claims");
    assert!(is_moved(&world, 301) && to_move(&engine) == 0);
}

/// A CNAME that was taken away by hand leaves its claim, and an address takes its place. When it comes back, its claim stands where
/// today's settings put it, and not where the former one is.
#[tokio::test(start_paused = true)]
async fn a_claim_that_was_left_behind_goes_when_its_record_is_made_anew() {
    let mut world = World::new(&["example"]);
    world.cluster.put("i", &["n.example CNAME t.other."]);
    let engine = world.start().await;
    rest(&engine).await;
    engine.stop().await;
    world.sim.remove(&crate::sim::set("n.example CNAME t.other.").key);
    world.cluster.put("s", &["n.example A 192.0.2.1"]);
    let engine = world.start().await;
    rest(&engine).await;
    engine.stop().await;
    assert_eq!(world.sim.records(), ["n.example A 192.0.2.1"]);
    assert_eq!((claims(&world, "cname-n."), claims(&world, "a-n.")), (1, 1));

    world.cluster.delete("s");
    world.prefixes = ("new-", &[""]);
    let engine = world.start().await;
    after(&engine, Duration::from_mins(3)).await;
    assert_eq!(world.sim.records(), ["n.example CNAME t.other."]);
    assert_eq!((claims(&world, "new-cname-n."), claims(&world, "cname-n."), to_move(&engine)), (1, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_former_claim_goes_only_after_the_new_one_was_read_back() {
    let mut world = published(5).await;
    world.prefixes = ("new-", &[""]);
    world.sim.fault_after(0, "example", Fault::NoReads);
    let engine = world.start().await;
    tokio::time::sleep(Duration::from_mins(2)).await;
    assert_eq!((claims(&world, "new-a-"), claims(&world, "a-"), to_move(&engine)), (5, 5, 5));
    world.sim.fault("example", None);
    after(&engine, Duration::from_mins(3)).await;
    assert!(is_moved(&world, 5) && to_move(&engine) == 0);
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_the_server_lost_is_not_taken_for_written() {
    let mut world = published(3).await;
    world.prefixes = ("new-", &[""]);
    world.sim.swallow("new-a-h1.example");
    let engine = world.start().await;
    after(&engine, Duration::from_mins(1)).await;
    assert!(
        world.sim.all().iter().any(|line| line.starts_with("a-h1.example")),
        "its former claim stays: {:?}",
        world.sim.all()
    );
    assert_eq!((claims(&world, "new-a-"), world.sim.records().len()), (2, 3));
    world.sim.swallow("");
    // It looks like a fight over the name; an hour without another change ends it.
    after(&engine, Duration::from_hours(3)).await;
    assert!(is_moved(&world, 3), "{:?}", world.sim.all());
}

#[tokio::test(start_paused = true)]
async fn a_move_that_was_broken_off_goes_on_in_another_process() {
    for (writes, fault) in
        [(0, Fault::LostAnswer), (0, Fault::LostWrite), (1, Fault::LostAnswer), (1, Fault::LostWrite), (0, Fault::Down)]
    {
        let mut world = published(20).await;
        world.prefixes = ("new-", &[""]);
        world.sim.fault_after(writes, "example", fault);
        let engine = world.start().await;
        tokio::time::sleep(Duration::from_millis(500)).await;
        engine.stop().await;
        for n in 0..20 {
            let stands = |prefix: &str| {
                world.sim.all().contains(&format!("{prefix}a-h{n}.example 0 TXT {}", claim(&format!("s{n}"))))
            };
            assert!(stands("") || stands("new-"), "{fault:?}: h{n} has no claim");
        }
        world.sim.fault("example", None);
        let engine = world.start().await;
        after(&engine, Duration::from_mins(2)).await;
        assert!(is_moved(&world, 20) && to_move(&engine) == 0, "{writes} {fault:?}: {:?}", world.sim.all());
        engine.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn policies_and_dry_run_decide_what_moves() {
    // Policy, dry run; whether claims move; how many are still to be moved.
    for (policy, dry_run, moves, left) in [
        (Policy::Sync, false, true, 0),
        (Policy::UpsertOnly, false, true, 0),
        (Policy::CreateOnly, false, false, 3),
        (Policy::Sync, true, false, 3),
    ] {
        let mut world = published(3).await;
        world.prefixes = ("new-", &[""]);
        world.config.policy = policy;
        world.config.dry_run = dry_run;
        let engine = world.start().await;
        rest(&engine).await;
        assert_eq!((is_moved(&world, 3), to_move(&engine)), (moves, left), "{policy:?} {dry_run}");
        engine.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_record_that_nobody_asks_for_moves_while_it_stands() {
    let mut world = published(3).await;
    world.prefixes = ("new-", &[""]);
    world.config.policy = Policy::UpsertOnly;
    world.cluster.vanish("s1");
    let engine = world.start().await;
    rest(&engine).await;
    assert!(is_moved(&world, 3) && to_move(&engine) == 0, "{:?}", world.sim.all());
}

#[tokio::test(start_paused = true)]
async fn what_is_in_the_way_is_counted_until_it_is_gone() {
    let mut world = published(3).await;
    world.prefixes = ("new-", &[""]);
    world.sim.insert(&["new-a-h1.example TXT hello"]);
    let engine = world.start().await;
    rest(&engine).await;
    assert_eq!((claims(&world, "new-a-"), claims(&world, "a-"), to_move(&engine)), (2, 1, 1));
    world.sim.remove(&crate::sim::set("new-a-h1.example TXT hello").key);
    after(&engine, Duration::from_mins(5)).await;
    assert!(is_moved(&world, 3) && to_move(&engine) == 0);
}

#[tokio::test(start_paused = true)]
async fn a_deleted_object_takes_record_and_both_claims_along() {
    let mut world = published(3).await;
    world.prefixes = ("new-", &[""]);
    world.sim.insert(&[&format!("new-a-h1.example TXT {}", claim("s1").trim_matches('"'))]);
    world.cluster.delete("s1");
    let engine = world.start().await;
    rest(&engine).await;
    assert!(is_moved(&world, 2) && to_move(&engine) == 0, "{:?}", world.sim.all());
}

#[tokio::test(start_paused = true)]
async fn where_nothing_can_be_demanded_a_move_reads_first() {
    let mut world = published(5).await;
    world.prefixes = ("new-", &[""]);
    world.sim.blind();
    let engine = world.start().await;
    rest(&engine).await;
    assert!(is_moved(&world, 5) && to_move(&engine) == 0);
    assert!(world.sim.targeted() >= 2, "before the new claims, and before the former go");
}
