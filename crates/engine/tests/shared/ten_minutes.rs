//! Ten minutes in which another client has used up the quota of an account, played with a real provider through the engine.
//!
//! In: a provider at its service on loopback. Out: nothing is lost, and how many requests were sent meanwhile. The tests of a provider
//! take this file beside the simulated world of the engine's own tests.

use std::sync::Arc;
use std::time::Duration;

use zonewright_core::provider::Provider;
use zonewright_core::zone::InstanceId;
use zonewright_engine::Instance;
use zonewright_registry::txt::{TxtConfig, TxtRegistry};

use crate::hurry::hurried;
use crate::sim::{World, after, rest};

/// How much faster than real time the clock goes.
const FASTER: u32 = 100;
/// Objects at the start; those of the first ten go, one a minute, and as many come.
const OBJECTS: usize = 20;
/// The longest pause that the service asks for, and the longest back-off of a zone.
const OVER: Duration = Duration::from_secs(300 + 76);

/// A service, and a zone `example` in it.
pub(crate) trait Throttled {
    /// From now on every request is refused for too many of them, or none.
    fn throttle(&self, on: bool);

    /// How many requests came.
    fn requests(&self) -> usize;

    /// The names that have an address, in order.
    fn names(&self) -> Vec<String>;
}

/// Plays it; the number of requests in the ten minutes.
pub(crate) async fn nothing_is_lost(service: &impl Throttled, provider: Arc<dyn Provider>) -> usize {
    hurried(FASTER, play(service, provider)).await
}

async fn play(service: &impl Throttled, provider: Arc<dyn Provider>) -> usize {
    let world = World::new(&[]);
    let put = |at: usize| world.cluster.put(&format!("s{at}"), &[&format!("n{at}.example A 192.0.2.1")]);
    (0..OBJECTS).for_each(put);
    let registry = TxtRegistry::new(TxtConfig { prefix: "claims.".to_owned(), ..TxtConfig::new("me").unwrap() });
    let instance = Instance::new(InstanceId::from("one"), provider, Arc::new(registry.unwrap()));
    let engine = world.start_instances(vec![instance]).await;
    let is_there = |names: &[String], at: usize| names.contains(&format!("n{at}.example"));
    // All sources are heard first, and a first batch may be followed by others.
    let outcome = after(&engine, Duration::from_mins(2)).await;
    assert_eq!((outcome.failures(), service.names().len()), (vec![], OBJECTS + 1));

    service.throttle(true);
    let before = service.requests();
    for minute in 0..10 {
        put(OBJECTS + minute);
        world.cluster.delete(&format!("s{minute}"));
        tokio::time::sleep(Duration::from_mins(1)).await;
        assert!(engine.health().is_live());
        let names = service.names();
        assert!((0..OBJECTS).all(|at| is_there(&names, at)), "nothing is written, and nothing goes: {names:?}");
    }
    let requests = service.requests() - before;
    assert!(!engine.health().is_ready(), "what cannot be served is no secret");

    service.throttle(false);
    tokio::time::sleep(OVER).await;
    let outcome = rest(&engine).await;
    let names = service.names();
    assert_eq!((outcome.failures(), names.len()), (vec![], OBJECTS + 1), "{names:?}");
    assert!((10..OBJECTS + 10).all(|at| is_there(&names, at)), "{names:?}");
    assert!(names.contains(&"foreign.example".to_owned()) && engine.health().is_ready());
    engine.stop().await;
    requests
}
