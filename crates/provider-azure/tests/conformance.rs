//! The suite that every provider passes, against the service on loopback: on a public zone, and on a private one of its name.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

#[path = "../../conformance/tests/shared/at_fake.rs"]
mod at_fake;
mod common;

use async_trait::async_trait;
use at_fake::at_fake;
use zonewright_conformance::provider::{Fault, Harness, Service};
use zonewright_core::provider::Provider;
use zonewright_core::{RecordSet, Zone};
use zonewright_fakes::azure as fake;
use zonewright_provider_azure::AzureDns;

struct Tried {
    service: fake::AzureDns,
    provider: AzureDns,
    zone: Zone,
    id: String,
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
        self.service.put(&self.id, common::theirs(&set, common::ZONE));
    }

    async fn dump(&self) -> Vec<RecordSet> {
        common::dump(&self.service, &self.id, common::ZONE)
    }

    fn service(&self) -> Option<&dyn Service> {
        Some(self)
    }
}

impl Service for Tried {
    fn requests(&self) -> usize {
        self.service.requests()
    }

    fn fail(&self, skip: usize, fault: Fault, times: usize) -> bool {
        let fault = match fault {
            // Without `Retry-After`, as the DNS service does: `tests/service/requests.rs` has the other.
            Fault::Throttled => fake::Fault::RateLimited,
            // Requests carry no time.
            Fault::Skewed => return false,
            other => at_fake(other),
        };
        self.service.fail_any(skip, fault, times);
        true
    }

    fn heal(&self) {
        self.service.fail_any(0, fake::Fault::Broken, 0);
    }

    fn drop_zone(&self) -> bool {
        self.service.drop_zone(&self.id);
        true
    }

    fn secrets(&self) -> Vec<String> {
        vec![fake::TOKEN.to_owned()]
    }
}

/// Two sets a page: every listing has pages. Zones of both kinds have the name.
async fn on(kind: fake::Kind) -> Option<Tried> {
    let service = fake::AzureDns::start();
    service.set_page(2);
    let [id, other] = match kind {
        fake::Kind::Public => [fake::Kind::Public, fake::Kind::Private],
        fake::Kind::Private => [fake::Kind::Private, fake::Kind::Public],
    }
    .map(|kind| service.add_zone(kind, common::SUBSCRIPTION, common::GROUP, common::ZONE));
    let address = serde_json::json!({ "ipv4Address": "192.0.2.77" });
    for id in [&id, &other] {
        service.put(id, fake::RecordSet::new("existing", "A", 300, vec![address.clone()]));
    }
    let provider = common::provider(&service, kind, &[]);
    let zone = provider.zones().await.unwrap().pop().unwrap();
    Some(Tried { service, provider, zone, id })
}

mod public {
    async fn harness() -> Option<super::Tried> {
        super::on(zonewright_fakes::azure::Kind::Public).await
    }

    zonewright_conformance::provider_suite!(harness);
}

mod private {
    async fn harness() -> Option<super::Tried> {
        super::on(zonewright_fakes::azure::Kind::Private).await
    }

    zonewright_conformance::provider_suite!(harness);
}
