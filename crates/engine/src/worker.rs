//! One zone's loop: read it, plan what is dirty, carry it out, remember what became of it.
//!
//! Every zone has its own, so that a slow or broken zone holds up no other. Nothing here ends the process: a failure is a
//! pause.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, info};
use zonewright_core::clock::Timestamp;
use zonewright_core::endpoint::Note;
use zonewright_core::error::{Error, ErrorKind, Result};
use zonewright_core::flap::Flaps;
use zonewright_core::name::DnsName;
use zonewright_core::record::RecordKey;

use crate::brake;
use crate::changes::{Changes, Numbers};
use crate::claim_moves::{self, Moves};
use crate::contested;
use crate::context::EngineContext;
use crate::inbox::Mail;
use crate::journal::Cause;
use crate::journal_sending::{self, Origin};
use crate::metrics::{ByZone, Mismatch, ZoneError};
use crate::pins;
use crate::provider_instance::ProviderInstance;
use crate::refusals::Refusals;
use crate::round;
use crate::stale_intents::StaleIntents;
use crate::table_sizes;
use crate::undo;
use crate::zone_handle::{Failure, ZoneHandle};
use crate::zone_reading::ListingUnderWay;

/// The loop turns at least this often, so that health can see it.
const TURN: Duration = Duration::from_secs(10);

/// The pause of what is not tried again: longer than any process that makes one pass lives.
pub(crate) const NEVER: Duration = Duration::from_hours(24 * 365);

/// A name that backs off alone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parked {
    pub(crate) until: Instant,
    pub(crate) attempts: u32,
    /// The server does not allow what is to be written there.
    pub(crate) denied: bool,
    /// The server has accepted something else since.
    pub(crate) proven: bool,
    /// Digest of what was reported of it, and when.
    pub(crate) reported: Option<(u64, Instant)>,
}

impl Parked {
    /// Until a moment, before any attempt.
    pub(crate) fn until(until: Instant) -> Self {
        Self { until, attempts: 0, denied: false, proven: false, reported: None }
    }
}

/// What a worker remembers between its turns.
pub(crate) struct Worker {
    pub(crate) context: Arc<EngineContext>,
    pub(crate) instance: Arc<ProviderInstance>,
    pub(crate) handle: Arc<ZoneHandle>,
    pub(crate) cancel: CancellationToken,
    /// Names that were refused, and wait for another attempt.
    pub(crate) parked: BTreeMap<DnsName, Parked>,
    /// Names that were refused before and are under way: in this turn, or back in the inbox.
    pub(crate) attempts: BTreeMap<DnsName, Parked>,
    /// What the server does not allow.
    pub(crate) refusals: Refusals,
    /// Names of which it is not known what stands there: they are read before anything else.
    pub(crate) unsure: BTreeSet<DnsName>,
    /// Those of them where a write of ours may have been carried out: what is found there is no foreign change.
    pub(crate) doubtful: BTreeSet<DnsName>,
    /// Names that others change.
    pub(crate) flaps: Flaps,
    /// Names whose deletes are held or wait for evidence: they are planned with every turn.
    pub(crate) waiting: BTreeSet<DnsName>,
    /// Intents that speak for nothing.
    pub(crate) stale_intents: StaleIntents,
    /// Claims that are to be moved.
    pub(crate) moves: Moves,
    /// Keys whose published targets are an inherited union.
    pub(crate) inherited: HashSet<RecordKey>,
    /// Records that are left alone because of their owner.
    pub(crate) mismatched: HashMap<RecordKey, Mismatch>,
    /// What was ours before the round whose counted deletes still wait for the other zones.
    pub(crate) waited: Option<brake::Before>,
    /// Counted deletes of this round that room is reserved for in the brake's window, with what it said of each before.
    pub(crate) reserved: BTreeMap<RecordKey, Option<Timestamp>>,
    /// A listing that stopped at a page.
    pub(crate) listing: Option<ListingUnderWay>,
    /// How long the last listing took.
    pub(crate) listing_took: Option<Duration>,
    /// Number of our records in the zone.
    pub(crate) owned: usize,
    /// The hash of the held plan that this process reported.
    pub(crate) announced: Option<String>,
    /// Names for which it was reported that the zone does not work, since it last did.
    pub(crate) reported: BTreeSet<DnsName>,
    /// What the groups belong to that are sent now, for the journal.
    pub(crate) origin: Origin,
    pub(crate) audit_due: Instant,
    /// What was sent since the start, in this turn, and by name what a dry run would have sent.
    pub(crate) changes: Changes,
    pub(crate) turn_changes: Changes,
    pub(crate) would_change: BTreeMap<DnsName, Changes>,
    /// Record sets that stay as they are, which is reported to their objects.
    pub(crate) left_alone: BTreeSet<RecordKey>,
    /// A round has planned every name: what is left to do is in the inbox.
    pub(crate) surveyed: bool,
    /// Until when the zone pauses.
    resume: Option<Instant>,
    /// Within the pause, when to look whether it may end earlier.
    pub(crate) wake: Option<Instant>,
    failures: u32,
    /// The zone is being read: a failure now leaves it unread.
    reading: bool,
}

