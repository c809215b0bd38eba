//! What happens to claims when records change.

use std::sync::Arc;

use crate::support::{World, decorate, group, key, record, registry, verdict};
use proptest::prelude::*;
use zonewright_core::change::{Change, Group, Role, Step};
use zonewright_core::claim::judge;
use zonewright_core::record::{AliasTarget, RecordData, Routing};
use zonewright_core::registry::Registry;
use zonewright_core::{DnsName, RecordSet, RecordType};
use zonewright_registry::noop::NoopRegistry;

fn check_with(affixes: (&str, &str, &str), zones: &str, change: &str, expected: &[&str]) {
    let (registry, mut world) = (registry(affixes.0, affixes.1, affixes.2), World::new(zones));
    let results = decorate(&registry, &world, &[change]);
    assert_eq!(verdict(&results[0]), expected, "{change} under {affixes:?} in {zones}");
    if let Ok(group) = &results[0] {
        world.apply(group);
    }
}

fn check(zones: &str, change: &str, expected: &[&str]) {
    check_with(("", "", ""), zones, change, expected);
}

#[test]
fn names_and_values_are_those_of_external_dns() {
    let r = "[ingress/ns/app]";
    for (affixes, change, claim) in [
        (("", "", ""), format!("+ app.ex.com A 192.0.2.1 {r}"), "+ a-app.ex.com TXT !me:ingress/ns/app"),
        (("", "", ""), format!("+ app.ex.com AAAA 2001:db8::1 {r}"), "+ aaaa-app.ex.com TXT !me:ingress/ns/app"),
        (("", "", ""), format!("+ app.ex.com CNAME lb.example {r}"), "+ cname-app.ex.com TXT !me:ingress/ns/app"),
        (("", "", ""), "+ app.ex.com A 192.0.2.1".to_owned(), "+ a-app.ex.com TXT !me"),
        (("", "", ""), format!("+ app.ex.com TXT hello {r}"), "+ txt-app.ex.com TXT !me:ingress/ns/app"),
        (("", "", ""), format!("+ s.ex.com A@eu 192.0.2.1 {r}"), "+ a-s.ex.com TXT (eu) !me:ingress/ns/app"),
        (("%{record_type}-reg.", "", ""), format!("+ ex.com A 192.0.2.1 {r}"), "+ a-reg.ex.com TXT !me:ingress/ns/app"),
        (("", "-reg", ""), format!("+ app.ex.com MX 10 mx.example {r}"), "+ mx-app-reg.ex.com TXT !me:ingress/ns/app"),
        (("", "", "any"), format!("+ *.ex.com A 192.0.2.1 {r}"), "+ a-any.ex.com TXT !me:ingress/ns/app"),
        (("", "", ""), format!("+ *.ex.com A 192.0.2.1 {r}"), "+ a-*.ex.com TXT !me:ingress/ns/app"),
        // Outside the zone external-dns would name it a-ex.com.
        (("", "", ""), format!("+ ex.com A 192.0.2.1 {r}"), "+ a-_apex.ex.com TXT !me:ingress/ns/app"),
        (("txt-", "", ""), format!("+ ex.com CAA 0 issue ca.example {r}"), "+ caa-_apex.ex.com TXT !me:ingress/ns/app"),
    ] {
        check_with(affixes, "zone ex.com", &change, &[claim]);
    }
    check("zone .", "+ example CNAME x.org", &["+ cname-example TXT !me"]);
}

