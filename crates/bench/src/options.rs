//! What the command line asks for.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::task::Task;

/// Which benchmarks, and how large.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Options {
    /// In the order given; all but `pods`, `registry` and `build` where none is.
    pub(crate) tasks: Vec<Task>,
    /// Names that are there, or are created.
    pub(crate) names: u32,
    /// Pods beside the Services of the benchmark `pods`.
    pub(crate) pods: u32,
    /// Services that these Pods stand behind.
    pub(crate) services: u32,
    /// Changes whose latency is measured.
    pub(crate) changes: u32,
    /// Records of others in the zone.
    pub(crate) foreign: u32,
    /// Starts of each kind; the median counts.
    pub(crate) runs: usize,
    /// `--interval` of the idle daemon.
    pub(crate) interval: Duration,
    /// How long the idle daemon is watched.
    pub(crate) idle: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            tasks: Task::USUAL.to_vec(),
            names: 10_000,
            pods: 50_000,
            services: 5_000,
            changes: 1_000,
            foreign: 50_000,
            runs: 3,
            interval: Duration::from_secs(10),
            idle: Duration::from_mins(1),
        }
    }
}

impl Options {
    /// Reads names of tasks and `--option=number`.
    ///
    /// # Errors
    /// Names the first word that is neither.
    pub(crate) fn parse(arguments: &[String]) -> Result<Self> {
        let mut options = Self::default();
        let mut tasks = Vec::new();
        for argument in arguments {
            match argument.strip_prefix("--") {
                Some(option) => options.set(option)?,
                None => tasks.push(Task::parse(argument)?),
            }
        }
        if !tasks.is_empty() {
            options.tasks = tasks;
        }
        Ok(options)
    }

    fn set(&mut self, option: &str) -> Result<()> {
        let (name, value) = option.split_once('=').with_context(|| format!("--{option}: expected --name=number"))?;
        let number: u32 = value.parse().with_context(|| format!("--{option}: expected a number"))?;
        let positive = number.max(1);
        let seconds = Duration::from_secs(positive.into());
        match name {
            "names" => self.names = positive,
            "pods" => self.pods = positive,
            "services" => self.services = positive,
            "changes" => self.changes = positive,
            "foreign" => self.foreign = number,
            "runs" => self.runs = positive as usize,
            "interval" => self.interval = seconds,
            "idle" => self.idle = seconds,
            _ => bail!("--{name}: expected names, pods, services, changes, foreign, runs, interval or idle (seconds)"),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Options> {
        Options::parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn tasks_and_sizes_are_read() {
        assert_eq!(parse(&[]).unwrap(), Options::default());
        let options = parse(&["start", "--names=20", "idle", "--interval=60"]).unwrap();
        assert_eq!(options.tasks, [Task::Start, Task::Idle]);
        assert_eq!((options.names, options.interval), (20, Duration::from_mins(1)));
    }

    #[test]
    fn what_is_neither_is_named() {
        let check = |word: &str| {
            let error = format!("{:#}", parse(&[word]).unwrap_err());
            assert!(error.contains(word.trim_start_matches('-').split('=').next().unwrap()), "{error}");
        };
        check("speed");
        check("--names=many");
        check("--size=3");
        check("--names");
    }
}
