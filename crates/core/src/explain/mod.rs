//! Why a name is there, or is not: what is asked, what is answered, and the table of causes.
//!
//! In comes a [`Subject`], a name or an object; out goes an [`Explanation`]: what was found on the way from the objects to the zone,
//! and one [`Finding`] that names the cause in one sentence and says in another what to do. What must hold: every finding is a row of
//! the one table of [`Cause`], so that a cause has its sentence, its advice, its event and its metric label, or does not compile.

mod cause;
mod finding;
mod nearest;
mod subject;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use cause::{Cause, CauseText};
pub use finding::{BLANKS, Finding};
pub use nearest::nearest;
pub use subject::{ObjectName, Subject, SubjectError};

use crate::endpoint::{Mapped, ObjectRef};
use crate::name::DnsName;

/// The answer: what was asked about, and one part for each name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explanation {
    /// What was asked about.
    pub subject: String,
    /// The cause. For an object with several names it is that of the first name that is not published.
    pub verdict: Finding,
    /// Where this was found out: a running daemon, or a dry run of this command.
    pub place: String,
    /// The objects that were considered.
    pub objects: Vec<Considered>,
    /// The names, each by itself.
    pub names: Vec<NameExplanation>,
    /// How many further names of an object are left out.
    #[serde(default)]
    pub more_names: usize,
}

/// What is known of one name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameExplanation {
    /// The name that was asked about, or that the object asks for.
    pub name: DnsName,
    /// The main cause, with what to do.
    pub verdict: Finding,
    /// Everything else that keeps a part of what is asked for from being published.
    pub further: Vec<Finding>,
    /// Every zone that the name could go to.
    pub zones: Vec<ZoneExplanation>,
}

/// What is known of a name in one zone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZoneExplanation {
    /// The zone, with its instance where there are several.
    pub zone: String,
    /// Whether the name belongs to this zone, and not to one below it.
    pub chosen: bool,
    /// What shall stand, a line for each record set.
    pub wanted: Vec<String>,
    /// The record sets that stand at the name.
    pub published: Vec<PublishedSet>,
    /// The last delete at the name where nothing stands, as far as the journal goes back: when, what, for whom and in which plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted: Option<String>,
    /// What is left undone, and why.
    pub left_undone: Vec<String>,
    /// What is not published as it is asked for.
    pub notes: Vec<String>,
    /// A plan that holds deletes of the name.
    pub held: Option<HeldDelete>,
    /// The name waits for another attempt.
    pub parked: Option<ParkedName>,
    /// What is wrong with the zone as a whole; nothing if it works.
    pub trouble: Option<String>,
    /// The last answer of the provider that was no success, in its words.
    pub last_answer: Option<String>,
    /// What an authoritative server answers now, a line for each record or the error; nothing where there is no server to ask.
    pub served: Vec<String>,
}

/// One record set that stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublishedSet {
    /// The set as one line.
    pub record: String,
    /// Whose it is: `ours`, an owner id, or `nobody`.
    pub owner: String,
    /// The object that its claim names.
    pub resource: Option<String>,
    /// Where claims on it are looked for.
    pub claims: Vec<String>,
    /// When it was last written, RFC 3339 in UTC, as far as the journal goes back.
    pub since: Option<String>,
    /// The objects that it was written for.
    pub by: Vec<String>,
}

/// A delete that is held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldDelete {
    /// The hash of the plan.
    pub hash: String,
    /// Why it is held.
    pub reason: String,
    /// Since when, RFC 3339 in UTC.
    pub since: String,
}

/// A name that waits for another attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParkedName {
    /// How often it was tried.
    pub attempts: u32,
    /// When it is tried again, RFC 3339 in UTC.
    pub next: String,
    /// What was answered, in the words of whoever refused it.
    pub error: String,
}

/// An object that asks for a name, or would if something were otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Considered {
    /// The object, as `KIND NAMESPACE/NAME`.
    pub object: String,
    /// The `--source` that reads it.
    pub source: String,
    /// What it asks for, a line for each record set.
    pub asks: Vec<String>,
    /// The names that it asks for, or would ask for if nothing of `dropped` were so.
    pub names: Vec<DnsName>,
    /// Names without targets, each with the reason.
    pub pending: Vec<String>,
    /// Annotations that were read, as `KEY=VALUE`.
    pub read: Vec<String>,
    /// Annotations that nothing reads, though they look as if they were meant.
    pub unread: Vec<UnreadAnnotation>,
    /// What keeps it from asking.
    pub dropped: Vec<Dropped>,
    /// What was reported of it.
    pub notes: Vec<String>,
}

/// An object that was considered, with its mapping as far as one is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consideration {
    /// The object that was considered.
    pub object: ObjectRef,
    /// What the command shows of it.
    pub considered: Considered,
    /// What it asks for now.
    pub mapped: Arc<Mapped>,
}

/// An annotation that nothing reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreadAnnotation {
    /// The key with its prefix, as the object has it.
    pub key: String,
    /// The value, as the object has it.
    pub value: String,
    /// Why: [`Cause::OtherPrefix`] or [`Cause::MisspeltAnnotation`].
    pub cause: Cause,
    /// The key that was probably meant, or the prefix that would be read.
    pub expected: String,
}

/// Why an object does not ask for something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    /// The cause, a row of the table.
    pub cause: Cause,
    /// The flag, or the annotation, with its value.
    pub by: String,
    /// The names that it concerns; empty is all of them.
    #[serde(default)]
    pub names: Vec<DnsName>,
}
