//! What is believed: answers without a signature, and views that rest on a serial number.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

#[path = "../common/mod.rs"]
mod common;
mod forger;

use std::net::SocketAddr;
use std::time::Duration;

use common::*;
use forger::Forger;
use zonewright_core::provider::{Listing, Provider, Read, Token};
use zonewright_core::{ErrorKind, RecordSet, Zone};
use zonewright_provider_rfc2136::Rfc2136;
use zonewright_testkit::{DnsServer, DnsSoftware, Key, ZoneSpec, require};

/// REFUSED, NOTAUTH and SERVFAIL.
const RCODES: [u8; 3] = [5, 9, 2];

/// Two servers that know nothing of each other, a forger in front of the first, and the flags that ask it first.
async fn pair(rcode: u8) -> (Forger, [DnsServer; 2], Vec<(&'static str, String)>) {
    let key = Key::new("ddns.key");
    let start = || DnsSoftware::Bind.start(&[ZoneSpec::new(ZONE, "")], std::slice::from_ref(&key));
    let servers = [start(), start()];
    let forger = Forger::start(servers[0].addr(), rcode).await;
    let flags = flags(&[forger.address, servers[1].addr()], &key);
    (forger, servers, flags)
}

/// The update was carried out, and somebody says that it was not.
#[tokio::test(flavor = "multi_thread")]
async fn a_forged_refusal_is_not_believed() {
    require!(DnsSoftware::Bind.tools());
    for rcode in RCODES {
        let (forger, servers, flags) = pair(rcode).await;
        let provider = common::provider(&flags);
        forger.pass();
        let zone = zone(&provider).await;
        let outcomes = provider.apply(&zone, &[create("x 60 A 192.0.2.1"), create("y 60 A 192.0.2.1")]).await;
        assert!(shown(&outcomes).iter().all(|text| text.starts_with("unknown")), "{rcode}: {outcomes:?}");
        assert_eq!(servers[0].query("x.example.test", "A"), ["192.0.2.1"]);
        assert!(servers[1].query("x.example.test", "A").is_empty(), "{rcode}: it went to another server too");
        // A delete as well.
        let provider = common::provider(&flags);
        let outcomes = provider.apply(&zone, &[delete("x 60 A 192.0.2.1")]).await;
        assert!(shown(&outcomes)[0].starts_with("unknown"), "{rcode}: {outcomes:?}");
        assert!(servers[0].query("x.example.test", "A").is_empty());
    }
}

/// The update was not carried out: that is read back, and then it is a refusal, and another server may be asked.
#[tokio::test(flavor = "multi_thread")]
async fn an_unsigned_refusal_is_one_once_it_was_read_back() {
    require!(DnsSoftware::Bind.tools());
    for rcode in RCODES {
        let (forger, servers, two) = pair(rcode).await;
        let provider = common::provider(&two);
        let zone = zone(&provider).await;
        let groups = [create("x 60 A 192.0.2.1"), create("y 60 A 192.0.2.1")];
        all_applied(&provider.apply(&zone, &groups).await);
        assert!(servers[0].query("x.example.test", "A").is_empty());
        assert_eq!(servers[1].query("x.example.test", "A"), ["192.0.2.1"]);

        let key = Key::new("ddns.key");
        let alone = DnsSoftware::Bind.start(&[ZoneSpec::new(ZONE, "www 60 A 192.0.2.1")], std::slice::from_ref(&key));
        let forger_alone = Forger::start(alone.addr(), rcode).await;
        let provider = common::provider(&flags(&[forger_alone.address], &key));
        let change = [update("www 60 A 192.0.2.1", "www 60 A 192.0.2.2"), create("x 60 A 192.0.2.1")];
        let outcomes = provider.apply(&zone, &change).await;
        let kind = if rcode == 2 { "unavailable" } else { "unauthorized" };
        // It does know the zone and the key, as what was read back shows.
        assert_eq!(shown(&outcomes), [(); 2].map(|()| format!("refused {kind} Batch")));
        let outcomes = provider.apply(&zone, &change[..1]).await;
        assert_eq!(shown(&outcomes), [format!("refused {kind} Group")]);
        let text = outcomes[0].error().unwrap().to_string();
        assert!(text.contains(&forger_alone.address.to_string()) && text.contains("without a signature"), "{text}");
        assert!(rcode == 2 || text.contains("key ddns.key"), "{text}");
        drop(forger);
    }
}

/// What the first server forbids of one name is found by halves, though the second one takes no updates at all.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_refuses_everything_does_not_hide_a_name_that_another_forbids() {
    require!(DnsSoftware::Bind.tools());
    let key = Key::new("ddns.key");
    let (zones, keys) = ([ZoneSpec::new(ZONE, "")], std::slice::from_ref(&key));
    let first = DnsServer::bind_with_rules(&zones, keys, "deny ddns.key name bad.example.test;");
    let second = DnsSoftware::Bind.start(&zones, keys);
    // NOTIMP.
    let forger = Forger::start(second.addr(), 4).await;
    let groups = [create("good 60 A 192.0.2.1"), create("bad 60 A 192.0.2.1")];
    for addresses in [[first.addr(), forger.address], [forger.address, first.addr()]] {
        let provider = common::provider(&flags(&addresses, &key));
        let outcomes = provider.apply(&zone(&provider).await, &groups).await;
        assert_eq!(shown(&outcomes), ["refused unauthorized Batch"; 2], "{outcomes:?}");
    }
}

