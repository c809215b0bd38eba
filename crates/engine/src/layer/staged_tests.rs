//! Groups on providers without batches, with a fault at every call.

mod claims;
mod plain;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use zonewright_core::capability::{Atomicity, Batch, Capability, CreateMode, Preconditions};
use zonewright_core::change::{Change, Group, Outcome, Precondition, Step};
use zonewright_core::endpoint::Endpoint;
use zonewright_core::error::{Error, ErrorKind, Result};
use zonewright_core::intent::Intent;
use zonewright_core::interpret::Interpretation;
use zonewright_core::provider::{Adjustment, Listing, Provider, Read};
use zonewright_core::rdata::{RData, Txt};
use zonewright_core::record::{RecordData, RecordKey, RecordSet, SetId};
use zonewright_core::rtype::RecordType;
use zonewright_core::testing::{capability, name, set};
use zonewright_core::zone::{InstanceId, Zone, ZoneId};

use self::plain::{Fault, Plain};
use super::Staged;
use super::course;

type Sets = BTreeMap<RecordKey, RecordSet>;

fn zone() -> Zone {
    Zone::new(&InstanceId::from("i"), "example", name("example"))
}

const CLAIM: &str = "heritage=external-dns,external-dns/owner=me";

fn claim(at: &str) -> RecordSet {
    set(&format!("{at} TXT {CLAIM}"))
}

fn group(steps: Vec<Step>) -> Group {
    Group { name: name("x.example"), steps, stored: vec![], requires: vec![], objects: vec![] }
}

fn record(change: Change) -> Step {
    Step::record(change, None)
}

/// Where claims stood by former settings.
const FORMER: &str = "zw-a-x.example";

/// Create, delete, update of a label, change of type, update of a record whose claim moves: with what stands before.
fn cases() -> Vec<(&'static str, Vec<RecordSet>, Group)> {
    let (a, cname) = (set("x.example A 192.0.2.1"), set("x.example CNAME y.test"));
    let (of_a, of_cname) = (claim("a-x.example"), claim("cname-x.example"));
    let other = set(&format!("a-x.example TXT {CLAIM},external-dns/resource=r"));
    let a2 = set("x.example A 192.0.2.2");
    let mut begun = claim(FORMER);
    begun.data = RecordData::records([RData::Txt(Txt::from_text(&Intent::new([&a], CLAIM).to_string()))]);
    let moves = group(vec![
        record(Change::Update { from: a.clone(), to: a2.clone() }),
        Step::claim(Change::Create { to: of_a.clone() }),
    ]);
    let rests_on = |former: &RecordSet| Group { requires: vec![Precondition::Exact(former.clone())], ..moves.clone() };
    vec![
        ("update under a former claim", vec![a.clone(), claim(FORMER)], rests_on(&claim(FORMER))),
        ("update under a former intent", vec![a.clone(), begun.clone()], rests_on(&begun)),
        (
            "create",
            vec![],
            group(vec![record(Change::Create { to: a.clone() }), Step::claim(Change::Create { to: of_a.clone() })]),
        ),
        (
            "delete",
            vec![a.clone(), of_a.clone()],
            group(vec![record(Change::Delete { from: a.clone() }), Step::claim(Change::Delete { from: of_a.clone() })]),
        ),
        (
            "update",
            vec![a.clone(), of_a.clone()],
            group(vec![
                record(Change::Update { from: a.clone(), to: a2 }),
                Step::claim(Change::Update { from: of_a.clone(), to: other }),
            ]),
        ),
        (
            "type",
            vec![a.clone(), of_a.clone()],
            group(vec![
                record(Change::Delete { from: a.clone() }),
                record(Change::Create { to: cname.clone() }),
                Step::claim(Change::Delete { from: of_a }),
                Step::claim(Change::Create { to: of_cname.clone() }),
            ]),
        ),
        (
            "type, with a claim of the old format where the CNAME is to stand",
            vec![a.clone(), claim("x.example")],
            group(vec![
                Step::claim(Change::Delete { from: claim("x.example") }),
                record(Change::Delete { from: a }),
                record(Change::Create { to: cname }),
                Step::claim(Change::Create { to: of_cname }),
            ]),
        ),
    ]
}

