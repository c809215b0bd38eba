//! Claims go with their records: through updates, deletes and changes of type.

use zonewright_core::RecordType;
use zonewright_core::change::{Change, Precondition};
use zonewright_core::claim::{Claim, Ownership};

use super::{A, CLAIMED, both};
use crate::registry::Harness;
use crate::registry::zone_pair::{RESOURCE, Stopped, ZonePair, create, group, other, set};

fn claim_of(whose: &Ownership, about: &str) -> Claim {
    whose.claim().cloned().unwrap_or_else(|| panic!("{about} is {whose:?}; expected ours"))
}

/// After a delete neither record nor claim is left.
pub async fn a_delete_takes_the_claim_along(harness: &dyn Harness) {
    let Some((ours, _)) = both(harness) else { return };
    for (name, rtype) in CLAIMED {
        let mut pair = ZonePair::new();
        let wanted = set(name, *rtype);
        pair.carry(ours, create(&wanted)).await.unwrap_or_else(|e| panic!("{wanted}: {e}"));
        let delete = group([Change::Delete { from: wanted.clone() }], RESOURCE);
        pair.carry(ours, delete).await.unwrap_or_else(|e| panic!("delete of {wanted}: {e}"));
        assert_eq!(pair.all(), [], "left after {wanted} was deleted");
        assert_eq!(pair.ownership(ours, &wanted.key), Ownership::Unclaimed);
    }
}

/// An update of the same resource leaves the claim as it is, and takes effect only while it stands exactly so.
pub async fn an_update_keeps_the_claim_and_requires_it(harness: &dyn Harness) {
    let Some((ours, theirs)) = both(harness) else { return };
    for (name, rtype) in CLAIMED {
        let mut pair = ZonePair::new();
        let from = set(name, *rtype);
        pair.carry(ours, create(&from)).await.unwrap_or_else(|e| panic!("{from}: {e}"));
        let before = claim_of(&pair.ownership(ours, &from.key), name);
        let update = group([Change::Update { from: from.clone(), to: other(&from) }], RESOURCE);
        let decorated = pair.decorate(ours, update).await.unwrap_or_else(|e| panic!("update of {from}: {e}"));
        if let Some((_, site)) = &before.site {
            let exact = Precondition::Exact(site.clone());
            assert!(decorated.preconditions().contains(&exact), "update of {from} does not require its claim");
            // Another writer puts another owner into the claim between the plan and the call.
            let mut edited = pair.clone();
            let mut foreign = ZonePair::new();
            foreign.carry(theirs, create(&from)).await.unwrap_or_else(|e| panic!("{from}: {e}"));
            let theirs_site = claim_of(&foreign.ownership(theirs, &from.key), name).site.map(|(_, set)| set);
            edited.put(theirs_site.unwrap_or_else(|| panic!("their claim on {from} stands nowhere")));
            let late = edited.send(ours, decorated.clone()).await;
            assert!(matches!(late, Err(Stopped::Refused(_))), "the edited claim was not respected: {late:?}");
        }
        pair.send(ours, decorated).await.unwrap_or_else(|e| panic!("update of {from}: {e}"));
        assert_eq!(claim_of(&pair.ownership(ours, &from.key), name), before, "the claim on {from} has changed");
    }
}

/// A record that another resource holds now names it in its claim.
pub async fn another_resource_goes_into_the_claim(harness: &dyn Harness) {
    let Some((ours, _)) = both(harness) else { return };
    let mut pair = ZonePair::new();
    let from = set("www.example.test", A);
    pair.carry(ours, create(&from)).await.unwrap_or_else(|e| panic!("{from}: {e}"));
    let update = group([Change::Update { from: from.clone(), to: other(&from) }], "ingress/default/other");
    pair.carry(ours, update).await.unwrap_or_else(|e| panic!("update of {from}: {e}"));
    let claim = claim_of(&pair.ownership(ours, &from.key), "www");
    assert_eq!(claim.resource.as_deref(), Some("ingress/default/other"));
}

/// When an address becomes a CNAME, the claim on the address goes and one on the CNAME comes, in the same group.
pub async fn a_change_of_type_moves_the_claim(harness: &dyn Harness) {
    let Some((ours, _)) = both(harness) else { return };
    for name in ["www.example.test", "*.example.test"] {
        let mut pair = ZonePair::new();
        let (address, alias) = (set(name, A), set(name, RecordType::Cname));
        pair.carry(ours, create(&address)).await.unwrap_or_else(|e| panic!("{address}: {e}"));
        for (from, to) in [(&address, &alias), (&alias, &address)] {
            let changes = [Change::Delete { from: from.clone() }, Change::Create { to: to.clone() }];
            pair.carry(ours, group(changes, RESOURCE)).await.unwrap_or_else(|e| panic!("{from} to {to}: {e}"));
            assert!(pair.ownership(ours, &to.key).is_ours(), "{to} is not ours");
            assert_eq!(pair.ownership(ours, &from.key), Ownership::Unclaimed, "a claim on {from} is left");
        }
    }
}

/// A claim that stands where it would be written today is not moved; a record without one of ours gets none this way.
pub async fn a_claim_that_is_current_is_not_moved(harness: &dyn Harness) {
    let Some((ours, theirs)) = both(harness) else { return };
    for (name, rtype) in CLAIMED {
        for owner in [Some(ours), Some(theirs), None] {
            let mut pair = ZonePair::new();
            let wanted = set(name, *rtype);
            if let Some(owner) = owner {
                pair.carry(owner, create(&wanted)).await.unwrap_or_else(|e| panic!("{wanted}: {e}"));
            } else {
                pair.put(wanted.clone());
            }
            ours.load().await.unwrap_or_else(|e| panic!("load: {e:?}"));
            let moved = ours.upgrade(&pair.zone_of(&wanted.key.name), &wanted, &pair);
            assert_eq!(moved, None, "{wanted} of {:?}", owner.and_then(|registry| registry.owner()));
            // A registry outside the zones keeps the claim when the pair goes: it is taken away again.
            if let Some(owner) = owner {
                let delete = group([Change::Delete { from: wanted.clone() }], RESOURCE);
                pair.carry(owner, delete).await.unwrap_or_else(|e| panic!("delete of {wanted}: {e}"));
            }
        }
    }
}
