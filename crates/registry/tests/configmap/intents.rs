//! What is noted before a write, and what becomes of the note.

use std::sync::Arc;

use serde_json::json;
use zonewright_core::change::{Group, Outcome};
use zonewright_core::claim::Ownership;
use zonewright_core::registry::{ClaimStore as _, Registry};
use zonewright_core::testing::documents::{Fault, MemoryDocuments};
use zonewright_core::{Error, ErrorKind};
use zonewright_registry::configmap::{ConfigMapRegistry, LONGEST};

use crate::start;
use crate::support::{
    self, Zones, announce, audit, carry, create, delete, is_ours, ownership, prepare, record, records, refusal, update,
};

#[tokio::test]
async fn an_intent_stands_before_the_call_and_is_confirmed_after_it() {
    let (store, registry) = start();
    let mut zones = Zones::new(&[]);
    audit(&registry, &zones).await;
    let ready = announce(&registry, &zones, vec![create("a.org A 192.0.2.1")]).await;
    let digest = zonewright_core::intent::digest(&support::set("a.org A 192.0.2.1"));
    assert_eq!(record(&store, "a.org").unwrap()["intent"], json!(digest));
    assert_eq!(ownership(&registry, &zones, "a.org A"), Ownership::Unclaimed, "nothing stands yet");
    zones.put("a.org A 192.0.2.7");
    assert_eq!(ownership(&registry, &zones, "a.org A"), Ownership::Unclaimed, "something else stands");
    zones.put("a.org A 192.0.2.1");
    assert!(is_ours(&registry, &zones, "a.org A"), "what was announced stands");
    registry.commit(&zones.zone, &ready, &[Outcome::Applied]).await.unwrap();
    assert_eq!(record(&store, "a.org").unwrap().get("intent"), None);
}

#[tokio::test]
async fn a_refused_write_leaves_no_intent() {
    let (store, registry) = start();
    let mut zones = Zones::new(&[]);
    audit(&registry, &zones).await;
    carry(&registry, &mut zones, vec![create("c.org A 192.0.2.3")]).await;
    let groups = vec![create("a.org A 192.0.2.1"), delete("c.org A 192.0.2.3")];
    let ready = announce(&registry, &zones, groups).await;
    assert!(record(&store, "c.org").unwrap()["intent"].is_string());
    registry.commit(&zones.zone, &ready, &[refusal(), refusal()]).await.unwrap();
    assert_eq!(record(&store, "a.org"), None);
    assert_eq!(record(&store, "c.org").unwrap().get("intent"), None);
    zones.put("c.org A 192.0.2.99");
    assert!(is_ours(&registry, &zones, "c.org A"), "the claim on it is as it was before the delete");
}

#[tokio::test]
async fn a_lost_answer_leaves_the_intent_until_the_next_reading() {
    let (store, registry) = start();
    let mut zones = Zones::new(&[]);
    audit(&registry, &zones).await;
    let groups = ["a", "b", "c"].map(|n| create(&format!("{n}.org A 192.0.2.1"))).to_vec();
    let ready = announce(&registry, &zones, groups).await;
    let lost = || Outcome::Unknown(Error::new(ErrorKind::Timeout, "apply", "no answer"));
    registry.commit(&zones.zone, &ready, &[lost(), lost(), lost()]).await.unwrap();
    assert!(record(&store, "a.org").unwrap()["intent"].is_string());
    zones.put("a.org A 192.0.2.1");
    zones.put("b.org A 192.0.2.66");
    audit(&registry, &zones).await;
    assert!(is_ours(&registry, &zones, "a.org A"));
    assert_eq!(record(&store, "a.org").unwrap().get("intent"), None, "confirmed");
    assert_eq!(record(&store, "b.org").unwrap()["owner"], "", "foreign");
    // A reading may lag behind the write: the third one that does not show the record decides.
    assert!(record(&store, "c.org").unwrap()["intent"].is_string());
    for _ in 0..2 {
        audit(&registry, &zones).await;
    }
    assert_eq!(record(&store, "c.org"), None);
}

