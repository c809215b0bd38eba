//! Commands that change claims and the journal: what one leaves open, and what is not sent without it.

use std::sync::Arc;
use std::time::Duration;

use zonewright_core::change::Outcome;
use zonewright_core::registry::OwnershipChange;
use zonewright_engine::UndoRequest;
use zonewright_engine::journal::{Cause, JournalWriter, Journaling, Mode, Query, WriterId};

use crate::ownership::{DAY, KEPT, Kept, MINUTE, Shop, entries, two, undo};
use crate::sim::{Fault, after};

/// The command dies between its call and the answer: the entry stays open until the daemon, asked for the history, reads.
#[tokio::test(start_paused = true)]
async fn an_entry_that_a_command_left_open_is_settled_by_the_next_reading() {
    for (fault, expected) in [(Fault::Stall, "not applied"), (Fault::LostAnswer, "applied")] {
        let (shop, engine, _) = two(Kept::Zone).await;
        let (snapshot, (journal, origin)) = (shop.snapshot("me").await, shop.journal(Cause::Release));
        let proposal = snapshot.hand_over(&OwnershipChange::Disown);
        shop.world.sim.fault("example", fault);
        let cut =
            tokio::time::timeout(Duration::from_secs(1), snapshot.carry_out(&proposal.actions, &journal, &origin))
                .await;
        assert_eq!(cut.is_err(), fault == Fault::Stall);
        shop.world.sim.fault("example", None);
        let open = if fault == Fault::Stall { "open" } else { "unknown" };
        let line =
            |host: &str, outcome: &str| format!("release claim of {host}.example A: owner me -> nobody: {outcome}");
        assert_eq!(entries(&engine).await, [line("y", open), line("x", open)], "{fault:?}");
        let (offer, _) = undo(&engine, origin.plan()).await;
        assert!(offer.is_empty() && offer.zones[0].skipped[0].1.contains("not known yet"), "{fault:?}: {offer:?}");
        after(&engine, MINUTE).await;
        assert_eq!(entries(&engine).await, [line("y", open), line("x", open)], "a command may take its time");
        after(&engine, MINUTE).await;
        assert_eq!(entries(&engine).await, [line("y", expected), line("x", expected)], "{fault:?}");
        let restored = undo(&engine, origin.plan()).await.1.restored.len();
        assert_eq!((restored, shop.owned("me")), (if expected == "applied" { 2 } else { 0 }, 2), "{fault:?}");
        engine.stop().await;
    }
}

/// Without a daemon, the next command settles what an earlier one left.
#[tokio::test(start_paused = true)]
async fn the_next_command_settles_what_an_earlier_one_left_open() {
    for kept in KEPT {
        let (shop, engine, _) = two(kept).await;
        engine.stop().await;
        let (snapshot, (journal, origin)) = (shop.snapshot("me").await, shop.journal(Cause::Release));
        let proposal = snapshot.hand_over(&OwnershipChange::Disown);
        shop.world.sim.fault("example", Fault::LostWrite);
        if kept == Kept::Objects {
            // Nothing is sent to the zone: it is the objects that fail.
            shop.store.fail([zonewright_core::testing::documents::Fault::CrashBefore]);
        }
        let outcomes = snapshot.carry_out(&proposal.actions, &journal, &origin).await;
        assert!(outcomes.iter().all(|outcome| matches!(outcome, Outcome::Unknown(_))), "{kept:?}: {outcomes:?}");
        shop.world.sim.fault("example", None);
        shop.store.revive();
        tokio::time::sleep(MINUTE * 2).await;
        let second = shop.transfer("me", "other").await;
        let engine = shop.start().await;
        let now = entries(&engine).await;
        assert!(now[..2].iter().all(|line| line.starts_with("transfer") && line.ends_with(": applied")), "{now:?}");
        assert!(now[2..].iter().all(|line| line.starts_with("release") && line.ends_with(": not applied")), "{now:?}");
        assert_eq!((now.len(), undo(&engine, &second).await.1.restored.len()), (4, 2), "{kept:?}");
        engine.stop().await;
    }
}

/// A person thinks about what a command shows; meanwhile another one is carried out, and its answers are lost.
#[tokio::test(start_paused = true)]
async fn what_another_command_left_open_since_the_reading_is_not_settled_by_it() {
    let (shop, engine, _) = two(Kept::Zone).await;
    engine.stop().await;
    let first = shop.snapshot("me").await;
    let shown = first.drain();
    let (snapshot, (journal, origin)) = (shop.snapshot("me").await, shop.journal(Cause::Release));
    shop.world.sim.fault("example", Fault::LostAnswer);
    snapshot.carry_out(&snapshot.hand_over(&OwnershipChange::Disown).actions, &journal, &origin).await;
    shop.world.sim.fault("example", None);
    tokio::time::sleep(MINUTE * 2).await;
    let (journal, origin) = shop.journal(Cause::Drain);
    let outcomes = first.carry_out(&shown.actions, &journal, &origin).await;
    assert!(outcomes.iter().all(|outcome| !matches!(outcome, Outcome::Applied)), "they are nobody's now: {outcomes:?}");
    let engine = shop.start().await;
    let now = entries(&engine).await;
    let released: Vec<&String> = now.iter().filter(|line| line.starts_with("release")).collect();
    assert!(released.len() == 2 && released.iter().all(|line| line.ends_with(": applied")), "{now:?}");
    engine.stop().await;
}

