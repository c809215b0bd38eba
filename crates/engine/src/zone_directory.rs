//! Keeps the list of an instance's zones, and a worker for each.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, info, warn};
use zonewright_core::clock::Timestamp;
use zonewright_core::endpoint::Severity;
use zonewright_core::error::{Error, ErrorKind};
use zonewright_core::name::DnsName;
use zonewright_core::notes::Notes;
use zonewright_core::zone::{Zone, ZoneId, ZoneKey};

use crate::context::EngineContext;
use crate::metrics::ZoneError;
use crate::provider_instance::ProviderInstance;
use crate::reads::NEVER;
use crate::said::Said;
use crate::zone_handle::ZoneHandle;
use crate::zone_loop;

/// A worker that was started.
#[derive(Debug, Clone)]
struct Running {
    /// Ends the worker when cancelled.
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
    let remembered = context.state.zones_of(&instance.id);
    let mut directory = Directory {
        context,
        instance,
        cancel,
        workers: JoinSet::new(),
        running: BTreeMap::new(),
        remembered,
        unsure_since: None,
        failures: 0,
        gone: VecDeque::new(),
        reported: Said::default(),
        waiting: BTreeSet::new(),
        twins: BTreeMap::new(),
    };
    while !directory.cancel.is_cancelled() {
        let pause = match directory.instance.provider.zones().await {
            Ok(zones) => directory.listed(zones).await,
            Err(problem) => directory.failed(problem),
        };
        directory.context.look_whether_all_planned();
        // What the ended ones leave behind is not kept.
        while directory.workers.try_join_next().is_some() {}
        tokio::select! {
            biased;
            () = directory.cancel.cancelled() => {}
            () = sleep(pause) => {}
        }
    }
    while directory.workers.join_next().await.is_some() {}
}

/// The zones of one instance, and their workers.
struct Directory {
    context: Arc<EngineContext>,
    instance: Arc<ProviderInstance>,
    cancel: CancellationToken,
    workers: JoinSet<()>,
    /// The worker of each zone.
    running: BTreeMap<ZoneKey, Running>,
    /// The zones of an earlier process, until they were asked for.
    remembered: BTreeSet<ZoneId>,
    /// Since when the first list leaves out one of them, and it cannot be asked for.
    unsure_since: Option<Instant>,
    /// Failures of the listing in a row.
    failures: u32,
    /// Zones that are gone, whose errors are still counted.
    gone: VecDeque<String>,
    /// The failure of the listing that was logged.
    reported: Said,
    /// Names whose objects got an event about it.
    waiting: BTreeSet<DnsName>,
    /// Zones whose names go to another of the same name, and to which; that was logged.
    twins: BTreeMap<ZoneKey, ZoneId>,
}

impl Directory {
    /// Takes over a list of zones: ends the workers of those that are gone or changed, and starts those of new ones. Returns how long to
    /// wait for the next.
    async fn listed(&mut self, zones: Vec<Zone>) -> Duration {
        let former = self.instance.zone_handles();
        let known: BTreeSet<ZoneId> =
            former.iter().map(|handle| handle.zone.key.zone.clone()).chain(self.remembered.iter().cloned()).collect();
        let remembered = self.remembered.clone();
        let (zones, unsure) = with_missing(&self.instance, zones, &former, &mut self.remembered).await;
        match unsure.values().next() {
            Some(problem) if self.waits_for_certainty() => {
                self.remembered = remembered;
                return self.failed(problem.clone());
            }
            _ => self.unsure_since = None,
        }
        self.failures = 0;
        self.reported.forget();
        self.waiting.clear();
        let handles = self.handles(&zones, &former, &known);
        let vanished = self.end_gone(&handles);
        let mut ended = self.end_changed(&former, &handles);
        let first = !self.instance.listing().tried;
        // Before it is known that there is a list: who waits for it looks for its zones.
        self.instance.set_zone_handles(handles.clone());
        self.tell_of_twins(&handles);
        {
            let mut listing = self.instance.listing();
            listing.tried = true;
            listing.error = None;
            listing.unsure = unsure.into_iter().map(|(zone, problem)| (zone, problem.chain())).collect();
        }
        let fresh: Vec<&Arc<ZoneHandle>> =
            handles.iter().filter(|handle| !self.running.contains_key(&handle.zone.key)).collect();
        let moved = first || vanished || !fresh.is_empty();
        for handle in fresh {
            // Whether it exists is known when it is read: with some providers the user names the zones.
            debug!(zone = %handle.title, instance = %self.instance.id, "zone listed");
            self.start(handle, ended.remove(&handle.zone.key));
        }
        if moved {
            let names: BTreeSet<DnsName> = self.context.desired_state().table.names().cloned().collect();
            self.context.dispatch(&names);
            self.context.rested.notify_waiters();
        }
        self.context.config.interval.max(Duration::from_secs(1))
    }

