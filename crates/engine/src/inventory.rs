//! What stands in zones and whose it is, for people who ask.
//!
//! In: the views of the zones. Out: record sets of managed types without claims, and how each zone is doing. Views are copied and
//! unlocked before it is asked whose a record is, since claims may stand in any zone.

use zonewright_core::claim::{OwnerId, Ownership};
use zonewright_core::record::RecordSet;
use zonewright_core::zone::{InstanceId, Zone};

use crate::context::EngineContext;
use crate::provider_instance::ProviderInstance;
use crate::zone_handle::ZoneHandle;

/// How one zone is doing.
#[derive(Debug, Clone)]
pub struct ZoneStatus {
    /// The zone, with its instance.
    pub zone: Zone,
    /// Why it is not ready, if it is not.
    pub problem: Option<String>,
    /// Deletes that are held.
    pub held: usize,
    /// Names that were refused, or could not be written, and are tried again.
    pub refused: usize,
    /// Record sets that are wanted or ours and stay as they are.
    pub left_alone: usize,
    /// Names that another writer keeps changing back.
    pub contested: usize,
}

/// Goes through the record sets of one zone.
pub(crate) fn records(context: &EngineContext, zone: &Zone, visit: &mut dyn FnMut(RecordSet, Ownership)) {
    let of =
        |instance: &ProviderInstance| instance.zone_handles().into_iter().find(|handle| handle.zone.key == zone.key);
    let Some((instance, handle)) = context.instances.iter().find_map(|instance| Some((instance, of(instance)?))) else {
        return;
    };
    let managed = |rtype| context.config.managed.contains(&rtype);
    let sets: Vec<RecordSet> = handle.view().sets_of(managed).collect();
    for set in sets.into_iter().filter(|set| !instance.is_claim(&handle.zone, set)) {
        let ownership = instance.ownership(&handle.zone, &set.key);
        visit(set, ownership);
    }
}

/// The status of every zone that is served.
pub(crate) fn zones(context: &EngineContext) -> Vec<ZoneStatus> {
    context.zone_handles().iter().map(|handle| state(context, handle)).collect()
}

fn state(context: &EngineContext, handle: &ZoneHandle) -> ZoneStatus {
    let held = context.state.look(&handle.label(), |state| state.held.as_ref().map_or(0, |plan| plan.held.len()));
    let status = handle.status();
    ZoneStatus {
        zone: handle.zone.clone(),
        problem: status.unready(),
        held,
        refused: status.parked,
        left_alone: status.left_alone,
        contested: status.contested.len(),
    }
}

/// Instances whose zones cannot be listed, each with the reason.
pub(crate) fn unlisted(context: &EngineContext) -> Vec<(InstanceId, String)> {
    let of = |instance: &ProviderInstance| {
        let listing = instance.listing();
        let why = listing.error.as_ref().map(|(error, _)| error.chain());
        why.or_else(|| (!listing.tried).then(|| "not listed yet".to_owned())).map(|why| (instance.id.clone(), why))
    };
    context.instances.iter().filter_map(|instance| of(instance)).collect()
}

/// The owner ids of the instances' registries, each once.
pub(crate) fn own_ids(context: &EngineContext) -> Vec<OwnerId> {
    let mut ids: Vec<OwnerId> = context.instances.iter().filter_map(|one| one.registry.owner().cloned()).collect();
    ids.sort();
    ids.dedup();
    ids
}
