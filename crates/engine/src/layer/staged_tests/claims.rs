//! Claims while their records are on the way.

use std::time::Duration;

use super::plain::Plain;
use super::*;

/// The record is not as the last listing had it, which ended early or is old: the claim on it stays as it is.
#[tokio::test]
async fn a_claim_is_not_lowered_while_another_record_stands() {
    let (stands, known, before) = (set("x.example A 192.0.2.9"), set("x.example A 192.0.2.1"), claim("a-x.example"));
    let after = set(&format!("a-x.example TXT {CLAIM},external-dns/resource=r"));
    for (change, claim) in [
        (Change::Create { to: known.clone() }, Change::Update { from: before.clone(), to: after }),
        (Change::Delete { from: known }, Change::Delete { from: before.clone() }),
    ] {
        let group = group(vec![record(change), Step::claim(claim)]);
        let provider = Arc::new(Plain::new(&[stands.clone(), before.clone()]));
        let outcomes = Staged::new(provider.clone()).apply(&zone(), std::slice::from_ref(&group)).await;
        assert!(matches!(outcomes.as_slice(), [Outcome::Refused { .. }]), "{outcomes:?}");
        let left = [&stands, &before].map(|set| (set.key.clone(), set.clone())).into();
        assert_eq!(provider.sets(), left, "{group:?}");
    }
}

/// A foreign record stands that the listing did not show, of the very content that is to come. The intent would speak for it, and if
/// the process died before the create was refused, the record would be ours from then on.
#[tokio::test]
async fn what_is_to_come_is_not_announced_while_it_stands_already() {
    let wanted = set("x.example A 192.0.2.1");
    let group = group(vec![
        record(Change::Create { to: wanted.clone() }),
        Step::claim(Change::Create { to: claim("a-x.example") }),
    ]);
    // The process dies before it can take anything back.
    let provider = Arc::new(Plain { gone: Some(2), ..Plain::new(std::slice::from_ref(&wanted)) });
    let outcomes = Staged::new(provider.clone()).apply(&zone(), &[group]).await;
    assert!(matches!(outcomes.as_slice(), [Outcome::Refused { .. }]), "{outcomes:?}");
    assert_eq!(provider.sets(), [(wanted.key.clone(), wanted)].into());
}

/// An update of a record whose claim changes with it: the claim is no longer what was read of it, so the record stays.
#[tokio::test]
async fn a_record_is_not_written_whose_claim_was_changed_meanwhile() {
    let (stands, before) = (set("x.example A 192.0.2.1"), claim("a-x.example"));
    let theirs = set(&format!("a-x.example TXT {}", CLAIM.replace("owner=me", "owner=them")));
    assert_ne!(theirs, before);
    let after = set(&format!("a-x.example TXT {CLAIM},external-dns/resource=r"));
    let update = group(vec![
        record(Change::Update { from: stands.clone(), to: set("x.example A 192.0.2.2") }),
        Step::claim(Change::Update { from: before, to: after }),
    ]);
    let provider = Arc::new(Plain::new(&[stands.clone(), theirs.clone()]));
    let outcomes = Staged::new(provider.clone()).apply(&zone(), &[update]).await;
    assert!(matches!(outcomes.as_slice(), [Outcome::Refused { .. }]), "{outcomes:?}");
    assert_eq!(provider.sets(), [&stands, &theirs].map(|set| (set.key.clone(), set.clone())).into());
}

/// The claim comes long after its record, which somebody changed in between: it stays an intent, which does not speak for theirs.
#[tokio::test(start_paused = true)]
async fn a_late_claim_does_not_come_over_what_was_changed_meanwhile() {
    for preconditions in [Preconditions::Checked, Preconditions::Changed] {
        let theirs = set("x.example A 203.0.113.1");
        let create = group(vec![
            record(Change::Create { to: set("x.example A 192.0.2.1") }),
            Step::claim(Change::Create { to: claim("a-x.example") }),
        ]);
        let meanwhile = Mutex::new(Some(theirs.clone()));
        let provider = Arc::new(Plain { preconditions, meanwhile, slow: 1, ..Plain::new(&[]) });
        let outcomes = Staged::new(provider.clone()).apply(&zone(), &[create]).await;
        assert!(matches!(outcomes.as_slice(), [Outcome::Unknown(_)]), "{preconditions:?}: {outcomes:?}");
        let sets = provider.sets();
        assert_eq!(sets.get(&theirs.key), Some(&theirs), "{preconditions:?}");
        assert!(!speaks_for(&sets, &theirs), "{preconditions:?}: {sets:?}");
    }
}

