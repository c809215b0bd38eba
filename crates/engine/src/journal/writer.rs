//! The journal as whoever sends changes writes it: the daemon, and each command beside it.
//!
//! In: groups right before they are sent, and their outcomes. Out: lines in the store, and the entries of which it is not known
//! what became of them, until their names were read. What must hold: no two entries have the same key, though several processes
//! write at the same time; where the journal is required, nothing is sent that is not in it; elsewhere its failure is reported
//! once and holds up nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use tracing::{info, warn};
use zonewright_core::change::{Group, Outcome};
use zonewright_core::claim::OwnerId;
use zonewright_core::clock::{Clock, Timestamp};
use zonewright_core::error::{Error, Result};
use zonewright_core::guard;
use zonewright_core::name::DnsName;
use zonewright_core::record::{RecordKey, RecordSet};
use zonewright_core::registry::{Published, Registry};
use zonewright_core::zone::Zone;

use super::entry::{Cause, Closing, Entry, EntryKey, EntryResult, Heading, WriterId};
use super::handover::Handover;
use super::journaling::{Journaling, Mode};
use super::line::Line;
use super::origin::EntryOrigin;
use super::query::{JournalRecord, scan};
use super::unsettled::EntryEffects;

/// Most lines that wait to be written; beyond it the oldest are given up: a start finds out what they would have said.
const WAITING: usize = 20_000;

/// An entry of a command that began so long ago has no outcome to come.
const PATIENCE: Duration = Duration::from_mins(1);

/// Ids of one millisecond: a process that writes more of them borrows from the next.
const IDS_OF_A_MILLISECOND: u64 = 1 << 11;

/// An entry of which it is not known what became of it.
#[derive(Debug, Clone)]
struct Open {
    key: EntryKey,
    effects: EntryEffects,
}

impl Open {
    /// The names in its zone that must be read to settle it.
    fn names<'a>(&'a self, zone: &'a Zone) -> impl Iterator<Item = &'a DnsName> {
        self.effects.keys().map(|key| &key.name).filter(|name| name.is_within(&zone.name))
    }
}

impl From<&Entry> for Open {
    fn from(entry: &Entry) -> Self {
        Self { key: entry.key(), effects: entry.into() }
    }
}

/// What was written down before groups are sent: the key of each that was.
#[derive(Debug, Clone, Default)]
pub(crate) struct Begun(Vec<Option<EntryKey>>);

impl Begun {
    fn nothing(groups: &[Group]) -> Self {
        Self(groups.iter().map(|_| None).collect())
    }

    /// Further groups of the same call.
    pub(crate) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }
}

/// Where groups are about to be sent.
#[derive(Clone, Copy)]
pub(crate) struct Destination<'a> {
    pub(crate) zone: &'a Zone,
    pub(crate) registry: &'a dyn Registry,
    /// What is published before them.
    pub(crate) published: &'a (dyn Published + Sync),
}

/// Writes the journal of one process.
pub struct JournalWriter {
    journaling: Journaling,
    clock: Clock,
    identity: WriterId,
    /// Writes to the store that failed.
    errors: Counter,
    /// The next id; larger than any that this process gave out or found.
    next: AtomicU64,
    /// Lines that are written with the next ones.
    waiting: Mutex<Vec<String>>,
    failing: AtomicBool,
    /// A failure that began and was not asked for yet.
    news: AtomicBool,
    /// Whether any change was written down.
    written: AtomicBool,
    /// Entries without an outcome, by the zone's key as text.
    open: Mutex<BTreeMap<String, Vec<Open>>>,
    /// Zones of which something was found open since their worker last looked.
    found: Mutex<BTreeSet<String>>,
}

