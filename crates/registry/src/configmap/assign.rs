//! Claims that change hands while their record stays.
//!
//! In: a record as it was read, and what shall become of the claim on it. Out: a group that changes nothing in
//! the zone and carries the claim as it shall be, or the sentence that says why not.

use std::sync::Arc;

use zonewright_core::RecordSet;
use zonewright_core::change::{Group, StoreStep};
use zonewright_core::claim::{Claim, OwnerId, Ownership, judge};
use zonewright_core::registry::{Dropped, OwnershipChange};

use super::step;

/// The claim on `record`, of which `claims` speak, changes hands.
///
/// # Errors
/// Why it cannot.
pub(super) fn assign(
    me: &OwnerId,
    record: &RecordSet,
    change: &OwnershipChange,
    claims: &[Claim],
) -> Result<Option<Group>, Dropped> {
    match (change, judge(claims, Some(me))) {
        (OwnershipChange::Take(_), Ownership::Ours(_)) | (OwnershipChange::Disown, Ownership::Unclaimed) => Ok(None),
        (OwnershipChange::Take(resource), Ownership::Unclaimed) => {
            Ok(Some(handed(record, Some(me), resource.clone(), &[])))
        }
        (OwnershipChange::Give(owner), Ownership::Foreign(other)) if *owner == other => Ok(None),
        (OwnershipChange::Give(owner), Ownership::Ours(_)) if owner == me => Ok(None),
        (OwnershipChange::Give(owner), Ownership::Ours(Some(claim))) => {
            Ok(Some(handed(record, Some(owner), claim.resource, &claim.labels)))
        }
        (OwnershipChange::Disown, Ownership::Ours(_)) => Ok(Some(handed(record, None, None, &[]))),
        (OwnershipChange::Disown, Ownership::Disputed(owners)) if owners.contains(me) => {
            Ok(Some(handed(record, None, None, &[])))
        }
        (_, other) => Err(Dropped { reason: step::not_ours(&record.key, me, &other) }),
    }
}

/// The group that states whose a record is, and changes nothing.
pub(crate) fn handed(
    record: &RecordSet,
    owner: Option<&OwnerId>,
    resource: Option<Arc<str>>,
    labels: &[(Arc<str>, Arc<str>)],
) -> Group {
    Group::stored(StoreStep::assign(record.clone(), owner.cloned(), resource, labels.to_vec()))
}
