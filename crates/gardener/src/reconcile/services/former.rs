//! Zones that the object's mark names, and that the present spec or Secret lead away from.

use zonewright_cluster::PatchTarget;
use zonewright_fakes::azure;
use zonewright_fakes::cloudflare::{Permission, Plan};

use super::super::seed::Seed;
use super::*;
use crate::types::ABANDON;

/// The key of another account at Amazon.
const OTHER_KEY: &str = "AKIDOTHER";
const OTHER_ACCOUNT: &str = "000000000002";

/// An object whose zone and Secret have moved to another account, whose key may not see the former zone; with that zone.
async fn moved_to_another_account() -> (Site, Working, String) {
    let site = Site::new(Cloud::Aws, PATIENT);
    let (service, _) = site.aws();
    service.allow_key(OTHER_KEY, OTHER_ACCOUNT);
    let there = service.add_zone(OTHER_ACCOUNT, "shop.test", false, &[]);
    site.create("dns", "a", "web A 192.0.2.1");
    let working = working(&site.seed);
    until("created", || site.seed.is_done("a")).await;
    site.secret_with("dns", "accessKeyID", OTHER_KEY);
    site.seed.asks("a", "reconcile", &json!({ "zone": there }));
    until("an answer", || site.seed.says("a").starts_with("Reconcile Error")).await;
    (site, working, there)
}

/// What cannot be taken away keeps nothing from being published, and is no reason to stop the shoot.
#[tokio::test]
async fn a_former_zone_out_of_reach_is_named_until_its_owner_gives_it_up() {
    hurried(FASTER, async {
        let (site, _working, there) = moved_to_another_account().await;
        let here = site.aws().1.to_owned();
        let marked = || site.seed.status("a")["providerStatus"]["zones"].as_array().map_or(0, Vec::len);
        assert_eq!((site.addresses(), site.addresses_in(&there), marked()), (1, 1, 2));
        assert_eq!(site.seed.status("a")["zone"], json!(there));
        assert_eq!(site.seed.says("a"), "Reconcile Error ERR_RETRYABLE_CONFIGURATION_PROBLEM");
        assert!(site.reported("a RecordLeftBehind"));
        let error = site.error("a");
        for part in ["web.shop.test A", &there, "may still stand", &here, "AccessDenied", ABANDON] {
            assert!(error.contains(part), "{part}: {error}");
        }
        // It has to be that very zone.
        let below = here[..here.len() - 1].to_owned();
        for wrong in ["ZWRONG", &format!("{here}X"), &below, &there] {
            site.gives_up("a", wrong);
            until("the wrong name is reported", || site.error("a").contains(&format!("{ABANDON} names {wrong}, ")))
                .await;
            assert!(!site.reported("a ZoneAbandoned") && marked() == 2, "{wrong}");
        }
        site.gives_up("a", &here);
        let named = || site.seed.api.read(&Seed::name("a")).unwrap().annotation(ABANDON).is_some();
        until("given up", || site.seed.is_done("a") && !named()).await;
        assert!(site.reported("a ZoneAbandoned") && !site.reported("a InvalidAnnotation"));
        assert_eq!((site.addresses(), site.addresses_in(&there), marked()), (1, 1, 1));
        site.seed.deletes("a");
        until("deleted", || site.seed.is_gone("a")).await;
        assert_eq!((site.addresses(), site.addresses_in(&there)), (1, 0), "what was given up stays");
    })
    .await;
}

/// The seed that takes the object over sees only its present zone.
#[tokio::test]
async fn an_object_that_leaves_the_seed_says_what_it_leaves_behind() {
    hurried(FASTER, async {
        let (site, _working, there) = moved_to_another_account().await;
        let messages = || site.seed.api.messages.lock().unwrap().clone();
        site.seed.asks("a", "migrate", &json!({}));
        until("migrated", || site.seed.says("a") == "Migrate Succeeded").await;
        let last = messages().last().cloned().unwrap();
        for part in ["web.shop.test A may still stand", site.aws().1, "by hand"] {
            assert!(last.contains(part), "{part}: {last}");
        }
        assert!(!last.contains(&there) && site.reported("a RecordLeftBehind"), "{last}");
        site.create("dns", "b", "other A 192.0.2.1");
        until("created", || site.seed.is_done("b")).await;
        site.seed.asks("b", "migrate", &json!({}));
        until("migrated", || site.seed.says("b") == "Migrate Succeeded").await;
        assert!(!site.reported("b RecordLeftBehind"));
        // The zone that the spec names is where the other seed publishes.
        site.create("dns", "c", "third A 192.0.2.1");
        until("created", || site.seed.is_done("c")).await;
        site.seed.asks("c", "migrate", &json!({ "zone": site.aws().1 }));
        until("migrated", || site.seed.says("c") == "Migrate Succeeded").await;
        let last = messages().last().cloned().unwrap();
        assert!(last.starts_with(&format!("third.shop.test A may still stand in zone {there}, from")), "{last}");
    })
    .await;
}

