//! What a start says of our records that the flags and objects of today do not speak of.

use std::time::Duration;

use zonewright_core::contend::SameName;
use zonewright_core::filter::DomainFilter;
use zonewright_core::plan::Policy;

use crate::sim::{Log, World, after, rest};

const UNASKED: &str = "asked for by no object";
const UNREAD: &str = "which no --source reads";
const OUTSIDE: &str = "outside the domain filter";

fn released(engine: &zonewright_engine::Engine) -> String {
    let text = engine.metrics().text();
    text.lines()
        .find_map(|line| line.strip_prefix("zonewright_released_records{zone=\"sim/example\"} "))
        .unwrap()
        .to_owned()
}

/// Four records of ours: one that is asked for on, one whose object is read no more, one of a kind that no source reads now, and one
/// outside of the filter that the next process has.
async fn four() -> World {
    let mut world = World::new(&["example"]);
    world.cluster.put("a", &["kept.in.example A 192.0.2.1"]);
    world.cluster.put("b", &["gone.in.example A 192.0.2.2"]);
    world.cluster.put("c", &["kind.in.example A 192.0.2.3", "label:ingress/ns/c"]);
    world.cluster.put("d", &["other.example A 192.0.2.4"]);
    let engine = world.start().await;
    rest(&engine).await;
    assert_eq!((world.sim.records().len(), released(&engine).as_str()), (4, "0"));
    engine.stop().await;
    world.config.filter = DomainFilter::new(&["in.example".to_owned()], &[], "", "").unwrap();
    for who in ["b", "c"] {
        world.cluster.vanish(who);
    }
    world
}

#[tokio::test(start_paused = true)]
async fn a_start_says_which_records_nobody_asks_for_and_which_lie_outside_the_filter() {
    let world = four().await;
    let log = Log::listen();
    let engine = world.start().await;
    rest(&engine).await;
    let go = "they are deleted, as far as the brake lets them";
    assert_eq!(
        log.warnings(UNASKED),
        [format!(
            "1 records of ours are asked for by no object that is read now (service in namespace \"ns\": 1): {go}"
        )]
    );
    let unread = format!("1 records of ours belong to resources of kind \"ingress\", which no --source reads: {go}");
    assert_eq!(log.warnings(UNREAD), [unread]);
    let outside = "1 records of ours lie outside the domain filter or the managed record types: they are left alone";
    assert_eq!((log.warnings(OUTSIDE), released(&engine).as_str()), (vec![outside.to_owned()], "1"));
    after(&engine, Duration::from_hours(2)).await;
    assert_eq!(world.sim.records(), ["kept.in.example A 192.0.2.1", "other.example A 192.0.2.4"]);
    assert_eq!((log.warnings(UNASKED).len(), log.warnings(OUTSIDE).len()), (1, 1), "once for each process");
}

/// What is said of records is what becomes of them.
#[tokio::test(start_paused = true)]
async fn a_start_says_that_records_stay_where_they_do() {
    // By `--policy`.
    let mut world = four().await;
    world.config.policy = Policy::UpsertOnly;
    let log = Log::listen();
    let engine = world.start().await;
    after(&engine, Duration::from_hours(2)).await;
    let said = [log.warnings(UNASKED), log.warnings(UNREAD)].concat();
    assert!(said.len() == 2 && said.iter().all(|line| line.ends_with(": they stay")), "{said:?}");
    assert_eq!(world.sim.records().len(), 4);
    drop(log);

    // By the policy of their objects, which their claims remember.
    let world = World::new(&["example"]);
    world.cluster.put("a", &["x.example A 192.0.2.1", "policy:retain"]);
    world.cluster.put("b", &["y.example A 192.0.2.1", "policy:retain", "label:ingress/ns/b"]);
    let engine = world.start().await;
    rest(&engine).await;
    engine.stop().await;
    world.cluster.vanish_all();
    let log = Log::listen();
    let engine = world.start().await;
    after(&engine, Duration::from_hours(2)).await;
    let kept =
        "2 records of ours are asked for by no object that is read now, and the policy in their claims keeps them";
    assert_eq!((log.warnings(UNASKED), log.warnings(UNREAD)), (vec![kept.to_owned()], Vec::new()));
    assert_eq!(world.sim.records().len(), 2);
    drop(log);

    // Since another object asks for the name.
    let world = four().await;
    world.cluster.put("e", &["kind.in.example A 192.0.2.33"]);
    let log = Log::listen();
    let engine = world.start().await;
    after(&engine, Duration::from_hours(2)).await;
    assert_eq!(log.warnings(UNREAD), Vec::<String>::new());
    assert!(world.sim.records().contains(&"kind.in.example A 192.0.2.33".to_owned()), "{:?}", world.sim.records());
}

