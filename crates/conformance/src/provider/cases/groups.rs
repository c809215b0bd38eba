//! Groups: what stands or falls together, what is demanded of the zone besides, and who is to blame.

use zonewright_core::capability::{Atomicity, CreateMode, Preconditions};
use zonewright_core::change::{Blame, Change, Group, Outcome, Precondition, Step};
use zonewright_core::error::ErrorKind;
use zonewright_core::{RecordKey, RecordSet, RecordType};

use crate::provider::Harness;
use crate::provider::specimen::of_type;
use crate::provider::walk::{Walk, create, group};
use crate::run::note;

const A: RecordType = RecordType::A;
const CLAIM: &str = "\"heritage=external-dns,external-dns/owner=me\"";
const OTHER: &str = "\"heritage=external-dns,external-dns/owner=other\"";

/// A call without groups is no change.
pub async fn an_empty_call_does_nothing(harness: &dyn Harness) {
    let walk = Walk::start(harness).await;
    assert!(walk.provider().apply(walk.zone(), &[]).await.is_empty(), "outcomes without groups");
    walk.check().await;
}

fn with_claim(record: Change, claim: Change) -> Group {
    Group {
        name: record.key().name.clone(),
        steps: vec![Step::record(record, None), Step::claim(claim)],
        stored: vec![],
        requires: vec![],
        objects: vec![],
    }
}

/// A record and its claim come together or not at all.
pub async fn a_group_is_atomic(harness: &dyn Harness) {
    let mut walk = Walk::start(harness).await;
    let claim = |text| walk.set("a-www", RecordType::Txt, 300, &[text]);
    let (record, ours, theirs) = (walk.set("www", A, 300, &["192.0.2.1"]), claim(CLAIM), claim(OTHER));
    walk.foreign(theirs).await;
    let group = with_claim(Change::Create { to: record.clone() }, Change::Create { to: ours.clone() });
    walk.refused(group, &[ErrorKind::Conflict]).await;

    if walk.capability.preconditions == Preconditions::None {
        return note("no preconditions are declared: stale claims are found by a targeted read instead");
    }
    walk.reach(std::slice::from_ref(&record)).await;
    let from = walk.standing(&record);
    let to = walk.set("www", A, 300, &["192.0.2.2"]);
    let changed = walk.set("a-www", RecordType::Txt, 300, &["\"changed\""]);
    let update = Change::Update { from: ours.clone(), to: changed };
    walk.refused(with_claim(Change::Update { from: from.clone(), to }, update), &[ErrorKind::Conflict]).await;
    walk.refused(with_claim(Change::Delete { from }, Change::Delete { from: ours }), &[ErrorKind::Conflict]).await;
}

/// What a group requires of sets that it does not change is held against the zone.
pub async fn extra_preconditions_count(harness: &dyn Harness) {
    let mut walk = Walk::start(harness).await;
    match walk.capability.preconditions {
        Preconditions::Any => assert!(
            walk.capability.batch.atomic == Atomicity::Batch,
            "where record and claim are written one after the other, neither can be a precondition of the other"
        ),
        Preconditions::Checked | Preconditions::Read => {}
        Preconditions::None | Preconditions::Stated | Preconditions::Changed => {
            return note(
                "preconditions on other sets are not declared: a targeted read comes before each write instead",
            );
        }
    }
    let claim = walk.set("a-www", RecordType::Txt, 300, &[CLAIM]);
    let other = walk.set("a-www", RecordType::Txt, 300, &[OTHER]);
    let free = walk.name("free");
    walk.foreign(claim.clone()).await;
    let absent = |rtype| Precondition::Absent(RecordKey::simple(walk.name("a-www"), rtype));
    let bad = [
        Precondition::Exact(other),
        Precondition::Exact(walk.set("nothing", RecordType::Txt, 300, &[CLAIM])),
        absent(RecordType::Txt),
        Precondition::NameNotInUse(walk.name("a-www")),
    ];
    let good = [
        vec![Precondition::Exact(claim.clone())],
        vec![absent(A)],
        vec![Precondition::NameNotInUse(free)],
        vec![Precondition::Exact(claim.clone()), absent(A)],
    ];
    for (i, condition) in bad.into_iter().enumerate() {
        let mut group = create(&walk.set(&format!("bad{i}"), A, 300, &["192.0.2.1"]));
        group.requires = vec![condition.clone()];
        walk.refused(group.clone(), &[ErrorKind::Conflict]).await;
        group.requires = vec![Precondition::Exact(claim.clone()), condition];
        walk.refused(group, &[ErrorKind::Conflict]).await;
    }
    for (i, requires) in good.into_iter().enumerate() {
        let group = Group { requires, ..create(&walk.set(&format!("good{i}"), A, 300, &["192.0.2.1"])) };
        let required = format!("{:?}", group.requires);
        let outcomes = walk.apply(&[group]).await;
        assert!(matches!(outcomes.as_slice(), [Outcome::Applied]), "{required} holds, yet: {outcomes:?}");
    }
    walk.resync().await;
}