/// Two owners claim records in their objects: that one of them gives its claims up is written down.
#[tokio::test(start_paused = true)]
async fn what_is_given_up_in_a_dispute_is_written_down() {
    let (shop, engine, _) = two(Kept::Objects).await;
    engine.stop().await;
    for name in shop.store.names() {
        let mut document = shop.store.document(&name).unwrap();
        assert!(name.contains("me") && document.text.contains("\"owner\":\"me\""), "{name}: {}", document.text);
        document.text = document.text.replace("\"owner\":\"me\"", "\"owner\":\"other\"");
        document.notes.values_mut().filter(|note| *note == "me").for_each(|note| *note = "other".to_owned());
        shop.store.edit(&name.replace("me", "other"), Some(document));
    }
    assert!(shop.snapshot("me").await.drain().actions.is_empty(), "it is a dispute: {:?}", shop.whole());
    shop.release().await;
    let engine = shop.start().await;
    let line = |host: &str| format!("release claim of {host}.example A: owner me -> nobody: applied");
    assert_eq!(entries(&engine).await[..2], [line("y"), line("x")]);
    engine.stop().await;
}

/// A journal that nothing can be written to.
struct Full;

#[async_trait::async_trait]
impl zonewright_core::store::JournalStore for Full {
    async fn append(&self, _: &[String]) -> zonewright_core::Result<()> {
        let kind = zonewright_core::ErrorKind::Unavailable;
        Err(zonewright_core::Error::new(kind, "write the journal", "no space left on device"))
    }

    async fn read(&self, _: &mut zonewright_core::store::Visitor<'_>) -> zonewright_core::Result<()> {
        Ok(())
    }

    fn outcomes_wait(&self) -> bool {
        false
    }

    fn place(&self) -> String {
        "a full place".to_owned()
    }
}

#[tokio::test(start_paused = true)]
async fn a_command_sends_nothing_that_a_required_journal_does_not_hold() {
    for kept in KEPT {
        for mode in [Mode::Required, Mode::BestEffort, Mode::Off] {
            let (shop, engine, before) = two(kept).await;
            engine.stop().await;
            let journal = Journaling { store: Arc::new(Full), mode };
            let journal = JournalWriter::new(journal, shop.world.clock, WriterId::random());
            let origin = journal.origin(Cause::Release);
            let snapshot = shop.snapshot("me").await;
            let outcomes =
                snapshot.carry_out(&snapshot.hand_over(&OwnershipChange::Disown).actions, &journal, &origin).await;
            if mode == Mode::Required {
                let texts: Vec<String> = outcomes.iter().filter_map(|o| Some(o.error()?.chain())).collect();
                assert!(texts.len() == 2 && texts[0].contains("no space left on device"), "{texts:?}");
                assert_eq!(shop.whole(), before, "{kept:?}: nothing was done");
            } else {
                assert!(outcomes.iter().all(|outcome| matches!(outcome, Outcome::Applied)), "{kept:?} {mode:?}");
                assert_eq!(shop.owned("me"), 0, "{kept:?} {mode:?}");
            }
        }
    }
}

/// Creates, updates and deletes of rounds come back under claims that are kept outside the zone, with resources.
#[tokio::test(start_paused = true)]
async fn rounds_are_undone_with_claims_outside_the_zone() {
    let shop = Shop::new(Kept::Objects);
    shop.world.cluster.put("a", &["x.example A 192.0.2.1"]);
    shop.world.cluster.put("b", &["y.example A 192.0.2.1"]);
    let engine = shop.start().await;
    after(&engine, MINUTE * 5).await;
    let (then, before) = (shop.world.clock.now(), shop.whole());
    after(&engine, MINUTE).await;
    shop.world.cluster.put("a", &["x.example A 192.0.2.2"]);
    shop.world.cluster.delete("b");
    shop.world.cluster.put("c", &["z.example A 192.0.2.1"]);
    after(&engine, MINUTE * 5).await;
    assert_eq!((shop.world.sim.records().len(), shop.owned("me")), (3, 2));
    let request = UndoRequest { query: Query { since: Some(then), ..Query::default() }, pin_for: DAY };
    let plan = engine.plan_undo(&request).await.unwrap();
    let report = engine.undo(&plan.hash).await.unwrap();
    assert_eq!((report.restored.len(), report.failed), (3, vec![]));
    after(&engine, MINUTE * 5).await;
    assert_eq!(shop.whole(), before, "records and claims, to the letter");
    assert!(shop.world.sim.all().iter().all(|line| !line.contains("TXT")), "no claim stands in the zone");
    // Without the hold the objects have it their way again.
    engine.unpin(None);
    after(&engine, MINUTE * 5).await;
    assert_eq!(shop.owned("me"), 2);
    engine.stop().await;
}
