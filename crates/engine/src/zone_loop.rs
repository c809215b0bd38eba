//! One zone's loop: read it, plan what is dirty, carry it out, remember what became of it.
//!
//! Nothing here ends the process: a failure is a pause.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, info};
use zonewright_core::duration;
use zonewright_core::endpoint::Note;
use zonewright_core::error::{Error, ErrorKind, Result};
use zonewright_core::name::DnsName;

use crate::changes::Numbers;
use crate::context::EngineContext;
use crate::inbox::Mail;
use crate::metrics::ZoneError;
use crate::provider_instance::ProviderInstance;
use crate::quotas;
use crate::retries::Probe;
use crate::table_sizes::Sizes;
use crate::worker::Worker;
use crate::zone_handle::{FailureFlags, ZoneHandle};
use crate::{claim_moves, contested, held_plan, pinning, round, undo};

/// The loop turns at least this often, so that health can see it.
const TURN: Duration = Duration::from_secs(20);

/// Runs until cancelled; the running group is finished first.
pub(crate) async fn run(
    context: Arc<EngineContext>,
    instance: Arc<ProviderInstance>,
    handle: Arc<ZoneHandle>,
    cancel: CancellationToken,
) {
    let mut worker = Worker::new(context, instance, handle, cancel);
    worker.publish_health();
    pinning::publish(&worker.context, &worker.handle.label());
    worker.read_what_is_open();
    worker.handle.status().working = true;
    // What another process wrote right before this one began, a reading that lags does not show, and nobody here knows of it.
    let lag = worker.capability().settle;
    if !lag.is_zero() && timeout(lag, worker.cancel.cancelled()).await.is_ok() {
        return;
    }
    let watch = worker.handle.watch.clone();
    loop {
        worker.handle.status().working = true;
        watch.over(worker.turn()).await;
        worker.rest();
        let next = worker.next();
        tokio::select! {
            biased;
            () = worker.cancel.cancelled() => break,
            () = worker.handle.inbox.woken() => {}
            () = sleep_until(next) => {}
        }
    }
    worker.forget_errors();
}

impl Worker {
    fn next(&self) -> Instant {
        let paused = self.reads.paused_until();
        if paused.is_none() && (self.claims.moves.due() > 0 || !self.reads.to_read().is_empty()) {
            return Instant::now();
        }
        let stale = self.handle.status().stale_at();
        let turn = [stale, self.reads.wake].into_iter().flatten().fold(Instant::now() + TURN, Instant::min);
        let held = self.deletes.announcement_due();
        let turn = held.map_or(turn, |at| at.min(turn));
        let waits = [self.retries.next(), self.claims.stale.due(), Some(self.reads.audit_due())];
        let due = paused.or_else(|| waits.into_iter().flatten().min());
        due.map_or(turn, |at| at.min(turn))
    }

    /// Between two turns: shows how the zone is doing.
    fn rest(&mut self) {
        let now = Instant::now();
        let paused = self.reads.paused_until().is_some();
        let mut status = self.handle.status();
        status.tables = self.table_sizes();
        // A name that is read and planned again at once is not refused yet.
        status.working = !paused && self.retries.is_any_due(now);
        status.turned = Some(now);
        status.changes = self.tally.total();
        status.left_alone = self.tally.left_alone();
        status.parked = self.retries.len();
        status.moving = if paused { 0 } else { self.claims.moves.due() };
        let planned = status.planned;
        drop(status);
        self.publish_health();
        if planned {
            claim_moves::publish(self);
        }
        let parked = i64::try_from(self.retries.len()).unwrap_or(i64::MAX);
        self.context.metrics.parked.get_or_create(&self.label()).set(parked);
        self.context.rested.notify_waiters();
    }

    /// The sizes of its tables, by name.
    fn table_sizes(&self) -> Sizes {
        let own = [
            ("parked", self.retries.len()),
            ("attempts", self.retries.under_way()),
            ("troubles", self.retries.last_attempts()),
            ("foreign_changes", self.flaps.len()),
            ("waiting", self.deletes.waiting()),
            ("asked", self.deletes.asked().len()),
        ];
        own.into_iter().chain(self.reads.sizes()).chain(self.claims.sizes()).collect()
    }

    async fn turn(&mut self) {
        self.reads.wake = None;
        held_plan::announce(self);
        let pause = self.reads.paused_until().filter(|at| Instant::now() < *at);
        if pause.is_some() {
            match self.retries.probe(self.handle.inbox.has_fresh()) {
                Probe::Now => {}
                Probe::At(soonest) => {
                    self.reads.wake = Some(soonest);
                    return;
                }
                Probe::Never => return,
            }
        }
        self.reads.resume();
        self.work(pause.is_some()).await;
        let inbox = &self.handle.inbox;
        self.retries.retain(|name| inbox.holds(name));
        self.reads.keep_pause(pause);
    }

