//! What is to be changed at one name. Pure.
//!
//! In: what is asked for, and what stands there, each set with whose it is. Out: one group, an adoption, or nothing; or who is in
//! the way. What must hold: sets of other types stay, but for the former shape of the same object: a CNAME, an alias and an
//! address record of one name take each other's place within one group, and nothing of the former one is left.

use std::sync::Arc;

use zonewright_core::capability::CnameRules;
use zonewright_core::change::{Change, Group, Step};
use zonewright_core::claim::{OwnerId, Ownership};
use zonewright_core::{DnsName, RecordData, RecordSet, RecordType};

use crate::failure::OperationFailure;

/// A set at the name.
#[derive(Debug, Clone)]
pub(super) struct RecordAtName<'v> {
    pub(super) set: &'v RecordSet,
    pub(super) ownership: Ownership,
    /// The other DNSRecord that our own claim names, if it asks for the name too.
    pub(super) rival: Option<Arc<str>>,
}

/// What one object asks for.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestedName<'a> {
    pub(super) name: &'a DnsName,
    /// The type that the object states.
    pub(super) rtype: RecordType,
    /// The sets in which it is published.
    pub(super) sets: &'a [RecordSet],
    pub(super) resource: &'a Arc<str>,
    pub(super) owner: Option<&'a OwnerId>,
    pub(super) cname: CnameRules,
    /// Whether the name is that of the zone.
    pub(super) apex: bool,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ApplyPlan {
    Nothing,
    /// This record stands as it is wanted, and nobody's claim is on it: it becomes ours.
    Adopt(RecordSet),
    Change(Group),
}

/// Types that take each other's place.
fn is_of_family(rtype: RecordType) -> bool {
    rtype.is_address() || rtype == RecordType::Cname
}

/// Whether a set is one of several of its name and type, which a routing policy chooses from.
fn is_routed(set: &RecordSet) -> bool {
    set.key.set_id.is_some() || !set.routing.is_simple() || matches!(set.data, RecordData::Items(_))
}

impl RecordAtName<'_> {
    fn alias(&self) -> Option<&str> {
        match &self.set.data {
            RecordData::Alias(alias) => Some(&alias.target),
            _ => None,
        }
    }

    /// Whether the set may be changed.
    fn may_change(&self) -> Result<(), OperationFailure> {
        let (key, held) = (&self.set.key, |text: String| Err(OperationFailure::Held(text)));
        if is_routed(self.set) {
            return held(format!(
                "{key} takes part in a routing policy, which a DNSRecord cannot have; it stays as it is"
            ));
        }
        if let Some(rival) = &self.rival {
            return held(format!("{key} belongs to {rival}"));
        }
        match &self.ownership {
            Ownership::Ours(_) => Ok(()),
            Ownership::Foreign(owner) => held(format!("{key} is owned by {owner:?}")),
            Ownership::Disputed(owners) => {
                let owners = owners.iter().map(OwnerId::as_str).collect::<Vec<_>>().join(", ");
                held(format!("{key} is claimed by several owners: {owners}"))
            }
            Ownership::Unclaimed => held(format!(
                "{key} stands already with {}, and nobody claims it; it is adopted only with equal values",
                self.set.data
            )),
        }
    }
}

/// What brings the name in step.
///
/// # Errors
/// Who or what is in the way.
pub(super) fn bring(asked: &RequestedName<'_>, standing: &[RecordAtName<'_>]) -> Result<ApplyPlan, OperationFailure> {
    let routed = |found: &&RecordAtName<'_>| {
        is_routed(found.set) && asked.sets.iter().any(|set| set.key.rtype == found.set.key.rtype)
    };
    if let Some(found) = standing.iter().find(routed) {
        found.may_change()?;
    }
    blocked(asked, standing)?;
    let mut steps: Vec<Step> = Vec::new();
    for found in standing.iter().filter(|found| must_go(asked, standing, found)) {
        found.may_change()?;
        steps.push(step(Change::Delete { from: found.set.clone() }, found, asked));
    }
    for wanted in asked.sets {
        let Some(found) = standing.iter().find(|found| found.set.key == wanted.key) else {
            let create = Step::record(Change::Create { to: wanted.clone() }, Some(asked.resource.clone()));
            steps.push(Step { owner: asked.owner.cloned(), ..create });
            continue;
        };
        if found.ownership == Ownership::Unclaimed && wanted.data == found.set.data {
            return Ok(ApplyPlan::Adopt(found.set.clone()));
        }
        if !wanted.is_met_by(found.set) {
            found.may_change()?;
            steps.push(step(Change::Update { from: found.set.clone(), to: wanted.clone() }, found, asked));
        } else if !matches!(found.ownership, Ownership::Ours(_)) || found.rival.is_some() {
            found.may_change()?;
        }
    }
    if steps.is_empty() {
        return Ok(ApplyPlan::Nothing);
    }
    Ok(ApplyPlan::Change(group(asked.name, steps)))
}

