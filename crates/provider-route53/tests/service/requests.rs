//! Zones, accounts, faults and costs, against the service on loopback.

use std::collections::BTreeMap;

use crate::common::{ACCOUNT, KEY, config, dump, provider, since};
use zonewright_core::catalog::FlagValue;
use zonewright_core::change::{Blame, Change, Group, Outcome, Precondition, Step};
use zonewright_core::error::{ErrorKind, Result};
use zonewright_core::options::{OptionValue, Options};
use zonewright_core::provider::{Listing, Provider, Read};
use zonewright_core::record::{AliasTarget, GeoPlace, Geolocation, Routing, SetId};
use zonewright_core::zone::{Visibility, ZoneId};
use zonewright_core::{DnsName, RData, RecordData, RecordKey, RecordSet, RecordType, Ttl, Zone};
use zonewright_fakes::route53::{BatchErrorForm, Fault, RecordSet as Theirs, Route53 as Service};
use zonewright_provider_route53::Route53;

fn list(texts: &[&str]) -> FlagValue {
    FlagValue::List(texts.iter().map(|text| (*text).to_owned()).collect())
}

fn text(text: &str) -> FlagValue {
    FlagValue::Text(text.to_owned())
}

pub(crate) fn set(name: &str, rtype: RecordType, data: &[&str]) -> RecordSet {
    let data = data.iter().map(|text| RData::parse(rtype, text).unwrap());
    RecordSet::simple(DnsName::parse(name).unwrap(), rtype, Ttl::from_secs(300), data)
}

pub(crate) fn group(change: Change) -> Group {
    Group::of(Step::record(change, None), vec![])
}

async fn names(provider: &Route53) -> Result<Vec<String>> {
    let mut names: Vec<String> = provider.zones().await?.iter().map(|zone| zone.name.to_string()).collect();
    names.sort();
    Ok(names)
}

async fn listing(provider: &Route53, zone: &Zone) -> Result<Vec<RecordSet>> {
    let (mut all, mut cursor) = (Vec::new(), None);
    loop {
        match provider.records(zone, cursor.as_ref().map_or(Read::All, Read::From)).await? {
            Listing::Page { sets, next } => {
                all.extend(sets);
                cursor = Some(next);
            }
            Listing::Full { sets, .. } => {
                all.extend(sets);
                return Ok(all);
            }
            other => panic!("{other:?}"),
        }
    }
}

/// A zone with one address, and a provider that tries once.
pub(crate) async fn one_zone() -> (Service, Route53, Zone) {
    let service = Service::start();
    let id = service.add_zone(ACCOUNT, "example.test", false, &[]);
    service.put(&id, Theirs::new("www.example.test.", "A", 300, &["192.0.2.1"]));
    let provider = provider(&service, &[("aws-api-retries", FlagValue::Int(1))]);
    let zone = provider.zones().await.unwrap().pop().unwrap();
    (service, provider, zone)
}

