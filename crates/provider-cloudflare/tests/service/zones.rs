//! Which zones are served.

use crate::common::{config, list, provider};
use zonewright_core::catalog::FlagValue;
use zonewright_core::error::{ErrorKind, Result};
use zonewright_core::provider::Provider;
use zonewright_core::zone::ZoneId;
use zonewright_fakes::cloudflare::{Cloudflare as Service, Fault, Permission, Plan};
use zonewright_provider_cloudflare::Cloudflare;

async fn names(provider: &Cloudflare) -> Result<Vec<String>> {
    let mut names: Vec<String> = provider.zones().await?.iter().map(|zone| zone.name.to_string()).collect();
    names.sort();
    Ok(names)
}

#[tokio::test]
async fn zones_are_selected_by_name_or_by_id() {
    let service = Service::start();
    service.set_page(2);
    let ids: Vec<String> =
        ["a.test", "b.test", "c.test", "d.example"].map(|name| service.add_zone(name, Plan::Free)).into();
    let names = async |given: &[(&'static str, FlagValue)]| names(&provider(&service, given)).await;
    assert_eq!(names(&[]).await.unwrap(), ["a.test", "b.test", "c.test", "d.example"]);
    assert_eq!(names(&[("domain-filter", list(&["test"]))]).await.unwrap(), ["a.test", "b.test", "c.test"]);
    // As external-dns has it: ids go before names.
    let by_id = [("zone-id-filter", list(&[&ids[3], &"0".repeat(32)])), ("domain-filter", list(&["test"]))];
    assert_eq!(names(&by_id).await.unwrap(), ["d.example"]);
    service.fail_after("ListZones", 1, Fault::Denied, 1);
    assert_eq!(names(&[]).await.unwrap_err().kind, ErrorKind::Unauthorized, "no part of a list is a list");
}

/// A domain that moves to another account: its zone there is pending until the registrar delegates to it, and the old one has moved
/// then. Records of the one that is not served are left alone.
#[tokio::test]
async fn of_two_zones_of_a_name_the_active_one_is_served() {
    let service = Service::start();
    let mut ids = [(); 2].map(|()| service.add_zone("example.test", Plan::Free));
    ids.sort();
    let other = service.add_zone("other.test", Plan::Free);
    service.set_active(&other, false);
    let key = |id: &String| ZoneId::from(id.as_str());
    for given in [vec![], vec![("zone-id-filter", list(&[&ids[0], &ids[1], &ids[0], &other]))]] {
        let provider = provider(&service, &given);
        for (active, left_out) in [(1, 0), (0, 1)] {
            service.set_active(&ids[left_out], false);
            service.set_active(&ids[active], true);
            let zones: Vec<ZoneId> = provider.zones().await.unwrap().into_iter().map(|zone| zone.key.zone).collect();
            assert!(
                zones.len() == 2 && zones.contains(&key(&ids[active])) && zones.contains(&key(&other)),
                "{zones:?}"
            );
            assert!(
                provider.zone(&key(&ids[left_out])).await.unwrap().is_none(),
                "it is not kept as if it were served"
            );
            assert!(provider.zone(&key(&ids[active])).await.unwrap().is_some());
            assert!(provider.zone(&key(&other)).await.unwrap().is_some(), "alone it is served whatever its status is");
        }
        // As long as neither is active, or both are, it cannot be told which one is meant.
        for both in [false, true] {
            for id in &ids {
                service.set_active(id, both);
            }
            assert_eq!(provider.zones().await.unwrap().len(), 3);
            assert!(provider.zone(&key(&ids[0])).await.unwrap().is_some());
        }
    }
    // Whoever names an id means that one.
    service.set_active(&ids[0], false);
    let provider = provider(&service, &[("zone-id-filter", list(&[&ids[0]]))]);
    assert_eq!(provider.zones().await.unwrap().pop().unwrap().key.zone, key(&ids[0]));
    assert!(provider.zone(&key(&ids[0])).await.unwrap().is_some());
}

#[tokio::test]
async fn an_id_that_the_token_does_not_reach_stops_no_other_zone() {
    let service = Service::start();
    let [a, b] = ["a.test", "b.test"].map(|name| service.add_zone(name, Plan::Free));
    let token = "s".repeat(40);
    service.allow_token(&token, &[&a], &[Permission::ZoneRead, Permission::DnsWrite]);
    let of = |ids: &[&str]| Cloudflare::new(&config(&service.url(), &token, &[("zone-id-filter", list(ids))])).unwrap();
    for ids in [[&*a, &*b], [&*b, &*a]] {
        let provider = of(&ids);
        assert_eq!(names(&provider).await.unwrap(), ["a.test"]);
        let error = provider.zone(&ZoneId::from(b.as_str())).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Unauthorized, "it is not known to be gone");
    }
    let error = names(&of(&[&b])).await.unwrap_err();
    assert!(error.context.contains("Zone / Zone / Read"), "{error}");
}

/// A token for some zones does not see the others.
#[tokio::test]
async fn a_zone_out_of_reach_is_none() {
    let service = Service::start();
    let ours = service.add_zone("ours.test", Plan::Free);
    let other = service.add_zone("other.test", Plan::Free);
    let token = "s".repeat(40);
    service.allow_token(&token, &[&ours], &[Permission::ZoneRead, Permission::DnsWrite]);
    let provider = Cloudflare::new(&config(&service.url(), &token, &[])).unwrap();
    assert_eq!(provider.zones().await.unwrap().len(), 1);
    assert!(provider.zone(&ZoneId::from(other.as_str())).await.unwrap().is_none());
}
