//! The journal: what was changed, with what stood there before, so that it can be told and undone.
//!
//! In: entries right before changes are sent, and outcomes after. Out: both again, the newest first. It is only ever
//! appended to. What must hold: an entry is durable before its change is sent, so that whatever a crash leaves behind is
//! known; an entry without an outcome is no proof of anything until its names were read. Ids grow over restarts. Readers
//! keep one piece of text at a time, however long the journal is.
//!
//! A line is one JSON object; `v` is the version of its form, `kind` is `change` or `outcome`.

mod fold;
#[cfg(test)]
mod fold_tests;
mod folder;
mod handover;
mod memory;
mod passed;
mod query;
mod scribe;
mod settle;

use std::ops::ControlFlow;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

pub use fold::{Fold, Folded, Misfit, Span, Terms};
pub use folder::{FolderJournal, Limits};
pub(crate) use handover::line;
pub use handover::{Handover, owner_of};
pub use memory::MemoryJournal;
pub use passed::Passed;
pub use query::{Query, Reach, Told, last, read, scan};
pub use scribe::Scribe;
pub(crate) use scribe::{IDS_OF_A_MILLISECOND, Standing, is_over};
pub(crate) use settle::Deeds;

use crate::change::{Change, Group, Outcome, Role, Step};
use crate::clock::Timestamp;
use crate::endpoint::ObjectRef;
use crate::error::{Error, ErrorKind, Result};
use crate::name::DnsName;
use crate::record::{RecordKey, RecordSet};
use crate::zone::Zone;

/// The version of the form of a line.
pub const VERSION: u32 = 1;

/// What is done where the journal cannot be written (`--journal`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Nothing is sent that is not in the journal.
    Required,
    /// It is told, and changes go on.
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
    /// told.
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

/// What takes in pieces of text: whole lines, in the order in which they were written.
pub type Visitor<'a> = dyn FnMut(&[u8]) -> ControlFlow<()> + Send + 'a;

/// A place that lines are appended to.
#[async_trait]
pub trait JournalStore: Send + Sync {
    /// Appends lines, none of which holds a line break. They are durable when this returns; where it fails, a part of them
    /// may be, but never a part of one.
    ///
    /// # Errors
    /// Whatever keeps them from being kept: no room, no right, no answer.
    async fn append(&self, lines: &[String]) -> Result<()>;

    /// Gives everything that is kept to `visit`, in pieces, the newest piece first, until it breaks off.
    ///
    /// # Errors
    /// Whatever keeps the journal from being read. One that is empty is none.
    async fn read(&self, visit: &mut Visitor<'_>) -> Result<()>;

    /// Whether outcomes wait for the next entry, because each append is dear (a call to an API server).
    fn outcomes_wait(&self) -> bool;

    /// Where it is, for people.
    fn place(&self) -> String;
}

/// Where a change came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cause {
    /// The usual: what objects ask for.
    #[default]
    Round,
    /// A held plan that was approved.
    Approved,
    /// An undo.
    Undo,
    /// The command `adopt`.
    Adopt,
    /// The command `transfer`.
    Transfer,
    /// The command `release`.
    Release,
    /// The command `drain`.
    Drain,
}

impl Cause {
    /// The word for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Round => "round",
            Self::Approved => "approved plan",
            Self::Undo => "undo",
            Self::Adopt => "adopt",
            Self::Transfer => "transfer",
            Self::Release => "release",
            Self::Drain => "drain",
        }
    }

    /// Whether a command wrote it, beside the daemon that looks after the zone.
    pub fn is_command(self) -> bool {
        matches!(self, Self::Adopt | Self::Transfer | Self::Release | Self::Drain)
    }
}

/// One change of a group, as it is written down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryStep {
    /// Whether it concerns a claim.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub claim: bool,
    /// What stood there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<RecordSet>,
    /// What shall stand there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<RecordSet>,
    /// What the claim on the record said before.
    #[serde(default, skip_serializing_if = "Terms::is_empty")]
    pub had: Terms,
    /// What it shall say.
    #[serde(default, skip_serializing_if = "Terms::is_empty")]
    pub has: Terms,
}

