//! What metrics there are, for people: every registration leaves a line here.

use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Metric, Registry};

/// A metric as the page of metrics shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricDescription {
    /// The name under which it is served, without the suffixes of histograms.
    pub name: String,
    /// `counter`, `gauge`, `histogram` or `info`.
    pub kind: &'static str,
    /// The names of its labels; none where it has none, or another part of the program brought it.
    pub labels: &'static [&'static str],
    /// What it says.
    pub help: String,
}

impl MetricDescription {
    /// Describes a metric that is registered under this name and prefix.
    pub(super) fn of(
        prefix: &str,
        name: &str,
        help: &str,
        metric: &impl Metric,
        labels: &'static [&'static str],
    ) -> Self {
        let (kind, suffix) = match metric.metric_type() {
            MetricType::Counter => ("counter", "_total"),
            MetricType::Gauge => ("gauge", ""),
            MetricType::Histogram => ("histogram", ""),
            MetricType::Info => ("info", "_info"),
            MetricType::Unknown => ("unknown", ""),
        };
        Self { name: format!("{prefix}_{name}{suffix}"), kind, labels, help: help.to_owned() }
    }
}

/// The names of the labels of a set.
pub(super) trait LabelNames {
    /// In the order in which they are served.
    const NAMES: &'static [&'static str];
}

/// The names of the labels of a metric.
pub(super) trait Labelled {
    /// None for a metric without labels.
    const LABELS: &'static [&'static str] = &[];
}

impl<N, A> Labelled for Counter<N, A> {}
impl<N, A> Labelled for Gauge<N, A> {}
impl<S: LabelNames, M, C> Labelled for Family<S, M, C> {
    const LABELS: &'static [&'static str] = S::NAMES;
}

/// A registry under a prefix, with the list of what is registered.
pub(super) struct Describing<'a> {
    pub(super) registry: &'a mut Registry,
    pub(super) prefix: &'static str,
    pub(super) list: &'a mut Vec<MetricDescription>,
}

impl Describing<'_> {
    /// Registers a metric and describes it.
    pub(super) fn register<M: Metric + Labelled>(&mut self, name: &str, help: &str, metric: M) {
        self.list.push(MetricDescription::of(self.prefix, name, help, &metric, M::LABELS));
        self.registry.register(name, help, metric);
    }
}
