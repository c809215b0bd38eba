//! What is wanted and what stands at one name, under one set identifier, and what is to be done about it.
//!
//! In: a row, filled. Out: its part of the name's plan. What must hold: what is not done has a reason.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::foreign_values::{beside, is_shared};
use super::{
    Adoptable, FOREIGN_VALUE_LABEL, FORMER_OWNER_LABEL, NamePlan, OWN_LABELS, POLICY_LABEL, Placed, PlanFacts,
    PlannedGroup, Policy, Rules, Skip, Why,
};
use crate::change::{Change, Group, Step};
use crate::claim::{Claim, Ownership};
use crate::endpoint::{KindId, ObjectPolicy};
use crate::in_set::ITEM_LABEL;
use crate::record::{RecordData, RecordKey, RecordSet};
use crate::rtype::RecordType;

/// Everything at one name with one set identifier.
pub(super) struct Row<'a> {
    pub(super) placed: Vec<&'a Placed>,
    pub(super) published: Vec<(&'a RecordSet, Ownership)>,
    /// Types that stand at the name and are not ours to plan.
    pub(super) beside: Vec<RecordType>,
    pub(super) rules: Rules<'a>,
    pub(super) facts: &'a dyn PlanFacts,
}

impl<'a> Row<'a> {
    /// Plans all of it, but for what is returned: what `waits` goes only with something that comes under another identifier.
    pub(super) fn plan(
        mut self,
        waits: &dyn Fn(&RecordSet, &Ownership) -> bool,
        out: &mut NamePlan,
    ) -> Vec<(&'a RecordSet, Ownership)> {
        let waiting = self.keep_pending(out);
        self.leave_shared(out);
        let (mut creates, mut deletes, mut unmet) = (Vec::new(), Vec::new(), Vec::new());
        for placed in &self.placed {
            match self.published.iter().find(|(set, _)| set.key == placed.set.key) {
                Some((set, ownership)) => self.update(placed, set, ownership, out),
                None => creates.push(*placed),
            }
        }
        for (set, ownership) in &self.published {
            if !ownership.is_ours() || self.is_placed(&set.key) {
                continue;
            }
            let resource = ownership.claim().and_then(|claim| claim.resource.as_ref());
            let to = if self.facts.unmet(&set.key, resource) { &mut unmet } else { &mut deletes };
            to.push((*set, ownership));
        }
        self.keep_unmet(unmet, waiting, (&mut creates, &mut deletes), out);
        let exclusive = |p: &Placed, d: &RecordSet| self.excludes(&p.set, d.key.rtype);
        let is_moved = |(set, ownership): &(&RecordSet, &Ownership)| {
            waits(set, ownership) && !creates.iter().any(|placed| exclusive(placed, set))
        };
        let (moved, deletes): (Vec<_>, Vec<_>) = deletes.into_iter().partition(is_moved);
        let moved = moved.into_iter().map(|(set, ownership)| (set, ownership.clone())).collect();
        if creates.iter().any(|p| deletes.iter().any(|(d, _)| exclusive(p, d))) {
            // What else stands there goes, or stays, for reasons of its own.
            let concerned = |(set, ownership): &(&RecordSet, &Ownership)| {
                creates.iter().any(|placed| exclusive(placed, set) || is_replaced(set, ownership, placed))
            };
            let (concerned, beside): (Vec<_>, Vec<_>) = deletes.into_iter().partition(concerned);
            self.change_type(&creates, &concerned, out);
            for (set, ownership) in beside {
                self.delete(set, ownership, out);
            }
            return moved;
        }
        let (exchanged, deletes): (Vec<_>, Vec<_>) = deletes
            .into_iter()
            .partition(|(set, ownership)| creates.iter().any(|placed| is_replaced(set, ownership, placed)));
        for placed in creates {
            match exchanged.iter().find(|(set, ownership)| is_replaced(set, ownership, placed)) {
                Some((set, ownership)) => self.exchange(placed, set, ownership, out),
                None => {
                    self.create(placed, out);
                }
            }
        }
        for (set, ownership) in deletes {
            self.delete(set, ownership, out);
        }
        moved
    }

    /// Whether a set and a record of another type cannot stand at one name.
    pub(super) fn excludes(&self, set: &RecordSet, other: RecordType) -> bool {
        self.rules.excludes(set, other)
    }