#[tokio::test]
async fn what_cannot_be_announced_is_not_sent() {
    for fault in [Fault::Before, Fault::After] {
        let (store, registry) = start();
        let mut zones = Zones::new(&[]);
        audit(&registry, &zones).await;
        store.fail([fault]);
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
        let (store, registry) = start();
        let mut zones = Zones::new(&[]);
        audit(&registry, &zones).await;
        let ready = announce(&registry, &zones, vec![create("a.org A 192.0.2.1")]).await;
        zones.put("a.org A 192.0.2.1");
        store.fail([fault]);
        assert!(registry.commit(&zones.zone, &ready, &[Outcome::Applied]).await.is_err());
        assert!(is_ours(&registry, &zones, "a.org A"));
        audit(&registry, &zones).await;
        assert_eq!(record(&store, "a.org").unwrap().get("intent"), None, "{fault:?}");
    }
}

/// A listing that lacks its end, or lags, shows nothing where our record stands. What is announced over it then must not lose
/// the claim, whatever becomes of the write.
#[tokio::test]
async fn a_create_over_a_record_that_no_reading_shows_keeps_its_claim() {
    let (store, registry) = start();
    let mut zones = Zones::new(&[]);
    carry(&registry, &mut zones, vec![create("a.org A 192.0.2.1")]).await;
    audit(&registry, &Zones::new(&[])).await;
    let ready = announce(&registry, &zones, vec![create("a.org A 192.0.2.2")]).await;
    assert!(is_ours(&registry, &zones, "a.org A"), "it stands as it was");
    let restarted = support::registry(&store, LONGEST);
    restarted.load().await.unwrap();
    assert!(is_ours(&restarted, &zones, "a.org A"), "also for the next process");
    registry.commit(&zones.zone, &ready, &[refusal()]).await.unwrap();
    assert!(is_ours(&registry, &zones, "a.org A"));
    zones.put("a.org A 192.0.2.66");
    assert!(!is_ours(&registry, &zones, "a.org A"), "nothing speaks for another record there");
}

/// An entry has room for one announcement beside the record as it stands.
#[tokio::test]
async fn a_create_waits_until_it_is_known_what_became_of_an_update() {
    let (_, registry) = start();
    let mut zones = Zones::new(&[]);
    carry(&registry, &mut zones, vec![create("a.org A 192.0.2.1")]).await;
    let other = |line: &str| {
        let group = update("a.org A 192.0.2.1", line);
        let step = group.steps[0].clone();
        let step = zonewright_core::change::Step { resource: Some("service/ns/other".into()), ..step };
        Group::of(step, vec![])
    };
    let ready = announce(&registry, &zones, vec![other("a.org A 192.0.2.2")]).await;
    let lost = Outcome::Unknown(Error::new(ErrorKind::Timeout, "apply", "no answer"));
    registry.commit(&zones.zone, &ready, &[lost]).await.unwrap();
    audit(&registry, &Zones::new(&[])).await;
    let answer = prepare(&registry, &zones, vec![create("a.org A 192.0.2.3")]).await.remove(0);
    let (_, dropped) = answer.unwrap_err();
    assert_eq!(dropped.reason, "what became of an earlier write of a.org A is not known yet");
    for line in ["a.org A 192.0.2.1", "a.org A 192.0.2.2"] {
        zones.put(line);
        assert!(is_ours(&registry, &zones, "a.org A"), "{line}");
    }
    audit(&registry, &zones).await;
    zones.sets.clear();
    assert!(
        prepare(&registry, &zones, vec![create("a.org A 192.0.2.3")]).await.remove(0).is_ok(),
        "a reading showed it"
    );
}

/// Two processes of one owner announce the same record; the one that is refused leaves the other one's claim alone.
#[tokio::test]
async fn what_another_process_has_confirmed_is_not_taken_back() {
    let (store, registry) = start();
    let mut zones = Zones::new(&[]);
    audit(&registry, &zones).await;
    let ready = announce(&registry, &zones, vec![create("a.org A 192.0.2.1")]).await;
    let twin = support::registry(&store, LONGEST);
    audit(&twin, &zones).await;
    carry(&twin, &mut zones, vec![create("a.org A 192.0.2.1")]).await;
    registry.commit(&zones.zone, &ready, &[refusal()]).await.unwrap();
    for registry in [&registry as &dyn Registry, &twin, &support::registry(&store, LONGEST)] {
        registry.load().await.unwrap();
        assert!(is_ours(registry, &zones, "a.org A"));
    }
}

