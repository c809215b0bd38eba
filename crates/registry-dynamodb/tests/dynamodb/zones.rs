//! Two zones of one name (split horizon): a claim in one gives no right in the other.

use zonewright_core::DnsName;
use zonewright_core::change::Outcome;
use zonewright_core::claim::Ownership;
use zonewright_core::registry::{ClaimFormat as _, ClaimStore as _, OwnershipChange};
use zonewright_fakes::dynamodb::Fault;

use crate::support::*;

const WWW: &str = "www.example A 192.0.2.1";
const OTHER: &str = "www.example A 192.0.2.2";

fn zones_label(service: &zonewright_fakes::dynamodb::DynamoDb) -> Vec<String> {
    let label = |row: String| row.split("zonewright-zones=").nth(1).unwrap_or("everywhere").to_owned();
    shown(service).into_iter().map(label).collect()
}

#[tokio::test]
async fn a_claim_in_one_zone_is_none_in_the_other() {
    let service = service();
    let registry = loaded(&service, "me").await;
    let mut zones = Zones::new(&["public", "private zone"]);
    zones.carry(&registry, "public", create(WWW)).await.unwrap();
    zones.put("private zone", set(OTHER));
    assert!(zones.is_ours(&registry, "public", WWW));
    assert_eq!(zones.whose(&registry, "private zone", OTHER), Ownership::Unclaimed);
    zones.take("private zone", OTHER);
    // Ours in both, then in the second alone, then in none.
    zones.carry(&registry, "private zone", create(OTHER)).await.unwrap();
    assert_eq!(zones_label(&service), ["private%20zone public"]);
    zones.carry(&registry, "public", delete(WWW)).await.unwrap();
    assert_eq!(zones_label(&service), ["private%20zone"]);
    let later = loaded(&service, "me").await;
    zones.put("public", set(WWW));
    assert!(!zones.is_ours(&later, "public", WWW) && zones.is_ours(&later, "private zone", OTHER));
    zones.carry(&later, "private zone", delete(OTHER)).await.unwrap();
    assert_eq!(zones_label(&service), Vec::<String>::new());
}

#[tokio::test]
async fn a_refusal_in_one_zone_leaves_the_right_in_the_other() {
    let service = service();
    let registry = loaded(&service, "me").await;
    let mut zones = Zones::new(&["public", "private"]);
    zones.carry(&registry, "public", create(WWW)).await.unwrap();
    let group = zones.open(&registry, "private", create(OTHER)).await.unwrap();
    assert!(zones.is_ours(&registry, "public", WWW), "while the other is open");
    registry.commit(&zones.zone("private"), &[group], &[refused()]).await.unwrap();
    assert_eq!(zones_label(&service), ["public"]);
    assert!(!zones.is_ours(&registry, "private", OTHER));
}

#[tokio::test]
async fn writes_in_both_zones_at_once_do_not_undo_each_other() {
    let service = service();
    let registry = loaded(&service, "me").await;
    let mut zones = Zones::new(&["public", "private"]);
    let public = zones.open(&registry, "public", create(WWW)).await.unwrap();
    let private = zones.open(&registry, "private", create(OTHER)).await.unwrap();
    // A reading comes in between.
    registry.load().await.unwrap();
    zones.apply("public", &public);
    zones.apply("private", &private);
    registry.commit(&zones.zone("private"), &[private], &[Outcome::Applied]).await.unwrap();
    registry.commit(&zones.zone("public"), &[public], &[Outcome::Applied]).await.unwrap();
    assert_eq!(zones_label(&service), ["private public"]);
}

/// What one zone could not write down is older than what the other wrote since: it is not written after that.
#[tokio::test]
async fn what_is_owed_to_a_row_is_not_written_over_a_later_word() {
    let service = service();
    let registry = loaded(&service, "me").await;
    let mut zones = Zones::new(&["public", "private"]);
    let public = zones.open(&registry, "public", create(WWW)).await.unwrap();
    let private = zones.open(&registry, "private", create(OTHER)).await.unwrap();
    zones.apply("public", &public);
    service.fail("BatchExecuteStatement", Fault::Throttled, usize::MAX);
    registry.commit(&zones.zone("public"), &[public], &[Outcome::Applied]).await.unwrap_err();
    service.fail("BatchExecuteStatement", Fault::Throttled, 0);
    // Somebody had made that record by hand.
    registry.commit(&zones.zone("private"), &[private], &[refused()]).await.unwrap();
    zones.put("private", set(OTHER));
    registry.load().await.unwrap();
    assert_eq!(zones_label(&service), ["public"]);
    assert!(zones.is_ours(&registry, "public", WWW) && !zones.is_ours(&registry, "private", OTHER));
}

