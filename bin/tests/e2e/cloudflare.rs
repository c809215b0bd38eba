//! The daemon at Cloudflare: from Services in a cluster to records of the service, read past the daemon.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};
use zonewright_fakes::cloudflare::{Cloudflare, Fault, Permission, Plan, Record, TOKEN};
use zonewright_testkit::{KubeApi, require};

use crate::clouds::{self, Cloud, ZONE};
use crate::cluster::{Space, TTL, shared};
use crate::daemon::{CommandLine, text};
use crate::{LATER, SOON, until};

const BALANCER: &str = "web-1.balancers.example.net";
const PROXIED: &str = "external-dns.kubernetes.io/cloudflare-proxied";
const COMMENT: &str = "external-dns.kubernetes.io/cloudflare-record-comment";
const HOSTNAMES: &str = "external-dns.kubernetes.io/cloudflare-custom-hostname";
/// The script that reads a zone with the official client.
const READ: &str = include_str!("cloudflare.py");

/// The service with one zone, which holds a foreign record.
struct Account {
    service: Cloudflare,
    zone: String,
    foreign: Record,
}

impl Account {
    fn new() -> Self {
        let service = Cloudflare::start();
        let zone = service.add_zone(ZONE, Plan::Pro);
        service.put(&zone, Record::new("legacy.shop.test", "A", "198.51.100.7").with_ttl(3600).with_comment("by hand"));
        let foreign = service.records(&zone).remove(0);
        Self { service, zone, foreign }
    }

    /// The daemon with the token of the environment, which is one or says in which file one is.
    fn line_with(&self, space: &Space<'_>, token: &str) -> CommandLine {
        clouds::line("cloudflare", space)
            .args(&["--batch-change-interval=0s", "--cloudflare-api-qps=100", "--txt-prefix=claims."])
            .env("CLOUDFLARE_BASE_URL", &self.service.url())
            .env("CF_API_TOKEN", token)
    }

    fn line(&self, space: &Space<'_>) -> CommandLine {
        self.line_with(space, TOKEN)
    }

    /// The records of the zone but the foreign one and the claims, in words.
    fn shown(&self) -> Vec<String> {
        let records = self.service.records(&self.zone).into_iter();
        records.filter(|record| record.kind != "TXT" && *record != self.foreign).map(|r| r.to_string()).collect()
    }

    fn claims(&self) -> usize {
        self.service.records(&self.zone).iter().filter(|record| record.kind == "TXT").count()
    }

    #[track_caller]
    fn shows(&self, expected: &[&str]) {
        let mut expected: Vec<String> = expected.iter().map(|line| (*line).to_owned()).collect();
        expected.sort();
        let shown = || {
            let mut shown = self.shown();
            shown.sort();
            shown
        };
        until(&format!("{expected:#?}"), LATER, || shown() == expected);
    }

    /// The custom host names of the zone.
    fn hostnames(&self) -> Vec<String> {
        self.service.hostnames(&self.zone).into_iter().map(|of| of.hostname).collect()
    }

    /// How many batches were sent.
    fn batches(&self) -> usize {
        self.service.calls().get("BatchRecords").copied().unwrap_or_default()
    }

    /// Waits until nothing is written through two rounds of audits.
    #[track_caller]
    fn falls_silent(&self) {
        until("no write for a while", SOON, || {
            let before = self.batches();
            sleep(Duration::from_secs(4));
            self.batches() == before
        });
    }

    /// What the official client reads of the zone.
    fn read(&self) -> Value {
        clouds::read("cloudflare", READ, &[&self.service.url(), TOKEN, &self.zone])
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert!(self.service.records(&self.zone).contains(&self.foreign), "a foreign record was touched");
        }
    }
}

impl Cloud for Cloudflare {
    fn url(&self) -> String {
        Self::url(self)
    }

    fn add(&self, name: &str) -> String {
        self.add_zone(name, Plan::Pro)
    }

    fn take_away(&self, zone: &str) {
        self.drop_zone(zone);
    }

