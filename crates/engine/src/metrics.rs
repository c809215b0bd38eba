//! Metrics: external-dns' names, which dashboards and alerts know, beside ours.
//!
//! Label values of the former are lower case, as there. A family appears when it gets its first value.

mod described;
mod labels;

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use zonewright_core::change::{Change, Outcome};
use zonewright_core::error::ErrorKind;
use zonewright_core::zone::InstanceId;

use described::Describing;
pub use described::MetricDescription;
pub use labels::{
    Build, ByKind, ByNamespace, ByReason, ByTable, ByType, ByZone, Call, CallTime, Changed, Mismatch, ZoneError,
};

type Seconds = Gauge<f64, AtomicU64>;

fn call_buckets() -> Histogram {
    Histogram::new(exponential_buckets(0.001, 4.0, 9))
}

fn publish_buckets() -> Histogram {
    Histogram::new(exponential_buckets(0.005, 2.0, 15))
}

/// Every metric of the engine.
pub struct Metrics {
    registry: Mutex<Registry>,
    /// What is registered.
    described: Mutex<Vec<MetricDescription>>,
    /// Start of the last round of any zone.
    pub last_reconcile: Seconds,
    /// End of the last round that left nothing undone.
    pub last_sync: Seconds,
    /// Rounds that found nothing to do.
    pub no_op_runs: Counter,
    /// Failed rounds in a row, over all zones.
    pub consecutive_errors: Gauge,
    /// Wanted record sets that are published as wanted.
    pub verified: Family<ByType, Gauge>,
    /// Record sets that the registry sees.
    pub registry_endpoints: Gauge,
    /// The same by type.
    pub registry_records: Family<ByType, Gauge>,
    /// Failed reads and writes of zones.
    pub registry_errors: Counter,
    /// Names left alone because of their owner.
    pub owner_mismatch: Family<Mismatch, Gauge>,
    /// Held while its numbers change, so that one that falls to nothing can go.
    mismatching: Mutex<()>,
    /// Endpoints that sources ask for.
    pub source_endpoints: Gauge,
    /// The same by type.
    pub source_records: Family<ByType, Gauge>,
    /// Failures of sources.
    pub source_errors: Counter,
    /// Texts of sources that cannot be read now.
    pub source_faults: Gauge,
    /// From the first sight of a change to its confirmation by the provider.
    pub time_to_publish: Family<ByZone, Histogram, fn() -> Histogram>,
    /// Changes by zone, kind and outcome.
    pub changes: Family<Changed, Counter>,
    /// Deletes that wait for approval or evidence.
    pub held: Family<ByZone, Gauge>,
    /// Records of our owner in the zone.
    pub owned: Family<ByZone, Gauge>,
    /// Records of ours outside the domain filter or the managed record types.
    pub out_of_scope: Family<ByZone, Gauge>,
    /// Whether the zone is read completely and its last write went well.
    pub zone_ready: Family<ByZone, Gauge>,
    /// Whether the state of the brake can be read and saved.
    pub state_trusted: Gauge,
    /// Errors of zones.
    pub zone_errors: Family<ZoneError, Counter>,
    /// Period of the audit.
    pub audit_period: Family<ByZone, Seconds>,
    /// Names that back off alone.
    pub parked: Family<ByZone, Gauge>,
    /// Record sets that the listing under way has read so far.
    pub listing: Family<ByZone, Gauge>,
    /// Names that another writer keeps changing back.
    pub contested: Family<ByZone, Gauge>,
    /// Our records whose claim stands elsewhere than by today's settings, or there and elsewhere.
    pub claims_to_move: Family<ByZone, Gauge>,
    /// Names that an undo set back and holds.
    pub pinned: Family<ByZone, Gauge>,
    /// Records that wait because their object or namespace has as many as it may have.
    pub quota_waiting: Family<ByNamespace, Gauge>,
    /// Failed writes of the journal.
    pub journal_errors: Counter,
    /// Whether the commands beside the process can reach it.
    pub control_socket: Gauge,
    /// Notes reported on objects.
    pub notes: Family<ByReason, Counter>,
    /// Names that are asked for and that the domain filter leaves out.
    pub filtered_names: Gauge,
    /// Objects held in memory.
    pub objects: Family<ByKind, Gauge>,
    /// Whether a delete may rest on the view of a kind.
    pub evidence: Family<ByKind, Gauge>,
    /// Entries of the engine's tables.
    pub tables: Family<ByTable, Gauge>,
    calls: Family<Call, Counter>,
    call_seconds: Family<CallTime, Histogram, fn() -> Histogram>,
    /// What external-dns counts of a webhook, as gauges: there once such a provider was called.
    webhook: OnceLock<[WebhookCalls; 3]>,
}