/// Somebody puts something else where the record was announced, while a call takes long: the record is not written. It would be nobody's,
/// and for good if the process died before it can take it back.
#[tokio::test(start_paused = true)]
async fn a_late_record_is_not_written_whose_intent_was_changed_meanwhile() {
    for preconditions in [Preconditions::Checked, Preconditions::Changed] {
        let theirs = set(&format!("a-x.example TXT {}", CLAIM.replace("owner=me", "owner=them")));
        let create = group(vec![
            record(Change::Create { to: set("x.example A 192.0.2.1") }),
            Step::claim(Change::Create { to: claim("a-x.example") }),
        ]);
        let meanwhile = Mutex::new(Some(theirs.clone()));
        let provider = Arc::new(Plain { preconditions, meanwhile, gone: Some(2), ..Plain::new(&[]) });
        let outcomes = Staged::new(provider.clone()).apply(&zone(), &[create]).await;
        assert!(!matches!(outcomes.as_slice(), [Outcome::Applied]), "{preconditions:?}: {outcomes:?}");
        assert_eq!(provider.sets(), [(theirs.key.clone(), theirs)].into(), "{preconditions:?}");
    }
}

/// The same while another call of the same step takes long: each record goes out on an intent that stands.
#[tokio::test(start_paused = true)]
async fn a_record_is_not_written_after_a_slow_one_if_its_intent_was_changed_meanwhile() {
    for preconditions in [Preconditions::Checked, Preconditions::Changed] {
        let theirs = set(&format!("a-y.example TXT {}", CLAIM.replace("owner=me", "owner=them")));
        let create = |label: &str| {
            let to = set(&format!("{label}.example A 192.0.2.1"));
            let ours = claim(&format!("a-{label}.example"));
            Group {
                name: to.key.name.clone(),
                ..group(vec![record(Change::Create { to }), Step::claim(Change::Create { to: ours })])
            }
        };
        // Two intents, then the record that takes long, then the other one, and no way back.
        let meanwhile = Mutex::new(Some(theirs.clone()));
        let provider = Arc::new(Plain { preconditions, meanwhile, slow: 2, gone: Some(4), most: 1, ..Plain::new(&[]) });
        let outcomes = Staged::new(provider.clone()).apply(&zone(), &["x", "y"].map(create)).await;
        assert!(!matches!(outcomes.as_slice(), [_, Outcome::Applied]), "{preconditions:?}: {outcomes:?}");
        let sets = provider.sets();
        assert!(sets.contains_key(&RecordKey::simple(name("x.example"), RecordType::A)), "{preconditions:?}: {sets:?}");
        assert!(
            !sets.contains_key(&RecordKey::simple(name("y.example"), RecordType::A)),
            "{preconditions:?}: {sets:?}"
        );
        assert_eq!(sets.get(&theirs.key), Some(&theirs), "{preconditions:?}");
    }
}

/// A service that does not answer is not asked for each write that is late.
#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_again_is_not_sent_and_nothing_after_it() {
    let create = |label: &str| {
        let record = record(Change::Create { to: set(&format!("{label}.example A 192.0.2.1")) });
        let claim = Step::claim(Change::Create { to: claim(&format!("a-{label}.example")) });
        group(vec![record, claim])
    };
    // The second intent takes long: the other intents, and the records of the first two, are late.
    let provider = Arc::new(Plain {
        preconditions: Preconditions::Changed,
        meanwhile: Mutex::new(Some(set("other.example A 192.0.2.9"))),
        slow: 1,
        most: 1,
        unread: Some(Duration::from_mins(1)),
        ..Plain::new(&[])
    });
    let outcomes = Staged::new(provider.clone()).apply(&zone(), &["v", "w", "x", "y", "z"].map(create)).await;
    assert!(outcomes.iter().all(|outcome| !matches!(outcome, Outcome::Applied)), "{outcomes:?}");
    assert_eq!(*provider.readings.lock().unwrap(), 2, "once in the step that became late, once in the next one");
}

/// Where the provider reads what a write requires, the write of the claim shows whether the record stands alone.
#[tokio::test]
async fn what_a_create_adds_is_read_back_once() {
    for (preconditions, readings) in [(Preconditions::None, 1), (Preconditions::Read, 0)] {
        let provider = Arc::new(Plain {
            atomic: Atomicity::Batch,
            create: CreateMode::Additive,
            preconditions,
            ..Plain::new(&[])
        });
        let (to, ours) = (set("x.example A 192.0.2.1"), claim("a-x.example"));
        let both = vec![record(Change::Create { to }), Step::claim(Change::Create { to: ours })];
        let outcomes = Staged::new(provider.clone()).apply(&zone(), &[group(both)]).await;
        assert!(matches!(outcomes.as_slice(), [Outcome::Applied]), "{outcomes:?}");
        assert_eq!(*provider.readings.lock().unwrap(), readings);
        // Without a claim no write follows.
        let to = set("y.example A 192.0.2.1");
        let outcomes =
            Staged::new(provider.clone()).apply(&zone(), &[group(vec![record(Change::Create { to })])]).await;
        assert!(matches!(outcomes.as_slice(), [Outcome::Applied]), "{outcomes:?}");
        assert_eq!(*provider.readings.lock().unwrap(), readings + 1);
    }
}

