//! The daemon at Route 53: from Services in a cluster to record sets of the service, read past the daemon.

use std::collections::BTreeMap;
use std::fs;

use serde_json::json;
use zonewright_fakes::route53::{Fault, RecordSet, Route53, Routing};
use zonewright_testkit::{KubeApi, require};

use crate::clouds::{self, Cloud, ZONE};
use crate::cluster::{Space, shared};
use crate::daemon::{CommandLine, text};
use crate::{LATER, SOON, until};

const ACCOUNT: &str = "000000000001";
const KEY: &str = "AKIDFAKE";
const BALANCER: &str = "web-1.eu-west-1.elb.amazonaws.com";
/// The hosted zone of load balancers in eu-west-1.
const BALANCERS: &str = "Z32O12XQLNTSW2";

/// The environment of the official client.
const CLIENT: &str = "boto3";
/// The script that reads a zone with it.
const READ: &str = include_str!("route53.py");

/// The service with one public zone, which holds a foreign record.
struct Account {
    service: Route53,
    zone: String,
    foreign: RecordSet,
}

impl Account {
    fn new() -> Self {
        let service = Route53::start();
        let zone = service.add_zone(ACCOUNT, ZONE, false, &[]);
        let foreign = RecordSet::new("legacy.shop.test.", "A", 3600, &["198.51.100.7"]);
        service.put(&zone, foreign.clone());
        Self { service, zone, foreign }
    }

    /// The daemon with the keys of the environment.
    fn line(&self, space: &Space<'_>) -> CommandLine {
        self.keyless(space).env("AWS_ACCESS_KEY_ID", KEY).env("AWS_SECRET_ACCESS_KEY", "s3cr3t-of-the-key")
    }

    /// The daemon, whose credentials come from elsewhere.
    fn keyless(&self, space: &Space<'_>) -> CommandLine {
        clouds::line("aws", space)
            .args(&["--aws-batch-change-interval=0s", "--aws-api-qps=100"])
            .env("AWS_ENDPOINT_URL", &self.service.url())
            .env("AWS_EC2_METADATA_DISABLED", "true")
    }

    /// The sets of the zone but SOA, NS and the claims, each as name, type, identifier, and what it holds.
    fn shown(&self) -> Vec<String> {
        let sets = self.service.sets(&self.zone);
        let ours = sets.iter().filter(|set| !["SOA", "NS", "TXT"].contains(&set.kind.as_str()));
        let mut shown: Vec<String> = ours.filter(|set| **set != self.foreign).map(line_of).collect();
        shown.sort();
        shown
    }

    fn claims(&self) -> Vec<RecordSet> {
        self.service.sets(&self.zone).into_iter().filter(|set| set.kind == "TXT").collect()
    }

    #[track_caller]
    fn shows(&self, expected: &[&str]) {
        let mut expected: Vec<String> = expected.iter().map(|line| (*line).to_owned()).collect();
        expected.sort();
        until(&format!("{expected:#?}"), LATER, || self.shown() == expected);
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert!(self.service.sets(&self.zone).contains(&self.foreign), "a foreign record was touched");
            assert!(!self.service.calls().contains_key("UPSERT"), "something was overwritten blindly");
        }
    }
}

impl Cloud for Route53 {
    fn url(&self) -> String {
        Self::url(self)
    }

    fn add(&self, name: &str) -> String {
        self.add_zone(ACCOUNT, name, false, &[])
    }

    fn take_away(&self, zone: &str) {
        self.drop_zone(zone);
    }

    fn addresses(&self, zone: &str, name: &str) -> Vec<String> {
        let of_name = |set: &RecordSet| set.name.trim_end_matches('.') == name && set.kind == "A";
        self.sets(zone).into_iter().filter(of_name).flat_map(|set| set.values).collect()
    }

    fn limit(&self, requests: Option<usize>) {
        self.set_rate(requests);
    }

