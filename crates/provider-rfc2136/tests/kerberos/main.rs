//! Signing by Kerberos, against a real KDC and a real BIND. The library reads its configuration from the environment, so each
//! test here runs in a process of its own.
#![cfg(feature = "gss-tsig")]
#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

#[path = "../common/mod.rs"]
mod common;
mod relay;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use common::*;
use futures::future::join_all;
use relay::{Forgery, QUERY, Relay, UPDATE};
use zonewright_core::change::{Group, Outcome};
use zonewright_core::provider::{Provider, Read};
use zonewright_provider_rfc2136::Rfc2136;
use zonewright_testkit::{
    DnsServer, DnsSoftware, Fault, Key, Realm, TcpFault, ZoneSpec, own_process, require, wait_for,
};

const REALM: &str = "EXAMPLE.TEST";
const USER: &str = "dns-updater";
const PASSWORD: &str = "correct horse";
const SERVICES: [&str; 2] = ["DNS/ns1.example.test", "DNS/localhost"];

/// A realm with a user, and a BIND that takes updates from the user.
fn site() -> (Realm, DnsServer) {
    let realm = Realm::start(REALM);
    realm.add_user(USER, PASSWORD);
    let server = server(&realm, &SERVICES);
    (realm, server)
}

fn server(realm: &Realm, services: &[&str]) -> DnsServer {
    let keytab = realm.keytab(services);
    DnsServer::bind_with_kerberos(&[ZoneSpec::new(ZONE, "")], &[Key::new("ddns")], keytab, &[USER])
}

/// The flags for [`ZONE`] at these hosts as this user.
fn flags_for(hosts: &[String], user: &str, password: &str) -> Vec<(&'static str, String)> {
    let rest = [
        ("rfc2136-zone", ZONE),
        ("rfc2136-gss-tsig", "true"),
        ("rfc2136-kerberos-realm", "example.test"),
        ("rfc2136-kerberos-username", user),
        ("rfc2136-kerberos-password", password),
    ];
    let hosts = hosts.iter().map(|host| ("rfc2136-host", host.clone()));
    hosts.chain(rest.map(|(name, value)| (name, value.to_owned()))).collect()
}

/// The user's provider for these servers, which are known by the name that 127.0.0.1 has.
fn updater(servers: &[SocketAddr]) -> Rfc2136 {
    as_user(servers, USER, PASSWORD)
}

fn as_user(servers: &[SocketAddr], user: &str, password: &str) -> Rfc2136 {
    let hosts: Vec<String> = servers.iter().map(|address| format!("localhost:{}", address.port())).collect();
    provider(&flags_for(&hosts, user, password))
}

async fn apply(provider: &Rfc2136, groups: &[Group]) -> Vec<Outcome> {
    provider.apply(&zone(provider).await, groups).await
}

async fn listed(provider: &Rfc2136) -> Vec<String> {
    lines(&full(provider.records(&zone(provider).await, Read::All).await.unwrap()))
}

/// A group that creates a name of this number.
fn numbered(n: usize) -> Group {
    create(&format!("n{n} 60 A 192.0.2.1"))
}

/// Tickets that the KDC has issued for this service, such as `krbtgt/EXAMPLE.TEST`.
fn issued(realm: &Realm, service: &str) -> usize {
    let ends = format!("for {service}@{REALM}");
    realm.log().lines().filter(|line| line.contains("ISSUE") && line.ends_with(&ends)).count()
}

/// One update must fail so, with all of `expected` in what is said, and without the password.
async fn must_fail(provider: &Rfc2136, outcome: &str, expected: &[&str]) {
    let outcomes = apply(provider, &[create("x 60 A 192.0.2.1")]).await;
    assert_eq!(shown(&outcomes), [outcome], "{outcomes:?}");
    let text = outcomes[0].error().unwrap().chain();
    for part in expected {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains(PASSWORD), "{text}");
}

