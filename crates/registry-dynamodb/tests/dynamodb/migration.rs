//! Claims that stand as TXT records move into the table.

use zonewright_core::change::{Change, Group, Outcome, Role, Step};
use zonewright_core::claim::Ownership;
use zonewright_core::registry::{ClaimFormat as _, ClaimStore as _, OwnershipChange, holds_claims};

use crate::support::*;

const WWW: &str = "www.example A 192.0.2.1";
const OTHER: &str = "www.example A 192.0.2.2";

fn moved(resource: &str) -> String {
    format!("www.example#A# me resource={resource} zonewright-zones=z")
}

/// A record with the TXT claim of an owner at this name.
fn zones_with(claim: &str, owner: &str) -> Zones {
    let mut zones = Zones::new(&["z"]);
    zones.put("z", set(WWW));
    zones.put("z", txt_claim(claim, owner));
    zones
}

#[tokio::test]
async fn a_record_that_stays_as_it_is_gets_its_row_and_then_loses_its_txt_claim() {
    for claim in ["a-www.example", "www.example"] {
        let service = service();
        let registry = loaded(&service, "me").await;
        let mut zones = zones_with(claim, "me");
        let owned = zones.whose(&registry, "z", WWW).claim().cloned().unwrap();
        assert_eq!((owned.resource.as_deref(), owned.current), (Some("service/ns/old"), false));
        assert!(registry.is_claim(&txt_claim(claim, "me")));
        let group = registry.upgrade(&zones.zone("z"), &set(WWW), &zones).unwrap();
        let prepared = registry.prepare(&zones.zone("z"), vec![group]).await.pop().unwrap().unwrap();
        assert_eq!(shown(&service).len(), 1, "the row stands before the TXT record goes");
        assert_eq!(prepared.records().count(), 0);
        zones.apply("z", &prepared);
        let later = loaded(&service, "me").await;
        assert!(zones.is_ours(&later, "z", WWW), "a crash here strands nothing");
        registry.commit(&zones.zone("z"), &[prepared], &[Outcome::Applied]).await.unwrap();
        assert_eq!(shown(&service), [moved("service/ns/old")], "{claim}");
        assert_eq!(zones.all("z"), ["www.example 300 A 192.0.2.1"], "{claim}");
        assert_eq!(registry.upgrade(&zones.zone("z"), &set(WWW), &zones), None);
    }
}

#[tokio::test]
async fn a_move_that_was_refused_leaves_no_row() {
    let service = service();
    let registry = loaded(&service, "me").await;
    let zones = zones_with("a-www.example", "me");
    let group = registry.upgrade(&zones.zone("z"), &set(WWW), &zones).unwrap();
    let prepared = registry.prepare(&zones.zone("z"), vec![group]).await.pop().unwrap().unwrap();
    registry.commit(&zones.zone("z"), &[prepared], &[refused()]).await.unwrap();
    assert_eq!(shown(&service), Vec::<String>::new());
    assert!(zones.is_ours(&registry, "z", WWW), "by its TXT record");
}

#[tokio::test]
async fn whatever_is_changed_moves_on_the_way() {
    let service = service();
    let registry = loaded(&service, "me").await;
    let mut zones = zones_with("a-www.example", "me");
    let group = zones.carry(&registry, "z", update(WWW, OTHER)).await.unwrap();
    let roles: Vec<Role> = group.steps.iter().map(|step| step.role).collect();
    assert_eq!(roles, [Role::Claim, Role::Record]);
    assert_eq!(shown(&service), [moved(RESOURCE)]);
    assert_eq!(zones.all("z"), ["www.example 300 A 192.0.2.2"]);
}

#[tokio::test]
async fn a_delete_takes_the_txt_claim_along_and_leaves_no_row() {
    let service = service();
    let registry = loaded(&service, "me").await;
    let mut zones = zones_with("a-www.example", "me");
    zones.carry(&registry, "z", delete(WWW)).await.unwrap();
    assert_eq!((zones.all("z"), shown(&service)), (vec![], vec![]));
}

