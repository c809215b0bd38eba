//! Suffixes, ids in other words, and how often zones are listed.

use std::sync::Arc;

use zonewright_core::testing::name;
use zonewright_core::zone::InstanceId;

use super::*;
use crate::testing::{Script, account, record};

fn zone(id: &str, apex: &str, visibility: Visibility) -> Zone {
    Zone { visibility, ..Zone::new(&InstanceId::from("i"), id, name(apex)) }
}

#[test]
fn the_longest_suffix_by_whole_labels() {
    use Visibility::Public;
    let zones =
        [zone("1", "example.com", Public), zone("2", "test.example.com", Public), zone("3", "b.example.com", Public)];
    let check = |asked: &str, expected: Option<&str>| {
        let found = choose(&zones, &name(asked), false).map(|zone| zone.key.zone.to_string());
        assert_eq!(found.as_deref(), expected, "{asked}");
    };
    check("api.example.com", Some("1"));
    check("api.test.example.com", Some("2"));
    check("apitest.example.com", Some("1"));
    check("testexample.com", None);
    check("example.com", Some("1"));
    check("test.example.com", Some("2"));
    check("*.test.example.com", Some("2"));
    check("*.example.com", Some("1"));
    check("com", None);
    check("API.Example.COM", Some("1"));
}

/// The root holds every name, and any other zone goes before it.
#[test]
fn the_root_is_the_last_zone_that_is_taken() {
    use Visibility::Public;
    let zones = [zone("root", ".", Public), zone("1", "example.com", Public)];
    let check = |zones: &[Zone], asked: &str, expected: &str| {
        let found = choose(zones, &name(asked), false).map(|zone| zone.key.zone.to_string());
        assert_eq!(found.as_deref(), Some(expected), "{asked}");
    };
    check(&zones, "api.example.com", "1");
    check(&zones, "testexample.com", "root");
    check(&zones, "com", "root");
    check(&zones, ".", "root");
}

#[test]
fn of_two_zones_of_one_name_the_choice_is_the_same_each_time() {
    use Visibility::{Private, Public};
    let check = |zones: [Zone; 2], private: bool, expected: &str| {
        let reversed: Vec<Zone> = zones.iter().rev().cloned().collect();
        for zones in [zones.to_vec(), reversed] {
            let found = choose(&zones, &name("a.example.com"), private).unwrap();
            assert_eq!(found.key.zone.as_str(), expected);
        }
    };
    let both = || [zone("1", "example.com", Private), zone("2", "example.com", Public)];
    check(both(), false, "2");
    check(both(), true, "1");
    check([zone("2", "example.com", Public), zone("1", "example.com", Public)], false, "1");
    // A longer private zone holds the name, and is the only one that does.
    check([zone("1", "a.example.com", Private), zone("2", "example.com", Public)], false, "1");
}

#[test]
fn ids_with_and_without_what_precedes_them() {
    let project = ZoneScope::Project("p".to_owned());
    let subscription = ZoneScope::Subscription("S".to_owned());
    let arm = "/subscriptions/s/resourcegroups/rg/providers/microsoft.network/dnszones/example.com";
    for (kind, scope, text, id, back) in [
        (ProviderKind::Route53, &ZoneScope::Whole, "/hostedzone/Z1", "Z1", "Z1"),
        (ProviderKind::Route53, &ZoneScope::Whole, " Z1 ", "Z1", "Z1"),
        (ProviderKind::CloudDns, &project, "p/zone-a", "zone-a", "p/zone-a"),
        (ProviderKind::CloudDns, &project, "zone-a", "zone-a", "p/zone-a"),
        (ProviderKind::CloudDns, &project, "q/zone-a", "q/zone-a", "p/q/zone-a"),
        (ProviderKind::AzureDns, &subscription, "rg/example.com", arm, "rg/example.com"),
        (ProviderKind::AzureDns, &subscription, "RG/Example.com", arm, "rg/example.com"),
        (
            ProviderKind::AzureDns,
            &subscription,
            &arm.replace("resourcegroups", "resourceGroups"),
            arm,
            "rg/example.com",
        ),
        (ProviderKind::AzureDns, &subscription, "example.com", "example.com", "example.com"),
        (ProviderKind::Rfc2136, &ZoneScope::Whole, "Example.com.", "example.com", "example.com"),
        (ProviderKind::Cloudflare, &ZoneScope::Whole, "0a1b", "0a1b", "0a1b"),
    ] {
        let found = id_of(kind, scope, text);
        assert_eq!((found.as_str(), text_of(kind, scope, &found).as_str()), (id, back), "{text}");
    }
    let private = id_of(ProviderKind::AzurePrivateDns, &subscription, "rg/example.com");
    assert!(private.as_str().ends_with("/privatednszones/example.com"), "{private}");
}