/// Runs until cancelled; the running group is finished first.
pub(crate) async fn run(
    context: Arc<EngineContext>,
    instance: Arc<ProviderInstance>,
    handle: Arc<ZoneHandle>,
    cancel: CancellationToken,
) {
    let mut worker = Worker {
        context,
        instance,
        handle,
        cancel,
        parked: BTreeMap::new(),
        attempts: BTreeMap::new(),
        refusals: Refusals::default(),
        unsure: BTreeSet::new(),
        doubtful: BTreeSet::new(),
        flaps: Flaps::default(),
        waiting: BTreeSet::new(),
        stale_intents: StaleIntents::default(),
        moves: Moves::default(),
        inherited: HashSet::new(),
        mismatched: HashMap::new(),
        waited: None,
        reserved: BTreeMap::new(),
        listing: None,
        listing_took: None,
        owned: 0,
        announced: None,
        reported: BTreeSet::new(),
        origin: Origin::new(String::new(), Cause::Round),
        audit_due: Instant::now(),
        changes: Changes::default(),
        turn_changes: Changes::default(),
        would_change: BTreeMap::new(),
        left_alone: BTreeSet::new(),
        surveyed: false,
        resume: None,
        wake: None,
        failures: 0,
        reading: false,
    };
    worker.publish_health();
    pins::publish(&worker.context, &worker.handle.label());
    journal_sending::resume(&mut worker);
    worker.handle.status().working = true;
    // What another process wrote right before this one began, a reading that lags does not show, and nobody here knows of it.
    let lag = worker.instance.provider.capability(Some(&worker.handle.zone)).settle;
    if !lag.is_zero() && timeout(lag, worker.cancel.cancelled()).await.is_ok() {
        return;
    }
    loop {
        worker.handle.status().working = true;
        worker.turn().await;
        worker.rest();
        let next = worker.next();
        tokio::select! {
            biased;
            () = worker.cancel.cancelled() => return,
            () = worker.handle.inbox.woken() => {}
            () = sleep_until(next) => {}
        }
    }
}

impl Worker {
    pub(crate) fn label(&self) -> ByZone {
        ByZone { zone: self.handle.label() }
    }

    fn next(&self) -> Instant {
        if self.resume.is_none() && (self.moves.due() > 0 || !self.unsure.is_empty()) {
            return Instant::now();
        }
        let stale = self.handle.status().stale_at();
        let turn = [stale, self.wake].into_iter().flatten().fold(Instant::now() + TURN, Instant::min);
        let parked = self.parked.values().map(|p| p.until).min();
        let pauses = [parked, self.stale_intents.due(), Some(self.audit_due)];
        let due = self.resume.or_else(|| pauses.into_iter().flatten().min());
        due.map_or(turn, |at| at.min(turn))
    }

    fn rest(&mut self) {
        let now = Instant::now();
        let mut status = self.handle.status();
        status.tables = table_sizes::of_worker(self);
        // A name that is read and planned again at once is not refused yet.
        status.working = self.resume.is_none() && self.parked.values().any(|parked| parked.until <= now);
        status.turned = Some(now);
        status.changes = self.changes;
        self.would_change.values().for_each(|changes| status.changes += *changes);
        status.left_alone = self.left_alone.len();
        status.parked = self.parked.len();
        status.moving = if self.resume.is_none() { self.moves.due() } else { 0 };
        let planned = status.planned;
        drop(status);
        self.publish_health();
        if planned {
            claim_moves::publish(self);
        }
        self.context
            .metrics
            .parked
            .get_or_create(&self.label())
            .set(i64::try_from(self.parked.len()).unwrap_or(i64::MAX));
        self.context.rested.notify_waiters();
    }

