//! Lists that are too long for one object.

use std::collections::BTreeSet;
use std::sync::Arc;

use zonewright_core::documents::Document;
use zonewright_core::registry::{ClaimStore as _, Registry};
use zonewright_core::testing::documents::{Fault, MemoryDocuments};

use crate::support::{Zones, audit, carry, create, is_ours, prepare, records, refusal, registry, update};

/// Some fifteen records.
const SMALL: usize = 2_000;

fn names(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("name-{number}.org A 192.0.2.1")).collect()
}

/// The names that the objects list, and how often each.
fn listed(store: &MemoryDocuments) -> Vec<String> {
    let records = store.names().into_iter().flat_map(|name| records(store, &name));
    let mut all: Vec<String> = records.map(|record| record["dnsname"].as_str().unwrap().to_owned()).collect();
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
