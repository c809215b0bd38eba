//! Whole operations against an API server that is a value and a provider that follows a script; and the process killed between
//! any two calls.

#[path = "histories.rs"]
mod histories;
#[path = "leaving.rs"]
mod leaving;
#[path = "order.rs"]
mod order;
#[path = "refused.rs"]
mod refused;
#[path = "seed.rs"]
mod seed;
#[path = "servers.rs"]
mod servers;
#[path = "services/mod.rs"]
mod services;
#[path = "start.rs"]
mod start;
#[path = "taken_over.rs"]
mod taken_over;
#[path = "throttled.rs"]
mod throttled;
#[path = "waiting.rs"]
mod waiting;

use std::sync::Mutex;

use serde_json::{Value, json};
use tokio::time::Instant;
use zonewright_core::testing::set;

use super::*;
use crate::testing::Fault;
use crate::types::ClusterObject;
use seed::{Api, Seed};

const ZONES: &[&str] = &["example.com"];
const LINE: &str = "x.example.com A 192.0.2.1";
const SHOWN: &str = "x.example.com 120 A 192.0.2.1";

#[tokio::test(start_paused = true)]
async fn a_life() {
    let seed = Seed::new(ZONES);
    seed.create("a", LINE, "reconcile");
    seed.settles().await;
    assert!(seed.is_done("a"));
    assert_eq!((seed.says("a").as_str(), seed.script.shown()), ("Create Succeeded", vec![SHOWN.to_owned()]));
    assert_eq!(seed.status("a")["zone"], "example.com");
    assert_eq!(seed.script.lists(), 1);
    // Asked for again, nothing differs: statuses are written, the zone is not.
    let (writes, statuses) = (seed.script.writes(), seed.statuses());
    seed.asks("a", "reconcile", &json!({}));
    seed.settles().await;
    assert!(seed.is_done("a") && seed.says("a") == "Reconcile Succeeded");
    assert_eq!((seed.script.writes(), seed.statuses()), (writes, statuses + 2));
    // A change of the spec without an annotation waits.
    seed.change("a", &json!({ "spec": { "values": ["192.0.2.2"] } }));
    seed.settles().await;
    assert_eq!((seed.script.shown(), seed.statuses()), (vec![SHOWN.to_owned()], statuses + 2));
    seed.asks("a", "reconcile", &json!({}));
    seed.settles().await;
    assert_eq!(seed.script.shown(), ["x.example.com 120 A 192.0.2.2"]);
    assert_eq!(seed.script.lists(), 1, "the zone is known");
    seed.deletes("a");
    seed.settles().await;
    assert!(seed.is_gone("a") && seed.script.shown().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_start_leaves_what_is_done_alone() {
    let mut seed = Seed::new(ZONES);
    seed.create("a", LINE, "reconcile");
    seed.settles().await;
    let (reads, statuses) = (seed.script.reads(), seed.statuses());
    seed.restart();
    seed.settles().await;
    assert_eq!((seed.script.reads(), seed.statuses()), (reads, statuses));
}

#[tokio::test(start_paused = true)]
async fn events_of_its_own_writes_cost_no_call_of_the_provider() {
    let seed = Seed::new(ZONES);
    seed.create("a", LINE, "reconcile");
    // The watch reports the object while the attempt is under way, with the annotation that it still has.
    let asked = seed.api.read(&Seed::name("a")).unwrap();
    let attempts = seed.reconciler.world().queue.begin(Instant::now());
    seed.reconciler.world().record(asked);
    let finished = seed.reconciler.attempt(&attempts[0]).await;
    seed.reconciler.world().queue.finish(&attempts[0], finished, Instant::now(), 0.0);
    let reads = seed.script.reads();
    assert!(seed.is_done("a") && reads == 1);
    seed.settles().await;
    assert_eq!(seed.script.reads(), reads);
    // Whoever lost to another object looks all the same, and writes nothing where nothing is new.
    let statuses = seed.statuses();
    seed.reconciler.world().look(&Seed::name("a"), true);
    seed.settles().await;
    assert_eq!((seed.script.reads(), seed.statuses()), (reads + 1, statuses));
}

#[tokio::test(start_paused = true)]
async fn migrated_and_restored() {
    let seed = Seed::new(ZONES);
    seed.create("a", LINE, "reconcile");
    seed.settles().await;
    seed.asks("a", "migrate", &json!({}));
    seed.settles().await;
    assert!(seed.is_done("a") && seed.says("a") == "Migrate Succeeded");
    assert!(seed.api.read(&Seed::name("a")).unwrap().metadata.finalizers.is_empty());
    // Nothing but a restoration touches it.
    let statuses = seed.statuses();
    seed.asks("a", "reconcile", &json!({}));
    seed.settles().await;
    assert_eq!(seed.statuses(), statuses);
    seed.deletes("a");
    assert!(seed.is_gone("a"));
    assert_eq!(seed.script.shown(), [SHOWN]);
    // In the other seed: nothing happens before it is restored, and then the zone is found anew.
    let there = Seed {
        api: Arc::new(Api { secret: Mutex::new(true), fuse: seed.script.fuse.clone(), ..Api::default() }),
        seen: Mutex::default(),
        ..seed
    };
    let there = Seed { reconciler: Seed::process(&there.api, &there.shared), ..there };
    there.create("a", LINE, "wait-for-state");
    there.settles().await;
    assert_eq!(there.status("a"), Value::Null);
    let lists = there.script.lists();
    there.asks("a", "restore", &json!({}));
    there.settles().await;
    assert!(there.is_done("a") && there.says("a") == "Restore Succeeded");
    assert_eq!(there.script.lists(), lists + 1);
    // The record stood there as it was wanted; a deletion takes it all the same.
    there.deletes("a");
    there.settles().await;
    assert!(there.is_gone("a") && there.script.shown().is_empty());
}

#[tokio::test(start_paused = true)]
async fn errors_are_said_once_and_tried_again() {
    let seed = Seed::new(ZONES);
    seed.script.unreadable(Some(ErrorKind::Unavailable));
    seed.create("a", LINE, "reconcile");
    for _ in 0..5 {
        assert!(seed.works().await);
        tokio::time::advance(Duration::from_mins(1)).await;
    }
    assert_eq!(seed.says("a"), "Create Error", "a fault that passes has no code");
    assert_eq!(seed.statuses(), 2, "the start and one error, however many attempts");
    assert_eq!(seed.status("a")["conditions"][0]["status"], "False");
    assert_eq!(*seed.api.events.lock().unwrap(), ["a ProviderFailed"], "an event says it once, too");
    seed.script.unreadable(None);
    seed.settles().await;
    assert!(seed.is_done("a"));
    assert_eq!(seed.status("a")["conditions"][0]["status"], "True");
    assert_eq!(*seed.api.events.lock().unwrap(), ["a ProviderFailed", "a Succeeded"]);
}

#[tokio::test(start_paused = true)]
async fn what_was_never_sent_goes_without_its_provider() {
    let seed = Seed::new(ZONES);
    *seed.api.secret.lock().unwrap() = false;
    seed.create("a", LINE, "reconcile");
    assert!(seed.works().await);
    assert_eq!(seed.says("a"), "Create Error ERR_RETRYABLE_CONFIGURATION_PROBLEM");
    seed.deletes("a");
    assert!(seed.works().await);
    assert!(seed.is_gone("a"));
}

#[tokio::test(start_paused = true)]
async fn what_may_have_been_sent_does_not() {
    let seed = Seed::new(ZONES);
    // The first attempt fails after the change was sent: no answer comes.
    seed.script.fault(Fault::Lost(false));
    seed.create("a", LINE, "reconcile");
    assert!(seed.works().await);
    assert_eq!(
        (seed.says("a").as_str(), seed.status("a")["conditions"][0]["status"].as_str()),
        ("Create Error", Some("False"))
    );
    *seed.api.secret.lock().unwrap() = false;
    seed.deletes("a");
    assert!(seed.works().await);
    assert_eq!(seed.says("a"), "Delete Error", "without a code: the Secret may go first");
    *seed.api.secret.lock().unwrap() = true;
    seed.settles().await;
    assert!(seed.is_gone("a") && seed.script.shown().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_zone_that_is_gone() {
    let seed = Seed::new(&["example.com", "com"]);
    seed.create("a", LINE, "reconcile");
    seed.settles().await;
    seed.script.drop_zone("example.com");
    seed.asks("a", "reconcile", &json!({}));
    seed.settles().await;
    assert_eq!((seed.status("a")["zone"].as_str(), seed.script.shown()), (Some("com"), vec![SHOWN.to_owned()]));
    seed.script.drop_zone("com");
    seed.asks("a", "reconcile", &json!({}));
    assert!(seed.works().await);
    assert_eq!(seed.says("a"), "Reconcile Error ERR_CONFIGURATION_PROBLEM");
    seed.deletes("a");
    seed.settles().await;
    assert!(seed.is_gone("a"), "with its zone the records are gone");
}

#[tokio::test(start_paused = true)]
async fn another_zone_in_the_spec_leaves_nothing_in_the_former_one() {
    let seed = Seed::new(&["example.com", "com"]);
    seed.create("a", LINE, "reconcile");
    seed.settles().await;
    seed.asks("a", "reconcile", &json!({ "zone": "com" }));
    seed.settles().await;
    assert_eq!(seed.status("a")["zone"], "com");
    assert_eq!(seed.status("a")["providerStatus"]["zones"], json!(["com"]));
    assert_eq!(seed.script.shown(), [SHOWN], "in one of the two zones");
    seed.deletes("a");
    seed.settles().await;
    assert!(seed.is_gone("a") && seed.script.shown().is_empty());
}

#[tokio::test(start_paused = true)]
async fn of_two_objects_for_one_name_the_older_writes() {
    let seed = Seed::new(ZONES);
    seed.create("a", LINE, "reconcile");
    seed.create("b", "x.example.com A 192.0.2.2", "reconcile");
    for _ in 0..3 {
        assert!(seed.works().await);
        tokio::time::advance(Duration::from_mins(1)).await;
    }
    assert_eq!(
        (seed.says("a"), seed.says("b")),
        ("Create Succeeded".into(), "Create Error ERR_CONFIGURATION_PROBLEM".into())
    );
    assert_eq!((seed.script.shown(), seed.script.writes()), (vec![SHOWN.to_owned()], 1));
    let text = seed.status("b")["lastError"]["description"].to_string();
    assert!(text.contains("ns/a"), "{text}");
    // The younger one never deletes.
    seed.deletes("b");
    seed.settles().await;
    assert!(seed.is_gone("b"));
    assert_eq!(seed.script.shown(), [SHOWN]);
    seed.create("c", "x.example.com A 192.0.2.3", "reconcile");
    assert!(seed.works().await);
    seed.deletes("a");
    seed.settles().await;
    assert!(seed.is_gone("a") && seed.is_done("c"));
    assert_eq!(seed.script.shown(), ["x.example.com 120 A 192.0.2.3"]);
}

/// The younger one is faster than the older one, whose zone has moved: what it has published in the zone that is left stays.
#[tokio::test(start_paused = true)]
async fn who_leaves_a_zone_takes_no_record_of_a_younger_one_along() {
    for deleted in [false, true] {
        let seed = Seed::new(&["example.com", "com"]);
        seed.create("a", LINE, "reconcile");
        seed.create("b", "x.example.com A 192.0.2.2", "reconcile");
        assert!(seed.works().await);
        assert_eq!(seed.says("b"), "Create Error ERR_CONFIGURATION_PROBLEM");
        seed.asks("a", "reconcile", &json!({ "zone": "com" }));
        let late = seed.reconciler.world().queue.begin(Instant::now());
        seed.reconciler.world().look(&Seed::name("b"), true);
        assert!(seed.works().await && seed.is_done("b"));
        if deleted {
            seed.deletes("a");
        }
        let finished = seed.reconciler.attempt(&late[0]).await;
        seed.reconciler.world().queue.finish(&late[0], finished, Instant::now(), 0.0);
        seed.settles().await;
        let mine = "x.example.com 120 A 192.0.2.2";
        assert_eq!(seed.script.shown(), if deleted { vec![mine] } else { vec![SHOWN, mine] });
    }
}

#[tokio::test(start_paused = true)]
async fn shoots_that_failed_or_are_forced_to_go() {
    let seed = Seed::new(ZONES);
    let shoot = |state: &str, forced: &str| {
        let annotations = json!({ "confirmation.gardener.cloud/force-deletion": forced });
        let shoot =
            json!({ "metadata": { "annotations": annotations }, "status": { "lastOperation": { "state": state } } });
        let object = json!({ "metadata": { "name": "ns" }, "spec": { "shoot": shoot } });
        let cluster: ClusterObject = serde_json::from_value(object).unwrap();
        seed.reconciler.world().cluster("ns", Some(&cluster));
    };
    seed.reconciler.world().namespace("ns", true);
    seed.create("a", LINE, "reconcile");
    seed.settles().await;
    assert_eq!(seed.status("a"), Value::Null, "its Cluster is not there");
    shoot("Processing", "false");
    seed.settles().await;
    assert!(seed.is_done("a"));
    shoot("Failed", "false");
    seed.deletes("a");
    seed.settles().await;
    assert!(!seed.is_gone("a") && seed.says("a") == "Create Succeeded", "deletions included");
    *seed.api.secret.lock().unwrap() = false;
    shoot("Processing", "false");
    assert!(seed.works().await);
    assert_eq!(seed.says("a"), "Delete Error");
    shoot("Processing", "true");
    seed.settles().await;
    assert!(seed.is_gone("a"), "with broken credentials");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_comes_meanwhile_is_not_lost() {
    let seed = Seed::new(ZONES);
    seed.create("a", LINE, "reconcile");
    let attempts = seed.reconciler.world().queue.begin(Instant::now());
    // Its account is found first; the request comes while the attempt is under way.
    let finished = seed.reconciler.attempt(&attempts[0]).await;
    seed.reconciler.world().queue.finish(&attempts[0], finished, Instant::now(), 0.0);
    seed.asks("a", "reconcile", &json!({ "values": ["192.0.2.7"] }));
    seed.settles().await;
    assert!(seed.is_done("a"));
    assert_eq!(seed.script.shown(), ["x.example.com 120 A 192.0.2.7"]);
}

/// Runs a step of a life with the process killed at every call in turn, and started again.
async fn killed_anywhere(prepare: &[&str], step: &str, check: impl Fn(&Seed, usize)) {
    for kill in 0..200 {
        let mut seed = Seed::new(ZONES);
        for word in prepare {
            act(&seed, word);
            seed.settles().await;
        }
        act(&seed, step);
        seed.script.fuse.set(Some(kill));
        let ended = seed.works().await;
        let calls = seed.script.fuse.calls();
        seed.restart();
        seed.settles().await;
        check(&seed, kill);
        if ended {
            assert!(calls > 5, "{step}: {calls} calls");
            return;
        }
    }
    panic!("{step} has no end");
}

fn act(seed: &Seed, word: &str) {
    match word {
        "create" => seed.create("a", LINE, "reconcile"),
        "change" => seed.asks("a", "reconcile", &json!({ "values": ["192.0.2.2"] })),
        "migrate" => seed.asks("a", "migrate", &json!({})),
        "restore" => seed.asks("a", "restore", &json!({})),
        "delete" => seed.deletes("a"),
        other => panic!("{other}"),
    }
}

#[tokio::test(start_paused = true)]
async fn killed_between_any_two_calls() {
    let holds = |shown: &'static str| {
        move |seed: &Seed, kill: usize| {
            assert!(seed.is_done("a"), "killed at {kill}: {:#}", seed.status("a"));
            assert_eq!(seed.script.shown(), [shown], "killed at {kill}");
        }
    };
    killed_anywhere(&[], "create", holds(SHOWN)).await;
    killed_anywhere(&["create"], "change", holds("x.example.com 120 A 192.0.2.2")).await;
    killed_anywhere(&["create"], "migrate", holds(SHOWN)).await;
    killed_anywhere(&["create", "migrate"], "restore", holds(SHOWN)).await;
    killed_anywhere(&["create"], "delete", |seed, kill| {
        assert!(seed.is_gone("a") && seed.script.shown().is_empty(), "killed at {kill}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn deleted_after_a_creation_that_was_killed_anywhere() {
    for kill in 0..40 {
        let mut seed = Seed::new(ZONES);
        seed.script.put(set("other.example.com A ttl=60 192.0.2.9"));
        seed.create("a", LINE, "reconcile");
        seed.script.fuse.set(Some(kill));
        seed.works().await;
        seed.script.fuse.set(None);
        seed.deletes("a");
        seed.restart();
        seed.settles().await;
        assert!(seed.is_gone("a"), "killed at {kill}");
        assert_eq!(seed.script.shown(), ["other.example.com 60 A 192.0.2.9"], "killed at {kill}");
    }
}