#[test]
fn a_create_respects_what_stands_at_its_claim() {
    let create = "+ www.ex.com A 192.0.2.1 [r]";
    for (standing, expected) in [
        ("a-www.ex.com TXT !me:r", vec!["= a-www.ex.com TXT !me:r"]),
        ("a-www.ex.com TXT !me:gone", vec!["~ a-www.ex.com TXT !me:r (was !me:gone)"]),
        ("a-www.ex.com TXT !me", vec!["~ a-www.ex.com TXT !me:r (was !me)"]),
        ("a-www.ex.com TXT !other:r", vec!["dropped: www.ex.com A belongs to another owner: other at a-www.ex.com"]),
        (
            "a-www.ex.com TXT !me ; !other",
            vec![
                "dropped: www.ex.com A is claimed by several owners: me at a-www.ex.com; other at a-www.ex.com; it is left \
                 alone until one claim is removed",
            ],
        ),
        (
            "a-www.ex.com TXT v=spf1 -all",
            vec![
                "dropped: the ownership record of www.ex.com A belongs at a-www.ex.com, but a record that is no ownership \
                 record stands there: a-www.ex.com 300 TXT v=spf1 -all",
            ],
        ),
        (
            "a-www.ex.com CNAME x.org",
            vec![
                "dropped: the ownership record of www.ex.com A belongs at a-www.ex.com, but a record that is no ownership \
                 record stands there: a-www.ex.com 300 CNAME x.org.",
            ],
        ),
        (
            "a-www.ex.com TXT heritage=external-dns",
            vec![
                "dropped: the ownership record of www.ex.com A belongs at a-www.ex.com, but an ownership record without an \
                 owner stands there: a-www.ex.com 300 TXT heritage=external-dns",
            ],
        ),
        (
            "a-www.ex.com TXT heritage=zonewright-intent",
            vec![
                "dropped: the ownership record of www.ex.com A belongs at a-www.ex.com, but an unfinished write stands \
                 there: a-www.ex.com 300 TXT heritage=zonewright-intent",
            ],
        ),
        // Old claims of ours: the new one is written beside it. Of another: the name is his.
        ("www.ex.com TXT !me", vec!["+ a-www.ex.com TXT !me:r"]),
        ("www.ex.com TXT !other", vec!["dropped: www.ex.com A belongs to another owner: other at www.ex.com"]),
        // Somebody else's claim on another type or set says nothing.
        ("aaaa-www.ex.com TXT !other", vec!["+ a-www.ex.com TXT !me:r"]),
        ("a-www.ex.com TXT@eu !other", vec!["+ a-www.ex.com TXT !me:r"]),
    ] {
        check(&format!("zone ex.com\n{standing}"), create, &expected);
    }
}

#[test]
fn other_members_of_a_set_stay() {
    let mixed = "zone ex.com
        www.ex.com A 192.0.2.1
        a-www.ex.com TXT aaa ; !me:r ; zzz";
    for (change, expected) in [
        ("~ www.ex.com A 192.0.2.2 [r]", "= a-www.ex.com TXT aaa ; !me:r ; zzz"),
        ("~ www.ex.com A 192.0.2.2 [s]", "~ a-www.ex.com TXT aaa ; !me:s ; zzz (was aaa ; !me:r ; zzz)"),
        ("- www.ex.com A", "~ a-www.ex.com TXT aaa ; zzz (was aaa ; !me:r ; zzz)"),
    ] {
        check(mixed, change, &[expected]);
    }
    let twice = "zone ex.com
        www.ex.com A 192.0.2.1
        a-www.ex.com TXT !me:r ; !me:s";
    check(twice, "~ www.ex.com A 192.0.2.2 [r]", &["~ a-www.ex.com TXT !me:r (was !me:r ; !me:s)"]);
}

#[test]
fn an_update_stands_on_its_claim() {
    let update = "~ www.ex.com A 192.0.2.2 [r]";
    for (claims, expected) in [
        ("a-www.ex.com TXT !me:r", vec!["= a-www.ex.com TXT !me:r"]),
        ("a-www.ex.com TXT !me:s", vec!["~ a-www.ex.com TXT !me:r (was !me:s)"]),
        ("www.ex.com TXT !me:r", vec!["+ a-www.ex.com TXT !me:r", "= www.ex.com TXT !me:r"]),
        // Both stand: the old one is left and no longer asked.
        ("a-www.ex.com TXT !me:r\nwww.ex.com TXT !me:old", vec!["= a-www.ex.com TXT !me:r"]),
        ("a-www.ex.com TXT !me:r\nwww.ex.com TXT !other", vec!["= a-www.ex.com TXT !me:r"]),
        ("a-www.ex.com TXT !other", vec!["dropped: www.ex.com A belongs to another owner: other at a-www.ex.com"]),
        ("", vec!["dropped: www.ex.com A has no ownership record of me"]),
    ] {
        check(&format!("zone ex.com\nwww.ex.com A 192.0.2.1\n{claims}"), update, &expected);
    }
    // The same claim in another spelling is left as it is.
    let spelling = "external-dns/resource=r,heritage=external-dns,external-dns/owner=me,x";
    let world = World::new(&format!("zone ex.com\nwww.ex.com A 192.0.2.1\na-www.ex.com TXT {spelling}"));
    let results = decorate(&registry("", "", ""), &world, &[update]);
    assert_eq!(
        verdict(&results[0]),
        [format!("= a-www.ex.com TXT {}", spelling.replace(",external-dns/resource=", ":"))]
    );
}

