//! What happens to claims when records change.

use crate::support::{World, decorate, group, key, record, registry, verdict};
use zonewright_core::change::{Change, Group, Role, Step};
use zonewright_core::record::{AliasTarget, RecordData, Routing};
use zonewright_core::registry::ClaimFormat as _;

pub(crate) fn check_with(affixes: (&str, &str, &str), zones: &str, change: &str, expected: &[&str]) {
    let (registry, mut world) = (registry(affixes.0, affixes.1, affixes.2), World::new(zones));
    let results = decorate(&registry, &world, &[change]);
    assert_eq!(verdict(&results[0]), expected, "{change} under {affixes:?} in {zones}");
    if let Ok(group) = &results[0] {
        world.apply(group);
    }
}

pub(crate) fn check(zones: &str, change: &str, expected: &[&str]) {
    check_with(("", "", ""), zones, change, expected);
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
        // A foreign claim on another type or set says nothing.
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
        // A typed claim would speak before an old one: none may come unseen.
        ("www.ex.com TXT !me", vec!["- www.ex.com TXT !me", "no a-www.ex.com TXT"]),
        ("www.ex.com TXT !me\na-www.ex.com TXT remark", vec!["- www.ex.com TXT !me", "= a-www.ex.com TXT remark"]),
        // A claim that is left behind would make the next foreign record at the name ours.
        ("a-www.ex.com TXT !me\nwww.ex.com TXT !me", vec!["- www.ex.com TXT !me", "- a-www.ex.com TXT !me"]),
        ("a-www.ex.com TXT !me\nwww.ex.com TXT !other", vec!["- a-www.ex.com TXT !me"]),
        // The MX has no claim but the old one; the SRV has its own; an AAAA never reads the old format.
        ("www.ex.com TXT !me\nwww.ex.com MX 10 mx.example", vec!["= www.ex.com TXT !me", "no a-www.ex.com TXT"]),
        // What spares the SRV the old one has to stand while that goes.
        (
            "www.ex.com TXT !me\nwww.ex.com SRV 0 0 1 s.example\nsrv-www.ex.com TXT !me",
            vec!["- www.ex.com TXT !me", "= srv-www.ex.com TXT !me", "no a-www.ex.com TXT"],
        ),
        ("www.ex.com TXT !me\nwww.ex.com AAAA 2001:db8::1", vec!["- www.ex.com TXT !me", "no a-www.ex.com TXT"]),
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
    check(old, to_cname, &["- www.ex.com TXT !me:r", "+ cname-www.ex.com TXT !me:r", "no a-www.ex.com TXT"]);
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
fn a_claim_around_a_label_in_its_own_script_goes_with_its_record() {
    let zone = "zone ex.com
        xn--bcher-kva.ex.com A 192.0.2.1
        xn--a-bcher-p2a.ex.com TXT !me:r";
    check(zone, "- xn--bcher-kva.ex.com A", &["- xn--a-bcher-p2a.ex.com TXT !me:r"]);
}
