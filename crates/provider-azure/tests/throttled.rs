//! The quota of the principal is used up by another client for ten minutes.

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

use common::{GROUP, SUBSCRIPTION};
use serde_json::json;
use ten_minutes::Throttled;
use zonewright_fakes::azure::{AzureDns as Service, Fault, Kind, RecordSet, TOKEN};
use zonewright_http::Patience;
use zonewright_provider_azure::AzureDns;

struct Site {
    service: Service,
    zone: String,
}

impl Throttled for Site {
    /// As Resource Manager: everything is refused for five minutes.
    fn throttle(&self, on: bool) {
        self.service.set_retry_after(300);
        self.service.fail_any(0, Fault::Throttled, if on { usize::MAX } else { 0 });
    }

    fn requests(&self) -> usize {
        self.service.requests()
    }

    fn names(&self) -> Vec<String> {
        let sets = self.service.sets(&self.zone).into_iter();
        sets.filter(|set| set.kind == "A").map(|set| format!("{}.example", set.name)).collect()
    }
}

/// What it says of the time to wait holds for all requests of a kind; reads and writes are counted apart.
async fn nothing_is_lost(kind: Kind) {
    let service = Service::start();
    let zone = service.add_zone(kind, SUBSCRIPTION, GROUP, "example");
    service.put(&zone, RecordSet::new("foreign", "A", 300, vec![json!({ "ipv4Address": "198.51.100.1" })]));
    let config = common::config(&[("accessToken", TOKEN), ("endpoint", &service.url())], &[]);
    // The clock goes faster than the service answers.
    config.shared.get::<Patience>().set(Duration::from_mins(2), Duration::from_millis(200));
    let provider = AzureDns::with_variables(&config, kind == Kind::Private, &|_| None).unwrap();
    let site = Site { service, zone };
    let requests = ten_minutes::nothing_is_lost(&site, Arc::new(provider)).await;
    assert!((1..=40).contains(&requests), "{requests} requests while none was answered");
}

#[tokio::test]
async fn ten_minutes_without_quota_lose_nothing_in_a_public_zone() {
    nothing_is_lost(Kind::Public).await;
}

#[tokio::test]
async fn ten_minutes_without_quota_lose_nothing_in_a_private_zone() {
    nothing_is_lost(Kind::Private).await;
}
