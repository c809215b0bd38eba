//! What the suite of all providers does not know: zones, ETags, aliases, metadata, refusals and costs.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{GROUP, SUBSCRIPTION, ZONE, dump, ours, provider, provider_as, since, tags};
use serde_json::json;
use zonewright_core::catalog::FlagValue;
use zonewright_core::change::{Change, Group, Outcome, Precondition, Step};
use zonewright_core::error::{ErrorKind, Retry};
use zonewright_core::listing::whole;
use zonewright_core::provider::{Listing, Provider, Read};
use zonewright_core::{DnsName, RData, RecordKey, RecordSet, RecordType, Ttl, Zone};
use zonewright_fakes::azure::{AzureDns as Service, Fault, Kind, RecordSet as Theirs};
use zonewright_provider_azure::AzureDns;

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

fn claim(text: &str) -> RecordSet {
    let data = RData::parse(RecordType::Txt, &format!("\"{text}\"")).unwrap();
    RecordSet::simple(DnsName::parse("a-www.example.test").unwrap(), RecordType::Txt, Ttl::from_secs(300), [data])
}

fn a(name: &str, addresses: &[&str]) -> Theirs {
    Theirs::new(name, "A", 300, addresses.iter().map(|address| json!({ "ipv4Address": address })).collect())
}

fn group(change: Change) -> Group {
    Group::of(Step::record(change, None), vec![])
}

fn create(to: &RecordSet) -> Group {
    group(Change::Create { to: to.clone() })
}

fn update(from: &RecordSet, to: &RecordSet) -> Group {
    group(Change::Update { from: from.clone(), to: to.clone() })
}

fn delete(from: &RecordSet) -> Group {
    group(Change::Delete { from: from.clone() })
}

