//! What was done goes back with its rows: by rounds of an engine, and by commands that hand claims over.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use zonewright_core::change::Outcome;
use zonewright_core::claim::OwnerId;
use zonewright_core::registry::OwnershipChange;
use zonewright_core::zone::InstanceId;
use zonewright_engine::journal::{Cause, JournalWriter, Query, WriterId};
use zonewright_engine::layer::Layers;
use zonewright_engine::metrics::Metrics;
use zonewright_engine::ownership::{InstanceSnapshot, Proposal, Scope};
use zonewright_engine::{Config, Engine, Instance, UndoPlan, UndoReport, UndoRequest};
use zonewright_fakes::dynamodb::DynamoDb;

use crate::sim::World;
use crate::support::{loaded, service, shown};

/// A zone in memory, and a table.
struct Shop {
    world: World,
    table: DynamoDb,
}

impl Shop {
    fn new() -> Self {
        let world = World::new(&["example"]);
        world.sim.insert(&["foreign.example A 203.0.113.1"]);
        Self { world, table: service() }
    }

    async fn start(&self) -> Engine {
        self.world.start_with(Arc::new(loaded(&self.table, "me").await)).await
    }

    /// Waits until the zone holds exactly these records, and nothing is left to do.
    #[track_caller]
    fn holds(&self, engine: &Engine, expected: &[&str]) -> impl Future<Output = ()> {
        let mut all = expected.to_vec();
        all.push("foreign.example A 203.0.113.1");
        all.sort_unstable();
        async move {
            let there = async {
                while self.world.sim.records() != all {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            };
            let soon = tokio::time::timeout(Duration::from_secs(20), there).await;
            assert!(soon.is_ok(), "{:?}, expected {all:?}", self.world.sim.records());
            engine.settled().await;
        }
    }

    /// Records and rows, to the letter.
    fn whole(&self) -> Vec<String> {
        self.world.sim.all().into_iter().chain(shown(&self.table)).collect()
    }

    fn owned(&self, owner: &str) -> usize {
        shown(&self.table).iter().filter(|row| row.contains(&format!(" {owner} "))).count()
    }

    async fn order(&self, from: &str, cause: Cause, propose: impl Fn(&InstanceSnapshot) -> Proposal) -> String {
        let id = InstanceId::from("sim");
        let provider = Layers::new(id.clone()).around(self.world.sim.clone(), &Arc::new(Metrics::default()));
        let registry = Arc::new(loaded(&self.table, from).await);
        let instance = Instance::new(id, provider, registry);
        let Config { filter, managed, .. } = Config::default();
        let snapshot = InstanceSnapshot::read(instance, Scope { filter, managed, select: Vec::new() }).await.unwrap();
        let journal = JournalWriter::new(self.world.journal.clone(), self.world.clock, WriterId::from(7));
        let origin = journal.origin(cause);
        let effects = propose(&snapshot).actions;
        let outcomes = snapshot.carry_out(&effects, &journal, &origin).await;
        let applied = outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Applied)).count();
        assert_eq!((applied, applied == effects.len()), (2, true), "{outcomes:?}");
        origin.plan().to_owned()
    }
}

async fn undo(engine: &Engine, query: Query) -> (UndoPlan, UndoReport) {
    let plan = engine.plan_undo(&UndoRequest { query, pin_for: Duration::from_hours(1) }).await.unwrap();
    let report = engine.undo(&plan.hash).await.unwrap();
    (plan, report)
}

