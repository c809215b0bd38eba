//! From objects to what they ask for, with the work of a change bounded by what reads it.
//!
//! In come feed [`FeedEvent`]s; out come core's updates and evidence. The index holds the objects, for each mapped object
//! what its mapper gave last and what it read, and how far each kind can be trusted. What must hold: after any events,
//! what has been reported equals what mapping every object from scratch would give.
//!
//! What is reported of an object:
//! - It maps to something: `Present`, once for each change of the result.
//! - It is there and asks for nothing (its annotation was removed, a filter excludes it): `Present` with an empty result
//!   if it asked for something before, since that is a deliberate edit; nothing at all otherwise, so that memory follows
//!   the names and not the objects.
//! - It is gone: `Gone`, with a tombstone only for a DELETE event. An object that was made anew under the same name has
//!   another UID: the old one is `Gone`, the new one `Present`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::time::Instant;
use zonewright_core::endpoint::{KindId, Kinds};
use zonewright_core::source::{PublishedNames, SeenKinds};

use self::reported::ReportedObjects;
use crate::evidence::KindTrust;
use crate::feed::{FeedEvent, Unreadable};
use crate::kind::Kind;
use crate::lookup::Reads;
use crate::options::SourceOptions;
use crate::other_prefix::Other;
use crate::readers::{Reader, Readers};
use crate::sources::crd::Status;
use crate::sources::{self, SourceRole};
use crate::store::{Object, ObjectKey, Store};
use crate::unread::Unread;

mod consider;
mod mapping;
mod reported;
mod trust;

/// The state of all sources over one feed.
pub struct Index {
    options: Arc<SourceOptions>,
    /// The well-known annotation prefix that is not in force.
    other_prefix: Option<Arc<Other>>,
    roles: Arc<[SourceRole]>,
    reads: Reads,
    ids: BTreeMap<Kind, KindId>,
    store: Store,
    readers: Readers,
    views: BTreeMap<Kind, KindTrust>,
    /// Kinds whose list is under way, and the objects that it held so far.
    listing: BTreeMap<Kind, BTreeSet<ObjectKey>>,
    /// Objects that are there and cannot be read.
    unread: Unread,
    /// Objects of which nothing is kept, and that cannot be read any more: what was reported of them is reported with that.
    retold: BTreeSet<Reader>,
    reported: ReportedObjects,
    dirty: BTreeSet<Reader>,
    /// What is being mapped, by a [`MappingBatch`] that is not back yet.
    in_flight: Arc<Vec<Reader>>,
    /// Objects as they were and as they became while that goes on.
    changes: Vec<(Option<Object>, Option<Object>)>,
    tombstones: BTreeSet<Reader>,
    /// What is published, if anybody knows.
    published: Option<Arc<dyn PublishedNames>>,
    /// The readers whose mappers chose by what is published.
    by_presence: BTreeSet<Reader>,
    /// More became known of what is published while a batch was being mapped.
    published_read: bool,
    /// What to report in the status of objects.
    statuses: BTreeMap<ObjectKey, Status>,
    remapped: u64,
    /// How far the slow pass over everything that was reported has come.
    reviewed: Option<Reader>,
    /// The kinds of whose objects nothing is kept, once they are mapped, but who they are.
    forgotten: BTreeSet<Kind>,
    /// The kinds that mappings rest on, each set of them once.
    kinds: Vec<Kinds>,
    /// How many objects had been reported when the tables were last laid out anew.
    laid_out: usize,
}

impl std::fmt::Debug for Index {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Index")
            .field("reported", &self.reported.len())
            .field("dirty", &self.dirty)
            .finish_non_exhaustive()
    }
}

impl Index {
    /// An empty index; `seen` are the kinds that an earlier process saw.
    pub fn new(options: Arc<SourceOptions>, seen: &SeenKinds) -> Self {
        let roles: Arc<[SourceRole]> = sources::roles(&options).into();
        let reads = sources::reads(&*roles);
        let reported = ReportedObjects::new(&roles);
        let ids: BTreeMap<Kind, KindId> = reads.keys().map(|kind| (*kind, kind.id())).collect();
        let patience = Instant::now() + options.patience;
        Self {
            other_prefix: Other::of(&options).map(Arc::new),
            options,
            roles,
            reads,
            store: Store::default(),
            readers: Readers::default(),
            views: ids.iter().map(|(kind, id)| (*kind, KindTrust::new(seen.may_hold(id), patience))).collect(),
            listing: BTreeMap::new(),
            unread: Unread::default(),
            retold: BTreeSet::new(),
            reported,
            dirty: BTreeSet::new(),
            in_flight: Arc::default(),
            changes: Vec::new(),
            tombstones: BTreeSet::new(),
            published: None,
            by_presence: BTreeSet::new(),
            published_read: false,
            statuses: BTreeMap::new(),
            remapped: 0,
            reviewed: None,
            forgotten: BTreeSet::new(),
            kinds: Vec::new(),
            laid_out: 0,
            ids,
        }
    }

