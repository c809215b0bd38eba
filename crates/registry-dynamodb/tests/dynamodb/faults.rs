//! A table that does not take writes: nothing is sent that has no row, and nothing that was done is forgotten.

use zonewright_core::change::Outcome;
use zonewright_core::registry::ClaimStore as _;
use zonewright_fakes::dynamodb::Fault;

use crate::support::*;

const WWW: &str = "www.example A 192.0.2.1";

#[tokio::test]
async fn nothing_is_sent_while_rows_cannot_be_written() {
    for fault in [Fault::Throttled, Fault::Denied, Fault::Broken] {
        let service = service();
        let registry = loaded(&service, "me").await;
        let mut zones = Zones::new(&["z"]);
        zones.carry(&registry, "z", create(WWW)).await.unwrap();
        let before = shown(&service);
        service.fail("BatchExecuteStatement", fault, usize::MAX);
        for group in [create("new.example A 192.0.2.1"), update(WWW, "www.example A 192.0.2.2"), delete(WWW)] {
            let reason = zones.open(&registry, "z", group).await.unwrap_err();
            assert!(reason.contains("table \"claims\""), "{reason}");
        }
        assert_eq!(shown(&service), before);
        service.fail("BatchExecuteStatement", fault, 0);
        registry.load().await.unwrap();
        zones.carry(&registry, "z", delete(WWW)).await.unwrap();
        assert_eq!(shown(&service), Vec::<String>::new());
    }
}

#[tokio::test]
async fn one_throttled_statement_is_repeated_alone() {
    let service = service();
    let registry = loaded(&service, "me").await;
    let zones = Zones::new(&["z"]);
    service.fail("BatchExecuteStatement", Fault::StatementThrottled, 1);
    let many = (0..3).map(|i| create(&format!("n{i}.example A 192.0.2.1"))).collect();
    let before = service.calls();
    let answers = registry.prepare(&zones.zone("z"), many).await;
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    let cost = since(&service, &before);
    assert_eq!((cost["BatchExecuteStatement"], cost["INSERT"]), (2, 3), "what was written is not sent again");
    assert_eq!(shown(&service).len(), 3);
}

#[tokio::test]
async fn what_the_table_did_not_take_is_owed_and_written_first() {
    let service = service();
    let registry = loaded(&service, "me").await;
    let mut zones = Zones::new(&["z"]);
    zones.carry(&registry, "z", create(WWW)).await.unwrap();
    let (new, zone) = ("new.example A 192.0.2.1", zones.zone("z"));
    let opened = [
        zones.open(&registry, "z", create(new)).await.unwrap(),
        zones.open(&registry, "z", delete(WWW)).await.unwrap(),
    ];
    service.fail("BatchExecuteStatement", Fault::Throttled, usize::MAX);
    for group in &opened {
        zones.apply("z", group);
    }
    registry.commit(&zone, &opened, &[Outcome::Applied, Outcome::Applied]).await.unwrap_err();
    assert_eq!(shown(&service).len(), 2, "nothing was written");
    assert!(zones.is_ours(&registry, "z", new));
    let error = registry.load().await.unwrap_err();
    assert!(error.chain().contains("Throughput"), "nothing is planned on rows that are out of date: {error:?}");
    zones.open(&registry, "z", create("more.example A 192.0.2.1")).await.unwrap_err();
    service.fail("BatchExecuteStatement", Fault::Throttled, 0);
    registry.load().await.unwrap();
    assert_eq!(shown(&service), [format!("new.example#A# me resource={RESOURCE} zonewright-zones=z")]);
    assert!(zones.is_ours(&registry, "z", new));
    // It is paid once.
    let before = service.calls();
    registry.load().await.unwrap();
    assert_eq!(since(&service, &before).get("BatchExecuteStatement"), None);
}

#[tokio::test]
async fn what_is_owed_at_the_end_is_written_by_a_commit_of_nothing() {
    let service = service();
    let registry = loaded(&service, "me").await;
    let mut zones = Zones::new(&["z"]);
    zones.carry(&registry, "z", create(WWW)).await.unwrap();
    let (zone, opened) = (zones.zone("z"), zones.open(&registry, "z", delete(WWW)).await.unwrap());
    zones.apply("z", &opened);
    service.fail("BatchExecuteStatement", Fault::Throttled, usize::MAX);
    registry.commit(&zone, &[opened], &[Outcome::Applied]).await.unwrap_err();
    let error = registry.commit(&zone, &[], &[]).await.unwrap_err();
    assert!(error.chain().contains("Throughput"), "{error:?}");
    service.fail("BatchExecuteStatement", Fault::Throttled, 0);
    registry.commit(&zone, &[], &[]).await.unwrap();
    assert_eq!(shown(&service), Vec::<String>::new());
}

#[tokio::test]
async fn a_table_that_goes_missing_takes_no_record_along() {
    let service = service();
    let registry = loaded(&service, "me").await;
    let mut zones = Zones::new(&["z"]);
    zones.carry(&registry, "z", create(WWW)).await.unwrap();
    let rows = service.drop_table(TABLE);
    registry.load().await.unwrap_err();
    let reason = zones.open(&registry, "z", delete(WWW)).await.unwrap_err();
    assert!(reason.contains("ResourceNotFound"), "{reason}");
    service.create_table(TABLE, zonewright_fakes::dynamodb::Schema::hash("k", "S"));
    registry.load().await.unwrap();
    assert!(!zones.is_ours(&registry, "z", WWW), "an empty table gives no right");
    for row in rows {
        service.put(TABLE, row);
    }
    registry.load().await.unwrap();
    assert!(zones.is_ours(&registry, "z", WWW));
}