/// The zone that comes first is refused, and the one after it is rid of the record all the same.
#[tokio::test]
async fn a_deletion_waits_for_a_zone_out_of_reach_until_its_owner_gives_it_up() {
    hurried(FASTER, async {
        let (site, _working, there) = moved_to_another_account().await;
        let here = site.aws().1.to_owned();
        site.seed.deletes("a");
        until("an answer", || site.seed.is_gone("a") || site.seed.says("a").starts_with("Delete Error")).await;
        assert_eq!(site.seed.says("a"), "Delete Error ERR_INFRA_UNAUTHORIZED");
        assert_eq!((site.addresses(), site.addresses_in(&there)), (1, 0));
        site.gives_up("a", &there);
        let attempts = site.attempts();
        until("two more attempts", || site.attempts() > attempts + 2).await;
        assert!(!site.seed.is_gone("a") && site.error("a").contains(&format!("in zone {here}")), "{}", site.error("a"));
        site.gives_up("a", &format!("ZWRONG, {here}"));
        until("deleted", || site.seed.is_gone("a")).await;
        assert!(site.reported("a ZoneAbandoned") && site.addresses() == 1);
    })
    .await;
}

/// The annotation is for what cannot be reached: where the service lets the record be taken away, it is.
#[tokio::test]
async fn a_zone_that_is_given_up_is_rid_of_the_record_where_it_can_be() {
    const NARROW: &str = "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn";
    hurried(FASTER, async {
        let site = Site::new(Cloud::Cloudflare, PATIENT);
        let (service, here) = site.cloudflare();
        site.create("dns", "a", "web A 192.0.2.1");
        let _working = working(&site.seed);
        until("created", || site.seed.is_done("a")).await;
        let there = service.add_zone("web.shop.test", Plan::Free);
        let permissions = [Permission::ZoneRead, Permission::DnsWrite];
        service.allow_token(NARROW, &[&there], &permissions);
        site.token("dns", NARROW);
        site.seed.asks("a", "reconcile", &json!({ "zone": there }));
        until("an answer", || site.seed.says("a").starts_with("Reconcile Error")).await;
        assert_eq!((site.addresses(), site.addresses_in(&there)), (1, 1), "{}", site.error("a"));
        service.allow_token(NARROW, &[&there, here], &permissions);
        site.gives_up("a", &format!("{here},other"));
        let named = || site.seed.api.read(&Seed::name("a")).unwrap().annotation(ABANDON).is_some();
        until("tried again", || site.seed.is_done("a") && !named()).await;
        assert_eq!((site.addresses(), site.addresses_in(&there)), (0, 1));
        assert!(!site.reported("a ZoneAbandoned") && site.reported("a InvalidAnnotation"));
    })
    .await;
}

/// Two projects of Google have a managed zone of the same name each.
#[tokio::test]
async fn a_zone_of_the_mark_is_that_of_its_own_project() {
    hurried(FASTER, async {
        for deleted in [false, true] {
            let site = Site::new(Cloud::Google, PATIENT);
            let there = site.zone_of_project("other");
            site.create("dns", "a", "web A 192.0.2.1");
            let _working = working(&site.seed);
            until("created", || site.seed.is_done("a")).await;
            assert_eq!(site.addresses(), 1);
            if deleted {
                site.put_address(&there, "web");
                site.seed.change("a", &json!({ "spec": { "zone": "other/shop" } }));
                site.seed.deletes("a");
                until("deleted", || site.seed.is_gone("a")).await;
            } else {
                site.seed.asks("a", "reconcile", &json!({ "zone": "other/shop" }));
                until("moved", || site.seed.is_done("a")).await;
                assert_eq!(site.seed.status("a")["providerStatus"]["zones"], json!(["other/shop"]));
            }
            assert_eq!((site.addresses(), site.addresses_in(&there)), (0, 1), "deleted: {deleted}");
        }
    })
    .await;
}

