//! The contract of a source: a snapshot of what objects ask for, how far it can be trusted, and wake-ups.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;

use crate::endpoint::{KindId, Mapped, ObjectRef};
use crate::explain::{Consideration, Subject};
use crate::name::DnsName;

/// From this many objects of a kind on, a list without any is doubted.
pub const DOUBT_FROM: usize = 3;

/// What became of one object since it was last taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObjectState {
    /// It is there, and maps to this.
    Present(Arc<Mapped>),
    /// It is gone.
    Gone {
        /// Whether a DELETE event on an unbroken watch said so. A relist, or a file that vanished, is no proof.
        tombstone: bool,
    },
}

/// The kinds of which former processes saw objects: one of them that the API server denies now is doubted, any other is empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SeenKinds {
    /// Not known: what was saved of it cannot be read.
    Any,
    /// The kinds that were seen.
    These(BTreeSet<KindId>),
}

impl SeenKinds {
    /// Whether objects of this kind may have been seen.
    pub fn may_hold(&self, kind: &KindId) -> bool {
        match self {
            Self::Any => true,
            Self::These(kinds) => kinds.contains(kind),
        }
    }
}

impl Default for SeenKinds {
    /// None.
    fn default() -> Self {
        Self::These(BTreeSet::new())
    }
}

/// A change of what one object asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectUpdate {
    /// The source (`--source`) that mapped it: one object may be read by several.
    pub source: Arc<str>,
    /// The object whose state it is.
    pub object: ObjectRef,
    /// Its state now.
    pub state: ObjectState,
}

/// What has to be taken over from a source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Update {
    /// Whether `objects` names everything that there is: what is missing is gone, without a tombstone. An object that was
    /// deleted before it was taken may be among them as [`ObjectState::Gone`], so that its tombstone is not lost.
    pub complete: bool,
    /// The objects that changed, or all of them.
    pub objects: Vec<ObjectUpdate>,
}

/// A part of everything that there is, for a slow comparison with what was taken over.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Review {
    /// The next objects, each [`ObjectState::Present`].
    pub objects: Vec<ObjectUpdate>,
    /// Whether these were the last ones; the next part is the first again.
    pub last: bool,
}

/// How far the view of one kind can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct KindState {
    /// It has been listed once to its end, and no later list gave reason for doubt.
    pub complete: bool,
    /// Its watch is open, or was lost less than 30 s ago.
    pub fresh: bool,
    /// It is not waited for any longer: it was listed, or could not be, as long as the source tries at the start.
    pub settled: bool,
    /// Where it is not complete only because it looks empty, or because the server no longer knows the kind: the number of
    /// that doubt, another one each time it begins anew; 0 where it was so from the beginning. An operator may accept it for
    /// deletes that were shown with it.
    pub doubted: Option<u64>,
    /// Number of objects held.
    pub objects: usize,
    /// Number of those among them that the API server makes for itself, which say nothing about the others.
    pub of_server: usize,
    /// Number of objects that are there and cannot be read. What they asked for is kept by the labels of its claims
    /// ([`crate::endpoint::Unknown`]); where a claim has no label, nothing that rests on the kind may go.
    pub unreadable: usize,
}

impl KindState {
    /// Number of objects whose being there says something about the others.
    pub fn telling(self) -> usize {
        self.objects.saturating_sub(self.of_server)
    }

    /// Whether a delete may rest on this kind.
    pub fn is_evidence(self) -> bool {
        self.complete && self.fresh
    }
}

/// The trust in everything that a source reads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Evidence {
    /// Each kind in use.
    pub kinds: BTreeMap<KindId, KindState>,
    /// For the first part of a resource label (`service` of `service/ns/name`): the kinds that such an object's mapping
    /// may read.
    pub resources: BTreeMap<Arc<str>, BTreeSet<KindId>>,
    /// Kinds whose endpoints may carry any label.
    pub open: BTreeSet<KindId>,
}

impl Evidence {
    /// Joins what several sources say.
    pub fn merge(&mut self, other: Self) {
        self.kinds.extend(other.kinds);
        self.open.extend(other.open);
        for (resource, kinds) in other.resources {
            self.resources.entry(resource).or_default().extend(kinds);
        }
    }

