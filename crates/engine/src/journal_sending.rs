//! The engine's side of the journal.
//!
//! In: groups right before they are sent, and their outcomes. Out: lines in the store, and the entries of which it is not
//! known what became of them, until their names were read. What must hold: where the journal is required, nothing is sent
//! that is not in it; elsewhere its failure is reported once and holds up nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracing::{info, warn};
use zonewright_core::change::{Change, Group, Outcome};
use zonewright_core::clock::Clock;
use zonewright_core::endpoint::Note;
use zonewright_core::error::{Error, Result};
use zonewright_core::guard;
use zonewright_core::name::DnsName;
use zonewright_core::record::RecordKey;

use crate::context::EngineContext;
use crate::journal::{
    Cause, Closing, Entry, EntryEffects, Handover, Heading, IDS_OF_A_MILLISECOND, JournalRecord, Journaling, Line,
    Mode, Verdict, is_over, owner_of, scan,
};
use crate::metrics::Metrics;
use crate::provider_instance::ProviderInstance;
use crate::worker::Worker;
use crate::zone_handle::ZoneHandle;

/// Most lines that wait to be written; beyond it the oldest are given up: a start finds out what they would have said.
const WAITING: usize = 20_000;

/// An entry of which it is not known what became of it.
#[derive(Debug, Clone)]
struct Open {
    id: u64,
    effects: EntryEffects,
}

/// Where the groups of a call come from.
#[derive(Debug, Clone)]
pub(crate) struct Origin {
    plan: String,
    cause: Cause,
    /// The deletes that approvals let go, each with the hash that was approved.
    approved: Arc<BTreeMap<RecordKey, String>>,
}

impl Origin {
    /// A round that begins now, or an undo.
    pub(crate) fn new(plan: String, cause: Cause) -> Self {
        Self { plan, cause, approved: Arc::default() }
    }

    /// From now on these deletes belong to the plans that were approved.
    pub(crate) fn approve(&mut self, approved: BTreeMap<RecordKey, String>) {
        self.approved = Arc::new(approved);
    }

    fn of(&self, group: &Group) -> (String, Cause) {
        let deleted = |change: &Change| match change {
            Change::Delete { from } => self.approved.get(&from.key),
            _ => None,
        };
        let mut plans = group.records().map(|step| deleted(&step.change));
        match plans.next().flatten() {
            Some(plan) if plans.all(|other| other.is_some()) && !plan.is_empty() => (plan.clone(), Cause::Approved),
            _ => (self.plan.clone(), self.cause),
        }
    }
}