#[test]
fn claims_on_an_apex_move_into_the_zone() {
    let zones = "zone sub.ex.com
        sub.ex.com A 192.0.2.1
        zone ex.com
        a-sub.ex.com TXT !me:r";
    check(zones, "~ sub.ex.com A 192.0.2.2 [r]", &["+ a-_apex.sub.ex.com TXT !me:r"]);
    // The other zone cannot be part of the batch.
    check(zones, "- sub.ex.com A", &[]);
    check(&zones.replace("!me:r", "!other"), "+ sub.ex.com AAAA ::1", &["+ aaaa-_apex.sub.ex.com TXT !me"]);
    let foreign = ["dropped: sub.ex.com A belongs to another owner: other at a-sub.ex.com"];
    check("zone sub.ex.com\nzone ex.com\na-sub.ex.com TXT !other", "+ sub.ex.com A 192.0.2.1", &foreign);
    let moved = format!("{zones}\nzone org").replacen("zone ex.com", "a-_apex.sub.ex.com TXT !me:r\nzone ex.com", 1);
    check(&moved, "~ sub.ex.com A 192.0.2.2 [r]", &["= a-_apex.sub.ex.com TXT !me:r"]);
    check(&moved, "- sub.ex.com A", &["- a-_apex.sub.ex.com TXT !me:r"]);
}

#[test]
fn a_delete_takes_its_claims_along() {
    for (zone, expected) in [
        ("a-www.ex.com TXT !me:r", vec!["- a-www.ex.com TXT !me:r"]),
        ("www.ex.com TXT !me", vec!["- www.ex.com TXT !me"]),
        // A claim that is left behind would make the next foreign record at the name ours.
        ("a-www.ex.com TXT !me\nwww.ex.com TXT !me", vec!["- www.ex.com TXT !me", "- a-www.ex.com TXT !me"]),
        ("a-www.ex.com TXT !me\nwww.ex.com TXT !other", vec!["- a-www.ex.com TXT !me"]),
        // The MX has no claim but the old one; the SRV has its own; an AAAA never reads the old format.
        ("www.ex.com TXT !me\nwww.ex.com MX 10 mx.example", vec!["= www.ex.com TXT !me"]),
        ("www.ex.com TXT !me\nwww.ex.com SRV 0 0 1 s.example\nsrv-www.ex.com TXT !me", vec!["- www.ex.com TXT !me"]),
        ("www.ex.com TXT !me\nwww.ex.com AAAA 2001:db8::1", vec!["- www.ex.com TXT !me"]),
        ("www.ex.com TXT@eu !me", vec!["dropped: www.ex.com A has no ownership record of me"]),
        ("a-www.ex.com TXT !other", vec!["dropped: www.ex.com A belongs to another owner: other at a-www.ex.com"]),
    ] {
        check(&format!("zone ex.com\nwww.ex.com A 192.0.2.1\n{zone}"), "- www.ex.com A", &expected);
    }
}

#[test]
fn aliases_leave_the_cname_name() {
    let mut world = World::new(
        "zone ex.com
        www.ex.com A 192.0.2.1
        cname-www.ex.com TXT !me:r",
    );
    let target = AliasTarget { target: "lb.example".into(), zone: None, evaluate_health: true };
    world.edit(&key("www.ex.com A"), |set| set.data = RecordData::Alias(target));
    for (change, expected) in [
        ("~ www.ex.com A 192.0.2.2 [r]", vec!["+ a-www.ex.com TXT !me:r", "= cname-www.ex.com TXT !me:r"]),
        ("- www.ex.com A", vec!["- cname-www.ex.com TXT !me:r"]),
    ] {
        assert_eq!(verdict(&decorate(&registry("", "", ""), &world, &[change])[0]), expected, "{change}");
    }
}

