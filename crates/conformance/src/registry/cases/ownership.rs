//! Claims that change hands, writes that are cut off, and what a second process reads.

use zonewright_core::change::{Change, Group};
use zonewright_core::claim::Ownership;
use zonewright_core::registry::{OwnershipChange, Registry};
use zonewright_core::{RecordKey, RecordSet};

use super::{CLAIMED, both};
use crate::registry::zone_pair::{RESOURCE, Stopped, ZonePair, create, group, labels, other, set};
use crate::registry::{Harness, LostUpdate};

fn assign(pair: &ZonePair, registry: &dyn Registry, record: &RecordSet, change: &OwnershipChange) -> Option<Group> {
    let zone = pair.zone_of(&record.key.name);
    let done = registry.assign(&zone, record, change, pair);
    done.unwrap_or_else(|dropped| panic!("{change:?} of {record}: {}", dropped.reason))
}

/// Carries out what assign answers; it must answer with something.
async fn hand(pair: &mut ZonePair, registry: &dyn Registry, record: &RecordSet, change: &OwnershipChange) {
    let group = assign(pair, registry, record, change);
    let group = group.unwrap_or_else(|| panic!("{change:?} of {record} is not so already"));
    assert_eq!(group.records().count(), 0, "{change:?} of {record} changes a record");
    pair.send(registry, group).await.unwrap_or_else(|e| panic!("{change:?} of {record}: {e}"));
    assert_eq!(assign(pair, registry, record, change), None, "{change:?} of {record}, once more");
}

async fn load(registry: &dyn Registry) {
    registry.load().await.unwrap_or_else(|e| panic!("load: {e:?}"));
}

/// The record of a key as it stands in the zones.
fn standing(pair: &ZonePair, key: &RecordKey) -> RecordSet {
    let found = pair.all().into_iter().find(|set| set.key == *key);
    found.unwrap_or_else(|| panic!("{key} does not stand"))
}

/// A record that nobody claims becomes ours for a resource; a foreign one does not.
pub async fn a_record_is_taken_unless_it_is_claimed(harness: &dyn Harness) {
    let Some((ours, theirs)) = both(harness) else { return };
    for (name, rtype) in CLAIMED {
        let mut pair = ZonePair::new();
        pair.put(set(name, *rtype));
        let record = standing(&pair, &set(name, *rtype).key);
        hand(&mut pair, ours, &record, &OwnershipChange::Take(Some(RESOURCE.into()))).await;
        let owned = pair.ownership(ours, &record.key);
        let claim = owned.claim().unwrap_or_else(|| panic!("{record} was taken and is {owned:?}"));
        assert_eq!(claim.resource.as_deref(), Some(RESOURCE), "{record}");
        load(theirs).await;
        let zone = pair.zone_of(&record.key.name);
        for change in [OwnershipChange::Take(None), OwnershipChange::Disown] {
            let refused = theirs.assign(&zone, &record, &change, &pair);
            assert!(refused.is_err(), "{change:?} of a foreign record: {refused:?}");
        }
    }
}

/// A record that changes before it is taken is not ours.
pub async fn what_has_changed_is_not_taken(harness: &dyn Harness) {
    let Some((ours, _)) = both(harness) else { return };
    for (name, rtype) in CLAIMED {
        let mut pair = ZonePair::new();
        pair.put(set(name, *rtype));
        let record = standing(&pair, &set(name, *rtype).key);
        let Some(group) = assign(&pair, ours, &record, &OwnershipChange::Take(None)) else {
            panic!("{record} is ours already")
        };
        pair.put(other(&record));
        let late = pair.send(ours, group).await;
        assert!(matches!(late, Err(Stopped::Refused(_))), "{record} was taken as it was read: {late:?}");
        assert!(!pair.ownership(ours, &record.key).is_ours(), "{record} is ours though it has changed");
    }
}