    fn forbid(&self, on: bool) {
        self.fail("ChangeResourceRecordSets", Fault::Denied, if on { usize::MAX } else { 0 });
    }
}

fn line_of(set: &RecordSet) -> String {
    let identifier = set.identifier.as_ref().map(|id| format!(" ({id})")).unwrap_or_default();
    let holds = if let Some(alias) = &set.alias {
        format!("alias {} {} {}", alias.name, alias.zone, alias.evaluate_health)
    } else {
        let mut values = set.values.clone();
        values.sort();
        values.join(" ")
    };
    let routing = match &set.routing {
        None => String::new(),
        Some(Routing::Weight(weight)) => format!(" weight {weight}"),
        Some(Routing::Location { country, .. }) => format!(" country {}", country.as_deref().unwrap_or("-")),
        Some(other) => format!(" {other:?}"),
    };
    format!("{} {}{identifier} {holds}{routing}", set.name.trim_end_matches('.'), set.kind)
}

fn calls(account: &Account) -> BTreeMap<String, usize> {
    account.service.calls()
}

/// Addresses, a load balancer at the apex, weights and countries: they come, change and go, and then there is silence.
#[test]
fn services_come_change_and_go() {
    require!(KubeApi::TOOLS, &[CLIENT]);
    let (kube, account) = (shared(), Account::new());
    let space = Space::new(&kube);
    space.balancer("three", "three.shop.test", &["192.0.2.1", "192.0.2.2", "192.0.2.3"]);
    space.balancer("apex", ZONE, &[BALANCER]);
    let routed = |name: &str, host: &str, target: &str, annotations: &[(&str, &str)]| {
        space.balancer(name, host, &[target]);
        let prefix = |key: &str| format!("external-dns.kubernetes.io/{key}");
        let keys: Vec<String> = annotations.iter().map(|(key, _)| prefix(key)).collect();
        let all: Vec<(&str, &str)> =
            keys.iter().map(String::as_str).zip(annotations.iter().map(|(_, value)| *value)).collect();
        space.annotate("services", name, &all);
    };
    routed("blue", "split.shop.test", "192.0.2.10", &[("set-identifier", "blue"), ("aws-weight", "90")]);
    routed("green", "split.shop.test", "192.0.2.20", &[("set-identifier", "green"), ("aws-weight", "10")]);
    routed("german", "near.shop.test", BALANCER, &[("set-identifier", "de"), ("aws-geolocation-country-code", "DE")]);
    routed(
        "world",
        "near.shop.test",
        "192.0.2.30",
        &[("set-identifier", "all"), ("aws-geolocation-country-code", "*")],
    );
    // A weight without an identifier would spoil the whole batch.
    routed("lost", "lost.shop.test", "192.0.2.40", &[("aws-weight", "10")]);
    let daemon = account.line(&space).start();
    daemon.ready();
    let alias = format!("alias {BALANCER}. {BALANCERS} true");
    let lines = |three: &str, green: &str| {
        vec![
            format!("three.shop.test A {three}"),
            format!("shop.test A {alias}"),
            format!("shop.test AAAA {alias}"),
            "split.shop.test A (blue) 192.0.2.10 weight 90".to_owned(),
            format!("split.shop.test A (green) 192.0.2.20 weight {green}"),
            format!("near.shop.test A (de) {alias} country DE"),
            format!("near.shop.test AAAA (de) {alias} country DE"),
            "near.shop.test A (all) 192.0.2.30 country *".to_owned(),
        ]
    };
    let shows = |lines: Vec<String>| account.shows(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    shows(lines("192.0.2.1 192.0.2.2 192.0.2.3", "10"));
    let mut read = lines("192.0.2.1 192.0.2.2 192.0.2.3", "10");
    read.push("legacy.shop.test A 198.51.100.7".to_owned());
    read.sort();
    assert_eq!(clouds::read(CLIENT, READ, &[&account.service.url(), KEY, &account.zone]), json!(read));
    space.expect_event("lost", "InvalidOption", &["lost.shop.test", "set-identifier"]);
    // A claim carries the identifier and the policy of its record.
    let weights = account.claims().iter().filter(|claim| claim.routing == Some(Routing::Weight(10))).count();
    assert_eq!(weights, 1, "{:?}", account.claims());

    space.annotate("services", "green", &[("external-dns.kubernetes.io/aws-weight", "50")]);
    space.reached_at("services", "three", &["192.0.2.1", "192.0.2.9"]);
    shows(lines("192.0.2.1 192.0.2.9", "50"));

    // An hour of nothing is an audit and no more: here, ten rounds of one listing each.
    until("no write for a while", SOON, || {
        let before = calls(&account);
        std::thread::sleep(std::time::Duration::from_secs(4));
        calls(&account)["ChangeResourceRecordSets"] == before["ChangeResourceRecordSets"]
    });

    for name in ["three", "apex", "blue", "green", "german", "world"] {
        space.delete("services", name);
    }
    account.shows(&[]);
    until("no claim is left", SOON, || account.claims().is_empty());
    let ended = daemon.terminate();
    assert!(!ended.log.contains("s3cr3t"), "a secret is in the log");
}

const IDENTIFIER: &str = "external-dns.kubernetes.io/set-identifier";
const WEIGHT: &str = "external-dns.kubernetes.io/aws-weight";

/// A name becomes weighted and simple again, all of its sets in one batch. Where one of them is foreign, none is exchanged.
#[test]
fn a_name_becomes_weighted_and_simple_again() {
    require!(KubeApi::TOOLS);
    let (kube, account) = (shared(), Account::new());
    let space = Space::new(&kube);
    let theirs = RecordSet::new("busy.shop.test.", "A", 60, &["198.51.100.9"]).routed("theirs", Routing::Weight(5));
    account.service.put(&account.zone, theirs);
    let theirs = "busy.shop.test A (theirs) 198.51.100.9 weight 5";
    space.balancer("web", "web.shop.test", &["192.0.2.1"]);
    space.balancer("busy", "busy.shop.test", &["192.0.2.2"]);
    let daemon = account.line(&space).start();
    daemon.ready();
    account.shows(&["web.shop.test A 192.0.2.1", theirs]);
    space.expect_event("busy", "ForeignRecord", &["busy.shop.test"]);
    let writes = || calls(&account)["ChangeResourceRecordSets"];
    for weighted in [true, false, true] {
        let (before, claims) = (writes(), account.claims().len());
        let (identifier, weight) = if weighted { ("one", "10") } else { ("", "") };
        space.annotate("services", "web", &[(IDENTIFIER, identifier), (WEIGHT, weight)]);
        let web = if weighted { "web.shop.test A (one) 192.0.2.1 weight 10" } else { "web.shop.test A 192.0.2.1" };
        account.shows(&[web, theirs]);
        assert_eq!(writes(), before + 1, "record and claim are exchanged in one batch");
        let routed = account.claims().iter().filter(|claim| claim.routing.is_some()).count();
        let expected = if weighted { claims } else { 0 };
        assert_eq!((account.claims().len(), routed), (claims, expected), "the claim goes as its record goes");
    }
    drop(daemon);
}

/// Each owner has its own set of a weighted name, and neither touches the other's.
#[test]
fn two_owners_share_a_weighted_name() {
    require!(KubeApi::TOOLS);
    let (kube, account) = (shared(), Account::new());
    let (east, west) = (Space::new(&kube), Space::new(&kube));
    for (space, name, address, weight) in [(&east, "east", "192.0.2.1", "10"), (&west, "west", "192.0.2.2", "20")] {
        space.balancer(name, "split.shop.test", &[address]);
        space.annotate("services", name, &[(IDENTIFIER, name), (WEIGHT, weight)]);
    }
    let daemon = |space: &Space<'_>, owner: &str| {
        let daemon = account.line(space).without("--txt-owner-id").arg(format!("--txt-owner-id={owner}")).start();
        daemon.ready();
        daemon
    };
    let (first, second) = (daemon(&east, "east"), daemon(&west, "west"));
    let ours = |name: &str, address: &str, weight: u8| format!("split.shop.test A ({name}) {address} weight {weight}");
    account.shows(&[&ours("east", "192.0.2.1", 10), &ours("west", "192.0.2.2", 20)]);
    east.reached_at("services", "east", &["192.0.2.9"]);
    west.annotate("services", "west", &[(WEIGHT, "30")]);
    account.shows(&[&ours("east", "192.0.2.9", 10), &ours("west", "192.0.2.2", 30)]);
    // The identifier of the other's set is taken.
    west.balancer("thief", "split.shop.test", &["192.0.2.66"]);
    west.annotate("services", "thief", &[(IDENTIFIER, "east"), (WEIGHT, "1")]);
    west.expect_event("thief", "ForeignRecord", &["split.shop.test"]);
    east.delete("services", "east");
    account.shows(&[&ours("west", "192.0.2.2", 30), "split.shop.test A (east) 192.0.2.66 weight 1"]);
    for name in ["west", "thief"] {
        west.delete("services", name);
    }
    account.shows(&[]);
    drop((first, second));
}

