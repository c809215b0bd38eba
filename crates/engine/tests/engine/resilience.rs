//! The invariants 3 to 10 of the design: claims and records together, errors that are pauses, silence after convergence.

use std::time::Duration;

use zonewright_core::intent::Intent;
use zonewright_core::plan::Policy;

use crate::invariants::many;
use crate::sim::{Fault, World, after, is_claim, rest, set};

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

/// 5: a delete whose answer was lost may have been done when the call ended, not when it began: it counts from then on.
#[tokio::test(start_paused = true)]
async fn a_lost_delete_counts_from_the_end_of_its_call() {
    let mut world = many(20);
    (world.config.brake.min_deletes, world.config.brake.percent) = (4, 10);
    let engine = world.start().await;
    rest(&engine).await;
    world.sim.pace(Duration::from_secs(40));
    world.sim.fault("example", Fault::LostAnswer);
    for i in 0..4 {
        world.cluster.vanish(&format!("s{i}"));
    }
    tokio::time::sleep(Duration::from_secs(41)).await;
    world.sim.pace(Duration::ZERO);
    world.sim.fault("example", None);
    rest(&engine).await;
    assert_eq!(world.sim.records().len(), 16);
    // An hour after the call began, and not an hour after it ended.
    tokio::time::sleep(Duration::from_hours(1) - Duration::from_secs(20)).await;
    world.cluster.vanish("s4");
    let outcome = rest(&engine).await;
    assert_eq!((world.sim.records().len(), outcome.held), (16, 1));
    let outcome = after(&engine, Duration::from_mins(1)).await;
    assert_eq!((world.sim.records().len(), outcome.held), (15, 0));
}

/// 5: a record whose delete had no answer, and which was made anew without an answer too, goes a second time: these are two deletes.
#[tokio::test(start_paused = true)]
async fn what_was_made_again_without_an_answer_goes_a_second_time() {
    let mut world = many(20);
    (world.config.brake.min_deletes, world.config.brake.percent) = (2, 10);
    let engine = world.start().await;
    rest(&engine).await;
    for back in [false, true] {
        world.sim.fault("example", Fault::LostAnswer);
        if back {
            world.cluster.put("s0", &["n0.example A 192.0.2.1"]);
        } else {
            world.cluster.vanish("s0");
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        world.sim.fault("example", None);
        after(&engine, Duration::from_secs(10)).await;
        assert_eq!(world.sim.records().len(), if back { 20 } else { 19 });
    }
    world.cluster.vanish("s0");
    let outcome = after(&engine, Duration::from_secs(10)).await;
    assert_eq!((world.sim.records().len(), outcome.held), (19, 0));
    world.cluster.vanish("s1");
    let outcome = after(&engine, Duration::from_secs(10)).await;
    assert_eq!((world.sim.records().len(), outcome.held), (19, 1), "that would be the third");
}

/// 2: a desired record that cannot be written keeps what is published for it; once it can be written, or is not desired any more, planning goes on.
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
    assert!(world.reports.has("a", "CnameAtApex") && world.reports.has("a", "SelfReference"));
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
    // It is not known now who asked for it.
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
    assert_eq!(world.sim.records(), ["x.example A 203.0.113.1"], "foreign");
    world.sim.content().sets.remove(&set("x.example A 203.0.113.1").key);
    after(&engine, Duration::from_mins(10)).await;
    assert_eq!(world.sim.records(), ["x.example A 192.0.2.1"]);
}

