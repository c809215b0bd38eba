//! What is wrong from the start: the daemon says what, stays up and unready, and works as soon as it is put right.

use zonewright_testkit::DnsSoftware::Bind;
use zonewright_testkit::{Algorithm, Key, free_port};

use crate::cluster::{Space, shared};
use crate::daemon::CommandLine;
use crate::site::{Site, ZONE};
use crate::{LATER, SOON, needs, until};

/// A change to a right command line.
type Wrong = fn(CommandLine) -> CommandLine;

#[test]
fn a_wrong_key_or_zone_is_reported_and_the_process_stays_up() {
    needs!(Bind);
    let (kube, site) = (shared(), Site::start(Bind));
    let cases: &[(&str, Wrong, &[&str])] = &[
        (
            "another secret",
            |line| {
                let other = Key::with_algorithm("ddns", Algorithm::HmacSha256);
                line.env("EXTERNAL_DNS_RFC2136_TSIG_SECRET", &other.secret)
            },
            &["BADSIG"],
        ),
        (
            "another name of the key",
            |line| line.without("--rfc2136-tsig-keyname").arg("--rfc2136-tsig-keyname=nobody"),
            &["BADKEY"],
        ),
        (
            "another algorithm",
            |line| line.without("--rfc2136-tsig-secret-alg").arg("--rfc2136-tsig-secret-alg=hmac-sha512"),
            &["BADKEY"],
        ),
        ("no key", |line| line.without("--rfc2136-tsig").arg("--rfc2136-insecure"), &["REFUSED"]),
        ("an unknown zone", |line| line.without("--rfc2136-zone").arg("--rfc2136-zone=other.test"), &["other.test"]),
    ];
    let started: Vec<_> = cases
        .iter()
        .map(|(what, change, texts)| {
            let space = Space::new(&kube);
            let daemon = change(site.line(&space)).start();
            space.balancer("web", &format!("web.{ZONE}"), &["192.0.2.1"]);
            (what, daemon, texts, space)
        })
        .collect();
    for (what, mut daemon, texts, _space) in started {
        let line = daemon.says(&["level=error", "the zone cannot be served"]);
        assert!(texts.iter().all(|text| line.contains(text)), "{what}: {line}");
        assert!(line.contains("127.0.0.1"), "{what}: which server? {line}");
        daemon.unready(texts, SOON);
        assert!(daemon.runs(), "{what}");
        assert!(daemon.terminate().status.success(), "{what}");
    }
    assert!(site.ours().is_empty());
}

#[test]
fn a_server_that_is_away_at_the_start_is_waited_for() {
    needs!(Bind);
    let (kube, mut site) = (shared(), Site::start(Bind));
    let space = Space::new(&kube);
    space.services(2, ZONE);
    site.dns.kill();
    let daemon = site.line(&space).start();
    daemon.says(&["level=error", "the zone cannot be served", "refused"]);
    daemon.unready(&["zone shop.test: ", "refused"], SOON);
    site.dns.restart();
    daemon.ready_within(LATER);
    until("both names", SOON, || site.ours().len() == 2);
}

#[test]
fn an_api_server_that_is_away_at_the_start_is_waited_for() {
    needs!(Bind);
    let (kube, site) = (shared(), Site::start(Bind));
    let space = Space::new(&kube);
    let line = site.line(&space).arg(format!("--server=https://127.0.0.1:{}", free_port()));
    let mut daemon = line.start();
    daemon.says(&["level=warning", "cannot be listed and watched yet", "kind=\"services", "Connection refused"]);
    daemon.says(&["level=warning", "planning begins, though not everything could be read", "unread=", "services"]);
    daemon.unready(&["services: not read completely"], SOON);
    assert!(daemon.runs());
    assert!(daemon.terminate().status.success());
}

/// What cannot be a command line ends the process at once, with a sentence and status 1.
#[test]
fn a_command_line_that_makes_no_sense_ends_it() {
    needs!(Bind);
    let (kube, site) = (shared(), Site::start(Bind));
    let space = Space::new(&kube);
    let cases: &[(Wrong, &str)] = &[
        (|line| line.without("--policy"), "--policy"),
        (|line| line.without("--rfc2136-zone"), "--rfc2136-zone"),
        (|line| line.without("--rfc2136-host"), "--rfc2136-host"),
        (|line| line.arg("--no-such-flag"), "--no-such-flag"),
        (|line| line.arg("--registry=aws-sd"), "--registry"),
        (|line| line.without("--kubeconfig").arg("--kubeconfig=/does/not/exist"), "/does/not/exist"),
        (|line| line.without("--metrics-address").arg("--metrics-address=nowhere"), "--metrics-address"),
        (|line| line.env("EXTERNAL_DNS_RFC2136_TSIG_SECRET", "no base64 at all"), "--rfc2136-tsig-secret"),
    ];
    for (change, text) in cases {
        let ended = change(site.line(&space)).run();
        assert_eq!(ended.status.code(), Some(1), "{text}: {}", ended.log);
        assert!(ended.log.contains(text), "{text}: {}", ended.log);
        assert!(!ended.log.contains("no base64 at all") && !ended.log.contains("panicked"), "{}", ended.log);
    }
}
