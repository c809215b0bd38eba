//! Route 53 behind the server: it compares the TTLs of what goes, and external-dns states none for its claims.

use std::sync::Arc;

use serde_json::{Value, json};
use zonewright_core::catalog::{FlagKind, FlagValue, ProviderConfig, Settings};
use zonewright_core::options::OptionTable;
use zonewright_core::shared::Shared;
use zonewright_core::zone::InstanceId;
use zonewright_fakes::route53 as fake;
use zonewright_provider_route53::{FLAGS, Route53};

use crate::site::{Answer, Served};

const ACCOUNT: &str = "000000000001";
const CLAIM: &str = "\"heritage=external-dns,external-dns/owner=me\"";

struct Site {
    served: Served,
    service: fake::Route53,
    zones: Vec<String>,
}

impl Site {
    /// A server in front of zones of one name; `true` is a private one.
    async fn start(zones: &[bool]) -> Self {
        let service = fake::Route53::start();
        let zones = zones.iter().map(|private| service.add_zone(ACCOUNT, "example.test", *private, &[])).collect();
        let mut settings = Settings::default();
        for flag in FLAGS {
            let value = match flag.kind {
                FlagKind::Bool => FlagValue::Bool(flag.default == "true"),
                FlagKind::Int => FlagValue::Int(flag.default.parse().unwrap()),
                _ => continue,
            };
            settings.set(flag.name, value, false);
        }
        settings.set("aws-api-qps", FlagValue::Int(0), true);
        let secrets = [("accessKeyID", "AKIDFAKE"), ("secretAccessKey", "s3cr3t-key"), ("endpoint", &*service.url())];
        let credentials = secrets.map(|(name, value)| (name.to_owned(), value.into())).into_iter().collect();
        let instance = InstanceId::from("aws");
        let config = ProviderConfig { instance, settings, credentials, shared: Shared::default() };
        let provider = Arc::new(Route53::new(&config).unwrap());
        Self { served: Served::start(provider, OptionTable::NONE.into()).await, service, zones }
    }

    async fn post(&self, body: Value) -> Answer {
        self.served.ask("POST", "/records", &body.to_string()).await
    }

    /// What each zone holds below its apex.
    fn stands(&self) -> Vec<Vec<String>> {
        let lines = |zone: &String| {
            let sets = self.service.sets(zone);
            let below = sets.iter().filter(|set| set.name != "example.test.");
            below.map(|set| format!("{} {} {}", set.name, set.ttl.unwrap(), set.values.join(" "))).collect()
        };
        self.zones.iter().map(lines).collect()
    }
}

fn address(target: &str) -> Value {
    json!({"dnsName": "a.example.test", "recordType": "A", "targets": [target], "recordTTL": 60})
}

/// A claim as external-dns sends it: a TTL of 0 is left out.
fn claim(resource: &str) -> Value {
    json!({"dnsName": "a-a.example.test", "recordType": "TXT", "labels": {"ownedRecord": "a.example.test"},
        "targets": [format!("\"{},external-dns/resource={resource}\"", CLAIM.trim_matches('"'))]})
}

fn lines(ttl: i64, target: &str, resource: &str) -> Vec<String> {
    let claim = format!("\"{},external-dns/resource={resource}\"", CLAIM.trim_matches('"'));
    vec![format!("a-a.example.test. {ttl} {claim}"), format!("a.example.test. 60 {target}")]
}

#[track_caller]
fn done(answer: &Answer) {
    assert_eq!((answer.status, answer.body.as_str()), (204, ""), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_whose_claim_has_no_ttl_is_created_changed_and_deleted() {
    // In one zone, and in a public and a private one.
    for zones in [&[false][..], &[false, true]] {
        let site = Site::start(zones).await;
        let all = |lines: Vec<String>| vec![lines; zones.len()];
        done(&site.post(json!({"create": [address("192.0.2.1"), claim("one")]})).await);
        assert_eq!(site.stands(), all(lines(300, "192.0.2.1", "one")));
        // The claim stays as it is, and then changes too.
        for (old, new) in [(("192.0.2.1", "one"), ("192.0.2.2", "one")), (("192.0.2.2", "one"), ("192.0.2.3", "two"))] {
            let change =
                json!({"updateOld": [address(old.0), claim(old.1)], "updateNew": [address(new.0), claim(new.1)]});
            done(&site.post(change).await);
            assert_eq!(site.stands(), all(lines(300, new.0, new.1)));
        }
        done(&site.post(json!({"delete": [address("192.0.2.3"), claim("two")]})).await);
        assert_eq!(site.stands(), all(vec![]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_that_stands_with_another_ttl_is_kept_changed_and_deleted() {
    for zones in [&[false][..], &[false, true]] {
        let site = Site::start(zones).await;
        let all = |lines: Vec<String>| vec![lines; zones.len()];
        let text = format!("\"{},external-dns/resource=one\"", CLAIM.trim_matches('"'));
        for zone in &site.zones {
            site.service.put(zone, fake::RecordSet::new("a.example.test.", "A", 60, &["192.0.2.1"]));
            site.service.put(zone, fake::RecordSet::new("a-a.example.test.", "TXT", 3600, &[&text]));
        }
        let change = json!({"updateOld": [address("192.0.2.1"), claim("one")], "updateNew": [address("192.0.2.2"), claim("one")]});
        done(&site.post(change).await);
        assert_eq!(site.stands(), all(lines(3600, "192.0.2.2", "one")));
        // Another text is refused as before, and a TTL that is stated and wrong too.
        let wrong = json!({"dnsName": "a.example.test", "recordType": "A", "targets": ["192.0.2.2"], "recordTTL": 61});
        for body in [json!({"delete": [address("192.0.2.2"), claim("two")]}), json!({"delete": [wrong, claim("one")]})]
        {
            assert_eq!(site.post(body).await.refused(), ["a.example.test conflict"]);
            assert_eq!(site.stands(), all(lines(3600, "192.0.2.2", "one")));
        }
        done(&site.post(json!({"delete": [address("192.0.2.2"), claim("one")]})).await);
        assert_eq!(site.stands(), all(vec![]));
    }
}

/// An alias is no claim: one that is equal, without the stated claim beside it, is another writer's.
#[tokio::test(flavor = "multi_thread")]
async fn an_equal_alias_without_the_stated_claim_stays() {
    let site = Site::start(&[false, true]).await;
    let host = "lb-1.eu-central-1.elb.amazonaws.com";
    let alias = json!({"dnsName": "a.example.test", "recordType": "A", "targets": [host],
        "providerSpecific": [{"name": "alias", "value": "true"}]});
    done(&site.post(json!({"create": [alias, claim("one")]})).await);
    let stand = || [0, 1].map(|place: usize| site.service.stands(&site.zones[place], "a.example.test.", "A"));
    assert_eq!(stand(), [true, true]);
    assert!(site.service.remove(&site.zones[1], "a-a.example.test.", "TXT", None).is_some());
    let listed = site.served.ask("GET", "/records", "").await.json();
    let listed = listed.as_array().unwrap().iter().filter(|endpoint| endpoint["dnsName"] == "a.example.test");
    let old: Vec<Value> = listed.cloned().chain([claim("one")]).collect();
    assert_eq!(old.len(), 3, "{old:?}");
    done(&site.post(json!({"delete": old})).await);
    assert_eq!(stand(), [false, true]);
}