/// Whether the claim sets of a state speak for a record.
fn speaks_for(sets: &Sets, record: &RecordSet) -> bool {
    let typed = name(&format!("{}-{}", record.key.rtype.lower(), record.key.name));
    // In the old format it stands at the record's own name, where no CNAME can stand beside it.
    let old = Some(record.key.name.clone()).filter(|_| record.key.rtype != RecordType::Cname);
    let former = Some(name(FORMER)).filter(|_| record.key.rtype == RecordType::A);
    let places: Vec<RecordKey> =
        [Some(typed), old, former].into_iter().flatten().map(|at| RecordKey::simple(at, RecordType::Txt)).collect();
    let mut texts = places.iter().filter_map(|key| sets.get(key)).flat_map(|set| set.data.as_records());
    texts.any(|data| match data {
        RData::Txt(txt) => {
            let claim = txt.text().unwrap();
            Intent::parse(&claim).map_or(claim.starts_with("heritage=external-dns"), |intent| intent.covers(record))
        }
        _ => false,
    })
}

/// What must hold of any state between: no record without a right, no right without a record.
fn check_pairs(what: &str, sets: &Sets) {
    for rtype in [RecordType::A, RecordType::Cname] {
        if let Some(record) = sets.get(&RecordKey::simple(name("x.example"), rtype)) {
            assert!(speaks_for(sets, record), "{what}: {record} has no right: {sets:?}");
            continue;
        }
        // Whoever puts a record there now must not find it claimed.
        let target = if rtype == RecordType::A { "203.0.113.9" } else { "foreign.test" };
        let foreign = set(&format!("x.example {rtype} {target}"));
        assert!(!speaks_for(sets, &foreign), "{what}: a right without a record: {sets:?}");
    }
}

fn after(before: &[RecordSet], group: &Group) -> Sets {
    let mut sets: Sets = before.iter().map(|set| (set.key.clone(), set.clone())).collect();
    for change in group.changes() {
        sets.remove(change.key());
        sets.extend(change.to().map(|to| (to.key.clone(), to.clone())));
    }
    sets
}

#[tokio::test]
async fn a_group_is_carried_out_in_writes_of_one_set_each() {
    for (what, before, group) in cases() {
        let provider = Arc::new(Plain::new(&before));
        let outcomes = Staged::new(provider.clone()).apply(&zone(), std::slice::from_ref(&group)).await;
        assert!(matches!(outcomes.as_slice(), [Outcome::Applied]), "{what}: {outcomes:?}");
        assert_eq!(provider.sets(), after(&before, &group), "{what}");
    }
}

#[tokio::test]
async fn whatever_call_fails_record_and_right_stand_together() {
    for (what, before, group) in cases() {
        let writes = course::staged(&group).len();
        for call in 0..writes {
            for fault in [Fault::Refused, Fault::Down, Fault::LostWrite, Fault::LostAnswer] {
                for gone in [None, Some(call + 1), Some(call + 2), Some(call + 3)] {
                    let provider = Arc::new(Plain { fault: Some((call, fault)), gone, ..Plain::new(&before) });
                    let outcomes = Staged::new(provider.clone()).apply(&zone(), std::slice::from_ref(&group)).await;
                    let what = format!("{what}, {fault:?} at call {call}, gone {gone:?}");
                    check_pairs(&what, &provider.sets());
                    let Ok([outcome]) = <[Outcome; 1]>::try_from(outcomes) else { panic!("{what}") };
                    match outcome {
                        Outcome::Applied => panic!("{what}: it was not"),
                        Outcome::Unknown(_) if gone.is_none() && matches!(fault, Fault::Refused | Fault::Down) => {
                            panic!("{what}: all of it could be taken back")
                        }
                        Outcome::Refused { .. } | Outcome::NotSent(_) => {
                            assert_eq!(
                                provider.sets(),
                                after(&before, &Group { steps: vec![], ..group.clone() }),
                                "{what}"
                            );
                        }
                        Outcome::Unknown(_) => {}
                    }
                }
            }
        }
    }
}