    async fn turn(&mut self) {
        self.wake = None;
        let pause = self.resume.filter(|at| Instant::now() < *at);
        if pause.is_some() && !self.may_probe() {
            return;
        }
        self.resume = None;
        self.work(pause.is_some()).await;
        self.attempts.retain(|name, _| self.handle.inbox.holds(name));
        if let Some(pause) = pause
            && self.resume.is_some()
        {
            // An attempt within a pause does not make it longer.
            self.resume = Some(pause);
        }
    }

    /// Reads what is to be read, and does what is to be done. `early`: within a pause, because an object changed.
    async fn work(&mut self, early: bool) {
        self.reading = true;
        let asked = self.handle.take_looks();
        let audited = Instant::now() >= self.audit_due || !asked.is_empty();
        let unread = !self.handle.view().is_complete();
        if audited && !self.read_zone().await {
            return;
        }
        if unread {
            self.context.zone_read();
        }
        for answer in asked {
            // Who asked may have gone.
            let _ = answer.send(());
        }
        if !self.context.has_started() {
            self.recovered();
            return;
        }
        if self.context.journal_writer.has_found(&self.handle.label()) {
            journal_sending::resume(self);
        }
        if !self.read_unsure().await {
            return;
        }
        self.reading = false;
        contested::calm(self);
        pins::expire(self);
        self.refusals.begin();
        if let Err(problem) = undo::carry_out(self).await {
            self.failed(problem);
            return;
        }
        let first = !self.handle.status().planned;
        let mut mail = self.handle.inbox.take();
        if first || mail.everything {
            let now = Instant::now();
            mail.names.extend(self.all_names().into_iter().map(|name| (name, now)));
        }
        mail.recheck |= audited;
        let names = self.choose(mail, early);
        let planned = self.plan(names, first).await;
        if planned.is_ok() || self.surveyed {
            self.handle.status().planned = true;
        }
        self.context.look_whether_all_planned();
        // Claims move when nothing else is to be done, a piece with each turn.
        let done = match planned {
            Ok(changed) => claim_moves::step(self).await.map(|moved| changed || moved),
            Err(problem) => Err(problem),
        };
        match done.map(|changed| (changed, self.still_refusing())) {
            Ok((changed, None)) => self.succeeded(!changed),
            Ok((_, Some(problem))) | Err(problem) => self.failed(problem),
        }
    }

    async fn plan(&mut self, names: BTreeMap<DnsName, Instant>, first: bool) -> Result<bool> {
        if names.is_empty() {
            return Ok(false);
        }
        debug!(zone = %self.handle.zone.name, names = names.len(), "planning");
        self.turn_changes = Changes::default();
        self.would_change.retain(|name, _| !names.contains_key(name));
        let planned = round::run(self, names, first).await;
        self.sum_up();
        planned
    }

    /// Says what a round changed, where it changed anything. One pass says it at its end, for all zones together.
    fn sum_up(&self) {
        if self.turn_changes.is_empty() || self.context.config.one_pass {
            return;
        }
        let held = self
            .context
            .state
            .look(&self.handle.label(), |state| state.held.as_ref().map_or(0, |plan| plan.held.len()));
        let numbers = Numbers {
            changes: self.turn_changes,
            held,
            refused: self.parked.len(),
            left_alone: self.left_alone.len(),
            dry_run: self.context.config.dry_run,
        };
        info!(zone = %self.handle.zone.name, "{numbers}");
    }

    /// Takes out names that back off, and adds those whose pause is over and those that wait.
    fn choose(&mut self, mail: Mail, early: bool) -> BTreeMap<DnsName, Instant> {
        let now = Instant::now();
        let Mail { mut names, fresh, everything, recheck } = mail;
        if everything {
            // Which of them a source changed is not known.
            self.parked.clear();
        }
        for name in &fresh {
            self.parked.remove(name);
            self.attempts.remove(name);
        }
        names.retain(|name, _| !self.parked.contains_key(name));
        for name in self.due(names.len(), early) {
            if let Some(parked) = self.parked.remove(&name) {
                self.attempts.insert(name.clone(), parked);
                names.insert(name, now);
            }
        }
        for name in self.stale_intents.names_due(now) {
            names.entry(name).or_insert(now);
        }
        if recheck || !names.is_empty() {
            for name in std::mem::take(&mut self.waiting) {
                names.entry(name).or_insert(now);
            }
        }
        names
    }

