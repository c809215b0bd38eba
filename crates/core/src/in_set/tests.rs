use std::sync::Arc;

use proptest::prelude::*;

use super::merge::{Wholes, plan, reading, whole_key};
use super::*;
use crate::change::{Change, Group, Precondition, Step};
use crate::error::ErrorKind;
use crate::rdata::RData;
use crate::record::{Geolocation, Ttl};
use crate::rtype::RecordType;
use crate::testing::{name, set};

fn weight(weight: u32) -> Routing {
    Routing::Weighted { weight }
}

fn country(country: &str) -> Routing {
    Routing::Geolocation { location: Geolocation { country: Some(Arc::from(country)), ..Geolocation::default() } }
}

fn address(last: u8) -> RData {
    RData::parse(RecordType::A, &format!("192.0.2.{last}")).unwrap()
}

/// A whole set of items, each a policy and the last byte of an address.
fn whole(items: &[(Routing, u8)]) -> RecordSet {
    let item = |(routing, last): &(Routing, u8)| Item { routing: routing.clone(), records: vec![address(*last)] };
    let data = RecordData::items(items.iter().map(item));
    RecordSet { data, ..set("www.example A ttl=300 192.0.2.1") }
}

/// An item of ours.
fn item(id: &str, routing: Routing, last: u8) -> RecordSet {
    let data = RecordData::records([address(last)]);
    let plain = set("www.example A ttl=300 192.0.2.1");
    RecordSet { key: RecordKey { set_id: SetId::new(id), ..plain.key.clone() }, data, routing, ..plain }
}

fn group(changes: Vec<Change>) -> Group {
    let steps = changes.into_iter().map(|change| Step::record(change, None)).collect();
    Group { name: name("www.example"), steps, stored: Vec::new(), requires: Vec::new(), objects: Vec::new() }
}

fn create(to: RecordSet) -> Group {
    group(vec![Change::Create { to }])
}

/// What comes of groups where these sets stand: the changes, and why groups are refused.
fn check(standing: &[RecordSet], groups: &[Group], sent: &[&str], refused: &[(usize, &str)]) {
    let wholes: Wholes = standing.iter().map(|set| (set.key.clone(), set.clone())).collect();
    let plan = plan(groups, &wholes);
    let changes = plan.merged.iter().flat_map(|merged| &merged.group).flat_map(Group::changes);
    assert_eq!(changes.map(ToString::to_string).collect::<Vec<_>>(), sent);
    assert_eq!(plan.refused.len(), refused.len(), "{:?}", plan.refused);
    for ((at, error), (expected, text)) in plan.refused.iter().zip(refused) {
        assert_eq!((at, error.kind), (expected, ErrorKind::Conflict));
        assert!(error.to_string().contains(text), "{error}");
    }
}

#[test]
fn a_change_carries_the_whole_set_before_and_after() {
    let stands = whole(&[(weight(10), 1), (weight(20), 2)]);
    let blue = item("blue", weight(10), 1);
    let to = item("blue", weight(30), 9);
    check(
        std::slice::from_ref(&stands),
        &[group(vec![Change::Update { from: blue.clone(), to }])],
        &[
            "~ www.example 300 A weighted:20: 192.0.2.2 | weighted:30: 192.0.2.9 (was weighted:10: 192.0.2.1 | weighted:20: 192.0.2.2)",
        ],
        &[],
    );
    check(
        &[stands],
        &[group(vec![Change::Delete { from: blue.clone() }])],
        &["~ www.example 300 A weighted:20: 192.0.2.2 (was weighted:10: 192.0.2.1 | weighted:20: 192.0.2.2)"],
        &[],
    );
    check(&[], &[create(blue.clone())], &["+ www.example 300 A weighted:10: 192.0.2.1"], &[]);
    // The set goes with its last item.
    let last = whole(&[(weight(10), 1)]);
    check(&[last], &[group(vec![Change::Delete { from: blue }])], &["- www.example 300 A weighted:10: 192.0.2.1"], &[]);
}

