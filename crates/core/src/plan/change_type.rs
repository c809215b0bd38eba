//! A CNAME that takes the place of other records at a name, or gives way to them.
//!
//! In: what is to come and what is to go in a row, of which some cannot stand together. Out: one group, or why nothing is done. What
//! must hold: the name is never empty in between, and no object loses what it has for something that cannot be written.

use std::collections::BTreeSet;

use super::row::{Row, is_replaced, is_replaced_by_own, removal, skip, step_of};
use super::{NamePlan, POLICY_LABEL, Placed, PlannedGroup, Why};
use crate::change::{Change, Group, Step};
use crate::claim::Ownership;
use crate::endpoint::{KindId, ObjectPolicy};
use crate::record::RecordSet;

impl Row<'_> {
    /// A CNAME takes the place of other records or gives way to them: one group, so that the name is never empty. What goes
    /// without a replacement (a TXT beside which no CNAME can stand, say) is counted like every delete.
    pub(super) fn change_type(&self, creates: &[&Placed], deletes: &[(&RecordSet, &Ownership)], out: &mut NamePlan) {
        let (mut able, mut unable): (Vec<&Placed>, Vec<&Placed>) = Default::default();
        for placed in creates {
            match self.may_create(placed) {
                Ok(_) => able.push(placed),
                Err(why) => {
                    out.skips.push(skip(placed, why));
                    unable.push(placed);
                }
            }
        }
        let creates = able;
        if creates.is_empty() {
            for (set, ownership) in deletes {
                self.left(&set.key, ownership, out);
            }
            return;
        }
        let is_left_without = |(set, ownership): &&(&RecordSet, &Ownership)| {
            let comes = |placed: &&&Placed| is_replaced_by_own(set, ownership, placed);
            unable.iter().any(|placed| comes(&placed)) && !creates.iter().any(|placed| comes(&placed))
        };
        let mut why = deletes.iter().find(is_left_without).map(|_| Why::Unmet);
        let frozen = creates.iter().any(|p| !self.rules.policy.may_update(p.wanted.policy));
        let kept = deletes.iter().filter_map(|(_, o)| o.claim()?.label(POLICY_LABEL)).filter_map(ObjectPolicy::parse);
        if frozen || kept.into_iter().any(|policy| !self.rules.policy.may_update(Some(policy))) {
            why = why.or(Some(Why::Policy("updates")));
        }
        let lost: Vec<&(&RecordSet, &Ownership)> = deletes
            .iter()
            .filter(|(set, ownership)| !creates.iter().any(|placed| is_replaced(set, ownership, placed)))
            .collect();
        if lost.iter().any(|(set, ownership)| !self.may_delete(set, ownership)) {
            why = why.or(Some(Why::Policy("deletes")));
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
        let counted = lost.iter().filter(|(_, ownership)| !self.is_proven_gone(ownership));
        let counted = counted.map(|(set, _)| set.key.clone()).collect();
        out.groups.push(PlannedGroup {
            group: Group { name, steps, stored: Vec::new(), requires: Vec::new(), objects },
            counted,
        });
    }
}
