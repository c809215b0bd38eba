//! What the suite of all providers does not know: zones, shared policies, exact deletions, blame, propagation, credentials and costs.

use std::collections::BTreeSet;

use crate::common::{PROJECT, config, ours, provider, since};
use serde_json::{Value, json};
use zonewright_core::catalog::FlagValue;
use zonewright_core::change::{Blame, Change, Group, Outcome, Step};
use zonewright_core::error::{ErrorKind, Result, Retry};
use zonewright_core::listing::whole;
use zonewright_core::provider::{Adjustment, Listing, Provider, Read};
use zonewright_core::record::{Item, Routing};
use zonewright_core::zone::ZoneId;
use zonewright_core::{DnsName, RData, RecordData, RecordSet, RecordType, Ttl, Zone};
use zonewright_fakes::clouddns::{CloudDns as Service, Fault, Kind, RecordSet as Theirs, TOKEN};
use zonewright_provider_clouddns::CloudDns;

fn text(text: &str) -> FlagValue {
    FlagValue::Text(text.to_owned())
}

fn list(texts: &[&str]) -> FlagValue {
    FlagValue::List(texts.iter().map(|text| (*text).to_owned()).collect())
}

fn named(name: &str, data: &[&str]) -> RecordSet {
    let rtype = data.first().map_or(RecordType::A, |text| RData::type_of_target(text));
    let data = data.iter().map(|text| RData::parse(rtype, text).unwrap());
    RecordSet::simple(DnsName::parse(name).unwrap(), rtype, Ttl::from_secs(300), data)
}

fn www(data: &[&str]) -> RecordSet {
    named("www.example.test", data)
}

fn group(change: Change) -> Group {
    Group::of(Step::record(change, None), vec![])
}

fn create(to: &RecordSet) -> Group {
    group(Change::Create { to: to.clone() })
}

fn theirs(name: &str, kind: &str, rrdatas: &[&str], routing: Option<Value>) -> Theirs {
    let rrdatas = rrdatas.iter().map(|text| (*text).to_owned()).collect();
    Theirs { name: name.to_owned(), kind: kind.to_owned(), ttl: 300, rrdatas, routing }
}