#[tokio::test]
async fn zones_are_selected() {
    let service = Service::start();
    service.set_page(2);
    service.add_zone(ACCOUNT, "one.test", false, &[("team", "dns"), ("stage", "live")]);
    service.add_zone(ACCOUNT, "two.test", false, &[("team", "web")]);
    service.add_zone(ACCOUNT, "inner.test", true, &[("team", "dns")]);
    let three = service.add_zone(ACCOUNT, "three.test", false, &[]);
    service.add_zone("000000000002", "foreign.test", false, &[]);
    let end = &three[three.len() - 8..];
    for (flags, expected) in [
        (vec![], vec!["inner.test", "one.test", "three.test", "two.test"]),
        (vec![("aws-zone-type", text("private"))], vec!["inner.test"]),
        (vec![("aws-zone-type", text("public"))], vec!["one.test", "three.test", "two.test"]),
        (vec![("aws-zone-tags", list(&["team"]))], vec!["inner.test", "one.test", "two.test"]),
        (vec![("aws-zone-tags", list(&["team=dns"]))], vec!["inner.test", "one.test"]),
        (vec![("aws-zone-tags", list(&["team=dns", "stage=live"]))], vec!["one.test"]),
        (vec![("aws-zone-tags", list(&["team=none"]))], vec![]),
        (vec![("aws-zone-tags", list(&["team=", "=x"]))], vec!["inner.test", "one.test", "two.test"]),
        (vec![("aws-zone-tags", list(&["team=none", "team=dns"]))], vec!["inner.test", "one.test"]),
        (vec![("zone-id-filter", list(&[end]))], vec!["three.test"]),
        (vec![("zone-id-filter", list(&[&format!("/hostedzone/{three}")]))], vec!["three.test"]),
        (vec![("domain-filter", list(&["two.test"]))], vec!["two.test"]),
        (vec![("domain-filter", list(&["a.two.test"]))], vec![]),
        (
            vec![("domain-filter", list(&["a.two.test"])), ("aws-zone-match-parent", FlagValue::Bool(true))],
            vec!["two.test"],
        ),
        (vec![("exclude-domains", list(&["test"]))], vec![]),
    ] {
        let provider = provider(&service, &flags);
        assert_eq!(names(&provider).await.unwrap(), expected, "{flags:?}");
    }
    let provider = provider(&service, &[]);
    let zones = provider.zones().await.unwrap();
    let private: Vec<_> = zones.iter().filter(|zone| zone.visibility == Visibility::Private).collect();
    assert_eq!(private.iter().map(|zone| zone.name.as_str()).collect::<Vec<_>>(), ["inner.test"]);
    for zone in &zones {
        assert_eq!(provider.zone(&zone.key.zone).await.unwrap().as_ref(), Some(zone));
    }
    assert_eq!(provider.zone(&ZoneId::from("Z404")).await.unwrap(), None);
}

/// Of a network the private zones alone, page by page, and asked for by themselves too.
#[tokio::test]
async fn zones_of_a_network() {
    let service = Service::start();
    service.set_page(1);
    service.add_zone(ACCOUNT, "public.test", false, &[]);
    service.add_zone(ACCOUNT, "other.test", true, &[]);
    for name in ["one.test", "two.test"] {
        service.attach(&service.add_zone(ACCOUNT, name, true, &[]), "eu-west-1", "vpc-1");
    }
    let provider = provider(&service, &[("aws-zone-vpc", list(&["eu-west-1/vpc-1"]))]);
    assert_eq!(names(&provider).await.unwrap(), ["one.test", "two.test"]);
    for (id, name) in service.zones_of(ACCOUNT) {
        let zone = provider.zone(&ZoneId::from(id.as_str())).await.unwrap();
        assert_eq!(zone.is_some(), name.starts_with("one") || name.starts_with("two"), "{name}");
    }
}

#[tokio::test]
async fn a_list_of_zones_is_kept_as_long_as_was_asked() {
    let service = Service::start();
    service.add_zone(ACCOUNT, "one.test", false, &[]);
    let hour = FlagValue::Duration { length: std::time::Duration::from_hours(1), negative: false };
    let provider = provider(&service, &[("aws-zones-cache-duration", hour)]);
    for _ in 0..3 {
        assert_eq!(names(&provider).await.unwrap(), ["one.test"]);
    }
    assert_eq!(service.calls()["ListHostedZones"], 1);
}

/// A role of another account, by its external id, for everything or for one zone.
#[tokio::test]
async fn roles_are_assumed() {
    const ROLE: &str = "arn:aws:iam::000000000002:role/dns";
    let service = Service::start();
    service.allow_role(ROLE, Some("s3cr3t-id"), "000000000002");
    service.add_zone(ACCOUNT, "own.test", false, &[]);
    let theirs = service.add_zone("000000000002", "theirs.test", false, &[]);
    let external = ("aws-assume-role-external-id", FlagValue::Secret("s3cr3t-id".into()));
    let all = provider(&service, &[("aws-assume-role", text(ROLE)), external]);
    assert_eq!(names(&all).await.unwrap(), ["theirs.test"]);
    let zone = all.zones().await.unwrap().pop().unwrap();
    let outcomes =
        all.apply(&zone, &[group(Change::Create { to: set("a.theirs.test", RecordType::A, &["192.0.2.1"]) })]).await;
    assert!(matches!(*outcomes, [Outcome::Applied]), "{outcomes:?}");

    let wrong = ("aws-assume-role-external-id", FlagValue::Secret("s3cr3t-wrong".into()));
    let error = names(&provider(&service, &[("aws-assume-role", text(ROLE)), wrong])).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unauthorized, "{error}");
    assert!(error.chain().contains(ROLE) && !error.chain().contains("s3cr3t"), "{}", error.chain());

    service.allow_role("arn:aws:iam::000000000002:role/zone", None, "000000000002");
    let role = FlagValue::Map([(theirs, "arn:aws:iam::000000000002:role/zone".to_owned())].into());
    let mixed = provider(&service, &[("aws-zone-role", role)]);
    assert_eq!(names(&mixed).await.unwrap(), ["own.test", "theirs.test"]);
    for zone in mixed.zones().await.unwrap() {
        assert_eq!(listing(&mixed, &zone).await.unwrap().len(), service.sets(zone.key.zone.as_str()).len());
    }
}

