//! Writes that were begun and not finished, and claims that change hands.

use crate::moving::{NONE, moving};
use crate::support::{World, decorate, key, record, registry, verdict};
use zonewright_core::claim::{Ownership, judge};
use zonewright_core::intent::Intent;
use zonewright_core::rdata::Txt;
use zonewright_core::registry::{ClaimFormat as _, OwnershipChange, StaleClaims};
use zonewright_core::{RData, RecordSet};

/// The intent of `owner` for a record, at the name of a claim.
fn intent(at: &str, announced: &str, owner: &str) -> RecordSet {
    let claim = format!("heritage=external-dns,external-dns/owner={owner},external-dns/resource=r");
    let text = Intent::new([&record(announced)], &claim).to_string();
    let set = record(&format!("{at} TXT x"));
    RecordSet { data: zonewright_core::RecordData::records([RData::Txt(Txt::from_text(&text))]), ..set }
}

fn whose(world: &World, at: &str) -> &'static str {
    let registry = registry("", "", "");
    match judge(&registry.claims(world.zone(), &key(at), world), registry.owner()) {
        Ownership::Ours(_) => "ours",
        Ownership::Foreign(_) => "foreign",
        Ownership::Unclaimed => "unclaimed",
        Ownership::Disputed(_) => "disputed",
    }
}

fn world(zone: &str, at: &str, announced: &str, owner: &str) -> World {
    let mut world = World::new(&format!("zone ex.com\n{zone}"));
    world.put(intent(at, announced, owner));
    world
}

#[test]
fn an_intent_speaks_only_for_the_record_that_it_announced() {
    let check = |zone: &str, owner: &str, expected: &str| {
        let world = world(zone, "a-www.ex.com", "www.ex.com A 192.0.2.1", owner);
        assert_eq!(whose(&world, "www.ex.com A"), expected, "{zone}");
    };
    check("www.ex.com A 192.0.2.1", "me", "ours");
    check("www.ex.com A 192.0.2.2", "me", "unclaimed");
    check("www.ex.com A 192.0.2.1 ; 192.0.2.2", "me", "unclaimed");
    check("", "me", "unclaimed");
    check("www.ex.com A 192.0.2.1", "other", "foreign");
    check("www.ex.com A 192.0.2.2", "other", "unclaimed");
}

/// The intent of a group names all that comes or goes; each of them is judged by what stands at its own key.
#[test]
fn an_intent_of_several_records_speaks_for_each_alone() {
    let claim = "heritage=external-dns,external-dns/owner=me,external-dns/resource=r";
    let announced = [&record("www.ex.com A 192.0.2.1"), &record("www.ex.com AAAA 2001:db8::1")];
    let text = Intent::new(announced, claim).to_string();
    let data = zonewright_core::RecordData::records([RData::Txt(Txt::from_text(&text))]);
    let check = |zone: &str, expected: [&str; 2]| {
        let mut world = World::new(&format!("zone ex.com\n{zone}"));
        for at in ["a-www.ex.com TXT x", "aaaa-www.ex.com TXT x"] {
            world.put(RecordSet { data: data.clone(), ..record(at) });
        }
        assert_eq!(["www.ex.com A", "www.ex.com AAAA"].map(|at| whose(&world, at)), expected, "{zone}");
    };
    check("www.ex.com A 192.0.2.1\nwww.ex.com AAAA 2001:db8::1", ["ours", "ours"]);
    // A foreign A record came in between; our AAAA is ours still.
    check("www.ex.com A 192.0.2.9\nwww.ex.com AAAA 2001:db8::1", ["unclaimed", "ours"]);
    check("www.ex.com A 192.0.2.9\nwww.ex.com AAAA 2001:db8::9", ["unclaimed", "unclaimed"]);
    // What is not there yet may still come, as long as its group holds.
    check("www.ex.com AAAA 2001:db8::1", ["ours", "ours"]);
    check("", ["unclaimed", "unclaimed"]);
}

#[test]
fn a_write_that_was_done_is_confirmed() {
    let mut world = world("www.ex.com A 192.0.2.1", "a-www.ex.com", "www.ex.com A 192.0.2.1", "me");
    let registry = registry("", "", "");
    let standing = world.record(&key("www.ex.com A"));
    let group = registry.upgrade(world.zone(), &standing, &world).expect("there is something to do");
    world.apply(&group);
    assert_eq!(world.records().len(), 2);
    assert_eq!(world.record(&key("a-www.ex.com TXT")).data, record("a-www.ex.com TXT !me:r").data);
    assert_eq!(registry.upgrade(world.zone(), &standing, &world), None);
    let claims = world.record(&key("a-www.ex.com TXT"));
    assert_eq!(registry.collect_stale_claims(world.zone(), &claims, StaleClaims::Claims, &world), None);
}