#[tokio::test]
async fn records_come_change_and_go() {
    require!(DnsSoftware::Bind.tools(), Realm::TOOLS);
    own_process!();
    let (realm, server) = site();
    let by_name = format!("localhost:{}", server.addr().port());
    // An address is no service: the zone's primary server is.
    for (host, service) in [(by_name, "DNS/localhost"), (server.addr().to_string(), "DNS/ns1.example.test")] {
        let provider = provider(&flags_for(&[host], USER, PASSWORD));
        let outcomes = apply(&provider, &[create("a 60 A 192.0.2.1")]).await;
        assert_eq!(shown(&outcomes), ["applied"], "{outcomes:?}\n{}\n{}", server.log(), realm.log());
        assert_eq!(listed(&provider).await, ["a.example.test 60 A 192.0.2.1"]);
        assert!(server.log().contains(&format!("key {USER}\\@{REALM}: updating zone")), "{}", server.log());
        all_applied(&apply(&provider, &[update("a 60 A 192.0.2.1", "a 90 A 192.0.2.2")]).await);
        assert_eq!(listed(&provider).await, ["a.example.test 90 A 192.0.2.2"]);
        all_applied(&apply(&provider, &[delete("a 90 A 192.0.2.2")]).await);
        assert!(listed(&provider).await.is_empty());
        assert_eq!(issued(&realm, service), 1, "{}", realm.log());
    }
}

#[tokio::test]
async fn one_context_serves_all_updates() {
    require!(DnsSoftware::Bind.tools(), Realm::TOOLS);
    own_process!();
    let (realm, server) = site();
    let provider = updater(&[server.addr()]);
    let groups: Vec<Vec<Group>> = (0..20).map(|n| vec![numbered(n)]).collect();
    // All of them find no context, and wait for the same.
    for outcomes in join_all(groups.iter().map(|groups| apply(&provider, groups))).await {
        all_applied(&outcomes);
    }
    assert_eq!(provider.messages(), 20 + 1, "one negotiation");
    for n in 20..40 {
        all_applied(&apply(&provider, &[numbered(n)]).await);
    }
    assert_eq!(provider.messages(), 40 + 1);
    assert_eq!(issued(&realm, "krbtgt/EXAMPLE.TEST"), 1);
    assert_eq!(issued(&realm, "DNS/localhost"), 1);
    assert_eq!(server.axfr(ZONE).len(), 3 + 40);
}

#[tokio::test]
async fn a_restarted_server_is_agreed_with_anew() {
    require!(DnsSoftware::Bind.tools(), Realm::TOOLS);
    own_process!();
    let (realm, mut server) = site();
    let provider = updater(&[server.addr()]);
    all_applied(&apply(&provider, &[numbered(1)]).await);
    server.kill();
    server.restart();
    let before = provider.messages();
    all_applied(&apply(&provider, &[numbered(2)]).await);
    assert_eq!(provider.messages() - before, 3, "a refusal, a negotiation, the update");
    assert_eq!(issued(&realm, "krbtgt/EXAMPLE.TEST"), 1, "no other login");
    assert_eq!(server.axfr(ZONE).len(), 3 + 2);
}

#[tokio::test]
async fn a_context_that_ends_is_followed_by_another() {
    require!(DnsSoftware::Bind.tools(), Realm::TOOLS);
    own_process!();
    let (realm, server) = site();
    realm.limit(USER, 3);
    let provider = updater(&[server.addr()]);
    let (mut updates, begun) = (0, Instant::now());
    while issued(&realm, "krbtgt/EXAMPLE.TEST") < 3 {
        updates += 1;
        assert!(begun.elapsed() < Duration::from_mins(1), "no other login after {updates} updates");
        all_applied(&apply(&provider, &[numbered(updates)]).await);
    }
    let negotiations = usize::try_from(provider.messages()).unwrap() - updates;
    assert!(negotiations >= 3, "{negotiations} negotiations for {updates} updates");
}