    pub(crate) fn all_names(&self) -> BTreeSet<DnsName> {
        let mut names: BTreeSet<DnsName> = self.handle.view().names().cloned().collect();
        let desired_state = self.context.desired_state();
        names.extend(desired_state.table.names().filter(|name| name.is_within(&self.handle.zone.name)).cloned());
        names
    }

    pub(crate) fn succeeded(&mut self, nothing_to_do: bool) {
        self.recovered();
        self.context.metrics.last_sync.set(self.context.clock.now().as_seconds());
        if nothing_to_do {
            self.context.metrics.no_op_runs.inc();
        }
    }

    /// No failure is in force any longer.
    fn recovered(&mut self) {
        if self.failures > 0 {
            info!(zone = %self.handle.zone.name, failures = self.failures, "the zone works again");
        }
        self.context.metrics.consecutive_errors.dec_by(i64::from(self.failures));
        self.failures = 0;
        self.reported.clear();
        self.handle.status().failing = None;
        self.publish_health();
    }

    /// Pauses the whole zone. What was asked meanwhile is kept; the next turn begins with an audit.
    pub(crate) fn failed(&mut self, problem: Error) {
        self.failures += 1;
        self.blame_zone();
        let since = self.handle.status().failing.as_ref().map_or_else(Instant::now, |(_, since)| *since);
        let pause = self.context.pause(self.failures, problem.retry, since);
        let next_attempt = pause.map_or_else(|| "none".to_owned(), zonewright_core::duration::show);
        if !self.refusals.is_paused() || self.refusals.is_news() {
            error!(zone = %self.handle.zone.name, error = problem.chain(), next_attempt, "the zone cannot be served");
        } else {
            debug!(zone = %self.handle.zone.name, error = problem.chain(), next_attempt, "the zone still cannot be served");
        }
        let label = ZoneError { zone: self.handle.label(), error: problem.kind.label().to_owned() };
        self.context.metrics.zone_errors.get_or_create(&label).inc();
        self.context.metrics.registry_errors.inc();
        self.context.metrics.consecutive_errors.inc();
        if self.failures > 1 {
            self.report_waiting(&problem);
        }
        let mut status = self.handle.status();
        status.failure = Failure { unread: self.reading, given_up: pause.is_none() };
        if problem.kind == ErrorKind::NotFound {
            status.listed = false;
        }
        status.failing = Some((problem, since));
        drop(status);
        let now = Instant::now();
        self.resume = Some(now + pause.unwrap_or(NEVER));
        self.audit_due = now;
        self.publish_health();
        self.context.look_whether_all_planned();
    }

    /// Reports on the objects whose names wait that the zone does not work; each name once. A failure that is over with the next
    /// attempt is nobody's business.
    fn report_waiting(&mut self, problem: &Error) {
        let mut names = self.handle.inbox.names();
        if !self.surveyed {
            names.extend(self.all_names());
        }
        let filter = &self.context.config.filter;
        let ours = |name: &DnsName| filter.matches(name) && self.handle.zone.filter.matches(name);
        names.retain(|name| !self.reported.contains(name) && ours(name) && self.instance.serves(&self.handle, name));
        let zone = &self.handle.zone.name;
        let notes: Vec<Note> = {
            let desired_state = self.context.desired_state();
            let about = |name: &DnsName| {
                let text = format!("{name} waits, zone {zone} does not work: {}", problem.chain());
                let objects =
                    desired_state.table.at(name).endpoints.into_iter().map(|endpoint| endpoint.origin.object.clone());
                objects.map(|object| Note::warning(&object, "ZoneNotServed", text.clone())).collect::<Vec<_>>()
            };
            names.iter().flat_map(about).collect()
        };
        self.reported.extend(names);
        self.context.report(notes);
    }

    fn publish_health(&self) {
        self.handle.publish_ready(&self.context.metrics);
    }
}
