//! Keys that may do some things and not others, against real BIND and Knot.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod common;

use common::*;
use zonewright_core::change::Change;
use zonewright_core::provider::{Listing, Provider, Read, Token};
use zonewright_testkit::{DnsServer, DnsSoftware, Key, ZoneSpec, require};

/// The token of a listing that was no error.
fn token(listing: Listing) -> Token {
    match listing {
        Listing::Full { token: Some(token), .. } | Listing::Delta { token, .. } => token,
        other => panic!("no token: {other:?}"),
    }
}

/// Knot answers an update of which its ACL forbids one record as it answers an unknown key. What it forbids is found by halves, and
/// nobody is sent to look after the key.
#[tokio::test]
async fn a_name_that_an_acl_forbids_holds_up_no_other() {
    require!(DnsSoftware::Knot.tools());
    for (rules, bad) in [
        (
            &["update-owner: name", "update-owner-match: equal", "update-owner-name: [good.example.test.]"][..],
            "bad 60 A 192.0.2.1",
        ),
        (&["update-type: [A]"], "bad 60 TXT \"t\""),
    ] {
        let key = Key::new("ddns.key");
        let server = DnsServer::knot_with_rules(&[ZoneSpec::new(ZONE, "")], std::slice::from_ref(&key), rules);
        let provider = provider(&flags(&[server.addr()], &key));
        let zone = zone(&provider).await;
        let groups = [create("good 60 A 192.0.2.1"), create(bad)];
        let outcomes = provider.apply(&zone, &groups).await;
        assert_eq!(shown(&outcomes), ["refused unauthorized Batch"; 2], "{outcomes:?}");
        let outcomes = provider.apply(&zone, &groups[1..]).await;
        assert_eq!(shown(&outcomes), ["refused unauthorized Group"], "{outcomes:?}");
        let error = outcomes[0].error().unwrap();
        assert!(error.context.contains("update-owner") && error.why_denied().is_none(), "{error:?}");
        all_applied(&provider.apply(&zone, &groups[..1]).await);
    }
}

/// What a key may transfer is read by transfer where it may not ask.
#[tokio::test]
async fn a_key_that_may_not_ask_queries_keeps_its_zone() {
    for software in [DnsSoftware::Bind, DnsSoftware::Knot] {
        require!(software.tools());
        let key = Key::new("ddns.key");
        let zones = [ZoneSpec::new(ZONE, "www 60 A 192.0.2.1\nwww 60 TXT \"t\"")];
        let server = DnsServer::without_queries(software, &zones, std::slice::from_ref(&key));
        let provider = provider(&flags(&[server.addr()], &key));
        let zone = zone(&provider).await;
        let site = Site { server, key, provider, zone };
        let start = token(site.provider.records(&site.zone, Read::All).await.unwrap());
        let before = site.provider.messages();
        let listing = site.provider.records(&site.zone, Read::Since(&start)).await.unwrap();
        assert_eq!(listing, Listing::Unchanged, "{software:?}");
        assert_eq!(site.provider.messages() - before, 2, "{software:?}: the state in vain, and the difference");

        assert_eq!(site.names(&["www", "none"]).await.len(), 2, "{software:?}");
        // BIND refuses a prerequisite of who may not ask; at Knot the CNAME is read back.
        let swap = group([
            Change::Create { to: set("www 60 CNAME lb.example.org") },
            Change::Delete { from: set("www 60 A 192.0.2.1") },
            Change::Delete { from: set("www 60 TXT \"t\"") },
        ]);
        let outcomes = site.apply(&[swap]).await;
        if software == DnsSoftware::Bind {
            assert_eq!(shown(&outcomes), ["refused unauthorized Group"], "{outcomes:?}");
            continue;
        }
        all_applied(&outcomes);
        let listing = site.provider.records(&site.zone, Read::Since(&start)).await.unwrap();
        assert!(matches!(listing, Listing::Delta { .. }), "{software:?}: {listing:?}");
        let known = token(listing);
        assert_eq!(site.provider.records(&site.zone, Read::Since(&known)).await.unwrap(), Listing::Unchanged);
        assert_eq!(site.names(&["www", "none"]).await, [set("www 60 CNAME lb.example.org").to_string()]);
    }
}
