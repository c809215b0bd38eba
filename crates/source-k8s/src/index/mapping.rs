//! What is dirty goes to the mappers, and what they give is reported where it is new.

use std::collections::BTreeMap;
use std::sync::Arc;

use zonewright_core::endpoint::{Mapped, ObjectRef};
use zonewright_core::source::{ObjectState, ObjectUpdate, Review, Update};

use super::Index;
use super::reported::Reported;
use crate::batch::{BatchItem, MappedItem, Mapping, MappingBatch};
use crate::kind::Kind;
use crate::lookup::Dependency;
use crate::objects::DnsEndpoint;
use crate::readers::Reader;
use crate::sources::crd::{self, Status};
use crate::store::{Object, ObjectKey};

/// So many more objects are laid out anew at once, and not with the slow pass.
const MANY: usize = 4_096;

impl Index {
    /// Maps what is dirty and reports what changed by it; with `everything`, all that there is.
    ///
    /// A complete update also carries the tombstones that have not been reported yet: no later update would.
    pub fn take(&mut self, everything: bool) -> Update {
        let mut batch = self.begin();
        let mut changed = Vec::new();
        while let Some(part) = batch.map_part() {
            self.take_over(part, &mut changed);
        }
        self.end(changed, everything)
    }

    /// Takes out what is dirty, with all that its mappers may read: to be mapped without the index, and brought back to
    /// [`Index::finish`]. One batch at a time; one that never came back is part of the next.
    pub fn begin(&mut self) -> MappingBatch {
        self.dirty.extend(self.in_flight.iter().cloned());
        self.changes.clear();
        // What was mapped and not kept is mapped again when it comes anew; nothing else has a part in it.
        let is_whole = |reader: &Reader| !self.store.is_pruned(&reader.key);
        let (whole, pruned): (Vec<_>, Vec<_>) = std::mem::take(&mut self.dirty).into_iter().partition(is_whole);
        self.in_flight = Arc::new(whole);
        self.retold.extend(pruned);
        self.published_read = false;
        MappingBatch {
            readers: Arc::clone(&self.in_flight),
            mapped: 0,
            tombstones: std::mem::take(&mut self.tombstones),
            store: self.store.clone(),
            roles: Arc::clone(&self.roles),
            options: Arc::clone(&self.options),
            other_prefix: self.other_prefix.clone(),
            published: self.published.clone(),
        }
    }

    /// Takes over what mappers gave, and reports what changed by it; with `everything`, all that there is.
    pub fn finish(&mut self, mapped: Vec<MappedItem>, everything: bool) -> Update {
        let mut changed = Vec::new();
        self.take_over(mapped, &mut changed);
        self.end(changed, everything)
    }

