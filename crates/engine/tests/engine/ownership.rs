//! Claims that change hands by command beside a running engine, and the way back: with claims in the zone, and in objects
//! outside of it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use zonewright_core::RecordType;
use zonewright_core::change::Outcome;
use zonewright_core::filter::DomainFilter;
use zonewright_core::registry::{OwnershipChange, Registry};
use zonewright_core::testing::documents::MemoryDocuments;
use zonewright_core::zone::InstanceId;
use zonewright_engine::journal::{Cause, EntryOrigin, JournalWriter, Query, WriterId};
use zonewright_engine::layer::Layers;
use zonewright_engine::metrics::Metrics;
use zonewright_engine::ownership::{InstanceSnapshot, Proposal, Scope};
use zonewright_engine::{Engine, Instance, UndoPlan, UndoReport, UndoRequest};
use zonewright_registry::configmap::{ConfigMapConfig, ConfigMapRegistry};
use zonewright_registry::txt::{TxtConfig, TxtRegistry};

use crate::sim::{World, after, name, rest, set};

pub(crate) const MINUTE: Duration = Duration::from_mins(1);
pub(crate) const DAY: Duration = Duration::from_hours(24);

/// Where claims are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kept {
    Zone,
    Objects,
}

pub(crate) const KEPT: [Kept; 2] = [Kept::Zone, Kept::Objects];

pub(crate) struct Shop {
    pub(crate) world: World,
    pub(crate) store: Arc<MemoryDocuments>,
    pub(crate) kept: Kept,
}

impl Shop {
    pub(crate) fn new(kept: Kept) -> Self {
        let world = World::new(&["example"]);
        world.sim.insert(&["foreign.example A 203.0.113.1"]);
        Self { world, store: Arc::default(), kept }
    }

    pub(crate) fn registry(&self, owner: &str) -> Arc<dyn Registry> {
        match self.kept {
            Kept::Zone => Arc::new(TxtRegistry::new(TxtConfig::new(owner).unwrap()).unwrap()),
            Kept::Objects => Arc::new(ConfigMapRegistry::new(ConfigMapConfig::new(owner, self.store.clone()).unwrap())),
        }
    }

    pub(crate) async fn start(&self) -> Engine {
        let engine = self.world.start_with(self.registry("me")).await;
        rest(&engine).await;
        engine
    }

    /// The zones as a command of an owner reads them.
    pub(crate) async fn snapshot(&self, owner: &str) -> InstanceSnapshot {
        self.estate_with(owner, zonewright_engine::Config::default().managed).await
    }

    pub(crate) async fn estate_with(&self, owner: &str, managed: BTreeSet<RecordType>) -> InstanceSnapshot {
        self.estate_of(owner, managed, DomainFilter::default()).await
    }

    /// The same for an instance with a filter of its own.
    pub(crate) async fn estate_of(
        &self,
        owner: &str,
        managed: BTreeSet<RecordType>,
        filter: DomainFilter,
    ) -> InstanceSnapshot {
        let bare = self.world.sim.clone();
        let provider = Layers::new(InstanceId::from("sim")).around(bare, &Arc::new(Metrics::default()));
        let (id, registry) = (InstanceId::from("sim"), self.registry(owner));
        let instance = Instance { filter, ..Instance::new(id, provider, registry) };
        let config = zonewright_engine::Config::default();
        let scope = Scope { filter: config.filter, managed, select: Vec::new() };
        InstanceSnapshot::read(instance, scope).await.unwrap()
    }

    pub(crate) fn journal(&self, cause: Cause) -> (JournalWriter, EntryOrigin) {
        let journal = JournalWriter::new(self.world.journal.clone(), self.world.clock, WriterId::random());
        let origin = journal.origin(cause);
        (journal, origin)
    }

