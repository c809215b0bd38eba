//! What is the same at every cloud: how the daemon is started, a zone that is deleted under it, the way out through a proxy.

use std::process::Command;

use serde_json::Value;
use zonewright_testkit::{Outside, tools};

use crate::cluster::Space;
use crate::daemon::{CommandLine, text};
use crate::site::OWNER;
use crate::{LATER, until};

/// The zone of every test.
pub(crate) const ZONE: &str = "shop.test";
/// The zone that is deleted.
const SECOND: &str = "second.test";
/// The service's name outside.
const HOST: &str = "cloud.zonewright.test";

/// A cloud's service on loopback.
pub(crate) trait Cloud {
    fn url(&self) -> String;

    /// Adds a zone of this name; its id.
    fn add(&self, name: &str) -> String;

    /// Takes a zone away with all that is in it.
    fn take_away(&self, zone: &str);

    /// The addresses of a name, in order.
    fn addresses(&self, zone: &str, name: &str) -> Vec<String>;

    /// How many requests a second the service answers; no limit if absent.
    fn limit(&self, requests: Option<usize>);

    /// Whether changes of records are forbidden to whoever asks, from now on.
    fn forbid(&self, on: bool);
}

/// What a vendor's own client reads, by a script of ours: the environment of the client, the script, its arguments.
#[track_caller]
pub(crate) fn read(client: &str, script: &str, arguments: &[&str]) -> Value {
    let python = tools::find(client).expect("the test requires it");
    let output = Command::new(python).args(["-c", script]).args(arguments).output().expect("the client starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("the script prints JSON")
}

/// The daemon of an owner at a provider.
pub(crate) fn owned(provider: &str, owner: &str, state: &str) -> CommandLine {
    CommandLine::default()
        .args(&["--policy=sync", "--source=service", "--metrics-address=127.0.0.1:0", "--interval=2s"])
        .arg(format!("--provider={provider}"))
        .arg(format!("--domain-filter={ZONE}"))
        .arg(format!("--txt-owner-id={owner}"))
        .arg(format!("--state-dir={state}"))
}

/// The daemon at a provider, for a namespace.
pub(crate) fn line(provider: &str, space: &Space<'_>) -> CommandLine {
    space.read_by(owned(provider, OWNER, space.state_dir()))
}

#[track_caller]
fn serves(service: &impl Cloud, zone: &str, name: &str, address: &str) {
    until(&format!("{name} {address}"), LATER, || service.addresses(zone, name) == [address]);
}

/// One of two zones is deleted under the daemon, while another client uses most of the account's rate: the other zone keeps what it has
/// and is served, and the one that went is filled when there is one of its name again.
#[track_caller]
pub(crate) fn a_zone_that_goes_holds_up_no_other(
    service: &impl Cloud,
    zone: &str,
    space: &Space<'_>,
    line: CommandLine,
) {
    let second = service.add(SECOND);
    space.balancer("kept", "kept.shop.test", &["192.0.2.7"]);
    space.balancer("web", "web.shop.test", &["192.0.2.1"]);
    space.balancer("other", "other.second.test", &["192.0.2.2"]);
    let daemon = line.arg(format!("--domain-filter={SECOND}")).start();
    daemon.ready();
    serves(service, zone, "kept.shop.test", "192.0.2.7");
    serves(service, zone, "web.shop.test", "192.0.2.1");
    serves(service, &second, "other.second.test", "192.0.2.2");
    service.limit(Some(2));
    service.take_away(&second);
    space.reached_at("services", "web", &["192.0.2.9"]);
    space.reached_at("services", "other", &["192.0.2.8"]);
    serves(service, zone, "web.shop.test", "192.0.2.9");
    daemon.says_within(&[SECOND, "the zone is gone"], LATER);
    let again = service.add(SECOND);
    serves(service, &again, "other.second.test", "192.0.2.8");
    service.limit(None);
    assert_eq!(service.addresses(zone, "kept.shop.test"), ["192.0.2.7"]);
    drop(daemon);
}

/// One action is forbidden for a while: an event on the object says so, with these words, nothing is lost, and all is done once it is allowed.
#[track_caller]
pub(crate) fn a_forbidden_action_is_reported(
    service: &impl Cloud,
    zone: &str,
    space: &Space<'_>,
    line: &CommandLine,
    said: &[&str],
) {
    space.balancer("web", "web.shop.test", &["192.0.2.1"]);
    let daemon = line.start();
    daemon.ready();
    serves(service, zone, "web.shop.test", "192.0.2.1");
    service.forbid(true);
    space.balancer("late", "late.shop.test", &["192.0.2.2"]);
    space.expect_event("late", "RecordRefused", &[&["late.shop.test"], said].concat());
    space.reached_at("services", "web", &["192.0.2.9"]);
    space.expect_event("web", "RecordRefused", &[&["web.shop.test"], said].concat());
    assert_eq!(service.addresses(zone, "web.shop.test"), ["192.0.2.1"], "what stood stays");
    assert!(service.addresses(zone, "late.shop.test").is_empty());
    service.forbid(false);
    serves(service, zone, "late.shop.test", "192.0.2.2");
    serves(service, zone, "web.shop.test", "192.0.2.9");
    drop(daemon);
}

/// As behind a company's firewall: a proxy for everything outside, and an authority of its own, without which nothing is asked for.
/// `line` starts the daemon at an address of the service, and `renewed` makes it ask for new credentials. What the daemon logged.
#[track_caller]
pub(crate) fn through_a_proxy_and_an_authority_of_ones_own(
    service: &impl Cloud,
    zone: &str,
    space: &Space<'_>,
    line: impl FnOnce(&str) -> CommandLine,
    renewed: impl FnOnce(),
) -> String {
    let url = service.url();
    let place = url.trim_start_matches("http://");
    let (address, path) = place.split_at(place.find('/').unwrap_or(place.len()));
    let outside = Outside::of(address.parse().expect("an address"), HOST);
    space.balancer("web", "web.shop.test", &["192.0.2.1"]);
    let line = line(&format!("https://{HOST}{path}")).env("HTTPS_PROXY", &outside.proxy());
    let line = line.env("NO_PROXY", "127.0.0.1,localhost");
    let distrustful = line.start();
    distrustful.says_within(&["certificate"], LATER);
    drop(distrustful);
    assert!(service.addresses(zone, "web.shop.test").is_empty(), "nobody trusts the authority yet");
    let daemon = line.env("SSL_CERT_FILE", &text(outside.authority())).start();
    daemon.ready();
    serves(service, zone, "web.shop.test", "192.0.2.1");
    renewed();
    space.balancer("late", "late.shop.test", &["192.0.2.2"]);
    serves(service, zone, "late.shop.test", "192.0.2.2");
    let (asked, expected) = (outside.asked(), format!("{HOST}:443"));
    assert!(!asked.is_empty() && asked.iter().all(|target| *target == expected), "{asked:?}");
    daemon.terminate().log
}
