//! From one kind of routing policy to another, where each set of a name and type is a record of its own.
//!
//! In: what is wanted and what stands at one name, under all identifiers. Out: one group that replaces every set of the type, and
//! the rest of the name for its rows. What must hold: the service takes a mixture of kinds at no moment, so that all sets go and
//! come in one call, or none; where any of them is not ours, nothing is done.

use std::collections::BTreeSet;

use super::row::{Row, skip};
use super::{NamePlan, Placed, Why};
use crate::claim::Ownership;
use crate::record::RecordSet;
use crate::rtype::RecordType;

/// What stands at a name, with whose it is.
pub(super) type Published<'a> = Vec<(&'a RecordSet, Ownership)>;

/// The record types whose sets can only be exchanged together: sets of another kind stand than are wanted, or types that exclude
/// each other under different identifiers.
fn changed(whole: &Row<'_>) -> BTreeSet<RecordType> {
    let mut types = BTreeSet::new();
    for (new, old) in whole.placed.iter().flat_map(|p| whole.published.iter().map(|(set, _)| (&p.set, *set))) {
        let same_type = new.key.rtype == old.key.rtype && new.routing.kind() != old.routing.kind();
        let excluded = new.key.set_id != old.key.set_id && whole.rules.excludes(new, old.key.rtype);
        if same_type || excluded {
            types.extend([new.key.rtype, old.key.rtype]);
        }
    }
    types
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
        out.skips.extend(new.iter().map(|placed| skip(placed, why.clone())));
    } else if !new.is_empty() {
        whole.replace_all(&new, &old, out);
    }
    (whole.placed, whole.published)
}
