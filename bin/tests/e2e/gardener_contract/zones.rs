//! Which zone a record goes into.

use serde_json::{Value, json};
use zonewright_testkit::{KubeApi, require};

use super::clouds::{ACCOUNT, AWS, Aws, ZONE, a, aws, record, with};
use super::world::World;

#[test]
fn the_longest_zone_that_holds_the_name() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    let inner = aws.service.add_zone(ACCOUNT, "test.shop.test", false, &[]);
    let other = aws.service.add_zone(ACCOUNT, "hop.test", false, &[]);
    for (name, zone) in [
        ("api.test.shop.test", &inner),
        ("test.shop.test", &inner),
        ("apitest.shop.test", &aws.zone),
        ("test.hop.test", &other),
        // The vectors of the contract: a suffix counts only behind a dot.
        ("xhop.test.shop.test", &inner),
    ] {
        let object = world.record(&name.replace('.', "-"));
        object.created(&with(a("x", "192.0.2.1"), &json!({ "name": name })));
        assert_eq!(object.status()["zone"], json!(zone), "{name}");
        assert!(aws.shown_in(zone).contains(&format!("{name} A 120 192.0.2.1")), "{name}");
    }
}

/// A zone that is named is used as it is; one that was found is not looked for again.
#[test]
fn a_zone_that_is_known_is_not_looked_for() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    let stated = world.record("stated");
    stated.created(&with(a("stated", "192.0.2.1"), &json!({ "zone": aws.zone })));
    assert_eq!(aws.listings(), 0, "the spec names the zone: {:?}", aws.service.calls());
    assert_eq!(stated.status()["zone"], json!(aws.zone));

    let found = world.record("found");
    found.created(&a("found", "192.0.2.2"));
    let listings = aws.listings();
    assert!(listings > 0);
    for address in ["192.0.2.3", "192.0.2.4"] {
        found.does("reconcile", &json!({ "values": [address] }));
    }
    found.deleted();
    stated.deleted();
    assert_eq!(aws.listings(), listings, "{:?}", aws.service.calls());
    aws.shows(&[]);
}

/// Also by a new process.
#[test]
fn a_zone_that_is_known_is_not_looked_for_after_a_restart() {
    require!(KubeApi::TOOLS);
    let (aws, mut world) = aws();
    world.record("found").created(&a("found", "192.0.2.2"));
    world.kill();
    let listings = aws.listings();
    world.start();
    world.record("found").does("reconcile", &json!({ "values": ["192.0.2.3"] }));
    assert_eq!(aws.listings(), listings, "{:?}", aws.service.calls());
    aws.shows(&["found.shop.test A 120 192.0.2.3"]);
}

#[test]
fn the_zone_of_the_spec_goes_before_that_of_the_status() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    let object = world.record("web");
    object.created(&a("web", "192.0.2.1"));
    let second = aws.service.add_zone(ACCOUNT, ZONE, false, &[]);
    object.does("reconcile", &json!({ "zone": second }));
    assert_eq!(object.status()["zone"], json!(second));
    assert_eq!(aws.shown_in(&second), ["web.shop.test A 120 192.0.2.1"]);
    object.deleted();
    assert!(aws.shown_in(&second).is_empty());
}

/// Split horizon: the public zone, each time.
#[test]
fn of_a_public_and_a_private_zone_the_public_one() {
    require!(KubeApi::TOOLS);
    let aws = Aws::new();
    // Before and behind the public one in listings.
    let private: Vec<String> = (0..3).map(|_| aws.service.add_zone(ACCOUNT, ZONE, true, &[])).collect();
    let world = aws.leads(World::new(AWS)).started();
    for n in 0..3 {
        let object = world.record(&format!("web{n}"));
        object.created(&a(&format!("web{n}"), "192.0.2.1"));
        assert_eq!(object.status()["zone"], json!(aws.zone));
    }
    for zone in &private {
        assert!(aws.shown_in(zone).is_empty());
    }
}