/// The first copy is late, and the second one is refused: everything stands as before, and yet the first may still come.
#[tokio::test(flavor = "multi_thread")]
async fn an_unsigned_refusal_of_a_second_copy_is_no_refusal() {
    require!(DnsSoftware::Bind.tools());
    let (forger, servers, flags) = pair(2).await;
    let provider = common::provider(&flags);
    forger.hold();
    let zone = zone(&provider).await;
    let outcomes = provider.apply(&zone, &[create("x 60 A 192.0.2.1"), create("y 60 A 192.0.2.1")]).await;
    forger.let_go().await;
    assert_eq!(servers[0].query("x.example.test", "A"), ["192.0.2.1"], "the first copy was carried out");
    assert_eq!(shown(&outcomes), ["unknown unavailable"; 2], "{outcomes:?}");
    assert!(servers[1].query("x.example.test", "A").is_empty(), "it went to another server too");
}

/// PowerDNS answers a wrong secret so. Nothing can be read back then; nothing was done, and the error says whose key it is.
#[tokio::test]
async fn a_wrong_secret_names_key_and_server() {
    for software in DnsSoftware::ALL {
        require!(software.tools());
        let site = Site::start(software, "").await;
        let provider = provider(&flags(&[site.server.addr()], &Key::new("ddns.key")));
        let outcomes = provider.apply(&site.zone, &[create("x 60 A 192.0.2.1")]).await;
        assert_eq!(shown(&outcomes), ["unknown unauthorized"], "{software:?}: {outcomes:?}");
        let text = outcomes[0].error().unwrap().to_string();
        assert!(text.contains("key ddns.key"), "{software:?}: {text}");
        assert!(text.contains(&site.server.addr().to_string()), "{software:?}: {text}");
        let error = provider.records(&site.zone, Read::All).await.unwrap_err();
        assert!(error.kind == ErrorKind::Unauthorized && error.context.contains("key ddns.key"), "{error}");
    }
}

fn token(listing: Listing) -> Token {
    match listing {
        Listing::Full { token: Some(token), .. } | Listing::Delta { token, .. } => token,
        other => panic!("no token: {other:?}"),
    }
}

async fn since(provider: &Rfc2136, zone: &Zone, token: &Token) -> Listing {
    provider.records(zone, Read::Since(token)).await.unwrap()
}

/// What a listing of the whole zone holds at a name; panics with anything else.
fn at(listing: &Listing, owner: &str) -> Vec<String> {
    let Listing::Full { sets, .. } = listing else { panic!("a full listing was expected: {listing:?}") };
    let here = |set: &&RecordSet| set.key.name == name(owner);
    sets.iter().filter(here).map(|set| set.data.to_string()).collect()
}

