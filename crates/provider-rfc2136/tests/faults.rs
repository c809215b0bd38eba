//! What goes wrong between the provider and a server: keys, transport, servers that vanish.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod common;

use std::net::SocketAddr;

use common::*;
use zonewright_core::ErrorKind;
use zonewright_core::change::Outcome;
use zonewright_core::provider::{Listing, Provider, Read, Token};
use zonewright_testkit::{Algorithm, DnsServer, DnsSoftware, Fault, Key, TcpFault, ZoneSpec, proxy, require};

battery!(
    every_algorithm_signs,
    a_wrong_secret_is_unauthorized,
    a_wrong_algorithm_is_unauthorized,
    an_unknown_key_is_unauthorized,
    a_key_that_is_mended_on_the_server_works_without_a_new_provider,
    an_unsigned_request_is_unauthorized,
    an_unknown_zone_is_an_error,
    unsigned_servers_work,
    a_cut_transfer_is_an_error,
    garbage_is_an_error,
    a_killed_server_was_not_sent_to,
    a_lost_answer_is_unknown,
    an_idle_connection_that_closed_is_replaced,
    the_next_server_takes_over,
);

async fn every_algorithm_signs(software: DnsSoftware) {
    use Algorithm::{HmacMd5, HmacSha1, HmacSha224, HmacSha256, HmacSha384, HmacSha512};
    let keys = [HmacMd5, HmacSha1, HmacSha224, HmacSha256, HmacSha384, HmacSha512]
        .map(|algorithm| Key::with_algorithm(algorithm.name(), algorithm));
    let server = software.start(&[ZoneSpec::new(ZONE, "")], &keys);
    for (i, key) in keys.iter().enumerate() {
        let provider = provider(&flags(&[server.addr()], key));
        let zone = zone(&provider).await;
        all_applied(&provider.apply(&zone, &[create(&format!("h{i} 60 A 192.0.2.1"))]).await);
        assert_eq!(lines(&full(provider.records(&zone, Read::All).await.unwrap())).len(), i + 1, "{:?}", key.algorithm);
    }
}

/// Reading and writing with `key` must both fail as unauthorized, and say what to look at.
async fn must_be_unauthorized(server: &DnsServer, key: &Key, expected: &str) {
    let provider = provider(&flags(&[server.addr()], key));
    let zone = zone(&provider).await;
    let (before, token) = (server.serial(ZONE), Token("0".to_owned()));
    for read in [Read::All, Read::Since(&token)] {
        let error = provider.records(&zone, read).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Unauthorized, "{error:?}");
    }
    let outcomes = provider.apply(&zone, &[create("x 60 A 192.0.2.1"), create("y 60 A 192.0.2.1")]).await;
    // Nobody signs such a refusal, and nothing can be read back with such a key.
    assert_eq!(shown(&outcomes), ["unknown unauthorized"; 2], "{outcomes:?}");
    let text = outcomes[0].error().unwrap().to_string();
    assert!(text.contains(expected) || text.contains("--rfc2136-tsig-secret"), "{text}");
    assert!(!text.contains(&key.secret), "{text}");
    assert_eq!(server.serial(ZONE), before);
}

async fn a_wrong_secret_is_unauthorized(software: DnsSoftware) {
    let site = Site::start(software, "").await;
    must_be_unauthorized(&site.server, &Key::new("ddns.key"), "BADSIG").await;
}

async fn a_wrong_algorithm_is_unauthorized(software: DnsSoftware) {
    let site = Site::start(software, "").await;
    let key = Key { algorithm: Algorithm::HmacSha512, ..site.key.clone() };
    must_be_unauthorized(&site.server, &key, "BADKEY").await;
}

async fn an_unknown_key_is_unauthorized(software: DnsSoftware) {
    let site = Site::start(software, "").await;
    must_be_unauthorized(&site.server, &Key::new("other"), "BADKEY").await;
}

