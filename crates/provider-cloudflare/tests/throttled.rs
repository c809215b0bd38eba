//! The quota of the account is used up by another client for ten minutes.

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

use ten_minutes::Throttled;
use zonewright_fakes::cloudflare::{Cloudflare as Service, Fault, Plan, Record, TOKEN};
use zonewright_http::Patience;
use zonewright_provider_cloudflare::Cloudflare;

struct Site {
    service: Service,
    zone: String,
}

impl Throttled for Site {
    /// As the real service: everything is refused for five minutes.
    fn throttle(&self, on: bool) {
        self.service.set_retry_after(300);
        self.service.fail_any(0, Fault::Throttled, if on { usize::MAX } else { 0 });
    }

    fn requests(&self) -> usize {
        self.service.requests()
    }

    fn names(&self) -> Vec<String> {
        let records = self.service.records(&self.zone).into_iter();
        records.filter(|record| record.kind == "A").map(|record| record.name).collect()
    }
}

/// The account pauses for as long as the service asked, whatever else is to be done: what is under way when it begins, and one request
/// when each pause ends, are refused (4 requests, as measured).
#[tokio::test]
async fn ten_minutes_without_quota_lose_nothing_and_cost_little() {
    let service = Service::start();
    let zone = service.add_zone("example", Plan::Pro);
    service.put(&zone, Record::new("foreign.example", "A", "198.51.100.1"));
    let config = common::config(&service.url(), TOKEN, &[]);
    // The clock goes faster than the service answers.
    config.shared.get::<Patience>().set(Duration::from_mins(2), Duration::from_millis(200));
    let provider = Cloudflare::new(&config).unwrap();
    let site = Site { service, zone };
    let requests = ten_minutes::nothing_is_lost(&site, Arc::new(provider)).await;
    assert!((1..=8).contains(&requests), "{requests} requests while none was answered");
}
