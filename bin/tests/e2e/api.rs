//! What happens to the API server must not happen to the zone: it is killed, loses its history, loses everything. And what
//! it is asked: one list and one watch for each kind in use.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use zonewright_testkit::DnsSoftware::Bind;
use zonewright_testkit::kube::User;
use zonewright_testkit::{Fault, KubeApi, TcpFault, wait_for};

use crate::cluster::{Space, apart, grant, own, shared};
use crate::daemon::{CommandLine, command};
use crate::site::{Site, ZONE};
use crate::{LATER, SOON, needs, until};

const HELD: &str = "zonewright_held_deletes{zone=\"rfc2136/shop.test\"}";

#[test]
fn a_killed_api_server_changes_nothing_in_the_zone() {
    needs!(Bind);
    let (mut kube, site) = (own(), Site::start(Bind));
    let (name, state) = {
        let space = Space::new(&kube);
        space.services(5, ZONE);
        (space.name.clone(), site.line(&space).arg("--interval=1s"))
    };
    let mut daemon = state.start();
    until("five names", SOON, || site.ours().len() == 5);
    daemon.ready();
    let serial = site.serial();
    kube.kill_api();
    daemon.unready(&["services: the watch is lost"], LATER);
    assert_eq!(daemon.page("/healthz").0, 200, "a restart would not help");
    assert_eq!(site.serial(), serial, "nothing was changed while nothing was known");
    kube.start_api();
    daemon.ready_within(LATER);
    let services = format!("/api/v1/namespaces/{name}/services");
    kube.delete(&format!("{services}/s0")).expect_success();
    until("the deleted one to go", SOON, || site.ours().len() == 4);
    assert!(daemon.runs());
}

#[test]
fn an_expired_watch_is_listed_again_and_nothing_is_rewritten() {
    needs!(Bind);
    let (mut kube, site) = (apart(), Site::start(Bind));
    let space = Space::new(&kube);
    space.services(5, ZONE);
    let between = between(&kube);
    let (line, services) = (through(&between, site.line(&space)), space.path("services"));
    let _folder = space.into_state();
    let daemon = line.start();
    until("five names", SOON, || site.ours().len() == 5);
    daemon.ready();
    let serial = site.serial();

    // It hears nothing while an object goes and the history with it: the object is missing from the new list.
    between.set(Fault::Drop);
    daemon.says(&["watch lost", "services"]);
    kube.delete(&format!("{services}/s4")).expect_success();
    kube.expire_versions();
    between.set(Fault::Pass);
    until("the one that vanished to go", LATER, || site.ours().len() == 4);
    assert_eq!(site.serial(), serial + 1, "and nothing else was written");
    kube.expire_versions();
    kube.delete(&format!("{services}/s3")).expect_success();
    until("changes to come through again", LATER, || site.ours().len() == 3);
    assert_eq!(site.serial(), serial + 2);
}

/// The API server comes back with nothing stored, and every list is empty.
#[test]
fn an_empty_cluster_deletes_nothing_until_that_is_approved() {
    needs!(Bind);
    let (mut kube, site) = (apart(), Site::start(Bind));
    let space = Space::new(&kube);
    space.services(5, ZONE);
    for n in 0..4 {
        space.ingress(&format!("i{n}"), &format!("i{n}.{ZONE}"), "192.0.2.77");
    }
    // All namespaces, as most run it: then the Service that the API server makes for itself is in sight.
    let daemon = site.line(&space).without("--namespace").arg("--interval=1s").start();
    until("nine names", SOON, || site.ours().len() == 9);
    daemon.ready();
    let (serial, zone) = (site.serial(), site.ours());
    let state = space.state_dir().to_owned();
    let folder = space.into_state();
    kube.wipe_and_restart();
    grant(&kube);

    daemon.unready(&["services: not read completely", "ingresses.networking.k8s.io: not read completely"], LATER);
    daemon.measures(HELD, 9.0);
    let line = daemon.says(&["9 deletes in zone shop.test are held: nothing is removed while the view of"]);
    assert!(line.contains("is not complete and fresh") && line.contains("zonewright approve "), "{line}");
    assert_eq!(site.serial(), serial, "not one update");
    assert_eq!(site.ours(), zone);

    let plans = command(&["plans", &format!("--state-dir={state}")]);
    let plans = String::from_utf8(plans.stdout).expect("text");
    assert!(plans.contains("zone rfc2136/shop.test: 9 deletes are held"), "{plans}");
    assert!(plans.contains("- s0.shop.test A 192.0.0.1") && plans.contains("- i3.shop.test A"), "{plans}");
    let hash = plans.split(' ').next().expect("a hash").to_owned();
    let wrong = command(&["approve", "000000000000", &format!("--state-dir={state}")]);
    assert!(!wrong.status.success() && site.ours() == zone);
    let approved = command(&["approve", &hash, &format!("--state-dir={state}")]);
    assert!(approved.status.success(), "{approved:?}");
    assert!(String::from_utf8_lossy(&approved.stdout).contains("9 deletes in zone"), "{approved:?}");
    site.shows(&[]);
    daemon.measures(HELD, 0.0);
    daemon.ready();
    // The daemon first: it saves its state there.
    drop(daemon);
    drop(folder);
}

