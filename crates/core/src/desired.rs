//! The desired table: what every object asks for, by object and by name.
//!
//! Updates of sources come in; dirty names go out: the names whose claims, pending targets or tombstones changed. Nothing
//! else needs to be planned again.

mod askers;
mod by_name;
mod claimant;
mod mapped;
mod taken;
mod tombstones;
mod unknowns;
mod waits;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use askers::Askers;
use by_name::ByName;
use claimant::{Claimant, Claimants};
use mapped::{asked_by, labels_of, names_of, requests_at};
pub use taken::{Asked, Edit, Taken, Waiting};
use tombstones::Tombstones;
use unknowns::Unknowns;
use waits::Waits;

use crate::clock::Timestamp;
use crate::endpoint::{Endpoint, Mapped, ObjectRef, Pending, Unknown};
use crate::name::DnsName;
use crate::rtype::RecordType;
use crate::source::{ObjectState, ObjectUpdate, Update};

/// What sources reported so far.
#[derive(Debug, Default)]
pub struct Desired {
    /// What each object asks for, as each source reads it.
    claimants: HashMap<Arc<Claimant>, ByName>,
    readings: Claimants,
    /// Who asks for each name.
    names: BTreeMap<DnsName, Askers>,
    /// The objects of each namespace, in order.
    namespaces: BTreeMap<Arc<str>, BTreeSet<Arc<Claimant>>>,
    pending: Waits,
    tombstones: Tombstones,
    /// How many endpoints there are of each type.
    types: BTreeMap<RecordType, usize>,
    /// How many names there were when the tables were last laid out anew.
    laid_out: usize,
    /// The number of the slow pass over everything that is under way.
    pass: u32,
    /// How many names were gone through in walks over all of them.
    walked: AtomicU64,
    /// Objects of which not everything is known that they ask for.
    unknown: Unknowns,
    /// When objects came of which nothing was known before, and which may have published something without a label.
    unlabelled_since: Option<Timestamp>,
}

impl Desired {
    /// Takes over an update; `now` is the beginning of the wait of names that became pending with it.
    pub fn take(&mut self, update: Update, now: Timestamp) -> Taken {
        let mut taken = Taken::default();
        if update.complete {
            // What was seen in a pass that is under way says nothing of what is seen in this one.
            self.pass = self.pass.wrapping_add(1);
        }
        for object in update.objects {
            self.take_one(object, now, update.complete, &mut taken);
        }
        if update.complete {
            self.end_pass(&mut taken);
        }
        taken
    }

    /// Compares a part of everything that a source holds with what was taken over. What comes of it is nothing, as long as nothing
    /// was lost on the way.
    pub fn review(&mut self, part: Vec<ObjectUpdate>, now: Timestamp) -> Taken {
        let mut taken = Taken::default();
        for object in part {
            self.take_one(object, now, false, &mut taken);
        }
        self.compact();
        taken
    }

    /// Gives back the room that the tables grew with, once they have grown or shrunk by much.
    fn compact(&mut self) {
        let names = self.names.len();
        if names > self.laid_out + self.laid_out / 4 || names < self.laid_out / 2 {
            self.laid_out = names;
            self.names = std::mem::take(&mut self.names).into_iter().collect();
            for objects in self.namespaces.values_mut() {
                *objects = std::mem::take(objects).into_iter().collect();
            }
            self.claimants.shrink_to_fit();
        }
    }

    /// Every source has shown all its parts: what was not seen since the pass began is gone, without a proof.
    pub fn reviewed(&mut self) -> Taken {
        let mut taken = Taken::default();
        self.end_pass(&mut taken);
        taken
    }

    fn take_one(&mut self, object: ObjectUpdate, now: Timestamp, complete: bool, taken: &mut Taken) {
        let claimant = Arc::new(self.readings.claimant(&object.source, &object.object));
        match object.state {
            ObjectState::Present(mapped) => {
                let mapped = self.carry(&claimant, mapped, now, complete);
                self.note_waiting(&claimant, &object.object, &mapped, taken);
                self.note_edit(&claimant, &object.object, &mapped, taken);
                self.present(claimant, mapped, now, taken);
            }
            ObjectState::Gone { tombstone } => self.gone(&claimant, tombstone.then_some(now), taken),
        }
    }