    /// Plans a create. Returns whether it may be.
    fn create(&self, placed: &Placed, out: &mut NamePlan) -> bool {
        match self.may_create(placed) {
            Ok(ownership) => {
                self.note_claim(&placed.set.key, &ownership, true, out);
                out.groups.push(PlannedGroup { group: create(placed), counted: Vec::new() });
                true
            }
            Err(why) => {
                out.skips.push(skip(placed, why));
                false
            }
        }
    }

    /// An object asks for addresses of the other family now: one group, the new record first, so that the name keeps what it
    /// has unless the provider takes what replaces it.
    fn exchange(&self, placed: &Placed, set: &RecordSet, ownership: &Ownership, out: &mut NamePlan) {
        let undone = |why| Skip { key: set.key.clone(), why, objects: Vec::new() };
        let before = out.groups.len();
        if !self.create(placed, out) {
            self.left(&set.key, ownership, out);
            out.skips.push(undone(Why::Unmet));
        } else if let Some(why) = self.delete_forbidden(set, ownership) {
            self.left(&set.key, ownership, out);
            out.skips.push(undone(why));
        } else if let Some(planned) = out.groups.get_mut(before) {
            planned.group.steps.push(removal(set, ownership));
        }
    }

    pub(super) fn is_placed(&self, key: &RecordKey) -> bool {
        self.placed.iter().any(|p| p.set.key == *key)
    }

    fn update(&self, placed: &Placed, published: &RecordSet, ownership: &Ownership, out: &mut NamePlan) {
        if let Some(why) = not_ours(ownership) {
            if why == Why::Unclaimed {
                let (wanted, published) = (placed.set.clone(), published.clone());
                out.adoptable.push(Adoptable { wanted, published, resource: placed.wanted.resource.clone() });
            }
            out.skips.push(skip(placed, why));
            return;
        }
        let may_update = self.rules.policy.may_update(placed.wanted.policy);
        self.note_claim(&published.key, ownership, may_update, out);
        let wanted = &*beside(&placed.set, published, ownership);
        if wanted.is_met_by(published) {
            if *wanted == placed.set && is_shared(published, ownership) {
                // The values of others are wanted, too.
                let (wanted, published) = (placed.set.clone(), published.clone());
                out.adoptable.push(Adoptable { wanted, published, resource: placed.wanted.resource.clone() });
            }
            return;
        }
        if !may_update {
            out.skips.push(skip(placed, Why::Policy("updates")));
            return;
        }
        let former = ownership.claim().and_then(|claim| claim.resource.as_ref());
        if let Some((why, may_add)) = self.unchanged_for_other_prefix(placed, published, former) {
            if let Some(both) = self.joined(wanted, published).filter(|_| may_add) {
                let group = replace(placed, (published, ownership), &both, former.cloned());
                out.groups.push(PlannedGroup { group, counted: Vec::new() });
            }
            out.skips.push(skip(placed, why));
            return;
        }
        let removes = !wanted.data.contains(&published.data);
        let new_holder = former.is_some() && former != placed.wanted.resource.as_ref();
        let doubt = if removes || new_holder { self.doubt(former, new_holder) } else { Vec::new() };
        if doubt.is_empty() {
            out.groups.push(PlannedGroup {
                group: replace(placed, (published, ownership), wanted, placed.wanted.resource.clone()),
                counted: Vec::new(),
            });
            return;
        }
        // Additions go on without evidence: what is published and what is wanted, together.
        if let Some(both) = self.joined(wanted, published) {
            out.groups.push(PlannedGroup {
                group: replace(placed, (published, ownership), &both, former.cloned()),
                counted: Vec::new(),
            });
        }
        out.skips.push(skip(placed, Why::Doubt(doubt)));
    }

    /// The kinds that a removal of what `former` published may not rest on.
    pub(super) fn doubt(&self, former: Option<&Arc<str>>, holder_left: bool) -> Vec<KindId> {
        let mut doubt: BTreeSet<KindId> = self.facts.doubt_of_claimants().into_iter().collect();
        if holder_left {
            doubt.extend(self.facts.doubt(former));
        }
        doubt.into_iter().collect()
    }

