//! The contract of a provider: what it can do, which zones it has, what they hold, and how they are changed.
//!
//! What each method does at the edges:
//!
//! | what | `zones`, `zone` | `records` | `adjust` | `apply` |
//! |---|---|---|---|---|
//! | an empty zone | it is listed like any other | `Full` without sets; by names: `Names` without sets | as ever | as ever |
//! | a zone that is gone | left out; `zone`: `None` | `ErrorKind::NotFound` | `Unknown` of kind `NotFound`, or as ever | `Refused` with `ErrorKind::NotFound`, nothing is sent |
//! | a page that fails | the whole list fails, never a part of it | the error; the pages before it stay good, and [`Read::From`] asks for it again | | |
//! | a cursor that is no longer known | | `ErrorKind::Conflict`: the listing begins anew | | |
//! | a duplicate: the same key, zone or set twice | one zone for each id | each key once; several records of one key are one set | an answer for each, equal ones | two groups that write one key are an error of the caller: the second is `Refused` |
//! | a record type that is not known | | listed as [`crate::RData`] of the other kind: never ours, never left out | `Refused` | `Refused` |
//! | a time-out, a cut answer | the error | the error | `Unknown` | `Unknown` for every group that may have arrived, `NotSent` for the rest |
//! | throttling | the error with its `Retry::After`; a layer repeats | the same | `Unknown` | `NotSent` where nothing was done, else `Unknown` |
//! | a group that changes nothing in the zone | | | | `Applied`, and nothing is sent |
//! | no groups, no sets, no names | | `Names` without sets, and nothing is sent | nothing, and nothing is sent | nothing, and nothing is sent |

use std::collections::BTreeSet;

use async_trait::async_trait;

use crate::capability::Capability;
use crate::change::{Group, Outcome};
use crate::endpoint::Endpoint;
use crate::error::{Error, Result};
use crate::interpret::Interpretation;
use crate::name::DnsName;
use crate::rdata::RData;
use crate::record::{RecordSet, Ttl};
use crate::zone::{Zone, ZoneId};

/// Marks a state of a zone, in the provider's own terms (an SOA serial, a change id).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Token(pub String);

/// Where a listing goes on: what the provider calls its next page.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cursor(pub String);

/// Which records are wanted of a zone.
#[derive(Debug, Clone, Copy)]
pub enum Read<'a> {
    /// All of them; where they come in pages, the first one.
    All,
    /// The page of a listing at which [`Listing::Page`] said that it goes on.
    From(&'a Cursor),
    /// What changed since a listing or delta that gave this token; the provider may answer with all of them.
    Since(&'a Token),
    /// Those at these names.
    Names(&'a BTreeSet<DnsName>),
}

/// One resource record.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Record {
    /// Owner name of the record, fully qualified.
    pub name: DnsName,
    /// TTL in seconds, as the service has it.
    pub ttl: Ttl,
    /// The data of this one record.
    pub data: RData,
}

/// What a zone holds, as far as it was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listing {
    /// A page of a listing, and that it is not the last one. Each key of a zone is on one page.
    Page {
        /// The record sets.
        sets: Vec<RecordSet>,
        /// Where it goes on.
        next: Cursor,
    },
    /// Every record set of the zone, each key once; of a listing in pages, the last page.
    Full {
        /// The record sets.
        sets: Vec<RecordSet>,
        /// State of the zone, if the provider can list what changes after it.
        token: Option<Token>,
    },
    /// Single records that went and came since the token that was given, in the order of the zone's history. Only
    /// providers without set identifiers and options answer so.
    Delta {
        /// Steps, each first removing and then adding.
        steps: Vec<Delta>,
        /// State of the zone after them.
        token: Token,
    },
    /// Nothing changed since the token that was given.
    Unchanged,
    /// The record sets at the names that were asked for; a name without any is not there.
    Names(Vec<RecordSet>),
}

/// One step in the history of a zone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Delta {
    /// Records that went.
    pub removed: Vec<Record>,
    /// Records that came.
    pub added: Vec<Record>,
}

