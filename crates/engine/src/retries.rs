//! The names of a zone that wait for another attempt, each by itself, and what the server refuses altogether.
//!
//! In: what became of groups, and the names that are asked for. Out: which names are to be tried now, and when the next one is.
//! What must hold: a name that was refused never shares a call with one that was not.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use zonewright_core::error::{Error, ErrorKind, Retry};
use zonewright_core::name::DnsName;

use crate::backoff::backoff;
use crate::last_attempts::{LastAttempt, LastAttempts, Obstacle};
use crate::layer::MOST_DENIED;
use crate::refusals::Refusals;

/// What is refused again and again is reported again after this time: events do not live longer.
const AGAIN: Duration = Duration::from_hours(1);

/// A name that backs off alone.
#[derive(Debug, Clone, Copy)]
struct Parked {
    until: Instant,
    attempts: u32,
    /// The server does not allow what is to be written there.
    denied: bool,
    /// The server has accepted something else since.
    proven: bool,
    /// Digest of what was reported of it, and when.
    reported: Option<(u64, Instant)>,
}

impl Parked {
    /// Until a moment, before any attempt.
    fn until(until: Instant) -> Self {
        Self { until, attempts: 0, denied: false, proven: false, reported: None }
    }
}

/// Whether a change of an object is worth an attempt in a zone that pauses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Probe {
    Now,
    /// The last one was too short a time ago.
    At(Instant),
    Never,
}

/// The names that wait for another attempt.
#[derive(Debug)]
pub(crate) struct Retries {
    /// What the jitter of pauses is drawn from.
    seed: u64,
    /// Names that were refused.
    parked: BTreeMap<DnsName, Parked>,
    /// Names that were refused before and are under way: in this turn, or back in the inbox.
    attempts: BTreeMap<DnsName, Parked>,
    refusals: Refusals,
    /// What was answered at those names, for people.
    last_attempts: Arc<LastAttempts>,
}

impl Retries {
    pub(crate) fn new(seed: u64, last_attempts: Arc<LastAttempts>) -> Self {
        let (parked, attempts) = (BTreeMap::new(), BTreeMap::new());
        Self { seed, parked, attempts, refusals: Refusals::default(), last_attempts }
    }

    /// What the server does not allow.
    pub(crate) fn refusals(&mut self) -> &mut Refusals {
        &mut self.refusals
    }

    /// Whether the zone pauses because it accepts nothing.
    pub(crate) fn is_paused(&self) -> bool {
        self.refusals.is_paused()
    }

    /// Number of names that wait.
    pub(crate) fn len(&self) -> usize {
        self.parked.len()
    }

    /// Number of names whose last answer is known.
    pub(crate) fn last_attempts(&self) -> usize {
        self.last_attempts.len()
    }

    /// Number of names that are under way again.
    pub(crate) fn under_way(&self) -> usize {
        self.attempts.len()
    }