    fn joined(&self, wanted: &RecordSet, published: &RecordSet) -> Option<RecordSet> {
        let (RecordData::Records(new), RecordData::Records(old)) = (&wanted.data, &published.data) else { return None };
        if wanted.key.rtype == RecordType::Cname
            || !self.rules.many_targets
            || new.iter().all(|data| old.contains(data))
        {
            return None;
        }
        let data = RecordData::records(old.iter().chain(new).cloned());
        Some(RecordSet { data, ..published.clone() })
    }

    /// Whether a record may be created; whose it would be.
    pub(super) fn may_create(&self, placed: &Placed) -> Result<Ownership, Why> {
        if let Some((set, _)) = self.published.iter().find(|(_, ownership)| !ownership.is_ours()) {
            return Err(Why::ForeignBeside(set.key.clone()));
        }
        let excluded: Vec<RecordType> =
            self.beside.iter().copied().filter(|other| self.excludes(&placed.set, *other)).collect();
        if self.rules.cname.alone && !excluded.is_empty() {
            return Err(Why::CnameBeside(excluded));
        }
        let ownership = match self.facts.ownership(&placed.set.key) {
            Ownership::Foreign(owner) => return Err(Why::ForeignClaim(owner)),
            Ownership::Disputed(owners) => return Err(Why::Disputed(owners)),
            free => free,
        };
        if placed.wanted.policy == Some(ObjectPolicy::Frozen) { Err(Why::Policy("changes")) } else { Ok(ownership) }
    }

    fn delete(&self, set: &RecordSet, ownership: &Ownership, out: &mut NamePlan) {
        if set.key.makes_zone(self.rules.apex) {
            return;
        }
        self.left(&set.key, ownership, out);
        if let Some(why) = self.delete_forbidden(set, ownership) {
            out.skips.push(Skip { key: set.key.clone(), why, objects: Vec::new() });
            return;
        }
        let counted = if self.is_proven_gone(ownership) { Vec::new() } else { vec![set.key.clone()] };
        out.groups.push(PlannedGroup { group: Group::of(removal(set, ownership), Vec::new()), counted });
    }

    /// Why a record of ours that is not wanted may not go now: the policy, or the evidence.
    pub(super) fn delete_forbidden(&self, set: &RecordSet, ownership: &Ownership) -> Option<Why> {
        let resource = ownership.claim().and_then(|claim| claim.resource.as_ref());
        let asks = self.placed.iter().any(|p| p.wanted.resource.as_ref() == resource);
        if !self.may_delete(set, ownership) {
            return Some(Why::Policy("deletes"));
        }
        let doubt = self.facts.unaccepted(&set.key, self.doubt(resource, !asks));
        (!doubt.is_empty()).then_some(Why::Doubt(doubt))
    }

    /// Whether the policies let a record go.
    pub(super) fn may_delete(&self, set: &RecordSet, ownership: &Ownership) -> bool {
        let claim = ownership.claim();
        let resource = claim.and_then(|claim| claim.resource.as_ref());
        let policy = claim.and_then(|claim| claim.label(POLICY_LABEL)).and_then(ObjectPolicy::parse);
        let asks = self.placed.iter().any(|p| p.wanted.resource.as_ref() == resource);
        !set.key.makes_zone(self.rules.apex) && self.rules.policy.may_delete(policy, asks)
    }

    pub(super) fn is_proven_gone(&self, ownership: &Ownership) -> bool {
        self.facts.is_proven_gone(ownership.claim().and_then(|claim| claim.resource.as_ref()))
    }

    /// Notes a claim that does not stand as it would be written today.
    fn note_claim(&self, key: &RecordKey, ownership: &Ownership, may_move: bool, out: &mut NamePlan) {
        if ownership.claim().is_some_and(|claim| !claim.current) {
            let may_move = may_move && self.rules.policy != Policy::CreateOnly;
            if may_move { &mut out.upgrades } else { &mut out.unmoved }.push(key.clone());
        }
    }

