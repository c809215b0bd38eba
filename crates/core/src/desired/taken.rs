//! What an update of the desired table brings, and what is asked for at one name.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::clock::Timestamp;
use crate::endpoint::{Endpoint, KindId, Note, ObjectRef, Pending};
use crate::name::DnsName;
use crate::plan::OtherPrefixRequest;

/// What an update brought.
#[derive(Debug, Default)]
pub struct Taken {
    /// The names to plan again.
    pub dirty: BTreeSet<DnsName>,
    /// Notes for the owners of the objects that came or changed.
    pub notes: Vec<Note>,
    /// Names that began to wait for their targets.
    pub waiting: Vec<Waiting>,
    /// Objects that ask for other names than before.
    pub edits: Vec<Edit>,
    /// The namespaces of the objects that came, changed or went.
    pub namespaces: BTreeSet<Arc<str>>,
    /// Whether something became known, or went, that deletes may have waited for.
    pub cleared: bool,
}

impl Taken {
    /// Adds what another update brought.
    pub fn join(&mut self, other: Self) {
        self.dirty.extend(other.dirty);
        self.notes.extend(other.notes);
        self.waiting.extend(other.waiting);
        self.edits.extend(other.edits);
        self.namespaces.extend(other.namespaces);
        self.cleared |= other.cleared;
    }
}

/// A name that began to wait for its targets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The object that asks.
    pub object: ObjectRef,
    /// The name, which has no targets for now.
    pub name: DnsName,
    /// Why there are no targets.
    pub reason: String,
    /// Whether the object had targets for it before.
    pub had_targets: bool,
}

/// An object that asks for names in the place of others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The object whose names changed.
    pub object: ObjectRef,
    /// What it does not ask for any more.
    pub left: Vec<DnsName>,
    /// What it asks for now, and did not before.
    pub came: Vec<DnsName>,
}

/// Everything that is asked for at one name.
#[derive(Debug, Default)]
pub struct Asked<'a> {
    /// The endpoints, ordered by source, object and position.
    pub endpoints: Vec<&'a Endpoint>,
    /// Names without known targets, and since when.
    pub pending: Vec<(&'a Pending, Timestamp)>,
    /// What is asked for under an annotation prefix that is not in force.
    pub other_prefix: Vec<OtherPrefixRequest>,
    /// Every kind that the mappings read.
    pub kinds: BTreeSet<KindId>,
}
