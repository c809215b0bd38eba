//! The ConfigMap registry over a shelf in memory: what the object shows, and what happens when it is touched.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod shards;
mod support;

use std::sync::Arc;

use serde_json::json;
use zonewright_core::change::{Group, Outcome};
use zonewright_core::claim::Ownership;
use zonewright_core::registry::Registry;
use zonewright_core::shelf::{Fault, MemoryShelf};
use zonewright_core::{Error, ErrorKind};
use zonewright_registry::configmap::LONGEST;

use support::{
    Zones, audit, carry, create, delete, edit, is_ours, ownership, prepare, record, records, refusal, registry, update,
};

fn start() -> (Arc<MemoryShelf>, impl Registry) {
    let shelf = Arc::new(MemoryShelf::default());
    let registry = registry(&shelf, LONGEST);
    (shelf, registry)
}

#[tokio::test]
async fn the_object_lists_all_records_as_the_proposal_shows_them() {
    let (shelf, registry) = start();
    let mut zones = Zones::new(&["unmanaged.org CNAME loadbalancer2.com", "two.org A 192.0.2.1 192.0.2.2"]);
    audit(&registry, &zones).await;
    carry(&registry, &mut zones, vec![create("foo.org A 192.0.2.9")]).await;
    let shown = json!([
        { "dnsname": "foo.org", "owner": "me", "target": "192.0.2.9", "type": "A", "zone": "sim/org", "resource": "service/ns/web" },
        { "dnsname": "two.org", "owner": "", "target": "192.0.2.1;192.0.2.2", "type": "A", "zone": "sim/org", "targets": ["192.0.2.1", "192.0.2.2"] },
        { "dnsname": "unmanaged.org", "owner": "", "target": "loadbalancer2.com", "type": "CNAME", "zone": "sim/org" },
    ]);
    assert_eq!(json!(records(&shelf, "me-registry")), shown);
}

#[tokio::test]
async fn what_did_not_change_is_not_written() {
    let (shelf, registry) = start();
    let mut zones = Zones::new(&["a.org A 192.0.2.1"]);
    audit(&registry, &zones).await;
    carry(&registry, &mut zones, vec![create("b.org A 192.0.2.2")]).await;
    audit(&registry, &zones).await;
    let (_, writes) = shelf.calls();
    for _ in 0..3 {
        audit(&registry, &zones).await;
    }
    let (reads, _) = shelf.calls();
    registry.load().await.unwrap();
    registry.resync(&zones.zone, &zones, false).await.unwrap();
    assert_eq!(shelf.calls(), (reads + 1, writes), "one list, and nothing else");
    zones.put("a.org A 192.0.2.7");
    audit(&registry, &zones).await;
    assert_eq!(record(&shelf, "a.org").unwrap()["target"], "192.0.2.7");
    let restarted = support::registry(&shelf, LONGEST);
    let (_, writes) = shelf.calls();
    audit(&restarted, &zones).await;
    assert_eq!(shelf.calls().1, writes, "a restart writes nothing");
}

#[tokio::test]
async fn an_intent_stands_before_the_call_and_is_confirmed_after_it() {
    let (shelf, registry) = start();
    let mut zones = Zones::new(&[]);
    audit(&registry, &zones).await;
    let ready = prepare(&registry, &zones, vec![create("a.org A 192.0.2.1")]).await;
    let ready: Vec<Group> = ready.into_iter().map(Result::unwrap).collect();
    let digest = zonewright_core::intent::digest(&support::set("a.org A 192.0.2.1"));
    assert_eq!(record(&shelf, "a.org").unwrap()["intent"], json!(digest));
    assert_eq!(ownership(&registry, &zones, "a.org A"), Ownership::Unclaimed, "nothing stands yet");
    zones.put("a.org A 192.0.2.7");
    assert_eq!(ownership(&registry, &zones, "a.org A"), Ownership::Unclaimed, "something else stands");
    zones.put("a.org A 192.0.2.1");
    assert!(is_ours(&registry, &zones, "a.org A"), "what was announced stands");
    registry.commit(&zones.zone, &ready, &[Outcome::Applied]).await.unwrap();
    assert_eq!(record(&shelf, "a.org").unwrap().get("intent"), None);
}

