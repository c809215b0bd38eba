//! The ten invariants of the design, as far as the engine keeps them. Each test fails if its invariant is broken.

use std::time::Duration;

use zonewright_core::{RecordKey, RecordType};
use zonewright_engine::{Announcement, Engine};

use crate::sim::{Log, World, after, name, rest};

/// 1: foreign records are sacred.
#[tokio::test(start_paused = true)]
async fn foreign_records_stay_as_they_are() {
    let world = World::new(&["example"]);
    let foreign = [
        "x.example A 203.0.113.1",
        "y.example A 203.0.113.2",
        "a-y.example TXT \"heritage=external-dns,external-dns/owner=other\"",
        "a-z.example TXT \"heritage=external-dns,external-dns/owner=other\"",
        "example MX 10_mail.example",
        "w.example TXT hello",
    ];
    world.sim.insert(&foreign);
    let before = world.sim.all();
    for (who, line) in [
        ("a", "x.example A 192.0.2.1"),
        ("b", "y.example A 192.0.2.1"),
        ("c", "z.example A 192.0.2.1"),
        ("d", "w.example CNAME q.test"),
    ] {
        world.cluster.put(who, &[line]);
    }
    let engine = world.start().await;
    rest(&engine).await;
    for (who, reason) in [("a", "ForeignRecord"), ("b", "ForeignRecord"), ("c", "ForeignClaim"), ("d", "CnameConflict")]
    {
        assert!(world.reports.has(who, reason), "{who}: {reason}");
    }
    world.cluster.vanish_all();
    after(&engine, Duration::from_mins(5)).await;
    assert_eq!(world.sim.all(), before);
}

/// 1: an owner edited by hand is respected at once, before any audit has seen it.
#[tokio::test(start_paused = true)]
async fn an_owner_edited_by_hand_is_respected_at_once() {
    let world = World::new(&["example"]);
    world.cluster.put("a", &["x.example A 192.0.2.1"]);
    world.cluster.put("b", &["y.example A 192.0.2.1"]);
    let engine = world.start().await;
    rest(&engine).await;
    world.sim.insert(&["a-x.example TXT \"heritage=external-dns,external-dns/owner=other\""]);
    world.sim.insert(&["a-y.example TXT \"heritage=external-dns,external-dns/owner=other\""]);
    let edited = world.sim.all();
    world.cluster.put("a", &["x.example A 192.0.2.99"]);
    world.cluster.delete("b");
    rest(&engine).await;
    assert_eq!(world.sim.all(), edited);
    assert!(world.reports.has("a", "ForeignRecord"));
}

/// 1: the same where the provider takes no preconditions: record and claim are read right before.
#[tokio::test(start_paused = true)]
async fn without_preconditions_record_and_claim_are_read_before() {
    let world = World::new(&["example"]);
    world.sim.blind();
    world.cluster.put("a", &["x.example A 192.0.2.1"]);
    let engine = world.start().await;
    rest(&engine).await;
    assert_eq!(world.sim.records(), ["x.example A 192.0.2.1"]);
    world
        .sim
        .insert(&["a-x.example TXT \"heritage=external-dns,external-dns/owner=other\"", "y.example A 203.0.113.1"]);
    let edited = world.sim.all();
    world.cluster.put("a", &["x.example A 192.0.2.99", "y.example A 192.0.2.99"]);
    rest(&engine).await;
    assert_eq!(world.sim.all(), edited);
}