#[tokio::test]
async fn the_next_server_takes_over_with_the_same_login() {
    require!(DnsSoftware::Bind.tools(), Realm::TOOLS);
    own_process!();
    let realm = Realm::start(REALM);
    realm.add_user(USER, PASSWORD);
    let keytab = realm.keytab(&SERVICES);
    let [mut first, second] = [0, 1].map(|_| {
        DnsServer::bind_with_kerberos(&[ZoneSpec::new(ZONE, "")], &[Key::new("ddns")], keytab.clone(), &[USER])
    });
    let provider = updater(&[first.addr(), second.addr()]);
    all_applied(&apply(&provider, &[numbered(1)]).await);
    assert_eq!((first.axfr(ZONE).len(), second.axfr(ZONE).len()), (4, 3));
    first.kill();
    all_applied(&apply(&provider, &[numbered(2)]).await);
    assert_eq!(second.axfr(ZONE).len(), 4);
    assert_eq!(issued(&realm, "krbtgt/EXAMPLE.TEST"), 1);
    assert_eq!(issued(&realm, "DNS/localhost"), 1, "the ticket does for both");
}

#[tokio::test]
async fn a_failed_login_is_reported() {
    require!(DnsSoftware::Bind.tools(), Realm::TOOLS);
    own_process!();
    let (realm, server) = site();
    let host = format!("server localhost:{}, Kerberos user ", server.addr().port());
    let at = format!("zone {ZONE}: Kerberos: logging in at the KDC of realm {REALM}");
    for (user, password, says) in [
        (USER, "wrong password", "--rfc2136-kerberos-password"),
        ("nobody", PASSWORD, "not found in Kerberos database"),
        // An at-sign belongs to the user's name, and makes no other realm of it.
        ("dns-updater@OTHER.TEST", PASSWORD, "not found in Kerberos database"),
    ] {
        let provider = as_user(&[server.addr()], user, password);
        must_fail(&provider, "not_sent unauthorized", &[&host, &at, &format!("as user {user}"), says]).await;
        assert_eq!(provider.messages(), 0);
    }
    assert_eq!(issued(&realm, "krbtgt/EXAMPLE.TEST"), 0);
}

/// Accounts are locked after a few wrong passwords.
#[tokio::test]
async fn a_wrong_password_is_not_tried_again_at_once() {
    require!(DnsSoftware::Bind.tools(), Realm::TOOLS);
    own_process!();
    let (realm, server) = site();
    let provider = as_user(&[server.addr()], USER, "wrong password");
    let tried =
        || realm.log().lines().filter(|line| line.contains("AS_REQ") && line.contains("PREAUTH_FAILED")).count();
    for _ in 0..5 {
        must_fail(&provider, "not_sent unauthorized", &["--rfc2136-kerberos-password"]).await;
        assert_eq!(tried(), 1, "{}", realm.log());
    }
}

#[tokio::test]
async fn a_kdc_that_is_gone_is_unavailable_until_it_is_back() {
    require!(DnsSoftware::Bind.tools(), Realm::TOOLS);
    own_process!();
    let (mut realm, server) = site();
    realm.kill();
    let provider = updater(&[server.addr()]);
    let expected = ["logging in at the KDC of realm EXAMPLE.TEST as user dns-updater", "Cannot contact any KDC"];
    must_fail(&provider, "not_sent unavailable", &expected).await;
    realm.restart(None);
    all_applied(&apply(&provider, &[numbered(1)]).await);
    // A context does without the KDC.
    realm.kill();
    all_applied(&apply(&provider, &[numbered(2)]).await);
}

#[tokio::test]
async fn a_kdc_that_does_not_answer_holds_nobody_up() {
    require!(DnsSoftware::Bind.tools(), Realm::TOOLS);
    own_process!();
    let (mut realm, server) = site();
    realm.stop();
    must_fail(&updater(&[server.addr()]), "not_sent timeout", &["logging in at the KDC", "took longer than 10 s"])
        .await;
    // The library's thread is waiting still; now it hears that there is nobody.
    realm.kill();
}

