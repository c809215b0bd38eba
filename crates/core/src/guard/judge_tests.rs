use std::collections::BTreeSet;

use super::*;

fn held(done: usize, counted: usize, free: usize, owned: usize) -> bool {
    judge(&Brake::default(), BrakeScope::Zone, Load { counted, done, free, owned, peak: 0 }).is_some()
}

#[test]
fn twenty_or_a_tenth_whichever_is_more() {
    for (counted, owned, expected) in [
        (20, 100, false),
        (21, 100, true),
        (100, 1_000, false),
        (101, 1_000, true),
        (8_764, 8_764, true),
        (0, 50, false),
    ] {
        assert_eq!(held(0, counted, 0, owned), expected, "{counted} of {owned}");
    }
}

#[test]
fn what_was_deleted_within_the_window_counts_too() {
    assert!(!held(15, 5, 0, 100));
    assert!(held(15, 6, 0, 100));
    assert!(held(20, 1, 0, 100));
}

#[test]
fn each_scope_has_its_numbers_and_says_what_it_judged() {
    let brake = Brake { process_min_deletes: 50, process_percent: 20, ..Brake::default() };
    let load = Load { counted: 30, owned: 200, peak: 200, ..Load::default() };
    assert!(judge(&brake, BrakeScope::Zone, load).unwrap().starts_with("30 deletes are wanted and 0 were done"));
    assert_eq!(judge(&brake, BrakeScope::Process, load), None, "50 always pass");
    let sum = load + load;
    assert_eq!((sum.counted, sum.owned), (60, 400));
    assert_eq!(judge(&brake, BrakeScope::Instance, sum), None, "a fifth of 400 may go");
    let sum = sum + Load { done: 21, ..Load::default() };
    let reason = judge(&brake, BrakeScope::Process, sum).unwrap();
    assert!(reason.starts_with("60 deletes are wanted in all zones and 21 were done"), "{reason}");
}

#[test]
fn an_owner_is_not_left_without_anything_it_had_lately() {
    assert!(held(0, 10, 0, 10));
    assert!(!held(0, 9, 0, 9));
    assert!(held(0, 3, 9, 12), "nothing would be left");
    assert!(!held(0, 3, 8, 12));
    assert!(!held(0, 0, 12, 12), "only counted deletes are held");
    let lately = Load { counted: 4, owned: 4, peak: 12, ..Load::default() };
    let reason = judge(&Brake::default(), BrakeScope::Process, lately).unwrap();
    assert!(reason.ends_with("nothing of the 12 records that were owned in all zones lately"), "{reason}");
    assert_eq!(judge(&Brake::default(), BrakeScope::Zone, Load { peak: 4, ..lately }), None);
}

#[test]
fn each_number_can_be_switched_off() {
    let load = Load { counted: 50, owned: 50, peak: 50, ..Load::default() };
    let judge = |brake: Brake| judge(&brake, BrakeScope::Zone, load).is_some();
    assert!(!judge(Brake { enabled: false, ..Brake::default() }));
    assert!(judge(Brake { min_deletes: 1_000, ..Brake::default() }), "the floor still holds");
    assert!(!judge(Brake { min_deletes: 1_000, owner_floor: 0, ..Brake::default() }));
}

#[test]
fn what_would_leave_nothing_stays_held_though_something_came() {
    let keys: BTreeSet<_> =
        ["a.example A 192.0.2.1", "b.example A 192.0.2.1"].iter().map(|line| crate::testing::set(line).key).collect();
    let plan = HeldPlan {
        hash: "h".to_owned(),
        held: keys.iter().map(|key| (key.clone(), None)).collect(),
        samples: std::collections::BTreeMap::new(),
        reason: "nothing would be left".to_owned(),
        since: crate::clock::Timestamp(0),
        floor: true,
        scope: BrakeScope::Zone,
        kinds: AcceptedKinds::new(),
    };
    let (brake, none) = (Brake::default(), BTreeSet::new());
    let [one, other] = [0, 1].map(|n| keys.iter().skip(n).take(1).cloned().collect::<BTreeSet<_>>());
    for (counted, withheld, asked, stays, when) in [
        (&keys, &none, &none, true, "all of it is wanted"),
        (&keys, &none, &other, true, "it is asked for, and is to go all the same"),
        (&one, &none, &none, true, "one is gone, or somebody else's"),
        (&one, &other, &other, true, "one waits for evidence"),
        (&one, &none, &other, false, "one is asked for again"),
        (&none, &keys, &none, false, "none is wanted"),
    ] {
        assert_eq!(plan.stays(&brake, counted, withheld, |key| asked.contains(key)).is_some(), stays, "{when}");
    }
    assert!(plan.stays(&Brake { owner_floor: 0, ..brake }, &keys, &none, |_| false).is_none());
}