#[test]
fn a_void_intent_is_swept_and_one_that_holds_is_not() {
    let registry = registry("", "", "");
    for (zone, owner, swept) in [
        ("", "me", true),
        ("www.ex.com A 203.0.113.1", "me", true),
        ("www.ex.com A 192.0.2.1", "me", false),
        ("", "other", false),
    ] {
        let mut world = world(zone, "a-www.ex.com", "www.ex.com A 192.0.2.1", owner);
        let set = world.record(&key("a-www.ex.com TXT"));
        let group = registry.collect_stale_claims(world.zone(), &set, StaleClaims::Intents, &world);
        assert_eq!(group.is_some(), swept, "{zone} {owner}");
        if let Some(group) = group {
            world.apply(&group);
            assert_eq!(world.records().len(), usize::from(!zone.is_empty()));
        }
    }
}

#[test]
fn a_new_claim_takes_the_place_of_a_void_intent_of_ours() {
    let create = ["+ www.ex.com A 192.0.2.9 [r]"];
    let mut world = world("", "a-www.ex.com", "www.ex.com A 192.0.2.1", "me");
    let results = decorate(&registry("", "", ""), &world, &create);
    let Ok(group) = &results[0] else { panic!("{:?}", verdict(&results[0])) };
    world.apply(group);
    assert_eq!(world.record(&key("a-www.ex.com TXT")).data, record("a-www.ex.com TXT !me:r").data);
}

#[test]
fn the_unfinished_write_of_another_owner_is_in_the_way() {
    let world = world("", "a-www.ex.com", "www.ex.com A 192.0.2.1", "other");
    let results = decorate(&registry("", "", ""), &world, &["+ www.ex.com A 192.0.2.9 [r]"]);
    let lines = verdict(&results[0]);
    assert!(lines[0].contains("an unfinished write stands there"), "{lines:?}");
}

#[test]
fn a_delete_takes_an_intent_that_holds_along() {
    // In the old format it stands at the very name, and is no TXT record there that would need it.
    for at in ["a-www.ex.com", "www.ex.com"] {
        let mut world = world("www.ex.com A 192.0.2.1", at, "www.ex.com A 192.0.2.1", "me");
        let results = decorate(&registry("", "", ""), &world, &["- www.ex.com A"]);
        let Ok(group) = &results[0] else { panic!("{:?}", verdict(&results[0])) };
        world.apply(group);
        assert_eq!(world.records(), [], "{at}");
    }
}

/// What was begun where former settings put the claim, and says nothing of the record as it is, is what somebody makes a claim of.
#[test]
fn a_change_rests_on_what_was_begun_at_a_former_place() {
    for change in ["~ www.ex.com A 192.0.2.3 [r]", "- www.ex.com A"] {
        let zone = "www.ex.com A 192.0.2.2\nnew-a-www.ex.com TXT !me:r";
        let mut world = world(zone, "a-www.ex.com", "www.ex.com A 192.0.2.1", "me");
        let results = decorate(&moving(("new-", "", ""), &[NONE]), &world, &[change]);
        let Ok(group) = &results[0] else { panic!("{:?}", verdict(&results[0])) };
        assert!(world.holds(group), "{change}");
        world.put(record("a-www.ex.com TXT !other:r"));
        assert!(!world.holds(group), "{change}");
    }
}

