//! What changes hands is written down in the journal, and undone from there; also where the journal cannot be written.

use tempfile::TempDir;
use zonewright_testkit::{DnsSoftware, require, tools};

use super::{MapToOwned, SHOWN, Shop, TWO};
use crate::daemon::{CommandLine, Daemon, ends};

/// The same flags beside a daemon that runs: one state folder, one journal.
struct Beside {
    shop: Shop,
    state: (TempDir, String),
}

impl Beside {
    fn new(software: DnsSoftware, records: &str, hosts: &[(&str, &str)]) -> Self {
        Self { shop: Shop::new(software, records, hosts), state: crate::daemon::state_folder() }
    }

    /// Two records are published by a daemon that runs.
    #[track_caller]
    fn running(software: DnsSoftware) -> (Self, Daemon) {
        let beside = Self::new(software, "", TWO);
        let daemon = beside.daemon().start();
        beside.shop.site.shows(SHOWN);
        daemon.ready();
        (beside, daemon)
    }

    fn state(&self) -> String {
        format!("--state-dir={}", self.state.1)
    }

    fn daemon(&self) -> CommandLine {
        self.shop.line().args(&[&self.state(), "--interval=1s"])
    }

    fn order(&self, word: &str) -> CommandLine {
        let line = if word == "adopt" { self.shop.line().ordered(word) } else { self.shop.order(word) };
        line.args(&[&self.state(), "--yes"])
    }

    /// Carries an order out. Returns the hash that undoes it.
    #[track_caller]
    fn done(line: &CommandLine, says: &[&str]) -> String {
        let ended = ends(line, 0, says);
        let hash = ended.log.split("zonewright undo --plan ").nth(1).expect("how it is undone");
        hash.split_whitespace().next().expect("a hash").to_owned()
    }

    /// What a command of this owner prints.
    #[track_caller]
    fn said(&self, arguments: &[&str]) -> String {
        let (state, owner) = (self.state(), format!("--txt-owner-id={}", crate::site::OWNER));
        let output = crate::daemon::command(&[arguments, &[state.as_str(), owner.as_str()]].concat());
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        format!("{out}{err}")
    }

    #[track_caller]
    fn shows(&self, what: &str, expected: &[String]) {
        let shown = zonewright_testkit::poll(crate::SOON, || (self.shop.site.zone() == expected).then_some(()));
        assert!(shown.is_some(), "{what}: {:#?}\nexpected {expected:#?}", self.shop.site.zone());
    }
}

crate::each_server!(
    an_adoption_is_recorded_and_undone,
    a_release_is_recorded_and_undone,
    a_transfer_is_recorded_and_undone,
    a_drain_is_recorded_and_undone
);

fn an_adoption_is_recorded_and_undone(software: DnsSoftware) {
    require!(software.tools());
    let records = "web 60 IN A 192.0.2.1\napi 60 IN A 192.0.2.2\n";
    let mut beside = Beside::new(software, records, TWO);
    beside.shop.site.release("192.0.2.");
    let before = beside.shop.site.zone();
    let daemon = beside.daemon().arg("--adopt-matching").start();
    // What the daemon adopts by itself is recorded and undone like what a command does.
    crate::until("the claims", crate::SOON, || beside.shop.site.claims().len() == 2);
    daemon.ready();
    let shown = beside.said(&["history", "web.shop.test"]);
    assert!(shown.contains("applied") && shown.contains("claim of web.shop.test A: owner nobody -> e2e"), "{shown}");
    let undone = beside.said(&["undo", "--since=1h", "--yes"]);
    assert!(undone.contains("  claim of api.shop.test A: owner e2e -> nobody\n"), "{undone}");
    assert!(undone.contains("2 names were restored and pinned"), "{undone}");
    beside.shows("the claims are given up", &before);
    let rounds = daemon.metric("external_dns_controller_no_op_runs_total").unwrap_or(0.0);
    let idle = || daemon.metric("external_dns_controller_no_op_runs_total").is_some_and(|now| now >= rounds + 3.0);
    crate::until("three rounds more", crate::SOON, idle);
    assert_eq!(beside.shop.site.zone(), before, "the hold stops the daemon from adopting again");
    daemon.terminate();

    // No daemon runs: the command writes the journal, the next daemon reads it; holds are read from the saved state.
    let held = beside.said(&["pinned"]);
    assert!(
        held.contains("web.shop.test in zone rfc2136/shop.test: pinned until") && held.contains("no daemon"),
        "{held}"
    );
    let hash = Beside::done(&beside.order("adopt"), &["2 done, 0 failed", "0 differ"]);
    let shown = beside.said(&["history", "--limit=2"]);
    assert!(shown.contains(&format!("{hash} (adopt)")) && shown.contains("owner nobody -> e2e"), "{shown}");
    let daemon = beside.daemon().start();
    daemon.ready();
    let plan = format!("--plan={hash}");
    assert!(beside.said(&["undo", &plan, "--yes"]).contains("2 names were restored"), "{}", beside.said(&["history"]));
    beside.shows("given up again", &before);
    assert!(beside.said(&["undo", &plan, "--yes"]).contains("There is nothing to undo"));
}

