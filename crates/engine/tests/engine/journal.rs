//! The journal: what is written down before and after a call, what a crash leaves behind, and what happens where it cannot
//! be written.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use zonewright_core::store::{JournalStore, Visitor};
use zonewright_core::{Error, ErrorKind, Result};
use zonewright_engine::Engine;
use zonewright_engine::journal::{JournalRecord, Journaling, MemoryJournal, Mode, Query};

use crate::sim::{Fault, Log, World, after, name, rest};

/// Every entry as `changes: outcome`, the newest first.
pub(crate) async fn history(engine: &Engine) -> Vec<String> {
    let (entries, _) = engine.history(&Query::default(), 1_000).await.unwrap();
    entries.iter().map(shown).collect()
}

fn shown(record: &JournalRecord) -> String {
    let records = record.entry.steps.iter().filter(|step| !step.claim);
    let changes: Vec<String> = records.filter_map(|step| Some(step.change()?.to_string())).collect();
    let outcome = record.closing.as_ref().map_or("open".to_owned(), |closing| {
        format!("{}{}", closing.verdict.as_str(), if closing.found { " (found)" } else { "" })
    });
    format!("{}: {outcome}", changes.join(", "))
}

/// A journal that fails while a test asks for it, and counts.
#[derive(Default)]
struct Moody {
    inner: MemoryJournal,
    fails: AtomicBool,
    waits: bool,
    appends: AtomicUsize,
}

#[async_trait]
impl JournalStore for Moody {
    async fn append(&self, lines: &[String]) -> Result<()> {
        if self.fails.load(Ordering::SeqCst) {
            return Err(Error::new(ErrorKind::Unavailable, "write the journal", "no space left on device"));
        }
        self.appends.fetch_add(1, Ordering::SeqCst);
        self.inner.append(lines).await
    }

    async fn read(&self, visit: &mut Visitor<'_>) -> Result<()> {
        self.inner.read(visit).await
    }

    fn outcomes_wait(&self) -> bool {
        self.waits
    }

    fn place(&self) -> String {
        "a moody place".to_owned()
    }
}

fn with(mode: Mode, moody: Moody) -> (World, Arc<Moody>) {
    let mut world = World::new(&["example"]);
    let store = Arc::new(moody);
    world.journal = Journaling { store: store.clone(), mode };
    (world, store)
}

#[tokio::test(start_paused = true)]
async fn every_change_is_there_with_what_stood_before_and_what_became_of_it() {
    let world = World::new(&["example"]);
    world.sim.refuse(&["bad.example"]);
    world.cluster.put("a", &["x.example A 192.0.2.1"]);
    world.cluster.put("b", &["bad.example A 192.0.2.1"]);
    let engine = world.start().await;
    rest(&engine).await;
    world.cluster.put("a", &["x.example A 192.0.2.2"]);
    rest(&engine).await;
    world.cluster.delete("a");
    rest(&engine).await;
    let recorded = history(&engine).await;
    assert_eq!(
        recorded,
        [
            "- x.example 0 A 192.0.2.2: applied",
            "~ x.example A 192.0.2.2 (was 192.0.2.1): applied",
            "+ x.example A 192.0.2.1: applied",
            "+ bad.example A 192.0.2.1: refused",
        ]
    );
    let of = |text: &str| Query { name: Some(name(text)), ..Query::default() };
    let (entries, reach) = engine.history(&of("a-x.example"), 2).await.unwrap();
    assert_eq!(entries.len(), 2, "by the name of its claim, and not more than asked for");
    assert_eq!(reach.oldest.map(|at| at.0 / 1_000), Some(1_000_000));
    let last = &entries[0].entry;
    assert_eq!((last.zone.as_str(), last.apex.as_str(), last.plan.len()), ("sim/example", "example", 12));
    assert!(last.steps.iter().any(|step| step.claim), "with its claim");
    assert_eq!(&*entries[1].entry.objects[0].name, "a");
    assert!(entries.windows(2).all(|pair| pair[0].entry.id > pair[1].entry.id));
}

