//! The daemon at Azure DNS and Azure Private DNS: from Services in a cluster to record sets of the service, read past the daemon.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use zonewright_fakes::azure::{AzureDns, Fault, Kind, RecordSet, TOKEN};
use zonewright_testkit::{KubeApi, require};

use crate::clouds::{self, Cloud, ZONE};
use crate::cluster::{Space, shared};
use crate::daemon::{CommandLine, text};
use crate::{LATER, SOON, until};

const SUBSCRIPTION: &str = "sub-1";
const GROUP: &str = "shop";
const TAGS: &str = "external-dns.kubernetes.io/azure-tags";
/// The environment of the official clients.
const CLIENT: &str = "azure-mgmt-dns";
/// The script that reads a zone with them.
const READ: &str = include_str!("azure.py");

/// The service with one zone, which holds a foreign record, and a folder for `azure.json`.
struct Account {
    service: AzureDns,
    kind: Kind,
    zone: String,
    foreign: RecordSet,
    folder: TempDir,
}

impl Account {
    fn new(kind: Kind) -> Self {
        let service = AzureDns::start();
        service.allow_secret("tenant", "app", "app-s3cret");
        let zone = service.add_zone(kind, SUBSCRIPTION, GROUP, ZONE);
        let address = json!({ "ipv4Address": "198.51.100.7" });
        service.put(&zone, RecordSet::new("legacy", "A", 3_600, vec![address]));
        let foreign = service.sets(&zone).into_iter().find(|set| set.name == "legacy").expect("it was put there");
        let account = Self { service, kind, zone, foreign, folder: tempfile::tempdir().expect("a folder") };
        account.write("app-s3cret", &account.service.url());
        account
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("azure.json")
    }

    /// `azure.json` with this secret, and the service at `url`.
    fn write(&self, secret: &str, url: &str) {
        write_file(&self.path(), secret, url);
    }

    fn line(&self, space: &Space<'_>) -> CommandLine {
        let provider = if self.kind == Kind::Public { "azure" } else { "azure-private-dns" };
        clouds::line(provider, space)
            .args(&["--azure-api-qps=100", "--txt-wildcard-replacement=any"])
            .arg(format!("--azure-config-file={}", text(&self.path())))
    }

    fn calls(&self, operation: &str) -> usize {
        self.service.calls().get(operation).copied().unwrap_or(0)
    }

    /// How many writes were sent.
    fn writes(&self) -> usize {
        self.calls("PutRecordSet") + self.calls("DeleteRecordSet")
    }

    /// The sets of the zone but SOA, NS, the foreign one and the claims, in words.
    fn shown(&self) -> Vec<String> {
        let sets = self.service.sets(&self.zone);
        let ours = sets.iter().filter(|set| !["SOA", "NS", "TXT"].contains(&set.kind.as_str()));
        ours.filter(|set| **set != self.foreign).map(line_of).collect()
    }

    #[track_caller]
    fn shows(&self, expected: &[&str]) {
        until(&format!("{expected:#?}"), LATER, || self.shown() == expected);
    }

    fn claims(&self) -> Vec<RecordSet> {
        self.service.sets(&self.zone).into_iter().filter(|set| set.kind == "TXT").collect()
    }

    /// Waits until nothing is written through two rounds of audits.
    #[track_caller]
    fn falls_silent(&self) {
        until("no write for a while", SOON, || {
            let before = self.writes();
            sleep(Duration::from_secs(4));
            self.writes() == before
        });
    }

    /// What the official client reads of the zone.
    fn read(&self) -> Value {
        let kind = if self.kind == Kind::Public { "public" } else { "private" };
        clouds::read(CLIENT, READ, &[&self.service.url(), TOKEN, kind, SUBSCRIPTION, GROUP, ZONE])
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert!(self.service.sets(&self.zone).contains(&self.foreign), "a foreign record was touched");
        }
    }
}

impl Cloud for AzureDns {
    fn url(&self) -> String {
        Self::url(self)
    }

    fn add(&self, name: &str) -> String {
        self.add_zone(Kind::Public, SUBSCRIPTION, GROUP, name)
    }

    fn take_away(&self, zone: &str) {
        self.drop_zone(zone);
    }

    fn addresses(&self, zone: &str, name: &str) -> Vec<String> {
        let apex = zone.rsplit('/').next().unwrap_or_default();
        let of_name = |set: &RecordSet| format!("{}.{apex}", set.name) == name && set.kind == "A";
        self.sets(zone).iter().filter(|set| of_name(set)).flat_map(addresses).collect()
    }

    fn limit(&self, requests: Option<usize>) {
        self.set_rate(requests.map(|requests| (requests, Duration::from_secs(1))));
    }

    fn forbid(&self, on: bool) {
        for operation in ["PutRecordSet", "DeleteRecordSet"] {
            self.fail(operation, Fault::Denied, if on { usize::MAX } else { 0 });
        }
    }
}

