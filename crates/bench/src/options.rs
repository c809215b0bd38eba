//! What the command line asks for.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::objects::Kind;
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
    /// How long after its start a daemon counts as at rest, in the benchmark `scale`.
    pub(crate) settle: Duration,
    /// The rows of the benchmark `scale`.
    pub(crate) scale: Vec<Row>,
    /// Cycles of the benchmark `churn`.
    pub(crate) cycles: u32,
    /// A binary to measure in place of the one that is built.
    pub(crate) new: Option<PathBuf>,
    /// A binary to measure beside it.
    pub(crate) old: Option<PathBuf>,
}

/// A size of the benchmark `scale`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Row {
    /// Names that are created.
    pub(crate) names: u32,
    /// Records of others in the zone.
    pub(crate) foreign: u32,
    /// Where the objects are.
    pub(crate) place: Place,
}

/// Where the objects of a row are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Objects of an API server.
    Cluster(Kind),
    /// Services in a folder of manifests.
    Folder,
}

impl Row {
    /// Reads `NAMES`, `NAMES+FOREIGN`, either with `@folder` or `@ingress` behind it.
    fn parse(text: &str) -> Option<Self> {
        let (text, place) = match text.split_once('@') {
            None => (text, Place::Cluster(Kind::Service)),
            Some((text, "ingress")) => (text, Place::Cluster(Kind::Ingress)),
            Some((text, "folder")) => (text, Place::Folder),
            Some(_) => return None,
        };
        let (names, foreign) = text.split_once('+').unwrap_or((text, "0"));
        Some(Self { names: names.parse().ok().filter(|names| *names > 0)?, foreign: foreign.parse().ok()?, place })
    }
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
            settle: Duration::from_secs(150),
            scale: ["1000", "10000+50000", "100000@ingress", "400000@folder"]
                .into_iter()
                .filter_map(Row::parse)
                .collect(),
            cycles: 30,
            new: None,
            old: None,
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
        match name {
            "new" | "old" => {
                let binary = if name == "new" { &mut self.new } else { &mut self.old };
                *binary = Some(PathBuf::from(value));
                return Ok(());
            }
            "scale" => {
                let rows: Option<Vec<Row>> = value.split(',').map(Row::parse).collect();
                self.scale =
                    rows.with_context(|| format!("--{option}: expected sizes such as 1000,10000+50000@folder"))?;
                return Ok(());
            }
            _ => {}
        }
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
            "settle" => self.settle = seconds,
            "cycles" => self.cycles = positive,
            "interval" => self.interval = seconds,
            "idle" => self.idle = seconds,
            _ => bail!(
                "--{name}: expected names, pods, services, changes, foreign, runs, cycles, interval, idle or settle (seconds), scale, new or old"
            ),
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
        let options = parse(&["scale", "--scale=7,8+9@ingress,5@folder", "--old=/x/y"]).unwrap();
        let row = |names, foreign, place| Row { names, foreign, place };
        let [services, ingresses] = [Kind::Service, Kind::Ingress].map(Place::Cluster);
        assert_eq!(options.scale, [row(7, 0, services), row(8, 9, ingresses), row(5, 0, Place::Folder)]);
        assert_eq!((options.old, options.new), (Some(PathBuf::from("/x/y")), None));
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
        check("--scale=10x");
        check("--scale=10@pod");
    }
}
