//! Claims that only the holder of a key can read.

use crate::support::{World, decorate, group, key, record, registry, registry_with, verdict};
use proptest::prelude::*;
use zonewright_core::change::{Change, Role};
use zonewright_core::claim::{Ownership, judge};
use zonewright_core::rdata::Txt;
use zonewright_core::record::RecordData;
use zonewright_core::registry::ClaimFormat as _;
use zonewright_core::{RData, RecordSet};
use zonewright_registry::txt::TxtRegistry;

const KEY: &str = "01234567890123456789012345678901";

fn with_key(aes_key: &str, encrypt: bool) -> TxtRegistry {
    registry_with(|config| {
        config.aes_key = Some(aes_key.to_owned().into());
        config.encrypt = encrypt;
    })
}

fn sealing() -> TxtRegistry {
    with_key(KEY, true)
}

fn opening() -> TxtRegistry {
    with_key(KEY, false)
}

fn other_key() -> TxtRegistry {
    with_key("another key, also of 32 bytes!!!", true)
}

/// The claim that a registry writes for `www.ex.com A` and a resource.
fn claim_of(registry: &TxtRegistry, resource: &str) -> RecordSet {
    let world = World::new("zone ex.com");
    let groups = decorate(registry, &world, &[&format!("+ www.ex.com A 192.0.2.1 [{resource}]")]);
    let group = groups.into_iter().next().and_then(Result::ok).expect("nothing is in the way");
    group.steps[1].change.to().expect("a new claim").clone()
}

fn owned_by(registry: &TxtRegistry, world: &World, record: &str) -> String {
    match judge(&registry.claims(world.zone(), &key(record), world), registry.owner()) {
        Ownership::Ours(claim) => format!("ours:{}", claim.and_then(|claim| claim.resource).unwrap_or_default()),
        Ownership::Foreign(owner) => format!("of {owner}"),
        Ownership::Disputed(owners) => format!("disputed by {}", owners.len()),
        Ownership::Unclaimed => "unclaimed".to_owned(),
    }
}

fn text(set: &RecordSet) -> String {
    set.data.to_string().trim_matches('"').to_owned()
}

const CLOSED: &str = "of unknown (its claim is encrypted, and not with the key given here)";

#[test]
fn both_forms_are_read_and_the_flag_says_which_is_written() {
    let (sealed, plain) = (claim_of(&sealing(), "r"), claim_of(&opening(), "r"));
    assert_eq!(sealed.key, key("a-www.ex.com TXT"));
    assert_eq!(text(&plain), "heritage=external-dns,external-dns/owner=me,external-dns/resource=r");
    assert!(!text(&sealed).contains("heritage"), "{sealed}");
    for (claim, registry, expected) in [
        (&sealed, sealing(), "ours:r"),
        (&sealed, opening(), "ours:r"),
        (&plain, sealing(), "ours:r"),
        (&plain, opening(), "ours:r"),
        (&plain, other_key(), "ours:r"),
        (&sealed, other_key(), CLOSED),
        (&sealed, registry("", "", ""), CLOSED),
    ] {
        let mut world = World::new("zone ex.com\nwww.ex.com A 192.0.2.1");
        world.put(claim.clone());
        assert_eq!(owned_by(&registry, &world, "www.ex.com A"), expected);
        assert_eq!(registry.is_claim(claim), expected == "ours:r");
    }
}

