//! What stands in the table before, while and after a record is written.

use zonewright_core::change::{Change, Group, Outcome, Step};
use zonewright_core::claim::Ownership;
use zonewright_core::intent::digest;
use zonewright_core::registry::{ClaimFormat as _, ClaimStore as _, OwnershipChange};
use zonewright_fakes::dynamodb::Fault;

use crate::support::*;

const WWW: &str = "www.example A 192.0.2.1";
const OTHER: &str = "www.example A 192.0.2.2";

/// The row of [`WWW`] as it stands in the end.
fn settled(owner: &str) -> String {
    format!("www.example#A# {owner} resource={RESOURCE} zonewright-zones=z")
}

fn open_mark(line: &str) -> String {
    format!("zonewright-open={}@z", digest(&set(line)))
}

#[tokio::test]
async fn the_row_comes_before_the_record_and_is_confirmed_after_it() {
    let service = service();
    let registry = loaded(&service, "me").await;
    let mut zones = Zones::new(&["z"]);
    let group = zones.open(&registry, "z", create(WWW)).await.unwrap();
    let open = format!("www.example#A# me resource={RESOURCE} {} zonewright-zones=", open_mark(WWW));
    assert_eq!(shown(&service), [open]);
    assert_eq!(zones.whose(&registry, "z", WWW), Ownership::Unclaimed, "there is no record yet");
    zones.apply("z", &group);
    assert!(zones.is_ours(&registry, "z", WWW), "exactly what was announced stands there");
    registry.commit(&zones.zone("z"), &[group], &[Outcome::Applied]).await.unwrap();
    assert_eq!(shown(&service), [settled("me")]);
    zones.put("z", set(OTHER));
    assert!(zones.is_ours(&registry, "z", OTHER), "a right that stands holds whatever others make of the record");
}

#[tokio::test]
async fn a_refused_write_leaves_the_right_as_it_was() {
    for outcome in [refused(), Outcome::NotSent(refused().error().unwrap().clone())] {
        let service = service();
        let registry = loaded(&service, "me").await;
        let mut zones = Zones::new(&["z"]);
        let group = zones.open(&registry, "z", create(WWW)).await.unwrap();
        registry.commit(&zones.zone("z"), &[group], std::slice::from_ref(&outcome)).await.unwrap();
        assert_eq!(shown(&service), Vec::<String>::new(), "create");
        zones.carry(&registry, "z", create(WWW)).await.unwrap();
        for group in [update(WWW, OTHER), delete(WWW), create(OTHER)] {
            let group = zones.open(&registry, "z", group).await.unwrap();
            registry
                .commit(&zones.zone("z"), std::slice::from_ref(&group), std::slice::from_ref(&outcome))
                .await
                .unwrap();
            assert_eq!(shown(&service), [settled("me")], "{}", group.headline());
        }
    }
}

#[tokio::test]
async fn without_an_answer_the_row_speaks_only_for_what_was_announced() {
    let service = service();
    let registry = loaded(&service, "me").await;
    let mut zones = Zones::new(&["z"]);
    let group = zones.open(&registry, "z", create(WWW)).await.unwrap();
    registry.commit(&zones.zone("z"), &[group], &[unknown()]).await.unwrap();
    // As after a crash: another process reads the table.
    let later = loaded(&service, "me").await;
    zones.put("z", set(OTHER));
    assert_eq!(zones.whose(&later, "z", OTHER), Ownership::Unclaimed, "another writer made another record");
    zones.put("z", set(WWW));
    assert!(zones.is_ours(&later, "z", WWW), "ours was carried out");
    let confirm = later.upgrade(&zones.zone("z"), &set(WWW), &zones).unwrap();
    assert!(confirm.changes_nothing(), "{confirm:?}");
    zones.hand_over(&later, "z", confirm).await.unwrap();
    assert_eq!(shown(&service), [settled("me")]);
    assert_eq!(later.upgrade(&zones.zone("z"), &set(WWW), &zones), None);
}

#[tokio::test]
async fn a_refused_update_of_an_unconfirmed_record_keeps_its_right() {
    let service = service();
    let registry = loaded(&service, "me").await;
    let mut zones = Zones::new(&["z"]);
    let group = zones.open(&registry, "z", create(WWW)).await.unwrap();
    zones.apply("z", &group);
    registry.commit(&zones.zone("z"), &[group], &[unknown()]).await.unwrap();
    let group = zones.open(&registry, "z", update(WWW, OTHER)).await.unwrap();
    registry.commit(&zones.zone("z"), &[group], &[refused()]).await.unwrap();
    assert!(zones.is_ours(&registry, "z", WWW));
}

