//! What must never happen: a right out of nothing, a foreign text overwritten, a record without a claim.

use zonewright_core::change::{Change, Role};
use zonewright_core::claim::Ownership;
use zonewright_core::{RecordKey, RecordSet, RecordType};

use super::{A, CLAIMED, both};
use crate::provider::specimen;
use crate::registry::Harness;
use crate::registry::zone_pair::{RESOURCE, Stopped, ZonePair, create, group, other, set};

/// Where another owner's claim stands on a record that is gone, nothing is created and the reason is reported.
pub async fn where_their_claim_stands_nothing_is_created(harness: &dyn Harness) {
    let Some((ours, theirs)) = both(harness) else { return };
    for (name, rtype) in CLAIMED {
        let mut pair = ZonePair::new();
        let wanted = set(name, *rtype);
        pair.carry(theirs, create(&wanted)).await.unwrap_or_else(|e| panic!("{wanted}: {e}"));
        pair.take(&wanted.key);
        let before = pair.all();
        let done = pair.carry(ours, create(&wanted)).await;
        assert!(matches!(done, Err(Stopped::Dropped(_))), "{wanted} was created under a foreign claim: {done:?}");
        assert_eq!(pair.all(), before);
        assert_eq!(Some(pair.ownership(ours, &wanted.key)), theirs.owner().cloned().map(Ownership::Foreign));
    }
}

/// Where our claim stands and the record is gone, the record alone comes back, and only while the claim stands.
pub async fn a_lost_record_comes_back_under_its_claim(harness: &dyn Harness) {
    let Some((ours, _)) = both(harness) else { return };
    for (name, rtype) in CLAIMED {
        let mut pair = ZonePair::new();
        let wanted = set(name, *rtype);
        pair.carry(ours, create(&wanted)).await.unwrap_or_else(|e| panic!("{wanted}: {e}"));
        let whole = pair.all();
        pair.take(&wanted.key);
        let site = pair.ownership(ours, &wanted.key).claim().and_then(|claim| claim.site.clone());
        let again = pair.decorate(ours, create(&wanted)).await.unwrap_or_else(|e| panic!("{wanted} again: {e}"));
        if let Some((_, site)) = site {
            let mut without = pair.clone();
            without.take(&site.key);
            let late = without.send(ours, again.clone()).await;
            assert!(matches!(late, Err(Stopped::Refused(_))), "{wanted} came back without its claim: {late:?}");
        }
        pair.send(ours, again).await.unwrap_or_else(|e| panic!("{wanted} again: {e}"));
        assert_eq!(pair.all(), whole);
        assert!(pair.ownership(ours, &wanted.key).is_ours());
    }
}

/// A foreign text where the claim would stand stays as it is.
pub async fn foreign_text_is_never_overwritten(harness: &dyn Harness) {
    let Some((ours, _)) = both(harness) else { return };
    for (name, rtype) in CLAIMED {
        let wanted = set(name, *rtype);
        let mut scratch = ZonePair::new();
        scratch.carry(ours, create(&wanted)).await.unwrap_or_else(|e| panic!("{wanted}: {e}"));
        for claim in scratch.all().into_iter().filter(|set| set.key != wanted.key) {
            let mut pair = ZonePair::new();
            let theirs = specimen::set(&claim.key.name, RecordType::Txt, 300, &["\"v=spf1 -all\""]);
            let theirs = RecordSet { key: claim.key.clone(), ..theirs };
            pair.put(theirs.clone());
            let done = pair.carry(ours, create(&wanted)).await;
            assert!(pair.all().contains(&theirs), "{theirs} was overwritten");
            let owned = pair.ownership(ours, &wanted.key).is_ours();
            assert_eq!(done.is_ok(), owned, "{wanted} stands without a claim, or a claim without it: {done:?}");
        }
        // The registry may keep something of the first pair: take it away again.
        let delete = group([Change::Delete { from: wanted.clone() }], RESOURCE);
        scratch.carry(ours, delete).await.unwrap_or_else(|e| panic!("delete of {wanted}: {e}"));
    }
}