fn write_file(path: &Path, secret: &str, url: &str) {
    let file = json!({
        "cloud": "AzureStackCloud", "tenantId": "tenant", "subscriptionId": SUBSCRIPTION, "resourceGroup": GROUP,
        "aadClientId": "app", "aadClientSecret": secret, "activeDirectoryAuthorityHost": url,
        "resourceManagerEndpoint": url,
    });
    fs::write(path, file.to_string()).expect("azure.json");
}

fn addresses(set: &RecordSet) -> Vec<String> {
    let address = |record: &Value| record["ipv4Address"].as_str().or(record["cname"].as_str()).map(str::to_owned);
    let mut addresses: Vec<String> = set.records.iter().filter_map(address).collect();
    addresses.sort();
    addresses
}

fn line_of(set: &RecordSet) -> String {
    let tags = set.metadata.iter().map(|(key, value)| format!(" {key}={value}"));
    format!("{} {} {}{}", set.name, set.kind, addresses(set).join(" "), tags.collect::<String>())
}

/// Addresses, a wildcard, metadata, and a load balancer's host name at the apex, where the service takes no CNAME.
fn services_come_change_and_go(kind: Kind) {
    require!(KubeApi::TOOLS, &[CLIENT]);
    let (kube, account) = (shared(), Account::new(kind));
    let space = Space::new(&kube);
    space.balancer("three", "three.shop.test", &["192.0.2.1", "192.0.2.2", "192.0.2.3"]);
    space.annotate("services", "three", &[(TAGS, "team=web, env=prod")]);
    space.balancer("any", "*.any.shop.test", &["192.0.2.4"]);
    space.balancer("front", "front.shop.test", &["web-1.example.net"]);
    space.balancer("apex", "shop.test", &["web-1.example.net"]);
    // An audit would read what a change is to be measured by.
    let daemon = account.line(&space).without("--interval").arg("--interval=1h").start();
    daemon.ready();
    let (any, front) = ("*.any A 192.0.2.4", "front CNAME web-1.example.net");
    account.shows(&[any, front, "three A 192.0.2.1 192.0.2.2 192.0.2.3 env=prod team=web"]);
    space.expect_event("apex", "CnameAtApex", &["shop.test"]);
    let read = json!([
        "*.any 300 A 192.0.2.4",
        "front 300 CNAME web-1.example.net",
        "legacy 3600 A 198.51.100.7",
        "three 300 A 192.0.2.1 192.0.2.2 192.0.2.3 env=prod team=web",
    ]);
    assert_eq!(account.read(), read);

    account.falls_silent();
    let cost = |work: &dyn Fn()| {
        let sent = || ["ListRecordSets", "GetRecordSet", "PutRecordSet", "DeleteRecordSet"].map(|of| account.calls(of));
        let before = sent();
        work();
        account.falls_silent();
        let after = sent();
        std::array::from_fn::<usize, 4, _>(|at| after[at] - before[at])
    };
    let change = cost(&|| {
        space.reached_at("services", "three", &["192.0.2.1", "192.0.2.9"]);
        account.shows(&[any, front, "three A 192.0.2.1 192.0.2.9 env=prod team=web"]);
    });
    assert_eq!(change, [0, 1, 1, 0], "the claim is read, and one write is sent");
    let create = cost(&|| {
        space.balancer("late", "late.shop.test", &["192.0.2.5"]);
        account.shows(&[any, front, "late A 192.0.2.5", "three A 192.0.2.1 192.0.2.9 env=prod team=web"]);
    });
    assert_eq!(create, [0, 1, 3, 0], "the record is looked for; the claim as an intent, the record, the claim");
    let delete = cost(&|| {
        space.delete("services", "late");
        account.shows(&[any, front, "three A 192.0.2.1 192.0.2.9 env=prod team=web"]);
    });
    assert_eq!(delete, [0, 1, 1, 2], "the record is read; the claim as an intent; the record and the intent go");
    space.annotate("services", "three", &[(TAGS, "team=shop")]);
    account.shows(&[any, front, "three A 192.0.2.1 192.0.2.9 team=shop"]);
    for name in ["three", "any", "front", "apex"] {
        space.delete("services", name);
    }
    account.shows(&[]);
    until("no claim is left", LATER, || account.claims().is_empty());
    let log = daemon.terminate().log;
    assert!(!log.contains("s3cret") && !log.contains("eyJ0"), "a secret is in the log");
}

#[test]
fn services_come_change_and_go_in_a_public_zone() {
    services_come_change_and_go(Kind::Public);
}

#[test]
fn services_come_change_and_go_in_a_private_zone() {
    services_come_change_and_go(Kind::Private);
}

