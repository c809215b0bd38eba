//! What objects may ask for at all.
//!
//! In: the endpoints at one name. Out: those that go on to contend for it, and what no object may write: it is no reason to take
//! away what is published in its place.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use zonewright_core::capability::Capability;
use zonewright_core::choice::{CHOICE, Choice};
use zonewright_core::claim_text::reads_as_claim;
use zonewright_core::contend::Wanted;
use zonewright_core::endpoint::{Endpoint, Note};
use zonewright_core::explain::Cause;
use zonewright_core::interpret::{Interpreted, interpret};
use zonewright_core::record::RecordKey;
use zonewright_core::rtype::RecordType;
use zonewright_core::zone::{Zone, ZoneId};

use crate::context::EngineContext;
use crate::provider_instance::ProviderInstance;

/// What an object asks for and what cannot be written.
#[derive(Debug)]
pub(crate) struct Unwritable {
    pub(crate) key: RecordKey,
    /// The label of its object.
    pub(crate) resource: Option<Arc<str>>,
}

impl From<Wanted> for Unwritable {
    fn from(Wanted { key, resource, .. }: Wanted) -> Self {
        Self { key, resource }
    }
}

impl From<&Endpoint> for Unwritable {
    fn from(endpoint: &Endpoint) -> Self {
        Self { key: endpoint.key(), resource: endpoint.resource.clone() }
    }
}

/// What goes on to contend for a name in one zone, and what does not.
#[derive(Debug, Default)]
pub(crate) struct Admitted<'e> {
    /// Endpoints in the form in which the provider would publish them.
    pub(crate) forms: Vec<Cow<'e, Endpoint>>,
    /// What is asked for and may not or cannot be written.
    pub(crate) refused: Vec<Unwritable>,
}

/// The zone that endpoints are admitted to, and what is reported on the way.
pub(crate) struct Gate<'a> {
    pub(crate) context: &'a EngineContext,
    pub(crate) instance: &'a ProviderInstance,
    pub(crate) zone: &'a Zone,
    /// The zones of the instance that the name belongs to.
    pub(crate) candidates: &'a [ZoneId],
    pub(crate) capability: &'a Capability,
    /// The record types that count.
    pub(crate) managed: &'a BTreeSet<RecordType>,
}

/// What is noted of a record whose type does not count.
fn type_filtered(form: &Endpoint, managed: &BTreeSet<RecordType>) -> Note {
    let managed: Vec<String> = managed.iter().map(ToString::to_string).collect();
    let text = format!("{} is not published: managed are records of type {} alone", form.key(), managed.join(", "));
    Note::normal(&form.origin.object, Cause::TypeFiltered.reason(), text)
}

impl Gate<'_> {
    /// Brings the endpoints at one name into the provider's own form, and leaves out what the name policy denies, and whatever its
    /// source a text that a registry would read as an ownership record.
    pub(crate) fn admit<'e>(
        &self,
        endpoints: impl Iterator<Item = &'e Endpoint>,
        notes: &mut Vec<Note>,
    ) -> Admitted<'e> {
        let mut out = Admitted::default();
        for endpoint in endpoints {
            let made = self.instance.provider.interpret(self.zone, endpoint);
            let Interpreted { forms, elsewhere, notes: said } =
                interpret(endpoint, self.zone, self.candidates, self.capability, made);
            let (forms, others): (Vec<_>, Vec<_>) =
                forms.into_iter().partition(|form| self.managed.contains(&form.rtype));
            notes.extend(others.iter().map(|form| type_filtered(form, self.managed)));
            if let Some(choice) = &endpoint.origin.choice {
                let unknown = self.unknown(choice);
                if !unknown.is_empty() {
                    notes.push(self.unknown_instance(endpoint, &unknown));
                }
                if !self.instance.chooser.takes(Some(choice)) {
                    // Where no instance has such a name the choice is a mistake, and takes nothing away.
                    if unknown.len() == choice.names().count() {
                        out.refused.extend(forms.iter().map(|form| Unwritable::from(&**form)));
                    }
                    continue;
                }
            } else if !self.instance.chooser.takes(None) {
                continue;
            }
            if let Err(denied) = self.context.name_policy.permit(endpoint) {
                let text = format!("{} {} is denied: {denied}", endpoint.name, endpoint.rtype);
                notes.push(Note::warning(&endpoint.origin.object, "Denied", text));
                out.refused.extend(forms.iter().map(|form| Unwritable::from(&**form)));
                continue;
            }
            if forms.is_empty() && !elsewhere && self.managed.contains(&endpoint.rtype) {
                out.refused.push(Unwritable::from(endpoint));
            }
            notes.extend(said);
            let (texts, forms): (Vec<_>, Vec<_>) =
                forms.into_iter().partition(|form| form.targets.as_records().iter().any(reads_as_claim));
            out.forms.extend(forms);
            for form in texts {
                let unwritable = Unwritable::from(&*form);
                let text = format!(
                    "{} is refused: a registry would read its text as an ownership record; expected a text without \
                     \"heritage=external-dns\" that does not look like an encrypted one",
                    unwritable.key
                );
                notes.push(Note::warning(&endpoint.origin.object, "OwnershipText", text));
                out.refused.push(unwritable);
            }
        }
        out
    }

    /// Those of the names that no instance goes by.
    fn unknown<'c>(&self, choice: &'c Choice) -> Vec<&'c str> {
        let is_known = |name: &Arc<str>| self.context.instances.iter().any(|other| other.chooser.names.contains(name));
        choice.names().filter(|name| !is_known(name)).map(|name| &**name).collect()
    }

    fn unknown_instance(&self, endpoint: &Endpoint, unknown: &[&str]) -> Note {
        let known: BTreeSet<&str> =
            self.context.instances.iter().flat_map(|other| &other.chooser.names).map(|name| &**name).collect();
        let known: Vec<&str> = known.into_iter().collect();
        let text = format!(
            "{CHOICE} names {unknown:?}, which no provider instance goes by; expected some of {}",
            known.join(", ")
        );
        Note::warning(&endpoint.origin.object, "UnknownProvider", text)
    }
}
