//! The desired table: what every object asks for, by object and by name.
//!
//! Updates of sources come in; dirty names go out: the names whose claims, pending targets or tombstones changed. Nothing
//! else needs to be planned again.

mod by_name;
mod tombstones;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use by_name::ByName;
use tombstones::Tombstones;

use crate::clock::Timestamp;
use crate::endpoint::{Endpoint, KindId, Mapped, Note, ObjectRef, OtherPrefix, Pending, Severity, Unknown};
use crate::name::DnsName;
use crate::notes::Notes;
use crate::plan::OtherPrefixRequest;
use crate::source::{ObjectState, Update};

/// One object as one source reads it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Claimant {
    source: Arc<str>,
    api_version: Arc<str>,
    kind: Arc<str>,
    namespace: Arc<str>,
    name: Arc<str>,
}

impl Claimant {
    fn new(source: &Arc<str>, object: &ObjectRef) -> Self {
        Self {
            source: source.clone(),
            api_version: object.api_version.clone(),
            kind: object.kind.clone(),
            namespace: object.namespace.clone(),
            name: object.name.clone(),
        }
    }
}

/// What sources told so far.
#[derive(Debug, Default)]
pub struct Desired {
    claimants: HashMap<Arc<Claimant>, ByName>,
    /// Who asks for each name, in order and each once; nearly always one.
    names: BTreeMap<DnsName, Vec<Arc<Claimant>>>,
    /// The objects of each namespace, in order.
    namespaces: BTreeMap<Arc<str>, BTreeSet<Arc<Claimant>>>,
    pending: HashMap<(Arc<Claimant>, DnsName), Timestamp>,
    tombstones: Tombstones,
    /// Objects of which not everything is known that they ask for.
    unknown: BTreeMap<Arc<Claimant>, Vec<Unknown>>,
    /// When objects came of which nothing was known before, and which may have published something without a label.
    unlabelled_since: Option<Timestamp>,
}

/// What an update brought.
#[derive(Debug, Default)]
pub struct Taken {
    /// The names to plan again.
    pub dirty: BTreeSet<DnsName>,
    /// What to tell the owners of the objects that came or changed.
    pub notes: Vec<Note>,
    /// The namespaces of the objects that came, changed or went.
    pub namespaces: BTreeSet<Arc<str>>,
    /// Whether something became known, or went, that deletes may have waited for.
    pub cleared: bool,
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

impl Desired {
    /// Takes over an update; `now` is the beginning of the wait of names that became pending with it.
    pub fn take(&mut self, update: Update, now: Timestamp) -> Taken {
        let mut taken = Taken::default();
        let mut seen = BTreeSet::new();
        for object in update.objects {
            let claimant = Arc::new(Claimant::new(&object.source, &object.object));
            if update.complete {
                seen.insert(claimant.clone());
            }
            match object.state {
                ObjectState::Present(mapped) => {
                    let mapped = self.carry(&claimant, mapped, now, update.complete);
                    self.tell_lost_targets(&claimant, &object.object, &mapped, &mut taken);
                    self.present(claimant, mapped, now, &mut taken);
                }
                ObjectState::Gone { tombstone } => self.gone(&claimant, tombstone.then_some(now), &mut taken),
            }
        }
        if update.complete {
            let missing: Vec<_> = self.claimants.keys().filter(|c| !seen.contains(*c)).cloned().collect();
            for claimant in missing {
                self.gone(&claimant, None, &mut taken);
            }
        }
        taken
    }