#[tokio::test]
async fn a_refused_write_leaves_no_intent() {
    let (shelf, registry) = start();
    let mut zones = Zones::new(&[]);
    audit(&registry, &zones).await;
    carry(&registry, &mut zones, vec![create("c.org A 192.0.2.3")]).await;
    let groups = vec![create("a.org A 192.0.2.1"), delete("c.org A 192.0.2.3")];
    let ready: Vec<Group> = prepare(&registry, &zones, groups).await.into_iter().map(Result::unwrap).collect();
    assert!(record(&shelf, "c.org").unwrap()["intent"].is_string());
    registry.commit(&zones.zone, &ready, &[refusal(), refusal()]).await.unwrap();
    assert_eq!(record(&shelf, "a.org"), None);
    assert_eq!(record(&shelf, "c.org").unwrap().get("intent"), None);
    zones.put("c.org A 192.0.2.99");
    assert!(is_ours(&registry, &zones, "c.org A"), "the claim on it is as it was before the delete");
}

#[tokio::test]
async fn a_lost_answer_leaves_the_intent_until_the_next_reading() {
    let (shelf, registry) = start();
    let mut zones = Zones::new(&[]);
    audit(&registry, &zones).await;
    let groups = ["a", "b", "c"].map(|n| create(&format!("{n}.org A 192.0.2.1"))).to_vec();
    let ready: Vec<Group> = prepare(&registry, &zones, groups).await.into_iter().map(Result::unwrap).collect();
    let lost = || Outcome::Unknown(Error::new(ErrorKind::Timeout, "apply", "no answer"));
    registry.commit(&zones.zone, &ready, &[lost(), lost(), lost()]).await.unwrap();
    assert!(record(&shelf, "a.org").unwrap()["intent"].is_string());
    zones.put("a.org A 192.0.2.1");
    zones.put("b.org A 192.0.2.66");
    audit(&registry, &zones).await;
    assert!(is_ours(&registry, &zones, "a.org A"));
    assert_eq!(record(&shelf, "a.org").unwrap().get("intent"), None, "confirmed");
    assert_eq!(record(&shelf, "b.org").unwrap()["owner"], "", "somebody else's");
    // A reading may lag behind the write: the third one that does not show the record decides.
    assert!(record(&shelf, "c.org").unwrap()["intent"].is_string());
    for _ in 0..2 {
        audit(&registry, &zones).await;
    }
    assert_eq!(record(&shelf, "c.org"), None);
}

#[tokio::test]
async fn a_record_that_is_gone_is_claimed_only_as_it_was_and_then_not_at_all() {
    let (shelf, registry) = start();
    let mut zones = Zones::new(&[]);
    carry(&registry, &mut zones, vec![create("a.org A 192.0.2.1")]).await;
    zones.sets.clear();
    audit(&registry, &zones).await;
    zones.put("a.org A 192.0.2.66");
    assert!(!is_ours(&registry, &zones, "a.org A"), "somebody else's record at the same name");
    zones.sets.clear();
    for _ in 0..3 {
        audit(&registry, &zones).await;
    }
    assert_eq!(record(&shelf, "a.org"), None);
    zones.put("a.org A 192.0.2.1");
    assert!(!is_ours(&registry, &zones, "a.org A"));
}

#[tokio::test]
async fn an_owner_edited_by_hand_is_respected_at_once() {
    let (shelf, registry) = start();
    let mut zones = Zones::new(&[]);
    carry(&registry, &mut zones, vec![create("a.org A 192.0.2.1"), create("b.org A 192.0.2.2")]).await;
    audit(&registry, &zones).await;
    edit(&shelf, "me-registry", |text| text.replacen("\"owner\":\"me\"", "\"owner\":\"other\"", 1));
    for group in [update("a.org A 192.0.2.1", "a.org A 192.0.2.9"), delete("a.org A 192.0.2.1")] {
        let answer = prepare(&registry, &zones, vec![group]).await.remove(0);
        let (_, dropped) = answer.unwrap_err();
        assert!(dropped.reason.contains("a.org A belongs to owner other"), "{}", dropped.reason);
    }
    let news = audit(&registry, &zones).await;
    assert_eq!(news.iter().map(zonewright_core::DnsName::as_str).collect::<Vec<_>>(), ["a.org"], "planned again");
    assert_eq!(record(&shelf, "a.org").unwrap()["owner"], "other", "what was noted by hand stays");
    assert!(is_ours(&registry, &zones, "b.org A"));
}

