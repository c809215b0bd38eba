//! What was changed.

use serde::{Deserialize, Serialize};
use zonewright_core::clock::Timestamp;
use zonewright_core::{DnsName, RecordSet};

/// Asks for the journal, the newest entries first. Answered by [`HistoryAnswer`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct History {
    /// Entries at this name, or in the zone of this name.
    #[serde(default)]
    pub name: Option<DnsName>,
    /// Entries of this zone: its name, its key as text, or its id.
    #[serde(default)]
    pub zone: Option<String>,
    /// Entries of this moment and later.
    #[serde(default)]
    pub since: Option<Timestamp>,
    /// Entries of this plan.
    #[serde(default)]
    pub plan: Option<String>,
    /// Most entries; `None` is no limit.
    #[serde(default)]
    pub limit: Option<usize>,
}

/// Entries of the journal.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct HistoryAnswer {
    /// Where the journal is.
    pub place: String,
    /// The moment of its oldest line, RFC 3339 in UTC; `None` if it is empty.
    pub oldest: Option<String>,
    /// Number of lines that could not be read.
    pub unreadable: usize,
    /// The entries that were asked for, the newest first.
    pub entries: Vec<HistoryEntry>,
}

/// Changes that were sent together, with what became of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HistoryEntry {
    /// Number of the entry.
    pub id: u64,
    /// When it was sent, RFC 3339 in UTC.
    pub time: String,
    /// The zone, by its key as text.
    pub zone: String,
    /// The name that it is about.
    pub name: DnsName,
    /// Hash of the plan.
    pub plan: String,
    /// Why: `round`, `undo`, `transfer` ...
    pub cause: String,
    /// Record sets, claims as TXT records among them.
    pub changes: Vec<ChangedRecord>,
    /// Claims that change hands while their record stays.
    pub claims: Vec<ClaimChange>,
    /// The objects that caused it, as `KIND NAMESPACE/NAME`.
    pub objects: Vec<String>,
    /// `applied`, `refused`, `not_sent`, `unknown`; `not known` where nothing was written down.
    pub outcome: String,
    /// Whether the outcome was found out later, by reading.
    pub found: bool,
    /// What went wrong, if anything did.
    pub error: Option<String>,
}

/// One record set that was changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChangedRecord {
    /// The change as one line; `+`, `~` or `-` first.
    pub text: String,
    /// `create`, `update` or `delete`.
    pub verb: String,
    /// Whether it is the record of a claim.
    pub claim: bool,
    /// What stood before.
    pub from: Option<RecordSet>,
    /// What was to stand.
    pub to: Option<RecordSet>,
}

/// One claim that changed hands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimChange {
    /// The change as one line.
    pub text: String,
    /// The record, as `NAME TYPE`.
    pub record: String,
    /// The owner before; `None`: nobody.
    pub from: Option<String>,
    /// The owner after; `None`: nobody.
    pub to: Option<String>,
    /// The resource that the claim names.
    pub resource: Option<String>,
}