/// Requests of one kind to a webhook provider, and those that failed.
#[derive(Debug, Clone, Default)]
struct WebhookCalls {
    requests: Gauge,
    errors: Gauge,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics")
    }
}

impl Default for Metrics {
    fn default() -> Self {
        let time_to_publish: Family<ByZone, Histogram, fn() -> Histogram> =
            Family::new_with_constructor(publish_buckets);
        let call_seconds: Family<CallTime, Histogram, fn() -> Histogram> = Family::new_with_constructor(call_buckets);
        let metrics = Self {
            registry: Mutex::default(),
            described: Mutex::default(),
            last_reconcile: Seconds::default(),
            last_sync: Seconds::default(),
            no_op_runs: Counter::default(),
            consecutive_errors: Gauge::default(),
            verified: Family::default(),
            registry_endpoints: Gauge::default(),
            registry_records: Family::default(),
            registry_errors: Counter::default(),
            owner_mismatch: Family::default(),
            mismatching: Mutex::default(),
            source_endpoints: Gauge::default(),
            source_records: Family::default(),
            source_errors: Counter::default(),
            source_faults: Gauge::default(),
            time_to_publish,
            changes: Family::default(),
            held: Family::default(),
            owned: Family::default(),
            out_of_scope: Family::default(),
            zone_ready: Family::default(),
            state_trusted: Gauge::default(),
            zone_errors: Family::default(),
            audit_period: Family::default(),
            parked: Family::default(),
            listing: Family::default(),
            contested: Family::default(),
            claims_to_move: Family::default(),
            pinned: Family::default(),
            quota_waiting: Family::default(),
            journal_errors: Counter::default(),
            control_socket: Gauge::default(),
            notes: Family::default(),
            filtered_names: Gauge::default(),
            objects: Family::default(),
            evidence: Family::default(),
            tables: Family::default(),
            calls: Family::default(),
            call_seconds,
            webhook: OnceLock::new(),
        };
        metrics.register();
        metrics
    }
}

impl Metrics {
    fn register(&self) {
        let (mut root, mut list) = (Registry::default(), Vec::new());
        let prefix = "external_dns";
        let mut peer = Describing { registry: root.sub_registry_with_prefix(prefix), prefix, list: &mut list };
        peer.register(
            "controller_last_reconcile_timestamp_seconds",
            "Start of the last round",
            self.last_reconcile.clone(),
        );
        peer.register(
            "controller_last_sync_timestamp_seconds",
            "End of the last successful round",
            self.last_sync.clone(),
        );
        peer.register("controller_no_op_runs", "Rounds that found nothing to do", self.no_op_runs.clone());
        peer.register("controller_consecutive_soft_errors", "Failed rounds in a row", self.consecutive_errors.clone());
        peer.register("controller_verified_records", "Wanted record sets that are published", self.verified.clone());
        peer.register(
            "registry_endpoints_total",
            "Record sets that the registry sees",
            self.registry_endpoints.clone(),
        );
        peer.register("registry_records", "Record sets that the registry sees, by type", self.registry_records.clone());
        peer.register("registry_errors", "Failed reads and writes of zones", self.registry_errors.clone());
        peer.register(
            "registry_skipped_records_owner_mismatch_per_sync",
            "Wanted record sets left alone because of their owner",
            self.owner_mismatch.clone(),
        );
        peer.register("source_endpoints_total", "Endpoints that sources ask for", self.source_endpoints.clone());
        peer.register("source_records", "Endpoints that sources ask for, by type", self.source_records.clone());
        peer.register("source_errors", "Failures of sources", self.source_errors.clone());
        let prefix = "zonewright";
        let mut ours = Describing { registry: root.sub_registry_with_prefix(prefix), prefix, list: &mut list };
        ours.register(
            "time_to_publish_seconds",
            "From the first sight of a change to its confirmation by the provider",
            self.time_to_publish.clone(),
        );
        ours.register("changes", "Changes by zone, verb and outcome", self.changes.clone());
        ours.register("held_deletes", "Deletes that wait for an approval or for evidence", self.held.clone());
        ours.register("owned_records", "Record sets that are ours", self.owned.clone());
        let outside = "Record sets of ours outside the domain filter or the managed record types, left alone";
        ours.register("released_records", outside, self.out_of_scope.clone());
        ours.register(
            "state_trusted",
            "Whether the state of the brake can be read and saved; deletes that it counts are held where not",
            self.state_trusted.clone(),
        );
        ours.register(
            "zone_ready",
            "Whether a zone is read and takes updates, as /readyz says it",
            self.zone_ready.clone(),
        );
        ours.register("zone_errors", "Errors of zones by kind", self.zone_errors.clone());
        ours.register("audit_period_seconds", "Time between two audits of a zone", self.audit_period.clone());
        ours.register("parked_names", "Names that back off alone", self.parked.clone());
        ours.register(
            "listing_record_sets",
            "Record sets that the listing under way has read so far; 0 where none is",
            self.listing.clone(),
        );
        ours.register("contested_records", "Names that another writer keeps changing back", self.contested.clone());
        ours.register(
            "claims_to_move",
            "Our record sets whose claim does not stand, or not only, where today's settings put it",
            self.claims_to_move.clone(),
        );
        ours.register("held_names", "Names that an undo set back and holds", self.pinned.clone());
        let waiting = "Records that wait because their object or namespace has as many as it may have";
        ours.register("quota_waiting_records", waiting, self.quota_waiting.clone());
        ours.register("journal_errors", "Failed writes of the journal", self.journal_errors.clone());
        ours.register("control_socket", "Whether the socket for commands is open", self.control_socket.clone());
        ours.register(
            "filtered_names",
            "Names that objects ask for and that the domain filter leaves out",
            self.filtered_names.clone(),
        );
        ours.register("notes", "Notes reported on objects, by reason", self.notes.clone());
        ours.register(
            "source_faults",
            "Texts of sources (manifests) that cannot be read now",
            self.source_faults.clone(),
        );
        ours.register("watched_objects", "Objects held in memory, by kind", self.objects.clone());
        ours.register("kind_evidence", "Whether a delete may rest on the view of a kind", self.evidence.clone());
        let entries = "Entries of the tables that are keyed by names, objects or zones";
        ours.register("table_entries", entries, self.tables.clone());
        ours.register("provider_calls", "Calls to providers", self.calls.clone());
        ours.register("provider_call_seconds", "Duration of calls to providers", self.call_seconds.clone());
        *self.lock() = root;
        *self.list() = list;
    }