/// It comes back so while no daemon runs: the next ones remember what was there, and believe it no more than that one would have.
#[test]
fn a_daemon_that_starts_with_an_empty_cluster_deletes_nothing_until_that_is_approved() {
    needs!(Bind);
    let (mut kube, site) = (apart(), Site::start(Bind));
    let space = Space::new(&kube);
    space.services(5, ZONE);
    let line = site.line(&space).without("--namespace").arg("--interval=1s");
    let state = format!("--state-dir={}", space.state_dir());
    let mut daemon = line.start();
    until("five names", SOON, || site.ours().len() == 5);
    daemon.ready();
    let _folder = space.into_state();
    assert!(daemon.terminate().status.success());
    let serial = site.serial();
    kube.wipe_and_restart();
    grant(&kube);

    daemon = line.start();
    daemon.unready(
        &["services: not read completely: its list holds no object, and an earlier process saw 3 or more"],
        LATER,
    );
    daemon.measures(HELD, 5.0);
    daemon.kill();
    daemon = line.start();
    daemon.measures(HELD, 5.0);
    assert_eq!(site.serial(), serial, "not one update");

    let plans = command(&["plans", &state]);
    let plans = String::from_utf8(plans.stdout).expect("text");
    let hash = plans.split(' ').next().expect("a hash").to_owned();
    let approved = command(&["approve", &hash, &state]);
    assert!(String::from_utf8_lossy(&approved.stdout).contains("5 deletes in zone"), "{plans}{approved:?}");
    site.shows(&[]);
    daemon.says(&["no delete waits for this kind: it is taken to be empty", "services"]);
    daemon.ready_within(LATER);
    assert!(daemon.terminate().status.success());
    line.start().ready_within(LATER);
}

/// Many objects vanish while the daemon hears nothing, and others stay: the list is not empty, so it is the brake that
/// holds.
#[test]
fn objects_that_vanish_unseen_are_held_by_the_brake() {
    needs!(Bind);
    let (mut kube, site) = (apart(), Site::start(Bind));
    let between = between(&kube);
    let space = Space::new(&kube);
    space.services(30, ZONE);
    let (line, services) = (through(&between, site.line(&space).arg("--interval=1s")), space.path("services"));
    let state = format!("--state-dir={}", space.state_dir());
    let _folder = space.into_state();
    let daemon = line.start();
    until("thirty names", SOON, || site.ours().len() == 30);
    let serial = site.serial();
    between.set(Fault::Drop);
    daemon.says(&["watch lost", "services"]);
    for n in 0..25 {
        kube.delete(&format!("{services}/s{n}")).expect_success();
    }
    kube.expire_versions();
    between.set(Fault::Pass);
    daemon.says_within(&["25 deletes in zone shop.test are held: 25 deletes are wanted"], LATER);
    assert_eq!((site.ours().len(), site.serial()), (30, serial));
    // One that is deleted before its eyes goes all the same.
    kube.delete(&format!("{services}/s29")).expect_success();
    until("the proven one to go", SOON, || site.ours().len() == 29);

    // The plan and why it is held survive a restart.
    assert!(daemon.terminate().status.success());
    let daemon = line.start();
    daemon.measures(HELD, 25.0);
    assert_eq!(site.ours().len(), 29);
    let hash = held_hash(&state);
    assert!(command(&["approve", &hash, &state]).status.success());
    until("the approved ones to go", SOON, || site.ours().len() == 4);
}

