//! What is read from the table, and what is reported of a table that cannot be read.

use std::time::Duration;

use serde_json::json;
use zonewright_core::ErrorKind;
use zonewright_core::claim::Ownership;
use zonewright_core::registry::{ClaimFormat as _, ClaimStore as _, ExternalChanges};
use zonewright_fakes::dynamodb::{Fault, Schema};
use zonewright_registry_dynamodb::{DynamoConfig, DynamoRegistry};

use crate::support::*;

#[tokio::test]
async fn rows_of_external_dns_are_claims() {
    let service = service();
    for i in 0..9 {
        service.put(TABLE, row(&format!("n{i}.example#A#"), "me"));
    }
    service.put(TABLE, row("*.example#CNAME#eu west", "other"));
    let registry = loaded(&service, "me").await;
    assert!(service.calls()["Scan"] > 3, "the table has several pages");
    assert_eq!(service.stale_reads(), 0);
    let mut zones = Zones::new(&["z"]);
    for i in 0..9 {
        let record = set(&format!("n{i}.example A 192.0.2.1"));
        zones.put("z", record.clone());
        let whose = zones.whose(&registry, "z", &format!("n{i}.example A 192.0.2.1"));
        let claim = whose.claim().unwrap();
        assert_eq!((claim.resource.as_deref(), claim.current), (Some("service/ns/old"), true));
        assert_eq!(registry.upgrade(&zones.zone("z"), &record, &zones), None);
    }
    let mut alias = set("*.example CNAME lb.example");
    assert_eq!(zones.whose(&registry, "z", "*.example CNAME lb.example"), Ownership::Unclaimed, "without set id");
    alias.key.set_id = zonewright_core::record::SetId::new("eu west");
    let claims = registry.claims(&zones.zone("z"), &alias.key, &zones);
    assert_eq!(claims.iter().map(|claim| claim.owner.as_str()).collect::<Vec<_>>(), ["other"]);
}

#[tokio::test]
async fn what_others_change_in_the_table_is_seen_with_the_next_reading() {
    let service = service();
    let registry = loaded(&service, "me").await;
    let zones = Zones::new(&["z"]);
    service.put(TABLE, row("www.example#A#", "me"));
    assert!(!zones.is_ours(&registry, "z", "www.example A 192.0.2.1"));
    registry.load().await.unwrap();
    assert!(zones.is_ours(&registry, "z", "www.example A 192.0.2.1"));
    service.remove(TABLE, "www.example#A#");
    registry.load().await.unwrap();
    assert!(!zones.is_ours(&registry, "z", "www.example A 192.0.2.1"));
}

/// A claim of ours that another writer takes away or gives to another owner is distinguished from what only has to be planned again.
#[tokio::test]
async fn what_others_did_to_claims_is_reported() {
    let service = service();
    service.put(TABLE, row("www.example#A#", "me"));
    service.put(TABLE, row("their.example#A#", "other"));
    let registry = loaded(&service, "me").await;
    let mut zones = Zones::new(&["z"]);
    zones.put("z", set("www.example A 192.0.2.1"));
    let zone = zones.zone("z");
    let news = async || {
        registry.load().await.unwrap();
        let ExternalChanges { names, contested } = registry.resync(&zone, &zones.contents("z"), true).await.unwrap();
        let text =
            |names: std::collections::BTreeSet<_>| names.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        (text(names), text(contested))
    };
    let expected = |names: &str, contested: &str| (names.to_owned(), contested.to_owned());
    assert_eq!(news().await, expected("", ""));
    service.remove(TABLE, "their.example#A#");
    service.put(TABLE, row("new.example#A#", "me"));
    assert_eq!(news().await, expected("new.example their.example", ""));
    service.put(TABLE, row("www.example#A#", "other"));
    assert_eq!(news().await, expected("www.example", "www.example"));
    service.remove(TABLE, "new.example#A#");
    assert_eq!(news().await, expected("new.example", "new.example"));
    assert_eq!(news().await, expected("", ""), "once");
}