#[tokio::test(start_paused = true)]
async fn ids_grow_over_restarts_also_if_the_clock_does_not() {
    let world = World::new(&["example"]);
    let mut ids = Vec::new();
    for number in 1..=3 {
        // Each engine's clock begins at the same moment.
        world.cluster.put("a", &[&format!("x.example A 192.0.2.{number}")]);
        let engine = world.start().await;
        rest(&engine).await;
        ids.push(engine.history(&Query::default(), 1).await.unwrap().0[0].entry.id);
        engine.stop().await;
    }
    assert!(ids[0] < ids[1] && ids[1] < ids[2], "{ids:?}");
}

/// A process of its own: its runtime is dropped in the middle, as a crash would.
fn crash(world: &World) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let engine = world.start().await;
        rest_until_written(world).await;
        drop(engine);
    });
}

async fn rest_until_written(world: &World) {
    while world.sim.calls().1 == 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[test]
fn what_a_crash_left_open_is_settled_by_a_reading() {
    let world = World::new(&["example"]);
    world.cluster.put("a", &["x.example A 192.0.2.1", "y.example A 192.0.2.1", "z.example A 192.0.2.1"]);
    world.sim.fault("example", Fault::Stall);
    world.sim.unstall_reads();
    crash(&world);
    let claim = "TXT \"heritage=external-dns,external-dns/owner=me,external-dns/resource=service/ns/a\"";
    // The call was carried out for the first name, not for the second, and the third was another writer's meanwhile.
    world.sim.insert(&["x.example A 192.0.2.1", &format!("a-x.example {claim}"), "z.example A 203.0.113.1"]);
    world.sim.fault("example", None);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let engine = world.start().await;
        rest(&engine).await;
        let mut recorded = history(&engine).await;
        recorded.sort();
        assert_eq!(
            recorded,
            [
                "+ x.example A 192.0.2.1: applied (found)",
                "+ y.example A 192.0.2.1: applied",
                "+ y.example A 192.0.2.1: not applied (found)",
                "+ z.example A 192.0.2.1: something else stands (found)",
            ]
        );
        assert!(engine.contested().is_empty());
        engine.stop().await;
        let settled = history(&world.start().await).await.len();
        assert_eq!(settled, 4, "and once");
    });
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_is_settled_by_the_reading_that_follows() {
    let world = World::new(&["example"]);
    let engine = world.start().await;
    rest(&engine).await;
    for (fault, number, expected) in
        [(Fault::LostAnswer, 1, "applied (found)"), (Fault::LostWrite, 2, "not applied (found)")]
    {
        world.sim.fault("example", fault);
        world.cluster.put("a", &[&format!("x{number}.example A 192.0.2.1")]);
        rest(&engine).await;
        let open = history(&engine).await;
        assert!(open[0].ends_with(": unknown"), "{open:?}");
        world.sim.fault("example", None);
        after(&engine, Duration::from_mins(2)).await;
        let line = format!("+ x{number}.example A 192.0.2.1: {expected}");
        assert!(history(&engine).await.contains(&line), "{:?}", history(&engine).await);
    }
}

#[tokio::test(start_paused = true)]
async fn best_effort_goes_on_and_says_so_once() {
    let (world, moody) = with(Mode::BestEffort, Moody::default());
    let engine = world.start().await;
    let log = Log::listen();
    let said = || {
        (
            log.warnings("the journal cannot be written").len(),
            log.lines(tracing::Level::INFO, "can be written again").len(),
        )
    };
    moody.fails.store(true, Ordering::SeqCst);
    for number in 1..=3 {
        world.cluster.put("a", &[&format!("x.example A 192.0.2.{number}")]);
        rest(&engine).await;
    }
    assert_eq!(world.sim.records(), ["x.example A 192.0.2.3"]);
    assert!(engine.health().is_ready());
    let recorded = world.reports.0.lock().unwrap().iter().filter(|note| note.reason == "JournalFailed").count();
    assert_eq!((recorded, said()), (1, (1, 0)));
    assert!(engine.metrics().text().contains("zonewright_journal_errors_total 3"));
    moody.fails.store(false, Ordering::SeqCst);
    world.cluster.put("a", &["x.example A 192.0.2.4"]);
    rest(&engine).await;
    assert_eq!(history(&engine).await, ["~ x.example A 192.0.2.4 (was 192.0.2.3): applied"]);
    assert_eq!(said(), (1, 1), "once when it begins, and once when it is over");
}

