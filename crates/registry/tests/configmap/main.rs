//! The ConfigMap registry over documents in memory: what the object shows, and how seldom it is written.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod ends;
mod hands;
mod intents;
mod shards;
mod support;

use std::sync::Arc;

use serde_json::json;
use zonewright_core::change::{Group, Outcome};
use zonewright_core::registry::ClaimStore as _;
use zonewright_core::testing::documents::MemoryDocuments;
use zonewright_registry::configmap::{ConfigMapRegistry, LONGEST};

use support::{Zones, audit, carry, create, is_ours, prepare, record, records, registry};

fn start() -> (Arc<MemoryDocuments>, ConfigMapRegistry) {
    let store = Arc::new(MemoryDocuments::default());
    let registry = registry(&store, LONGEST);
    (store, registry)
}

#[tokio::test]
async fn the_object_lists_all_records_as_the_proposal_shows_them() {
    let (store, registry) = start();
    let mut zones = Zones::new(&["unmanaged.org CNAME loadbalancer2.com", "two.org A 192.0.2.1 192.0.2.2"]);
    audit(&registry, &zones).await;
    carry(&registry, &mut zones, vec![create("foo.org A 192.0.2.9")]).await;
    let shown = json!([
        { "dnsname": "foo.org", "owner": "me", "target": "192.0.2.9", "type": "A", "zone": "sim/org", "resource": "service/ns/web" },
        { "dnsname": "two.org", "owner": "", "target": "192.0.2.1;192.0.2.2", "type": "A", "zone": "sim/org", "targets": ["192.0.2.1", "192.0.2.2"] },
        { "dnsname": "unmanaged.org", "owner": "", "target": "loadbalancer2.com", "type": "CNAME", "zone": "sim/org" },
    ]);
    assert_eq!(json!(records(&store, "me-registry")), shown);
}

#[tokio::test]
async fn what_did_not_change_is_not_written() {
    let (store, registry) = start();
    let mut zones = Zones::new(&["a.org A 192.0.2.1"]);
    audit(&registry, &zones).await;
    carry(&registry, &mut zones, vec![create("b.org A 192.0.2.2")]).await;
    audit(&registry, &zones).await;
    let (_, writes) = store.calls();
    for _ in 0..3 {
        audit(&registry, &zones).await;
    }
    let (reads, _) = store.calls();
    registry.load().await.unwrap();
    registry.resync(&zones.zone, &zones, false).await.unwrap();
    assert_eq!(store.calls(), (reads + 1, writes), "one list, and nothing else");
    zones.put("a.org A 192.0.2.7");
    audit(&registry, &zones).await;
    assert_eq!(record(&store, "a.org").unwrap()["target"], "192.0.2.7");
    let restarted = support::registry(&store, LONGEST);
    let (_, writes) = store.calls();
    audit(&restarted, &zones).await;
    assert_eq!(store.calls().1, writes, "a restart writes nothing");
}

#[tokio::test]
async fn claims_of_one_zone_say_nothing_about_its_twin() {
    let (_, registry) = start();
    let mut zones = Zones::new(&[]);
    carry(&registry, &mut zones, vec![create("a.org A 192.0.2.1")]).await;
    let mut twin = Zones::new(&["a.org A 192.0.2.1"]);
    twin.zone.key.zone = zonewright_core::zone::ZoneId::from("private-org");
    audit(&registry, &twin).await;
    audit(&registry, &zones).await;
    assert!(is_ours(&registry, &zones, "a.org A") && !is_ours(&registry, &twin, "a.org A"));
}

#[tokio::test]
async fn many_groups_go_in_one_write_and_pieces_share_theirs() {
    let (store, registry) = start();
    let mut zones = Zones::new(&[]);
    audit(&registry, &zones).await;
    let piece = |from: usize| (from..from + 50).map(|n| create(&format!("n{n}.org A 192.0.2.1"))).collect::<Vec<_>>();
    let (_, before) = store.calls();
    let mut flying = Vec::new();
    for from in [0, 50, 100] {
        let next: Vec<Group> = prepare(&registry, &zones, piece(from)).await.into_iter().map(Result::unwrap).collect();
        let done: Vec<Group> = std::mem::replace(&mut flying, next);
        for change in done.iter().flat_map(Group::changes) {
            zones.sets.insert(change.key().clone(), change.to().unwrap().clone());
        }
        registry.commit(&zones.zone, &done, &done.iter().map(|_| Outcome::Applied).collect::<Vec<_>>()).await.unwrap();
    }
    registry.commit(&zones.zone, &flying, &flying.iter().map(|_| Outcome::Applied).collect::<Vec<_>>()).await.unwrap();
    assert_eq!(store.calls().1 - before, 4, "one write for each piece, and one at the end");
    assert!(records(&store, "me-registry").iter().all(|record| record.get("intent").is_none()));
    assert_eq!(records(&store, "me-registry").len(), 150);
}
