//! Zones that the object's mark names, and that the present spec or Secret lead away from.

use super::*;

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
                site.deletes("a");
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
