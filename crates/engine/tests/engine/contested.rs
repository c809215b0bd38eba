//! Names that another writer keeps changing back.

use std::time::Duration;

use zonewright_core::RecordType;
use zonewright_core::plan::Policy;
use zonewright_engine::Engine;

use crate::sim::{Fault, World, after, is_claim, rest};

const MINUTE: Duration = Duration::from_mins(1);

fn minutes(count: u64) -> Duration {
    MINUTE * u32::try_from(count).unwrap()
}

/// What `x.example` holds.
fn x(world: &World) -> String {
    world.sim.records().into_iter().filter(|line| line.starts_with("x.")).collect()
}

fn fought(engine: &Engine) -> Vec<String> {
    engine.contested().into_iter().map(|(zone, name, fight)| format!("{name} in {zone} by {}", fight.suspect)).collect()
}

/// `x.example` and `y.example`, published.
async fn two_names() -> (World, Engine) {
    let world = World::new(&["example"]);
    world.cluster.put("a", &["x.example A 192.0.2.1"]);
    world.cluster.put("b", &["y.example A 192.0.2.1"]);
    let engine = world.start().await;
    rest(&engine).await;
    (world, engine)
}

/// Another writer changes `x.example`, and the next audit sees it.
async fn edit(world: &World, engine: &Engine, number: u8) {
    world.sim.insert(&[&format!("x.example A 203.0.113.{number}")]);
    after(engine, minutes(1)).await;
}

const OURS: &str = "x.example A 192.0.2.1";

