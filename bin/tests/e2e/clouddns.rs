//! The daemon at Google Cloud DNS: from objects to record sets of the service, read past the daemon.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use zonewright_fakes::clouddns::{CloudDns, Fault, Kind, RecordSet, TOKEN};
use zonewright_testkit::{KubeApi, require};

use crate::clouds::{self, Cloud};
use crate::cluster::{Space, shared};
use crate::daemon::{CommandLine, state_folder, text};
use crate::manifests::{folder, write};
use crate::site::OWNER;
use crate::{LATER, until};

const PROJECT: &str = "shop";
const IDENTIFIER: &str = "external-dns.kubernetes.io/set-identifier";
const LOCATION: &str = "external-dns.kubernetes.io/google-location";
const WEIGHT: &str = "external-dns.kubernetes.io/google-weight";
/// The environment of the official client.
const CLIENT: &str = "google-api-python-client";
/// The script that reads a zone with it.
const READ: &str = include_str!("clouddns.py");

/// The service with one public zone, which holds a foreign record.
struct Account {
    service: CloudDns,
    zone: String,
    foreign: RecordSet,
}

impl Account {
    fn new() -> Self {
        let service = CloudDns::start();
        service.set_machine(Some(PROJECT));
        let zone = service.add_zone(PROJECT, "shop-zone", "shop.test.", Kind::Public);
        let foreign = RecordSet::new("legacy.shop.test.", "A", 3600, &["198.51.100.7"]);
        service.put(&zone, foreign.clone());
        Self { service, zone, foreign }
    }

    /// The daemon of this owner, as on a machine of the project.
    fn owned(&self, owner: &str, state: &str) -> CommandLine {
        clouds::owned("google", owner, state)
            .args(&["--google-batch-change-interval=0s", "--google-api-qps=100"])
            .env("CLOUDSDK_API_ENDPOINT_OVERRIDES_DNS", &self.service.url())
            .env("CLOUDSDK_CONFIG", "/nowhere")
            .env("GCE_METADATA_HOST", self.service.url().trim_start_matches("http://"))
    }

    /// The daemon in a cluster.
    fn line(&self, space: &Space<'_>) -> CommandLine {
        space.read_by(self.owned(OWNER, space.state_dir()))
    }

    /// The daemon that reads a folder.
    fn reading(&self, owner: &str, manifests: &Path, state: &str) -> CommandLine {
        self.owned(owner, state).arg(format!("--manifests={}", text(manifests)))
    }

    fn calls(&self, operation: &str) -> usize {
        self.service.calls().get(operation).copied().unwrap_or(0)
    }

    /// The sets of the zone but SOA, NS and the claims, each as name, type, and what it holds.
    fn shown(&self) -> Vec<String> {
        let sets = self.service.sets(&self.zone);
        let ours = sets.iter().filter(|set| !["SOA", "NS", "TXT"].contains(&set.kind.as_str()));
        ours.filter(|set| **set != self.foreign).map(line_of).collect()
    }

    #[track_caller]
    fn shows(&self, expected: &[&str]) {
        until(&format!("{expected:#?}"), LATER, || self.shown() == expected);
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert!(self.service.sets(&self.zone).contains(&self.foreign), "a foreign record was touched");
        }
    }
}

impl Cloud for CloudDns {
    fn url(&self) -> String {
        Self::url(self)
    }

    fn add(&self, name: &str) -> String {
        self.add_zone(PROJECT, &name.replace('.', "-"), &format!("{name}."), Kind::Public)
    }

    fn take_away(&self, zone: &str) {
        self.drop_zone(zone);
    }

    fn addresses(&self, zone: &str, name: &str) -> Vec<String> {
        let of_name = |set: &RecordSet| set.name.trim_end_matches('.') == name && set.kind == "A";
        self.sets(zone).into_iter().filter(of_name).flat_map(|set| set.rrdatas).collect()
    }

    fn limit(&self, requests: Option<usize>) {
        self.set_rate(requests.map(|requests| (requests, Duration::from_secs(1))));
    }

    fn forbid(&self, on: bool) {
        self.fail("CreateChange", Fault::Denied, if on { usize::MAX } else { 0 });
    }
}

fn line_of(set: &RecordSet) -> String {
    let mut values = set.rrdatas.clone();
    let items = |of: &str| set.routing.as_ref().and_then(|policy| policy[of]["items"].as_array().cloned());
    let address = |item: &Value| item["rrdatas"][0].as_str().unwrap_or_default().to_owned();
    let weighted = |item: &Value| format!("{}:{}", item["weight"].as_f64().unwrap_or_default(), address(item));
    let placed = |item: &Value| format!("{}:{}", item["location"].as_str().unwrap_or_default(), address(item));
    values.extend(items("wrr").into_iter().flatten().map(|item| weighted(&item)));
    values.extend(items("geo").into_iter().flatten().map(|item| placed(&item)));
    values.sort();
    format!("{} {} {}", set.name.trim_end_matches('.'), set.kind, values.join(" "))
}

