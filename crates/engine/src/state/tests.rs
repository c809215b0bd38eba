use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use zonewright_core::error::Error;
use zonewright_core::guard::{AcceptedKinds, Approval, BrakeScope, Digest};
use zonewright_core::store::MemoryStore;
use zonewright_core::testing::set;

use super::*;

const TTL: Duration = Duration::from_hours(1);

async fn load(store: &Arc<MemoryStore>) -> State {
    State::load(store.clone(), Timestamp(0), TTL).await
}

fn held(hash: &str, record: &str, scope: BrakeScope) -> HeldPlan {
    let record = set(record);
    HeldPlan {
        hash: hash.to_owned(),
        held: BTreeMap::from([(record.key.clone(), Some(Digest::of(&record, None)))]),
        samples: BTreeMap::from([(record.key.clone(), record.data.to_string())]),
        reason: "many".to_owned(),
        since: Timestamp(0),
        floor: false,
        scope,
        kinds: AcceptedKinds::new(),
    }
}

#[tokio::test]
async fn the_document_comes_back_from_the_store() {
    let store = Arc::new(MemoryStore::default());
    let state = load(&store).await;
    let key = set("a.example A 192.0.2.1").key;
    state.zone("i/z", |zone| {
        zone.window.deleted([(&key, None)], Timestamp(0));
        zone.held = Some(held("abc", "a.example A 192.0.2.1", BrakeScope::Zone));
    });
    state.kinds(|known, _| known.seen.insert("services".to_owned()));
    assert_eq!(state.approve("nope", Timestamp(9)), None);
    assert_eq!(state.approve("abc", Timestamp(9)), Some(("i/z".to_owned(), 1)));
    let standing = BTreeSet::from(["abc".to_owned()]);
    assert_eq!(state.take(&standing), standing);
    state.save().await.unwrap();
    assert_eq!(seen(&*store).await, Some(BTreeSet::from(["services".to_owned()])));
    let back = load(&store).await;
    assert_eq!(back.lock().document, state.lock().document);
    assert_eq!(back.take(&standing), BTreeSet::new(), "each approval counts once, also after a restart");
    assert_eq!(back.take(&BTreeSet::new()), BTreeSet::new());
    assert_eq!(back.take(&standing), standing, "taken away and given again is a new one");
}

/// What commit 7d1b209 saved: window, held plan, approval, names that an undo set back, kinds.
#[tokio::test]
async fn what_an_older_version_saved_loads() {
    let store = Arc::new(MemoryStore::default());
    store.save(include_bytes!("../testdata/state-7d1b209.json")).await.unwrap();
    let now = Timestamp(1_763_800_100_000);
    let state = State::load(store, now, TTL).await;
    assert_eq!(state.in_doubt(), None);
    let plans = state.held();
    let (zone, plan) = plans.first().unwrap();
    assert_eq!((zone.as_str(), plan.hash.as_str(), plan.held.len()), ("rfc2136/example.com", "f31c09b2a17e", 2));
    assert_eq!((plan.samples.len(), plan.floor, plan.scope), (2, true, BrakeScope::Zone));
    assert_eq!(state.pins().len(), 1);
    let record = set("old.example.com A 192.0.2.3");
    state.look(zone, |state| {
        let covers = |approval: &Approval| approval.covers(&record.key, &Digest::of(&record, None), now);
        assert!(state.approvals.iter().any(covers), "an approval that was given before the swap still counts");
        assert_eq!(state.window.deletes(TTL, &BTreeSet::new(), now), 7 + 1);
        assert_eq!(state.window.peak(TTL, now), 230);
    });
}

#[tokio::test]
async fn a_document_that_does_not_parse_is_reported_and_never_written_over() {
    let store = Arc::new(MemoryStore::default());
    store.save(b"{ not json").await.unwrap();
    let state = load(&store).await;
    assert!(state.in_doubt().unwrap().contains("is no state"));
    state.zone("i/z", |zone| zone.window.owns(5, Timestamp(0)));
    assert!(state.save().await.is_err());
    assert_eq!(store.load().await.unwrap().unwrap(), b"{ not json");
    assert!(State::open(store.clone()).await.is_err(), "a look without a daemon says so, too");
    assert!(!state.read_again(Timestamp(1), TTL).await);
    // It is repaired by hand: what it says and what was noted meanwhile are one.
    let other = load(&Arc::new(MemoryStore::default())).await;
    let key = set("a.example A 192.0.2.1").key;
    other.zone("i/z", |zone| zone.window.deleted([(&key, None)], Timestamp(0)));
    let text = serde_json::to_vec(&other.lock().document).unwrap();
    store.save(&text).await.unwrap();
    assert!(state.read_again(Timestamp(1), TTL).await && state.in_doubt().is_none());
    state.save().await.unwrap();
    let back = load(&store).await;
    back.look("i/z", |zone| {
        assert_eq!(zone.window.deletes(TTL, &BTreeSet::new(), Timestamp(1)), 1);
        assert_eq!(zone.window.peak(TTL, Timestamp(1)), 5);
    });
}

/// A store that may not be read for a while.
#[derive(Default)]
struct Guarded {
    document: MemoryStore,
    denied: AtomicBool,
}

#[async_trait::async_trait]
impl StateStore for Guarded {
    async fn load(&self) -> Result<Option<Vec<u8>>> {
        if self.denied.load(Ordering::SeqCst) {
            return Err(Error::new(ErrorKind::Unauthorized, "read state", "forbidden"));
        }
        self.document.load().await
    }