/// A proxy between the daemon and the API server.
fn between(kube: &KubeApi) -> TcpFault {
    let address = kube.url();
    let address = address.strip_prefix("https://").expect("an https URL").parse().expect("an address");
    TcpFault::start(address)
}

fn through(proxy: &TcpFault, line: CommandLine) -> CommandLine {
    line.arg(format!("--server=https://{}", proxy.addr()))
}

/// The hash of the plan that is held, from `zonewright plans`.
#[track_caller]
fn held_hash(state: &str) -> String {
    let plans = String::from_utf8(command(&["plans", state]).stdout).expect("text");
    let hash = plans.split(' ').next().filter(|hash| hash.len() == 12);
    hash.unwrap_or_else(|| panic!("no hash in {plans:?}")).to_owned()
}

#[test]
fn deleted_objects_go_at_once_however_many() {
    needs!(Bind);
    let (kube, site) = (shared(), Site::start(Bind));
    let space = Space::new(&kube);
    space.services(500, ZONE);
    let daemon = site.line(&space).start();
    until("500 names", LATER, || site.ours().len() == 500);
    space.delete("services", "s7");
    until("the one", SOON, || site.ours().len() == 499);
    // A busy API server gives up after a minute, and has deleted some of them by then.
    until("an answer", LATER, || kube.delete(&space.path("services")).status == 200);
    site.shows(&[]);
    assert!(site.claims().is_empty());
    assert_eq!(daemon.count("are held"), 0, "a DELETE event is a proof");
    assert!(daemon.metric(HELD).is_none_or(|held| held < 1.0));
}

/// Verb and resource of every request of the daemon, with their number; a watch counts when it begins.
fn requests(kube: &KubeApi) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for event in kube.audit_log_of(User::Zonewright) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (verb, stage) = (text(&event["verb"]), text(&event["stage"]));
        let agent = text(&event["userAgent"]);
        if !agent.starts_with("zonewright/") || (verb == "watch") != (stage == "ResponseStarted") {
            continue;
        }
        let resource = match event["objectRef"]["resource"].as_str() {
            Some(resource) => resource.to_owned(),
            None => text(&event["requestURI"]),
        };
        *counts.entry(format!("{verb} {resource}")).or_default() += 1;
    }
    counts
}

#[test]
fn the_api_server_is_asked_once_and_then_watched() {
    needs!(Bind);
    let (kube, site) = (own(), Site::start(Bind));
    let space = Space::new(&kube);
    space.services(3, ZONE);
    space.ingress("front", &format!("front.{ZONE}"), "192.0.2.1");
    let quiet = |daemon: &crate::daemon::Daemon| {
        daemon.ready();
        // Four audits of the zone: by then a daemon that polls would have asked again.
        let reads = "zonewright_provider_calls_total{instance=\"rfc2136\",operation=\"audit\",outcome=\"ok\"}";
        wait_for("four audits", SOON, || daemon.metric(reads).filter(|reads| *reads >= 4.0));
    };
    let daemon = site.line(&space).without("--namespace").arg("--interval=1s").start();
    quiet(&daemon);
    drop(daemon);
    let asked = requests(&kube);
    let kinds = ["endpointslices", "ingresses", "nodes", "pods", "services"];
    for kind in kinds {
        let count = |verb: &str| asked.get(&format!("{verb} {kind}")).copied().unwrap_or(0);
        assert!(count("list") <= 1 && (1..=2).contains(&count("watch")), "{kind}: {asked:#?}");
    }
    let allowed: BTreeSet<&str> = kinds.into_iter().chain(["events", "configmaps"]).collect();
    let others: Vec<&String> = asked
        .keys()
        .filter(|request| !request.split(' ').nth(1).is_some_and(|resource| allowed.contains(resource)))
        .collect();
    assert!(others.is_empty(), "{others:?}");

    // A source that is not asked for is not watched.
    let before = requests(&kube);
    let daemon =
        site.line(&space).without("--source").without("--namespace").args(&["--source=ingress", "--interval=1s"]);
    let daemon = daemon.start();
    quiet(&daemon);
    drop(daemon);
    let later = requests(&kube);
    let new: Vec<&String> =
        later.iter().filter(|(key, count)| before.get(*key) != Some(count)).map(|(key, _)| key).collect();
    assert!(new.iter().all(|request| request.ends_with(" ingresses") || request.ends_with(" events")), "{new:?}");
    assert!(new.iter().any(|request| request.ends_with("watch ingresses")), "{new:?}");
}