fn service(name: &str, ip: &str, annotations: &[(&str, &str)]) -> String {
    let annotation = |(key, value): &(&str, &str)| format!("    external-dns.kubernetes.io/{key}: \"{value}\"\n");
    let annotations: String = annotations.iter().map(annotation).collect();
    format!(
        "apiVersion: v1\nkind: Service\nmetadata:\n  name: {name}\n  namespace: default\n  annotations:\n{annotations}spec:\n  \
         type: LoadBalancer\nstatus:\n  loadBalancer:\n    ingress:\n      - ip: {ip}\n"
    )
}

/// The file of a user who logged in, whose tokens are given out at `url`.
fn write_user(path: &Path, refresh: &str, url: &str) {
    let user = json!({
        "type": "authorized_user", "client_id": "id", "client_secret": "client-s3cret", "refresh_token": refresh,
        "token_uri": format!("{url}/token"),
    });
    fs::write(path, user.to_string()).expect("the credentials file");
}

fn weighted(name: &str, ip: &str, weight: &str) -> String {
    service(name, ip, &[("hostname", "split.shop.test"), ("set-identifier", name), ("google-weight", weight)])
}

/// Two owners share a weighted name: each adds, changes and takes away its own item, and there is silence between.
#[test]
fn two_owners_share_a_name() {
    let account = Account::new();
    let (blue, green) = ((folder(), state_folder()), (folder(), state_folder()));
    let plain = service("plain", "192.0.2.1", &[("hostname", "plain.shop.test")]);
    write(blue.0.path(), "a.yaml", &format!("{plain}---\n{}", weighted("blue", "192.0.2.10", "90")));
    let first = account.reading("blue-owner", blue.0.path(), &blue.1.1).start();
    account.shows(&["plain.shop.test A 192.0.2.1", "split.shop.test A 90:192.0.2.10"]);
    write(green.0.path(), "a.yaml", &weighted("green", "192.0.2.20", "10"));
    let second = account.reading("green-owner", green.0.path(), &green.1.1).start();
    let both = |weight: &str| format!("split.shop.test A 10:192.0.2.20 {weight}:192.0.2.10");
    account.shows(&["plain.shop.test A 192.0.2.1", &both("90")]);
    write(blue.0.path(), "a.yaml", &format!("{plain}---\n{}", weighted("blue", "192.0.2.10", "50")));
    account.shows(&["plain.shop.test A 192.0.2.1", &both("50")]);
    first.ready();
    second.ready();
    let before = account.calls("CreateChange");
    std::thread::sleep(Duration::from_secs(5));
    assert_eq!(account.calls("CreateChange"), before, "nothing is left to do");
    write(blue.0.path(), "a.yaml", &plain);
    account.shows(&["plain.shop.test A 192.0.2.1", "split.shop.test A 10:192.0.2.20"]);
}

/// Addresses, places, weights, and a load balancer's host name at the apex, where the service has neither aliases nor flattening.
#[test]
fn services_come_change_and_go() {
    require!(KubeApi::TOOLS, &[CLIENT]);
    let (kube, account) = (shared(), Account::new());
    let space = Space::new(&kube);
    space.balancer("three", "three.shop.test", &["192.0.2.1", "192.0.2.2", "192.0.2.3"]);
    space.balancer("apex", "shop.test", &["web-1.example.net"]);
    for (name, host, address, kind, value) in [
        ("west", "near.shop.test", "192.0.2.10", LOCATION, "europe-west1"),
        ("east", "near.shop.test", "192.0.2.20", LOCATION, "us-east1"),
        ("blue", "split.shop.test", "192.0.2.30", WEIGHT, "90"),
        ("green", "split.shop.test", "192.0.2.40", WEIGHT, "10"),
    ] {
        space.balancer(name, host, &[address]);
        space.annotate("services", name, &[(IDENTIFIER, name), (kind, value)]);
    }
    // An audit would read what a change is to be measured by.
    let daemon = account.line(&space).without("--interval").arg("--interval=1h").start();
    daemon.ready();
    let near = "near.shop.test A europe-west1:192.0.2.10 us-east1:192.0.2.20";
    let split = "split.shop.test A 10:192.0.2.40 90:192.0.2.30";
    let three = "three.shop.test A 192.0.2.1 192.0.2.2 192.0.2.3";
    account.shows(&[near, split, three]);
    let arguments = [&account.service.url(), TOKEN, PROJECT, "shop-zone"];
    assert_eq!(clouds::read(CLIENT, READ, &arguments), json!(["legacy.shop.test A 198.51.100.7", near, split, three]));
    space.expect_event("apex", "CnameAtApex", &["shop.test"]);
    let (reads, writes) = (account.calls("ListRecordSets"), account.calls("CreateChange"));
    space.reached_at("services", "three", &["192.0.2.1", "192.0.2.9"]);
    account.shows(&[near, split, "three.shop.test A 192.0.2.1 192.0.2.9"]);
    let sent = (account.calls("ListRecordSets") - reads, account.calls("CreateChange") - writes);
    assert_eq!(sent, (1, 1), "the claim is read, and one change is sent");
    let (reads, writes) = (account.calls("ListRecordSets"), account.calls("CreateChange"));
    space.balancer("late", "late.shop.test", &["192.0.2.5"]);
    account.shows(&["late.shop.test A 192.0.2.5", near, split, "three.shop.test A 192.0.2.1 192.0.2.9"]);
    space.delete("services", "late");
    account.shows(&[near, split, "three.shop.test A 192.0.2.1 192.0.2.9"]);
    let sent = (account.calls("ListRecordSets") - reads, account.calls("CreateChange") - writes);
    assert_eq!(sent, (0, 2), "what comes or goes is stated whole, and nothing is read");
    for name in ["three", "apex", "west", "east", "blue", "green"] {
        space.delete("services", name);
    }
    account.shows(&[]);
    until("no claim is left", LATER, || account.service.sets(&account.zone).iter().all(|set| set.kind != "TXT"));
    drop(daemon);
}

