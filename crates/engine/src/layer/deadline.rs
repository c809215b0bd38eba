//! Ends what takes too long. A write that was cut off is [`Outcome::Unknown`]: it may have been carried out.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use zonewright_core::capability::Capability;
use zonewright_core::change::{Group, Outcome};
use zonewright_core::error::{Error, ErrorKind, Result};
use zonewright_core::provider::{Adjusted, Listing, Provider, Read};
use zonewright_core::record::RecordSet;
use zonewright_core::zone::{Zone, ZoneId};

/// A limit on the time of one call.
pub struct Deadline {
    inner: Arc<dyn Provider>,
    limit: Duration,
    /// For a reading of a whole zone.
    listing: Duration,
}

impl Deadline {
    /// Around `inner`.
    pub fn new(inner: Arc<dyn Provider>, limit: Duration) -> Self {
        Self { inner, limit, listing: limit }
    }

    /// With another limit for a reading of a whole zone, whose time follows the size of the zone.
    #[must_use]
    pub fn listing(self, limit: Duration) -> Self {
        Self { listing: limit, ..self }
    }

    fn error(operation: &'static str, limit: Duration) -> Error {
        let limit = zonewright_core::duration::show(limit);
        Error::new(ErrorKind::Timeout, operation, format!("no answer within {limit}"))
    }

    async fn within<T>(&self, operation: &'static str, call: impl Future<Output = Result<T>>) -> Result<T> {
        Self::limited(self.limit, operation, call).await
    }

    async fn limited<T>(limit: Duration, operation: &'static str, call: impl Future<Output = Result<T>>) -> Result<T> {
        tokio::time::timeout(limit, call).await.unwrap_or_else(|_| Err(Self::error(operation, limit)))
    }
}

impl std::fmt::Debug for Deadline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Deadline").field("limit", &self.limit).finish_non_exhaustive()
    }
}

#[async_trait]
impl Provider for Deadline {
    fn capability(&self, zone: Option<&Zone>) -> Capability {
        self.inner.capability(zone)
    }

    async fn zones(&self) -> Result<Vec<Zone>> {
        self.within("list zones", self.inner.zones()).await
    }

    async fn zone(&self, id: &ZoneId) -> Result<Option<Zone>> {
        self.within("read zone", self.inner.zone(id)).await
    }

    async fn records(&self, zone: &Zone, read: Read<'_>) -> Result<Listing> {
        let limit = if matches!(read, Read::All) { self.listing } else { self.limit };
        Self::limited(limit, "read records", self.inner.records(zone, read)).await
    }

    async fn adjust(&self, zone: &Zone, sets: &[RecordSet]) -> Result<Vec<Adjusted>> {
        self.within("adjust records", self.inner.adjust(zone, sets)).await
    }

    async fn apply(&self, zone: &Zone, groups: &[Group]) -> Vec<Outcome> {
        match tokio::time::timeout(self.limit, self.inner.apply(zone, groups)).await {
            Ok(outcomes) => outcomes,
            Err(_) => groups.iter().map(|_| Outcome::Unknown(Self::error("apply changes", self.limit))).collect(),
        }
    }
}
