//! Sends no mutating request. A guarantee of this layer, not of each provider.

use std::sync::Arc;

use async_trait::async_trait;
use zonewright_core::capability::Capability;
use zonewright_core::change::{Group, Outcome};
use zonewright_core::endpoint::Endpoint;
use zonewright_core::error::{Error, ErrorKind, Result};
use zonewright_core::interpret::Interpretation;
use zonewright_core::provider::{Adjustment, Listing, Provider, Read};
use zonewright_core::record::RecordSet;
use zonewright_core::zone::{Zone, ZoneId};

/// Reads pass, writes end here.
pub struct DryRun {
    inner: Arc<dyn Provider>,
}

impl DryRun {
    /// The layer around a provider.
    pub fn new(inner: Arc<dyn Provider>) -> Self {
        Self { inner }
    }
}

impl std::fmt::Debug for DryRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DryRun")
    }
}

#[async_trait]
impl Provider for DryRun {
    fn capability(&self, zone: Option<&Zone>) -> Capability {
        self.inner.capability(zone)
    }

    async fn zones(&self) -> Result<Vec<Zone>> {
        self.inner.zones().await
    }

    async fn zone(&self, id: &ZoneId) -> Result<Option<Zone>> {
        self.inner.zone(id).await
    }

    async fn records(&self, zone: &Zone, read: Read<'_>) -> Result<Listing> {
        self.inner.records(zone, read).await
    }

    fn interpret(&self, zone: &Zone, endpoint: &Endpoint) -> Interpretation {
        self.inner.interpret(zone, endpoint)
    }

    async fn adjust(&self, zone: &Zone, sets: &[RecordSet]) -> Vec<Adjustment> {
        self.inner.adjust(zone, sets).await
    }

    async fn served(&self, zone: &Zone) -> Result<Option<bool>> {
        self.inner.served(zone).await
    }

    async fn apply(&self, _: &Zone, groups: &[Group]) -> Vec<Outcome> {
        let error = || Error::new(ErrorKind::DryRun, "apply changes", "dry run: nothing is sent");
        groups.iter().map(|_| Outcome::NotSent(error())).collect()
    }
}