#[tokio::test]
async fn an_old_claim_of_two_records_goes_with_the_second() {
    let service = service();
    let registry = loaded(&service, "me").await;
    let mut zones = zones_with("www.example", "me");
    let mail = "www.example MX 10_mail.example";
    zones.put("z", set(mail));
    for (record, left) in [(WWW, 3), (mail, 2)] {
        let group = registry.upgrade(&zones.zone("z"), &set(record), &zones).unwrap();
        zones.hand_over(&registry, "z", group).await.unwrap();
        assert_eq!(zones.all("z").len(), left, "after {record}");
    }
    assert_eq!(shown(&service).len(), 2);
    for record in [WWW, mail] {
        assert_eq!(registry.upgrade(&zones.zone("z"), &set(record), &zones), None, "{record}");
    }
}

#[tokio::test]
async fn txt_claims_of_others_count() {
    let service = service();
    let registry = loaded(&service, "me").await;
    let mut zones = zones_with("a-www.example", "other");
    let foreign = Ownership::Foreign(zonewright_core::claim::OwnerId::new("other").unwrap());
    assert_eq!(zones.whose(&registry, "z", WWW), foreign);
    assert_eq!(registry.upgrade(&zones.zone("z"), &set(WWW), &zones), None);
    for group in [update(WWW, OTHER), delete(WWW)] {
        let reason = zones.open(&registry, "z", group).await.unwrap_err();
        assert!(reason.contains("\"other\""), "{reason}");
    }
    zones.take("z", WWW);
    zones.open(&registry, "z", create(WWW)).await.unwrap_err();
    // Beside a row of ours it is a dispute: left alone.
    service.put(TABLE, row("www.example#A#", "me"));
    registry.load().await.unwrap();
    zones.put("z", set(WWW));
    assert!(matches!(zones.whose(&registry, "z", WWW), Ownership::Disputed(_)));
    assert_eq!(service.items(TABLE).len(), 1);
    // Who gives the claim up ends it.
    let released = registry.assign(&zones.zone("z"), &set(WWW), &OwnershipChange::Disown, &zones).unwrap();
    zones.hand_over(&registry, "z", released.unwrap()).await.unwrap();
    assert_eq!(zones.whose(&registry, "z", WWW), foreign);
    assert_eq!(service.items(TABLE).len(), 0);
}

#[tokio::test]
async fn a_row_of_ours_that_was_taken_away_does_not_come_back_by_itself() {
    let service = service();
    let registry = loaded(&service, "me").await;
    let mut zones = Zones::new(&["z"]);
    zones.carry(&registry, "z", create(WWW)).await.unwrap();
    let zone = zones.zone("z");
    let decorated = registry.decorate(&zone, vec![update(WWW, OTHER)], &zones).pop().unwrap().unwrap();
    service.remove(TABLE, "www.example#A#");
    registry.load().await.unwrap();
    let reason = registry.prepare(&zone, vec![decorated]).await.pop().unwrap().unwrap_err().1.reason;
    assert!(reason.contains("no row"), "{reason}");
    assert_eq!(shown(&service), Vec::<String>::new());
}

/// A text that an object asked for has a row of its own, whatever it says.
#[tokio::test]
async fn a_text_with_a_row_of_its_own_claims_nothing() {
    let service = service();
    let registry = loaded(&service, "me").await;
    let mut zones = zones_with("a-www.example", "me");
    assert!(zones.is_ours(&registry, "z", WWW));
    let text = txt_claim("a-www.example", "me");
    zones.take("z", "a-www.example TXT x");
    let step = Step::record(Change::Create { to: text.clone() }, Some("crd/ns/forger".into()));
    zones.carry(&registry, "z", Group::of(step, Vec::new())).await.unwrap();
    assert_eq!(zones.whose(&registry, "z", WWW), Ownership::Unclaimed);
    assert!(!holds_claims(&registry, &zones.zone("z"), &text, &zones));
    assert!(zones.is_ours(&registry, "z", "a-www.example TXT x"), "it is a record of ours");
}