impl EntryStep {
    /// A step of a group as it is sent.
    pub fn new(step: &Step) -> Self {
        let had = step.held.as_deref().map(Terms::from);
        let has = Terms { owner: step.owner.clone(), resource: step.resource.clone(), labels: step.labels.clone() };
        Self {
            claim: step.role == Role::Claim,
            from: step.change.from().cloned(),
            to: step.change.to().cloned(),
            had: had.unwrap_or_default(),
            has: if step.change.to().is_some() { has } else { Terms::default() },
        }
    }

    /// The key that is changed; `None` in a line that says nothing.
    pub fn key(&self) -> Option<&RecordKey> {
        self.to.as_ref().or(self.from.as_ref()).map(|set| &set.key)
    }

    /// The change again.
    pub fn change(&self) -> Option<Change> {
        match (self.from.clone(), self.to.clone()) {
            (None, Some(to)) => Some(Change::Create { to }),
            (Some(from), Some(to)) => Some(Change::Update { from, to }),
            (Some(from), None) => Some(Change::Delete { from }),
            (None, None) => None,
        }
    }
}

/// One group, as it was about to be sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Grows from entry to entry, over restarts too.
    pub id: u64,
    /// When.
    pub at: Timestamp,
    /// The zone, by its key as text.
    pub zone: String,
    /// The name of the zone.
    pub apex: DnsName,
    /// The name that the group is about.
    pub name: DnsName,
    /// The hash of the round, of the held plan or of the undo that it belongs to.
    pub plan: String,
    /// Which of them.
    #[serde(default)]
    pub cause: Cause,
    /// The changes.
    pub steps: Vec<EntryStep>,
    /// Records that stay as they are, and whose claims change hands. Where the claims are kept outside the zones, there are no
    /// changes beside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub handed: Vec<Handover>,
    /// The objects behind it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objects: Vec<ObjectRef>,
}

/// Where an entry belongs.
#[derive(Debug, Clone)]
pub(crate) struct Heading {
    pub(crate) id: u64,
    pub(crate) at: Timestamp,
    pub(crate) plan: String,
    pub(crate) cause: Cause,
}

impl Entry {
    /// The entry of a group that is about to be sent to `zone`; `None` where nothing is to be told.
    pub(crate) fn new(
        heading: impl FnOnce() -> Heading,
        zone: &Zone,
        group: &Group,
        handed: Vec<Handover>,
    ) -> Option<Self> {
        if group.changes_nothing() && handed.is_empty() {
            return None;
        }
        let Heading { id, at, plan, cause } = heading();
        let changing = group.steps.iter().filter(|step| step.change.from() != step.change.to());
        Some(Self {
            id,
            at,
            zone: zone.key.to_string(),
            apex: zone.name.clone(),
            name: group.name.clone(),
            plan,
            cause,
            steps: changing.map(EntryStep::new).collect(),
            handed,
            objects: group.objects.clone(),
        })
    }
}

/// What became of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It is in force.
    Applied,
    /// It was refused.
    Refused,
    /// It was never sent.
    NotSent,
    /// Nobody knows: the names have to be read.
    Unknown,
    /// It was found that it is not in force.
    NotApplied,
    /// It was found that neither what stood there nor what should stand there does.
    SomethingElse,
}

impl Verdict {
    /// The words for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::Refused => "refused",
            Self::NotSent => "not sent",
            Self::Unknown => "unknown",
            Self::NotApplied => "not applied",
            Self::SomethingElse => "something else stands",
        }
    }
}

impl From<&Outcome> for Verdict {
    fn from(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Applied => Self::Applied,
            Outcome::Refused { .. } => Self::Refused,
            Outcome::NotSent(_) => Self::NotSent,
            Outcome::Unknown(_) => Self::Unknown,
        }
    }
}

/// What became of an entry, as it is written down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closing {
    /// The id of the entry.
    pub id: u64,
    /// When.
    pub at: Timestamp,
    /// What became of it.
    pub verdict: Verdict,
    /// Whether a reading of the zone found it out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub found: bool,
    /// The error, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// One line.
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
struct Head {
    v: u32,
    kind: HeadKind,
    id: u64,
    at: Timestamp,
}

#[derive(Deserialize, PartialEq, Eq, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum HeadKind {
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
    fn parse(text: &[u8]) -> Option<Self> {
        serde_json::from_slice::<Self>(text).ok().filter(|head| head.v == VERSION)
    }
}
