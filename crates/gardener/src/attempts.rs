//! Attempts as they fall due, each in a task of its own.
//!
//! In: the queue, and who makes attempts. Out: what became of each, back in the queue. What must hold: attempts that have begun are carried
//! to their end within `GRACE` of the order to stop; none waits for one of another account.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::{Id, JoinSet};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{error, warn};

use crate::queue::{Attempt, Finished};
use crate::reconcile::Reconciler;
use crate::world::ClusterState;

/// How long attempts may take after the order to stop.
const GRACE: Duration = Duration::from_secs(20);
/// How often accounts that nobody uses are looked for, and figures are brought up to date.
const FIGURES_PERIOD: Duration = Duration::from_secs(5);

/// Begins attempts as they fall due, until `stop` is cancelled; `due` says that something may be.
pub async fn run(reconciler: &Arc<Reconciler>, due: &Notify, stop: CancellationToken) {
    let mut running: JoinSet<Finished> = JoinSet::new();
    let mut begun: HashMap<Id, Attempt> = HashMap::new();
    let mut ticks = tokio::time::interval(FIGURES_PERIOD);
    loop {
        let (attempts, next) = {
            let mut world = lock(&reconciler.world);
            let complete = world.is_complete();
            let attempts = if complete { world.queue.begin(Instant::now()) } else { Vec::new() };
            (attempts, world.queue.next())
        };
        for attempt in attempts {
            let (worker, made) = (reconciler.clone(), attempt.clone());
            let handle = running.spawn(async move { worker.attempt(&made).await });
            begun.insert(handle.id(), attempt);
        }
        tokio::select! {
            () = stop.cancelled() => break,
            Some(ended) = running.join_next_with_id() => {
                let (id, finished) = match ended {
                    Ok((id, finished)) => (id, finished),
                    Err(failed) => {
                        error!(error = %failed, "an attempt ended unexpectedly");
                        (failed.id(), Finished::Again(Duration::from_secs(30)))
                    }
                };
                if let Some(attempt) = begun.remove(&id) {
                    lock(&reconciler.world).queue.finish(&attempt, finished, Instant::now(), rand::random());
                }
            }
            () = due.notified() => {}
            () = until(next) => {}
            _ = ticks.tick() => figures(reconciler),
        }
    }
    let all = async { while running.join_next().await.is_some() {} };
    if timeout(GRACE, all).await.is_err() {
        warn!("some attempts were not carried to their end; they are made again at the next start");
    }
}

/// Drops accounts that nobody uses, and brings figures up to date.
fn figures(reconciler: &Reconciler) {
    reconciler.accounts.drop_unused();
    let gauge = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let tally = &reconciler.tally;
    tally.accounts.set(gauge(reconciler.accounts.len()));
    let world = lock(&reconciler.world);
    tally.records.set(gauge(world.len()));
    tally.due.set(gauge(world.queue.len()));
}

/// Waits until then, or for ever.
async fn until(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}

fn lock(world: &Mutex<ClusterState>) -> MutexGuard<'_, ClusterState> {
    world.lock().unwrap_or_else(PoisonError::into_inner)
}