    /// Whether the first list is asked for again where it leaves out a zone of an earlier process, and it cannot be found out whether
    /// that is there: no name of it is to go to the zone above. Not for ever: the others have to be served.
    fn waits_for_certainty(&mut self) -> bool {
        let unsure = *self.unsure_since.get_or_insert_with(Instant::now);
        let listing = self.instance.listing();
        let is_first = (!listing.tried || listing.error.is_some()) && self.instance.zone_handles().is_empty();
        // A pass has no more time for its list than this.
        let (since, longest) = match &listing.error {
            Some((_, since)) if self.context.config.one_pass => (*since, self.context.config.start_timeout),
            None if self.context.config.one_pass => (unsure, self.context.config.start_timeout),
            _ => (unsure, CERTAINTY),
        };
        is_first && since.elapsed() < longest
    }

    /// The handles of zones: those that there are, and new ones. `known` are the zones that were served before.
    fn handles(&self, zones: &[Zone], former: &[Arc<ZoneHandle>], known: &BTreeSet<ZoneId>) -> Vec<Arc<ZoneHandle>> {
        let alone = self.context.instances.len() == 1;
        // A zone that is described otherwise than before (another filter) begins anew.
        let handle = |zone: &Zone| {
            former.iter().find(|handle| handle.zone == *zone).cloned().unwrap_or_else(|| {
                let came_beside = self.came_beside(zone, zones, known);
                Arc::new(ZoneHandle::new(zone.clone(), alone, came_beside))
            })
        };
        zones.iter().map(handle).collect()
    }

    /// When a zone came beside another of its name that was served already. Names stay where they are, also after a restart: what came
    /// later may serve nobody yet.
    fn came_beside(&self, zone: &Zone, zones: &[Zone], known: &BTreeSet<ZoneId>) -> Option<Timestamp> {
        let is_twin =
            |other: &&Zone| other.key != zone.key && other.name == zone.name && other.visibility == zone.visibility;
        let label = zone.key.to_string();
        let before = self.context.state.look(&label, |state| state.came_beside);
        let came =
            !known.contains(&zone.key.zone) && zones.iter().filter(is_twin).any(|twin| known.contains(&twin.key.zone));
        if before.is_some() || !came {
            return before;
        }
        let now = self.context.clock.now();
        self.context.state.zone(&label, |state| state.came_beside = Some(now));
        Some(now)
    }

