//! A Kerberos realm: MIT's `krb5kdc` with a database of its own.
//!
//! In: names and passwords of users, and of services. Out: a running KDC on a loopback port, keytabs for services, and the
//! configuration that every program of the realm has to be given as [`Realm::environment`]. Programs read it from their
//! environment, and the environment of a process belongs to all of its tests; so a test whose own process logs in runs in a
//! process of its own: [`own_process!`](crate::own_process).

use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::net::{free_port, loopback};
use crate::process::Process;
use crate::tools;
use crate::wait::wait_for;

/// How long the KDC may take until it listens; generous, for machines under load.
const READY: Duration = Duration::from_mins(1);
/// The variable that names a process' Kerberos configuration.
const CONFIG: &str = "KRB5_CONFIG";
/// Set in the processes that [`own_process!`](crate::own_process) starts, to the path of the configuration to come.
const OWN: &str = "ZONEWRIGHT_TEST_REALM";

/// A realm with its KDC. Ends on drop.
#[derive(Debug)]
pub struct Realm {
    process: Process,
    site: Site,
}

/// What the KDC is made from; it stays the same over restarts.
#[derive(Debug)]
struct Site {
    folder: TempDir,
    config: PathBuf,
    port: u16,
    name: String,
}

impl Realm {
    /// The programs that a test with a realm needs, for [`require!`](crate::require).
    pub const TOOLS: &[&str] = &["krb5kdc", "kdb5_util", "kadmin.local"];

    /// Starts the KDC of the realm `name`. In a process that [`own_process!`](crate::own_process) started, this is the realm
    /// of the process itself.
    ///
    /// # Panics
    /// When it does not get ready; the message holds the end of its log.
    #[track_caller]
    pub fn start(name: &str) -> Self {
        Self::start_with(name, "")
    }

    /// As [`Realm::start`], with further lines for `[libdefaults]` of the clients' configuration.
    ///
    /// # Panics
    /// As [`Realm::start`].
    #[track_caller]
    pub fn start_with(name: &str, defaults: &str) -> Self {
        let folder = tempfile::Builder::new().prefix("zonewright-kdc-").tempdir().expect("a temporary folder");
        let own = std::env::var_os(OWN).map(PathBuf::from).filter(|path| !path.exists());
        let config = own.unwrap_or_else(|| folder.path().join("krb5.conf"));
        let site = Site { folder, config, port: free_port(), name: name.to_owned() };
        fs::write(&site.config, site.client_configuration(defaults)).expect("write krb5.conf");
        fs::write(site.path("kdc.conf"), site.kdc_configuration()).expect("write kdc.conf");
        site.run("kdb5_util", &["create", "-s", "-P", "master"]);
        let process = site.spawn(None);
        let mut realm = Self { process, site };
        realm.wait_until_ready();
        realm
    }

    /// The realm's name.
    pub fn name(&self) -> &str {
        &self.site.name
    }

