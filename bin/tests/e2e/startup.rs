//! What is wrong from the start: the daemon says what, stays up and unready, and works as soon as it is put right.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use zonewright_testkit::DnsSoftware::Bind;
use zonewright_testkit::{Algorithm, Key, free_port, require, tools};

use crate::cluster::{Space, shared};
use crate::daemon::{CommandLine, ends, state_folder, text};
use crate::manifests::{folder, service, write};
use crate::pod::mounts;
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

/// The daemon's command line in a pod whose API server takes connections and says nothing.
fn beside_a_silent_server(site: &Site, space: &Space<'_>, account: &std::path::Path) -> (TcpListener, CommandLine) {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = silent.local_addr().expect("an address").port().to_string();
    let line = site.line(space).without("--kubeconfig").without("--state-dir").in_pod(&shared(), account);
    (silent, line.env("KUBERNETES_SERVICE_PORT", &port))
}

/// An API server that accepts and is silent costs half a minute for each request. Whoever asks the process meanwhile has an answer.
#[test]
fn probes_and_the_order_to_stop_do_not_wait_for_the_api_server() {
    needs!(Bind);
    if !mounts() {
        tools::tell("startup::probes_do_not_wait", "the kernel lets nobody make mount namespaces");
        return;
    }
    let (kube, site) = (shared(), Site::start(Bind));
    let (space, account) = (Space::new(&kube), tempfile::tempdir().expect("a folder"));
    let (_silent, line) = beside_a_silent_server(&site, &space, account.path());
    let began = Instant::now();
    let daemon = line.start();
    assert_eq!(daemon.page("/healthz"), (200, "OK".to_owned()));
    assert_eq!(daemon.page("/readyz"), (503, "starting: the saved state is being read".to_owned()));
    let ended = daemon.terminate();
    assert!(ended.status.success(), "{}", ended.log);
    assert!(began.elapsed() < Duration::from_secs(25), "{:?}: {}", began.elapsed(), ended.log);

    // A single pass was to read everything, and did not.
    let mut once = line.arg("--once").start();
    once.page("/healthz");
    let status = once.stop();
    assert_eq!(status.code(), Some(4), "{}", once.log());
    let log = once.log();
    assert!(log.lines().last().is_some_and(|last| last.contains("not read: everything: stopped by a signal")), "{log}");
}

/// Another process has the port: nothing else is begun.
#[test]
fn an_address_in_use_is_reported_before_anything_else_begins() {
    require!(Bind.tools());
    let (site, manifests, (state, _)) = (Site::start(Bind), folder(), state_folder());
    write(manifests.path(), "web.yaml", &service("web", "web", "192.0.2.1"));
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address");
    let line = site.provider(site.dns.addr().port()).without("--metrics-address").arg("--source=service");
    let line =
        line.args(&[&format!("--metrics-address={address}"), &format!("--manifests={}", text(manifests.path()))]);
    let made = state.path().join("made");
    ends(&line.arg(format!("--state-dir={}", text(&made))), 1, &["--metrics-address", "Address already in use"]);
    assert!(!made.exists(), "a state folder was made");
    assert!(site.ours().is_empty());
}
