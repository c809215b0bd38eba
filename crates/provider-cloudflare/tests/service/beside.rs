//! What stands beside the records of a name: custom host names and regions.

use crate::common::{
    HOSTNAMES, PROXIED, REGION, adjusted, config, create, dump, group, id, listed, named, on, reach, since, www, zone,
};
use zonewright_core::catalog::FlagValue;
use zonewright_core::change::{Blame, Change, Outcome};
use zonewright_core::error::{ErrorKind, Retry};
use zonewright_core::options::OptionValue;
use zonewright_core::provider::{Adjustment, Provider};
use zonewright_core::{RData, RecordData, RecordSet, RecordType, Zone};
use zonewright_fakes::cloudflare::{Cloudflare as Service, Fault, Permission, Plan};
use zonewright_provider_cloudflare::Cloudflare;

#[tokio::test]
async fn custom_host_names_follow_their_record() {
    let (service, provider, zone) = zone(Plan::Pro, &[on("cloudflare-custom-hostnames")]).await;
    service.set_page(1);
    let names = || service.hostnames(id(&zone)).into_iter().map(|of| of.hostname).collect::<Vec<_>>();
    let wanted = |names: &str| www(&["192.0.2.1", "192.0.2.2"], &[(HOSTNAMES, names)]);
    reach(&provider, &zone, &wanted("a.customer.test, b.customer.test")).await;
    assert_eq!(names(), ["a.customer.test", "b.customer.test"]);
    assert!(service.hostnames(id(&zone)).iter().all(|of| of.origin.as_deref() == Some("www.example.test")));
    reach(&provider, &zone, &wanted("c.customer.test,b.customer.test")).await;
    assert_eq!(names(), ["b.customer.test", "c.customer.test"]);
    let from = listed(&provider, &zone).await.unwrap().pop().unwrap();
    let outcome = provider.apply(&zone, &[group(Change::Delete { from })]).await.pop().unwrap();
    assert!(matches!(outcome, Outcome::Applied) && names().is_empty(), "{outcome:?} {:?}", names());
}

#[tokio::test]
async fn a_custom_host_name_that_fails_costs_no_record() {
    let (service, provider, zone) = zone(Plan::Pro, &[on("cloudflare-custom-hostnames")]).await;
    let (other, _) = adjusted(&provider, &zone, &RecordSet { ..named("other.example.test", "192.0.2.9") }).await;
    let mut other = other;
    other.options.set(HOSTNAMES, OptionValue::Text("a.customer.test".into()));
    assert!(matches!(provider.apply(&zone, &[create(&other)]).await[..], [Outcome::Applied]));
    let (to, _) = adjusted(&provider, &zone, &www(&["192.0.2.1"], &[(HOSTNAMES, "a.customer.test")])).await;
    let first = provider.apply(&zone, &[create(&to)]).await.pop().unwrap();
    assert!(matches!(&first, Outcome::Unknown(_)), "the names are to be read: {first:?}");
    let from = listed(&provider, &zone).await.unwrap().into_iter().find(|set| set.key == to.key).unwrap();
    assert_eq!(from.data, to.data, "the record stands");
    // What is asked for then is the host name alone, and its refusal is reported.
    let again = provider.apply(&zone, &[group(Change::Update { from, to })]).await.pop().unwrap();
    let Outcome::Refused { error, blame: Blame::Group } = again else { panic!("{again:?}") };
    assert!(error.context.contains("a.customer.test belongs to other.example.test"), "{error}");
    assert_eq!(service.hostnames(id(&zone))[0].origin.as_deref(), Some("other.example.test"));
}

/// Claims are given the options of their records. A text has no custom host names, whatever it is given.
#[tokio::test]
async fn a_text_beside_it_has_none() {
    let (service, provider, zone) = zone(Plan::Pro, &[on("cloudflare-custom-hostnames")]).await;
    let text = |value: &str| {
        let mut set = www(&["192.0.2.1"], &[(HOSTNAMES, "a.customer.test"), (PROXIED, "true")]);
        set.key.rtype = RecordType::Txt;
        set.data = RecordData::records([RData::parse(RecordType::Txt, value).unwrap()]);
        set
    };
    let (intent, claim) = (text("\"intent\""), text("\"claim\""));
    for change in [Change::Create { to: intent.clone() }, Change::Update { from: intent, to: claim }] {
        let outcome = provider.apply(&zone, &[group(change)]).await.pop().unwrap();
        assert!(matches!(outcome, Outcome::Applied), "{outcome:?}");
    }
    assert!(service.hostnames(id(&zone)).is_empty());
}