/// The journal as the engine uses it.
pub(crate) struct JournalWriter {
    pub(crate) journaling: Journaling,
    clock: Clock,
    metrics: Arc<Metrics>,
    next: AtomicU64,
    /// Lines that are written with the next ones.
    waiting: Mutex<Vec<String>>,
    failing: AtomicBool,
    /// By zone.
    open: Mutex<BTreeMap<String, Vec<Open>>>,
    /// Zones of which something was found open since their worker last looked.
    found: Mutex<BTreeSet<String>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl JournalWriter {
    /// A journal of which nothing was read.
    pub(crate) fn new(journaling: Journaling, clock: Clock, metrics: Arc<Metrics>) -> Self {
        let now = u64::try_from(clock.now().0).unwrap_or(0);
        Self {
            journaling,
            clock,
            metrics,
            next: AtomicU64::new(now.saturating_mul(IDS_OF_A_MILLISECOND)),
            waiting: Mutex::default(),
            failing: AtomicBool::new(false),
            open: Mutex::default(),
            found: Mutex::default(),
        }
    }

    /// Reads the journal: what is open will be settled by the workers, and ids go on.
    pub(crate) async fn load(&self) {
        let place = self.journaling.store.place();
        if self.journaling.mode == Mode::Off {
            info!(place, "nothing is written to the journal");
            return;
        }
        match scan(&*self.journaling.store).await {
            Ok((largest, entries)) => {
                self.next.fetch_max(largest + 1, Ordering::SeqCst);
                info!(place, unsettled = entries.len(), "journal");
                let mut open = lock(&self.open);
                for entry in entries {
                    open.entry(entry.zone.clone()).or_default().push(Open::of(&entry));
                }
            }
            Err(error) => warn!(
                place,
                error = error.chain(),
                "the journal cannot be read; what an earlier process left unsettled in it stays so"
            ),
        }
    }

    /// The next id; it is larger than any that was given out before.
    pub(crate) fn id(&self) -> u64 {
        self.next.fetch_add(1, Ordering::SeqCst)
    }

    /// A hash that names what begins now.
    pub(crate) fn plan(&self, what: &str) -> String {
        guard::hash(what, [self.id()])
    }

    /// Writes down what is about to be sent. Returns the id of each group that was written.
    ///
    /// # Errors
    /// It could not be written, and nothing may be sent that is not.
    async fn begin(
        &self,
        instance: &ProviderInstance,
        handle: &ZoneHandle,
        origin: &Origin,
        groups: &[Group],
    ) -> Result<Vec<Option<u64>>> {
        if self.journaling.mode == Mode::Off {
            return Ok(groups.iter().map(|_| None).collect());
        }
        let entries: Vec<Option<Entry>> =
            groups.iter().map(|group| self.entry(instance, handle, origin, group)).collect();
        let ids = entries.iter().map(|entry| entry.as_ref().map(|entry| entry.id)).collect();
        let lines: Vec<String> = entries.into_iter().flatten().map(|entry| Line::Change(entry).text()).collect();
        let Err(error) = self.write(lines).await else { return Ok(ids) };
        // It was reported when it was tried.
        self.journaling.go_on_without(error)?;
        Ok(groups.iter().map(|_| None).collect())
    }

    fn entry(&self, instance: &ProviderInstance, handle: &ZoneHandle, origin: &Origin, group: &Group) -> Option<Entry> {
        let handed = Handover::of(&*instance.registry, &handle.zone, group, instance);
        let heading = || {
            let (plan, cause) = origin.of(group);
            Heading { id: self.id(), at: self.clock.now(), plan, cause }
        };
        Entry::new(heading, &handle.zone, group, handed)
    }

    /// Writes down what became of it.
    async fn end(
        &self,
        instance: &ProviderInstance,
        handle: &ZoneHandle,
        ids: &[Option<u64>],
        groups: &[Group],
        outcomes: &[Outcome],
    ) {
        let mut closings = Vec::new();
        for ((id, group), outcome) in ids.iter().zip(groups).zip(outcomes) {
            let Some(id) = *id else { continue };
            if matches!(outcome, Outcome::Unknown(_)) {
                let handed = Handover::of(&*instance.registry, &handle.zone, group, instance);
                let open = Open { id, effects: EntryEffects { changes: group.changes().cloned().collect(), handed } };
                lock(&self.open).entry(handle.label()).or_default().push(open);
            }
            let error = outcome.error().map(Error::chain);
            closings.push(Closing { id, at: self.clock.now(), verdict: outcome.into(), found: false, error });
        }
        self.close(closings).await;
    }

    async fn close(&self, closings: Vec<Closing>) {
        let lines: Vec<String> = closings.into_iter().map(|closing| Line::Outcome(closing).text()).collect();
        if lines.is_empty() {
            return;
        }
        if self.journaling.store.outcomes_wait() || self.write(lines.clone()).await.is_err() {
            self.wait(lines);
        }
    }

    fn wait(&self, lines: Vec<String>) {
        let mut waiting = lock(&self.waiting);
        waiting.extend(lines);
        let surplus = waiting.len().saturating_sub(WAITING);
        waiting.drain(..surplus);
    }

    /// Appends what waits, and these.
    async fn write(&self, lines: Vec<String>) -> Result<()> {
        let waited = std::mem::take(&mut *lock(&self.waiting));
        let count = waited.len();
        let mut all = waited;
        all.extend(lines);
        if all.is_empty() {
            return Ok(());
        }
        let written = self.journaling.store.append(&all).await;
        if let Err(error) = &written {
            all.truncate(count);
            let mut waiting = lock(&self.waiting);
            all.append(&mut waiting);
            *waiting = all;
            drop(waiting);
            self.complain(error);
        } else if self.failing.swap(false, Ordering::SeqCst) {
            info!(place = self.journaling.store.place(), "the journal can be written again");
        }
        written
    }

    fn complain(&self, error: &Error) {
        self.metrics.journal_errors.inc();
        if self.failing.swap(true, Ordering::SeqCst) {
            return;
        }
        warn!(place = self.journaling.store.place(), error = error.chain(), "{}", self.consequence());
    }

    fn consequence(&self) -> &'static str {
        match self.journaling.mode {
            Mode::Required => "the journal cannot be written: nothing is sent until it can (--journal=required)",
            _ => {
                "the journal cannot be written: changes go on, and those until it can are neither in the history nor undone by `zonewright undo`"
            }
        }
    }