/// The service repeats a request whose signature it refuses, with the token of the session.
#[tokio::test]
async fn the_token_of_a_session_is_not_shown() {
    const ROLE: &str = "arn:aws:iam::000000000002:role/dns";
    let service = Service::start();
    service.allow_role(ROLE, None, "000000000002");
    let provider = provider(&service, &[("aws-assume-role", text(ROLE))]);
    names(&provider).await.unwrap();
    for key in service.keys_of("000000000002") {
        service.set_secret(&key, "another");
    }
    let error = names(&provider).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unauthorized, "{error}");
    let shown = format!("{} {error:?}", error.chain());
    assert!(shown.contains("SignatureDoesNotMatch") && shown.contains("signing method"), "{shown}");
    assert!(!shown.contains("token-1") && !shown.contains("Canonical"), "{shown}");
}

/// Every fault at a request that reads is an error of the right kind, and nothing is missing once it is over.
#[tokio::test]
async fn faults_of_reads_are_errors_and_pass() {
    let (service, provider, zone) = one_zone().await;
    for (fault, kind) in [
        (Fault::Throttled, ErrorKind::Throttled),
        (Fault::Denied, ErrorKind::Unauthorized),
        (Fault::Expired, ErrorKind::Unauthorized),
        (Fault::Skewed, ErrorKind::Unauthorized),
        (Fault::Broken, ErrorKind::Unavailable),
        (Fault::Cut, ErrorKind::Unavailable),
        (Fault::Garbage, ErrorKind::Protocol),
        (Fault::WrongType, ErrorKind::Protocol),
    ] {
        for operation in ["ListHostedZones", "ListResourceRecordSets"] {
            service.fail(operation, fault, 1);
            let (zones, sets) = (names(&provider).await, listing(&provider, &zone).await);
            let error = zones.err().or(sets.err()).unwrap_or_else(|| panic!("{fault:?} of {operation} is no error"));
            assert_eq!(error.kind, kind, "{fault:?} of {operation}: {error:?}");
            assert!(error.context.contains("access key AKIDFAKE") && !error.chain().contains("s3cr3t"), "{error}");
        }
        assert_eq!(names(&provider).await.unwrap(), ["example.test"]);
        assert_eq!(listing(&provider, &zone).await.unwrap().len(), service.sets(zone.key.zone.as_str()).len());
    }
}

/// What passes is tried again as often as `--aws-api-retries` says.
#[tokio::test]
async fn reads_are_tried_again() {
    let (service, _, zone) = one_zone().await;
    let patient = provider(&service, &[]);
    for fault in [Fault::Throttled, Fault::Broken, Fault::Cut, Fault::Garbage] {
        service.fail("ListResourceRecordSets", fault, 2);
        assert_eq!(listing(&patient, &zone).await.unwrap().len(), 3, "{fault:?}");
    }
    service.fail("ListResourceRecordSets", Fault::Denied, 1);
    assert_eq!(listing(&patient, &zone).await.unwrap_err().kind, ErrorKind::Unauthorized);
}

/// A page that leads to itself would be read for ever.
#[tokio::test]
async fn a_page_that_leads_nowhere_is_an_error() {
    let (service, provider, zone) = one_zone().await;
    service.set_page(1);
    service.fail_after("ListResourceRecordSets", 1, Fault::RepeatedPage, 1);
    assert_eq!(listing(&provider, &zone).await.unwrap_err().kind, ErrorKind::Protocol);
    service.fail_after("ListResourceRecordSets", 1, Fault::Broken, 1);
    assert_eq!(listing(&provider, &zone).await.unwrap_err().kind, ErrorKind::Unavailable);
    assert_eq!(listing(&provider, &zone).await.unwrap().len(), 3);
}