    /// When the pause of the next name is over.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.parked.values().map(|parked| parked.until).min()
    }

    /// Whether the server refused a name before, and it is tried once more.
    pub(crate) fn is_retried(&self, name: &DnsName) -> bool {
        self.attempts.get(name).is_some_and(|parked| parked.denied)
    }

    /// The claims of a name's records cannot be written: what is in the way may go. Returns how often it was tried by now.
    pub(crate) fn unclaimed(&mut self, name: &DnsName, reason: &str) -> u32 {
        let seed = self.seed;
        self.park(name, (Obstacle::Unclaimed, reason), false, |attempts| backoff(seed, attempts + 2, Retry::Backoff))
    }

    /// What was read back at a name is not what was known. Returns how often it was tried by now.
    pub(crate) fn unconfirmed(&mut self, name: &DnsName) -> u32 {
        let seed = self.seed;
        let why = (Obstacle::Unconfirmed, "what was read back is not what was known");
        self.park(name, why, false, |attempts| backoff(seed, attempts, Retry::Backoff))
    }

    /// It is not known how the provider would publish a name.
    pub(crate) fn unadjusted(&mut self, name: &DnsName, error: &Error) {
        let (seed, retry) = (self.seed, error.retry);
        let why = (Obstacle::Unadjusted, &*error.chain());
        self.park(name, why, false, |attempts| backoff(seed, attempts, retry));
    }

    /// A name was refused. Returns how often by now.
    pub(crate) fn refused(&mut self, name: &DnsName, error: &Error) -> u32 {
        let seed = self.seed;
        let why = (Obstacle::Refused, &*error.chain());
        self.park(name, why, error.kind == ErrorKind::Unauthorized, |attempts| match (error.kind, error.retry) {
            // The names are read again and planned from what stands there: at once, the first time.
            (ErrorKind::Conflict, _) if attempts == 1 => Duration::ZERO,
            (_, Retry::Never) => Duration::from_hours(1),
            (_, retry) => backoff(seed, attempts + 2, retry),
        })
    }

    /// A name is not to be changed before a moment.
    pub(crate) fn rest_until(&mut self, name: &DnsName, until: Instant) {
        self.parked.insert(name.clone(), Parked { attempts: 1, ..Parked::until(until) });
    }

    fn park(
        &mut self,
        name: &DnsName,
        (obstacle, error): (Obstacle, &str),
        denied: bool,
        pause: impl FnOnce(u32) -> Duration,
    ) -> u32 {
        let former = self.attempts.get(name).copied().unwrap_or_else(|| Parked::until(Instant::now()));
        let attempts = former.attempts + 1;
        let until = Instant::now() + pause(attempts);
        self.parked.insert(name.clone(), Parked { until, attempts, denied, ..former });
        self.last_attempts.note(name, LastAttempt { obstacle, error: error.to_owned(), attempts, until });
        attempts
    }

    /// Whether this was not reported of the name lately; from now on it was.
    pub(crate) fn is_news(&mut self, name: &DnsName, headline: &str, error: &Error) -> bool {
        let mut hasher = DefaultHasher::new();
        (headline, error.kind).hash(&mut hasher);
        let digest = hasher.finish();
        let Some(parked) = self.parked.get_mut(name) else { return true };
        let known = parked.reported.is_some_and(|(reported, at)| reported == digest && at.elapsed() < AGAIN);
        if !known {
            parked.reported = Some((digest, Instant::now()));
        }
        !known
    }

    /// The server accepted an update. What it refused before is from now on the names' own affair; after a pause each of them is
    /// tried again soon.
    pub(crate) fn accepted(&mut self) {
        let now = Instant::now();
        let paused = self.is_paused();
        for parked in self.parked.values_mut().filter(|parked| parked.denied) {
            parked.proven = true;
            if paused {
                parked.until = now;
            }
        }
        self.attempts.values_mut().for_each(|parked| parked.proven = true);
        self.refusals = Refusals::default();
    }

    /// Whether a name that the server does not allow waits alone; else it waits for the zone. `accepted`: others were accepted in the
    /// same call.
    pub(crate) fn waits_alone(&self, name: &DnsName, accepted: bool) -> bool {
        self.is_proven(name, accepted) || !self.refusals.is_over()
    }

    fn is_proven(&self, name: &DnsName, accepted: bool) -> bool {
        accepted || self.attempts.get(name).is_some_and(|former| former.proven)
    }

    /// The server does not allow a name, which waits alone from now on. Returns how often it was refused by now, and whether it should
    /// be read: where nothing can be read either, the name is not to blame.
    pub(crate) fn denied(&mut self, name: &DnsName, error: &Error, accepted: bool) -> (u32, bool) {
        let proven = self.is_proven(name, accepted);
        if !proven {
            self.refusals.denied(name, error);
        }
        let first = !self.attempts.contains_key(name);
        let attempts = self.refused(name, error);
        if let Some(parked) = self.parked.get_mut(name) {
            parked.proven = proven;
        }
        (attempts, first && !proven)
    }

    /// What still concerns the zone after a round that went well: it pauses on while names that were refused wait, and none was
    /// accepted.
    pub(crate) fn still_refusing(&mut self) -> Option<Error> {
        let waits = self.parked.values().any(|parked| parked.denied && !parked.proven);
        let problem = self.refusals.pause().filter(|_| waits);
        if problem.is_none() && self.is_paused() {
            self.refusals = Refusals::default();
        }
        problem
    }

    /// The zone cannot be read, or fails otherwise: what it refused right before was not because of the names. They go with all others
    /// when it works again; returns them.
    pub(crate) fn blame_zone(&mut self) -> Vec<DnsName> {
        if self.is_paused() {
            return Vec::new();
        }
        let (denied, others): (BTreeMap<_, _>, _) =
            std::mem::take(&mut self.parked).into_iter().partition(|(_, parked)| parked.denied && !parked.proven);
        self.parked = others;
        self.refusals = Refusals::default();
        let names = denied.keys().cloned().collect();
        self.attempts.extend(denied);
        names
    }

    /// Whether an object that `changed` in a zone that pauses because it accepts nothing is worth an attempt at once.
    pub(crate) fn probe(&self, changed: bool) -> Probe {
        let now = Instant::now();
        let soonest = self.refusals.next_attempt(now);
        match (self.is_paused() && changed, soonest > now) {
            (false, _) => Probe::Never,
            (true, true) => Probe::At(soonest),
            (true, false) => Probe::Now,
        }
    }

    /// A source changed a name: whatever was refused there is tried at once.
    pub(crate) fn changed(&mut self, name: &DnsName) {
        self.parked.remove(name);
        self.attempts.remove(name);
    }

    /// Which names a source changed is not known.
    pub(crate) fn all_changed(&mut self) {
        self.parked.clear();
    }

    /// Whether a name waits.
    pub(crate) fn holds_back(&self, name: &DnsName) -> bool {
        self.parked.contains_key(name)
    }

    /// Whether the pause of a name is over.
    pub(crate) fn is_any_due(&self, now: Instant) -> bool {
        self.parked.values().any(|parked| parked.until <= now)
    }

    /// Takes the names whose turn it is; they are under way from now on. Of those that were refused at most so many as are probed in
    /// an attempt, the longest waiting first; `others` new names go before them. In a zone that pauses it is not their own pause
    /// that counts.
    pub(crate) fn take_due(&mut self, others: usize, early: bool) -> Vec<DnsName> {
        let names = self.due(others, early);
        for name in &names {
            if let Some(parked) = self.parked.remove(name) {
                self.attempts.insert(name.clone(), parked);
            }
        }
        names
    }

    fn due(&self, others: usize, early: bool) -> Vec<DnsName> {
        let now = Instant::now();
        let paused = self.is_paused();
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

    /// Forgets the former attempts of names that are not under way any more.
    pub(crate) fn retain(&mut self, under_way: impl Fn(&DnsName) -> bool) {
        self.attempts.retain(|name, _| under_way(name));
        self.last_attempts.retain(|name| self.parked.contains_key(name) || self.attempts.contains_key(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zonewright_core::testing::name;

    fn denial() -> Error {
        Error::new(ErrorKind::Unauthorized, "update", "REFUSED")
    }

    fn named(n: usize) -> DnsName {
        name(&format!("n{n}.example"))
    }

    #[tokio::test(start_paused = true)]
    async fn a_name_backs_off_alone_and_a_changed_one_is_tried_at_once() {
        let mut retries = Retries::new(1, Arc::default());
        let error = Error::new(ErrorKind::Invalid, "update", "bad");
        assert_eq!(retries.refused(&named(1), &error), 1);
        assert!(retries.holds_back(&named(1)) && !retries.is_any_due(Instant::now()));
        assert_eq!(retries.take_due(0, false), []);
        tokio::time::advance(Duration::from_hours(1)).await;
        assert_eq!(retries.take_due(0, false), [named(1)]);
        assert_eq!(retries.refused(&named(1), &error), 2, "the attempts are counted on");
        assert_eq!(retries.last_attempts.at(&named(1)).map(|trouble| trouble.attempts), Some(2));
        retries.changed(&named(1));
        retries.retain(|_| true);
        assert_eq!((retries.len(), retries.under_way(), retries.last_attempts()), (0, 0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_conflict_is_read_again_at_once_the_first_time() {
        let mut retries = Retries::new(1, Arc::default());
        let conflict = Error::new(ErrorKind::Conflict, "update", "NXRRSET");
        retries.refused(&named(1), &conflict);
        assert_eq!(retries.take_due(0, false), [named(1)]);
        retries.refused(&named(1), &conflict);
        assert_eq!(retries.take_due(0, false), []);
    }

    #[tokio::test(start_paused = true)]
    async fn many_refusals_in_a_row_pause_the_zone_and_one_accepted_update_ends_it() {
        let mut retries = Retries::new(1, Arc::default());
        for n in 0..MOST_DENIED {
            assert!(retries.still_refusing().is_none());
            assert!(retries.waits_alone(&named(n), false));
            assert_eq!(retries.denied(&named(n), &denial(), false), (1, true), "the first time it is read");
        }
        assert!(retries.is_paused() && retries.refusals().verdict().is_some());
        assert!(!retries.waits_alone(&named(99), false));
        assert_eq!(retries.probe(false), Probe::Never);
        assert_eq!(retries.probe(true), Probe::Now);
        retries.refusals().begin();
        assert!(matches!(retries.probe(true), Probe::At(_)));
        assert_eq!(retries.take_due(0, true), [], "new names first");
        retries.accepted();
        assert!(!retries.is_paused());
        assert_eq!(retries.take_due(0, false).len(), MOST_DENIED, "each is tried again soon");
        assert!(retries.is_retried(&named(0)));
        assert!(retries.waits_alone(&named(0), false), "from now on it is the names' own affair");
    }

    #[tokio::test(start_paused = true)]
    async fn a_zone_that_fails_takes_the_blame() {
        let mut retries = Retries::new(1, Arc::default());
        retries.denied(&named(1), &denial(), false);
        retries.denied(&named(2), &denial(), true);
        assert_eq!(retries.blame_zone(), [named(1)], "the other was refused where others were accepted");
        assert_eq!((retries.len(), retries.under_way()), (1, 1));
    }
}
