//! The suite that every provider passes, against the service on loopback: on a free zone, and on one of an enterprise. Faults are tried
//! on the free one alone: no plan fails otherwise than another.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

#[path = "../../conformance/tests/shared/at_fake.rs"]
mod at_fake;
mod common;

use async_trait::async_trait;
use at_fake::at_fake;
use zonewright_conformance::provider::{Fault, Harness, Service};
use zonewright_core::provider::Provider;
use zonewright_core::{RecordSet, Zone};
use zonewright_fakes::cloudflare as fake;
use zonewright_provider_cloudflare::Cloudflare;

struct Tried {
    service: fake::Cloudflare,
    provider: Cloudflare,
    zone: Zone,
    disturbed: bool,
}

#[async_trait]
impl Harness for Tried {
    fn provider(&self) -> &dyn Provider {
        &self.provider
    }

    fn zone(&self) -> &Zone {
        &self.zone
    }

    async fn insert(&self, set: RecordSet) {
        for record in common::theirs(&set) {
            self.service.put(self.zone.key.zone.as_str(), record);
        }
    }

    async fn dump(&self) -> Vec<RecordSet> {
        common::dump(&self.service, self.zone.key.zone.as_str())
    }

    fn service(&self) -> Option<&dyn Service> {
        self.disturbed.then_some(self as &dyn Service)
    }
}

impl Service for Tried {
    fn requests(&self) -> usize {
        self.service.requests()
    }

    fn fail(&self, skip: usize, fault: Fault, times: usize) -> bool {
        // Requests carry no time.
        if fault == Fault::Skewed {
            return false;
        }
        self.service.fail_any(skip, at_fake(fault), times);
        true
    }

    fn heal(&self) {
        self.service.fail_any(0, fake::Fault::Broken, 0);
    }

    fn drop_zone(&self) -> bool {
        self.service.drop_zone(self.zone.key.zone.as_str());
        true
    }

    /// The service knows no conditions: the names of record and claim are read, in pages of two, and then the batch goes.
    fn requests_of_a_change(&self) -> usize {
        3
    }

    fn secrets(&self) -> Vec<String> {
        vec![fake::TOKEN.to_owned()]
    }
}

/// Two records a page: every listing has pages.
async fn on(plan: fake::Plan) -> Option<Tried> {
    let service = fake::Cloudflare::start();
    service.set_page(2);
    service.set_retry_after(0);
    let id = service.add_zone("example.test", plan);
    // The suite writes more names than a free zone may have.
    service.set_record_limit(&id, 1_000);
    service.put(&id, fake::Record::new("existing.example.test", "A", "192.0.2.77").with_ttl(300));
    let provider = common::provider(&service, &[]);
    let zone = provider.zones().await.unwrap().pop().unwrap();
    Some(Tried { service, provider, zone, disturbed: plan == fake::Plan::Free })
}

mod free {
    async fn harness() -> Option<super::Tried> {
        super::on(zonewright_fakes::cloudflare::Plan::Free).await
    }

    zonewright_conformance::provider_suite!(harness);
}

mod enterprise {
    async fn harness() -> Option<super::Tried> {
        super::on(zonewright_fakes::cloudflare::Plan::Enterprise).await
    }

    zonewright_conformance::provider_suite!(harness);
}
