//! The registry `memory`: what was found is nobody's, what was published is ours, value by value.

use zonewright_core::change::{Change, Group, Outcome, Step};
use zonewright_core::claim::{Ownership, judge};
use zonewright_core::plan::FOREIGN_VALUE_LABEL;
use zonewright_core::registry::{ClaimFormat as _, ClaimStore as _, Contents, OwnershipChange, Published};
use zonewright_core::zone::{InstanceId, Zone, ZoneKey};
use zonewright_core::{DnsName, Error, ErrorKind, RData, RecordKey, RecordSet, RecordType};
use zonewright_registry::memory::MemoryRegistry;

/// A zone with at most one record set.
struct Shown(Option<RecordSet>);

impl Published for Shown {
    fn find(&self, near: &ZoneKey, key: &RecordKey) -> Option<(ZoneKey, RecordSet)> {
        self.0.clone().filter(|set| set.key == *key).map(|set| (near.clone(), set))
    }

    fn zones_at(&self, _: &DnsName) -> Vec<(Zone, bool)> {
        Vec::new()
    }
}

impl Contents for Shown {
    fn find(&self, key: &RecordKey) -> Option<RecordSet> {
        self.0.clone().filter(|set| set.key == *key)
    }

    fn each(&self, visit: &mut dyn FnMut(RecordSet)) {
        self.0.clone().into_iter().for_each(visit);
    }
}

fn name(text: &str) -> DnsName {
    DnsName::parse(text).expect("a name")
}

fn zone() -> Zone {
    Zone::new(&InstanceId::from("i"), "z", name("k8s.test"))
}

/// `api.k8s.test` at these addresses, separated by blanks.
fn api(addresses: &str) -> RecordSet {
    let records = addresses.split(' ').map(|text| RData::parse(RecordType::A, text).expect("an address"));
    RecordSet::simple(name("api.k8s.test"), RecordType::A, None, records)
}

fn registry() -> MemoryRegistry {
    MemoryRegistry::new("me").expect("an owner")
}

fn ownership(registry: &MemoryRegistry, standing: &RecordSet) -> Ownership {
    judge(&registry.claims(&zone(), &standing.key, &Shown(Some(standing.clone()))), registry.owner())
}

async fn sent(registry: &MemoryRegistry, group: Group, outcome: Outcome) {
    let prepared = registry.prepare(&zone(), vec![group]).await;
    let groups: Vec<Group> = prepared.into_iter().map(|group| group.expect("it may be sent")).collect();
    registry.commit(&zone(), &groups, &[outcome]).await.expect("memory is always there");
}

async fn changes(registry: &MemoryRegistry, change: Change, outcome: Outcome) {
    sent(registry, Group::of(Step::record(change, None), Vec::new()), outcome).await;
}

#[tokio::test]
async fn what_was_found_is_nobodys_and_what_was_published_is_ours() {
    let registry = registry();
    assert_eq!(ownership(&registry, &api("192.0.2.1")), Ownership::Unclaimed, "found at the start");
    changes(&registry, Change::Create { to: api("192.0.2.1 192.0.2.2") }, Outcome::Applied).await;
    assert!(ownership(&registry, &api("192.0.2.1 192.0.2.2")).is_ours());
    assert!(ownership(&registry, &api("192.0.2.2")).is_ours(), "another writer took a value of ours away");
    let shared = ownership(&registry, &api("192.0.2.1 192.0.2.9"));
    assert_eq!(others(&shared), ["192.0.2.9"], "a value that this process did not publish");
    assert_eq!(ownership(&registry, &api("192.0.2.9")), Ownership::Unclaimed, "nothing of it is ours");
    let again = MemoryRegistry::new("me").expect("an owner");
    assert_eq!(ownership(&again, &api("192.0.2.1 192.0.2.2")), Ownership::Unclaimed, "after a restart");
}

