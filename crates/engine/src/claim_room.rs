//! Room for claims where all sets of a name and type have one kind of routing policy.
//!
//! In: a group with its claims. Out: the same, with our claims of another kind that stand in the way and speak for no record taken away
//! in the same call. A claim has the kind of its record; one whose record another writer deleted stays behind, and the service takes none
//! of another kind beside it. What must hold: a claim that speaks for a record, or is not ours, stays, and the group is not sent.

use zonewright_core::capability::RoutingSupport;
use zonewright_core::change::{Change, Group, Role, Step};
use zonewright_core::record::RecordSet;
use zonewright_core::registry::StaleClaims;

use crate::worker::Worker;

/// # Errors
/// What stands in the way and stays.
pub(crate) fn make_room(worker: &Worker, group: Group) -> Result<Group, (Group, String)> {
    let capability = worker.capability();
    // Where items share one record set, so do their claims, and that set has no policy.
    if !capability.one_kind || matches!(capability.routing, RoutingSupport::InSet(_)) {
        return Ok(group);
    }
    let mut going: Vec<Step> = Vec::new();
    for set in in_the_way(worker, &group) {
        match taken_away(worker, &set) {
            Some(step) if going.contains(&step) => {}
            Some(step) => going.push(step),
            None => {
                let kind =
                    set.routing.kind().map_or_else(|| "no routing policy".to_owned(), |kind| format!("{kind} routing"));
                let text = format!(
                    "its claim belongs beside {}, which has {kind}: all sets of a name and type have one kind",
                    set.key
                );
                return Err((group, text));
            }
        }
    }
    let steps = going.into_iter().chain(group.steps).collect();
    Ok(Group { steps, ..group })
}

/// The sets of another kind that stand where a group makes claims, and that it does not take away itself.
fn in_the_way(worker: &Worker, group: &Group) -> Vec<RecordSet> {
    let view = worker.handle.view();
    let claims = group.steps.iter().filter(|step| step.role == Role::Claim);
    let made: Vec<&RecordSet> = claims.filter_map(|step| step.change.to()).collect();
    let stays = |set: &RecordSet| {
        let goes = |change: &Change| matches!(change, Change::Delete { from } if from.key == set.key);
        !group.changes().any(goes)
    };
    let beside = |claim: &&RecordSet| {
        let differs = |set: &RecordSet| set.key.rtype == claim.key.rtype && set.routing.kind() != claim.routing.kind();
        view.at(&claim.key.name).into_iter().filter(|set| differs(set) && stays(set)).collect::<Vec<_>>()
    };
    made.iter().flat_map(beside).collect()
}

/// The step that takes a set of claims away, if all of it is ours and speaks for nothing.
fn taken_away(worker: &Worker, set: &RecordSet) -> Option<Step> {
    let (registry, zone) = (&worker.instance.registry, &worker.handle.zone);
    let stale = registry.collect_stale_claims(zone, set, StaleClaims::Claims, &*worker.instance)?;
    let step = stale.steps.into_iter().next()?;
    matches!(step.change, Change::Delete { .. }).then_some(step)
}
