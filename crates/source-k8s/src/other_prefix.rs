//! What an object asks for under the well-known annotation prefix that is not in force.
//!
//! In come an object's mapping under the prefixes in force and one under the other prefix; out goes what the second asks for
//! and the first does not, or otherwise. Only objects that carry the other prefix, or whose mapper read one that does, are
//! mapped a second time.

use std::collections::BTreeSet;
use std::sync::Arc;

use zonewright_core::DnsName;
use zonewright_core::endpoint::{Mapped, ObjectRef, OtherPrefix};

use crate::annotations::{Prefixes, is_property};
use crate::options::SourceOptions;

/// The options under which the second mapping runs.
#[derive(Debug)]
pub(crate) struct Other {
    /// The prefix.
    pub(crate) prefix: &'static str,
    /// The options with that prefix in force alone.
    pub(crate) options: SourceOptions,
}

impl Other {
    /// The other prefix, if one of the two well-known ones is in force and one is not. Where only prefixes of the user's own
    /// are in force, the well-known ones belong to other instances.
    pub(crate) fn of(options: &SourceOptions) -> Option<Self> {
        let prefix = options.annotation_prefixes.other_known()?;
        let options = SourceOptions { annotation_prefixes: Prefixes::one(prefix), ..options.clone() };
        Some(Self { prefix, options })
    }

    /// Adds to `mapped` what `object` asks for under this prefix, by its `second` mapping.
    pub(crate) fn note(&self, object: ObjectRef, mapped: &mut Mapped, second: Mapped) {
        let Mapped { mut endpoints, mut pending, unknown, .. } = second;
        endpoints.retain(|endpoint| !mapped.endpoints.contains(endpoint));
        let asked = mapped.endpoints.iter().map(|e| &e.name).chain(mapped.pending.iter().map(|p| &p.name));
        let asked: BTreeSet<&DnsName> = asked.collect();
        pending.retain(|pending| !asked.contains(&pending.name));
        // What cannot be determined under either prefix is reported once.
        let new = unknown.into_iter().filter(|unknown| !mapped.unknown.contains(unknown));
        let new: Vec<_> = new.collect();
        mapped.unknown.extend(new);
        if let Some(stated) = &mut mapped.other_prefix {
            stated.endpoints.append(&mut endpoints);
            stated.pending.append(&mut pending);
        } else if !endpoints.is_empty() || !pending.is_empty() {
            let prefix = Arc::from(self.prefix);
            mapped.other_prefix = Some(Box::new(OtherPrefix { prefix, endpoints, pending, object }));
        }
    }
}

/// Notes the endpoints of `mapped` whose properties, as an element states them, begin with the other prefix: nobody reads those, and a
/// record that was published with them stays as it is.
pub(crate) fn note_properties(object: ObjectRef, options: &SourceOptions, mapped: &mut Mapped) {
    let Some(prefix) = options.annotation_prefixes.other_known() else { return };
    let unread = |name: &str| name.strip_prefix(prefix).is_some_and(is_property);
    let endpoints =
        mapped.endpoints.iter().filter(|endpoint| endpoint.extras.properties.keys().any(|name| unread(name)));
    let endpoints: Vec<_> = endpoints.cloned().collect();
    if !endpoints.is_empty() {
        let (prefix, pending) = (Arc::from(prefix), [].into());
        mapped.other_prefix = Some(Box::new(OtherPrefix { prefix, endpoints, pending, object }));
    }
}