/// A foreign record at a wanted name, an alias of an Azure resource, and the claim of a wildcard that has no form here.
#[test]
fn what_cannot_be_is_reported_and_the_rest_goes_on() {
    require!(KubeApi::TOOLS);
    let (kube, account) = (shared(), Account::new(Kind::Public));
    let space = Space::new(&kube);
    let id = "/subscriptions/sub-1/resourceGroups/shop/providers/Microsoft.Network/publicIPAddresses/web";
    let mut alias = RecordSet::new("alias", "A", 60, Vec::new());
    alias.target = Some(id.to_owned());
    account.service.put(&account.zone, alias);
    space.balancer("legacy", "legacy.shop.test", &["192.0.2.1"]);
    space.balancer("alias", "alias.shop.test", &["192.0.2.2"]);
    space.balancer("any", "*.shop.test", &["192.0.2.3"]);
    space.balancer("web", "web.shop.test", &["192.0.2.4"]);
    let daemon = account.line(&space).without("--txt-wildcard-replacement").start();
    account.shows(&["alias A ", "web A 192.0.2.4"]);
    space.expect_event("any", "RecordRefused", &["--txt-wildcard-replacement"]);
    for (object, name) in [("legacy", "legacy.shop.test"), ("alias", "alias.shop.test")] {
        until(&format!("an event on {object}"), LATER, || {
            space.events(object).iter().any(|(_, text)| text.contains(name))
        });
    }
    account.falls_silent();
    assert_eq!(account.shown(), ["alias A ", "web A 192.0.2.4"]);
    let stands = account.service.sets(&account.zone).into_iter().find(|set| set.name == "alias");
    assert_eq!(stands.and_then(|set| set.target).as_deref(), Some(id), "the alias stands as it was");
    drop(daemon);
}

/// A token that ends, a secret that is rotated, requests that are throttled, lost and forbidden: reported, and gone on with.
#[test]
fn what_passes_is_waited_for() {
    require!(KubeApi::TOOLS);
    let (kube, account) = (shared(), Account::new(Kind::Public));
    let space = Space::new(&kube);
    space.balancer("web", "web.shop.test", &["192.0.2.1"]);
    let daemon = account.line(&space).start();
    daemon.ready();
    account.shows(&["web A 192.0.2.1"]);
    account.service.expire_minted();
    space.reached_at("services", "web", &["192.0.2.2"]);
    account.shows(&["web A 192.0.2.2"]);
    account.write("revoked", &account.service.url());
    daemon.says_within(&["AADSTS7000215", "azure.json"], LATER);
    space.reached_at("services", "web", &["192.0.2.3"]);
    account.write("app-s3cret", &account.service.url());
    account.shows(&["web A 192.0.2.3"]);
    let faults = [Fault::RateLimited, Fault::Throttled, Fault::AnswerLost, Fault::Denied, Fault::Unavailable];
    for (at, fault) in faults.into_iter().enumerate() {
        for operation in ["ListRecordSets", "GetRecordSet", "PutRecordSet"] {
            account.service.fail(operation, fault, 1);
        }
        let address = format!("192.0.2.{}", at + 10);
        space.reached_at("services", "web", &[&address]);
        account.shows(&[&format!("web A {address}")]);
    }
    let ended = daemon.terminate();
    assert!(!ended.log.contains("s3cret") && !ended.log.contains("eyJ0"), "a secret is in the log");
}

#[test]
fn a_zone_that_goes_holds_up_no_other() {
    require!(KubeApi::TOOLS);
    let (kube, account) = (shared(), Account::new(Kind::Public));
    let space = Space::new(&kube);
    let line = account.line(&space);
    clouds::a_zone_that_goes_holds_up_no_other(&account.service, &account.zone, &space, line);
}

#[test]
fn a_forbidden_action_is_reported() {
    require!(KubeApi::TOOLS);
    let (kube, account) = (shared(), Account::new(Kind::Public));
    let space = Space::new(&kube);
    let (line, said) = (account.line(&space), ["Microsoft.Network/dnsZones/", "azure.json"]);
    clouds::a_forbidden_action_is_reported(&account.service, &account.zone, &space, &line, &said);
}

/// Tokens are asked for through the proxy as well.
#[test]
fn through_a_proxy_and_an_authority_of_ones_own() {
    require!(KubeApi::TOOLS);
    let (kube, account) = (shared(), Account::new(Kind::Public));
    let space = Space::new(&kube);
    let line = |url: &str| {
        account.write("app-s3cret", url);
        account.line(&space)
    };
    let renewed = || account.service.expire_minted();
    let (service, zone) = (&account.service, &account.zone);
    let log = clouds::through_a_proxy_and_an_authority_of_ones_own(service, zone, &space, line, renewed);
    assert!(account.calls("Token") >= 2, "{:?}", account.service.calls());
    assert!(!log.contains("s3cret") && !log.contains("eyJ0"), "a secret is in the log");
}
