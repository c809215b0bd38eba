//! The provider suite on a provider of the kind that clouds are: in pages, with aliases or flattened CNAMEs, and weights. It
//! passes, and each fault is found by the case that is there for it.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use async_trait::async_trait;
use futures::FutureExt as _;
use zonewright_conformance::cloud::{Cloud, CloudAccount, CloudFault};
use zonewright_conformance::provider::{CASES, Harness, Service};
use zonewright_core::provider::Provider;
use zonewright_core::{DnsName, RecordSet, Zone};

struct Site(Cloud);

#[async_trait]
impl Harness for Site {
    fn provider(&self) -> &dyn Provider {
        &self.0
    }

    fn zone(&self) -> &Zone {
        self.0.its_zone()
    }

    async fn insert(&self, set: RecordSet) {
        self.0.insert(set);
    }

    async fn dump(&self) -> Vec<RecordSet> {
        self.0.dump()
    }

    fn service(&self) -> Option<&dyn Service> {
        Some(self.0.its_account())
    }

    fn twin(&self) -> Option<Box<dyn Harness + '_>> {
        self.0.its_twin().map(|twin| Box::new(Twin { site: self, twin }) as Box<dyn Harness>)
    }
}

/// The second zone of a site.
struct Twin<'a> {
    site: &'a Site,
    twin: &'a Cloud,
}

#[async_trait]
impl Harness for Twin<'_> {
    fn provider(&self) -> &dyn Provider {
        &self.site.0
    }

    fn zone(&self) -> &Zone {
        self.twin.its_zone()
    }

    async fn insert(&self, set: RecordSet) {
        self.twin.insert(set);
    }

    async fn dump(&self) -> Vec<RecordSet> {
        self.twin.dump()
    }
}

fn cloud() -> Cloud {
    Cloud::new("one", &DnsName::parse("example.test").unwrap(), &Arc::new(CloudAccount::default())).with_twin()
}

async fn with_aliases() -> Option<Site> {
    Some(Site(cloud()))
}

async fn flattening() -> Option<Site> {
    Some(Site(cloud().flattening()))
}

async fn in_set() -> Option<Site> {
    Some(Site(cloud().in_set()))
}

mod shared {
    zonewright_conformance::provider_suite!(super::in_set);
}

mod aliases {
    zonewright_conformance::provider_suite!(super::with_aliases);
}

mod flattened {
    zonewright_conformance::provider_suite!(super::flattening);
}

/// The cases that the embedded server has no fault for, with the fault that each finds here.
const FAULTS: &[(CloudFault, bool, &str)] = &[
    (CloudFault::TakesTtlsAsStated, false, "an_unset_ttl_is_the_default"),
    (CloudFault::ForgetsPages, false, "a_page_can_be_asked_again"),
    (CloudFault::KeepsWeights, false, "weights"),
    (CloudFault::RefusesExchange, false, "a_name_changes_between_simple_and_routed"),
    (CloudFault::KeepsAliases, false, "aliases"),
    (CloudFault::KeepsItems, false, "items_share_one_record_set"),
    (CloudFault::SharesPlaces, false, "items_of_one_place_are_refused"),
    (CloudFault::StrictApex, true, "a_flattened_cname_stands_at_the_apex"),
    (CloudFault::HoldsLess, false, "calls_hold_what_is_declared"),
    (CloudFault::OneZone, false, "zones_of_one_name_are_two"),
    (CloudFault::IgnoresThrottling, false, "throttled_at_any_request"),
    (CloudFault::EmptyIfRefused, false, "refused_at_any_request"),
    (CloudFault::ShowsKeys, false, "not_carried_out_at_any_request"),
    (CloudFault::LogsKeys, false, "not_carried_out_at_any_request"),
    (CloudFault::SaysNotSent, false, "answer_lost_at_any_request"),
    (CloudFault::EmptyIfUnreadable, false, "unreadable_at_any_request"),
    (CloudFault::EndsCircles, false, "an_endless_listing_is_an_error"),
    (CloudFault::Insists, false, "a_throttling_service_is_left_alone"),
    (CloudFault::ReadsTheZone, false, "a_change_is_few_requests"),
    (CloudFault::EmptyIfGone, false, "a_zone_that_went_is_an_error"),
];

#[tokio::test]
async fn every_fault_is_found_by_the_case_that_is_there_for_it() {
    for &(fault, flattening, case) in FAULTS {
        let cloud = cloud().broken(fault);
        let shares = matches!(fault, CloudFault::KeepsItems | CloudFault::SharesPlaces);
        let cloud = if shares { cloud.in_set() } else { cloud };
        let site = Site(if flattening { cloud.flattening() } else { cloud });
        let (name, run) = CASES.iter().find(|(name, _)| *name == case).unwrap();
        let ended = AssertUnwindSafe(run(&site)).catch_unwind().await;
        assert!(ended.is_err(), "{name} passed a provider with fault {fault:?}");
    }
}
