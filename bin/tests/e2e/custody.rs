//! Claims that change hands by command, against real servers: records are compared before and after, to the letter.

use tempfile::TempDir;
use zonewright_testkit::DnsSoftware;
use zonewright_testkit::require;

use crate::daemon::{CommandLine, ends, text};
use crate::manifests::{folder, service, write};
use crate::site::Site;

/// A zone with a folder of manifests, and the command line of a daemon over both.
struct Shop {
    site: Site,
    folder: TempDir,
}

impl Shop {
    fn new(software: DnsSoftware, records: &str, hosts: &[(&str, &str)]) -> Self {
        let shop = Self { site: Site::with(software, records), folder: folder() };
        for (host, address) in hosts {
            shop.put(host, address);
        }
        shop
    }

    fn put(&self, host: &str, address: &str) {
        write(self.folder.path(), &format!("{host}.yaml"), &service(host, host, address));
    }

    fn line(&self) -> CommandLine {
        let line = self.site.provider(self.site.dns.addr().port()).arg("--source=service");
        line.arg(format!("--manifests={}", text(self.folder.path())))
    }

    /// The command line of a command that reads no objects.
    fn order(&self, word: &str) -> CommandLine {
        self.line().without("--source").without("--manifests").ordered(word)
    }

    fn once(&self) {
        let ended = self.line().arg("--once").run();
        assert_eq!(ended.status.code(), Some(0), "{}", ended.log);
    }
}

const TWO: &[(&str, &str)] = &[("web", "192.0.2.1"), ("api", "192.0.2.2")];
const SHOWN: &[&str] = &["api 0 A 192.0.2.2", "web 0 A 192.0.2.1"];

crate::each_server!(records_go_from_one_owner_to_another, an_owner_leaves_for_good, records_are_released_and_adopted);

fn records_go_from_one_owner_to_another(software: DnsSoftware) {
    require!(software.tools());
    let shop = Shop::new(software, "", TWO);
    shop.once();
    let line = shop.order("transfer").without("--txt-owner-id").args(&["--from=e2e", "--to=next"]);
    let before = shop.site.zone();
    ends(&line, 2, &["2 records of \"e2e\" become those of \"next\"", "nothing was done"]);
    ends(&line.clone().args(&["--dry-run", "--yes"]), 0, &["dry run"]);
    assert_eq!(shop.site.zone(), before);
    // A part of them, then the rest.
    ends(
        &line.clone().args(&["--yes", "service/default/web"]),
        0,
        &["1 done, 0 failed", "0 differ; 0 claims are left"],
    );
    assert_eq!(shop.site.claims().iter().filter(|claim| claim.contains("owner=next")).count(), 1);
    ends(&line.clone().arg("--yes"), 0, &["1 done"]);
    ends(&line.arg("--yes"), 0, &["nothing to do"]);
    assert_eq!(shop.site.ours(), SHOWN);
    assert!(shop.site.claims().iter().all(|claim| claim.contains("owner=next")), "{:?}", shop.site.claims());
    // The former owner has no say any more, the new one has.
    shop.put("web", "192.0.2.9");
    shop.once();
    assert_eq!(shop.site.ours(), SHOWN);
    let next = shop.line().without("--txt-owner-id").args(&["--txt-owner-id=next", "--once"]).run();
    assert_eq!(next.status.code(), Some(0), "{}", next.log);
    shop.site.shows(&["api 0 A 192.0.2.2", "web 0 A 192.0.2.9"]);
}

fn an_owner_leaves_for_good(software: DnsSoftware) {
    require!(software.tools());
    let shop = Shop::new(software, "", TWO);
    shop.once();
    let anonymous = shop.order("drain").without("--txt-owner-id").arg("--yes");
    ends(&anonymous, 1, &["whose records are meant", "e2e (2 records)", "someone-else (1 records)"]);
    ends(&shop.order("drain"), 2, &["- web.shop.test", "- api.shop.test", "nothing was done"]);
    assert_eq!(shop.site.ours(), SHOWN);
    // A claim whose record is gone goes along.
    shop.site.dns.nsupdate("update delete web.shop.test A");
    ends(&shop.order("drain").arg("--yes"), 0, &["a claim without a record", "2 done, 0 failed", "0 changes are left"]);
    assert_eq!(shop.site.ours_and_claims(), (vec![], vec![]));
}