async fn a_key_that_is_mended_on_the_server_works_without_a_new_provider(software: DnsSoftware) {
    let (wrong, right) = (Site::start(software, "").await, Site::start(software, "").await);
    let (address, upstream) = replaceable(wrong.server.addr()).await;
    let provider = provider(&flags(&[address], &right.key));
    let groups = [create("x 60 A 192.0.2.1")];
    for _ in 0..2 {
        assert_eq!(provider.records(&right.zone, Read::All).await.unwrap_err().kind, ErrorKind::Unauthorized);
        assert_eq!(shown(&provider.apply(&right.zone, &groups).await), ["unknown unauthorized"]);
    }
    // Connections that were kept still lead to the server with the wrong key; it goes away as a server that is restarted.
    *upstream.lock().unwrap() = right.server.addr();
    drop(wrong);
    assert!(lines(&full(provider.records(&right.zone, Read::All).await.unwrap())).is_empty());
    all_applied(&provider.apply(&right.zone, &groups).await);
    assert_eq!(right.lines().await.len(), 1);
}

async fn an_unsigned_request_is_unauthorized(software: DnsSoftware) {
    let site = Site::start(software, "").await;
    let mut flags = flags(&[site.server.addr()], &site.key);
    flags.push(("rfc2136-insecure", "true".to_owned()));
    let provider = provider(&flags);
    let outcomes = provider.apply(&site.zone, &[create("x 60 A 192.0.2.1")]).await;
    assert_eq!(shown(&outcomes), ["refused unauthorized Group"]);
    assert_eq!(provider.records(&site.zone, Read::All).await.unwrap_err().kind, ErrorKind::Unauthorized);
}

async fn an_unknown_zone_is_an_error(software: DnsSoftware) {
    let site = Site::start(software, "").await;
    let mut flags = flags(&[site.server.addr()], &site.key);
    flags.retain(|(name, _)| *name != "rfc2136-zone");
    flags.push(("rfc2136-zone", "other.test".to_owned()));
    let provider = provider(&flags);
    let zone = provider.zones().await.unwrap().remove(0);
    let token = Token("1".to_owned());
    for read in [Read::All, Read::Since(&token), Read::Names(&[name("a.other.test.")].into())] {
        let error = provider.records(&zone, read).await.unwrap_err();
        assert!(matches!(error.kind, ErrorKind::Unauthorized | ErrorKind::NotFound), "{error:?}");
        assert!(error.context.contains("other.test"), "{error}");
    }
    let outcomes = provider.apply(&zone, &[create("a.other.test. 60 A 192.0.2.1")]).await;
    assert!(matches!(&outcomes[0], Outcome::Refused { .. } | Outcome::Unknown(_)), "{outcomes:?}");
}

async fn unsigned_servers_work(software: DnsSoftware) {
    let server = software.start(&[ZoneSpec::new(ZONE, "")], &[]);
    let mut flags =
        vec![("rfc2136-host", server.addr().ip().to_string()), ("rfc2136-port", server.addr().port().to_string())];
    flags.extend([("rfc2136-zone", ZONE.to_owned()), ("rfc2136-insecure", "true".to_owned())]);
    let provider = provider(&flags);
    let zone = zone(&provider).await;
    all_applied(&provider.apply(&zone, &[create("a 60 A 192.0.2.1")]).await);
    assert_eq!(lines(&full(provider.records(&zone, Read::All).await.unwrap())), [set("a 60 A 192.0.2.1").to_string()]);
}

/// A provider that reaches the server through a proxy, by TCP alone.
async fn by_proxy(software: DnsSoftware, records: &str) -> (Site, TcpFault) {
    let mut site = Site::start(software, records).await;
    let proxy = TcpFault::start(site.server.addr());
    site.provider = provider(&flags(&[proxy.addr()], &site.key));
    (site, proxy)
}

async fn a_cut_transfer_is_an_error(software: DnsSoftware) {
    let records = repeated(2_000, |i| format!("h{i} 60 TXT \"number {i} of two thousand\""));
    let (site, proxy) = by_proxy(software, &records).await;
    for cut in [0, 1, 2, 100, 20_000, 50_000] {
        proxy.set(Fault::CutAfter(cut));
        let error = site.provider.records(&site.zone, Read::All).await.unwrap_err();
        assert!(matches!(error.kind, ErrorKind::Unavailable | ErrorKind::Protocol), "cut after {cut}: {error:?}");
    }
    proxy.set(Fault::Pass);
    assert_eq!(site.lines().await.len(), 2_000);
}

async fn garbage_is_an_error(software: DnsSoftware) {
    let (site, proxy) = by_proxy(software, "").await;
    proxy.set(Fault::Garbage);
    let error = site.provider.records(&site.zone, Read::All).await.unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Protocol | ErrorKind::Timeout | ErrorKind::Unavailable), "{error:?}");
    let outcomes = site.apply(&[create("x 60 A 192.0.2.1")]).await;
    assert!(matches!(outcomes[0], Outcome::Unknown(_)), "{outcomes:?}");
    assert_eq!(site.server.query("x.example.test", "A"), ["192.0.2.1"], "it was done, but nobody could know");
}