    /// A command of an owner from its reading to its end. Returns the plan's hash.
    pub(crate) async fn order(
        &self,
        owner: &str,
        cause: Cause,
        propose: impl Fn(&InstanceSnapshot) -> Proposal,
    ) -> String {
        let (snapshot, (journal, origin)) = (self.snapshot(owner).await, self.journal(cause));
        let proposal = propose(&snapshot);
        assert!(!proposal.actions.is_empty(), "{cause:?}: nothing to do, {:?}", proposal.left);
        let outcomes = snapshot.carry_out(&proposal.actions, &journal, &origin).await;
        assert!(outcomes.iter().all(|outcome| matches!(outcome, Outcome::Applied)), "{cause:?}: {outcomes:?}");
        origin.plan().to_owned()
    }

    pub(crate) async fn adopt(&self, engine: &Engine) -> String {
        let wanted = engine.adoptable();
        self.order("me", Cause::Adopt, |snapshot| snapshot.adopt(&wanted, &BTreeSet::new())).await
    }

    pub(crate) async fn release(&self) -> String {
        self.order("me", Cause::Release, |snapshot| snapshot.hand_over(&OwnershipChange::Disown)).await
    }

    pub(crate) async fn transfer(&self, from: &str, to: &str) -> String {
        let give = OwnershipChange::Give(zonewright_core::claim::OwnerId::new(to).unwrap());
        self.order(from, Cause::Transfer, |snapshot| snapshot.hand_over(&give)).await
    }

    pub(crate) async fn drain(&self) -> String {
        self.order("me", Cause::Drain, InstanceSnapshot::drain).await
    }

    /// The zone to the letter, and whose the records are by the objects.
    pub(crate) fn whole(&self) -> Vec<String> {
        let mut all = self.world.sim.all();
        let texts = self.store.names().into_iter().filter_map(|name| Some((self.store.document(&name)?.text, name)));
        for (text, name) in texts {
            let entries: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
            let owned = entries.iter().filter(|entry| entry["owner"].as_str().is_some_and(|owner| !owner.is_empty()));
            all.extend(owned.map(|entry| {
                format!(
                    "{name}: {} {} for {} is {}",
                    entry["dnsname"], entry["target"], entry["resource"], entry["owner"]
                )
            }));
        }
        all.sort();
        all
    }

    /// How many records have a claim of this owner. Objects may note the owners of others' records too.
    pub(crate) fn owned(&self, owner: &str) -> usize {
        let (text, entry) = (format!("owner={owner},"), format!(" is \"{owner}\""));
        let all = self.whole();
        let claims = all.iter().filter(|line| line.contains(&text) || line.ends_with(&entry));
        claims.filter_map(|line| line.split(' ').find(|word| word.contains("example"))).collect::<BTreeSet<_>>().len()
    }
}

pub(crate) async fn undo(engine: &Engine, plan: &str) -> (UndoPlan, UndoReport) {
    let query = Query { plan: Some(plan.to_owned()), ..Query::default() };
    let plan = engine.plan_undo(&UndoRequest { query, pin_for: DAY }).await.unwrap();
    let report = if plan.is_empty() { UndoReport::default() } else { engine.undo(&plan.hash).await.unwrap() };
    after(engine, MINUTE * 3).await;
    (plan, report)
}

fn changes(plan: &UndoPlan) -> Vec<String> {
    plan.zones.iter().flat_map(|zone| zone.changes.clone()).collect()
}

/// The newest entries as people read them: claims that change hands, and what became of them.
pub(crate) async fn entries(engine: &Engine) -> Vec<String> {
    let (entries, _) = engine.history(&Query::default(), 100).await.unwrap();
    let line = |record: &zonewright_engine::journal::JournalRecord| {
        let handed: Vec<String> = record.entry.handed.iter().map(ToString::to_string).collect();
        let outcome = record.closing.as_ref().map_or("open", |closing| closing.verdict.as_str());
        (!handed.is_empty()).then(|| format!("{} {}: {outcome}", record.entry.cause.as_str(), handed.join(", ")))
    };
    entries.iter().filter_map(line).collect()
}

