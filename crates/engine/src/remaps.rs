//! Objects that sources map again because a zone was read, and whether the intake has taken that over.

use std::sync::atomic::{AtomicU64, Ordering};

/// How often sources learned that a zone was read, and how much of that the intake has taken over since.
#[derive(Debug, Default)]
pub(crate) struct Remaps {
    reported: AtomicU64,
    taken: AtomicU64,
}

impl Remaps {
    /// Something will be mapped again.
    pub(crate) fn report(&self) {
        self.reported.fetch_add(1, Ordering::SeqCst);
    }

    /// What was reported so far, to be handed to [`Remaps::take`] after the next look at the sources.
    pub(crate) fn reported(&self) -> u64 {
        self.reported.load(Ordering::SeqCst)
    }

    pub(crate) fn take(&self, reported: u64) {
        self.taken.store(reported, Ordering::SeqCst);
    }

    /// Whether something is still to be taken over.
    pub(crate) fn is_open(&self) -> bool {
        self.reported() != self.taken.load(Ordering::SeqCst)
    }
}