    fn list(&self) -> std::sync::MutexGuard<'_, Vec<MetricDescription>> {
        self.described.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Every metric that is registered, by name.
    pub fn described(&self) -> Vec<MetricDescription> {
        let mut all = self.list().clone();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Counts a record that is left alone because of its owner.
    pub(crate) fn mismatch(&self, label: &Mismatch) {
        let _alone = self.mismatching.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        self.owner_mismatch.get_or_create(label).inc();
    }

    /// Takes one back. Labels hold names that users choose: the last one goes with its label.
    pub(crate) fn match_again(&self, label: &Mismatch) {
        let _alone = self.mismatching.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let left = self.owner_mismatch.get_or_create(label).dec() - 1;
        if left <= 0 {
            self.owner_mismatch.remove(label);
        }
    }

    /// Forgets everything about a zone that is gone, but for the count of its errors.
    pub(crate) fn forget_zone(&self, zone: &str) {
        let label = ByZone { zone: zone.to_owned() };
        self.time_to_publish.remove(&label);
        self.audit_period.remove(&label);
        for family in [
            &self.held,
            &self.owned,
            &self.out_of_scope,
            &self.zone_ready,
            &self.parked,
            &self.listing,
            &self.contested,
            &self.claims_to_move,
            &self.pinned,
        ] {
            family.remove(&label);
        }
        for verb in Change::VERBS {
            for outcome in Outcome::LABELS {
                let (verb, outcome) = (verb.to_owned(), outcome.to_owned());
                self.changes.remove(&Changed { zone: zone.to_owned(), verb, outcome });
            }
        }
    }

    /// Forgets the count of the errors of a zone that has been gone for long.
    pub(crate) fn forget_zone_errors(&self, zone: &str) {
        for kind in ErrorKind::ALL {
            self.zone_errors.remove(&ZoneError { zone: zone.to_owned(), error: kind.label().to_owned() });
        }
    }

    /// Adds the constant `external_dns_build_info`.
    pub fn build_info(&self, version: &str, revision: &str) {
        let info: Family<Build, Gauge> = Family::default();
        info.get_or_create(&Build {
            version: version.to_owned(),
            revision: revision.to_owned(),
            arch: std::env::consts::ARCH.to_owned(),
            os: std::env::consts::OS.to_owned(),
        })
        .set(1);
        let (prefix, name, help) = ("external_dns", "build_info", "The build");
        let list = &mut *self.list();
        Describing { registry: self.lock().sub_registry_with_prefix(prefix), prefix, list }.register(name, help, info);
    }

    /// Registers a metric of another part of the program, under `zonewright_`.
    pub fn add(&self, name: &str, help: &str, metric: impl prometheus_client::registry::Metric) {
        self.brought("zonewright", name, help, metric);
    }

    /// Registers a metric of another part of the program that external-dns has too, under `external_dns_`.
    pub fn add_external_dns(&self, name: &str, help: &str, metric: impl prometheus_client::registry::Metric) {
        self.brought("external_dns", name, help, metric);
    }

    fn brought(&self, prefix: &str, name: &str, help: &str, metric: impl prometheus_client::registry::Metric) {
        self.list().push(MetricDescription::of(prefix, name, help, &metric, &[]));
        self.lock().sub_registry_with_prefix(prefix).register(name, help, metric);
    }

    pub(crate) fn provider_call(&self, instance: &InstanceId, operation: &str, outcome: &str, took: Duration) {
        let instance = instance.to_string();
        let call = Call { instance: instance.clone(), operation: operation.to_owned(), outcome: outcome.to_owned() };
        self.calls.get_or_create(&call).inc();
        let time = CallTime { instance, operation: operation.to_owned() };
        self.call_seconds.get_or_create(&time).observe(took.as_secs_f64());
    }

    /// A call of a webhook, as external-dns counts it.
    pub fn webhook_call(&self, operation: &str, outcome: &str) {
        let kinds = self.webhook.get_or_init(|| {
            let (mut registry, list, prefix) = (self.lock(), &mut *self.list(), "external_dns");
            let mut peer = Describing { registry: registry.sub_registry_with_prefix(prefix), prefix, list };
            ["records", "applychanges", "adjustendpoints"].map(|kind| {
                let calls = WebhookCalls::default();
                let name = |what: &str| format!("webhook_provider_{kind}_{what}_total");
                peer.register(&name("requests"), &format!("Requests to {kind} of the webhook"), calls.requests.clone());
                peer.register(
                    &name("errors"),
                    &format!("Failed requests to {kind} of the webhook"),
                    calls.errors.clone(),
                );
                calls
            })
        });
        let [records, apply, adjust] = kinds;
        let calls = match operation {
            "list" | "audit" | "read" => records,
            "apply" => apply,
            "adjust" => adjust,
            _ => return,
        };
        calls.requests.inc();
        calls.errors.inc_by(i64::from(!["ok", "applied"].contains(&outcome)));
    }

    /// Number of calls of an operation so far, whatever their outcome; for tests and benchmarks.
    pub fn calls(&self, instance: &InstanceId, operation: &str) -> u64 {
        ["ok", "applied", "refused", "not_sent", "unknown"]
            .into_iter()
            .filter_map(|outcome| {
                let call = Call {
                    instance: instance.to_string(),
                    operation: operation.to_owned(),
                    outcome: outcome.to_owned(),
                };
                self.calls.get(&call).map(|counter| counter.get())
            })
            .sum()
    }

    /// All metrics as OpenMetrics text.
    pub fn text(&self) -> String {
        let mut out = String::new();
        // Writing into a string cannot fail.
        let _ = encode(&mut out, &self.lock());
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_names_are_kept() {
        let metrics = Metrics::default();
        metrics.build_info("1.2.3", "abc");
        metrics.registry_errors.inc();
        metrics.registry_endpoints.set(7);
        metrics.held.get_or_create(&ByZone { zone: "example".to_owned() }).set(3);
        metrics.provider_call(&InstanceId::from("i"), "apply", "applied", Duration::from_millis(3));
        metrics.webhook_call("list", "ok");
        metrics.webhook_call("apply", "refused");
        let text = metrics.text();
        for line in [
            "external_dns_webhook_provider_records_requests_total 1",
            "external_dns_webhook_provider_records_errors_total 0",
            "external_dns_webhook_provider_applychanges_errors_total 1",
            "external_dns_webhook_provider_adjustendpoints_requests_total 0",
            "external_dns_registry_errors_total 1",
            "external_dns_registry_endpoints_total 7",
            "external_dns_controller_no_op_runs_total 0",
            "external_dns_build_info{version=\"1.2.3\",revision=\"abc\"",
            "zonewright_held_deletes{zone=\"example\"} 3",
            "zonewright_provider_calls_total{instance=\"i\",operation=\"apply\",outcome=\"applied\"} 1",
        ] {
            assert!(text.contains(line), "{line} is missing in\n{text}");
        }
        assert_eq!(metrics.calls(&InstanceId::from("i"), "apply"), 1);
    }
}
