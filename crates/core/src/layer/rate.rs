//! Paces calls.

use std::num::NonZeroU32;
use std::sync::Arc;

use async_trait::async_trait;
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};

use crate::capability::Capability;
use crate::change::{Group, Outcome};
use crate::error::Result;
use crate::provider::{Adjusted, Listing, Provider, Read};
use crate::record::RecordSet;
use crate::zone::{Zone, ZoneId};

/// At most so many calls a second, in bursts of as many. `adjust` is not counted.
pub struct RateLimit {
    inner: Arc<dyn Provider>,
    limiter: DefaultDirectRateLimiter,
}

impl RateLimit {
    /// Around `inner`.
    pub fn new(inner: Arc<dyn Provider>, per_second: NonZeroU32) -> Self {
        Self { inner, limiter: RateLimiter::direct(Quota::per_second(per_second)) }
    }

    /// Waits for a turn; polls in small steps of the runtime's own clock, which tests can pause.
    async fn turn(&self) {
        while self.limiter.check().is_err() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }
}

impl std::fmt::Debug for RateLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RateLimit")
    }
}

#[async_trait]
impl Provider for RateLimit {
    fn capability(&self, zone: Option<&Zone>) -> Capability {
        self.inner.capability(zone)
    }

    async fn zones(&self) -> Result<Vec<Zone>> {
        self.turn().await;
        self.inner.zones().await
    }

    async fn zone(&self, id: &ZoneId) -> Result<Option<Zone>> {
        self.turn().await;
        self.inner.zone(id).await
    }

    async fn records(&self, zone: &Zone, read: Read<'_>) -> Result<Listing> {
        self.turn().await;
        self.inner.records(zone, read).await
    }

    async fn adjust(&self, zone: &Zone, sets: &[RecordSet]) -> Result<Vec<Adjusted>> {
        self.inner.adjust(zone, sets).await
    }

    async fn apply(&self, zone: &Zone, groups: &[Group]) -> Vec<Outcome> {
        self.turn().await;
        self.inner.apply(zone, groups).await
    }
}
