//! The journal: what was changed, with what stood there before, so that it can be shown and undone.
//!
//! In: entries right before changes are sent, and outcomes after. Out: both again, the newest first. It is only ever
//! appended to. What must hold: an entry is durable before its change is sent, so that whatever a crash leaves behind is
//! known; an entry without an outcome is no proof of anything until its names were read. Ids grow over restarts. Readers
//! keep one piece of text at a time, however long the journal is.
//!
//! A line is one JSON object; `v` is the version of its form, `kind` is `change` or `outcome`.

mod entry;
mod fold;
#[cfg(test)]
mod fold_tests;
mod folder;
mod handover;
mod line;
mod memory;
mod query;
mod scribe;
mod transfer;
mod unsettled;

use std::sync::Arc;

use zonewright_core::error::{Error, ErrorKind, Result};
use zonewright_core::store::JournalStore;

pub(crate) use entry::Heading;
pub use entry::{Cause, Closing, Entry, EntryStep, Verdict};
pub use fold::{Fold, Folded, Span, Terms, UndoRefusal};
pub use folder::{FolderJournal, Limits};
pub(crate) use handover::line;
pub use handover::{Handover, owner_of};
pub use line::Line;
use line::{Head, HeadKind};
pub use memory::MemoryJournal;
pub use query::{JournalRecord, Query, Reach, last, read, scan};
pub use scribe::Scribe;
pub(crate) use scribe::{IDS_OF_A_MILLISECOND, Standing, is_over};
pub use transfer::OwnershipTransfer;
pub(crate) use unsettled::EntryEffects;

/// The version of the form of a line.
pub const VERSION: u32 = 1;

/// What is done where the journal cannot be written (`--journal`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Nothing is sent that is not in the journal.
    Required,
    /// It is reported, and changes go on.
    #[default]
    BestEffort,
    /// Nothing is written.
    Off,
}

impl Mode {
    /// The words of `--journal`.
    pub const WORDS: &'static [&'static str] = &["required", "best-effort", "off"];

    /// The mode of a word.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "required" => Some(Self::Required),
            "best-effort" => Some(Self::BestEffort),
            "off" => Some(Self::Off),
            _ => None,
        }
    }
}

/// Where a journal is kept, and how much depends on it.
#[derive(Clone)]
pub struct Journaling {
    /// The place.
    pub store: Arc<dyn JournalStore>,
    /// What is done where it cannot be written.
    pub mode: Mode,
}

impl Journaling {
    /// What follows from an entry that could not be written: where the journal may do without, the error comes back to be
    /// reported.
    ///
    /// # Errors
    /// Nothing may be sent that is not written down.
    pub(crate) fn go_on_without(&self, error: Error) -> Result<Error> {
        if self.mode != Mode::Required {
            return Ok(error);
        }
        let text =
            format!("nothing is sent while the journal cannot be written (--journal=required): {}", error.chain());
        Err(Error::new(ErrorKind::Unavailable, "write the journal", text).retry(error.retry))
    }
}

impl Default for Journaling {
    /// In memory, as far as it goes.
    fn default() -> Self {
        Self { store: Arc::new(MemoryJournal::default()), mode: Mode::default() }
    }
}

impl std::fmt::Debug for Journaling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Journaling").field("place", &self.store.place()).field("mode", &self.mode).finish()
    }
}