/// What is announced rests on what the entry said. Where another writer changes that in the moment before it is written, nothing
/// is.
#[tokio::test]
async fn an_entry_that_changed_meanwhile_is_not_written_over() {
    let (store, registry) = start();
    let mut zones = Zones::new(&[]);
    carry(&registry, &mut zones, vec![create("a.org A 192.0.2.1")]).await;
    audit(&registry, &zones).await;
    let theirs = store.document("me-registry").unwrap();
    let theirs = zonewright_core::documents::Document { text: "[]".to_owned(), ..theirs };
    store.overtake("me-registry", theirs);
    let answer = prepare(&registry, &zones, vec![delete("a.org A 192.0.2.1")]).await.remove(0);
    let (_, dropped) = answer.unwrap_err();
    assert!(dropped.reason.contains("another writer changed its entry"), "{}", dropped.reason);
    assert_eq!(record(&store, "a.org"), None);
}

/// One process takes a record away, another one makes the very same again: each has its own word in the object.
#[tokio::test]
async fn what_another_process_announces_in_the_same_words_stays_announced() {
    let (store, registry) = start();
    let mut zones = Zones::new(&[]);
    let line = "a.org A 192.0.2.1";
    carry(&registry, &mut zones, vec![create(line)]).await;
    let twin = support::registry(&store, LONGEST);
    audit(&twin, &zones).await;
    let going = prepare(&twin, &zones, vec![delete(line)]).await.remove(0).unwrap();
    zones.sets.clear();
    registry.load().await.unwrap();
    let coming = prepare(&registry, &zones, vec![create(line)]).await.remove(0).unwrap();
    twin.commit(&zones.zone, &[going], &[Outcome::Applied]).await.unwrap();
    zones.put(line);
    assert!(is_ours(&fresh(&store).await, &zones, "a.org A"), "a process that dies here strands nothing");
    registry.commit(&zones.zone, &[coming], &[Outcome::Applied]).await.unwrap();
    assert!(is_ours(&fresh(&store).await, &zones, "a.org A"));
    assert_eq!(record(&store, "a.org").unwrap().get("by"), None);
}

async fn fresh(
    store: &std::sync::Arc<zonewright_core::testing::documents::MemoryDocuments>,
) -> zonewright_registry::configmap::ConfigMapRegistry {
    let registry = support::registry(store, LONGEST);
    registry.load().await.unwrap();
    registry
}

/// What was carried out and could not be noted does not overwrite what another writer made of the object since.
#[tokio::test]
async fn a_note_that_comes_late_does_not_bring_back_what_was_taken_away() {
    let (store, registry) = start();
    let mut zones = Zones::new(&[]);
    carry(&registry, &mut zones, vec![create("a.org A 192.0.2.1")]).await;
    let groups = vec![update("a.org A 192.0.2.1", "a.org A 192.0.2.2")];
    let ready = announce(&registry, &zones, groups).await;
    zones.put("a.org A 192.0.2.2");
    store.fail([Fault::Before]);
    assert!(registry.commit(&zones.zone, &ready, &[Outcome::Applied]).await.is_err());
    store.edit("me-registry", None);
    // Whatever is written next takes along what is still to be written.
    carry(&registry, &mut zones, vec![create("b.org A 192.0.2.2")]).await;
    assert!(!is_ours(&registry, &zones, "a.org A") && !is_ours(&fresh(&store).await, &zones, "a.org A"));
    assert!(is_ours(&registry, &zones, "b.org A"));

    // The same where an entry goes before the outcome is known.
    carry(&registry, &mut zones, vec![create("c.org A 192.0.2.2")]).await;
    let groups = vec![update("b.org A 192.0.2.2", "b.org A 192.0.2.3")];
    let ready = announce(&registry, &zones, groups).await;
    zones.put("b.org A 192.0.2.3");
    let document = store.document("me-registry").unwrap();
    let left: Vec<_> = records(&store, "me-registry").into_iter().filter(|entry| entry["dnsname"] != "b.org").collect();
    let text = serde_json::to_string(&left).unwrap();
    store.edit("me-registry", Some(zonewright_core::documents::Document { text, ..document }));
    registry.load().await.unwrap();
    registry.commit(&zones.zone, &ready, &[Outcome::Applied]).await.unwrap();
    assert!(!is_ours(&registry, &zones, "b.org A") && !is_ours(&fresh(&store).await, &zones, "b.org A"));
}