#[test]
fn a_zone_that_came_again_under_another_id_is_found() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    let object = world.record("web");
    object.created(&a("web", "192.0.2.1"));
    aws.service.drop_zone(&aws.zone);
    let again = aws.service.add_zone(ACCOUNT, ZONE, false, &[]);
    object.does("reconcile", &Value::Null);
    assert_eq!(object.status()["zone"], json!(again));
    assert_eq!(aws.shown_in(&again), ["web.shop.test A 120 192.0.2.1"]);
}

#[test]
fn apex_and_wildcard() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    for (name, spec) in
        [("apex", record("@", "A", &["192.0.2.1"])), ("wild", a("*", "192.0.2.2")), ("deep", a("*.x", "192.0.2.3"))]
    {
        world.record(name).created(&spec);
    }
    aws.shows(&["*.shop.test A 120 192.0.2.2", "*.x.shop.test A 120 192.0.2.3", "shop.test A 120 192.0.2.1"]);
    for name in ["apex", "wild", "deep"] {
        world.record(name).deleted();
    }
    aws.shows(&[]);
}

#[cfg(feature = "provider-clouddns")]
pub(super) mod clouddns {
    use zonewright_fakes::clouddns::{CloudDns, Kind};

    use super::*;

    pub(in super::super) const EMAIL: &str = "dns@shop-prod.iam.gserviceaccount.com";

    /// The id of a zone with its project, and without: that of the credentials.
    #[test]
    fn the_id_of_a_zone_with_and_without_its_project() {
        require!(KubeApi::TOOLS);
        let service = CloudDns::start();
        let (key, public) = service_account(&service.url());
        service.allow_service_account(EMAIL, public);
        let own = service.add_zone("shop-prod", "shop", "shop.test.", Kind::Public);
        let shared = service.add_zone("shop-net", "shared", "shared.test.", Kind::Public);
        let world = World::new("google-clouddns").env("CLOUDSDK_API_ENDPOINT_OVERRIDES_DNS", &service.url());
        let world = world.env("CLOUDSDK_CONFIG", "/nowhere").started();
        world.secret("dns", &[("serviceaccount.json", &key)]);
        for (name, zone, host) in [
            ("bare", json!("shop"), "bare.shop.test"),
            ("full", json!("shop-prod/shop"), "full.shop.test"),
            ("other", json!("shop-net/shared"), "other.shared.test"),
            ("found", Value::Null, "found.shop.test"),
        ] {
            let object = world.record(name);
            let spec = json!({ "type": "google-clouddns", "name": host, "recordType": "A", "values": ["192.0.2.1"], "zone": zone });
            object.created(&spec);
        }
        assert_eq!(world.record("found").status()["zone"], "shop-prod/shop");
        let names = |zone: &str| -> Vec<String> {
            let sets = service.sets(zone).into_iter().filter(|set| set.kind == "A");
            sets.map(|set| format!("{} {} {}", set.name, set.ttl, set.rrdatas.join(" "))).collect()
        };
        assert_eq!(
            names(&own),
            ["bare.shop.test. 120 192.0.2.1", "found.shop.test. 120 192.0.2.1", "full.shop.test. 120 192.0.2.1"]
        );
        assert_eq!(names(&shared), ["other.shared.test. 120 192.0.2.1"]);
        for name in ["bare", "full", "other", "found"] {
            world.record(name).deleted();
        }
        assert!(names(&own).is_empty() && names(&shared).is_empty());
    }

    const KEY: &str = include_str!("../../../../crates/provider-clouddns/tests/common/key.pem");
    const PUBLIC: &str = include_str!("../../../../crates/provider-clouddns/tests/common/key.pub.pem");

    /// The key file of a service account, and what the service knows of it.
    pub(in super::super) fn service_account(url: &str) -> (String, &'static str) {
        let file = json!({
            "type": "service_account", "project_id": "shop-prod", "private_key_id": "1", "private_key": KEY,
            "client_email": EMAIL, "token_uri": format!("{url}/token"),
        });
        (file.to_string(), PUBLIC)
    }
}