fn records_are_released_and_adopted(software: DnsSoftware) {
    require!(software.tools());
    let shop = Shop::new(software, "", TWO);
    shop.once();
    ends(&shop.order("release").args(&["--yes", "web.shop.test"]), 0, &["become nobody's and stay", "1 done"]);
    assert_eq!((shop.site.ours().as_slice(), shop.site.claims().len()), (&SHOWN.map_to_owned()[..], 1));
    // What nobody claims is left alone, whatever the cluster wants.
    shop.put("web", "192.0.2.9");
    shop.once();
    assert_eq!(shop.site.ours(), SHOWN);
    let adopt = shop.line().ordered("adopt").arg("--yes");
    ends(&adopt, 0, &["nothing to do", "wants 192.0.2.9", "--force web.shop.test"]);
    ends(&adopt.clone().arg("--force=web.shop.test"), 0, &["1 done, 0 failed", "0 differ"]);
    assert_eq!((shop.site.ours().as_slice(), shop.site.claims().len()), (&SHOWN.map_to_owned()[..], 2));
    shop.once();
    shop.site.shows(&["api 0 A 192.0.2.2", "web 0 A 192.0.2.9"]);
    // As a flag of the daemon: only what matches.
    ends(&shop.order("release").arg("--yes"), 0, &["2 done"]);
    shop.put("api", "192.0.2.8");
    let line = shop.line().args(&["--adopt-matching", "--once"]);
    assert_eq!(line.run().status.code(), Some(0));
    let claims = shop.site.claims();
    assert!(claims.len() == 1 && claims[0].contains("service/default/web"), "{claims:?}");
    assert_eq!(shop.site.ours(), ["api 0 A 192.0.2.2", "web 0 A 192.0.2.9"]);
}

/// The same flags beside a daemon that runs: one state folder, one journal.
struct Beside {
    shop: Shop,
    state: (TempDir, String),
}

