//! Writes of the object that the API server refuses, or carries out without an answer, while the process lives on.

use serde_json::json;
use zonewright_core::testing::set;

use super::seed::Seed;
use super::*;
use crate::testing::Upset;

const FOREIGN: &str = "other.example.com 60 A 192.0.2.9";
/// A refusal because of another version, one of a server that fails, and an answer that is lost.
const UPSETS: [Upset; 3] = [Upset::Refused(ErrorKind::Conflict), Upset::Refused(ErrorKind::Unavailable), Upset::Lost];

/// Whether what a call does is a write of the object.
fn is_write(what: &str) -> bool {
    !what.starts_with("read") && !what.starts_with("list") && what != "change records"
}

fn site() -> Seed {
    let seed = Seed::new(ZONES);
    seed.script.put(set("other.example.com A ttl=60 192.0.2.9"));
    seed
}

/// The write of this number goes wrong; all others are taken.
fn goes_wrong(seed: &Seed, number: usize, upset: Upset) {
    let mut before = number;
    seed.script.fuse.plan(move |what| {
        if !is_write(what) {
            return None;
        }
        let this = before == 0;
        before = before.wrapping_sub(1);
        this.then_some(upset)
    });
}

/// Plays it with each write of the object going wrong in each way; how many writes there were.
async fn each_write(play: impl AsyncFn(usize, Upset) -> usize) -> usize {
    let mut writes = 0;
    for upset in UPSETS {
        for number in 0..40 {
            writes = play(number, upset).await;
            if number >= writes {
                break;
            }
        }
    }
    writes
}

#[tokio::test(start_paused = true)]
async fn a_creation_with_any_write_refused_creates_once() {
    let writes = each_write(async |number, upset| {
        let seed = site();
        seed.create("a", LINE, "reconcile");
        goes_wrong(&seed, number, upset);
        seed.settles().await;
        assert!(seed.is_done("a"), "{upset:?} at {number}: {:#}", seed.status("a"));
        assert_eq!((seed.script.shown(), seed.script.writes()), (vec![FOREIGN.into(), SHOWN.into()], 1), "{number}");
        seed.api.log.lock().unwrap().len()
    })
    .await;
    assert!(writes >= 5, "{writes} writes");
}

#[tokio::test(start_paused = true)]
async fn a_deletion_with_any_write_refused_deletes_once() {
    let writes = each_write(async |number, upset| {
        let seed = site();
        seed.create("a", LINE, "reconcile");
        seed.settles().await;
        let before = seed.api.log.lock().unwrap().len();
        seed.deletes("a");
        goes_wrong(&seed, number, upset);
        seed.settles().await;
        assert!(seed.is_gone("a"), "{upset:?} at {number}");
        assert_eq!((seed.script.shown(), seed.script.writes()), (vec![FOREIGN.to_owned()], 2), "{upset:?} at {number}");
        seed.api.log.lock().unwrap().len() - before
    })
    .await;
    assert!(writes >= 3, "{writes} writes");
}

/// The older one of two objects goes, and the younger one has the name: once, and nothing of the older one is left.
#[tokio::test(start_paused = true)]
async fn a_name_that_changes_hands_with_any_write_refused() {
    let writes = each_write(async |number, upset| {
        let seed = site();
        seed.create("a", LINE, "reconcile");
        seed.create("b", "x.example.com A 192.0.2.2", "reconcile");
        assert!(seed.works().await);
        assert_eq!(seed.says("b"), "Create Error ERR_CONFIGURATION_PROBLEM");
        let before = seed.api.log.lock().unwrap().len();
        seed.deletes("a");
        goes_wrong(&seed, number, upset);
        seed.settles().await;
        assert!(seed.is_gone("a") && seed.is_done("b"), "{upset:?} at {number}: {:#}", seed.status("b"));
        assert_eq!(seed.script.shown(), [FOREIGN, "x.example.com 120 A 192.0.2.2"], "{upset:?} at {number}");
        seed.api.log.lock().unwrap().len() - before
    })
    .await;
    assert!(writes >= 5, "{writes} writes");
}

/// Deleted before the creation could be written down as done: nothing is left behind, however far it came.
#[tokio::test(start_paused = true)]
async fn deleted_after_a_creation_with_any_write_refused() {
    each_write(async |number, upset| {
        let seed = site();
        seed.create("a", LINE, "reconcile");
        goes_wrong(&seed, number, upset);
        seed.works().await;
        let written = seed.api.log.lock().unwrap().len();
        seed.script.fuse.calm();
        seed.deletes("a");
        seed.settles().await;
        assert!(seed.is_gone("a"), "{upset:?} at {number}");
        assert_eq!(seed.script.shown(), [FOREIGN], "{upset:?} at {number}");
        written + 1
    })
    .await;
}