    fn present(&mut self, claimant: Arc<Claimant>, mapped: Arc<Mapped>, now: Timestamp, taken: &mut Taken) {
        let old = self.claimants.get(&claimant).map(|known| known.mapped().clone());
        if old.as_ref() == Some(&mapped) {
            return;
        }
        // An object that asks again voids the proof that it is gone.
        names_of(&mapped).for_each(|name| self.tombstones.remove(name));
        labels_of(&mapped).for_each(|label| self.tombstones.remove_label(label));
        let former: BTreeSet<DnsName> = old.iter().flat_map(|m| names_of(m)).cloned().collect();
        let present: BTreeSet<DnsName> = names_of(&mapped).cloned().collect();
        for name in former.difference(&present) {
            self.leave(&claimant, name);
        }
        for name in &present {
            let who = self.names.entry(name.clone()).or_default();
            if let Err(place) = who.binary_search(&claimant) {
                who.reserve_exact(1);
                who.insert(place, claimant.clone());
            }
        }
        self.note_unknown(&claimant, &mapped, taken);
        let waiting: BTreeSet<&DnsName> = mapped.pending.iter().map(|p| &p.name).collect();
        for pending in old.iter().flat_map(|old| &old.pending).filter(|p| !waiting.contains(&p.name)) {
            self.pending.remove(&(claimant.clone(), pending.name.clone()));
        }
        for name in waiting {
            self.pending.entry((claimant.clone(), name.clone())).or_insert(now);
        }
        taken
            .notes
            .extend(mapped.notes.iter().filter(|note| !old.as_ref().is_some_and(|m| m.notes.contains(note))).cloned());
        taken.namespaces.insert(claimant.namespace.clone());
        self.namespaces.entry(claimant.namespace.clone()).or_default().insert(claimant.clone());
        self.claimants.insert(claimant, ByName::new(mapped));
        taken.dirty.extend(former);
        taken.dirty.extend(present);
    }

    /// An object whose targets are not known any more is told that its names wait.
    fn tell_lost_targets(&self, claimant: &Arc<Claimant>, object: &ObjectRef, mapped: &Mapped, taken: &mut Taken) {
        let Some(old) = self.claimants.get(claimant) else { return };
        let mut notes = Notes::default();
        let had = |pending: &&Pending| old.endpoints(&pending.name).next().is_some();
        for Pending { name, reason, .. } in mapped.pending.iter().filter(had) {
            notes.add_with(object, Severity::Warning, "PendingTargets", || {
                format!("{name} has no targets now ({reason}); what is published for it is kept for a while")
            });
        }
        taken.notes.extend(notes.into_vec());
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
        let pending: Vec<Pending> = mapped.pending.iter().cloned().chain(names.into_iter().map(wait)).collect();
        Arc::new(Mapped { pending, ..Mapped::clone(&mapped) })
    }

    fn note_unknown(&mut self, claimant: &Arc<Claimant>, mapped: &Mapped, taken: &mut Taken) {
        let before = self.unknown.remove(claimant);
        taken.cleared |= before.is_some_and(|before| before != mapped.unknown);
        if !mapped.unknown.is_empty() {
            self.unknown.insert(claimant.clone(), mapped.unknown.clone());
        }
    }

    /// An object is gone; `proven` since when, if a DELETE event said so.
    fn gone(&mut self, claimant: &Arc<Claimant>, proven: Option<Timestamp>, taken: &mut Taken) {
        let Some(known) = self.claimants.remove(claimant) else { return };
        let mapped = known.mapped();
        taken.cleared |= self.unknown.remove(claimant).is_some();
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
        for (name, labels) in asked {
            self.leave(claimant, name);
            taken.dirty.insert(name.clone());
            if let Some(now) = proven {
                self.tombstones.add(name, labels, now);
            }
        }
        if let Some(now) = proven {
            mapped.unknown.iter().filter_map(|u| u.resource.as_ref()).for_each(|l| self.tombstones.add_label(l, now));
        }
    }

    fn leave(&mut self, claimant: &Arc<Claimant>, name: &DnsName) {
        self.pending.remove(&(claimant.clone(), name.clone()));
        if let Some(who) = self.names.get_mut(name) {
            if let Ok(place) = who.binary_search(claimant) {
                who.remove(place);
            }
            if who.is_empty() {
                self.names.remove(name);
            }
        }
    }