/// 1: so is what a claim that goes rests on: an old-format one is needed by no other record only while that has a claim of its own.
#[tokio::test(start_paused = true)]
async fn without_preconditions_what_a_claim_rests_on_is_read_before() {
    let mut world = World::new(&["example"]);
    world.config.managed.insert(RecordType::Mx);
    world.sim.blind();
    world.cluster.put("a", &["x.example A 192.0.2.1"]);
    let engine = world.start().await;
    rest(&engine).await;
    // Somebody puts the claim where old ones stand; there it speaks for the MX, too, which nobody asks for.
    world.sim.remove(&RecordKey::simple(name("a-x.example"), RecordType::Txt));
    let old = "heritage=external-dns,external-dns/owner=me,external-dns/resource=service/ns/a";
    world.sim.insert(&["x.example A 192.0.2.77", "x.example MX 10_mx.example", &format!("x.example TXT \"{old}\"")]);
    world.cluster.put("b", &["x.example AAAA 2001:db8::1"]);
    for _ in 0..3 {
        rest(&engine).await;
        let all = world.sim.all();
        let claimed =
            |text: &String| ["a-x.example 0 TXT", "x.example 0 TXT"].iter().any(|claim| text.starts_with(claim));
        assert!(all.iter().any(claimed), "{all:?}");
    }
    assert!(world.sim.records().contains(&"x.example A 192.0.2.1".to_owned()), "{:?}", world.sim.records());
}

pub(crate) fn many(count: usize) -> World {
    let world = World::new(&["example"]);
    for i in 0..count {
        world.cluster.put(&format!("s{i}"), &[&format!("n{i}.example A 192.0.2.1")]);
    }
    world
}

/// 2: an object whose desired records are not known in full keeps what is published for it, and only that.
#[tokio::test(start_paused = true)]
async fn what_an_object_may_still_ask_for_stays() {
    let world = World::new(&["example"]);
    world.cluster.put("a", &["x.example A 192.0.2.1", "y.example A 192.0.2.1"]);
    world.cluster.put("b", &["z.example A 192.0.2.2"]);
    let engine = world.start().await;
    rest(&engine).await;
    world.cluster.put("a", &["x.example A 192.0.2.1", "unknown"]);
    world.cluster.put("b", &[]);
    let outcome = rest(&engine).await;
    assert_eq!(world.sim.records(), ["x.example A 192.0.2.1", "y.example A 192.0.2.1"]);
    assert_eq!(outcome.held, 1, "it is visible as a held delete");
    world.cluster.put("a", &["x.example A 192.0.2.1"]);
    rest(&engine).await;
    assert_eq!(world.sim.records(), ["x.example A 192.0.2.1"]);
    world.cluster.put("a", &["x.example A 192.0.2.1 192.0.2.2"]);
    rest(&engine).await;
    world.cluster.put("a", &["x.example A 192.0.2.2 192.0.2.3", "unknown"]);
    rest(&engine).await;
    assert_eq!(world.sim.records(), ["x.example A 192.0.2.1 ; 192.0.2.2 ; 192.0.2.3"], "added to, and not shrunk");
    world.cluster.put("a", &["x.example A 192.0.2.2 192.0.2.3"]);
    rest(&engine).await;
    assert_eq!(world.sim.records(), ["x.example A 192.0.2.2 ; 192.0.2.3"]);
}

/// An event on an object says what was done for it, if that was asked for.
#[tokio::test(start_paused = true)]
async fn changes_are_announced() {
    for announce in [true, false] {
        let mut world = World::new(&["example"]);
        if !announce {
            world.config.announce = [Announcement::RecordError].into();
        }
        world.cluster.put("a", &["x.example A 192.0.2.1"]);
        let engine = world.start().await;
        rest(&engine).await;
        assert_eq!(world.reports.has("a", "RecordReady"), announce);
    }
}

/// 2: a plan can be approved where the state is kept, once.
#[tokio::test(start_paused = true)]
async fn an_approval_beside_the_state_counts_once() {
    let world = many(60);
    let engine = world.start().await;
    rest(&engine).await;
    world.cluster.vanish_all();
    rest(&engine).await;
    let hash = engine.plans()[0].1.hash.clone();
    world.store.approvals.lock().unwrap().extend(["0123456789ab".to_owned(), hash.clone()]);
    after(&engine, Duration::from_secs(11)).await;
    assert_eq!(world.sim.records(), Vec::<String>::new());
    // The same again, after the approval has run out.
    for i in 0..60 {
        world.cluster.put(&format!("s{i}"), &[&format!("n{i}.example A 192.0.2.1")]);
    }
    after(&engine, Duration::from_hours(2)).await;
    world.cluster.vanish_all();
    after(&engine, Duration::from_mins(5)).await;
    assert_eq!(world.sim.records().len(), 60);
    assert_ne!(engine.plans()[0].1.hash, hash, "it is another plan");
}