#[tokio::test]
async fn values_of_updates_follow_their_outcome() {
    let registry = registry();
    let (one, two) = (api("192.0.2.1"), api("192.0.2.2"));
    changes(&registry, Change::Create { to: one.clone() }, Outcome::Applied).await;
    let update = || Change::Update { from: one.clone(), to: two.clone() };
    let error = || Error::new(ErrorKind::Invalid, "apply changes", "no");
    changes(&registry, update(), Outcome::refused(error())).await;
    assert!(ownership(&registry, &one).is_ours());
    assert_eq!(ownership(&registry, &two), Ownership::Unclaimed, "it was refused, so another writer put it there");
    changes(&registry, update(), Outcome::Unknown(error())).await;
    assert!(ownership(&registry, &one).is_ours() && ownership(&registry, &two).is_ours(), "either may stand");
    registry.resync(&zone(), &Shown(Some(two.clone())), true).await.expect("memory is always there");
    changes(&registry, Change::Update { from: two.clone(), to: one.clone() }, Outcome::Applied).await;
    assert_eq!(ownership(&registry, &two), Ownership::Unclaimed, "what went is no value of ours any more");
    changes(&registry, Change::Delete { from: one.clone() }, Outcome::Applied).await;
    assert_eq!(ownership(&registry, &one), Ownership::Unclaimed);
}

#[tokio::test]
async fn what_is_adopted_is_ours_with_all_its_values() {
    let registry = registry();
    let take = |registry: &MemoryRegistry, record: &RecordSet| {
        let shown = Shown(Some(record.clone()));
        registry.assign(&zone(), record, &OwnershipChange::Take(None), &shown).expect("nobody's")
    };
    let found = api("192.0.2.1 192.0.2.2");
    let group = take(&registry, &found).expect("something to do");
    sent(&registry, group, Outcome::Applied).await;
    assert!(ownership(&registry, &found).is_ours());
    assert_eq!(take(&registry, &found), None, "it is ours already");
    registry.resync(&zone(), &Shown(Some(found)), true).await.expect("memory is always there");
    // Another writer adds a value that is wanted by now.
    let more = api("192.0.2.1 192.0.2.2 192.0.2.3");
    registry.resync(&zone(), &Shown(Some(more.clone())), true).await.expect("memory is always there");
    assert_eq!(others(&ownership(&registry, &more)), ["192.0.2.3"]);
    let group = take(&registry, &more).expect("something to do");
    sent(&registry, group, Outcome::Applied).await;
    assert_eq!(others(&ownership(&registry, &more)), [""; 0]);
}

/// The values of a shared set that are not ours, as our claim says it.
fn others(ownership: &Ownership) -> Vec<&str> {
    let Ownership::Ours(Some(claim)) = ownership else { panic!("{ownership:?}") };
    claim.labels.iter().filter(|(key, _)| **key == *FOREIGN_VALUE_LABEL).map(|(_, value)| &**value).collect()
}

/// A value that another writer put beside ours does not become ours by an update that keeps it, nor by one that takes ours away.
#[tokio::test]
async fn values_of_others_stay_theirs() {
    let registry = registry();
    changes(&registry, Change::Create { to: api("192.0.2.1") }, Outcome::Applied).await;
    let shared = api("192.0.2.1 192.0.2.9");
    let moved = api("192.0.2.2 192.0.2.9");
    changes(&registry, Change::Update { from: shared, to: moved.clone() }, Outcome::Applied).await;
    assert_eq!(others(&ownership(&registry, &moved)), ["192.0.2.9"]);
    assert_eq!(ownership(&registry, &api("192.0.2.1")), Ownership::Unclaimed, "what went is no value of ours any more");
    let rest = api("192.0.2.9");
    changes(&registry, Change::Update { from: moved, to: rest.clone() }, Outcome::Applied).await;
    assert_eq!(ownership(&registry, &rest), Ownership::Unclaimed);
}
