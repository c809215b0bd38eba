//! From objects to what they ask for, with the work of a change bounded by what reads it.
//!
//! In come feed [`Event`]s; out come core's updates and evidence. The index holds the objects, for each mapped object
//! what its mapper gave last and what it read, and how far each kind can be trusted. What must hold: after any events,
//! what has been told equals what mapping every object from scratch would give.
//!
//! What is told of an object:
//! - It maps to something: `Present`, once for each change of the result.
//! - It is there and asks for nothing (its annotation was removed, a filter excludes it): `Present` with an empty result
//!   if it asked for something before, since that is a deliberate edit; nothing at all otherwise, so that memory follows
//!   the names and not the objects.
//! - It is gone: `Gone`, with a tombstone only for a DELETE event. An object that was made anew under the same name has
//!   another UID: the old one is `Gone`, the new one `Present`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::time::Instant;
use zonewright_core::endpoint::{KindId, Mapped, ObjectRef};
use zonewright_core::source::{Evidence, KindState, ObjectState, ObjectUpdate, PublishedNames, SeenKinds, Update};

use crate::batch::{Batch, Item, MappedItem, Mapping};
use crate::evidence::View;
use crate::feed::{Event, Unreadable};
use crate::kind::Kind;
use crate::lookup::{Dependency, Reads};
use crate::objects::DnsEndpoint;
use crate::options::SourceOptions;
use crate::other_prefix::Other;
use crate::readers::{Reader, Readers};
use crate::sources::crd::{self, Status};
use crate::sources::{self, Role};
use crate::store::{Object, ObjectKey, Store};
use crate::unread::{Unread, has_labels};

/// What was told of one object.
#[derive(Debug)]
struct Told {
    object: ObjectRef,
    mapped: Arc<Mapped>,
}

/// The state of all sources over one feed.
pub struct Index {
    options: Arc<SourceOptions>,
    /// The well-known annotation prefix that is not in force.
    other_prefix: Option<Arc<Other>>,
    roles: Arc<[Role]>,
    reads: Reads,
    ids: BTreeMap<Kind, KindId>,
    store: Store,
    readers: Readers,
    views: BTreeMap<Kind, View>,
    /// Kinds whose list is under way, and the objects that it held so far.
    listing: BTreeMap<Kind, BTreeSet<ObjectKey>>,
    /// Objects that are there and of which nothing is known.
    unread: Unread,
    told: BTreeMap<Reader, Told>,
    dirty: BTreeSet<Reader>,
    /// What is being mapped, by a [`Batch`] that is not back yet.
    in_flight: BTreeSet<Reader>,
    /// Objects as they were and as they became while that goes on.
    changes: Vec<(Option<Object>, Option<Object>)>,
    tombstones: BTreeSet<Reader>,
    /// What is published, if anybody knows.
    published: Option<Arc<dyn PublishedNames>>,
    /// The readers whose mappers chose by what is published.
    by_presence: BTreeSet<Reader>,
    /// More became known of what is published while a batch was being mapped.
    published_read: bool,
    /// What objects should be told in their status.
    statuses: BTreeMap<ObjectKey, Status>,
    remapped: u64,
}

impl std::fmt::Debug for Index {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Index").field("told", &self.told.len()).field("dirty", &self.dirty).finish_non_exhaustive()
    }
}

