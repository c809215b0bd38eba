use std::collections::HashSet;
use std::sync::Arc;

use super::super::MemoryJournal;
use super::*;
use zonewright_core::store::JournalStore as _;

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