/// A zone with its id, and a provider.
async fn zone(given: &[(&'static str, FlagValue)]) -> (Service, AzureDns, Zone, String) {
    let service = Service::start();
    let id = service.add_zone(Kind::Public, SUBSCRIPTION, GROUP, ZONE);
    let provider = provider(&service, Kind::Public, given);
    let zone = provider.zones().await.unwrap().pop().unwrap();
    (service, provider, zone, id)
}

async fn listed(provider: &AzureDns, zone: &Zone) -> Vec<RecordSet> {
    match whole(provider, zone).await.unwrap() {
        Listing::Full { sets, .. } => sets,
        other => panic!("{other:?}"),
    }
}

async fn apply(provider: &AzureDns, zone: &Zone, group: Group) -> Outcome {
    provider.apply(zone, &[group]).await.pop().unwrap()
}

#[track_caller]
fn applied(outcome: &Outcome) {
    assert!(matches!(outcome, Outcome::Applied), "{outcome:?}");
}

#[track_caller]
fn refused(outcome: &Outcome, kind: ErrorKind, said: &str) {
    match outcome {
        Outcome::Refused { error, .. } => assert!(error.kind == kind && error.to_string().contains(said), "{error}"),
        other => panic!("{other:?}"),
    }
}

fn stands(service: &Service, id: &str, name: &str, kind: &str) -> Option<Theirs> {
    service.sets(id).into_iter().find(|set| set.name == name && set.kind == kind)
}

fn calls(of: &[(&str, usize)]) -> BTreeMap<String, usize> {
    of.iter().map(|(operation, count)| ((*operation).to_owned(), *count)).collect()
}

#[tokio::test]
async fn zones_are_selected() {
    let service = Service::start();
    service.set_page(2);
    for name in ["a.test", "b.test", "sub.b.test", "c.test", "d.test"] {
        service.add_zone(Kind::Public, SUBSCRIPTION, GROUP, name);
    }
    service.add_zone(Kind::Private, SUBSCRIPTION, GROUP, "inside.test");
    service.add_zone(Kind::Public, SUBSCRIPTION, "other", "e.test");
    let all = vec!["a.test", "b.test", "c.test", "d.test", "sub.b.test"];
    for (kind, given, expected) in [
        (Kind::Public, vec![], all),
        (Kind::Private, vec![], vec!["inside.test"]),
        (Kind::Public, vec![("domain-filter", list(&["b.test"]))], vec!["b.test", "sub.b.test"]),
        (Kind::Public, vec![("zone-id-filter", list(&["DNSZONES/b.test"]))], vec!["b.test"]),
        (
            Kind::Public,
            vec![("domain-filter", list(&["a.test"])), ("zone-name-filter", list(&["c.test"]))],
            vec!["a.test", "c.test"],
        ),
        (
            Kind::Public,
            vec![("azure-resource-group", FlagValue::Text("*".to_owned()))],
            vec!["a.test", "b.test", "c.test", "d.test", "e.test", "sub.b.test"],
        ),
    ] {
        let zones = provider(&service, kind, &given).zones().await.unwrap();
        let mut names: Vec<&str> = zones.iter().map(|zone| zone.name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, expected, "{given:?}");
    }
    let kept = FlagValue::Duration { length: std::time::Duration::from_mins(1), negative: false };
    for (given, expected) in [(vec![], 6), (vec![("azure-zones-cache-duration", kept)], 3)] {
        let (provider, before) = (provider(&service, Kind::Public, &given), service.calls());
        provider.zones().await.unwrap();
        provider.zones().await.unwrap();
        assert_eq!(since(&service, &before), calls(&[("ListZones", expected)]), "{given:?}");
    }
}

#[tokio::test]
async fn a_change_costs_one_write_and_what_it_requires_one_read() {
    let (service, provider, zone, id) = zone(&[]).await;
    let (one, two) = (www(&["192.0.2.1"]), www(&["192.0.2.2"]));
    let requires = vec![Precondition::Exact(claim("ours"))];
    service.put(&id, crate::common::theirs(&claim("ours"), ZONE));
    service.put(&id, a("unread", &["192.0.2.9"]));
    let unread = named("unread.example.test", &["192.0.2.9"]);
    for (group, expected) in [
        (create(&one), vec![("PutRecordSet", 1)]),
        (update(&one, &two), vec![("PutRecordSet", 1)]),
        (Group { requires, ..update(&two, &one) }, vec![("GetRecordSet", 1), ("PutRecordSet", 1)]),
        (delete(&one), vec![("DeleteRecordSet", 1)]),
        (delete(&unread), vec![("GetRecordSet", 1), ("DeleteRecordSet", 1)]),
    ] {
        let before = service.calls();
        let headline = group.headline();
        applied(&apply(&provider, &zone, group).await);
        assert_eq!(since(&service, &before), calls(&expected), "{headline}");
    }
    let many: Vec<Group> = (0..100).map(|at| create(&named(&format!("n{at}.example.test"), &["192.0.2.1"]))).collect();
    let before = service.calls();
    provider.apply(&zone, &many).await.iter().for_each(applied);
    assert_eq!(since(&service, &before), calls(&[("PutRecordSet", 100)]));
}

/// A name is a read for each type; a zone that has fewer pages is read whole.
#[tokio::test]
async fn names_of_a_small_zone_are_one_page() {
    let (service, provider, zone, id) = zone(&[]).await;
    service.put(&id, a("www", &["192.0.2.1"]));
    service.put(&id, a("other", &["192.0.2.2"]));
    let names = BTreeSet::from([DnsName::parse("www.example.test").unwrap()]);
    for expected in [vec![("GetRecordSet", 9)], vec![("ListRecordSets", 1)]] {
        let before = service.calls();
        let read = provider.records(&zone, Read::Names(&names)).await.unwrap();
        assert_eq!(read, Listing::Names(vec![www(&["192.0.2.1"])]));
        assert_eq!(since(&service, &before), calls(&expected));
        listed(&provider, &zone).await;
    }
    // It has grown since: pages end where single reads are fewer.
    service.set_page(1);
    (0..20).for_each(|at| service.put(&id, a(&format!("n{at}"), &["192.0.2.3"])));
    let before = service.calls();
    provider.records(&zone, Read::Names(&names)).await.unwrap();
    assert_eq!(since(&service, &before), calls(&[("ListRecordSets", 9), ("GetRecordSet", 9)]));
}

/// The service names subscription and group in its sentence, and its code after that: messages are cut long before they end.
#[tokio::test]
async fn a_record_that_is_not_there_is_no_zone_that_is_gone() {
    let service = Service::start();
    let (subscription, group) = ("0b1f6471-1bf0-4dda-aec3-111122223333", "g".repeat(60));
    let id = service.add_zone(Kind::Public, subscription, &group, ZONE);
    let text = |text: &str| FlagValue::Text(text.to_owned());
    let given = [("azure-subscription-id", text(subscription)), ("azure-resource-group", text(&group))];
    let provider = provider(&service, Kind::Public, &given);
    let zone = provider.zones().await.unwrap().pop().unwrap();
    let set = named("some-longer-name.example.test", &["192.0.2.1"]);
    let other = RecordKey { rtype: RecordType::Aaaa, ..set.key.clone() };
    let create = Group { requires: vec![Precondition::Absent(other)], ..create(&set) };
    applied(&apply(&provider, &zone, create).await);
    assert!(stands(&service, &id, "some-longer-name", "A").is_some());
    // No page was read yet: each type of the names is asked for by itself.
    let names = BTreeSet::from(
        ["some-longer-name", "another-long-name"].map(|name| DnsName::parse(&format!("{name}.example.test")).unwrap()),
    );
    assert_eq!(provider.records(&zone, Read::Names(&names)).await.unwrap(), Listing::Names(vec![set]));
}

#[tokio::test]
async fn what_somebody_else_wrote_is_never_written_over() {
    let (service, provider, zone, id) = zone(&[]).await;
    let (one, two) = (www(&["192.0.2.1"]), www(&["192.0.2.2"]));
    // It came after the zone was read.
    assert!(listed(&provider, &zone).await.iter().all(|set| set.key != one.key));
    service.put(&id, a("www", &["198.51.100.1"]));
    refused(&apply(&provider, &zone, create(&one)).await, ErrorKind::Conflict, "exists already");
    // It changed after it was read.
    let read = listed(&provider, &zone).await.into_iter().find(|set| set.key == one.key).unwrap();
    service.put(&id, a("www", &["198.51.100.2"]));
    refused(&apply(&provider, &zone, update(&read, &two)).await, ErrorKind::Conflict, "PreconditionFailed");
    refused(&apply(&provider, &zone, delete(&read)).await, ErrorKind::Conflict, "198.51.100.2");
    // It has the same content again, under another ETag: after one reading the change goes through.
    service.put(&id, a("www", &["192.0.2.1"]));
    // A listing that lags behind shows what was: a write by it is refused.
    service.set_lag(&id, 1);
    applied(&apply(&provider, &zone, update(&one, &two)).await);
    assert_eq!(ours(&stands(&service, &id, "www", "A").unwrap(), ZONE), two);
    let stale = listed(&provider, &zone).await.into_iter().find(|set| set.key == one.key).unwrap();
    assert_eq!(stale, one);
    refused(&apply(&provider, &zone, update(&stale, &www(&["192.0.2.3"]))).await, ErrorKind::Conflict, "");
    assert_eq!(ours(&stands(&service, &id, "www", "A").unwrap(), ZONE), two);
}

/// A set that goes is in no listing: what was known of it does not stay for ever.
#[tokio::test]
async fn what_a_listing_does_not_show_is_forgotten() {
    let (service, provider, zone, id) = zone(&[]).await;
    service.set_page(1);
    for name in ["a", "m", "www"] {
        service.put(&id, a(name, &["192.0.2.1"]));
    }
    let (gone, stays) = (www(&["192.0.2.1"]), named("m.example.test", &["192.0.2.1"]));
    for (set, by_hand, expected) in [
        (&stays, false, vec![("DeleteRecordSet", 1)]),
        // It comes back with the same content, and is read before it is deleted.
        (&gone, true, vec![("GetRecordSet", 1), ("DeleteRecordSet", 1)]),
    ] {
        listed(&provider, &zone).await;
        if by_hand {
            let removed = service.remove(&id, "www", "A").unwrap();
            listed(&provider, &zone).await;
            service.put(&id, Theirs { etag: String::new(), ..removed });
        }
        let before = service.calls();
        applied(&apply(&provider, &zone, delete(set)).await);
        assert_eq!(since(&service, &before), calls(&expected));
    }
}

#[tokio::test]
async fn a_claim_that_changed_by_hand_stops_the_write() {
    let (service, provider, zone, id) = zone(&[]).await;
    service.put(&id, a("www", &["192.0.2.1"]));
    service.put(&id, crate::common::theirs(&claim("theirs"), ZONE));
    listed(&provider, &zone).await;
    let requires = vec![Precondition::Exact(claim("ours"))];
    let change = Group { requires, ..update(&www(&["192.0.2.1"]), &www(&["192.0.2.2"])) };
    let before = service.calls();
    refused(&apply(&provider, &zone, change).await, ErrorKind::Conflict, "theirs");
    assert_eq!(since(&service, &before), calls(&[("GetRecordSet", 1)]));
    assert_eq!(ours(&stands(&service, &id, "www", "A").unwrap(), ZONE), www(&["192.0.2.1"]));
}

#[tokio::test]
async fn aliases_and_empty_sets_are_left_alone() {
    let (service, provider, zone, id) = zone(&[]).await;
    let target = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/publicIPAddresses/web";
    let mut alias = a("alias", &[]);
    alias.target = Some(target.to_owned());
    service.put(&id, alias);
    service.put(&id, a("empty", &[]));
    let read = listed(&provider, &zone).await;
    let before = service.requests();
    for (name, said) in [("alias.example.test", target), ("empty.example.test", "without records")] {
        let name = DnsName::parse(name).unwrap();
        let found = read.iter().find(|set| set.key.name == name).unwrap();
        let wanted = RecordSet { data: www(&["192.0.2.1"]).data, ..found.clone() };
        refused(&apply(&provider, &zone, update(found, &wanted)).await, ErrorKind::Invalid, said);
        refused(&apply(&provider, &zone, delete(found)).await, ErrorKind::Invalid, "left alone");
    }
    assert_eq!(service.requests(), before, "nothing is sent");
}

#[tokio::test]
async fn metadata_stay_as_they_are_or_change() {
    let (service, provider, zone, id) = zone(&[]).await;
    let mut theirs = a("www", &["192.0.2.1"]);
    theirs.metadata = [("note".to_owned(), "one, two = three".to_owned())].into();
    service.put(&id, theirs.clone());
    let names = BTreeSet::from([DnsName::parse("www.example.test").unwrap()]);
    let Listing::Names(read) = provider.records(&zone, Read::Names(&names)).await.unwrap() else { panic!("names") };
    let [read] = read.as_slice() else { panic!("{read:?}") };
    let to = RecordSet { data: www(&["192.0.2.2"]).data, ..read.clone() };
    applied(&apply(&provider, &zone, update(read, &to)).await);
    assert_eq!(stands(&service, &id, "www", "A").unwrap().metadata, theirs.metadata, "kept byte by byte");
    let tagged = RecordSet { options: tags("env=prod,team=web"), ..to.clone() };
    applied(&apply(&provider, &zone, update(&to, &tagged)).await);
    assert_eq!(dump(&service, &id, ZONE).into_iter().find(|set| set.key == tagged.key), Some(tagged.clone()));
    applied(&apply(&provider, &zone, update(&tagged, &www(&["192.0.2.2"]))).await);
    assert!(stands(&service, &id, "www", "A").unwrap().metadata.is_empty());
}

#[tokio::test]
async fn refusals_are_reported_and_hold_up_nothing_else() {
    let (service, provider, zone, id) = zone(&[("azure-maxretries-count", FlagValue::Int(-1))]).await;
    let (one, two) = (www(&["192.0.2.1"]), named("two.example.test", &["192.0.2.2"]));
    // Throttled: once is enough, and the error says when.
    service.set_retry_after(7);
    service.fail("PutRecordSet", Fault::Throttled, 1);
    let outcome = apply(&provider, &zone, create(&one)).await;
    let Outcome::NotSent(error) = &outcome else { panic!("{outcome:?}") };
    assert_eq!((error.kind, error.retry), (ErrorKind::Throttled, Retry::After(std::time::Duration::from_secs(7))));
    assert_eq!(service.calls()["PutRecordSet"], 1);
    // One action is forbidden: the other write goes through.
    let provider = crate::common::provider(&service, Kind::Public, &[]);
    service.fail("PutRecordSet", Fault::Denied, 1);
    let outcomes = provider.apply(&zone, &[create(&one), create(&two)]).await;
    let (bad, good): (Vec<_>, Vec<_>) = outcomes.iter().partition(|outcome| outcome.error().is_some());
    refused(bad[0], ErrorKind::Unauthorized, "Microsoft.Network/dnsZones/A/write");
    applied(good[0]);
    // A zone that is full: somebody may make room.
    service.set_limit(&id, service.sets(&id).len());
    let three = named("three.example.test", &["192.0.2.3"]);
    let stood = if matches!(outcomes[0], Outcome::Applied) { one } else { two };
    let changed = RecordSet { data: three.data.clone(), ..stood.clone() };
    let outcomes = provider.apply(&zone, &[create(&three), update(&stood, &changed)]).await;
    refused(&outcomes[0], ErrorKind::Invalid, "record sets");
    assert_eq!(outcomes[0].error().unwrap().retry, Retry::Backoff);
    applied(&outcomes[1]);
    // A group of two writes that stops in between: it is not known what stands.
    service.set_limit(&id, 100);
    service.fail_after("PutRecordSet", 1, Fault::Denied, 1);
    let both = Group { steps: [create(&three).steps, create(&claim("ours")).steps].concat(), ..create(&three) };
    let outcome = apply(&provider, &zone, both).await;
    assert!(matches!(outcome, Outcome::Unknown(_)), "{outcome:?}");
}

#[tokio::test]
async fn a_token_that_ends_is_reported_with_its_place_and_a_zone_that_is_gone() {
    let (service, provider, zone, id) = zone(&[]).await;
    service.allow_token("short");
    let other = provider_as(&service, Kind::Public, "short", &[]);
    other.zones().await.unwrap();
    service.expire_token("short");
    let error = other.zones().await.unwrap_err();
    assert!(error.kind == ErrorKind::Unauthorized && error.to_string().contains("the Secret's accessToken"), "{error}");
    service.drop_zone(&id);
    assert_eq!(whole(&provider, &zone).await.unwrap_err().kind, ErrorKind::NotFound);
    refused(&apply(&provider, &zone, create(&www(&["192.0.2.1"]))).await, ErrorKind::NotFound, "example.test");
    assert_eq!(provider.zone(&zone.key.zone).await.unwrap(), None);
}