#[test]
fn a_change_of_type_carries_both_claims() {
    let typed = "zone ex.com
        www.ex.com A 192.0.2.1
        a-www.ex.com TXT !me:r";
    let to_cname = "- www.ex.com A & + www.ex.com CNAME lb.example [r]";
    check(typed, to_cname, &["- a-www.ex.com TXT !me:r", "+ cname-www.ex.com TXT !me:r"]);
    // The old claim stands where the CNAME is to come, so it goes before.
    let old = "zone ex.com
        www.ex.com A 192.0.2.1
        www.ex.com TXT !me:r";
    check(old, to_cname, &["- www.ex.com TXT !me:r", "+ cname-www.ex.com TXT !me:r"]);
    let world = World::new(old);
    let group = decorate(&registry("", "", ""), &world, &[to_cname]).remove(0).unwrap();
    let roles: Vec<Role> = group.steps.iter().map(|step| step.role).collect();
    assert_eq!(roles, [Role::Claim, Role::Record, Role::Record, Role::Claim]);
    check(
        "zone ex.com\nwww.ex.com CNAME lb.example\ncname-www.ex.com TXT !me",
        "- www.ex.com CNAME & + www.ex.com A 192.0.2.1 & + www.ex.com AAAA 2001:db8::1",
        &["- cname-www.ex.com TXT !me", "+ a-www.ex.com TXT !me", "+ aaaa-www.ex.com TXT !me"],
    );
    // The old claim of another owner at a name that is ours by today's: a leftover that nobody removed.
    let leftover = "zone ex.com
        www.ex.com A 192.0.2.1
        txt-a-www.ex.com TXT !me
        txt-www.ex.com TXT !other";
    check_with(
        ("txt-", "", ""),
        leftover,
        to_cname,
        &["- txt-a-www.ex.com TXT !me", "+ txt-cname-www.ex.com TXT !me:r"],
    );
    // A lost CNAME comes back, and its old claim at the very name makes room.
    check(
        "zone ex.com\nwww.ex.com TXT !me",
        "+ www.ex.com CNAME lb.example",
        &["- www.ex.com TXT !me", "+ cname-www.ex.com TXT !me"],
    );
}

#[test]
fn a_claim_takes_part_in_the_routing_of_its_record() {
    let mut world = World::new(
        "zone ex.com
        www.ex.com A@eu 192.0.2.1
        a-www.ex.com TXT@eu !me:r",
    );
    for name in ["www.ex.com A@eu", "a-www.ex.com TXT@eu"] {
        world.edit(&key(name), |set| set.routing = Routing::Weighted { weight: 10 });
    }
    let mut group = group(&world, "~ www.ex.com A@eu 192.0.2.1 [r]");
    let decorated = registry("", "", "").decorate(world.zone(), vec![group.clone()], &world);
    assert_eq!(verdict(&decorated[0]), ["= a-www.ex.com TXT (eu) !me:r"]);
    let Change::Update { to, .. } = &mut group.steps[0].change else { panic!("an update") };
    to.routing = Routing::Weighted { weight: 20 };
    let decorated = registry("", "", "").decorate(world.zone(), vec![group], &world).remove(0).unwrap();
    let claim = decorated.steps[1].change.to().unwrap();
    assert_eq!(claim.routing, Routing::Weighted { weight: 20 });
}

#[test]
fn names_too_long_to_claim_say_what_to_shorten() {
    let (host, label) = ("x".repeat(62), "x".repeat(62));
    for (affixes, change, expected) in [
        (
            ("", "", ""),
            format!("+ {host}.ex.com A 192.0.2.1"),
            format!(
                "dropped: the ownership record of {host}.ex.com A needs the label a-{label} of 64 octets, and 63 is the \
                 limit; shorten the host name"
            ),
        ),
        (
            ("txt-", "", ""),
            format!("+ {host}.ex.com A 192.0.2.1"),
            format!(
                "dropped: the ownership record of {host}.ex.com A needs the label txt-a-{label} of 68 octets, and 63 is \
                 the limit; shorten --txt-prefix or the host name"
            ),
        ),
    ] {
        check_with(affixes, "zone ex.com", &change, &[&expected]);
    }
    // The template gives the type a label of its own.
    check_with(
        ("%{record_type}.", "", ""),
        "zone ex.com",
        &format!("+ {host}.ex.com A 192.0.2.1"),
        &[&format!("+ a.{host}.ex.com TXT !me")],
    );
    // So does the name for an apex.
    check(
        &format!("zone {host}.com"),
        &format!("+ {host}.com A 192.0.2.1"),
        &[&format!("+ a-_apex.{host}.com TXT !me")],
    );
    let deep = format!("{}.ex.com", vec!["x".repeat(60); 4].join("."));
    let reason = &verdict(
        &decorate(&registry("much-too-long.", "", ""), &World::new("zone ex.com"), &[&format!("+ {deep} A 192.0.2.1")])
            [0],
    )[0];
    assert!(reason.contains("253 characters is the limit; shorten --txt-prefix or the host name"), "{reason}");
}

#[test]
fn labels_that_would_be_misread_are_not_written() {
    let world = World::new("zone ex.com");
    let results = decorate(&registry("", "", ""), &world, &["+ www.ex.com A 192.0.2.1 [r,external-dns/owner=other]"]);
    assert!(
        verdict(&results[0])[0].contains("cannot be written into an ownership record"),
        "{:?}",
        verdict(&results[0])
    );
}

