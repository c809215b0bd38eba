//! The daemon under test: its command line, its process, what it says.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use zonewright_testkit::kube::User;
use zonewright_testkit::{KubeApi, poll, wait_for};

use crate::{LATER, SOON, until};

/// The program.
const PROGRAM: &str = env!("CARGO_BIN_EXE_zonewright");

/// How long the program may take to end once it was told to; a busy machine is slow.
const END: Duration = Duration::from_mins(1);

/// A command line that is not started yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct CommandLine {
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    /// What a pod's service account has: files of its folder, and the address of the API server.
    pod: Option<PathBuf>,
}

/// What the kernel puts at the place of a service account, for one process alone.
const POD: &str = "mount -t tmpfs none /run && mkdir -p /run/secrets/kubernetes.io && \
                   cp -r \"$0\" /run/secrets/kubernetes.io/serviceaccount && exec \"$@\"";

/// A running daemon. It is killed on drop, and a failing test prints what it said.
#[derive(Debug)]
pub(crate) struct Daemon {
    child: Child,
    folder: TempDir,
    explained: bool,
}

impl CommandLine {
    pub(crate) fn arg(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    pub(crate) fn args(self, arguments: &[&str]) -> Self {
        arguments.iter().fold(self, |line, argument| line.arg(*argument))
    }

    /// Takes out every argument that begins so.
    pub(crate) fn without(mut self, start: &str) -> Self {
        self.arguments.retain(|argument| !argument.starts_with(start));
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.retain(|(known, _)| known != name);
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// As in a pod of the namespace `default`, with the token of the user `zonewright`. Needs a kernel that lets everybody make
    /// mount namespaces.
    pub(crate) fn in_pod(self, kube: &KubeApi, folder: &Path) -> Self {
        self.with_account(kube, folder, User::Zonewright.token(), "default")
    }

    /// As in a pod of this namespace whose service account has this token: the folder holds what the account's has. Needs a kernel
    /// that lets everybody make mount namespaces.
    pub(crate) fn with_account(mut self, kube: &KubeApi, folder: &Path, token: &str, namespace: &str) -> Self {
        for (name, content) in [("token", token), ("ca.crt", kube.ca_pem()), ("namespace", namespace)] {
            std::fs::write(folder.join(name), content).expect("a file of the service account");
        }
        let url = kube.url();
        let (host, port) = url.trim_start_matches("https://").split_once(':').expect("an address with a port");
        self.pod = Some(folder.to_owned());
        // Each pod has a file system of its own for its socket.
        let line = self.env("XDG_RUNTIME_DIR", &text(folder));
        line.env("KUBERNETES_SERVICE_HOST", host).env("KUBERNETES_SERVICE_PORT", port)
    }

    /// The same flags after the name of a command.
    pub(crate) fn ordered(&self, word: &str) -> Self {
        let mut line = self.clone();
        line.arguments.insert(0, word.to_owned());
        line
    }

    fn command(&self) -> Command {
        let mut command = match &self.pod {
            None => Command::new(PROGRAM),
            Some(folder) => {
                let mut command = Command::new("unshare");
                command.args(["--user", "--map-root-user", "--mount", "sh", "-c", POD]).arg(folder).arg(PROGRAM);
                command
            }
        };
        // Nothing of the machine's own configuration may count.
        command.args(&self.arguments).stdin(Stdio::null()).env_clear();
        if self.pod.is_some() {
            command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Starts the daemon.
    #[track_caller]
    pub(crate) fn start(&self) -> Daemon {
        let folder = tempfile::Builder::new().prefix("zonewright-e2e-").tempdir().expect("a temporary folder");
        let log = File::create(folder.path().join("log")).expect("a log file");
        let mut command = self.command();
        // What a killed process leaves goes with the folder.
        command.env("TMPDIR", folder.path()).stdout(log.try_clone().expect("a second handle")).stderr(log);
        Daemon { child: command.spawn().expect("the daemon starts"), folder, explained: false }
    }

    /// Runs the program to its end.
    #[track_caller]
    pub(crate) fn run(&self) -> Ended {
        let mut daemon = self.start();
        let status = daemon.ended(LATER);
        daemon.explained = true;
        Ended { status, log: daemon.log() }
    }
}

impl CommandLine {
    /// Runs the program to its end with this standard output. Returns its status and what it said on standard error.
    #[track_caller]
    pub(crate) fn with_output(&self, out: Stdio) -> (ExitStatus, String) {
        let child = self.command().stdout(out).stderr(Stdio::piped()).spawn().expect("the program starts");
        let output = child.wait_with_output().expect("it ends");
        (output.status, String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// A daemon that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) log: String,
}

/// Runs a command of the program such as `plans`, with nothing but these arguments.
#[track_caller]
pub(crate) fn command(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).env_clear().stdin(Stdio::null()).output().expect("the program runs")
}

impl Daemon {
    /// Everything that it has said on both outputs.
    pub(crate) fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(self.log_file()).unwrap_or_default()).into_owned()
    }

    fn log_file(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// Waits for a log line that holds all of these texts, and returns it.
    #[track_caller]
    pub(crate) fn says(&self, texts: &[&str]) -> String {
        self.says_within(texts, SOON)
    }

    #[track_caller]
    pub(crate) fn says_within(&self, texts: &[&str], within: Duration) -> String {
        wait_for(&format!("a log line with {texts:?}"), within, || {
            let log = self.log();
            log.lines().find(|line| texts.iter().all(|text| line.contains(text))).map(str::to_owned)
        })
    }

    /// How many log lines hold this text.
    pub(crate) fn count(&self, text: &str) -> usize {
        self.log().lines().filter(|line| line.contains(text)).count()
    }

    /// The address of metrics and probes, as it says it.
    #[track_caller]
    fn address(&self) -> String {
        let line = self.says(&["metrics and probes"]);
        let address = line.split("address=").nth(1).expect("an address in the line");
        address.trim_matches('"').to_owned()
    }

    /// Status and body of a page of the daemon.
    #[track_caller]
    pub(crate) fn page(&self, path: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(self.address()).expect("the daemon listens");
        stream.set_read_timeout(Some(SOON)).expect("a time limit");
        let request = format!("GET {path} HTTP/1.1\r\nHost: daemon\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("ask");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("head and body");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        (status, body.to_owned())
    }

    /// Waits until the daemon calls itself ready.
    #[track_caller]
    pub(crate) fn ready(&self) {
        self.ready_within(SOON);
    }

    #[track_caller]
    pub(crate) fn ready_within(&self, within: Duration) {
        until("the daemon to be ready", within, || self.page("/readyz").0 == 200);
    }

    /// Waits until it calls itself unready for a reason that holds all of these texts.
    #[track_caller]
    pub(crate) fn unready(&self, texts: &[&str], within: Duration) {
        let what = format!("/readyz to say {texts:?}");
        let said = poll(within, || {
            let (status, body) = self.page("/readyz");
            (status == 503 && texts.iter().all(|text| body.contains(text))).then_some(())
        });
        assert!(said.is_some(), "{what}: {:?}", self.page("/readyz"));
    }

    /// The value of a metric, by the beginning of its line up to the value.
    #[track_caller]
    pub(crate) fn metric(&self, series: &str) -> Option<f64> {
        let (_, text) = self.page("/metrics");
        let value = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '))?.trim().parse();
        value.ok()
    }

    /// Waits until a metric has this value.
    #[track_caller]
    pub(crate) fn measures(&self, series: &str, value: f64) {
        self.measures_within(series, value, SOON);
    }

    /// Waits so long for a metric to have a value.
    #[track_caller]
    pub(crate) fn measures_within(&self, series: &str, value: f64, time: Duration) {
        let seen = poll(time, || (self.metric(series) == Some(value)).then_some(()));
        assert!(seen.is_some(), "{series} is {:?}, expected {value}", self.metric(series));
    }

    /// Calls of one operation at a provider, by outcome.
    pub(crate) fn calls(&self, operation: &str) -> Vec<u64> {
        let operation = format!("operation=\"{operation}\"");
        let (_, text) = self.page("/metrics");
        let lines = text
            .lines()
            .filter(|line| line.starts_with("zonewright_provider_calls_total{") && line.contains(&operation));
        lines.filter_map(|line| line.rsplit(' ').next()?.parse().ok()).collect()
    }

    /// Waits until it has looked so many more times for what changed in its zones. Returns whether it has.
    pub(crate) fn audits_more(&self, count: u64) -> bool {
        let audits = || self.calls("audit").iter().sum::<u64>();
        let from = audits();
        poll(LATER, || (audits() >= from + count).then_some(())).is_some()
    }

    /// Resident memory of the process in kB.
    #[track_caller]
    pub(crate) fn memory(&self) -> usize {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(path).expect("the status of the process");
        let line =
            status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line with the resident memory");
        line.trim().trim_end_matches(" kB").parse().expect("a number of kB")
    }

    /// Processor time of the process so far, in hundredths of a second.
    #[track_caller]
    pub(crate) fn ticks(&self) -> usize {
        let path = format!("/proc/{}/stat", self.child.id());
        let stat = std::fs::read_to_string(path).expect("the state of the process");
        let (_, fields) = stat.rsplit_once(") ").expect("fields behind the program's name");
        let of_user_and_system = fields.split(' ').skip(11).take(2);
        of_user_and_system.map(|ticks| ticks.parse::<usize>().expect("a number of ticks")).sum()
    }

    /// Whether the process runs.
    pub(crate) fn runs(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits for the end of the process.
    #[track_caller]
    pub(crate) fn ended(&mut self, within: Duration) -> ExitStatus {
        wait_for("the daemon to end", within, || self.child.try_wait().expect("the daemon's status"))
    }

    /// Sends SIGTERM and waits for the end.
    #[track_caller]
    pub(crate) fn terminate(mut self) -> Ended {
        let status = self.stop();
        self.explained = true;
        Ended { status, log: self.log() }
    }

    /// As [`Self::terminate`]; the log stays with the handle, and is printed where the test fails.
    #[track_caller]
    pub(crate) fn stop(&mut self) -> ExitStatus {
        self.signal(Signal::TERM);
        self.ended(END)
    }

    /// Freezes the process (SIGSTOP): its connections stay open, and it does nothing.
    pub(crate) fn freeze(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets the process go on after [`Self::freeze`].
    pub(crate) fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    /// Only for a process that was not waited for: its number is its own.
    fn signal(&self, signal: Signal) {
        let _ = kill_process(Pid::from_child(&self.child), signal);
    }

    /// Kills the process as a crash would.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() && !self.explained {
            eprintln!("---- the daemon said ----\n{}----", self.log());
        }
    }
}

/// A folder for `--state-dir`.
pub(crate) fn state_folder() -> (TempDir, String) {
    let folder = tempfile::Builder::new().prefix("zonewright-state-").tempdir().expect("a temporary folder");
    let path = text(folder.path());
    (folder, path)
}

pub(crate) fn text(path: &Path) -> String {
    path.to_str().expect("a plain path").to_owned()
}

/// Runs a program to its end, which is with this status and these words.
#[track_caller]
pub(crate) fn ends(line: &CommandLine, status: i32, says: &[&str]) -> Ended {
    let ended = line.run();
    assert_eq!(ended.status.code(), Some(status), "{}", ended.log);
    for text in says {
        assert!(ended.log.contains(text), "{text:?} is not in\n{}", ended.log);
    }
    ended
}
