//! Zones that an object leaves while another one asks for its name there: what stays, and what is taken away.

use serde_json::json;
use tokio::time::Instant;
use zonewright_cluster::PatchTarget;
use zonewright_core::testing::set;

use super::seed::Seed;
use super::{Arc, LINE, SHOWN};
use crate::sent::SentChanges;
use crate::testing::Upset;

const BOTH: &[&str] = &["example.com", "com"];
/// What the other object asks for.
const OTHER: &str = "x.example.com A 192.0.2.2";
const OTHER_SHOWN: &str = "x.example.com 120 A 192.0.2.2";

impl Seed {
    /// One attempt at the object that is due, and at no other.
    async fn works_once(&self) {
        let due = self.reconciler.world().queue.begin(Instant::now());
        assert_eq!(due.len(), 1, "{due:?}");
        let finished = self.reconciler.attempt(&due[0]).await;
        self.reconciler.world().queue.finish(&due[0], finished, Instant::now(), 0.0);
    }
}

/// `a` has the name, and `b`, which is younger, waits for it.
async fn contested() -> Seed {
    let seed = Seed::new(BOTH);
    seed.create("a", LINE, "reconcile");
    seed.create("b", OTHER, "reconcile");
    assert!(seed.works().await);
    assert_eq!(seed.says("b"), "Create Error ERR_CONFIGURATION_PROBLEM");
    seed
}

/// It goes before it is its turn, and its provider is not asked: nothing was ever sent for it.
#[tokio::test(start_paused = true)]
async fn what_nobody_else_has_published_goes_from_a_zone_that_is_left() {
    let seed = contested().await;
    seed.asks("a", "reconcile", &json!({ "zone": "com" }));
    seed.works_once().await;
    seed.deletes("b");
    seed.settles().await;
    assert!(seed.is_gone("b") && seed.is_done("a"));
    assert_eq!((seed.script.shown(), &seed.status("a")["zone"]), (vec![SHOWN.to_owned()], &json!("com")));
}

#[tokio::test(start_paused = true)]
async fn who_cannot_publish_keeps_no_record_in_a_zone_that_is_left() {
    let seed = Seed::new(BOTH);
    seed.api.secrets.lock().unwrap().insert("none".to_owned(), json!({}));
    seed.create("a", LINE, "reconcile");
    seed.create_with("none", "b", OTHER, "reconcile");
    seed.change("b", &json!({ "spec": { "zone": "example.com" } }));
    assert!(seed.works().await);
    assert!(seed.is_done("a") && !seed.is_done("b"));
    seed.asks("a", "reconcile", &json!({ "zone": "com" }));
    assert!(seed.works().await);
    assert_eq!(seed.script.shown(), [SHOWN], "in the zone that it moved to");
}

/// Who waits for the name takes over as soon as the other one has left, and not only after a pause.
#[tokio::test(start_paused = true)]
async fn who_waited_for_a_name_publishes_once_the_zone_is_left() {
    let seed = contested().await;
    seed.asks("a", "reconcile", &json!({ "zone": "com" }));
    assert!(seed.works().await);
    assert!(seed.is_done("a") && seed.is_done("b"));
    assert_eq!(seed.script.shown(), [SHOWN, OTHER_SHOWN]);
}

/// Its spec names the zone, and waits for a request: its mark does not. Older or younger, it may go without one.
#[tokio::test(start_paused = true)]
async fn who_only_states_a_zone_keeps_no_record_there() {
    for first in ["a", "b"] {
        let seed = Seed::new(BOTH);
        for name in [first, if first == "a" { "b" } else { "a" }] {
            seed.create(name, if name == "a" { LINE } else { OTHER }, "reconcile");
            let zone = if name == "a" { "example.com" } else { "com" };
            seed.change(name, &json!({ "spec": { "zone": zone } }));
        }
        seed.settles().await;
        assert_eq!(seed.script.shown(), [OTHER_SHOWN, SHOWN], "{first}: each in its zone");
        seed.change("b", &json!({ "spec": { "zone": "example.com" } }));
        if first == "a" {
            seed.change("a", &json!({ "spec": { "zone": "com" } }));
        }
        seed.deletes("a");
        seed.works_once().await;
        assert!(seed.is_gone("a"));
        assert_eq!(seed.script.shown(), [OTHER_SHOWN], "{first}");
        seed.reconciler.world().gone(&Seed::name("a"));
        seed.deletes("b");
        seed.settles().await;
        assert!(seed.is_gone("b") && seed.script.shown().is_empty(), "{first}: {:?}", seed.script.shown());
    }
}

/// The other one marks the zone and publishes after it was asked for the first time, and before it is the leaving one's turn.
#[tokio::test(start_paused = true)]
async fn what_is_published_in_a_zone_while_it_is_left_stays() {
    let seed = contested().await;
    seed.asks("a", "reconcile", &json!({ "zone": "com" }));
    let (api, script, mut reads) = (Arc::downgrade(&seed.api), Arc::downgrade(&seed.script), 0);
    seed.script.fuse.plan(move |what| {
        reads += usize::from(what == "read names");
        // The first one is in the zone that it moves to.
        if what == "read names" && reads == 2 {
            let mark = SentChanges::to(["example.com".to_owned()]).to_value();
            let status = json!({ "status": { "zone": "example.com", "providerStatus": mark } });
            api.upgrade()?.change(&Seed::name("b"), PatchTarget::Status, &status).unwrap();
            script.upgrade()?.put(set("x.example.com A ttl=120 192.0.2.2"));
        }
        None
    });
    seed.works_once().await;
    seed.script.fuse.calm();
    assert_eq!(seed.script.shown(), [SHOWN, OTHER_SHOWN]);
    seed.settles().await;
    assert!(seed.is_done("a") && seed.is_done("b"));
    assert_eq!(seed.script.shown(), [SHOWN, OTHER_SHOWN]);
}

/// The younger one is deleted and leaves the record to the older one, which leaves the zone before the younger one is gone.
#[tokio::test(start_paused = true)]
async fn of_two_that_go_neither_leaves_the_record_to_the_other() {
    let seed = Seed::new(BOTH);
    seed.create("a", LINE, "reconcile");
    seed.change("a", &json!({ "spec": { "zone": "com" } }));
    seed.create("b", OTHER, "reconcile");
    seed.change("b", &json!({ "spec": { "zone": "example.com" } }));
    seed.settles().await;
    assert_eq!(seed.script.shown(), [SHOWN, OTHER_SHOWN]);
    seed.asks("a", "reconcile", &json!({ "zone": "example.com" }));
    assert!(seed.works().await);
    assert_eq!(seed.script.shown(), [SHOWN], "both have published there");
    // Its attempt is slow to write down that it is done.
    seed.script.fuse.plan(|what| (what == "Delete Succeeded").then_some(Upset::Killed));
    seed.deletes("b");
    assert!(!seed.works().await);
    seed.script.fuse.calm();
    assert_eq!(seed.script.shown(), [SHOWN], "it is left to the older one");
    seed.asks("a", "reconcile", &json!({ "zone": "com" }));
    assert!(seed.works().await);
    seed.api.change(&Seed::name("b"), PatchTarget::Object, &json!({ "metadata": { "finalizers": [] } })).unwrap();
    assert!(seed.is_gone("b") && seed.is_done("a"));
    assert_eq!(seed.script.shown(), [SHOWN], "in the zone that it moved to, and nowhere else");
    seed.deletes("a");
    seed.reconciler.world().gone(&Seed::name("b"));
    seed.settles().await;
    assert!(seed.is_gone("a") && seed.script.shown().is_empty(), "{:?}", seed.script.shown());
}