/// What becomes of one wanted record set ([`Provider::adjust`]).
#[derive(Debug, Clone)]
pub enum Adjustment {
    /// It is published so, in one or several sets.
    As {
        /// The sets in the form in which they would be read back.
        sets: Vec<RecordSet>,
        /// What its object should know, a sentence each.
        notes: Vec<String>,
    },
    /// It cannot be published, for this reason; what stands in its place is kept.
    Refused(String),
    /// It is not known now: neither it nor anything else at its name is touched, and it is asked for again.
    Unknown(Error),
}

impl Adjustment {
    /// It is published as this set.
    pub fn to(set: RecordSet) -> Self {
        Self::As { sets: vec![set], notes: Vec::new() }
    }

    /// The sets that are published; none where it is refused or not known.
    pub fn sets(&self) -> &[RecordSet] {
        match self {
            Self::As { sets, .. } => sets,
            Self::Refused(_) | Self::Unknown(_) => &[],
        }
    }

    /// Each set as it is: for a provider that reads back exactly what is asked for.
    pub fn none(sets: &[RecordSet]) -> Vec<Self> {
        sets.iter().cloned().map(Self::to).collect()
    }

    /// The same error for every set: the question found no answer.
    pub fn unknown(sets: &[RecordSet], error: &Error) -> Vec<Self> {
        sets.iter().map(|_| Self::Unknown(error.clone())).collect()
    }
}

/// A DNS provider. Object-safe, without default methods, so that a wrapper that forgets a method does not compile.
///
/// Implementations map and send, once: pauses, repeats, batching and bisecting are layers around them.
#[async_trait]
pub trait Provider: Send + Sync {
    /// What it can do, in general or in one zone. No I/O.
    fn capability(&self, zone: Option<&Zone>) -> Capability;

    /// The zones that it manages, filtered as it was configured.
    ///
    /// # Errors
    /// Whatever kept the list from being complete. A partial list is never returned.
    async fn zones(&self) -> Result<Vec<Zone>>;

    /// A zone of this provider by its id; `None` if there is none, or if it is configured to leave it out. A zone that the
    /// list leaves out is asked for by itself before it counts as gone.
    ///
    /// # Errors
    /// As [`Provider::zones`].
    async fn zone(&self, id: &ZoneId) -> Result<Option<Zone>>;

    /// Reads a zone, or a page of it. One request of the service, or as few as can be: its time-out and its repetition are those
    /// of the request, and a listing of any size goes on from the page that failed.
    ///
    /// # Errors
    /// Whatever kept the answer from being complete. A partial listing is never returned.
    async fn records(&self, zone: &Zone, read: Read<'_>) -> Result<Listing>;

    /// What it makes of an endpoint in a zone, before objects contend for the name: aliases, routing policies from properties,
    /// the zone that an object names. No I/O; equal input gives equal output.
    fn interpret(&self, zone: &Zone, endpoint: &Endpoint) -> Interpretation;

    /// Brings wanted record sets into the form in which they would be read back. One answer for each set, in order: a set that
    /// cannot be adjusted is refused alone. Equal input gives equal output: the caller caches by input.
    async fn adjust(&self, zone: &Zone, sets: &[RecordSet]) -> Vec<Adjustment>;

    /// Carries groups out in one call, as far as [`Capability::batch`] allows; a group is never split. Returns one outcome
    /// for each group, in order.
    ///
    /// [`Outcome::Applied`] is promised only after the provider confirmed it (or it was read back, where a server
    /// confirms what it did not do).
    async fn apply(&self, zone: &Zone, groups: &[Group]) -> Vec<Outcome>;

    /// Whether every change of a zone that was applied through this provider is answered by all of the service's servers by now:
    /// [`Outcome::Applied`] says only that the service holds it. `None` if the provider does not know; a zone in which nothing was
    /// changed through this provider has nothing that waits, and is no `Some(false)`. Nothing in a plan rests on it: it is for
    /// proofs of publication.
    ///
    /// # Errors
    /// The question found no answer; whoever waits asks again.
    async fn served(&self, zone: &Zone) -> Result<Option<bool>>;
}
