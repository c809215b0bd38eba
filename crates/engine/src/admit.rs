//! What objects may ask for at all.
//!
//! In: the endpoints at one name. Out: those that go on to contend for it, and what no object may write: it is no reason to take
//! away what is published in its place.

use std::borrow::Cow;
use std::sync::Arc;

use zonewright_core::capability::Capability;
use zonewright_core::claim_text::reads_as_claim;
use zonewright_core::contend::Wanted;
use zonewright_core::endpoint::{Endpoint, Note};
use zonewright_core::lower::identified;
use zonewright_core::record::RecordKey;

use crate::context::EngineContext;

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
        let Endpoint { name, rtype, set_id, resource, .. } = endpoint;
        let key = RecordKey { name: name.clone(), rtype: *rtype, set_id: set_id.clone() };
        Self { key, resource: resource.clone() }
    }
}

/// The endpoints that the name policy lets pass, as far as the provider knows their identifiers; and what may not be written: what
/// that policy denies, and whatever its source a text that a registry would read as an ownership record.
pub(crate) fn admitted<'e>(
    endpoints: impl Iterator<Item = &'e Endpoint>,
    context: &EngineContext,
    capability: &Capability,
    notes: &mut Vec<Note>,
) -> (Vec<Cow<'e, Endpoint>>, Vec<Unwritable>) {
    let (mut admitted, mut refused) = (Vec::new(), Vec::new());
    for endpoint in endpoints {
        if let Err(denied) = context.name_policy.permit(endpoint) {
            let text = format!("{} {} is denied: {denied}", endpoint.name, endpoint.rtype);
            notes.push(Note::warning(&endpoint.origin.object, "Denied", text));
            refused.push(Unwritable::from(&*identified(endpoint, capability).0));
            continue;
        }
        let (endpoint, note) = identified(endpoint, capability);
        notes.extend(note);
        if endpoint.targets.as_records().iter().any(reads_as_claim) {
            let unwritable = Unwritable::from(&*endpoint);
            let text = format!(
                "{} is refused: a registry would read its text as an ownership record; expected a text without \
                 \"heritage=external-dns\" that does not look like an encrypted one",
                unwritable.key
            );
            notes.push(Note::warning(&endpoint.origin.object, "OwnershipText", text));
            refused.push(unwritable);
        } else {
            admitted.push(endpoint);
        }
    }
    (admitted, refused)
}
