//! What a call may hold, and which zone it is for.

use zonewright_core::capability::{Batch, TargetCount};
use zonewright_core::change::{Group, Outcome};
use zonewright_core::cost::Cost;
use zonewright_core::{RecordSet, RecordType};

use crate::provider::Harness;
use crate::provider::walk::{Walk, create};
use crate::run::note;

const A: RecordType = RecordType::A;

/// The most record sets that a case writes; a provider that takes more in a call is not asked for more.
const MOST: usize = 1_500;

/// A call that holds exactly as many changes, values or characters as are declared is carried out as a whole; one group less is, and
/// of one more the outcomes are true.
pub async fn calls_hold_what_is_declared(harness: &dyn Harness) {
    let mut walk = Walk::start(harness).await;
    let batch = walk.capability.batch;
    let single = |at: usize| walk.set(&format!("l{at}"), A, 300, &["192.0.2.1"]);
    let values = |at: usize| {
        let addresses: Vec<String> = (1..=20).map(|last| format!("192.0.2.{last}")).collect();
        walk.set(&format!("v{at}"), A, 300, &addresses.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let text = |at: usize| walk.set(&format!("t{at}"), RecordType::Txt, 300, &[&format!("\"{}\"", "x".repeat(250))]);
    let kinds: [(&str, &dyn Fn(usize) -> RecordSet); 3] = [("changes", &single), ("values", &values), ("text", &text)];
    let mut states = Vec::new();
    for (what, set) in kinds {
        if what == "values" && walk.capability.targets == TargetCount::First {
            continue;
        }
        match most(batch, set) {
            Some(most) => states.push((what, (0..=most).map(set).collect::<Vec<_>>())),
            None => note(&format!("{what}: a call holds more than {MOST} sets")),
        }
    }
    for (what, sets) in states {
        let most = sets.len() - 1;
        for count in [most.saturating_sub(1), most] {
            let wanted = sets.get(..count).unwrap_or_default();
            let groups = walk.groups(wanted).await;
            for outcome in walk.provider().apply(walk.zone(), &groups).await {
                assert!(matches!(outcome, Outcome::Applied), "{what}: {count} in a call, of {most}: {outcome:?}");
            }
            walk.stands(wanted).await;
            clear(&mut walk).await;
        }
        too_many(&mut walk, what, &sets).await;
    }
}

/// One call with more than it can hold: all, some or none of it is carried out, and that is what the outcomes say.
async fn too_many(walk: &mut Walk<'_>, what: &str, sets: &[RecordSet]) {
    let groups = walk.groups(sets).await;
    let outcomes = walk.provider().apply(walk.zone(), &groups).await;
    assert_eq!(outcomes.len(), groups.len(), "{what}: one outcome for each group");
    let zone = walk.dump().await;
    let mut applied = Vec::new();
    for ((group, outcome), set) in groups.iter().zip(&outcomes).zip(sets) {
        match outcome {
            Outcome::Applied => applied.push(set.clone()),
            Outcome::Refused { .. } | Outcome::NotSent(_) => {
                assert!(
                    !zone.contains_key(&set.key),
                    "{what}: {} is there and reported as {outcome:?}",
                    group.headline()
                );
            }
            Outcome::Unknown(error) => panic!("{what}: a call that is too large is no unknown outcome: {error}"),
        }
    }
    walk.stands(&applied).await;
    clear(walk).await;
}

/// Takes away what is ours.
async fn clear(walk: &mut Walk<'_>) {
    let groups = walk.groups(&[]).await;
    for (group, outcome) in groups.iter().zip(walk.apply(&groups).await) {
        assert!(matches!(outcome, Outcome::Applied), "{} was not applied: {outcome:?}", group.headline());
    }
    walk.stands(&[]).await;
}

/// How many creates of such sets a call holds; none if more than [`MOST`].
fn most(batch: Batch, set: impl Fn(usize) -> RecordSet) -> Option<usize> {
    let mut held = Cost::default();
    for at in 0..MOST {
        let group: Group = create(&set(at));
        held = held + batch.cost(&group);
        if !batch.holds(held) {
            return Some(at);
        }
    }
    None
}

/// Two zones of one name are two: what is written to one is in that one, and each is read for itself.
pub async fn zones_of_one_name_are_two(harness: &dyn Harness) {
    let Some(twin) = harness.twin() else { return note("there are no two zones of one name") };
    let (mut one, mut other) = (Walk::start(harness).await, Walk::start(&*twin).await);
    assert_eq!(one.zone().name, other.zone().name, "the zones have one name");
    assert_ne!(one.zone().key, other.zone().key, "the zones are two");
    let zones = one.provider().zones().await.expect("the zones can be listed");
    for zone in [one.zone(), other.zone()] {
        assert_eq!(zones.iter().filter(|listed| listed.key == zone.key).count(), 1, "{} is listed once", zone.key);
    }
    let www = |address: &str| [one.set("www", A, 300, &[address])];
    let (here, there) = (www("192.0.2.1"), www("198.51.100.1"));
    one.reach(&here).await;
    other.check().await;
    other.reach(&there).await;
    one.check().await;
    one.reach(&[]).await;
    other.check().await;
    other.reach(&[]).await;
}
