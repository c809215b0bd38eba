//! Whatever comes and goes leaves nothing behind: every table that others fill is emptied.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use zonewright_engine::Engine;

use crate::sim::{World, after, rest};

/// The names of one cycle; each is another one than in any cycle before.
fn cycle(world: &World, n: usize) -> Vec<(String, String)> {
    let at = |host: &str| format!("{host}-{n}.example A 192.0.2.1");
    world.sim.refuse(&[&format!("refused-{n}.example")]);
    world.sim.insert(&[&format!("foreign-{n}.deep-{n}.example A 203.0.113.1")]);
    let objects = [
        ("inside", at("inside")),
        ("outside", format!("outside-{n}.test A 192.0.2.1")),
        ("refused", at("refused")),
        ("first", at("both")),
        ("second", format!("both-{n}.example A 192.0.2.2")),
        ("foreign", format!("foreign-{n}.deep-{n}.example A 192.0.2.1")),
        ("waits", format!("pending:waits-{n}.example")),
        ("other", format!("other:other-{n}.example A 192.0.2.1")),
    ];
    objects.map(|(who, line)| (format!("{who}-{n}"), line)).into()
}

/// Series of the metrics, without their values.
fn series(engine: &Engine) -> BTreeSet<String> {
    let text = engine.metrics().text();
    let series = text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.rsplit_once(' '));
    series.map(|(series, _)| series.to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_thousand_cycles_leave_no_table_larger_than_it_was() {
    let world = World::new(&["example"]);
    let engine = world.start().await;
    let one = |n: usize| {
        let (world, engine) = (&world, &engine);
        async move {
            let objects = cycle(world, n);
            for (who, line) in &objects {
                world.cluster.put(who, &[line]);
            }
            rest(engine).await;
            for (who, _) in &objects {
                world.cluster.delete(who);
            }
            rest(engine).await;
            world.sim.remove(&crate::sim::set(&format!("foreign-{n}.deep-{n}.example A 203.0.113.1")).key);
        }
    };
    // The first cycles bring forth what is there once and for all.
    for n in 0..20 {
        one(n).await;
    }
    after(&engine, Duration::from_hours(1)).await;
    let (sizes, metrics) = (engine.table_sizes(), series(&engine));
    // Two tables have an entry for each zone.
    let zones = |table: &str| usize::from(["state_zones", "brake_zones"].contains(&table));
    let empty: BTreeMap<&str, usize> = sizes.keys().map(|table| (*table, zones(table))).collect();
    assert_eq!(sizes, empty);
    for n in 20..1_020 {
        one(n).await;
    }
    let full = engine.table_sizes();
    assert!(full["desired_tombstones"] > 0, "the tables are looked at while they hold something: {full:?}");
    after(&engine, Duration::from_hours(1)).await;
    assert_eq!(engine.table_sizes(), empty);
    let more: BTreeSet<String> = series(&engine).difference(&metrics).cloned().collect();
    assert_eq!(more, BTreeSet::new());
    assert!(world.sim.all().is_empty(), "{:?}", world.sim.all());
}

/// A proof of deletion lasts until every zone has carried it out, and longer than a zone is away.
#[tokio::test(start_paused = true)]
async fn a_proof_lasts_while_a_record_needs_it() {
    let world = World::new(&["example"]);
    let whom: Vec<String> = (0..30).map(|n| format!("s{n}")).collect();
    for who in &whom {
        world.cluster.put(who, &[&format!("{who}.example A 192.0.2.1")]);
    }
    let engine = world.start().await;
    rest(&engine).await;
    world.sim.fault("example", crate::sim::Fault::Down);
    for who in &whom {
        world.cluster.delete(who);
    }
    after(&engine, Duration::from_hours(24)).await;
    assert_eq!(world.sim.records().len(), 30);
    assert_eq!(engine.table_sizes()["desired_tombstones"], 30);
    world.sim.fault("example", None);
    after(&engine, Duration::from_mins(2)).await;
    assert!(world.sim.records().is_empty(), "{:?}", engine.plans());
    assert_eq!(engine.table_sizes()["desired_tombstones"], 0);
}