    fn end_pass(&mut self, taken: &mut Taken) {
        let unseen = |known: &ByName| known.pass() != self.pass;
        let missing: Vec<_> =
            self.claimants.iter().filter(|(_, known)| unseen(known)).map(|(c, _)| c.clone()).collect();
        for claimant in missing {
            self.gone(&claimant, None, taken);
        }
        self.pass = self.pass.wrapping_add(1);
    }

    fn present(&mut self, claimant: Arc<Claimant>, mapped: Arc<Mapped>, now: Timestamp, taken: &mut Taken) {
        let known = self.claimants.get_mut(&claimant);
        if let Some(known) = known {
            known.see(self.pass);
            if *known.mapped() == mapped {
                return;
            }
        }
        let old = self.claimants.get(&claimant).map(|known| known.mapped().clone());
        // An object that asks again voids the proof that it is gone.
        names_of(&mapped).for_each(|name| self.tombstones.remove(name));
        labels_of(&mapped).for_each(|label| self.tombstones.remove_label(label));
        let former: BTreeSet<DnsName> = old.iter().flat_map(|m| names_of(m)).cloned().collect();
        let present: BTreeSet<DnsName> = names_of(&mapped).cloned().collect();
        for name in former.difference(&present) {
            self.leave(&claimant, name);
        }
        for name in &present {
            match self.names.get_mut(name) {
                Some(who) => who.add(&claimant),
                None => drop(self.names.insert(name.clone(), Askers::One(claimant.clone()))),
            }
        }
        taken.cleared |= self.unknown.put(&claimant, &mapped.unknown, now);
        let waiting: BTreeSet<&DnsName> = mapped.pending.iter().map(|p| &p.name).collect();
        for pending in old.iter().flat_map(|old| &old.pending).filter(|p| !waiting.contains(&p.name)) {
            self.pending.end(&claimant, &pending.name);
        }
        for name in waiting {
            self.pending.begin(&claimant, name, now);
        }
        taken
            .notes
            .extend(mapped.notes.iter().filter(|note| !old.as_ref().is_some_and(|m| m.notes.contains(note))).cloned());
        taken.namespaces.insert(claimant.namespace.clone());
        self.namespaces.entry(claimant.namespace.clone()).or_default().insert(claimant.clone());
        if let Some(old) = &old {
            self.count(old, false);
        }
        self.count(&mapped, true);
        self.claimants.insert(claimant, ByName::new(mapped, self.pass));
        taken.dirty.extend(former);
        taken.dirty.extend(present);
    }

    fn count(&mut self, mapped: &Mapped, here: bool) {
        for endpoint in &mapped.endpoints {
            let count = self.types.entry(endpoint.rtype).or_default();
            *count = if here { *count + 1 } else { count.saturating_sub(1) };
            if *count == 0 {
                self.types.remove(&endpoint.rtype);
            }
        }
    }

    /// Notes the names of an object that begin to wait for their targets.
    fn note_waiting(&self, claimant: &Arc<Claimant>, object: &ObjectRef, mapped: &Mapped, taken: &mut Taken) {
        let old = self.claimants.get(claimant);
        for Pending { name, reason, .. } in &mapped.pending {
            if self.pending.since(claimant, name).is_none() {
                let had_targets = old.is_some_and(|old| old.endpoints(name).next().is_some());
                let (object, name, reason) = (object.clone(), name.clone(), reason.clone());
                taken.waiting.push(Waiting { object, name, reason, had_targets });
            }
        }
    }

    /// Notes which names an object asks for in the place of others.
    fn note_edit(&self, claimant: &Arc<Claimant>, object: &ObjectRef, mapped: &Mapped, taken: &mut Taken) {
        let Some(old) = self.claimants.get(claimant).filter(|old| **old.mapped() != *mapped) else { return };
        let former: BTreeSet<&DnsName> = names_of(old.mapped()).collect();
        let present: BTreeSet<&DnsName> = names_of(mapped).collect();
        let left: Vec<DnsName> = former.difference(&present).copied().cloned().collect();
        let came: Vec<DnsName> = present.difference(&former).copied().cloned().collect();
        if !left.is_empty() && !came.is_empty() {
            taken.edits.push(Edit { object: object.clone(), left, came });
        }
    }