    async fn save(&self, document: &[u8]) -> Result<()> {
        self.document.save(document).await
    }

    async fn approvals(&self) -> Result<BTreeSet<String>> {
        self.document.approvals().await
    }

    fn approve_with(&self, hash: &str) -> Option<String> {
        self.document.approve_with(hash)
    }

    fn place(&self) -> String {
        self.document.place()
    }
}

/// What may not be read at a start is not written over either: the right may come back, and with it what former processes noted.
#[tokio::test]
async fn a_document_that_may_not_be_read_is_never_written_over() {
    let store = Arc::new(Guarded::default());
    let key = set("a.example A 192.0.2.1").key;
    let state = State::load(store.clone(), Timestamp(0), TTL).await;
    state.zone("i/z", |zone| zone.window.deleted([(&key, None)], Timestamp(0)));
    state.save().await.unwrap();
    store.denied.store(true, Ordering::SeqCst);
    let state = State::load(store.clone(), Timestamp(0), TTL).await;
    assert_eq!(state.in_doubt(), None, "memory has to do, as where the right to write is missing");
    state.zone("i/z", |zone| zone.window.owns(5, Timestamp(0)));
    state.save().await.unwrap();
    store.denied.store(false, Ordering::SeqCst);
    state.save().await.unwrap();
    let noted = |state: &State| {
        state.look("i/z", |zone| {
            (zone.window.deletes(TTL, &BTreeSet::new(), Timestamp(1)), zone.window.peak(TTL, Timestamp(1)))
        })
    };
    assert_eq!(noted(&State::load(store.clone(), Timestamp(0), TTL).await), (1, 0), "it is as it was");
    assert!(state.read_again(Timestamp(1), TTL).await);
    assert_eq!(noted(&state), (1, 5));
    state.save().await.unwrap();
    assert_eq!(noted(&State::load(store, Timestamp(0), TTL).await), (1, 5));
}

#[tokio::test]
async fn plans_that_are_held_together_are_approved_together() {
    let store = Arc::new(MemoryStore::default());
    let state = load(&store).await;
    let zones =
        [("i/a", "aa", BrakeScope::Process), ("i/b", "bb", BrakeScope::Process), ("j/c", "cc", BrakeScope::Zone)];
    for (zone, hash, scope) in zones {
        state.zone(zone, |zone| zone.held = Some(held(hash, "x.example A 192.0.2.1", scope)));
    }
    let joint = state.joint();
    let [only] = joint.as_slice() else { panic!("one joint plan expected, got {joint:?}") };
    assert_eq!((only.deletes(), only.zones.keys().map(String::as_str).collect::<Vec<_>>()), (2, vec!["i/a", "i/b"]));
    assert_eq!(state.approve(&only.hash, Timestamp(9)), Some(("i/a, i/b".to_owned(), 2)));
    let approved = |zone: &str| state.look(zone, |state| state.approvals.len());
    assert_eq!(["i/a", "i/b", "j/c"].map(approved), [1, 1, 0]);
    // What one of them approved is set back: nobody approved the others by themselves.
    state.revoke("i/a", &BTreeSet::from([set("x.example A 192.0.2.1").key]));
    assert_eq!(["i/a", "i/b", "j/c"].map(approved), [0, 0, 0]);
}

#[tokio::test]
async fn a_zone_that_is_gone_is_forgotten_once_nothing_of_it_matters() {
    let state = load(&Arc::new(MemoryStore::default())).await;
    let served = BTreeSet::from(["i/served".to_owned()]);
    let zones = |state: &State| state.lock().document.zones.keys().cloned().collect::<Vec<_>>();
    let key = set("a.example A 192.0.2.1").key;
    state.zone("i/served", |_| ());
    state.zone("i/empty", |_| ());
    state.zone("i/deleted", |zone| zone.window.deleted([(&key, None)], Timestamp(0)));
    state.zone("i/owned", |zone| zone.window.owns(3, Timestamp(0)));
    state.zone("i/held", |zone| zone.held = Some(held("abc", "a.example A 192.0.2.1", BrakeScope::Zone)));
    state.prune(&served, TTL, Timestamp(1));
    assert_eq!(zones(&state), ["i/deleted", "i/held", "i/owned", "i/served"]);
    let later = Timestamp(0).plus(TTL * 2);
    state.prune(&served, TTL, later);
    assert_eq!(zones(&state), ["i/held", "i/served"], "a held plan stays");
    state.zone("i/held", |zone| zone.held = None);
    state.prune(&served, TTL, later);
    assert_eq!(zones(&state), ["i/served"]);
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

/// A change that meets the saving of another zone's is in the document once its own saving is over: deletes rest on that.
#[test]
fn what_changes_while_another_zone_saves_is_saved() {
    let store = Arc::new(MemoryStore::default());
    let state = wait(load(&store));
    for zone in 0..20 {
        state.zone(&format!("i/{zone}"), |zone| zone.window.owns(1, Timestamp(0)));
    }
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                state.touch();
                wait(state.save()).unwrap();
            }
        });
        for owned in 1..2_000 {
            state.judge(|document, _| {
                document.zones.entry("i/z".to_owned()).or_default().window.owns(owned, Timestamp(0));
            });
            wait(state.save()).unwrap();
            let saved = wait(read(&*store)).unwrap().unwrap();
            let peak = saved.zones["i/z"].window.peak(TTL, Timestamp(0));
            done.store(peak != owned, Ordering::SeqCst);
            assert_eq!(peak, owned, "it was not saved");
        }
        done.store(true, Ordering::SeqCst);
        other.join().unwrap();
    });
}
