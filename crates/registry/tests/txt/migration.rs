//! Taking over the claims of a former owner.

use crate::support::{World, decorate, key, registry, registry_with, verdict};
use proptest::prelude::*;
use zonewright_core::claim::{OwnerId, judge};
use zonewright_core::registry::ClaimFormat as _;
use zonewright_registry::txt::TxtRegistry;

fn migrating() -> TxtRegistry {
    registry_with(|config| config.migrate_from = OwnerId::new("old"))
}

fn check(zones: &str, change: &str, expected: &[&str]) {
    let mut world = World::new(zones);
    let results = decorate(&migrating(), &world, &[change]);
    assert_eq!(verdict(&results[0]), expected, "{change} in {zones}");
    if let Ok(group) = &results[0] {
        world.apply(group);
    }
}

#[test]
fn changes_rewrite_the_claim_of_the_former_owner() {
    let update = "~ www.ex.com A 192.0.2.2 [r]";
    for (claims, change, expected) in [
        ("a-www.ex.com TXT !old:r", update, vec!["~ a-www.ex.com TXT !me:r (was !old:r)"]),
        ("a-www.ex.com TXT !old:r", "- www.ex.com A", vec!["- a-www.ex.com TXT !old:r"]),
        ("a-www.ex.com TXT !me:r", update, vec!["= a-www.ex.com TXT !me:r"]),
        // Both names in one set are one owner; what else stands there stays.
        ("a-www.ex.com TXT !old:r ; !me:r", update, vec!["~ a-www.ex.com TXT !me:r (was !me:r ; !old:r)"]),
        ("a-www.ex.com TXT !old:r ; x", update, vec!["~ a-www.ex.com TXT !me:r ; x (was !old:r ; x)"]),
        // An old-format claim is left as it is, as ever.
        ("www.ex.com TXT !old:r", update, vec!["+ a-www.ex.com TXT !me:r", "= www.ex.com TXT !old:r"]),
        (
            "a-www.ex.com TXT !me\nwww.ex.com TXT !old",
            "- www.ex.com A",
            vec!["- www.ex.com TXT !old", "- a-www.ex.com TXT !me"],
        ),
        // Others are others.
        (
            "a-www.ex.com TXT !older:r",
            update,
            vec!["dropped: www.ex.com A belongs to another owner: older at a-www.ex.com"],
        ),
        (
            "a-www.ex.com TXT !old ; !other",
            update,
            vec![
                "dropped: www.ex.com A is claimed by several owners: me at a-www.ex.com; other at a-www.ex.com; it is left \
                 alone until one claim is removed",
            ],
        ),
    ] {
        check(&format!("zone ex.com\nwww.ex.com A 192.0.2.1\n{claims}"), change, &expected);
    }
    check(
        "zone ex.com\na-www.ex.com TXT !old:r",
        "+ www.ex.com A 192.0.2.1 [r]",
        &["~ a-www.ex.com TXT !me:r (was !old:r)"],
    );
}

#[test]
fn a_record_that_stays_has_its_claim_rewritten_alone() {
    for (zones, record, expected) in [
        (
            "zone ex.com\nwww.ex.com A 192.0.2.1\na-www.ex.com TXT !old:r,external-dns/z=1",
            "www.ex.com A",
            vec!["~ a-www.ex.com TXT !me:r,external-dns/z=1 (was !old:r,external-dns/z=1)", "= www.ex.com A 192.0.2.1"],
        ),
        (
            "zone ex.com\nwww.ex.com A@eu 192.0.2.1\na-www.ex.com TXT@eu !old",
            "www.ex.com A@eu",
            vec!["~ a-www.ex.com TXT (eu) !me (was !old)", "= www.ex.com A (eu) 192.0.2.1"],
        ),
        (
            "zone ex.com\nwww.ex.com A 192.0.2.1\nwww.ex.com TXT !old",
            "www.ex.com A",
            vec!["+ a-www.ex.com TXT !me", "= www.ex.com A 192.0.2.1", "= www.ex.com TXT !old"],
        ),
        (
            "zone sub.ex.com\nsub.ex.com A 192.0.2.1\nzone ex.com\na-sub.ex.com TXT !old:r",
            "sub.ex.com A",
            vec!["+ a-_apex.sub.ex.com TXT !me:r", "= sub.ex.com A 192.0.2.1"],
        ),
        ("zone ex.com\nwww.ex.com A 192.0.2.1\na-www.ex.com TXT !me", "www.ex.com A", vec![]),
        ("zone ex.com\nwww.ex.com A 192.0.2.1\na-www.ex.com TXT !older", "www.ex.com A", vec![]),
        ("zone ex.com\nwww.ex.com A 192.0.2.1\na-www.ex.com TXT !old ; !other", "www.ex.com A", vec![]),
    ] {
        let mut world = World::new(zones);
        let set = world.record(&key(record));
        let claims = migrating().claims(world.zone(), &set.key, &world);
        let group = migrating().upgrade(world.zone(), &set, &world);
        let ours = judge(&claims, migrating().owner());
        assert_eq!(
            group.is_some(),
            ours.claim().is_some_and(|claim| !claim.current),
            "offered where it is done: {zones}"
        );
        let Some(group) = group else {
            assert!(expected.is_empty(), "{zones}");
            continue;
        };
        assert_eq!(verdict(&Ok(group.clone())), expected, "{zones}");
        world.apply(&group);
        assert_eq!(migrating().upgrade(world.zone(), &set, &world), None, "once is enough");
        if zones.starts_with("zone sub") {
            // The claim in the other zone cannot be part of the batch: it keeps its text, and the flag is still needed.
            continue;
        }
        // Without the flag it is ours from then on.
        assert!(judge(&registry("", "", "").claims(world.zone(), &set.key, &world), migrating().owner()).is_ours());
    }
}

