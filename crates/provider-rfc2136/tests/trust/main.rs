//! What is believed: answers without a signature.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

#[path = "../common/mod.rs"]
mod common;
mod forger;

use common::*;
use forger::Forger;
use zonewright_core::ErrorKind;
use zonewright_core::provider::{Provider, Read};
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
        // A server that does not know the zone refuses each for itself.
        let blame = if rcode == 9 { "Group" } else { "Batch" };
        assert_eq!(shown(&outcomes), [(); 2].map(|()| format!("refused {kind} {blame}")));
        let outcomes = provider.apply(&zone, &change[..1]).await;
        assert_eq!(shown(&outcomes), [format!("refused {kind} Group")]);
        let text = outcomes[0].error().unwrap().to_string();
        assert!(text.contains(&forger_alone.address.to_string()) && text.contains("without a signature"), "{text}");
        assert!(rcode == 2 || text.contains("key ddns.key"), "{text}");
        drop(forger);
    }
}

/// PowerDNS answers a wrong secret so. Nothing can be read back then; nothing was done, and it is told whose key it is.
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
