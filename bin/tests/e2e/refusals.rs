//! A server that takes some names and refuses others, or takes nothing: who waits, and what is reported.

use std::path::Path;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use zonewright_testkit::DnsSoftware::Bind;
use zonewright_testkit::require;

use crate::daemon::{CommandLine, Daemon, state_folder, text};
use crate::manifests::{folder, service, write};
use crate::site::{Site, ZONE};
use crate::{LATER, SOON, until};

const READY: &str = "zonewright_zone_ready{zone=\"rfc2136/shop.test\"}";
const PARKED: &str = "zonewright_parked_names{zone=\"rfc2136/shop.test\"}";

struct Scene {
    site: Site,
    folder: TempDir,
    state: (TempDir, String),
}

impl Scene {
    fn new(rules: &str) -> Self {
        Self { site: Site::with_rules(rules), folder: folder(), state: state_folder() }
    }

    fn put(&self, name: &str) {
        write(self.folder.path(), &format!("{name}.yaml"), &service(name, name, "192.0.2.1"));
    }

    fn line(&self) -> CommandLine {
        let folder: &Path = self.folder.path();
        let line = self.site.provider(self.site.dns.addr().port()).args(&["--source=service", "--interval=1s"]);
        line.arg(format!("--manifests={}", text(folder))).arg(format!("--state-dir={}", self.state.1))
    }
}

fn count(daemon: &Daemon, texts: &[&str]) -> usize {
    daemon.log().lines().filter(|line| texts.iter().all(|text| line.contains(text))).count()
}

/// Three pending names that the update policy forbids. A good name is live at once, and what is said agrees.
#[test]
fn names_that_the_server_refuses_hold_up_no_other() {
    require!(Bind.tools());
    let names = ["bad1", "bad2", "bad3"];
    let rules: Vec<String> = names.iter().map(|name| format!("deny ddns name {name}.{ZONE};")).collect();
    let rules = rules.join(" ");
    let scene = Scene::new(&rules);
    scene.put("old");
    for name in &names {
        scene.put(name);
    }
    let daemon = scene.line().start();
    scene.site.shows(&["old 0 A 192.0.2.1"]);
    until("three refused names", SOON, || daemon.metric(PARKED) == Some(3.0));
    drop(daemon);

    // After a restart only they are pending.
    let daemon = scene.line().start();
    until("three refused names", SOON, || daemon.metric(PARKED) == Some(3.0));
    for name in names {
        daemon.says(&["RecordRefused", &format!("{name}.{ZONE}"), "REFUSED"]);
    }
    daemon.ready();
    // Each has been tried again by now; the zone went on all the time.
    let refused = "zonewright_changes_total{zone=\"rfc2136/shop.test\",verb=\"create\",outcome=\"refused\"}";
    until("further attempts", LATER, || daemon.metric(refused).is_some_and(|refused| refused >= 9.0));
    scene.put("good");
    let began = Instant::now();
    until("the good name", SOON, || !scene.site.dig("good", "A").is_empty());
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    assert_eq!((daemon.page("/readyz").0, daemon.metric(READY)), (200, Some(1.0)));
    for name in names {
        let said = count(&daemon, &["level=warn", &format!("{name}.{ZONE}")]);
        assert_eq!(said, 1, "one line names {name}:\n{}", daemon.log());
    }
    for text in ["ZoneNotServed", "ZoneNotWritable", "the zone cannot be served", "a DNS server did not take an update"]
    {
        assert_eq!(daemon.count(text), 0, "{text}:\n{}", daemon.log());
    }
    drop(daemon);
}

/// Everything is refused: the zone pauses, is not ready, and says so once. A name that is accepted ends it.
#[test]
fn a_zone_that_refuses_everything_pauses_and_says_so_once() {
    require!(Bind.tools());
    let mut scene = Scene::new("");
    scene.put("old");
    let daemon = scene.line().start();
    scene.site.shows(&["old 0 A 192.0.2.1"]);
    daemon.ready();
    drop(daemon);
    scene.site.dns.restart_with_rules("deny ddns zonesub ANY;");
    for n in 0..20 {
        scene.put(&format!("n{n:02}"));
    }
    let daemon = scene.line().start();
    daemon.says(&["level=error", "the zone cannot be served", "16 updates in a row were refused", "REFUSED"]);
    daemon.unready(&["zone shop.test: ", "in a row were refused"], LATER);
    daemon.measures(READY, 0.0);
    until("each to be tried", LATER, || (0..20).all(|n| count(&daemon, &["RecordRefused", &format!("n{n:02}.")]) > 0));
    assert_eq!(daemon.count("the zone cannot be served"), 1, "{}", daemon.log());
    for n in 0..20 {
        assert_eq!(count(&daemon, &["RecordRefused", &format!("n{n:02}.")]), 1, "{}", daemon.log());
    }
    assert_eq!(count(&daemon, &["ZoneNot", "old"]), 0);
    scene.site.dns.restart_with_rules(&format!("deny ddns name n00.{ZONE};"));
    until("all but one", LATER, || scene.site.ours().len() == 20);
    daemon.ready_within(LATER);
    daemon.measures(READY, 1.0);
    daemon.says(&["the zone works again"]);
}