impl std::fmt::Debug for JournalWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JournalWriter").field("journaling", &self.journaling).finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl JournalWriter {
    /// A writer that has read nothing yet. `identity` distinguishes it from every other that writes to the same store.
    pub fn new(journaling: Journaling, clock: Clock, identity: WriterId) -> Self {
        let now = u64::try_from(clock.now().0).unwrap_or(0);
        Self {
            journaling,
            clock,
            identity,
            errors: Counter::default(),
            next: AtomicU64::new(now.saturating_mul(IDS_OF_A_MILLISECOND)),
            waiting: Mutex::default(),
            failing: AtomicBool::new(false),
            news: AtomicBool::new(false),
            written: AtomicBool::new(false),
            open: Mutex::default(),
            found: Mutex::default(),
        }
    }

    /// Failed writes are counted there.
    pub(crate) fn counting(self, errors: Counter) -> Self {
        Self { errors, ..self }
    }

    /// The journal that it writes.
    pub(crate) fn journaling(&self) -> &Journaling {
        &self.journaling
    }

    /// Where changes of this process were written down, for people; `None` where none were.
    pub fn place(&self) -> Option<String> {
        self.written.load(Ordering::SeqCst).then(|| self.journaling.store.place())
    }

    /// What begins now, for a reason.
    pub fn origin(&self, cause: Cause) -> EntryOrigin {
        EntryOrigin::new(self.plan(cause.as_str()), cause)
    }

    /// A hash that names what begins now.
    pub(crate) fn plan(&self, what: &str) -> String {
        guard::hash(what, [format!("{} {}", self.identity, self.id())])
    }

    fn id(&self) -> u64 {
        self.next.fetch_add(1, Ordering::SeqCst)
    }

    /// Reads the journal: ids go on from the largest, and what an earlier process left open can be settled.
    pub(crate) async fn load(&self) {
        let place = self.journaling.store.place();
        if self.journaling.mode == Mode::Off {
            info!(place, "nothing is written to the journal");
            return;
        }
        if let Some(entries) = self.scan().await {
            info!(place, unsettled = entries.len(), "journal");
            self.take_in(&entries);
        }
    }

    /// Reads the journal as a command: what it may settle is what other commands had left open when it read the zones, which is
    /// so long ago.
    pub(crate) async fn load_beside_daemon(&self, since_reading: Duration) {
        if self.journaling.mode == Mode::Off {
            return;
        }
        let reading = self.clock.now().minus(since_reading);
        let mut entries = self.scan().await.unwrap_or_default();
        entries.retain(|entry| is_over(entry, reading));
        self.take_in(&entries);
    }

    /// The entries without outcome; `None` where the journal cannot be read, which is reported.
    async fn scan(&self) -> Option<Vec<Entry>> {
        match scan(&*self.journaling.store).await {
            Ok((largest, entries)) => {
                self.next.fetch_max(largest.saturating_add(1), Ordering::SeqCst);
                Some(entries)
            }
            Err(error) => {
                let place = self.journaling.store.place();
                warn!(
                    place,
                    error = error.chain(),
                    "the journal cannot be read; what an earlier process left unsettled in it stays so"
                );
                None
            }
        }
    }

    fn take_in(&self, entries: &[Entry]) {
        let mut open = lock(&self.open);
        for entry in entries {
            open.entry(entry.zone.clone()).or_default().push(entry.into());
        }
    }

    /// Writes down what is about to be sent.
    ///
    /// # Errors
    /// It could not be written, and nothing may be sent that is not.
    pub(crate) async fn begin(&self, to: Destination<'_>, origin: &EntryOrigin, groups: &[Group]) -> Result<Begun> {
        if self.journaling.mode == Mode::Off {
            return Ok(Begun::nothing(groups));
        }
        let entries: Vec<Option<Entry>> = groups.iter().map(|group| self.entry(to, origin, group)).collect();
        let keys = entries.iter().map(|entry| entry.as_ref().map(Entry::key)).collect();
        let lines: Vec<String> = entries.into_iter().flatten().map(|entry| Line::Change(entry).text()).collect();
        let some = !lines.is_empty();
        match self.write(lines).await {
            Ok(()) => {
                self.written.fetch_or(some, Ordering::SeqCst);
                Ok(Begun(keys))
            }
            // It was reported when it was tried.
            Err(error) => self.journaling.go_on_without(error).map(|_| Begun::nothing(groups)),
        }
    }

    fn entry(&self, to: Destination<'_>, origin: &EntryOrigin, group: &Group) -> Option<Entry> {
        let handed = Handover::of(to.registry, to.zone, group, to.published);
        let heading = || {
            let (plan, cause) = origin.of(group);
            Heading { id: self.id(), writer: self.identity, at: self.clock.now(), plan, cause }
        };
        Entry::new(heading, to.zone, group, handed)
    }

    /// Writes down what became of it.
    pub(crate) async fn end(&self, to: Destination<'_>, begun: &Begun, groups: &[Group], outcomes: &[Outcome]) {
        let mut closings = Vec::new();
        for ((key, group), outcome) in begun.0.iter().zip(groups).zip(outcomes) {
            let Some(key) = *key else { continue };
            if matches!(outcome, Outcome::Unknown(_)) {
                let handed = Handover::of(to.registry, to.zone, group, to.published);
                let open = Open { key, effects: EntryEffects { changes: group.changes().cloned().collect(), handed } };
                lock(&self.open).entry(to.zone.key.to_string()).or_default().push(open);
            }
            let error = outcome.error().map(Error::chain);
            closings.push(Closing { error, ..Closing::new(key, self.clock.now(), outcome.into()) });
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
        self.errors.inc();
        if self.failing.swap(true, Ordering::SeqCst) {
            return;
        }
        self.news.store(true, Ordering::SeqCst);
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

    /// What follows from a failure that began since this was last asked.
    pub(crate) fn new_failure(&self) -> Option<&'static str> {
        self.news.swap(false, Ordering::SeqCst).then(|| self.consequence())
    }

    /// Writes what waits, if anything does.
    pub(crate) async fn flush(&self) {
        // What fails was reported, and waits on.
        let _ = self.write(Vec::new()).await;
    }

    /// Takes note of an entry that a command left without an outcome. Returns its zone, where that was not known.
    pub(crate) fn found(&self, record: &JournalRecord) -> Option<String> {
        let settled = record.closing.as_ref().is_some_and(|closing| closing.verdict != EntryResult::Unknown);
        if settled || self.journaling.mode == Mode::Off || !is_over(&record.entry, self.clock.now()) {
            return None;
        }
        let zone = record.entry.zone.clone();
        let mut all = lock(&self.open);
        let open = all.entry(zone.clone()).or_default();
        if open.iter().any(|known| known.key == record.entry.key()) {
            return None;
        }
        open.push((&record.entry).into());
        lock(&self.found).insert(zone.clone());
        Some(zone)
    }

    /// Whether something was found open in a zone since this was last asked.
    pub(crate) fn has_found(&self, zone: &str) -> bool {
        lock(&self.found).remove(zone)
    }

    /// The names in a zone that must be read to settle what is open there.
    pub(crate) fn open_names(&self, zone: &Zone) -> BTreeSet<DnsName> {
        let open = lock(&self.open);
        open.get(&zone.key.to_string()).into_iter().flatten().flat_map(|open| open.names(zone)).cloned().collect()
    }

    /// Closes what was open in a zone and whose names have all been read: `stands` and `owner` say what stands at a key and whose
    /// that is. Returns the number of entries. What was found open meanwhile waits for the reading of its own names.
    pub(crate) async fn settle(
        &self,
        zone: &Zone,
        is_read: impl Fn(&DnsName) -> bool,
        stands: impl Fn(&RecordKey) -> Option<RecordSet>,
        owner: impl Fn(&RecordKey) -> Option<OwnerId>,
    ) -> usize {
        let open = self.take_out(zone, is_read);
        let closing = |Open { key, effects }: &Open| {
            let verdict = effects.verdict(&stands, &owner);
            Closing { found: true, ..Closing::new(*key, self.clock.now(), verdict) }
        };
        let closings: Vec<Closing> = open.iter().map(closing).collect();
        let count = closings.len();
        self.close(closings).await;
        count
    }

    /// The open entries whose names have all been read.
    fn take_out(&self, zone: &Zone, is_read: impl Fn(&DnsName) -> bool) -> Vec<Open> {
        let key = zone.key.to_string();
        let mut all = lock(&self.open);
        let open = all.remove(&key).unwrap_or_default();
        let (read, unread): (Vec<_>, Vec<_>) = open.into_iter().partition(|open| open.names(zone).all(&is_read));
        if !unread.is_empty() {
            all.insert(key, unread);
        }
        read
    }
}

/// Whether an entry without outcome is one that its command had left behind by then.
fn is_over(entry: &Entry, by: Timestamp) -> bool {
    entry.cause.is_command() && by.since(entry.at) >= PATIENCE
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