    /// Reads what is to be read, and does what is to be done. `early`: within a pause, because an object changed.
    async fn work(&mut self, early: bool) {
        self.reads.reading = true;
        let Some(audited) = self.audit().await else { return };
        if !self.context.has_started() {
            self.recovered();
            return;
        }
        if self.context.journal_writer.has_found(&self.handle.label()) {
            self.read_what_is_open();
        }
        if !self.read_unsure().await {
            return;
        }
        self.reads.reading = false;
        contested::calm(self);
        pinning::expire(self);
        self.retries.refusals().begin();
        if let Err(problem) = undo::carry_out(self).await {
            self.failed(problem);
            return;
        }
        let done = self.plan(audited, early).await;
        match done.map(|changed| (changed, self.retries.still_refusing())) {
            Ok((changed, None)) => self.succeeded(!changed),
            Ok((_, Some(problem))) | Err(problem) => self.failed(problem),
        }
    }

    /// Reads the zone where that is due or asked for. Returns whether it did; `None` where that failed.
    async fn audit(&mut self) -> Option<bool> {
        let asked = self.handle.take_looks();
        let audited = self.reads.is_audit_due() || !asked.is_empty();
        let unread = !self.handle.view().is_complete();
        if audited && !self.read_zone().await {
            return None;
        }
        if unread {
            quotas::zone_read(&self.context);
        }
        for answer in asked {
            // Who asked may have gone.
            let _ = answer.send(());
        }
        Some(audited)
    }

    /// Plans what is dirty and carries it out, then moves claims. Returns whether anything was to be done.
    async fn plan(&mut self, audited: bool, early: bool) -> Result<bool> {
        let first = !self.handle.status().planned;
        let mut mail = self.handle.inbox.take();
        if first || mail.everything {
            let now = Instant::now();
            mail.names.extend(self.all_names().into_iter().map(|name| (name, now)));
        }
        mail.recheck |= audited;
        let names = self.choose(mail, early);
        let planned = self.plan_names(names, first).await;
        if planned.is_ok() || self.surveyed {
            self.handle.status().planned = true;
        }
        self.context.look_whether_all_planned();
        // Claims move when nothing else is to be done, a piece with each turn.
        let changed = planned?;
        Ok(claim_moves::step(self).await? || changed)
    }

    async fn plan_names(&mut self, names: BTreeMap<DnsName, Instant>, first: bool) -> Result<bool> {
        if names.is_empty() {
            return Ok(false);
        }
        debug!(zone = %self.handle.title, names = names.len(), "planning");
        self.tally.begin_turn(&names);
        if self.context.config.previews() {
            self.handle.preview().begin_turn(names.keys());
        }
        let planned = round::run(self, names, first).await;
        self.sum_up();
        planned
    }

    /// Says what a round changed, where it changed anything. One pass says it at its end, for all zones together.
    fn sum_up(&self) {
        let changes = self.tally.of_turn();
        if changes.is_empty() || self.context.config.one_pass {
            return;
        }
        let held = self
            .context
            .state
            .look(&self.handle.label(), |state| state.held.as_ref().map_or(0, |plan| plan.held.len()));
        let numbers = Numbers {
            changes,
            held,
            refused: self.retries.len(),
            left_alone: self.tally.left_alone(),
            dry_run: self.context.config.dry_run,
        };
        info!(zone = %self.handle.title, "{numbers}");
    }

    /// Takes out names that back off, and adds those whose pause is over and those that wait.
    fn choose(&mut self, mail: Mail, early: bool) -> BTreeMap<DnsName, Instant> {
        let now = Instant::now();
        let Mail { mut names, fresh, everything, recheck } = mail;
        if everything {
            self.retries.all_changed();
        }
        for name in &fresh {
            self.retries.changed(name);
        }
        names.retain(|name, _| !self.retries.holds_back(name));
        let due = self.retries.take_due(names.len(), early);
        names.extend(due.into_iter().map(|name| (name, now)));
        for name in self.claims.stale.names_due(now) {
            names.entry(name).or_insert(now);
        }
        if recheck || !names.is_empty() {
            for name in self.deletes.take_waiting() {
                names.entry(name).or_insert(now);
            }
        }
        names
    }

    fn succeeded(&mut self, nothing_to_do: bool) {
        self.recovered();
        self.context.metrics.last_sync.set(self.context.clock.now().as_seconds());
        if nothing_to_do {
            self.context.metrics.no_op_runs.inc();
        }
    }

