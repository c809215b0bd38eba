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

use crate::context::EngineContext;
use crate::metrics::ZoneError;
use crate::provider_instance::ProviderInstance;
use crate::reads::NEVER;
use crate::zone_handle::ZoneHandle;
use crate::zone_loop;

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
pub(crate) async fn run(context: Arc<EngineContext>, instance: Arc<ProviderInstance>, cancel: CancellationToken) {
    let mut workers = JoinSet::new();
    let mut cancels: BTreeMap<ZoneKey, Running> = BTreeMap::new();
    let mut remembered = context.state.zones_of(&instance.id);
    let mut failures = 0;
    let mut gone_zones = VecDeque::new();
    while !cancel.is_cancelled() {
        let listed = instance.provider.zones().await;
        let pause = match listed {
            Ok(zones) => {
                failures = 0;
                let former = instance.zone_handles();
                let zones = with_missing(&instance, zones, &former, &mut remembered).await;
                // A zone that is described otherwise than before (another filter) begins anew.
                let handle = |zone: Zone| {
                    former.iter().find(|d| d.zone == zone).cloned().unwrap_or_else(|| Arc::new(ZoneHandle::new(zone)))
                };
                let zone_handles: Vec<Arc<ZoneHandle>> = zones.into_iter().map(handle).collect();
                let mut vanished = false;
                let keys: BTreeSet<ZoneKey> = zone_handles.iter().map(|d| d.zone.key.clone()).collect();
                for gone in cancels.keys().filter(|key| !keys.contains(*key)).cloned().collect::<Vec<_>>() {
                    warn!(zone = %gone, "the zone is gone; its names are stale, nothing is deleted");
                    vanished = true;
                    let label = ZoneError { zone: gone.to_string(), error: ErrorKind::NotFound.label().to_owned() };
                    context.metrics.zone_errors.get_or_create(&label).inc();
                    bury(&context, &mut gone_zones, label.zone);
                    cancels.remove(&gone).iter().for_each(Running::end);
                    context.recheck(&context.state.forget_load(&gone.to_string()));
                }
                let mut ended = BTreeMap::new();
                for old in former.iter().filter(|old| zone_handles.iter().all(|handle| !Arc::ptr_eq(handle, old))) {
                    if let Some(running) = cancels.remove(&old.zone.key) {
                        info!(zone = %old.zone.name, "the zone's description changed; it is read anew");
                        running.end();
                        ended.insert(old.zone.key.clone(), running.ended);
                    }
                }
                let first = !instance.listing().tried;
                // Before it is known that there is a list: who waits for it looks for its zones.
                instance.set_zone_handles(zone_handles.clone());
                {
                    let mut listing = instance.listing();
                    listing.tried = true;
                    listing.error = None;
                }
                let fresh: Vec<&Arc<ZoneHandle>> =
                    zone_handles.iter().filter(|d| !cancels.contains_key(&d.zone.key)).collect();
                let moved = first || vanished || !fresh.is_empty();
                for handle in fresh {
                    info!(zone = %handle.zone.name, instance = %instance.id, "zone found");
                    let running = Running::new(&cancel);
                    cancels.insert(handle.zone.key.clone(), running.clone());
                    let work =
                        zone_loop::run(context.clone(), instance.clone(), handle.clone(), running.cancel.clone());
                    let before = ended.remove(&handle.zone.key);
                    let (context, instance, key) = (context.clone(), instance.clone(), handle.zone.key.clone());
                    workers.spawn(async move {
                        if let Some(before) = before {
                            before.cancelled().await;
                        }
                        work.await;
                        if instance.zone_handles().iter().all(|handle| handle.zone.key != key) {
                            context.metrics.forget_zone(&key.to_string());
                        }
                        running.ended.cancel();
                    });
                }
                if moved {
                    let names: BTreeSet<DnsName> = context.desired_state().table.names().cloned().collect();
                    context.dispatch(&names);
                    context.rested.notify_waiters();
                }
                context.config.interval.max(Duration::from_secs(1))
            }
            Err(problem) => {
                failures += 1;
                let mut listing = instance.listing();
                let since = listing.error.as_ref().map_or_else(Instant::now, |(_, since)| *since);
                let pause = context.pause(failures, problem.retry, since);
                let next_attempt = pause.map_or_else(|| "none".to_owned(), zonewright_core::duration::show);
                error!(instance = %instance.id, error = problem.chain(), next_attempt, "the zones cannot be listed");
                listing.tried = true;
                listing.given_up = pause.is_none();
                listing.error = Some((problem, since));
                drop(listing);
                context.metrics.registry_errors.inc();
                context.rested.notify_waiters();
                pause.unwrap_or(NEVER)
            }
        };
        context.look_whether_all_planned();
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
fn bury(context: &EngineContext, gone: &mut VecDeque<String>, zone: String) {
    gone.retain(|other| *other != zone);
    gone.push_back(zone);
    if gone.len() > GONE_ZONES
        && let Some(oldest) = gone.pop_front()
    {
        context.metrics.forget_zone_errors(&oldest);
    }
}

/// A list that leaves out a zone which was there before is not believed: the zone is asked for by itself. Else the names of a
/// zone would fall to the one above it. `remembered` are the zones of an earlier process, until they were asked for.
async fn with_missing(
    instance: &ProviderInstance,
    listed: Vec<Zone>,
    former: &[Arc<ZoneHandle>],
    remembered: &mut BTreeSet<ZoneId>,
) -> Vec<Zone> {
    let mut zones = listed;
    let known = former.iter().map(|handle| handle.zone.key.zone.clone());
    let known: BTreeSet<ZoneId> = known.chain(std::mem::take(remembered)).collect();
    for id in known {
        if zones.iter().any(|zone| zone.key.zone == id) {
            continue;
        }
        match instance.provider.zone(&id).await {
            Ok(None) => {}
            Ok(Some(zone)) => {
                warn!(zone = %zone.name, "the list of zones leaves it out, though it is there; it is kept");
                zones.push(zone);
            }
            Err(problem) => {
                let error = problem.chain();
                warn!(zone = %id, error, "the list of zones leaves it out; it is kept until that is certain");
                match former.iter().find(|handle| handle.zone.key.zone == id) {
                    Some(handle) => zones.push(handle.zone.clone()),
                    None => drop(remembered.insert(id)),
                }
            }
        }
    }
    zones
}
