//! Lists that are too long for one object.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::Value;
use zonewright_core::claim::Ownership;
use zonewright_core::documents::{Document, DocumentStore, Listed, Version};
use zonewright_core::registry::{ClaimStore as _, OwnershipChange, Registry};
use zonewright_core::testing::documents::{Fault, MemoryDocuments};
use zonewright_core::{Result, intent};
use zonewright_registry::configmap::ConfigMapRegistry;

use crate::support::{
    Zones, audit, carry, create, delete, edit, is_ours, ownership, prepare, records, refusal, registry, set, update,
};

/// Some fifteen records.
const SMALL: usize = 2_000;

fn names(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("name-{number}.org A 192.0.2.1")).collect()
}

/// The names that the objects list, and how often each.
fn listed(store: &MemoryDocuments) -> Vec<String> {
    let records = store.names().into_iter().flat_map(|name| records(store, &name));
    let mut all: Vec<String> = records.map(|record| text(&record["dnsname"])).collect();
    all.sort();
    all
}

fn ours(registry: &dyn Registry, zones: &Zones, lines: &[String]) -> usize {
    lines.iter().filter(|line| is_ours(registry, zones, line)).count()
}

#[tokio::test]
async fn a_long_list_is_split_by_name() {
    let store = Arc::new(MemoryDocuments::default());
    let registry = registry(&store, SMALL);
    let mut zones = Zones::new(&["foreign.org A 192.0.2.99"]);
    let lines = names(100);
    for line in &lines {
        carry(&registry, &mut zones, vec![create(line)]).await;
    }
    audit(&registry, &zones).await;
    assert!(store.names().len() >= 8, "{:?}", store.names());
    assert!(store.names().iter().all(|name| name == "me-registry" || name.starts_with("me-registry-")));
    for name in store.names() {
        let text = store.document(&name).unwrap().text;
        assert!(text.len() <= SMALL, "{name} has {} bytes", text.len());
    }
    let all = listed(&store);
    assert_eq!(all.len(), 101);
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 101, "each record once");
    assert_eq!(ours(&registry, &zones, &lines), 100);
    let restarted = crate::support::registry(&store, SMALL);
    let (_, writes) = store.calls();
    audit(&restarted, &zones).await;
    assert_eq!((ours(&restarted, &zones, &lines), store.calls().1), (100, writes));
}

/// A split is cut off after each of its writes, carried out or not: no claim is lost, and the next process ends it.
#[tokio::test]
async fn a_split_that_is_cut_off_loses_no_claim() {
    let lines = names(60);
    let mut cuts = 0;
    for cut in 0..40 {
        for crash in [Fault::CrashBefore, Fault::CrashAfter] {
            let store = Arc::new(MemoryDocuments::default());
            let mut zones = Zones::new(&[]);
            carry(&registry(&store, 1_000_000), &mut zones, lines.iter().map(|line| create(line)).collect()).await;
            assert_eq!(store.names(), ["me-registry"]);
            zones.put("foreign.org A 192.0.2.99");
            let small = registry(&store, SMALL);
            small.load().await.unwrap();
            store.fail(std::iter::repeat_n(Fault::None, cut).chain([crash]));
            let split = small.resync(&zones.zone, &zones, true).await;
            cuts += usize::from(split.is_err());
            store.revive();
            let restarted = registry(&store, SMALL);
            restarted.load().await.unwrap();
            assert_eq!(ours(&restarted, &zones, &lines), 60, "after {crash:?} at write {cut}");
            audit(&restarted, &zones).await;
            assert_eq!(ours(&restarted, &zones, &lines), 60, "after {crash:?} at write {cut}, once put in order");
            assert_eq!(listed(&store).len(), 61, "each record once after {crash:?} at write {cut}");
        }
    }
    assert!(cuts > 20, "the split was cut off {cuts} times");
}