/// Two subscriptions of Azure have a zone of the same group and name each, and the status writes both in the same way.
#[tokio::test]
async fn a_zone_of_the_mark_is_that_of_its_own_subscription() {
    hurried(FASTER, async {
        for deleted in [false, true] {
            let site = Site::new(Cloud::Azure, PATIENT);
            let (service, here) = site.azure();
            let there = service.add_zone(azure::Kind::Public, "sub-2", "shop", "shop.test");
            site.create("dns", "a", "web A 192.0.2.1");
            let _working = working(&site.seed);
            until("created", || site.seed.is_done("a")).await;
            let marked = || site.seed.status("a")["providerStatus"]["zones"].clone();
            assert_eq!((site.addresses(), marked()), (1, json!([here.to_ascii_lowercase()])));
            site.secret_with("dns", "subscriptionID", "sub-2");
            if deleted {
                let set = azure::RecordSet::new("web", "A", 120, vec![json!({ "ipv4Address": "192.0.2.1" })]);
                service.put(&there, set);
                site.seed.deletes("a");
                until("deleted", || site.seed.is_gone("a")).await;
            } else {
                site.seed.asks("a", "reconcile", &json!({}));
                until("moved", || site.seed.is_done("a")).await;
                assert_eq!(site.seed.status("a")["zone"], "shop/shop.test", "in Gardener's form");
                assert_eq!(marked(), json!([there.to_ascii_lowercase()]));
            }
            assert_eq!((site.addresses(), site.addresses_in(&there)), (0, 1), "deleted: {deleted}");
        }
    })
    .await;
}

/// A mark of before names the group alone: it is the zone that the records are in.
#[tokio::test]
async fn a_mark_without_the_subscription_is_of_the_present_one() {
    hurried(FASTER, async {
        let site = Site::new(Cloud::Azure, PATIENT);
        site.create("dns", "a", "web A 192.0.2.1");
        let _working = working(&site.seed);
        until("created", || site.seed.is_done("a")).await;
        let former = || {
            let mark = SentChanges::to(["shop/shop.test".to_owned()]).to_value();
            let patch = json!({ "status": { "providerStatus": mark } });
            site.seed.api.change(&Seed::name("a"), PatchTarget::Status, &patch).unwrap();
        };
        former();
        site.seed.asks("a", "reconcile", &json!({}));
        until("reconciled", || site.seed.is_done("a")).await;
        let (_, here) = site.azure();
        let marked = site.seed.status("a")["providerStatus"]["zones"].clone();
        assert_eq!((site.addresses(), marked), (1, json!([here.to_ascii_lowercase()])));
        former();
        site.seed.deletes("a");
        until("deleted", || site.seed.is_gone("a")).await;
        assert_eq!(site.addresses(), 0);
    })
    .await;
}

/// A subscription is not found where it is another tenant's, too: that says nothing of the zones in it.
#[tokio::test]
async fn a_deletion_waits_where_azure_does_not_find_the_subscription() {
    hurried(FASTER, async {
        // Also where another controller worked on the object, whose zone is in the subscription of the Secret.
        for marked in [true, false] {
            let site = Site::new(Cloud::Azure, PATIENT);
            site.create("dns", "a", "web A 192.0.2.1");
            let _working = working(&site.seed);
            until("created", || site.seed.is_done("a")).await;
            let (_, here) = site.azure();
            let elsewhere = here.to_ascii_lowercase().replace("sub-1", "sub-9");
            let mark = SentChanges::to([elsewhere.clone()]).to_value();
            let patch = json!({ "status": { "providerStatus": if marked { mark } else { json!(null) } } });
            site.seed.api.change(&Seed::name("a"), PatchTarget::Status, &patch).unwrap();
            if !marked {
                site.secret_with("dns", "subscriptionID", "sub-9");
            }
            site.seed.deletes("a");
            until("an answer", || site.seed.is_gone("a") || site.seed.says("a").starts_with("Delete Error")).await;
            assert!(!site.seed.is_gone("a"), "marked: {marked}: the record stands: {}", site.addresses());
            assert_eq!(site.seed.says("a"), "Delete Error", "{:#}", site.seed.status("a"));
            let said = site.seed.status("a")["lastError"]["description"].to_string();
            let zone = if marked { elsewhere.as_str() } else { "shop/shop.test" };
            assert!(said.contains(zone) && said.contains("SubscriptionNotFound"), "{said}");
            // The subscription is there after all, and the group with its zones is not.
            site.azure().0.add_zone(azure::Kind::Public, "sub-9", "other", "other.test");
            until("deleted", || site.seed.is_gone("a")).await;
        }
    })
    .await;
}

