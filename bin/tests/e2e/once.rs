//! `--once`: what a pass could not read, did not write or holds is its exit status (docs/exit-statuses.md), and its last
//! line says so. A read that fails is tried again until `--start-timeout` is over.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::json;
use zonewright_testkit::DnsSoftware::Bind;
use zonewright_testkit::kube::User;
use zonewright_testkit::{Fault, TcpFault, free_port, require};

use crate::cluster::{Space, TARGET, own, shared};
use crate::crds;
use crate::daemon::{CommandLine, Ended, state_folder, text};
use crate::manifests::{folder, service, write};
use crate::site::{Site, ZONE};
use crate::{SOON, needs, until};

const UP_TO_DATE: &str = "msg=\"All records are already up to date\"";

fn at(host: &str) -> String {
    format!("{host}.{ZONE}")
}

/// The line of one pass that gives up soon.
fn once(site: &Site, space: &Space<'_>) -> CommandLine {
    site.line(space).args(&["--once", "--start-timeout=2s"])
}

/// The last line that a pass logs.
fn last(ended: &Ended) -> &str {
    ended.log.lines().last().unwrap_or_default()
}

/// Runs one pass: it ends with this status, and its last line holds all of these texts.
#[track_caller]
fn ends(line: &CommandLine, status: i32, texts: &[&str]) -> Ended {
    let ended = line.run();
    assert_eq!(ended.status.code(), Some(status), "{}", ended.log);
    for text in texts {
        assert!(last(&ended).contains(text), "{text:?} is not in the last line of\n{}", ended.log);
    }
    assert_eq!(ended.log.contains(UP_TO_DATE), texts.contains(&NOTHING) && status == 0, "{}", ended.log);
    ended
}

/// The last line of a pass without anything to do, up to what it did not read.
const NOTHING: &str = "0 created, 0 updated, 0 deleted, 0 held, 0 refused, 0 left alone";

#[test]
fn every_pass_ends_with_what_it_did() {
    needs!(Bind);
    let (kube, site) = (shared(), Site::start(Bind));
    let space = Space::new(&kube);
    space.services(3, ZONE);
    space.balancer("taken", &at("taken"), &["192.0.2.9"]);
    let line = once(&site, &space);
    ends(&line, 0, &["level=info", "3 created, 0 updated, 0 deleted, 0 held, 0 refused, 1 left alone"]);
    space.delete("services", "taken");
    ends(&line, 0, &["level=info", NOTHING]);
    space.delete("services", "s0");
    space.annotate("services", "s1", &[(TARGET, "192.0.2.77")]);
    space.balancer("new", &at("new"), &["192.0.2.1"]);
    let (serial, dry) = (site.serial(), line.clone().arg("--dry-run"));
    ends(&dry, 0, &["dry run", "1 created, 1 updated, 1 deleted, 0 held, 0 refused, 0 left alone"]);
    assert_eq!(site.serial(), serial);
    ends(&line, 0, &["1 created, 1 updated, 1 deleted, 0 held, 0 refused, 0 left alone"]);
    ends(&dry, 0, &["dry run", NOTHING]);
}

#[test]
fn what_is_held_is_status_3() {
    needs!(Bind);
    let (kube, site) = (shared(), Site::start(Bind));
    let space = Space::new(&kube);
    space.services(12, ZONE);
    let line = once(&site, &space);
    ends(&line, 0, &["12 created"]);
    kube.delete(&space.path("services")).expect_success();
    space.balancer("new", &at("new"), &["192.0.2.1"]);
    let held = "0 deleted, 12 held, 0 refused, 0 left alone";
    ends(&line.clone().arg("--dry-run"), 3, &["level=error", "dry run", "1 created, 0 updated", held]);
    ends(&line, 3, &["level=error", "1 created, 0 updated", held]);
    assert_eq!(site.ours().len(), 13);
}