/// A record that nobody claims, and an object that wants exactly it.
async fn unclaimed(kept: Kept, adopt: bool) -> (Shop, Engine) {
    let mut shop = Shop::new(kept);
    shop.world.config.adopt = adopt;
    shop.world.sim.insert(&["x.example A 192.0.2.1"]);
    shop.world.cluster.put("a", &["x.example A 192.0.2.1"]);
    let engine = shop.start().await;
    after(&engine, MINUTE * 3).await;
    (shop, engine)
}

#[tokio::test(start_paused = true)]
async fn an_adoption_is_undone_by_giving_the_claim_up() {
    for kept in KEPT {
        let (shop, engine) = unclaimed(kept, false).await;
        let before = shop.whole();
        let plan = shop.adopt(&engine).await;
        after(&engine, MINUTE * 3).await;
        assert_eq!(shop.owned("me"), 1, "{kept:?}");
        assert_eq!(entries(&engine).await, ["adopt claim of x.example A: owner nobody -> me: applied"], "{kept:?}");
        let (offer, report) = undo(&engine, &plan).await;
        assert_eq!(changes(&offer), ["claim of x.example A: owner me -> nobody"], "{kept:?}");
        assert_eq!((report.restored, report.failed), (vec![name("x.example")], vec![]), "{kept:?}");
        assert_eq!(shop.whole(), before, "{kept:?}: to the letter");
        assert_eq!(entries(&engine).await[0], "undo claim of x.example A: owner me -> nobody: applied", "{kept:?}");
        assert_eq!(engine.pins()[0].1.names.keys().collect::<Vec<_>>(), [&name("x.example")]);
        // The undo itself can be undone.
        let (_, report) = undo(&engine, &offer.hash).await;
        assert_eq!((report.restored.len(), shop.owned("me")), (1, 1), "{kept:?}: {report:?}");
        engine.stop().await;
    }
}

/// What the daemon adopts by itself is in the journal like what a command adopts, and the hold keeps it from doing it again.
#[tokio::test(start_paused = true)]
async fn a_hold_stops_the_daemon_from_adopting_again() {
    for kept in KEPT {
        let (shop, engine) = unclaimed(kept, true).await;
        assert_eq!(entries(&engine).await, ["round claim of x.example A: owner nobody -> me: applied"], "{kept:?}");
        let entry = engine.history(&Query::default(), 1).await.unwrap().0.remove(0).entry;
        let (_, report) = undo(&engine, &entry.plan).await;
        assert_eq!((report.restored.len(), shop.owned("me")), (1, 0), "{kept:?}: {report:?}");
        after(&engine, MINUTE * 60).await;
        assert_eq!(shop.owned("me"), 0, "{kept:?}: it stays given up");
        engine.unpin(None);
        after(&engine, MINUTE).await;
        assert_eq!(shop.owned("me"), 1, "{kept:?}: without the hold it is adopted");
        engine.stop().await;
    }
}

/// What was adopted and then changed goes back both ways, and the claim goes.
#[tokio::test(start_paused = true)]
async fn an_adopted_record_that_was_changed_since() {
    for kept in KEPT {
        let (shop, engine) = unclaimed(kept, false).await;
        let before = shop.whole();
        let plan = shop.adopt(&engine).await;
        after(&engine, MINUTE * 3).await;
        shop.world.cluster.put("a", &["x.example A 192.0.2.2"]);
        after(&engine, MINUTE).await;
        assert!(shop.world.sim.records().contains(&"x.example A 192.0.2.2".to_owned()), "{kept:?}");
        // The adoption alone: the record stays as it is.
        let all = UndoRequest {
            query: Query { since: Some(zonewright_core::clock::Timestamp(0)), ..Query::default() },
            pin_for: DAY,
        };
        let whole = engine.plan_undo(&all).await.unwrap();
        if kept == Kept::Objects {
            assert!(whole.zones[0].skipped[0].1.contains("undo the plans one by one"), "{whole:?}");
            let (_, report) = undo(&engine, &plan).await;
            assert_eq!((report.restored.len(), shop.owned("me")), (1, 0), "{report:?}");
            assert!(shop.world.sim.records().contains(&"x.example A 192.0.2.2".to_owned()));
        } else {
            let report = engine.undo(&whole.hash).await.unwrap();
            assert_eq!((report.restored.len(), report.failed), (1, vec![]));
            assert_eq!(shop.whole(), before, "record and claim at once");
        }
        engine.stop().await;
    }
}