/// What we give is theirs: they read it so, with the resource, and may delete it; to us it is foreign.
pub async fn a_record_is_given_to_another_owner(harness: &dyn Harness) {
    let Some((ours, theirs)) = both(harness) else { return };
    let Some(them) = theirs.owner() else { return };
    for (name, rtype) in CLAIMED {
        let mut pair = ZonePair::new();
        let wanted = set(name, *rtype);
        pair.carry(ours, create(&wanted)).await.unwrap_or_else(|e| panic!("{wanted}: {e}"));
        let record = standing(&pair, &wanted.key);
        hand(&mut pair, ours, &record, &OwnershipChange::Give(them.clone())).await;
        assert_eq!(pair.ownership(ours, &record.key), Ownership::Foreign(them.clone()), "{record}");
        load(theirs).await;
        let owned = pair.ownership(theirs, &record.key);
        let claim = owned.claim().unwrap_or_else(|| panic!("{record} was given and is {owned:?} to them"));
        assert_eq!(claim.resource.as_deref(), Some(RESOURCE), "{record}");
        if let Some(moved) = theirs.upgrade(&pair.zone_of(&record.key.name), &record, &pair) {
            pair.send(theirs, moved).await.unwrap_or_else(|e| panic!("{record} moves: {e}"));
            assert!(pair.ownership(theirs, &record.key).is_ours(), "{record} was lost on the way");
        }
        let delete = group([Change::Delete { from: record.clone() }], RESOURCE);
        pair.carry(theirs, delete).await.unwrap_or_else(|e| panic!("their delete of {record}: {e}"));
        assert_eq!(pair.all(), [], "left after {record} was deleted");
        pair.put(other(&record));
        load(ours).await;
        for registry in [ours, theirs] {
            assert!(!pair.ownership(registry, &record.key).is_ours(), "a new {record} is still claimed");
        }
    }
}

/// What we release is nobody's, and stays as it is.
pub async fn a_released_record_is_nobodys(harness: &dyn Harness) {
    let Some((ours, theirs)) = both(harness) else { return };
    for (name, rtype) in CLAIMED {
        let mut pair = ZonePair::new();
        let wanted = set(name, *rtype);
        pair.carry(ours, create(&wanted)).await.unwrap_or_else(|e| panic!("{wanted}: {e}"));
        let record = standing(&pair, &wanted.key);
        hand(&mut pair, ours, &record, &OwnershipChange::Disown).await;
        load(theirs).await;
        for registry in [ours, theirs] {
            assert_eq!(pair.ownership(registry, &record.key), Ownership::Unclaimed, "{record}");
        }
        assert_eq!(pair.all(), [record], "the record stays, and no claim is left");
    }
}

/// The same registry, started once more.
async fn again(harness: &dyn Harness) -> Box<dyn Registry> {
    let registry = harness.again();
    load(&*registry).await;
    registry
}

/// What one process wrote down another one of the same owner reads.
pub async fn a_restart_reads_the_same(harness: &dyn Harness) {
    let Some((ours, _)) = both(harness) else { return };
    let mut pair = ZonePair::new();
    for (name, rtype) in CLAIMED {
        pair.carry(ours, create(&set(name, *rtype))).await.unwrap_or_else(|e| panic!("{name} {rtype}: {e}"));
    }
    let restarted = again(harness).await;
    for (name, rtype) in CLAIMED {
        let key = set(name, *rtype).key;
        let (before, after) = (pair.ownership(ours, &key), pair.ownership(&*restarted, &key));
        assert_eq!(before, after, "{key} after a restart");
        assert!(after.is_ours(), "{key} is {after:?} after a restart");
    }
}

/// A process that ends between what it writes ahead and the zone has no right to what others put there.
pub async fn a_write_that_was_cut_off_gives_no_right(harness: &dyn Harness) {
    let Some((ours, _)) = both(harness) else { return };
    for (name, rtype) in CLAIMED {
        let mut pair = ZonePair::new();
        let wanted = set(name, *rtype);
        pair.crash(ours, create(&wanted), false).await;
        let restarted = again(harness).await;
        assert!(!pair.ownership(&*restarted, &wanted.key).is_ours(), "{wanted} was never written and is ours");
        pair.put(other(&wanted));
        assert!(!pair.ownership(&*restarted, &wanted.key).is_ours(), "{wanted} is foreign");
        pair.read(&*restarted).await;
        assert!(!pair.ownership(&*restarted, &wanted.key).is_ours(), "{wanted} is foreign, also once read");
    }
}