/// A zone with its number, and a provider.
async fn zone(given: &[(&'static str, FlagValue)]) -> (Service, CloudDns, Zone, String) {
    let service = Service::start();
    let id = service.add_zone(PROJECT, "shop-zone", "example.test.", Kind::Public);
    let provider = provider(&service, given);
    let zone = provider.zones().await.unwrap().pop().unwrap();
    (service, provider, zone, id)
}

async fn listed(provider: &CloudDns, zone: &Zone) -> Result<Vec<RecordSet>> {
    match whole(provider, zone).await? {
        Listing::Full { sets, .. } => Ok(sets),
        other => panic!("{other:?}"),
    }
}

async fn at(provider: &CloudDns, zone: &Zone, name: &str) -> Vec<RecordSet> {
    let names = BTreeSet::from([DnsName::parse(name).unwrap()]);
    match provider.records(zone, Read::Names(&names)).await.unwrap() {
        Listing::Names(sets) => sets,
        other => panic!("{other:?}"),
    }
}

async fn apply(provider: &CloudDns, zone: &Zone, change: Change) -> Outcome {
    provider.apply(zone, &[group(change)]).await.pop().unwrap()
}

#[track_caller]
fn applied(outcome: &Outcome) {
    assert!(matches!(outcome, Outcome::Applied), "{outcome:?}");
}

/// The set of the service at this name.
fn stands(service: &Service, id: &str, name: &str) -> Theirs {
    service.sets(id).into_iter().find(|set| set.name == name).unwrap()
}

async fn names(provider: &CloudDns) -> Result<Vec<String>> {
    let mut names: Vec<String> = provider.zones().await?.iter().map(|zone| zone.key.zone.to_string()).collect();
    names.sort();
    Ok(names)
}

#[tokio::test]
async fn zones_are_selected() {
    let service = Service::start();
    service.set_page(2);
    let id = service.add_zone(PROJECT, "a-public", "a.test.", Kind::Public);
    service.add_zone(PROJECT, "a-private", "a.test.", Kind::Private);
    service.add_zone(PROJECT, "b-public", "b.test.", Kind::Public);
    service.add_zone(PROJECT, "c-public", "c.example.", Kind::Public);
    service.add_zone("other", "d-public", "d.test.", Kind::Public);
    for (name, field) in [
        ("peered", "peeringConfig"),
        ("forwarded", "forwardingConfig"),
        ("directory", "serviceDirectoryConfig"),
        ("reverse", "reverseLookupConfig"),
    ] {
        let id = service.add_zone(PROJECT, name, "a.test.", Kind::Private);
        service.configure(&id, field, json!({}));
    }
    let of = async |given: &[(&'static str, FlagValue)]| names(&provider(&service, given)).await;
    assert_eq!(of(&[]).await.unwrap(), ["a-private", "a-public", "b-public", "c-public"]);
    assert_eq!(of(&[("domain-filter", list(&["test"]))]).await.unwrap(), ["a-private", "a-public", "b-public"]);
    assert_eq!(of(&[("google-zone-visibility", text("private"))]).await.unwrap(), ["a-private"]);
    assert_eq!(of(&[("zone-id-filter", list(&[&id, "c-public"]))]).await.unwrap(), ["a-public", "c-public"]);
    assert_eq!(of(&[("google-project", text("other"))]).await.unwrap(), ["d-public"]);
    service.fail_after("ListZones", 1, Fault::Denied, 1);
    let error = of(&[]).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unauthorized, "no part of a list is a list");
    assert!(error.context.contains("the Secret's accessToken"), "{error}");
    let provider = provider(&service, &[]);
    for (zone, expected) in [("a-public", true), ("peered", false), ("nowhere", false)] {
        assert_eq!(provider.zone(&ZoneId::from(zone)).await.unwrap().is_some(), expected, "{zone}");
    }
}

#[tokio::test]
async fn the_quota_of_the_project_counts() {
    let service = Service::start();
    service.add_zone(PROJECT, "shop-zone", "example.test.", Kind::Public);
    service.set_quota("rrsetAdditionsPerChange", 50);
    service.set_quota("resourceRecordsPerRrset", 2);
    let provider = provider(&service, &[]);
    assert_eq!(provider.capability(None).batch.changes, 1_000);
    // Where it cannot be read the documented limits hold, until the next list.
    service.fail("GetProject", Fault::Denied, 1);
    let zone = provider.zones().await.unwrap().pop().unwrap();
    assert_eq!(provider.capability(Some(&zone)).batch.changes, 1_000);
    provider.zones().await.unwrap();
    assert_eq!(provider.capability(Some(&zone)).batch.changes, 50);
    let three = www(&["192.0.2.1", "192.0.2.2", "192.0.2.3"]);
    let [Adjustment::Refused(why)] = &provider.adjust(&zone, &[three]).await[..] else { panic!("it is published") };
    assert!(why.contains("at most 2"), "{why}");
    provider.zones().await.unwrap();
    assert_eq!(service.calls()["GetProject"], 2, "it is read once");
}

/// What the service says that an item is.
const ITEM: &str = "dns#rRSetRoutingPolicyWrrPolicyWrrPolicyItem";

/// What another writer put into a shared policy, in every form that the service has for it.
fn policy() -> Value {
    json!({
        "kind": "dns#rRSetRoutingPolicy",
        "wrr": { "items": [
            { "kind": ITEM, "weight": 0.5, "rrdatas": ["198.51.100.2", "198.51.100.1"] },
            { "kind": ITEM, "weight": 7.0, "rrdatas": ["198.51.100.3"],
              "healthCheckedTargets": { "externalEndpoints": ["198.51.100.4"] } },
        ] },
        "healthCheck": "https://compute.test/healthChecks/a",
    })
}

fn item(weight: u32, data: &str) -> Item {
    Item { routing: Routing::Weighted { weight }, records: vec![RData::parse(RecordType::A, data).unwrap()] }
}

#[tokio::test]
async fn items_of_others_stay_byte_by_byte() {
    let (service, provider, zone, id) = zone(&[]).await;
    service.put(&id, theirs("www.example.test.", "A", &[], Some(policy())));
    let from = at(&provider, &zone, "www.example.test").await.pop().unwrap();
    let RecordData::Items(items) = from.data.clone() else { panic!("{from:?}") };
    assert_eq!(items.len(), 2);
    let to = RecordSet { data: RecordData::items([items, vec![item(10, "192.0.2.1")]].concat()), ..from.clone() };
    applied(&apply(&provider, &zone, Change::Update { from: from.clone(), to }).await);
    let shared = stands(&service, &id, "www.example.test.").routing.unwrap();
    assert_eq!((&shared["kind"], &shared["healthCheck"]), (&policy()["kind"], &policy()["healthCheck"]));
    let found = shared["wrr"]["items"].as_array().unwrap();
    assert_eq!(found.len(), 3, "{shared}");
    for theirs in policy()["wrr"]["items"].as_array().unwrap() {
        assert!(found.contains(theirs), "{theirs} is not as it was: {shared}");
    }
    assert!(found.contains(&json!({ "kind": ITEM, "weight": 10.0, "rrdatas": ["192.0.2.1"] })), "{shared}");
    // And back: what is left is what was there.
    let now = at(&provider, &zone, "www.example.test").await.pop().unwrap();
    let RecordData::Items(items) = now.data.clone() else { panic!("{now:?}") };
    let left = items.into_iter().filter(|found| *found != item(10, "192.0.2.1"));
    let to = RecordSet { data: RecordData::items(left), ..now.clone() };
    applied(&apply(&provider, &zone, Change::Update { from: now, to }).await);
    assert_eq!(at(&provider, &zone, "www.example.test").await, [from]);
}

#[tokio::test]
async fn a_failover_is_kept_and_can_be_taken_away_exactly() {
    let (service, provider, zone, id) = zone(&[]).await;
    let failover = json!({ "primaryBackup": {
        "primaryTargets": { "internalLoadBalancers": [{ "ipAddress": "10.0.0.1", "port": "80" }] },
        "backupGeoTargets": { "items": [{ "location": "us-east1", "rrdatas": ["192.0.2.9"] }] },
        "trickleTraffic": 0.1,
    } });
    service.put(&id, theirs("www.example.test.", "A", &[], Some(failover)));
    let found = at(&provider, &zone, "www.example.test").await.pop().unwrap();
    assert!(matches!(found.data.as_records(), [RData::Other(_)]), "{found:?}");
    let outcome = apply(&provider, &zone, Change::Create { to: www(&["192.0.2.1"]) }).await;
    assert!(matches!(&outcome, Outcome::Refused { error, .. } if error.kind == ErrorKind::Conflict), "{outcome:?}");
    applied(&apply(&provider, &zone, Change::Delete { from: found }).await);
    assert!(service.sets(&id).iter().all(|set| set.name != "www.example.test."));
}

/// What somebody spelled otherwise than we would is deleted as it stands.
#[tokio::test]
async fn a_deletion_states_what_was_read() {
    let (service, provider, zone, id) = zone(&[]).await;
    service.put(&id, theirs("www.example.test.", "CNAME", &["LB.Example.net."], None));
    service.put(&id, theirs("t.example.test.", "TXT", &["plain \"and quoted\""], None));
    for name in ["www.example.test", "t.example.test"] {
        let from = at(&provider, &zone, name).await.pop().unwrap();
        applied(&apply(&provider, &zone, Change::Delete { from }).await);
    }
    assert_eq!(service.sets(&id).len(), 2, "SOA and NS");
}

#[tokio::test]
async fn the_set_that_is_named_is_at_fault() {
    let (service, provider, zone, id) = zone(&[]).await;
    service.put(&id, theirs("b.example.test.", "A", &["198.51.100.1"], None));
    let set = |name: &str| named(name, &["192.0.2.1"]);
    let stale = group(Change::Delete { from: set("gone.example.test") });
    let groups = [create(&set("a.example.test")), create(&set("b.example.test")), create(&set("c.example.test"))];
    let blamed = |outcomes: &[Outcome], guilty: usize| {
        for (at, outcome) in outcomes.iter().enumerate() {
            let Outcome::Refused { error, blame } = outcome else { panic!("{outcome:?}") };
            assert_eq!(error.kind, ErrorKind::Conflict, "{error}");
            let expected = if at == guilty { Blame::Group } else { Blame::Batch };
            assert_eq!(*blame, expected, "group {at}");
        }
    };
    blamed(&provider.apply(&zone, &groups).await, 1);
    let [first, _, third] = groups;
    blamed(&provider.apply(&zone, &[first.clone(), third.clone(), stale]).await, 2);
    for outcome in provider.apply(&zone, &[first, third]).await {
        applied(&outcome);
    }
}

#[tokio::test]
async fn a_change_is_followed_until_it_is_served() {
    let (service, provider, zone, _) = zone(&[]).await;
    assert_eq!(provider.served(&zone).await.unwrap(), Some(true));
    service.set_pending(usize::MAX);
    applied(&apply(&provider, &zone, Change::Create { to: www(&["192.0.2.1"]) }).await);
    assert_eq!(provider.served(&zone).await.unwrap(), Some(false));
    service.finish();
    assert_eq!(provider.served(&zone).await.unwrap(), Some(true));
    let asked = service.calls()["GetChange"];
    assert_eq!(provider.served(&zone).await.unwrap(), Some(true));
    assert_eq!(service.calls()["GetChange"], asked, "nothing waits any more");
}

#[tokio::test]
async fn what_became_of_a_change_is_reported_honestly() {
    for (fault, kind, outcome, done) in [
        (Fault::Throttled, ErrorKind::Throttled, "not_sent", false),
        (Fault::RateLimited, ErrorKind::Throttled, "not_sent", false),
        (Fault::Denied, ErrorKind::Unauthorized, "refused", false),
        (Fault::Broken, ErrorKind::Unavailable, "unknown", false),
        (Fault::AnswerLost, ErrorKind::Unavailable, "unknown", true),
        (Fault::ConnectionLost, ErrorKind::Unavailable, "unknown", true),
        (Fault::Cut, ErrorKind::Unavailable, "unknown", true),
        (Fault::Late, ErrorKind::Timeout, "unknown", true),
        (Fault::Garbage, ErrorKind::Protocol, "unknown", false),
    ] {
        let (service, provider, zone, id) = zone(&[]).await;
        let before = service.calls();
        service.fail("CreateChange", fault, usize::MAX);
        let made = apply(&provider, &zone, Change::Create { to: www(&["192.0.2.1"]) }).await;
        let error = made.error().cloned().unwrap();
        assert_eq!((made.label(), error.kind), (outcome, kind), "{fault:?}: {error}");
        assert_eq!(service.sets(&id).len() - 2, usize::from(done), "{fault:?}");
        if kind != ErrorKind::Throttled {
            let sent = since(&service, &before)["CreateChange"];
            assert_eq!(sent, 1, "{fault:?}: nothing is sent twice that may have been carried out");
        }
    }
}

#[tokio::test]
async fn throttling_says_when_to_come_back() {
    let (service, provider, zone, _) = zone(&[]).await;
    service.fail("ListRecordSets", Fault::Throttled, usize::MAX);
    let error = provider.records(&zone, Read::All).await.unwrap_err();
    assert!(error.kind == ErrorKind::Throttled && matches!(error.retry, Retry::After(_)), "{error:?}");
}

#[tokio::test]
async fn a_zone_that_is_gone_is_reported() {
    let (service, provider, zone, id) = zone(&[]).await;
    service.drop_zone(&id);
    assert!(provider.zone(&zone.key.zone).await.unwrap().is_none());
    assert_eq!(provider.records(&zone, Read::All).await.unwrap_err().kind, ErrorKind::NotFound);
    let groups = [create(&www(&["192.0.2.1"])), create(&named("b.example.test", &["192.0.2.1"]))];
    for outcome in provider.apply(&zone, &groups).await {
        let Outcome::Refused { error, blame: Blame::Group } = outcome else { panic!("{outcome:?}") };
        assert_eq!(error.kind, ErrorKind::NotFound);
    }
    assert!(provider.zones().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_token_that_ends_is_reported_with_its_place() {
    let (service, provider, zone, _) = zone(&[]).await;
    service.expire_token(TOKEN);
    let error = provider.records(&zone, Read::All).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unauthorized);
    assert!(error.context.contains("the Secret's accessToken") && !error.to_string().contains(TOKEN), "{error}");
    service.allow_token(TOKEN);
    assert!(listed(&provider, &zone).await.is_ok());
}

/// The service says only that it is forbidden.
#[tokio::test]
async fn a_missing_permission_is_reported() {
    let (service, provider, zone, _) = zone(&[]).await;
    for operation in ["ListZones", "GetZone", "ListRecordSets", "CreateChange", "GetChange"] {
        let (permission, error) = match operation {
            "ListZones" => ("dns.managedZones.list", {
                service.fail(operation, Fault::Denied, 1);
                provider.zones().await.unwrap_err()
            }),
            "GetZone" => ("dns.managedZones.get", {
                service.fail(operation, Fault::Denied, 1);
                provider.zone(&zone.key.zone).await.unwrap_err()
            }),
            "ListRecordSets" => ("dns.resourceRecordSets.list", {
                service.fail(operation, Fault::Denied, 1);
                provider.records(&zone, Read::All).await.unwrap_err()
            }),
            "CreateChange" => ("dns.changes.create", {
                service.fail(operation, Fault::Denied, 1);
                apply(&provider, &zone, Change::Create { to: www(&["192.0.2.1"]) }).await.error().unwrap().clone()
            }),
            _ => ("dns.changes.get", {
                service.set_pending(1);
                applied(&apply(&provider, &zone, Change::Create { to: www(&["192.0.2.1"]) }).await);
                service.fail(operation, Fault::Denied, 1);
                provider.served(&zone).await.unwrap_err()
            }),
        };
        assert_eq!(error.kind, ErrorKind::Unauthorized, "{operation}: {error}");
        for said in [permission, "the Secret's accessToken", "Forbidden"] {
            assert!(error.context.contains(said), "{operation}: {error}");
        }
    }
}

#[tokio::test]
async fn without_a_project_the_metadata_server_is_asked() {
    let service = Service::start();
    let mut settings = config(&service.url(), TOKEN, &[("google-project", text(""))]);
    settings.instance = "other".into();
    // Nobody listens there.
    let variable = |name: &str| (name == "GCE_METADATA_HOST").then(|| "127.0.0.1:1".to_owned());
    let provider = CloudDns::with_variables(&settings, &variable).unwrap();
    let error = provider.zones().await.unwrap_err();
    assert!(error.context.contains("--google-project"), "{error}");
    assert_eq!(service.requests(), 0);
}

#[tokio::test]
async fn a_change_costs_one_request() {
    let (service, provider, zone, id) = zone(&[]).await;
    for i in 0..30 {
        service.put(&id, theirs(&format!("old{i}.example.test."), "A", &["192.0.2.1"], None));
    }
    let before = service.calls();
    let groups: Vec<Group> = (0..100).map(|i| create(&named(&format!("n{i}.example.test"), &["192.0.2.2"]))).collect();
    provider.apply(&zone, &groups).await.iter().for_each(applied);
    assert_eq!(since(&service, &before), [("CreateChange".to_owned(), 1)].into());
    let before = service.calls();
    assert_eq!(at(&provider, &zone, "n1.example.test").await.len(), 1);
    assert_eq!(since(&service, &before), [("ListRecordSets".to_owned(), 1)].into(), "a name is read by itself");
    let found: Vec<RecordSet> = service.sets(&id).iter().map(ours).collect();
    assert_eq!(found.len(), 132);
}

/// Once it is known how many pages a zone has, many names are read by these, and few by themselves.
#[tokio::test]
async fn many_names_are_read_by_pages() {
    let (service, provider, zone, id) = zone(&[]).await;
    service.set_page(10);
    for i in 0..30 {
        service.put(&id, theirs(&format!("n{i}.example.test."), "A", &["192.0.2.1"], None));
    }
    let names = |count: usize| -> BTreeSet<DnsName> {
        (0..count).map(|i| DnsName::parse(&format!("n{i}.example.test")).unwrap()).collect()
    };
    let read = async |count: usize| {
        let before = service.calls();
        let Listing::Names(sets) = provider.records(&zone, Read::Names(&names(count))).await.unwrap() else {
            panic!("names were asked for")
        };
        assert_eq!(sets.len(), count);
        since(&service, &before)["ListRecordSets"]
    };
    assert_eq!(read(20).await, 20, "nobody has listed the zone");
    assert_eq!(listed(&provider, &zone).await.unwrap().len(), 32);
    for (count, requests) in [(20, 4), (5, 4), (4, 4), (1, 1)] {
        assert_eq!(read(count).await, requests, "{count} names in a zone of 4 pages");
    }
}