/// A record that was made, and the note on it, which waits for a second group.
struct Waiting {
    store: Arc<MemoryDocuments>,
    registry: ConfigMapRegistry,
    zones: Zones,
    /// The group of each.
    ready: Vec<Group>,
}

async fn a_note_that_waits() -> Waiting {
    let (store, registry) = start();
    let mut zones = Zones::new(&[]);
    let groups = vec![create("a.org A 192.0.2.1"), create("b.org A 192.0.2.1")];
    let ready = announce(&registry, &zones, groups).await;
    zones.put("a.org A 192.0.2.1");
    registry.commit(&zones.zone, &ready[..1], &[Outcome::Applied]).await.unwrap();
    assert!(record(&store, "a.org").unwrap()["intent"].is_string(), "the other one is still under way");
    Waiting { store, registry, zones, ready }
}

/// At the end of a process nothing waits for company any more.
#[tokio::test]
async fn what_waits_for_company_is_written_by_a_commit_of_nothing() {
    let Waiting { store, registry, zones, .. } = a_note_that_waits().await;
    registry.commit(&zones.zone, &[], &[]).await.unwrap();
    assert!(record(&store, "a.org").unwrap()["intent"].is_null());
    assert!(record(&store, "b.org").unwrap()["intent"].is_string(), "what is under way stays so");
}

/// A note that waits for company is written before the record is changed again: until then the object speaks for the record
/// as it was announced.
#[tokio::test]
async fn a_note_is_written_before_its_record_changes_again() {
    let Waiting { store, registry, mut zones, .. } = a_note_that_waits().await;
    let change = prepare(&registry, &zones, vec![update("a.org A 192.0.2.1", "a.org A 192.0.2.2")]).await;
    assert!(change[0].is_ok());
    assert_eq!(record(&store, "a.org").unwrap().get("intent"), None);
    zones.put("a.org A 192.0.2.2");
    assert!(is_ours(&fresh(&store).await, &zones, "a.org A"));
}

/// What an object says already needs no writing to be announced: a record is to go whose note waits for company.
#[tokio::test]
async fn what_stands_as_it_is_to_be_announced_is_announced() {
    let Waiting { store, registry, zones, ready } = a_note_that_waits().await;
    let writes = store.calls().1;
    let group = prepare(&registry, &zones, vec![delete("a.org A 192.0.2.1")]).await.remove(0).unwrap();
    assert_eq!(store.calls().1, writes, "it is announced already");
    assert!(record(&store, "a.org").unwrap()["intent"].is_string());
    // It was not sent.
    registry
        .commit(&zones.zone, &[group], &[Outcome::NotSent(Error::new(ErrorKind::Unavailable, "", ""))])
        .await
        .unwrap();
    registry.commit(&zones.zone, &ready[1..], &[Outcome::Applied]).await.unwrap();
    assert_eq!(record(&store, "a.org").unwrap().get("intent"), None);
}

/// A note that waits for company is not lost when the next change of its record cannot be announced.
#[tokio::test]
async fn a_note_outlives_a_change_that_is_refused() {
    let Waiting { store, registry, zones, ready } = a_note_that_waits().await;
    // The second one would be announced in the place of the note, and may have been.
    let targets = update("a.org A 192.0.2.1", "a.org A 192.0.2.2");
    let mut resource = targets.clone();
    resource.steps.iter_mut().for_each(|step| step.resource = Some("service/ns/other".into()));
    for change in [targets, resource] {
        for fault in [Fault::Before, Fault::After] {
            store.fail([fault]);
            assert!(prepare(&registry, &zones, vec![change.clone()]).await.remove(0).is_err());
        }
    }
    registry.commit(&zones.zone, &ready[1..], &[Outcome::Applied]).await.unwrap();
    assert_eq!(record(&store, "a.org").unwrap().get("intent"), None);
    assert_eq!(record(&store, "a.org").unwrap().get("next"), None);
    audit(&registry, &zones).await;
    assert!(is_ours(&fresh(&store).await, &zones, "a.org A"));
}