/// A claim that has no room keeps its record from being written; the others are.
#[test]
fn what_is_refused_is_status_1() {
    needs!(Bind);
    let (kube, site) = (shared(), Site::start(Bind));
    let space = Space::new(&kube);
    space.balancer("long", &at(&"l".repeat(63)), &["192.0.2.1"]);
    space.balancer("good", &at("good"), &["192.0.2.2"]);
    ends(&once(&site, &space), 1, &["level=error", "1 created, 0 updated, 0 deleted, 0 held, 1 refused, 0 left alone"]);
    site.shows(&["good 0 A 192.0.2.2"]);
}

/// The API server is not there, does not know the token, or lets the user read a part only, or nothing.
#[test]
fn objects_that_cannot_be_read_are_status_4() {
    needs!(Bind);
    let (kube, site) = (own(), Site::start(Bind));
    let space = Space::new(&kube);
    space.services(2, ZONE);
    let line = once(&site, &space);
    ends(&line, 0, &["2 created"]);
    let serial = site.serial();

    // What stands is kept until it is known what the cluster says.
    let nothing = "0 created, 0 updated, 0 deleted, 2 held, 0 refused, 0 left alone; not read: ";
    let away = line.clone().arg(format!("--server=https://127.0.0.1:{}", free_port()));
    ends(&away, 4, &["level=error", nothing, "services", "ingresses.networking.k8s.io", "Connection refused"]);

    let folder = folder();
    let config = std::fs::read_to_string(space.kubeconfig()).expect("a kubeconfig");
    let wrong = config.replace(User::Zonewright.token(), "tok-of-nobody");
    std::fs::write(folder.path().join("wrong"), wrong).expect("a kubeconfig");
    let unknown = format!("--kubeconfig={}", text(&folder.path().join("wrong")));
    let unknown = line.clone().without("--kubeconfig").arg(unknown);
    ends(&unknown, 4, &["level=error", nothing, "services", "401", "Unauthorized"]);
    assert_eq!(site.serial(), serial);

    // Of one kind nothing is known: the rest is done, and nothing is deleted that could rest on it.
    space.delete("services", "s0");
    space.balancer("new", &at("new"), &["192.0.2.1"]);
    let partly = line.clone().arg("--source=contour-httpproxy");
    ends(&partly, 4, &["1 created, 0 updated, 1 deleted", "not read: httpproxies.projectcontour.io: ", "cannot list"]);
    site.shows(&["s1 0 A 192.0.0.2", "new 0 A 192.0.2.1"]);

    let (serial, bindings) = (site.serial(), "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings");
    kube.delete(&format!("{bindings}/zonewright")).expect_success();
    until("the rights to be gone", SOON, || !kube.may(User::Zonewright, "list", "", "services"));
    ends(&line, 4, &["level=error", nothing, "services", "User", "cannot list resource"]);
    assert_eq!(site.serial(), serial);
}

/// A kind that the API server does not know counts as empty, unless objects of it were seen before.
#[test]
fn a_kind_that_is_denied_counts_as_empty_if_it_was_never_seen() {
    needs!(Bind);
    let (kube, site) = (own(), Site::start(Bind));
    let space = Space::new(&kube);
    space.services(1, ZONE);
    let group = json!([{ "apiGroups": ["externaldns.k8s.io"], "resources": ["*"], "verbs": ["*"] }]);
    kube.grant("endpoints", &group);
    kube.wait_until_may(User::Zonewright, "list", "externaldns.k8s.io", "dnsendpoints");
    let line = once(&site, &space).arg("--source=crd");
    ends(&line, 0, &["1 created"]);
    ends(&line, 0, &[NOTHING]);

    let kind = crds::find("dnsendpoints.externaldns.k8s.io").expect("a kind that is known here");
    kind.install(&kube);
    let endpoints = json!([{ "dnsName": at("seen"), "recordType": "A", "targets": ["192.0.2.5"] }]);
    space.create(kind.name, "it", &[], json!({ "spec": { "endpoints": endpoints } }));
    ends(&line, 0, &["1 created"]);
    kube.delete(&kind.definition_path()).expect_success();
    until("the kind to be unknown", SOON, || kube.get(&space.path(kind.name)).status == 404);
    ends(
        &line,
        4,
        &["0 deleted, 1 held", "not read: dnsendpoints.externaldns.k8s.io", "though objects of it were seen"],
    );
    site.shows(&["s0 0 A 192.0.0.1", "seen 0 A 192.0.2.5"]);
}