/// An intent speaks for the record as it was read. Somebody has changed that since: no claim takes the intent's place, nor comes elsewhere
/// for it, since either would speak for what stands there now.
#[tokio::test]
async fn an_intent_does_not_become_a_claim_over_what_was_changed_meanwhile() {
    let (was, edited) = (set("x.example A 192.0.2.1"), set("x.example A 192.0.2.9"));
    let begun = |at: &str| {
        let text = Txt::from_text(&Intent::new([&was], CLAIM).to_string());
        RecordSet { data: RecordData::records([RData::Txt(text)]), ..claim(at) }
    };
    let update = record(Change::Update { from: was.clone(), to: set("x.example A 192.0.2.2") });
    let raising = Change::Update { from: begun("a-x.example"), to: claim("a-x.example") };
    let stays = group(vec![update.clone(), Step::claim(raising)]);
    let moves = group(vec![update, Step::claim(Change::Create { to: claim("a-x.example") })]);
    let moves = Group { requires: vec![Precondition::Exact(begun(FORMER))], ..moves };
    for (group, before) in [(stays, begun("a-x.example")), (moves, begun(FORMER))] {
        let provider = Arc::new(Plain { gone: Some(2), ..Plain::new(&[edited.clone(), before.clone()]) });
        let outcomes = Staged::new(provider.clone()).apply(&zone(), std::slice::from_ref(&group)).await;
        assert!(matches!(outcomes.as_slice(), [Outcome::Refused { .. }]), "{outcomes:?}");
        assert_eq!(provider.sets(), [&edited, &before].map(|set| (set.key.clone(), set.clone())).into());
    }
}

/// The names of claims are read for a record that comes. What that shows of a claim beside it, which was made an intent in the same step,
/// is heeded: somebody has taken it away since, and the record that it was about is his.
#[tokio::test]
async fn a_claim_that_went_before_its_names_were_read_back_gives_no_right() {
    let with_id = |set: RecordSet| RecordSet { key: RecordKey { set_id: SetId::new("b"), ..set.key }, ..set };
    let (comes, goes) = (set("x.example A 192.0.2.1"), with_id(set("x.example A 192.0.2.2")));
    let (of_comes, of_goes) = (claim("a-x.example"), with_id(claim("a-x.example")));
    let create =
        group(vec![record(Change::Create { to: comes.clone() }), Step::claim(Change::Create { to: of_comes.clone() })]);
    let delete = group(vec![
        record(Change::Delete { from: goes.clone() }),
        Step::claim(Change::Delete { from: of_goes.clone() }),
    ]);
    let provider = Arc::new(Plain {
        create: CreateMode::Additive,
        taken: Mutex::new(Some(of_goes.key.clone())),
        ..Plain::new(&[goes.clone(), of_goes.clone()])
    });
    let outcomes = Staged::new(provider.clone()).apply(&zone(), &[create, delete]).await;
    assert!(matches!(outcomes.as_slice(), [Outcome::Applied, Outcome::Unknown(_)]), "{outcomes:?}");
    assert_eq!(provider.sets(), [comes, of_comes, goes].map(|set| (set.key.clone(), set)).into());
    assert_eq!(
        *provider.calls.lock().unwrap(),
        4,
        "two intents, the record that comes, its claim: nothing goes and comes back"
    );
}

/// Of two records that come, the name is read for each. What the second reading shows of the first record is heeded: somebody has
/// changed it since, and a claim would speak for what he wrote.
#[tokio::test(start_paused = true)]
async fn a_record_that_was_changed_before_its_name_was_read_for_another_is_not_claimed() {
    let (first, second) = (set("x.example A 192.0.2.1"), set("x.example AAAA 2001:db8::1"));
    let group = group(vec![
        record(Change::Create { to: first.clone() }),
        Step::claim(Change::Create { to: claim("a-x.example") }),
        record(Change::Create { to: second }),
        Step::claim(Change::Create { to: claim("aaaa-x.example") }),
    ]);
    let edited = set("x.example A 192.0.2.9");
    let provider = Arc::new(Plain {
        create: CreateMode::Additive,
        // Two intents and the first record come before.
        slow: 3,
        answer: Duration::from_millis(1),
        meanwhile: Mutex::new(Some(edited.clone())),
        ..Plain::new(&[])
    });
    let outcomes = Staged::new(provider.clone()).apply(&zone(), &[group]).await;
    assert!(matches!(outcomes.as_slice(), [Outcome::Unknown(_)]), "{outcomes:?}");
    let stand = provider.sets();
    assert_eq!(stand.get(&first.key), Some(&edited));
    let claimed = |set: &&RecordSet| set.data.contains(&claim("x.example").data);
    assert_eq!(stand.values().filter(claimed).count(), 0, "{stand:?}");
}
