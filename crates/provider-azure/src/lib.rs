//! Azure DNS and Azure Private DNS.
//!
//! In: the contract of [`zonewright_core::provider::Provider`]. Out: requests to Azure Resource Manager, at the pace that it allows a
//! principal. What must hold:
//!
//! - No write without a precondition: what comes must not stand (`If-None-Match: *`), what changes or goes must stand with the ETag that
//!   was read with exactly this content (`If-Match`). What a group requires besides is read right before.
//! - There are no batches: each write is a request of its own, and record and claim are kept together by intents
//!   ([`zonewright_core::intent`]).
//! - Alias record sets, and sets of types or shapes that are not known, are read and left alone.
//!
//! Where we differ from external-dns is listed in `docs/providers/azure.md`.

mod adjust;
mod apply;
mod arm;
mod client;
mod cloud;
mod config;
mod convert;
mod credentials;
mod error;
mod etags;
mod file;
mod identity;
mod interpret;
mod options;
mod records;
mod token;
mod wire;
mod zones;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use zonewright_core::capability::{Atomicity, Audit, Batch, Capability, Preconditions, TtlRange, TypeSupport};
use zonewright_core::catalog::{ProviderConfig, ProviderEntry};
use zonewright_core::change::{Group, Outcome};
use zonewright_core::endpoint::Endpoint;
use zonewright_core::interpret::Interpretation;
use zonewright_core::provider::{Adjustment, Listing, Provider, Read};
use zonewright_core::sizes::Sizes;
use zonewright_core::zone::ZoneId;
use zonewright_core::{RecordSet, Result, Ttl, Zone};
use zonewright_http::Share;

use crate::arm::Kind;
use crate::client::{Service, WRITES_A_SECOND};
use crate::config::Config;
use crate::etags::Etags;
use crate::records::Records;
use crate::zones::Zones;

pub use config::{FLAGS, SECRET_KEYS};
pub use options::OPTIONS;

/// The catalog entry of public zones.
pub const ENTRY: ProviderEntry = ProviderEntry {
    aliases: &["azure-dns"],
    feature: "provider-azure",
    page: "docs/providers/azure.md",
    flags: FLAGS,
    check: config::check,
    options: OPTIONS,
    secret_keys: SECRET_KEYS,
    capability: || Some(capability(Kind::Public, WRITES_A_SECOND)),
    ..ProviderEntry::new("azure", "Azure DNS: public zones of a resource group", |config| {
        Box::pin(async move { Ok(Arc::new(AzureDns::public(&config)?) as Arc<dyn Provider>) })
    })
};

/// The catalog entry of private zones.
pub const PRIVATE_ENTRY: ProviderEntry = ProviderEntry {
    feature: "provider-azure",
    page: "docs/providers/azure.md",
    flags: FLAGS,
    check: config::check,
    options: OPTIONS,
    secret_keys: SECRET_KEYS,
    capability: || Some(capability(Kind::Private, WRITES_A_SECOND)),
    ..ProviderEntry::new("azure-private-dns", "Azure Private DNS: private zones of a resource group", |config| {
        Box::pin(async move { Ok(Arc::new(AzureDns::private(&config)?) as Arc<dyn Provider>) })
    })
};

/// Most writes of a call: at the pace of the service they take ten seconds.
const CHANGES: usize = 100;

/// The provider.
#[derive(Debug)]
pub struct AzureDns {
    service: Arc<Service>,
    zones: Zones,
    etags: Etags,
    sizes: Sizes,
    /// Writes a second.
    qps: u32,
}

impl AzureDns {
    /// A provider of public zones with this configuration. Asks for nothing.
    ///
    /// # Errors
    /// [`zonewright_core::ErrorKind::Configuration`] naming the flag, or the variable, file or field that cannot be used.
    pub fn public(config: &ProviderConfig) -> Result<Self> {
        Self::with_variables(config, false, &|name| std::env::var(name).ok())
    }

