//! What the index gives to whoever looks for a name.

use std::sync::Arc;

use zonewright_core::endpoint::Mapped;
use zonewright_core::explain::Subject;

use super::Index;
use crate::consider::{Snapshot, concerns, is_puzzling};
use crate::store::Object;

impl Index {
    /// A snapshot to consider a subject in, without the index.
    pub(crate) fn snapshot_for(&self, subject: &Subject) -> Snapshot {
        let reported = self.reported.iter().filter_map(|(reader, reported)| {
            let object = reported.object(&reader);
            concerns(subject, &object, &reported.mapped).then(|| (reader, object, Arc::clone(&reported.mapped)))
        });
        Snapshot {
            reported: reported.collect(),
            store: self.store.clone(),
            roles: Arc::clone(&self.roles),
            options: Arc::clone(&self.options),
            published: self.published.clone(),
        }
    }

    /// Whether an object is kept whole, though nothing but its mapper reads it: it asks for nothing, or not for all that it states, and
    /// a person may ask why.
    pub(super) fn may_be_asked_about(&self, object: &Object, mapped: &Mapped) -> bool {
        is_puzzling(object, mapped, &self.options)
    }
}
