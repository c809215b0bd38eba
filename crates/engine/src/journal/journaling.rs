//! Where a journal is kept, and how much depends on it.

use std::sync::Arc;

use zonewright_core::error::{Error, ErrorKind, Result};
use zonewright_core::store::JournalStore;

use super::memory::MemoryJournal;

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
    /// Where the lines are kept.
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
