//! Zones of two accounts, at the service on loopback.

use zonewright_core::provider::Listing;
use zonewright_fakes::route53::{Fault, Route53 as Fake};

use super::*;
use crate::exact::Exact;
use crate::records;
use crate::service::tests::at;

const ONE: (&str, &str) = ("AKIDFAKE", "000000000001");
const OTHER: (&str, &str) = ("AKIDOTHER", "000000000002");

/// A zone in each of two accounts, and the zones of both that have a tag.
struct Two {
    service: Fake,
    zones: Zones,
    /// The one of the second account.
    theirs: ZoneId,
}

impl Two {
    async fn start() -> Self {
        let service = Fake::start();
        service.allow_key(OTHER.0, OTHER.1);
        service.add_zone(ONE.1, "one.test", false, &[("team", "dns")]);
        let theirs = ZoneId::from(service.add_zone(OTHER.1, "other.test", false, &[("team", "dns")]).as_str());
        let select = Select { tags: [("team".to_owned(), None)].into(), ..Select::default() };
        let accounts = [ONE, OTHER].map(|(key, _)| at(&service.url(), key)).to_vec();
        let zones = Zones::new(InstanceId::from("aws"), accounts, BTreeMap::new(), select, Duration::ZERO);
        assert_eq!(zones.list().await.unwrap().len(), 2);
        Self { service, zones, theirs }
    }

    async fn list(&self) -> Vec<String> {
        self.zones.list().await.unwrap().iter().map(|zone| zone.name.to_string()).collect()
    }

    /// Whether the records of a zone can be read.
    async fn can_be_read(&self, zone: &Zone) -> bool {
        let service = self.zones.service(&zone.key.zone).unwrap();
        matches!(records::page(&service, zone, None, &Exact::default()).await, Ok(Listing::Full { .. }))
    }
}

#[tokio::test]
async fn a_zone_that_a_list_leaves_out_stays_with_its_account() {
    let two = Two::start().await;
    two.service.leave_out(two.theirs.as_str());
    assert_eq!(two.list().await, ["one.test"]);
    let zone = two.zones.one(&two.theirs).await.unwrap().expect("it is there");
    assert!(two.can_be_read(&zone).await);
    // Also where the first account cannot be asked.
    two.service.fail("GetHostedZone", Fault::Broken, 1);
    assert!(
        two.zones.one(&two.theirs).await.is_err(),
        "its own account does not answer, and the other one may not say"
    );
    assert_eq!(two.zones.one(&two.theirs).await.unwrap(), Some(zone));
}

#[tokio::test]
async fn a_zone_of_another_account_that_is_not_selected_any_more_is_known_to_be_so() {
    let two = Two::start().await;
    let zone = two.zones.one(&two.theirs).await.unwrap().expect("it is there");
    two.service.set_tags(two.theirs.as_str(), &[]);
    assert_eq!(two.list().await, ["one.test"]);
    assert_eq!(two.zones.one(&two.theirs).await.unwrap(), None);
    assert!(two.can_be_read(&zone).await, "what is under way there goes on");
}

/// A process that has just begun asks each account for a zone that it remembers.
#[tokio::test]
async fn a_zone_is_found_in_the_account_that_has_it() {
    let two = Two::start().await;
    two.zones.serving.lock().unwrap().clear();
    let zone = two.zones.one(&two.theirs).await.unwrap().expect("the second account has it");
    assert!(two.can_be_read(&zone).await);
}

#[tokio::test]
async fn a_zone_that_is_gone_is_forgotten() {
    let two = Two::start().await;
    two.service.drop_zone(two.theirs.as_str());
    assert_eq!(two.list().await, ["one.test"]);
    assert_eq!(two.zones.one(&two.theirs).await.unwrap(), None);
    assert!(!two.zones.serving.lock().unwrap().contains_key(&two.theirs));
}