fn put(records: &mut [String], owner: &str, from: &str, to: &str) {
    let record = records.iter_mut().find(|record| record.starts_with(&format!("{owner}.{ZONE}. "))).unwrap();
    assert!(record.contains(from), "{record}");
    *record = record.replace(from, to);
}

/// A backup is restored, or a file edited by hand, and the serial number stays. One precondition that is refused has the whole
/// zone read; a refusal that news explain has not.
#[tokio::test]
async fn another_content_under_an_equal_serial_is_found_by_a_refusal() {
    require!(DnsSoftware::Bind.tools());
    let mut site = Site::start(DnsSoftware::Bind, "a 60 A 192.0.2.1\nb 60 A 192.0.2.1").await;
    let start = token(site.provider.records(&site.zone, Read::All).await.unwrap());
    site.server.replace_zone(ZONE, |records| {
        put(records, "a", "192.0.2.1", "192.0.2.66");
        records.push(format!("c.{ZONE}. 60 IN A 192.0.2.66"));
    });
    assert_eq!(since(&site.provider, &site.zone, &start).await, Listing::Unchanged, "nobody can know yet");
    assert_eq!(shown(&site.apply(&[create("c 60 A 192.0.2.1")]).await), ["refused conflict Group"]);
    let all = since(&site.provider, &site.zone, &start).await;
    assert_eq!((at(&all, "a"), at(&all, "c")), (vec!["192.0.2.66".to_owned()], vec!["192.0.2.66".to_owned()]));
    let read = token(all);
    assert_eq!(since(&site.provider, &site.zone, &read).await, Listing::Unchanged, "it is read once");

    // A name that the difference speaks of explains the refusal.
    site.server.nsupdate("update add d.example.test 60 A 192.0.2.66");
    assert_eq!(shown(&site.apply(&[create("d 60 A 192.0.2.1")]).await), ["refused conflict Group"]);
    let delta = since(&site.provider, &site.zone, &read).await;
    assert!(matches!(delta, Listing::Delta { .. }), "{delta:?}");
}

/// The difference is no explanation where it says nothing of the name that was refused.
#[tokio::test]
async fn a_difference_that_explains_no_refusal_is_not_enough() {
    require!(DnsSoftware::Bind.tools());
    let mut site = Site::start(DnsSoftware::Bind, "a 60 A 192.0.2.1").await;
    let start = token(site.provider.records(&site.zone, Read::All).await.unwrap());
    site.server.replace_zone(ZONE, |records| put(records, "a", "192.0.2.1", "192.0.2.66"));
    site.server.nsupdate("update add other.example.test 60 A 192.0.2.7");
    let change = [update("a 60 A 192.0.2.1", "a 60 A 192.0.2.2")];
    assert_eq!(shown(&site.apply(&change).await), ["refused conflict Group"]);
    assert_eq!(at(&since(&site.provider, &site.zone, &start).await, "a"), ["192.0.2.66"]);
}

/// Where nothing is written, the period finds it.
#[tokio::test]
async fn another_content_under_an_equal_serial_is_found_in_time() {
    require!(DnsSoftware::Bind.tools());
    let mut site = Site::start(DnsSoftware::Bind, "a 60 A 192.0.2.1").await;
    let mut flags = flags(&[site.server.addr()], &site.key);
    flags.push(("rfc2136-full-transfer-interval", "1s".to_owned()));
    let provider = provider(&flags);
    let start = token(provider.records(&site.zone, Read::All).await.unwrap());
    site.server.replace_zone(ZONE, |records| put(records, "a", "192.0.2.1", "192.0.2.66"));
    let listing = wait(&provider, &site.zone, &start).await;
    assert_eq!(at(&listing, "a"), ["192.0.2.66"]);
}