/// In a call with one bad group each outcome is true, and the other groups go through without it.
pub async fn one_bad_group_is_one_bad_group(harness: &dyn Harness) {
    let mut walk = Walk::start(harness).await;
    walk.foreign(walk.set("taken", A, 300, &["192.0.2.1"])).await;
    if walk.capability.batch.changes < 3 {
        return note("a call holds fewer than three changes: no group has neighbours");
    }
    let before = walk.list().await;
    let good = [walk.set("good1", A, 300, &["192.0.2.1"]), walk.set("good2", RecordType::Txt, 300, &["\"x\""])];
    let groups = [create(&good[0]), create(&walk.set("taken", A, 300, &["192.0.2.2"])), create(&good[1])];
    let outcomes = walk.provider().apply(walk.zone(), &groups).await;
    let [first, bad, last] = outcomes.as_slice() else { panic!("one outcome for each group; got {outcomes:?}") };
    assert!(matches!(bad, Outcome::Refused { .. }), "the bad group counts as {bad:?}");
    walk.resync().await;
    let after = walk.list().await;
    for (set, outcome) in good.iter().zip([first, last]) {
        let in_force = after.contains_key(&set.key);
        match outcome {
            Outcome::Applied => assert!(in_force, "{} counts as applied and is not there", set.key),
            Outcome::Refused { blame: Blame::Group, .. } => panic!("{} is blamed for another group", set.key),
            Outcome::Unknown(error) => panic!("{}: unknown ({error}), though the reply came", set.key),
            Outcome::Refused { .. } | Outcome::NotSent(_) => {
                assert!(!in_force, "{} is there, yet {outcome:?}", set.key);
            }
        }
        if !in_force {
            let alone = walk.apply(&[create(set)]).await;
            assert!(matches!(alone.as_slice(), [Outcome::Applied]), "{} alone: {alone:?}", set.key);
        }
    }
    walk.resync().await;
    let end = walk.list().await;
    assert!(before.iter().all(|(key, set)| end.get(key) == Some(set)), "what stood before has changed");
    assert_eq!(end.len(), before.len() + good.len(), "the zone holds the good sets and nothing else");
}

/// Of two writers that create one key at once, one wins, and the zone holds what it wrote.
pub async fn a_race_has_one_winner(harness: &dyn Harness) {
    let mut walk = Walk::start(harness).await;
    if walk.capability.create == CreateMode::Additive {
        return note("creates add to what stands: a race is settled by reading back");
    }
    for round in 0..5 {
        let sets = ["192.0.2.1", "192.0.2.2"].map(|data| walk.set(&format!("race{round}"), A, 300, &[data]));
        let groups = [[create(&sets[0])], [create(&sets[1])]];
        let (one, two) = futures::join!(walk.apply(&groups[0]), walk.apply(&groups[1]));
        let won = [one, two].map(|outcomes| matches!(outcomes.as_slice(), [Outcome::Applied]));
        assert!(won[0] != won[1], "round {round}: {won:?} have won; expected one");
        walk.resync().await;
        let winner = if won[0] { &sets[0] } else { &sets[1] };
        let stands = walk.list().await.remove(&winner.key);
        assert!(stands.as_ref().is_some_and(|set| set.data == winner.data), "{winner} has won, yet {stands:?} stands");
    }
}

/// Whatever is done to our records, those of others stay as they are, also at the same names.
pub async fn foreign_records_stay_as_they_are(harness: &dyn Harness) {
    let mut walk = Walk::start(harness).await;
    let types: Vec<RecordType> = RecordType::WRITABLE.into_iter().filter(|rtype| walk.writes(*rtype)).collect();
    for rtype in types {
        let (label, _, data) = of_type(rtype);
        walk.foreign(walk.set(&format!("{label}.foreign"), rtype, 777, data)).await;
    }
    walk.foreign(walk.set("shared", RecordType::Txt, 777, &["\"theirs\""])).await;
    let shared = |data: &[&str]| walk.set("shared", A, 60, data);
    let states: [Vec<RecordSet>; 4] = [
        vec![shared(&["192.0.2.1"]), walk.set("own", A, 60, &["192.0.2.1"])],
        vec![shared(&["192.0.2.2"])],
        vec![walk.set("own", RecordType::Cname, 60, &["target.example.net."])],
        vec![],
    ];
    for state in states {
        let state: Vec<RecordSet> = state.into_iter().filter(|set| walk.writes(set.key.rtype)).collect();
        walk.reach(&state).await;
    }
    let theirs = walk.set("a.foreign", A, 777, &["192.0.2.99"]);
    walk.refused(create(&theirs), &[ErrorKind::Conflict]).await;
    if walk.capability.preconditions != Preconditions::None {
        walk.refused(group(Change::Delete { from: theirs }), &[ErrorKind::Conflict]).await;
    }
}