    /// No failure is in force any longer.
    fn recovered(&mut self) {
        let failures = std::mem::take(&mut self.reads.failures);
        if failures > 0 {
            info!(zone = %self.handle.title, failures, "the zone works again");
        }
        self.forget_errors();
        self.reads.reported.clear();
        self.reads.said.forget();
        self.handle.status().failing = None;
        self.publish_health();
    }

    /// The zone's failures in a row are over, or there is no such zone any more.
    fn forget_errors(&mut self) {
        let soft_errors = std::mem::take(&mut self.reads.soft_errors);
        self.context.metrics.consecutive_errors.dec_by(soft_errors);
    }

    /// Pauses the whole zone. What was asked meanwhile is kept; the next turn begins with an audit.
    pub(crate) fn failed(&mut self, problem: Error) {
        self.reads.failures += 1;
        let now = Instant::now();
        self.handle.inbox.put_back(self.retries.blame_zone().into_iter().map(|name| (name, now)));
        let since = self.handle.status().failing.as_ref().map_or(now, |(_, since)| *since);
        let pause = self.context.pause(self.reads.failures, problem.retry, since);
        let needless = self.is_needless(&problem);
        self.report_failure(&problem, pause, needless);
        let mut status = self.handle.status();
        status.failure = FailureFlags { unread: self.reads.reading, given_up: pause.is_none(), needless };
        if problem.kind == ErrorKind::NotFound {
            status.listed = false;
        }
        status.failing = Some((problem, since));
        drop(status);
        self.reads.pause(pause);
        self.publish_health();
        self.context.look_whether_all_planned();
    }

    /// Whether nobody needs the zone. Credentials that are made for one zone of an account see the names of all.
    fn is_needless(&self, problem: &Error) -> bool {
        self.handle.zone.by_wildcard
            && problem.kind == ErrorKind::Unauthorized
            && !self.handle.status().listed
            && !self.all_names().iter().any(|name| self.is_for_here(name))
    }

    /// Whether the name counts, and goes to this zone.
    fn is_for_here(&self, name: &DnsName) -> bool {
        self.context.config.filter.matches(name)
            && self.instance.counts(&self.handle, name)
            && self.instance.serves(&self.handle, name)
    }

    fn report_failure(&mut self, problem: &Error, pause: Option<Duration>, needless: bool) {
        let next_attempt = pause.map_or_else(|| "none".to_owned(), duration::show);
        let text = problem.chain();
        let zone = &self.handle.title;
        let news = !self.retries.is_paused() || self.retries.refusals().is_news();
        let said = format!("{needless} {text}");
        match (news && self.reads.said.is_news(&said, Instant::now()), needless) {
            (true, false) => error!(%zone, error = text, next_attempt, "the zone cannot be served"),
            (true, true) => {
                info!(%zone, error = text, "the zone may not be read; only a wildcard takes it, and no object needs it");
            }
            (false, _) => debug!(%zone, error = text, next_attempt, "the zone still cannot be served"),
        }
        let metrics = &self.context.metrics;
        let label = ZoneError { zone: self.handle.label(), error: problem.kind.label().to_owned() };
        metrics.zone_errors.get_or_create(&label).inc();
        if !needless {
            self.reads.soft_errors += 1;
            metrics.registry_errors.inc();
            metrics.consecutive_errors.inc();
        }
        // A failure that is over with the next attempt is nobody's business.
        if self.reads.failures > 1 {
            self.report_waiting(problem);
        }
    }

    /// Reports on the objects whose names wait that the zone does not work; each name once.
    fn report_waiting(&mut self, problem: &Error) {
        let mut names = self.handle.inbox.names();
        if !self.surveyed {
            names.extend(self.all_names());
        }
        names.retain(|name| !self.reads.reported.contains(name) && self.is_for_here(name));
        let zone = &self.handle.title;
        let notes: Vec<Note> = {
            let desired_state = self.context.desired_state();
            let about = |name: &DnsName| {
                let text = format!("{name} waits, zone {zone} does not work: {}", problem.chain());
                let objects = desired_state.table.at(name).endpoints.into_iter().map(|e| e.origin.object.clone());
                objects.map(|object| Note::warning(&object, "ZoneNotServed", text.clone())).collect::<Vec<_>>()
            };
            names.iter().flat_map(about).collect()
        };
        self.reads.reported.extend(names);
        self.context.report(notes);
    }

    fn publish_health(&self) {
        self.handle.publish_ready(&self.context.metrics);
    }
}
