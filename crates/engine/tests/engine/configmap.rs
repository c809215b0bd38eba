//! The engine with claims in objects outside the zone: every record's life, cut off at every point.

use std::sync::Arc;
use std::time::Duration;

use zonewright_core::testing::documents::{Fault as ShelfFault, MemoryDocuments};
use zonewright_engine::Engine;
use zonewright_registry::configmap::{ConfigMapConfig, ConfigMapRegistry, LONGEST};

use crate::sim::{Fault, Log, World, after, name, rest};

const FOREIGN: &str = "foreign.example A 198.51.100.1";

fn world() -> World {
    let world = World::new(&["example"]);
    world.sim.insert(&[FOREIGN]);
    world
}

/// A process with a registry of its own over the store.
async fn start(world: &World, store: &Arc<MemoryDocuments>, limit: usize) -> Engine {
    let config = ConfigMapConfig::new("me", store.clone()).unwrap();
    world.start_with(Arc::new(ConfigMapRegistry::new(ConfigMapConfig { limit, ..config }))).await
}

/// Time in which everything that can come to rest has done so.
async fn calm(engine: &Engine) {
    for _ in 0..8 {
        after(engine, Duration::from_secs(61)).await;
    }
}

fn text(store: &MemoryDocuments) -> String {
    store.names().iter().filter_map(|name| store.document(name)).map(|document| document.text).collect()
}

/// Everything stands as it should, the objects say so, and nothing more is done.
async fn is_converged(world: &World, store: &MemoryDocuments, engine: &Engine, expected: &[&str], about: &str) {
    calm(engine).await;
    assert_eq!(world.sim.records(), expected, "{about}");
    let text = text(store);
    assert!(!text.contains("intent"), "{about}: an intent is left open: {text}");
    let owned = text.matches("\"owner\":\"me\"").count();
    let ours = expected.iter().filter(|line| !line.contains(" A 198.51.100.")).count();
    assert_eq!(owned, ours, "{about}: {text}");
    let (writes, stored) = (world.sim.calls().1, store.calls().1);
    calm(engine).await;
    assert_eq!((world.sim.calls().1, store.calls().1), (writes, stored), "{about}: not silent");
}

