//! The suite that every provider passes, against the service on loopback: on a public zone, beside a private one of its name.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

#[path = "../../conformance/tests/shared/at_fake.rs"]
mod at_fake;
mod common;

use async_trait::async_trait;
use at_fake::at_fake;
use zonewright_conformance::provider::{Fault, Harness, Service};
use zonewright_core::provider::Provider;
use zonewright_core::zone::Visibility;
use zonewright_core::{RecordSet, Zone};
use zonewright_fakes::clouddns as fake;
use zonewright_provider_clouddns::CloudDns;

struct Tried {
    service: fake::CloudDns,
    provider: CloudDns,
    public: Zone,
    private: Zone,
    /// The numbers of both.
    ids: [String; 2],
}

/// The service's locations are its regions.
const LOCATIONS: [&str; 2] = ["europe-west1", "us-east1"];

/// One of the two zones.
struct Site<'a> {
    tried: &'a Tried,
    zone: &'a Zone,
    id: &'a str,
}

#[async_trait]
impl Harness for Site<'_> {
    fn provider(&self) -> &dyn Provider {
        &self.tried.provider
    }

    fn zone(&self) -> &Zone {
        self.zone
    }

    async fn insert(&self, set: RecordSet) {
        self.tried.service.put(self.id, common::theirs(&set));
    }

    async fn dump(&self) -> Vec<RecordSet> {
        common::dump(&self.tried.service, self.id)
    }

    fn locations(&self) -> [&'static str; 2] {
        LOCATIONS
    }
}

#[async_trait]
impl Harness for Tried {
    fn provider(&self) -> &dyn Provider {
        &self.provider
    }

    fn zone(&self) -> &Zone {
        &self.public
    }

    async fn insert(&self, set: RecordSet) {
        self.public().insert(set).await;
    }

    async fn dump(&self) -> Vec<RecordSet> {
        self.public().dump().await
    }

    fn locations(&self) -> [&'static str; 2] {
        LOCATIONS
    }

    fn service(&self) -> Option<&dyn Service> {
        Some(self)
    }

    fn twin(&self) -> Option<Box<dyn Harness + '_>> {
        let [_, id] = &self.ids;
        Some(Box::new(Site { tried: self, zone: &self.private, id }))
    }
}

impl Tried {
    fn public(&self) -> Site<'_> {
        let [id, _] = &self.ids;
        Site { tried: self, zone: &self.public, id }
    }
}

impl Service for Tried {
    fn requests(&self) -> usize {
        self.service.requests()
    }

    fn fail(&self, skip: usize, fault: Fault, times: usize) -> bool {
        let fault = match fault {
            // Without `Retry-After`, as the service throttles most often: `tests/service/requests.rs` has the other.
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
        self.service.drop_zone(self.public().id);
        true
    }

    /// The change itself states what stands.
    fn requests_of_a_change(&self) -> usize {
        1
    }

    fn secrets(&self) -> Vec<String> {
        vec![fake::TOKEN.to_owned()]
    }
}

/// Two sets a page: every listing has pages.
async fn harness() -> Option<Tried> {
    let service = fake::CloudDns::start();
    service.set_page(2);
    let public = service.add_zone(common::PROJECT, "public-zone", "example.test.", fake::Kind::Public);
    let private = service.add_zone(common::PROJECT, "private-zone", "example.test.", fake::Kind::Private);
    let address = fake::RecordSet {
        name: "existing.example.test.".to_owned(),
        kind: "A".to_owned(),
        ttl: 300,
        rrdatas: vec!["192.0.2.77".to_owned()],
        routing: None,
    };
    let ids = [public, private];
    for id in &ids {
        service.put(id, address.clone());
    }
    let provider = common::provider(&service, &[]);
    let zones = provider.zones().await.unwrap();
    let zone = |visibility| zones.iter().find(|zone| zone.visibility == visibility).cloned().unwrap();
    let (public, private) = (zone(Visibility::Public), zone(Visibility::Private));
    Some(Tried { service, provider, public, private, ids })
}

zonewright_conformance::provider_suite!(harness);
