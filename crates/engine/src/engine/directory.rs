//! Keeps the list of an instance's zones, and a worker for each.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};
use zonewright_core::error::ErrorKind;
use zonewright_core::name::DnsName;
use zonewright_core::zone::{Zone, ZoneId, ZoneKey};

use super::board::{Board, Desk, Office};
use super::worker;
use crate::metrics::ZoneError;

/// A worker that was started.
#[derive(Debug, Clone)]
struct Running {
    /// Ends it.
    cancel: CancellationToken,
    /// Whether it has ended.
    ended: CancellationToken,
}

impl Running {
    fn new(all: &CancellationToken) -> Self {
        Self { cancel: all.child_token(), ended: CancellationToken::new() }
    }

    fn end(&self) {
        self.cancel.cancel();
    }
}

/// Runs until cancelled, and then until the workers have ended.
pub(super) async fn run(board: Arc<Board>, office: Arc<Office>, cancel: CancellationToken) {
    let mut workers = JoinSet::new();
    let mut cancels: BTreeMap<ZoneKey, Running> = BTreeMap::new();
    let mut remembered = board.state.zones_of(&office.instance.id);
    let mut failures = 0;
    let mut gone_zones = VecDeque::new();
    while !cancel.is_cancelled() {
        let listed = office.instance.provider.zones().await;
        let pause = match listed {
            Ok(zones) => {
                failures = 0;
                let former = office.desks();
                let zones = with_missing(&office, zones, &former, &mut remembered).await;
                // A zone that is described otherwise than before (another filter) begins anew.
                let desk = |zone: Zone| {
                    former.iter().find(|d| d.zone == zone).cloned().unwrap_or_else(|| Arc::new(Desk::new(zone)))
                };
                let desks: Vec<Arc<Desk>> = zones.into_iter().map(desk).collect();
                let mut vanished = false;
                let keys: BTreeSet<ZoneKey> = desks.iter().map(|d| d.zone.key.clone()).collect();
                for gone in cancels.keys().filter(|key| !keys.contains(*key)).cloned().collect::<Vec<_>>() {
                    warn!(zone = %gone, "the zone is gone; its names are stale, nothing is deleted");
                    vanished = true;
                    let label = ZoneError { zone: gone.to_string(), error: ErrorKind::NotFound.label().to_owned() };
                    board.metrics.zone_errors.get_or_create(&label).inc();
                    bury(&board, &mut gone_zones, label.zone);
                    cancels.remove(&gone).iter().for_each(Running::end);
                    board.recheck(&board.state.forget_load(&gone.to_string()));
                }
                let mut ended = BTreeMap::new();
                for old in former.iter().filter(|old| desks.iter().all(|desk| !Arc::ptr_eq(desk, old))) {
                    if let Some(running) = cancels.remove(&old.zone.key) {
                        info!(zone = %old.zone.name, "the zone's description changed; it is read anew");
                        running.end();
                        ended.insert(old.zone.key.clone(), running.ended);
                    }
                }
                let first = !office.listing().tried;
                // Before it is known that there is a list: who waits for it looks for its zones.
                office.set_desks(desks.clone());
                {
                    let mut listing = office.listing();
                    listing.tried = true;
                    listing.error = None;
                }
                let fresh: Vec<&Arc<Desk>> = desks.iter().filter(|d| !cancels.contains_key(&d.zone.key)).collect();
                let moved = first || vanished || !fresh.is_empty();
                for desk in fresh {
                    info!(zone = %desk.zone.name, instance = %office.instance.id, "zone found");
                    let running = Running::new(&cancel);
                    cancels.insert(desk.zone.key.clone(), running.clone());
                    let work = worker::run(board.clone(), office.clone(), desk.clone(), running.cancel.clone());
                    let before = ended.remove(&desk.zone.key);
                    let (board, office, key) = (board.clone(), office.clone(), desk.zone.key.clone());
                    workers.spawn(async move {
                        if let Some(before) = before {
                            before.cancelled().await;
                        }
                        work.await;
                        if office.desks().iter().all(|desk| desk.zone.key != key) {
                            board.metrics.forget_zone(&key.to_string());
                        }
                        running.ended.cancel();
                    });
                }
                if moved {
                    let names: BTreeSet<DnsName> = board.asks().desired.names().cloned().collect();
                    board.dispatch(&names);
                    board.rested.notify_waiters();
                }
                board.config.interval.max(Duration::from_secs(1))
            }
            Err(problem) => {
                failures += 1;
                let mut listing = office.listing();
                let since = listing.error.as_ref().map_or_else(Instant::now, |(_, since)| *since);
                let pause = board.pause(failures, problem.retry, since);
                let next_attempt = pause.map_or_else(|| "none".to_owned(), zonewright_core::duration::show);
                error!(instance = %office.instance.id, error = problem.chain(), next_attempt, "the zones cannot be listed");
                listing.tried = true;
                listing.given_up = pause.is_none();
                listing.error = Some((problem, since));
                drop(listing);
                board.metrics.registry_errors.inc();
                board.rested.notify_waiters();
                pause.unwrap_or(worker::NEVER)
            }
        };
        board.look_whether_all_planned();
        // What the ended ones leave behind is not kept.
        while workers.try_join_next().is_some() {}
        tokio::select! {
            biased;
            () = cancel.cancelled() => {}
            () = sleep(pause) => {}
        }
    }
    while workers.join_next().await.is_some() {}
}

/// So many zones that are gone keep the count of their errors.
const GONE_ZONES: usize = 100;

/// Notes that a zone is gone; the one that has been gone for longest is forgotten.
fn bury(board: &Board, gone: &mut VecDeque<String>, zone: String) {
    gone.retain(|other| *other != zone);
    gone.push_back(zone);
    if gone.len() > GONE_ZONES
        && let Some(oldest) = gone.pop_front()
    {
        board.metrics.forget_zone_errors(&oldest);
    }
}

/// A list that leaves out a zone which was there before is not believed: the zone is asked for by itself. Else the names of a
/// zone would fall to the one above it. `remembered` are the zones of an earlier process, until they were asked for.
async fn with_missing(
    office: &Office,
    listed: Vec<Zone>,
    former: &[Arc<Desk>],
    remembered: &mut BTreeSet<ZoneId>,
) -> Vec<Zone> {
    let mut zones = listed;
    let known = former.iter().map(|desk| desk.zone.key.zone.clone());
    let known: BTreeSet<ZoneId> = known.chain(std::mem::take(remembered)).collect();
    for id in known {
        if zones.iter().any(|zone| zone.key.zone == id) {
            continue;
        }
        match office.instance.provider.zone(&id).await {
            Ok(None) => {}
            Ok(Some(zone)) => {
                warn!(zone = %zone.name, "the list of zones leaves it out, though it is there; it is kept");
                zones.push(zone);
            }
            Err(problem) => {
                let error = problem.chain();
                warn!(zone = %id, error, "the list of zones leaves it out; it is kept until that is certain");
                match former.iter().find(|desk| desk.zone.key.zone == id) {
                    Some(desk) => zones.push(desk.zone.clone()),
                    None => drop(remembered.insert(id)),
                }
            }
        }
    }
    zones
}
