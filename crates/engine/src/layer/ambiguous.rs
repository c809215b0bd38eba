//! Names of which a provider has several zones and rules choose none, for whoever asks why a name below is not served.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use zonewright_core::name::DnsName;

/// Names with several zones, none of which is managed; each with a sentence that says how to choose one.
#[derive(Debug, Default)]
pub struct AmbiguousZones(Mutex<BTreeMap<DnsName, String>>);

impl AmbiguousZones {
    /// Takes over what a list of zones showed.
    pub(super) fn set(&self, names: BTreeMap<DnsName, String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = names;
    }

    /// The sentence of the longest of these names at or above `name`.
    pub fn above(&self, name: &DnsName) -> Option<String> {
        let names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let above = names.iter().filter(|(zone, _)| name.is_within(zone));
        above.max_by_key(|(zone, _)| zone.labels().count()).map(|(_, text)| text.clone())
    }
}
