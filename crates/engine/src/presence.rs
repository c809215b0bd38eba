//! What is published, for sources that choose among more names than an object may have.
//!
//! In comes a name with the label of an object, out goes whether the object has a record there. What must hold: as long as a
//! zone that may hold the name is not read, the answer is "not known".

use std::sync::{Arc, Weak};

use zonewright_core::claim::Ownership;
use zonewright_core::name::DnsName;
use zonewright_core::record::RecordSet;
use zonewright_core::source::{Presence, PublishedNames};

use crate::context::EngineContext;
use crate::provider_instance::ProviderInstance;
use crate::zone_handle::ZoneHandle;

/// The context as sources see it.
pub(crate) struct EngineNames(pub(crate) Weak<EngineContext>);

impl PublishedNames for EngineNames {
    fn presence(&self, name: &DnsName, resource: Option<&Arc<str>>) -> Presence {
        self.0.upgrade().map_or(Presence::Unread, |context| {
            let named = |_: &RecordSet, label: Option<&Arc<str>>| label.is_none_or(|label| resource == Some(label));
            presence(&context, name, &named)
        })
    }
}

/// Whether a record of ours stands at `name` that `counts`, by the set and the label of its claim.
pub(crate) fn presence(
    context: &EngineContext,
    name: &DnsName,
    counts: &dyn Fn(&RecordSet, Option<&Arc<str>>) -> bool,
) -> Presence {
    let mut unread = false;
    for instance in &context.instances {
        unread |= !instance.listing().tried;
        for handle in instance.zone_handles().iter().filter(|handle| handle.zone.covers(name)) {
            if !handle.view().is_complete() {
                unread = true;
            } else if holds(context, instance, handle, name, counts) {
                return Presence::Held;
            }
        }
    }
    if unread { Presence::Unread } else { Presence::Free }
}

fn holds(
    context: &EngineContext,
    instance: &ProviderInstance,
    handle: &ZoneHandle,
    name: &DnsName,
    counts: &dyn Fn(&RecordSet, Option<&Arc<str>>) -> bool,
) -> bool {
    let sets = handle.view().at(name);
    let records =
        sets.iter().filter(|set| context.config.managed.contains(&set.key.rtype) && !instance.registry.is_claim(set));
    let mut records = records;
    records.any(|set| match instance.ownership(&handle.zone, &set.key) {
        Ownership::Ours(claim) => counts(set, claim.as_ref().and_then(|claim| claim.resource.as_ref())),
        _ => false,
    })
}