#[test]
fn groups_of_one_set_go_together_and_a_bad_one_alone_is_refused() {
    let (blue, green) = (item("blue", country("DE"), 1), item("green", country("FR"), 2));
    let stands = whole(&[(country("DE"), 1), (country("FR"), 2)]);
    let moved =
        |from: &RecordSet, routing| Change::Update { from: from.clone(), to: RecordSet { routing, ..from.clone() } };
    // Two items change places: neither could go first.
    let swap = [group(vec![moved(&blue, country("FR"))]), group(vec![moved(&green, country("DE"))])];
    let (de, fr) = ("geolocation:.DE.", "geolocation:.FR.");
    let change =
        format!("~ www.example 300 A {de}: 192.0.2.2 | {fr}: 192.0.2.1 (was {de}: 192.0.2.1 | {fr}: 192.0.2.2)");
    check(std::slice::from_ref(&stands), &swap, &[&change], &[]);
    let taken = [create(item("red", country("DE"), 3)), create(item("blue", country("IT"), 4))];
    let change = format!(
        "~ www.example 300 A {de}: 192.0.2.1 | {fr}: 192.0.2.2 | geolocation:.IT.: 192.0.2.4 (was {de}: 192.0.2.1 | {fr}: 192.0.2.2)"
    );
    check(&[stands], &taken, &[&change], &[(0, "geolocation:.DE. stands there already")]);
}

#[test]
fn what_does_not_stand_any_more_is_a_conflict() {
    let stands = whole(&[(weight(11), 1)]);
    let blue = item("blue", weight(10), 1);
    check(
        std::slice::from_ref(&stands),
        &[group(vec![Change::Delete { from: blue.clone() }])],
        &[],
        &[(0, "does not stand any more")],
    );
    check(&[stands], &[create(item("blue", country("DE"), 1))], &[], &[(0, "all items of a set have one kind")]);
    let simple = set("www.example A ttl=300 192.0.2.1");
    check(std::slice::from_ref(&simple), &[create(blue.clone())], &[], &[(0, "without a routing policy")]);
    let both = group(vec![Change::Delete { from: simple.clone() }, Change::Create { to: blue }]);
    check(&[simple], &[both], &["~ www.example 300 A weighted:10: 192.0.2.1 (was 192.0.2.1)"], &[]);
}

#[test]
fn an_item_that_nothing_distinguishes_from_another_is_refused() {
    let stands = whole(&[(weight(10), 1)]);
    check(&[stands], &[create(item("blue", weight(10), 1))], &[], &[(0, "weighted:10 stands there already")]);
}

#[test]
fn claims_stand_beside_those_of_others_in_one_set() {
    let theirs = set("a-www.example TXT ttl=300 \"theirs\"");
    let mine = |id: &str| {
        let plain = set("a-www.example TXT \"mine\"");
        RecordSet { key: RecordKey { set_id: SetId::new(id), ..plain.key.clone() }, routing: weight(10), ..plain }
    };
    check(
        std::slice::from_ref(&theirs),
        &[create(mine("blue"))],
        &["~ a-www.example 300 TXT \"mine\" ; \"theirs\" (was \"theirs\")"],
        &[],
    );
    let both = set("a-www.example TXT ttl=300 \"mine\" \"theirs\"");
    let gone = group(vec![Change::Delete { from: mine("blue") }]);
    check(
        std::slice::from_ref(&both),
        std::slice::from_ref(&gone),
        &["~ a-www.example 300 TXT \"theirs\" (was \"mine\" ; \"theirs\")"],
        &[],
    );
    check(&[theirs], &[gone], &[], &[(0, "does not stand any more")]);
    // A claim that has to stay is demanded as the whole set that holds it.
    let needs = Group { requires: vec![Precondition::Exact(mine("blue"))], ..create(item("blue", weight(10), 1)) };
    let wholes: Wholes = [(both.key.clone(), both.clone())].into();
    let sent = plan(std::slice::from_ref(&needs), &wholes).merged.remove(0).group.unwrap();
    assert_eq!(sent.requires, [Precondition::Exact(both)]);
    check(&[], &[needs], &[], &[(0, "does not stand any more")]);
}

#[test]
fn a_label_says_all_that_an_item_holds() {
    let blue = item("blue", weight(10), 1);
    let base = label(&blue);
    assert_eq!(base.as_deref().and_then(set_id_of), SetId::new("blue"));
    for other in [item("green", weight(10), 1), item("blue", weight(11), 1), item("blue", weight(10), 2)] {
        assert_ne!(label(&other), base);
    }
    for text in ["", "blue", "blue/weighted:10", "%4/weighted:1/00", "%zz/weighted:1/00", "/weighted:1/00", "%FF/w/0"] {
        assert_eq!(set_id_of(text), None, "{text:?}");
    }
}

