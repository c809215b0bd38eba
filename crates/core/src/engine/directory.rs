//! Keeps the list of an instance's zones, and a worker for each.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::board::{Board, Desk, Office};
use super::worker;
use crate::name::DnsName;
use crate::zone::ZoneKey;

/// Runs until cancelled, and then until the workers have ended.
pub(super) async fn run(board: Arc<Board>, office: Arc<Office>, cancel: CancellationToken) {
    let mut workers = JoinSet::new();
    let mut cancels: BTreeMap<ZoneKey, CancellationToken> = BTreeMap::new();
    let mut failures = 0;
    while !cancel.is_cancelled() {
        let listed = office.instance.provider.zones().await;
        let pause = match listed {
            Ok(zones) => {
                failures = 0;
                let former = office.desks();
                let desk = |zone: crate::zone::Zone| {
                    former.iter().find(|d| d.zone.key == zone.key).cloned().unwrap_or_else(|| Arc::new(Desk::new(zone)))
                };
                let desks: Vec<Arc<Desk>> = zones.into_iter().map(desk).collect();
                let keys: BTreeSet<ZoneKey> = desks.iter().map(|d| d.zone.key.clone()).collect();
                for gone in cancels.keys().filter(|key| !keys.contains(*key)).cloned().collect::<Vec<_>>() {
                    warn!(zone = %gone, "the zone is gone; its names are stale, nothing is deleted");
                    cancels.remove(&gone).iter().for_each(CancellationToken::cancel);
                }
                let first = !office.listing().tried;
                {
                    let mut listing = office.listing();
                    listing.tried = true;
                    listing.error = None;
                }
                office.set_desks(desks.clone());
                let fresh: Vec<&Arc<Desk>> = desks.iter().filter(|d| !cancels.contains_key(&d.zone.key)).collect();
                let grew = first || !fresh.is_empty();
                for desk in fresh {
                    info!(zone = %desk.zone.name, instance = %office.instance.id, "zone found");
                    let token = cancel.child_token();
                    cancels.insert(desk.zone.key.clone(), token.clone());
                    workers.spawn(worker::run(board.clone(), office.clone(), desk.clone(), token));
                }
                if grew {
                    let names: BTreeSet<DnsName> = board.asks().desired.names().cloned().collect();
                    board.dispatch(&names);
                    board.rested.notify_waiters();
                }
                board.config.interval.max(Duration::from_secs(1))
            }
            Err(problem) => {
                failures += 1;
                let pause = super::backoff(failures, problem.retry);
                error!(instance = %office.instance.id, error = problem.chain(), next_attempt = crate::duration::show(pause), "the zones cannot be listed");
                let mut listing = office.listing();
                let since = listing.error.as_ref().map_or_else(Instant::now, |(_, since)| *since);
                listing.tried = true;
                listing.error = Some((problem, since));
                drop(listing);
                board.metrics.registry_errors.inc();
                board.rested.notify_waiters();
                pause
            }
        };
        tokio::select! {
            () = cancel.cancelled() => {}
            () = sleep(pause) => {}
        }
    }
    while workers.join_next().await.is_some() {}
}