/// `x` and `y` of ours, for an object that asks for them.
pub(crate) async fn two(kept: Kept) -> (Shop, Engine, Vec<String>) {
    let shop = Shop::new(kept);
    shop.world.cluster.put("a", &["x.example A 192.0.2.1", "y.example A 192.0.2.2"]);
    let engine = shop.start().await;
    after(&engine, MINUTE * 5).await;
    let before = shop.whole();
    assert_eq!(shop.owned("me"), 2, "{before:?}");
    (shop, engine, before)
}

#[tokio::test(start_paused = true)]
async fn a_release_is_undone_by_taking_the_claims_again() {
    for kept in KEPT {
        let (shop, engine, before) = two(kept).await;
        let plan = shop.release().await;
        after(&engine, MINUTE * 5).await;
        assert_eq!((shop.owned("me"), shop.world.sim.records().len()), (0, 3), "{kept:?}");
        let (offer, report) = undo(&engine, &plan).await;
        assert_eq!(
            changes(&offer),
            ["claim of x.example A: owner nobody -> me", "claim of y.example A: owner nobody -> me"],
            "{kept:?}"
        );
        assert_eq!((report.restored.len(), report.failed), (2, vec![]), "{kept:?}");
        assert_eq!(shop.whole(), before, "{kept:?}: to the letter, with resources");
        engine.stop().await;
    }
}

