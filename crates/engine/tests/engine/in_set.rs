//! A provider whose routing policies have items that share one record set (Cloud DNS): several objects, several owners.

use std::sync::Arc;
use std::time::Duration;

use zonewright_conformance::cloud::{Cloud, CloudAccount, OPTIONS};
use zonewright_core::record::{Item, Routing};
use zonewright_core::registry::Registry;
use zonewright_core::testing::documents::MemoryDocuments;
use zonewright_core::zone::InstanceId;
use zonewright_core::{RecordData, RecordSet, RecordType, Ttl};
use zonewright_engine::{Engine, Instance};
use zonewright_registry::configmap::{ConfigMapConfig, ConfigMapRegistry};
use zonewright_registry::txt::{TxtConfig, TxtRegistry};

use crate::sim::{World, after, name, rest, set};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kept {
    Texts,
    Sealed,
    Objects,
}

const KEPT: [Kept; 3] = [Kept::Texts, Kept::Sealed, Kept::Objects];

/// One zone, and what owners keep beside it.
struct Site {
    cloud: Arc<Cloud>,
    store: Arc<MemoryDocuments>,
    kept: Kept,
}

impl Site {
    fn new(kept: Kept) -> Self {
        let account = Arc::new(CloudAccount::default());
        let cloud = Arc::new(Cloud::new("one", &name("example"), &account).in_set());
        Self { cloud, store: Arc::default(), kept }
    }

    fn registry(&self, owner: &str) -> Arc<dyn Registry> {
        let texts = |aes_key: Option<&str>| {
            let config = TxtConfig::new(owner).unwrap();
            let aes_key = aes_key.map(|key| key.to_owned().into());
            let config = TxtConfig { prefix: "zw-".to_owned(), encrypt: aes_key.is_some(), aes_key, ..config };
            Arc::new(TxtRegistry::new(config).unwrap())
        };
        match self.kept {
            Kept::Texts => texts(None),
            Kept::Sealed => texts(Some("0123456789abcdef0123456789abcdef")),
            Kept::Objects => Arc::new(ConfigMapRegistry::new(ConfigMapConfig::new(owner, self.store.clone()).unwrap())),
        }
    }

    async fn start(&self, world: &World, owner: &str) -> Engine {
        let registry = self.registry(owner);
        let provider = self.cloud.clone();
        let bare = Instance::new(InstanceId::from("one"), provider, registry);
        let instance = Instance { options: OPTIONS.into(), ..bare };
        let engine = world.start_instances(vec![instance]).await;
        rest(&engine).await;
        engine
    }

    /// What stands but for claims.
    fn shown(&self) -> Vec<String> {
        let records = self.cloud.dump().into_iter().filter(|set| set.key.rtype != RecordType::Txt);
        records.map(|set| set.to_string()).collect()
    }

    /// Somebody puts items in place of whatever stands.
    fn insert(&self, items: &[(u32, &str)]) {
        let item = |(weight, address): &(u32, &str)| {
            let records = set(&format!("www.example A {address}")).data.as_records().to_vec();
            Item { routing: Routing::Weighted { weight: *weight }, records }
        };
        let data = RecordData::items(items.iter().map(item));
        self.cloud.insert(RecordSet { data, ttl: Ttl::from_secs(300), ..set("www.example A 192.0.2.1") });
    }
}

fn put(world: &World, who: &str, address: &str, weight: u32) {
    let weight = format!("prop:cloud/weight={weight}");
    world.cluster.put(who, &[&format!("www.example A {address}"), &format!("set:{who}"), &weight]);
}