    /// The same, but no kind can be relied on that could not be by what was `known`. Doubt ends with objects that were missing: who
    /// has not taken these over yet must not act as if there were none, nor begin as if nothing more came.
    #[must_use]
    pub fn no_better_than(mut self, known: &Self) -> Self {
        for (kind, state) in &mut self.kinds {
            let former = known.kinds.get(kind).copied().unwrap_or_default();
            if state.is_evidence() && !former.is_evidence() {
                let KindState { complete, fresh, settled, doubted, .. } = former;
                *state = KindState { complete, fresh, settled, doubted, ..*state };
            }
            state.unreadable = state.unreadable.max(former.unreadable);
        }
        self
    }

    /// Whether every kind has been listed once, or is not waited for any longer.
    pub fn is_settled(&self) -> bool {
        self.kinds.values().all(|kind| kind.settled)
    }

    /// The kinds among `wanted` that a delete may not rest on; a kind that nobody reads is none of them.
    pub fn doubtful<'a>(&self, wanted: impl IntoIterator<Item = &'a KindId>) -> Vec<KindId> {
        self.among(wanted, |state| !state.is_evidence())
    }

    /// The same where no label shows what an object asks for: each object of these kinds has to be readable too.
    pub fn doubtful_unlabelled<'a>(&self, wanted: impl IntoIterator<Item = &'a KindId>) -> Vec<KindId> {
        self.among(wanted, |state| !state.is_evidence() || state.unreadable > 0)
    }

    fn among<'a>(
        &self,
        wanted: impl IntoIterator<Item = &'a KindId>,
        doubted: impl Fn(&KindState) -> bool,
    ) -> Vec<KindId> {
        wanted.into_iter().filter(|kind| self.kinds.get(*kind).is_some_and(&doubted)).cloned().collect()
    }
}

/// What is wrong with what a source reads, besides what its notes report to objects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceErrors {
    /// Failed lists and watches, missing rights and texts that could not be read, since the start.
    pub failures: u64,
    /// What cannot be read now, each with its place, for people.
    pub standing: Vec<String>,
    /// Kinds of which not everything was read, each with the reason, for people.
    pub unread: BTreeMap<KindId, String>,
}

/// Whether a name of an object is published already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Presence {
    /// A record of ours stands at the name, and its claim names the object or nobody.
    Held,
    /// The object has no record at the name.
    Free,
    /// It is not known: the zone was not read yet.
    Unread,
}

/// What is published, for whoever has to choose among more names than an object may have: those that it has come first.
pub trait PublishedNames: Send + Sync {
    /// Whether the object with this resource label has a record at `name`.
    fn presence(&self, name: &DnsName, resource: Option<&Arc<str>>) -> Presence;
}

/// Something that endpoints come from.
///
/// Losing a wake-up costs seconds, never correctness: the engine asks for news every few seconds in any case, and goes through
/// everything once in some hours, a part at a time.
#[async_trait]
pub trait Source: Send + Sync {
    /// Waits until something changed since the last [`Source::take`] (objects or evidence). May wake without a cause.
    async fn changed(&self);

    /// Takes over what changed since the last call, or everything.
    fn take(&self, everything: bool) -> Update;

    /// The next part of everything that was taken over so far, about `most` objects, in an order of its own.
    fn review(&self, most: usize) -> Review;

    /// How far the view can be trusted now.
    fn evidence(&self) -> Evidence;

    /// What went wrong with reading so far, and what is wrong now.
    fn errors(&self) -> SourceErrors;

    /// Gives the source access to what is published, before anything is taken. A source that never chooses drops it.
    fn use_published(&self, published: Arc<dyn PublishedNames>);

    /// More is known of what is published than before: a zone was read for the first time. Returns whether something is mapped
    /// again for it; it comes with the next [`Source::take`], for which [`Source::changed`] wakes.
    fn published_read(&self) -> bool;

    /// The objects that ask for a name or would if a flag or an annotation were otherwise, or one object: for a person who asks. It may
    /// go through every object, and is called where that holds up nothing.
    fn consider(&self, subject: &Subject) -> Vec<Consideration>;
}
