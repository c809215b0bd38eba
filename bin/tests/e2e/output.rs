//! Standard output that nobody reads, or that takes nothing: the status says what was found out or done, and nothing panics.

use std::fs::OpenOptions;
use std::process::{Command, Output, Stdio};

use zonewright_testkit::DnsSoftware::Bind;
use zonewright_testkit::require;

use crate::daemon::{command, state_folder, text};
use crate::manifests::{folder, service, write};
use crate::site::Site;

/// A pipe whose reader has gone.
fn closed() -> Stdio {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    writer.into()
}

/// A disk without room.
fn full() -> Stdio {
    OpenOptions::new().write(true).open("/dev/full").expect("/dev/full").into()
}

/// Runs the program with these outputs.
#[track_caller]
fn run(arguments: &[&str], out: Stdio, error: Stdio) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_zonewright"));
    let program = program.args(arguments).env_clear().stdin(Stdio::null()).stdout(out).stderr(error).spawn();
    program.expect("the program starts").wait_with_output().expect("it ends")
}

/// The status and the words on standard error.
#[track_caller]
fn said(arguments: &[&str], out: Stdio) -> (Option<i32>, String) {
    let output = run(arguments, out, Stdio::piped());
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// What prints an answer: a reader that goes away early has what it wanted, a disk without room is an error.
#[test]
fn an_answer_that_cannot_be_written() {
    let manifests = folder();
    write(manifests.path(), "web.yaml", &service("web", "web", "192.0.2.1"));
    let from = format!("--manifests={}", text(manifests.path()));
    let plan = ["plan", "--source=service", "--policy=sync", "--provider=local", "--local-zone=shop.test", &from];
    let plan = [&plan[..], &["--local-listen=127.0.0.1:0", "--txt-owner-id=e2e"]].concat();
    let commands: [(&[&str], i32); 4] =
        [(&["--help"], 0), (&["rbac", "--source=service"], 0), (&["docs", "flags"], 0), (&plan, 2)];
    for (arguments, status) in commands {
        let (code, words) = said(arguments, closed());
        assert_eq!(code, Some(status), "{arguments:?}: {words}");
        assert!(!words.contains("panicked") && !words.contains("standard output"), "{arguments:?}: {words}");
        let (code, words) = said(arguments, full());
        assert_eq!(code, Some(1), "{arguments:?}: {words}");
        assert!(words.contains("standard output: No space left on device"), "{arguments:?}: {words}");
        assert!(!words.contains("panicked"), "{arguments:?}: {words}");
    }
    // Where the words of an error have no room either, the status says it.
    assert_eq!(run(&["plans", "--no-such-flag"], Stdio::null(), full()).status.code(), Some(1));
    assert_eq!(run(&["plans", "--no-such-flag"], Stdio::null(), closed()).status.code(), Some(1));
}

/// What was done was done, whether the words about it reach anybody or not: whoever repeats it after status 1 would do it twice.
#[test]
fn a_deed_whose_words_cannot_be_written() {
    require!(Bind.tools());
    for (n, out) in [closed as fn() -> Stdio, full].into_iter().enumerate() {
        let (site, manifests, (_folder, state)) = (Site::start(Bind), folder(), state_folder());
        write(manifests.path(), "web.yaml", &service("web", "web", "192.0.2.1"));
        let line = site.provider(site.dns.addr().port()).arg(format!("--state-dir={state}"));
        let once =
            line.clone().args(&["--source=service", "--once", &format!("--manifests={}", text(manifests.path()))]);
        assert_eq!(once.run().status.code(), Some(0));
        site.shows(&["web 0 A 192.0.2.1"]);
        let drain = line.ordered("drain").arg("--yes");
        let (status, log) = drain.with_output(out());
        assert_eq!(status.code(), Some(0), "{log}");
        assert_eq!(log.contains("standard output: No space left"), n == 1, "{log}");
        assert_eq!(site.ours(), Vec::<String>::new());
        let journal = command(&["history", &format!("--state-dir={state}"), "--txt-owner-id=e2e"]);
        assert!(String::from_utf8_lossy(&journal.stdout).contains("(drain)"), "{journal:?}");
    }
}
