//! Which names groups change or rest on: two groups that share one do not go at the same time.

use std::collections::BTreeSet;

use zonewright_core::change::{Group, Precondition};
use zonewright_core::name::DnsName;

/// The names that groups change or rest on.
pub(crate) fn footprint(groups: &[Group]) -> BTreeSet<DnsName> {
    groups.iter().flat_map(names_of).cloned().collect()
}

/// Whether a group changes one of these names, or rests on it.
pub(crate) fn touches(group: &Group, names: &BTreeSet<DnsName>) -> bool {
    names_of(group).any(|name| names.contains(name))
}

/// The names that a group changes or rests on.
pub(crate) fn names_of(group: &Group) -> impl Iterator<Item = &DnsName> {
    let required = group.requires.iter().map(Precondition::name);
    let claimed = group.stored.iter().map(|step| &step.key().name);
    group.changes().map(|change| &change.key().name).chain(claimed).chain(required)
}
