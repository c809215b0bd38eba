//! Gardener's own wait, poll by poll: what it looks at, in which order, and how long it bears an error.

use serde_json::json;
use tokio::time::sleep;

use super::seed::Seed;
use super::*;
use crate::testing::Fault;
use crate::types::{OPERATION, TIMESTAMP};

/// From one look to the next.
const INTERVAL: Duration = Duration::from_secs(5);
/// How long it looks.
const PATIENCE: Duration = Duration::from_mins(2);
/// Looks that may find an error before it counts.
const BORNE: usize = 3;

/// What one look finds.
#[derive(Debug, PartialEq, Eq)]
enum Look {
    Done,
    Pending(&'static str),
    Failed(Vec<String>),
}

/// One look at an object, after a request with this timestamp.
fn look(seed: &Seed, asked: &str) -> Look {
    let record = seed.api.read(&Seed::name("a")).unwrap();
    if record.annotation(TIMESTAMP) != Some(asked) {
        return Look::Pending("another timestamp");
    }
    if let Some(error) = &record.status.last_error {
        return Look::Failed(error.codes.clone());
    }
    if record.status.observed_generation != record.metadata.generation {
        return Look::Pending("another generation");
    }
    if record.annotation(OPERATION).is_some() {
        return Look::Pending("still asked for");
    }
    if record.last().is_none_or(|(_, state)| state != "Succeeded") {
        return Look::Pending("not succeeded");
    }
    let time = |text: &str| text.parse::<Timestamp>().unwrap().as_second();
    let updated = seed.status("a")["lastOperation"]["lastUpdateTime"].as_str().map(time);
    if updated.is_none_or(|updated| time(asked) > updated) { Look::Pending("of before") } else { Look::Done }
}

/// Waits as Gardener does, while the process works.
async fn waits(seed: &Seed, asked: &str) -> Result<Duration, Look> {
    let (start, mut errors) = (Instant::now(), 0);
    loop {
        assert!(seed.works().await);
        let found = look(seed, asked);
        match &found {
            Look::Done => return Ok(start.elapsed()),
            Look::Failed(_) if errors == BORNE => return Err(found),
            Look::Failed(_) => errors += 1,
            Look::Pending(_) => {}
        }
        if start.elapsed() >= PATIENCE {
            return Err(found);
        }
        // What falls due meanwhile is worked on when it does.
        let until = Instant::now() + INTERVAL;
        let due = || seed.reconciler.world().queue.next().filter(|next| *next < until);
        while let Some(next) = due() {
            tokio::time::sleep_until(next).await;
            assert!(seed.works().await);
        }
        sleep(until - Instant::now()).await;
    }
}

/// The timestamp of the last request.
fn asked(seed: &Seed) -> String {
    seed.api.read(&Seed::name("a")).unwrap().annotation(TIMESTAMP).unwrap_or_default().to_owned()
}

async fn created() -> Seed {
    let seed = Seed::new(ZONES);
    seed.create("a", LINE, "reconcile");
    seed.settles().await;
    seed
}

#[tokio::test(start_paused = true)]
async fn a_request_is_answered_before_the_second_look() {
    let seed = created().await;
    for values in [json!({}), json!({ "values": ["192.0.2.2"] }), json!({ "ttl": 60 })] {
        seed.asks("a", "reconcile", &values);
        assert_eq!(waits(&seed, &asked(&seed)).await, Ok(Duration::ZERO));
    }
}

/// An error that was there before the request is gone before it counts.
#[tokio::test(start_paused = true)]
async fn an_error_of_before_is_gone_before_it_counts() {
    let seed = created().await;
    seed.script.unreadable(Some(ErrorKind::Unauthorized));
    seed.asks("a", "reconcile", &json!({}));
    assert!(seed.works().await);
    assert_eq!(look(&seed, &asked(&seed)), Look::Failed(vec!["ERR_INFRA_UNAUTHORIZED".to_owned()]));
    seed.script.unreadable(None);
    seed.asks("a", "reconcile", &json!({}));
    assert_eq!(waits(&seed, &asked(&seed)).await, Ok(Duration::ZERO));
}

/// An error that passes within ten seconds never counts: it is tried again after one, two and four seconds and up to a quarter more.
#[tokio::test(start_paused = true)]
async fn an_error_that_passes_soon_never_counts() {
    for faults in 1..=3 {
        let seed = created().await;
        (0..faults).for_each(|_| seed.script.fault(Fault::Fails(ErrorKind::Unavailable)));
        seed.asks("a", "reconcile", &json!({ "values": ["192.0.2.2"] }));
        let waited = waits(&seed, &asked(&seed)).await;
        assert!(waited.as_ref().is_ok_and(|waited| *waited <= Duration::from_secs(15)), "{faults}: {waited:?}");
    }
}

/// One that stays counts after fifteen seconds, without a code: Gardener tries again.
#[tokio::test(start_paused = true)]
async fn an_error_that_stays_counts_without_a_code() {
    for kind in [ErrorKind::Unavailable, ErrorKind::Throttled, ErrorKind::Timeout] {
        let seed = created().await;
        seed.script.unreadable(Some(kind));
        seed.asks("a", "reconcile", &json!({}));
        assert_eq!(waits(&seed, &asked(&seed)).await, Err(Look::Failed(vec![])), "{kind:?}");
    }
}

/// While it is under way the request is not answered, whatever the zone holds by then.
#[tokio::test(start_paused = true)]
async fn what_is_looked_at_and_in_which_order() {
    let seed = created().await;
    let before = asked(&seed);
    seed.asks("a", "reconcile", &json!({ "values": ["192.0.2.2"] }));
    assert_eq!(look(&seed, &before), Look::Pending("another timestamp"));
    let now = asked(&seed);
    assert_eq!(look(&seed, &now), Look::Pending("another generation"));
    let status = |patch: &serde_json::Value| {
        let patch = json!({ "status": patch });
        seed.api.change(&Seed::name("a"), zonewright_cluster::PatchTarget::Status, &patch).unwrap();
    };
    status(&json!({ "lastError": { "description": "x" } }));
    assert_eq!(look(&seed, &now), Look::Failed(vec![]), "an error goes before the generation");
    status(&json!({ "lastError": null, "observedGeneration": 2, "lastOperation": { "state": "Processing" } }));
    assert_eq!(look(&seed, &now), Look::Pending("still asked for"));
    seed.change("a", &json!({ "metadata": { "annotations": { OPERATION: null } } }));
    assert_eq!(look(&seed, &now), Look::Pending("not succeeded"));
    status(&json!({ "lastOperation": { "state": "Succeeded", "lastUpdateTime": "2026-01-31T11:00:00Z" } }));
    assert_eq!(look(&seed, &now), Look::Pending("of before"));
}
