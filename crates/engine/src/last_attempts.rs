//! What was answered at names that wait for another attempt: for whoever asks why a name is not there.
//!
//! In: what the worker of a zone parks. Out: the last answer at a name, in its own words, and when it is tried again. What must hold: a
//! name has an entry only as long as its worker remembers it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;
use zonewright_core::name::DnsName;

/// What kept a name from being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// The provider refused it.
    Refused,
    /// Its claim cannot be written.
    Unclaimed,
    /// What was read back is not what was known.
    Unconfirmed,
    /// The provider cannot say how it would publish it.
    Unadjusted,
}

/// The last attempt at a name.
#[derive(Debug, Clone)]
pub(crate) struct LastAttempt {
    pub(crate) obstacle: Obstacle,
    /// What was answered.
    pub(crate) error: String,
    pub(crate) attempts: u32,
    /// When it is tried again.
    pub(crate) until: Instant,
}

/// The last failed attempts in a zone by name, shared by its worker and those who ask.
#[derive(Debug, Default)]
pub(crate) struct LastAttempts(Mutex<BTreeMap<DnsName, LastAttempt>>);

impl LastAttempts {
    fn all(&self) -> MutexGuard<'_, BTreeMap<DnsName, LastAttempt>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the last attempt at a name.
    pub(crate) fn note(&self, name: &DnsName, attempt: LastAttempt) {
        self.all().insert(name.clone(), attempt);
    }

    /// The last attempt at a name, if it waits for another one.
    pub(crate) fn at(&self, name: &DnsName) -> Option<LastAttempt> {
        self.all().get(name).cloned()
    }

    /// Forgets the names of which `waits` knows nothing any more.
    pub(crate) fn retain(&self, waits: impl Fn(&DnsName) -> bool) {
        self.all().retain(|name, _| waits(name));
    }

    /// Number of names.
    pub(crate) fn len(&self) -> usize {
        self.all().len()
    }
}