/// A record that stood before as it is wanted is the object's from when it was found so: it goes with the object, or with its zone.
#[tokio::test(start_paused = true)]
async fn what_was_taken_over_goes_too_though_its_success_was_never_written_down() {
    for moved in [false, true] {
        let seed = Seed::new(&["example.com", "com"]);
        seed.script.put(set("x.example.com A ttl=120 192.0.2.1"));
        seed.create("a", LINE, "reconcile");
        seed.script.fuse.plan(|what| (what == "Create Succeeded").then_some(Upset::Refused(ErrorKind::Unavailable)));
        assert!(seed.works().await);
        assert_eq!((seed.says("a").as_str(), seed.script.writes()), ("Create Processing", 0));
        seed.script.fuse.calm();
        if moved {
            seed.asks("a", "reconcile", &json!({ "zone": "com" }));
            seed.settles().await;
            assert_eq!(seed.script.shown(), [SHOWN], "in the other zone alone");
        }
        seed.deletes("a");
        seed.settles().await;
        assert!(seed.is_gone("a") && seed.script.shown().is_empty(), "{:?}", seed.script.shown());
    }
}

/// The answer to the mark of the new zone is lost: the zone that is left does not come back into the status.
#[tokio::test(start_paused = true)]
async fn a_zone_that_is_left_does_not_come_back_into_the_status() {
    let seed = Seed::new(&["example.com", "com"]);
    seed.create("a", LINE, "reconcile");
    seed.settles().await;
    let mut first = true;
    seed.script.fuse.plan(move |what| (what == "mark" && std::mem::take(&mut first)).then_some(Upset::Lost));
    seed.asks("a", "reconcile", &json!({ "zone": "com" }));
    seed.settles().await;
    let status = seed.status("a");
    assert_eq!((&status["zone"], &status["providerStatus"]["zones"]), (&json!("com"), &json!(["com"])));
    assert_eq!(seed.script.shown(), [SHOWN]);
}

/// The error is what counts, whether or not it could be written down: the next attempt comes when the provider's error says.
#[tokio::test(start_paused = true)]
async fn an_error_that_cannot_be_written_down_is_retried_as_what_it_is() {
    let seed = site();
    seed.script.unreadable(Some(ErrorKind::Throttled));
    seed.script.fuse.plan(|what| (what == "Create Error").then_some(Upset::Refused(ErrorKind::Unavailable)));
    seed.create("a", LINE, "reconcile");
    assert!(seed.works().await);
    let next = seed.reconciler.world().queue.next().unwrap() - Instant::now();
    assert!((30..=38).contains(&next.as_secs()), "{next:?}, as the provider is throttled");
    assert_eq!(seed.says("a"), "Create Processing");
    seed.script.fuse.calm();
    tokio::time::advance(next).await;
    assert!(seed.works().await);
    assert_eq!(seed.says("a"), "Create Error", "and it is written once it can be");
}

/// A 404 that is not the API server's own word on the object: a proxy's, say, while it is set up anew.
#[tokio::test(start_paused = true)]
async fn a_404_of_a_proxy_ends_no_attempt_as_done() {
    for call in ["read object", "Delete Processing", "Delete Succeeded", "no finalizer"] {
        let seed = site();
        seed.create("a", LINE, "reconcile");
        seed.settles().await;
        seed.deletes("a");
        let mut first = true;
        seed.script.fuse.plan(move |what| {
            (what == call && std::mem::take(&mut first)).then_some(Upset::Refused(ErrorKind::NotFound))
        });
        seed.settles().await;
        assert!(seed.is_gone("a") && seed.script.shown() == [FOREIGN], "{call}");
    }
}

/// The object goes while an attempt is under way, by another client's hand: the attempts end, whatever was to be written next.
#[tokio::test(start_paused = true)]
async fn attempts_at_an_object_that_is_gone_end() {
    for write in ["Create Processing", "no request", "mark", "Create Succeeded"] {
        let seed = site();
        seed.create("a", LINE, "reconcile");
        let api = Arc::downgrade(&seed.api);
        seed.script.fuse.plan(move |what| {
            if what == write {
                api.upgrade()?.objects.lock().unwrap().clear();
            }
            None
        });
        seed.settles().await;
        assert!(seed.is_gone("a") && seed.reconciler.world().queue.is_empty(), "{write}");
    }
}
