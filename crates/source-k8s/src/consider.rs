//! What objects ask for, and what they would ask for: for people who look for a name.
//!
//! In comes a snapshot of the objects with what was reported of them; out goes, for each object that has to do with a name, what it asks
//! for, which annotations were read, and which flags keep it from asking. It is found out by mapping the object once more with the
//! flags lifted, so that every source is explained and none knows of it. Slow: only a question of a person makes it.

mod annotated;
mod lifts;

use std::collections::BTreeSet;
use std::sync::Arc;

use zonewright_core::DnsName;
use zonewright_core::endpoint::{Mapped, ObjectRef};
use zonewright_core::explain::{Cause, Consideration, Considered, Dropped, Subject};
use zonewright_core::source::PublishedNames;

use self::lifts::{LIFTS, Lift};
use crate::lookup::Lookup;
use crate::objects::{Ingress, Meta};
use crate::options::SourceOptions;
use crate::readers::Reader;
use crate::role::{MapScope, SourceRole};
use crate::store::{Object, Store};

/// A snapshot of everything, and what was reported of the objects that may be meant.
pub(crate) struct Snapshot {
    pub(crate) store: Store,
    pub(crate) roles: Arc<[SourceRole]>,
    pub(crate) options: Arc<SourceOptions>,
    pub(crate) published: Option<Arc<dyn PublishedNames>>,
    pub(crate) reported: Vec<(Reader, ObjectRef, Arc<Mapped>)>,
}

/// The names that a mapping is about.
pub(crate) fn names_of(mapped: &Mapped) -> impl Iterator<Item = &DnsName> {
    let other = mapped.other_prefix.iter();
    let other = other.flat_map(|other| {
        let endpoints = other.endpoints.iter().map(|endpoint| &endpoint.name);
        endpoints.chain(other.pending.iter().map(|pending| &pending.name))
    });
    let own = mapped.endpoints.iter().map(|endpoint| &endpoint.name);
    own.chain(mapped.pending.iter().map(|pending| &pending.name)).chain(other)
}

/// Whether what was reported of an object may have to do with a subject.
pub(crate) fn concerns(subject: &Subject, object: &ObjectRef, mapped: &Mapped) -> bool {
    match subject {
        Subject::Object(asked) => asked.means(object),
        Subject::Name(name) => {
            names_of(mapped).any(|other| other == name) || mapped.notes.iter().any(|note| mentions(&note.message, name))
        }
    }
}

/// Whether a text holds a name, and not as a part of another one.
fn mentions(text: &str, name: &DnsName) -> bool {
    let name = name.to_string();
    let part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    text.to_lowercase().split(|c: char| !part(c)).any(|word| word.trim_end_matches('.') == name)
}

/// Whether an object asks for nothing though it states something, or has annotations that nothing reads.
pub(crate) fn is_puzzling(object: &Object, mapped: &Mapped, options: &SourceOptions) -> bool {
    let asks = !mapped.endpoints.is_empty() || !mapped.pending.is_empty();
    let annotations = &object.meta().annotations;
    let hosts = || object.body::<Ingress>().is_some_and(|ingress| !ingress.spec.rules.is_empty());
    !asks && (!annotations.is_empty() || hosts()) || !annotated::unread(annotations, options).is_empty()
}

/// An object of which nothing is known but who it is.
fn bare(object: &ObjectRef, role: Option<&SourceRole>) -> Considered {
    Considered {
        object: object.to_string(),
        source: role.map(|role| role.source.shared().to_string()).unwrap_or_default(),
        asks: Vec::new(),
        names: Vec::new(),
        pending: Vec::new(),
        read: Vec::new(),
        unread: Vec::new(),
        dropped: Vec::new(),
        notes: Vec::new(),
    }
}

impl Snapshot {
    /// Every object that has to do with the subject.
    pub(crate) fn consider(self, subject: &Subject) -> Vec<Consideration> {
        let open = lifts::all(&self.options);
        let mut found = Vec::new();
        for (at, role) in self.roles.iter().enumerate() {
            let reported = |object: &Object| {
                let reader = Reader { source: at, key: object.key() };
                self.reported.iter().find(|(reported, ..)| *reported == reader).map(|(.., mapped)| &**mapped)
            };
            for object in self.store.all(role.kind) {
                found.extend(self.look(subject, role, object, reported(object), Some(&open)));
            }
            for object in self.store.pruned(role.kind) {
                found.extend(self.look(subject, role, &object, reported(&object), None));
            }
        }
        // Of an object that cannot be read nothing but that is known.
        let is_held = |Reader { key, .. }: &Reader| self.store.holds(key.kind, &key.namespace, &key.name);
        let unreadable = self.reported.iter().filter(|(reader, ..)| !is_held(reader));
        found.extend(unreadable.map(|reported| self.unreadable(reported)));
        if found.is_empty() {
            found.extend(self.elsewhere(subject));
        }
        found
    }

