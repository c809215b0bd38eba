//! Which zones of a project a name goes to, and by which ids they are chosen.

use crate::common::{PROJECT, provider};
use zonewright_core::DnsName;
use zonewright_core::provider::Provider as _;
use zonewright_core::zone::{ZoneId, route};
use zonewright_core::zone_rules::ZoneRules;
use zonewright_fakes::clouddns::{CloudDns as Service, Kind};

/// What is within a private zone is not published in a shorter public one.
#[tokio::test]
async fn what_is_within_a_private_zone_is_not_for_the_public() {
    let service = Service::start();
    service.add_zone(PROJECT, "shop", "example.com.", Kind::Public);
    service.add_zone(PROJECT, "shop-inside", "example.com.", Kind::Private);
    service.add_zone(PROJECT, "internal", "internal.example.com.", Kind::Private);
    let provider = provider(&service, &[]);
    let zones = provider.zones().await.unwrap();
    let rule = provider.capability(None).zone_rule;
    for (name, expected) in
        [("db.internal.example.com", &["internal", "shop-inside"][..]), ("www.example.com", &["shop", "shop-inside"])]
    {
        let routed = route(rule, &zones, &DnsName::parse(name).unwrap());
        assert_eq!(routed.iter().map(|zone| zone.key.zone.as_str()).collect::<Vec<_>>(), expected, "{name}");
    }
}

/// dns-controller knows a zone by its number.
#[tokio::test]
async fn a_rule_chooses_a_zone_by_its_number_or_its_name() {
    let service = Service::start();
    let number = service.add_zone(PROJECT, "shop", "example.com.", Kind::Public);
    service.add_zone(PROJECT, "twin", "example.com.", Kind::Public);
    let provider = provider(&service, &[]);
    let zones = provider.zones().await.unwrap();
    let alone = provider.zone(&ZoneId::from("shop")).await.unwrap();
    assert!(alone.as_ref().is_some_and(|zone| zones.contains(zone)), "{alone:?}");
    for rule in [format!("*/{number}"), format!("example.com/{number}"), "*/shop".to_owned()] {
        let managed = ZoneRules::parse([rule.as_str()]).unwrap().select(&zones).managed;
        assert_eq!(managed, [alone.clone().unwrap()], "{rule}");
    }
}