/// A key that expires while the file has a new one: without a restart, and reported meanwhile.
#[test]
fn credentials_are_read_anew() {
    require!(KubeApi::TOOLS);
    let (kube, account) = (shared(), Account::new());
    let space = Space::new(&kube);
    space.balancer("web", "web.shop.test", &["192.0.2.1"]);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("credentials");
    let write = |id: &str| {
        let content = format!("[default]\naws_access_key_id = {id}\naws_secret_access_key = s3cr3t-of-{id}\n");
        fs::write(&path, content).expect("the credentials file");
    };
    write(KEY);
    let daemon = account.keyless(&space).env("AWS_SHARED_CREDENTIALS_FILE", &text(&path)).start();
    daemon.ready();
    account.shows(&["web.shop.test A 192.0.2.1"]);
    account.service.allow_key("AKIDNEXT", ACCOUNT);
    account.service.expire(KEY);
    space.balancer("late", "late.shop.test", &["192.0.2.2"]);
    daemon.says_within(&["ExpiredToken"], LATER);
    write("AKIDNEXT");
    account.shows(&["web.shop.test A 192.0.2.1", "late.shop.test A 192.0.2.2"]);
    let ended = daemon.terminate();
    assert!(!ended.log.contains("s3cr3t"), "a secret is in the log");
}