/// What takes away the records of an object: those of its type, and for a CNAME the aliases in its place. What is not ours, or
/// another object's, stays.
pub(super) fn withdraw(name: &DnsName, rtype: RecordType, standing: &[RecordAtName<'_>]) -> ApplyPlan {
    let published = |found: &&RecordAtName<'_>| {
        let alias = rtype == RecordType::Cname && found.set.key.rtype.is_address() && found.alias().is_some();
        (found.set.key.rtype == rtype || alias) && found.may_change().is_ok()
    };
    let delete = |found: &RecordAtName<'_>| Step {
        held: found.ownership.claim().cloned().map(Box::new),
        ..Step::record(Change::Delete { from: found.set.clone() }, None)
    };
    let steps: Vec<Step> = standing.iter().filter(published).map(delete).collect();
    if steps.is_empty() { ApplyPlan::Nothing } else { ApplyPlan::Change(group(name, steps)) }
}

/// Whether a set is a former shape of what is asked for.
fn must_go(asked: &RequestedName<'_>, standing: &[RecordAtName<'_>], found: &RecordAtName<'_>) -> bool {
    let key = &found.set.key;
    if !is_of_family(asked.rtype) || !is_of_family(key.rtype) || asked.sets.iter().any(|set| set.key == *key) {
        return false;
    }
    if asked.sets.iter().any(|set| asked.cname.excludes(set.key.rtype, key.rtype, asked.apex)) {
        return true;
    }
    let Some(target) = found.alias() else { return false };
    // The other family of an alias: of this object, or of the alias that a record of addresses takes the place of now.
    let twin = |set: &RecordSet| {
        standing.iter().any(|other| other.set.key == set.key && other.alias() == Some(target)) && !is_alias(set)
    };
    asked.rtype == RecordType::Cname || asked.sets.iter().any(twin)
}

fn is_alias(set: &RecordSet) -> bool {
    matches!(set.data, RecordData::Alias(_))
}

/// A CNAME cannot stand beside other data, nor other data beside a CNAME that is not this object's to replace.
fn blocked(asked: &RequestedName<'_>, standing: &[RecordAtName<'_>]) -> Result<(), OperationFailure> {
    for wanted in asked.sets {
        let beside = |found: &&RecordAtName<'_>| {
            asked.cname.alone
                && asked.cname.excludes(wanted.key.rtype, found.set.key.rtype, asked.apex)
                && !(is_of_family(asked.rtype) && is_of_family(found.set.key.rtype))
        };
        if let Some(found) = standing.iter().find(beside) {
            let text = format!("{} cannot stand beside {}, which is there already", wanted.key, found.set.key);
            return Err(OperationFailure::Held(text));
        }
    }
    Ok(())
}

fn step(change: Change, found: &RecordAtName<'_>, asked: &RequestedName<'_>) -> Step {
    let resource = change.to().map(|_| asked.resource.clone());
    let owner = change.to().and(asked.owner).cloned();
    Step { held: found.ownership.claim().cloned().map(Box::new), owner, ..Step::record(change, resource) }
}

/// Deletes go before creates: servers that work through a message in order need the room.
fn group(name: &DnsName, mut steps: Vec<Step>) -> Group {
    let rank = |step: &Step| match step.change {
        Change::Delete { .. } => 0,
        Change::Update { .. } => 1,
        Change::Create { .. } => 2,
    };
    steps.sort_by_key(rank);
    Group { name: name.clone(), steps, stored: Vec::new(), requires: Vec::new(), objects: Vec::new() }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
