//! Rows whose records are gone.

use serde_json::json;
use zonewright_core::change::Outcome;
use zonewright_core::claim::Ownership;
use zonewright_core::registry::{ClaimFormat as _, ClaimStore as _, OwnershipChange};
use zonewright_fakes::dynamodb::{DynamoDb, Fault};
use zonewright_registry_dynamodb::DynamoRegistry;

use crate::support::*;

const WWW: &str = "www.example A 192.0.2.1";
const OTHER: &str = "www.example A 192.0.2.2";

/// Shows a zone to a registry this many times.
async fn readings(zones: &Zones, registry: &DynamoRegistry, id: &str, count: usize) {
    for _ in 0..count {
        registry.load().await.unwrap();
        zones.read(registry, id).await;
    }
}

/// A row of an owner that names zones.
fn in_zones(service: &DynamoDb, key: &str, owner: &str, zones: &str) {
    let mut item = row(key, owner);
    item["l"]["M"]["zonewright-zones"] = json!({ "S": zones });
    service.put(TABLE, item);
}

async fn written(lines: &[&str]) -> (DynamoDb, DynamoRegistry, Zones) {
    let service = service();
    let registry = loaded(&service, "me").await;
    let mut zones = Zones::new(&["z"]);
    for line in lines {
        zones.carry(&registry, "z", create(line)).await.unwrap();
    }
    (service, registry, zones)
}

#[tokio::test]
async fn a_row_ends_after_three_readings_without_its_record() {
    let (service, registry, mut zones) = written(&[WWW, "api.example A 192.0.2.3"]).await;
    readings(&zones, &registry, "z", 5).await;
    assert_eq!(shown(&service).len(), 2, "both records stand");
    zones.take("z", WWW);
    readings(&zones, &registry, "z", 2).await;
    assert_eq!(shown(&service).len(), 2, "a reading may lag behind");
    zones.put("z", set(WWW));
    readings(&zones, &registry, "z", 1).await;
    zones.take("z", WWW);
    readings(&zones, &registry, "z", 2).await;
    assert_eq!(shown(&service).len(), 2, "it was seen in between");
    assert!(zones.is_ours(&registry, "z", WWW), "until then the record comes back under its row");
    readings(&zones, &registry, "z", 1).await;
    assert_eq!(shown(&service), [format!("api.example#A# me resource={RESOURCE} zonewright-zones=z")]);
    zones.put("z", set(OTHER));
    assert_eq!(zones.whose(&registry, "z", OTHER), Ownership::Unclaimed, "what others put there is theirs");
    zones.take("z", OTHER);
    zones.carry(&registry, "z", create(WWW)).await.unwrap();
    assert!(zones.is_ours(&registry, "z", WWW), "and ours may come again");
}

#[tokio::test]
async fn rows_of_others_and_rows_that_name_no_zone_or_another_stay() {
    let service = service();
    in_zones(&service, "a.example#A#", "other", "z");
    in_zones(&service, "b.example#A#", "me", "elsewhere");
    in_zones(&service, "c.test#A#", "me", "z");
    service.put(TABLE, row("d.example#A#", "me"));
    service.put(TABLE, row("e.example#A#", "other"));
    let registry = loaded(&service, "me").await;
    let before = service.items(TABLE);
    readings(&Zones::new(&["z"]), &registry, "z", 6).await;
    assert_eq!(service.items(TABLE), before);
}

#[tokio::test]
async fn a_row_of_two_zones_loses_the_one_without_the_record() {
    let service = service();
    let registry = loaded(&service, "me").await;
    let mut zones = Zones::new(&["private", "public"]);
    for id in ["private", "public"] {
        zones.carry(&registry, id, create(WWW)).await.unwrap();
    }
    zones.take("public", WWW);
    readings(&zones, &registry, "private", 3).await;
    readings(&zones, &registry, "public", 3).await;
    assert_eq!(shown(&service), [format!("www.example#A# me resource={RESOURCE} zonewright-zones=private")]);
    assert!(zones.is_ours(&registry, "private", WWW) && !zones.is_ours(&registry, "public", WWW));
}

#[tokio::test]
async fn a_write_that_was_cut_off_leaves_no_row_where_others_came() {
    let service = service();
    let registry = loaded(&service, "me").await;
    let mut zones = Zones::new(&["z"]);
    let group = zones.open(&registry, "z", create(WWW)).await.unwrap();
    registry.commit(&zones.zone("z"), std::slice::from_ref(&group), &[unknown()]).await.unwrap();
    // It was carried out: the row speaks for it, however often that is read.
    zones.apply("z", &group);
    readings(&zones, &registry, "z", 5).await;
    assert!(zones.is_ours(&registry, "z", WWW));
    // It was not, and another writer came.
    zones.put("z", set(OTHER));
    readings(&zones, &registry, "z", 3).await;
    assert_eq!(shown(&service), Vec::<String>::new());
    assert_eq!(zones.whose(&registry, "z", OTHER), Ownership::Unclaimed);
}

