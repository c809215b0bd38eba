//! Many DNSRecords of one seed: each is made, changed and taken away, and nobody waits for ever.
//!
//! `ZONEWRIGHT_GARDENER_RECORDS` says how many (1,000 if it is not set); the figures are printed with `--nocapture`.

use std::time::Instant;

use serde_json::{Value, json};
use zonewright_testkit::DnsSoftware::Bind;
use zonewright_testkit::kube::User;
use zonewright_testkit::poll;

use super::accept::{self, OPERATION, PATIENCE, TIMESTAMP, accepted};
use super::seed::RECORDS;
use super::texts::{server, update};
use super::world::World;
use crate::needs;
use crate::site::Site;

fn count() -> usize {
    std::env::var("ZONEWRIGHT_GARDENER_RECORDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1000)
}

/// How many requests of the controller the API server answered: of statuses, and of objects.
fn requests(world: &World) -> (usize, usize) {
    let events = world.kube().audit_log_of(User::Zonewright);
    let patches = events.iter().filter(|event| {
        event["verb"] == "patch"
            && event["objectRef"]["resource"] == "dnsrecords"
            && event["stage"] == "ResponseComplete"
    });
    let (statuses, objects): (Vec<&Value>, Vec<&Value>) =
        patches.partition(|event| event["objectRef"]["subresource"] == "status");
    (statuses.len(), objects.len())
}

#[test]
fn many_records_come_change_and_go() {
    needs!(Bind);
    let (site, count) = (Site::start(Bind), count());
    let mut world = World::alone("rfc2136");
    server(&world, &site);
    let name = |n: usize| format!("r{n}");
    let address = |n: usize, of: usize| format!("192.0.{}.{}", (n / 250 + of * 40) % 256, n % 250 + 1);
    let asked = accept::now();
    for n in 0..count {
        let spec = update(&name(n), "A", &[&address(n, 0)]);
        world.record(&name(n)).put(&spec, &json!({ OPERATION: "reconcile", TIMESTAMP: asked }));
    }
    let mut figures = vec![format!("{count} records")];
    let mut say = |world: &World, what: &str, start: Instant| {
        let (statuses, objects) = requests(world);
        let memory = world.daemon().memory() / 1024;
        figures.push(format!(
            "{what}: {:.1} s, {statuses} status writes and {objects} of objects so far, {memory} MiB",
            start.elapsed().as_secs_f32()
        ));
    };
    let all_answer = |world: &World, asked: &str| {
        let patience = PATIENCE * u32::try_from(count / 1000 + 1).unwrap_or(1);
        let left = || {
            let list = world.kube().get(RECORDS).expect_success();
            let items = list["items"].as_array().cloned().unwrap_or_default();
            (items.len(), items.iter().filter(|object| accepted(object, asked).is_err()).count())
        };
        let done = poll(patience, || (left() == (count, 0)).then_some(()));
        assert!(done.is_some(), "{:?} objects, and those that do not answer", left());
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
    let before = (site.serial(), requests(&world).0);
    world.kill();
    world.start();
    let sentinel = world.record("sentinel");
    sentinel.created(&update("sentinel", "A", &["192.0.2.1"]));
    assert_eq!(site.serial(), before.0 + 1, "one update: that of the sentinel");
    assert_eq!(requests(&world).0, before.1 + 2, "two status writes: those of the sentinel");
    sentinel.deleted();

    let start = Instant::now();
    world.kube().delete(&format!("{}/", world.record("x").path.trim_end_matches("/x"))).expect_success();
    let gone = poll(PATIENCE * u32::try_from(count / 1000 + 1).unwrap_or(1), || {
        let list = world.kube().get(RECORDS).expect_success();
        list["items"].as_array().is_some_and(Vec::is_empty).then_some(())
    });
    assert!(gone.is_some(), "objects are left");
    say(&world, "deleted", start);
    site.shows(&[]);
    println!("{}", figures.join("\n"));
}