fn a_release_is_recorded_and_undone(software: DnsSoftware) {
    require!(software.tools());
    let (beside, _daemon) = Beside::running(software);
    let before = beside.shop.site.zone();
    let hash = Beside::done(&beside.order("release"), &["2 done, 0 failed", "journaled in "]);
    assert_eq!((beside.shop.site.ours().as_slice(), beside.shop.site.claims().len()), (&SHOWN.map_to_owned()[..], 0));
    let shown = beside.said(&["history", "--output=json", "--limit=1"]);
    let shown: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
    let entry = &shown["entries"][0];
    assert_eq!((&entry["cause"], &entry["outcome"]), (&"release".into(), &"applied".into()), "{shown}");
    assert_eq!((&entry["claims"][0]["from"], &entry["claims"][0]["to"]), (&"e2e".into(), &serde_json::Value::Null));
    let undone = beside.said(&["undo", &format!("--plan={hash}"), "--yes"]);
    assert!(undone.contains("  claim of web.shop.test A: owner nobody -> e2e\n"), "{undone}");
    beside.shows("to the letter, claims too", &before);
}

fn a_transfer_is_recorded_and_undone(software: DnsSoftware) {
    require!(software.tools());
    let (beside, _daemon) = Beside::running(software);
    let before = beside.shop.site.zone();
    let order = beside.order("transfer").without("--txt-owner-id").args(&["--from=e2e", "--to=next"]);
    let hash = Beside::done(&order, &["2 done, 0 failed"]);
    let shown = beside.said(&["history", "web.shop.test"]);
    assert!(shown.contains(&format!("{hash} (transfer)")), "{shown}");
    assert!(shown.contains("claim of web.shop.test A: owner e2e -> next"), "{shown}");
    // The new owner makes one of the records its own; the other one comes back.
    beside.shop.site.dns.nsupdate("update delete web.shop.test A\nupdate add web.shop.test 0 A 192.0.2.9");
    let undone = beside.said(&["undo", &format!("--plan={hash}"), "--yes"]);
    assert!(undone.contains("unchanged: web.shop.test A: changed since by another writer"), "{undone}");
    assert!(undone.contains("  claim of api.shop.test A: owner next -> e2e\n"), "{undone}");
    let mut expected: Vec<String> = before.iter().filter(|line| !line.contains("web.")).cloned().collect();
    let web = |line: &&String| line.contains("web.");
    expected.extend(
        before.iter().filter(web).map(|line| line.replace("192.0.2.1", "192.0.2.9").replace("owner=e2e", "owner=next")),
    );
    expected.sort_unstable();
    let sorted = |mut zone: Vec<String>| {
        zone.sort_unstable();
        zone
    };
    let back = zonewright_testkit::poll(crate::SOON, || (sorted(beside.shop.site.zone()) == expected).then_some(()));
    assert!(back.is_some(), "{:#?}\nexpected {expected:#?}", beside.shop.site.zone());
}