/// A row that somebody takes while its record is written: the name is planned again, and its object told.
#[tokio::test]
async fn a_row_that_is_taken_while_its_record_is_written_is_told() {
    for taken in [true, false] {
        let service = service();
        let registry = loaded(&service, "me").await;
        let mut zones = Zones::new(&["public"]);
        registry.resync(&zones.zone("public"), &zones.contents("public"), true).await.unwrap();
        let group = zones.open(&registry, "public", create(WWW)).await.unwrap();
        zones.apply("public", &group);
        if taken {
            service.put(TABLE, row("www.example#A#", "other"));
        } else {
            service.remove(TABLE, "www.example#A#");
        }
        registry.commit(&zones.zone("public"), &[group], &[Outcome::Applied]).await.unwrap();
        let changes = registry.resync(&zones.zone("public"), &zones.contents("public"), true).await.unwrap();
        let names: Vec<&str> = changes.contested.iter().map(DnsName::as_str).collect();
        assert_eq!((names, changes.names.len()), (vec!["www.example"], 1), "taken: {taken}");
        assert!(!zones.is_ours(&registry, "public", WWW));
    }
}

#[tokio::test]
async fn a_row_of_external_dns_speaks_in_every_zone() {
    let service = service();
    service.put(TABLE, row("www.example#A#", "me"));
    let registry = loaded(&service, "me").await;
    let mut zones = Zones::new(&["public", "private"]);
    for zone in ["public", "private"] {
        zones.put(zone, set(WWW));
        assert!(zones.is_ours(&registry, zone, WWW), "{zone}");
    }
    zones.carry(&registry, "public", update(WWW, OTHER)).await.unwrap();
    assert_eq!(zones_label(&service), ["everywhere"], "an update does not narrow it");
}

/// The first record of such a row that goes, or is released, leaves the other's claim: in a row that names its zone from then on.
#[tokio::test]
async fn a_row_of_external_dns_stays_for_the_other_zones_of_its_record() {
    for released in [false, true] {
        let service = service();
        service.put(TABLE, row("www.example#A#", "me"));
        let registry = loaded(&service, "me").await;
        let mut zones = Zones::new(&["public", "private"]);
        zones.put("public", set(WWW));
        zones.put("private", set(OTHER));
        let ends = async |zones: &mut Zones, zone: &str, line: &str| {
            if released {
                let change = OwnershipChange::Disown;
                let group = registry.assign(&zones.zone(zone), &set(line), &change, zones).unwrap().unwrap();
                zones.hand_over(&registry, zone, group).await.unwrap();
            } else {
                zones.carry(&registry, zone, delete(line)).await.unwrap();
            }
        };
        ends(&mut zones, "public", WWW).await;
        assert_eq!(zones_label(&service), ["private"], "released: {released}");
        assert!(zones.is_ours(&registry, "private", OTHER));
        // What others make in the first zone is theirs.
        zones.put("public", set(WWW));
        assert_eq!(zones.whose(&registry, "public", WWW), Ownership::Unclaimed);
        ends(&mut zones, "private", OTHER).await;
        assert_eq!(zones_label(&service), Vec::<String>::new(), "released: {released}");
    }
    // Where it stands in one zone alone the row goes with it.
    let service = service();
    service.put(TABLE, row("www.example#A#", "me"));
    let registry = loaded(&service, "me").await;
    let mut zones = Zones::new(&["public", "private"]);
    zones.put("public", set(WWW));
    zones.carry(&registry, "public", delete(WWW)).await.unwrap();
    assert_eq!(zones_label(&service), Vec::<String>::new());
}