/// Asks until there is something else than "unchanged".
async fn wait(provider: &Rfc2136, zone: &Zone, token: &Token) -> Listing {
    let asking = async {
        loop {
            match since(provider, zone, token).await {
                Listing::Unchanged => tokio::task::yield_now().await,
                listing => return listing,
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(30), asking).await.expect("the zone is read as a whole")
}

/// Another SOA record at the same serial number is another state of the zone, or another zone.
#[tokio::test]
async fn another_soa_at_one_serial_is_read_as_a_whole() {
    require!(DnsSoftware::Bind.tools());
    for (from, to) in [(" ns1.", " ns2."), (" hostmaster.", " admin."), (" 604800 ", " 604801 ")] {
        let mut site = Site::start(DnsSoftware::Bind, "a 60 A 192.0.2.1").await;
        let start = token(site.provider.records(&site.zone, Read::All).await.unwrap());
        site.server.replace_zone(ZONE, |records| {
            let soa = records.iter_mut().find(|record| record.contains(" IN SOA ")).unwrap();
            *soa = soa.replacen(from, to, 1);
            put(records, "a", "192.0.2.1", "192.0.2.66");
        });
        assert_eq!(at(&since(&site.provider, &site.zone, &start).await, "a"), ["192.0.2.66"], "{to}");
        // With a larger serial number too: its history is another one.
        site.server.nsupdate("update add b.example.test 60 A 192.0.2.1");
        assert_eq!(at(&since(&site.provider, &site.zone, &start).await, "a"), ["192.0.2.66"], "{to}");
    }
}

/// Primaries that know nothing of each other count for themselves.
#[tokio::test]
async fn another_server_with_the_same_serial_is_read_as_a_whole() {
    require!(DnsSoftware::Bind.tools());
    let key = Key::new("ddns");
    let start = |data: &str| {
        let zone = ZoneSpec::new(ZONE, &format!("a 60 A {data}"));
        DnsSoftware::Bind.start(&[zone], std::slice::from_ref(&key))
    };
    let mut servers = [start("192.0.2.1"), start("192.0.2.66")];
    let addresses: Vec<SocketAddr> = servers.iter().map(DnsServer::addr).collect();
    let provider = provider(&flags(&addresses, &key));
    let zone = zone(&provider).await;
    let first = token(provider.records(&zone, Read::All).await.unwrap());
    assert_eq!(since(&provider, &zone, &first).await, Listing::Unchanged);
    servers[0].kill();
    let other = since(&provider, &zone, &first).await;
    assert_eq!(at(&other, "a"), ["192.0.2.66"]);
    assert_eq!(since(&provider, &zone, &token(other)).await, Listing::Unchanged);

    // Where each question goes to another server, a view is kept current from the one that it came from.
    servers[0].restart();
    for strategy in ["round-robin", "random"] {
        let mut flags = flags(&addresses, &key);
        flags.push(("rfc2136-load-balancing-strategy", strategy.to_owned()));
        let provider = common::provider(&flags);
        let start = token(provider.records(&zone, Read::All).await.unwrap());
        for _ in 0..6 {
            assert_eq!(since(&provider, &zone, &start).await, Listing::Unchanged, "{strategy}");
        }
    }
}

/// One address, several servers: what answers the question for the difference need not be what the view came from.
#[tokio::test]
async fn an_address_that_leads_to_another_server_is_seen() {
    require!(DnsSoftware::Bind.tools());
    let key = Key::new("ddns");
    let start = |data: &str| {
        DnsSoftware::Bind.start(&[ZoneSpec::new(ZONE, &format!("a 60 A {data}"))], std::slice::from_ref(&key))
    };
    let (one, mut two) = (start("192.0.2.1"), start("192.0.2.66"));
    two.replace_zone(ZONE, |records| {
        let soa = records.iter_mut().find(|record| record.contains(" IN SOA ")).unwrap();
        *soa = soa.replacen(" ns1.", " ns2.", 1);
    });
    let (address, upstream) = replaceable(one.addr()).await;
    let provider = provider(&flags(&[address], &key));
    let zone = zone(&provider).await;
    let first = token(provider.records(&zone, Read::All).await.unwrap());
    *upstream.lock().unwrap() = two.addr();
    drop(one);
    assert_eq!(at(&since(&provider, &zone, &first).await, "a"), ["192.0.2.66"]);
}