#[tokio::test(start_paused = true)]
async fn records_come_change_and_go() {
    let (world, store) = (world(), Arc::new(MemoryDocuments::default()));
    world.cluster.put("web", &["www.example A 192.0.2.1"]);
    let engine = start(&world, &store, LONGEST).await;
    rest(&engine).await;
    is_converged(&world, &store, &engine, &[FOREIGN, "www.example A 192.0.2.1"], "created").await;
    assert!(world.sim.all().iter().all(|line| !line.contains("TXT")), "no claim stands in the zone");
    world.cluster.put("web", &["www.example CNAME lb.example.", "b.example A 192.0.2.3"]);
    let expected = ["b.example A 192.0.2.3", FOREIGN, "www.example CNAME lb.example."];
    is_converged(&world, &store, &engine, &expected, "changed").await;
    world.cluster.delete("web");
    is_converged(&world, &store, &engine, &[FOREIGN], "deleted").await;
    engine.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_stands_already_is_left_alone() {
    let (world, store) = (world(), Arc::new(MemoryDocuments::default()));
    world.cluster.put("web", &["foreign.example A 192.0.2.1"]);
    let engine = start(&world, &store, LONGEST).await;
    is_converged(&world, &store, &engine, &[FOREIGN], "foreign").await;
    assert!(world.reports.has("web", "ForeignRecord"));
    engine.stop().await;
}

/// Create, change, change of type and delete; the process dies at every write of the objects, before or after it.
#[tokio::test(start_paused = true)]
async fn a_crash_at_any_point_strands_nothing() {
    let mut crashes = 0;
    for cut in 0..16 {
        for crash in [ShelfFault::CrashBefore, ShelfFault::CrashAfter] {
            let about = format!("{crash:?} at write {cut}");
            let (world, store) = (world(), Arc::new(MemoryDocuments::default()));
            store.fail(std::iter::repeat_n(ShelfFault::None, cut).chain([crash]));
            let mut engine = start(&world, &store, LONGEST).await;
            for (lines, expected) in [
                (
                    &["www.example A 192.0.2.1", "x.example A 192.0.2.5"][..],
                    &[FOREIGN, "www.example A 192.0.2.1", "x.example A 192.0.2.5"][..],
                ),
                (&["www.example A 192.0.2.2"], &[FOREIGN, "www.example A 192.0.2.2"]),
                (&["www.example CNAME lb.example."], &[FOREIGN, "www.example CNAME lb.example."]),
            ] {
                world.cluster.put("web", lines);
                rest(&engine).await;
                if store.is_dead() {
                    crashes += 1;
                    engine.stop().await;
                    store.revive();
                    engine = start(&world, &store, LONGEST).await;
                }
                is_converged(&world, &store, &engine, expected, &about).await;
            }
            world.cluster.delete("web");
            rest(&engine).await;
            if store.is_dead() {
                crashes += 1;
                engine.stop().await;
                store.revive();
                engine = start(&world, &store, LONGEST).await;
            }
            is_converged(&world, &store, &engine, &[FOREIGN], &about).await;
            engine.stop().await;
        }
    }
    assert!(crashes >= 12, "{crashes} crashes");
}

/// The provider's answer is lost, and with it the process.
#[tokio::test(start_paused = true)]
async fn a_lost_answer_and_a_restart_strand_nothing() {
    for fault in [Fault::LostAnswer, Fault::LostWrite] {
        for restart in [false, true] {
            let about = format!("{fault:?}, restart: {restart}");
            let (world, store) = (world(), Arc::new(MemoryDocuments::default()));
            let mut engine = start(&world, &store, LONGEST).await;
            rest(&engine).await;
            for (lines, expected) in [
                (&["www.example A 192.0.2.1"][..], &[FOREIGN, "www.example A 192.0.2.1"][..]),
                (&["www.example A 192.0.2.2"], &[FOREIGN, "www.example A 192.0.2.2"]),
                (&[], &[FOREIGN]),
            ] {
                world.sim.fault("example", fault);
                match lines {
                    [] => world.cluster.delete("web"),
                    lines => world.cluster.put("web", lines),
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
                if restart {
                    engine.stop().await;
                    engine = start(&world, &store, LONGEST).await;
                }
                world.sim.fault("example", None);
                is_converged(&world, &store, &engine, expected, &about).await;
            }
            engine.stop().await;
        }
    }
}

/// A foreign record that comes while our write hangs is never ours.
#[tokio::test(start_paused = true)]
async fn a_record_that_was_faster_stays_foreign() {
    let (world, store) = (world(), Arc::new(MemoryDocuments::default()));
    let engine = start(&world, &store, LONGEST).await;
    rest(&engine).await;
    world.sim.fault("example", Fault::LostWrite);
    world.cluster.put("web", &["www.example A 192.0.2.1"]);
    tokio::time::sleep(Duration::from_millis(50)).await;
    world.sim.insert(&["www.example A 198.51.100.7"]);
    world.sim.fault("example", None);
    calm(&engine).await;
    world.cluster.delete("web");
    is_converged(&world, &store, &engine, &[FOREIGN, "www.example A 198.51.100.7"], "theirs").await;
    engine.stop().await;
}

/// Another process of the owner published a name that this one does not know of; somebody edited it since. The claim is there all the
/// same, although a create was refused, and the first listing says nothing of a name that was just written.
#[tokio::test(start_paused = true)]
async fn a_claim_is_not_missed_by_what_was_read_before_its_record() {
    let (world, store) = (world(), Arc::new(MemoryDocuments::default()));
    let engine = start(&world, &store, LONGEST).await;
    rest(&engine).await;
    let mut other = World::new(&["example"]);
    other.sim = world.sim.clone();
    let second = start(&other, &store, LONGEST).await;
    other.cluster.put("web", &["www.example A 192.0.2.9"]);
    rest(&second).await;
    second.stop().await;
    world.sim.insert(&["www.example A 192.0.2.8"]);
    world.cluster.put("web", &["www.example A 192.0.2.1", "www.example AAAA 2001:db8::1"]);
    let expected = [FOREIGN, "www.example A 192.0.2.1", "www.example AAAA 2001:db8::1"];
    is_converged(&world, &store, &engine, &expected, "edited").await;
    engine.stop().await;
}

/// Many records in many small objects; the objects vanish, and with them every right.
#[tokio::test(start_paused = true)]
async fn many_records_and_the_loss_of_their_objects() {
    let (world, store) = (world(), Arc::new(MemoryDocuments::default()));
    let lines: Vec<String> = (0..300).map(|number| format!("n{number}.example A 192.0.2.1")).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    world.cluster.put("web", &lines);
    let engine = start(&world, &store, 4_000).await;
    let mut expected: Vec<&str> = lines.iter().copied().chain([FOREIGN]).collect();
    expected.sort_by_key(|line| name(line.split(' ').next().unwrap()));
    is_converged(&world, &store, &engine, &expected, "many").await;
    assert!(store.names().len() >= 16, "{:?}", store.names());
    for object in store.names() {
        store.edit(&object, None);
    }
    world.cluster.delete("web");
    calm(&engine).await;
    assert_eq!(world.sim.records(), expected, "nothing is deleted when the claims are gone");
    engine.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_writes_no_object() {
    let mut world = world();
    world.config.dry_run = true;
    let store = Arc::new(MemoryDocuments::default());
    world.cluster.put("web", &["www.example A 192.0.2.1"]);
    let engine = start(&world, &store, LONGEST).await;
    calm(&engine).await;
    assert_eq!((store.calls().1, store.names().len()), (0, 0));
    engine.stop().await;
}

async fn start_as(world: &World, owner: &str, store: &Arc<MemoryDocuments>) -> Engine {
    world.start_with(Arc::new(ConfigMapRegistry::new(ConfigMapConfig::new(owner, store.clone()).unwrap()))).await
}

/// A name that another owner disowns is taken, though nothing changes in the zone any more.
#[tokio::test(start_paused = true)]
async fn a_name_that_another_owner_lets_go_is_taken() {
    let (one, store) = (world(), Arc::new(MemoryDocuments::default()));
    let two = one.beside();
    one.cluster.put("a", &["www.example A 192.0.2.1"]);
    let engines = (start_as(&one, "me", &store).await, start_as(&two, "other", &store).await);
    calm(&engines.0).await;
    two.cluster.put("b", &["www.example A 192.0.2.2"]);
    calm(&engines.0).await;
    assert_eq!(one.sim.records(), [FOREIGN, "www.example A 192.0.2.1"]);
    one.cluster.delete("a");
    calm(&engines.0).await;
    assert_eq!(one.sim.records(), [FOREIGN, "www.example A 192.0.2.2"]);
    engines.0.stop().await;
    engines.1.stop().await;
}

/// Two clusters under one owner id that change the type of one name back and forth, each with the claims of both in hand.
#[tokio::test(start_paused = true)]
async fn two_clusters_with_one_owner_id_come_to_rest() {
    let (one, store) = (world(), Arc::new(MemoryDocuments::default()));
    let two = one.beside();
    one.cluster.put("a", &["www.example A 192.0.2.1"]);
    two.cluster.put("b", &["www.example CNAME lb.example."]);
    let engines = (start_as(&one, "me", &store).await, start_as(&two, "me", &store).await);
    after(&engines.0, Duration::from_mins(20)).await;
    let fought = |engine: &Engine| {
        engine
            .contested()
            .into_iter()
            .map(|(_, name, fight)| format!("{name} by {}", fight.suspect))
            .collect::<Vec<_>>()
    };
    let expected = "www.example by another writer under the owner id me";
    assert_eq!((fought(&engines.0), fought(&engines.1)), (vec![expected.to_owned()], vec![expected.to_owned()]));
    let before = one.sim.calls().1;
    after(&engines.0, Duration::from_hours(1)).await;
    let writes = one.sim.calls().1 - before;
    assert!(writes <= 26, "{writes} writes in an hour");
    engines.0.stop().await;
    engines.1.stop().await;
}

/// Listings that lack a record of ours end no claim on it: it is looked up by its name.
#[tokio::test(start_paused = true)]
async fn a_record_that_listings_leave_out_stays_ours() {
    let (world, store) = (world(), Arc::new(MemoryDocuments::default()));
    world.cluster.put("web", &["www.example A 192.0.2.1"]);
    let engine = start(&world, &store, LONGEST).await;
    rest(&engine).await;
    world.sim.hide("www.example");
    for number in 1..=5 {
        world.sim.insert(&[&format!("foreign.example A 198.51.100.{number}")]);
        after(&engine, Duration::from_secs(61)).await;
        assert!(!text(&store).contains("intent"), "{}", text(&store));
    }
    assert_eq!(text(&store).matches("\"owner\":\"me\"").count(), 1, "{}", text(&store));
    // What is gone indeed is found out, too.
    world.cluster.put("web", &["www.example A 192.0.2.2"]);
    after(&engine, Duration::from_secs(61)).await;
    assert_eq!(world.sim.records(), ["foreign.example A 198.51.100.5", "www.example A 192.0.2.2"]);
    engine.stop().await;
}

/// A process that begins right after another one wrote knows nothing of that, and a listing that lags does not show it: the
/// first one waits.
#[tokio::test(start_paused = true)]
async fn where_listings_lag_the_first_one_waits() {
    let world = world();
    *world.sim.settle.lock().unwrap() = Duration::from_secs(20);
    world.cluster.put("web", &["www.example A 192.0.2.1"]);
    let engine = start(&world, &Arc::new(MemoryDocuments::default()), LONGEST).await;
    tokio::time::sleep(Duration::from_secs(19)).await;
    assert_eq!(world.sim.calls(), (0, 0));
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(world.sim.records(), [FOREIGN, "www.example A 192.0.2.1"]);
    engine.stop().await;
    // Nobody waits for the end of it.
    let engine = start(&world, &Arc::new(MemoryDocuments::default()), LONGEST).await;
    let began = tokio::time::Instant::now();
    engine.stop().await;
    assert!(began.elapsed() < Duration::from_secs(1));
}

/// A listing that lacks very many records of ours at once is doubted: their claims stay, and the log says so once.
#[tokio::test(start_paused = true)]
async fn claims_of_very_many_records_that_are_missing_at_once_stay_and_the_log_says_so() {
    for (count, kept) in [(60, true), (15, false)] {
        let (world, store) = (world(), Arc::new(MemoryDocuments::default()));
        for n in 0..count {
            world.cluster.put(&format!("s{n}"), &[&format!("n{n}.example A 192.0.2.1")]);
        }
        let engine = start(&world, &store, LONGEST).await;
        calm(&engine).await;
        let claims = || text(&store).matches("\"owner\":\"me\"").count();
        assert_eq!(claims(), count);
        // It is not known now who asks for them, so that nothing brings them back.
        world.cluster.trust(false, true);
        world.cluster.vanish_all();
        rest(&engine).await;
        let log = Log::listen();
        for n in 0..count {
            world.sim.remove(&crate::sim::set(&format!("n{n}.example A 192.0.2.1")).key);
        }
        for number in 1..=8 {
            world.sim.insert(&[&format!("foreign.example A 198.51.100.{number}")]);
            after(&engine, Duration::from_secs(61)).await;
        }
        let said = log.warnings("60 records of me were missing three times; so many claims are kept");
        assert_eq!((claims(), said.len()), if kept { (count, 1) } else { (0, 0) }, "{:?}", log.warnings(""));
        engine.stop().await;
    }
}