    fn addresses(&self, zone: &str, name: &str) -> Vec<String> {
        let of_name = |record: &Record| record.name == name && record.kind == "A";
        self.records(zone).into_iter().filter(of_name).map(|record| record.content).collect()
    }

    fn limit(&self, requests: Option<usize>) {
        self.set_rate(requests.map(|requests| (requests, Duration::from_secs(1))));
    }

    fn forbid(&self, on: bool) {
        self.fail("BatchRecords", Fault::Denied, if on { usize::MAX } else { 0 });
    }
}

/// Addresses, a load balancer at the apex, the proxy and a comment: they come, change and go, and then there is silence.
#[test]
fn services_come_change_and_go() {
    require!(KubeApi::TOOLS, &["cloudflare"]);
    let (kube, account) = (shared(), Account::new());
    let space = Space::new(&kube);
    let annotated = |name: &str, targets: &[&str], annotations: &[(&str, &str)]| {
        space.balancer(name, &format!("{name}.{ZONE}"), targets);
        space.annotate("services", name, annotations);
    };
    annotated("three", &["192.0.2.1", "192.0.2.2", "192.0.2.3"], &[(TTL, "300")]);
    space.balancer("apex", ZONE, &[BALANCER]);
    annotated("front", &["192.0.2.4"], &[(PROXIED, "true"), (COMMENT, "of the shop"), (TTL, "300")]);
    annotated("saas", &["192.0.2.5"], &[(HOSTNAMES, "shop.customer.test")]);
    // An address that nobody can reach cannot be proxied.
    annotated("inside", &["10.0.0.1"], &[(PROXIED, "true")]);
    let daemon = account.line(&space).arg("--cloudflare-custom-hostnames").start();
    daemon.ready();
    account.shows(&[
        "three.shop.test 300 A 192.0.2.1",
        "three.shop.test 300 A 192.0.2.2",
        "three.shop.test 300 A 192.0.2.3",
        &format!("shop.test 1 CNAME {BALANCER}"),
        "front.shop.test 1 A 192.0.2.4 proxied comment=of the shop",
        "saas.shop.test 1 A 192.0.2.5",
    ]);
    space.expect_event("inside", "RecordUnsupported", &["inside.shop.test", "10.0.0.1", "cloudflare-proxied"]);
    account.falls_silent();
    let expected = json!({
        "records": [
            "front.shop.test 1 A 192.0.2.4 proxied (of the shop)",
            "legacy.shop.test 3600 A 198.51.100.7 (by hand)",
            "saas.shop.test 1 A 192.0.2.5",
            format!("shop.test 1 CNAME {BALANCER}"),
            "three.shop.test 300 A 192.0.2.1",
            "three.shop.test 300 A 192.0.2.2",
            "three.shop.test 300 A 192.0.2.3",
        ],
        "hostnames": ["shop.customer.test at saas.shop.test"],
    });
    assert_eq!(account.read(), expected);

    let kept = account.service.records(&account.zone).into_iter().find(|record| record.content == "192.0.2.1");
    space.reached_at("services", "three", &["192.0.2.1", "192.0.2.9"]);
    space.annotate("services", "front", &[(PROXIED, "false"), (COMMENT, "")]);
    space.annotate("services", "saas", &[(HOSTNAMES, "www.customer.test")]);
    space.reached_at("services", "inside", &["192.0.2.6"]);
    account.shows(&[
        "three.shop.test 300 A 192.0.2.1",
        "three.shop.test 300 A 192.0.2.9",
        &format!("shop.test 1 CNAME {BALANCER}"),
        "front.shop.test 300 A 192.0.2.4",
        "saas.shop.test 1 A 192.0.2.5",
        "inside.shop.test 1 A 192.0.2.6 proxied",
    ]);
    until("the other custom host name", SOON, || account.hostnames() == ["www.customer.test"]);
    assert!(account.service.records(&account.zone).contains(&kept.expect("it was shown")), "what stays is left alone");
    account.falls_silent();

    for name in ["three", "apex", "front", "saas", "inside"] {
        space.delete("services", name);
    }
    account.shows(&[]);
    until("no claim and no custom host name is left", SOON, || account.claims() == 0 && account.hostnames().is_empty());
    let ended = daemon.terminate();
    assert!(!ended.log.contains(TOKEN), "the token is in the log");
    for line in ["level=error", "changed by others"] {
        assert!(!ended.log.contains(line), "{line}:\n{}", ended.log);
    }
}

