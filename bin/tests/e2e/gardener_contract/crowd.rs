//! Many DNSRecords of one seed: each is made, changed and taken away, and nobody waits for ever.
//!
//! `ZONEWRIGHT_GARDENER_RECORDS` says how many (300 if it is not set, 1,000 in the long run); the figures are printed with
//! `--nocapture`.

use std::time::Instant;

use serde_json::json;
use zonewright_testkit::DnsSoftware::Bind;
use zonewright_testkit::kube::Answer;
use zonewright_testkit::poll;

use super::accept::{self, OPERATION, PATIENCE, TIMESTAMP, accepted};
use super::texts::{server, update};
use super::world::World;
use crate::needs;
use crate::site::Site;

fn count() -> usize {
    let given = std::env::var("ZONEWRIGHT_GARDENER_RECORDS").ok().and_then(|text| text.parse().ok());
    // Each takes the API server 26 requests.
    given.unwrap_or_else(|| if std::env::var_os("ZONEWRIGHT_SOAK").is_some() { 1_000 } else { 300 })
}

/// Statuses that the controller has written since its start. (The API server's own log is rotated away at so many requests.)
const STATUS_WRITES: &str = "zonewright_gardener_status_writes_total";

/// Calls of the provider since its start, by operation and outcome.
pub(super) fn calls(world: &World) -> Vec<String> {
    let (_, text) = world.daemon().page("/metrics");
    let line = |line: &str| {
        let (labels, count) = line.strip_prefix("zonewright_provider_calls_total{")?.split_once("} ")?;
        let value = |label: &str| labels.split(label).nth(1)?.split('"').next();
        Some(format!("{} {} {count}", value("operation=\"")?, value("outcome=\"")?))
    };
    text.lines().filter_map(line).collect()
}

#[test]
fn soak_many_records_come_change_and_go() {
    needs!(Bind);
    let (site, count) = (Site::start(Bind), count());
    let mut world = World::alone("rfc2136").arg("--kube-api-qps=1000").arg("--kube-api-burst=1000");
    server(&world, &site);
    let name = |n: usize| format!("r{n}");
    let address = |n: usize, of: usize| format!("192.0.{}.{}", (n / 250 + of * 40) % 256, n % 250 + 1);
    let asked = accept::now();
    for n in 0..count {
        let spec = update(&name(n), "A", &[&address(n, 0)]);
        world.record(&name(n)).put(&spec, &json!({ OPERATION: "reconcile", TIMESTAMP: asked }));
    }
    println!("{count} records");
    let say = |world: &World, what: &str, start: Instant| {
        println!(
            "{what}: {:.1} s, {} status writes since the start, {} updates of the zone, calls {:?}, {} MiB",
            start.elapsed().as_secs_f32(),
            world.daemon().metric(STATUS_WRITES).unwrap_or_default(),
            site.serial(),
            calls(world),
            world.daemon().memory() / 1024
        );
    };
    let patience = PATIENCE * u32::try_from(count / 500 + 1).unwrap_or(1);
    // One after the other, so that looking costs the API server next to nothing.
    let each = |world: &World, what: &str, holds: &dyn Fn(&Answer) -> bool| {
        let end = Instant::now() + patience;
        for n in 0..count {
            let path = world.record(&name(n)).path;
            let left = end.saturating_duration_since(Instant::now());
            let done = poll(left, || holds(&world.kube().get(&path)).then_some(()));
            assert!(done.is_some(), "{} is not {what}: {:#}", name(n), world.kube().get(&path).body);
        }
    };
    let all_answer = |world: &World, asked: &str| {
        each(world, "answered", &|answer| accepted(&answer.body, asked).is_ok());
    };

    let start = Instant::now();
    world.start();
    all_answer(&world, &asked);
    say(&world, "created", start);
    assert_eq!(site.ours().len(), count);

    let (start, asked) = (Instant::now(), accept::now());
    for n in 0..count {
        let change = json!({
            "metadata": { "annotations": { OPERATION: "reconcile", TIMESTAMP: asked } },
            "spec": { "values": [address(n, 1)] },
        });
        world.record(&name(n)).change(&change);
    }
    all_answer(&world, &asked);
    say(&world, "changed", start);
    let zone = site.ours();
    assert!((0..count).all(|n| zone.binary_search(&format!("{} 120 A {}", name(n), address(n, 1))).is_ok()));

    // A restart finds nothing to do.
    let before = site.serial();
    world.kill();
    world.start();
    let sentinel = world.record("sentinel");
    sentinel.created(&update("sentinel", "A", &["192.0.2.1"]));
    assert_eq!(site.serial(), before + 1, "one update: that of the sentinel");
    // Start, zone and end of the sentinel.
    world.daemon().measures(STATUS_WRITES, 3.0);
    sentinel.deleted();

    let start = Instant::now();
    // One by one, as Gardener does: an API server has a minute for the whole collection.
    for n in 0..count {
        world.kube().delete(&world.record(&name(n)).path).expect_success();
    }
    each(&world, "gone", &|answer| answer.status == 404);
    say(&world, "deleted", start);
    site.shows(&[]);
}
