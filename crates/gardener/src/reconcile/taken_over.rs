//! Objects without a mark, from another seed or of another controller, and what they leave behind.

use serde_json::{Value, json};
use zonewright_cluster::PatchTarget;
use zonewright_core::ErrorKind;
use zonewright_core::testing::set;

use super::seed::Seed;
use super::{LINE, SHOWN, ZONES};
use crate::testing::Upset;

impl Seed {
    /// The object is as another controller would have left it.
    fn unmark(&self, name: &str) {
        let patch = json!({ "status": { "providerStatus": null } });
        self.api.change(&Self::name(name), PatchTarget::Status, &patch).unwrap();
    }

    fn marked(&self, name: &str) -> Value {
        self.status(name)["providerStatus"]["zones"].clone()
    }
}

/// However often its deletion fails, the record of an object that came from another seed is not forgotten.
#[tokio::test(start_paused = true)]
async fn a_restored_object_is_not_deleted_without_its_provider() {
    let seed = Seed::new(ZONES);
    seed.script.put(set("x.example.com A ttl=120 192.0.2.1"));
    seed.script.unreadable(Some(ErrorKind::Unavailable));
    seed.create("a", LINE, "restore");
    assert!(seed.works().await);
    assert_eq!((seed.says("a").as_str(), &seed.status("a")["providerStatus"]), ("Restore Error", &json!(null)));
    seed.deletes("a");
    for attempt in 0..3 {
        assert!(seed.works().await);
        assert!(!seed.is_gone("a") && seed.says("a") == "Delete Error", "attempt {attempt}");
        tokio::time::advance(std::time::Duration::from_mins(1)).await;
    }
    seed.script.unreadable(None);
    seed.settles().await;
    assert!(seed.is_gone("a") && seed.script.shown().is_empty());
}

/// A seed with two zones, and the object of another controller, whose record is in the first and whose spec names the second.
async fn moved_before_it_was_taken_over() -> Seed {
    let seed = Seed::new(&["example.com", "com"]);
    seed.create("a", LINE, "reconcile");
    seed.settles().await;
    seed.unmark("a");
    seed.change("a", &json!({ "spec": { "zone": "com" } }));
    seed
}

#[tokio::test(start_paused = true)]
async fn an_object_that_was_taken_over_leaves_nothing_in_its_former_zone() {
    let seed = moved_before_it_was_taken_over().await;
    seed.asks("a", "reconcile", &json!({}));
    seed.settles().await;
    assert!(seed.is_done("a"));
    assert_eq!((&seed.status("a")["zone"], seed.marked("a")), (&json!("com"), json!(["com"])));
    assert_eq!(seed.script.shown(), [SHOWN], "in one of the two zones");
    seed.deletes("a");
    seed.settles().await;
    assert!(seed.is_gone("a") && seed.script.shown().is_empty());
}

/// What cannot be taken away from the former zone stays in the mark, and the present zone in the status.
#[tokio::test(start_paused = true)]
async fn the_former_zone_of_an_object_that_was_taken_over_is_not_forgotten() {
    let seed = moved_before_it_was_taken_over().await;
    let mut changes = 0;
    seed.script.fuse.plan(move |what| {
        changes += usize::from(what == "change records");
        (what == "change records" && changes == 2).then_some(Upset::Refused(ErrorKind::Unavailable))
    });
    seed.asks("a", "reconcile", &json!({}));
    assert!(seed.works().await);
    assert_eq!(seed.says("a"), "Reconcile Error");
    assert_eq!((&seed.status("a")["zone"], seed.marked("a")), (&json!("com"), json!(["com", "example.com"])));
    seed.settles().await;
    assert!(seed.is_done("a") && seed.marked("a") == json!(["com"]) && seed.script.shown() == [SHOWN]);
}

/// Deleted before it was brought in step here: the zone of the status is asked as that of the spec is, whichever of them fails first.
#[tokio::test(start_paused = true)]
async fn an_object_that_was_taken_over_is_deleted_from_both_its_zones() {
    for fails in 0..=2 {
        let seed = Seed::new(&["example.com", "com"]);
        seed.create("a", LINE, "reconcile");
        seed.change("a", &json!({ "spec": { "zone": "com" } }));
        seed.settles().await;
        seed.unmark("a");
        seed.script.put(set("x.example.com A ttl=120 192.0.2.1"));
        seed.change("a", &json!({ "spec": { "zone": "example.com" } }));
        assert_eq!((seed.script.shown().len(), &seed.status("a")["zone"]), (2, &json!("com")));
        let mut changes = 0;
        seed.script.fuse.plan(move |what| {
            changes += usize::from(what == "change records");
            (what == "change records" && changes == fails).then_some(Upset::Refused(ErrorKind::Unavailable))
        });
        seed.deletes("a");
        seed.settles().await;
        assert!(seed.is_gone("a") && seed.script.shown().is_empty(), "{fails}: {:?}", seed.script.shown());
    }
}

/// Where the zone in which it was published is gone, what somebody keeps at that name in the zone above is none of it.
#[tokio::test(start_paused = true)]
async fn an_object_that_was_taken_over_takes_nothing_from_the_zone_above() {
    let seed = Seed::new(&["example.com", "com"]);
    seed.create("a", LINE, "reconcile");
    seed.settles().await;
    assert_eq!(seed.status("a")["zone"], "example.com");
    seed.unmark("a");
    seed.script.drop_zone("example.com");
    seed.script.put(set("x.example.com A ttl=120 198.51.100.7"));
    let kept = seed.script.shown();
    assert_eq!(kept.len(), 1);
    seed.deletes("a");
    seed.settles().await;
    assert!(seed.is_gone("a"));
    assert_eq!(seed.script.shown(), kept);
}