#[tokio::test]
async fn an_edit_between_intent_and_commit_is_not_written_over() {
    let (shelf, registry) = start();
    let mut zones = Zones::new(&[]);
    carry(&registry, &mut zones, vec![create("a.org A 192.0.2.1")]).await;
    let groups = vec![update("a.org A 192.0.2.1", "a.org A 192.0.2.2")];
    let ready: Vec<Group> = prepare(&registry, &zones, groups).await.into_iter().map(Result::unwrap).collect();
    edit(&shelf, "me-registry", |text| text.replace("\"owner\":\"me\"", "\"owner\":\"other\""));
    zones.put("a.org A 192.0.2.2");
    registry.commit(&zones.zone, &ready, &[Outcome::Applied]).await.unwrap();
    assert_eq!(record(&shelf, "a.org").unwrap()["owner"], "other");
    assert!(!is_ours(&registry, &zones, "a.org A"));
}

#[tokio::test]
async fn another_writer_is_met_and_nothing_is_lost() {
    let (shelf, registry) = start();
    let mut zones = Zones::new(&[]);
    shelf.fail([Fault::Conflict, Fault::Conflict]);
    audit(&registry, &zones).await;
    shelf.fail([Fault::Conflict, Fault::None, Fault::Conflict]);
    carry(&registry, &mut zones, vec![create("a.org A 192.0.2.1")]).await;
    assert!(record(&shelf, "a.org").unwrap().get("intent").is_none());
    let twin = support::registry(&shelf, LONGEST);
    twin.load().await.unwrap();
    carry(&twin, &mut zones, vec![create("b.org A 192.0.2.2")]).await;
    carry(&registry, &mut zones, vec![create("c.org A 192.0.2.3")]).await;
    assert_eq!(records(&shelf, "me-registry").len(), 3);
    shelf.fail([Fault::Conflict; 20]);
    let answer = prepare(&registry, &zones, vec![create("d.org A 192.0.2.4")]).await.remove(0);
    let (_, dropped) = answer.unwrap_err();
    assert!(dropped.reason.contains("somebody else changed it each of 8 times"), "{}", dropped.reason);
}

#[tokio::test]
async fn what_cannot_be_announced_is_not_sent() {
    for fault in [Fault::Before, Fault::After] {
        let (shelf, registry) = start();
        let mut zones = Zones::new(&[]);
        audit(&registry, &zones).await;
        shelf.fail([fault]);
        let answer = prepare(&registry, &zones, vec![create("a.org A 192.0.2.1")]).await.remove(0);
        assert!(answer.is_err(), "{fault:?}");
        zones.put("a.org A 192.0.2.66");
        registry.load().await.unwrap();
        assert!(!is_ours(&registry, &zones, "a.org A"), "{fault:?}");
        zones.sets.clear();
        carry(&registry, &mut zones, vec![create("a.org A 192.0.2.1")]).await;
        assert!(is_ours(&registry, &zones, "a.org A"), "{fault:?}");
    }
}

#[tokio::test]
async fn a_note_that_failed_is_made_up_for() {
    for fault in [Fault::Before, Fault::After] {
        let (shelf, registry) = start();
        let mut zones = Zones::new(&[]);
        audit(&registry, &zones).await;
        let ready = prepare(&registry, &zones, vec![create("a.org A 192.0.2.1")]).await;
        let ready: Vec<Group> = ready.into_iter().map(Result::unwrap).collect();
        zones.put("a.org A 192.0.2.1");
        shelf.fail([fault]);
        assert!(registry.commit(&zones.zone, &ready, &[Outcome::Applied]).await.is_err());
        assert!(is_ours(&registry, &zones, "a.org A"));
        audit(&registry, &zones).await;
        assert_eq!(record(&shelf, "a.org").unwrap().get("intent"), None, "{fault:?}");
    }
}