/// Somebody gives a record that the first object still lists, or all of them, to another owner, or to nobody, or hands it over, beside any write
/// of a split, which may go on with what one left behind that was cut off: none of them is ours any more, and nothing else is lost.
#[tokio::test]
async fn what_a_person_says_during_a_split_is_not_lost() {
    for owner in ["other", HANDED, ""] {
        for (which, at) in ["", "-3.", "-4.", "-5."].into_iter().flat_map(|which| (0..8).map(move |at| (which, at))) {
            said_during_a_split(owner, which, None, Some(at)).await;
        }
        for (cut, at) in (0..4).flat_map(|cut| (0..4).map(move |at| (cut, at))) {
            said_during_a_split(owner, "", Some(cut), Some(at)).await;
        }
    }
}

/// The same after a split was cut off, and before somebody ends it. Of two different words on one record the one for another owner counts,
/// from the first look at the objects on.
#[tokio::test]
async fn what_a_person_says_of_a_split_that_was_cut_off_is_not_lost() {
    for cut in 0..12 {
        for owner in ["other", HANDED] {
            said_during_a_split(owner, "", Some(cut), None).await;
        }
    }
}

/// A process is cut off after the write `cut`, if at all; the next one ends its split. A person gives the records in whose name `which`
/// stands to `owner` before the write `at` of that, or before it reads anything.
async fn said_during_a_split(owner: &'static str, which: &'static str, cut: Option<usize>, at: Option<usize>) {
    let what = format!("{which:?} to {owner:?} beside write {at:?}, cut off: {cut:?}");
    let lines = names(60);
    let store = Arc::new(MemoryDocuments::default());
    let mut zones = Zones::new(&[]);
    carry(&registry(&store, 1_000_000), &mut zones, lines.iter().map(|line| create(line)).collect()).await;
    zones.put("foreign.org A 192.0.2.99");
    if let Some(cut) = cut {
        let first = registry(&store, SMALL);
        first.load().await.unwrap();
        store.fail(std::iter::repeat_n(Fault::None, cut).chain([Fault::CrashAfter]));
        let split = first.resync(&zones.zone, &zones, true).await;
        assert_eq!(split.is_err(), store.is_dead(), "{what}");
        store.revive();
    }
    let hand = Arc::new(Hand::new(&store, at.unwrap_or(0), which, owner));
    if at.is_none() {
        hand.writes();
    }
    let registry = registry(&hand, SMALL);
    let is_kept = |line: &&String| !hand.given().contains(line.split(' ').next().unwrap());
    let kept = |of: &ConfigMapRegistry| lines.iter().filter(is_kept).filter(|line| is_ours(of, &zones, line)).count();
    registry.load().await.unwrap();
    assert_eq!(ours(&registry, &zones, &lines), kept(&registry), "{what}, when it was read");
    audit(&registry, &zones).await;
    audit(&registry, &zones).await;
    let given = hand.given();
    assert_eq!((ours(&registry, &zones, &lines), kept(&registry)), (60 - given.len(), 60 - given.len()), "{what}");
    let all = store.names().into_iter().flat_map(|name| records(&store, &name));
    let of_owner = all.filter(|record| record["owner"] == owner && record["dnsname"] != "foreign.org");
    assert_eq!(of_owner.map(|record| text(&record["dnsname"])).collect::<BTreeSet<_>>(), given, "{what}");
    assert_eq!(listed(&store).len(), 61, "each record once, {what}");
}