#[test]
fn what_external_dns_wrote_is_read() {
    // From the record of a real run: two owners, one key in base64.
    let registry = registry_with(|config| {
        config.owner = zonewright_core::claim::OwnerId::new("cluster-one").unwrap();
        config.aes_key = Some("atMOlAMKqTSv6bcBBE3u1Xe8Dup58m+7qUZj6n8vyNY=".to_owned().into());
    });
    let world = World::new(
        "zone example.com
        mail57.example.com A 203.0.113.50
        a-mail57.example.com TXT RkdDQUNQUE1BQkxSQv0zs773T54r4YF2El4v4rwrZsvfopR/lcZeS/IUuUEttF+hbcIE6Li1OsdiyH7anJetn/0mjHnNaB7ThfNEU7o9+/edRMTvtbAbor6jKOyK4zIBCDzRT+DgLrDR5822UvPYlBK9+vbFVD0=
        status58.example.com A 198.51.100.54
        a-status58.example.com TXT TkRRQ0VLQ0dCRlBM7WsoiXOsKZYtUvmE6TmwElJFp8kUho4q50LMyrnQ4A9g5EAhcCsmKpX3GEV1Pzak1gSso9emBIzYdYY3yOqECEhPp4vfUQznfQuL9Mjol096p+fawUIMC8o8kajshoV1pAz1o9CCvvkg8dzm",
    );
    assert_eq!(owned_by(&registry, &world, "mail57.example.com A"), "ours:crd/team-a/enc");
    assert_eq!(owned_by(&registry, &world, "status58.example.com A"), "of cluster-two");
}

#[test]
fn an_unchanged_claim_keeps_its_bytes() {
    let (sealed, plain) = (claim_of(&sealing(), "r"), claim_of(&opening(), "r"));
    assert_eq!(claim_of(&sealing(), "r"), sealed, "the same claim is the same text");
    // Registry, claim, resource of the update; whether the claim is rewritten, and what is written then.
    for (name, registry, standing, resource, expected) in [
        ("sealed stays", sealing(), &sealed, "r", None),
        ("plain stays", opening(), &plain, "r", None),
        ("plain is sealed when the record changes", sealing(), &plain, "r", Some(&sealed)),
        ("sealed is opened when the record changes", opening(), &sealed, "r", Some(&plain)),
        ("another resource", sealing(), &sealed, "s", Some(&claim_of(&sealing(), "s"))),
        ("another resource, plain", opening(), &sealed, "s", Some(&claim_of(&opening(), "s"))),
    ] {
        let mut world = World::new("zone ex.com\nwww.ex.com A 192.0.2.1");
        world.put(standing.clone());
        let result = decorate(&registry, &world, &[&format!("~ www.ex.com A 192.0.2.2 [{resource}]")]);
        let group = result.into_iter().next().unwrap().unwrap();
        let claim = group.steps.iter().find(|step| step.role == Role::Claim).map(|step| &step.change);
        assert_eq!(claim.and_then(Change::to).map(text), expected.map(text), "{name}");
        if let Some(change) = claim {
            assert_eq!(change.from().map(text), Some(text(standing)), "{name}: the exact text is the precondition");
        }
        world.apply(&group);
        assert_eq!(owned_by(&registry, &world, "www.ex.com A"), format!("ours:{resource}"), "{name}");
    }
}

#[test]
fn a_lost_record_comes_back_under_the_claim_that_stands() {
    for registry in [sealing(), opening()] {
        let mut world = World::new("zone ex.com");
        world.put(claim_of(&sealing(), "r"));
        let standing = world.record(&key("a-www.ex.com TXT"));
        let group = decorate(&registry, &world, &["+ www.ex.com A 192.0.2.1 [r]"]).remove(0).unwrap();
        assert!(group.steps.iter().all(|step| step.role == Role::Record));
        assert_eq!(group.requires, [zonewright_core::change::Precondition::Exact(standing)]);
    }
}

#[test]
fn a_delete_takes_the_exact_text_along() {
    for claim in [claim_of(&sealing(), "r"), claim_of(&opening(), "r")] {
        let mut world = World::new("zone ex.com\nwww.ex.com A 192.0.2.1");
        world.put(claim.clone());
        let group = decorate(&opening(), &world, &["- www.ex.com A"]).remove(0).unwrap();
        assert_eq!(group.steps[1].change.from().map(text), Some(text(&claim)));
        world.apply(&group);
        assert!(world.records().is_empty());
    }
}