/// 2: the brake holds, reports, and sends what is approved.
#[tokio::test(start_paused = true)]
async fn a_mass_delete_is_held_until_it_is_approved() {
    let world = many(60);
    let engine = world.start().await;
    rest(&engine).await;
    let before = world.sim.all();
    world.cluster.vanish_all();
    let outcome = rest(&engine).await;
    assert_eq!((world.sim.all() == before, outcome.held), (true, 60));
    after(&engine, Duration::from_secs(10)).await;
    assert!(world.reports.has("zonewright-pod", "PlanHeld"));
    assert!(engine.metrics().text().contains("zonewright_held_deletes{zone=\"sim/example\"} 60"));
    after(&engine, Duration::from_mins(10)).await;
    assert_eq!(world.sim.all(), before, "time does not approve it");

    engine.stop().await;
    let engine = world.start().await;
    rest(&engine).await;
    let plans = engine.plans();
    assert_eq!(plans[0].1.held.len(), 60, "it is held after a restart too");
    after(&engine, Duration::from_secs(10)).await;
    let reported = world.reports.0.lock().unwrap().iter().filter(|note| note.reason == "PlanHeld").count();
    assert_eq!(reported, 2, "each process says so once");
    assert!(engine.approve("000000000000").is_none());
    engine.approve(&plans[0].1.hash).unwrap();
    rest(&engine).await;
    assert!(world.sim.all().is_empty() && engine.plans().is_empty());
}

/// Removals that come one by one make one report, with the hash of all of them.
#[tokio::test(start_paused = true)]
async fn a_held_plan_settles_before_it_is_reported() {
    let world = many(60);
    let engine = world.start().await;
    rest(&engine).await;
    for i in 0..35 {
        world.cluster.vanish(&format!("s{i}"));
        after(&engine, Duration::from_secs(1)).await;
    }
    let plan = engine.plans()[0].1.clone();
    assert_eq!(plan.held.len(), 15, "what is held can be seen and approved at once");
    after(&engine, Duration::from_secs(10)).await;
    let reported: Vec<String> = {
        let reports = world.reports.0.lock().unwrap();
        reports.iter().filter(|note| note.reason == "PlanHeld").map(|note| note.message.clone()).collect()
    };
    assert_eq!(reported.len(), 1, "{reported:?}");
    assert!(
        reported[0].starts_with("15 deletes in zone example are held") && reported[0].contains(&plan.hash),
        "{reported:?}"
    );
}

/// 2: an approval is of exactly what was shown: once the plan has changed it does nothing, wherever it is given.
#[tokio::test(start_paused = true)]
async fn an_outdated_plan_cannot_be_approved() {
    let world = many(60);
    let engine = world.start().await;
    rest(&engine).await;
    (0..40).for_each(|i| world.cluster.vanish(&format!("s{i}")));
    assert_eq!(rest(&engine).await.held, 40);
    let shown = engine.plans()[0].1.hash.clone();
    world.cluster.vanish("s40");
    assert_eq!(rest(&engine).await.held, 41);
    assert!(engine.approve(&shown).is_none());
    let log = Log::listen();
    world.store.approvals.lock().unwrap().insert(shown.clone());
    after(&engine, Duration::from_mins(2)).await;
    assert_eq!(log.warnings("a plan of this hash was approved, but none is held").len(), 1, "it says so");
    assert_eq!((world.sim.records().len(), engine.plans()[0].1.held.len()), (60, 41));
    // One of them comes back: what was shown is a plan again, but another one than that of today.
    world.cluster.put("s39", &["n39.example A 192.0.2.39"]);
    rest(&engine).await;
    assert_eq!(world.sim.records().len(), 60);
    let now = engine.plans()[0].1.hash.clone();
    assert_ne!(now, shown);
    engine.approve(&now).unwrap();
    rest(&engine).await;
    assert_eq!(world.sim.records().len(), 20);
}

