//! From one kind of routing policy to another, where each set of a name and type is a record of its own.
//!
//! In: what is wanted and what stands at one name, under all identifiers. Out: one group that replaces every set of the type, and
//! the rest of the name for its rows. What must hold: the service takes a mixture of kinds at no moment, so that all sets go and
//! come in one call, or none; where any of them is not ours, nothing is done.

use std::collections::{BTreeMap, BTreeSet};

use super::row::{Row, create, is_replaced, removal, replace, skip};
use super::{NamePlan, POLICY_LABEL, Placed, PlannedGroup, Why};
use crate::change::{Group, Step};
use crate::claim::Ownership;
use crate::endpoint::ObjectPolicy;
use crate::record::{RecordKey, RecordSet};
use crate::rtype::RecordType;

/// What stands at a name, with whose it is.
pub(super) type Published<'a> = Vec<(&'a RecordSet, Ownership)>;

/// The record types whose sets can only be exchanged together: sets of another kind stand than are wanted, or types that exclude
/// each other under different identifiers. What such a set excludes under its own identifier goes with the others, and what is wanted
/// in place of one that goes comes with them: else it would be without a record in between, or for good.
fn changed(whole: &Row<'_>) -> BTreeSet<RecordType> {
    let mut types = BTreeSet::new();
    loop {
        let known = types.len();
        for new in whole.placed.iter().map(|placed| &placed.set) {
            let of_another_kind =
                |old: &RecordSet| new.key.rtype == old.key.rtype && new.routing.kind() != old.routing.kind();
            let excludes = |old: &RecordSet| whole.rules.excludes(new, old.key.rtype);
            let goes = |old: &RecordSet| new.key.set_id != old.key.set_id || types.contains(&old.key.rtype);
            let published = || whole.published.iter().map(|(set, _)| *set);
            if published().any(|old| of_another_kind(old) || excludes(old) && goes(old)) {
                types.extend(published().filter(|old| of_another_kind(old) || excludes(old)).map(|old| old.key.rtype));
                types.insert(new.key.rtype);
            }
        }
        if types.len() == known {
            return types;
        }
    }
}

/// Takes out of a name what changes its kind of routing, and plans that. The rows of what is left see none of it.
pub(super) fn exchange<'a>(mut whole: Row<'a>, out: &mut NamePlan) -> (Vec<&'a Placed>, Published<'a>) {
    let types = changed(&whole);
    let (new, rest): (Vec<&Placed>, Vec<&Placed>) =
        std::mem::take(&mut whole.placed).into_iter().partition(|placed| types.contains(&placed.set.key.rtype));
    whole.placed = rest;
    let (old, rest): (Published<'_>, Published<'_>) =
        std::mem::take(&mut whole.published).into_iter().partition(|(set, _)| types.contains(&set.key.rtype));
    whole.published = rest;
    if let Some((set, _)) = old.iter().find(|(_, ownership)| !ownership.is_ours()) {
        let why = Why::ForeignRouting(set.key.clone(), set.routing.kind());
        for (set, ownership) in &old {
            whole.left(&set.key, ownership, out);
        }
        out.skips.extend(new.iter().map(|placed| skip(placed, why.clone())));
    } else if !new.is_empty() {
        whole.replace_all(&new, &old, out);
    }
    (whole.placed, whole.published)
}

/// Of the sets that are `going` those that nothing replaces. Each of those that `come` replaces one set of its type, of its own object
/// if that has one; and everything that it excludes.
fn lost<'p>(
    going: &[(&'p RecordSet, &'p Ownership)],
    new: &[&Placed],
    come: &[&Placed],
) -> Vec<(&'p RecordSet, &'p Ownership)> {
    let holder = |ownership: &'p Ownership| ownership.claim().and_then(|claim| claim.resource.as_ref());
    let excluded = |(set, ownership): &&(&RecordSet, &Ownership)| new.iter().any(|p| is_replaced(set, ownership, p));
    let is_own = |(set, ownership): &(&RecordSet, &'p Ownership)| {
        let asks = |p: &&Placed| p.set.key.rtype == set.key.rtype && p.wanted.resource.as_ref() == holder(ownership);
        holder(ownership).is_some() && new.iter().any(asks)
    };
    let (own, others): (Vec<_>, Vec<_>) = going.iter().filter(|one| !excluded(one)).copied().partition(is_own);
    let of = |rtype: RecordType| {
        let count = come.iter().filter(|p| p.set.key.rtype == rtype).count();
        count.saturating_sub(own.iter().filter(|(set, _)| set.key.rtype == rtype).count())
    };
    let mut room: BTreeMap<RecordType, usize> = BTreeMap::new();
    let mut has_room = |rtype: RecordType| {
        let left = room.entry(rtype).or_insert_with(|| of(rtype));
        let fits = *left > 0;
        *left = left.saturating_sub(1);
        fits
    };
    others.into_iter().filter(|(set, _)| !has_room(set.key.rtype)).collect()
}