#[test]
fn a_change_of_owner_changes_claims_and_no_record() {
    let give = || OwnershipChange::Give("b".parse_owner());
    let take = || OwnershipChange::Take(Some("service/ns/x".into()));
    for (zone, change, expected) in [
        ("", take(), vec!["+ a-www.ex.com TXT !me:service/ns/x", "= www.ex.com A 192.0.2.1"]),
        ("a-www.ex.com TXT !me:r", take(), vec![]),
        (
            "a-www.ex.com TXT !other",
            take(),
            vec!["dropped: www.ex.com A belongs to another owner: other at a-www.ex.com"],
        ),
        ("a-www.ex.com TXT !me:r", give(), vec!["~ a-www.ex.com TXT !b:r (was !me:r)", "= www.ex.com A 192.0.2.1"]),
        (
            "a-www.ex.com TXT !me:r ; x",
            give(),
            vec!["~ a-www.ex.com TXT !b:r ; x (was !me:r ; x)", "= www.ex.com A 192.0.2.1"],
        ),
        ("a-www.ex.com TXT !b:r", give(), vec![]),
        ("a-www.ex.com TXT !c:r", give(), vec!["dropped: www.ex.com A belongs to another owner: c at a-www.ex.com"]),
        ("", give(), vec!["dropped: www.ex.com A has no ownership record of me"]),
        // An old-format claim is replaced by one of today's form.
        (
            "www.ex.com TXT !me:r",
            give(),
            vec!["+ a-www.ex.com TXT !b:r", "- www.ex.com TXT !me:r", "= www.ex.com A 192.0.2.1"],
        ),
        (
            "a-www.ex.com TXT !me:r",
            OwnershipChange::Disown,
            vec!["- a-www.ex.com TXT !me:r", "= www.ex.com A 192.0.2.1"],
        ),
        (
            "a-www.ex.com TXT !me\nwww.ex.com TXT !me",
            OwnershipChange::Disown,
            vec!["- www.ex.com TXT !me", "- a-www.ex.com TXT !me", "= www.ex.com A 192.0.2.1"],
        ),
        ("", OwnershipChange::Disown, vec![]),
    ] {
        let mut world = World::new(&format!("zone ex.com\nwww.ex.com A 192.0.2.1\n{zone}"));
        let registry = registry("", "", "");
        let standing = world.record(&key("www.ex.com A"));
        let group = registry.assign(world.zone(), &standing, &change, &world);
        let lines = match group {
            Ok(None) => vec![],
            Ok(Some(group)) => {
                assert_eq!(group.records().count(), 0);
                world.apply(&group);
                verdict(&Ok(group))
            }
            Err(dropped) => verdict(&Err((crate::support::group(&world, "~ www.ex.com A 192.0.2.1"), dropped))),
        };
        let (mut lines, mut expected): (Vec<String>, Vec<String>) =
            (lines, expected.into_iter().map(str::to_owned).collect());
        lines.sort();
        expected.sort();
        assert_eq!(lines, expected, "{change:?} with {zone:?}");
    }
}

#[test]
fn claims_without_a_record_are_swept_where_an_owner_leaves_for_good() {
    for (registry, zone, at, gone) in [
        (registry("", "", ""), "a-www.ex.com TXT !me:r", "a-www.ex.com TXT", true),
        (registry("", "", ""), "a-www.ex.com TXT !other:r", "a-www.ex.com TXT", false),
        (registry("", "", ""), "a-www.ex.com TXT !me:r\nwww.ex.com A 192.0.2.1", "a-www.ex.com TXT", false),
        (registry("", "", ""), "a-www.ex.com TXT !me:r\nwww.ex.com AAAA ::1", "a-www.ex.com TXT", true),
        (registry("", "", ""), "www.ex.com TXT !me:r", "www.ex.com TXT", true),
        (registry("", "", ""), "www.ex.com TXT !me:r\nwww.ex.com A 192.0.2.1", "www.ex.com TXT", false),
        (registry("p-", "", ""), "p-www.ex.com TXT !me:r\nwww.ex.com A 192.0.2.1", "p-www.ex.com TXT", false),
        (registry("", "", "any"), "a-any.ex.com TXT !me:r\n*.ex.com A 192.0.2.1", "a-any.ex.com TXT", false),
        (registry("", "", ""), "a-_apex.ex.com TXT !me:r\nex.com A 192.0.2.1", "a-_apex.ex.com TXT", false),
        (registry("", "", ""), "a-_apex.ex.com TXT !me:r", "a-_apex.ex.com TXT", true),
        // It may be the claim of an alias, unless the A record has one of its own.
        (registry("", "", ""), "cname-www.ex.com TXT !me:r\nwww.ex.com A 192.0.2.1", "cname-www.ex.com TXT", false),
        (
            registry("", "", ""),
            "cname-www.ex.com TXT !me:r\na-www.ex.com TXT !me:r\nwww.ex.com A 192.0.2.1",
            "cname-www.ex.com TXT",
            true,
        ),
        // It may be the claim in the old format of a TXT record, but not of a text that is a claim itself.
        (registry("", "-zw", ""), "a-www-zw.ex.com TXT !me:r\na-www.ex.com TXT !me:r", "a-www-zw.ex.com TXT", true),
        (registry("", "-zw", ""), "a-www-zw.ex.com TXT !me:r\na-www.ex.com TXT hello", "a-www-zw.ex.com TXT", false),
    ] {
        let world = World::new(&format!("zone ex.com\n{zone}"));
        let set = world.record(&key(at));
        assert_eq!(
            registry.collect_stale_claims(world.zone(), &set, StaleClaims::Claims, &world).is_some(),
            gone,
            "{zone}"
        );
        assert_eq!(registry.collect_stale_claims(world.zone(), &set, StaleClaims::Intents, &world), None, "{zone}");
    }
}

trait ParseOwner {
    fn parse_owner(&self) -> zonewright_core::claim::OwnerId;
}

impl ParseOwner for str {
    fn parse_owner(&self) -> zonewright_core::claim::OwnerId {
        zonewright_core::claim::OwnerId::new(self).expect("an owner")
    }
}