#[tokio::test(start_paused = true)]
async fn required_sends_nothing_that_is_not_written_down() {
    let (world, moody) = with(Mode::Required, Moody::default());
    world.cluster.put("a", &["x.example A 192.0.2.1"]);
    let engine = world.start().await;
    rest(&engine).await;
    let writes = world.sim.calls().1;
    moody.fails.store(true, Ordering::SeqCst);
    world.cluster.put("a", &["x.example A 192.0.2.2"]);
    let outcome = rest(&engine).await;
    assert!(outcome.failures()[0].contains("nothing is sent while the journal cannot be written"), "{outcome:?}");
    after(&engine, Duration::from_mins(10)).await;
    assert_eq!((world.sim.calls().1, world.sim.records()), (writes, vec!["x.example A 192.0.2.1".to_owned()]));
    assert!(!engine.health().is_ready(), "the zone waits, and says so");
    assert!(world.reports.has("zonewright-pod", "JournalFailed"));
    moody.fails.store(false, Ordering::SeqCst);
    after(&engine, Duration::from_mins(2)).await;
    assert_eq!(world.sim.records(), ["x.example A 192.0.2.2"]);
    assert!(engine.health().is_ready());
}

#[tokio::test(start_paused = true)]
async fn an_outcome_that_could_not_be_written_is_written_with_the_next_entry() {
    let (world, moody) = with(Mode::Required, Moody::default());
    world.sim.fault("example", Fault::LostAnswer);
    world.cluster.put("a", &["x.example A 192.0.2.1"]);
    let engine = world.start().await;
    rest(&engine).await;
    // The entry is there; what a reading finds out cannot be written now.
    moody.fails.store(true, Ordering::SeqCst);
    world.sim.fault("example", None);
    after(&engine, Duration::from_mins(2)).await;
    assert_eq!(history(&engine).await, ["+ x.example A 192.0.2.1: unknown"]);
    moody.fails.store(false, Ordering::SeqCst);
    world.cluster.put("a", &["x.example A 192.0.2.2"]);
    after(&engine, Duration::from_mins(2)).await;
    assert_eq!(
        history(&engine).await,
        ["~ x.example A 192.0.2.2 (was 192.0.2.1): applied", "+ x.example A 192.0.2.1: applied (found)"]
    );
}

#[tokio::test(start_paused = true)]
async fn nothing_is_written_without_a_journal_or_in_a_dry_run() {
    for dry_run in [false, true] {
        let (mut world, moody) = with(if dry_run { Mode::Required } else { Mode::Off }, Moody::default());
        world.config.dry_run = dry_run;
        moody.fails.store(true, Ordering::SeqCst);
        world.cluster.put("a", &["x.example A 192.0.2.1"]);
        let engine = world.start().await;
        rest(&engine).await;
        assert_eq!(world.sim.records().len(), usize::from(!dry_run));
        assert!(history(&engine).await.is_empty() && !world.reports.has("zonewright-pod", "JournalFailed"));
        engine.stop().await;
    }
}

/// Where each append is a call to an API server, a piece costs one.
#[tokio::test(start_paused = true)]
async fn one_append_for_a_piece_and_outcomes_with_the_next() {
    for (waits, appends) in [(true, 2), (false, 4)] {
        let (world, moody) = with(Mode::BestEffort, Moody { waits, ..Moody::default() });
        let lines: Vec<String> = (0..20).map(|number| format!("x{number}.example A 192.0.2.1")).collect();
        world.cluster.put("a", &lines.iter().map(String::as_str).collect::<Vec<_>>());
        let engine = world.start().await;
        rest(&engine).await;
        world.cluster.put("b", &["y.example A 192.0.2.1"]);
        rest(&engine).await;
        assert_eq!(moody.appends.load(Ordering::SeqCst), appends, "two pieces");
        after(&engine, Duration::from_secs(5)).await;
        assert_eq!(moody.appends.load(Ordering::SeqCst), appends + usize::from(waits), "what waits is written soon");
        assert!(history(&engine).await.iter().all(|line| line.ends_with(": applied")));
    }
}