    /// Everything of the batch is taken over: reports what changed by it; with `everything`, all that there is.
    pub(crate) fn end(&mut self, mut changed: Vec<ObjectUpdate>, everything: bool) -> Update {
        self.in_flight = Arc::default();
        for reader in std::mem::take(&mut self.retold) {
            self.retell(&reader, &mut changed);
        }
        self.compact(self.laid_out + MANY);
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

    /// The next `most` objects of what was reported, beginning anew after the last one.
    pub fn review(&mut self, most: usize) -> Review {
        let reviewed = self.reviewed.take();
        let mut rest = self.reported.after(reviewed.as_ref());
        let part: Vec<(Reader, &Reported)> = rest.by_ref().take(most.max(1)).collect();
        let last = rest.next().is_none();
        drop(rest);
        let state = |reported: &Reported| ObjectState::Present(Arc::clone(&reported.mapped));
        let objects = part
            .iter()
            .map(|(reader, reported)| self.update(reader, reported.object(reader), state(reported)))
            .collect();
        self.reviewed = part.last().map(|(reader, _)| reader.clone()).filter(|_| !last);
        self.compact(self.laid_out / 4);
        Review { objects, last }
    }

    /// Lays out the tables anew once they have grown by so much: what is put in one after the other leaves much room between.
    fn compact(&mut self, growth: usize) {
        let reported = self.reported.len();
        if reported > self.laid_out + growth {
            self.laid_out = reported;
            self.reported.compact();
            self.store.compact();
        } else if reported < self.laid_out / 2 {
            self.laid_out = reported;
        }
    }

    fn snapshot(&self) -> impl Iterator<Item = ObjectUpdate> {
        self.reported.iter().map(|(reader, reported)| {
            self.update(&reader, reported.object(&reader), ObjectState::Present(Arc::clone(&reported.mapped)))
        })
    }

    /// Takes over what a part of a batch gave.
    pub(crate) fn take_over(&mut self, mapped: Vec<MappedItem>, updates: &mut Vec<ObjectUpdate>) {
        for MappedItem { item, result } in mapped {
            let BatchItem { reader, object, tombstone } = item;
            let now = self.store.reference(&reader.key);
            match object.zip(result) {
                None => {
                    self.readers.forget(&reader);
                    self.by_presence.remove(&reader);
                    match self.roles.get(reader.source).and_then(|role| self.unread.mapped(role, &reader.key)) {
                        Some((object, mapped)) => self.report(&reader, object, mapped, tombstone, updates),
                        None => updates.extend(self.report_gone(&reader, tombstone)),
                    }
                }
                // It went, or was made anew, while it was mapped: that is reported next time.
                Some((object, _)) if now != Some(object.reference()) => {
                    if tombstone {
                        self.tombstones.insert(reader);
                    }
                }
                Some((object, result)) => {
                    let leaf = result.rests_on_itself()
                        && self.forgotten.contains(&reader.key.kind)
                        && !self.may_be_asked_about(&object, &result.mapped);
                    self.take_over_one(&reader, &object, result, tombstone, updates);
                    if leaf && !self.dirty.contains(&reader) {
                        self.store.prune(&object);
                    }
                }
            }
        }
    }

    fn report_gone(&mut self, reader: &Reader, tombstone: bool) -> Option<ObjectUpdate> {
        let reported = self.reported.remove(reader)?;
        Some(self.update(reader, reported.object(reader), ObjectState::Gone { tombstone }))
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
        mapped.kinds.share(&mut self.kinds);
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
        self.unread.tell(&mut mapped, &reader.key, &object.reference());
        self.report(reader, object.reference(), mapped, tombstone, updates);
    }

    /// Reports what an object asks for now, if that is new.
    fn report(
        &mut self,
        reader: &Reader,
        reference: ObjectRef,
        mapped: Mapped,
        tombstone: bool,
        updates: &mut Vec<ObjectUpdate>,
    ) {
        if self.reported.get(reader).is_some_and(|reported| reported.object(reader) != reference) {
            updates.extend(self.report_gone(reader, tombstone));
        }
        let Mapped { endpoints, pending, unknown, notes, other_prefix, kinds: _ } = &mapped;
        let blank = endpoints.is_empty()
            && pending.is_empty()
            && unknown.is_empty()
            && notes.is_empty()
            && other_prefix.is_none();
        match self.reported.get(reader) {
            Some(reported) if *reported.mapped == mapped => return,
            None if blank => return,
            _ => {}
        }
        let mapped = Arc::new(mapped);
        self.reported.insert(reader, Reported::new(reader, reference.clone(), Arc::clone(&mapped)));
        updates.push(self.update(reader, reference, ObjectState::Present(mapped)));
    }

    /// Reports an object of which nothing is kept as it was reported, and that it cannot be read now if that is so.
    fn retell(&mut self, reader: &Reader, updates: &mut Vec<ObjectUpdate>) {
        // What came anew meanwhile is mapped, and what went is reported so.
        let reference = self.store.reference(&reader.key).filter(|_| self.store.is_pruned(&reader.key));
        if let Some(reference) = reference {
            let mut mapped =
                self.reported.get(reader).map(|reported| Mapped::clone(&reported.mapped)).unwrap_or_default();
            self.unread.tell(&mut mapped, &reader.key, &reference);
            self.report(reader, reference, mapped, false, updates);
        }
    }

    fn note_status(&mut self, reader: &Reader, object: &Object, mapped: &Mapped) {
        if reader.key.kind != Kind::DnsEndpoint {
            return;
        }
        // Of an object that is another process' business, that one says what is wrong with it.
        let object = object.body::<DnsEndpoint>().filter(|object| crd::counts(object, &self.options));
        let status = object.and_then(|object| crd::status(object, mapped)).filter(|status| status.is_due);
        match status {
            Some(status) => drop(self.statuses.insert(reader.key.clone(), status)),
            None => drop(self.statuses.remove(&reader.key)),
        }
    }

    /// The statuses that became due since the last call.
    pub fn take_statuses(&mut self) -> BTreeMap<ObjectKey, Status> {
        std::mem::take(&mut self.statuses)
    }

    /// A status is due again, unless a newer one is. Returns whether its object is there.
    pub fn put_back_status(&mut self, key: &ObjectKey, status: Status) -> bool {
        let there = self.store.holds(key.kind, &key.namespace, &key.name);
        if there {
            self.statuses.entry(key.clone()).or_insert(status);
        }
        there
    }

    fn update(&self, reader: &Reader, object: ObjectRef, state: ObjectState) -> ObjectUpdate {
        let source = self.roles.get(reader.source).map(|role| role.source.shared()).unwrap_or_default();
        ObjectUpdate { source, object, state }
    }
}