/// What the status cannot say in Gardener's form, the mark does.
#[test]
fn the_mark_names_the_subscription_of_a_zone_and_the_status_does_not() {
    let [one, two] = ["S1", "S2"].map(|name| ZoneScope::Subscription(name.to_owned()));
    for kind in [ProviderKind::AzureDns, ProviderKind::AzurePrivateDns] {
        let id = id_of(kind, &one, "rg/example.com");
        let text = ZoneText::of(kind, &one, &id);
        assert_eq!((text.status.as_str(), text.mark.as_str()), ("rg/example.com", id.as_str()));
        assert!(is_within(&one, &text.mark) && !is_within(&two, &text.mark));
        assert!(is_within(&one, &text.status) && is_within(&two, &text.status), "it names no subscription");
        assert_eq!(id_of(kind, &two, &text.mark), id, "wherever it is read");
        assert_ne!(id_of(kind, &two, &text.status), id);
    }
    let project = ZoneScope::Project("p".to_owned());
    let text = ZoneText::of(ProviderKind::CloudDns, &project, &ZoneId::from("zone-a"));
    assert_eq!((text.status.as_str(), text.mark.as_str()), ("p/zone-a", "p/zone-a"));
}

/// An account with these zones, and how often they were listed and asked for.
fn script(zones: &[&str]) -> Arc<Script> {
    Arc::new(Script::with_zones(zones))
}

async fn found(script: &Arc<Script>, stated: &str, known: &str, search: Search) -> Result<String, OperationFailure> {
    let mut record = record("a.example.com A 192.0.2.1");
    (record.spec.zone, record.status.zone) = (Some(stated.to_owned()), Some(known.to_owned()));
    let account = account(script);
    find(&account, &record, &name("a.example.com"), search).await.map(|zone| zone.key.zone.to_string())
}

#[tokio::test(start_paused = true)]
async fn the_spec_before_the_status_before_a_search() {
    let zones = ["example.com", "a.example.com", "com"];
    let check = async |stated: &str, known: &str, search: Search, expected: &str, lists: usize| {
        let script = script(&zones);
        assert_eq!(found(&script, stated, known, search).await.unwrap(), expected, "{stated:?} {known:?}");
        assert_eq!(script.lists(), lists, "{stated:?} {known:?}");
    };
    check("com", "example.com", Search::Trusting, "com", 0).await;
    check("", "example.com", Search::Trusting, "example.com", 0).await;
    check("", "", Search::Trusting, "a.example.com", 1).await;
    check("", "example.com", Search::Anew, "a.example.com", 1).await;
    check("com", "example.com", Search::Anew, "com", 0).await;
    // The zone of the status is gone, or is no zone of the name.
    check("", "gone.com", Search::Trusting, "a.example.com", 1).await;
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_found_is_said() {
    let error =
        async |zones: &[&str], stated: &str| found(&script(zones), stated, "", Search::Trusting).await.unwrap_err();
    let none = error(&["other.org"], "").await;
    assert!(matches!(&none, OperationFailure::NoZone(text) if text.contains("other.org")), "{none:?}");
    assert!(matches!(error(&[], "").await, OperationFailure::NoZone(_)));
    assert!(matches!(error(&["other.org"], "example.com").await, OperationFailure::NoZone(_)));
    let outside = error(&["other.org"], "other.org").await;
    assert!(
        matches!(&outside, OperationFailure::Configuration(text) if text.contains("outside of zone")),
        "{outside:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_list_serves_many_and_a_fresh_one_is_made_where_it_has_no_zone() {
    let script = script(&["example.com"]);
    let account = account(&script);
    let find = async |asked: &str, search| {
        let record = record(&format!("{asked} A 192.0.2.1"));
        find(&account, &record, &name(asked), search).await.map(|zone| zone.key.zone.to_string())
    };
    for asked in ["a.example.com", "b.example.com", "c.example.com"] {
        find(asked, Search::Trusting).await.unwrap();
    }
    assert_eq!(script.lists(), 1);
    find("a.example.com", Search::Anew).await.unwrap();
    assert_eq!(script.lists(), 2, "a restore asks itself");
    script.add_zone("late.org");
    assert_eq!(find("a.late.org", Search::Trusting).await.unwrap(), "late.org");
    assert_eq!(script.lists(), 3);
}

#[test]
fn texts_may_name_one_zone() {
    let id = "/subscriptions/s1/resourcegroups/rg/providers/microsoft.network/dnszones/shop.test";
    for (provider, one, other, expected) in [
        ("aws-route53", "Z1", "Z1", true),
        ("aws-route53", "/hostedzone/Z1", "Z1", true),
        ("aws-route53", "Z1", "Z2", false),
        ("google-clouddns", "project/zone", "project/zone", true),
        ("google-clouddns", "project/zone", "zone", true),
        ("google-clouddns", "project/zone", "other/zone", false),
        ("google-clouddns", "project/zone", "project/other", false),
        ("azure-dns", id, "RG/shop.test", true),
        ("azure-dns", id, "shop.test", true),
        ("azure-dns", id, "other/shop.test", false),
        ("azure-dns", id, "rg/other.test", false),
        ("azure-private-dns", "rg/shop.test", "RG/Shop.test", true),
        ("rfc2136", "Shop.test.", "shop.test", true),
        ("rfc2136", "a.shop.test", "shop.test", false),
        ("unknown", "Z1", "Z1", true),
        ("unknown", "Z1", "z1", false),
    ] {
        assert_eq!(is_same_text(provider, one, other), expected, "{provider}: {one} and {other}");
        assert_eq!(is_same_text(provider, other, one), expected, "{provider}: {other} and {one}");
    }
}