    /// What has to be in the environment of a program that belongs to the realm.
    pub fn environment(&self) -> [(&'static str, PathBuf); 1] {
        [(CONFIG, self.site.config.clone())]
    }

    /// Adds a user; without the password nobody gets a ticket in the user's name.
    ///
    /// # Panics
    /// When the user is there already.
    #[track_caller]
    pub fn add_user(&self, name: &str, password: &str) {
        self.kadmin(&format!("addprinc -pw \"{password}\" +requires_preauth {name}"));
    }

    /// Lets tickets of a user last no longer than this many seconds.
    ///
    /// # Panics
    /// When there is no such user.
    #[track_caller]
    pub fn limit(&self, user: &str, seconds: u32) {
        self.kadmin(&format!("modprinc -maxlife \"{seconds} seconds\" {user}"));
    }

    /// Adds services, such as `DNS/ns1.example.test`, and returns a keytab with their keys. A service that is there already
    /// gets a new key, and tickets for the old one are worth nothing any more.
    ///
    /// # Panics
    /// When a name cannot be one.
    #[track_caller]
    pub fn keytab(&self, services: &[&str]) -> Keytab {
        let file = self.site.path(&format!("{}.keytab", free_port()));
        for service in services {
            let _ = self.site.try_run("kadmin.local", &["-q", &format!("addprinc -randkey {service}")]);
            self.kadmin(&format!("ktadd -k {} {service}", file.display()));
        }
        Keytab { file, realm: self.site.name.clone(), environment: self.environment().to_vec() }
    }

    /// Kills the KDC; nothing listens on its port then.
    pub fn kill(&mut self) {
        self.process.kill();
        // With a clock of its own it is the child of the process that was waited for, and may be listening for a moment still.
        let port = self.site.port;
        wait_for("the KDC to be gone", READY, || TcpStream::connect(loopback(port)).is_err().then_some(()));
    }

    /// Freezes the KDC (SIGSTOP): it answers nothing.
    pub fn stop(&self) {
        self.process.stop();
    }

    /// Starts the KDC again; `offset` is what its clock is to be ahead of this host's, as `faketime -f` takes it.
    ///
    /// # Panics
    /// As [`Realm::start`].
    #[track_caller]
    pub fn restart(&mut self, offset: Option<&str>) {
        self.kill();
        self.process = self.site.spawn(offset);
        self.wait_until_ready();
    }

    /// Everything that the KDC has logged; a line with `AS_REQ` for each login, one with `TGS_REQ` for each ticket.
    pub fn log(&self) -> String {
        self.process.log()
    }

    #[track_caller]
    fn wait_until_ready(&mut self) {
        let port = self.site.port;
        self.process.wait_until_ready(READY, || TcpStream::connect(loopback(port)).is_ok());
    }

    #[track_caller]
    fn kadmin(&self, order: &str) {
        let output = self.site.try_run("kadmin.local", &["-q", order]);
        // It ends well whatever became of the order.
        assert!(!output.contains("while") && !output.contains("usage"), "kadmin.local {order}: {output}");
    }
}

/// The keys of services, and the realm that they belong to.
#[derive(Debug, Clone)]
pub struct Keytab {
    pub(crate) file: PathBuf,
    pub(crate) realm: String,
    pub(crate) environment: Vec<(&'static str, PathBuf)>,
}

impl Site {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn client_configuration(&self, defaults: &str) -> String {
        let Self { name, port, .. } = self;
        format!(
            "\
[libdefaults]
default_realm = {name}
dns_lookup_kdc = false
dns_lookup_realm = false
rdns = false
{defaults}
[realms]
{name} = {{
    kdc = 127.0.0.1:{port}
}}
"
        )
    }

    fn kdc_configuration(&self) -> String {
        let Self { name, port, folder, .. } = self;
        let folder = folder.path().display();
        format!(
            "\
[kdcdefaults]
kdc_listen = 127.0.0.1:{port}
kdc_tcp_listen = 127.0.0.1:{port}
[realms]
{name} = {{
    database_name = {folder}/principal
    key_stash_file = {folder}/stash
    acl_file = {folder}/acl
    max_life = 10h
}}
[logging]
kdc = STDERR
"
        )
    }

    fn environment(&self, command: &mut Command) {
        command.env(CONFIG, &self.config).env("KRB5_KDC_PROFILE", self.path("kdc.conf"));
        command.env("KRB5RCACHENAME", "none:");
    }

    /// `-n`: in the foreground.
    fn spawn(&self, offset: Option<&str>) -> Process {
        let kdc = tools::need("krb5kdc");
        let mut command = Command::new(offset.map_or_else(|| kdc.clone(), |_| tools::need("faketime")));
        if let Some(offset) = offset {
            command.args(["-f", offset]).arg(&kdc);
        }
        command.args(["-n", "-r", &self.name]);
        self.environment(&mut command);
        Process::spawn("krb5kdc", &command, &self.path("kdc.log"))
    }

