//! A provider with aliases, weighted sets and pages, for a caller that knows them as properties, as external-dns does: what is
//! asked for is published, and a caller who compares then finds nothing to do.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use zonewright_conformance::cloud::{Cloud, CloudAccount, OPTIONS};
use zonewright_core::DnsName;
use zonewright_core::provider::Provider;

use crate::site::Served;

async fn served() -> (Served, Arc<Cloud>) {
    let zone = DnsName::parse("example.test").unwrap();
    let cloud = Arc::new(Cloud::new("cloud", &zone, &Arc::new(CloudAccount::default())));
    let provider: Arc<dyn Provider> = cloud.clone();
    (Served::start(provider, OPTIONS.into()).await, cloud)
}

fn endpoint(name: &str, rtype: &str, target: &str, id: &str, properties: &[(&str, &str)]) -> Value {
    let properties: Vec<Value> = properties.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
    json!({"dnsName": format!("{name}.example.test"), "recordType": rtype, "targets": [target], "recordTTL": 60,
        "setIdentifier": id, "providerSpecific": properties})
}

/// What is asked for: `alias` and `cloud/weight` are properties as a source of external-dns makes them of annotations.
fn wanted(weight: &str) -> Vec<Value> {
    vec![
        endpoint("plain", "A", "192.0.2.1", "", &[]),
        endpoint("lb", "CNAME", "lb.elsewhere.test", "", &[("alias", "true")]),
        endpoint("w", "A", "192.0.2.1", "blue", &[("cloud/weight", weight)]),
        endpoint("w", "A", "192.0.2.2", "green", &[("cloud/weight", "20")]),
    ]
}

impl Served {
    async fn adjusted(&self, endpoints: &[Value]) -> Vec<Value> {
        let answer = self.ask("POST", "/adjustendpoints", &Value::from(endpoints.to_vec()).to_string()).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json().as_array().unwrap().clone()
    }

    async fn listed(&self) -> Vec<Value> {
        let answer = self.ask("GET", "/records", "").await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json().as_array().unwrap().clone()
    }

    async fn change(&self, body: Value) {
        let answer = self.ask("POST", "/records", &body.to_string()).await;
        assert_eq!((answer.status, answer.body.as_str()), (204, ""), "{body}");
    }
}

/// As a caller compares: by name, type and identifier; targets, TTL and properties.
fn compared(endpoints: &[Value]) -> BTreeMap<String, Value> {
    let key = |endpoint: &Value| {
        let word = |key: &str| endpoint.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        format!("{} {} {}", word("dnsName"), word("recordType"), word("setIdentifier"))
    };
    endpoints.iter().map(|endpoint| (key(endpoint), endpoint.clone())).collect()
}

#[tokio::test]
async fn aliases_and_weights_are_published_and_read_back_as_they_were_adjusted() {
    let (site, cloud) = served().await;
    let adjusted = site.adjusted(&wanted("10")).await;
    let keys: Vec<String> = compared(&adjusted).into_keys().collect();
    assert_eq!(
        keys,
        [
            "lb.example.test A ",
            "lb.example.test AAAA ",
            "plain.example.test A ",
            "w.example.test A blue",
            "w.example.test A green"
        ]
    );
    assert_eq!(compared(&site.adjusted(&adjusted).await), compared(&adjusted), "adjusting again changes nothing");
    site.change(json!({"create": adjusted})).await;
    let stands: Vec<String> = cloud
        .dump()
        .iter()
        .map(|set| format!("{set} {}", set.routing.kind().map(|kind| kind.to_string()).unwrap_or_default()))
        .collect();
    assert_eq!(
        stands,
        [
            "lb.example.test A alias of lb.elsewhere.test. ",
            "lb.example.test AAAA alias of lb.elsewhere.test. ",
            "plain.example.test 60 A 192.0.2.1 ",
            "w.example.test 60 A (blue) 192.0.2.1 weighted",
            "w.example.test 60 A (green) 192.0.2.2 weighted"
        ]
    );
    assert_eq!(compared(&site.listed().await), compared(&adjusted), "nothing is to be done");
}

#[tokio::test]
async fn a_weight_changes_and_everything_goes_by_what_was_listed() {
    let (site, cloud) = served().await;
    site.change(json!({"create": site.adjusted(&wanted("10")).await})).await;
    let (old, new) = (compared(&site.listed().await), compared(&site.adjusted(&wanted("30")).await));
    let blue = "w.example.test A blue";
    let changed: Vec<&String> = new.keys().filter(|key| old.get(*key) != new.get(*key)).collect();
    assert_eq!(changed, [blue]);
    site.change(json!({"updateOld": [old.get(blue)], "updateNew": [new.get(blue)]})).await;
    assert_eq!(compared(&site.listed().await), new);
    // What was read before the change is not there any more.
    let late = site.ask("POST", "/records", &json!({"delete": [old.get(blue)]}).to_string()).await;
    assert_eq!((late.status, late.refused()), (500, vec!["w.example.test conflict".to_owned()]));
    site.change(json!({"delete": site.listed().await})).await;
    assert!(cloud.dump().is_empty(), "{:?}", cloud.dump());
}

/// A caller that does not ask for the adjusted form gets it all the same.
#[tokio::test]
async fn what_was_not_adjusted_is_interpreted_when_it_is_written() {
    let (site, _) = served().await;
    site.change(json!({"create": wanted("10")})).await;
    assert_eq!(compared(&site.listed().await), compared(&site.adjusted(&wanted("10")).await));
    let bad = endpoint("bad", "A", "192.0.2.9", "x", &[("cloud/weight", "much")]);
    let answer = site.ask("POST", "/records", &json!({"create": [bad]}).to_string()).await;
    assert_eq!((answer.status, answer.refused()), (500, vec!["bad.example.test unsupported".to_owned()]));
    assert!(answer.body.contains("cloud/weight"), "{}", answer.body);
}