/// Two Services of one name, one for each family of addresses: the custom host name is the name's, and goes with the last of them.
#[test]
fn two_services_share_the_settings_of_a_name() {
    require!(KubeApi::TOOLS);
    let (kube, account) = (shared(), Account::new());
    let space = Space::new(&kube);
    let daemon = account.line(&space).arg("--cloudflare-custom-hostnames").start();
    daemon.ready();
    for (name, address) in [("old", "192.0.2.1"), ("new", "2001:db8::1")] {
        space.balancer(name, "web.shop.test", &[address]);
        space.annotate("services", name, &[(HOSTNAMES, "shop.customer.test")]);
    }
    account.shows(&["web.shop.test 1 A 192.0.2.1", "web.shop.test 1 AAAA 2001:db8::1"]);
    until("the custom host name", SOON, || account.hostnames() == ["shop.customer.test"]);
    account.falls_silent();
    space.annotate("services", "new", &[(HOSTNAMES, "shop.customer.test,www.customer.test")]);
    until("both custom host names", SOON, || account.hostnames() == ["shop.customer.test", "www.customer.test"]);
    account.falls_silent();
    space.delete("services", "old");
    account.shows(&["web.shop.test 1 AAAA 2001:db8::1"]);
    account.falls_silent();
    assert_eq!(account.hostnames(), ["shop.customer.test", "www.customer.test"]);
    space.delete("services", "new");
    account.shows(&[]);
    until("no custom host name is left", SOON, || account.hostnames().is_empty());
    assert_eq!(account.service.calls()["CreateCustomHostname"], 2, "each is made once");
    drop(daemon);
}

/// A token that expires, and whose file has a new one then: without a restart, and reported meanwhile.
#[test]
fn a_token_in_a_file_is_read_anew() {
    require!(KubeApi::TOOLS);
    let (kube, account) = (shared(), Account::new());
    let space = Space::new(&kube);
    space.balancer("web", "web.shop.test", &["192.0.2.1"]);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("token");
    let next = "NEXT".repeat(10);
    fs::write(&path, format!("{TOKEN}\n")).expect("the token");
    let daemon = account.line_with(&space, &format!("file:{}", text(&path))).start();
    daemon.ready();
    account.shows(&["web.shop.test 1 A 192.0.2.1"]);
    account.service.allow_token(&next, &[], &[Permission::ZoneRead, Permission::DnsWrite]);
    account.service.expire_token(TOKEN);
    space.balancer("late", "late.shop.test", &["192.0.2.2"]);
    daemon.says_within(&["9109", &text(&path)], LATER);
    assert_eq!(account.shown(), ["web.shop.test 1 A 192.0.2.1"]);
    fs::write(&path, &next).expect("the next token");
    account.shows(&["web.shop.test 1 A 192.0.2.1", "late.shop.test 1 A 192.0.2.2"]);
    let ended = daemon.terminate();
    assert!(!ended.log.contains(TOKEN) && !ended.log.contains(&next), "a token is in the log");
}

/// Throttled for a while, refused for one action, an answer that is lost: nothing is lost, and it goes on.
#[test]
fn what_passes_is_waited_for() {
    require!(KubeApi::TOOLS);
    let (kube, account) = (shared(), Account::new());
    let space = Space::new(&kube);
    space.balancer("web", "web.shop.test", &["192.0.2.1"]);
    let daemon = account.line(&space).start();
    daemon.ready();
    account.shows(&["web.shop.test 1 A 192.0.2.1"]);
    let faults = [Fault::Throttled, Fault::AnswerLost, Fault::ConnectionLost, Fault::Garbage, Fault::Denied];
    for (at, fault) in faults.into_iter().enumerate() {
        for operation in ["ListRecords", "BatchRecords"] {
            account.service.fail(operation, fault, 1);
        }
        let address = format!("192.0.2.{}", at + 10);
        space.reached_at("services", "web", &[&address]);
        account.shows(&[&format!("web.shop.test 1 A {address}")]);
    }
    drop(daemon);
}