    /// Says which of several zones of one name the names go to; once, as long as it is so.
    fn tell_of_twins(&mut self, handles: &[Arc<ZoneHandle>]) {
        let mut of_name: BTreeMap<&DnsName, usize> = BTreeMap::new();
        for handle in handles {
            *of_name.entry(&handle.zone.name).or_default() += 1;
        }
        let serving = |handle: &Arc<ZoneHandle>| {
            // Nearly all are the only one: nothing is looked up for these with each list.
            of_name.get(&handle.zone.name).filter(|count| **count > 1)?;
            let twin = self.instance.in_place_of(handle, &handle.zone.name)?;
            Some((handle.zone.key.clone(), twin.zone.key.zone.clone()))
        };
        let twins: BTreeMap<ZoneKey, ZoneId> = handles.iter().filter_map(serving).collect();
        for (key, serving) in twins.iter().filter(|(key, serving)| self.twins.get(key) != Some(serving)) {
            let zone = handles.iter().find(|handle| handle.zone.key == *key).map_or("", |handle| &handle.title);
            warn!(
                zone,
                id = %key.zone,
                %serving,
                "another zone has this name and its names go there; what stands in this one for objects that are there stays as it is (filters of zones say which one is meant)"
            );
        }
        self.twins = twins;
    }

    /// Ends the workers of zones that are gone. Returns whether there are any.
    fn end_gone(&mut self, handles: &[Arc<ZoneHandle>]) -> bool {
        let keys: BTreeSet<&ZoneKey> = handles.iter().map(|handle| &handle.zone.key).collect();
        let gone: Vec<ZoneKey> = self.running.keys().filter(|key| !keys.contains(key)).cloned().collect();
        let former = self.instance.zone_handles();
        for key in &gone {
            let title = former.iter().find(|handle| handle.zone.key == *key).map(|handle| handle.title.clone());
            let zone = title.unwrap_or_else(|| key.to_string());
            warn!(zone, id = %key.zone, "the zone is gone; its names are stale, nothing is deleted");
            let label = ZoneError { zone: key.to_string(), error: ErrorKind::NotFound.label().to_owned() };
            self.context.metrics.zone_errors.get_or_create(&label).inc();
            self.note_gone(label.zone);
            self.running.remove(key).iter().for_each(Running::end);
            self.context.recheck(&self.context.state.forget_load(&key.to_string()));
        }
        !gone.is_empty()
    }

    /// Ends the workers of zones that are described otherwise than before. Returns what signals that each has ended.
    fn end_changed(
        &mut self,
        former: &[Arc<ZoneHandle>],
        handles: &[Arc<ZoneHandle>],
    ) -> BTreeMap<ZoneKey, CancellationToken> {
        let mut ended = BTreeMap::new();
        for old in former.iter().filter(|old| handles.iter().all(|handle| !Arc::ptr_eq(handle, old))) {
            if let Some(running) = self.running.remove(&old.zone.key) {
                info!(zone = %old.title, "the zone's description changed; it is read anew");
                running.end();
                ended.insert(old.zone.key.clone(), running.ended);
            }
        }
        ended
    }

