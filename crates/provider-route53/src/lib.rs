//! Amazon Route 53.
//!
//! In: the contract of [`zonewright_core::provider::Provider`]. Out: requests of the service by the vendor's own client, at the pace
//! of the account. What must hold:
//!
//! - Nothing is overwritten blindly. A set that comes is sent as `CREATE`, which the service refuses where one stands; one that
//!   changes as `DELETE` of exactly what was read and `CREATE` in one batch, which stands or falls as a whole; `UPSERT` is never
//!   sent. What a group demands to stand besides is taken away and put back in the same batch, so that the service itself
//!   compares it.
//! - What was read is deleted as it was written: the service compares text. Where our own spelling would differ, the one that
//!   was read is kept (`exact`).
//! - A refused batch is laid at the door of the sets that the service names (`blame`, `refusal`).
//!
//! Where we differ from external-dns is listed in `docs/providers/route53.md`.

mod adjust;
mod apply;
mod blame;
pub mod canonical_zone;
mod config;
mod convert;
mod exact;
mod interpret;
pub mod name;
mod options;
mod properties;
mod records;
mod refusal;
mod served;
mod service;
pub mod txt;
mod website;
mod zones;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use zonewright_core::capability::{Audit, Batch, Capability, RoutingKind, RoutingSupport, TtlRange, TypeSupport};
use zonewright_core::catalog::{ProviderConfig, ProviderEntry};
use zonewright_core::change::{Group, Outcome};
use zonewright_core::endpoint::Endpoint;
use zonewright_core::interpret::Interpretation;
use zonewright_core::provider::{Adjustment, Listing, Provider, Read};
use zonewright_core::zone::{ZoneId, ZoneRule};
use zonewright_core::{RecordSet, RecordType, Result, Ttl, Zone};

use crate::config::Config;
use crate::exact::Exact;
use crate::served::Served;
use crate::service::{Pace, Service};
use crate::zones::Zones;

pub use config::{FLAGS, SECRET_KEYS};
pub use options::OPTIONS;

/// The catalog entry.
pub const ENTRY: ProviderEntry = ProviderEntry {
    feature: "provider-route53",
    page: "docs/providers/route53.md",
    flags: FLAGS,
    check: config::check,
    options: OPTIONS,
    secret_keys: SECRET_KEYS,
    capability: || Some(capability(config::LARGEST, config::PACE)),
    ..ProviderEntry::new("aws", "Amazon Route 53, public and private hosted zones", |config| {
        Box::pin(async move { Ok(Arc::new(Route53::new(&config)?) as Arc<dyn Provider>) })
    })
};

/// What an unset TTL becomes, as in external-dns.
const DEFAULT_TTL: u32 = 300;

/// Every routing policy that can be stated.
const ROUTING: &[RoutingKind] = &[
    RoutingKind::Weighted,
    RoutingKind::Latency,
    RoutingKind::Failover,
    RoutingKind::Geolocation,
    RoutingKind::Geoproximity,
    RoutingKind::Multivalue,
];

/// The provider.
#[derive(Debug)]
pub struct Route53 {
    pub(crate) zones: Zones,
    pub(crate) exact: Exact,
    served: Served,
    batch: Batch,
    pace: Pace,
    prefer_cname: bool,
    evaluate_health: bool,
}

impl Route53 {
    /// A provider with this configuration. Asks for nothing.
    ///
    /// # Errors
    /// [`zonewright_core::ErrorKind::Configuration`] naming the flag, or the proxy or file that cannot be used.
    pub fn new(config: &ProviderConfig) -> Result<Self> {
        let Config { instance, accounts, zone_roles, select, cache, batch, prefer_cname, evaluate_health, pace } =
            Config::parse(config)?;
        let http = service::connect(config)?;
        let service = |access| Service::new(access, &http, &config.shared, pace);
        let accounts = accounts.into_iter().map(service).collect();
        let roles = zone_roles.into_iter().map(|(zone, access)| (zone, service(access))).collect();
        let zones = Zones::new(instance, accounts, roles, select, cache);
        Ok(Self {
            zones,
            exact: Exact::default(),
            served: Served::default(),
            batch,
            pace,
            prefer_cname,
            evaluate_health,
        })
    }
}

/// The TTL of a set that states none.
fn default_ttl() -> Ttl {
    Ttl::from_secs(DEFAULT_TTL).unwrap_or(Ttl::ZERO)
}

/// What the service can do in batches of this size.
fn capability(batch: Batch, pace: Pace) -> Capability {
    Capability {
        types: TypeSupport::Listed(types()),
        routing: RoutingSupport::PerSet(ROUTING),
        set_ids: true,
        one_kind: true,
        batch,
        alias: true,
        zone_rule: ZoneRule::AllPrivateLongestPublic,
        audit: Audit::Listing,
        // A tenth of the account's rate.
        audit_pace: Duration::from_secs(10).checked_div(pace.qps).unwrap_or_default(),
        // A listing shows every change that was accepted, also one that is not yet served.
        settle: Duration::ZERO,
        ..Capability::authoritative(batch.changes, TtlRange::any(default_ttl()))
    }
}

/// The types that the service has, of those that can be written: all but DNAME.
fn types() -> Vec<RecordType> {
    RecordType::WRITABLE.into_iter().filter(|rtype| *rtype != RecordType::Dname).collect()
}

#[async_trait]
impl Provider for Route53 {
    fn capability(&self, _: Option<&Zone>) -> Capability {
        capability(self.batch, self.pace)
    }

    async fn zones(&self) -> Result<Vec<Zone>> {
        self.zones.list().await
    }

    async fn zone(&self, id: &ZoneId) -> Result<Option<Zone>> {
        let zone = self.zones.one(id).await?;
        if zone.is_none() {
            self.exact.forget_zone(id);
        }
        Ok(zone)
    }

    async fn records(&self, zone: &Zone, read: Read<'_>) -> Result<Listing> {
        let service = self.zones.service(&zone.key.zone)?;
        match read {
            Read::All | Read::Since(_) => records::page(&service, zone, None, &self.exact).await,
            Read::From(cursor) => records::page(&service, zone, Some(cursor), &self.exact).await,
            Read::Names(names) => records::names(&service, zone, names, &self.exact).await,
        }
    }

    fn interpret(&self, zone: &Zone, endpoint: &Endpoint) -> Interpretation {
        let defaults = interpret::Defaults { prefer_cname: self.prefer_cname, evaluate_health: self.evaluate_health };
        interpret::interpret(zone, endpoint, defaults)
    }

    async fn adjust(&self, _: &Zone, sets: &[RecordSet]) -> Vec<Adjustment> {
        sets.iter().map(adjust::adjust).collect()
    }

    async fn apply(&self, zone: &Zone, groups: &[Group]) -> Vec<Outcome> {
        let service = match self.zones.service(&zone.key.zone) {
            Ok(service) => service,
            Err(error) => return groups.iter().map(|_| Outcome::NotSent(error.clone())).collect(),
        };
        apply::apply(&service, zone, groups, &self.exact, &self.served).await
    }

    async fn served(&self, zone: &Zone) -> Result<Option<bool>> {
        let service = self.zones.service(&zone.key.zone)?;
        self.served.ask(&service, zone).await.map(Some)
    }
}