#[test]
fn records_do_not_share_a_claim() {
    let share = |world: &str, change: &str| {
        let world = World::new(world);
        verdict(&decorate(&registry("", "", "any"), &world, &[change])[0])
    };
    // A foreign `any` must not become ours by the claim on the wildcard.
    for standing in ["any.ex.com A 192.0.2.9", "any.ex.com A 192.0.2.9\na-any.ex.com TXT !me"] {
        let refused = share(&format!("zone ex.com\n{standing}"), "+ *.ex.com A 192.0.2.1");
        assert!(
            refused[0].contains("would share its ownership record at a-any.ex.com with any.ex.com A"),
            "{refused:?}"
        );
    }
    // Where external-dns let two share, the claim stays until the last of them goes.
    let both = "zone ex.com
        *.ex.com A 192.0.2.1
        any.ex.com A 192.0.2.9
        a-any.ex.com TXT !me";
    assert_eq!(share(both, "- *.ex.com A"), ["= a-any.ex.com TXT !me"]);
    assert_eq!(share(&both.replace("any.ex.com A 192.0.2.9", ""), "- *.ex.com A"), ["- a-any.ex.com TXT !me"]);
    // A foreign `_apex` must not become ours by the claim that moves in from the parent zone.
    let zones = "zone sub.ex.com
        sub.ex.com A 192.0.2.1
        _apex.sub.ex.com A 192.0.2.9
        zone ex.com
        a-sub.ex.com TXT !me";
    let refused = share(zones, "~ sub.ex.com A 192.0.2.2");
    assert!(refused[0].contains("would share its ownership record at a-_apex.sub.ex.com"), "{refused:?}");
    // An `_apex` host beside the claim on the apex.
    let world = World::new("zone ex.com\n_apex.ex.com A 192.0.2.1");
    let refused = verdict(&decorate(&registry("", "", ""), &world, &["+ ex.com A 192.0.2.2"])[0]);
    assert!(refused[0].contains("would share its ownership record at a-_apex.ex.com"), "{refused:?}");
}

#[test]
fn groups_of_one_round_stay_out_of_each_others_way() {
    let lines = |registry, world: &str, groups: &[&str]| -> Vec<String> {
        let results = decorate(&registry, &World::new(world), groups);
        results.iter().flat_map(verdict).collect()
    };
    let ambiguous = lines(
        registry("%{record_type}", "", ""),
        "zone ex.com",
        &["+ www.ex.com AAAA 2001:db8::1", "+ aaawww.ex.com A 192.0.2.1"],
    );
    assert_eq!(
        ambiguous,
        [
            "+ aaaawww.ex.com TXT !me",
            "dropped: its ownership record cannot be written: aaaawww.ex.com TXT is in use by the change of www.ex.com in the same round"
        ]
    );
    // A wanted TXT record at the very name of a claim, in whatever order.
    for groups in [
        ["+ www.ex.com A 192.0.2.1", "+ a-www.ex.com TXT hello"],
        ["+ a-www.ex.com TXT hello", "+ www.ex.com A 192.0.2.1"],
    ] {
        let found = lines(registry("", "", ""), "zone ex.com", &groups);
        assert!(found.contains(
            &"dropped: its ownership record cannot be written: a-www.ex.com TXT is in use by the change of a-www.ex.com in the same round".into()
        ));
        assert!(found.contains(&"+ txt-a-www.ex.com TXT !me".into()), "{found:?}");
    }
    // A CNAME that comes to the place of the claim.
    let found = lines(registry("", "", ""), "zone ex.com", &["+ www.ex.com A 192.0.2.1", "+ a-www.ex.com CNAME x.org"]);
    let refused = "dropped: its ownership record cannot be written: a-www.ex.com CNAME is in use by the change of \
                   a-www.ex.com in the same round";
    assert_eq!(found, [refused, "+ cname-a-www.ex.com TXT !me"]);
    // One relies on a claim that the other rewrites.
    let shared = "zone ex.com
        *.ex.com A 192.0.2.1
        any.ex.com A 192.0.2.9
        a-any.ex.com TXT !me:r";
    let found = lines(registry("", "", "any"), shared, &["- *.ex.com A", "~ any.ex.com A 192.0.2.8 [s]"]);
    assert_eq!(
        found,
        [
            "= a-any.ex.com TXT !me:r",
            "dropped: its ownership record cannot be written: a-any.ex.com TXT is in use by the change of *.ex.com in the same round"
        ]
    );
    // Two records under one old claim go in one round: neither may rest on the other's success.
    let old = "zone ex.com
        www.ex.com A 192.0.2.1
        www.ex.com MX 10 mx.example
        www.ex.com TXT !me";
    let found = lines(registry("", "", ""), old, &["- www.ex.com A", "- www.ex.com MX"]);
    assert_eq!(found, ["= www.ex.com TXT !me", "= www.ex.com TXT !me"]);
    assert_eq!(lines(registry("", "", ""), old, &["- www.ex.com A & - www.ex.com MX"]), ["- www.ex.com TXT !me"]);
}