prop_compose! {
    fn routed()(geo: bool, numbers in prop::collection::vec((0u32..4, 1u8..6), 1..6)) -> Vec<(Routing, u8)> {
        let mut items: Vec<(Routing, u8)> = Vec::new();
        for (number, last) in numbers {
            let routing = if geo { country(&format!("C{number}")) } else { weight(number) };
            let at = place(&routing, &RecordData::records([address(last)]));
            if items.iter().all(|(routing, last)| place(routing, &RecordData::records([address(*last)])) != at) {
                items.push((routing, last));
            }
        }
        items
    }
}

proptest! {
    #[test]
    fn what_is_split_and_merged_is_the_same(items in routed()) {
        let whole = whole(&items);
        let parts = split(whole.clone());
        prop_assert_eq!(parts.len(), items.len());
        prop_assert!(parts.iter().all(|part| is_unnamed(&part.key)));
        // All of them are taken away and put back under identifiers of ours.
        let changes = parts.iter().enumerate().map(|(at, part)| {
            let key = RecordKey { set_id: SetId::new(&format!("id{at}")), ..part.key.clone() };
            Change::Create { to: RecordSet { key, ..part.clone() } }
        });
        let sent = plan(&[group(changes.collect())], &Wholes::new()).merged.remove(0).group.unwrap();
        prop_assert_eq!(sent.changes().next().and_then(Change::to), Some(&whole));
    }

    #[test]
    fn items_that_nobody_names_never_change(items in routed(), ours in 0usize..6, to in 6u8..9, seconds in 1u32..900) {
        let standing = whole(&items);
        let parts = split(standing.clone());
        let mine = &parts[ours % parts.len()];
        let key = RecordKey { set_id: SetId::new("mine"), ..mine.key.clone() };
        let from = RecordSet { key, ..mine.clone() };
        let data = RecordData::records([address(to)]);
        let to = RecordSet { data, ttl: Ttl::from_secs(seconds), ..from.clone() };
        let wholes: Wholes = [(whole_key(&standing.key), standing.clone())].into();
        for change in [Change::Update { from: from.clone(), to }, Change::Delete { from: from.clone() }] {
            let sent = plan(&[group(vec![change])], &wholes).merged.remove(0).group.unwrap();
            let change = sent.changes().next().unwrap();
            prop_assert_eq!(change.from(), Some(&standing), "the whole set is the precondition");
            let after: Vec<Item> = match change.to().map(|to| to.data.clone()) {
                Some(RecordData::Items(items)) => items,
                Some(other) => panic!("{other}"),
                None => Vec::new(),
            };
            for other in parts.iter().filter(|part| part.key != mine.key) {
                let stands = |item: &&Item| item.routing == other.routing && item.records == other.data.as_records();
                prop_assert!(after.iter().any(|item| stands(&item)), "{} is gone", other);
            }
        }
    }
}

/// A plain set that changes is compared by the provider; items, and what must hold besides, are read.
#[test]
fn what_changes_of_plain_sets_state_is_not_read() {
    let (one, two) = (set("www.example A ttl=300 192.0.2.1"), set("www.example A ttl=300 192.0.2.2"));
    let claim = set("a-www.example TXT ttl=300 \"mine\"");
    let update = |from: &RecordSet, to: &RecordSet| group(vec![Change::Update { from: from.clone(), to: to.clone() }]);
    let check = |groups: &[Group], names: &[&str], stated: &[&RecordSet]| {
        let (read, taken) = reading(groups);
        assert_eq!(read.iter().map(ToString::to_string).collect::<Vec<_>>(), names);
        assert_eq!(taken.values().collect::<Vec<_>>(), stated);
    };
    check(&[create(one.clone()), create(claim.clone())], &[], &[]);
    check(&[group(vec![Change::Delete { from: one.clone() }])], &[], &[&one]);
    check(&[update(&one, &two)], &[], &[&one]);
    let needs = |condition| Group { requires: vec![condition], ..update(&one, &two) };
    check(&[needs(Precondition::Exact(claim.clone()))], &["a-www.example"], &[&one]);
    check(&[needs(Precondition::Absent(claim.key.clone()))], &["a-www.example"], &[&one]);
    check(&[needs(Precondition::NameNotInUse(one.key.name.clone()))], &["www.example"], &[]);
    check(&[create(item("blue", weight(10), 1))], &["www.example"], &[]);
    check(&[update(&item("blue", weight(10), 1), &two)], &["www.example"], &[]);
    // What stays as it is has nobody else to compare it, and two groups that contradict each other are none to be believed.
    check(&[update(&one, &one)], &["www.example"], &[]);
    check(&[update(&one, &two), create(one.clone())], &["www.example"], &[]);
}
