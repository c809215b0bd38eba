//! Moves of claims in arbitrary zones, by arbitrary former settings, broken off anywhere.

use std::collections::BTreeSet;

use proptest::prelude::*;
use zonewright_core::change::Change;
use zonewright_core::claim::judge;
use zonewright_core::registry::ClaimFormat as _;
use zonewright_core::{RecordKey, RecordSet};
use zonewright_registry::txt::{FormerNames, TxtRegistry};

use crate::support::{World, decorate, key, record, registry_with};

type Setting = (&'static str, &'static str, &'static str, bool);

/// Prefix, suffix, wildcard replacement, and whether claims are sealed.
const SETTINGS: [Setting; 9] = [
    ("", "", "", false),
    ("", "", "", true),
    ("txt-", "", "", false),
    ("x-", "", "", false),
    ("x-txt-", "", "", true),
    ("a-", "", "", false),
    ("%{record_type}-r.", "", "", false),
    ("", "-s", "", false),
    ("", "", "any", false),
];

const HOSTS: [&str; 8] = ["www", "a-www", "x-www", "x-a-www", "*", "any", "www-s", ""];
const DATA: [&str; 4] = ["A 192.0.2.1", "MX 10 mx.test", "TXT hello", "AAAA 2001:db8::1"];

fn with(today: Setting, former: &[Setting]) -> TxtRegistry {
    registry_with(|config| {
        (config.prefix, config.suffix, config.wildcard_replacement) = (today.0.into(), today.1.into(), today.2.into());
        config.aes_key = Some("01234567890123456789012345678901".to_owned().into());
        config.encrypt = today.3;
        let names = |setting: &Setting| FormerNames {
            prefix: setting.0.into(),
            suffix: setting.1.into(),
            wildcard_replacement: setting.2.into(),
        };
        config.former = former.iter().map(names).collect();
    })
}

fn line(host: &str, data: &str) -> String {
    if host.is_empty() { format!("ex.com {data}") } else { format!("{host}.ex.com {data}") }
}

fn is_ours(registry: &TxtRegistry, world: &World, key: &RecordKey) -> bool {
    judge(&registry.claims(world.zone(), key, world), registry.owner()).is_ours()
}

/// What is no claim of ours.
fn others(registry: &TxtRegistry, world: &World) -> Vec<RecordSet> {
    let me = |set: &RecordSet| registry.is_claim(set) && !set.data.to_string().contains("other");
    world.records().into_iter().filter(|set| !me(set)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn a_move_loses_nothing_takes_nothing_and_ends(
        today in prop::sample::select(SETTINGS.to_vec()),
        former in prop::collection::vec(prop::sample::select(SETTINGS.to_vec()), 1..3),
        planted in prop::collection::btree_set((0..HOSTS.len(), 0..DATA.len(), prop::bool::weighted(0.3)), 0..4),
        ours in prop::collection::vec((0..HOSTS.len(), 0..DATA.len(), any::<prop::sample::Index>()), 1..6),
        steps in prop::collection::vec(prop::collection::vec(any::<bool>(), 8), 0..6),
    ) {
        let registry = with(today, &former);
        let mut world = World::new("zone ex.com");
        let mut foreign = BTreeSet::new();
        for (host, data, claimed) in planted {
            let set = record(&line(HOSTS[host], DATA[data]));
            if *claimed_name(&former, &set) != *"" && claimed {
                world.put(record(&format!("{} TXT !other:x", claimed_name(&former, &set))));
            }
            foreign.insert(set.key.clone());
            world.put(set);
        }
        for (host, data, by) in ours {
            let set = record(&line(HOSTS[host], DATA[data]));
            let taken = world.records().iter().any(|standing| standing.key == set.key);
            let group = decorate(&with(*by.get(&former), &[]), &world, &[&format!("+ {} [r]", line(HOSTS[host], DATA[data]))]);
            if let (false, [Ok(group)]) = (taken, group.as_slice()) {
                world.apply(group);
            }
        }
        let records: Vec<RecordKey> = world.records().into_iter().map(|set| set.key).collect();
        let is_claim = |world: &World, key: &RecordKey| registry.is_claim(&world.record(key));
        let mine: Vec<RecordKey> =
            records.into_iter().filter(|key| !is_claim(&world, key) && is_ours(&registry, &world, key)).collect();
        let before = others(&registry, &world);
        let check = |world: &World| -> Result<(), TestCaseError> {
            prop_assert_eq!(others(&registry, world), before.clone(), "nothing but claims of ours changes");
            for key in &mine {
                prop_assert!(is_ours(&registry, world, key), "{} is lost", key);
            }
            for key in foreign.iter().filter(|key| !mine.contains(key)) {
                prop_assert!(!is_ours(&registry, world, key), "{} is foreign", key);
            }
            Ok(())
        };
        for key in &foreign {
            prop_assert!(!mine.contains(key), "{} is foreign", key);
        }
        check(&world)?;
        // Groups are made for all records of one moment; some are carried out, one after the other.
        for picks in steps {
            let groups: Vec<_> = mine.iter().map(|key| registry.upgrade(world.zone(), &world.record(key), &world)).collect();
            for (group, _) in groups.into_iter().zip(picks).filter(|(_, pick)| *pick) {
                if let Some(group) = group.filter(|group| world.holds(group)) {
                    prop_assert!(group.changes().all(|change| change.key().rtype == zonewright_core::RecordType::Txt));
                    world.apply(&group);
                    check(&world)?;
                }
            }
        }
        let mut turns = 0;
        while let Some(group) = mine.iter().find_map(|key| registry.upgrade(world.zone(), &world.record(key), &world)) {
            world.apply(&group);
            check(&world)?;
            turns += 1;
            prop_assert!(turns < 40, "it ends");
        }
        // Where nothing was in the way, today's settings alone find everything, and nothing else is left.
        let alone = with(today, &[]);
        let current = |key: &RecordKey| {
            judge(&registry.claims(world.zone(), key, &world), registry.owner()).claim().is_some_and(|claim| claim.current)
        };
        for key in mine.iter().filter(|key| current(key)) {
            prop_assert!(is_ours(&alone, &world, key), "{} has its claim", key);
        }
        for key in mine.iter().filter(|key| !current(key)) {
            let update = Change::Update { from: world.record(key), to: world.record(key) };
            let step = zonewright_core::change::Step::record(update, Some("r".into()));
            let outcome = registry.decorate(world.zone(), vec![zonewright_core::change::Group::of(step, vec![])], &world);
            prop_assert!(outcome[0].is_err(), "{}: what is in the way is reported", key);
        }
        if foreign.is_empty() && before.iter().all(|set| HOSTS[..1].contains(&set.key.name.as_str().trim_end_matches(".ex.com"))) {
            let claims = world.records().into_iter().filter(|set| registry.is_claim(set)).count();
            prop_assert_eq!(claims, mine.len(), "exactly today's claims");
        }
    }
}

/// Where the first of the former settings has the claim on a record.
fn claimed_name(former: &[Setting], set: &RecordSet) -> String {
    let world = World::new("zone ex.com");
    let text = format!("+ {} {} {}", set.key.name, set.key.rtype, set.data.to_string().trim_matches('"'));
    let group = decorate(&with(former[0], &[]), &world, &[&text]);
    let claim =
        group.iter().flatten().flat_map(|group| group.changes().filter_map(Change::to)).find(|to| to.key != set.key);
    claim.map(|claim| claim.key.name.to_string()).unwrap_or_default()
}

#[test]
fn the_samples_hold_every_kind_of_change() {
    for setting in SETTINGS {
        let world = World::new("zone ex.com");
        let group = decorate(&with(setting, &[]), &world, &["+ www.ex.com A 192.0.2.1 [r]"]).remove(0).unwrap();
        assert_eq!(group.changes().count(), 2, "{setting:?}");
        assert!(!is_ours(&with(setting, &[]), &world, &key("www.ex.com A")));
    }
}

#[test]
fn a_new_claim_makes_no_other_read_as_a_record() {
    let (today, former) = (SETTINGS[7], [SETTINGS[8]]);
    let registry = with(today, &former);
    let mut world = World::new("zone ex.com");
    for line in ["www-s.ex.com A 192.0.2.1", "a-www.ex.com TXT hello"] {
        let group = decorate(&with(former[0], &[]), &world, &[&format!("+ {line} [r]")]).remove(0);
        world.apply(&group.expect("claimed by the former settings"));
    }
    let [address, text] = ["www-s.ex.com A", "a-www.ex.com TXT"].map(key);
    // Today's claim on the text has the name of the former claim on a text where the claim on the address still stands.
    assert!(registry.upgrade(world.zone(), &world.record(&text), &world).is_none());
    let outcome =
        decorate(&registry, &world, &["~ a-www.ex.com TXT hello -> TXT bye"]).remove(0).expect_err("in the way").1;
    assert!(outcome.reason.contains("a-www-s.ex.com TXT would read as a TXT record"), "{}", outcome.reason);
    for key in [&address, &address, &text, &text] {
        let group = registry.upgrade(world.zone(), &world.record(key), &world).expect("a step of the move");
        world.apply(&group);
        assert!(is_ours(&registry, &world, &address) && is_ours(&registry, &world, &text));
    }
}

#[test]
fn claims_that_would_read_as_one_record_do_not_come_in_one_round() {
    let registry = with(SETTINGS[7], &[SETTINGS[0]]);
    let created = decorate(
        &registry,
        &World::new("zone ex.com"),
        &["+ a-www.ex.com TXT hello [r]", "+ www.ex.com A 192.0.2.1 [r]"],
    );
    let outcome = created.get(1).and_then(|group| group.as_ref().err()).expect("the second waits");
    assert!(
        outcome.1.reason.contains("txt-a-www-s.ex.com TXT is in use by the change of a-www.ex.com"),
        "{}",
        outcome.1.reason
    );
}