/// A token without the right to certificates, or a zone without the product.
#[tokio::test]
async fn what_cannot_be_listed_is_left_out_and_reported() {
    let service = Service::start();
    service.add_zone("example.test", Plan::Pro);
    let token = "d".repeat(40);
    service.allow_token(&token, &[], &[Permission::ZoneRead, Permission::DnsRead, Permission::DnsWrite]);
    let given = [on("cloudflare-custom-hostnames"), on("cloudflare-regional-services")];
    let provider = Cloudflare::new(&config(&service.url(), &token, &given)).unwrap();
    let zone = provider.zones().await.unwrap().pop().unwrap();
    let notes = reach(&provider, &zone, &www(&["192.0.2.1"], &[(HOSTNAMES, "a.customer.test"), (REGION, "eu")])).await;
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(notes[0].contains("custom host names") && notes[1].contains("regional host names"), "{notes:?}");
    assert_eq!(dump(&service, id(&zone)).len(), 1);
}

#[tokio::test]
async fn regions_come_change_and_go() {
    let region = ("cloudflare-region-key", FlagValue::Text("us".to_owned()));
    let (service, provider, zone) = zone(Plan::Enterprise, &[region]).await;
    let regions = || {
        service.regions(id(&zone)).into_iter().map(|of| format!("{} {}", of.hostname, of.region)).collect::<Vec<_>>()
    };
    reach(&provider, &zone, &www(&["192.0.2.1"], &[])).await;
    assert_eq!(regions(), ["www.example.test us"]);
    reach(&provider, &zone, &www(&["192.0.2.1"], &[(REGION, "eu")])).await;
    assert_eq!(regions(), ["www.example.test eu"]);
    reach(&provider, &zone, &www(&["192.0.2.1"], &[(REGION, "")])).await;
    assert!(regions().is_empty());
}

/// What two objects ask for at `www`, each for one family of addresses; `None` where the object is not there.
type Both<'a> = [Option<(&'a str, &'a str)>; 2];

/// Goes to these two sets in one call, as the engine does; the notes. Demands that nothing is left to do.
async fn both(provider: &Cloudflare, zone: &Zone, wanted: Both<'_>) -> Vec<String> {
    let set = |(address, asked): (&str, Option<(&str, &str)>)| {
        let (hostnames, region) = asked?;
        let all = [(HOSTNAMES, hostnames), (REGION, region)];
        let stated: Vec<_> = all.into_iter().filter(|(_, text)| !text.is_empty()).collect();
        Some(www(&[address], &stated))
    };
    let asked: Vec<RecordSet> = ["192.0.2.1", "2001:db8::1"].into_iter().zip(wanted).filter_map(set).collect();
    let (mut to, mut notes) = (Vec::new(), Vec::new());
    for answer in provider.adjust(zone, &asked).await {
        let Adjustment::As { sets, notes: more } = answer else { panic!("{answer:?}") };
        to.extend(sets);
        notes.extend(more);
    }
    let changes = |stands: &[RecordSet]| -> Vec<Change> {
        let is = |one: &&RecordSet, other: &RecordSet| one.key == other.key;
        let gone = stands.iter().filter(|from| !to.iter().any(|to| is(&to, from)));
        let gone = gone.map(|from| Change::Delete { from: from.clone() });
        let come = to.iter().filter_map(|to| match stands.iter().find(|from| is(from, to)) {
            Some(from) if to.is_met_by(from) => None,
            Some(from) => Some(Change::Update { from: from.clone(), to: to.clone() }),
            None => Some(Change::Create { to: to.clone() }),
        });
        gone.chain(come).collect()
    };
    let groups: Vec<_> = changes(&listed(provider, zone).await.unwrap()).into_iter().map(group).collect();
    for outcome in provider.apply(zone, &groups).await {
        assert!(matches!(outcome, Outcome::Applied), "{outcome:?}");
    }
    let left = changes(&listed(provider, zone).await.unwrap());
    assert!(left.is_empty(), "left to do: {left:?}");
    notes
}