#[tokio::test(start_paused = true)]
async fn an_editor_who_changes_a_name_three_times() {
    let (world, engine) = two_names().await;
    for number in 1..=2 {
        edit(&world, &engine, number).await;
        assert_eq!(x(&world), OURS, "a change by hand is repaired by the audit");
    }
    assert!(fought(&engine).is_empty() && !world.reports.has("a", "RecordContested"));
    edit(&world, &engine, 3).await;
    assert_eq!(fought(&engine), ["x.example in example by an unknown writer"]);
    assert!(world.reports.has("a", "RecordContested") && !world.reports.has("b", "RecordContested"));
    assert!(engine.metrics().text().contains("zonewright_contested_records{zone=\"sim/example\"} 1"));
    assert_eq!(x(&world), "x.example A 203.0.113.3", "the last repair is a minute old");
    after(&engine, minutes(3)).await;
    assert_eq!(x(&world), "x.example A 203.0.113.3");
    after(&engine, minutes(2)).await;
    assert_eq!(x(&world), OURS, "five minutes after the last repair");

    // Nothing of this concerns another name.
    world.cluster.put("b", &["y.example A 192.0.2.7"]);
    rest(&engine).await;
    assert!(world.sim.records().contains(&"y.example A 192.0.2.7".to_owned()));
    world.cluster.delete("b");
    rest(&engine).await;
    assert_eq!(world.sim.records(), [OURS]);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_deleted_while_it_lasts_and_an_hour_of_calm_ends_it() {
    let (world, engine) = two_names().await;
    for number in 1..=3 {
        edit(&world, &engine, number).await;
    }
    after(&engine, minutes(10)).await;
    world.cluster.delete("a");
    rest(&engine).await;
    assert_eq!(x(&world), OURS, "also a delete with proof waits");
    let plans = engine.plans();
    let reason = &plans.first().expect("a plan is held").1.reason;
    assert!(reason.contains("an unknown writer keeps changing it"), "{reason}");
    after(&engine, minutes(48)).await;
    assert_eq!((x(&world).as_str(), fought(&engine).len()), (OURS, 1), "not yet");
    after(&engine, minutes(3)).await;
    assert_eq!((x(&world).as_str(), fought(&engine).len()), ("", 0));
    assert!(engine.plans().is_empty());
    assert!(engine.metrics().text().contains("zonewright_contested_records{zone=\"sim/example\"} 0"));
}

#[tokio::test(start_paused = true)]
async fn two_clusters_with_one_owner_id_that_want_one_name() {
    let one = World::new(&["example"]);
    let mut two = one.beside();
    two.config.policy = Policy::UpsertOnly;
    one.cluster.put("a", &["x.example A 192.0.2.1"]);
    one.cluster.put("c", &["y.example A 192.0.2.1"]);
    two.cluster.put("b", &["x.example A 192.0.2.2"]);
    let engines = (one.start().await, two.start().await);
    after(&engines.0, minutes(15)).await;
    let name = "x.example in example by another writer under the owner id me";
    assert_eq!((fought(&engines.0), fought(&engines.1)), (vec![name.to_owned()], vec![name.to_owned()]));
    let before = one.sim.calls().1;
    after(&engines.0, minutes(60)).await;
    let writes = one.sim.calls().1 - before;
    assert!((2..=26).contains(&writes), "{writes} writes in an hour; at most one of each in five minutes");
    assert_eq!(fought(&engines.0).len(), 1, "it goes on as long as the other does");
    engines.1.stop().await;
    after(&engines.0, minutes(70)).await;
    assert_eq!((x(&one).as_str(), fought(&engines.0).len()), (OURS, 0));
}

#[tokio::test(start_paused = true)]
async fn the_owner_in_a_foreign_claim_is_named() {
    let (world, engine) = two_names().await;
    let ours: Vec<_> = world.sim.content().sets.values().filter(|set| is_claim(set)).cloned().collect();
    for _ in 0..3 {
        world.sim.insert(&["a-x.example TXT \"heritage=external-dns,external-dns/owner=other\""]);
        after(&engine, minutes(1)).await;
        world.sim.content().sets.extend(ours.iter().map(|set| (set.key.clone(), set.clone())));
        world.sim.insert(&[]);
        after(&engine, minutes(1)).await;
    }
    assert_eq!(fought(&engine), ["x.example in example by owner other"]);
}

/// What an unanswered write of ours did is no foreign change, however often it is read back.
#[tokio::test(start_paused = true)]
async fn our_own_lost_answers_are_no_fight() {
    let (world, engine) = two_names().await;
    for number in 2..8 {
        let fault = if number % 2 == 0 { Fault::LostAnswer } else { Fault::LostWrite };
        world.sim.fault("example", fault);
        world.cluster.put("a", &[&format!("x.example A 192.0.2.{number}")]);
        tokio::time::sleep(Duration::from_millis(500)).await;
        world.sim.fault("example", None);
        after(&engine, Duration::from_secs(5)).await;
    }
    assert_eq!(x(&world), "x.example A 192.0.2.7");
    assert!(fought(&engine).is_empty());
}

/// A change that is met before any audit saw it counts too.
#[tokio::test(start_paused = true)]
async fn a_change_that_a_refused_write_met_counts() {
    let (world, engine) = two_names().await;
    for number in 1..=3 {
        world.sim.insert(&[&format!("x.example A 203.0.113.{number}")]);
        world.cluster.put("a", &[&format!("x.example A 192.0.2.1{number}")]);
        after(&engine, Duration::from_secs(1)).await;
    }
    assert_eq!(fought(&engine), ["x.example in example by an unknown writer"]);
}

/// What turns up where a name is read is judged by its own claim, not by ours in the old format beside it, which speaks for every
/// other type that has none: nothing of theirs is shown as what we would delete.
#[tokio::test(start_paused = true)]
async fn what_turns_up_at_a_name_is_judged_by_its_own_claim() {
    let mut world = World::new(&["example"]);
    world.sim.blind();
    world.config.managed.insert(RecordType::Mx);
    world.config.interval = minutes(4);
    world.cluster.put("a", &["x.example A 192.0.2.1"]);
    let engine = world.start().await;
    rest(&engine).await;
    for number in 1..=3 {
        world.sim.insert(&[&format!("x.example A 203.0.113.{number}")]);
        after(&engine, minutes(4)).await;
    }
    assert_eq!((fought(&engine).len(), x(&world)), (1, "x.example A 203.0.113.3".to_owned()));
    world.sim.insert(&[
        "x.example TXT heritage=external-dns,external-dns/owner=me",
        "x.example MX 10_mail.example",
        "mx-x.example TXT heritage=external-dns,external-dns/owner=other",
    ]);
    let before = world.sim.targeted();
    after(&engine, minutes(2)).await;
    assert!(world.sim.targeted() > before, "the name was read by itself, to be repaired");
    assert_eq!(engine.plans(), []);
}