/// So many names whose objects vanished unseen: all of their deletes are held.
async fn all_held(count: usize) -> (World, Engine) {
    let world = many(count);
    let engine = world.start().await;
    rest(&engine).await;
    world.cluster.vanish_all();
    assert_eq!(rest(&engine).await.held, count);
    (world, engine)
}

/// Somebody takes records away.
fn by_hand(world: &World, records: &[(&str, RecordType)]) {
    for (at, rtype) in records {
        world.sim.remove(&RecordKey::simple(name(at), *rtype));
    }
}

/// 2: what would leave an owner nothing is held until it is approved, though a record came meanwhile and something would be
/// left.
#[tokio::test(start_paused = true)]
async fn what_came_meanwhile_does_not_let_go_what_is_held() {
    let (world, engine) = all_held(12).await;
    world.cluster.put("new", &["new.example A 192.0.2.1"]);
    assert_eq!(rest(&engine).await.held, 12);
    engine.stop().await;
    let engine = world.start().await;
    assert_eq!(after(&engine, Duration::from_hours(2)).await.held, 12);
    assert_eq!(world.sim.records().len(), 13);
    // One of them is asked for again: this is another plan, within the brake.
    world.cluster.put("s0", &["n0.example A 192.0.2.0"]);
    rest(&engine).await;
    assert_eq!(world.sim.records().len(), 2);
}

/// 2: one of them that is gone, or nobody's any more, is not asked for again: the others stay held.
#[tokio::test(start_paused = true)]
async fn what_is_held_stays_though_one_of_it_went_another_way() {
    let (world, engine) = all_held(13).await;
    world.cluster.put("new", &["new.example A 192.0.2.1", "more.example A 192.0.2.1"]);
    assert_eq!(rest(&engine).await.held, 13);
    // Somebody deletes one by hand, claim and all; another one's claim goes, as `zonewright release` takes it away.
    by_hand(
        &world,
        &[("n0.example", RecordType::A), ("a-n0.example", RecordType::Txt), ("a-n1.example", RecordType::Txt)],
    );
    assert_eq!(after(&engine, Duration::from_hours(2)).await.held, 11);
    assert_eq!(world.sim.records().len(), 14);
    // A new process, too.
    engine.stop().await;
    let engine = world.start().await;
    assert_eq!(after(&engine, Duration::from_hours(2)).await.held, 11);
    assert_eq!(world.sim.records().len(), 14);
}

/// 2: what comes back while no round is judged, since every zone is planned first, came back all the same: the rest is another plan.
#[tokio::test(start_paused = true)]
async fn what_comes_back_with_a_new_process_ends_the_hold() {
    let (world, engine) = all_held(13).await;
    engine.stop().await;
    for i in 0..12 {
        world.cluster.put(&format!("s{i}"), &[&format!("n{i}.example A 192.0.2.1")]);
    }
    let engine = world.start().await;
    assert_eq!((after(&engine, Duration::from_mins(2)).await.held, world.sim.records().len()), (0, 12));
}

