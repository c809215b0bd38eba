//! The contract of a provider: what it can do, which zones it has, what they hold, and how they are changed.

use std::collections::BTreeSet;

use async_trait::async_trait;

use crate::capability::Capability;
use crate::change::{Group, Outcome};
use crate::error::Result;
use crate::name::DnsName;
use crate::rdata::RData;
use crate::record::{RecordSet, Ttl};
use crate::zone::{Zone, ZoneId};

/// Marks a state of a zone, in the provider's own terms (an SOA serial, a change id).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Token(pub String);

/// Which records are wanted of a zone.
#[derive(Debug, Clone, Copy)]
pub enum Read<'a> {
    /// All of them.
    All,
    /// What changed since a listing or delta that gave this token; the provider may answer with all of them.
    Since(&'a Token),
    /// Those at these names.
    Names(&'a BTreeSet<DnsName>),
}

/// One resource record.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Record {
    /// Owner name.
    pub name: DnsName,
    /// TTL.
    pub ttl: Ttl,
    /// Data.
    pub data: RData,
}

/// What a zone holds, as far as it was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listing {
    /// Every record set of the zone, each key once.
    Full {
        /// The record sets.
        sets: Vec<RecordSet>,
        /// State of the zone, if the provider can tell what changes after it.
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
    /// Nothing changed.
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

/// A record set in the form that the provider would read back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adjusted {
    /// Position of the wanted set that it was made from.
    pub from: usize,
    /// The set.
    pub set: RecordSet,
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

    /// Reads a zone.
    ///
    /// # Errors
    /// Whatever kept the answer from being complete. A partial listing is never returned.
    async fn records(&self, zone: &Zone, read: Read<'_>) -> Result<Listing>;

    /// Brings wanted record sets into the form in which they would be read back. May split one into several; each answer
    /// names the set that it came from. Equal input gives equal output: the caller caches by input.
    ///
    /// # Errors
    /// Whatever kept the answer from being complete.
    async fn adjust(&self, zone: &Zone, sets: &[RecordSet]) -> Result<Vec<Adjusted>>;

    /// Carries groups out in one call, as far as [`Capability::batch`] allows; a group is never split. Returns one outcome
    /// for each group, in order.
    ///
    /// [`Outcome::Applied`] is promised only after the provider confirmed it (or it was read back, where a server
    /// confirms what it did not do).
    async fn apply(&self, zone: &Zone, groups: &[Group]) -> Vec<Outcome>;
}
