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
mod journaling;
mod line;
mod memory;
mod origin;
mod query;
mod terms;
mod transfer;
mod unsettled;
mod writer;

pub use entry::{Cause, Closing, Entry, EntryKey, EntryResult, EntryStep, WriterId};
pub use fold::{Fold, Folded, Span, UndoRefusal};
pub use folder::{FolderJournal, FolderLimits};
pub use handover::{Handover, owner_of};
pub use journaling::{Journaling, Mode};
pub use line::{Line, VERSION};
pub use memory::MemoryJournal;
pub use origin::EntryOrigin;
pub use query::{JournalReach, JournalRecord, Query, last, read, scan};
pub use terms::ClaimTerms;
pub use writer::JournalWriter;
pub(crate) use writer::{Begun, Destination};
