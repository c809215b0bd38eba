//! Several provider instances in one process: twin zones, who goes where, and one that fails beside one that works.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use zonewright_core::choice::Chooser;
use zonewright_core::filter::DomainFilter;
use zonewright_core::guard::Brake;
use zonewright_core::registry::OwnershipChange;
use zonewright_core::zone::InstanceId;
use zonewright_engine::ownership::Proposal;
use zonewright_engine::{Config, Engine, Instance};
use zonewright_registry::txt::{TxtConfig, TxtRegistry};

use crate::ownership::{KEPT, Shop};
use crate::sim::{Fault, Sim, World, after, rest, set};

/// An instance with a zone `example` of its own.
fn instance(id: &str) -> (Arc<Sim>, Instance) {
    let sim = Sim::of(id, &["example"]);
    let registry = TxtRegistry::new(TxtConfig::new("me").unwrap()).unwrap();
    (sim.clone(), Instance::new(InstanceId::from(id), sim, Arc::new(registry)))
}

struct Twins {
    world: World,
    public: Arc<Sim>,
    internal: Arc<Sim>,
    instances: Vec<Instance>,
}

fn twins() -> Twins {
    let ((public, first), (internal, second)) = (instance("public"), instance("internal"));
    Twins { world: World::new(&[]), public, internal, instances: vec![first, second] }
}

impl Twins {
    async fn start(&self) -> Engine {
        self.world.start_instances(self.instances.clone()).await
    }

    fn stand(&self) -> (Vec<String>, Vec<String>) {
        (self.public.records(), self.internal.records())
    }
}

fn lines(public: &[&str], internal: &[&str]) -> (Vec<String>, Vec<String>) {
    let owned = |lines: &[&str]| lines.iter().map(ToString::to_string).collect();
    (owned(public), owned(internal))
}

