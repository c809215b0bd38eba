//! A server process that cannot outlive the test: it has its own process group, which is killed on drop, and the kernel
//! kills it when the test process dies.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{LazyLock, mpsc};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use crate::tools;
use crate::wait::poll;

/// How long a server may take to end after SIGTERM before it is killed.
const GRACE: Duration = Duration::from_secs(20);
/// How much of a log a panic message quotes, in lines.
const QUOTED_LINES: usize = 30;

/// A running, stopped or ended server and its log.
#[derive(Debug)]
pub(crate) struct Process {
    name: String,
    child: Child,
    /// Whether it was waited for: from then on its number may belong to another process.
    reaped: bool,
    log: PathBuf,
}

impl Process {
    /// Starts `command` with its output appended to the file `log`.
    ///
    /// # Panics
    /// When it cannot be started.
    pub(crate) fn spawn(name: &str, command: &Command, log: &Path) -> Self {
        let child = spawn(command, log).unwrap_or_else(|error| panic!("cannot start {name}: {error}"));
        Self { name: name.to_owned(), child, reaped: false, log: log.to_owned() }
    }

    /// Waits until `ready` says so.
    ///
    /// # Panics
    /// When the process ends first or `within` is over; the message holds the end of the log.
    #[track_caller]
    pub(crate) fn wait_until_ready(&mut self, within: Duration, mut ready: impl FnMut() -> bool) {
        let ended = poll(within, || if ready() { Some(None) } else { self.ended().map(Some) });
        match ended {
            Some(None) => {}
            Some(Some(status)) => {
                panic!("{} ended with {status} instead of getting ready; its log:\n{}", self.name, self.log_end())
            }
            None => panic!("{} was not ready within {within:?}; its log:\n{}", self.name, self.log_end()),
        }
    }

    /// Sends SIGSTOP, and waits until every thread stands still: the process keeps its sockets and answers nothing.
    pub(crate) fn stop(&self) {
        self.signal(Signal::STOP);
        let _ = poll(Duration::from_secs(5), || self.stands_still().then_some(()));
    }

    /// Whether all threads are stopped, as `/proc` tells (proc(5), `task/*/stat`).
    fn stands_still(&self) -> bool {
        let Ok(tasks) = std::fs::read_dir(format!("/proc/{}/task", self.child.id())) else { return true };
        tasks.flatten().all(|task| {
            let stat = std::fs::read_to_string(task.path().join("stat")).unwrap_or_default();
            // The state follows the name, which stands in brackets and may hold anything.
            stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('T'))
        })
    }

    /// Sends SIGCONT after [`Self::stop`].
    pub(crate) fn cont(&self) {
        self.signal(Signal::CONT);
    }

    /// Asks the process to end (SIGTERM) and waits for it; it is killed if it takes longer than [`GRACE`].
    pub(crate) fn terminate(&mut self) {
        self.cont();
        self.signal(Signal::TERM);
        if poll(GRACE, || self.ended()).is_none() {
            self.kill();
        }
    }

    /// Ends the whole process group at once (SIGKILL) and waits for it.
    pub(crate) fn kill(&mut self) {
        self.signal(Signal::KILL);
        let _ = self.child.wait();
        self.reaped = true;
    }

    /// Everything that the server has written so far, over all its starts.
    pub(crate) fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    fn log_end(&self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(QUOTED_LINES)..].join("\n")
    }

    fn ended(&mut self) -> Option<ExitStatus> {
        let status = self.child.try_wait().ok().flatten();
        self.reaped |= status.is_some();
        status
    }

    fn signal(&self, signal: Signal) {
        if !self.reaped {
            // The only failure is that the group has ended by itself, which is what most callers want.
            let _ = kill_process_group(Pid::from_child(&self.child), signal);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A process to be started by the spawner thread, and where its answer goes.
type Order = (Command, mpsc::Sender<io::Result<Child>>);

/// The thread that starts all processes. The kernel's parent-death signal is bound to the *thread* that forked, and a
/// test's thread ends with its test, while a server may be shared by several; this one lasts as long as the process.
static SPAWNER: LazyLock<mpsc::Sender<Order>> = LazyLock::new(|| {
    let (orders, inbox) = mpsc::channel::<Order>();
    std::thread::Builder::new()
        .name("testkit-spawner".to_owned())
        .spawn(move || {
            for (mut command, answer) in inbox {
                let _ = answer.send(command.spawn());
            }
        })
        .expect("a thread for starting servers");
    orders
});

fn spawn(command: &Command, log: &Path) -> io::Result<Child> {
    let log = OpenOptions::new().create(true).append(true).open(log)?;
    let mut wrapped = mortal(command);
    wrapped.stdin(Stdio::null()).stdout(File::try_clone(&log)?).stderr(log).process_group(0);
    let (sender, answer) = mpsc::channel();
    SPAWNER.send((wrapped, sender)).map_err(io::Error::other)?;
    answer.recv().map_err(io::Error::other)?
}

/// The same command run through `setpriv --pdeathsig KILL` where util-linux has it: then not even a killed test leaves
/// servers behind.
fn mortal(command: &Command) -> Command {
    let mut wrapped = match tools::find("setpriv") {
        Some(setpriv) => {
            let mut wrapped = Command::new(setpriv);
            wrapped.args(["--pdeathsig", "KILL", "--"]).arg(command.get_program());
            wrapped
        }
        None => Command::new(command.get_program()),
    };
    wrapped.args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => wrapped.env(name, value),
            None => wrapped.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        wrapped.current_dir(folder);
    }
    wrapped
}