/// Without a list of the subscription it is not known what was not found, also where the zone had been found before.
#[tokio::test]
async fn a_zone_of_azure_is_gone_once_its_subscription_is_listed() {
    hurried(FASTER, async {
        for fault in [Fault::Broken, Fault::Denied] {
            let site = Site::new(Cloud::Azure, PATIENT);
            site.create("dns", "a", "web A 192.0.2.1");
            let _working = working(&site.seed);
            until("created", || site.seed.is_done("a")).await;
            let (service, zone) = site.azure();
            service.drop_zone(zone);
            service.fail("ListZones", fault, usize::MAX);
            site.seed.deletes("a");
            until("an answer", || site.seed.is_gone("a") || site.seed.says("a").starts_with("Delete Error")).await;
            assert!(!site.seed.is_gone("a"), "{fault:?}");
            service.fail("ListZones", fault, 0);
            until("deleted", || site.seed.is_gone("a")).await;
        }
    })
    .await;
}

/// A token that sees another zone only is shown a list without the record's zone, as one is where the zone is gone.
#[tokio::test]
async fn a_deletion_waits_where_the_token_may_not_see_the_zone() {
    const NARROW: &str = "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn";
    hurried(FASTER, async {
        // Also where another controller worked on the object, whose status names the zone alone.
        for marked in [true, false] {
            let site = Site::new(Cloud::Cloudflare, PATIENT);
            let (service, zone) = site.cloudflare();
            let other = service.add_zone("other.test", Plan::Free);
            let permissions = [Permission::ZoneRead, Permission::DnsWrite];
            service.allow_token(NARROW, &[&other], &permissions);
            site.create("dns", "a", "web A 192.0.2.1");
            let _working = working(&site.seed);
            until("created", || site.seed.is_done("a")).await;
            if !marked {
                let patch = json!({ "status": { "providerStatus": null } });
                site.seed.api.change(&Seed::name("a"), PatchTarget::Status, &patch).unwrap();
            }
            site.token("dns", NARROW);
            site.seed.deletes("a");
            until("an answer", || site.seed.is_gone("a") || site.seed.says("a").starts_with("Delete Error")).await;
            assert!(!site.seed.is_gone("a"), "marked: {marked}: the record stands: {}", site.addresses());
            assert_eq!(site.seed.says("a"), "Delete Error ERR_INFRA_UNAUTHORIZED", "{:#}", site.seed.status("a"));
            assert_eq!(site.addresses(), 1);
            service.allow_token(NARROW, &[&other, zone], &permissions);
            until("deleted once the token may", || site.seed.is_gone("a")).await;
            assert_eq!(site.addresses(), 0);
        }
    })
    .await;
}

/// The service itself says that there is no such zone.
#[tokio::test]
async fn a_deletion_ends_where_the_service_has_no_such_zone() {
    hurried(FASTER, async {
        for cloud in [Cloud::Cloudflare, Cloud::Azure] {
            let site = Site::new(cloud, PATIENT);
            site.create("dns", "a", "web A 192.0.2.1");
            let _working = working(&site.seed);
            until("created", || site.seed.is_done("a")).await;
            if cloud == Cloud::Azure {
                let (service, zone) = site.azure();
                service.drop_zone(zone);
            } else {
                let (service, zone) = site.cloudflare();
                service.add_zone("other.test", Plan::Free);
                service.drop_zone(zone);
            }
            site.seed.deletes("a");
            until("deleted", || site.seed.is_gone("a")).await;
        }
    })
    .await;
}

/// Where the older one's zone is, is learned from its Secret: its zone is stated without the project.
#[tokio::test]
async fn records_in_zones_of_one_name_in_two_projects_are_no_rivals() {
    hurried(FASTER, async {
        let site = Site::new(Cloud::Google, PATIENT);
        let there = site.zone_of_project("other");
        let _working = working(&site.seed);
        site.create("dns", "a", "web A 192.0.2.1");
        until("created", || site.seed.is_done("a")).await;
        site.seed.asks("a", "reconcile", &json!({ "zone": "shop" }));
        until("stated", || site.seed.is_done("a")).await;
        site.seed.change("a", &json!({}));
        for (name, zone, done) in [("b", "other/shop", true), ("c", "other/shop", false), ("d", "shop/shop", false)] {
            site.create("dns", name, "web A 192.0.2.2");
            site.seed.asks(name, "reconcile", &json!({ "zone": zone }));
            until("an answer", || site.seed.says(name).starts_with(if done { "Create S" } else { "Create E" })).await;
        }
        assert_eq!((site.addresses(), site.addresses_in(&there)), (1, 1));
    })
    .await;
}
