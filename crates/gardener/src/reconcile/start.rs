//! Many objects at a start: what is asked of the provider, and that those that fail together part.

use std::collections::BTreeSet;

use serde_json::json;
use tokio::sync::Notify;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::seed::Seed;
use super::*;
use crate::attempts;
use crate::world::ListedKinds;

/// Objects of one account.
const MANY: usize = 1_000;
/// Objects that fail together.
const TOGETHER: usize = 20;

fn name(n: usize) -> String {
    format!("r{n}")
}

/// The process works in the background until it is dropped.
pub(super) struct Working(CancellationToken);

impl Drop for Working {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

pub(super) fn working(seed: &Seed) -> Working {
    seed.reconciler.world().listed = ListedKinds { records: true, namespaces: true, clusters: true };
    let (reconciler, stop) = (seed.reconciler.clone(), CancellationToken::new());
    let end = stop.clone();
    tokio::spawn(async move { attempts::run(&reconciler, &Notify::new(), end).await });
    Working(stop)
}

pub(super) async fn until(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_hours(1), "{what}");
        sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_thousand_that_have_succeeded_cost_no_request() {
    let mut seed = Seed::new(ZONES);
    for n in 0..MANY {
        seed.create(&name(n), &format!("{}.example.com A 192.0.2.1", name(n)), "reconcile");
    }
    seed.settles().await;
    assert_eq!(seed.script.shown().len(), MANY);
    let asked = |seed: &Seed| {
        (seed.script.lists(), seed.script.asked(), seed.script.reads(), seed.script.writes(), seed.statuses())
    };
    let before = asked(&seed);
    seed.restart();
    let _working = working(&seed);
    until("every object was looked at", || seed.reconciler.world().queue.is_empty()).await;
    sleep(Duration::from_mins(10)).await;
    assert_eq!((seed.reconciler.world().len(), asked(&seed)), (MANY, before));
}

/// Objects whose account is not reached do not come back together.
#[tokio::test(start_paused = true)]
async fn those_that_fail_together_part() {
    for kind in [ErrorKind::Unavailable, ErrorKind::Timeout, ErrorKind::Unauthorized] {
        let seed = Seed::new(ZONES);
        seed.script.unreadable(Some(kind));
        for n in 0..TOGETHER {
            seed.create(&name(n), &format!("{}.example.com A 192.0.2.1", name(n)), "reconcile");
        }
        let attempts: Arc<Mutex<Vec<Instant>>> = Arc::default();
        let made = attempts.clone();
        seed.script.fuse.plan(move |what| {
            (what == "read object").then(|| made.lock().unwrap().push(Instant::now()));
            None
        });
        let _working = working(&seed);
        until("each was tried three times", || attempts.lock().unwrap().len() >= 3 * TOGETHER).await;
        let attempts = attempts.lock().unwrap().split_off(2 * TOGETHER);
        let times: BTreeSet<Instant> = attempts.iter().copied().take(TOGETHER).collect();
        assert!(times.len() > TOGETHER * 3 / 4, "{kind:?}: {} of {TOGETHER} at times of their own", times.len());
        for object in seed.api.objects.lock().unwrap().values() {
            assert_eq!(object["status"]["lastOperation"]["state"], "Error");
            let passes = object["status"]["lastError"]["codes"] == json!(null);
            assert_eq!(passes, kind != ErrorKind::Unauthorized, "{kind:?}");
        }
        seed.script.unreadable(None);
        until("all of them are served", || seed.reconciler.world().queue.is_empty()).await;
        assert_eq!(seed.script.shown().len(), TOGETHER);
    }
}