    /// Keeps of objects whose mapping rests on nothing else no more than who they are: whoever feeds the index keeps them no longer
    /// either, and gives an object anew where it changes. Only of kinds that one role maps and no other reads.
    #[must_use]
    pub fn keeping_little(mut self) -> Self {
        let whole = self.options.keep();
        let alone = |kind: &Kind| {
            let own = self.roles.iter().filter(|role| role.kind == *kind).count();
            let read = self.roles.iter().any(|role| role.kind != *kind && role.reads.contains_key(kind));
            own == 1 && !read && !whole.keeps_whole(*kind)
        };
        self.forgotten = [Kind::Service, Kind::Ingress].into_iter().filter(alone).collect();
        self
    }

    /// The kinds that have to be fed, and how far.
    pub fn reads(&self) -> &Reads {
        &self.reads
    }

    /// The kinds that were ever served, to be handed to [`Index::new`] by a later process.
    pub fn seen(&self) -> BTreeSet<KindId> {
        let seen = self.views.iter().filter(|(_, view)| view.is_seen());
        seen.filter_map(|(kind, _)| self.ids.get(kind).cloned()).collect()
    }

    /// The number of entries of each table that is keyed by objects or by what mappers read, by the table's name.
    pub fn table_sizes(&self) -> BTreeMap<&'static str, usize> {
        BTreeMap::from([
            ("objects", self.ids.keys().map(|kind| self.store.len(*kind)).sum()),
            ("listing", self.listing.values().map(BTreeSet::len).sum()),
            ("unread", self.unread.len()),
            ("reported", self.reported.len()),
            ("dirty", self.dirty.len()),
            ("tombstones", self.tombstones.len()),
            ("statuses", self.statuses.len()),
            ("readers", self.readers.len()),
        ])
    }

    /// Number of times that a mapper ran.
    pub fn remapped(&self) -> u64 {
        self.remapped
    }

    /// Whether [`Index::take`] would map anything.
    pub fn is_dirty(&self) -> bool {
        !self.dirty.is_empty()
    }

    /// From now on mappers can ask what is published.
    pub fn use_published(&mut self, published: Arc<dyn PublishedNames>) {
        self.published = Some(published);
    }

    /// More is known of what is published: what chose by it is mapped again. Returns whether there is any.
    pub fn published_read(&mut self) -> bool {
        self.published_read = !self.in_flight.is_empty();
        self.dirty.extend(self.by_presence.iter().cloned());
        self.published_read || !self.by_presence.is_empty()
    }

    /// Whether everything that came is mapped.
    pub fn is_mapped(&self) -> bool {
        self.dirty.is_empty() && self.in_flight.is_empty()
    }

    /// Takes in an event that happened at `now`. Events of kinds that nobody reads are dropped.
    pub fn apply(&mut self, event: FeedEvent, now: Instant) {
        match event {
            FeedEvent::Begin(kind) => {
                self.view(kind, KindTrust::begun);
                self.listing.insert(kind, BTreeSet::new());
            }
            // What a list shows says nothing of the rest before its end.
            FeedEvent::Listed(object) => drop(self.put(object)),
            FeedEvent::Applied(object) => {
                if let Some(kind) = self.put(object) {
                    self.view(kind, KindTrust::object_seen);
                }
            }
            FeedEvent::Done(kind) => self.end_list(kind, now),
            FeedEvent::Deleted(key) => self.delete(&key),
            FeedEvent::Removed(keys) => self.remove_unproven(&keys),
            FeedEvent::Open(kind) => self.view(kind, KindTrust::open),
            FeedEvent::Lost(kind, since) => self.fail(kind, now, |view| view.lost(since)),
            FeedEvent::Forbidden(kind) => self.fail(kind, now, |view| view.lost(now)),
            FeedEvent::Unreadable(object) => self.keep_unreadable(object),
            FeedEvent::Denied(kind) => self.fail(kind, now, KindTrust::deny),
            FeedEvent::Blind(kind) => self.fail(kind, now, KindTrust::blind),
        }
    }

    fn fail(&mut self, kind: Kind, now: Instant, turn: impl FnOnce(&mut KindTrust)) {
        self.view(kind, |view| {
            turn(view);
            view.failed(now);
        });
    }

    fn view(&mut self, kind: Kind, turn: impl FnOnce(&mut KindTrust)) {
        if let Some(view) = self.views.get_mut(&kind) {
            turn(view);
        }
    }

    /// Takes in an object as it is now. Returns its kind, if that is read and the object is none of the server's own.
    fn put(&mut self, object: Object) -> Option<Kind> {
        let key = object.key();
        if !self.reads.contains_key(&key.kind) {
            return None;
        }
        if let Some(seen) = self.listing.get_mut(&key.kind) {
            seen.insert(key.clone());
        }
        self.read_again(&key);
        let telling = Some(key.kind).filter(|_| !is_servers_own(&key));
        if self.store.object(key.kind, &key.namespace, &key.name) != Some(&object) {
            let old = self.store.insert(object);
            let new = self.store.object(key.kind, &key.namespace, &key.name).cloned();
            self.mark(&key, old.as_ref(), new.as_ref());
        }
        telling
    }

    /// An object that cannot be read is there, and is told: what is known of it stays, and where nothing is known it is doubted what
    /// it asks for, and what those ask for that read it.
    fn keep_unreadable(&mut self, object: Unreadable) {
        let key = object.key.clone();
        if let Some(seen) = self.listing.get_mut(&key.kind) {
            seen.insert(key.clone());
        }
        let known = self.store.holds(key.kind, &key.namespace, &key.name);
        if !self.reads.contains_key(&key.kind) || !self.unread.insert(object, known) {
            return;
        }
        if known {
            self.mark_own(&key);
        } else {
            self.mark_doubtful(&key);
        }
    }

    /// The doubt about an object is over: it was read, or is gone. Returns whether there was any.
    fn read_again(&mut self, key: &ObjectKey) -> bool {
        let doubted = self.unread.remove(key);
        if doubted {
            self.mark_doubtful(key);
        }
        doubted
    }

    /// Marks what the doubt about an object falls on.
    fn mark_doubtful(&mut self, key: &ObjectKey) {
        self.mark_own(key);
        self.dirty.extend(self.readers.may_have_missed(key));
    }

    fn delete(&mut self, key: &ObjectKey) {
        if self.drop_object(key) {
            let readers = (0..self.roles.len()).map(|source| Reader { source, key: key.clone() });
            self.tombstones.extend(readers.filter(|reader| self.reported.get(reader).is_some()));
        }
    }

    fn remove_unproven(&mut self, keys: &[ObjectKey]) {
        let kinds: BTreeSet<Kind> = keys.iter().map(|key| key.kind).collect();
        let before: Vec<(Kind, usize)> = kinds.into_iter().map(|kind| (kind, self.reported_of(kind))).collect();
        for key in keys {
            self.drop_object(key);
        }
        for (kind, before) in before {
            let after = self.reported_of(kind);
            self.view(kind, |view| view.shrunk(before, after));
        }
    }

    /// Number of objects whose being there says something about the others.
    fn reported_of(&self, kind: Kind) -> usize {
        self.store.keys(kind).filter(|key| !is_servers_own(key)).count()
    }

    fn end_list(&mut self, kind: Kind, now: Instant) {
        let Some(listed) = self.listing.remove(&kind) else { return };
        let missing: Vec<ObjectKey> = self.store.keys(kind).filter(|key| !listed.contains(key)).collect();
        let before = self.reported_of(kind);
        for key in &missing {
            self.drop_object(key);
        }
        let unread: Vec<ObjectKey> = self.unread.of_kind(kind).filter(|key| !listed.contains(*key)).cloned().collect();
        for key in &unread {
            self.read_again(key);
        }
        let listed = listed.iter().filter(|key| !is_servers_own(key)).count();
        self.view(kind, |view| view.listed(before, listed, now));
    }

    /// Takes an object out of the store; returns whether it was there.
    fn drop_object(&mut self, key: &ObjectKey) -> bool {
        if let Some(seen) = self.listing.get_mut(&key.kind) {
            seen.remove(key);
        }
        let doubted = self.read_again(key);
        self.statuses.remove(key);
        let Some(old) = self.store.remove(key) else { return doubted };
        self.mark(key, old.as_ref(), None);
        true
    }

    /// Marks what has to be mapped again after a change of one object.
    fn mark(&mut self, key: &ObjectKey, old: Option<&Object>, new: Option<&Object>) {
        self.mark_own(key);
        self.dirty.extend(self.readers.affected(old, new));
        if !self.in_flight.is_empty() {
            self.changes.push((old.cloned(), new.cloned()));
        }
    }

    fn mark_own(&mut self, key: &ObjectKey) {
        for (source, role) in self.roles.iter().enumerate() {
            if role.kind == key.kind && role.reach().is_some_and(|reach| reach.has(&key.namespace)) {
                self.dirty.insert(Reader { source, key: key.clone() });
            }
        }
    }
}

/// Namespace and name of what [`is_servers_own`].
const SERVERS_OWN: (&str, &str) = ("default", "kubernetes");

/// The Service `default/kubernetes` and its slice. Every API server makes them itself, also one that has just lost everything
/// that it knew: that they are there does not show that a list is whole.
fn is_servers_own(key: &ObjectKey) -> bool {
    has_servers_own(key.kind) && (&*key.namespace, &*key.name) == SERVERS_OWN
}

/// Whether one object of the kind may be the server's own.
fn has_servers_own(kind: Kind) -> bool {
    matches!(kind, Kind::Service | Kind::EndpointSlice)
}
