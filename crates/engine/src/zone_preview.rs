//! What a pass would do in each zone, with the reason of each change.
//!
//! In: what the workers of a dry run have planned, and what is held. Out: [`ZonePreview`], one for each zone.

use std::collections::BTreeMap;
use std::sync::Arc;

use zonewright_core::change::{Change, Group, Step};
use zonewright_core::endpoint::ObjectRef;
use zonewright_core::guard::HeldPlan;
use zonewright_core::record::{RecordData, RecordSet, Ttl};
use zonewright_core::zone::Zone;

use crate::context::EngineContext;
use crate::preview::LeftAlone;
use crate::provider_instance::ProviderInstance;
use crate::zone_handle::ZoneHandle;

/// What a pass would do in one zone.
#[derive(Debug, Clone)]
pub struct ZonePreview {
    /// The zone that was planned.
    pub zone: Zone,
    /// What people read: the zone's name, behind that of its instance where there are several.
    pub title: String,
    /// The changes that would be sent, in the order of their names.
    pub changes: Vec<PlannedChange>,
    /// Claims that would change without their record, as lines.
    pub claims: Vec<String>,
    /// Record sets that are wanted or ours and stay as they are.
    pub left_alone: Vec<LeftAlone>,
    /// The deletes that wait, if any do.
    pub held: Option<HeldDeletes>,
}

/// One change of a record set, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedChange {
    /// Old and new.
    pub change: Change,
    /// The objects that ask for it; none where it goes because nobody does.
    pub objects: Vec<ObjectRef>,
    /// The resource that the claim names, as `service/shop/web`.
    pub resource: Option<String>,
    /// Why, a half-sentence.
    pub reason: String,
}

/// Deletes that wait for an approval or for evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldDeletes {
    /// What `zonewright approve` is given.
    pub hash: String,
    /// Why they wait, a sentence.
    pub reason: String,
    /// What would go; a set that is not in the view any more is left out.
    pub sets: Vec<RecordSet>,
    /// The number of deletes that are held.
    pub count: usize,
}

/// What the pass would do in every zone.
pub(crate) fn of(context: &EngineContext) -> Vec<ZonePreview> {
    let held: BTreeMap<String, HeldPlan> = context.state.held().into_iter().collect();
    let of_instance = |instance: &Arc<ProviderInstance>| {
        let zones = instance.zone_handles().into_iter();
        zones.map(|handle| of_zone(instance, &handle, held.get(&handle.label()))).collect::<Vec<_>>()
    };
    context.instances.iter().flat_map(of_instance).collect()
}

fn of_zone(instance: &ProviderInstance, handle: &ZoneHandle, held: Option<&HeldPlan>) -> ZonePreview {
    let preview = handle.preview();
    let default = instance.provider.capability(Some(&handle.zone)).ttl.default;
    let groups = || preview.groups.values().flatten();
    let mut changes: Vec<PlannedChange> = groups().flat_map(changes_of).collect();
    for planned in &mut changes {
        fill_ttl(&mut planned.change, default);
    }
    changes.sort_by(|a, b| a.change.key().cmp(b.change.key()));
    let claims = groups().filter(|group| group.records().next().is_none()).map(Group::headline).collect();
    let held = held.map(|plan| {
        let view = handle.view();
        let sets = plan.held.keys().filter_map(|key| view.find(key)).collect();
        HeldDeletes { hash: plan.hash.clone(), reason: plan.reason.clone(), sets, count: plan.held.len() }
    });
    ZonePreview {
        zone: handle.zone.clone(),
        title: handle.title.clone(),
        changes,
        claims,
        left_alone: preview.left.values().cloned().collect(),
        held: held.filter(|held| held.count > 0),
    }
}

fn changes_of(group: &Group) -> impl Iterator<Item = PlannedChange> + '_ {
    group.records().map(|step| PlannedChange {
        change: step.change.clone(),
        objects: if step.change.to().is_some() { group.objects.clone() } else { Vec::new() },
        resource: step.resource.as_ref().map(ToString::to_string),
        reason: reason(step, group),
    })
}

/// A wanted set without a TTL of its own gets that of the provider.
fn fill_ttl(change: &mut Change, default: Ttl) {
    let (Change::Create { to } | Change::Update { to, .. }) = change else { return };
    if !matches!(to.data, RecordData::Alias(_)) {
        to.ttl = to.ttl.or(Some(default));
    }
}

/// Why a record set is changed.
fn reason(step: &Step, group: &Group) -> String {
    let others = |wanted: fn(&Change) -> bool| {
        let other = group.records().map(|other| &other.change).find(|other| wanted(other));
        other.map(|other| other.key().rtype)
    };
    match &step.change {
        Change::Create { .. } => match others(|change| matches!(change, Change::Delete { .. })) {
            Some(old) => format!("it takes the place of the {old} record"),
            None => "no record stands there".to_owned(),
        },
        Change::Update { from, to } => differs(from, to),
        Change::Delete { .. } => match others(|change| matches!(change, Change::Create { .. })) {
            Some(new) => format!("a {new} record takes its place"),
            None => "no object requests it any more".to_owned(),
        },
    }
}

/// In what two sides of an update differ.
fn differs(from: &RecordSet, to: &RecordSet) -> String {
    let mut what = Vec::new();
    if from.data != to.data {
        what.push("the data".to_owned());
    }
    if to.ttl.is_some() && from.ttl != to.ttl {
        what.push("the TTL".to_owned());
    }
    if from.routing != to.routing {
        what.push("the routing policy".to_owned());
    }
    if from.options != to.options {
        what.push("the provider's settings".to_owned());
    }
    match what.as_slice() {
        [] => "its claim changes".to_owned(),
        [only] => format!("{only} differs"),
        [first @ .., last] => format!("{} and {last} differ", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use zonewright_core::testing::{name, set};

    use super::*;

    fn group(changes: Vec<Change>) -> Group {
        let steps = changes.into_iter().map(|change| Step::record(change, None)).collect();
        Group { name: name("a.example"), steps, stored: vec![], requires: vec![], objects: vec![] }
    }

    #[track_caller]
    fn check(changes: Vec<Change>, expected: &[&str]) {
        let reasons: Vec<String> = changes_of(&group(changes)).map(|change| change.reason).collect();
        assert_eq!(reasons, expected);
    }

    #[test]
    fn every_change_has_its_reason() {
        let create = |text| Change::Create { to: set(text) };
        let delete = |text| Change::Delete { from: set(text) };
        let update = |from, to| Change::Update { from: set(from), to: set(to) };
        check(vec![create("a.example A 192.0.2.1")], &["no record stands there"]);
        check(vec![delete("a.example A 192.0.2.1")], &["no object requests it any more"]);
        let both = vec![delete("a.example A 192.0.2.1"), create("a.example CNAME b.example")];
        check(both, &["a CNAME record takes its place", "it takes the place of the A record"]);
        check(vec![update("a.example A 192.0.2.1", "a.example A 192.0.2.2")], &["the data differs"]);
        check(vec![update("a.example A ttl=60 192.0.2.1", "a.example A ttl=90 192.0.2.1")], &["the TTL differs"]);
        let all = vec![update("a.example A ttl=60 192.0.2.1", "a.example A ttl=90 192.0.2.2")];
        check(all, &["the data and the TTL differ"]);
    }
}