/// A process that ends between the zone and its note finds its own records again, and no others.
pub async fn a_write_whose_answer_was_lost_is_found_again(harness: &dyn Harness) {
    let Some((ours, _)) = both(harness) else { return };
    for (name, rtype) in CLAIMED {
        let mut pair = ZonePair::new();
        let wanted = set(name, *rtype);
        pair.crash(ours, create(&wanted), true).await;
        let restarted = again(harness).await;
        let owned = pair.ownership(&*restarted, &wanted.key);
        assert_eq!(owned.claim().and_then(|claim| claim.resource.as_deref()), Some(RESOURCE), "{wanted} is {owned:?}");
        pair.read(&*restarted).await;
        let delete = group([Change::Delete { from: wanted.clone() }], RESOURCE);
        pair.crash(&*restarted, delete, true).await;
        pair.put(other(&wanted));
        let restarted = again(harness).await;
        assert!(!pair.ownership(&*restarted, &wanted.key).is_ours(), "{wanted} came after we deleted ours");
    }
}

/// The resource that an update writes into the claim.
const NEW: &str = "ingress/default/other";

/// A record of ours in an update that the process does not survive. Returns whose it is afterwards, before and after the
/// zones were read again, and once the same update was made by the next process.
async fn updated(harness: &dyn Harness, wanted: &RecordSet, in_zone: bool) -> [Ownership; 3] {
    let ours = harness.ours();
    let mut pair = ZonePair::new();
    pair.carry(ours, create(wanted)).await.unwrap_or_else(|e| panic!("{wanted}: {e}"));
    let update = || group([Change::Update { from: wanted.clone(), to: other(wanted) }], NEW);
    pair.crash(ours, update(), in_zone).await;
    let restarted = again(harness).await;
    let before = pair.ownership(&*restarted, &wanted.key);
    pair.read(&*restarted).await;
    let after = pair.ownership(&*restarted, &wanted.key);
    let from = standing(&pair, &wanted.key);
    let repeated = group([Change::Update { from, to: other(wanted) }], NEW);
    pair.carry(&*restarted, repeated).await.unwrap_or_else(|e| panic!("{wanted} once more: {e}"));
    let last = pair.ownership(&*restarted, &wanted.key);
    let delete = group([Change::Delete { from: other(wanted) }], NEW);
    pair.carry(&*restarted, delete).await.unwrap_or_else(|e| panic!("delete of {wanted}: {e}"));
    load(ours).await;
    [before, after, last]
}

fn names(owned: &Ownership, resource: &str, about: &str) {
    let claim = owned.claim().unwrap_or_else(|| panic!("{about}: {owned:?}; expected ours"));
    assert_eq!(claim.resource.as_deref(), Some(resource), "{about}");
    assert_eq!(claim.labels, labels(), "{about}");
}

/// An update that never reached the zone leaves the record ours, for the resource that it had.
pub async fn an_update_that_was_cut_off_leaves_the_claim_as_it_was(harness: &dyn Harness) {
    let Some(_) = both(harness) else { return };
    for (name, rtype) in CLAIMED {
        let wanted = set(name, *rtype);
        let [before, after, last] = updated(harness, &wanted, false).await;
        names(&before, RESOURCE, &format!("{wanted} after a restart"));
        names(&after, RESOURCE, &format!("{wanted} after a reading"));
        names(&last, NEW, &format!("{wanted} after the update was repeated"));
    }
}

/// An update whose answer was lost leaves the record ours, for the resource that the harness declares; the next update makes
/// it the new one in any case.
pub async fn an_update_whose_answer_was_lost_names_what_was_declared(harness: &dyn Harness) {
    let Some(_) = both(harness) else { return };
    let expected = match harness.lost_update() {
        LostUpdate::New => NEW,
        LostUpdate::Former => RESOURCE,
    };
    for (name, rtype) in CLAIMED {
        let wanted = set(name, *rtype);
        let [before, after, last] = updated(harness, &wanted, true).await;
        names(&before, expected, &format!("{wanted} after a restart"));
        names(&after, expected, &format!("{wanted} after a reading"));
        names(&last, NEW, &format!("{wanted} after the update was repeated"));
    }
}