#[test]
fn a_record_does_not_displace_a_claim() {
    let world = World::new("zone ex.com\nwww.ex.com TXT !me");
    let refused = verdict(&decorate(&registry("", "", ""), &world, &["+ www.ex.com TXT hello"])[0]);
    assert_eq!(refused, ["dropped: www.ex.com TXT cannot be created: an ownership record stands there (!me)"]);
    for claim in ["!me", "!other"] {
        let world = World::new(&format!("zone ex.com\nwww.ex.com A 192.0.2.1\na-www.ex.com TXT {claim}"));
        let refused = verdict(&decorate(&registry("", "", ""), &world, &["+ a-www.ex.com CNAME x.org"])[0]);
        let expected = "dropped: a-www.ex.com CNAME cannot be created: an ownership record stands there";
        assert_eq!(refused, [format!("{expected} ({claim}), and a CNAME stands alone")]);
    }
}

#[test]
fn steps_on_claims_pass_through() {
    let world = World::new("zone ex.com");
    let claim = Step::claim(Change::Create { to: record("a-www.ex.com TXT !me:kept") });
    let mut group = group(&world, "+ www.ex.com A 192.0.2.1 [r]");
    group.steps.push(claim.clone());
    let only = Group { steps: vec![claim], ..group.clone() };
    let decorated = registry("", "", "").decorate(world.zone(), vec![group.clone()], &world);
    assert_eq!(decorated, [Ok(group)]);
    assert_eq!(registry("", "", "").decorate(world.zone(), vec![only.clone()], &world), [Ok(only)]);
}

#[test]
fn upgrades_write_the_claim_of_today() {
    for (zones, record, expected) in [
        (
            "zone ex.com\nwww.ex.com A 192.0.2.1\nwww.ex.com TXT !me:r",
            "www.ex.com A",
            Some(vec!["+ a-www.ex.com TXT !me:r", "= www.ex.com A 192.0.2.1", "= www.ex.com TXT !me:r"]),
        ),
        (
            "zone sub.ex.com\nsub.ex.com A 192.0.2.1\nzone ex.com\na-sub.ex.com TXT !me:r",
            "sub.ex.com A",
            Some(vec!["+ a-_apex.sub.ex.com TXT !me:r", "= sub.ex.com A 192.0.2.1"]),
        ),
        ("zone ex.com\nwww.ex.com A 192.0.2.1\na-www.ex.com TXT !me", "www.ex.com A", None),
        ("zone ex.com\nwww.ex.com A 192.0.2.1\nwww.ex.com TXT !other", "www.ex.com A", None),
        ("zone ex.com\nwww.ex.com A 192.0.2.1", "www.ex.com A", None),
        ("zone ex.com\nwww.ex.com A 192.0.2.1\nwww.ex.com TXT !me\na-www.ex.com TXT foreign", "www.ex.com A", None),
    ] {
        let mut world = World::new(zones);
        let set = world.record(&key(record));
        let group = registry("", "", "").upgrade(world.zone(), &set, &world);
        assert_eq!(
            group.clone().map(|group| verdict(&Ok(group))),
            expected.map(|e| e.into_iter().map(str::to_owned).collect())
        );
        if let Some(group) = group {
            world.apply(&group);
            assert_eq!(registry("", "", "").upgrade(world.zone(), &set, &world), None, "once is enough");
        }
    }
}

#[test]
fn noop_adds_nothing() {
    let world = World::new("zone ex.com\nwww.ex.com A 192.0.2.1\na-www.ex.com TXT !other");
    let delete = group(&world, "- www.ex.com A");
    assert_eq!(NoopRegistry.decorate(world.zone(), vec![delete.clone()], &world), [Ok(delete)]);
    assert_eq!(NoopRegistry.owner(), None);
    assert!(NoopRegistry.claims(world.zone(), &key("www.ex.com A"), &world).is_empty());
    assert!(NoopRegistry.claim_names(world.zone(), &key("www.ex.com A")).is_empty());
}

#[tokio::test]
async fn nothing_is_kept_outside_the_zone() {
    let world = World::new("zone ex.com");
    let create = group(&world, "+ www.ex.com A 192.0.2.1");
    for registry in [&registry("", "", "") as &dyn Registry, &NoopRegistry] {
        registry.load().await.unwrap();
        assert_eq!(registry.prepare(world.zone(), vec![create.clone()]).await, [Ok(create.clone())]);
        registry.commit(world.zone(), std::slice::from_ref(&create), &[]).await.unwrap();
    }
}

