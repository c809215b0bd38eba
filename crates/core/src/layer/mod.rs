//! Layers: what happens around every provider, each of them a provider itself.
//!
//! From the outside in: [`Staged`] keeps record and claim together where the provider cannot, [`Batcher`] cuts and bisects, [`Retry`](RetryLayer) repeats what may be repeated, [`Deadline`]
//! ends what takes too long, [`RateLimit`] paces, [`Metered`] counts what is really sent, and [`DryRun`] sends nothing
//! that changes anything. Providers themselves map and send, once.

mod batch;
mod course;
mod deadline;
mod dry_run;
mod meter;
mod rate;
mod retry;
mod staged;

use std::sync::Arc;
use std::time::Duration;

pub use batch::{Batcher, MOST_DENIED};
pub use deadline::Deadline;
pub use dry_run::DryRun;
pub use meter::Metered;
pub use rate::RateLimit;
pub use retry::RetryLayer;
pub use staged::Staged;

use crate::metrics::Metrics;
use crate::provider::Provider;
use crate::zone::InstanceId;

/// How the layers around one provider are set.
#[derive(Debug, Clone)]
pub struct Layers {
    /// The instance, for metrics.
    pub instance: InstanceId,
    /// Whether nothing may be changed.
    pub dry_run: bool,
    /// Longest time for one call.
    pub deadline: Duration,
    /// Longest time for a reading of a whole zone.
    pub listing_deadline: Duration,
    /// Calls per second, if they are limited.
    pub per_second: Option<std::num::NonZeroU32>,
    /// How often a read is tried in all.
    pub attempts: usize,
    /// What the jitter of pauses is drawn from; by chance where it is not given.
    pub seed: Option<u64>,
}

impl Layers {
    /// The usual settings: 60 s a call, no limit, 3 attempts.
    pub fn new(instance: InstanceId) -> Self {
        let minute = Duration::from_mins(1);
        Self {
            instance,
            dry_run: false,
            deadline: minute,
            listing_deadline: minute,
            per_second: None,
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
        inner = Arc::new(Metered::new(inner, self.instance.clone(), metrics.clone()));
        if let Some(per_second) = self.per_second {
            inner = Arc::new(RateLimit::new(inner, per_second));
        }
        inner = Arc::new(Deadline::new(inner, self.deadline).listing(self.listing_deadline));
        inner = Arc::new(RetryLayer::new(inner, self.attempts).seeded(self.seed));
        Arc::new(Staged::new(Arc::new(Batcher::new(inner))))
    }
}

#[cfg(test)]
mod staged_tests;
#[cfg(test)]
mod tests;