/// Every fault at a write has the outcome that it really had: what may be in force is unknown, and the rest is not.
#[tokio::test]
async fn faults_of_writes_are_reported_truthfully() {
    for (fault, carried_out) in [
        (Fault::Throttled, Some(false)),
        (Fault::PriorRequestNotComplete, Some(false)),
        (Fault::Denied, Some(false)),
        (Fault::Expired, Some(false)),
        (Fault::Skewed, Some(false)),
        (Fault::Broken, None),
        (Fault::AnswerLost, None),
        (Fault::Cut, None),
        (Fault::Garbage, None),
        (Fault::WrongType, None),
    ] {
        let (service, provider, zone) = one_zone().await;
        service.fail("ChangeResourceRecordSets", fault, 1);
        let create = group(Change::Create { to: set("new.example.test", RecordType::A, &["192.0.2.9"]) });
        let outcome = provider.apply(&zone, std::slice::from_ref(&create)).await.pop().unwrap();
        let stands = dump(&service, zone.key.zone.as_str()).len() == 3;
        let reported = match &outcome {
            Outcome::Applied => Some(true),
            Outcome::Refused { .. } | Outcome::NotSent(_) => Some(false),
            Outcome::Unknown(_) => None,
        };
        assert_eq!(reported, carried_out, "{fault:?}: {outcome:?}");
        assert!(reported.is_none_or(|reported| reported == stands), "{fault:?}: {outcome:?}, and it stands: {stands}");
        let text = format!("{outcome:?}");
        assert!(!text.contains("s3cr3t"), "{text}");
        if matches!(fault, Fault::Throttled | Fault::PriorRequestNotComplete) {
            assert!(matches!(&outcome, Outcome::NotSent(error) if error.kind == ErrorKind::Throttled), "{text}");
        }
    }
}

#[tokio::test]
async fn a_zone_that_is_gone_is_reported() {
    let (service, provider, zone) = one_zone().await;
    service.drop_zone(zone.key.zone.as_str());
    assert_eq!(listing(&provider, &zone).await.unwrap_err().kind, ErrorKind::NotFound);
    assert_eq!(provider.zone(&zone.key.zone).await.unwrap(), None);
    let create = group(Change::Create { to: set("new.example.test", RecordType::A, &["192.0.2.9"]) });
    let outcome = provider.apply(&zone, &[create]).await.pop().unwrap();
    assert!(matches!(&outcome, Outcome::Refused { error, .. } if error.kind == ErrorKind::NotFound), "{outcome:?}");
}

/// Of twenty groups one meets a record that stands: it is named, in one request, in every form that the service has for it.
#[tokio::test]
async fn the_offender_of_a_batch_is_named() {
    for form in [BatchErrorForm::ErrorResponse, BatchErrorForm::Messages] {
        let (service, provider, zone) = one_zone().await;
        service.set_batch_error_form(form);
        let create = |n: usize| {
            let name = if n == 7 { "www.example.test".to_owned() } else { format!("n{n}.example.test") };
            group(Change::Create { to: set(&name, RecordType::A, &["192.0.2.9"]) })
        };
        let groups: Vec<Group> = (0..20).map(create).collect();
        let before = service.calls();
        let outcomes = provider.apply(&zone, &groups).await;
        for (n, outcome) in outcomes.iter().enumerate() {
            let expected = if n == 7 { Blame::Group } else { Blame::Batch };
            let Outcome::Refused { error, blame } = outcome else { panic!("{outcome:?}") };
            assert_eq!(*blame, expected, "{form:?} {n}: {error}");
            assert!(n != 7 || error.kind == ErrorKind::Conflict && error.context.contains("already exists"), "{error}");
        }
        assert_eq!(since(&service, &before)["ChangeResourceRecordSets"], 1);
    }
}