#[test]
fn what_nobody_asks_for_is_retained_until_the_claim_is_ours() {
    for (claims, policy) in [
        ("a-www.ex.com TXT !old:r", Some("retain")),
        ("www.ex.com TXT !old:r", Some("retain")),
        ("a-www.ex.com TXT !old:r,external-dns/zonewright-policy=frozen", Some("frozen")),
        ("a-www.ex.com TXT !me:r", None),
        ("a-www.ex.com TXT !old:r ; !me:r", None),
    ] {
        let world = World::new(&format!("zone ex.com\nwww.ex.com A 192.0.2.1\n{claims}"));
        for claim in migrating().claims(world.zone(), &key("www.ex.com A"), &world) {
            assert_eq!(claim.label("zonewright-policy"), policy, "{claims}");
        }
    }
}

#[test]
fn a_former_name_that_is_todays_changes_nothing() {
    let same = registry_with(|config| config.migrate_from = OwnerId::new("me"));
    let world = World::new("zone ex.com\nwww.ex.com A 192.0.2.1\na-www.ex.com TXT !me:r");
    assert_eq!(same.upgrade(world.zone(), &world.record(&key("www.ex.com A")), &world), None);
    assert_eq!(same.claims(world.zone(), &key("www.ex.com A"), &world)[0].label("zonewright-policy"), None);
}

#[test]
fn sealed_claims_move_too() {
    let sealed = |owner: &str, former| {
        registry_with(|config| {
            config.owner = OwnerId::new(owner).unwrap();
            config.aes_key = Some("01234567890123456789012345678901".to_owned().into());
            config.encrypt = true;
            config.migrate_from = former;
        })
    };
    let mut world = World::new("zone ex.com");
    let old = decorate(&sealed("old", None), &world, &["+ www.ex.com A 192.0.2.1 [r]"]).remove(0).unwrap();
    world.apply(&old);
    let group = sealed("me", OwnerId::new("old")).upgrade(world.zone(), &world.record(&key("www.ex.com A")), &world);
    world.apply(&group.expect("a claim to rewrite"));
    let claims = sealed("me", None).claims(world.zone(), &key("www.ex.com A"), &world);
    assert_eq!((claims[0].owner.as_str(), claims[0].resource.as_deref()), ("me", Some("r")));
    assert!(!world.record(&key("a-www.ex.com TXT")).data.to_string().contains("heritage"));
}

proptest! {
    #[test]
    fn only_claims_of_the_two_names_are_touched(
        owners in prop::collection::vec(prop::sample::select(vec!["me", "old", "other", "Old", "ol"]), 1..3),
        change in prop::sample::select(vec!["~ www.ex.com A 192.0.2.2 [r]", "- www.ex.com A"]),
    ) {
        let claims: Vec<String> = owners.iter().map(|owner| format!("!{owner}:r")).collect();
        let world = World::new(&format!("zone ex.com\nwww.ex.com A 192.0.2.1\na-www.ex.com TXT {}", claims.join(" ; ")));
        let ours = owners.iter().all(|owner| ["me", "old"].contains(owner));
        let result = decorate(&migrating(), &world, &[change]).remove(0);
        prop_assert_eq!(result.is_ok(), ours);
        let upgrade = migrating().upgrade(world.zone(), &world.record(&key("www.ex.com A")), &world);
        prop_assert_eq!(upgrade.is_some(), ours && owners.contains(&"old"));
        for group in result.ok().into_iter().chain(upgrade) {
            prop_assert!(world.holds(&group));
        }
    }
}