#[tokio::test]
async fn a_delete_that_was_cut_off_leaves_no_right_to_what_comes_later() {
    let service = service();
    let registry = loaded(&service, "me").await;
    let mut zones = Zones::new(&["z"]);
    zones.carry(&registry, "z", create(WWW)).await.unwrap();
    let group = zones.open(&registry, "z", delete(WWW)).await.unwrap();
    let later = loaded(&service, "me").await;
    assert!(zones.is_ours(&later, "z", WWW), "it was not carried out: still ours to delete");
    zones.apply("z", &group);
    zones.put("z", set(OTHER));
    assert!(!zones.is_ours(&later, "z", OTHER), "it was carried out, and another writer came");
    // Ours comes back in the end, over the row that was left.
    zones.take("z", OTHER);
    zones.carry(&later, "z", create(OTHER)).await.unwrap();
    assert_eq!(shown(&service), [settled("me")]);
}

#[tokio::test]
async fn what_was_deleted_has_no_row() {
    let service = service();
    let registry = loaded(&service, "me").await;
    let mut zones = Zones::new(&["z"]);
    zones.carry(&registry, "z", create(WWW)).await.unwrap();
    zones.carry(&registry, "z", delete(WWW)).await.unwrap();
    assert_eq!(shown(&service), Vec::<String>::new());
}

#[tokio::test]
async fn an_owner_edited_by_hand_is_respected_at_once() {
    let service = service();
    let registry = loaded(&service, "me").await;
    let mut zones = Zones::new(&["z"]);
    zones.carry(&registry, "z", create(WWW)).await.unwrap();
    service.put(TABLE, row("www.example#A#", "other"));
    for group in [update(WWW, OTHER), delete(WWW)] {
        // The registry has not read the table since.
        let registry = &registry;
        let reason = zones.open(registry, "z", group).await.unwrap_err();
        assert!(reason.contains("\"other\""), "{reason}");
    }
    assert_eq!(shown(&service), ["www.example#A# other resource=service/ns/old"]);
    // So is a row that was taken away.
    let registry = loaded(&service, "other").await;
    service.remove(TABLE, "www.example#A#");
    let reason = zones.open(&registry, "z", delete(WWW)).await.unwrap_err();
    assert!(reason.contains("not ours any more"), "{reason}");
}

#[tokio::test]
async fn two_owners_never_create_one_record() {
    let service = service();
    let (mine, theirs) = (loaded(&service, "me").await, loaded(&service, "other").await);
    let mut zones = Zones::new(&["z"]);
    zones.carry(&mine, "z", create(WWW)).await.unwrap();
    zones.take("z", WWW);
    // The other has not seen the row, and the record is gone.
    let reason = zones.open(&theirs, "z", create(OTHER)).await.unwrap_err();
    assert!(reason.contains("came into table \"claims\""), "{reason}");
    theirs.load().await.unwrap();
    let reason = zones.open(&theirs, "z", create(OTHER)).await.unwrap_err();
    assert!(reason.contains("belongs to another owner: \"me\""), "{reason}");
    assert_eq!(shown(&service), [settled("me")]);
}

#[tokio::test]
async fn of_a_group_that_cannot_be_opened_as_a_whole_nothing_stays_open() {
    let service = service();
    let registry = loaded(&service, "me").await;
    let mut zones = Zones::new(&["z"]);
    zones.carry(&registry, "z", create(WWW)).await.unwrap();
    let before = shown(&service);
    let alias = row("www.example#CNAME#", "other");
    service.put(TABLE, alias);
    let steps = [delete(WWW), create("www.example CNAME lb.example")].map(|group| group.steps);
    let swap = Group { steps: steps.concat(), ..delete(WWW) };
    let reason = zones.open(&registry, "z", swap).await.unwrap_err();
    assert!(reason.contains("www.example#CNAME#"), "{reason}");
    service.remove(TABLE, "www.example#CNAME#");
    assert_eq!(shown(&service), before);
}

#[tokio::test]
async fn a_row_costs_what_it_must() {
    let service = service();
    let registry = loaded(&service, "me").await;
    let mut zones = Zones::new(&["z"]);
    for (group, expected) in [
        (create(WWW), vec![("BatchExecuteStatement", 2), ("INSERT", 1), ("UPDATE", 1)]),
        (update(WWW, OTHER), vec![("BatchExecuteStatement", 1), ("UPDATE", 1)]),
        (delete(OTHER), vec![("BatchExecuteStatement", 2), ("DELETE", 1), ("UPDATE", 1)]),
    ] {
        let before = service.calls();
        zones.carry(&registry, "z", group).await.unwrap();
        let cost: Vec<(String, usize)> = since(&service, &before).into_iter().collect();
        let expected: Vec<(String, usize)> = expected.into_iter().map(|(name, n)| (name.to_owned(), n)).collect();
        assert_eq!(cost, expected);
    }
    // Many rows go in batches of 25.
    let many: Vec<Group> = (0..60).map(|i| create(&format!("n{i}.example A 192.0.2.1"))).collect();
    let before = service.calls();
    let answers = registry.prepare(&zones.zone("z"), many).await;
    assert!(answers.iter().all(Result::is_ok));
    assert_eq!(since(&service, &before).get("BatchExecuteStatement"), Some(&3));
}

