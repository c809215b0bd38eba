//! What the journal says of a change: where it came from, what stood before and after, and what became of it.

use std::borrow::Cow;
use std::fmt;
use std::hash::{BuildHasher as _, RandomState};

use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize, Serializer};
use zonewright_core::change::{Change, Group, Outcome, Role, Step};
use zonewright_core::clock::Timestamp;
use zonewright_core::endpoint::ObjectRef;
use zonewright_core::name::DnsName;
use zonewright_core::record::{RecordKey, RecordSet};
use zonewright_core::zone::Zone;

use super::handover::Handover;
use super::terms::ClaimTerms;

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
    #[serde(default, skip_serializing_if = "ClaimTerms::is_empty")]
    pub had: ClaimTerms,
    /// What it shall say.
    #[serde(default, skip_serializing_if = "ClaimTerms::is_empty")]
    pub has: ClaimTerms,
}

impl EntryStep {
    /// A step of a group as it is sent.
    pub fn new(step: &Step) -> Self {
        let had = step.held.as_deref().map(ClaimTerms::from);
        let has =
            ClaimTerms { owner: step.owner.clone(), resource: step.resource.clone(), labels: step.labels.clone() };
        Self {
            claim: step.role == Role::Claim,
            from: step.change.from().cloned(),
            to: step.change.to().cloned(),
            had: had.unwrap_or_default(),
            has: if step.change.to().is_some() { has } else { ClaimTerms::default() },
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

/// Who wrote an entry: drawn by chance for each process, so that several can write one journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WriterId(u64);

impl WriterId {
    /// A new identity.
    pub fn random() -> Self {
        // A hasher of the standard library is seeded by chance.
        Self(RandomState::new().hash_one(()))
    }
}

impl From<u64> for WriterId {
    fn from(number: u64) -> Self {
        Self(number)
    }
}

impl fmt::Display for WriterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl Serialize for WriterId {
    /// As 16 hexadecimal digits: not every reader of JSON can hold the number.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for WriterId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        u64::from_str_radix(&text, 16).map(Self).map_err(de::Error::custom)
    }
}

/// Distinguishes an entry from every other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntryKey {
    /// Grows from entry to entry of one writer, over restarts too.
    pub id: u64,
    /// Who wrote it; `None` in a journal of an earlier version, whose ids differ by themselves.
    pub writer: Option<WriterId>,
}

/// One group, as it was about to be sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Grows from entry to entry, over restarts too.
    pub id: u64,
    /// Who wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writer: Option<WriterId>,
    /// When the entry was written, in milliseconds since 1970.
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
    /// The changes of records and claims, with both sides.
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
    pub(crate) writer: WriterId,
    pub(crate) at: Timestamp,
    pub(crate) plan: String,
    pub(crate) cause: Cause,
}

impl Entry {
    /// The entry of a group that is about to be sent to `zone`; `None` where there is nothing to write down.
    pub(crate) fn new(
        heading: impl FnOnce() -> Heading,
        zone: &Zone,
        group: &Group,
        handed: Vec<Handover>,
    ) -> Option<Self> {
        if group.changes_nothing() && handed.is_empty() {
            return None;
        }
        let Heading { id, writer, at, plan, cause } = heading();
        Some(Self {
            id,
            writer: Some(writer),
            at,
            zone: zone.key.to_string(),
            apex: zone.name.clone(),
            name: group.name.clone(),
            plan,
            cause,
            steps: group.steps.iter().map(EntryStep::new).collect(),
            handed,
            objects: group.objects.clone(),
        })
    }

    /// Distinguishes it from every other.
    pub fn key(&self) -> EntryKey {
        EntryKey { id: self.id, writer: self.writer }
    }
}

/// What became of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EntryResult {
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

impl EntryResult {
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

impl From<&Outcome> for EntryResult {
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
    /// Who wrote the entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writer: Option<WriterId>,
    /// When the outcome was written, in milliseconds since 1970.
    pub at: Timestamp,
    /// What became of it.
    pub verdict: EntryResult,
    /// Whether a reading of the zone found it out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub found: bool,
    /// The error, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Closing {
    /// An outcome without an error.
    pub fn new(of: EntryKey, at: Timestamp, verdict: EntryResult) -> Self {
        Self { id: of.id, writer: of.writer, at, verdict, found: false, error: None }
    }

    /// The entry that it is about.
    pub fn key(&self) -> EntryKey {
        EntryKey { id: self.id, writer: self.writer }
    }
}
