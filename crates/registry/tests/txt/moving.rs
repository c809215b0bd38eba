//! Changing prefix, suffix, wildcard replacement or form: written at the new place, and only then taken from the former.

use crate::support::{World, decorate, key, registry_with, verdict};
use zonewright_core::change::Group;
use zonewright_core::claim::{Ownership, judge};
use zonewright_core::registry::ClaimFormat as _;
use zonewright_registry::txt::{FormerNames, TxtConfig, TxtRegistry};

/// Prefix, suffix and wildcard replacement.
pub(crate) type Names = (&'static str, &'static str, &'static str);

pub(crate) const NONE: Names = ("", "", "");
pub(crate) const KEY: &str = "01234567890123456789012345678901";

fn set_names(config: &mut TxtConfig, (prefix, suffix, wildcard): Names) {
    (config.prefix, config.suffix, config.wildcard_replacement) = (prefix.into(), suffix.into(), wildcard.into());
}

/// A registry that writes by `today` and finds what was written by `former`.
pub(crate) fn moving(today: Names, former: &[Names]) -> TxtRegistry {
    registry_with(|config| {
        set_names(config, today);
        config.former = former
            .iter()
            .map(|(prefix, suffix, wildcard)| FormerNames {
                prefix: (*prefix).into(),
                suffix: (*suffix).into(),
                wildcard_replacement: (*wildcard).into(),
            })
            .collect();
    })
}

pub(crate) fn owner_of(registry: &TxtRegistry, world: &World, record: &str) -> String {
    match judge(&registry.claims(world.zone(), &key(record), world), registry.owner()) {
        Ownership::Ours(claim) => format!("ours:{}", claim.and_then(|claim| claim.resource).unwrap_or_default()),
        Ownership::Foreign(owner) => format!("of {owner}"),
        Ownership::Disputed(owners) => format!("disputed by {}", owners.len()),
        Ownership::Unclaimed => "unclaimed".to_owned(),
    }
}

pub(crate) fn step(registry: &TxtRegistry, world: &World, record: &str) -> Option<Group> {
    registry.upgrade(world.zone(), &world.record(&key(record)), world)
}

/// The names of the zone that hold claims, each with what it says in short.
fn claims(registry: &TxtRegistry, world: &World) -> Vec<String> {
    let sets = world.records().into_iter().filter(|set| registry.is_claim(set));
    sets.map(|set| set.key.to_string()).collect()
}

/// Moves the claim on `record` to its end and checks each step: the record is ours by today's settings throughout, each step
/// holds what it demands, and the plan offers a step exactly while there is one.
pub(crate) fn move_all(registry: &TxtRegistry, world: &mut World, record: &str) -> Vec<Vec<String>> {
    let mut steps = Vec::new();
    while let Some(group) = step(registry, world, record) {
        assert_eq!(owner_of(registry, world, record), "ours:r", "before step {}", steps.len());
        assert!(!is_current(registry, world, record), "step {} is offered", steps.len());
        assert!(world.holds(&group) && group.records().count() == 0, "{group:?}");
        world.apply(&group);
        steps.push(verdict(&Ok(group)));
        assert!(steps.len() < 5, "{steps:?}");
    }
    assert_eq!(owner_of(registry, world, record), "ours:r");
    assert!(is_current(registry, world, record), "nothing more is offered");
    steps
}

pub(crate) fn is_current(registry: &TxtRegistry, world: &World, record: &str) -> bool {
    let claims = registry.claims(world.zone(), &key(record), world);
    judge(&claims, registry.owner()).claim().is_some_and(|claim| claim.current)
}

#[test]
fn a_claim_is_written_at_its_new_place_and_then_taken_from_the_former() {
    for (today, former, record, from, to) in [
        // Prefix to prefix, none to prefix, back, prefix to suffix and back.
        (("new-", "", ""), ("old-", "", ""), "www.ex.com A 192.0.2.1", "old-a-www.ex.com", "new-a-www.ex.com"),
        (("txt-", "", ""), NONE, "www.ex.com A 192.0.2.1", "a-www.ex.com", "txt-a-www.ex.com"),
        (NONE, ("txt-", "", ""), "www.ex.com A 192.0.2.1", "txt-a-www.ex.com", "a-www.ex.com"),
        (("", "-txt", ""), ("txt-", "", ""), "www.ex.com A 192.0.2.1", "txt-a-www.ex.com", "a-www-txt.ex.com"),
        (("txt-", "", ""), ("", "-txt", ""), "www.ex.com A 192.0.2.1", "a-www-txt.ex.com", "txt-a-www.ex.com"),
        // Templates.
        (("%{record_type}.", "", ""), NONE, "www.ex.com AAAA 2001:db8::1", "aaaa-www.ex.com", "aaaa.www.ex.com"),
        (NONE, ("x%{record_type}y-", "", ""), "www.ex.com MX 10 mx.test", "xmxy-www.ex.com", "mx-www.ex.com"),
        (("", "-%{record_type}", ""), ("", "-txt", ""), "www.ex.com A 192.0.2.1", "a-www-txt.ex.com", "www-a.ex.com"),
        (("%{record_type}", "", ""), NONE, "www.ex.com A 192.0.2.1", "a-www.ex.com", "awww.ex.com"),
        // Wildcard replacement.
        (("", "", "any"), NONE, "*.ex.com A 192.0.2.1", "a-*.ex.com", "a-any.ex.com"),
        (NONE, ("", "", "any"), "*.ex.com A 192.0.2.1", "a-any.ex.com", "a-*.ex.com"),
        (("", "", "all"), ("", "", "any"), "*.ex.com A 192.0.2.1", "a-any.ex.com", "a-all.ex.com"),
        // The apex: from the name inside the zone to one by the prefix, and back.
        (("%{record_type}-reg.", "", ""), NONE, "ex.com A 192.0.2.1", "a-_apex.ex.com", "a-reg.ex.com"),
        (NONE, ("%{record_type}-reg.", "", ""), "ex.com A 192.0.2.1", "a-reg.ex.com", "a-_apex.ex.com"),
        // A CNAME, a text, a set identifier.
        (("txt-", "", ""), NONE, "www.ex.com CNAME lb.test", "cname-www.ex.com", "txt-cname-www.ex.com"),
        (("txt-", "", ""), NONE, "www.ex.com TXT hello", "txt-www.ex.com", "txt-txt-www.ex.com"),
        (("new-", "", ""), ("old-", "", ""), "www.ex.com A@eu 192.0.2.1", "old-a-www.ex.com", "new-a-www.ex.com"),
        // The format of before 2022 under a former prefix goes as well: nobody looks there by today's.
        (("new-", "", ""), ("old-", "", ""), "www.ex.com A 192.0.2.1", "old-www.ex.com", "new-a-www.ex.com"),
        (("new-", "", ""), NONE, "www.ex.com A 192.0.2.1", "www.ex.com", "new-a-www.ex.com"),
        (("new-", "", ""), ("old-", "", ""), "www.ex.com CNAME lb.test", "old-www.ex.com", "new-cname-www.ex.com"),
    ] {
        let (registry, id) = (moving(today, &[former]), if record.contains("@eu") { "@eu" } else { "" });
        let shown = if id.is_empty() { "" } else { " (eu)" };
        let mut world = World::new(&format!("zone ex.com\n{record}\n{from} TXT{id} !me:r,external-dns/z=1"));
        let before = world.record(&record_key(record));
        let steps = move_all(&registry, &mut world, &short(record));
        let case = format!("{former:?} to {today:?}, {record}");
        let [write, take] = &steps[..] else { panic!("{case}: {steps:?}") };
        let claim = "!me:r,external-dns/z=1";
        assert_eq!(write[0], format!("+ {to} TXT{shown} {claim}"), "{case}");
        assert!(write.contains(&format!("= {from} TXT{shown} {claim}")), "{case} rests on the former: {write:?}");
        assert_eq!(take[0], format!("- {from} TXT{shown} {claim}"), "{case}");
        assert!(take.contains(&format!("= {to} TXT{shown} {claim}")), "{case} rests on the new: {take:?}");
        assert!(write.len() == 3 && take.len() == 3, "{case}: both rest on the record too: {steps:?}");
        assert_eq!(world.record(&before.key), before, "{case}");
        // Whoever starts without the former names from now on finds everything.
        assert_eq!(owner_of(&moving(today, &[]), &world, &short(record)), "ours:r", "{case}");
        assert_eq!(claims(&registry, &world).len(), 1, "{case}");
    }
}

fn short(record: &str) -> String {
    record.split(' ').take(2).collect::<Vec<_>>().join(" ")
}

fn record_key(record: &str) -> zonewright_core::RecordKey {
    key(&short(record))
}

#[test]
fn several_former_names_all_go() {
    let registry = moving(("c-", "", ""), &[("b-", "", ""), NONE]);
    let mut world = World::new(
        "zone ex.com
        www.ex.com A 192.0.2.1
        a-www.ex.com TXT !me:r
        b-a-www.ex.com TXT !me:r ; v=spf1 -all",
    );
    let steps = move_all(&registry, &mut world, "www.ex.com A");
    assert_eq!(steps[0][0], "+ c-a-www.ex.com TXT !me:r");
    assert_eq!(
        steps[1][..2],
        ["~ b-a-www.ex.com TXT v=spf1 -all (was !me:r ; v=spf1 -all)", "- a-www.ex.com TXT !me:r"],
        "what else stands in the set stays"
    );
}

#[test]
fn plain_to_sealed_and_back_is_one_step_in_place() {
    let with = |encrypt, moves| {
        registry_with(|config| {
            config.aes_key = Some(KEY.to_owned().into());
            config.encrypt = encrypt;
            config.move_old_format = moves;
        })
    };
    let form = |encrypt| with(encrypt, true);
    let mut world = World::new("zone ex.com\nwww.ex.com A 192.0.2.1\na-www.ex.com TXT !me:r ; other");
    let steps = move_all(&with(true, false), &mut world, "www.ex.com A");
    assert!(steps.is_empty(), "as in external-dns the form is left where nothing else changes: {steps:?}");
    for (encrypt, text) in [(true, "heritage=external-dns,"), (false, "heritage=external-dns,")] {
        let steps = move_all(&form(encrypt), &mut world, "www.ex.com A");
        assert_eq!(steps.len(), 1, "{steps:?}");
        let claim = world.record(&key("a-www.ex.com TXT"));
        assert_eq!(claim.data.to_string().contains(text), !encrypt, "{claim}");
        assert!(claim.data.to_string().contains("other"), "{claim}");
    }
    // A name and the form at once: written sealed at the new place, and the plain one goes.
    let registry = registry_with(|config| {
        set_names(config, ("new-", "", ""));
        config.former =
            vec![FormerNames { prefix: String::new(), suffix: String::new(), wildcard_replacement: String::new() }];
        config.aes_key = Some(KEY.to_owned().into());
        config.encrypt = true;
    });
    let steps = move_all(&registry, &mut world, "www.ex.com A");
    assert_eq!((steps.len(), steps[1][0].starts_with("~ a-www.ex.com TXT other (was")), (2, true), "{steps:?}");
    assert!(!world.record(&key("new-a-www.ex.com TXT")).data.to_string().contains("heritage"));
}

#[test]
fn what_external_dns_leaves_for_ever_goes_if_asked() {
    let with = |moves| {
        registry_with(|config| {
            set_names(config, ("%{record_type}-x.", "", ""));
            config.move_old_format = moves;
        })
    };
    let plain = |moves| registry_with(|config| config.move_old_format = moves);
    for (registry, zone, record, kept, moved) in [
        // The format of before 2022, alone and beside today's.
        (&plain as &dyn Fn(bool) -> TxtRegistry, "www.ex.com TXT !me:r", "www.ex.com A", 2, 1),
        (&plain, "www.ex.com TXT !me:r\na-www.ex.com TXT !me:r", "www.ex.com A", 2, 1),
        // That of another owner is hidden by ours, and stays.
        (&plain, "www.ex.com TXT !other:r\na-www.ex.com TXT !me:r", "www.ex.com A", 2, 2),
        // Another record at the name has no claim of its own: it needs the old one.
        (&plain, "www.ex.com TXT !me:r\nwww.ex.com MX 10 mx.test\na-www.ex.com TXT !me:r", "www.ex.com A", 2, 2),
        (&plain, "www.ex.com TXT !me:r\nwww.ex.com AAAA 2001:db8::1\na-www.ex.com TXT !me:r", "www.ex.com A", 2, 1),
        // The apex once the prefix gives a name inside the zone.
        (&with, "a-_apex.ex.com TXT !me:r\na-x.ex.com TXT !me:r", "ex.com A", 2, 1),
    ] {
        for (moves, left) in [(false, kept), (true, moved)] {
            let mut world = World::new(&format!("zone ex.com\n{record} 192.0.2.1\n{zone}"));
            move_all(&registry(moves), &mut world, record);
            assert_eq!(claims(&registry(moves), &world).len(), left, "{record} in {zone}, {moves}");
        }
    }
    // An alias under the name of a CNAME.
    for (moves, left) in [(false, 2), (true, 1)] {
        let mut world = World::new(
            "zone ex.com
            www.ex.com A 192.0.2.1
            cname-www.ex.com TXT !me:r
            a-www.ex.com TXT !me:r",
        );
        world.edit(&key("www.ex.com A"), |set| {
            let alias =
                zonewright_core::record::AliasTarget { target: "lb.test".into(), zone: None, evaluate_health: true };
            set.data = zonewright_core::RecordData::Alias(alias);
        });
        move_all(&plain(moves), &mut world, "www.ex.com A");
        assert_eq!(claims(&plain(moves), &world).len(), left, "{moves}");
    }
}

#[test]
fn changes_during_the_move_keep_record_and_claims_together() {
    let registry = moving(("new-", "", ""), &[NONE]);
    let (update, delete) = ("~ www.ex.com A 192.0.2.2 [s]", "- www.ex.com A");
    for (claims, change, expected) in [
        // Not begun.
        ("a-www.ex.com TXT !me:r", update, vec!["+ new-a-www.ex.com TXT !me:s", "= a-www.ex.com TXT !me:r"]),
        ("a-www.ex.com TXT !me:r", delete, vec!["- a-www.ex.com TXT !me:r"]),
        // Both stand.
        (
            "a-www.ex.com TXT !me:r\nnew-a-www.ex.com TXT !me:r",
            update,
            vec!["~ new-a-www.ex.com TXT !me:s (was !me:r)"],
        ),
        (
            "a-www.ex.com TXT !me:r\nnew-a-www.ex.com TXT !me:r",
            delete,
            vec!["- new-a-www.ex.com TXT !me:r", "- a-www.ex.com TXT !me:r"],
        ),
        ("a-www.ex.com TXT !me:r\nnew-a-www.ex.com TXT !me:s", update, vec!["= new-a-www.ex.com TXT !me:s"]),
        (
            "a-www.ex.com TXT !me:r\nnew-a-www.ex.com TXT !me:r\nwww.ex.com TXT !me:r",
            delete,
            vec!["- www.ex.com TXT !me:r", "- new-a-www.ex.com TXT !me:r", "- a-www.ex.com TXT !me:r"],
        ),
        // A change of type takes all claims of the former record along.
        (
            "a-www.ex.com TXT !me:r\nnew-a-www.ex.com TXT !me:r",
            "- www.ex.com A & + www.ex.com CNAME lb.test [r]",
            vec!["- new-a-www.ex.com TXT !me:r", "- a-www.ex.com TXT !me:r", "+ new-cname-www.ex.com TXT !me:r"],
        ),
    ] {
        let mut world = World::new(&format!("zone ex.com\nwww.ex.com A 192.0.2.1\n{claims}"));
        let results = decorate(&registry, &world, &[change]);
        assert_eq!(verdict(&results[0]), expected, "{change} with {claims}");
        world.apply(results[0].as_ref().unwrap());
        if change == update {
            assert_eq!(owner_of(&registry, &world, "www.ex.com A"), "ours:s", "what the new claim says counts");
        }
    }
    // A record that was lost comes back under a new claim, as long as nobody writes beside the former, which goes later.
    let mut world = World::new("zone ex.com\na-www.ex.com TXT !me:r");
    let results = decorate(&registry, &world, &["+ www.ex.com A 192.0.2.1 [r]"]);
    assert_eq!(verdict(&results[0]), ["+ new-a-www.ex.com TXT !me:r", "= a-www.ex.com TXT !me:r"]);
    world.apply(results[0].as_ref().unwrap());
    assert_eq!(move_all(&registry, &mut world, "www.ex.com A").len(), 1);
}

#[test]
fn a_targeted_read_covers_the_former_names() {
    let registry = moving(("new-", "", ""), &[NONE, ("old-", "", "")]);
    let world = World::new("zone ex.com");
    let names = registry.claim_names(world.zone(), &key("www.ex.com A"));
    for name in ["new-a-www", "a-www", "old-a-www", "new-www", "www", "old-www"] {
        assert!(names.iter().any(|found| found.as_str() == format!("{name}.ex.com")), "{name} in {names:?}");
    }
}