#[tokio::test]
async fn a_damaged_object_stops_everything_and_is_named() {
    let (shelf, registry) = start();
    let mut zones = Zones::new(&[]);
    carry(&registry, &mut zones, vec![create("a.org A 192.0.2.1")]).await;
    let whole = shelf.document("me-registry").unwrap();
    let check = async |change: &dyn Fn(String) -> String, expected: &str| {
        edit(&shelf, "me-registry", change);
        for registry in [&registry as &dyn Registry, &support::registry(&shelf, LONGEST)] {
            let error = registry.load().await.unwrap_err();
            assert_eq!(error.kind, ErrorKind::Invalid);
            assert!(error.context.starts_with("memory document me-registry: "), "{error}");
            assert!(error.context.contains(expected), "{error}");
            let answer = prepare(registry, &zones, vec![delete("a.org A 192.0.2.1")]).await.remove(0);
            assert!(answer.is_err(), "something is planned on a damaged object");
        }
        shelf.edit("me-registry", Some(whole.clone()));
    };
    check(&|_| "{".to_owned(), "data.records: expected a JSON list").await;
    check(&|_| String::new(), "data.records: expected a JSON list").await;
    check(&|text| text.replace("a.org", "a..org"), "data.records[0]: dnsname: found \"a..org\"").await;
    check(&|text| text.replace("\"owner\":\"me\",", ""), "data.records[0]: missing field `owner`").await;
    let mut foreign = whole.clone();
    foreign.notes.insert("owner".to_owned(), "other".to_owned());
    shelf.edit("me-registry", Some(foreign));
    let error = registry.load().await.unwrap_err();
    assert!(error.context.contains("owner: found \"other\", expected \"me\""), "{error}");
    shelf.edit("me-registry", Some(whole.clone()));
    audit(&registry, &zones).await;
    assert!(is_ours(&registry, &zones, "a.org A"), "put right, all is well again");
}

#[tokio::test]
async fn a_bad_entry_of_somebody_else_does_not_stop_us() {
    let (shelf, registry) = start();
    let mut zones = Zones::new(&["b.org A 192.0.2.2"]);
    audit(&registry, &zones).await;
    carry(&registry, &mut zones, vec![create("a.org A 192.0.2.1")]).await;
    edit(&shelf, "me-registry", |text| text.replace("\"b.org\"", "\"b..org\""));
    audit(&registry, &zones).await;
    assert!(is_ours(&registry, &zones, "a.org A"));
    assert_eq!(record(&shelf, "b.org").unwrap()["owner"], "", "and it is put right");
}

#[tokio::test]
async fn with_the_object_go_its_claims_and_nothing_else() {
    let (shelf, registry) = start();
    let mut zones = Zones::new(&[]);
    carry(&registry, &mut zones, vec![create("a.org A 192.0.2.1")]).await;
    shelf.edit("me-registry", None);
    let answer = prepare(&registry, &zones, vec![delete("a.org A 192.0.2.1")]).await.remove(0);
    assert!(answer.is_err(), "nobody claims it any more");
    assert_eq!(audit(&registry, &zones).await.len(), 1, "the name is planned again");
    assert_eq!(ownership(&registry, &zones, "a.org A"), Ownership::Unclaimed);
    assert_eq!(record(&shelf, "a.org").unwrap()["owner"], "", "the list is made anew");
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
    let (shelf, registry) = start();
    let mut zones = Zones::new(&[]);
    audit(&registry, &zones).await;
    let piece = |from: usize| (from..from + 50).map(|n| create(&format!("n{n}.org A 192.0.2.1"))).collect::<Vec<_>>();
    let (_, before) = shelf.calls();
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
    assert_eq!(shelf.calls().1 - before, 4, "one write for each piece, and one at the end");
    assert!(records(&shelf, "me-registry").iter().all(|record| record.get("intent").is_none()));
    assert_eq!(records(&shelf, "me-registry").len(), 150);
}

/// The claims on a few records that are gone end; where very many are missing it is the reading that is doubted.
#[tokio::test]
async fn a_claim_ends_after_three_readings_without_its_record_unless_most_are_missing() {
    // Our records, those missing, and whether the claims on these end.
    for (owned, missing, ends) in [(1, 1, true), (20, 20, true), (21, 21, false), (300, 30, true), (300, 31, false)] {
        let about = format!("{missing} of {owned}");
        let (shelf, registry) = start();
        let mut zones = Zones::new(&[]);
        let lines: Vec<String> = (0..owned).map(|number| format!("n{number}.org A 192.0.2.1")).collect();
        carry(&registry, &mut zones, lines.iter().map(|line| create(line)).collect()).await;
        let gone = &lines[..missing];
        for line in gone {
            zones.sets.remove(&support::set(line).key);
        }
        for _ in 0..2 {
            audit(&registry, &zones).await;
        }
        assert_eq!(records(&shelf, "me-registry").len(), owned, "{about}: a reading may lag behind");
        for _ in 0..4 {
            audit(&registry, &zones).await;
        }
        let listed = if ends { owned - missing } else { owned };
        assert_eq!(records(&shelf, "me-registry").len(), listed, "{about}");
        // What others put there is theirs; ours is ours if it comes to light as it was.
        zones.put("n0.org A 192.0.2.99");
        gone.iter().skip(1).for_each(|line| zones.put(line));
        audit(&registry, &zones).await;
        assert!(!is_ours(&registry, &zones, "n0.org A"), "{about}");
        let back = gone.iter().filter(|line| is_ours(&registry, &zones, line)).count();
        assert_eq!(back, if ends { 0 } else { missing - 1 }, "{about}");
    }
}