    /// The claim on a record that nobody asks for now, but that stands, is moved too: it may stand for long, and the former
    /// settings not. Where a policy forbids changes, or the claim is a former owner's, it is left.
    pub(super) fn left(&self, key: &RecordKey, ownership: &Ownership, out: &mut NamePlan) {
        let label = |label| ownership.claim().and_then(|claim| claim.label(label));
        let policy = label(POLICY_LABEL).and_then(ObjectPolicy::parse);
        let may_move = self.rules.policy.may_update(policy) && label(FORMER_OWNER_LABEL).is_none();
        self.note_claim(key, ownership, may_move, out);
    }
}

fn not_ours(ownership: &Ownership) -> Option<Why> {
    match ownership {
        Ownership::Ours(_) => None,
        Ownership::Foreign(owner) => Some(Why::Foreign(owner.clone())),
        Ownership::Unclaimed => Some(Why::Unclaimed),
        Ownership::Disputed(owners) => Some(Why::Disputed(owners.clone())),
    }
}

/// Whether what is to be created replaces a published record: both are addresses or aliases, and they are the same object's,
/// or cannot stand together. A claim that names no object may be that of any.
pub(super) fn is_replaced(set: &RecordSet, ownership: &Ownership, placed: &Placed) -> bool {
    let (old, new) = (set.key.rtype, placed.set.key.rtype);
    let holder = ownership.claim().and_then(|claim| claim.resource.as_ref());
    let same_object = || holder.is_none_or(|holder| placed.wanted.resource.as_ref() == Some(holder));
    new.replaces(old) && (new.excludes(old) || same_object())
}

/// Whether what is to be created is what the very object asks for in place of its published record.
pub(super) fn is_replaced_by_own(set: &RecordSet, ownership: &Ownership, placed: &Placed) -> bool {
    let holder = ownership.claim().and_then(|claim| claim.resource.as_ref());
    holder.is_some() && placed.wanted.resource.as_ref() == holder && is_replaced(set, ownership, placed)
}

pub(super) fn skip_of(key: &RecordKey, why: Why) -> Skip {
    Skip { key: key.clone(), why, objects: Vec::new() }
}

pub(super) fn skip(placed: &Placed, why: Why) -> Skip {
    Skip { key: placed.set.key.clone(), why, objects: placed.wanted.objects.clone() }
}

/// The step of a wanted set, with the labels that its claim shall carry.
pub(super) fn step_of(placed: &Placed, change: Change, resource: Option<Arc<str>>) -> Step {
    let mut labels = placed.wanted.labels.to_vec();
    labels.retain(|(key, _)| !key.starts_with(OWN_LABELS));
    if let Some(policy) = placed.wanted.policy.filter(|policy| *policy != ObjectPolicy::Sync) {
        labels.push((Arc::from(POLICY_LABEL), Arc::from(policy.as_str())));
        labels.sort();
    }
    if let Some(item) = change.to().filter(|_| placed.in_set).and_then(crate::in_set::label) {
        labels.push((Arc::from(ITEM_LABEL), Arc::from(item)));
        labels.sort();
    }
    Step { labels, ..Step::record(change, resource) }
}

/// The step that takes a record set of ours away.
pub(super) fn removal(set: &RecordSet, ownership: &Ownership) -> Step {
    let resource = ownership.claim().and_then(|claim| claim.resource.clone());
    Step { held: held(ownership), ..Step::record(Change::Delete { from: set.clone() }, resource) }
}

pub(super) fn held(ownership: &Ownership) -> Option<Box<Claim>> {
    let claim = ownership.claim()?;
    // What is in memory only stays there.
    let labels = claim.labels.iter().filter(|(key, _)| **key != *FOREIGN_VALUE_LABEL).cloned().collect();
    // Where it is kept, the registry knows.
    Some(Box::new(Claim { site: None, labels, ..claim.clone() }))
}

pub(super) fn create(placed: &Placed) -> Group {
    let change = Change::Create { to: placed.set.clone() };
    Group::of(step_of(placed, change, placed.wanted.resource.clone()), placed.wanted.objects.clone())
}

pub(super) fn replace(
    placed: &Placed,
    (from, ownership): (&RecordSet, &Ownership),
    to: &RecordSet,
    resource: Option<Arc<str>>,
) -> Group {
    let change = Change::Update { from: from.clone(), to: to.clone() };
    let step = Step { held: held(ownership), ..step_of(placed, change, resource) };
    Group::of(step, placed.wanted.objects.clone())
}
