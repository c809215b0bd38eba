//! Updates that a server does not allow while the zone can be read: whose trouble that is, and when they are tried again.
//!
//! In: what became of groups. Out: whether a name waits alone, or the zone pauses. A server that allows some names and not others
//! (an update policy) says so with the same answer as one that allows nothing. So the names wait, each for itself; only when
//! [`MOST_DENIED`] updates in a row were refused and none accepted, the zone pauses. Then every attempt probes so many at most,
//! one by one, those that were never tried first. The first one that is accepted ends it, and from then on the names that were
//! refused before count no more: that they are refused is their own affair.
//!
//! What must hold: a name that was refused never shares a call with one that was not.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use tokio::time::Instant;
use tracing::{debug, warn};
use zonewright_core::change::{Group, Outcome};
use zonewright_core::endpoint::{Note, shortened};
use zonewright_core::error::{Error, ErrorKind, Retry};
use zonewright_core::name::DnsName;

use crate::announce::Announcement;
use crate::context::EngineContext;
use crate::journal_sending::{self, Origin};
use crate::layer::MOST_DENIED;
use crate::provider_instance::ProviderInstance;
use crate::worker::{Parked, Worker};
use crate::write_through::park;
use crate::zone_handle::ZoneHandle;

/// What is refused again and again is reported again after this time: events do not live longer.
const AGAIN: Duration = Duration::from_hours(1);

/// Attempts that a change of an object brings about in a zone that pauses are at least so far apart.
const APART: Duration = Duration::from_secs(1);

/// Bytes of a group's headline in events.
const HEADLINE: usize = 300;

/// What is known of a zone that does not allow updates.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    /// The names that were refused since something was accepted; [`MOST_DENIED`] of them at most.
    names: BTreeSet<DnsName>,
    /// The zone paused, and nothing was accepted since.
    paused: bool,
    /// What was refused in this attempt, in a zone that pauses.
    probed: usize,
    /// It was said so.
    said: bool,
    last: Option<Error>,
    attempted: Option<Instant>,
}

impl Refusals {
    /// Whether the zone pauses because it accepts nothing.
    pub(crate) fn is_paused(&self) -> bool {
        self.paused
    }

    /// Whether no more is to be tried now.
    fn is_over(&self) -> bool {
        self.paused && self.probed >= MOST_DENIED
    }

    /// An attempt begins.
    pub(crate) fn begin(&mut self) {
        if self.paused {
            self.probed = 0;
            self.attempted = Some(Instant::now());
        }
    }

    fn denied(&mut self, name: &DnsName, error: &Error) {
        self.last = Some(error.clone());
        if self.paused {
            self.probed += 1;
            return;
        }
        // A name that is tried again and again is one name.
        self.names.insert(name.clone());
        if self.names.len() >= MOST_DENIED {
            (self.paused, self.probed) = (true, MOST_DENIED);
        }
    }

    /// What concerns the zone after a call, if anything does.
    pub(crate) fn verdict(&self) -> Option<Error> {
        let last = self.last.as_ref().filter(|_| self.is_over())?;
        Some(in_a_row(last))
    }

    /// Whether this pause was not reported yet; from now on it was.
    pub(crate) fn is_news(&mut self) -> bool {
        !std::mem::replace(&mut self.said, true)
    }
}

fn in_a_row(last: &Error) -> Error {
    let context =
        format!("{MOST_DENIED} updates in a row were refused and none was accepted, the last one: {}", last.context);
    Error::new(last.kind, last.operation, context).retry(last.retry)
}

impl Worker {
    /// Whether a name was refused before, and is tried once more.
    pub(crate) fn is_retried(&self, name: &DnsName) -> bool {
        self.attempts.get(name).is_some_and(|parked| parked.denied)
    }

    /// The server accepted an update. What it refused before is from now on the names' own affair; after a pause each of them is
    /// tried again soon.
    pub(crate) fn accepted(&mut self) {
        let paused = self.refusals.paused;
        let now = Instant::now();
        for parked in self.parked.values_mut().filter(|parked| parked.denied) {
            parked.proven = true;
            if paused {
                parked.until = now;
            }
        }
        self.attempts.values_mut().for_each(|parked| parked.proven = true);
        self.refusals = Refusals::default();
    }

    /// The server does not allow a group. `proven`: it accepted others in the same call. Returns whether the name waits alone;
    /// else it waits for the zone.
    pub(crate) fn denied(&mut self, group: &Group, error: &Error, proven: bool) -> bool {
        let former = self.attempts.get(&group.name);
        let proven = proven || former.is_some_and(|former| former.proven);
        if !proven && self.refusals.is_over() {
            return false;
        }
        if !proven {
            // Where nothing can be read either, it is no trouble of the name.
            if former.is_none() {
                self.unsure.insert(group.name.clone());
            }
            self.refusals.denied(&group.name, error);
        }
        refused(self, group, error);
        if let Some(parked) = self.parked.get_mut(&group.name) {
            parked.proven = proven;
        }
        true
    }

    /// What still concerns the zone after a round that went well: it pauses on while names that were refused wait, and none was
    /// accepted.
    pub(crate) fn still_refusing(&mut self) -> Option<Error> {
        let waits = self.parked.values().any(|parked| parked.denied && !parked.proven);
        let last = self.refusals.last.as_ref().filter(|_| self.refusals.paused && waits);
        let problem = last.map(in_a_row);
        if problem.is_none() && self.refusals.paused {
            self.refusals = Refusals::default();
        }
        problem
    }

