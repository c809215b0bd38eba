//! What an undo would do, what a worker is asked to do for it, and what became of it.

use std::time::Duration;

use tokio::sync::oneshot;
use zonewright_core::clock::Timestamp;
use zonewright_core::name::DnsName;

use crate::journal::{Folded, JournalReach, Query};

/// What shall be undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoRequest {
    /// The entries; a name in it has no effect.
    pub query: Query,
    /// How long the names shall be pinned.
    pub pin_for: Duration,
}

/// What an undo would do in one zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoZone {
    /// The zone, by its key as text.
    pub zone: String,
    /// What goes back.
    pub(super) folded: Vec<Folded>,
    /// The changes of records and claims as lines, `+`, `~` or `-` first, and claims that change hands as
    /// `claim of NAME TYPE: owner X -> Y`.
    pub changes: Vec<String>,
    /// What stays as it is: the name, and why.
    pub skipped: Vec<(String, String)>,
    /// Names that go back to what another writer made of them.
    pub cut: Vec<DnsName>,
}

/// A plan to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoPlan {
    /// Names the plan; entries of the journal carry it afterwards.
    pub hash: String,
    /// What happens in each zone.
    pub zones: Vec<UndoZone>,
    /// How long the names will be pinned.
    pub pin_for: Duration,
    /// How far back the journal goes.
    pub reach: JournalReach,
    /// Whether nothing would be sent.
    pub dry_run: bool,
}

impl UndoPlan {
    /// Number of groups that go back.
    pub fn len(&self) -> usize {
        self.zones.iter().map(|zone| zone.folded.len()).sum()
    }

    /// Whether nothing goes back.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What became of an undo.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UndoReport {
    /// Names that were set back.
    pub restored: Vec<DnsName>,
    /// What was not, and why.
    pub failed: Vec<(String, String)>,
    /// What would have been sent, if this were no dry run.
    pub dry: usize,
    /// Why the pins may be forgotten at a restart, if they may.
    pub unsaved: Option<String>,
}

impl UndoReport {
    pub(super) fn join(&mut self, other: Self) {
        self.restored.extend(other.restored);
        self.failed.extend(other.failed);
        self.dry += other.dry;
        self.unsaved = self.unsaved.take().or(other.unsaved);
    }
}

/// What a worker is asked to do.
#[derive(Debug)]
pub(crate) struct Order {
    pub(super) plan: String,
    pub(super) until: Timestamp,
    pub(super) folded: Vec<Folded>,
    pub(super) done: oneshot::Sender<UndoReport>,
}