async fn a_killed_server_was_not_sent_to(software: DnsSoftware) {
    let mut site = Site::start(software, "").await;
    all_applied(&site.apply(&[create("a 60 A 192.0.2.1")]).await);
    site.server.kill();
    assert_eq!(shown(&site.apply(&[create("b 60 A 192.0.2.1")]).await), ["not_sent unavailable"]);
    assert_eq!(site.provider.records(&site.zone, Read::All).await.unwrap_err().kind, ErrorKind::Unavailable);
    site.server.restart();
    all_applied(&site.apply(&[create("b 60 A 192.0.2.1")]).await);
}

async fn a_lost_answer_is_unknown(software: DnsSoftware) {
    let (site, proxy) = by_proxy(software, "").await;
    proxy.set(Fault::CutAfter(0));
    let outcomes = site.apply(&[create("x 60 A 192.0.2.1")]).await;
    assert_eq!(shown(&outcomes), ["unknown unavailable"], "{outcomes:?}");
    proxy.set(Fault::Pass);
    assert_eq!(site.names(&["x"]).await, [set("x 60 A 192.0.2.1").to_string()]);
}

async fn an_idle_connection_that_closed_is_replaced(software: DnsSoftware) {
    let (site, proxy) = by_proxy(software, "").await;
    all_applied(&site.apply(&[create("a 60 A 192.0.2.1")]).await);
    all_applied(&site.apply(&[create("b 60 A 192.0.2.1")]).await);
    assert_eq!(proxy.accepted(), 1, "used again");
    proxy.set(Fault::Drop);
    proxy.set(Fault::Pass);
    all_applied(&site.apply(&[create("c 60 A 192.0.2.1")]).await);
    assert_eq!(proxy.accepted(), 2);
}

async fn the_next_server_takes_over(software: DnsSoftware) {
    let key = Key::new("ddns");
    let mut servers: Vec<DnsServer> =
        (0..2).map(|_| software.start(&[ZoneSpec::new(ZONE, "")], std::slice::from_ref(&key))).collect();
    let addresses: Vec<SocketAddr> = servers.iter().map(DnsServer::addr).collect();
    let mut flags = flags(&addresses, &key);
    let sticky = provider(&flags);
    let zone = zone(&sticky).await;
    all_applied(&sticky.apply(&zone, &[create("a 60 A 192.0.2.1")]).await);
    assert_eq!(servers[0].query("a.example.test", "A"), ["192.0.2.1"]);
    servers[0].kill();
    all_applied(&sticky.apply(&zone, &[create("a 60 A 192.0.2.2")]).await);
    assert_eq!(servers[1].query("a.example.test", "A"), ["192.0.2.2"]);
    servers[0].restart();
    let before = sticky.messages();
    all_applied(&sticky.apply(&zone, &[create("b 60 A 192.0.2.2")]).await);
    assert_eq!((servers[1].query("b.example.test", "A").len(), sticky.messages() - before), (1, 1), "stays there");

    for (strategy, calls) in [("round-robin", 2), ("random", 40)] {
        let owner = format!("{strategy}-a");
        flags.push(("rfc2136-load-balancing-strategy", strategy.to_owned()));
        let provider = provider(&flags);
        for _ in 0..calls {
            provider.apply(&zone, &[create(&format!("{owner} 60 A 192.0.2.3"))]).await;
        }
        for server in &servers {
            assert_eq!(server.query(&format!("{owner}.{ZONE}"), "A"), ["192.0.2.3"], "{strategy} uses every server");
        }
    }
}

