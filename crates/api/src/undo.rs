//! Changes that go back, and the names that stay as they are afterwards.

use serde::{Deserialize, Serialize};
use zonewright_core::DnsName;
use zonewright_core::clock::Timestamp;

/// Asks what an undo would do. Answered by [`UndoPlan`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanUndo {
    /// Undo what was changed at this moment and later.
    #[serde(default)]
    pub since: Option<Timestamp>,
    /// Undo what this plan changed.
    #[serde(default)]
    pub plan: Option<String>,
    /// In this zone only.
    #[serde(default)]
    pub zone: Option<String>,
    /// How long the names stay pinned afterwards, in milliseconds.
    pub pin_for: u64,
}

/// Carries out a plan that was shown. Answered by [`UndoResult`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Undo {
    /// The hash of what is undone: [`UndoPlan::plan`].
    pub hash: String,
}

/// Asks for the names that are pinned. Answered by [`PinnedNames`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pins {}

/// Ends the pin of one name or of all. Answered by [`Unpinned`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unpin {
    /// The name; `None` is all of them.
    #[serde(default)]
    pub name: Option<DnsName>,
}

/// What an undo would do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoPlan {
    /// Hash of the plan.
    pub plan: String,
    /// Number of groups that go back.
    pub groups: usize,
    /// What happens in each zone.
    pub zones: Vec<UndoZone>,
    /// How long the names will be pinned, such as `24h0m0s`.
    pub hold: String,
    /// Where the journal begins; `None` if it is empty.
    pub oldest: Option<JournalStart>,
    /// Whether the daemon would send nothing.
    pub dry_run: bool,
}

/// The oldest line of a journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalStart {
    /// When it was written, in milliseconds since 1970.
    pub at: Timestamp,
    /// The same, RFC 3339.
    pub utc: String,
}

/// What an undo would do in one zone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoZone {
    /// The zone, by its key as text.
    pub zone: String,
    /// The changes as lines.
    pub changes: Vec<String>,
    /// What stays as it is: what, and why.
    pub skipped: Vec<(String, String)>,
    /// Names that go back to what another writer made of them, not further.
    pub cut: Vec<DnsName>,
}

/// What became of an undo.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoResult {
    /// Names that went back.
    pub restored: Vec<DnsName>,
    /// What did not.
    pub failed: Vec<UndoFailure>,
    /// Number of names that would have gone back, in a dry run.
    pub dry: usize,
    /// Why the pins may be forgotten at a restart, if they may.
    pub unsaved: Option<String>,
}

/// What was not done: the change as a line, and why.
pub type UndoFailure = (String, String);

/// Names that an undo has set back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinnedNames {
    /// The names, by zone and undo.
    #[serde(rename = "holds")]
    pub pinned: Vec<Pinned>,
    /// Where this was read, if not of the daemon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

/// What one undo has pinned in one zone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pinned {
    /// The zone, by its key as text.
    pub zone: String,
    /// Hash of the undo.
    pub plan: String,
    /// Since when, RFC 3339 in UTC.
    pub since: String,
    /// Until when at the latest, RFC 3339 in UTC.
    pub until: String,
    /// The pinned names of the zone.
    pub names: Vec<DnsName>,
}

/// Names that are no longer pinned.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unpinned {
    /// The names, of all zones.
    #[serde(rename = "released")]
    pub names: Vec<DnsName>,
}