fn of(plan: String) -> Query {
    Query { plan: Some(plan), ..Query::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn records_and_rows_of_rounds_come_back() {
    let shop = Shop::new();
    shop.world.cluster.put("a", &["x.example A 192.0.2.1"]);
    shop.world.cluster.put("b", &["y.example A 192.0.2.1"]);
    let engine = shop.start().await;
    shop.holds(&engine, &["x.example A 192.0.2.1", "y.example A 192.0.2.1"]).await;
    let (before, since) = (shop.whole(), shop.world.clock.now().plus(Duration::from_millis(1)));
    assert_eq!(shop.owned("me"), 2, "{before:?}");
    while shop.world.clock.now() <= since {
        tokio::task::yield_now().await;
    }
    shop.world.cluster.put("a", &["x.example A 192.0.2.2"]);
    shop.world.cluster.delete("b");
    shop.world.cluster.put("c", &["z.example A 192.0.2.1"]);
    shop.holds(&engine, &["x.example A 192.0.2.2", "z.example A 192.0.2.1"]).await;
    let (_, report) = undo(&engine, Query { since: Some(since), ..Query::default() }).await;
    assert_eq!((report.restored.len(), report.failed), (3, vec![]));
    engine.settled().await;
    assert_eq!(shop.whole(), before);
    engine.stop().await;
}

/// Two records of ours, or of nobody.
async fn two(adoptable: bool) -> (Shop, Engine) {
    let shop = Shop::new();
    let lines = ["x.example A 192.0.2.1", "y.example A 192.0.2.2"];
    if adoptable {
        shop.world.sim.insert(&lines);
    }
    shop.world.cluster.put("a", &lines);
    let engine = shop.start().await;
    shop.holds(&engine, &lines).await;
    (shop, engine)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_adoption_ends_with_its_rows() {
    let (shop, engine) = two(true).await;
    let adoptable = async {
        while engine.adoptable().len() < 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), adoptable).await.expect("two records to adopt");
    let (before, wanted) = (shop.whole(), engine.adoptable());
    let plan = shop.order("me", Cause::Adopt, |snapshot| snapshot.adopt(&wanted, &BTreeSet::new())).await;
    assert_eq!(shop.owned("me"), 2);
    let (offer, report) = undo(&engine, of(plan)).await;
    assert_eq!(offer.zones[0].changes[0], "claim of x.example A: owner me -> nobody");
    assert_eq!((report.restored.len(), report.failed, shop.whole()), (2, vec![], before));
    engine.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_is_taken_back_with_its_resource() {
    let (shop, engine) = two(false).await;
    let before = shop.whole();
    let plan = shop.order("me", Cause::Release, |snapshot| snapshot.hand_over(&OwnershipChange::Disown)).await;
    assert_eq!(shop.owned("me"), 0);
    let (_, report) = undo(&engine, of(plan)).await;
    assert_eq!((report.restored.len(), report.failed), (2, vec![]));
    assert_eq!(shop.whole(), before);
    engine.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transfer_is_taken_back_while_the_row_is_still_the_new_owners() {
    let (shop, engine) = two(false).await;
    let before = shop.whole();
    let give = OwnershipChange::Give(OwnerId::new("other").unwrap());
    let plan = shop.order("me", Cause::Transfer, |snapshot| snapshot.hand_over(&give)).await;
    assert_eq!((shop.owned("me"), shop.owned("other")), (0, 2));
    // One of the two is given to a third owner.
    let mut row =
        shop.table.items(crate::support::TABLE).into_iter().find(|row| row["k"]["S"] == "y.example#A#").unwrap();
    row["o"]["S"] = "third".into();
    shop.table.put(crate::support::TABLE, row);
    let (offer, report) = undo(&engine, of(plan)).await;
    let skipped = &offer.zones[0].skipped;
    assert_eq!((report.restored.len(), report.failed.clone()), (1, vec![]), "{report:?} {skipped:?}");
    assert_eq!((shop.owned("me"), shop.owned("other"), shop.owned("third")), (1, 0, 1));
    let whole = shop.whole();
    assert!(before.iter().filter(|line| line.contains("x.example")).all(|line| whole.contains(line)), "{whole:?}");
    engine.stop().await;
}

/// What is adopted is looked up right before: no row comes to a record that somebody changed since it was read.
#[tokio::test]
async fn a_record_that_was_changed_meanwhile_is_not_adopted() {
    let mut shop = Shop::new();
    shop.world.config.adopt = true;
    shop.world.sim.insert(&["x.example A 192.0.2.1", "y.example A 192.0.2.2"]);
    let engine = shop.start().await;
    engine.settled().await;
    shop.world.sim.insert(&["x.example A 192.0.2.9"]);
    shop.world.cluster.put("x", &["x.example A 192.0.2.1"]);
    shop.world.cluster.put("y", &["y.example A 192.0.2.2"]);
    let there = async {
        while shop.owned("me") == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(tokio::time::timeout(Duration::from_secs(20), there).await.is_ok(), "y is adopted");
    engine.settled().await;
    shop.holds(&engine, &["x.example A 192.0.2.9", "y.example A 192.0.2.2"]).await;
    assert!(shown(&shop.table).iter().all(|row| row.starts_with("y.example")), "{:?}", shown(&shop.table));
    engine.stop().await;
}