#[tokio::test]
async fn clocks_that_differ_are_named() {
    require!(DnsSoftware::Bind.tools(), Realm::TOOLS, &["faketime"]);
    own_process!();
    let mut realm = Realm::start_with(REALM, "kdc_timesync = 0");
    realm.add_user(USER, PASSWORD);
    let server = server(&realm, &SERVICES);
    realm.restart(Some("+1h"));
    must_fail(&updater(&[server.addr()]), "not_sent unauthorized", &["logging in", "Clock skew too great"]).await;
    realm.restart(None);
    all_applied(&apply(&updater(&[server.addr()]), &[numbered(1)]).await);
}

#[tokio::test]
async fn a_server_that_is_no_service_is_named() {
    require!(DnsSoftware::Bind.tools(), Realm::TOOLS);
    own_process!();
    let realm = Realm::start(REALM);
    realm.add_user(USER, PASSWORD);
    // The realm has no such service.
    let other = server(&realm, &["DNS/other.example.test"]);
    let expected =
        ["getting a ticket for DNS/localhost from the KDC of realm EXAMPLE.TEST", "not found in Kerberos database"];
    must_fail(&updater(&[other.addr()]), "not_sent unauthorized", &expected).await;
    // It has, but this server holds no keytab, or not with this key.
    realm.keytab(&SERVICES);
    let plain = DnsSoftware::Bind.start(&[ZoneSpec::new(ZONE, "")], &[]);
    let expected = ["negotiating with DNS/localhost"];
    must_fail(&updater(&[plain.addr()]), "not_sent unauthorized", &expected).await;
    must_fail(&updater(&[other.addr()]), "not_sent unauthorized", &["negotiating with DNS/localhost", "keytab"]).await;
}

#[tokio::test]
async fn new_keys_of_the_service_are_taken_up() {
    require!(DnsSoftware::Bind.tools(), Realm::TOOLS);
    own_process!();
    let (realm, mut server) = site();
    let provider = updater(&[server.addr()]);
    all_applied(&apply(&provider, &[numbered(1)]).await);
    server.kill();
    server.restart_with_keytab(realm.keytab(&SERVICES));
    // The ticket at hand is for the old key.
    must_fail(&provider, "not_sent unauthorized", &["negotiating with DNS/localhost"]).await;
    all_applied(&apply(&provider, &[numbered(2)]).await);
    assert_eq!(issued(&realm, "krbtgt/EXAMPLE.TEST"), 2);
}

#[tokio::test]
async fn a_user_without_the_right_is_refused() {
    require!(DnsSoftware::Bind.tools(), Realm::TOOLS);
    own_process!();
    let (realm, server) = site();
    realm.add_user("other", PASSWORD);
    let provider = as_user(&[server.addr()], "other", PASSWORD);
    must_fail(&provider, "refused unauthorized Group", &["REFUSED", "update policy"]).await;
    must_fail(&provider, "refused unauthorized Group", &["REFUSED"]).await;
    assert_eq!(provider.messages(), 2 + 1, "the context is good, and kept");
    assert_eq!(server.axfr(ZONE).len(), 3);
}

#[tokio::test]
async fn an_answer_that_is_not_the_servers_is_not_believed() {
    require!(DnsSoftware::Bind.tools(), Realm::TOOLS);
    own_process!();
    let (_realm, server) = site();
    let relay = Relay::start(server.addr()).await;
    for (how, outcome, expected) in [
        (Forgery::Unsigned(QUERY), "not_sent protocol", "the answer to a signed request is not signed"),
        (Forgery::OtherCode(QUERY), "not_sent protocol", "the signature of the answer does not match"),
        (Forgery::Unsigned(UPDATE), "unknown protocol", "the answer to a signed request is not signed"),
        (Forgery::OtherCode(UPDATE), "unknown protocol", "the signature of the answer does not match"),
    ] {
        let provider = updater(&[relay.address]);
        relay.set(how);
        must_fail(&provider, outcome, &[expected]).await;
        relay.set(Forgery::None);
        server.nsupdate("update delete x.example.test");
        all_applied(&apply(&provider, &[create("x 60 A 192.0.2.1")]).await);
        server.nsupdate("update delete x.example.test");
    }
}