/// A name that leaves no room for a claim is refused with the reason; it is never created without one.
pub async fn long_names_are_claimed_or_refused(harness: &dyn Harness) {
    let Some((ours, _)) = both(harness) else { return };
    let deep = vec!["x".repeat(59); 4].join(".");
    for name in ["x".repeat(63), "x".repeat(60), format!("*.{}", "x".repeat(63)), deep] {
        for rtype in [A, RecordType::Cname, RecordType::Txt] {
            let mut pair = ZonePair::new();
            let name = format!("{name}.example.test");
            let Ok(parsed) = zonewright_core::DnsName::parse(&name) else { continue };
            let wanted = specimen::set(&parsed, rtype, 300, specimen::of_type(rtype).1);
            match pair.carry(ours, create(&wanted)).await {
                Ok(_) => assert!(pair.ownership(ours, &wanted.key).is_ours(), "{wanted} stands without a claim"),
                Err(Stopped::Dropped(_)) => assert_eq!(pair.all(), [], "{wanted} was dropped, yet something stands"),
                Err(refused) => panic!("{wanted}: {refused:?}"),
            }
        }
    }
}

/// Everything that a group changes lies in the zone of its record.
pub async fn claims_stand_inside_the_zone(harness: &dyn Harness) {
    let Some((ours, _)) = both(harness) else { return };
    for (name, rtype) in CLAIMED {
        let mut pair = ZonePair::new();
        let wanted = set(name, *rtype);
        let zone = pair.zone_of(&wanted.key.name);
        let done = pair.carry(ours, create(&wanted)).await.unwrap_or_else(|e| panic!("{wanted}: {e}"));
        for change in done.changes() {
            let belongs = pair.zone_of(&change.key().name);
            assert_eq!(belongs.key, zone.key, "{change} belongs to another zone than {wanted}");
        }
    }
}

/// The names of a targeted read cover every place that a claim is read from.
pub async fn a_targeted_read_covers_the_claims(harness: &dyn Harness) {
    let Some((ours, _)) = both(harness) else { return };
    let mut pair = ZonePair::new();
    for (name, rtype) in CLAIMED {
        let wanted = set(name, *rtype);
        pair.carry(ours, create(&wanted)).await.unwrap_or_else(|e| panic!("{wanted}: {e}"));
        let names = ours.claim_names(&pair.zone_of(&wanted.key.name), &wanted.key);
        let site = pair.ownership(ours, &wanted.key).claim().and_then(|claim| claim.site.clone());
        if let Some((_, site)) = site {
            assert!(names.contains(&site.key.name), "{} is not among {names:?}", site.key.name);
        }
    }
}

/// Equal input gives equal output, and the records of a group stay as they are.
pub async fn decorating_is_pure_and_keeps_the_records(harness: &dyn Harness) {
    let ours = harness.ours();
    let pair = ZonePair::new();
    for (name, rtype) in CLAIMED {
        let wanted = create(&set(name, *rtype));
        let (once, twice) = (pair.decorate(ours, wanted.clone()).await, pair.decorate(ours, wanted.clone()).await);
        let (Ok(once), Ok(twice)) = (once, twice) else { panic!("{name} {rtype} cannot be claimed in an empty zone") };
        assert_eq!(once, twice, "equal input");
        let records: Vec<&Change> = once.records().map(|step| &step.change).collect();
        assert_eq!(records, wanted.changes().collect::<Vec<_>>(), "the records of {name} have changed");
        assert_eq!((&once.name, &once.objects), (&wanted.name, &wanted.objects));
        for step in once.steps.iter().filter(|step| step.role == Role::Claim) {
            let changed = step.change.to().or(step.change.from());
            assert!(changed.is_some_and(|set| ours.is_claim(set)), "{} is no claim", step.change);
        }
    }
    let zone = pair.zone_of(&set("www.example.test", A).key.name);
    let many: Vec<_> = (0..5).map(|i| create(&set(&format!("n{i}.example.test"), A))).collect();
    let names: Vec<_> = many.iter().map(|group| group.name.clone()).collect();
    let answers = ours.decorate(&zone, many, &pair).into_iter().map(|answer| match answer {
        Ok(group) | Err((group, _)) => group.name,
    });
    assert_eq!(answers.collect::<Vec<_>>(), names, "one answer for each group, in order");
}

/// A group that the zone refused gives no right to what stands there.
pub async fn a_refused_group_gives_no_right(harness: &dyn Harness) {
    let Some((ours, _)) = both(harness) else { return };
    for (name, rtype) in CLAIMED {
        let mut pair = ZonePair::new();
        let wanted = set(name, *rtype);
        let group = pair.decorate(ours, create(&wanted)).await.unwrap_or_else(|e| panic!("{wanted}: {e}"));
        let foreign = other(&wanted);
        pair.put(foreign.clone());
        let done = pair.send(ours, group).await;
        assert!(done.is_err(), "{wanted} was created over {foreign}");
        let key: &RecordKey = &foreign.key;
        assert!(!pair.ownership(ours, key).is_ours(), "{key} is ours after a refusal");
        assert_eq!(pair.all(), [foreign], "what was refused left something behind");
    }
}
