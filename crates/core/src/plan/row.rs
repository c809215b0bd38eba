//! What is wanted and what stands at one name, under one set identifier, and what is to be done about it.
//!
//! In: a row, filled. Out: its part of the name's plan. What must hold: what is not done has a reason.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{
    Adoptable, FORMER_OWNER_LABEL, Facts, NamePlan, POLICY_LABEL, Placed, PlannedGroup, Policy, Rules, Skip, Why,
};
use crate::change::{Change, Group, Step};
use crate::claim::{Claim, Ownership};
use crate::endpoint::{KindId, ObjectPolicy};
use crate::record::{RecordData, RecordKey, RecordSet};
use crate::rtype::RecordType;

/// Everything at one name with one set identifier.
pub(super) struct Row<'a> {
    pub(super) placed: Vec<&'a Placed>,
    pub(super) published: Vec<(&'a RecordSet, Ownership)>,
    /// Types that stand at the name and are not ours to plan.
    pub(super) beside: Vec<RecordType>,
    pub(super) rules: Rules<'a>,
    pub(super) facts: &'a dyn Facts,
}

impl Row<'_> {
    /// Plans all of it.
    pub(super) fn plan(mut self, out: &mut NamePlan) {
        self.keep_pending(out);
        let (mut creates, mut deletes) = (Vec::new(), Vec::new());
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
            if self.facts.unmet(&set.key, resource) {
                self.left(&set.key, ownership, out);
                out.skips.push(Skip { key: set.key.clone(), why: Why::Unmet, objects: Vec::new() });
                creates.retain(|placed| {
                    !placed.set.key.rtype.excludes(set.key.rtype) || {
                        out.skips.push(skip(placed, Why::Unmet));
                        false
                    }
                });
            } else {
                deletes.push((*set, ownership));
            }
        }
        let exclusive = |p: &Placed, d: &RecordSet| p.set.key.rtype.excludes(d.key.rtype);
        if creates.iter().any(|p| deletes.iter().any(|(d, _)| exclusive(p, d))) {
            self.change_type(&creates, &deletes, out);
            return;
        }
        let creating = !creates.is_empty();
        for placed in creates {
            match self.may_create(placed) {
                Ok(ownership) => {
                    self.note_claim(&placed.set.key, &ownership, true, out);
                    out.groups.push(PlannedGroup { group: create(placed), counted: Vec::new() });
                }
                Err(why) => out.skips.push(skip(placed, why)),
            }
        }
        for (set, ownership) in deletes {
            self.delete(set, ownership, creating, out);
        }
    }

    fn is_placed(&self, key: &RecordKey) -> bool {
        self.placed.iter().any(|p| p.set.key == *key)
    }

    /// Where the holder of a published record still asks for the name without known targets, the record stays, and what
    /// others want in its place waits.
    fn keep_pending(&mut self, out: &mut NamePlan) {
        let mut kept = Vec::new();
        for (set, ownership) in &self.published {
            let resource = ownership.claim().and_then(|claim| claim.resource.as_ref());
            let by_holder = self.placed.iter().any(|p| p.set.key == set.key && p.wanted.resource.as_ref() == resource);
            if !ownership.is_ours() || by_holder {
                continue;
            }
            if let Some(reason) = self.facts.pending(resource) {
                self.left(&set.key, ownership, out);
                kept.push(set.key.clone());
                // What stands already beside it, where the provider lets it, is not in its way.
                let stands = |key: &RecordKey| self.published.iter().any(|(set, o)| set.key == *key && o.is_ours());
                let excludes = |p: &Placed| p.set.key.rtype.excludes(set.key.rtype) && !stands(&p.set.key);
                let in_the_way = |p: &&Placed| p.set.key == set.key || excludes(p);
                let (waiting, rest): (Vec<&Placed>, Vec<&Placed>) =
                    std::mem::take(&mut self.placed).into_iter().partition(in_the_way);
                self.placed = rest;
                out.skips.extend(waiting.into_iter().map(|p| skip(p, Why::Pending(reason.clone()))));
                out.skips.push(Skip { key: set.key.clone(), why: Why::Pending(reason), objects: Vec::new() });
            }
        }
        self.published.retain(|(set, _)| !kept.contains(&set.key));
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
        if placed.set.is_met_by(published) {
            return;
        }
        if !may_update {
            out.skips.push(skip(placed, Why::Policy("updates")));
            return;
        }
        let former = ownership.claim().and_then(|claim| claim.resource.as_ref());
        let removes = !placed.set.data.contains(&published.data);
        let new_holder = former.is_some() && former != placed.wanted.resource.as_ref();
        let doubt = if removes || new_holder { self.doubt(former, new_holder) } else { Vec::new() };
        if doubt.is_empty() {
            out.groups.push(PlannedGroup {
                group: replace(placed, (published, ownership), &placed.set, placed.wanted.resource.clone()),
                counted: Vec::new(),
            });
            return;
        }
        // Additions go on without evidence: what is published and what is wanted, together.
        if let Some(both) = self.joined(&placed.set, published) {
            out.groups.push(PlannedGroup {
                group: replace(placed, (published, ownership), &both, former.cloned()),
                counted: Vec::new(),
            });
        }
        out.skips.push(skip(placed, Why::Doubt(doubt)));
    }

    /// The kinds that a removal of what `former` published may not rest on.
    fn doubt(&self, former: Option<&Arc<str>>, holder_left: bool) -> Vec<KindId> {
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
    fn may_create(&self, placed: &Placed) -> Result<Ownership, Why> {
        let rtype = placed.set.key.rtype;
        if let Some((set, _)) = self.published.iter().find(|(_, ownership)| !ownership.is_ours()) {
            return Err(Why::ForeignBeside(set.key.clone()));
        }
        let excluded: Vec<RecordType> = self.beside.iter().copied().filter(|other| rtype.excludes(*other)).collect();
        if self.rules.strict_cname && !excluded.is_empty() {
            return Err(Why::CnameBeside(excluded));
        }
        let ownership = match self.facts.ownership(&placed.set.key) {
            Ownership::Foreign(owner) => return Err(Why::ForeignClaim(owner)),
            Ownership::Disputed(owners) => return Err(Why::Disputed(owners)),
            free => free,
        };
        if placed.wanted.policy == Some(ObjectPolicy::Frozen) { Err(Why::Policy("changes")) } else { Ok(ownership) }
    }

    fn delete(&self, set: &RecordSet, ownership: &Ownership, replaced: bool, out: &mut NamePlan) {
        let claim = ownership.claim();
        let resource = claim.and_then(|c| c.resource.as_ref());
        let undone = |why| Skip { key: set.key.clone(), why, objects: Vec::new() };
        if set.key.makes_zone(self.rules.apex) {
            return;
        }
        let policy = claim.and_then(|c| c.label(POLICY_LABEL)).and_then(ObjectPolicy::parse);
        self.left(&set.key, ownership, out);
        let asks = self.placed.iter().any(|p| p.wanted.resource.as_ref() == resource);
        if !self.rules.policy.may_delete(policy, asks) {
            out.skips.push(undone(Why::Policy("deletes")));
            return;
        }
        let doubt = self.facts.unaccepted(&set.key, self.doubt(resource, !asks));
        if !doubt.is_empty() {
            out.skips.push(undone(Why::Doubt(doubt)));
            return;
        }
        let free = replaced || self.facts.is_proven_gone(resource);
        let step = removal(set, ownership);
        let counted = if free { Vec::new() } else { vec![set.key.clone()] };
        out.groups.push(PlannedGroup { group: Group::of(step, Vec::new()), counted });
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
    fn left(&self, key: &RecordKey, ownership: &Ownership, out: &mut NamePlan) {
        let label = |label| ownership.claim().and_then(|claim| claim.label(label));
        let policy = label(POLICY_LABEL).and_then(ObjectPolicy::parse);
        let may_move = self.rules.policy.may_update(policy) && label(FORMER_OWNER_LABEL).is_none();
        self.note_claim(key, ownership, may_move, out);
    }

    /// A CNAME takes the place of other records or gives way to them: one group, so that the name is never empty.
    fn change_type(&self, creates: &[&Placed], deletes: &[(&RecordSet, &Ownership)], out: &mut NamePlan) {
        let mut able: Vec<&Placed> = Vec::new();
        for placed in creates {
            match self.may_create(placed) {
                Ok(_) => able.push(placed),
                Err(why) => out.skips.push(skip(placed, why)),
            }
        }
        let creates = able;
        if creates.is_empty() {
            return;
        }
        let mut why = None;
        let frozen = creates.iter().any(|p| !self.rules.policy.may_update(p.wanted.policy));
        let kept = deletes.iter().filter_map(|(_, o)| o.claim()?.label(POLICY_LABEL)).filter_map(ObjectPolicy::parse);
        if frozen || kept.into_iter().any(|policy| !self.rules.policy.may_update(Some(policy))) {
            why = why.or(Some(Why::Policy("updates")));
        }
        let former = |ownership: &Ownership| ownership.claim().and_then(|claim| claim.resource.clone());
        let doubt: BTreeSet<KindId> = deletes
            .iter()
            .flat_map(|(_, ownership)| {
                let former = former(ownership);
                let stays = creates.iter().any(|p| p.wanted.resource == former);
                self.doubt(former.as_ref(), !stays)
            })
            .collect();
        if !doubt.is_empty() {
            why = why.or(Some(Why::Doubt(doubt.into_iter().collect())));
        }
        if let Some(why) = why {
            for (set, ownership) in deletes {
                self.left(&set.key, ownership, out);
            }
            out.skips.extend(creates.iter().map(|placed| skip(placed, why.clone())));
            return;
        }
        let removed = deletes.iter().map(|(set, ownership)| removal(set, ownership));
        let added = creates
            .iter()
            .map(|placed| step_of(placed, Change::Create { to: placed.set.clone() }, placed.wanted.resource.clone()));
        let steps: Vec<Step> = removed.chain(added).collect();
        let objects = creates.iter().flat_map(|p| p.wanted.objects.iter().cloned()).collect();
        let Some(name) = steps.first().map(|s| s.change.key().name.clone()) else { return };
        out.groups
            .push(PlannedGroup { group: Group { name, steps, requires: Vec::new(), objects }, counted: Vec::new() });
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

fn skip(placed: &Placed, why: Why) -> Skip {
    Skip { key: placed.set.key.clone(), why, objects: placed.wanted.objects.clone() }
}

/// The step of a wanted set, with the labels that its claim shall carry.
fn step_of(placed: &Placed, change: Change, resource: Option<Arc<str>>) -> Step {
    let mut labels = placed.wanted.labels.to_vec();
    if let Some(policy) = placed.wanted.policy.filter(|policy| *policy != ObjectPolicy::Sync) {
        labels.retain(|(key, _)| **key != *POLICY_LABEL);
        labels.push((Arc::from(POLICY_LABEL), Arc::from(policy.as_str())));
        labels.sort();
    }
    Step { labels, ..Step::record(change, resource) }
}

/// The step that takes a record set of ours away.
fn removal(set: &RecordSet, ownership: &Ownership) -> Step {
    let resource = ownership.claim().and_then(|claim| claim.resource.clone());
    Step { held: held(ownership), ..Step::record(Change::Delete { from: set.clone() }, resource) }
}

fn held(ownership: &Ownership) -> Option<Box<Claim>> {
    // Where it is kept, the registry knows.
    ownership.claim().map(|claim| Box::new(Claim { site: None, ..claim.clone() }))
}

fn create(placed: &Placed) -> Group {
    let change = Change::Create { to: placed.set.clone() };
    Group::of(step_of(placed, change, placed.wanted.resource.clone()), placed.wanted.objects.clone())
}

fn replace(
    placed: &Placed,
    (from, ownership): (&RecordSet, &Ownership),
    to: &RecordSet,
    resource: Option<Arc<str>>,
) -> Group {
    let change = Change::Update { from: from.clone(), to: to.clone() };
    let step = Step { held: held(ownership), ..step_of(placed, change, resource) };
    Group::of(step, placed.wanted.objects.clone())
}