#[tokio::test]
async fn one_bad_group_leaves_the_others_alone() {
    let create = |n: u8, data: &str| {
        let at = format!("n{n}.example");
        Group {
            name: name(&at),
            ..group(vec![
                record(Change::Create { to: set(&format!("{at} A {data}")) }),
                Step::claim(Change::Create { to: claim(&format!("a-{at}")) }),
            ])
        }
    };
    let foreign = set("n1.example A 203.0.113.1");
    let provider = Arc::new(Plain::new(std::slice::from_ref(&foreign)));
    let groups = [create(0, "192.0.2.1"), create(1, "192.0.2.1"), create(2, "192.0.2.1")];
    let outcomes = Staged::new(provider.clone()).apply(&zone(), &groups).await;
    let labels: Vec<&str> = outcomes.iter().map(Outcome::label).collect();
    assert_eq!(labels, ["applied", "refused", "applied"]);
    let sets = provider.sets();
    assert_eq!((sets.len(), sets.get(&foreign.key)), (5, Some(&foreign)), "{sets:?}");
}

#[tokio::test]
async fn what_was_added_beside_something_foreign_is_withdrawn() {
    let theirs = "a-x.example TXT heritage=external-dns,external-dns/owner=other";
    for (rtype, foreign) in [
        ("A 192.0.2.1", "x.example A 203.0.113.1"),
        ("CNAME y.test", "x.example A 203.0.113.1"),
        // Beside our claim counts too: two owners would have one record.
        ("A 192.0.2.1", theirs),
    ] {
        let alone = [(Atomicity::None, Preconditions::None), (Atomicity::Batch, Preconditions::None)];
        for (atomic, preconditions) in alone.into_iter().chain([(Atomicity::Batch, Preconditions::Read)]) {
            if atomic == Atomicity::None && foreign == theirs {
                // There our intent stands first, and was read back before they came.
                continue;
            }
            let foreign = set(foreign);
            let to = set(&format!("x.example {rtype}"));
            let at = format!("{}-x.example", to.key.rtype.lower());
            let group = group(vec![record(Change::Create { to }), Step::claim(Change::Create { to: claim(&at) })]);
            let provider = Arc::new(Plain {
                atomic,
                create: CreateMode::Additive,
                preconditions,
                foreign: Mutex::new(Some(foreign.clone())),
                ..Plain::new(&[])
            });
            let outcomes = Staged::new(provider.clone()).apply(&zone(), std::slice::from_ref(&group)).await;
            let refused =
                |o: &Outcome| matches!(o, Outcome::Refused { error, .. } if error.kind == ErrorKind::Conflict);
            assert!(outcomes.iter().all(refused), "{outcomes:?}");
            assert_eq!(provider.sets().into_values().collect::<Vec<_>>(), [foreign]);
        }
    }
}

/// A process that dies right after the write leaves an intent, which speaks for nothing but the record alone.
#[test]
fn where_a_create_merely_adds_the_claim_comes_after_the_reading_back() {
    let (to, ours) = (set("x.example A 192.0.2.1"), claim("a-x.example"));
    let both = |claim: RecordSet| {
        group(vec![record(Change::Create { to: to.clone() }), Step::claim(Change::Create { to: claim })])
    };
    let writes = course::announced(&both(ours.clone()));
    let last: Vec<Vec<RecordSet>> =
        writes.iter().map(|write| write.steps.iter().filter_map(|step| step.change.to().cloned()).collect()).collect();
    let [first, second] = last.as_slice() else { panic!("{writes:?}") };
    assert_eq!((&first[0], second.as_slice()), (&to, std::slice::from_ref(&ours)));
    let text = first[1].data.to_string();
    assert!(text.contains(zonewright_core::intent::HERITAGE) && first[1].key == ours.key, "{text}");
    // What makes no record, or no new claim, is one write.
    let update = Change::Update { from: to.clone(), to: set("x.example A 192.0.2.2") };
    assert_eq!(course::announced(&group(vec![record(update)])).len(), 1);
    let claimed = Step::claim(Change::Update { from: claim("a-x.example"), to: claim("a-x.example") });
    assert_eq!(course::announced(&group(vec![record(Change::Create { to }), claimed])).len(), 1);
}