impl Beside {
    fn new(software: DnsSoftware, records: &str, hosts: &[(&str, &str)]) -> Self {
        Self { shop: Shop::new(software, records, hosts), state: crate::daemon::state_folder() }
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
    an_adoption_is_told_and_undone,
    a_release_is_told_and_undone,
    a_transfer_is_told_and_undone,
    a_drain_is_told_and_undone
);

fn an_adoption_is_told_and_undone(software: DnsSoftware) {
    require!(software.tools());
    let records = "web 60 IN A 192.0.2.1\napi 60 IN A 192.0.2.2\n";
    let mut beside = Beside::new(software, records, TWO);
    beside.shop.site.release("192.0.2.");
    let before = beside.shop.site.zone();
    let daemon = beside.daemon().arg("--adopt-matching").start();
    // What the daemon adopts by itself is told and undone like what a command does.
    crate::until("the claims", crate::SOON, || beside.shop.site.claims().len() == 2);
    daemon.ready();
    let told = beside.said(&["history", "web.shop.test"]);
    assert!(told.contains("applied") && told.contains("claim of web.shop.test A: owner nobody -> e2e"), "{told}");
    let undone = beside.said(&["undo", "--since=1h", "--yes"]);
    assert!(undone.contains("  claim of api.shop.test A: owner e2e -> nobody\n"), "{undone}");
    assert!(undone.contains("2 names went back and are on hold"), "{undone}");
    beside.shows("the claims are given up", &before);
    let rounds = daemon.metric("external_dns_controller_no_op_runs_total").unwrap_or(0.0);
    let idle = || daemon.metric("external_dns_controller_no_op_runs_total").is_some_and(|now| now >= rounds + 3.0);
    crate::until("three rounds more", crate::SOON, idle);
    assert_eq!(beside.shop.site.zone(), before, "the hold stops the daemon from adopting again");
    daemon.terminate();

    // No daemon runs: the command writes the journal, the next daemon reads it; holds are read from the saved state.
    let held = beside.said(&["holds"]);
    assert!(
        held.contains("web.shop.test in zone rfc2136/shop.test: on hold until") && held.contains("no daemon"),
        "{held}"
    );
    let hash = Beside::done(&beside.order("adopt"), &["2 done, 0 failed", "0 differ"]);
    let told = beside.said(&["history", "--limit=2"]);
    assert!(told.contains(&format!("{hash} (adopt)")) && told.contains("owner nobody -> e2e"), "{told}");
    let daemon = beside.daemon().start();
    daemon.ready();
    let plan = format!("--plan={hash}");
    assert!(beside.said(&["undo", &plan, "--yes"]).contains("2 names went back"), "{}", beside.said(&["history"]));
    beside.shows("given up again", &before);
    assert!(beside.said(&["undo", &plan, "--yes"]).contains("There is nothing to undo"));
}

fn a_release_is_told_and_undone(software: DnsSoftware) {
    require!(software.tools());
    let beside = Beside::new(software, "", TWO);
    let daemon = beside.daemon().start();
    beside.shop.site.shows(SHOWN);
    daemon.ready();
    let before = beside.shop.site.zone();
    let hash = Beside::done(&beside.order("release"), &["2 done, 0 failed", "written down in "]);
    assert_eq!((beside.shop.site.ours().as_slice(), beside.shop.site.claims().len()), (&SHOWN.map_to_owned()[..], 0));
    let told = beside.said(&["history", "--output=json", "--limit=1"]);
    let told: serde_json::Value = serde_json::from_str(&told).expect("JSON");
    let entry = &told["entries"][0];
    assert_eq!((&entry["cause"], &entry["outcome"]), (&"release".into(), &"applied".into()), "{told}");
    assert_eq!((&entry["claims"][0]["from"], &entry["claims"][0]["to"]), (&"e2e".into(), &serde_json::Value::Null));
    let undone = beside.said(&["undo", &format!("--plan={hash}"), "--yes"]);
    assert!(undone.contains("  claim of web.shop.test A: owner nobody -> e2e\n"), "{undone}");
    beside.shows("to the letter, claims too", &before);
}

fn a_transfer_is_told_and_undone(software: DnsSoftware) {
    require!(software.tools());
    let beside = Beside::new(software, "", TWO);
    let daemon = beside.daemon().start();
    beside.shop.site.shows(SHOWN);
    daemon.ready();
    let before = beside.shop.site.zone();
    let order = beside.order("transfer").without("--txt-owner-id").args(&["--from=e2e", "--to=next"]);
    let hash = Beside::done(&order, &["2 done, 0 failed"]);
    let told = beside.said(&["history", "web.shop.test"]);
    assert!(told.contains(&format!("{hash} (transfer)")), "{told}");
    assert!(told.contains("claim of web.shop.test A: owner e2e -> next"), "{told}");
    // The new owner makes one of the records its own; the other one comes back.
    beside.shop.site.dns.nsupdate("update delete web.shop.test A\nupdate add web.shop.test 0 A 192.0.2.9");
    let undone = beside.said(&["undo", &format!("--plan={hash}"), "--yes"]);
    assert!(undone.contains("left alone: web.shop.test A: changed since by somebody else"), "{undone}");
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

fn a_drain_is_told_and_undone(software: DnsSoftware) {
    require!(software.tools());
    let beside = Beside::new(software, "", TWO);
    let daemon = beside.daemon().start();
    beside.shop.site.shows(SHOWN);
    daemon.ready();
    daemon.terminate();
    let before = beside.shop.site.zone();
    let hash = Beside::done(&beside.order("drain"), &["2 done, 0 failed", "0 changes are left"]);
    assert_eq!(beside.shop.site.ours_and_claims(), (vec![], vec![]));
    for (host, _) in TWO {
        std::fs::remove_file(beside.shop.folder.path().join(format!("{host}.yaml"))).expect("remove a manifest");
    }
    let daemon = beside.daemon().start();
    daemon.ready();
    let told = beside.said(&["history", "web.shop.test"]);
    assert!(told.contains(&format!("{hash} (drain)")) && told.contains("- web.shop.test 0 A 192.0.2.1"), "{told}");
    let undone = beside.said(&["undo", &format!("--plan={hash}"), "--yes"]);
    assert!(undone.contains("  + web.shop.test 0 A 192.0.2.1\n") && undone.contains("2 names went back"), "{undone}");
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
            eprintln!("skipped: no right to mount a file system");
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
        ends(&release.arg("api.shop.test"), 0, &["the journal cannot be written: it goes on", "1 done, 0 failed"]);
    assert_eq!(ended.log.matches("the journal cannot be written").count(), 1, "{}", ended.log);
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

/// Where neither a daemon nor anything of one is found, that is said in a sentence.
#[test]
fn history_and_holds_of_nobody() {
    let folder = crate::daemon::state_folder();
    for word in ["history", "holds"] {
        let output = crate::daemon::command(&[word, &format!("--state-dir={}", folder.1), "--txt-owner-id=nobody"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains("no daemon of owner \"nobody\" answers in"), "{said}");
        assert!(said.contains("--kubeconfig and --state-namespace"), "{said}");
    }
}

/// State and journal in ConfigMaps, and no daemon whose socket could be reached: they are read where they are, and a command
/// goes on in the same journal.
#[test]
fn what_a_daemon_keeps_in_a_cluster_is_found_there() {
    use zonewright_cluster::{ConfigMapJournal, ConfigMapStore, ConnectOptions, RingLimits, connect};
    use zonewright_core::journal::JournalStore as _;
    use zonewright_core::store::Store as _;

    crate::needs!(DnsSoftware::Bind);
    const OWNER: &str = "far-away";
    let kube = crate::cluster::shared();
    let space = crate::cluster::Space::new(&kube);
    let kubeconfig = format!("--kubeconfig={}", text(&space.kubeconfig()));
    let common = [kubeconfig.as_str(), "--txt-owner-id=far-away", "--state-namespace=default"];
    let run = |words: &[&str]| {
        let output = crate::daemon::command(&[words, &common].concat());
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    };
    for word in ["history", "holds"] {
        assert!(run(&[word]).contains("no daemon of owner \"far-away\" answers in"), "{}", run(&[word]));
    }
    let until = jiff::Timestamp::now().as_millisecond() + 3_600_000;
    let state = format!(
        r#"{{"zones":{{"i/z":{{"holds":[{{"plan":"abc","since":1,"until":{until},"names":{{"held.shop.test":null}}}},
            {{"plan":"old","since":1,"until":2,"names":{{"over.shop.test":null}}}}]}}}}}}"#
    );
    let line = r#"{"v":1,"kind":"change","id":1,"at":1,"zone":"i/z","apex":"z","name":"x.z","plan":"p1","steps":[]}"#;
    let write = async {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let options = ConnectOptions { kubeconfig: Some(space.kubeconfig()), ..ConnectOptions::default() };
        let cluster = connect(&options).await.expect("a connection");
        let ring = ConfigMapJournal::new(&cluster, "default", OWNER, RingLimits::default());
        ring.append(&[line.to_owned()]).await.expect("append a line");
        ConfigMapStore::new(&cluster, "default", OWNER).save(state.as_bytes()).await.expect("save the state");
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(write);
    let told = run(&["history", "--output=json"]);
    assert!(
        told.contains("\"plan\":\"p1\"") && told.contains("ConfigMaps default/zonewright-far-away-journal-*"),
        "{told}"
    );
    let held = run(&["holds"]);
    assert!(held.contains("held.shop.test in zone i/z") && !held.contains("over.shop.test"), "{held}");
    assert!(held.contains("ConfigMap default/zonewright-far-away (no daemon answers)"), "{held}");

    // A command goes on in the ring that it finds.
    let shop = Shop::new(DnsSoftware::Bind, "", TWO);
    let owner = |line: CommandLine| line.without("--txt-owner-id").args(&common[1..2]);
    let once = owner(shop.line()).args(&["--once", &format!("--state-dir={}", space.state_dir())]);
    assert_eq!(once.run().status.code(), Some(0));
    let release = owner(shop.order("release")).args(&common[..1]).args(&common[2..]).arg("--yes");
    ends(&release, 0, &["2 done, 0 failed", "written down in ConfigMaps default/zonewright-far-away-journal-*"]);
    let told = run(&["history"]);
    assert!(
        told.contains("claim of web.shop.test A: owner far-away -> nobody") && told.contains(" applied "),
        "{told}"
    );
    let told = run(&["history", "--output=json"]);
    assert!(told.contains("\"plan\":\"p1\""), "nothing of it is lost: {told}");
}

