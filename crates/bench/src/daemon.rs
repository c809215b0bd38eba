//! A daemon as a process of its own, and what the kernel knows of it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

/// What a tick of `/proc/<pid>/stat` is worth; the same on every Linux that Rust runs on.
const TICK: Duration = Duration::from_millis(10);

/// A running daemon. Ends with the handle.
#[derive(Debug)]
pub(crate) struct Daemon {
    child: Child,
    log: PathBuf,
    /// When it was started.
    pub(crate) begun: Instant,
}

/// Processor time so far, by what the kernel calls each thread: to the nanosecond, where `/proc/<pid>/stat` has steps of [`TICK`].
#[derive(Debug)]
pub(crate) struct Threads {
    each: BTreeMap<String, Duration>,
    /// Of those that have ended too, in steps.
    all: Duration,
}

/// Resident memory, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Memory {
    /// The most that it ever was.
    pub(crate) peak: u64,
    /// What it is now.
    pub(crate) now: u64,
    /// What of that is the process's own, and not its program, which the system reads again when it likes.
    pub(crate) own: u64,
}

impl Daemon {
    /// Starts `binary` with its log in a file.
    pub(crate) fn start(binary: &Path, arguments: &[String], log: &Path) -> Result<Self> {
        let file = File::create(log).context("create the daemon's log")?;
        // Not even a killed benchmark leaves a daemon behind.
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "--"])
            .arg(binary)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(file)
            .spawn()
            .context("start the daemon")?;
        Ok(Self { child, log: log.to_owned(), begun: Instant::now() })
    }

    /// # Errors
    /// The daemon has ended; quotes the end of its log.
    pub(crate) fn check(&mut self) -> Result<()> {
        if let Some(status) = self.child.try_wait()? {
            let log = fs::read_to_string(&self.log).unwrap_or_default();
            let lines: Vec<&str> = log.lines().collect();
            bail!("the daemon ended with {status}:\n{}", lines[lines.len().saturating_sub(20)..].join("\n"));
        }
        Ok(())
    }

    /// Waits for its end, and says how long it ran.
    ///
    /// # Errors
    /// It does not end in time, or not well.
    pub(crate) fn ended(&mut self, within: Duration) -> Result<Duration> {
        while self.begun.elapsed() < within {
            if let Some(status) = self.child.try_wait()? {
                return if status.success() { Ok(self.begun.elapsed()) } else { self.check().map(|()| Duration::ZERO) };
            }
            std::thread::sleep(TICK);
        }
        bail!("the daemon did not end within {within:?}")
    }

    /// Processor time so far, all threads, user and system.
    pub(crate) fn processor(&self) -> Result<Duration> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        ticks(&stat).map(|ticks| TICK * ticks).context("/proc/<pid>/stat has another shape")
    }

    /// Processor time so far, finer than [`Self::processor`].
    pub(crate) fn threads(&self) -> Result<Threads> {
        let mut each = BTreeMap::new();
        for thread in fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            let thread = thread?;
            // A thread that ends meanwhile is in the sum of all.
            if let Ok(line) = fs::read_to_string(thread.path().join("schedstat")) {
                let ran = nanoseconds(&line).context("/proc/<pid>/task/<tid>/schedstat has another shape")?;
                each.insert(thread.file_name().to_string_lossy().into_owned(), ran);
            }
        }
        Ok(Threads { each, all: self.processor()? })
    }

    /// Resident memory.
    pub(crate) fn memory(&self) -> Result<Memory> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let field = |name| kilobytes(&status, name).with_context(|| format!("{name} in /proc/<pid>/status"));
        Ok(Memory { peak: field("VmHWM")? * 1024, now: field("VmRSS")? * 1024, own: field("RssAnon")? * 1024 })
    }
}

impl Threads {
    /// What was spent since `earlier`. Of threads that have ended in between it knows no more than whole steps.
    pub(crate) fn since(&self, earlier: &Self) -> Duration {
        let before = |thread| earlier.each.get(thread).copied().unwrap_or_default();
        let spent = self.each.iter().map(|(thread, ran)| ran.saturating_sub(before(thread))).sum();
        // A difference of two counts is too large by less than a step.
        self.all.saturating_sub(earlier.all).saturating_sub(TICK).max(spent)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Fields 14 and 15 (proc_pid_stat(5)); the second field is the name in parentheses, which may hold spaces.
fn ticks(stat: &str) -> Option<u32> {
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u32>().ok();
    Some(field(14)? + field(15)?)
}

/// The first of three numbers: how long the thread ran.
fn nanoseconds(line: &str) -> Option<Duration> {
    line.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

fn kilobytes(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_figures_are_read() {
        let stat = "12 (zone (x) wright) S 1 12 12 0 -1 4194560 900 0 0 0 120 30 0 0 20 0 4 0 99 1 2";
        assert_eq!(ticks(stat), Some(150));
        assert_eq!(nanoseconds("463385830 74630 5\n"), Some(Duration::from_nanos(463_385_830)));
        assert_eq!(kilobytes("VmHWMX:\t1 kB\nVmHWM:\t   4096 kB\n", "VmHWM"), Some(4096));
    }

    #[test]
    fn what_was_spent_is_that_of_the_threads_or_of_all_that_ended() {
        let at = |threads: &[(&str, u64)], all| Threads {
            each: threads
                .iter()
                .map(|(thread, micros)| ((*thread).to_owned(), Duration::from_micros(*micros)))
                .collect(),
            all: Duration::from_millis(all),
        };
        let before = at(&[("7", 1_000), ("8", 500)], 10);
        assert_eq!(at(&[("7", 1_300), ("8", 500), ("9", 40)], 20).since(&before), Duration::from_micros(340));
        assert_eq!(at(&[("7", 1_300)], 100).since(&before), Duration::from_millis(80), "the thread 8 has ended");
    }
}
