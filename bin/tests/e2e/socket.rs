//! The control socket lies in a folder to which nobody else can write, or there is none.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

use zonewright_testkit::DnsSoftware::Bind;
use zonewright_testkit::{require, tools, wait_for};

use crate::SOON;
use crate::daemon::{CommandLine, command, state_folder, text};
use crate::manifests::{folder, service, write};
use crate::site::Site;

const OPEN: &str = "zonewright_control_socket";

fn line(site: &Site, manifests: &Path) -> CommandLine {
    let line = site.provider(site.dns.addr().port()).args(&["--source=service", "--interval=1s"]);
    line.arg(format!("--manifests={}", text(manifests)))
}

fn with_mode(folder: &str, mode: u32) {
    fs::set_permissions(folder, fs::Permissions::from_mode(mode)).expect("a mode");
}

/// Status and words of `zonewright plans`.
fn plans(state: &str) -> (Option<i32>, String) {
    let output = command(&["plans", &format!("--state-dir={state}"), "--txt-owner-id=e2e"]);
    (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

#[test]
fn a_folder_that_others_can_write_to_gets_no_socket() {
    require!(Bind.tools());
    let (site, manifests, (_folder, state)) = (Site::start(Bind), folder(), state_folder());
    write(manifests.path(), "web.yaml", &service("web", "web", "192.0.2.1"));
    let line = line(&site, manifests.path()).arg(format!("--state-dir={state}"));
    with_mode(&state, 0o777);
    let daemon = line.start();
    daemon.says(&[
        "level=error",
        &state,
        "with mode 0777; expected a folder of user",
        "`zonewright plans`",
        "`zonewright explain` and `plan` do with the daemon's flags",
    ]);
    daemon.measures(OPEN, 0.0);
    site.shows(&["web 0 A 192.0.2.1"]);
    daemon.ready();
    assert!(!Path::new(&state).join("control.sock").exists());
    assert!(daemon.terminate().status.success());

    with_mode(&state, 0o700);
    let daemon = line.start();
    daemon.measures(OPEN, 1.0);
    assert_eq!(plans(&state), (Some(0), "No plan is held.\n".to_owned()));
}

/// Whoever can write to the folder can put a socket of his own there, and answer what he likes.
#[test]
fn a_command_speaks_to_no_socket_in_a_folder_that_others_can_write_to() {
    require!(Bind.tools());
    let (site, manifests, (_folder, state)) = (Site::start(Bind), folder(), state_folder());
    let daemon = line(&site, manifests.path()).arg(format!("--state-dir={state}")).start();
    daemon.measures(OPEN, 1.0);
    for mode in [0o770, 0o702, 0o1777] {
        with_mode(&state, mode);
        let (status, said) = plans(&state);
        assert_eq!(status, Some(1), "{mode:o}: {said}");
        assert!(said.contains(&format!("{state} is a folder of user ")), "{said}");
        assert!(said.contains(&format!("with mode {mode:04o}; expected a folder of user ")), "{said}");
    }
    with_mode(&state, 0o755);
    assert_eq!(plans(&state).0, Some(0));
    if chown(&state, Some(12_345), None).is_err() {
        tools::tell("socket::a_command_speaks_to_no_socket", "only root can give a folder away");
        return;
    }
    let (status, said) = plans(&state);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("is a folder of user 12345 with mode 0755"), "{said}");
}

/// Where no folder is named, one is looked for; those of others do not count.
#[test]
fn folders_of_others_are_passed_over() {
    require!(Bind.tools());
    let (site, manifests, (_folder, base)) = (Site::start(Bind), folder(), state_folder());
    let line = line(&site, manifests.path()).env("XDG_RUNTIME_DIR", &base);
    let daemon = line.start();
    daemon.measures(OPEN, 1.0);
    let evil = format!("{base}/zonewright-evil");
    fs::create_dir(&evil).expect("a folder");
    with_mode(&evil, 0o777);
    let _socket = std::os::unix::net::UnixListener::bind(format!("{evil}/control.sock")).expect("a socket");
    let ended = CommandLine::default().arg("plans").env("XDG_RUNTIME_DIR", &base).run();
    assert_eq!((ended.status.code(), ended.log.as_str()), (Some(0), "No plan is held.\n"));
}

/// Without a socket nobody can tell the daemon, which saves its own state over whatever was written there.
#[test]
fn what_a_process_without_a_socket_would_not_see_is_not_approved() {
    require!(Bind.tools());
    let (site, manifests, (_folder, state)) = (Site::start(Bind), folder(), state_folder());
    let files: Vec<String> = (0..12).map(|n| format!("s{n}.yaml")).collect();
    for (n, file) in files.iter().enumerate() {
        write(manifests.path(), file, &service(&format!("s{n}"), &format!("s{n}"), "192.0.2.1"));
    }
    with_mode(&state, 0o777);
    let line = line(&site, manifests.path()).arg(format!("--state-dir={state}"));
    let once = line.clone().arg("--once");
    assert_eq!(once.run().status.code(), Some(0));
    write(manifests.path(), "new.yaml", &service("new", "new", "192.0.2.2"));
    for file in &files {
        fs::remove_file(manifests.path().join(file)).expect("a manifest");
    }
    let daemon = line.start();
    let held = || plans(&state).1.split_once("  zone ").map(|(hash, _)| hash.to_owned());
    let hash = wait_for("a held plan in the saved state", SOON, held);
    let approve = || {
        let output = command(&["approve", &hash, &format!("--state-dir={state}"), "--txt-owner-id=e2e"]);
        (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    };
    let (status, said) = approve();
    assert_eq!(status, Some(1), "{said}");
    assert!(
        said.contains("not done: process ") && said.contains("its log says why its socket does not answer"),
        "{said}"
    );
    let second = line.start();
    second.says(&["process ", "uses this state, too"]);
    assert!(second.terminate().status.success());
    assert_eq!(approve().0, Some(1), "the first one uses it still");
    assert!(daemon.terminate().status.success());
    assert_eq!(approve(), (Some(0), "12 deletes in zone rfc2136/shop.test are approved.\n".to_owned()));
    assert_eq!(once.run().status.code(), Some(0));
    site.shows(&["new 0 A 192.0.2.2"]);
}

/// Nothing is sent and no state is kept: an approval would be forgotten at once.
#[test]
fn a_daemon_in_dry_run_keeps_no_approval_and_says_so() {
    require!(Bind.tools());
    let (site, manifests, (_folder, state)) = (Site::start(Bind), folder(), state_folder());
    let files: Vec<String> = (0..12).map(|n| format!("s{n}.yaml")).collect();
    for (n, file) in files.iter().enumerate() {
        write(manifests.path(), file, &service(&format!("s{n}"), &format!("s{n}"), "192.0.2.1"));
    }
    let line = line(&site, manifests.path()).arg(format!("--state-dir={state}"));
    assert_eq!(line.clone().arg("--once").run().status.code(), Some(0));
    write(manifests.path(), "new.yaml", &service("new", "new", "192.0.2.2"));
    for file in &files {
        fs::remove_file(manifests.path().join(file)).expect("a manifest");
    }
    let daemon = line.arg("--dry-run").start();
    let held = || plans(&state).1.split_once("  zone ").map(|(hash, _)| hash.to_owned());
    let hash = wait_for("a held plan", SOON, held);
    let output = command(&["approve", &hash, &format!("--state-dir={state}"), "--txt-owner-id=e2e"]);
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("this daemon runs with --dry-run: nothing is sent, and no approval is kept"), "{said}");
    assert!(plans(&state).1.contains(&hash), "it is held still");
    drop(daemon);
}
