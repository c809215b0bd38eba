//! Two zones of one instance, of one name or one below the other, of which one comes later: what stands where, and whose it is.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use zonewright_core::capability::Capability;
use zonewright_core::change::{Group, Outcome};
use zonewright_core::endpoint::Endpoint;
use zonewright_core::interpret::Interpretation;
use zonewright_core::provider::{Adjustment, Listing, Provider, Read};
use zonewright_core::zone::{InstanceId, ZoneId, ZoneKey};
use zonewright_core::{RecordSet, Result, Zone};
use zonewright_engine::{Engine, Instance};
use zonewright_registry::txt::{FormerNames, TxtConfig, TxtRegistry};

use crate::sim::{Log, Sim, World, after, rest};

/// Two zones `example`: the one that is there from the beginning, and one that comes later and whose id is less or greater.
struct Pair {
    first: Arc<Sim>,
    second: Arc<Sim>,
    ids: [&'static str; 2],
    /// The registry's prefix, and the former ones.
    prefixes: Mutex<(&'static str, &'static [&'static str])>,
    has_first: AtomicBool,
    has_second: AtomicBool,
    writes: AtomicUsize,
}

impl Pair {
    fn new(second: &'static str) -> Arc<Self> {
        Self::with("example", second)
    }

    /// The second one has another name.
    fn with(name: &str, second: &'static str) -> Arc<Self> {
        Arc::new(Self {
            first: Sim::of("sim", &["example"]),
            second: Sim::of("sim", &[name]),
            prefixes: Mutex::default(),
            ids: ["m", second],
            has_first: AtomicBool::new(true),
            has_second: AtomicBool::new(false),
            writes: AtomicUsize::new(0),
        })
    }

    fn of(&self, zone: &Zone) -> &Sim {
        if *zone.key.zone.to_string() == *self.ids[0] { &self.first } else { &self.second }
    }

    fn set(&self, first: bool, second: bool) {
        self.has_first.store(first, Ordering::SeqCst);
        self.has_second.store(second, Ordering::SeqCst);
    }

    async fn start(self: &Arc<Self>, world: &World) -> Engine {
        let (prefix, former) = *self.prefixes.lock().unwrap();
        let named = |prefix: &str| FormerNames {
            prefix: prefix.to_owned(),
            suffix: String::new(),
            wildcard_replacement: String::new(),
        };
        let config = TxtConfig {
            prefix: prefix.to_owned(),
            former: former.iter().map(|prefix| named(prefix)).collect(),
            ..TxtConfig::new("me").unwrap()
        };
        let registry = Arc::new(TxtRegistry::new(config).unwrap());
        world.start_instances(vec![Instance::new(InstanceId::from("sim"), self.clone(), registry)]).await
    }

    fn stand(&self) -> [Vec<String>; 2] {
        [self.first.records(), self.second.records()]
    }
}

#[async_trait]
impl Provider for Pair {
    fn capability(&self, zone: Option<&Zone>) -> Capability {
        self.first.capability(zone)
    }

    async fn zones(&self) -> Result<Vec<Zone>> {
        let mut zones = Vec::new();
        for (there, sim, id) in
            [(&self.has_first, &self.first, self.ids[0]), (&self.has_second, &self.second, self.ids[1])]
        {
            if there.load(Ordering::SeqCst) {
                let key = ZoneKey { instance: InstanceId::from("sim"), zone: ZoneId::from(id) };
                zones.extend(sim.zones().await?.into_iter().map(|zone| Zone { key: key.clone(), ..zone }));
            }
        }
        Ok(zones)
    }

    async fn zone(&self, id: &ZoneId) -> Result<Option<Zone>> {
        Ok(self.zones().await?.into_iter().find(|zone| zone.key.zone == *id))
    }

    async fn records(&self, zone: &Zone, read: Read<'_>) -> Result<Listing> {
        Provider::records(self.of(zone), zone, read).await
    }

    fn interpret(&self, zone: &Zone, endpoint: &Endpoint) -> Interpretation {
        self.of(zone).interpret(zone, endpoint)
    }

    async fn adjust(&self, zone: &Zone, sets: &[RecordSet]) -> Vec<Adjustment> {
        self.of(zone).adjust(zone, sets).await
    }

    async fn apply(&self, zone: &Zone, groups: &[Group]) -> Vec<Outcome> {
        self.writes.fetch_add(1, Ordering::SeqCst);
        self.of(zone).apply(zone, groups).await
    }

    async fn served(&self, zone: &Zone) -> Result<Option<bool>> {
        self.of(zone).served(zone).await
    }
}

/// A domain that is being moved between accounts, or a second zone that somebody makes by mistake: it may serve nobody.
#[tokio::test(start_paused = true)]
async fn a_second_zone_of_a_name_takes_nothing_from_the_first() {
    for second in ["a", "z"] {
        let (world, pair) = (World::new(&[]), Pair::new(second));
        world.cluster.put("a", &["x.example A 192.0.2.1"]);
        world.cluster.put("b", &["y.example A 192.0.2.2"]);
        let log = Log::listen();
        let mut engine = pair.start(&world).await;
        rest(&engine).await;
        pair.set(true, true);
        after(&engine, Duration::from_mins(3)).await;
        let both = ["x.example A 192.0.2.1".to_owned(), "y.example A 192.0.2.2".to_owned()].to_vec();
        assert_eq!((pair.stand(), pair.writes.load(Ordering::SeqCst)), ([both, vec![]], 1), "{second}");
        assert_eq!(log.warnings("another zone has this name").len(), 1, "{second}: once");
        // What changes goes to the first, also in a process that finds both.
        for address in ["192.0.2.3", "192.0.2.4"] {
            world.cluster.put("a", &[&format!("x.example A {address}")]);
            rest(&engine).await;
            let expected = [format!("x.example A {address}"), "y.example A 192.0.2.2".to_owned()].to_vec();
            assert_eq!(pair.stand(), [expected, vec![]], "{second}");
            engine.stop().await;
            engine = pair.start(&world).await;
            rest(&engine).await;
        }
        // Its object goes: there is no doubt about that.
        world.cluster.delete("b");
        rest(&engine).await;
        assert_eq!(pair.stand(), [vec!["x.example A 192.0.2.4".to_owned()], vec![]], "{second}");
        // The first goes, and the second serves.
        pair.set(false, true);
        after(&engine, Duration::from_mins(3)).await;
        assert_eq!(pair.second.records(), ["x.example A 192.0.2.4"], "{second}");
        engine.stop().await;
    }
}

/// Nothing is known of which was there first.
#[tokio::test(start_paused = true)]
async fn of_two_zones_of_a_name_neither_is_emptied_for_the_other() {
    let pair = Pair::new("a");
    let world = World::new(&[]);
    world.cluster.put("a", &["x.example A 192.0.2.1"]);
    world.cluster.put("b", &["y.example A 192.0.2.2"]);
    let engine = pair.start(&world).await;
    rest(&engine).await;
    engine.stop().await;
    pair.set(true, true);
    let without_state = World { store: Arc::default(), cluster: world.cluster.clone(), ..World::new(&[]) };
    let engine = pair.start(&without_state).await;
    after(&engine, Duration::from_mins(3)).await;
    let both = ["x.example A 192.0.2.1".to_owned(), "y.example A 192.0.2.2".to_owned()].to_vec();
    assert_eq!(pair.stand(), [both.clone(), both], "what stands stays");
    without_state.cluster.delete("b");
    after(&engine, Duration::from_mins(3)).await;
    let one = vec!["x.example A 192.0.2.1".to_owned()];
    assert_eq!(pair.stand(), [one.clone(), one], "what is gone goes in both");
    engine.stop().await;
}

/// The zone below was not listed for a while, and its names went to the zone above; then both claim its apex. What stands above has no
/// object any more as soon as the apex has a claim of its own below.
#[tokio::test(start_paused = true)]
async fn what_the_zone_above_holds_of_an_apex_goes_once_the_apex_has_its_claim() {
    let (world, pair) = (World::new(&[]), Pair::with("sub.example", "a"));
    let record = vec!["sub.example A 192.0.2.1".to_owned()];
    world.cluster.put("a", &["sub.example A 192.0.2.1"]);
    *pair.prefixes.lock().unwrap() = ("%{record_type}.zw.", &[]);
    pair.set(true, true);
    let engine = pair.start(&world).await;
    rest(&engine).await;
    assert_eq!(pair.stand(), [vec![], record.clone()]);
    engine.stop().await;
    let later = World { cluster: world.cluster.clone(), ..World::new(&[]) };
    *pair.prefixes.lock().unwrap() = ("zw-", &["%{record_type}.zw."]);
    pair.set(true, false);
    let engine = pair.start(&later).await;
    after(&engine, Duration::from_mins(3)).await;
    assert_eq!(pair.stand(), [record.clone(), record.clone()]);
    pair.second.pace(Duration::from_secs(5));
    pair.set(true, true);
    after(&engine, Duration::from_mins(10)).await;
    assert_eq!(pair.stand(), [vec![], record]);
    engine.stop().await;
}