#[tokio::test]
async fn an_owner_that_leaves_ends_claims_without_a_record() {
    let (shelf, registry) = start();
    let mut zones = Zones::new(&["foreign.org A 192.0.2.9"]);
    let lines = ["a.org A 192.0.2.1", "b.org A 192.0.2.2", "c.org A 192.0.2.3"];
    carry(&registry, &mut zones, lines.iter().map(|line| create(line)).collect()).await;
    // One is gone since; of another it is not known whether it was ever written.
    let begun = prepare(&registry, &zones, vec![create("d.org A 192.0.2.4")]).await.remove(0).unwrap();
    let lost = Outcome::Unknown(zonewright_core::Error::new(ErrorKind::Timeout, "apply", "no answer"));
    registry.commit(&zones.zone, &[begun], &[lost]).await.unwrap();
    zones.sets.remove(&support::set(lines[1]).key);
    let groups = registry.leftovers(&zones.zone, &zones);
    let names: Vec<String> = groups.iter().map(|group| group.name.to_string()).collect();
    assert_eq!(names, ["b.org", "d.org"]);
    let ready: Vec<Group> = prepare(&registry, &zones, groups).await.into_iter().map(Result::unwrap).collect();
    assert!(ready.iter().all(Group::changes_nothing), "nothing is sent");
    let outcomes: Vec<Outcome> = ready.iter().map(|_| Outcome::Applied).collect();
    registry.commit(&zones.zone, &ready, &outcomes).await.unwrap();
    let restarted = support::registry(&shelf, LONGEST);
    audit(&restarted, &zones).await;
    let owned = |line: &str| is_ours(&restarted, &zones, line);
    assert_eq!(lines.map(owned), [true, false, true]);
    assert!(!owned("d.org A 192.0.2.4") && restarted.leftovers(&zones.zone, &zones).is_empty());
    assert_eq!(records(&shelf, "me-registry").len(), 3, "a, c, and the one of nobody");
}

/// Deletes that a killed process had announced and carried out are no reason to doubt a reading.
#[tokio::test]
async fn deletes_that_were_cut_off_leave_no_claims() {
    let (shelf, registry) = start();
    let mut zones = Zones::new(&[]);
    let lines: Vec<String> = (0..60).map(|number| format!("n{number}.org A 192.0.2.1")).collect();
    carry(&registry, &mut zones, lines.iter().map(|line| create(line)).collect()).await;
    let ready = prepare(&registry, &zones, lines[..50].iter().map(|line| delete(line)).collect()).await;
    assert!(ready.iter().all(Result::is_ok));
    lines[..50].iter().for_each(|line| drop(zones.sets.remove(&support::set(line).key)));
    let restarted = support::registry(&shelf, LONGEST);
    for _ in 0..3 {
        audit(&restarted, &zones).await;
    }
    assert_eq!(records(&shelf, "me-registry").len(), 10);
    assert!(lines[50..].iter().all(|line| is_ours(&restarted, &zones, line)));
}

/// A reading that is doubted stays so over a restart.
#[tokio::test]
async fn doubt_survives_a_restart() {
    let (shelf, registry) = start();
    let mut zones = Zones::new(&[]);
    let lines: Vec<String> = (0..30).map(|number| format!("n{number}.org A 192.0.2.1")).collect();
    carry(&registry, &mut zones, lines.iter().map(|line| create(line)).collect()).await;
    let empty = Zones::new(&[]);
    audit(&registry, &empty).await;
    let restarted = support::registry(&shelf, LONGEST);
    for _ in 0..6 {
        audit(&restarted, &empty).await;
    }
    audit(&restarted, &zones).await;
    assert!(lines.iter().all(|line| is_ours(&restarted, &zones, line)));
}