/// A token that ends, a file that changes, requests that are throttled, lost and forbidden: reported, and gone on with.
#[test]
fn what_passes_is_waited_for() {
    require!(KubeApi::TOOLS);
    let (kube, account) = (shared(), Account::new());
    let space = Space::new(&kube);
    account.service.allow_user("id", "client-s3cret", "refresh-s3cret");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("credentials.json");
    let log_in = |refresh: &str| write_user(&path, refresh, &account.service.url());
    log_in("refresh-s3cret");
    space.balancer("web", "web.shop.test", &["192.0.2.1"]);
    let line = account.line(&space).arg(format!("--google-project={PROJECT}"));
    let daemon = line.env("GOOGLE_APPLICATION_CREDENTIALS", &text(&path)).start();
    daemon.ready();
    account.shows(&["web.shop.test A 192.0.2.1"]);
    account.service.expire_minted();
    space.reached_at("services", "web", &["192.0.2.2"]);
    account.shows(&["web.shop.test A 192.0.2.2"]);
    log_in("revoked");
    daemon.says_within(&["invalid_grant", "credentials.json"], LATER);
    space.reached_at("services", "web", &["192.0.2.3"]);
    log_in("refresh-s3cret");
    account.shows(&["web.shop.test A 192.0.2.3"]);
    let faults = [Fault::RateLimited, Fault::Throttled, Fault::AnswerLost, Fault::Denied, Fault::Unavailable];
    for (at, fault) in faults.into_iter().enumerate() {
        for operation in ["ListRecordSets", "CreateChange"] {
            account.service.fail(operation, fault, 1);
        }
        let address = format!("192.0.2.{}", at + 10);
        space.reached_at("services", "web", &[&address]);
        account.shows(&[&format!("web.shop.test A {address}")]);
    }
    let ended = daemon.terminate();
    assert!(!ended.log.contains("s3cret") && !ended.log.contains("ya29"), "a secret is in the log");
}

#[test]
fn a_zone_that_goes_holds_up_no_other() {
    require!(KubeApi::TOOLS);
    let (kube, account) = (shared(), Account::new());
    let space = Space::new(&kube);
    let line = account.line(&space);
    clouds::a_zone_that_goes_holds_up_no_other(&account.service, &account.zone, &space, line);
}

#[test]
fn a_forbidden_action_is_reported() {
    require!(KubeApi::TOOLS);
    let (kube, account) = (shared(), Account::new());
    let space = Space::new(&kube);
    let (line, said) = (account.line(&space), ["403", "dns.changes.create", "metadata server"]);
    clouds::a_forbidden_action_is_reported(&account.service, &account.zone, &space, &line, &said);
}

/// Tokens are asked for through the proxy as well, and the metadata server is not.
#[test]
fn through_a_proxy_and_an_authority_of_ones_own() {
    require!(KubeApi::TOOLS);
    let (kube, account) = (shared(), Account::new());
    let space = Space::new(&kube);
    account.service.allow_user("id", "client-s3cret", "refresh-s3cret");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("credentials.json");
    let line = |url: &str| {
        write_user(&path, "refresh-s3cret", url);
        let line = account.line(&space).env("CLOUDSDK_API_ENDPOINT_OVERRIDES_DNS", url);
        line.env("GOOGLE_APPLICATION_CREDENTIALS", &text(&path))
    };
    let renewed = || account.service.expire_minted();
    let (service, zone) = (&account.service, &account.zone);
    let log = clouds::through_a_proxy_and_an_authority_of_ones_own(service, zone, &space, line, renewed);
    assert!(account.calls("Token") >= 2 && account.calls("Metadata") >= 1, "{:?}", account.service.calls());
    assert!(!log.contains("s3cret") && !log.contains("ya29"), "a secret is in the log");
}
