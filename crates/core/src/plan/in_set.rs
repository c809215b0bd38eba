//! Items that share one record set, where no two can have the same place (a location, say).
//!
//! In: what is wanted and what stands at one name. Out: the same without what would take the place of another item: that of
//! another owner stays, and of ours that which stands, else that of the oldest object. What must hold: whose place is taken keeps
//! what is published for it.

use super::row::{Row, skip};
use super::{NamePlan, Placed, Why};
use crate::in_set::place;
use crate::record::RecordSet;

/// Takes out of a name what finds its place taken.
pub(super) fn keep_places(row: &mut Row<'_>, out: &mut NamePlan) {
    let stands = |placed: &Placed| {
        row.published.iter().any(|(set, whose)| whose.is_ours() && set.key == placed.set.key && alike(set, &placed.set))
    };
    let age = |placed: &Placed| {
        let origin = &placed.wanted.origin;
        (!stands(placed), origin.created.unwrap_or(i64::MAX), origin.object.clone(), placed.set.key.clone())
    };
    let mut all = std::mem::take(&mut row.placed);
    all.sort_by_cached_key(|placed| age(placed));
    let mut waiting = Vec::new();
    for placed in all {
        let foreign = row.published.iter().filter(|(_, whose)| !whose.is_ours()).map(|(set, _)| *set);
        let before = row.placed.iter().map(|other| &other.set);
        let other = foreign.chain(before).find(|other| other.key != placed.set.key && alike(other, &placed.set));
        match other.map(|other| other.key.clone()) {
            Some(other) => {
                out.skips.push(skip(placed, Why::PlaceTaken(other)));
                waiting.push(placed.set.key.clone());
            }
            None => row.placed.push(placed),
        }
    }
    row.placed.sort_by(|one, other| one.set.key.cmp(&other.set.key));
    row.published.retain(|(set, _)| !waiting.contains(&set.key));
}

/// Whether two items of a name and type have the same place.
fn alike(one: &RecordSet, other: &RecordSet) -> bool {
    one.key.rtype == other.key.rtype
        && !one.routing.is_simple()
        && place(&one.routing, &one.data) == place(&other.routing, &other.data)
}