/// A change that needs no note ahead of it looks at the objects all the same, while one is half moved.
#[tokio::test]
async fn nothing_is_changed_by_a_copy_whose_record_was_given_away() {
    let lines = names(60);
    let mut copies = 0;
    for good in 0..12 {
        let store = Arc::new(MemoryDocuments::default());
        let mut zones = Zones::new(&[]);
        carry(&registry(&store, 1_000_000), &mut zones, lines.iter().map(|line| create(line)).collect()).await;
        zones.put("foreign.org A 192.0.2.99");
        let registry = registry(&store, SMALL);
        registry.load().await.unwrap();
        store.fail(std::iter::repeat_n(Fault::None, good).chain([Fault::Before]));
        let split = registry.resync(&zones.zone, &zones, true).await;
        store.fail([]);
        let hand = Hand::new(&store, 0, "", "");
        hand.writes();
        let given = hand.given();
        copies += usize::from(split.is_err() && listed(&store).len() > 60);
        let refused = async || {
            let updates = lines.iter().map(|line| update(line, &line.replace("192.0.2.1", "192.0.2.2"))).collect();
            let answers = prepare(&registry, &zones, updates).await;
            let refused = answers.into_iter().filter_map(Result::err);
            refused.map(|(group, _)| group.name.to_string()).collect::<BTreeSet<String>>()
        };
        // While the move cannot go on, nothing is known of what stands twice.
        store.fail([Fault::Before]);
        assert!(refused().await.is_superset(&given), "after {good} writes, and before another one that fails");
        store.fail([]);
        let refused = refused().await;
        assert_eq!(refused, given, "after {good} writes");
    }
    assert!(copies > 2, "{copies} splits were left half done");
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// Another owner, to whom `zonewright transfer` hands records as they stand.
const HANDED: &str = "heir";

/// A person who edits the first object once, beside one of the writes to the store.
struct Hand {
    store: Arc<MemoryDocuments>,
    /// Part of the names of the records, and whose they are to be.
    which: &'static str,
    owner: &'static str,
    /// How many writes come before it, and the names that the person gave away.
    state: Mutex<(Option<usize>, BTreeSet<String>)>,
}

impl Hand {
    fn new(store: &Arc<MemoryDocuments>, at: usize, which: &'static str, owner: &'static str) -> Self {
        Self { store: store.clone(), which, owner, state: Mutex::new((Some(at), BTreeSet::new())) }
    }

    fn given(&self) -> BTreeSet<String> {
        self.state.lock().unwrap().1.clone()
    }

    fn writes(&self) {
        let (waits, given) = &mut *self.state.lock().unwrap();
        match waits.take() {
            Some(0) => {
                let mut listed = records(&self.store, "me-registry");
                for record in &mut listed {
                    if record["owner"] == "me" && text(&record["dnsname"]).contains(self.which) {
                        record["owner"] = self.owner.into();
                        if self.owner == HANDED {
                            let stands = set(&format!("{} A 192.0.2.1", text(&record["dnsname"])));
                            record["intent"] = intent::digest(&stands).into();
                            record["given"] = true.into();
                        }
                        given.insert(text(&record["dnsname"]));
                    }
                }
                edit(&self.store, "me-registry", |_| serde_json::to_string(&listed).unwrap());
            }
            Some(more) => *waits = Some(more - 1),
            None => {}
        }
    }
}

#[async_trait]
impl DocumentStore for Hand {
    async fn list(&self) -> Result<Vec<Listed>> {
        self.store.list().await
    }

    async fn read(&self, name: &str) -> Result<Option<(Version, Document)>> {
        self.store.read(name).await
    }

    async fn create(&self, name: &str, document: &Document) -> Result<Version> {
        self.writes();
        self.store.create(name, document).await
    }

    async fn replace(&self, name: &str, version: &Version, document: &Document) -> Result<Version> {
        self.writes();
        self.store.replace(name, version, document).await
    }

    fn place(&self, name: &str) -> String {
        self.store.place(name)
    }
}

/// Where announcing makes a list outgrow its object, some intents are written before the last ones: what somebody says of a record
/// meanwhile, and the process reads, counts.
#[tokio::test]
async fn nothing_is_sent_over_what_was_said_while_the_rest_was_announced() {
    // The records that the first of two objects lists, and those of the second.
    let (scratch, all) = (Arc::new(MemoryDocuments::default()), names(60));
    carry(&registry(&scratch, 8_000), &mut Zones::new(&[]), all.iter().map(|line| create(line)).collect()).await;
    assert_eq!(scratch.names().len(), 2);
    let first: BTreeSet<String> =
        records(&scratch, "me-registry").iter().map(|record| text(&record["dnsname"])).collect();
    let (lines, more): (Vec<&String>, Vec<&String>) =
        all.iter().partition(|line| first.contains(line.split(' ').next().unwrap()));
    let lines: Vec<&String> = lines.into_iter().take(6).collect();
    let (mut given, mut refused) = (0, 0);
    for at in 0..16 {
        let store = Arc::new(MemoryDocuments::default());
        let mut zones = Zones::new(&[]);
        carry(&registry(&store, SMALL), &mut zones, lines.iter().map(|line| create(line)).collect()).await;
        let hand = Arc::new(Hand::new(&store, at, "", "other"));
        let registry = registry(&hand, SMALL);
        audit(&registry, &zones).await;
        let groups = lines.iter().map(|line| delete(line)).chain(more.iter().map(|line| create(line))).collect();
        let answers = prepare(&registry, &zones, groups).await;
        for group in answers.iter().filter_map(|answer| answer.as_ref().ok()) {
            let key = group.changes().next().unwrap().key();
            let ownership = ownership(&registry, &zones, &format!("{} {}", key.name, key.rtype));
            assert!(!matches!(ownership, Ownership::Foreign(_)), "{key}, edited before write {at}");
        }
        given += hand.given().len();
        refused += answers.iter().filter(|answer| answer.is_err()).count();
    }
    assert!(given > 20 && refused > 20, "{given} records were given away, and {refused} groups refused");
}

/// The process goes on after a split that failed: what it knew of records in objects that were never written, the others say.
#[tokio::test]
async fn a_split_that_fails_loses_no_claim_of_the_process_that_goes_on() {
    let (lines, more) = (names(14), names(40).split_off(14));
    let mut failed = 0;
    for kind in [Fault::Before, Fault::After] {
        for good in 0..12 {
            let store = Arc::new(MemoryDocuments::default());
            let mut zones = Zones::new(&[]);
            let registry = registry(&store, SMALL);
            carry(&registry, &mut zones, lines.iter().map(|line| create(line)).collect()).await;
            let updates = lines.iter().map(|line| update(line, &line.replace("192.0.2.1", "192.0.2.2")));
            let groups = updates.chain(more.iter().map(|line| create(line))).collect();
            store.fail(std::iter::repeat_n(Fault::None, good).chain(std::iter::repeat_n(kind, 20)));
            let ready: Vec<_> = prepare(&registry, &zones, groups).await.into_iter().filter_map(Result::ok).collect();
            failed += lines.len() + more.len() - ready.len();
            // Nothing of it is carried out.
            let outcomes: Vec<_> = ready.iter().map(|_| refusal()).collect();
            // The answer may be that it could not be written down.
            let _ = registry.commit(&zones.zone, &ready, &outcomes).await;
            store.fail([]);
            registry.load().await.unwrap();
            assert_eq!(ours(&registry, &zones, &lines), 14, "{kind:?} after {good} writes");
            audit(&registry, &zones).await;
            audit(&registry, &zones).await;
            assert_eq!(ours(&registry, &zones, &lines), 14, "{kind:?} after {good} writes, later");
        }
    }
    assert!(failed > 100, "{failed} groups were not announced");
}

/// A record is gone, and to say so an object needs more room than it has: it is split, and the claim ends three readings later all the same,
/// though nothing else in the zone changes. So it does where another writer touches the object meanwhile.
#[tokio::test]
async fn what_a_reading_found_gone_is_not_forgotten_by_a_split() {
    for (count, fault) in (5..=20).flat_map(|count| [Fault::None, Fault::Conflict].map(|fault| (count, fault))) {
        for room in [10, 1_000] {
            let store = Arc::new(MemoryDocuments::default());
            let mut zones = Zones::new(&[]);
            let lines = names(count);
            carry(&registry(&store, 1_000_000), &mut zones, lines.iter().map(|line| create(line)).collect()).await;
            let registry = registry(&store, store.document("me-registry").unwrap().text.len() + room);
            audit(&registry, &zones).await;
            zones.sets.remove(&set(&lines[0]).key);
            store.fail([fault]);
            audit(&registry, &zones).await;
            assert_eq!(store.names().len(), if room == 10 { 2 } else { 1 }, "{count} records, {fault:?}");
            for _ in 0..3 {
                registry.load().await.unwrap();
                registry.resync(&zones.zone, &zones, false).await.unwrap();
            }
            assert_eq!(listed(&store).len(), count - 1, "{count} records, {fault:?}, room for {room} bytes");
        }
    }
}

#[tokio::test]
async fn a_claim_withdrawn_is_gone_from_every_shard() {
    let store = Arc::new(MemoryDocuments::default());
    let mut zones = Zones::new(&[]);
    let lines = names(60);
    let registry = registry(&store, SMALL);
    carry(&registry, &mut zones, lines.iter().map(|line| create(line)).collect()).await;
    // The move of one entry was cut off: it stands where it was, too.
    let home =
        store.names().into_iter().find(|name| name != "me-registry" && !records(&store, name).is_empty()).unwrap();
    let entry = records(&store, &home)[0].clone();
    let mut first = records(&store, "me-registry");
    first.push(entry.clone());
    let document = store.document("me-registry").unwrap();
    let text = serde_json::to_string(&first).unwrap();
    store.edit("me-registry", Some(Document { text, ..document }));
    let line = lines.iter().find(|line| line.starts_with(&format!("{} ", entry["dnsname"].as_str().unwrap()))).unwrap();
    registry.load().await.unwrap();
    assert!(is_ours(&registry, &zones, line));
    carry(&registry, &mut zones, vec![crate::support::delete(line)]).await;
    zones.put(line);
    registry.load().await.unwrap();
    assert!(!is_ours(&registry, &zones, line), "the copy that was left behind speaks");
    assert!(!listed(&store).iter().any(|name| *name == entry["dnsname"]));
}

/// An entry that would fill an object is not made. A record of nobody is listed without its values then.
#[tokio::test]
async fn a_record_too_long_for_the_list_is_refused_and_splits_nothing() {
    let long = |name: &str| (0..50).fold(format!("{name} AAAA"), |line, number| format!("{line} 2001:db8::{number:x}"));
    let store = Arc::new(MemoryDocuments::default());
    let first = registry(&store, SMALL);
    let mut zones = Zones::new(&[&long("foreign.org")]);
    let short = "b.org AAAA 2001:db8::";
    carry(&first, &mut zones, names(5).iter().map(|line| create(line)).chain([create(short)]).collect()).await;
    for registry in [&first, &registry(&store, SMALL)] {
        audit(registry, &zones).await;
        let (_, writes) = store.calls();
        let take = OwnershipChange::Take(None);
        let take = (registry as &dyn Registry).assign(&zones.zone, &set(&long("foreign.org")), &take, &zones);
        for group in [create(&long("mine.org")), update(short, &long("b.org")), take.unwrap().unwrap()] {
            let about = format!("the entry of {} AAAA in the registry would have ", group.name);
            let (_, dropped) = prepare(registry, &zones, vec![group]).await.remove(0).unwrap_err();
            assert!(
                dropped.reason.starts_with(&about) && dropped.reason.ends_with(", and 1000 is the most"),
                "{dropped:?}"
            );
        }
        audit(registry, &zones).await;
        assert_eq!(store.calls().1, writes, "nothing is written for it");
    }
    assert_eq!(store.names(), ["me-registry"]);
    let foreign = records(&store, "me-registry").into_iter().find(|record| record["dnsname"] == "foreign.org").unwrap();
    assert_eq!(foreign["target"], "50 values, too long for this list");
}

/// One that is there already, from a time when there was room for it, stays ours, gets shorter and goes.
#[tokio::test]
async fn a_record_too_long_for_the_list_that_is_ours_stays_ours() {
    let long = (0..50).fold("a.org AAAA".to_owned(), |line, number| format!("{line} 2001:db8::{number:x}"));
    for short in [None, Some("a.org AAAA 2001:db8::")] {
        let store = Arc::new(MemoryDocuments::default());
        let mut zones = Zones::new(&[]);
        carry(&registry(&store, 20_000), &mut zones, vec![create(&long)]).await;
        let registry = registry(&store, SMALL);
        zones.put("z.org A 192.0.2.1");
        audit(&registry, &zones).await;
        assert!(is_ours(&registry, &zones, &long));
        assert_eq!(
            records(&store, "me-registry")[0]["targets"].as_array().unwrap().len(),
            50,
            "with all that it is known by"
        );
        carry(&registry, &mut zones, vec![short.map_or_else(|| delete(&long), |short| update(&long, short))]).await;
        assert_eq!(records(&store, "me-registry").len(), 1 + usize::from(short.is_some()));
    }
}
