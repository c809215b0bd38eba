//! A zone that takes minutes to list, by a clock that goes faster than the real one: names are served meanwhile.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod common;
#[path = "../../engine/tests/shared/hurry.rs"]
mod hurry;
// The simulated world of the engine's own tests, of which only a part is needed.
#[allow(dead_code, unused_imports, reason = "shared with the tests of the engine")]
#[path = "../../engine/tests/engine/sim/mod.rs"]
mod sim;

use std::sync::Arc;
use std::time::Duration;

use common::ACCOUNT;
use hurry::hurried;
use sim::World;
use tokio::time::{Instant, sleep};
use zonewright_core::catalog::FlagValue;
use zonewright_core::zone::InstanceId;
use zonewright_engine::{Engine, Instance};
use zonewright_fakes::route53::{RecordSet, Route53 as Service};
use zonewright_http::Patience;
use zonewright_provider_route53::Route53;
use zonewright_registry::txt::{TxtConfig, TxtRegistry};

/// Record sets of others: 1,334 pages, which take four and a half minutes at five requests a second.
const SETS: usize = 400_000;
/// How much faster than real time the clock goes. What the service takes on loopback counts so many times.
const FASTER: u32 = 4;
/// Until a name stands, from the moment that its object is there.
const MOST: Duration = Duration::from_secs(10);

/// How many record sets the listing has read so far, as the metric says it.
fn read_so_far(engine: &Engine) -> usize {
    let text = engine.metrics().text();
    let line = text.lines().find(|line| line.starts_with("zonewright_listing_record_sets{")).unwrap_or("0");
    line.rsplit(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0)
}

/// How long it takes until this name has an address.
async fn served(service: &Service, zone: &str, name: &str) -> Duration {
    let asked = Instant::now();
    while !service.stands(zone, name, "A") {
        sleep(Duration::from_millis(100)).await;
        assert!(asked.elapsed() < Duration::from_mins(2), "{name} is not served");
    }
    asked.elapsed()
}

async fn play(service: &Service, zone: &str, provider: Route53) {
    let world = World::new(&[]);
    world.cluster.put("first", &["first.example A 192.0.2.1"]);
    let registry = TxtRegistry::new(TxtConfig { prefix: "claims.".to_owned(), ..TxtConfig::new("me").unwrap() });
    let instance = Instance::new(InstanceId::from("one"), Arc::new(provider), Arc::new(registry.unwrap()));
    let engine = world.start_instances(vec![instance]).await;
    let mut times = vec![served(service, zone, "first.example.").await];
    // In the midst of the first listing an object comes, and another one.
    let mut progress = vec![0];
    for later in ["later", "last"] {
        sleep(Duration::from_secs(15)).await;
        progress.push(read_so_far(&engine));
        world.cluster.put(later, &[&format!("{later}.example A 192.0.2.2")]);
        times.push(served(service, zone, &format!("{later}.example.")).await);
    }
    assert!(times.iter().all(|time| *time < MOST), "until each stood: {times:?}");
    assert!(progress.is_sorted_by(|less, more| less < more), "record sets that were read: {progress:?}");
    assert!(!engine.health().is_ready(), "the zone is still being listed");
    eprintln!("names stood after {times:?}, while {progress:?} record sets had been read");
    engine.stop().await;
}

#[tokio::test]
async fn a_name_stands_long_before_a_zone_of_400_000_sets_is_listed() {
    let service = Service::start();
    let zone = service.add_zone(ACCOUNT, "example", false, &[]);
    service.set_limit(&zone, 2 * SETS);
    for n in 0..SETS {
        service.put(&zone, RecordSet::new(&format!("r{n}.example."), "A", 60, &["198.51.100.1"]));
    }
    let config = common::config(&service.url(), common::KEY, &[("aws-api-qps", FlagValue::Int(5))]);
    config.shared.get::<Patience>().set(Duration::from_mins(2), Duration::from_millis(200));
    let provider = Route53::new(&config).unwrap();
    hurried(FASTER, play(&service, &zone, provider)).await;
    assert!(service.requests() < 300, "{} requests, where five a second are allowed", service.requests());
}