/// A change of type fails since another writer put the old type there again: ours is not put back beside it.
#[tokio::test]
async fn what_was_deleted_is_not_put_back_beside_a_foreign_record() {
    let (old, foreign) = (set("x.example CNAME y.test"), set("x.example CNAME their.test"));
    let group = group(vec![
        record(Change::Delete { from: old.clone() }),
        record(Change::Create { to: set("x.example A 192.0.2.1") }),
        Step::claim(Change::Delete { from: claim("cname-x.example") }),
        Step::claim(Change::Create { to: claim("a-x.example") }),
    ]);
    let provider = Arc::new(Plain {
        create: CreateMode::Additive,
        foreign: Mutex::new(Some(foreign.clone())),
        ..Plain::new(&[old, claim("cname-x.example")])
    });
    let outcomes = Staged::new(provider.clone()).apply(&zone(), std::slice::from_ref(&group)).await;
    assert!(matches!(outcomes.as_slice(), [Outcome::Unknown(_)]), "{outcomes:?}");
    let sets = provider.sets();
    assert_eq!(sets.get(&foreign.key), Some(&foreign), "{sets:?}");
    let claims = sets.values().filter(|set| set.key.rtype == RecordType::Txt);
    let texts: Vec<String> = claims.map(|set| set.data.to_string()).collect();
    assert!(
        texts.iter().all(|text| text.contains(zonewright_core::intent::HERITAGE)),
        "nothing speaks for it: {texts:?}"
    );
}
/// Where a create merely adds, what is put back is read like what was added.
#[tokio::test]
async fn what_is_put_back_beside_a_foreign_record_is_withdrawn() {
    let (old, foreign) = (set("x.example A 192.0.2.1"), set("x.example A 203.0.113.1"));
    let of_old = claim("a-x.example");
    let going =
        vec![record(Change::Delete { from: old.clone() }), Step::claim(Change::Delete { from: of_old.clone() })];
    let provider = Arc::new(Plain {
        create: CreateMode::Additive,
        // The claim cannot be taken away after its record: the record is put back, and meets what came meanwhile.
        fault: Some((2, Fault::Down)),
        foreign: Mutex::new(Some(foreign.clone())),
        ..Plain::new(&[old, of_old])
    });
    let outcomes = Staged::new(provider.clone()).apply(&zone(), &[group(going)]).await;
    assert!(matches!(outcomes.as_slice(), [Outcome::Unknown(_)]), "{outcomes:?}");
    let sets = provider.sets();
    assert_eq!(sets.get(&foreign.key), Some(&foreign), "{sets:?}");
    assert!(!speaks_for(&sets, &foreign), "nothing speaks for it: {sets:?}");
}

#[tokio::test]
async fn a_claim_that_was_lowered_to_an_intent_is_not_raised_over_a_foreign_record() {
    for create in [CreateMode::Guarded, CreateMode::Additive] {
        let foreign = set("x.example A 203.0.113.1");
        let (before, after) =
            (claim("a-x.example"), set("a-x.example TXT heritage=external-dns,external-dns/owner=new"));
        let group = group(vec![
            record(Change::Create { to: set("x.example A 192.0.2.1") }),
            Step::claim(Change::Update { from: before.clone(), to: after }),
        ]);
        let mut provider = Plain::new(std::slice::from_ref(&before));
        (provider.create, provider.foreign) = (create, Mutex::new(Some(foreign.clone())));
        let provider = Arc::new(provider);
        let outcomes = Staged::new(provider.clone()).apply(&zone(), std::slice::from_ref(&group)).await;
        // Not all is as before: the names are read before anything else is done.
        assert!(matches!(outcomes.as_slice(), [Outcome::Unknown(_)]), "{create:?}: {outcomes:?}");
        let sets = provider.sets();
        assert_eq!(sets.get(&foreign.key), Some(&foreign), "{create:?}");
        let left: Vec<String> = sets[&before.key].data.as_records().iter().map(ToString::to_string).collect();
        assert!(left.iter().all(|text| text.contains(zonewright_core::intent::HERITAGE)), "{create:?}: {left:?}");
    }
}