/// Two objects of one name, one with an IPv4 and one with an IPv6 address: the settings are those of the name, and last as long as
/// one of them asks for them.
#[tokio::test]
async fn two_objects_of_one_name_agree() {
    let given = [on("cloudflare-custom-hostnames"), on("cloudflare-regional-services")];
    let (service, provider, zone) = zone(Plan::Enterprise, &given).await;
    let shown = || {
        let names = service.hostnames(id(&zone)).into_iter().map(|of| of.hostname);
        names.chain(service.regions(id(&zone)).into_iter().map(|of| of.region)).collect::<Vec<_>>().join(" ")
    };
    for (wanted, expected, notes) in [
        ([Some(("a.customer.test", "eu")), Some(("a.customer.test", "eu"))], "a.customer.test eu", 0),
        ([None, Some(("a.customer.test", "eu"))], "a.customer.test eu", 0),
        ([Some(("b.customer.test", "")), Some(("a.customer.test", "eu"))], "a.customer.test b.customer.test eu", 0),
        ([Some(("b.customer.test", "us")), Some(("", "eu"))], "b.customer.test us", 1),
        ([None, Some(("", "eu"))], "eu", 0),
        ([Some(("", "")), Some(("a.customer.test", ""))], "a.customer.test", 0),
        ([None, None], "", 0),
    ] {
        assert_eq!(both(&provider, &zone, wanted).await.len(), notes, "{wanted:?}");
        assert_eq!(shown(), expected, "{wanted:?}");
    }
    let calls = service.calls();
    let made = |operation: &str| calls.get(operation).copied().unwrap_or_default();
    let spent = ["CreateCustomHostname", "DeleteCustomHostname", "CreateRegionalHostname", "DeleteRegionalHostname"];
    assert_eq!(spent.map(made), [3, 3, 1, 1], "each is made and taken away once: {calls:?}");
}

/// A name that both families of addresses have, from one object: its host names are asked for once, and go with the last set.
#[tokio::test]
async fn a_name_is_made_once_for_both_families() {
    let (service, provider, zone) = zone(Plan::Pro, &[on("cloudflare-custom-hostnames")]).await;
    let asked = Some(("a.customer.test", ""));
    let before = service.calls();
    both(&provider, &zone, [asked, asked]).await;
    let calls = since(&service, &before);
    assert_eq!((calls["CreateCustomHostname"], calls["BatchRecords"]), (1, 1), "{calls:?}");
    both(&provider, &zone, [None, None]).await;
    assert!(service.hostnames(id(&zone)).is_empty());
}

const LISTING: &str = "ListCustomHostnames";

async fn delete(provider: &Cloudflare, zone: &Zone, name: &str) -> Outcome {
    let found = listed(provider, zone).await.unwrap().into_iter().find(|set| set.key.name.as_str() == name);
    provider.apply(zone, &[group(Change::Delete { from: found.unwrap() })]).await.pop().unwrap()
}

/// The service is out of reach for this list, as it may be for a while.
#[tokio::test]
async fn host_names_that_cannot_be_listed_now_cost_no_record() {
    let (service, provider, zone) = zone(Plan::Pro, &[on("cloudflare-custom-hostnames")]).await;
    let left = || (dump(&service, id(&zone)).len(), service.hostnames(id(&zone)).len());
    let applied = |outcome: &Outcome| assert!(matches!(outcome, Outcome::Applied), "{outcome:?}");
    let wanted = |address: &str| www(&[address], &[(HOSTNAMES, "a.customer.test")]);
    // Never listed yet.
    service.fail(LISTING, Fault::Broken, 1_000);
    applied(&provider.apply(&zone, &[create(&named("first.example.test", "192.0.2.9"))]).await.pop().unwrap());
    let plain = www(&["192.0.2.1"], &[]);
    assert!(reach(&provider, &zone, &plain).await.is_empty());
    let notes = reach(&provider, &zone, &wanted("192.0.2.1")).await;
    assert!(notes.len() == 1 && notes[0].contains("cannot be listed now"), "{notes:?}");
    let waits = delete(&provider, &zone, "first.example.test").await;
    let Outcome::Refused { error, blame: Blame::Group } = &waits else { panic!("{waits:?}") };
    assert_eq!((error.kind, error.retry, left()), (ErrorKind::Invalid, Retry::Backoff, (2, 0)), "it may have some");
    service.fail(LISTING, Fault::Broken, 0);
    applied(&delete(&provider, &zone, "first.example.test").await);
    assert!(reach(&provider, &zone, &wanted("192.0.2.1")).await.is_empty());
    assert_eq!(left(), (1, 1));
    // What stood at the last look is taken for standing, and nothing is changed by it.
    service.fail(LISTING, Fault::Broken, 1_000);
    assert!(reach(&provider, &zone, &wanted("192.0.2.1")).await.is_empty(), "nothing flaps");
    assert!(reach(&provider, &zone, &wanted("192.0.2.2")).await.is_empty());
    let from = listed(&provider, &zone).await.unwrap().pop().unwrap();
    let (to, _) = adjusted(&provider, &zone, &www(&["192.0.2.2"], &[(HOSTNAMES, "b.customer.test")])).await;
    let waits = provider.apply(&zone, &[group(Change::Update { from, to })]).await.pop().unwrap();
    assert_eq!(waits.error().unwrap().kind, ErrorKind::Invalid, "the zone does not wait for it: {waits:?}");
    let waits = delete(&provider, &zone, "www.example.test").await;
    assert!(matches!(waits, Outcome::Refused { blame: Blame::Group, .. }) && left() == (1, 1), "{waits:?}");
    service.fail(LISTING, Fault::Broken, 0);
    applied(&delete(&provider, &zone, "www.example.test").await);
    assert_eq!(left(), (0, 0));
}

