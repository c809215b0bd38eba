//! The history of what was changed, and the way back: the commands against a running daemon and against none.

use std::fs;
use std::path::Path;
use std::process::Output;

use tempfile::TempDir;
use zonewright_testkit::DnsSoftware::Bind;
use zonewright_testkit::require;

use crate::daemon::{CommandLine, Daemon, command, state_folder, text};
use crate::site::{OWNER, Site};

fn folder() -> TempDir {
    tempfile::Builder::new().prefix("zonewright-manifests-").tempdir().expect("a temporary folder")
}

fn write(folder: &Path, name: &str, ip: &str) {
    let service = format!(
        "apiVersion: v1\nkind: Service\nmetadata:\n  name: {name}\n  namespace: default\n  annotations:\n    \
         external-dns.kubernetes.io/hostname: {name}.shop.test\nspec:\n  type: LoadBalancer\nstatus:\n  loadBalancer:\n    \
         ingress:\n      - ip: {ip}\n"
    );
    fs::write(folder.join(format!("{name}.yaml")), service).expect("write a manifest");
}

fn line(site: &Site, folder: &TempDir, state: &str) -> CommandLine {
    let line = site.provider(site.dns.addr().port()).arg("--source=service").arg("--interval=1s");
    line.arg(format!("--manifests={}", text(folder.path()))).arg(format!("--state-dir={state}"))
}

