//! Each type of record at the other services: made, changed, taken away, beside what others have at the same name.

use serde_json::{Value, json};
use zonewright_testkit::{KubeApi, require};

use super::world::World;

/// Names, types and values before and after.
const LIVES: &[(&str, &str, &[&str], &[&str])] = &[
    ("four", "A", &["192.0.2.1", "192.0.2.2"], &["192.0.2.3"]),
    ("six", "AAAA", &["2001:db8::1"], &["2001:DB8::2", "2001:db8::3"]),
    ("host", "CNAME", &["a.example.com"], &["b.example.com"]),
    ("text", "TXT", &["one"], &["two words", "say \"hi\""]),
    ("*.wild", "A", &["192.0.2.4"], &["192.0.2.5"]),
    ("@", "A", &["192.0.2.6"], &["192.0.2.7"]),
];

/// The life of each, at a service that shows `name TYPE TTL` of what stands, one for each value, sorted.
#[track_caller]
fn lives(world: &World, provider: &str, shown: &dyn Fn() -> Vec<String>) {
    let others = shown();
    let host = |name: &str| if name == "@" { "shop.test".to_owned() } else { format!("{name}.shop.test") };
    let object = |name: &str| name.replace("*.", "any-").replace('@', "apex");
    let holds = |values: &dyn Fn(usize) -> usize, ttl: u32| {
        let lines = LIVES
            .iter()
            .enumerate()
            .flat_map(|(at, (name, kind, ..))| std::iter::repeat_n(format!("{} {kind} {ttl}", host(name)), values(at)));
        let mut expected: Vec<String> = lines.chain(others.iter().cloned()).collect();
        expected.sort();
        assert_eq!(shown(), expected);
    };
    for (name, kind, first, _) in LIVES {
        let spec = json!({ "type": provider, "name": host(name), "recordType": kind, "values": first });
        world.record(&object(name)).created(&spec);
    }
    holds(&|at| LIVES[at].2.len(), 120);
    for (name, _, _, second) in LIVES {
        world.record(&object(name)).does("reconcile", &json!({ "values": second, "ttl": 300 }));
    }
    holds(&|at| LIVES[at].3.len(), 300);
    for (name, ..) in LIVES {
        world.record(&object(name)).does("reconcile", &Value::Null);
        world.record(&object(name)).deleted();
    }
    assert_eq!(shown(), others);
}

#[cfg(feature = "provider-cloudflare")]
#[test]
fn at_cloudflare() {
    use zonewright_fakes::cloudflare::{Cloudflare, Plan, Record, TOKEN};

    require!(KubeApi::TOOLS);
    let service = Cloudflare::start();
    let zone = service.add_zone("shop.test", Plan::Enterprise);
    // What a controller that looks at names alone would take away.
    service.put(&zone, Record::new("four.shop.test", "TXT", "\"v=spf1 -all\"").with_ttl(3600));
    service.put(&zone, Record::new("shop.test", "MX", "mail.shop.test").with_ttl(3600).with_priority(10));
    let world = World::new("cloudflare-dns").env("CLOUDFLARE_BASE_URL", &service.url()).started();
    world.secret("dns", &[("apiToken", TOKEN)]);
    lives(&world, "cloudflare-dns", &|| {
        let records = service.records(&zone).into_iter();
        let mut lines: Vec<String> =
            records.map(|record| format!("{} {} {}", record.name, record.kind, record.ttl)).collect();
        lines.sort();
        lines
    });
    // What the provider alone understands.
    let proxied =
        || service.records(&zone).into_iter().find(|record| record.name == "web.shop.test").map(|r| r.proxied);
    let web = world.record("web");
    let config = |proxied: Value| json!({ "providerConfig": { "apiVersion": "cloudflare.example.com/v1alpha1", "kind": "DNSRecordConfig", "proxied": proxied } });
    let spec =
        json!({ "type": "cloudflare-dns", "name": "web.shop.test", "recordType": "A", "values": ["203.0.113.1"] });
    web.created(&super::clouds::with(spec, &config(json!(true))));
    assert_eq!(proxied(), Some(true));
    web.does("reconcile", &config(json!(false)));
    assert_eq!(proxied(), Some(false));
    web.ask("reconcile", &config(json!("yes")));
    assert_eq!(web.fails(&["spec.providerConfig.proxied"]), ["ERR_CONFIGURATION_PROBLEM"]);
    web.deleted();
    assert_eq!(proxied(), None);
    // A token that the service does not know.
    world.secret("dns", &[("apiToken", "nobody-knows-this-t0ken-at-all-0123456789")]);
    let refused = world.record("refused");
    let spec = json!({ "type": "cloudflare-dns", "name": "r.shop.test", "recordType": "A", "values": ["203.0.113.2"] });
    refused.create(&spec);
    // It says the same of a token without the right.
    assert_eq!(refused.fails(&["9109"]), ["ERR_INFRA_UNAUTHORIZED"]);
}

