//! Whether something that was changed may go back now. In: what the journal folded to, and the zone's view. Out: the group
//! that brings it back, with all that must hold for it, or why not.

use std::collections::BTreeSet;

use zonewright_core::change::{Change, Group, Precondition, Role};
use zonewright_core::claim::{OwnerId, Ownership};
use zonewright_core::plan::Policy;
use zonewright_core::record::{RecordKey, RecordSet};

use crate::context::EngineContext;
use crate::journal::{Folded, Span, UndoRefusal, owner_of};
use crate::provider_instance::ProviderInstance;
use crate::zone_handle::ZoneHandle;

/// The group that brings back what stood before, if that may be done now.
pub(super) fn judge(
    context: &EngineContext,
    instance: &ProviderInstance,
    handle: &ZoneHandle,
    folded: &Folded,
) -> Result<Group, UndoRefusal> {
    handed(instance, handle, folded)?;
    let view = handle.view();
    let mut group = folded.inverse(|key| view.find(key))?;
    drop(view);
    let config = &context.config;
    for key in folded.records().map(|(key, _)| key).chain(folded.handed.keys()) {
        let inside = config.filter.matches(&key.name) && instance.counts(handle, &key.name);
        if !inside || !handle.zone.covers(&key.name) || !config.managed.contains(&key.rtype) {
            return Err(UndoRefusal::OutOfScope);
        }
    }
    // Whose a record is was a person's order, and no matter of the policy.
    let by_order = folded.passed().next().is_some();
    for step in group.steps.iter().filter(|step| step.role == Role::Record || !by_order) {
        match (config.policy, &step.change) {
            (Policy::UpsertOnly | Policy::CreateOnly, Change::Delete { .. }) => {
                return Err(UndoRefusal::Policy("deletes"));
            }
            (Policy::CreateOnly, Change::Update { .. }) => return Err(UndoRefusal::Policy("updates")),
            _ => {}
        }
    }
    let requires = owned(instance, handle, folded)?;
    group.requires.extend(requires);
    Ok(group)
}

/// Whether each claim that changed hands still is whose we left it: ours, another owner's by our own doing, or nobody's.
fn handed(instance: &ProviderInstance, handle: &ZoneHandle, folded: &Folded) -> Result<(), UndoRefusal> {
    if folded.open {
        return Err(UndoRefusal::Open);
    }
    let me = instance.registry.owner();
    for (key, passed) in folded.passed().filter(|(_, passed)| passed.latest) {
        let now = instance.ownership(&handle.zone, key);
        let owner = owner_of(&now, me);
        if matches!(now, Ownership::Disputed(_)) {
            return Err(UndoRefusal::NotOurs(format!("several owners claim {key}")));
        }
        if owner == passed.left.owner {
            continue;
        }
        if owner == passed.before.owner {
            // Where the claim stands in the zone, its text shows whether all of it is back.
            if folded.spans.is_empty() {
                return Err(UndoRefusal::Back);
            }
            continue;
        }
        let said =
            |owner: Option<&OwnerId>| owner.map_or_else(|| "nobody".to_owned(), |owner| format!("owner {owner}"));
        let (now, left) = (said(owner.as_ref()), said(passed.left.owner.as_ref()));
        return Err(UndoRefusal::NotOurs(format!(
            "the claim of {key} was left to {left}, and now it is that of {now}"
        )));
    }
    Ok(())
}

/// Whether all of it is ours, or free. Returns the claims that must stay while the group is carried out.
fn owned(instance: &ProviderInstance, handle: &ZoneHandle, folded: &Folded) -> Result<Vec<Precondition>, UndoRefusal> {
    let mut requires = Vec::new();
    let by_order = |key: &RecordKey| folded.handed.get(key).is_some_and(|passed| passed.latest);
    let keys: BTreeSet<RecordKey> = match folded.records().next() {
        Some(_) => folded.records().map(|(key, _)| key.clone()).filter(|key| !by_order(key)).collect(),
        None if folded.passed().next().is_some() => BTreeSet::new(),
        // Only claims moved: it is about the records that they speak of.
        None => {
            let sets: Vec<RecordSet> = folded.names.iter().flat_map(|name| handle.view().at(name)).collect();
            sets.into_iter().filter(|set| !instance.is_claim(&handle.zone, set)).map(|set| set.key).collect()
        }
    };
    for key in keys {
        let standing = handle.view().find(&key);
        match (instance.ownership(&handle.zone, &key), standing) {
            (Ownership::Ours(claim), _) => {
                let site = claim.and_then(|claim| claim.site).filter(|(zone, _)| *zone == handle.zone.key);
                let stays = |set: &RecordSet| !folded.spans.contains_key(&set.key);
                requires.extend(site.map(|(_, set)| set).filter(stays).map(Precondition::Exact));
            }
            (Ownership::Unclaimed, None) => {}
            (Ownership::Unclaimed, Some(set)) => {
                return Err(UndoRefusal::NotOurs(format!("{} stands there, and nobody claims it", set.key)));
            }
            (Ownership::Foreign(owner), _) => return Err(UndoRefusal::NotOurs(format!("owner {owner} claims {key}"))),
            (Ownership::Disputed(_), _) => return Err(UndoRefusal::NotOurs(format!("several owners claim {key}"))),
        }
        beside(instance, handle, folded, &key)?;
    }
    let mut seen = Vec::new();
    requires.retain(|requirement| {
        let new = !seen.contains(requirement);
        seen.push(requirement.clone());
        new
    });
    Ok(requires)
}

/// Nothing is added beside a foreign record, or of a type that excludes it.
fn beside(
    instance: &ProviderInstance,
    handle: &ZoneHandle,
    folded: &Folded,
    key: &RecordKey,
) -> Result<(), UndoRefusal> {
    let comes = |span: &Span| span.left.is_none() && span.before.is_some();
    if !folded.spans.get(key).is_some_and(comes) {
        return Ok(());
    }
    let standing = handle.view().at(&key.name);
    let others = standing.into_iter().filter(|set| {
        let same_row = set.key.set_id == key.set_id && set.key != *key;
        same_row && !folded.spans.contains_key(&set.key) && !instance.is_claim(&handle.zone, set)
    });
    for other in others {
        if key.rtype.excludes(other.key.rtype) || !instance.ownership(&handle.zone, &other.key).is_ours() {
            return Err(UndoRefusal::NotOurs(format!("{} stands at the same name", other.key)));
        }
    }
    Ok(())
}