/// More readings than any registry waits for.
const READINGS: usize = 6;

/// What they claim is theirs however often we read the zone without the record; theirs may come back.
pub async fn a_reading_ends_no_claim_of_others(harness: &dyn Harness) {
    let Some((ours, theirs)) = both(harness) else { return };
    let mut pair = ZonePair::new();
    for (name, rtype) in CLAIMED {
        pair.carry(theirs, create(&set(name, *rtype))).await.unwrap_or_else(|e| panic!("{name} {rtype}: {e}"));
    }
    for (name, rtype) in CLAIMED {
        pair.take(&set(name, *rtype).key);
    }
    for _ in 0..READINGS {
        load(ours).await;
        pair.read(ours).await;
    }
    load(theirs).await;
    for (name, rtype) in CLAIMED {
        let wanted = set(name, *rtype);
        assert!(pair.ownership(theirs, &wanted.key).is_ours(), "{wanted} is theirs no more");
        pair.carry(theirs, create(&wanted)).await.unwrap_or_else(|e| panic!("{wanted} comes back: {e}"));
        assert!(pair.ownership(theirs, &wanted.key).is_ours(), "{wanted} came back");
    }
}

/// Where an owner leaves for good, its claims without a record are found and end: what others put there later is not ours.
/// Claims whose records stand, and those of others, are left.
pub async fn what_an_owner_leaves_behind_is_found(harness: &dyn Harness) {
    let Some((ours, theirs)) = both(harness) else { return };
    let mut pair = ZonePair::new();
    for (number, (name, rtype)) in CLAIMED.iter().enumerate() {
        let registry = if number % 3 == 2 { theirs } else { ours };
        pair.carry(registry, create(&set(name, *rtype))).await.unwrap_or_else(|e| panic!("{name} {rtype}: {e}"));
    }
    for (name, rtype) in CLAIMED.iter().step_by(3) {
        pair.take(&set(name, *rtype).key);
    }
    load(ours).await;
    for (zone, group) in pair.what(ours) {
        assert_eq!(group.records().count(), 0, "{} changes a record", group.headline());
        pair.send_in(ours, &zone, group).await.unwrap_or_else(|e| panic!("the end of a claim: {e}"));
    }
    load(theirs).await;
    for (number, (name, rtype)) in CLAIMED.iter().enumerate() {
        let wanted = set(name, *rtype);
        match number % 3 {
            0 => {
                pair.put(other(&wanted));
                assert_eq!(pair.ownership(ours, &wanted.key), Ownership::Unclaimed, "{wanted} was ours once");
            }
            1 => assert!(pair.ownership(ours, &wanted.key).is_ours(), "{wanted} stands and is ours"),
            _ => assert!(pair.ownership(theirs, &wanted.key).is_ours(), "{wanted} stands and is theirs"),
        }
    }
    assert!(pair.what(ours).is_empty(), "once is enough");
}

/// Reading the zones changes no claim.
pub async fn a_reading_keeps_the_claims(harness: &dyn Harness) {
    let Some((ours, theirs)) = both(harness) else { return };
    let mut pair = ZonePair::new();
    for (number, (name, rtype)) in CLAIMED.iter().enumerate() {
        let wanted = set(name, *rtype);
        match number % 3 {
            0 => pair.put(wanted),
            1 => drop(pair.carry(theirs, create(&wanted)).await.unwrap_or_else(|e| panic!("{wanted}: {e}"))),
            _ => drop(pair.carry(ours, create(&wanted)).await.unwrap_or_else(|e| panic!("{wanted}: {e}"))),
        }
    }
    load(ours).await;
    let whose = |pair: &ZonePair| -> Vec<Ownership> {
        CLAIMED.iter().map(|(name, rtype)| pair.ownership(ours, &set(name, *rtype).key)).collect()
    };
    let before = whose(&pair);
    for _ in 0..3 {
        pair.read(ours).await;
        load(ours).await;
        assert_eq!(whose(&pair), before, "after the zones were read");
    }
}