/// Two accounts, each by a profile of its own: the zones of both are served, each by its keys.
#[test]
fn each_profile_is_an_account() {
    require!(KubeApi::TOOLS);
    let (kube, account) = (shared(), Account::new());
    let space = Space::new(&kube);
    account.service.allow_key("AKIDOTHER", "000000000002");
    let other = account.service.add_zone("000000000002", "other.test", false, &[]);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("credentials");
    let profile =
        |name: &str, id: &str| format!("[{name}]\naws_access_key_id = {id}\naws_secret_access_key = s3cr3t-of-{id}\n");
    fs::write(&path, profile("one", KEY) + &profile("two", "AKIDOTHER")).expect("the credentials file");
    space.balancer("web", "web.shop.test", &["192.0.2.1"]);
    space.balancer("far", "far.other.test", &["192.0.2.2"]);
    let line = account.keyless(&space).env("AWS_SHARED_CREDENTIALS_FILE", &text(&path));
    let line = line.args(&["--aws-profile=one", "--aws-profile=two", "--domain-filter=other.test"]);
    let daemon = line.start();
    daemon.ready();
    account.shows(&["web.shop.test A 192.0.2.1"]);
    until("the zone of the other account", LATER, || {
        account.service.addresses(&other, "far.other.test") == ["192.0.2.2"]
    });
    // The keys of one account end: its zone says whose they were, and the other's is served on.
    account.service.expire("AKIDOTHER");
    space.reached_at("services", "far", &["192.0.2.3"]);
    space.reached_at("services", "web", &["192.0.2.4"]);
    account.shows(&["web.shop.test A 192.0.2.4"]);
    daemon.unready(&["other.test", "profile two"], LATER);
    account.service.allow_key("AKIDOTHER", "000000000002");
    until("it follows", LATER, || account.service.addresses(&other, "far.other.test") == ["192.0.2.3"]);
    let ended = daemon.terminate();
    assert!(!ended.log.contains("s3cr3t"), "a secret is in the log");
}