/// `spec.zone` as `group/zone` in any case, as the whole id, and without its group.
#[cfg(feature = "provider-azure")]
#[track_caller]
fn zones_in_other_words(world: &World, provider: &str) {
    let resource = if provider == "azure-dns" { "dnszones" } else { "privateDnsZones" };
    let id = format!("/subscriptions/sub-1/resourceGroups/shop/providers/Microsoft.Network/{resource}/shop.test");
    let object = |name: &str, zone: &str| {
        json!({
            "type": provider, "name": format!("{name}.shop.test"), "recordType": "A", "values": ["192.0.2.8"], "zone": zone,
        })
    };
    for (name, zone) in [("plain", "shop/shop.test"), ("upper", "SHOP/Shop.Test"), ("whole", id.as_str())] {
        let record = world.record(name);
        record.created(&object(name, zone));
        assert_eq!(record.status()["zone"], "shop/shop.test", "{provider} {zone}");
        record.deleted();
    }
    let record = world.record("bare");
    record.create(&object("bare", "shop.test"));
    let codes = record.fails(&["spec.zone", "shop.test", "expected resourceGroup/zone"]);
    assert_eq!(codes, ["ERR_CONFIGURATION_PROBLEM"], "{provider}");
    record.deleted();
}

/// A public and a private zone of Azure, by a principal and by a workload identity. The Secrets name no cloud: it is the one that the
/// configuration of the process names, as in an Azure Stack.
#[cfg(feature = "provider-azure")]
#[test]
fn at_azure() {
    use zonewright_fakes::azure::{AzureDns, Kind, RecordSet};

    require!(KubeApi::TOOLS);
    const ASSERTION: &str = "eyJ-a-t0ken-of-the-garden";
    const RENEWED: &str = "eyJ-the-next-t0ken-of-the-garden";
    let service = AzureDns::start();
    service.allow_secret("tenant", "app", "app-s3cret");
    service.allow_federated("tenant", "identity", ASSERTION);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("azure.json");
    let cloud = json!({
        "cloud": "AzureStackCloud", "activeDirectoryAuthorityHost": service.url(), "resourceManagerEndpoint": service.url(),
    });
    std::fs::write(&path, cloud.to_string()).expect("azure.json");
    let principal =
        [("subscriptionID", "sub-1"), ("tenantID", "tenant"), ("clientID", "app"), ("clientSecret", "app-s3cret")];
    let config = json!({ "subscriptionID": "sub-1", "tenantID": "tenant", "clientID": "identity" }).to_string();
    let identity = [("token", ASSERTION), ("config", config.as_str())];
    for (provider, kind, keys) in
        [("azure-dns", Kind::Public, &principal[..]), ("azure-private-dns", Kind::Private, &identity[..])]
    {
        let zone = service.add_zone(kind, "sub-1", "shop", "shop.test");
        service.put(&zone, RecordSet::new("four", "TXT", 3600, vec![json!({ "value": ["v=spf1 -all"] })]));
        let world = World::new(provider).arg("--azure-api-qps=100");
        let world = world.arg(&format!("--azure-config-file={}", path.display())).started();
        world.secret("dns", keys);
        lives(&world, provider, &|| {
            let sets = service.sets(&zone).into_iter().filter(|set| !["SOA", "NS"].contains(&set.kind.as_str()));
            let line = |set: RecordSet| {
                let name = if set.name == "@" { "shop.test".to_owned() } else { format!("{}.shop.test", set.name) };
                std::iter::repeat_n(format!("{name} {} {}", set.kind, set.ttl), set.records.len())
            };
            let mut lines: Vec<String> = sets.flat_map(line).collect();
            lines.sort();
            lines
        });
        let spec = |name: &str| json!({ "type": provider, "name": name, "recordType": "A", "values": ["192.0.2.8"] });
        let found = world.record("found");
        found.created(&spec("z.shop.test"));
        assert_eq!(found.status()["zone"], "shop/shop.test", "{provider}");
        // The token ends before it said it would, and the next request gets another one.
        service.expire_minted();
        found.does("reconcile", &json!({ "values": ["192.0.2.9"] }));
        if provider == "azure-private-dns" {
            // What Gardener renews in the Secret is exchanged from then on.
            service.allow_federated("tenant", "identity", RENEWED);
            world.secret("dns", &[("token", RENEWED), ("config", config.as_str())]);
            service.expire_minted();
            found.does("reconcile", &json!({ "values": ["192.0.2.10"] }));
        }
        found.deleted();
        zones_in_other_words(&world, provider);
        // What proves who one is, and does not.
        let proof = |key: &str| ["clientSecret", "token"].contains(&key);
        let wrong: Vec<(&str, &str)> =
            keys.iter().map(|(key, value)| (*key, if proof(key) { "another-t0ken" } else { *value })).collect();
        world.secret("wrong", &wrong);
        let refused = world.record("refused");
        let secret = json!({ "secretRef": { "name": "wrong", "namespace": world.namespace } });
        refused.create(&super::clouds::with(spec("r.shop.test"), &secret));
        assert_eq!(refused.fails(&["AADSTS"]), ["ERR_INFRA_UNAUTHENTICATED"], "{provider}");
        assert!(!world.daemon().log().contains("t0ken"), "a token is in the log");
    }
}