/// What is asked for under the prefix that is not in force stays, in doubt: it is counted in a line of its own, unless nothing holds it.
#[tokio::test(start_paused = true)]
async fn a_start_counts_the_records_that_another_prefix_asks_for() {
    let mut world = World::new(&["example"]);
    for who in ["a", "b"] {
        world.cluster.put(who, &[&format!("{who}.example A 192.0.2.1")]);
    }
    let engine = world.start().await;
    rest(&engine).await;
    engine.stop().await;
    for who in ["a", "b"] {
        world.cluster.put(who, &[&format!("other:{who}.example A 192.0.2.1")]);
    }
    let log = Log::listen();
    let engine = world.start().await;
    after(&engine, Duration::from_hours(2)).await;
    let said = log.warnings("2 records of ours are asked for with annotations of the other well-known prefix");
    assert_eq!((said.len(), log.warnings(UNASKED).len(), world.sim.records().len()), (1, 0, 2), "{said:?}");
    engine.stop().await;
    drop(log);
    world.config.brake.enabled = false;
    let log = Log::listen();
    let engine = world.start().await;
    rest(&engine).await;
    assert_eq!((log.warnings("other well-known prefix").len(), log.warnings(UNASKED).len()), (0, 1));
    assert_eq!(world.sim.records(), [""; 0]);
}

/// Who holds a name can be decided by what was just made there. The process that made it sees that as a fresh one would.
#[tokio::test(start_paused = true)]
async fn a_fresh_process_finds_nothing_to_do_where_a_create_decides_who_holds_the_name() {
    // Identifiers that the provider does not know tell no records apart.
    for sets in [&[][..], &["set:b", "set:c"]] {
        let asks =
            |object: usize, lines: &[&'static str]| [lines, sets.get(object..=object).unwrap_or_default()].concat();
        let world = World::new(&["example"]);
        world.cluster.put("o", &["x.example AAAA 2001:db8::3"]);
        let engine = world.start().await;
        rest(&engine).await;
        world.cluster.put("b", &asks(0, &["x.example AAAA 2001:db8::3"]));
        rest(&engine).await;
        world.cluster.delete("o");
        world.cluster.put("c", &asks(1, &["x.example AAAA 2001:db8::3", "x.example A 192.0.2.1", "ttl:600"]));
        after(&engine, Duration::from_mins(1)).await;
        engine.stop().await;
        let engine = world.start().await;
        let changes = rest(&engine).await.changes;
        let counts = (changes.created, changes.updated, changes.deleted, changes.claims);
        assert_eq!(counts, (0, 0, 0, 0), "{sets:?}");
    }
}

/// So it can by what was just passed on: the address of the other family, with the name, to an object that wants another TTL.
#[tokio::test(start_paused = true)]
async fn a_fresh_process_finds_nothing_to_do_where_an_update_decides_who_holds_the_name() {
    let mut world = World::new(&["example"]);
    world.config.names.same_name = SameName::Union;
    world.config.policy = Policy::UpsertOnly;
    world.cluster.put("o1", &["x.example A 192.0.2.1", "x.example AAAA 2001:db8::1"]);
    let engine = world.start().await;
    rest(&engine).await;
    world.cluster.doubt(1);
    world.cluster.vanish("o1");
    world.cluster.put("o0", &["x.example A 192.0.2.1 192.0.2.2"]);
    rest(&engine).await;
    world.cluster.put("o3", &["x.example AAAA 2001:db8::1", "x.example A 192.0.2.2", "ttl:60"]);
    rest(&engine).await;
    world.cluster.trust(true, true);
    after(&engine, Duration::from_mins(1)).await;
    engine.stop().await;
    let engine = world.start().await;
    let changes = rest(&engine).await.changes;
    assert_eq!((changes.created, changes.updated, changes.deleted, changes.claims), (0, 0, 0, 0));
}

/// And where a record goes to an object that holds the others there already: whom it is taken from holds the name no more.
#[tokio::test(start_paused = true)]
async fn a_fresh_process_finds_nothing_to_do_where_an_update_ends_what_an_object_held() {
    let mut world = World::new(&["example"]);
    world.config.names.same_name = SameName::Union;
    let claim =
        |of: &str| format!("TXT heritage=external-dns,external-dns/owner=me,external-dns/resource=service/ns/{of}");
    // While services were in doubt, nothing was taken away from either record.
    world.sim.insert(&[
        "x.example A 192.0.2.1 192.0.2.2",
        &format!("a-x.example {}", claim("o0")),
        "x.example AAAA 2001:db8::1 2001:db8::2",
        &format!("aaaa-x.example {}", claim("o2")),
    ]);
    world.cluster.put("o0", &["x.example AAAA 2001:db8::1"]);
    world.cluster.put("o1", &["x.example A 192.0.2.1", "ttl:600"]);
    world.cluster.put("o2", &["x.example A 192.0.2.2"]);
    let engine = world.start().await;
    let changes = rest(&engine).await.changes;
    assert_eq!((changes.created, changes.updated, changes.deleted), (0, 2, 0), "AAAA, and then the TTL of A");
    engine.stop().await;
    let engine = world.start().await;
    let changes = rest(&engine).await.changes;
    assert_eq!((changes.created, changes.updated, changes.deleted, changes.claims), (0, 0, 0, 0));
}