/// Of what was released, another owner has taken one and another writer changed the other since: the rest comes back.
#[tokio::test(start_paused = true)]
async fn what_others_took_or_changed_since_a_release_stays_theirs() {
    for kept in KEPT {
        let shop = Shop::new(kept);
        shop.world.cluster.put("a", &["x.example A 192.0.2.1", "y.example A 192.0.2.2", "z.example A 192.0.2.3"]);
        let engine = shop.start().await;
        let plan = shop.release().await;
        shop.world.sim.insert(&["y.example A 203.0.113.9"]);
        let other = shop.world.beside();
        other.cluster.put("b", &["x.example A 192.0.2.1"]);
        let mut other = Shop { world: other, store: shop.store.clone(), kept };
        other.world.config.adopt = true;
        let second = other.world.start_with(other.registry("other")).await;
        after(&second, MINUTE * 3).await;
        assert_eq!(shop.owned("other"), 1, "{kept:?}: {:?}", shop.whole());
        second.stop().await;
        after(&engine, MINUTE * 3).await;
        let (offer, report) = undo(&engine, &plan).await;
        assert_eq!(changes(&offer), ["claim of z.example A: owner nobody -> me"], "{kept:?}");
        let skipped = &offer.zones[0].skipped;
        let left = "the claim of x.example A was left to nobody, and now it is that of owner other";
        assert!(skipped[0].1.contains(left), "{kept:?}: {skipped:?}");
        assert!(skipped[1].1.contains("changed since by another writer: y.example 0 A 203.0.113.9"), "{skipped:?}");
        assert_eq!((report.restored, shop.owned("me"), shop.owned("other")), (vec![name("z.example")], 1, 1));
        engine.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_transfer_is_undone_by_taking_back_what_the_new_owner_did_not_touch() {
    for kept in KEPT {
        let (shop, engine, before) = two(kept).await;
        let plan = shop.transfer("me", "other").await;
        after(&engine, MINUTE * 5).await;
        assert_eq!((shop.owned("me"), shop.owned("other")), (0, 2), "{kept:?}");
        let (offer, report) = undo(&engine, &plan).await;
        assert_eq!(
            changes(&offer),
            ["claim of x.example A: owner other -> me", "claim of y.example A: owner other -> me"],
            "{kept:?}"
        );
        assert_eq!((report.restored.len(), report.failed), (2, vec![]), "{kept:?}");
        after(&engine, MINUTE * 5).await;
        assert_eq!(shop.whole(), before, "{kept:?}: to the letter");
        engine.stop().await;
    }
}

/// The new owner has changed one record, and given the other to a third.
#[tokio::test(start_paused = true)]
async fn what_the_new_owner_made_of_a_transfer_stays() {
    let (shop, engine, _) = two(Kept::Zone).await;
    let plan = shop.transfer("me", "other").await;
    let theirs = |host: &str, owner: &str| {
        format!(
            "a-{host}.example TXT \"heritage=external-dns,external-dns/owner={owner},external-dns/resource=service/ns/a\""
        )
    };
    shop.world.sim.insert(&["x.example A 203.0.113.9", &theirs("y", "third")]);
    let now = shop.whole();
    after(&engine, MINUTE * 3).await;
    let (offer, _) = undo(&engine, &plan).await;
    assert!(offer.is_empty(), "{offer:?}");
    let skipped: Vec<&str> = offer.zones[0].skipped.iter().map(|(_, why)| why.as_str()).collect();
    assert!(skipped[0].contains("changed since by another writer: x.example 0 A 203.0.113.9"), "{skipped:?}");
    assert!(skipped[1].contains("the claim of y.example A was left to owner other, and now it is that of owner third"));
    assert_eq!(shop.whole(), now);
    engine.stop().await;
}

/// Objects of another owner are theirs: what they took into one is not taken out of it by us.
#[tokio::test(start_paused = true)]
async fn what_the_new_owner_took_into_an_object_of_its_own_stays() {
    let (shop, engine, _) = two(Kept::Objects).await;
    let plan = shop.transfer("me", "other").await;
    let other = shop.world.beside();
    other.cluster.put("b", &["x.example A 192.0.2.1", "y.example A 192.0.2.2"]);
    let second = other.start_with(shop.registry("other")).await;
    after(&second, MINUTE * 5).await;
    second.stop().await;
    after(&engine, MINUTE * 5).await;
    let (_, report) = undo(&engine, &plan).await;
    assert_eq!(report.restored, []);
    assert!(report.failed[0].1.contains("zonewright transfer --from other --to me"), "{report:?}");
    assert_eq!((shop.owned("me"), shop.owned("other")), (0, 2), "{:?}", shop.whole());
    engine.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_drain_is_undone_where_nothing_stands_now() {
    for kept in KEPT {
        let (shop, engine, before) = two(kept).await;
        // Nothing asks for them any more, and the daemon is not there to make them again.
        engine.stop().await;
        shop.world.cluster.delete("a");
        let plan = shop.drain().await;
        assert_eq!(shop.world.sim.all(), ["foreign.example 0 A 203.0.113.1"], "{kept:?}");
        shop.world.sim.insert(&["y.example A 203.0.113.9"]);
        let engine = shop.start().await;
        let (offer, report) = undo(&engine, &plan).await;
        let records: Vec<String> = changes(&offer).into_iter().filter(|line| !line.contains("heritage=")).collect();
        assert!(records.contains(&"+ x.example 0 A 192.0.2.1".to_owned()), "{kept:?}: {records:?}");
        assert_eq!(report.restored, [name("x.example")], "{kept:?}: {report:?}");
        let mut expected: Vec<String> = before.into_iter().filter(|line| !line.contains("y.example")).collect();
        expected.push("y.example 0 A 203.0.113.9".to_owned());
        expected.sort();
        after(&engine, MINUTE * 5).await;
        assert_eq!(shop.whole(), expected, "{kept:?}");
        engine.stop().await;
    }
}

/// What delegates a zone is never touched, whatever claim stands for it.
#[tokio::test(start_paused = true)]
async fn a_drain_leaves_the_apex_delegation() {
    let shop = Shop::new(Kept::Zone);
    let claim = "\"heritage=external-dns,external-dns/owner=me,external-dns/resource=service/ns/a\"";
    let texts = [format!("ns-_apex.example TXT {claim}"), format!("a-x.example TXT {claim}")];
    shop.world.sim.insert(&["example NS ns1.test", "x.example A 192.0.2.1", &texts[0], &texts[1]]);
    let proposal = shop.estate_with("me", BTreeSet::from([RecordType::A, RecordType::Ns])).await.drain();
    let actions: Vec<&str> = proposal.actions.iter().map(|action| action.text.as_str()).collect();
    assert!(actions.len() == 1 && actions[0].contains("x.example"), "{actions:?}");
    assert_eq!(proposal.left, ["example NS: NS and SOA records at the apex of a zone are never touched"]);
}

/// A claim without a record goes with a drain. It does not come back onto a record that was made since.
#[tokio::test(start_paused = true)]
async fn an_orphaned_claim_comes_back_onto_nothing() {
    let shop = Shop::new(Kept::Zone);
    let orphan = |host: &str| {
        format!(
            "a-{host}.example TXT \"heritage=external-dns,external-dns/owner=me,external-dns/resource=service/ns/a\""
        )
    };
    shop.world.sim.insert(&[&orphan("x"), &orphan("y")]);
    let plan = shop.drain().await;
    assert_eq!(shop.world.sim.all(), ["foreign.example 0 A 203.0.113.1"]);
    shop.world.sim.insert(&["x.example A 203.0.113.9"]);
    let engine = shop.start().await;
    assert_eq!(
        entries(&engine).await,
        [
            "drain claim of y.example A: owner me -> nobody: applied",
            "drain claim of x.example A: owner me -> nobody: applied"
        ]
    );
    let (offer, report) = undo(&engine, &plan).await;
    assert_eq!(changes(&offer), ["claim of y.example A: owner nobody -> me"]);
    assert!(offer.zones[0].skipped[0].1.contains("x.example 0 A 203.0.113.9 stands there"), "{offer:?}");
    assert_eq!((report.restored.len(), shop.owned("me")), (1, 1));
    assert!(shop.world.sim.all().contains(&"x.example 0 A 203.0.113.9".to_owned()));
    engine.stop().await;
}

/// What the first three commands never do is change a record, and none of them touches what a third owner has.
#[tokio::test(start_paused = true)]
async fn no_command_on_claims_changes_a_record_and_none_touches_a_third_owner() {
    for kept in KEPT {
        let (shop, engine, _) = two(kept).await;
        engine.stop().await;
        let mut third = Shop { world: shop.world.beside(), store: shop.store.clone(), kept };
        third.world.owner = "third";
        third.world.cluster.put("t", &["t.example A 192.0.2.9"]);
        let theirs = third.world.start_with(third.registry("third")).await;
        after(&theirs, MINUTE * 3).await;
        theirs.stop().await;
        let (records, foreign) = (shop.world.sim.records(), "foreign.example A 203.0.113.1");
        assert_eq!((records.len(), shop.owned("third")), (4, 1), "{kept:?}: {:?}", shop.whole());
        // What an object of the third owner notes of others' owners is no claim.
        let claims = |of_third: bool| -> Vec<String> {
            let is_third = |line: &String| line.contains("owner=third") || line.starts_with("third-registry");
            shop.whole().into_iter().filter(|line| is_third(line) == of_third).collect()
        };
        let owned = |owner: &str| {
            let (text, entry) = (format!("owner={owner},"), format!(" is \"{owner}\""));
            claims(false).iter().filter(|line| line.contains(&text) || line.ends_with(&entry)).count()
        };
        let before = claims(true);

        let stay = |command: &str| {
            let stay = (shop.world.sim.records() == records, claims(true) == before);
            assert_eq!(stay, (true, true), "{kept:?}: {command}: {:?}", shop.whole());
        };
        shop.release().await;
        assert_eq!(["me", "other"].map(owned), [0, 0], "{kept:?}");
        stay("release");
        let engine = shop.start().await;
        shop.adopt(&engine).await;
        engine.stop().await;
        assert_eq!(["me", "other"].map(owned), [2, 0], "{kept:?}");
        stay("adopt");
        shop.transfer("me", "other").await;
        assert_eq!(["me", "other"].map(owned), [0, 2], "{kept:?}");
        stay("transfer");
        shop.order("other", Cause::Drain, InstanceSnapshot::drain).await;
        assert_eq!(shop.world.sim.records(), [foreign, "t.example A 192.0.2.9"], "{kept:?}: drain");
        assert_eq!(claims(true), before, "{kept:?}: drain");
    }
}

/// What was shown is done where it is still the same: a record or claim that changed meanwhile stays as it is now.
#[tokio::test(start_paused = true)]
async fn what_changes_between_plan_and_deed_is_left_alone() {
    for kept in KEPT {
        let (shop, engine, _) = two(kept).await;
        engine.stop().await;
        let give = |to: &str| OwnershipChange::Give(zonewright_core::claim::OwnerId::new(to).unwrap());
        let stale = shop.snapshot("me").await;
        let (transfer, drain) = (stale.hand_over(&give("other")), stale.drain());
        assert_eq!((transfer.actions.len(), drain.actions.len()), (2, 2), "{kept:?}");
        // A person edits one record; the other one's claim goes to a third owner.
        shop.world.sim.insert(&["x.example A 203.0.113.9"]);
        let snapshot = shop.snapshot("me").await;
        let (journal, origin) = shop.journal(Cause::Transfer);
        let y: Vec<_> = snapshot.hand_over(&give("third")).actions;
        let y: Vec<_> = y.into_iter().filter(|action| action.text.contains("y.example")).collect();
        assert!(matches!(snapshot.carry_out(&y, &journal, &origin).await.as_slice(), [Outcome::Applied]), "{kept:?}");
        let now = shop.whole();
        let (journal, origin) = shop.journal(Cause::Drain);
        let outcomes = stale.carry_out(&drain.actions, &journal, &origin).await;
        assert!(outcomes.iter().all(|outcome| !matches!(outcome, Outcome::Applied)), "{kept:?}: {outcomes:?}");
        assert_eq!(shop.whole(), now, "{kept:?}: a drain");
        let (journal, origin) = shop.journal(Cause::Transfer);
        let outcomes = stale.carry_out(&transfer.actions, &journal, &origin).await;
        let done = |of: &str| {
            let mut each = transfer.actions.iter().zip(&outcomes);
            each.any(|(action, outcome)| action.text.contains(of) && matches!(outcome, Outcome::Applied))
        };
        assert!(!done("y.example"), "{kept:?}: {outcomes:?}");
        // Where the claim stands outside the zone, no write of it can demand that the record is as it was: it is looked up right before.
        assert!(!done("x.example"), "{kept:?}: {outcomes:?}");
        let standing = shop.whole();
        assert!(
            now.iter().filter(|line| !line.contains("\"x.example")).all(|line| standing.contains(line)),
            "{standing:?}"
        );
    }
}

/// A listing lacked a record that stands: its claim is no claim without a record, wherever it is kept.
#[tokio::test(start_paused = true)]
async fn a_drain_ends_no_claim_whose_record_stands() {
    for kept in KEPT {
        let (shop, engine, before) = two(kept).await;
        engine.stop().await;
        let x = set("x.example A 192.0.2.1");
        shop.world.sim.remove(&x.key);
        let drain = shop.snapshot("me").await.drain();
        assert_eq!(drain.actions.len(), 2, "{kept:?}: {drain}");
        shop.world.sim.insert(&["x.example A 192.0.2.1"]);
        let (journal, origin) = shop.journal(Cause::Drain);
        let outcomes = shop.snapshot("me").await.carry_out(&drain.actions, &journal, &origin).await;
        let done = outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Applied)).count();
        assert_eq!((done, shop.owned("me")), (1, 1), "{kept:?}: {outcomes:?}");
        let left: Vec<&String> = before.iter().filter(|line| line.contains("x.example")).collect();
        assert!(left.iter().all(|line| shop.whole().contains(line)), "{kept:?}: {:?}", shop.whole());
    }
}