/// A token without the right to write is reported before anything was written, and the objects are served when it has it.
#[test]
fn a_token_that_may_only_read_is_reported() {
    require!(KubeApi::TOOLS);
    let (kube, account) = (shared(), Account::new());
    let space = Space::new(&kube);
    let token = "READ".repeat(10);
    account.service.allow_token(&token, &[], &[Permission::ZoneRead, Permission::DnsRead]);
    space.balancer("web", "web.shop.test", &["192.0.2.1"]);
    let daemon = account.line_with(&space, &token).start();
    daemon.says_within(&["10000", "CF_API_TOKEN"], LATER);
    assert!(account.shown().is_empty());
    account.service.allow_token(&token, &[], &[Permission::ZoneRead, Permission::DnsWrite]);
    account.shows(&["web.shop.test 1 A 192.0.2.1"]);
    let ended = daemon.terminate();
    assert!(!ended.log.contains(&token), "the token is in the log");
}

#[test]
fn a_forbidden_action_is_reported() {
    require!(KubeApi::TOOLS);
    let (kube, account) = (shared(), Account::new());
    let space = Space::new(&kube);
    let said = ["10000", "CF_API_TOKEN", "Zone / DNS / Edit"];
    let line = account.line(&space);
    clouds::a_forbidden_action_is_reported(&account.service, &account.zone, &space, &line, &said);
}

/// A zone with room for one record and its claim: one of two names stands, and the other one when there is room.
#[test]
fn a_refused_batch_is_halved() {
    require!(KubeApi::TOOLS);
    let (kube, account) = (shared(), Account::new());
    let space = Space::new(&kube);
    // The foreign record, a record and its claim.
    account.service.set_record_limit(&account.zone, 3);
    space.balancer("one", "one.shop.test", &["192.0.2.1"]);
    space.balancer("two", "two.shop.test", &["192.0.2.2"]);
    let daemon = account.line(&space).start();
    daemon.says_within(&["81045"], LATER);
    until("one of them", LATER, || account.shown().len() == 1 && account.claims() == 1);
    let (stands, waits) = if account.shown()[0].starts_with("one") { ("one", "two") } else { ("two", "one") };
    space.expect_event(waits, "RecordRefused", &[&format!("{waits}.shop.test"), "81045"]);
    assert!(account.shown()[0].starts_with(stands));
    account.service.set_record_limit(&account.zone, 100);
    account.shows(&["one.shop.test 1 A 192.0.2.1", "two.shop.test 1 A 192.0.2.2"]);
    drop(daemon);
}

#[test]
fn a_zone_that_goes_holds_up_no_other() {
    require!(KubeApi::TOOLS);
    let (kube, account) = (shared(), Account::new());
    let space = Space::new(&kube);
    let line = account.line(&space);
    clouds::a_zone_that_goes_holds_up_no_other(&account.service, &account.zone, &space, line);
}

/// With a token in a file, which is another one when the first has expired.
#[test]
fn through_a_proxy_and_an_authority_of_ones_own() {
    require!(KubeApi::TOOLS);
    let (kube, account) = (shared(), Account::new());
    let space = Space::new(&kube);
    let folder = tempfile::tempdir().expect("a folder");
    let (path, next) = (folder.path().join("token"), "NEXT".repeat(10));
    fs::write(&path, TOKEN).expect("the token");
    let line = |url: &str| account.line_with(&space, &format!("file:{}", text(&path))).env("CLOUDFLARE_BASE_URL", url);
    let renewed = || {
        account.service.allow_token(&next, &[], &[Permission::ZoneRead, Permission::DnsWrite]);
        fs::write(&path, &next).expect("the next token");
        account.service.expire_token(TOKEN);
    };
    let (service, zone) = (&account.service, &account.zone);
    let log = clouds::through_a_proxy_and_an_authority_of_ones_own(service, zone, &space, line, renewed);
    assert!(!log.contains(TOKEN) && !log.contains(&next), "a token is in the log");
}