    /// An object in a namespace that is not read: whether it is there nobody knows here.
    fn elsewhere(&self, subject: &Subject) -> Option<Consideration> {
        let Subject::Object(asked) = subject else { return None };
        let out_of_reach = |role: &&SourceRole| role.reach().is_some_and(|reach| !reach.has(&asked.namespace));
        let named = |role: &&SourceRole| asked.is_kind(role.kind.spec().name);
        let role = self.roles.iter().filter(named).find(out_of_reach)?;
        let meta =
            Meta { namespace: asked.namespace.as_str().into(), name: asked.name.as_str().into(), ..Meta::default() };
        let object = meta.object_ref(role.kind);
        let flag = format!("--namespace={}", self.options.namespace);
        let dropped = vec![Dropped { cause: Cause::Namespace, by: flag, names: Vec::new() }];
        let considered = Considered { dropped, ..bare(&object, Some(role)) };
        Some(Consideration { object, considered, mapped: Arc::default() })
    }

    fn look(
        &self,
        subject: &Subject,
        role: &SourceRole,
        object: &Object,
        reported: Option<&Mapped>,
        open: Option<&SourceOptions>,
    ) -> Option<Consideration> {
        let reference = object.reference();
        if let Subject::Object(asked) = subject
            && !asked.means(&reference)
            && !role.labels.iter().any(|label| *object.meta().resource(role.kind, label) == *subject.to_string())
        {
            return None;
        }
        let unread = annotated::unread(&object.meta().annotations, &self.options);
        // Of an object that was pruned nothing is left but what was reported.
        let lifted = open.map(|open| self.map(role, object, open)).unwrap_or_default();
        let mapped = reported.cloned().unwrap_or_default();
        let asked = names_of(&mapped).cloned().collect::<BTreeSet<DnsName>>();
        let would: BTreeSet<DnsName> = names_of(&lifted).filter(|name| !asked.contains(*name)).cloned().collect();
        if let Subject::Name(name) = subject {
            let noted = mapped.notes.iter().chain(&lifted.notes).any(|note| mentions(&note.message, name));
            let written = unread.iter().any(|annotation| mentions(&annotation.value, name));
            if !(asked.contains(name) || would.contains(name) || noted || written) {
                return None;
            }
        }
        let about = match subject {
            Subject::Name(name) => would.iter().filter(|other| *other == name).cloned().collect(),
            Subject::Object(_) => would.clone(),
        };
        let dropped = self.dropped(role, object, &about);
        let lines = |mapped: &Mapped| mapped.endpoints.iter().map(ToString::to_string).collect::<Vec<_>>();
        let pending = mapped.pending.iter().map(|pending| format!("{}: {}", pending.name, pending.reason));
        let notes = mapped.notes.iter().chain(lifted.notes.iter().filter(|note| !mapped.notes.contains(note)));
        let mut notes: Vec<String> = notes.map(|note| format!("{}: {}", note.reason, note.message)).collect();
        notes.extend(mapped.unknown.iter().map(|unknown| format!("TemplateFailed: {}", unknown.reason)));
        notes.dedup();
        let considered = Considered {
            object: reference.to_string(),
            source: role.source.shared().to_string(),
            asks: lines(&mapped),
            names: asked.into_iter().chain(would).collect(),
            pending: pending.collect(),
            read: annotated::read(&object.meta().annotations, &self.options),
            unread,
            dropped,
            notes,
        };
        Some(Consideration { object: reference, considered, mapped: Arc::new(mapped) })
    }

    fn unreadable(&self, (reader, object, mapped): &(Reader, ObjectRef, Arc<Mapped>)) -> Consideration {
        let notes = mapped.notes.iter().map(|note| format!("{}: {}", note.reason, note.message)).collect();
        let considered = Considered { notes, ..bare(object, self.roles.get(reader.source)) };
        Consideration { object: object.clone(), considered, mapped: Arc::clone(mapped) }
    }

    fn map(&self, role: &SourceRole, object: &Object, options: &SourceOptions) -> Mapped {
        let lookup = Lookup::new(&self.store, &role.reads).with_published(self.published.as_deref());
        (role.map)(object, &MapScope { role, options, lookup: &lookup })
    }

    /// What keeps an object from asking for names: each flag without which, all others lifted, they are not asked for.
    fn dropped(&self, role: &SourceRole, object: &Object, names: &BTreeSet<DnsName>) -> Vec<Dropped> {
        if names.is_empty() {
            return Vec::new();
        }
        let mut all = Vec::new();
        for lift in LIFTS {
            let Some(by) = (lift.given)(&self.options, object.meta()) else { continue };
            let mapped = self.map(role, object, &lifts::all_but(&self.options, lift));
            let left: BTreeSet<&DnsName> = names_of(&mapped).collect();
            let lost: Vec<DnsName> = names.iter().filter(|name| !left.contains(name)).cloned().collect();
            if !lost.is_empty() {
                let Lift { cause, .. } = *lift;
                all.push(Dropped { cause, by, names: lost });
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_mentioned_as_a_whole() {
        let name = DnsName::parse("web.example").unwrap();
        for (text, expected) in [
            ("web.example", true),
            ("a.example, WEB.example.", true),
            ("\"web.example\": no", true),
            ("www.web.example", false),
            ("web.example.com", false),
            ("web-example", false),
        ] {
            assert_eq!(mentions(text, &name), expected, "{text}");
        }
    }
}
