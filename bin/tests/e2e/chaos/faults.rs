//! What breaks: the DNS server, the API server and the daemons are frozen, killed and stopped, each for a while of its own.

use std::os::unix::process::ExitStatusExt as _;
use std::time::{Duration, Instant};

use super::World;
use crate::daemon::{CommandLine, Daemon};
use crate::dice::Dice;

/// Something that can break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Victim {
    Dns,
    Api,
    Daemon(usize),
}

/// What is wrong with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Harm {
    /// SIGSTOP.
    Frozen,
    /// SIGKILL.
    Killed,
    /// SIGTERM, and its end.
    Stopped,
}

/// Something that is broken now.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fault {
    victim: Victim,
    harm: Harm,
    until: Instant,
}

/// A daemon over all its starts. The folder of its state goes last.
#[derive(Debug)]
pub(super) struct Runner {
    pub(super) daemon: Daemon,
    /// Those that have ended; they print what they said where the test fails.
    ended: Vec<Daemon>,
    line: CommandLine,
    pub(super) state: (tempfile::TempDir, String),
}

impl Runner {
    #[track_caller]
    pub(super) fn start(line: CommandLine, state: (tempfile::TempDir, String)) -> Self {
        let line = line.without("--state-dir").arg(format!("--state-dir={}", state.1));
        Self { daemon: line.start(), ended: Vec::new(), line, state }
    }

    #[track_caller]
    fn start_again(&mut self) {
        self.ended.push(std::mem::replace(&mut self.daemon, self.line.start()));
    }

    /// All that its processes have said.
    pub(super) fn log(&self) -> String {
        self.ended.iter().chain([&self.daemon]).map(Daemon::log).collect()
    }
}

impl World {
    pub(super) fn works(&self, victim: Victim) -> bool {
        !self.faults.iter().any(|fault| fault.victim == victim)
    }

    /// Breaks something that works.
    #[track_caller]
    pub(super) fn harm(&mut self) {
        let daemons = self.runners.len();
        let victims: Vec<Victim> =
            [Victim::Dns, Victim::Api].into_iter().chain((0..daemons).map(Victim::Daemon)).collect();
        let Some(victim) = self.dice.pick(&victims).copied().filter(|victim| self.works(*victim)) else { return };
        let harm = match self.dice.below(20) {
            0..10 => Harm::Frozen,
            10..13 if victim == Victim::Api => Harm::Frozen,
            10..18 => Harm::Killed,
            _ => Harm::Stopped,
        };
        let lasts = duration(&mut self.dice, self.long);
        self.story.note(format!("{victim:?} is {harm:?} for {lasts:?}"));
        match (victim, harm) {
            (Victim::Dns, Harm::Frozen) => self.site.dns.stop(),
            // One that is stopped in order is so as it comes back.
            (Victim::Dns, _) => self.site.dns.kill(),
            (Victim::Api, Harm::Frozen) => self.kube.pause(),
            (Victim::Api, Harm::Killed) => self.kube.kill_api(),
            (Victim::Api, Harm::Stopped) => self.kube.stop_api(),
            (Victim::Daemon(n), Harm::Frozen) => self.runners[n].daemon.freeze(),
            (Victim::Daemon(n), Harm::Killed) => self.runners[n].daemon.kill(),
            (Victim::Daemon(n), Harm::Stopped) => {
                let status = self.runners[n].daemon.stop();
                // One that has only just begun does not listen for signals yet.
                let at_once = status.signal() == Some(rustix::process::Signal::TERM.as_raw());
                assert!(status.success() || at_once, "it ends in order whatever is broken: {status}");
                self.story.note("it has ended");
            }
        }
        self.faults.push(Fault { victim, harm, until: Instant::now() + lasts });
    }

    /// Mends what was broken for long enough.
    #[track_caller]
    pub(super) fn heal_what_is_due(&mut self) {
        let now = Instant::now();
        let (due, rest) = self.faults.iter().partition(|fault| fault.until <= now);
        self.faults = rest;
        self.heal(due);
    }

    #[track_caller]
    pub(super) fn heal_all(&mut self) {
        let all = std::mem::take(&mut self.faults);
        self.heal(all);
    }

    #[track_caller]
    fn heal(&mut self, faults: Vec<Fault>) {
        for Fault { victim, harm, .. } in faults {
            match (victim, harm) {
                (Victim::Dns, Harm::Frozen) => self.site.dns.cont(),
                (Victim::Dns, _) => self.site.dns.restart(),
                (Victim::Api, Harm::Frozen) => self.kube.resume(),
                (Victim::Api, _) => self.kube.start_api(),
                (Victim::Daemon(n), Harm::Frozen) => self.runners[n].daemon.thaw(),
                (Victim::Daemon(n), _) => self.runners[n].start_again(),
            }
            self.story.note(format!("{victim:?} works again"));
        }
    }

    /// No fault of anything else ends a daemon.
    #[track_caller]
    pub(super) fn daemons_run(&mut self) {
        for n in 0..self.runners.len() {
            let ended = self.works(Victim::Daemon(n)) && !self.runners[n].daemon.runs();
            assert!(!ended, "daemon {n} has ended by itself");
        }
    }
}

/// Mostly short; now and then up to `long`.
fn duration(dice: &mut Dice, long: Duration) -> Duration {
    let most = if dice.chance(15) { long } else { Duration::from_secs(2) };
    let most = usize::try_from(most.as_millis()).unwrap_or(usize::MAX);
    Duration::from_millis(u64::try_from(100 + dice.below(most)).unwrap_or(u64::MAX))
}
