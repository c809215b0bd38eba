//! The benchmarks by name.

mod churn;
mod idle;
mod latency;
mod memory;
mod messages;
mod pods;
mod registry;
mod scale;
mod start;
mod steps;
mod tree;

use anyhow::{Context as _, Result};

use crate::lab::Cluster;
use crate::options::Options;

/// A benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Task {
    /// From a changed object to the answer of the DNS server.
    Latency,
    /// From the start of the process to the last new name.
    Start,
    /// What an idle daemon asks.
    Idle,
    /// DNS messages for a change.
    Messages,
    /// Peak memory.
    Memory,
    /// Memory beside many Pods; the cluster takes minutes to fill, so only on demand.
    Pods,
    /// The list of all records in `ConfigMaps`; minutes, so only on demand.
    Registry,
    /// A thousand, ten thousand and a hundred thousand names, one program beside another; only on demand.
    Scale,
    /// Names that come and go, cycle after cycle; only on demand.
    Churn,
    /// What the features pull in.
    Tree,
    /// Cold builds; minutes of full load, so only on demand.
    Build,
}

impl Task {
    const ALL: [Self; 11] = [
        Self::Latency,
        Self::Start,
        Self::Idle,
        Self::Messages,
        Self::Memory,
        Self::Pods,
        Self::Registry,
        Self::Scale,
        Self::Churn,
        Self::Tree,
        Self::Build,
    ];

    /// What runs when nothing is named.
    pub(crate) const USUAL: [Self; 6] =
        [Self::Latency, Self::Start, Self::Idle, Self::Messages, Self::Memory, Self::Tree];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Start => "start",
            Self::Idle => "idle",
            Self::Messages => "messages",
            Self::Memory => "memory",
            Self::Pods => "pods",
            Self::Registry => "registry",
            Self::Scale => "scale",
            Self::Churn => "churn",
            Self::Tree => "tree",
            Self::Build => "build",
        }
    }

    pub(crate) fn parse(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|task| task.name() == name);
        found.with_context(|| format!("no benchmark {name}; expected {}", Self::ALL.map(Self::name).join(", ")))
    }

    /// Measures, and returns a Markdown section.
    pub(crate) fn run(self, options: &Options, cluster: &Cluster) -> Result<String> {
        match self {
            Self::Latency => latency::run(options, cluster),
            Self::Start => start::run(options, cluster),
            Self::Idle => idle::run(options, cluster),
            Self::Messages => messages::run(options, cluster),
            Self::Memory => memory::run(options, cluster),
            Self::Pods => pods::run(options),
            Self::Registry => registry::run(options, cluster),
            Self::Scale => scale::run(options),
            Self::Churn => churn::run(options, cluster),
            Self::Tree => tree::run(),
            Self::Build => steps::run(),
        }
    }
}