const CONFIGS: [(&str, &str, &str); 8] = [
    ("", "", ""),
    ("txt-", "", "any"),
    ("%{record_type}", "", ""),
    ("%{record_type}.", "", "any"),
    ("x-%{record_type}-y.", "", ""),
    ("", "-txt", ""),
    ("", "-.%{record_type}", "any"),
    ("", ".sfx.x", ""),
];

fn any_record() -> impl Strategy<Value = RecordSet> {
    let host = prop_oneof![
        "[a-z0-9-]{1,8}(\\.[a-z]{1,4}){0,2}\\.ex\\.com",
        Just("*.ex.com".to_owned()),
        Just("any.ex.com".to_owned()),
        Just("ex.com".to_owned()),
        Just("_apex.ex.com".to_owned()),
        Just("www.ex.com".to_owned()),
        Just("aaawww.ex.com".to_owned())
    ];
    let data = prop::sample::select(vec!["A 192.0.2.1", "AAAA 2001:db8::1", "CNAME x.org", "MX 10 x.org", "TXT text"]);
    (host, data).prop_map(|(host, data)| record(&format!("{host} {data}")))
}

proptest! {
    #[test]
    fn what_is_written_is_read_back_as_ours(
        config in prop::sample::select(CONFIGS.to_vec()),
        set in any_record(),
        resource in prop::option::of("[a-z/=\" -]{0,20}"),
        labels in prop::collection::btree_map("[a-z]{1,6}", "[a-zA-Z0-9=/]{0,6}", 0..3),
    ) {
        let (registry, mut world) = (registry(config.0, config.1, config.2), World::new("zone ex.com"));
        let mut labels: Vec<(Arc<str>, Arc<str>)> = labels.iter().map(|(k, v)| (Arc::from(&**k), Arc::from(&**v))).collect();
        labels.retain(|(k, _)| !["owner", "resource"].contains(&&**k));
        let resource: Option<Arc<str>> = resource.map(Arc::from);
        let step = Step { labels: labels.clone(), ..Step::record(Change::Create { to: set.clone() }, resource.clone()) };
        let result = registry.decorate(world.zone(), vec![Group::of(step, vec![])], &world).remove(0);
        if let Ok(group) = result {
            world.apply(&group);
            let claims = registry.claims(world.zone(), &set.key, &world);
            let ownership = judge(&claims, registry.owner());
            let claim = ownership.claim().expect("ours");
            prop_assert!(claim.current);
            prop_assert_eq!(&claim.resource, &resource);
            prop_assert_eq!(&claim.labels, &labels);
        } else {
            prop_assert!(resource.is_some_and(|r| r.ends_with('"')), "only labels can stand against it");
        }
    }

    /// Any run of creates, updates and deletes: whatever comes out can be carried out, every record that stands is ours, and
    /// no claim outlives its record.
    #[test]
    fn records_and_claims_stand_together(
        config in prop::sample::select(CONFIGS.to_vec()),
        sets in prop::collection::vec((any_record(), any::<bool>()), 1..16),
    ) {
        let (registry, mut world) = (registry(config.0, config.1, config.2), World::new("zone ex.com"));
        let mut standing: Vec<RecordSet> = Vec::new();
        for (set, delete) in sets {
            let at = standing.iter().position(|other| other.key == set.key);
            let clash = |other: &RecordSet| other.key.name == set.key.name && other.key.rtype.excludes(set.key.rtype);
            let change = match at {
                Some(at) if delete => Change::Delete { from: world.record(&standing[at].key) },
                Some(at) => Change::Update { from: world.record(&standing[at].key), to: set.clone() },
                None if standing.iter().any(clash) => continue,
                None => Change::Create { to: set.clone() },
            };
            let group = Group::of(Step::record(change.clone(), None), vec![]);
            let Ok(group) = registry.decorate(world.zone(), vec![group], &world).remove(0) else { continue };
            world.apply(&group);
            standing.retain(|other| other.key != set.key);
            standing.extend(change.to().cloned());
            for set in &standing {
                let ownership = judge(&registry.claims(world.zone(), &set.key, &world), registry.owner());
                prop_assert!(ownership.is_ours(), "{} after {}", set, change);
            }
            if change.to().is_none() {
                let left = registry.claims(world.zone(), change.key(), &world);
                prop_assert!(left.is_empty(), "{left:?} after {change}");
            }
        }
    }

    /// One round over a zone of ours, theirs and nobody's: the groups can be carried out in any order, nothing that is not
    /// ours changes or becomes ours, and what we were told to write is ours.
    #[test]
    fn foreign_records_are_sacred(
        config in prop::sample::select(CONFIGS.to_vec()),
        seed in prop::collection::vec((any_record(), 0..6_usize), 0..8),
        wanted in prop::collection::vec((any_record(), any::<bool>()), 1..8),
        backwards in any::<bool>(),
    ) {
        let (registry, mut world) = (registry(config.0, config.1, config.2), World::new("zone ex.com"));
        for (set, claim) in &seed {
            let names: Vec<DnsName> = registry.claim_names(world.zone(), &set.key).into_iter().collect();
            world.put(set.clone());
            let owner = if claim % 2 == 0 { "me" } else { "other" };
            if let Some(name) = names.get(claim / 2) {
                world.put(record(&format!("{name} TXT !{owner}")));
            }
        }
        let ours = |world: &World, set: &RecordSet| {
            judge(&registry.claims(world.zone(), &set.key, world), registry.owner()).is_ours()
        };
        let before = world.records();
        let mut groups: Vec<Group> = Vec::new();
        for (set, delete) in wanted {
            let clash = |other: &RecordSet| other.key.name == set.key.name && other.key.rtype.excludes(set.key.rtype);
            let asked = groups.iter().flat_map(Group::changes).filter_map(Change::to).cloned().collect::<Vec<_>>();
            let again = groups.iter().any(|group| group.changes().any(|change| *change.key() == set.key));
            let from = before.iter().find(|other| other.key == set.key && !registry.is_claim(other)).cloned();
            let change = match from {
                Some(from) if delete => Change::Delete { from },
                Some(from) => Change::Update { from, to: set.clone() },
                None => Change::Create { to: set.clone() },
            };
            let in_the_way = |other: &&RecordSet| !registry.is_claim(other) && clash(other);
            if !again && !asked.iter().any(clash) && !before.iter().any(|other| in_the_way(&other)) {
                groups.push(Group::of(Step::record(change, None), vec![]));
            }
        }
        let mut results: Vec<Group> = registry.decorate(world.zone(), groups, &world).into_iter().flatten().collect();
        if backwards {
            results.reverse();
        }
        let strangers: Vec<&RecordSet> = before.iter().filter(|set| !registry.is_claim(set) && !ours(&world, set)).collect();
        let others_claims: Vec<&RecordSet> = before.iter().filter(|set| set.data.to_string().contains("owner=other")).collect();
        let strangers: Vec<RecordSet> = strangers.into_iter().cloned().collect();
        for group in &results {
            // A CNAME is not created where a claim stands that has to stay: the provider refuses it, and says so.
            if world.holds(group) {
                world.apply(group);
            } else {
                let at_name = |set: &RecordSet| set.key.name == group.name && registry.is_claim(set);
                prop_assert!(world.records().iter().any(at_name), "{group:?} cannot be carried out");
            }
        }
        let after = world.records();
        for set in strangers.iter().chain(others_claims) {
            prop_assert!(after.contains(set), "{set} was changed");
        }
        for set in &strangers {
            prop_assert!(!ours(&world, set), "{set} became ours");
        }
        for change in results.iter().flat_map(Group::changes).filter(|change| !change.to().is_some_and(|to| registry.is_claim(to))) {
            if let Some(to) = change.to().filter(|to| after.iter().any(|set| to.is_met_by(set))) {
                prop_assert!(ours(&world, to), "{to} is not ours");
            }
        }
    }

    #[test]
    fn arbitrary_text_never_panics(text in "\\PC{0,60}", host in "[a-z*.]{1,12}") {
        let mut world = World::new("zone ex.com\nwww.ex.com A 192.0.2.1\na-www.ex.com TXT !me");
        let data = RecordData::records([zonewright_core::RData::Txt(zonewright_core::rdata::Txt::from_text(&text))]);
        world.edit(&key("a-www.ex.com TXT"), |set| set.data = data);
        let registry = registry("", "", "");
        let _ = registry.is_claim(&world.record(&key("a-www.ex.com TXT")));
        let _ = decorate(&registry, &world, &["- www.ex.com A", "+ x.ex.com A 192.0.2.1"]);
        if let Ok(name) = DnsName::parse(&host) {
            let key = zonewright_core::RecordKey::simple(name, RecordType::A);
            let _ = (registry.claims(world.zone(), &key, &world), registry.claim_names(world.zone(), &key));
        }
    }
}