/// What stands between the provider and the server may not know the question for a difference (RFC 1995): the whole zone does get
/// through, and for a while it is asked for at once.
#[tokio::test]
async fn where_no_difference_comes_the_whole_zone_is_transferred() {
    require!(DnsSoftware::Bind.tools());
    for obstacle in [Obstacle::Closes, Obstacle::Stalls, Obstacle::AnswersAnother] {
        let mut site = Site::start(DnsSoftware::Bind, "").await;
        let address = common::obstacle(site.server.addr(), obstacle).await;
        site.provider = provider(&flags(&[address], &site.key));
        let all = site.provider.records(&site.zone, Read::All).await.unwrap();
        let Listing::Full { token: Some(mut token), .. } = all else { panic!("{all:?}") };
        // The state by UDP in vain and by a stream, the difference the first time, the zone.
        for (label, cost) in [("a", 4), ("b", 3)] {
            site.server.nsupdate(&format!("update add {label}.example.test 60 A 192.0.2.1"));
            let before = site.provider.messages();
            let listing = site.provider.records(&site.zone, Read::Since(&token)).await;
            let Ok(Listing::Full { sets, token: Some(next) }) = listing else { panic!("{obstacle:?}: {listing:?}") };
            assert!(sets.contains(&set(&format!("{label} 60 A 192.0.2.1"))), "{obstacle:?}: {sets:?}");
            assert_eq!(
                site.provider.messages() - before,
                cost,
                "{obstacle:?}: the state, the difference once, the zone"
            );
            token = next;
        }
    }
}

#[tokio::test]
async fn a_stalled_server_is_unknown() {
    require!(DnsSoftware::Bind.tools());
    let mut site = Site::start(DnsSoftware::Bind, "").await;
    site.server.stop();
    let outcomes = site.apply(&[create("x 60 A 192.0.2.1")]).await;
    assert_eq!(shown(&outcomes), ["unknown timeout"], "{outcomes:?}");
    assert_eq!(site.provider.records(&site.zone, Read::All).await.unwrap_err().kind, ErrorKind::Timeout);
    site.server.cont();
    let free = site.names(&["x"]).await;
    assert!(free.is_empty() || free == [set("x 60 A 192.0.2.1").to_string()]);
    site.server.restart();
}

#[tokio::test]
async fn udp_that_does_not_get_through_is_not_tried_again() {
    require!(DnsSoftware::Bind.tools());
    let mut site = Site::start(DnsSoftware::Bind, "").await;
    let (tcp, udp) = proxy::both(site.server.addr());
    site.provider = provider(&flags(&[tcp.addr()], &site.key));
    let all = site.provider.records(&site.zone, Read::All).await.unwrap();
    let Listing::Full { token: Some(token), .. } = all else { panic!("{all:?}") };
    udp.set(Fault::Drop);
    let before = site.provider.messages();
    for _ in 0..3 {
        assert_eq!(site.provider.records(&site.zone, Read::Since(&token)).await.unwrap(), Listing::Unchanged);
    }
    assert_eq!(site.provider.messages() - before, 4, "one by UDP in vain");
}

#[tokio::test]
async fn dns_over_tls() {
    require!(DnsSoftware::Bind.tools());
    let key = Key::new("ddns");
    let server = DnsServer::bind_with_tls(&[ZoneSpec::new(ZONE, "")], std::slice::from_ref(&key));
    let folder = tempfile::tempdir().unwrap();
    let ca = folder.path().join("ca.pem");
    std::fs::write(&ca, server.ca_pem().unwrap()).unwrap();
    let tls = |host: &str, more: &[(&'static str, String)]| {
        let mut flags = flags(&[], &key);
        flags.push(("rfc2136-host", host.to_owned()));
        flags.push(("rfc2136-port", server.tls_addr().unwrap().port().to_string()));
        flags.push(("rfc2136-use-tls", "true".to_owned()));
        flags.extend_from_slice(more);
        provider(&flags)
    };
    let trusted = [("tls-ca", ca.display().to_string())];
    for (i, (host, more)) in [
        ("127.0.0.1", &trusted),
        ("localhost", &trusted),
        ("127.0.0.1", &[("rfc2136-skip-tls-verify", "true".to_owned())]),
    ]
    .into_iter()
    .enumerate()
    {
        let provider = tls(host, more);
        let zone = zone(&provider).await;
        all_applied(&provider.apply(&zone, &[create(&format!("h{i} 60 A 192.0.2.1"))]).await);
        assert_eq!(lines(&full(provider.records(&zone, Read::All).await.unwrap())).len(), i + 1);
    }
    let untrusted = tls("127.0.0.1", &[]);
    let zone = zone(&untrusted).await;
    let outcomes = untrusted.apply(&zone, &[create("x 60 A 192.0.2.1")]).await;
    assert_eq!(shown(&outcomes), ["not_sent unavailable"], "{outcomes:?}");
    assert!(outcomes[0].error().unwrap().context.contains("--tls-ca"), "{outcomes:?}");
}