    /// An object that asks for something without a label, and it cannot be determined for what: the names that it asked for so
    /// far wait. Of an object that nothing is known of, records may be there from an earlier process.
    fn carry(&mut self, claimant: &Arc<Claimant>, mapped: Arc<Mapped>, now: Timestamp, complete: bool) -> Arc<Mapped> {
        let Some(unknown) = mapped.unknown.iter().find(|unknown| unknown.resource.is_none()) else { return mapped };
        let Some(old) = self.claimants.get(claimant) else {
            if complete {
                self.unlabelled_since.get_or_insert(now);
            }
            return mapped;
        };
        let (old, known) = (old.mapped(), names_of(&mapped).collect::<BTreeSet<&DnsName>>());
        let lost = old.endpoints.iter().filter(|e| e.resource.is_none()).map(|e| &e.name);
        let waiting = old.pending.iter().filter(|p| p.resource.is_none()).map(|p| &p.name);
        let names: BTreeSet<&DnsName> = lost.chain(waiting).filter(|name| !known.contains(name)).collect();
        if names.is_empty() {
            return mapped;
        }
        let wait = |name: &DnsName| Pending { name: name.clone(), resource: None, reason: unknown.reason.clone() };
        let pending = mapped.pending.iter().cloned().chain(names.into_iter().map(wait)).collect();
        Arc::new(Mapped { pending, ..Mapped::clone(&mapped) })
    }

    /// An object is gone; `proven` since when, if a DELETE event said so.
    fn gone(&mut self, claimant: &Arc<Claimant>, proven: Option<Timestamp>, taken: &mut Taken) {
        let Some(known) = self.claimants.remove(claimant) else { return };
        let mapped = known.mapped();
        self.count(mapped, false);
        taken.cleared |= self.unknown.remove(claimant);
        taken.namespaces.insert(claimant.namespace.clone());
        if let Some(others) = self.namespaces.get_mut(&claimant.namespace) {
            others.remove(claimant);
            if others.is_empty() {
                self.namespaces.remove(&claimant.namespace);
            }
        }
        let mut asked: BTreeMap<&DnsName, BTreeSet<Option<Arc<str>>>> = BTreeMap::new();
        for (name, label) in asked_by(mapped) {
            asked.entry(name).or_default().insert(label.clone());
        }
        for (name, mut labels) in asked {
            self.leave(claimant, name);
            taken.dirty.insert(name.clone());
            // Those that ask without a label share a claim: that one of them is gone proves nothing of the others.
            if labels.contains(&None) && self.is_asked_unlabelled(name) {
                labels.remove(&None);
            }
            if let Some(now) = proven.filter(|_| !labels.is_empty()) {
                self.tombstones.add(name, labels, now);
            }
        }
        if let Some(now) = proven {
            mapped.unknown.iter().filter_map(|u| u.resource.as_ref()).for_each(|l| self.tombstones.add_label(l, now));
        }
    }

    /// Whether some object asks for a name without a label.
    fn is_asked_unlabelled(&self, name: &DnsName) -> bool {
        let asks = |known: &ByName| asked_by(known.mapped()).any(|(asked, label)| asked == name && label.is_none());
        let claimants = self.names.get(name).into_iter().flat_map(Askers::as_slice);
        claimants.filter_map(|claimant| self.claimants.get(claimant)).any(asks)
    }

    fn leave(&mut self, claimant: &Arc<Claimant>, name: &DnsName) {
        self.pending.end(claimant, name);
        if self.names.get_mut(name).is_some_and(|who| who.remove(claimant)) {
            self.names.remove(name);
        }
    }

    /// Number of objects that ask for something.
    pub fn objects(&self) -> usize {
        self.claimants.len()
    }

