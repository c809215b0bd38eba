//! `zonewright demo` on a real terminal: a pseudo-terminal, whose screen is read as a person would read it.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use tempfile::TempDir;

/// Whatever is waited for comes within this time, on the slowest machine.
const DEADLINE: Duration = Duration::from_mins(1);

/// The screen as it is now, and a bell for each change of it.
#[derive(Clone)]
struct Screen(Arc<(Mutex<vt100::Parser>, Condvar)>);

impl Screen {
    fn new(rows: u16, columns: u16) -> Self {
        Self(Arc::new((
            Mutex::new(vt100::Parser::new(rows.try_into().expect("rows"), columns.try_into().expect("columns"), 0)),
            Condvar::new(),
        )))
    }

    fn take(&self, bytes: &[u8]) {
        self.0.0.lock().expect("the screen").process(bytes);
        self.0.1.notify_all();
    }

    fn wait(&self, what: &str, condition: impl Fn(&str) -> bool) -> String {
        let (mut parser, deadline) = (self.0.0.lock().expect("the screen"), Instant::now() + DEADLINE);
        loop {
            let text = parser.screen().contents();
            if condition(&text) {
                return text;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "waited in vain for {what}:\n{text}");
            parser = self.0.1.wait_timeout(parser, left).expect("the screen").0;
        }
    }
}

/// A demo on a terminal of its own, in a folder of its own.
struct Demo {
    dir: TempDir,
    terminal: File,
    screen: Screen,
    child: Child,
}

impl Demo {
    fn start(rows: u16, columns: u16) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&terminal).expect("a terminal of ours");
        unlockpt(&terminal).expect("a terminal that opens");
        tcsetwinsize(&terminal, size(rows, columns)).expect("a size");
        let name = ptsname(&terminal, Vec::new()).expect("its name");
        let other =
            || -> OwnedFd { open(&*name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).expect("its other end") };
        // The program asks its controlling terminal for the size; `setsid` makes it this one.
        let child = Command::new("setsid")
            .args(["--ctty", "--wait", env!("CARGO_BIN_EXE_zonewright"), "demo", "--listen=127.0.0.1:0"])
            .current_dir(dir.path())
            .env("TERM", "xterm-256color")
            .stdin(other())
            .stdout(other())
            .stderr(other())
            .spawn()
            .expect("setsid and the program");
        let (terminal, screen) = (File::from(terminal), Screen::new(rows, columns));
        let (mut output, shown) = (terminal.try_clone().expect("a second handle"), screen.clone());
        thread::spawn(move || {
            let mut bytes = [0; 4_096];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                shown.take(&bytes[..count]);
            }
        });
        Self { dir, terminal, screen, child }
    }

    fn press(&mut self, keys: &str) {
        self.terminal.write_all(keys.as_bytes()).expect("keys");
    }

    #[track_caller]
    fn sees(&self, text: &str) -> String {
        self.screen.wait(text, |screen| screen.contains(text))
    }

    #[track_caller]
    fn sees_no(&self, text: &str) -> String {
        self.screen.wait(&format!("the end of {text}"), |screen| !screen.contains(text))
    }

    fn resize(&self, rows: u16, columns: u16) {
        self.screen
            .0
            .0
            .lock()
            .expect("the screen")
            .screen_mut()
            .set_size(rows.try_into().expect("rows"), columns.try_into().expect("columns"));
        tcsetwinsize(&self.terminal, size(rows, columns)).expect("a size");
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join("zonewright-demo").join(name)
    }

    fn ends(mut self) {
        self.press("q");
        let deadline = Instant::now() + DEADLINE;
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("its status") {
                break status;
            }
            assert!(Instant::now() < deadline, "q does not end it");
            thread::yield_now();
        };
        assert!(status.success(), "{status}");
    }
}

fn size(rows: u16, columns: u16) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

/// Replaces a file in one step, as editors do.
fn edit(file: &Path, change: impl Fn(String) -> String) {
    let text = change(fs::read_to_string(file).expect("a file"));
    let new = file.with_extension("new");
    fs::write(&new, text).expect("written");
    fs::rename(new, file).expect("renamed");
}

#[test]
fn a_mass_delete_is_held_refused_approved_and_undone() {
    let mut demo = Demo::start(24, 80);
    let first = demo.sees("web.demo.test");
    assert!(first.lines().all(|line| line.chars().count() <= 80), "{first}");
    demo.sees("+22 more");
    demo.press("m");
    let held = demo.sees("24 deletes are held");
    assert!(held.contains("a approves it"), "{held}");
    demo.press("r");
    demo.sees_no("deletes are held");
    demo.sees("workers.yaml is back");
    demo.press("m");
    demo.sees("24 deletes are held");
    demo.press("a");
    demo.sees("- worker-24.demo.test");
    demo.sees_no("deletes are held");
    // The history, its newest plan, and back.
    demo.press("h");
    demo.sees("approved plan");
    demo.press("u");
    demo.sees("Undo this?");
    demo.press("y");
    demo.sees("24 names were restored");
    demo.press("\u{1b}");
    demo.sees("(pinned)");
    demo.press("c");
    demo.sees("heritage=external-dns");
    demo.ends();
}

#[test]
fn what_happens_to_the_folder_shows_at_once_at_160_by_48() {
    let mut demo = Demo::start(48, 160);
    let all = demo.sees("worker-24.demo.test  A");
    assert!(all.lines().any(|line| line.contains(" Records ") && line.contains(" Changes ")), "{all}");
    // A note goes with its cause.
    demo.sees("no.*.demo.test");
    edit(&demo.file("broken.yaml"), |text| text.replace(",no.*.demo.test", ""));
    demo.sees_no("no.*.demo.test");
    demo.sees("InvalidTTL");
    fs::remove_file(demo.file("broken.yaml")).unwrap();
    demo.sees_no("InvalidTTL");
    demo.sees("- good.demo.test");
    // A TTL is a change, and shows as one.
    edit(&demo.file("web.yaml"), |text| text.replace("ttl: 30s", "ttl: 45s"));
    demo.sees("~ web.demo.test 45 A 192.0.2.10 (was TTL 30)");
    // Kinds of every source, and one in a version that nothing reads.
    let endpoint = "apiVersion: externaldns.k8s.io/v1alpha1\nkind: DNSEndpoint\nmetadata: {name: ep}\nspec:\n  \
                    endpoints:\n  - {dnsName: ep.demo.test, recordType: A, targets: [192.0.2.99]}\n";
    let proxy = "apiVersion: projectcontour.io/v1\nkind: HTTPProxy\nmetadata: {name: p}\n\
                 spec: {virtualhost: {fqdn: proxy.demo.test}}\n\
                 status: {currentStatus: valid, loadBalancer: {ingress: [{ip: 192.0.2.98}]}}\n";
    let old = "apiVersion: networking.k8s.io/v1beta1\nkind: Ingress\nmetadata: {name: old}\n";
    fs::write(demo.file("more.yaml"), format!("{endpoint}---\n{proxy}---\n{old}")).unwrap();
    demo.sees("ep.demo.test");
    demo.sees("proxy.demo.test");
    demo.sees("networking.k8s.io/v1beta1");
    demo.press("n");
    demo.sees("expected networking.k8s.io/v1");
    demo.press("n");
    demo.resize(24, 80);
    // The last line of the large screen is none of the small one.
    demo.sees("q quit");
    demo.sees(" more");
    demo.ends();
}