/// A change of type finds one of the old records edited: the other one is put back, and nothing speaks for the edit.
#[tokio::test]
async fn a_claim_that_was_lowered_to_an_intent_is_not_raised_over_an_edited_record() {
    let (a, aaaa) = (set("x.example A 192.0.2.1"), set("x.example AAAA 2001:db8::1"));
    let (of_a, of_aaaa) = (claim("a-x.example"), claim("aaaa-x.example"));
    let group = group(vec![
        record(Change::Delete { from: a.clone() }),
        record(Change::Delete { from: aaaa.clone() }),
        record(Change::Create { to: set("x.example CNAME y.test") }),
        Step::claim(Change::Delete { from: of_a.clone() }),
        Step::claim(Change::Delete { from: of_aaaa.clone() }),
        Step::claim(Change::Create { to: claim("cname-x.example") }),
    ]);
    let edited = set("x.example AAAA 2001:db8::bad");
    let mut provider = Plain::new(&[a.clone(), aaaa, of_a, of_aaaa]);
    provider.edit = Mutex::new(Some(edited.clone()));
    let provider = Arc::new(provider);
    let outcomes = Staged::new(provider.clone()).apply(&zone(), std::slice::from_ref(&group)).await;
    assert!(matches!(outcomes.as_slice(), [Outcome::Unknown(_)]), "{outcomes:?}");
    let sets = provider.sets();
    assert_eq!(sets.get(&edited.key), Some(&edited), "{sets:?}");
    assert_eq!(sets.get(&a.key), Some(&a), "{sets:?}");
    assert!(speaks_for(&sets, &a), "{sets:?}");
    assert!(!speaks_for(&sets, &edited), "{sets:?}");
}

/// An update finds a foreign claim beside ours: whose the record is must be read before it is touched again.
#[tokio::test]
async fn an_updated_record_is_not_put_back_where_its_claim_has_changed() {
    let (from, to) = (set("x.example A 192.0.2.1"), set("x.example A 192.0.2.2"));
    let label = set(&format!("a-x.example TXT {CLAIM},external-dns/resource=r"));
    let group = group(vec![
        record(Change::Update { from: from.clone(), to: to.clone() }),
        Step::claim(Change::Update { from: claim("a-x.example"), to: label }),
    ]);
    let theirs = set("a-x.example TXT heritage=external-dns,external-dns/owner=other").data;
    let members = claim("a-x.example").data.as_records().iter().chain(theirs.as_records()).cloned().collect::<Vec<_>>();
    let both = RecordSet { data: RecordData::records(members), ..claim("a-x.example") };
    let mut provider = Plain::new(&[from, claim("a-x.example")]);
    provider.edit = Mutex::new(Some(both.clone()));
    let provider = Arc::new(provider);
    let outcomes = Staged::new(provider.clone()).apply(&zone(), std::slice::from_ref(&group)).await;
    assert!(matches!(outcomes.as_slice(), [Outcome::Unknown(_)]), "{outcomes:?}");
    assert_eq!(provider.sets().into_values().collect::<Vec<_>>(), [both, to]);
}

/// Where a write rests on a reading alone and the one before it took long, what came meanwhile is seen before anything is written.
#[tokio::test(start_paused = true)]
async fn a_reading_that_is_old_is_read_again_before_the_record_is_written() {
    let of_a = claim("a-x.example");
    let (a, foreign) = (set("x.example A 192.0.2.1"), set("x.example A 203.0.113.1"));
    let create =
        group(vec![record(Change::Create { to: a.clone() }), Step::claim(Change::Create { to: of_a.clone() })]);
    let delete =
        group(vec![record(Change::Delete { from: a.clone() }), Step::claim(Change::Delete { from: of_a.clone() })]);
    let before = vec![a, of_a];
    for (group, before, calls) in [(create, vec![], 2), (delete, before, 1)] {
        let provider = Plain { create: CreateMode::Additive, ..Plain::new(&before) };
        *provider.meanwhile.lock().unwrap() = Some(foreign.clone());
        let provider = Arc::new(provider);
        let outcomes = Staged::new(provider.clone()).apply(&zone(), std::slice::from_ref(&group)).await;
        assert!(!matches!(outcomes.as_slice(), [Outcome::Applied]), "{outcomes:?}");
        assert_eq!(provider.sets().get(&foreign.key), Some(&foreign));
        assert_eq!(*provider.calls.lock().unwrap(), calls, "no record was written: {group:?}");
    }
}