/// What an unfinished write keeps out of its name is made once that is taken away.
#[tokio::test(start_paused = true)]
async fn what_an_intent_kept_out_comes_when_it_is_gone() {
    let world = World::new(&["example"]);
    world.sim.split();
    let claim = "heritage=external-dns,external-dns/owner=me,external-dns/resource=service/ns/a";
    let intent = Intent::new([&set("x.example A 192.0.2.1")], claim).to_string().replace(' ', "_");
    world.sim.insert(&[&format!("a-x.example TXT \"{intent}\"")]);
    world.cluster.put("a", &["a-x.example CNAME y.test"]);
    let engine = world.start().await;
    rest(&engine).await;
    assert_eq!(world.sim.records().len(), 0, "no CNAME stands beside it");
    after(&engine, Duration::from_mins(10)).await;
    assert_eq!(world.sim.records(), ["a-x.example CNAME y.test."]);
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

/// The same for a zone of an earlier process, of which nobody can say whether it is there: the first list waits for that, for a while.
#[tokio::test(start_paused = true)]
async fn a_zone_of_an_earlier_process_that_cannot_be_asked_for_sends_no_name_to_its_parent() {
    let world = World::new(&["example", "sub.example"]);
    world.cluster.put("a", &["a.example A 192.0.2.1", "a.sub.example A 192.0.2.1"]);
    let engine = world.start().await;
    rest(&engine).await;
    engine.stop().await;
    world.sim.leave_out("sub.example", None);
    world.cluster.put("b", &["b.example A 192.0.2.1", "b.sub.example A 192.0.2.1"]);
    let (parent, child) = (world.sim.writes_to("example"), world.sim.writes_to("sub.example"));
    let engine = world.start().await;
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert_eq!((world.sim.writes_to("example"), engine.health().is_ready()), (parent, false));
    world.sim.leave_out("sub.example", true);
    after(&engine, Duration::from_mins(5)).await;
    assert_eq!((world.sim.writes_to("example"), world.sim.writes_to("sub.example")), (parent + 1, child + 1));
    assert!(engine.health().is_ready(), "{:?}", engine.health());
    engine.stop().await;
    // Not for ever: the other zones are served. What is not sure is said.
    world.sim.leave_out("sub.example", None);
    world.cluster.put("c", &["c.example A 192.0.2.1"]);
    let engine = world.start().await;
    after(&engine, Duration::from_mins(5)).await;
    assert!(world.sim.records().contains(&"c.example A 192.0.2.1".to_owned()));
    let told = engine.health().unready.join("\n");
    assert!(told.contains("the list of zones leaves it out, and it cannot be asked for"), "{told}");
}

/// An intent is left beside a stranger's record. A person makes a claim of ours of it, and the next to read it is whoever takes it for an
/// intent that is over.
#[tokio::test(start_paused = true)]
async fn a_claim_that_is_found_beside_the_way_is_heeded() {
    let mut world = World::new(&["example"]);
    world.config.interval = Duration::from_hours(1);
    world.sim.split();
    let engine = world.start().await;
    rest(&engine).await;
    world.sim.pace(Duration::from_secs(1));
    // The record is refused, and what would take the intent back is lost.
    world.sim.fault_after(2, "example", Fault::LostWrite);
    world.cluster.put("a", &["x.example A 192.0.2.1"]);
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    world.sim.insert(&["x.example A 203.0.113.9"]);
    after(&engine, Duration::from_secs(10)).await;
    world.sim.fault("example", None);
    let all = world.sim.all();
    assert!(all.len() == 2 && all[0].contains("zonewright-intent") && all[1].contains("203.0.113.9"), "{all:?}");
    let claim = "heritage=external-dns,external-dns/owner=me,external-dns/resource=service/ns/a";
    world.sim.insert(&[&format!("a-x.example TXT \"{claim}\"")]);
    after(&engine, Duration::from_mins(10)).await;
    assert_eq!(world.sim.records(), ["x.example A 192.0.2.1"], "it was given to us");
    engine.stop().await;
}

/// 4: one bad record is one bad record.
#[tokio::test(start_paused = true)]
async fn one_bad_name_holds_up_no_other() {
    let world = many(30);
    world.sim.refuse(&["n7.example"]);
    let engine = world.start().await;
    let outcome = rest(&engine).await;
    assert_eq!((world.sim.records().len(), outcome.refused), (29, 1));
    assert!(world.reports.has("s7", "RecordRefused") && !world.reports.has("s8", "RecordRefused"));
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

/// 5: errors are pauses, and the probes say what is.
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

/// 5: a call may take longer than a loop that turns: a restart would only begin it anew.
#[tokio::test(start_paused = true)]
async fn a_zone_that_is_long_in_coming_is_no_stuck_loop() {
    let world = many(3);
    world.sim.fault("example", Fault::Stall);
    let engine = world.start().await;
    for minute in 0..60 {
        tokio::time::sleep(Duration::from_mins(1)).await;
        let health = engine.health();
        assert!(health.is_live() && !health.is_ready(), "after {minute} min: {health:?}");
    }
    engine.stop().await;
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

/// 5: credentials that are refused, at the start or while running, are reported; once they are mended all goes on by itself.
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

/// 9 for one name: what an audit finds is planned like what a source reports.
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
    assert!(world.reports.has("b", "ForeignRecord"));
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

/// 4: a provider that answers for some sets and not for others: each name is its own affair.
#[tokio::test(start_paused = true)]
async fn a_name_whose_form_is_not_known_is_left_alone_and_asked_for_again() {
    for short in [false, true] {
        let world = World::new(&["example"]);
        for host in ["a", "x"] {
            let family = |data: &str| format!("{host}.example {data}");
            world.cluster.put(host, &[&*family("A 192.0.2.1"), &*family("AAAA 2001:db8::1")]);
        }
        let engine = world.start().await;
        rest(&engine).await;
        world.sim.leave_unadjusted(&["x.example"], short);
        world.cluster.put("a", &["a.example A 192.0.2.2"]);
        world.cluster.put("x", &["x.example A 192.0.2.2"]);
        after(&engine, Duration::from_secs(1)).await;
        let expected = ["a.example A 192.0.2.2", "x.example A 192.0.2.1", "x.example AAAA 2001:db8::1"];
        assert_eq!(world.sim.records(), expected, "x.example keeps both families");
        world.sim.leave_unadjusted(&[], false);
        after(&engine, Duration::from_mins(2)).await;
        assert_eq!(world.sim.records(), ["a.example A 192.0.2.2", "x.example A 192.0.2.2"]);
        engine.stop().await;
    }
}

/// 5: a zone that has failed for half a minute is not ready, and one that failed a moment ago is.
#[tokio::test(start_paused = true)]
async fn a_zone_that_has_failed_for_half_a_minute_is_not_ready() {
    let world = many(3);
    let engine = world.start().await;
    rest(&engine).await;
    world.sim.fault("example", Fault::Down);
    world.cluster.put("s1", &["n1.example A 192.0.2.2"]);
    tokio::time::sleep(Duration::from_secs(28)).await;
    assert!(engine.health().is_ready(), "{:?}", engine.health());
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert!(!engine.health().is_ready());
    assert!(engine.metrics().text().contains("zonewright_zone_ready{zone=\"sim/example\"} 0"));
}

/// 1: a process died between a create that merely adds and its reading back. Ours stays beside theirs, nobody's, and is reported to
/// the object.
#[tokio::test(start_paused = true)]
async fn what_a_process_that_died_left_beside_a_foreign_record_is_nobodys() {
    let world = World::new(&["example"]);
    world.sim.split();
    world.sim.blind();
    let claim = "heritage=external-dns,external-dns/owner=me,external-dns/resource=service/ns/a";
    let intent = Intent::new([&set("x.example A 192.0.2.1")], claim).to_string().replace(' ', "_");
    world.sim.insert(&[&format!("a-x.example TXT \"{intent}\""), "x.example A 203.0.113.1 192.0.2.1"]);
    let both = world.sim.records();
    world.cluster.put("a", &["x.example A 192.0.2.1"]);
    let engine = world.start().await;
    rest(&engine).await;
    assert!(world.reports.has("a", "ForeignRecord"));
    after(&engine, Duration::from_mins(10)).await;
    assert_eq!(world.sim.all().len(), 1, "no claim stands: {:?}", world.sim.all());
    world.cluster.delete("a");
    after(&engine, Duration::from_mins(10)).await;
    assert_eq!(world.sim.records(), both);
}
