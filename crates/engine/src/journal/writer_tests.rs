use std::collections::HashSet;
use std::sync::Arc;

use super::super::{ClaimTerms, EntryStep, MemoryJournal};
use super::*;
use zonewright_core::store::JournalStore as _;
use zonewright_core::testing::{name, set};
use zonewright_core::zone::InstanceId;

const NOW: i64 = 1_700_000_000_000;

fn writer(store: &Arc<MemoryJournal>, identity: WriterId) -> JournalWriter {
    let journaling = Journaling { store: store.clone(), mode: Mode::BestEffort };
    JournalWriter::new(journaling, Clock::starting_at(Timestamp(NOW)), identity)
}

#[test]
fn keys_differ_between_writers_though_their_clocks_say_the_same() {
    let store = Arc::default();
    let writers: Vec<JournalWriter> = (0..100).map(|_| writer(&store, WriterId::random())).collect();
    let mut plans = HashSet::new();
    for writer in &writers {
        let ids: Vec<u64> = (0..100).map(|_| writer.id()).collect();
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(ids.iter().all(|id| *id < 1 << 53), "every reader of JSON can hold them");
        plans.insert((writer.identity, writer.origin(Cause::Adopt).plan().to_owned()));
    }
    assert_eq!(plans.len(), writers.len());
    assert_eq!(plans.iter().map(|(identity, _)| identity).collect::<HashSet<_>>().len(), writers.len());
}

#[tokio::test]
async fn ids_go_on_after_what_others_wrote() {
    let store = Arc::<MemoryJournal>::default();
    let later = (u64::try_from(NOW).unwrap() + 60_000) * IDS_OF_A_MILLISECOND;
    // Without a writer, as before there were identities.
    let line = format!("{{\"v\":1,\"kind\":\"outcome\",\"id\":{later},\"at\":{NOW},\"verdict\":\"applied\"}}");
    store.append(&[line]).await.unwrap();
    let writer = writer(&store, WriterId::from(7));
    writer.load().await;
    assert_eq!(writer.id(), later + 1);
}

/// What an undo finds open while names are read may be about others.
#[tokio::test]
async fn an_open_entry_is_settled_only_by_a_reading_of_all_its_names() {
    let store = Arc::<MemoryJournal>::default();
    let writer = writer(&store, WriterId::from(7));
    let zone = Zone::new(&InstanceId::from("sim"), "example", name("example"));
    let entry = |id: u64, lines: &[&str]| Entry {
        id,
        writer: Some(WriterId::from(8)),
        at: Timestamp(NOW),
        zone: zone.key.to_string(),
        apex: zone.name.clone(),
        name: set(lines[0]).key.name,
        plan: "p".to_owned(),
        cause: Cause::Adopt,
        steps: lines.iter().map(|line| step(line)).collect(),
        handed: Vec::new(),
        objects: Vec::new(),
    };
    let (a, b) = ("a.example A 192.0.2.1", "b.example A 192.0.2.1");
    // A name outside of the zone is none that its reading could show.
    writer.take_in(&[entry(1, &[a, "x.test A 192.0.2.1"]), entry(2, &[b]), entry(3, &[a, b])]);
    let settle = async |read: &[&str]| {
        let stands = |key: &RecordKey| Some(set(a)).filter(|set| set.key == *key);
        writer.settle(&zone, |name| read.contains(&name.as_str()), stands, |_| None).await
    };
    let open = || writer.open_names(&zone).iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!((settle(&[]).await, open()), (0, vec!["a.example".to_owned(), "b.example".to_owned()]));
    assert_eq!((settle(&["a.example"]).await, open().len()), (1, 2), "one of them");
    assert_eq!((settle(&["b.example"]).await, open().len()), (1, 2), "not what is about both");
    assert_eq!((settle(&["a.example", "b.example"]).await, open().len()), (1, 0));
}

fn step(line: &str) -> EntryStep {
    let (had, has) = (ClaimTerms::default(), ClaimTerms::default());
    EntryStep { claim: false, from: None, to: Some(set(line)), had, has }
}