#[test]
fn what_does_not_open_is_somebody_elses() {
    let closed = text(&claim_of(&other_key(), "r"));
    let record = "www.ex.com A 192.0.2.1";
    for (zone, change, expected) in [
        (format!("a-www.ex.com TXT {closed}"), "+ www.ex.com A 192.0.2.1", "belongs to another owner: unknown"),
        (
            format!("{record}\na-www.ex.com TXT {closed}"),
            "~ www.ex.com A 192.0.2.2",
            "belongs to another owner: unknown",
        ),
        (format!("{record}\na-www.ex.com TXT {closed}"), "- www.ex.com A", "belongs to another owner: unknown"),
        // It hides an old-format claim as every typed claim does, and disputes one that stands beside it.
        (
            format!("{record}\na-www.ex.com TXT {closed}\nwww.ex.com TXT !me"),
            "- www.ex.com A",
            "another owner: unknown",
        ),
        (format!("{record}\na-www.ex.com TXT {closed} ; !me"), "- www.ex.com A", "claimed by several owners"),
    ] {
        let world = World::new(&format!("zone ex.com\n{zone}"));
        for registry in [sealing(), opening(), registry("", "", "")] {
            let lines = verdict(&decorate(&registry, &world, &[change])[0]);
            assert!(lines[0].starts_with("dropped: ") && lines[0].contains(expected), "{change}: {lines:?}");
        }
    }
    // A long token at the record's own name is no claim, and neither is a short one where a claim belongs.
    for zone in [format!("www.ex.com TXT {closed}"), "www.ex.com TXT dG9rZW4=".to_owned()] {
        let world = World::new(&format!("zone ex.com\n{zone}"));
        assert_eq!(
            verdict(&decorate(&opening(), &world, &["+ www.ex.com A 192.0.2.1"])[0]),
            ["+ a-www.ex.com TXT !me"]
        );
    }
}

#[test]
fn claims_of_two_records_share_no_text() {
    let world = World::new("zone ex.com");
    let groups = ["+ www.ex.com A 192.0.2.1 [r]", "+ www.ex.com AAAA ::1 [r]", "+ www.ex.com A@eu 192.0.2.1 [r]"];
    let mut texts: Vec<String> = decorate(&sealing(), &world, &groups)
        .into_iter()
        .map(|group| text(group.unwrap().steps[1].change.to().unwrap()))
        .collect();
    texts.sort();
    texts.dedup();
    assert_eq!(texts.len(), 3);
}

proptest! {
    #[test]
    fn a_sealed_claim_gives_a_right_to_its_key_alone(resource in "[a-z/-]{1,60}", label in "[a-z]{1,8}") {
        let mut world = World::new("zone ex.com");
        let mut plain = group(&world, &format!("+ www.ex.com A 192.0.2.1 [{resource}]"));
        plain.steps[0].labels = vec![(label.as_str().into(), "v".into())];
        let sealed = sealing().decorate(world.zone(), vec![plain], &world).remove(0).unwrap();
        world.apply(&sealed);
        prop_assert_eq!(owned_by(&opening(), &world, "www.ex.com A"), format!("ours:{resource}"));
        prop_assert_eq!(owned_by(&other_key(), &world, "www.ex.com A"), CLOSED);
        prop_assert_eq!(owned_by(&registry("", "", ""), &world, "www.ex.com A"), CLOSED);
    }

    #[test]
    fn damaged_claims_give_no_right(at in any::<prop::sample::Index>(), with in "[A-Za-z0-9+/]") {
        let mut bytes = text(&claim_of(&sealing(), "r")).into_bytes();
        let at = at.index(bytes.len() - 2);
        prop_assume!(bytes[at] != with.as_bytes()[0]);
        bytes[at] = with.as_bytes()[0];
        let mut world = World::new("zone ex.com\nwww.ex.com A 192.0.2.1");
        let set = record("a-www.ex.com TXT x");
        world.put(RecordSet { data: RecordData::records([RData::Txt(Txt::from_octets(&bytes))]), ..set });
        prop_assert_eq!(owned_by(&opening(), &world, "www.ex.com A"), CLOSED);
    }
}
