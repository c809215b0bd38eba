//! Objects that are there and cannot be read, and what of their doubt falls on whom.
//!
//! In come the objects with what is wrong with them; out goes, for each mapping, what cannot be determined: of the object itself,
//! and of those whose mapper may have read it. What must hold: what is published by the labels of these stays, and no other
//! object is concerned. An object of which not even the name can be determined throws doubt on its whole kind. Of one that could be
//! read before, what it asked for then stays in force, and nothing is in doubt but that.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use zonewright_core::endpoint::{Mapped, Note, ObjectRef, Uid, Unknown};

use crate::feed::Unreadable;
use crate::kind::Kind;
use crate::lookup::Dependency;
use crate::objects::Meta;
use crate::options::SourceKind;
use crate::role::SourceRole;
use crate::store::ObjectKey;

/// The reason of the note on an object that cannot be read.
const UNREADABLE_OBJECT: &str = "UnreadableObject";

/// What is known of an object that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Flaw {
    uid: Uid,
    error: Arc<str>,
    /// Whether the object could be read before, so that what it asked for then is known.
    known: bool,
}

impl Flaw {
    fn note(&self, object: &ObjectRef) -> Note {
        let text = format!("it cannot be read: {}; what is published for this object stays as it is", self.error);
        Note::warning(object, UNREADABLE_OBJECT, text)
    }
}

/// The objects that cannot be read.
#[derive(Debug, Default)]
pub(crate) struct Unread(BTreeMap<ObjectKey, Flaw>);

impl Unread {
    /// Notes an object, and whether it could be read before; returns whether that is news.
    pub(crate) fn insert(&mut self, object: Unreadable, known: bool) -> bool {
        let Unreadable { key, uid, error } = object;
        let flaw = Flaw { uid, error, known };
        self.0.insert(key, flaw.clone()).is_none_or(|former| former != flaw)
    }

    /// Forgets an object; returns whether it was here.
    pub(crate) fn remove(&mut self, key: &ObjectKey) -> bool {
        self.0.remove(key).is_some()
    }

    /// The objects of a kind.
    pub(crate) fn of_kind(&self, kind: Kind) -> impl Iterator<Item = &ObjectKey> {
        self.0.range(ObjectKey::new(kind, "", "")..).map(|(key, _)| key).take_while(move |key| key.kind == kind)
    }

    /// Whether there is an object of a kind of which nothing is known.
    pub(crate) fn hides(&self, kind: Kind) -> bool {
        self.hidden(kind).next().is_some()
    }

    /// The objects of a kind of which nothing is known.
    fn hidden(&self, kind: Kind) -> impl Iterator<Item = &ObjectKey> {
        self.of_kind(kind).filter(|key| self.0.get(*key).is_some_and(|flaw| !flaw.known))
    }

    /// Number of objects.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// What is reported on the object itself: under its label something is asked for, and it cannot be determined what.
    pub(crate) fn mapped(&self, role: &SourceRole, key: &ObjectKey) -> Option<(ObjectRef, Mapped)> {
        let flaw = self.0.get(key).filter(|_| !key.name.is_empty())?;
        let (namespace, name) = (Arc::clone(&key.namespace), Arc::clone(&key.name));
        let meta = Meta { namespace, name, uid: flaw.uid.clone(), ..Meta::default() };
        let object = meta.object_ref(key.kind);
        let reason = format!("it cannot be read: {}", flaw.error);
        let unknown = |label: &Arc<str>| {
            let resource = Some(meta.resource(key.kind, label));
            Unknown { resource, reason: reason.clone(), passing: false }
        };
        let mapped = Mapped {
            unknown: role.labels.first().map(unknown).into_iter().collect(),
            notes: [flaw.note(&object)].into(),
            kinds: [key.kind.id()].into(),
            ..Mapped::default()
        };
        Some((object, mapped))
    }

    /// Adds to what an object asked for when it could be read that it cannot be now.
    pub(crate) fn tell(&self, mapped: &mut Mapped, key: &ObjectKey, object: &ObjectRef) {
        if let Some(flaw) = self.0.get(key) {
            mapped.notes.retain(|note| note.reason != UNREADABLE_OBJECT);
            mapped.notes.push(flaw.note(object));
        }
    }

    /// Adds to what an object's mapper gave that it may have missed something, if what it read has such holes.
    pub(crate) fn doubt(&self, mapped: &mut Mapped, own: Option<Arc<str>>, reads: &BTreeSet<Dependency>) {
        if self.0.is_empty() {
            return;
        }
        let missed = |read: &Dependency| self.hidden(read.kind()).find(|key| read.may_miss(key));
        let Some(missed) = reads.iter().find_map(missed) else { return };
        let reason = format!("{missed}, which it leads to, cannot be read");
        let stated = mapped.endpoints.iter().map(|endpoint| &endpoint.resource);
        let stated = stated.chain(mapped.pending.iter().map(|pending| &pending.resource)).flatten().cloned();
        let labels: BTreeSet<Arc<str>> = stated.chain(own).collect();
        let unknown = |label| Unknown { resource: Some(label), reason: reason.clone(), passing: false };
        mapped.unknown.extend(labels.into_iter().map(unknown));
    }
}

/// Whether the label of an object of this kind says everything that its mapping could have published: not where claims carry
/// none, where several objects make up one record, or where the label takes more than the object's name.
pub(crate) fn has_labels(roles: &[SourceRole], kind: Kind) -> bool {
    let named = !matches!(kind, Kind::Custom(spec) if spec.name.is_empty());
    let is_labelled = |role: &SourceRole| named && !role.labels.is_empty() && role.source != SourceKind::Node;
    roles.iter().filter(|role| role.kind == kind).all(is_labelled)
}