    /// The zone cannot be read, or fails otherwise: what it refused right before was not the names' trouble. They go with all others
    /// when it works again.
    pub(crate) fn blame_zone(&mut self) {
        if self.refusals.paused {
            return;
        }
        let (denied, others) =
            std::mem::take(&mut self.parked).into_iter().partition(|(_, parked)| parked.denied && !parked.proven);
        self.parked = others;
        let now = Instant::now();
        for (name, parked) in denied {
            self.handle.inbox.put_back([(name.clone(), now)]);
            self.attempts.insert(name, parked);
        }
        self.refusals = Refusals::default();
    }

    /// Whether an object changed in a zone that pauses because it accepts nothing: that is worth an attempt at once. If it comes too
    /// soon after the last one, the pause ends earlier.
    pub(crate) fn may_probe(&mut self) -> bool {
        if !self.refusals.paused || !self.handle.inbox.has_fresh() {
            return false;
        }
        let now = Instant::now();
        let soonest = self.refusals.attempted.map_or(now, |at| at + APART);
        if soonest > now {
            self.wake = Some(soonest);
        }
        soonest <= now
    }

    /// The parked names whose turn it is. Of those that were refused at most so many as are probed in an attempt, the longest waiting
    /// first; `others` new names go before them. In a zone that pauses it is not their own pause that counts.
    pub(crate) fn due(&self, others: usize, early: bool) -> Vec<DnsName> {
        let now = Instant::now();
        let paused = self.refusals.paused;
        let is_due = |parked: &Parked| parked.until <= now || parked.denied && paused;
        let (mut denied, mut due): (Vec<_>, Vec<_>) =
            self.parked.iter().filter(|(_, parked)| is_due(parked)).partition(|(_, parked)| parked.denied);
        denied.sort_by_key(|(_, parked)| parked.until);
        let room = match (paused, early) {
            (true, true) => 0,
            (true, false) => MOST_DENIED.saturating_sub(others),
            (false, _) => MOST_DENIED,
        };
        denied.truncate(room);
        due.extend(denied);
        due.into_iter().map(|(name, _)| name.clone()).collect()
    }
}

/// The group backs off alone. It is reported once, and again when it is refused for another reason.
pub(crate) fn refused(worker: &mut Worker, group: &Group, error: &Error) {
    let seed = worker.context.seed;
    let denied = error.kind == ErrorKind::Unauthorized;
    let attempts = park(worker, &group.name, denied, |attempts| match (error.kind, error.retry) {
        // The names are read again and planned from what stands there: at once, the first time.
        (ErrorKind::Conflict, _) if attempts == 1 => Duration::ZERO,
        (_, Retry::Never) => Duration::from_hours(1),
        (_, retry) => crate::backoff::backoff(seed, attempts + 2, retry),
    });
    // A set of thousands of values is not shown whole.
    let headline = group.headline();
    let headline = shortened(&headline, HEADLINE);
    if !is_news(worker, group, &headline, error) {
        debug!(zone = %worker.handle.zone.name, error = error.chain(), attempts, "refused again: {headline}");
        return;
    }
    if group.objects.is_empty() {
        warn!(zone = %worker.handle.zone.name, error = error.chain(), attempts, "refused: {headline}");
    } else {
        // The line about the object says the same.
        debug!(zone = %worker.handle.zone.name, error = error.chain(), attempts, "refused: {headline}");
    }
    let text = format!("{headline} was refused: {}", error.chain());
    let named = worker.context.config.announce.contains(&Announcement::RecordError);
    let reason = if named { Announcement::RecordError.as_str() } else { "RecordRefused" };
    worker.context.report(group.objects.iter().map(|object| Note::warning(object, reason, text.clone())));
}

/// Whether this was not reported of the name lately; from now on it was.
fn is_news(worker: &mut Worker, group: &Group, headline: &str, error: &Error) -> bool {
    let mut hasher = DefaultHasher::new();
    (headline, error.kind).hash(&mut hasher);
    let digest = hasher.finish();
    let Some(parked) = worker.parked.get_mut(&group.name) else { return true };
    let known = parked.reported.is_some_and(|(reported, at)| reported == digest && at.elapsed() < AGAIN);
    if !known {
        parked.reported = Some((digest, Instant::now()));
    }
    !known
}

/// Sends groups one by one, until the outcome of one is unknown. One outcome for each, in order.
pub(crate) async fn probe(
    context: &EngineContext,
    instance: &ProviderInstance,
    handle: &ZoneHandle,
    origin: &Origin,
    groups: &[Group],
) -> Vec<Outcome> {
    let mut outcomes: Vec<Outcome> = Vec::new();
    for group in groups {
        let stop = outcomes.last().and_then(|last| match last {
            Outcome::NotSent(error) | Outcome::Unknown(error) => Some(error.clone()),
            Outcome::Applied | Outcome::Refused { .. } => None,
        });
        match stop {
            Some(error) => outcomes.push(Outcome::NotSent(error)),
            None => outcomes
                .extend(journal_sending::send(context, instance, handle, origin, std::slice::from_ref(group)).await),
        }
    }
    outcomes
}