#[tokio::test]
async fn another_resource_and_label_go_into_the_row() {
    let service = service();
    let registry = loaded(&service, "me").await;
    let mut zones = Zones::new(&["z"]);
    zones.carry(&registry, "z", create(WWW)).await.unwrap();
    let change = Change::Update { from: set(WWW), to: set(OTHER) };
    let labels = vec![("zonewright-policy".into(), "retain".into())];
    let step = Step { labels, ..Step::record(change, Some("ingress/ns/web".into())) };
    zones.carry(&registry, "z", Group::of(step, vec![])).await.unwrap();
    let expected = "www.example#A# me resource=ingress/ns/web zonewright-policy=retain zonewright-zones=z";
    assert_eq!(shown(&service), [expected]);
    let later = loaded(&service, "me").await;
    let claim = zones.whose(&later, "z", OTHER).claim().cloned().unwrap();
    assert_eq!((claim.resource.as_deref(), claim.label("zonewright-policy")), (Some("ingress/ns/web"), Some("retain")));
    assert_eq!(claim.labels.len(), 1, "marks are no labels: {:?}", claim.labels);
}

#[tokio::test]
async fn claims_change_hands_while_the_record_stays() {
    let service = service();
    let (mine, theirs) = (loaded(&service, "me").await, loaded(&service, "other").await);
    let mut zones = Zones::new(&["z"]);
    zones.put("z", set(WWW));
    let zone = zones.zone("z");
    let take = OwnershipChange::Take(Some(RESOURCE.into()));
    let give = OwnershipChange::Give(theirs.owner().unwrap().clone());
    for (change, expected) in [(&take, vec![settled("me")]), (&give, vec![settled("other")])] {
        let group = mine.assign(&zone, &set(WWW), change, &zones).unwrap().unwrap();
        assert!(group.changes_nothing(), "{change:?}");
        zones.hand_over(&mine, "z", group).await.unwrap();
        assert_eq!(shown(&service), expected, "{change:?}");
        assert_eq!(mine.assign(&zone, &set(WWW), change, &zones), Ok(None), "it is so already");
    }
    for change in [&take, &OwnershipChange::Disown] {
        let reason = mine.assign(&zone, &set(WWW), change, &zones).unwrap_err();
        assert!(reason.reason.contains("belongs to another owner"), "{}", reason.reason);
    }
    theirs.load().await.unwrap();
    let group = theirs.assign(&zone, &set(WWW), &OwnershipChange::Disown, &zones).unwrap().unwrap();
    zones.hand_over(&theirs, "z", group).await.unwrap();
    assert_eq!(shown(&service), Vec::<String>::new());
    assert_eq!(zones.all("z").len(), 1, "the record stays");
}

#[tokio::test]
async fn a_handover_that_met_another_owner_does_nothing() {
    let service = service();
    let mine = loaded(&service, "me").await;
    let mut zones = Zones::new(&["z"]);
    zones.put("z", set(WWW));
    let take = mine.assign(&zones.zone("z"), &set(WWW), &OwnershipChange::Take(None), &zones).unwrap().unwrap();
    service.put(TABLE, row("www.example#A#", "other"));
    let reason = zones.hand_over(&mine, "z", take).await.unwrap_err();
    assert!(reason.contains("www.example#A#"), "{reason}");
    assert_eq!(shown(&service), ["www.example#A# other resource=service/ns/old"]);
}

#[tokio::test]
async fn a_lost_answer_takes_no_right_and_blocks_nothing_for_long() {
    let service = service();
    let registry = loaded(&service, "me").await;
    let mut zones = Zones::new(&["z"]);
    service.fail("BatchExecuteStatement", Fault::AnswerLost, 1);
    let reason = zones.open(&registry, "z", create(WWW)).await.unwrap_err();
    assert!(reason.contains("InternalServerError"), "{reason}");
    zones.put("z", set(OTHER));
    registry.load().await.unwrap();
    assert!(!zones.is_ours(&registry, "z", OTHER));
    zones.take("z", OTHER);
    zones.carry(&registry, "z", create(WWW)).await.unwrap();
    assert_eq!(shown(&service), [settled("me")]);
}
