//! Layers: what happens around every provider, each of them a provider itself.
//!
//! From the outside in: [`Staged`] keeps record and claim together where the provider cannot, its [`Batcher`] cuts and bisects,
//! [`Retry`](RetryLayer) repeats what may be repeated, [`Deadline`] ends what takes too long, [`Metered`] counts what is really
//! sent, and [`DryRun`] sends nothing that changes anything. Providers themselves map and send, once; pace belongs to the
//! single request, and so to the client of whoever sends it.

mod ambiguous;
mod batch;
mod beside;
mod course;
mod deadline;
mod dry_run;
mod late;
mod meter;
mod retry;
mod selected_zones;
mod staged;
mod under_way;

use std::sync::Arc;
use std::time::Duration;

use zonewright_core::provider::Provider;
use zonewright_core::zone::InstanceId;

use crate::metrics::Metrics;
pub use ambiguous::AmbiguousZones;
pub use batch::{Batcher, MOST_DENIED};
pub use deadline::Deadline;
pub use dry_run::DryRun;
pub use meter::Metered;
pub use retry::RetryLayer;
pub use selected_zones::SelectedZones;
pub use staged::Staged;

/// How the layers around one provider are set.
#[derive(Debug, Clone)]
pub struct Layers {
    /// The instance, for metrics.
    pub instance: InstanceId,
    /// Whether the provider is a webhook ([`Metered::webhook`]).
    pub webhook: bool,
    /// Whether nothing may be changed.
    pub dry_run: bool,
    /// Longest time for one call.
    pub deadline: Duration,
    /// Whether a listing in one answer has an hour from the first attempt on, and not only after shorter ones.
    pub patient: bool,
    /// How often a read is tried in all.
    pub attempts: usize,
    /// What the jitter of pauses is drawn from; by chance where it is not given.
    pub seed: Option<u64>,
}

impl Layers {
    /// The usual settings: 60 s a call, no limit, 3 attempts.
    pub fn new(instance: InstanceId) -> Self {
        Self {
            instance,
            webhook: false,
            dry_run: false,
            deadline: Duration::from_mins(1),
            patient: false,
            attempts: 3,
            seed: None,
        }
    }

    /// Puts the layers around a provider.
    pub fn around(&self, provider: Arc<dyn Provider>, metrics: &Arc<Metrics>) -> Arc<dyn Provider> {
        let mut inner: Arc<dyn Provider> = provider;
        if self.dry_run {
            inner = Arc::new(DryRun::new(inner));
        }
        inner = Arc::new(Metered::new(inner, self.instance.clone(), metrics.clone()).webhook(self.webhook));
        inner = Arc::new(Deadline::new(inner, self.deadline).patient(self.patient));
        inner = Arc::new(RetryLayer::new(inner, self.attempts).seeded(self.seed));
        Arc::new(Staged::new(inner))
    }
}

#[cfg(test)]
mod selected_zones_tests;
#[cfg(test)]
mod staged_tests;
#[cfg(test)]
mod tests;
