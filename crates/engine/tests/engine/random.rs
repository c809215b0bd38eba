//! Random histories: whatever happens to objects, zone and provider, foreign records stay, pairs stay whole, and once
//! faults stop, a fresh engine finds nothing to do.

use std::time::Duration;

use proptest::prelude::*;
use zonewright_core::clock::Timestamp;
use zonewright_engine::UndoRequest;
use zonewright_engine::journal::Query;

use crate::sim::{Fault, World, is_claim, rest};

#[derive(Debug, Clone)]
enum Step {
    Put(u8, Vec<(u8, u8)>),
    Cname(u8, u8),
    Blank(u8, u8),
    Delete(u8),
    Vanish(u8),
    Trust(bool),
    Fault(Option<u8>),
    Foreign(u8),
    Restart,
    Undo(u16),
    Release,
    Wait(u16),
}

fn step() -> impl Strategy<Value = Step> {
    let (who, name) = (0..6_u8, 0..8_u8);
    prop_oneof![
        6 => (who.clone(), prop::collection::vec((name.clone(), 1..5_u8), 0..4)).prop_map(|(w, n)| Step::Put(w, n)),
        2 => (who.clone(), name.clone()).prop_map(|(w, n)| Step::Cname(w, n)),
        1 => (who.clone(), name.clone()).prop_map(|(w, n)| Step::Blank(w, n)),
        2 => who.clone().prop_map(Step::Delete),
        1 => who.prop_map(Step::Vanish),
        1 => any::<bool>().prop_map(Step::Trust),
        2 => prop::option::of(0..5_u8).prop_map(Step::Fault),
        1 => name.prop_map(Step::Foreign),
        1 => Just(Step::Restart),
        1 => (1..600_u16).prop_map(Step::Undo),
        1 => Just(Step::Release),
        3 => (1..300_u16).prop_map(Step::Wait),
    ]
}

fn foreign(world: &World) -> Vec<String> {
    world.sim.all().into_iter().filter(|line| line.contains("203.0.113.")).collect()
}

/// Whatever was done in the last while goes back, as far as the zone lets it.
async fn undo(engine: &zonewright_engine::Engine, last: Duration) {
    let (recorded, _) = engine.history(&Query::default(), 1).await.unwrap();
    let Some(newest) = recorded.first().map(|recorded| recorded.entry.at.0) else { return };
    let since = Timestamp(newest - i64::try_from(last.as_millis()).unwrap());
    let query = Query { since: Some(since), ..Query::default() };
    let plan = engine.plan_undo(&UndoRequest { query, pin_for: Duration::from_mins(10) }).await.unwrap();
    if !plan.is_empty() {
        engine.undo(&plan.hash).await.unwrap();
    }
}

async fn run(steps: Vec<Step>) -> Result<(), TestCaseError> {
    let world = World::new(&["example"]);
    let mut engine = world.start().await;
    let mut expected = Vec::new();
    for step in steps {
        match step {
            Step::Put(who, names) => {
                let lines: Vec<String> = names
                    .iter()
                    .map(|(n, t)| format!("n{n}.example A 192.0.2.{t}"))
                    .collect::<std::collections::BTreeSet<_>>()
                    .into_iter()
                    .collect();
                let mut lines: Vec<&str> = lines.iter().map(String::as_str).collect();
                lines.dedup_by_key(|l| l.split(' ').next().unwrap_or_default().to_owned());
                world.cluster.put(&format!("s{who}"), &lines);
            }
            Step::Cname(who, n) => world.cluster.put(&format!("s{who}"), &[&format!("n{n}.example CNAME t{who}.test")]),
            Step::Blank(who, n) => world.cluster.put(&format!("s{who}"), &[&format!("pending:n{n}.example")]),
            Step::Delete(who) => world.cluster.delete(&format!("s{who}")),
            Step::Vanish(who) => world.cluster.vanish(&format!("s{who}")),
            Step::Trust(yes) => world.cluster.trust(yes, yes),
            Step::Fault(fault) => {
                let all = [Fault::Down, Fault::LostAnswer, Fault::LostWrite, Fault::NoReads, Fault::Stall];
                world.sim.fault("example", fault.map(|f| all[usize::from(f)]));
            }
            Step::Foreign(n) => {
                // A foreign hand puts a record where nothing stands.
                let line = format!("n{n}.example A 203.0.113.{n}");
                let key = crate::sim::set(&line).key;
                let free = !world.sim.content().sets.keys().any(|k| k.name == key.name);
                let unclaimed = !world.sim.content().sets.keys().any(|k| k.name.as_str() == format!("a-n{n}.example"));
                if free && unclaimed {
                    world.sim.insert(&[&line]);
                    expected = foreign(&world);
                }
            }
            Step::Restart => {
                engine.stop().await;
                engine = world.start().await;
            }
            Step::Undo(seconds) => undo(&engine, Duration::from_secs(seconds.into())).await,
            Step::Release => drop(engine.unpin(None)),
            Step::Wait(seconds) => tokio::time::sleep(Duration::from_secs(seconds.into())).await,
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
        prop_assert_eq!(foreign(&world), expected.clone(), "foreign records are sacred");
        let claims = world.sim.content().sets.values().filter(|s| is_claim(s)).count();
        let records = world.sim.content().sets.values().filter(|s| !is_claim(s)).count();
        prop_assert_eq!(claims, records - expected.len(), "claim and record stand together");
    }
    world.sim.fault("example", None);
    world.cluster.trust(true, true);
    tokio::time::sleep(Duration::from_mins(30)).await;
    let outcome = rest(&engine).await;
    prop_assert_eq!(outcome.failures(), Vec::<String>::new());
    let (_, writes) = world.sim.calls();
    tokio::time::sleep(Duration::from_mins(30)).await;
    prop_assert_eq!(world.sim.calls().1, writes, "converged, then silent");

    // Incremental equals from scratch: a fresh engine over the same objects and zone finds nothing to do.
    let before = world.sim.all();
    engine.stop().await;
    let engine = world.start().await;
    rest(&engine).await;
    prop_assert_eq!(world.sim.all(), before);
    prop_assert_eq!(world.sim.calls().1, writes);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), max_shrink_iters: 500, ..ProptestConfig::default() })]

    #[test]
    fn soak_any_history_ends_well(steps in prop::collection::vec(step(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(run(steps))?;
    }
}

/// A sample in the test command, a smaller one in its faster form, which needs no servers; the full length in the soak.
fn cases() -> u32 {
    let is_set = |variable| std::env::var_os(variable).is_some();
    match (is_set("ZONEWRIGHT_SOAK"), is_set("ZONEWRIGHT_NO_SERVERS")) {
        (true, _) => 20_000,
        (false, false) => 150,
        (false, true) => 50,
    }
}
