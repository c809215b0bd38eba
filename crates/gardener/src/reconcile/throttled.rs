//! An account that is throttled for ten minutes, and another one that goes on meanwhile.

use serde_json::json;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::seed::Seed;
use super::*;
use crate::attempts;

/// Objects of the throttled account: many times what it has attempts at once.
const MANY: usize = 50;

/// How long the present takes to be so; nothing else is waited for.
async fn within(seconds: u64, what: &str, holds: impl Fn() -> bool) -> Duration {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(seconds), "{what}");
        sleep(Duration::from_millis(10)).await;
    }
    start.elapsed()
}

#[tokio::test(start_paused = true)]
async fn an_account_that_is_throttled_for_ten_minutes_holds_up_no_other() {
    let seed = Seed::new(&["example.com"]);
    let busy = seed.account("busy", &["busy.test"]);
    busy.unreadable(Some(ErrorKind::Throttled));
    {
        let mut world = seed.reconciler.world();
        world.listed = crate::world::ListedKinds { records: true, namespaces: true, clusters: true };
    }
    let (due, stop) = (Arc::new(Notify::new()), CancellationToken::new());
    let (reconciler, notified) = (seed.reconciler.clone(), due.clone());
    let working = tokio::spawn({
        let stop = stop.clone();
        async move { attempts::run(&reconciler, &notified, stop).await }
    });
    for n in 0..MANY {
        seed.create_with("busy", &format!("busy-{n}"), &format!("b{n}.busy.test A 192.0.2.1"), "reconcile");
    }
    due.notify_one();
    within(60, "every object of the throttled account says so", || {
        (0..MANY).all(|n| seed.says(&format!("busy-{n}")) == "Create Error")
    })
    .await;
    for minute in 0..10 {
        let name = format!("web-{minute}");
        seed.create(&name, &format!("{name}.example.com A 192.0.2.1"), "reconcile");
        due.notify_one();
        let took = within(5, &name, || seed.is_done(&name)).await;
        assert!(took < Duration::from_secs(1), "{name} took {took:?}");
        sleep(Duration::from_mins(1)).await;
    }
    let asked = busy.reads();
    assert!(
        asked < MANY * 25,
        "{asked} reads in ten minutes: each object at growing pauses, and no sooner than after 30 s"
    );
    assert!((0..MANY).all(|n| seed.status(&format!("busy-{n}"))["lastError"]["codes"] == json!(null)));
    busy.unreadable(None);
    within(13 * 60, "every object is served once it may go on", || {
        (0..MANY).all(|n| seed.is_done(&format!("busy-{n}")))
    })
    .await;
    stop.cancel();
    working.await.unwrap();
}
