//! What stays although nobody asks for it as it is: its object waits for something, and what that keeps out waits with it.
//!
//! In: a row. Out: what is left as it is, with the reason, taken out of the row. What must hold: no object loses what it has for
//! something that does not come.

use super::row::{Row, is_replaced_by_own, skip};
use super::{NamePlan, Placed, Skip, Why};
use crate::claim::Ownership;
use crate::record::{RecordKey, RecordSet};

impl<'a> Row<'a> {
    /// Where the holder of a published record still asks for the name without known targets, the record stays, and what
    /// others want in its place waits. Returns what waits.
    pub(super) fn keep_pending(&mut self, out: &mut NamePlan) -> Vec<&'a Placed> {
        let (mut kept, mut all_waiting) = (Vec::new(), Vec::new());
        let rules = self.rules;
        for (set, ownership) in &self.published {
            let resource = ownership.claim().and_then(|claim| claim.resource.as_ref());
            let by_holder = self.placed.iter().any(|p| p.set.key == set.key && p.wanted.resource.as_ref() == resource);
            if !ownership.is_ours() || by_holder {
                continue;
            }
            let pending = self.facts.pending(resource).map(Why::Pending);
            if let Some(why) = pending.or_else(|| self.asked_under_other_prefix(set, resource)) {
                self.left(&set.key, ownership, out);
                kept.push(set.key.clone());
                // What stands already beside it, where the provider lets it, is not in its way.
                let stands = |key: &RecordKey| self.published.iter().any(|(set, o)| set.key == *key && o.is_ours());
                let excludes = |p: &Placed| rules.excludes(&p.set, set.key.rtype) && !stands(&p.set.key);
                let in_the_way = |p: &&Placed| p.set.key == set.key || excludes(p);
                let (waiting, rest): (Vec<&Placed>, Vec<&Placed>) =
                    std::mem::take(&mut self.placed).into_iter().partition(in_the_way);
                self.placed = rest;
                out.skips.extend(waiting.iter().map(|p| skip(p, why.clone())));
                all_waiting.extend(waiting);
                let objects = why.object().cloned().into_iter().collect();
                out.skips.push(Skip { key: set.key.clone(), why, objects });
            }
        }
        self.published.retain(|(set, _)| !kept.contains(&set.key));
        all_waiting
    }

    /// What stands stays where its object asks for something instead that cannot come now: that is `unmet`, or among what is `waiting`. It
    /// keeps out what it excludes, and so what that would have replaced stays too.
    pub(super) fn keep_unmet<'s>(
        &'s self,
        mut unmet: Vec<(&'a RecordSet, &'s Ownership)>,
        mut waiting: Vec<&'a Placed>,
        (creates, deletes): (&mut Vec<&'a Placed>, &mut Vec<(&'a RecordSet, &'s Ownership)>),
        out: &mut NamePlan,
    ) {
        loop {
            let is_waiting = |placed: &Placed| waiting.iter().any(|other| std::ptr::eq(*other, placed));
            deletes.retain(|(set, ownership)| {
                let comes = self.placed.iter().any(|p| !is_waiting(p) && is_replaced_by_own(set, ownership, p));
                let waits = !comes && waiting.iter().any(|p| is_replaced_by_own(set, ownership, p));
                if waits {
                    unmet.push((set, ownership));
                }
                !waits
            });
            let Some((set, ownership)) = unmet.pop() else { return };
            self.left(&set.key, ownership, out);
            out.skips.push(Skip { key: set.key.clone(), why: Why::Unmet, objects: Vec::new() });
            creates.retain(|placed| {
                let kept_out = self.excludes(&placed.set, set.key.rtype);
                if kept_out {
                    out.skips.push(skip(placed, Why::Unmet));
                    waiting.push(placed);
                }
                !kept_out
            });
        }
    }
}