    #[track_caller]
    fn run(&self, program: &str, arguments: &[&str]) {
        let (ok, output) = self.output(program, arguments);
        assert!(ok, "{program} {}: {output}", arguments.join(" "));
    }

    fn try_run(&self, program: &str, arguments: &[&str]) -> String {
        self.output(program, arguments).1
    }

    fn output(&self, program: &str, arguments: &[&str]) -> (bool, String) {
        let mut command = Command::new(tools::need(program));
        command.args(["-r", &self.name]).args(arguments).stdin(Stdio::null());
        self.environment(&mut command);
        let output = command.output().unwrap_or_else(|error| panic!("cannot run {program}: {error}"));
        let text = [output.stdout, output.stderr].map(|octets| String::from_utf8_lossy(&octets).into_owned()).concat();
        (output.status.success(), text)
    }
}

/// Goes on only in a process that has an environment of its own, with a Kerberos configuration that [`Realm::start`] writes:
/// the calling test is run once more, in such a process, and returns here when that one has ended well.
///
/// ```no_run
/// # use zonewright_testkit::{kerberos::Realm, own_process, require};
/// require!(Realm::TOOLS);
/// own_process!();
/// let realm = Realm::start("EXAMPLE.TEST");
/// ```
///
/// # Panics
/// When the other process does not end well; the message holds its output.
#[macro_export]
macro_rules! own_process {
    () => {
        fn this() {}
        if $crate::kerberos::run_alone(::std::any::type_name_of_val(&this)) {
            return;
        }
    };
}

/// Whether this process was started by [`own_process!`](crate::own_process) or [`run_in_own_process`].
pub fn is_own_process() -> bool {
    std::env::var_os(OWN).is_some()
}

/// Runs the test that holds the item `here` in a process of its own; `false` in that process.
///
/// # Panics
/// As [`own_process!`](crate::own_process) says; use that.
#[doc(hidden)]
#[track_caller]
pub fn run_alone(here: &str) -> bool {
    if is_own_process() {
        return false;
    }
    let path = here.trim_end_matches("::this").trim_end_matches("::{{closure}}");
    // The first word is the name of the test program.
    let test = path.split_once("::").map_or(path, |(_, test)| test);
    run_in_own_process(&[test, "--exact"]);
    true
}

/// Runs tests of the calling test program once more, in one process whose Kerberos configuration is what the first
/// [`Realm::start`] in it writes. `arguments` choose the tests, as on the command line of a test program.
///
/// # Panics
/// When they do not end well, or when there are none.
#[track_caller]
pub fn run_in_own_process(arguments: &[&str]) {
    let folder = tempfile::Builder::new().prefix("zonewright-realm-").tempdir().expect("a temporary folder");
    let config = folder.path().join("krb5.conf");
    let program = std::env::current_exe().expect("the path of the test program");
    let output = alone(&program, arguments, &config).output().expect("start the test program");
    let text = [output.stdout, output.stderr].map(|octets| String::from_utf8_lossy(&octets).into_owned()).concat();
    let arguments = arguments.join(" ");
    assert!(!text.contains("running 0 tests"), "{arguments}: running 0 tests");
    assert!(output.status.success(), "{arguments}: {}", without_harness(&text));
}

/// What the tests themselves said: whoever counts the lines of the harness would take one that failed for two.
fn without_harness(text: &str) -> String {
    let of_harness = |line: &&str| line.starts_with("test ") || line.starts_with("running ");
    text.lines().filter(|line| !of_harness(line)).collect::<Vec<_>>().join("\n")
}

fn alone(program: &Path, arguments: &[&str], config: &Path) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).arg("--nocapture").env(OWN, config).env(CONFIG, config).env("KRB5RCACHENAME", "none:");
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_in_its_own_process_counts_once() {
        let text =
            "\nrunning 1 test\nthread 'a' panicked\ntest a ... FAILED\n\ntest result: FAILED. 0 passed; 1 failed";
        assert_eq!(without_harness(text), "\nthread 'a' panicked\n");
    }
}