impl Row<'_> {
    /// Every set of a type is replaced by sets with another kind of routing policy: one group. What goes without a replacement counts
    /// as a delete.
    fn replace_all(&self, new: &[&Placed], old: &[(&RecordSet, Ownership)], out: &mut NamePlan) {
        let stays = |key: &RecordKey| new.iter().any(|placed| placed.set.key == *key);
        let stands = |key: &RecordKey| old.iter().any(|(set, _)| set.key == *key);
        let come: Vec<&Placed> = new.iter().copied().filter(|placed| !stands(&placed.set.key)).collect();
        let going: Vec<(&RecordSet, &Ownership)> =
            old.iter().filter(|(set, _)| !stays(&set.key)).map(|(set, ownership)| (*set, ownership)).collect();
        let refused = come.iter().find_map(|placed| self.may_create(placed).err());
        let lost = lost(&going, new, &come);
        let kept = lost.iter().any(|(set, ownership)| !self.may_delete(set, ownership));
        let held = old.iter().find_map(|(set, ownership)| self.exchange_forbidden(set, ownership, new));
        if let Some(why) = refused.or(held).or(kept.then_some(Why::Policy("deletes"))) {
            for (set, ownership) in old {
                self.left(&set.key, ownership, out);
            }
            out.skips.extend(new.iter().map(|placed| skip(placed, why.clone())));
            return;
        }
        let counted = lost.iter().filter(|(_, ownership)| !self.is_proven_gone(ownership));
        let counted = counted.map(|(set, _)| set.key.clone()).collect();
        let removed = going.iter().map(|(set, ownership)| removal(set, ownership));
        let written = new.iter().filter_map(|placed| match old.iter().find(|(set, _)| set.key == placed.set.key) {
            Some((from, _)) if placed.set.is_met_by(from) => None,
            Some((from, ownership)) => {
                replace(placed, (from, ownership), &placed.set, placed.wanted.resource.clone()).steps.pop()
            }
            None => create(placed).steps.pop(),
        });
        let steps: Vec<Step> = removed.chain(written).collect();
        let objects = new.iter().flat_map(|placed| placed.wanted.objects.iter().cloned()).collect();
        let Some(name) = steps.first().map(|step| step.change.key().name.clone()) else { return };
        out.groups.push(PlannedGroup {
            group: Group { name, steps, stored: Vec::new(), requires: Vec::new(), objects },
            counted,
        });
    }

    /// Why a set of ours may not give way to sets of another kind of routing now: the policies, or the evidence.
    fn exchange_forbidden(&self, set: &RecordSet, ownership: &Ownership, new: &[&Placed]) -> Option<Why> {
        let claim = ownership.claim();
        let kept = claim.and_then(|claim| claim.label(POLICY_LABEL)).and_then(ObjectPolicy::parse);
        let frozen = new.iter().any(|placed| !self.rules.policy.may_update(placed.wanted.policy));
        if frozen || !self.rules.policy.may_update(kept) {
            return Some(Why::Policy("updates"));
        }
        let former = claim.and_then(|claim| claim.resource.as_ref());
        let asks = new.iter().any(|placed| placed.wanted.resource.as_ref() == former);
        if !asks && !self.may_delete(set, ownership) {
            return Some(Why::Policy("deletes"));
        }
        let by_holder = new.iter().any(|p| p.set.key == set.key && p.wanted.resource.as_ref() == former);
        let pending = self.facts.pending(former).filter(|_| !by_holder).map(Why::Pending);
        let unmet = || self.facts.unmet(&set.key, former).then_some(Why::Unmet);
        let doubt = self.doubt(former, !asks);
        let doubt = (!doubt.is_empty()).then_some(Why::Doubt(doubt));
        pending.or_else(|| self.asked_under_other_prefix(set, former)).or_else(unmet).or(doubt)
    }
}