/// The DNS server is not there, or refuses the transfer.
#[test]
fn a_zone_that_cannot_be_read_is_status_4() {
    require!(Bind.tools());
    let (mut site, folder, state) = (Site::start(Bind), folder(), state_folder());
    write(folder.path(), "web.yaml", &service("web", "web", "192.0.2.1"));
    let line = site.provider(site.dns.addr().port()).args(&["--source=service", "--once", "--start-timeout=2s"]);
    let line = line.arg(format!("--manifests={}", text(folder.path()))).arg(format!("--state-dir={}", state.1));
    let nothing = format!("{NOTHING}; not read: zone shop.test: ");
    let keyless = line.clone().without("--rfc2136-tsig").arg("--rfc2136-insecure");
    ends(&keyless, 4, &["level=error", &nothing, "REFUSED"]);
    site.dns.kill();
    ends(&line, 4, &["level=error", &nothing, "refused"]);
    site.dns.restart();
    ends(&line, 0, &["1 created"]);

    // A manifest that cannot be read is something that was not read.
    write(folder.path(), "broken.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: shop\n");
    ends(&line, 4, &["level=error", "not read: ", "services", "broken.yaml:"]);
    site.shows(&["web 0 A 192.0.2.1"]);
}

/// The state of the brake is there and cannot be read: what rests on it is held, the rest is done.
#[test]
fn a_state_that_cannot_be_read_is_status_4() {
    require!(Bind.tools());
    let (site, folder, state) = (Site::start(Bind), folder(), state_folder());
    for at in 0..12 {
        write(folder.path(), &format!("s{at}.yaml"), &service(&format!("s{at}"), &format!("s{at}"), "192.0.2.1"));
    }
    let line = site.provider(site.dns.addr().port()).args(&["--source=service", "--once", "--start-timeout=2s"]);
    let line = line.arg(format!("--manifests={}", text(folder.path()))).arg(format!("--state-dir={}", state.1));
    ends(&line, 0, &["12 created"]);
    let saved = state_file(&state.1);
    let (sound, damaged) = (std::fs::read(&saved).expect("the state"), b"no state".as_slice());
    std::fs::write(&saved, damaged).expect("the state");
    std::fs::remove_file(folder.path().join("s3.yaml")).expect("the manifest");
    write(folder.path(), "new.yaml", &service("new", "new", "192.0.2.2"));
    ends(&line, 4, &["level=error", "1 created, 0 updated, 0 deleted, 1 held", "not read: state of the brake: "]);
    assert_eq!(std::fs::read(&saved).expect("the state"), damaged, "it is not written over");
    std::fs::write(&saved, sound).expect("the state");
    ends(&line, 0, &["0 created, 0 updated, 1 deleted, 0 held"]);
}

/// The file that a pass left in its state folder.
fn state_file(folder: &str) -> PathBuf {
    let files = std::fs::read_dir(folder).expect("the state folder").map(|entry| entry.expect("an entry").path());
    let mut states = files.filter(|path| path.extension().is_some_and(|ending| ending == "json"));
    states.next().expect("a state")
}

