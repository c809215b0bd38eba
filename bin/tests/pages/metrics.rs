//! `docs/metrics.md` has the table of metrics that the code makes of itself. `BLESS=1` writes it.

use std::fmt::Write as _;
use std::time::Duration;

use zonewright_engine::metrics::{MetricDescription, Metrics};
use zonewright_gardener::metrics::ControllerMetrics;
use zonewright_gardener::operation::Operation;
use zonewright_http::RequestTimes;

use crate::{read, root};

const PATH: &str = "docs/metrics.md";
const BEGIN: &str = "<!-- begin: made by the test `pages` -->\n";
const END: &str = "<!-- end -->";

/// Every metric that the program may serve, and a text in which those of other parts show their labels.
fn all() -> (Vec<MetricDescription>, String) {
    let metrics = Metrics::default();
    metrics.build_info("", "");
    metrics.webhook_call("list", "ok");
    let times = RequestTimes::default();
    metrics.add_external_dns(RequestTimes::NAME, RequestTimes::HELP, times.family());
    let address = "http://localhost/".parse().expect("an address");
    times.observe(&address, "records", "GET", None, Duration::ZERO);
    ControllerMetrics::registered(&metrics).attempt(Operation::Reconcile, true);
    (metrics.described(), metrics.text())
}

/// The labels of a metric as a text of all metrics has them.
fn labels(metric: &MetricDescription, text: &str) -> Vec<String> {
    if !metric.labels.is_empty() {
        return metric.labels.iter().map(|label| (*label).to_owned()).collect();
    }
    let series = text.lines().find(|line| !line.starts_with('#') && line.starts_with(&metric.name));
    let labels = series.and_then(|line| line.split_once('{')).and_then(|(_, rest)| rest.split_once('}'));
    let pairs = labels.map(|(labels, _)| labels).unwrap_or_default().split("\",");
    pairs
        .filter_map(|pair| pair.split_once('='))
        .map(|(label, _)| label.to_owned())
        .filter(|label| label != "le")
        .collect()
}

fn table() -> String {
    let (metrics, text) = all();
    let mut out = String::from("| metric | kind | labels | says |\n|---|---|---|---|\n");
    for metric in &metrics {
        let labels: Vec<String> = labels(metric, &text).iter().map(|label| format!("`{label}`")).collect();
        let _ = writeln!(out, "| `{}` | {} | {} | {} |", metric.name, metric.kind, labels.join(", "), metric.help);
    }
    out
}

#[test]
fn the_page_of_metrics_is_current() {
    let page = read(PATH);
    let (head, rest) = page.split_once(BEGIN).expect("the mark before the table");
    let (old, tail) = rest.split_once(END).expect("the mark after the table");
    let table = table();
    assert!(table.lines().count() > 40 && table.contains("`instance`, `operation`, `outcome`"), "{table}");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(root().join(PATH), format!("{head}{BEGIN}{table}{END}{tail}")).expect("written");
    } else {
        assert!(old == table, "{PATH} is old: run the test `pages` with BLESS=1");
    }
}
