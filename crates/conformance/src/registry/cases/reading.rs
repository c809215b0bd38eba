//! Whose is it? What is written is read, and nothing else.

use zonewright_core::claim::Ownership;
use zonewright_core::record::SetId;
use zonewright_core::registry::Registry;
use zonewright_core::{RData, RecordSet, RecordType};

use super::{A, CLAIMED, both};
use crate::provider::specimen;
use crate::registry::Harness;
use crate::registry::zone_pair::{RESOURCE, ZonePair, create, labels, parse, set};
use crate::run::note;

/// A registry without claims counts everything as ours and changes no group.
pub async fn without_claims_everything_is_ours(harness: &dyn Harness) {
    let registry = harness.ours();
    if registry.owner().is_some() {
        return note("the registry keeps claims");
    }
    assert!(harness.theirs().is_none(), "a registry without claims knows no other owner");
    let mut pair = ZonePair::new();
    for (name, rtype) in CLAIMED {
        let wanted = set(name, *rtype);
        assert_eq!(pair.ownership(registry, &wanted.key), Ownership::Ours(None));
        let done = pair.carry(registry, create(&wanted)).await;
        assert!(matches!(&done, Ok(group) if *group == create(&wanted)), "{wanted}: {done:?}");
    }
    assert!(!pair.all().iter().any(|set| registry.is_claim(set)), "an ordinary record counts as a claim");
}

async fn claimed(pair: &mut ZonePair, registry: &dyn Registry, wanted: &RecordSet) {
    let done = pair.carry(registry, create(wanted)).await;
    assert!(done.is_ok(), "{wanted} was not created: {done:?}");
}

/// What decorate writes is read back as ours, with resource and labels; the other owner reads it as ours too.
pub async fn what_is_written_is_read_as_ours(harness: &dyn Harness) {
    let Some((ours, theirs)) = both(harness) else { return };
    let mut pair = ZonePair::new();
    for (name, rtype) in CLAIMED {
        claimed(&mut pair, ours, &set(name, *rtype)).await;
    }
    theirs.load().await.unwrap_or_else(|e| panic!("load: {e:?}"));
    for (name, rtype) in CLAIMED {
        let key = set(name, *rtype).key;
        let owned = pair.ownership(ours, &key);
        let claim = owned.claim().unwrap_or_else(|| panic!("{key} is {owned:?}; expected ours"));
        assert_eq!(claim.resource.as_deref(), Some(RESOURCE), "{key}");
        assert_eq!(claim.labels, labels(), "{key}");
        assert!(claim.current, "{key}: the claim stands where it would not be written today");
        let seen = pair.ownership(theirs, &key);
        assert_eq!(Some(&seen), ours.owner().cloned().map(Ownership::Foreign).as_ref(), "{key}");
    }
    let claims = pair.all().into_iter().filter(|set| ours.is_claim(set)).count();
    let records = pair.all().len() - claims;
    assert_eq!(records, CLAIMED.len(), "records and claims are distinguished");
}

/// What the other owner claims is foreign.
pub async fn their_claim_is_theirs(harness: &dyn Harness) {
    let Some((ours, theirs)) = both(harness) else { return };
    let mut pair = ZonePair::new();
    for (name, rtype) in CLAIMED {
        claimed(&mut pair, theirs, &set(name, *rtype)).await;
    }
    ours.load().await.unwrap_or_else(|e| panic!("load: {e:?}"));
    for (name, rtype) in CLAIMED {
        let key = set(name, *rtype).key;
        let expected = theirs.owner().cloned().map(Ownership::Foreign);
        assert_eq!(Some(pair.ownership(ours, &key)), expected, "{key}");
    }
    for set in pair.all().iter().filter(|set| theirs.is_claim(set)) {
        assert!(ours.is_claim(set), "their claim {set} counts as an ordinary record");
    }
}

/// A record without a claim is nobody's, whatever texts stand around it.
pub async fn what_nobody_claims_is_not_ours(harness: &dyn Harness) {
    let Some((ours, _)) = both(harness) else { return };
    let mut pair = ZonePair::new();
    ours.load().await.unwrap_or_else(|e| panic!("load: {e:?}"));
    for (name, rtype) in CLAIMED {
        pair.put(set(name, *rtype));
    }
    for (name, rtype) in CLAIMED {
        let key = set(name, *rtype).key;
        assert_eq!(pair.ownership(ours, &key), Ownership::Unclaimed, "{key}");
    }
    for text in ["\"v=spf1 -all\"", "\"hello\"", "\"heritage=of-mankind\"", "\"\"", "\"owner=me\""] {
        let plain = specimen::set(&parse("www.example.test"), RecordType::Txt, 300, &[text]);
        assert!(!ours.is_claim(&plain), "{text} counts as a claim");
    }
}

/// A claim on one type says nothing about the other types of the name.
pub async fn a_claim_on_one_type_is_none_on_another(harness: &dyn Harness) {
    let Some((ours, _)) = both(harness) else { return };
    for (mine, others) in [
        (A, [RecordType::Aaaa, RecordType::Txt, RecordType::Mx, RecordType::Srv]),
        (RecordType::Aaaa, [A, RecordType::Txt, RecordType::Cname, RecordType::Ns]),
        (RecordType::Txt, [A, RecordType::Aaaa, RecordType::Mx, RecordType::Ns]),
    ] {
        let mut pair = ZonePair::new();
        claimed(&mut pair, ours, &set(&format!("{}.types.example.test", mine.lower()), mine)).await;
        for rtype in others {
            let foreign = set(&format!("{}.types.example.test", mine.lower()), rtype);
            pair.put(foreign.clone());
            let whose = pair.ownership(ours, &foreign.key);
            assert!(!whose.is_ours(), "a claim on {mine} makes {rtype} ours");
        }
    }
}

/// A claim on one set says nothing about the other sets of the name and type.
pub async fn a_claim_on_one_set_is_none_on_another(harness: &dyn Harness) {
    let Some((ours, _)) = both(harness) else { return };
    let of = |id: &str, data: &str| {
        let mut set = set("sets.example.test", A);
        set.key.set_id = SetId::new(id);
        let data = RData::parse(A, data).unwrap_or_else(|e| panic!("the suite's own data: {e}"));
        RecordSet { data: zonewright_core::RecordData::records([data]), ..set }
    };
    let mut pair = ZonePair::new();
    claimed(&mut pair, ours, &of("eu", "192.0.2.1")).await;
    pair.put(of("us", "192.0.2.2"));
    assert!(pair.ownership(ours, &of("eu", "192.0.2.1").key).is_ours(), "the set that was claimed");
    assert!(!pair.ownership(ours, &of("us", "192.0.2.2").key).is_ours(), "its neighbour");
}