    /// The same of private zones.
    ///
    /// # Errors
    /// As [`AzureDns::public`].
    pub fn private(config: &ProviderConfig) -> Result<Self> {
        Self::with_variables(config, true, &|name| std::env::var(name).ok())
    }

    /// As either of them, with the variables of another environment: where identities and the metadata server are.
    ///
    /// # Errors
    /// As [`AzureDns::public`].
    pub fn with_variables(
        config: &ProviderConfig,
        private: bool,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self> {
        let kind = if private { Kind::Private } else { Kind::Public };
        let parsed = Config::parse(config, kind, variable)?;
        let service = Arc::new(Service::new(config, &parsed)?);
        let Config { instance, kind, subscription, group, selection, cache, qps, .. } = parsed;
        let zones = Zones {
            instance,
            kind,
            service: service.clone(),
            subscription,
            group,
            selection,
            keep: cache,
            kept: std::sync::Mutex::default(),
        };
        Ok(Self { service, zones, etags: Etags::default(), sizes: Sizes::default(), qps })
    }

    fn records_of<'a>(&'a self, zone: &'a Zone) -> Records<'a> {
        Records { kind: self.zones.kind, service: &self.service, etags: &self.etags, sizes: &self.sizes, zone }
    }
}

/// What the service can do.
fn capability(kind: Kind, qps: u32) -> Capability {
    let second = Ttl::from_secs(1).unwrap_or(Ttl::ZERO);
    let default = Ttl::from_secs(convert::DEFAULT_TTL).unwrap_or(Ttl::ZERO);
    Capability {
        types: TypeSupport::Listed(convert::types(kind)),
        batch: Batch { atomic: Atomicity::None, ..Batch::of(CHANGES) },
        // A write states its own record set alone: a claim that it rests on is read right before it.
        preconditions: Preconditions::Checked,
        asterisk_in_labels: false,
        audit: Audit::Listing,
        // A tenth of the reads, of which there are two and a half for each write; the service has 500 pages in five minutes.
        audit_pace: Duration::from_secs(4).checked_div(qps).unwrap_or_default().max(Duration::from_secs(1)),
        // What a listing that lags behind leads to is refused by the service: each write states what stands.
        settle: Duration::ZERO,
        ..Capability::authoritative(CHANGES, TtlRange { min: second, max: Ttl::MAX, default })
    }
}

#[async_trait]
impl Provider for AzureDns {
    fn capability(&self, _: Option<&Zone>) -> Capability {
        capability(self.zones.kind, self.qps)
    }

    async fn zones(&self) -> Result<Vec<Zone>> {
        let zones = self.zones.list().await?;
        let is_there = |id: &ZoneId| zones.iter().any(|zone| zone.key.zone == *id);
        self.etags.retain(is_there);
        self.sizes.retain(is_there);
        Ok(zones)
    }

    async fn zone(&self, id: &ZoneId) -> Result<Option<Zone>> {
        self.zones.one(id).await
    }

    async fn records(&self, zone: &Zone, read: Read<'_>) -> Result<Listing> {
        let records = self.records_of(zone);
        match read {
            Read::All | Read::Since(_) => records.page(None).await,
            Read::From(cursor) => records.page(Some(cursor)).await,
            Read::Names(names) => records.names(names, Share::Full).await,
        }
    }

    fn interpret(&self, _: &Zone, endpoint: &Endpoint) -> Interpretation {
        interpret::interpret(endpoint)
    }

    async fn adjust(&self, _: &Zone, sets: &[RecordSet]) -> Vec<Adjustment> {
        sets.iter().map(|set| adjust::adjust(self.zones.kind, set)).collect()
    }

    async fn apply(&self, zone: &Zone, groups: &[Group]) -> Vec<Outcome> {
        self.records_of(zone).apply(groups).await
    }

    async fn served(&self, _: &Zone) -> Result<Option<bool>> {
        Ok(None)
    }
}
