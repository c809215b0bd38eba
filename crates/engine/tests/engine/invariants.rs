//! The ten invariants of the design, as far as the engine keeps them. Each test fails if its invariant is broken.

use std::time::Duration;

use zonewright_core::intent::Intent;
use zonewright_core::plan::Policy;
use zonewright_engine::Announcement;

use crate::sim::{Fault, World, after, is_claim, rest, set};

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
        assert!(world.told.has(who, reason), "{who}: {reason}");
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
    assert!(world.told.has("a", "ForeignRecord"));
}

/// 1: the same where the zone cannot be told what to expect: record and claim are read right before.
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

fn many(count: usize) -> World {
    let world = World::new(&["example"]);
    for i in 0..count {
        world.cluster.put(&format!("s{i}"), &[&format!("n{i}.example A 192.0.2.1")]);
    }
    world
}

/// 2: an object whose wishes cannot be told in full keeps what is published for it, and only that.
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

/// An object is told of what was done for it, if that was asked for.
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
        assert_eq!(world.told.has("a", "RecordReady"), announce);
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
    assert_eq!((world.sim.records().len(), engine.plans()[0].1.hash.clone()), (60, hash));
}

/// 2: the brake holds, tells, and lets go what is approved.
#[tokio::test(start_paused = true)]
async fn a_mass_delete_is_held_until_it_is_approved() {
    let world = many(60);
    let engine = world.start().await;
    rest(&engine).await;
    let before = world.sim.all();
    world.cluster.vanish_all();
    let outcome = rest(&engine).await;
    assert_eq!((world.sim.all() == before, outcome.held), (true, 60));
    assert!(world.told.has("zonewright-pod", "PlanHeld"));
    assert!(engine.metrics().text().contains("zonewright_held_deletes{zone=\"sim/example\"} 60"));
    after(&engine, Duration::from_mins(10)).await;
    assert_eq!(world.sim.all(), before, "time does not let it go");

    engine.stop().await;
    let engine = world.start().await;
    rest(&engine).await;
    let plans = engine.plans();
    assert_eq!(plans[0].1.held.len(), 60, "it is held after a restart too");
    let told = world.told.0.lock().unwrap().iter().filter(|note| note.reason == "PlanHeld").count();
    assert_eq!(told, 2, "each process says so once");
    assert!(engine.approve("000000000000").is_none());
    engine.approve(&plans[0].1.hash).unwrap();
    rest(&engine).await;
    assert!(world.sim.all().is_empty() && engine.plans().is_empty());
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
    world.store.approvals.lock().unwrap().insert(shown.clone());
    after(&engine, Duration::from_mins(2)).await;
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

/// 2: what would leave an owner nothing is held until it is approved, though a record came meanwhile and something would be
/// left.
#[tokio::test(start_paused = true)]
async fn what_came_meanwhile_does_not_let_go_what_is_held() {
    let world = many(12);
    let engine = world.start().await;
    rest(&engine).await;
    world.cluster.vanish_all();
    assert_eq!(rest(&engine).await.held, 12);
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

/// 3: after a lost answer the names are read before anything else is done to them.
#[tokio::test(start_paused = true)]
async fn what_is_not_known_is_read() {
    let world = many(3);
    world.sim.fault("example", Fault::LostAnswer);
    let engine = world.start().await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    world.sim.fault("example", None);
    tokio::time::sleep(Duration::from_secs(10)).await;
    rest(&engine).await;
    assert_eq!(world.sim.targeted(), 1);
    assert_eq!(world.sim.calls().1, 1, "nothing is written twice");
}

fn pairs_are_whole(world: &World) {
    let content = world.sim.content();
    let (claims, records): (Vec<_>, Vec<_>) = content.sets.values().partition(|s| is_claim(s));
    let expected: Vec<String> =
        records.iter().map(|r| format!("{}-{}", r.key.rtype.to_string().to_lowercase(), r.key.name)).collect();
    let mut expected = expected;
    expected.sort();
    let mut found: Vec<String> = claims.iter().map(|c| c.key.name.to_string()).collect();
    found.sort();
    assert_eq!(found, expected);
}

/// 3: claim and record stand together whatever is lost on the way.
#[tokio::test(start_paused = true)]
async fn claim_and_record_stand_together_through_lost_answers() {
    for fault in [Fault::LostAnswer, Fault::LostWrite, Fault::Down, Fault::NoReads, Fault::Stall] {
        let world = many(20);
        world.sim.fault("example", fault);
        let engine = world.start().await;
        tokio::time::sleep(Duration::from_mins(3)).await;
        pairs_are_whole(&world);
        world.sim.fault("example", None);
        tokio::time::sleep(Duration::from_mins(3)).await;
        rest(&engine).await;
        pairs_are_whole(&world);
        assert_eq!(world.sim.records().len(), 20, "{fault:?}");
    }
}

/// 5: a delete that is tried again because its answer was lost is one delete for the brake, however long that goes on.
#[tokio::test(start_paused = true)]
async fn lost_deletes_that_are_tried_again_do_not_use_up_the_brake() {
    let world = many(100);
    let engine = world.start().await;
    rest(&engine).await;
    world.sim.fault("example", Fault::LostWrite);
    for i in 0..15 {
        world.cluster.vanish(&format!("s{i}"));
    }
    after(&engine, Duration::from_mins(20)).await;
    world.sim.fault("example", None);
    let outcome = after(&engine, Duration::from_mins(10)).await;
    assert_eq!((world.sim.records().len(), outcome.held), (85, 0));
}

/// 2: a wish that cannot be written keeps what is published for it; once it can be, or is gone, that goes on.
#[tokio::test(start_paused = true)]
async fn a_wish_that_cannot_be_written_keeps_what_stands() {
    let world = World::new(&["example"]);
    world.cluster.put("a", &["example A 192.0.2.1", "x.example A 192.0.2.1"]);
    let engine = world.start().await;
    rest(&engine).await;
    // A CNAME cannot stand at the apex, and none may point to itself.
    world.cluster.put("a", &["example CNAME y.test", "x.example CNAME x.example"]);
    rest(&engine).await;
    assert_eq!(world.sim.records(), ["example A 192.0.2.1", "x.example A 192.0.2.1"]);
    assert!(world.told.has("a", "CnameAtApex") && world.told.has("a", "SelfReference"));
    world.cluster.put("a", &["example A 192.0.2.2", "x.example CNAME y.test"]);
    rest(&engine).await;
    assert_eq!(world.sim.records(), ["example A 192.0.2.2", "x.example CNAME y.test."]);
    world.cluster.put("a", &["example CNAME y.test"]);
    rest(&engine).await;
    assert_eq!(world.sim.records(), ["example A 192.0.2.2"]);
    world.cluster.delete("a");
    rest(&engine).await;
    assert!(world.sim.records().is_empty());
}

/// 3: where nothing holds several writes together, another process of ours may be between its intent and its record: the
/// intent stays for two minutes, and what came to nothing goes then.
#[tokio::test(start_paused = true)]
async fn the_intent_of_another_process_is_left_to_it_for_two_minutes() {
    let world = World::new(&["example"]);
    world.sim.split();
    let engine = world.start().await;
    rest(&engine).await;
    let claim = "heritage=external-dns,external-dns/owner=me,external-dns/resource=service/ns/a";
    let begin = |record: &str| {
        let intent = Intent::new([&set(record)], claim).to_string().replace(' ', "_");
        world.sim.insert(&[&format!("a-{} TXT \"{intent}\"", set(record).key.name)]);
    };
    let intents = || world.sim.all().iter().filter(|line| line.contains("zonewright-intent")).count();
    begin("x.example A 192.0.2.1");
    begin("y.example A 192.0.2.2");
    after(&engine, Duration::from_secs(61)).await;
    assert_eq!(intents(), 2);
    // The record of the one comes, and our own view of the cluster follows.
    world.sim.insert(&["x.example A 192.0.2.1"]);
    world.cluster.put("a", &["x.example A 192.0.2.1"]);
    rest(&engine).await;
    after(&engine, Duration::from_secs(61)).await;
    assert_eq!(world.sim.records(), ["x.example A 192.0.2.1"]);
    assert!(
        world.sim.all().iter().any(|line| line.contains(claim) && !line.contains("intent")),
        "{:?}",
        world.sim.all()
    );
    assert_eq!(intents(), 1);
    after(&engine, Duration::from_mins(2)).await;
    assert_eq!(intents(), 0);
    let writes = world.sim.calls().1;
    after(&engine, Duration::from_mins(10)).await;
    assert_eq!(world.sim.calls().1, writes);
}

/// 1: an intent goes only after what it stands for was read by its name: a listing may lack it.
#[tokio::test(start_paused = true)]
async fn an_intent_whose_record_a_listing_leaves_out_stays() {
    let world = World::new(&["example"]);
    world.sim.split();
    let engine = world.start().await;
    rest(&engine).await;
    let claim = "heritage=external-dns,external-dns/owner=me,external-dns/resource=service/ns/a";
    let intent = Intent::new([&set("x.example A 192.0.2.1")], claim).to_string().replace(' ', "_");
    // Who asked for it cannot be told now.
    world.cluster.trust(false, false);
    world.sim.hide("x.example");
    world.sim.insert(&[&format!("a-x.example TXT \"{intent}\""), "x.example A 192.0.2.1"]);
    after(&engine, Duration::from_mins(10)).await;
    assert_eq!(world.sim.records(), ["x.example A 192.0.2.1"]);
    assert!(world.sim.all().iter().any(|line| line.contains(claim)), "{:?}", world.sim.all());
}

/// What is found out where an intent is read before it goes is news to the name that it stood for.
#[tokio::test(start_paused = true)]
async fn a_name_whose_intent_goes_is_planned_by_what_was_read_then() {
    let world = World::new(&["example"]);
    world.sim.split();
    world.sim.blind();
    let claim = "heritage=external-dns,external-dns/owner=me,external-dns/resource=service/ns/a";
    let intent = Intent::new([&set("x.example A 192.0.2.1")], claim).to_string().replace(' ', "_");
    world.sim.insert(&[&format!("a-x.example TXT \"{intent}\""), "x.example A 203.0.113.1"]);
    world.cluster.put("a", &["x.example A 192.0.2.1"]);
    let engine = world.start().await;
    rest(&engine).await;
    assert_eq!(world.sim.records(), ["x.example A 203.0.113.1"], "a stranger's");
    world.sim.content().sets.remove(&set("x.example A 203.0.113.1").key);
    after(&engine, Duration::from_mins(10)).await;
    assert_eq!(world.sim.records(), ["x.example A 192.0.2.1"]);
}

/// 2: a zone that a list leaves out keeps its names, unless the provider denies it.
#[tokio::test(start_paused = true)]
async fn a_list_that_leaves_out_a_zone_sends_no_name_to_its_parent() {
    for there in [true, false] {
        let world = World::new(&["example", "sub.example"]);
        let engine = world.start().await;
        rest(&engine).await;
        world.sim.leave_out("sub.example", there);
        after(&engine, Duration::from_mins(3)).await;
        world.cluster.put("a", &["x.sub.example A 192.0.2.1"]);
        rest(&engine).await;
        let (parent, child) = (world.sim.writes_to("example"), world.sim.writes_to("sub.example"));
        assert_eq!((parent, child), if there { (0, 1) } else { (1, 0) });
    }
}

/// 4: one bad record is one bad record.
#[tokio::test(start_paused = true)]
async fn one_bad_name_holds_up_no_other() {
    let world = many(30);
    world.sim.refuse(&["n7.example"]);
    let engine = world.start().await;
    let outcome = rest(&engine).await;
    assert_eq!((world.sim.records().len(), outcome.refused), (29, 1));
    assert!(world.told.has("s7", "RecordRefused") && !world.told.has("s8", "RecordRefused"));
    let writes = world.sim.calls().1;
    after(&engine, Duration::from_mins(30)).await;
    assert_eq!(world.sim.calls().1, writes, "it is not tried again before its input changes");
    world.sim.refuse(&[]);
    world.cluster.put("s7", &["n7.example A 192.0.2.77"]);
    rest(&engine).await;
    assert_eq!(world.sim.records().len(), 30);
}

/// 4: a broken or stalled zone holds up no other zone.
#[tokio::test(start_paused = true)]
async fn a_broken_zone_holds_up_no_other() {
    for fault in [Fault::Down, Fault::Stall] {
        let world = World::new(&["good.example", "bad.example"]);
        world.sim.fault("bad.example", fault);
        world.cluster.put("a", &["x.good.example A 192.0.2.1", "x.bad.example A 192.0.2.1"]);
        let engine = world.start().await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(world.sim.records(), ["x.good.example A 192.0.2.1"], "{fault:?}");
        world.sim.fault("bad.example", None);
        tokio::time::sleep(Duration::from_mins(5)).await;
        rest(&engine).await;
        assert_eq!(world.sim.records().len(), 2, "{fault:?}");
    }
}

/// 5: errors are pauses, and health tells the truth.
#[tokio::test(start_paused = true)]
async fn health_tells_the_truth() {
    let world = many(3);
    let engine = world.start().await;
    rest(&engine).await;
    assert!(engine.health().is_live() && engine.health().is_ready(), "{:?}", engine.health());
    world.sim.fault("example", Fault::Down);
    world.cluster.put("s1", &["n1.example A 192.0.2.2"]);
    tokio::time::sleep(Duration::from_mins(10)).await;
    let health = engine.health();
    assert!(health.is_live() && !health.is_ready());
    assert!(
        health.unready[0].contains("zone example") && health.unready[0].contains("connection refused"),
        "{health:?}"
    );
    world.sim.fault("example", None);
    tokio::time::sleep(Duration::from_mins(2)).await;
    assert!(engine.health().is_ready());
    assert!(world.sim.records().contains(&"n1.example A 192.0.2.2".to_owned()));
    world.cluster.trust(true, false);
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert!(engine.health().unready[0].contains("services"));
}

/// 6: converge, then be silent.
#[tokio::test(start_paused = true)]
async fn after_convergence_only_the_audit_calls() {
    let world = many(50);
    let engine = world.start().await;
    rest(&engine).await;
    let (reads, writes) = world.sim.calls();
    after(&engine, Duration::from_hours(1)).await;
    let (more_reads, more_writes) = world.sim.calls();
    assert_eq!(more_writes, writes);
    assert!(more_reads - reads <= 61, "one cheap question a minute, not {}", more_reads - reads);
}

/// 5: credentials that are refused, at the start or while running, are told; once they are mended all goes on by itself.
#[tokio::test(start_paused = true)]
async fn credentials_that_are_mended_need_no_restart() {
    for running in [false, true] {
        let world = many(3);
        if !running {
            world.sim.fault("example", Fault::Denied);
        }
        let engine = world.start().await;
        rest(&engine).await;
        world.sim.fault("example", Fault::Denied);
        world.cluster.put("late", &["late.example A 192.0.2.1"]);
        let outcome = after(&engine, Duration::from_mins(2)).await;
        assert!(outcome.failures().iter().any(|failure| failure.contains("BADSIG")), "{outcome:?}");
        assert!(engine.health().unready.iter().any(|problem| problem.contains("BADSIG")), "{:?}", engine.health());
        assert!(engine.health().is_live());
        world.sim.fault("example", None);
        let outcome = after(&engine, Duration::from_mins(2)).await;
        assert_eq!((outcome.failures().len(), world.sim.records().len()), (0, 4), "running: {running}");
        assert!(engine.health().is_ready());
    }
}

/// 5: ten minutes of errors of every kind end no loop and lose nothing, and one pause after their end all is well.
#[tokio::test(start_paused = true)]
async fn ten_minutes_of_errors_are_over_one_pause_after_their_end() {
    for fault in [Fault::Down, Fault::LostAnswer, Fault::LostWrite, Fault::NoReads, Fault::Denied, Fault::Stall] {
        let world = many(30);
        let engine = world.start().await;
        rest(&engine).await;
        world.sim.fault("example", fault);
        for minute in 0..10 {
            world.cluster.put(&format!("new{minute}"), &[&format!("new{minute}.example A 192.0.2.2")]);
            world.cluster.delete(&format!("s{minute}"));
            tokio::time::sleep(Duration::from_mins(1)).await;
            assert!(engine.health().is_live(), "{fault:?}");
            let standing = world.sim.records();
            let kept = (10..30).all(|i| standing.contains(&format!("n{i}.example A 192.0.2.1")));
            assert!(kept, "{fault:?}: nothing goes that is asked for");
        }
        world.sim.fault("example", None);
        // The longest pause is a minute and a quarter; a call that stands still ends after a minute.
        tokio::time::sleep(Duration::from_secs(if fault == Fault::Stall { 136 } else { 76 })).await;
        let outcome = rest(&engine).await;
        assert_eq!((outcome.failures(), world.sim.records().len()), (vec![], 30), "{fault:?}");
        assert!(engine.health().is_ready(), "{fault:?}");
        engine.stop().await;
    }
}

/// 7: a dry run writes nothing, and keeps quiet about what it said once.
#[tokio::test(start_paused = true)]
async fn a_dry_run_writes_nothing() {
    let mut world = many(5);
    world.config.dry_run = true;
    let engine = world.start().await;
    after(&engine, Duration::from_mins(10)).await;
    assert!(world.sim.all().is_empty());
    assert_eq!(world.sim.calls().1, 0);
    let said = engine.recent_changes().last(100);
    assert_eq!((said.len(), said[0].outcome), (5, "not_sent"));
}

/// 8: the same input gives the same plan.
#[tokio::test(start_paused = true)]
async fn the_same_input_gives_the_same_plan() {
    let mut plans = Vec::new();
    for round in 0..3 {
        let world = World::new(&["example"]);
        world.sim.insert(&["n3.example A 203.0.113.3"]);
        let mut order: Vec<usize> = (0..40).collect();
        order.rotate_left(round * 7);
        for i in order {
            world.cluster.put(&format!("s{i}"), &[&format!("n{}.example A 192.0.2.{i}", i % 20)]);
        }
        let engine = world.start().await;
        rest(&engine).await;
        let mut journal = engine.recent_changes().last(256);
        journal.reverse();
        plans.push(journal.into_iter().map(|e| e.changes).collect::<Vec<_>>());
    }
    assert_eq!(plans[0], plans[1]);
    assert_eq!(plans[0], plans[2]);
}

/// 9 for one name: what an audit finds is planned like what a source tells.
#[tokio::test(start_paused = true)]
async fn a_foreign_change_is_repaired_by_the_audit() {
    let world = many(3);
    let engine = world.start().await;
    rest(&engine).await;
    world.sim.insert(&["n1.example A 203.0.113.99"]);
    after(&engine, Duration::from_mins(2)).await;
    assert!(world.sim.records().contains(&"n1.example A 192.0.2.1".to_owned()));
    world.sim.remove(&set("a-n2.example TXT x").key);
    after(&engine, Duration::from_mins(2)).await;
    assert!(
        world.sim.all().iter().any(|l| l.starts_with("n2.example")),
        "a record that lost its claim is not ours any more"
    );
}

/// One precondition that is refused says that the view is old: the zone is looked at at once, not only the name.
#[tokio::test(start_paused = true)]
async fn a_refused_precondition_has_the_zone_read() {
    let mut world = World::new(&["example"]);
    world.config.interval = Duration::from_hours(1);
    world.cluster.put("a", &["a.example A 192.0.2.1"]);
    let engine = world.start().await;
    rest(&engine).await;
    world.sim.insert(&["a.example A 203.0.113.1", "b.example A 203.0.113.2"]);
    world.cluster.put("b", &["b.example A 192.0.2.1"]);
    after(&engine, Duration::from_secs(5)).await;
    assert_eq!(world.sim.records(), ["a.example A 192.0.2.1", "b.example A 203.0.113.2"]);
    assert!(world.told.has("b", "ForeignRecord"));
}

/// Policies narrow what is done.
#[tokio::test(start_paused = true)]
async fn upsert_only_never_deletes() {
    let mut world = many(3);
    world.config.policy = Policy::UpsertOnly;
    let engine = world.start().await;
    rest(&engine).await;
    world.cluster.delete("s1");
    world.cluster.put("s2", &["n2.example A 192.0.2.2"]);
    rest(&engine).await;
    assert_eq!(world.sim.records(), ["n0.example A 192.0.2.1", "n1.example A 192.0.2.1", "n2.example A 192.0.2.2"]);
}