/// 2: a record that is asked for in the place of one that was deleted by hand does not bring that one back.
#[tokio::test(start_paused = true)]
async fn another_type_at_a_name_whose_record_is_gone_ends_no_hold() {
    let (world, engine) = all_held(13).await;
    world.cluster.put("new", &["new.example A 192.0.2.1", "more.example A 192.0.2.1"]);
    assert_eq!(rest(&engine).await.held, 13);
    by_hand(&world, &[("n0.example", RecordType::A), ("a-n0.example", RecordType::Txt)]);
    rest(&engine).await;
    world.cluster.put("other", &["n0.example AAAA 2001:db8::1"]);
    assert_eq!((after(&engine, Duration::from_hours(2)).await.held, world.sim.records().len()), (12, 15));
    // In the place of one that stands it does.
    world.cluster.put("s1", &["n1.example CNAME q.test"]);
    assert_eq!((rest(&engine).await.held, world.sim.records().len()), (0, 4));
}

/// 2: a trickle is a mass delete too, also over a restart.
#[tokio::test(start_paused = true)]
async fn a_trickle_is_stopped_by_the_window() {
    let world = many(60);
    let engine = world.start().await;
    rest(&engine).await;
    for i in 0..15 {
        world.cluster.vanish(&format!("s{i}"));
        rest(&engine).await;
    }
    assert_eq!(world.sim.records().len(), 45);
    engine.stop().await;
    let engine = world.start().await;
    for i in 15..30 {
        world.cluster.vanish(&format!("s{i}"));
        rest(&engine).await;
    }
    assert_eq!(world.sim.records().len(), 40, "twenty within the hour");
    after(&engine, Duration::from_mins(65)).await;
    assert_eq!(world.sim.records().len(), 30, "the window has moved on");
}

/// 2: what was deleted before everybody's eyes goes through.
#[tokio::test(start_paused = true)]
async fn a_deleted_namespace_goes_at_once() {
    let world = many(500);
    let engine = world.start().await;
    rest(&engine).await;
    for i in 0..500 {
        world.cluster.delete(&format!("s{i}"));
    }
    let outcome = rest(&engine).await;
    assert_eq!((world.sim.all().len(), outcome.held), (0, 0));
}

/// 2: an empty view that is not complete holds everything, and an approval accepts it.
#[tokio::test(start_paused = true)]
async fn an_empty_answer_deletes_nothing() {
    let world = many(12);
    let engine = world.start().await;
    rest(&engine).await;
    let before = world.sim.all();
    world.cluster.doubt(1);
    world.cluster.vanish_all();
    after(&engine, Duration::from_mins(90)).await;
    assert_eq!(world.sim.all(), before);
    let plans = engine.plans();
    assert!(plans[0].1.reason.contains("services"), "{}", plans[0].1.reason);
    engine.approve(&plans[0].1.hash).unwrap();
    rest(&engine).await;
    assert!(world.sim.all().is_empty());
}

/// 2: nothing is planned before the sources have been read.
#[tokio::test(start_paused = true)]
async fn the_first_plan_waits_for_the_sources() {
    let world = many(3);
    let engine = world.start().await;
    rest(&engine).await;
    engine.stop().await;
    world.cluster.vanish_all();
    world.cluster.unsettle();
    let before = world.sim.all();
    let engine = world.start().await;
    tokio::time::sleep(Duration::from_secs(29)).await;
    assert_eq!(world.sim.all(), before);
    after(&engine, Duration::from_mins(1)).await;
    assert_eq!(world.sim.all(), before, "it starts in the end, but what was never listed is no evidence");
    world.cluster.trust(true, true);
    rest(&engine).await;
    assert!(world.sim.all().is_empty());
}

/// 2: who gets a name does not depend on which list came first.
#[tokio::test(start_paused = true)]
async fn nobody_gets_a_name_before_all_have_asked() {
    let world = World::new(&["example"]);
    world.cluster.unsettle();
    world.cluster.put("b", &["x.example A 192.0.2.2"]);
    let engine = world.start().await;
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert!(world.sim.all().is_empty());
    world.cluster.put("a", &["x.example A 192.0.2.1"]);
    world.cluster.trust(true, true);
    rest(&engine).await;
    assert_eq!(world.sim.records(), ["x.example A 192.0.2.1"]);
}
