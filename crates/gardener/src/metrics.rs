//! What was done, counted.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use zonewright_engine::metrics::Metrics;

use crate::operation::Operation;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Attempted {
    operation: &'static str,
    result: &'static str,
}

/// The metrics of the controller.
#[derive(Debug, Clone, Default)]
pub struct ControllerMetrics {
    attempts: Family<Attempted, Counter>,
    status_writes: Counter,
    /// DNSRecords that are known.
    pub records: Gauge,
    /// DNSRecords that are due.
    pub due: Gauge,
    /// Credentials at work.
    pub accounts: Gauge,
}

impl ControllerMetrics {
    /// The metrics, among those of the process.
    pub fn registered(metrics: &Metrics) -> Self {
        let tally = Self::default();
        let attempts = tally.attempts.clone();
        metrics.add("gardener_attempts", "Attempts at DNSRecords by operation and result", attempts);
        metrics.add("gardener_status_writes", "Writes of statuses of DNSRecords", tally.status_writes.clone());
        metrics.add("gardener_dns_records", "DNSRecords that are known", tally.records.clone());
        metrics.add("gardener_due_dns_records", "DNSRecords that are due, run or pause", tally.due.clone());
        metrics.add("gardener_accounts", "Credentials at work", tally.accounts.clone());
        tally
    }

    /// An attempt has ended.
    pub fn attempt(&self, operation: Operation, succeeded: bool) {
        let result = if succeeded { "succeeded" } else { "failed" };
        self.attempts.get_or_create(&Attempted { operation: operation.as_str(), result }).inc();
    }

    /// A status was written.
    pub fn status_write(&self) {
        self.status_writes.inc();
    }
}