#[tokio::test]
async fn many_zones_that_ask_at_once_are_answered_by_one_reading() {
    let service = service();
    let registry = registry(&service, "me").await;
    let loads = (0..20).map(|_| registry.load());
    let done = futures_join(loads).await;
    assert!(done.iter().all(Result::is_ok));
    // The first asked before any reading had begun; all others before the second one.
    assert!(service.calls()["Scan"] <= 2, "{:?}", service.calls());
    // So it is where the reading fails.
    service.fail("Scan", Fault::Broken, usize::MAX);
    let before = service.calls();
    let done = futures_join((0..20).map(|_| registry.load())).await;
    assert!(done.iter().all(Result::is_err));
    assert!(since(&service, &before)["Scan"] <= 2, "{:?}", service.calls());
}

/// Polls all of them together.
async fn futures_join<T>(all: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut waiting: Vec<_> = all.map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(|context| {
        for (future, done) in &mut waiting {
            if done.is_none()
                && let std::task::Poll::Ready(answer) = future.as_mut().poll(context)
            {
                *done = Some(answer);
            }
        }
        if waiting.iter().all(|(_, done)| done.is_some()) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    waiting.into_iter().filter_map(|(_, done)| done).collect()
}

#[tokio::test]
async fn within_the_cache_time_nothing_is_read_again() {
    let service = service();
    let settings = DynamoConfig { cache: Duration::from_hours(1), ..config(&service, "me") };
    let registry = DynamoRegistry::connect(settings).await.unwrap();
    for _ in 0..3 {
        registry.load().await.unwrap();
    }
    assert_eq!(service.calls()["Scan"], 1);
}

#[tokio::test]
async fn a_table_of_another_shape_is_reported_in_the_words_of_external_dns() {
    let with_range = Schema { range: Some(("r".to_owned(), "S".to_owned())), ..Schema::hash("k", "S") };
    let k_as_range = Schema { range: Some(("k".to_owned(), "S".to_owned())), ..Schema::hash("h", "S") };
    for (schema, expected) in [
        (Schema::hash("k", "N"), "table \"claims\" attribute \"k\" must have type \"S\", not \"N\""),
        (Schema::hash("other", "S"), "table \"claims\" must have attribute \"k\" of type \"S\""),
        (k_as_range, "table \"claims\" must have hash key \"k\""),
        (with_range, "table \"claims\" must not have a range key; it has \"r\""),
    ] {
        let service = service();
        service.create_table(TABLE, schema);
        let registry = registry(&service, "me").await;
        let error = registry.load().await.unwrap_err();
        assert_eq!((error.kind, error.context.as_str()), (ErrorKind::Configuration, expected));
        // Once it is put right, it works without a restart.
        service.create_table(TABLE, Schema::hash("k", "S"));
        registry.load().await.unwrap();
    }
}

#[tokio::test]
async fn what_keeps_the_table_from_being_read_is_reported() {
    for (operation, fault, kind, expected) in [
        ("DescribeTable", Fault::Denied, ErrorKind::Unauthorized, "needs dynamodb:DescribeTable"),
        ("Scan", Fault::Denied, ErrorKind::Unauthorized, "is not authorized to perform: dynamodb:Scan"),
        ("Scan", Fault::Throttled, ErrorKind::Throttled, "ProvisionedThroughputExceeded"),
        ("Scan", Fault::Broken, ErrorKind::Unavailable, "InternalServerError"),
    ] {
        let service = service();
        service.put(TABLE, row("www.example#A#", "me"));
        let registry = registry(&service, "me").await;
        service.fail(operation, fault, usize::MAX);
        let error = registry.load().await.unwrap_err();
        assert_eq!(error.kind, kind, "{error:?}");
        assert!(error.chain().contains(expected), "{}", error.chain());
        assert!(error.chain().contains("table \"claims\""), "{}", error.chain());
        service.fail(operation, fault, 0);
        registry.load().await.unwrap();
        assert!(Zones::new(&["z"]).is_ours(&registry, "z", "www.example A 192.0.2.1"));
    }
    let service = service();
    service.drop_table(TABLE);
    let error = registry(&service, "me").await.load().await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unavailable);
    assert!(error.chain().contains("--dynamodb-table"), "{}", error.chain());
}

#[tokio::test]
async fn a_throttled_page_is_asked_for_again() {
    let service = service();
    service.put(TABLE, row("www.example#A#", "me"));
    let registry = registry(&service, "me").await;
    service.fail("Scan", Fault::Throttled, 2);
    registry.load().await.unwrap();
    assert_eq!(service.calls()["Scan"], 3);
}

#[tokio::test]
async fn rows_that_cannot_be_read_keep_their_place_and_hurt_nobody_else() {
    let service = service();
    service.put(TABLE, row("fine.example#A#", "me"));
    let odd = |key: &str, rest: serde_json::Value| {
        let mut item = rest.as_object().unwrap().clone();
        item.insert("k".to_owned(), json!({ "S": key }));
        service.put(TABLE, item);
    };
    odd("no key at all", json!({ "o": { "S": "me" } }));
    odd("nobody.example#A#", json!({ "l": { "M": {} } }));
    odd("empty.example#A#", json!({ "o": { "S": "" } }));
    odd("number.example#A#", json!({ "o": { "S": "me" }, "l": { "M": { "resource": { "N": "1" } } } }));
    odd("mark.example#A#", json!({ "o": { "S": "me" }, "l": { "M": { "zonewright-open": { "S": "what" } } } }));
    let before = service.items(TABLE);
    let registry = loaded(&service, "me").await;
    let mut zones = Zones::new(&["z"]);
    assert!(zones.is_ours(&registry, "z", "fine.example A 192.0.2.1"));
    for (name, problem) in [
        ("nobody", "no attribute \"o\""),
        ("empty", "is empty"),
        ("number", "label \"resource\" is no text"),
        ("mark", "expected DIGEST@ZONE"),
    ] {
        let line = format!("{name}.example A 192.0.2.1");
        zones.put("z", set(&line));
        assert_eq!(zones.whose(&registry, "z", &line), Ownership::Unclaimed, "{name}");
        zones.take("z", &line);
        let reason = zones.open(&registry, "z", create(&line)).await.unwrap_err();
        assert!(reason.contains("cannot be read") && reason.contains(problem), "{reason}");
    }
    assert_eq!(service.items(TABLE), before);
}

#[tokio::test]
async fn two_spellings_of_one_key_are_left_alone() {
    let service = service();
    for key in ["www.example#A#", "WWW.example.#A#"] {
        service.put(TABLE, row(key, "me"));
    }
    service.put(TABLE, row("Odd.example#A#", "me"));
    let registry = loaded(&service, "me").await;
    let mut zones = Zones::new(&["z"]);
    zones.put("z", set("www.example A 192.0.2.1"));
    let reason = zones.open(&registry, "z", delete("www.example A 192.0.2.1")).await.unwrap_err();
    assert!(reason.contains("several rows speak for it"), "{reason}");
    assert_eq!(service.items(TABLE).len(), 3);
    // One odd spelling is written where it stands.
    zones.put("z", set("odd.example A 192.0.2.1"));
    zones.carry(&registry, "z", delete("odd.example A 192.0.2.1")).await.unwrap();
    assert_eq!(service.items(TABLE).len(), 2);
}

#[tokio::test]
async fn settings_that_cannot_work_name_their_flag() {
    let service = service();
    let sound = config(&service, "me");
    for (settings, expected) in [
        (DynamoConfig { table: String::new(), ..sound.clone() }, "table cannot be empty"),
        (DynamoConfig { table: "a\"b".to_owned(), ..sound.clone() }, "dynamodb-table"),
    ] {
        let error = DynamoRegistry::connect(settings).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Configuration);
        assert!(error.context.contains(expected), "{}", error.context);
    }
    assert!(!format!("{sound:?}").contains("\"secret\""), "keys are not shown");
}