    /// Starts the worker of a zone, once the one `before` it has ended.
    fn start(&mut self, handle: &Arc<ZoneHandle>, before: Option<CancellationToken>) {
        let running = Running::new(&self.cancel);
        self.running.insert(handle.zone.key.clone(), running.clone());
        let (context, instance, key) = (self.context.clone(), self.instance.clone(), handle.zone.key.clone());
        let work = zone_loop::run(context.clone(), instance.clone(), handle.clone(), running.cancel.clone());
        self.workers.spawn(async move {
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

    /// The zones cannot be listed. Returns how long to wait.
    fn failed(&mut self, problem: Error) -> Duration {
        self.failures += 1;
        let mut listing = self.instance.listing();
        let since = listing.error.as_ref().map_or_else(Instant::now, |(_, since)| *since);
        let pause = self.context.pause(self.failures, problem.retry, since);
        let next_attempt = pause.map_or_else(|| "none".to_owned(), zonewright_core::duration::show);
        let text = problem.chain();
        if self.reported.is_news(&text, Instant::now()) {
            error!(instance = %self.instance.id, error = text, next_attempt, "the zones cannot be listed");
        } else {
            debug!(instance = %self.instance.id, error = text, next_attempt, "the zones still cannot be listed");
        }
        listing.tried = true;
        listing.given_up = pause.is_none();
        listing.error = Some((problem, since));
        drop(listing);
        // A failure that is over with the next attempt is nobody's business.
        if self.failures > 1 || pause.is_none() {
            self.report_waiting(&text);
        }
        self.context.metrics.registry_errors.inc();
        self.context.rested.notify_waiters();
        pause.unwrap_or(NEVER)
    }

    /// Reports on the objects whose names lie in no zone that is known that there may be one; each name once.
    fn report_waiting(&mut self, problem: &str) {
        let handles = self.context.zone_handles();
        let desired_state = self.context.desired_state();
        let counts = |name: &&DnsName| self.context.config.filter.matches(name) && self.instance.filter.matches(name);
        let waits = |name: &&DnsName| !handles.iter().any(|handle| handle.zone.covers(name));
        let fresh = desired_state.table.names().filter(|name| !self.waiting.contains(*name));
        let names: Vec<DnsName> = fresh.filter(counts).filter(waits).cloned().collect();
        let instance = &self.instance.id;
        let mut notes = Notes::default();
        for name in &names {
            for endpoint in desired_state.table.at(name).endpoints {
                let text = || format!("{name} waits, the zones of {instance} cannot be listed: {problem}");
                notes.add_with(&endpoint.origin.object, Severity::Warning, "ZoneNotServed", text);
            }
        }
        drop(desired_state);
        self.waiting.extend(names);
        self.context.pass_on(notes.into_vec());
    }

    /// Notes that a zone is gone; the one that has been gone for longest is forgotten.
    fn note_gone(&mut self, zone: String) {
        self.gone.retain(|other| *other != zone);
        self.gone.push_back(zone);
        if self.gone.len() > GONE_ZONES
            && let Some(oldest) = self.gone.pop_front()
        {
            self.context.metrics.forget_zone_errors(&oldest);
        }
    }
}

/// So many zones that are gone keep the count of their errors.
const GONE_ZONES: usize = 100;

/// So long the first list is asked for again while it leaves out a zone of an earlier process that cannot be asked for.
const CERTAINTY: Duration = Duration::from_mins(2);

/// A list that leaves out a zone which was there before is not believed: the zone is asked for by itself. Else the names of a
/// zone would fall to the one above it. `remembered` are the zones of an earlier process, until they were asked for; those of them that
/// cannot be for the time being are returned with the reason. Where the answer is that they cannot be seen with these credentials, or are
/// none of this provider, it is no other the next time.
async fn with_missing(
    instance: &ProviderInstance,
    listed: Vec<Zone>,
    former: &[Arc<ZoneHandle>],
    remembered: &mut BTreeSet<ZoneId>,
) -> (Vec<Zone>, BTreeMap<ZoneId, Error>) {
    use ErrorKind::{Protocol, Throttled, Timeout, Unavailable};
    let (mut zones, mut unsure) = (listed, BTreeMap::new());
    let known = former.iter().map(|handle| handle.zone.key.zone.clone());
    let known: BTreeSet<ZoneId> = known.chain(std::mem::take(remembered)).collect();
    for id in known {
        if zones.iter().any(|zone| zone.key.zone == id) {
            continue;
        }
        match instance.provider.zone(&id).await {
            Ok(None) => {}
            Ok(Some(zone)) => {
                warn!(zone = zone.title(), "the list of zones leaves it out, though it is there; it is kept");
                zones.push(zone);
            }
            Err(problem) => {
                let error = problem.chain();
                warn!(zone = %id, error, "the list of zones leaves it out; it is kept until that is certain");
                if let Some(handle) = former.iter().find(|handle| handle.zone.key.zone == id) {
                    zones.push(handle.zone.clone());
                    continue;
                }
                let why = format!("{id}: the list of zones leaves it out, and it cannot be asked for");
                let told = Error::new(problem.kind, "ask for a zone of an earlier process", why);
                if matches!(told.kind, Unavailable | Timeout | Throttled | Protocol) {
                    unsure.insert(id.clone(), told.caused_by(problem));
                }
                remembered.insert(id);
            }
        }
    }
    (zones, unsure)
}