/// Runs a command against the daemon of a state folder.
fn run(state: &str, arguments: &[&str]) -> Output {
    let (state, owner) = (format!("--state-dir={state}"), format!("--txt-owner-id={OWNER}"));
    command(&[arguments, &[state.as_str(), owner.as_str()]].concat())
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The daemon has looked at everything several times since.
fn settles(daemon: &Daemon) {
    let idle = "external_dns_controller_no_op_runs_total";
    let before = daemon.metric(idle).unwrap_or(0.0);
    crate::until("three more rounds", crate::SOON, || daemon.metric(idle).is_some_and(|now| now >= before + 3.0));
}

#[test]
fn what_was_changed_goes_back_and_is_held_over_a_restart() {
    require!(Bind.tools());
    let (site, manifests, (_kept, state)) = (Site::start(Bind), folder(), state_folder());
    write(manifests.path(), "web", "192.0.2.1");
    write(manifests.path(), "api", "192.0.2.1");
    let line = line(&site, &manifests, &state);
    let daemon = line.start();
    site.shows(&["web 0 A 192.0.2.1", "api 0 A 192.0.2.1"]);
    daemon.ready();
    let before = site.zone();
    // Journals record milliseconds, people name seconds: what comes now is later by at least one.
    let then = jiff::Timestamp::now();
    write(manifests.path(), "web", "192.0.2.2");
    write(manifests.path(), "new", "192.0.2.3");
    site.shows(&["web 0 A 192.0.2.2", "api 0 A 192.0.2.1", "new 0 A 192.0.2.3"]);
    settles(&daemon);
    let wanted = site.zone();

    let history = said(&run(&state, &["history", "web.shop.test"]));
    let lines: Vec<&str> = history.lines().collect();
    assert!(lines[0].starts_with("TIME") && lines.len() == 4, "{history}");
    assert!(lines[1].contains("applied") && lines[1].contains("~ web.shop.test"), "{history}");
    assert!(lines[1].contains("A 192.0.2.2 (was 192.0.2.1)  for Service default/web"), "{history}");
    assert!(lines[2].contains("+ web.shop.test A 192.0.2.1") && lines[3].contains("Journal: /"), "{history}");

    let since = format!("--since={then}");
    let plan = run(&state, &["undo", &since]);
    let shown = said(&plan);
    assert!(!plan.status.success() && String::from_utf8_lossy(&plan.stderr).contains("Nothing was done"), "{plan:?}");
    assert!(
        shown.contains("zone rfc2136/shop.test\n") && shown.contains("  - new.shop.test 0 A 192.0.2.3\n"),
        "{shown}"
    );
    assert!(shown.contains("  ~ web.shop.test 0 A 192.0.2.1 (was 192.0.2.2)\n"), "{shown}");
    assert!(!shown.contains("api.shop.test") && shown.contains("2 names will be restored"), "{shown}");
    assert_eq!(site.zone(), wanted, "a plan changes nothing");

    let unknown = run(&state, &["undo", "--plan=zzz", "--yes"]);
    assert_eq!(unknown.status.code(), Some(1), "{unknown:?}");
    assert!(said(&unknown).contains("There is nothing to undo"), "{unknown:?}");

    let undone = run(&state, &["undo", &since, "--yes"]);
    assert!(undone.status.success(), "{undone:?}");
    assert!(said(&undone).contains("2 names were restored and pinned"), "{undone:?}");
    assert_eq!(site.dig("web", "A"), ["192.0.2.1"]);
    assert_eq!(site.zone(), before, "to the letter, with the claims");
    settles(&daemon);
    assert_eq!(site.zone(), before, "the next rounds leave it");
    daemon.measures("zonewright_held_names{zone=\"rfc2136/shop.test\"}", 2.0);
    daemon.says(&["level=warning", "web.shop.test", "is pinned until", "zonewright undo --unpin web.shop.test"]);

    // No daemon runs: the journal is read from its folder.
    daemon.terminate();
    let history = said(&run(&state, &["history", "--limit=2", "--output=json"]));
    let history: serde_json::Value = serde_json::from_str(&history).expect("JSON");
    assert_eq!(history["entries"].as_array().map(Vec::len), Some(2), "{history}");
    assert_eq!(
        (&history["entries"][0]["cause"], &history["entries"][0]["outcome"]),
        (&"undo".into(), &"applied".into())
    );
    assert!(history["place"].as_str().is_some_and(|place| place.contains("no daemon answers")), "{history}");

    let daemon = line.start();
    daemon.ready();
    settles(&daemon);
    assert_eq!(site.zone(), before, "a restart keeps the hold");
    let holds = said(&run(&state, &["pinned"]));
    assert!(holds.contains("web.shop.test in zone rfc2136/shop.test: pinned until 2"), "{holds}");
    assert!(said(&run(&state, &["plans"])).contains("new.shop.test in zone"), "also among the plans");

    // A changed manifest unpins its name, `--unpin` the other.
    write(manifests.path(), "web", "192.0.2.4");
    site.shows(&["web 0 A 192.0.2.4", "api 0 A 192.0.2.1"]);
    assert!(!run(&state, &["undo", "--unpin=web.shop.test"]).status.success(), "it is not pinned any more");
    let released = run(&state, &["undo", "--unpin=all"]);
    assert!(said(&released).contains("1 names are no longer pinned"), "{released:?}");
    site.shows(&["web 0 A 192.0.2.4", "api 0 A 192.0.2.1", "new 0 A 192.0.2.3"]);
}

/// The journal has no place to be: with `required` nothing is sent, else it is reported and goes on.
#[test]
fn a_journal_that_cannot_be_written() {
    require!(Bind.tools());
    let (site, manifests, (kept, state)) = (Site::start(Bind), folder(), state_folder());
    write(manifests.path(), "web", "192.0.2.1");
    // A file where the folder of the journal should be.
    let blocked = kept.path().join("blocked");
    fs::write(&blocked, "").expect("write a file");
    let line = line(&site, &manifests, &state).arg(format!("--journal-dir={}", text(&blocked)));
    let daemon = line.clone().arg("--journal=required").start();
    daemon.says(&["level=warning", "the journal cannot be written: nothing is sent until it can", "blocked"]);
    daemon.unready(&["nothing is sent while the journal cannot be written"], crate::LATER);
    assert!(site.ours().is_empty());
    fs::remove_file(&blocked).expect("remove the file");
    daemon.ready_within(crate::LATER);
    site.shows(&["web 0 A 192.0.2.1"]);
    assert!(blocked.is_dir());
    daemon.terminate();

    fs::remove_dir_all(&blocked).expect("remove the journal");
    fs::write(&blocked, "").expect("write a file");
    write(manifests.path(), "web", "192.0.2.2");
    let daemon = line.start();
    site.shows(&["web 0 A 192.0.2.2"]);
    daemon.says(&["level=warning", "the journal cannot be written: changes go on"]);
    daemon.ready();
    write(manifests.path(), "web", "192.0.2.3");
    site.shows(&["web 0 A 192.0.2.3"]);
    assert_eq!(daemon.count("the journal cannot be written"), 1, "reported once");
}