/// As in EKS behind a company's firewall: a projected token for a role. A token that was written anew is used when the keys of the old
/// one have expired.
#[test]
fn a_projected_token_through_a_proxy_and_an_authority_of_ones_own() {
    require!(KubeApi::TOOLS);
    const ROLE: &str = "arn:aws:iam::000000000001:role/dns";
    let (kube, account) = (shared(), Account::new());
    let space = Space::new(&kube);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("token");
    let project = |token: &str| {
        account.service.allow_web_identity(ROLE, token, ACCOUNT);
        fs::write(&path, token).expect("the projected token");
    };
    project("eyJ-first-t0ken");
    let line = |url: &str| {
        let line = account.keyless(&space).env("AWS_ENDPOINT_URL", url).env("AWS_ROLE_ARN", ROLE);
        line.env("AWS_WEB_IDENTITY_TOKEN_FILE", &text(&path))
    };
    let renewed = || {
        project("eyJ-second-t0ken");
        for key in account.service.keys_of(ACCOUNT).iter().filter(|key| *key != KEY) {
            account.service.expire(key);
        }
    };
    let (service, zone) = (&account.service, &account.zone);
    let log = clouds::through_a_proxy_and_an_authority_of_ones_own(service, zone, &space, line, renewed);
    assert!(!log.contains("t0ken"), "a token is in the log");
}

#[test]
fn a_zone_that_goes_holds_up_no_other() {
    require!(KubeApi::TOOLS);
    let (kube, account) = (shared(), Account::new());
    let space = Space::new(&kube);
    let line = account.line(&space).arg("--aws-zones-cache-duration=1s");
    clouds::a_zone_that_goes_holds_up_no_other(&account.service, &account.zone, &space, line);
}

#[test]
fn a_forbidden_action_is_reported() {
    require!(KubeApi::TOOLS);
    let (kube, account) = (shared(), Account::new());
    let space = Space::new(&kube);
    let said = ["AccessDenied", "route53:ChangeResourceRecordSets", "the default credentials"];
    let line = account.line(&space);
    clouds::a_forbidden_action_is_reported(&account.service, &account.zone, &space, &line, &said);
}

/// Throttled for a while, refused for one action, busy with another's change: nothing is lost, and it goes on.
#[test]
fn what_passes_is_waited_for() {
    require!(KubeApi::TOOLS);
    let (kube, account) = (shared(), Account::new());
    let space = Space::new(&kube);
    space.balancer("web", "web.shop.test", &["192.0.2.1"]);
    let daemon = account.line(&space).start();
    daemon.ready();
    account.shows(&["web.shop.test A 192.0.2.1"]);
    let faults = [Fault::Throttled, Fault::PriorRequestNotComplete, Fault::AnswerLost, Fault::Denied];
    for (at, fault) in faults.into_iter().enumerate() {
        for operation in ["ListResourceRecordSets", "ChangeResourceRecordSets"] {
            account.service.fail(operation, fault, 1);
        }
        let address = format!("192.0.2.{}", at + 10);
        space.reached_at("services", "web", &[&address]);
        account.shows(&[&format!("web.shop.test A {address}")]);
    }
    drop(daemon);
}