#[tokio::test(start_paused = true)]
async fn items_of_one_set_come_change_and_go_and_claims_alone_find_them_again() {
    for kept in KEPT {
        let site = Site::new(kept);
        let world = World::new(&[]);
        put(&world, "blue", "192.0.2.1", 10);
        put(&world, "green", "192.0.2.2", 20);
        let engine = site.start(&world, "me").await;
        assert_eq!(site.shown(), ["www.example 300 A weighted:10: 192.0.2.1 | weighted:20: 192.0.2.2"], "{kept:?}");
        // An update of one leaves the other.
        put(&world, "blue", "192.0.2.9", 30);
        rest(&engine).await;
        assert_eq!(site.shown(), ["www.example 300 A weighted:20: 192.0.2.2 | weighted:30: 192.0.2.9"], "{kept:?}");
        engine.stop().await;
        // A fresh process finds both by the claims, and has nothing to do.
        let before = site.cloud.dump();
        let engine = site.start(&world, "me").await;
        after(&engine, Duration::from_mins(30)).await;
        assert_eq!(site.cloud.dump(), before, "{kept:?}");
        put(&world, "green", "192.0.2.2", 25);
        rest(&engine).await;
        assert_eq!(site.shown(), ["www.example 300 A weighted:25: 192.0.2.2 | weighted:30: 192.0.2.9"], "{kept:?}");
        world.cluster.delete("green");
        after(&engine, Duration::from_mins(1)).await;
        assert_eq!(site.shown(), ["www.example 300 A weighted:30: 192.0.2.9"], "{kept:?}");
        // The last item takes the set with it, and the claims.
        world.cluster.delete("blue");
        after(&engine, Duration::from_mins(1)).await;
        assert_eq!(site.cloud.dump(), [], "{kept:?}");
        engine.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn two_owners_share_one_set_and_never_touch_each_others_item() {
    for kept in KEPT {
        let site = Site::new(kept);
        let (mine, theirs) = (World::new(&[]), World::new(&[]));
        // Both use the same set identifier, where claims are texts; an object has one entry for each.
        let their = if kept == Kept::Objects { "green" } else { "blue" };
        put(&mine, "blue", "192.0.2.1", 10);
        put(&theirs, their, "198.51.100.1", 20);
        let (one, two) = (site.start(&mine, "me").await, site.start(&theirs, "they").await);
        after(&one, Duration::from_hours(1)).await;
        after(&two, Duration::from_hours(1)).await;
        let both = "www.example 300 A weighted:10: 192.0.2.1 | weighted:20: 198.51.100.1";
        assert_eq!(site.shown(), [both], "{kept:?}");
        put(&mine, "blue", "192.0.2.7", 70);
        rest(&one).await;
        put(&theirs, their, "198.51.100.8", 80);
        rest(&two).await;
        after(&one, Duration::from_hours(1)).await;
        let both = "www.example 300 A weighted:70: 192.0.2.7 | weighted:80: 198.51.100.8";
        assert_eq!(site.shown(), [both], "{kept:?}");
        mine.cluster.delete("blue");
        after(&one, Duration::from_hours(1)).await;
        assert_eq!(site.shown(), ["www.example 300 A weighted:80: 198.51.100.8"], "{kept:?}");
        one.stop().await;
        two.stop().await;
        let again = site.start(&theirs, "they").await;
        theirs.cluster.delete(their);
        after(&again, Duration::from_mins(1)).await;
        assert_eq!(site.cloud.dump(), [], "{kept:?}");
        again.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_item_that_was_changed_by_hand_is_foreign() {
    for kept in KEPT {
        let site = Site::new(kept);
        let world = World::new(&[]);
        put(&world, "blue", "192.0.2.1", 10);
        let engine = site.start(&world, "me").await;
        site.insert(&[(11, "192.0.2.1"), (50, "203.0.113.1")]);
        after(&engine, Duration::from_hours(2)).await;
        let stands = "www.example 300 A weighted:10: 192.0.2.1 | weighted:11: 192.0.2.1 | weighted:50: 203.0.113.1";
        assert_eq!(site.shown(), [stands], "ours comes beside both: {kept:?}");
        world.cluster.delete("blue");
        after(&engine, Duration::from_hours(2)).await;
        let left = "www.example 300 A weighted:11: 192.0.2.1 | weighted:50: 203.0.113.1";
        assert_eq!(site.shown(), [left], "what is not ours stays: {kept:?}");
        engine.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_edit_in_between_is_read_again_and_not_written_over() {
    let site = Site::new(Kept::Texts);
    let world = World::new(&[]);
    put(&world, "blue", "192.0.2.1", 10);
    let engine = site.start(&world, "me").await;
    // Since the last reading another writer has added an item, which the engine does not know of.
    site.insert(&[(10, "192.0.2.1"), (50, "203.0.113.1")]);
    put(&world, "blue", "192.0.2.2", 20);
    rest(&engine).await;
    assert_eq!(site.shown(), ["www.example 300 A weighted:20: 192.0.2.2 | weighted:50: 203.0.113.1"]);
    // And now our own was taken away: it comes again after a reading.
    site.insert(&[(50, "203.0.113.1")]);
    put(&world, "blue", "192.0.2.3", 30);
    after(&engine, Duration::from_mins(5)).await;
    assert_eq!(site.shown(), ["www.example 300 A weighted:30: 192.0.2.3 | weighted:50: 203.0.113.1"]);
    engine.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_name_changes_between_a_simple_set_and_items() {
    for kept in KEPT {
        let site = Site::new(kept);
        let world = World::new(&[]);
        world.cluster.put("a", &["www.example A 192.0.2.1"]);
        let engine = site.start(&world, "me").await;
        world.cluster.put("a", &["www.example A 192.0.2.1", "set:a", "prop:cloud/weight=10"]);
        world.cluster.put("b", &["www.example A 192.0.2.2", "set:b", "prop:cloud/weight=20"]);
        after(&engine, Duration::from_mins(1)).await;
        assert_eq!(site.shown(), ["www.example 300 A weighted:10: 192.0.2.1 | weighted:20: 192.0.2.2"], "{kept:?}");
        world.cluster.delete("b");
        after(&engine, Duration::from_mins(1)).await;
        world.cluster.put("a", &["www.example A 192.0.2.1"]);
        after(&engine, Duration::from_mins(1)).await;
        assert_eq!(site.shown(), ["www.example 300 A 192.0.2.1"], "{kept:?}");
        world.cluster.put("a", &["www.example A 192.0.2.1", "set:a", "prop:cloud/country=DE"]);
        after(&engine, Duration::from_mins(1)).await;
        assert_eq!(site.shown(), ["www.example 300 A geolocation:.DE.: 192.0.2.1"], "{kept:?}");
        engine.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_foreign_item_bars_a_change_of_kind() {
    let site = Site::new(Kept::Texts);
    site.insert(&[(50, "203.0.113.1")]);
    let before = site.cloud.dump();
    let world = World::new(&[]);
    world.cluster.put("a", &["www.example A 192.0.2.1"]);
    world.cluster.put("b", &["www.example A 192.0.2.2", "set:b", "prop:cloud/country=DE"]);
    let engine = site.start(&world, "me").await;
    after(&engine, Duration::from_hours(1)).await;
    assert_eq!(site.cloud.dump(), before);
    assert!(world.reports.has("a", "ForeignRecord"));
    engine.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_place_that_is_taken_is_refused_to_the_later_object() {
    let site = Site::new(Kept::Texts);
    let world = World::new(&[]);
    let country = |who: &str, address: &str, country: &str| {
        let country = format!("prop:cloud/country={country}");
        world.cluster.put(who, &[&format!("www.example A {address}"), &format!("set:{who}"), &country]);
    };
    country("b", "192.0.2.2", "DE");
    let engine = site.start(&world, "me").await;
    // An older object asks for the same country: what stands stays.
    country("a", "192.0.2.1", "DE");
    rest(&engine).await;
    assert_eq!(site.shown(), ["www.example 300 A geolocation:.DE.: 192.0.2.2"]);
    assert!(world.reports.has("a", "ItemConflict") && !world.reports.has("b", "ItemConflict"));
    // Elsewhere there is room; and an item whose new place is taken keeps its own.
    country("a", "192.0.2.1", "FR");
    rest(&engine).await;
    country("b", "192.0.2.2", "FR");
    after(&engine, Duration::from_mins(1)).await;
    assert_eq!(site.shown(), ["www.example 300 A geolocation:.DE.: 192.0.2.2 | geolocation:.FR.: 192.0.2.1"]);
    assert!(world.reports.has("b", "ItemConflict"));
    // Two items change places at once.
    country("a", "192.0.2.1", "DE");
    after(&engine, Duration::from_mins(1)).await;
    assert_eq!(site.shown(), ["www.example 300 A geolocation:.DE.: 192.0.2.1 | geolocation:.FR.: 192.0.2.2"]);
    engine.stop().await;
}

#[tokio::test(start_paused = true)]
async fn all_items_have_one_ttl() {
    let site = Site::new(Kept::Texts);
    let world = World::new(&[]);
    let put = |who: &str, address: &str, ttl: u32| {
        let (line, ttl) = (format!("www.example A {address}"), format!("ttl:{ttl}"));
        world.cluster.put(who, &[&line, &ttl, &format!("set:{who}"), "prop:cloud/weight=1"]);
    };
    put("b", "192.0.2.2", 60);
    let engine = site.start(&world, "me").await;
    put("a", "192.0.2.1", 90);
    after(&engine, Duration::from_mins(1)).await;
    assert_eq!(site.shown(), ["www.example 60 A weighted:1: 192.0.2.1 | weighted:1: 192.0.2.2"]);
    assert!(world.reports.has("a", "TTLAdjusted") && !world.reports.has("b", "TTLAdjusted"));
    // While items of others stand, their TTL stays.
    let before = site.cloud.dump();
    after(&engine, Duration::from_hours(2)).await;
    assert_eq!(site.cloud.dump(), before, "it is silent");
    site.insert(&[(50, "203.0.113.1")]);
    after(&engine, Duration::from_hours(2)).await;
    let stands = "www.example 300 A weighted:1: 192.0.2.1 | weighted:1: 192.0.2.2 | weighted:50: 203.0.113.1";
    assert_eq!(site.shown(), [stands]);
    engine.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_brake_counts_items() {
    let site = Site::new(Kept::Texts);
    let mut world = World::new(&[]);
    world.config.brake.min_deletes = 2;
    world.config.brake.percent = 10;
    world.config.brake.owner_floor = 0;
    for n in 1..=6 {
        put(&world, &format!("o{n}"), &format!("192.0.2.{n}"), n);
    }
    let engine = site.start(&world, "me").await;
    let before = site.cloud.dump();
    for n in 1..=4 {
        world.cluster.vanish(&format!("o{n}"));
    }
    after(&engine, Duration::from_mins(1)).await;
    assert_eq!(
        site.cloud.dump(),
        before,
        "four of six items are more than the brake allows, though they are one record set"
    );
    engine.stop().await;
}

#[tokio::test(start_paused = true)]
async fn without_claims_no_item_is_touched() {
    let site = Site::new(Kept::Texts);
    site.insert(&[(10, "192.0.2.1")]);
    let before = site.cloud.dump();
    let world = World::new(&[]);
    put(&world, "blue", "192.0.2.1", 10);
    let registry: Arc<dyn Registry> = Arc::new(zonewright_registry::noop::NoopRegistry);
    let provider = site.cloud.clone();
    let bare = Instance::new(InstanceId::from("one"), provider, registry);
    let instance = Instance { options: OPTIONS.into(), ..bare };
    let engine = world.start_instances(vec![instance]).await;
    after(&engine, Duration::from_hours(1)).await;
    assert_eq!(site.cloud.dump(), before);
    assert!(world.reports.has("blue", "UnsupportedRouting"));
    engine.stop().await;
}
