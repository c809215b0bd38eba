//! Notes become Kubernetes Events, where `kubectl describe` shows them. In: [`Note`]s, at any rate. Out: a bounded stream of
//! POSTs (events.k8s.io/v1), and counters of what was not posted.
//!
//! What must hold: reporting never blocks; what is reported again within ten minutes is not posted again; an object has no more than
//! 25 events at once and then one in five minutes, all together no more than a burst of [`BURST`] and then 20 a second; who ends
//! waits [`LAST`] at most; no failure to post ever reaches the caller.

mod gather;
mod post;
mod recent;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;
use zonewright_core::endpoint::{Note, Reporter};

use crate::cluster::Cluster;

pub use post::EventPoster;
use recent::{Recent, Shares};

/// Notes that may wait to be posted: five minutes of work, and more than a change of every name brings.
const QUEUE: usize = 6_000;
/// Events posted at once; then 20 a second, which an API server does not notice (it lets its other clients have as much each).
const BURST: u32 = 25;
const INTERVAL: Duration = Duration::from_millis(50);
/// How long the end waits for what is still to be posted.
const LAST: Duration = Duration::from_secs(5);
/// Longest note that the API takes, in bytes.
const MAX_NOTE: usize = 1_024;

/// How events are posted.
#[derive(Debug, Clone)]
pub struct EventOptions {
    /// `--dry-run`: posts carry `dryRun=All`, so that nothing is stored.
    pub dry_run: bool,
    /// `reportingInstance`: the pod's name.
    pub instance: String,
}

/// Takes notes and queues them for the [`EventPoster`].
pub struct EventReporter {
    queue: mpsc::Sender<Note>,
    recent: Mutex<(Recent, Shares)>,
    tally: Arc<Counters>,
}

/// What became of the notes so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EventTally {
    /// Stored by the API server, or taken by it in a dry run.
    pub posted: u64,
    /// Reported again too soon, about an object without UID, or about one that had its share.
    pub skipped: u64,
    /// Lost because the queue was full.
    pub dropped: u64,
    /// Refused by the API server, or not taken after several attempts.
    pub failed: u64,
    /// Not posted when the process ended.
    pub left: u64,
}

#[derive(Debug, Default)]
struct Counters {
    posted: AtomicU64,
    skipped: AtomicU64,
    dropped: AtomicU64,
    failed: AtomicU64,
    left: AtomicU64,
}

impl EventReporter {
    /// A reporter, and the task that posts: run it for as long as notes are to be posted.
    pub fn new(cluster: &Cluster, options: EventOptions) -> (Self, EventPoster) {
        let (queue, notes) = mpsc::channel(QUEUE);
        let tally = Arc::new(Counters::default());
        let poster = EventPoster::new(cluster.clone(), options, notes, tally.clone());
        (Self { queue, recent: Mutex::default(), tally }, poster)
    }

    /// What became of the notes so far.
    pub fn tally(&self) -> EventTally {
        self.tally.read()
    }
}

impl Reporter for EventReporter {
    fn report(&self, note: &Note) {
        let now = Instant::now();
        let mut known = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let (recent, shares) = &mut *known;
        if note.object.uid.is_empty() || recent.holds(note, now) {
            Counters::count(&self.tally.skipped);
            return;
        }
        let Ok(place) = self.queue.try_reserve() else {
            // Not remembered as reported: it may come again when there is room.
            Counters::count(&self.tally.dropped);
            return;
        };
        if shares.take(note, now) {
            recent.add(note, now);
            place.send(note.clone());
        } else {
            Counters::count(&self.tally.skipped);
            tracing::debug!(object = %note.object, reason = note.reason, "event not posted: this object had {} lately", recent::OBJECT_BURST);
        }
    }
}

impl fmt::Debug for EventReporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventReporter").field("tally", &self.tally()).finish_non_exhaustive()
    }
}

impl Counters {
    fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    fn read(&self) -> EventTally {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        EventTally {
            posted: read(&self.posted),
            skipped: read(&self.skipped),
            dropped: read(&self.dropped),
            failed: read(&self.failed),
            left: read(&self.left),
        }
    }
}
