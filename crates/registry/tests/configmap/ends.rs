//! Claims whose records are gone: when they end, and when it is the reading that is doubted.

use zonewright_core::change::{Change, Group, Outcome, Step};
use zonewright_core::claim::judge;
use zonewright_core::record::{AliasTarget, RecordData, Routing, SetId};
use zonewright_core::registry::{ClaimFormat as _, ClaimStore as _};
use zonewright_core::{ErrorKind, RecordKey, RecordSet};
use zonewright_registry::configmap::LONGEST;

use crate::start;
use crate::support::{self, Zones, announce, audit, carry, create, delete, is_ours, prepare, record, records};

#[tokio::test]
async fn a_record_that_is_gone_is_claimed_only_as_it_was_and_then_not_at_all() {
    let (store, registry) = start();
    let mut zones = Zones::new(&[]);
    carry(&registry, &mut zones, vec![create("a.org A 192.0.2.1")]).await;
    zones.sets.clear();
    audit(&registry, &zones).await;
    zones.put("a.org A 192.0.2.66");
    assert!(!is_ours(&registry, &zones, "a.org A"), "a foreign record at the same name");
    zones.sets.clear();
    for _ in 0..3 {
        audit(&registry, &zones).await;
    }
    assert_eq!(record(&store, "a.org"), None);
    zones.put("a.org A 192.0.2.1");
    assert!(!is_ours(&registry, &zones, "a.org A"));
}

/// The claims on a few records that are gone end; where very many are missing it is the reading that is doubted.
#[tokio::test]
async fn a_claim_ends_after_three_readings_without_its_record_unless_most_are_missing() {
    // Our records, those missing, and whether the claims on these end.
    for (owned, missing, ends) in [(1, 1, true), (20, 20, true), (21, 21, false), (300, 30, true), (300, 31, false)] {
        let about = format!("{missing} of {owned}");
        let (store, registry) = start();
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
        assert_eq!(records(&store, "me-registry").len(), owned, "{about}: a reading may lag behind");
        for _ in 0..4 {
            audit(&registry, &zones).await;
        }
        let listed = if ends { owned - missing } else { owned };
        assert_eq!(records(&store, "me-registry").len(), listed, "{about}");
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
    let (store, registry) = start();
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
    let ready = announce(&registry, &zones, groups).await;
    assert!(ready.iter().all(Group::changes_nothing), "nothing is sent");
    let outcomes: Vec<Outcome> = ready.iter().map(|_| Outcome::Applied).collect();
    registry.commit(&zones.zone, &ready, &outcomes).await.unwrap();
    let restarted = support::registry(&store, LONGEST);
    audit(&restarted, &zones).await;
    let owned = |line: &str| is_ours(&restarted, &zones, line);
    assert_eq!(lines.map(owned), [true, false, true]);
    assert!(!owned("d.org A 192.0.2.4") && restarted.leftovers(&zones.zone, &zones).is_empty());
    assert_eq!(records(&store, "me-registry").len(), 3, "a, c, and the one of nobody");
}

/// Deletes that a killed process had announced and carried out are no reason to doubt a reading.
#[tokio::test]
async fn deletes_that_were_cut_off_leave_no_claims() {
    let (store, registry) = start();
    let mut zones = Zones::new(&[]);
    let lines: Vec<String> = (0..60).map(|number| format!("n{number}.org A 192.0.2.1")).collect();
    carry(&registry, &mut zones, lines.iter().map(|line| create(line)).collect()).await;
    let ready = prepare(&registry, &zones, lines[..50].iter().map(|line| delete(line)).collect()).await;
    assert!(ready.iter().all(Result::is_ok));
    lines[..50].iter().for_each(|line| drop(zones.sets.remove(&support::set(line).key)));
    let restarted = support::registry(&store, LONGEST);
    for _ in 0..3 {
        audit(&restarted, &zones).await;
    }
    assert_eq!(records(&store, "me-registry").len(), 10);
    assert!(lines[50..].iter().all(|line| is_ours(&restarted, &zones, line)));
}

/// A reading that is doubted stays so over a restart.
#[tokio::test]
async fn doubt_survives_a_restart() {
    let (store, registry) = start();
    let mut zones = Zones::new(&[]);
    let lines: Vec<String> = (0..30).map(|number| format!("n{number}.org A 192.0.2.1")).collect();
    carry(&registry, &mut zones, lines.iter().map(|line| create(line)).collect()).await;
    let empty = Zones::new(&[]);
    audit(&registry, &empty).await;
    let restarted = support::registry(&store, LONGEST);
    for _ in 0..6 {
        audit(&restarted, &empty).await;
    }
    audit(&restarted, &zones).await;
    assert!(lines.iter().all(|line| is_ours(&restarted, &zones, line)));
}

/// An alias, or a name that a routing policy chooses: its entry says what it was as well, for the next process.
#[tokio::test]
async fn a_reading_without_an_alias_or_a_routed_name_ends_no_claim_after_a_restart() {
    let routing = Routing::Weighted { weight: 10 };
    let alias = AliasTarget { target: "lb.example".into(), zone: None, evaluate_health: false };
    let key = |key: RecordKey| RecordKey { set_id: SetId::new("blue"), ..key };
    let (a, cname) = (support::set("a.org A 192.0.2.1"), support::set("a.org CNAME lb.example"));
    for set in [
        RecordSet { key: key(a.key.clone()), data: RecordData::Alias(alias), routing: routing.clone(), ..a },
        RecordSet { key: key(cname.key.clone()), routing, ..cname },
    ] {
        let (store, registry) = start();
        let mut zones = Zones::new(&[]);
        let step = Step::record(Change::Create { to: set.clone() }, None);
        carry(&registry, &mut zones, vec![Group::of(step, vec![])]).await;
        audit(&registry, &zones).await;
        assert_eq!(record(&store, "a.org").unwrap()["policy"], "weighted:10", "{set}");
        let restarted = support::registry(&store, LONGEST);
        audit(&restarted, &Zones::new(&[])).await;
        let claims = restarted.claims(&zones.zone, &set.key, &zones);
        assert!(judge(&claims, restarted.owner()).is_ours(), "{set}");
    }
}
