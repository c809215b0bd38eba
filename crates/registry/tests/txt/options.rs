//! The options of a record on its claim.

use crate::support::{World, decorate, group, key, registry};
use proptest::prelude::*;
use zonewright_core::RecordSet;
use zonewright_core::change::{Change, Group, Role};
use zonewright_core::options::{OptionValue, Options};
use zonewright_core::registry::ClaimFormat as _;

/// `a=1 b=2` as options.
fn options(text: &str) -> Options {
    let mut options = Options::default();
    for (key, value) in text.split_whitespace().filter_map(|pair| pair.split_once('=')) {
        options.set(key, OptionValue::Text(value.into()));
    }
    options
}

fn shown(set: &RecordSet) -> String {
    set.options.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
}

/// `!me:r` as another program may spell it.
const SPELLING: &str = "external-dns/resource=r,heritage=external-dns,external-dns/owner=me,x";

/// The update of a record whose claim stands, with options on all three.
fn updated(set_id: &str, claim: &str, from: &str, to: &str) -> (World, Group) {
    let at = |name: &str| key(&format!("{name}{set_id}"));
    let mut world =
        World::new(&format!("zone ex.com\nwww.ex.com A{set_id} 192.0.2.1\na-www.ex.com TXT{set_id} aaa ; {SPELLING}"));
    world.edit(&at("www.ex.com A"), |set| set.options = options(from));
    world.edit(&at("a-www.ex.com TXT"), |set| set.options = options(claim));
    let mut change = group(&world, &format!("~ www.ex.com A{set_id} 192.0.2.2 [r]"));
    if let Change::Update { to: set, .. } = &mut change.steps[0].change {
        set.options = options(to);
    }
    let groups = registry("", "", "").decorate(world.zone(), vec![change], &world);
    (world, groups.into_iter().next().and_then(Result::ok).expect("nothing is in the way"))
}

fn claim_change(group: &Group) -> Option<&Change> {
    group.steps.iter().find(|step| step.role == Role::Claim).map(|step| &step.change)
}

#[test]
fn options_of_a_claim_follow_its_record() {
    // Options of the claim, of the record before and after; those of the claim after, if it is rewritten.
    for (claim, from, to, expected) in [
        ("", "", "", None),
        ("a=1", "a=1", "a=1", None),
        ("a=1", "a=1", "a=2", Some("a=2")),
        ("a=1", "a=1", "b=1", Some("b=1")),
        ("a=1", "a=1", "", Some("")),
        ("", "", "a=1", Some("a=1")),
        ("a=1", "a=1", "a=1 b=1", Some("a=1 b=1")),
        // A claim that was left behind catches up.
        ("a=1", "a=2", "a=2", Some("a=2")),
        ("a=1", "", "", Some("")),
        // The provider keeps no options on TXT records, or not this one.
        ("", "a=1", "a=2", None),
        ("", "a=1", "a=1", None),
        ("", "a=1", "", None),
        ("b=1", "a=1 b=1", "a=2 b=1", None),
        ("b=1", "a=1 b=1", "a=2 b=2", Some("a=2 b=2")),
    ] {
        let (mut world, group) = updated("", claim, from, to);
        let change = claim_change(&group);
        assert_eq!(change.and_then(Change::to).map(shown).as_deref(), expected, "{claim:?}: {from:?} to {to:?}");
        if let Some(Change::Update { from, to }) = change {
            assert_eq!((&from.data, &from.key), (&to.data, &to.key), "the text stays, all of it");
        }
        world.apply(&group);
    }
}

#[test]
fn sets_beside_each_other_have_the_options_of_their_record() {
    for (claim, from, to, expected) in [
        ("a=1", "a=1", "a=1", None),
        ("a=1", "a=1", "a=2", Some("a=2")),
        ("", "a=1", "a=2", Some("a=2")),
        ("", "a=1", "a=1", Some("a=1")),
    ] {
        let (_, group) = updated("@eu", claim, from, to);
        let new = claim_change(&group).and_then(Change::to);
        assert_eq!(new.map(shown).as_deref(), expected, "{claim:?}: {from:?} to {to:?}");
    }
}

#[test]
fn a_new_claim_has_the_options_of_its_record() {
    let world = World::new("zone ex.com");
    let mut create = group(&world, "+ www.ex.com A 192.0.2.1 [r]");
    if let Change::Create { to } = &mut create.steps[0].change {
        to.options = options("a=1");
    }
    let group = registry("", "", "").decorate(world.zone(), vec![create], &world).remove(0).unwrap();
    assert_eq!(claim_change(&group).and_then(Change::to).map(shown).as_deref(), Some("a=1"));
}

#[test]
fn a_record_that_comes_back_leaves_the_claim_alone() {
    let mut world = World::new("zone ex.com\na-www.ex.com TXT !me:r");
    world.edit(&key("a-www.ex.com TXT"), |set| set.options = options("a=1"));
    let result = decorate(&registry("", "", ""), &world, &["+ www.ex.com A 192.0.2.1 [r]"]).remove(0);
    assert_eq!(claim_change(&result.unwrap()), None);
}

#[test]
fn another_text_alone_leaves_the_options() {
    let mut world = World::new("zone ex.com\nwww.ex.com A 192.0.2.1\na-www.ex.com TXT !me:r");
    world.edit(&key("www.ex.com A"), |set| set.options = options("a=1"));
    let result = decorate(&registry("", "", ""), &world, &["~ www.ex.com A 192.0.2.2 [s]"]).remove(0).unwrap();
    assert_eq!(claim_change(&result).and_then(Change::to).map(shown).as_deref(), Some(""));
}

proptest! {
    #[test]
    fn one_rewrite_settles(claim in any_options(), from in any_options(), to in any_options(), keeps in any::<bool>()) {
        let claim = if keeps { claim } else { String::new() };
        let (mut world, group) = updated("", &claim, &from, &to);
        world.apply(&group);
        if !keeps {
            world.edit(&key("a-www.ex.com TXT"), |set| set.options = Options::default());
        }
        let again = decorate(&registry("", "", ""), &world, &["~ www.ex.com A 192.0.2.3 [r]"]).remove(0).unwrap();
        prop_assert_eq!(claim_change(&again), None);
    }
}

fn any_options() -> impl Strategy<Value = String> {
    "(a=[12] )?(b=[12] )?(c=[12])?"
}