#[tokio::test]
async fn where_most_records_are_missing_the_reading_is_doubted() {
    let lines: Vec<String> = (0..25).map(|number| format!("n{number}.example A 192.0.2.1")).collect();
    let (service, registry, zones) = written(&lines.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let before = shown(&service);
    let empty = Zones::new(&["z"]);
    readings(&empty, &registry, "z", 6).await;
    assert_eq!(shown(&service), before);
    readings(&zones, &registry, "z", 1).await;
    assert!(lines.iter().all(|line| zones.is_ours(&registry, "z", line)), "nothing was lost");
    // Deletes that were announced and cut off are no reason to doubt.
    let deletes = lines.iter().map(|line| delete(line)).collect();
    let opened = registry.prepare(&zones.zone("z"), deletes).await;
    assert!(opened.iter().all(Result::is_ok));
    let later = loaded(&service, "me").await;
    readings(&empty, &later, "z", 3).await;
    assert_eq!(shown(&service), Vec::<String>::new());
}

#[tokio::test]
async fn a_row_that_the_table_does_not_let_go_stops_nothing_and_goes_later() {
    for fault in [Fault::Throttled, Fault::StatementThrottled, Fault::Denied, Fault::Broken, Fault::AnswerLost] {
        let (service, registry, mut zones) = written(&[WWW]).await;
        zones.take("z", WWW);
        readings(&zones, &registry, "z", 2).await;
        service.fail("BatchExecuteStatement", fault, usize::MAX);
        zones.read(&registry, "z").await;
        service.fail("BatchExecuteStatement", fault, 0);
        readings(&zones, &registry, "z", 1).await;
        assert_eq!(shown(&service), Vec::<String>::new(), "{fault:?}");
    }
}

#[tokio::test]
async fn an_owner_edited_by_hand_keeps_the_row() {
    let (service, registry, mut zones) = written(&[WWW]).await;
    zones.take("z", WWW);
    readings(&zones, &registry, "z", 2).await;
    service.put(TABLE, row("www.example#A#", "other"));
    zones.read(&registry, "z").await;
    assert_eq!(shown(&service), ["www.example#A# other resource=service/ns/old"]);
}

#[tokio::test]
async fn a_table_that_is_missing_or_throttled_ends_no_row() {
    let (service, registry, mut zones) = written(&[WWW]).await;
    zones.take("z", WWW);
    // The engine does not show a zone whose claims could not be read.
    service.fail("Scan", Fault::Throttled, usize::MAX);
    for _ in 0..4 {
        registry.load().await.unwrap_err();
    }
    service.fail("Scan", Fault::Throttled, 0);
    let rows = service.drop_table(TABLE);
    for _ in 0..4 {
        registry.load().await.unwrap_err();
    }
    service.create_table(TABLE, zonewright_fakes::dynamodb::Schema::hash("k", "S"));
    for row in rows {
        service.put(TABLE, row);
    }
    readings(&zones, &registry, "z", 2).await;
    assert_eq!(shown(&service).len(), 1);
}

#[tokio::test]
async fn an_owner_that_leaves_takes_its_rows_along() {
    let (service, registry, mut zones) = written(&[WWW, "api.example A 192.0.2.3"]).await;
    service.put(TABLE, row("old.example#A#", "me"));
    service.put(TABLE, row("stands.example#A#", "me"));
    service.put(TABLE, row("theirs.example#A#", "other"));
    in_zones(&service, "far.example#A#", "me", "elsewhere");
    zones.put("z", set("stands.example A 192.0.2.4"));
    zones.take("z", WWW);
    registry.load().await.unwrap();
    let groups = registry.leftovers(&zones.zone("z"), &zones);
    let names: Vec<String> = groups.iter().map(|group| group.name.to_string()).collect();
    assert_eq!(names, ["old.example", "www.example"]);
    assert!(groups.iter().all(zonewright_core::change::Group::changes_nothing), "no record changes");
    let ready: Vec<_> = registry.prepare(&zones.zone("z"), groups).await.into_iter().map(Result::unwrap).collect();
    let outcomes: Vec<Outcome> = ready.iter().map(|_| Outcome::Applied).collect();
    registry.commit(&zones.zone("z"), &ready, &outcomes).await.unwrap();
    let keys: Vec<String> = shown(&service).iter().map(|row| row.split(' ').next().unwrap().to_owned()).collect();
    assert_eq!(keys, ["api.example#A#", "far.example#A#", "stands.example#A#", "theirs.example#A#"]);
    // Once more: a row that is gone already is no obstacle.
    let again = registry.prepare(&zones.zone("z"), ready).await;
    assert!(again.iter().all(Result::is_ok), "{again:?}");
}

/// A hosted zone that was deleted and made anew has another id. The former one may be another process's to serve.
#[tokio::test]
async fn a_row_that_names_a_zone_that_is_gone_stays_and_its_record_is_ours_once_it_is_adopted() {
    let service = service();
    in_zones(&service, "www.example#A#", "me", "former");
    in_zones(&service, "new.example#A#", "me", "former");
    let registry = loaded(&service, "me").await;
    let mut zones = Zones::new(&["z"]);
    zones.put("z", set(WWW));
    assert_eq!(zones.whose(&registry, "z", WWW), Ownership::Unclaimed);
    assert!(registry.leftovers(&zones.zone("z"), &zones).is_empty());
    let take = OwnershipChange::Take(Some(RESOURCE.into()));
    let group = registry.assign(&zones.zone("z"), &set(WWW), &take, &zones).unwrap().unwrap();
    zones.hand_over(&registry, "z", group).await.unwrap();
    assert!(zones.is_ours(&registry, "z", WWW));
    // What stands nowhere comes without that.
    let new = "new.example A 192.0.2.5";
    zones.carry(&registry, "z", create(new)).await.unwrap();
    assert!(zones.is_ours(&registry, "z", new));
    let line = |name: &str| format!("{name}.example#A# me resource={RESOURCE} zonewright-zones=former z");
    assert_eq!(shown(&service), [line("new"), line("www")]);
}