    /// What is asked for at a name.
    pub fn at(&self, name: &DnsName) -> Asked<'_> {
        let mut asked = Asked::default();
        for claimant in self.names.get(name).into_iter().flat_map(Askers::as_slice) {
            let Some(known) = self.claimants.get(claimant) else { continue };
            asked.endpoints.extend(known.endpoints(name));
            asked.kinds.extend(known.mapped().kinds.iter().cloned());
            let since = self.pending.since(claimant, name).unwrap_or_default();
            asked.pending.extend(known.pending(name).map(|p| (p, since)));
            asked.other_prefix.extend(known.mapped().other_prefix.iter().flat_map(|other| requests_at(other, name)));
        }
        asked.endpoints.sort_by(|a, b| {
            let rank = |e: &Endpoint| e.origin.rank;
            rank(a).cmp(&rank(b)).then_with(|| a.origin.object.path().cmp(&b.origin.object.path()))
        });
        asked
    }

    /// An object that asks for a name without targets, as `KIND NAMESPACE/NAME`.
    pub fn who_waits(&self, name: &DnsName) -> Option<String> {
        let claimants = self.names.get(name)?.as_slice();
        claimants.iter().find(|claimant| self.pending.since(claimant, name).is_some()).map(ToString::to_string)
    }

    /// What each object of a namespace asks for, as each of the sources reads it, in order.
    pub fn of_namespace(&self, namespace: &Arc<str>) -> impl Iterator<Item = &Mapped> {
        let claimants = self.namespaces.get(namespace).into_iter().flatten();
        claimants.filter_map(|claimant| self.claimants.get(claimant)).map(|known| &**known.mapped())
    }

    /// The namespaces of all objects.
    pub fn namespaces(&self) -> impl Iterator<Item = &Arc<str>> {
        self.namespaces.keys()
    }

    /// Every name that is asked for.
    pub fn names(&self) -> impl Iterator<Item = &DnsName> {
        self.walked.fetch_add(self.names.len() as u64, Ordering::Relaxed);
        self.names.keys()
    }

    /// How many names were gone through by [`Desired::names`] so far: nothing that is asked at rest may need them.
    pub fn walked(&self) -> u64 {
        self.walked.load(Ordering::Relaxed)
    }

    /// Number of endpoints of each type.
    pub fn types(&self) -> &BTreeMap<RecordType, usize> {
        &self.types
    }

    /// Whether a DELETE event proves that the object behind this label is gone from this name.
    pub fn is_proven_gone(&self, name: &DnsName, resource: Option<&Arc<str>>) -> bool {
        self.tombstones.prove(name, resource)
    }

    /// Why it cannot be determined what the object behind this label asks for; doubt that passes counts for `grace`. Without a
    /// label: whether objects were there from the beginning of which that is not known; they count for `grace`.
    pub fn unknown(&self, resource: Option<&Arc<str>>, grace: Duration, now: Timestamp) -> Option<&Unknown> {
        if resource.is_none() && self.unlabelled_since.is_none_or(|since| since.plus(grace) <= now) {
            return None;
        }
        self.unknown.find(resource, grace, now)
    }

    /// The objects of which not everything is known that they ask for, each with the reason.
    pub fn unknowns(&self) -> impl Iterator<Item = (String, &str)> {
        self.unknown.iter()
    }

    /// Whether there is any object of which not everything is known that it asks for; doubt that passes counts for `grace`.
    pub fn has_unknown(&self, grace: Duration, now: Timestamp) -> bool {
        self.unknown.any(grace, now)
    }

    /// Forgets the proof about a name, once the delete that rests on it has been applied.
    pub fn clear_tombstone(&mut self, name: &DnsName) {
        self.tombstones.remove(name);
    }

    /// When [`Desired::collect_stale_claims`] may find something, if ever.
    pub fn stale_claims_due(&self) -> Option<Timestamp> {
        self.tombstones.due()
    }

    /// Forgets the proofs that are too old, and those that no record needs any more: `needed` says of a name and the labels
    /// of the objects that are gone whether a record that they held may still stand.
    pub fn collect_stale_claims(
        &mut self,
        now: Timestamp,
        needed: impl Fn(&DnsName, &BTreeSet<Option<Arc<str>>>) -> bool,
    ) {
        self.tombstones.collect_stale_claims(now, needed);
    }

    /// The number of entries of each table, by the table's name.
    pub fn sizes(&self) -> [(&'static str, usize); 6] {
        let (proofs, proven_labels) = self.tombstones.len();
        [
            ("desired_objects", self.claimants.len()),
            ("desired_names", self.names.len()),
            ("desired_pending", self.pending.len()),
            ("desired_unknown", self.unknown.len()),
            ("desired_tombstones", proofs),
            ("desired_tombstone_labels", proven_labels),
        ]
    }

    /// The next moment at which a pending name's grace ends, or that of doubt, if any.
    pub fn next_grace_end(&self, grace: Duration, now: Timestamp) -> Option<Timestamp> {
        let unlabelled = self.unlabelled_since.map(|since| since.plus(grace)).filter(|end| *end > now);
        let (names, doubt) = (self.pending.next_end(grace, now), self.unknown.next_end(grace, now));
        names.into_iter().chain(doubt).chain(unlabelled).min()
    }

    /// The names whose grace ended at or before `now`.
    pub fn past_grace(&self, grace: Duration, now: Timestamp) -> BTreeSet<DnsName> {
        self.pending.past(grace, now)
    }
}

#[cfg(test)]
mod tests;
