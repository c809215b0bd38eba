//! The last changes, for people who look: `demo`, pages, and commands.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use zonewright_core::clock::Timestamp;
use zonewright_core::endpoint::ObjectRef;

/// What happened to one group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecentChange {
    /// When.
    pub at: Timestamp,
    /// In which zone.
    pub zone: String,
    /// The changes of records, in the form of [`zonewright_core::change::Change`]'s display.
    pub changes: Vec<String>,
    /// `applied`, `refused`, `not_sent` or `unknown`.
    pub outcome: &'static str,
    /// The error, if there was one.
    pub error: Option<String>,
    /// The objects behind it.
    pub objects: Vec<ObjectRef>,
}

/// The last changes, in a ring of 256.
#[derive(Debug, Default)]
pub struct RecentChanges {
    entries: Mutex<VecDeque<RecentChange>>,
}

const LENGTH: usize = 256;

impl RecentChanges {
    pub(crate) fn push(&self, entry: RecentChange) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() == LENGTH {
            entries.pop_front();
        }
        entries.push_back(entry);
    }

    /// The last entries, the newest first.
    pub fn last(&self, count: usize) -> Vec<RecentChange> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).iter().rev().take(count).cloned().collect()
    }
}