trait MapToOwned {
    fn map_to_owned(&self) -> Vec<String>;
}

impl MapToOwned for &[&str] {
    fn map_to_owned(&self) -> Vec<String> {
        self.iter().map(|text| (*text).to_owned()).collect()
    }
}

/// The local socket answers whoever shows the token beside it, and nobody else.
#[test]
fn the_socket_wants_its_token() {
    use std::io::{Read, Write};
    use std::os::unix::fs::PermissionsExt;

    require!(DnsSoftware::Bind.tools());
    let shop = Shop::new(DnsSoftware::Bind, "", TWO);
    let state = crate::daemon::state_folder();
    let daemon = shop.line().arg(format!("--state-dir={}", state.1)).start();
    shop.site.shows(SHOWN);
    daemon.ready();
    let folder = std::path::Path::new(&state.1);
    let mut socket = std::os::unix::net::UnixStream::connect(folder.join("control.sock")).expect("the socket");
    socket.write_all(b"{\"command\":\"plans\",\"token\":\"x\"}\n").expect("a request");
    let mut reply = String::new();
    socket.read_to_string(&mut reply).expect("a reply");
    assert!(reply.contains("token is wrong"), "{reply}");
    let token = folder.join("control.token");
    assert_eq!(std::fs::metadata(&token).expect("the token").permissions().mode() & 0o777, 0o600);
    let plans = crate::daemon::command(&["plans", &format!("--state-dir={}", state.1)]);
    assert!(String::from_utf8_lossy(&plans.stdout).contains("No plan is held"), "{plans:?}");
}