/// What external-dns or a person wrote is changed and taken away, however it is spelled.
#[tokio::test]
async fn records_of_any_spelling_are_changed() {
    let (service, provider, zone) = one_zone().await;
    let id = zone.key.zone.as_str();
    for (name, kind, values) in [
        ("c", "CNAME", vec!["Target.Example.NET."]),
        ("m", "MX", vec!["20 b.example.net.", "10  a.example.net"]),
        ("t", "TXT", vec!["\"b\"   \"c\"", "\"a\\141\""]),
        ("a", "AAAA", vec!["2001:DB8:0:0::1"]),
    ] {
        service.put(id, Theirs::new(&format!("{name}.example.test."), kind, 77, &values));
    }
    let standing: Vec<RecordSet> =
        listing(&provider, &zone).await.unwrap().into_iter().filter(|set| set.ttl == Ttl::from_secs(77)).collect();
    assert_eq!(standing.len(), 4);
    for from in standing {
        let to = RecordSet { ttl: Ttl::from_secs(60), ..from.clone() };
        let changed = provider.apply(&zone, &[group(Change::Update { from, to: to.clone() })]).await;
        assert!(matches!(*changed, [Outcome::Applied]), "{to}: {changed:?}");
        let gone = provider.apply(&zone, &[group(Change::Delete { from: to.clone() })]).await;
        assert!(matches!(*gone, [Outcome::Applied]), "{to}: {gone:?}");
    }
    assert!(!service.calls().contains_key("UPSERT"));
}

/// A record and its claim change in one request, without any reading; a claim that was taken over meanwhile stops it.
#[tokio::test]
async fn a_change_is_one_request() {
    let (service, provider, zone) = one_zone().await;
    let claim = set("a-www.example.test", RecordType::Txt, &["\"heritage=external-dns,external-dns/owner=me\""]);
    service.put(zone.key.zone.as_str(), crate::common::theirs(&claim));
    let (from, to) = (
        set("www.example.test", RecordType::A, &["192.0.2.1"]),
        set("www.example.test", RecordType::A, &["192.0.2.2"]),
    );
    let mut update = group(Change::Update { from: from.clone(), to: to.clone() });
    update.requires = vec![Precondition::Exact(claim.clone())];
    let before = service.calls();
    let outcomes = provider.apply(&zone, std::slice::from_ref(&update)).await;
    assert!(matches!(*outcomes, [Outcome::Applied]), "{outcomes:?}");
    let expected = [("CREATE", 2), ("ChangeResourceRecordSets", 1), ("DELETE", 2)];
    let expected: BTreeMap<String, usize> = expected.map(|(operation, n)| (operation.to_owned(), n)).into();
    assert_eq!(since(&service, &before), expected);

    let other = set("a-www.example.test", RecordType::Txt, &["\"heritage=external-dns,external-dns/owner=you\""]);
    service.put(zone.key.zone.as_str(), crate::common::theirs(&other));
    let mut back = group(Change::Update { from: to.clone(), to: from });
    back.requires = vec![Precondition::Exact(claim)];
    let outcome = provider.apply(&zone, &[back]).await.pop().unwrap();
    assert!(
        matches!(&outcome, Outcome::Refused { error, blame: Blame::Group } if error.kind == ErrorKind::Conflict),
        "{outcome:?}"
    );
    assert!(dump(&service, zone.key.zone.as_str()).contains(&to));
}

/// Each routing policy is written, read back, changed and taken away.
#[tokio::test]
async fn what_is_applied_is_served_a_while_later() {
    let (service, provider, zone) = one_zone().await;
    service.set_pending(1);
    assert_eq!(provider.served(&zone).await.unwrap(), Some(true), "nothing was changed");
    let www = set("new.example.test", RecordType::A, &["192.0.2.1"]);
    let outcomes = provider.apply(&zone, &[group(Change::Create { to: www })]).await;
    assert!(matches!(outcomes.as_slice(), [Outcome::Applied]), "{outcomes:?}");
    assert_eq!(service.calls().get("GetChange"), None, "nobody waits");
    let served = [provider.served(&zone).await.unwrap(), provider.served(&zone).await.unwrap()];
    assert_eq!(served, [Some(false), Some(true)]);
    assert_eq!(provider.served(&zone).await.unwrap(), Some(true));
    assert_eq!(service.calls().get("GetChange"), Some(&2), "what is known is not asked");
    service.fail("GetChange", Fault::Broken, 9);
    let outcomes = provider
        .apply(&zone, &[group(Change::Create { to: set("api.example.test", RecordType::A, &["192.0.2.1"]) })])
        .await;
    assert!(matches!(outcomes.as_slice(), [Outcome::Applied]), "{outcomes:?}");
    assert_eq!(provider.served(&zone).await.unwrap_err().kind, ErrorKind::Unavailable);
}

