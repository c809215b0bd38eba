//! Google Cloud DNS.
//!
//! In: the contract of [`zonewright_core::provider::Provider`]. Out: requests of the v1 API, at the pace of the user. What must hold:
//!
//! - A call is one change, which the service carries out as a whole or not at all. What goes is named with exactly what was read, and
//!   what comes must not stand: the service holds both against the zone, so nothing is ever written over.
//! - The items of a routing policy stand in one record set ([`zonewright_core::record::RecordData::Items`]), which is read and written
//!   as a whole. What of it is not ours is sent back as it was read; a policy of another kind (failover) is never written.
//! - Zones whose answers come from elsewhere (peering, forwarding, Service Directory, reverse look-up) are left alone.
//!
//! Where we differ from external-dns is listed in `docs/providers/clouddns.md`.

mod adjust;
mod apply;
mod client;
mod config;
mod convert;
mod credentials;
mod error;
mod exact;
mod interpret;
mod key;
mod metadata;
mod operation;
mod options;
mod policy;
mod records;
mod served;
mod token;
mod wire;
mod zones;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use zonewright_core::capability::{
    Audit, Batch, Capability, Preconditions, RoutingKind, RoutingSupport, TtlRange, TypeSupport,
};
use zonewright_core::catalog::{ProviderConfig, ProviderEntry};
use zonewright_core::change::{Group, Outcome};
use zonewright_core::endpoint::Endpoint;
use zonewright_core::interpret::Interpretation;
use zonewright_core::provider::{Adjustment, Listing, Provider, Read};
use zonewright_core::sizes::Sizes;
use zonewright_core::zone::{ZoneId, ZoneRule};
use zonewright_core::{RecordSet, Result, Ttl, Zone};

use crate::client::Service;
use crate::config::{Config, Pace};
use crate::exact::Exact;
use crate::records::Records;
use crate::served::Served;
use crate::wire::Quota;
use crate::zones::Zones;

pub use config::{FLAGS, SECRET_KEYS};
pub use options::OPTIONS;

/// The catalog entry.
pub const ENTRY: ProviderEntry = ProviderEntry {
    feature: "provider-clouddns",
    page: "docs/providers/clouddns.md",
    flags: FLAGS,
    check: config::check,
    options: OPTIONS,
    secret_keys: SECRET_KEYS,
    capability: || Some(capability(Quota::default(), Pace::default())),
    ..ProviderEntry::new("google", "Google Cloud DNS: public and private zones, routing policies", |config| {
        Box::pin(async move { Ok(Arc::new(CloudDns::new(&config)?) as Arc<dyn Provider>) })
    })
};

/// The routing policies whose items are written.
const ROUTING: &[RoutingKind] = &[RoutingKind::Weighted, RoutingKind::Geolocation];

/// The provider.
#[derive(Debug)]
pub struct CloudDns {
    service: Arc<Service>,
    zones: Zones,
    pace: Pace,
    exact: Exact,
    sizes: Sizes,
    served: Served,
}

impl CloudDns {
    /// A provider with this configuration. Asks for nothing.
    ///
    /// # Errors
    /// [`zonewright_core::ErrorKind::Configuration`] naming the flag, or the variable, proxy or file that cannot be used.
    pub fn new(config: &ProviderConfig) -> Result<Self> {
        Self::with_variables(config, &|name| std::env::var(name).ok())
    }

    /// As [`CloudDns::new`], with the variables of another environment: where credentials and the metadata server are.
    ///
    /// # Errors
    /// As [`CloudDns::new`].
    pub fn with_variables(config: &ProviderConfig, variable: &dyn Fn(&str) -> Option<String>) -> Result<Self> {
        let parsed = Config::parse(config, variable)?;
        let service = Arc::new(Service::new(config, &parsed)?);
        let Config { instance, selection, pace, .. } = parsed;
        let zones = Zones::new(instance, service.clone(), selection);
        Ok(Self { service, zones, pace, exact: Exact::default(), sizes: Sizes::default(), served: Served::default() })
    }

    fn records_of<'a>(&'a self, zone: &'a Zone) -> Records<'a> {
        Records { service: &self.service, zone, exact: &self.exact, sizes: &self.sizes }
    }
}

/// What the service can do in a project with these limits.
fn capability(quota: Quota, pace: Pace) -> Capability {
    // An update is an addition and a deletion.
    let changes = pace.batch.min(quota.rrset_additions_per_change).min(quota.rrset_deletions_per_change).max(1);
    Capability {
        types: TypeSupport::Listed(adjust::types()),
        routing: RoutingSupport::InSet(ROUTING),
        one_kind: true,
        batch: Batch {
            size: Some(quota.total_rrdata_size_per_change),
            update: 2,
            interval: pace.interval,
            ..Batch::of(changes)
        },
        preconditions: Preconditions::Changed,
        zone_rule: ZoneRule::AllPrivateInnermostPublic,
        audit: Audit::Listing,
        // A tenth of the user's rate.
        audit_pace: Duration::from_secs(10).checked_div(pace.qps).unwrap_or_default(),
        // What a listing that lags behind leads to is refused by the service: each change states what stands.
        settle: Duration::ZERO,
        ..Capability::authoritative(changes, TtlRange::any(default_ttl()))
    }
}

fn default_ttl() -> Ttl {
    Ttl::from_secs(convert::DEFAULT_TTL).unwrap_or(Ttl::ZERO)
}

#[async_trait]
impl Provider for CloudDns {
    fn capability(&self, _: Option<&Zone>) -> Capability {
        capability(self.zones.quota(), self.pace)
    }

    async fn zones(&self) -> Result<Vec<Zone>> {
        let zones = self.zones.list().await?;
        let is_there = |id: &ZoneId| zones.iter().any(|zone| zone.key.zone == *id);
        self.exact.retain(is_there);
        self.sizes.retain(is_there);
        self.served.retain(is_there);
        Ok(zones)
    }

    async fn zone(&self, id: &ZoneId) -> Result<Option<Zone>> {
        self.zones.one(id).await
    }

    async fn records(&self, zone: &Zone, read: Read<'_>) -> Result<Listing> {
        match read {
            Read::All | Read::Since(_) => self.records_of(zone).page(None).await,
            Read::From(cursor) => self.records_of(zone).page(Some(cursor)).await,
            Read::Names(names) => self.records_of(zone).at(names).await.map(Listing::Names),
        }
    }

    fn interpret(&self, _: &Zone, endpoint: &Endpoint) -> Interpretation {
        interpret::interpret(endpoint)
    }

    async fn adjust(&self, _: &Zone, sets: &[RecordSet]) -> Vec<Adjustment> {
        let quota = self.zones.quota();
        sets.iter().map(|set| adjust::adjust(set, quota)).collect()
    }

    async fn apply(&self, zone: &Zone, groups: &[Group]) -> Vec<Outcome> {
        apply::apply(&self.service, zone, groups, self.zones.quota(), (&self.exact, &self.served)).await
    }

    async fn served(&self, zone: &Zone) -> Result<Option<bool>> {
        self.served.ask(&self.service, zone).await.map(Some)
    }
}