impl Index {
    /// An empty index; `seen` are the kinds that an earlier process saw.
    pub fn new(options: Arc<SourceOptions>, seen: &SeenKinds) -> Self {
        let roles: Arc<[Role]> = sources::roles(&options).into();
        let reads = sources::reads(&*roles);
        let ids: BTreeMap<Kind, KindId> = reads.keys().map(|kind| (*kind, kind.id())).collect();
        let patience = Instant::now() + options.patience;
        Self {
            other_prefix: Other::of(&options).map(Arc::new),
            options,
            roles,
            reads,
            store: Store::default(),
            readers: Readers::default(),
            views: ids.iter().map(|(kind, id)| (*kind, View::new(seen.may_hold(id), patience))).collect(),
            listing: BTreeMap::new(),
            unread: Unread::default(),
            told: BTreeMap::new(),
            dirty: BTreeSet::new(),
            in_flight: BTreeSet::new(),
            changes: Vec::new(),
            tombstones: BTreeSet::new(),
            published: None,
            by_presence: BTreeSet::new(),
            published_read: false,
            statuses: BTreeMap::new(),
            remapped: 0,
            ids,
        }
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
            ("told", self.told.len()),
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
    pub fn apply(&mut self, event: Event, now: Instant) {
        match event {
            Event::Begin(kind) => {
                self.view(kind, View::begun);
                self.listing.insert(kind, BTreeSet::new());
            }
            Event::Listed(object) | Event::Applied(object) => self.put(&object),
            Event::Done(kind) => self.end_list(kind, now),
            Event::Deleted(key) => self.delete(&key),
            Event::Removed(keys) => self.remove_unproven(&keys),
            Event::Open(kind) => self.view(kind, View::open),
            Event::Lost(kind, since) => self.fail(kind, now, |view| view.lost(since)),
            Event::Forbidden(kind) => self.fail(kind, now, |view| view.lost(now)),
            Event::Unreadable(object) => self.keep_unreadable(object),
            Event::Denied(kind) => self.fail(kind, now, View::deny),
            Event::Blind(kind) => self.fail(kind, now, View::blind),
        }
    }

    fn fail(&mut self, kind: Kind, now: Instant, turn: impl FnOnce(&mut View)) {
        self.view(kind, |view| {
            turn(view);
            view.failed(now);
        });
    }

    fn view(&mut self, kind: Kind, turn: impl FnOnce(&mut View)) {
        if let Some(view) = self.views.get_mut(&kind) {
            turn(view);
        }
    }

    fn put(&mut self, object: &Object) {
        let key = object.key();
        if !self.reads.contains_key(&key.kind) {
            return;
        }
        if let Some(seen) = self.listing.get_mut(&key.kind) {
            seen.insert(key.clone());
        }
        self.read_again(&key);
        if !is_servers_own(&key) {
            self.view(key.kind, View::object_seen);
        }
        let old = self.store.insert(object.clone());
        if old.as_ref() != Some(object) {
            self.mark(&key, old.as_ref(), Some(object));
        }
    }

    /// An object that cannot be read is there: what is known of it stays, and where nothing is known it is doubted what it
    /// asks for, and what those ask for that read it.
    fn keep_unreadable(&mut self, object: Unreadable) {
        let key = object.key.clone();
        if let Some(seen) = self.listing.get_mut(&key.kind) {
            seen.insert(key.clone());
        }
        let known = self.store.object(key.kind, &key.namespace, &key.name).is_some();
        if !known && self.reads.contains_key(&key.kind) && self.unread.insert(object) {
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
            self.tombstones.extend(readers.filter(|reader| self.told.contains_key(reader)));
        }
    }

    fn remove_unproven(&mut self, keys: &[ObjectKey]) {
        let kinds: BTreeSet<Kind> = keys.iter().map(|key| key.kind).collect();
        let before: Vec<(Kind, usize)> = kinds.into_iter().map(|kind| (kind, self.telling(kind))).collect();
        for key in keys {
            self.drop_object(key);
        }
        for (kind, before) in before {
            let after = self.telling(kind);
            self.view(kind, |view| view.shrunk(before, after));
        }
    }

    /// Number of objects whose being there says something about the others.
    fn telling(&self, kind: Kind) -> usize {
        self.store.all(kind).filter(|object| !is_servers_own(&object.key())).count()
    }

    fn end_list(&mut self, kind: Kind, now: Instant) {
        let Some(listed) = self.listing.remove(&kind) else { return };
        let missing: Vec<ObjectKey> =
            self.store.all(kind).map(Object::key).filter(|key| !listed.contains(key)).collect();
        let before = self.telling(kind);
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
        self.mark(key, Some(&old), None);
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

    /// Maps what is dirty and tells what changed by it; with `everything`, tells all that there is.
    ///
    /// A complete update also carries the tombstones that have not been told yet: no later update would.
    pub fn take(&mut self, everything: bool) -> Update {
        let mapped = self.begin().map();
        self.finish(mapped, everything)
    }

    /// Takes out what is dirty, with all that its mappers may read: to be mapped without the index, and brought back to
    /// [`Index::finish`]. One batch at a time; one that never came back is part of the next.
    pub fn begin(&mut self) -> Batch {
        self.dirty.append(&mut self.in_flight);
        self.changes.clear();
        self.in_flight = std::mem::take(&mut self.dirty);
        let item = |reader: &Reader| Item {
            object: self.store.object(reader.key.kind, &reader.key.namespace, &reader.key.name).cloned(),
            tombstone: self.tombstones.contains(reader),
            reader: reader.clone(),
        };
        let items = self.in_flight.iter().map(item).collect();
        self.tombstones.clear();
        self.published_read = false;
        Batch {
            items,
            store: self.store.clone(),
            roles: Arc::clone(&self.roles),
            options: Arc::clone(&self.options),
            other_prefix: self.other_prefix.clone(),
            published: self.published.clone(),
        }
    }

    /// Takes over what mappers gave, and tells what changed by it; with `everything`, tells all that there is.
    pub fn finish(&mut self, mapped: Vec<MappedItem>, everything: bool) -> Update {
        let changed = self.take_over(mapped);
        self.in_flight.clear();
        // What was read may have changed after it was read.
        for (old, new) in std::mem::take(&mut self.changes) {
            self.dirty.extend(self.readers.affected(old.as_ref(), new.as_ref()));
        }
        if std::mem::take(&mut self.published_read) {
            self.dirty.extend(self.by_presence.iter().cloned());
        }
        if !everything {
            return Update { complete: false, objects: changed };
        }
        let proofs = changed.into_iter().filter(|update| matches!(update.state, ObjectState::Gone { tombstone: true }));
        Update { complete: true, objects: proofs.chain(self.snapshot()).collect() }
    }

    fn snapshot(&self) -> impl Iterator<Item = ObjectUpdate> {
        self.told.iter().map(|(reader, told)| {
            self.update(reader, told.object.clone(), ObjectState::Present(Arc::clone(&told.mapped)))
        })
    }

    fn take_over(&mut self, mapped: Vec<MappedItem>) -> Vec<ObjectUpdate> {
        let mut updates = Vec::new();
        for MappedItem { item, result } in mapped {
            let Item { reader, object, tombstone } = item;
            let key = &reader.key;
            let now = self.store.object(key.kind, &key.namespace, &key.name).map(Object::reference);
            match object.zip(result) {
                None => {
                    self.readers.forget(&reader);
                    self.by_presence.remove(&reader);
                    match self.roles.get(reader.source).and_then(|role| self.unread.mapped(role, &reader.key)) {
                        Some((object, mapped)) => self.tell(&reader, object, mapped, tombstone, &mut updates),
                        None => updates.extend(self.tell_gone(&reader, tombstone)),
                    }
                }
                // It went, or was made anew, while it was mapped: that is told next time.
                Some((object, _)) if now != Some(object.reference()) => {
                    if tombstone {
                        self.tombstones.insert(reader);
                    }
                }
                Some((object, result)) => self.take_over_one(&reader, &object, result, tombstone, &mut updates),
            }
        }
        updates
    }

    fn tell_gone(&mut self, reader: &Reader, tombstone: bool) -> Option<ObjectUpdate> {
        let told = self.told.remove(reader)?;
        Some(self.update(reader, told.object, ObjectState::Gone { tombstone }))
    }

    fn take_over_one(
        &mut self,
        reader: &Reader,
        object: &Object,
        Mapping { mut mapped, reads, by_presence }: Mapping,
        tombstone: bool,
        updates: &mut Vec<ObjectUpdate>,
    ) {
        let kinds = reads.iter().map(Dependency::kind).chain([reader.key.kind]);
        mapped.kinds.extend(kinds.filter_map(|kind| self.ids.get(&kind).cloned()));
        let label = self.roles.get(reader.source).and_then(|role| role.labels.first());
        let own = label.map(|label| object.meta().resource(reader.key.kind, label));
        self.unread.doubt(&mut mapped, own, &reads);
        self.readers.set(reader, reads);
        if by_presence {
            self.by_presence.insert(reader.clone());
        } else {
            self.by_presence.remove(reader);
        }
        self.remapped += 1;
        self.note_status(reader, object, &mapped);
        self.tell(reader, object.reference(), mapped, tombstone, updates);
    }

    /// Tells what an object asks for now, if that is news.
    fn tell(
        &mut self,
        reader: &Reader,
        reference: ObjectRef,
        mapped: Mapped,
        tombstone: bool,
        updates: &mut Vec<ObjectUpdate>,
    ) {
        if self.told.get(reader).is_some_and(|told| told.object != reference) {
            updates.extend(self.tell_gone(reader, tombstone));
        }
        let Mapped { endpoints, pending, unknown, notes, other_prefix, kinds: _ } = &mapped;
        let blank = endpoints.is_empty()
            && pending.is_empty()
            && unknown.is_empty()
            && notes.is_empty()
            && other_prefix.is_none();
        match self.told.get(reader) {
            Some(told) if *told.mapped == mapped => return,
            None if blank => return,
            _ => {}
        }
        let mapped = Arc::new(mapped);
        self.told.insert(reader.clone(), Told { object: reference.clone(), mapped: Arc::clone(&mapped) });
        updates.push(self.update(reader, reference, ObjectState::Present(mapped)));
    }

    fn note_status(&mut self, reader: &Reader, object: &Object, mapped: &Mapped) {
        if reader.key.kind != Kind::DnsEndpoint {
            return;
        }
        let status = object.body::<DnsEndpoint>().and_then(|object| crd::status(object, mapped));
        if let Some(status) = status.filter(|status| status.is_due) {
            self.statuses.insert(reader.key.clone(), status);
        }
    }

    /// The statuses that became due since the last call.
    pub fn take_statuses(&mut self) -> BTreeMap<ObjectKey, Status> {
        std::mem::take(&mut self.statuses)
    }

    fn update(&self, reader: &Reader, object: ObjectRef, state: ObjectState) -> ObjectUpdate {
        let source = self.roles.get(reader.source).map_or("", |role| role.source.as_str());
        ObjectUpdate { source: Arc::from(source), object, state }
    }

    /// The trust in each kind at `now`.
    pub fn states(&self, now: Instant) -> BTreeMap<KindId, KindState> {
        let states = self.views.iter().map(|(kind, view)| (kind, self.state(*kind, view, now)));
        states.filter_map(|(kind, state)| Some((self.ids.get(kind)?.clone(), state))).collect()
    }

    fn state(&self, kind: Kind, view: &View, now: Instant) -> KindState {
        let mut state = view.state(self.store.len(kind), now);
        state.unreadable = self.unread.of_kind(kind).count();
        // The nameless one comes first.
        let nameless = self.unread.of_kind(kind).next().is_some_and(|key| key.name.is_empty());
        state.complete &= !nameless && (state.unreadable == 0 || has_labels(&self.roles, kind));
        state
    }

    /// The trust in everything at `now`.
    pub fn evidence(&self, now: Instant) -> Evidence {
        let mut resources: BTreeMap<Arc<str>, BTreeSet<KindId>> = BTreeMap::new();
        for role in self.roles.iter() {
            let kinds = || role.reads.keys().filter_map(|kind| self.ids.get(kind).cloned());
            for label in &role.labels {
                resources.entry(Arc::clone(label)).or_default().extend(kinds());
            }
        }
        let open = self.roles.iter().filter(|role| role.kind.is_polled()).map(|role| role.kind.id()).collect();
        Evidence { kinds: self.states(now), resources, open }
    }

    /// The names of the objects of a kind that mappers looked up, there or not.
    pub fn wanted(&self, kind: Kind) -> BTreeSet<Arc<str>> {
        self.readers.objects_read(kind)
    }

    /// The next moment after `now` at which the trust in a view changes by itself.
    pub fn next_expiry(&self, now: Instant) -> Option<Instant> {
        self.views.values().filter_map(|view| view.expiry(now)).min()
    }

    /// The kinds of which not everything was read, each with an object that is there and cannot be read, if that is why.
    pub fn unread(&self) -> impl Iterator<Item = (Kind, Option<&ObjectKey>)> {
        let views =
            self.views.iter().map(|(kind, view)| (*kind, view.is_complete(), self.unread.of_kind(*kind).next()));
        views
            .filter(|(_, complete, object)| !complete || object.is_some())
            .map(|(kind, complete, object)| (kind, object.filter(|_| complete)))
    }
}

/// The Service `default/kubernetes` and its slice. Every API server makes them itself, also one that has just lost everything
/// that it knew: that they are there does not show that a list is whole.
fn is_servers_own(key: &ObjectKey) -> bool {
    matches!(key.kind, Kind::Service | Kind::EndpointSlice)
        && &*key.namespace == "default"
        && &*key.name == "kubernetes"
}