#[tokio::test]
async fn every_routing_policy() {
    let (service, provider, zone) = one_zone().await;
    service.register_health_check("hc-1");
    let code = |text: &str| Some(text.into());
    let place = |continent: &str| Routing::Geolocation {
        location: Geolocation { continent: code(continent), ..Geolocation::default() },
    };
    let near = |place, bias| Routing::Geoproximity { place, bias };
    let coordinates = GeoPlace::Coordinates("49.22".into(), "-74.01".into());
    for (at, (one, other)) in [
        (Routing::Weighted { weight: 1 }, Routing::Weighted { weight: 0 }),
        (Routing::Latency { region: "eu-west-1".into() }, Routing::Latency { region: "us-east-1".into() }),
        (Routing::Failover { primary: true }, Routing::Failover { primary: false }),
        (place("EU"), place("AS")),
        (near(GeoPlace::Region("eu-west-1".into()), 5), near(coordinates, -5)),
        (Routing::Multivalue, Routing::Multivalue),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("r{at}.example.test");
        let routed = |routing: &Routing, address: &str| {
            let plain = set(&name, RecordType::A, &[address]);
            let key = RecordKey { set_id: SetId::new("blue"), ..plain.key.clone() };
            let mut options = Options::default();
            options.set("aws/health-check-id", OptionValue::Text("hc-1".into()));
            RecordSet { key, routing: routing.clone(), options, ..plain }
        };
        let states = [routed(&one, "192.0.2.1"), routed(&other, "192.0.2.2")];
        for (before, after) in [(None, Some(0)), (Some(0), Some(1)), (Some(1), None)] {
            let change = match (before, after) {
                (None, Some(to)) => Change::Create { to: states[to].clone() },
                (Some(from), Some(to)) => Change::Update { from: states[from].clone(), to: states[to].clone() },
                (Some(from), _) => Change::Delete { from: states[from].clone() },
                (None, None) => unreachable!("the table has no such row"),
            };
            let outcomes = provider.apply(&zone, &[group(change)]).await;
            assert!(matches!(*outcomes, [Outcome::Applied]), "{one:?}: {outcomes:?}");
            let standing: Vec<RecordSet> = listing(&provider, &zone)
                .await
                .unwrap()
                .into_iter()
                .filter(|set| set.key.name.as_str() == name)
                .collect();
            assert_eq!(standing, after.map(|at| states[at].clone()).into_iter().collect::<Vec<_>>());
            assert!(standing.iter().all(|set| dump(&service, zone.key.zone.as_str()).contains(set)));
        }
    }
}

/// An alias to another name of the same zone, and the service's refusal where that name is missing.
#[tokio::test]
async fn an_alias_into_its_own_zone() {
    let (_service, provider, zone) = one_zone().await;
    let alias = |host: &str| {
        let target =
            AliasTarget { target: host.into(), zone: Some(zone.key.zone.as_str().into()), evaluate_health: true };
        let plain = set("alias.example.test", RecordType::A, &[]);
        group(Change::Create { to: RecordSet { ttl: None, data: RecordData::Alias(target), ..plain } })
    };
    let outcomes = provider.apply(&zone, &[alias("missing.example.test")]).await;
    assert!(
        matches!(&*outcomes, [Outcome::Refused { error, .. }] if error.kind != ErrorKind::Unavailable),
        "{outcomes:?}"
    );
    let outcomes = provider.apply(&zone, &[alias("www.example.test")]).await;
    assert!(matches!(*outcomes, [Outcome::Applied]), "{outcomes:?}");
}

/// Two instances with the same key share the pace of one account.
#[tokio::test(start_paused = false)]
async fn an_account_has_one_pace() {
    let service = Service::start();
    service.add_zone(ACCOUNT, "one.test", false, &[]);
    service.set_rate(Some(20));
    let shared = config(&service.url(), KEY, &[("aws-api-qps", FlagValue::Int(20))]);
    let (one, two) = (Route53::new(&shared).unwrap(), Route53::new(&shared).unwrap());
    for _ in 0..25 {
        let (first, second) = tokio::join!(names(&one), names(&two));
        assert!(first.is_ok() && second.is_ok(), "{first:?} {second:?}");
    }
    assert_eq!(service.calls()["ListHostedZones"], 50, "none was throttled, so none was repeated");
}