    /// What is asked for at a name.
    pub fn at(&self, name: &DnsName) -> Asked<'_> {
        let mut asked = Asked::default();
        for claimant in self.names.get(name).into_iter().flatten() {
            let Some(known) = self.claimants.get(claimant) else { continue };
            asked.endpoints.extend(known.endpoints(name));
            asked.kinds.extend(known.mapped().kinds.iter().cloned());
            let since = self.pending.get(&(claimant.clone(), name.clone())).copied().unwrap_or_default();
            asked.pending.extend(known.pending(name).map(|p| (p, since)));
            asked.other_prefix.extend(known.mapped().other_prefix.iter().flat_map(|other| requests_at(other, name)));
        }
        asked.endpoints.sort_by(|a, b| {
            let rank = |e: &Endpoint| e.origin.rank;
            rank(a).cmp(&rank(b)).then_with(|| a.origin.object.path().cmp(&b.origin.object.path()))
        });
        asked
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
        self.names.keys()
    }

    /// Number of endpoints by record type, and of objects, for metrics.
    pub fn endpoints(&self) -> impl Iterator<Item = &Endpoint> {
        self.claimants.values().flat_map(|known| &known.mapped().endpoints)
    }

    /// Whether a DELETE event proves that the object behind this label is gone from this name.
    pub fn is_proven_gone(&self, name: &DnsName, resource: Option<&Arc<str>>) -> bool {
        self.tombstones.prove(name, resource)
    }

    /// Why it cannot be determined what the object behind this label asks for. Without a label: whether objects were there from
    /// the beginning of which that is not known; they count for `grace`.
    pub fn unknown(&self, resource: Option<&Arc<str>>, grace: Duration, now: Timestamp) -> Option<&Unknown> {
        if resource.is_none() && self.unlabelled_since.is_none_or(|since| since.plus(grace) <= now) {
            return None;
        }
        self.unknown.values().flatten().find(|unknown| unknown.resource.as_ref() == resource)
    }

    /// Whether there is any object of which not everything is known that it asks for.
    pub fn has_unknown(&self) -> bool {
        !self.unknown.is_empty()
    }

    /// Forgets the proof about a name, once the delete that rests on it has been applied.
    pub fn clear_tombstone(&mut self, name: &DnsName) {
        self.tombstones.remove(name);
    }

    /// Forgets the proofs that are too old, and those that no record needs any more: `needed` tells of a name and the labels
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

    /// The next moment at which a pending name's grace ends, if any.
    pub fn next_grace_end(&self, grace: Duration, now: Timestamp) -> Option<Timestamp> {
        let all = self.pending.values().chain(&self.unlabelled_since);
        all.map(|since| since.plus(grace)).filter(|end| *end > now).min()
    }

    /// The names whose grace ended at or before `now`.
    pub fn past_grace(&self, grace: Duration, now: Timestamp) -> BTreeSet<DnsName> {
        self.pending.iter().filter(|(_, since)| since.plus(grace) <= now).map(|((_, name), _)| name.clone()).collect()
    }
}

/// Every endpoint and pending name, also under a prefix that is not in force: name and label.
fn asked_by(mapped: &Mapped) -> impl Iterator<Item = (&DnsName, &Option<Arc<str>>)> {
    let other = || mapped.other_prefix.iter();
    let endpoints = mapped.endpoints.iter().chain(other().flat_map(|other| &other.endpoints));
    let pending = mapped.pending.iter().chain(other().flat_map(|other| &other.pending));
    endpoints.map(|e| (&e.name, &e.resource)).chain(pending.map(|p| (&p.name, &p.resource)))
}

fn names_of(mapped: &Mapped) -> impl Iterator<Item = &DnsName> {
    asked_by(mapped).map(|(name, _)| name)
}

fn labels_of(mapped: &Mapped) -> impl Iterator<Item = &Arc<str>> {
    asked_by(mapped).map(|(_, label)| label).chain(mapped.unknown.iter().map(|u| &u.resource)).flatten()
}

fn requests_at(other: &OtherPrefix, name: &DnsName) -> impl Iterator<Item = OtherPrefixRequest> {
    let endpoints = other.endpoints.iter().filter(move |e| e.name == *name);
    let pending = other.pending.iter().filter(move |p| p.name == *name);
    let endpoints = endpoints.map(move |endpoint| OtherPrefixRequest::of_endpoint(other, endpoint));
    endpoints.chain(pending.map(move |pending| OtherPrefixRequest::of_pending(other, pending)))
}

#[cfg(test)]
mod tests;