#[cfg(feature = "provider-clouddns")]
#[test]
fn at_cloud_dns() {
    use zonewright_fakes::clouddns::{CloudDns, Kind, RecordSet};

    require!(KubeApi::TOOLS);
    const OTHER: &str = include_str!("../../../../crates/provider-clouddns/tests/common/other.pub.pem");
    let service = CloudDns::start();
    let zone = service.add_zone("shop-prod", "shop", "shop.test.", Kind::Public);
    service.put(&zone, RecordSet::new("four.shop.test.", "TXT", 3600, &["\"v=spf1 -all\""]));
    service.put(&zone, RecordSet::new("shop.test.", "MX", 3600, &["10 mail.shop.test."]));
    let (key, public) = super::zones::clouddns::service_account(&service.url());
    service.allow_service_account(super::zones::clouddns::EMAIL, public);
    let world = World::new("google-clouddns").env("CLOUDSDK_API_ENDPOINT_OVERRIDES_DNS", &service.url());
    let world = world.env("CLOUDSDK_CONFIG", "/nowhere").started();
    world.secret("dns", &[("serviceaccount.json", &key)]);
    lives(&world, "google-clouddns", &|| {
        let sets = service.sets(&zone).into_iter().filter(|set| !["SOA", "NS"].contains(&set.kind.as_str()));
        let line = |set: RecordSet| {
            let line = format!("{} {} {}", set.name.trim_end_matches('.'), set.kind, set.ttl);
            std::iter::repeat_n(line, set.rrdatas.len())
        };
        let mut lines: Vec<String> = sets.flat_map(line).collect();
        lines.sort();
        lines
    });
    // The token ends before it said it would, and the next request gets another one.
    let spec = |values: &[&str]| json!({ "type": "google-clouddns", "name": "z.shop.test", "recordType": "A", "values": values });
    let found = world.record("found");
    found.created(&spec(&["192.0.2.8"]));
    service.expire_minted();
    found.does("reconcile", &spec(&["192.0.2.9"]));
    // The key is revoked: the account has another one.
    service.allow_service_account(super::zones::clouddns::EMAIL, OTHER);
    service.expire_minted();
    found.ask("reconcile", &spec(&["192.0.2.10"]));
    assert_eq!(found.fails(&["invalid_grant"]), ["ERR_INFRA_UNAUTHENTICATED"]);
    assert!(!world.daemon().log().contains("PRIVATE KEY"), "a key is in the log");
    service.allow_service_account(super::zones::clouddns::EMAIL, public);
    found.does("reconcile", &Value::Null);
    found.deleted();
}