    /// Writes what waits, if anything does.
    pub(crate) async fn flush(&self) {
        // What fails was reported, and waits on.
        let _ = self.write(Vec::new()).await;
    }

    /// Takes note of an entry that a command left without an outcome. Returns its zone, where that was not known.
    pub(crate) fn found(&self, record: &JournalRecord) -> Option<String> {
        let settled = record.closing.as_ref().is_some_and(|closing| closing.verdict != Verdict::Unknown);
        if settled || self.journaling.mode == Mode::Off || !is_over(&record.entry, self.clock.now()) {
            return None;
        }
        let zone = record.entry.zone.clone();
        let mut all = lock(&self.open);
        let open = all.entry(zone.clone()).or_default();
        if open.iter().any(|known| known.id == record.entry.id) {
            return None;
        }
        open.push(Open::of(&record.entry));
        lock(&self.found).insert(zone.clone());
        Some(zone)
    }

    /// Whether something was found open in a zone since this was last asked.
    pub(crate) fn has_found(&self, zone: &str) -> bool {
        lock(&self.found).remove(zone)
    }

    fn take_open(&self, zone: &str) -> Vec<Open> {
        lock(&self.open).remove(zone).unwrap_or_default()
    }
}

impl Open {
    fn of(entry: &Entry) -> Self {
        Self { id: entry.id, effects: entry.into() }
    }
}

/// Writes groups down, sends them, and writes down what became of them. One outcome for each, in order.
pub(crate) async fn send(
    context: &EngineContext,
    instance: &ProviderInstance,
    handle: &ZoneHandle,
    origin: &Origin,
    groups: &[Group],
) -> Vec<Outcome> {
    let journal_writer = &context.journal_writer;
    let before = journal_writer.failing.load(Ordering::SeqCst);
    let ids = journal_writer.begin(instance, handle, origin, groups).await;
    if !before
        && journal_writer.failing.load(Ordering::SeqCst)
        && let Some(object) = &context.own_object
    {
        context.report([Note::warning(object, "JournalFailed", journal_writer.consequence())]);
    }
    match ids {
        Ok(ids) => {
            let outcomes = instance.provider.apply(&handle.zone, groups).await;
            journal_writer.end(instance, handle, &ids, groups, &outcomes).await;
            outcomes
        }
        Err(error) => groups.iter().map(|_| Outcome::NotSent(error.clone())).collect(),
    }
}

/// Has the names read of what an earlier process, or a command, left open.
pub(crate) fn resume(worker: &mut Worker) {
    let zone = worker.handle.label();
    let names: BTreeSet<DnsName> = {
        let open = lock(&worker.context.journal_writer.open);
        let keys = open.get(&zone).into_iter().flatten().flat_map(|open| open.effects.keys());
        keys.map(|key| key.name.clone()).filter(|name| name.is_within(&worker.handle.zone.name)).collect()
    };
    worker.unsure.extend(names.iter().cloned());
    worker.doubtful.extend(names);
}

/// Closes what was open, now that its names have been read.
pub(crate) async fn settle(worker: &Worker) {
    let journal_writer = &worker.context.journal_writer;
    let open = journal_writer.take_open(&worker.handle.label());
    if open.is_empty() {
        return;
    }
    let closings = {
        let closing = |open: &Open| {
            let registry = &worker.instance.registry;
            let owner =
                |key: &RecordKey| owner_of(&worker.instance.ownership(&worker.handle.zone, key), registry.owner());
            let verdict = open.effects.verdict(|key| worker.handle.view().find(key), owner);
            Closing { id: open.id, at: journal_writer.clock.now(), verdict, found: true, error: None }
        };
        open.iter().map(closing).collect::<Vec<_>>()
    };
    info!(zone = %worker.handle.zone.name, entries = closings.len(), "unsettled entries of the journal were settled by a reading");
    journal_writer.close(closings).await;
}