/// The record is what they are remembered by.
#[tokio::test]
async fn a_record_stays_until_what_is_beside_it_is_gone() {
    let given = [on("cloudflare-custom-hostnames"), on("cloudflare-regional-services")];
    for (operation, fault) in [
        ("DeleteCustomHostname", Fault::Broken),
        ("DeleteCustomHostname", Fault::Denied),
        ("DeleteRegionalHostname", Fault::Unavailable),
    ] {
        let (service, provider, zone) = zone(Plan::Enterprise, &given).await;
        let left = || {
            let beside = service.hostnames(id(&zone)).len() + service.regions(id(&zone)).len();
            (dump(&service, id(&zone)).len(), beside)
        };
        reach(&provider, &zone, &www(&["192.0.2.1"], &[(HOSTNAMES, "a.customer.test"), (REGION, "eu")])).await;
        let other = named("other.example.test", "192.0.2.9");
        assert!(matches!(provider.apply(&zone, &[create(&other)]).await[..], [Outcome::Applied]));
        service.fail(operation, fault, 1_000);
        let all = listed(&provider, &zone).await.unwrap().into_iter();
        let groups: Vec<_> = all.map(|from| group(Change::Delete { from })).collect();
        let mut outcomes = provider.apply(&zone, &groups).await;
        outcomes.sort_by_key(Outcome::label);
        let [Outcome::Applied, Outcome::Refused { error, blame: Blame::Group }] = outcomes.as_slice() else {
            panic!("{outcomes:?}")
        };
        assert!(error.context.contains("www.example.test stays until"), "{error}");
        assert_eq!(left(), (1, 1), "{operation}: what could go is gone");
        service.fail(operation, fault, 0);
        let outcome = delete(&provider, &zone, "www.example.test").await;
        assert!(matches!(outcome, Outcome::Applied) && left() == (0, 0), "{operation}: {outcome:?}");
    }
}

/// A listing is good for comparing for a minute, and for nothing that changes.
#[tokio::test]
async fn what_another_writer_moved_meanwhile_is_not_taken_away() {
    let given = [on("cloudflare-custom-hostnames")];
    let (service, provider, zone) = zone(Plan::Pro, &given).await;
    let ours = www(&["192.0.2.1"], &[(HOSTNAMES, "a.customer.test")]);
    reach(&provider, &zone, &ours).await;
    let before = service.calls();
    for name in ["one.example.test", "two.example.test"] {
        let outcome = provider.apply(&zone, &[create(&named(name, "192.0.2.2"))]).await.pop().unwrap();
        assert!(matches!(outcome, Outcome::Applied), "{outcome:?}");
    }
    assert_eq!(since(&service, &before).get(LISTING), None, "they are not listed for each batch");
    let from = listed(&provider, &zone).await.unwrap().into_iter().find(|set| set.key == ours.key).unwrap();
    let other = crate::common::provider(&service, &given);
    reach(&other, &zone, &www(&["192.0.2.1"], &[])).await;
    let mut theirs = named("theirs.example.test", "192.0.2.3");
    theirs.options.set(HOSTNAMES, OptionValue::Text("a.customer.test".into()));
    let outcome = other.apply(&zone, &[create(&theirs)]).await.pop().unwrap();
    assert!(matches!(outcome, Outcome::Applied), "{outcome:?}");
    let outcome = provider.apply(&zone, &[group(Change::Delete { from })]).await.pop().unwrap();
    assert!(matches!(&outcome, Outcome::Refused { error, .. } if error.kind == ErrorKind::Conflict), "{outcome:?}");
    assert_eq!(service.hostnames(id(&zone))[0].origin.as_deref(), Some("theirs.example.test"));
}
