//! Old sides without a TTL: a caller that states none means the set whatever its TTL is.
//!
//! In: a group, and what stands at its names. Out: the group with the TTLs that stand, for the services that compare them.
//! External-dns states none for its claims. What must hold: a TTL that is stated stays as it is.

use std::collections::{BTreeMap, BTreeSet};

use zonewright_core::change::{Change, Group};
use zonewright_core::{DnsName, RecordKey, RecordSet};

/// The names of the old sides without a TTL.
pub(super) fn names(group: &Group) -> BTreeSet<DnsName> {
    let olds = group.changes().filter_map(Change::from).filter(|from| from.ttl.is_none());
    olds.map(|from| from.key.name.clone()).collect()
}

/// The group with the TTLs that stand, where the content is what the caller states. What stays as it is keeps its TTL, unless
/// the new side states one.
pub(super) fn as_it_stands(mut group: Group, standing: Option<&BTreeMap<RecordKey, RecordSet>>) -> Group {
    let Some(standing) = standing else { return group };
    for step in &mut group.steps {
        let (from, to) = match &mut step.change {
            Change::Create { .. } => continue,
            Change::Update { from, to } => (from, Some(to)),
            Change::Delete { from } => (from, None),
        };
        let alike = |there: &&RecordSet| from.ttl.is_none() && there.data == from.data;
        let Some(there) = standing.get(&from.key).filter(alike) else { continue };
        from.ttl = there.ttl;
        if let Some(to) = to.filter(|to| to.ttl.is_none() && to.data == there.data) {
            to.ttl = there.ttl;
        }
    }
    group
}