fn a_drain_is_recorded_and_undone(software: DnsSoftware) {
    require!(software.tools());
    let (beside, daemon) = Beside::running(software);
    daemon.terminate();
    let before = beside.shop.site.zone();
    let hash = Beside::done(&beside.order("drain"), &["2 done, 0 failed", "0 changes remain"]);
    assert_eq!(beside.shop.site.ours_and_claims(), (vec![], vec![]));
    for (host, _) in TWO {
        std::fs::remove_file(beside.shop.folder.path().join(format!("{host}.yaml"))).expect("remove a manifest");
    }
    let daemon = beside.daemon().start();
    daemon.ready();
    let shown = beside.said(&["history", "web.shop.test"]);
    assert!(shown.contains(&format!("{hash} (drain)")) && shown.contains("- web.shop.test 0 A 192.0.2.1"), "{shown}");
    let undone = beside.said(&["undo", &format!("--plan={hash}"), "--yes"]);
    assert!(
        undone.contains("  + web.shop.test 0 A 192.0.2.1\n") && undone.contains("2 names were restored"),
        "{undone}"
    );
    beside.shows("records and claims, to the letter", &before);
}

/// A file system of 16 KiB that is full; only the administrator may make one. It ends with the test.
struct FullDisk(std::path::PathBuf);

impl FullDisk {
    fn at(folder: std::path::PathBuf) -> Option<Self> {
        std::fs::create_dir_all(&folder).expect("a folder");
        let mut mount = std::process::Command::new("mount");
        let mounted = mount.args(["-t", "tmpfs", "-o", "size=16k", "tmpfs"]).arg(&folder).status();
        if !mounted.is_ok_and(|status| status.success()) {
            tools::tell("ownership::a_journal_on_a_disk_that_is_full", "no right to mount a file system");
            return None;
        }
        let disk = Self(folder);
        assert!(std::fs::write(disk.0.join("fill"), vec![0; 1 << 20]).is_err(), "the disk is full");
        Some(disk)
    }

    fn make_room(&self) {
        std::fs::remove_file(self.0.join("fill")).expect("make room");
    }
}

impl Drop for FullDisk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// A full disk: with `required` the command sends nothing, nor does the daemon; else they go on and say so.
#[test]
fn a_journal_on_a_disk_that_is_full() {
    require!(DnsSoftware::Bind.tools());
    let beside = Beside::new(DnsSoftware::Bind, "", TWO);
    beside.shop.once();
    let before = beside.shop.site.zone();
    let Some(disk) = FullDisk::at(std::path::Path::new(&beside.state.1).join("journal")) else { return };
    let release = beside.order("release");
    let texts = ["not_sent", "--journal=required", "No space left on device", "0 done, 2 failed"];
    ends(&release.clone().arg("--journal=required"), 1, &texts);
    assert_eq!(beside.shop.site.zone(), before);
    let ended =
        ends(&release.arg("api.shop.test"), 0, &["the journal cannot be written: changes go on", "1 done, 0 failed"]);
    assert_eq!(ended.log.matches("the journal cannot be written").count(), 1, "{}", ended.log);
    assert!(!ended.log.contains("it is undone with"), "nothing was written down: {}", ended.log);
    let before = beside.shop.site.zone();
    beside.shop.put("web", "192.0.2.9");
    let daemon = beside.daemon().arg("--journal=required").start();
    daemon.says(&["level=warning", "the journal cannot be written: nothing is sent until it can"]);
    daemon.unready(&["nothing is sent while the journal cannot be written"], crate::LATER);
    assert_eq!(beside.shop.site.zone(), before);
    assert!(daemon.metric("zonewright_journal_errors_total").is_some_and(|count| count >= 1.0));
    disk.make_room();
    beside.shop.site.shows(&["api 0 A 192.0.2.2", "web 0 A 192.0.2.9"]);
    daemon.says(&["the journal can be written again"]);
}