#[tokio::test(start_paused = true)]
async fn objects_go_to_every_instance_or_to_those_that_they_name() {
    let twins = twins();
    twins.world.cluster.put("a", &["a.example A 192.0.2.1"]);
    twins.world.cluster.put("b", &["b.example A 10.0.0.2", "choice:internal"]);
    twins.world.cluster.put("c", &["b.example A 192.0.2.2", "choice:public"]);
    twins.world.cluster.put("d", &["d.example A 192.0.2.4", "choice:internal,public"]);
    let engine = twins.start().await;
    rest(&engine).await;
    let expected = lines(
        &["a.example A 192.0.2.1", "b.example A 192.0.2.2", "d.example A 192.0.2.4"],
        &["a.example A 192.0.2.1", "b.example A 10.0.0.2", "d.example A 192.0.2.4"],
    );
    assert_eq!(twins.stand(), expected, "split horizon, and no contention between the two");
    assert!(!twins.world.reports.has("b", "NameConflict") && !twins.world.reports.has("c", "NameConflict"));
    // Another choice takes the record from one to the other.
    twins.world.cluster.put("d", &["d.example A 192.0.2.4", "choice:internal"]);
    rest(&engine).await;
    assert!(!twins.public.records().contains(&"d.example A 192.0.2.4".to_owned()));
    assert!(twins.internal.records().contains(&"d.example A 192.0.2.4".to_owned()));
    engine.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_choice_that_is_none_takes_nothing_away() {
    let twins = twins();
    twins.world.cluster.put("a", &["a.example A 192.0.2.1", "choice:public"]);
    let engine = twins.start().await;
    rest(&engine).await;
    twins.world.cluster.put("a", &["a.example A 192.0.2.9", "choice:pubic"]);
    twins.world.cluster.put("b", &["b.example A 192.0.2.2", "choice:lab"]);
    twins.world.cluster.put("c", &["c.example A 192.0.2.3", "choice:lab,internal"]);
    rest(&engine).await;
    assert_eq!(twins.stand(), lines(&["a.example A 192.0.2.1"], &["c.example A 192.0.2.3"]));
    for who in ["a", "b", "c"] {
        assert!(twins.world.reports.has(who, "UnknownProvider"), "{who} gets an event");
    }
    engine.stop().await;
    let engine = twins.start().await;
    rest(&engine).await;
    assert_eq!(twins.public.records(), ["a.example A 192.0.2.1"], "nor does a restart");
    engine.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_instance_may_want_to_be_named_or_have_a_filter_of_its_own() {
    let mut twins = twins();
    let split = BTreeSet::from([Arc::from("split")]);
    twins.instances[1].chooser = Chooser { names: split, named_only: true };
    twins.instances[0].filter = DomainFilter::plain(&["shop.example".to_owned()], &[]);
    twins.world.cluster.put("a", &["a.shop.example A 192.0.2.1"]);
    twins.world.cluster.put("b", &["b.example A 192.0.2.2"]);
    twins.world.cluster.put("c", &["c.example A 192.0.2.3", "choice:split"]);
    twins.public.insert(&["old.example A 192.0.2.7", "a-old.example TXT heritage=external-dns,external-dns/owner=me"]);
    let engine = twins.start().await;
    rest(&engine).await;
    let public = ["a.shop.example A 192.0.2.1", "old.example A 192.0.2.7"];
    assert_eq!(twins.stand(), lines(&public, &["c.example A 192.0.2.3"]), "what lies outside the filter is left alone");
    engine.stop().await;
}

#[tokio::test(start_paused = true)]
async fn one_that_fails_holds_up_nothing_of_the_other() {
    for fault in [Fault::Down, Fault::Stall, Fault::Denied, Fault::NoReads] {
        let twins = twins();
        twins.internal.fault("example", fault);
        let engine = twins.start().await;
        twins.world.cluster.put("a", &["a.example A 192.0.2.1"]);
        after(&engine, Duration::from_secs(2)).await;
        assert_eq!(twins.stand(), lines(&["a.example A 192.0.2.1"], &[]), "{fault:?}");
        assert!(engine.health().unready.iter().all(|line| !line.contains("public/")), "{:?}", engine.health().unready);
        twins.internal.fault("example", None);
        after(&engine, Duration::from_mins(3)).await;
        assert_eq!(twins.internal.records(), ["a.example A 192.0.2.1"], "{fault:?}");
        engine.stop().await;
    }
}

/// Counted deletes of twin zones are added up, and wait until both were planned.
#[tokio::test(start_paused = true)]
async fn the_brake_counts_over_both() {
    let mut twins = twins();
    twins.world.config =
        Config { brake: Brake { min_deletes: 5, process_min_deletes: 6, ..Brake::default() }, ..Config::default() };
    for who in 0..30 {
        twins.world.cluster.put(&format!("o{who}"), &[&*format!("n{who}.example A 192.0.2.1")]);
    }
    let engine = twins.start().await;
    rest(&engine).await;
    for who in 0..4 {
        twins.world.cluster.vanish(&format!("o{who}"));
    }
    rest(&engine).await;
    let left = twins.public.records().len() + twins.internal.records().len();
    assert!(left >= 60 - 6, "8 deletes, 4 in each zone, are more than 6 and a tenth of 60: {left} of 60 stand");
    engine.stop().await;
}

/// Two instances share a zone and an owner, and each has names of its own. A command for one of them leaves those of the other alone,
/// also their claims without a record.
#[tokio::test(start_paused = true)]
async fn a_command_for_an_instance_leaves_the_names_of_the_others_alone() {
    for kept in KEPT {
        let shop = Shop::new(kept);
        for zone in ["a", "b"] {
            let (stays, goes) = (format!("x.{zone}.example A 192.0.2.1"), format!("y.{zone}.example A 192.0.2.2"));
            shop.world.cluster.put(zone, &[&stays, &goes]);
        }
        let engine = shop.start().await;
        engine.stop().await;
        for name in ["y.a.example", "y.b.example"] {
            shop.world.sim.remove(&set(&format!("{name} A 192.0.2.2")).key);
        }
        let filter = DomainFilter::plain(&["a.example".to_owned()], &[]);
        let estate = shop.estate_of("me", Config::default().managed, filter).await;
        let (drained, released) = (estate.drain(), estate.hand_over(&OwnershipChange::Disown));
        let of = |proposal: &Proposal, name: &str| {
            proposal.actions.iter().filter(|action| action.text.contains(name)).count()
        };
        assert_eq!((of(&drained, "x.a.example"), of(&drained, "y.a.example")), (1, 1), "{kept:?}: {drained}");
        assert_eq!((of(&drained, "b.example"), of(&released, "b.example")), (0, 0), "{kept:?}: {drained}{released}");
        assert_eq!(released.actions.len(), 1, "{kept:?}: {released}");
    }
}
