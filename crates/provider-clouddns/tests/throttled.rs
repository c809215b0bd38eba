//! The quota of the project is used up by another client for ten minutes.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod common;
#[path = "../../engine/tests/shared/hurry.rs"]
mod hurry;
// The simulated world of the engine's own tests, of which only a part is needed.
#[allow(dead_code, unused_imports, reason = "shared with the tests of the engine")]
#[path = "../../engine/tests/engine/sim/mod.rs"]
mod sim;
#[path = "../../engine/tests/shared/ten_minutes.rs"]
mod ten_minutes;

use std::sync::Arc;
use std::time::Duration;

use common::PROJECT;
use ten_minutes::Throttled;
use zonewright_fakes::clouddns::{CloudDns as Service, Fault, Kind, RecordSet, TOKEN};
use zonewright_http::Patience;
use zonewright_provider_clouddns::CloudDns;

struct Site {
    service: Service,
    zone: String,
}

impl Throttled for Site {
    /// As the real service: without a time to wait.
    fn throttle(&self, on: bool) {
        self.service.fail_any(0, Fault::RateLimited, if on { usize::MAX } else { 0 });
    }

    fn requests(&self) -> usize {
        self.service.requests()
    }

    fn names(&self) -> Vec<String> {
        let sets = self.service.sets(&self.zone).into_iter();
        sets.filter(|set| set.kind == "A").map(|set| set.name.trim_end_matches('.').to_owned()).collect()
    }
}

/// Nobody says when to come back: the pauses grow, up to that of the zone (288 requests, as measured: one in two seconds, where the
/// project has ten a second).
#[tokio::test]
async fn ten_minutes_without_quota_lose_nothing_and_cost_little() {
    let service = Service::start();
    let zone = service.add_zone(PROJECT, "example-zone", "example.", Kind::Public);
    service.put(&zone, RecordSet::new("foreign.example.", "A", 300, &["198.51.100.1"]));
    let config = common::config(&service.url(), TOKEN, &[]);
    // The clock goes faster than the service answers.
    config.shared.get::<Patience>().set(Duration::from_mins(2), Duration::from_millis(200));
    let provider = CloudDns::new(&config).unwrap();
    let site = Site { service, zone };
    let requests = ten_minutes::nothing_is_lost(&site, Arc::new(provider)).await;
    assert!((10..=400).contains(&requests), "{requests} requests while none was answered");
}
