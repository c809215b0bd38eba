//! One line of the journal, between text and what it says.

use serde::{Deserialize, Serialize};
use zonewright_core::clock::Timestamp;

use super::entry::{Closing, Entry, EntryKey, WriterId};

/// The version of the form of a line.
pub const VERSION: u32 = 1;

/// One line of the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// A change that is about to be sent.
    Change(Entry),
    /// What became of one.
    Outcome(Closing),
}

#[derive(Serialize)]
struct Envelope<'a, T> {
    v: u32,
    kind: &'a str,
    #[serde(flatten)]
    content: &'a T,
}

/// What every line says at least.
#[derive(Deserialize)]
pub(super) struct Head {
    pub(super) v: u32,
    pub(super) kind: HeadKind,
    pub(super) id: u64,
    #[serde(default)]
    pub(super) writer: Option<WriterId>,
    pub(super) at: Timestamp,
}

#[derive(Deserialize, PartialEq, Eq, Clone, Copy)]
#[serde(rename_all = "lowercase")]
pub(super) enum HeadKind {
    Change,
    Outcome,
}

impl Line {
    /// The line without a line break.
    pub fn text(&self) -> String {
        let text = match self {
            Self::Change(entry) => serde_json::to_string(&Envelope { v: VERSION, kind: "change", content: entry }),
            Self::Outcome(closing) => {
                serde_json::to_string(&Envelope { v: VERSION, kind: "outcome", content: closing })
            }
        };
        text.expect("texts, numbers and maps with text keys can be written as JSON")
    }

    /// Reads a line; `None` if it is torn, foreign, or of a later version.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let head = Head::parse(text)?;
        match head.kind {
            HeadKind::Change => serde_json::from_slice(text).ok().map(Self::Change),
            HeadKind::Outcome => serde_json::from_slice(text).ok().map(Self::Outcome),
        }
    }
}

impl Head {
    pub(super) fn key(&self) -> EntryKey {
        EntryKey { id: self.id, writer: self.writer }
    }

    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        serde_json::from_slice::<Self>(text).ok().filter(|head| head.v == VERSION)
    }
}
