//! Updates that a server does not allow while the zone can be read: whether the zone pauses for it.
//!
//! In: the names of groups that were refused. Out: the error that concerns the zone, if any. A server that allows some names and not
//! others (an update policy) says so with the same answer as one that allows nothing. So the names wait, each for itself; only when
//! [`MOST_DENIED`] updates in a row were refused and none accepted, the zone pauses. Then every attempt probes so many at most,
//! one by one, those that were never tried first. The first one that is accepted ends it, and from then on the names that were
//! refused before count no more: that they are refused is their own affair.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::Instant;
use zonewright_core::error::Error;
use zonewright_core::name::DnsName;

use crate::layer::MOST_DENIED;

/// Attempts that a change of an object brings about in a zone that pauses are at least so far apart.
const APART: Duration = Duration::from_secs(1);

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
    pub(crate) fn is_over(&self) -> bool {
        self.paused && self.probed >= MOST_DENIED
    }

    /// An attempt begins.
    pub(crate) fn begin(&mut self) {
        if self.paused {
            self.probed = 0;
            self.attempted = Some(Instant::now());
        }
    }

    /// The server does not allow what is to be written at a name.
    pub(crate) fn denied(&mut self, name: &DnsName, error: &Error) {
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
        self.last.as_ref().filter(|_| self.is_over()).map(in_a_row)
    }

    /// What the zone pauses for, if it pauses.
    pub(crate) fn pause(&self) -> Option<Error> {
        self.last.as_ref().filter(|_| self.paused).map(in_a_row)
    }

    /// Whether this pause was not reported yet; from now on it was.
    pub(crate) fn is_news(&mut self) -> bool {
        !std::mem::replace(&mut self.said, true)
    }

    /// The soonest moment of another attempt within the pause.
    pub(crate) fn next_attempt(&self, now: Instant) -> Instant {
        self.attempted.map_or(now, |at| at + APART)
    }
}

fn in_a_row(last: &Error) -> Error {
    let context =
        format!("{MOST_DENIED} updates in a row were refused and none was accepted, the last one: {}", last.context);
    Error::new(last.kind, last.operation, context).retry(last.retry)
}