/// A lost connection is not a lost context, and what may have been carried out is not sent again.
#[tokio::test]
async fn a_lost_answer_is_unknown() {
    require!(DnsSoftware::Bind.tools(), Realm::TOOLS);
    own_process!();
    let (realm, server) = site();
    let proxy = TcpFault::start(server.addr());
    let provider = updater(&[proxy.addr()]);
    all_applied(&apply(&provider, &[numbered(1)]).await);
    proxy.set(Fault::Drop);
    must_fail(&provider, "not_sent unavailable", &["cannot connect"]).await;
    proxy.set(Fault::CutAfter(0));
    must_fail(&provider, "unknown unavailable", &["the connection broke"]).await;
    proxy.set(Fault::Pass);
    all_applied(&apply(&provider, &[numbered(2)]).await);
    assert_eq!(issued(&realm, "DNS/localhost"), 1);
    assert_eq!(server.axfr(ZONE).len(), 3 + 3);
    // Before there is a context, nothing is sent that counts.
    let provider = updater(&[proxy.addr()]);
    for (fault, expected) in [(Fault::CutAfter(0), "the connection broke"), (Fault::Drop, "cannot connect")] {
        proxy.set(fault);
        must_fail(&provider, "not_sent unavailable", &["negotiating with DNS/localhost", expected]).await;
    }
    assert_eq!(server.axfr(ZONE).len(), 3 + 3);
}

#[tokio::test]
async fn those_who_wait_share_a_failure() {
    require!(DnsSoftware::Bind.tools(), Realm::TOOLS);
    own_process!();
    let (_realm, server) = site();
    let proxy = TcpFault::start(server.addr());
    let provider = updater(&[proxy.addr()]);
    proxy.set(Fault::CutAfter(0));
    let groups: Vec<Vec<Group>> = (0..10).map(|n| vec![numbered(n)]).collect();
    for outcomes in join_all(groups.iter().map(|groups| apply(&provider, groups))).await {
        assert_eq!(shown(&outcomes), ["not_sent unavailable"], "{outcomes:?}");
    }
    assert_eq!(proxy.accepted(), 1);
    // Those who come later try for themselves.
    proxy.set(Fault::Pass);
    all_applied(&apply(&provider, &groups[0]).await);
}

/// A message to the server says when nobody will use the context again.
#[tokio::test(flavor = "multi_thread")]
async fn a_context_is_given_up_in_the_end() {
    require!(DnsSoftware::Bind.tools(), Realm::TOOLS);
    own_process!();
    let (_realm, server) = site();
    let relay = Relay::start(server.addr()).await;
    let provider = updater(&[relay.address]);
    all_applied(&apply(&provider, &[numbered(1)]).await);
    drop(provider);
    let last = wait_for("a third request", Duration::from_secs(20), || relay.heard().get(2).cloned());
    let (request, answer) = last;
    // After the algorithm stand two times, then the mode (RFC 2930 2); deletion is 5.
    let algorithm = b"\x08gss-tsig\x00";
    let at = request.windows(algorithm.len()).position(|octets| octets == algorithm).unwrap() + algorithm.len();
    assert_eq!(request[at + 8..at + 12], [0, 5, 0, 0]);
    assert_eq!(answer[5] & 15, 0, "the server did it");
    // Whoever has negotiated nothing has nothing to give up.
    drop(updater(&[relay.address]));
    assert_eq!(relay.heard().len(), 3);
}
