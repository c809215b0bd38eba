//! Counts what is really sent: calls by operation and result, and how long they took.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::time::Instant;
use zonewright_core::capability::Capability;
use zonewright_core::change::{Group, Outcome};
use zonewright_core::endpoint::Endpoint;
use zonewright_core::error::Result;
use zonewright_core::interpret::Interpretation;
use zonewright_core::provider::{Adjustment, Listing, Provider, Read};
use zonewright_core::record::RecordSet;
use zonewright_core::zone::{InstanceId, Zone, ZoneId};

use crate::metrics::Metrics;

/// Feeds `zonewright_provider_calls_total` and `zonewright_provider_call_seconds`.
pub struct Metered {
    inner: Arc<dyn Provider>,
    instance: InstanceId,
    webhook: bool,
    metrics: Arc<Metrics>,
}

impl Metered {
    /// The layer around a provider; metrics carry the name of the instance.
    pub fn new(inner: Arc<dyn Provider>, instance: InstanceId, metrics: Arc<Metrics>) -> Self {
        Self { inner, instance, webhook: false, metrics }
    }

    /// The same; if the provider is a webhook, its calls also count under external-dns' names for those.
    #[must_use]
    pub fn webhook(self, webhook: bool) -> Self {
        Self { webhook, ..self }
    }

    fn count(&self, operation: &str, outcome: &str, began: Instant) {
        self.metrics.provider_call(&self.instance, operation, outcome, began.elapsed());
        if self.webhook {
            self.metrics.webhook_call(operation, outcome);
        }
    }

    fn note<T>(&self, operation: &'static str, began: Instant, result: Result<T>) -> Result<T> {
        let outcome = result.as_ref().map_or_else(|error| error.kind.label(), |_| "ok");
        self.count(operation, outcome, began);
        result
    }
}

impl std::fmt::Debug for Metered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Metered").field("instance", &self.instance).finish_non_exhaustive()
    }
}

#[async_trait]
impl Provider for Metered {
    fn capability(&self, zone: Option<&Zone>) -> Capability {
        self.inner.capability(zone)
    }

    async fn zones(&self) -> Result<Vec<Zone>> {
        let began = Instant::now();
        self.note("zones", began, self.inner.zones().await)
    }

    async fn zone(&self, id: &ZoneId) -> Result<Option<Zone>> {
        let began = Instant::now();
        self.note("zone", began, self.inner.zone(id).await)
    }

    async fn records(&self, zone: &Zone, read: Read<'_>) -> Result<Listing> {
        let operation = match read {
            Read::All | Read::From(_) => "list",
            Read::Since(_) => "audit",
            Read::Names(_) => "read",
        };
        let began = Instant::now();
        self.note(operation, began, self.inner.records(zone, read).await)
    }

    fn interpret(&self, zone: &Zone, endpoint: &Endpoint) -> Interpretation {
        self.inner.interpret(zone, endpoint)
    }

    async fn adjust(&self, zone: &Zone, sets: &[RecordSet]) -> Vec<Adjustment> {
        let began = Instant::now();
        let adjusted = self.inner.adjust(zone, sets).await;
        let unknown = adjusted.iter().find_map(|adjustment| match adjustment {
            Adjustment::Unknown(error) => Some(error.kind.label()),
            Adjustment::As { .. } | Adjustment::Refused(_) => None,
        });
        self.count("adjust", unknown.unwrap_or("ok"), began);
        adjusted
    }

    async fn served(&self, zone: &Zone) -> Result<Option<bool>> {
        let began = Instant::now();
        self.note("served", began, self.inner.served(zone).await)
    }

    async fn apply(&self, zone: &Zone, groups: &[Group]) -> Vec<Outcome> {
        let began = Instant::now();
        let outcomes = self.inner.apply(zone, groups).await;
        let worst = outcomes.iter().find(|o| !matches!(o, Outcome::Applied)).unwrap_or(&Outcome::Applied);
        self.count("apply", worst.label(), began);
        outcomes
    }
}