/// Both servers come up while the pass waits for them.
#[test]
fn a_read_that_fails_is_tried_again() {
    needs!(Bind);
    let (mut kube, mut site) = (own(), Site::start(Bind));
    let space = Space::new(&kube);
    space.services(2, ZONE);
    let line = site.line(&space).args(&["--once", "--start-timeout=60s"]);
    let _state = space.into_state();
    kube.stop_api();
    site.dns.kill();
    let mut daemon = line.start();
    daemon.says(&["cannot be listed and watched yet", "services"]);
    daemon.says(&["the zone cannot be served"]);
    kube.start_api();
    site.dns.restart();
    assert_eq!(daemon.ended(Duration::from_secs(70)).code(), Some(0), "{}", daemon.log());
    assert!(daemon.log().lines().last().unwrap_or_default().contains("2 created"), "{}", daemon.log());
    assert_eq!(site.ours().len(), 2);
}

/// A read that goes on for longer than that is not cut off.
#[test]
fn a_read_that_makes_progress_is_not_cut() {
    needs!(Bind);
    let (kube, site) = (shared(), Site::start(Bind));
    let space = Space::new(&kube);
    space.services(2, ZONE);
    let address = kube.url();
    let between = TcpFault::start(address.trim_start_matches("https://").parse().expect("an address"));
    between.set(Fault::Delay(Duration::from_millis(400)));
    let line = site.line(&space).args(&["--once", "--start-timeout=0s"]);
    let begun = Instant::now();
    ends(&line.arg(format!("--server=https://{}", between.addr())), 0, &["2 created"]);
    assert!(begun.elapsed() > Duration::from_secs(2), "it was not slow: {:?}", begun.elapsed());
}

/// The order to stop leaves undone what was not read yet: that is no success.
#[test]
fn a_pass_that_is_broken_off_is_no_success() {
    needs!(Bind);
    let (kube, site) = (shared(), Site::start(Bind));
    let space = Space::new(&kube);
    let line = site.line(&space).args(&["--once", "--start-timeout=1h"]);
    let daemon = line.arg(format!("--server=https://127.0.0.1:{}", free_port())).start();
    daemon.says(&["cannot be listed and watched yet", "services"]);
    let ended = daemon.terminate();
    assert_eq!(ended.status.code(), Some(4), "{}", ended.log);
    // It may come before the pass has begun.
    let (_, unread) = last(&ended).split_once("not read: ").expect("it says what was not read");
    assert!(unread.contains("services") || unread.contains("everything: stopped by a signal"), "{}", ended.log);
}

/// The statuses of the commands beside the daemon, as docs/exit-statuses.md has them; those that need a daemon or a zone are
/// seen where these commands are tested.
#[test]
fn commands_end_with_the_status_of_the_table() {
    let (_folder, state) = state_folder();
    let here = format!("--state-dir={state}");
    // A folder that is there, so that no samples are written beside the sources.
    let samples = format!("--manifests={state}");
    let cases: &[(&[&str], i32)] = &[
        (&["--version"], 0),
        (&["--help"], 0),
        (&["docs", "flags"], 0),
        (&["rbac", "--source=service"], 0),
        (&["rbac", "--source=service", "--manifests=/nowhere"], 1),
        (&["--no-such-flag"], 1),
        (&["plans", &here], 1),
        (&["approve", "abc", &here], 1),
        (&["history", &here], 1),
        (&["pinned", &here], 1),
        (&["undo", "--since=1h", &here], 1),
        (&["undo", &here], 1),
        (&["release", "--source=service", "--provider=rfc2136", "--policy=sync", "--yes"], 1),
        (&["demo", "--listen=nowhere", &samples], 1),
    ];
    for (words, status) in cases {
        let output = crate::daemon::command(words);
        assert_eq!(output.status.code(), Some(*status), "{words:?}: {output:?}");
    }
}

/// Events have a pace of their own, and wait for nothing else: those of sixty new names are posted before the end.
#[test]
fn the_events_of_a_pass_are_posted_before_its_end() {
    needs!(Bind);
    let (kube, site) = (shared(), Site::start(Bind));
    let space = Space::new(&kube);
    space.services(60, ZONE);
    let ended = ends(&once(&site, &space), 0, &["60 created, 0 updated"]);
    assert!(!ended.log.contains("were not posted"), "{}", ended.log);
}
