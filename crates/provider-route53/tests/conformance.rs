//! The suite that every provider passes, against the service on loopback.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

#[path = "../../conformance/tests/shared/at_fake.rs"]
mod at_fake;
mod common;

use async_trait::async_trait;
use at_fake::at_fake;
use zonewright_conformance::provider::{Fault, Harness, Service};
use zonewright_core::catalog::FlagValue;
use zonewright_core::provider::Provider;
use zonewright_core::record::AliasTarget;
use zonewright_core::zone::Visibility;
use zonewright_core::{RecordSet, Zone};
use zonewright_fakes::route53 as fake;
use zonewright_provider_route53::Route53;

struct Tried {
    service: fake::Route53,
    provider: Route53,
    public: Zone,
    private: Zone,
}

/// One of the two zones.
struct Site<'a> {
    tried: &'a Tried,
    zone: &'a Zone,
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
        self.tried.service.put(self.zone.key.zone.as_str(), common::theirs(&set));
    }

    async fn dump(&self) -> Vec<RecordSet> {
        common::dump(&self.tried.service, self.zone.key.zone.as_str())
    }

    fn alias_targets(&self) -> [AliasTarget; 2] {
        ["one-1", "two-2"].map(|balancer| AliasTarget {
            target: format!("{balancer}.eu-west-1.elb.amazonaws.com").into(),
            zone: Some("Z32O12XQLNTSW2".into()),
            evaluate_health: false,
        })
    }
}

/// The public zone.
#[async_trait]
impl Harness for Tried {
    fn provider(&self) -> &dyn Provider {
        &self.provider
    }

    fn zone(&self) -> &Zone {
        &self.public
    }

    async fn insert(&self, set: RecordSet) {
        self.site(&self.public).insert(set).await;
    }

    async fn dump(&self) -> Vec<RecordSet> {
        self.site(&self.public).dump().await
    }

    fn alias_targets(&self) -> [AliasTarget; 2] {
        self.site(&self.public).alias_targets()
    }

    fn service(&self) -> Option<&dyn Service> {
        Some(self)
    }

    fn twin(&self) -> Option<Box<dyn Harness + '_>> {
        Some(Box::new(self.site(&self.private)))
    }
}

impl Tried {
    fn site<'a>(&'a self, zone: &'a Zone) -> Site<'a> {
        Site { tried: self, zone }
    }
}

impl Service for Tried {
    fn requests(&self) -> usize {
        self.service.requests()
    }

    fn fail(&self, skip: usize, fault: Fault, times: usize) -> bool {
        self.service.fail_any(skip, at_fake(fault), times);
        true
    }

    fn heal(&self) {
        self.service.fail_any(0, fake::Fault::Broken, 0);
    }

    fn drop_zone(&self) -> bool {
        self.service.drop_zone(self.public.key.zone.as_str());
        true
    }

    /// A batch carries what it demands of the zone.
    fn requests_of_a_change(&self) -> usize {
        1
    }

    fn secrets(&self) -> Vec<String> {
        vec![common::SECRET.to_owned()]
    }
}

/// Two sets a page: every listing has pages. Every request is made once: the suite sees each failure.
async fn harness() -> Option<Tried> {
    let service = fake::Route53::start();
    service.set_page(2);
    let id = service.add_zone(common::ACCOUNT, "example.test", false, &[]);
    service.add_zone(common::ACCOUNT, "example.test", true, &[]);
    service.put(&id, fake::RecordSet::new("existing.example.test.", "A", 300, &["192.0.2.77"]));
    let provider = common::provider(&service, &[("aws-api-retries", FlagValue::Int(1))]);
    let mut zones = provider.zones().await.unwrap();
    zones.sort_by_key(|zone| zone.visibility == Visibility::Private);
    let [public, private] = zones.try_into().unwrap();
    Some(Tried { service, provider, public, private })
}

zonewright_conformance::provider_suite!(harness);
