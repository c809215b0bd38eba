//! Cloudflare.
//!
//! In: the contract of [`zonewright_core::provider::Provider`]. Out: requests of Cloudflare's API, at the pace of the user. What must
//! hold:
//!
//! - A record set is as many records as it has values. All that a call changes goes in one batch, which the service carries out as a
//!   whole or not at all; where its names cannot all be read in the time for which a reading is good, in several.
//! - The service knows no conditions, and adds what is created to what stands: names are read right before they are changed, what
//!   goes or changes is named by the id that was read, and a delete takes nothing but what it names. The engine reads back what was
//!   created, and withdraws it where another writer was faster ([`CreateMode::Additive`]).
//! - What an object asks for beside its records (proxy, comment, tags, custom host names, region) never costs it the records, but
//!   where it asks for the proxy of an address that has none.
//!
//! Where we differ from external-dns is listed in `docs/providers/cloudflare.md`.

mod adjust;
mod agreed;
mod apply;
mod asked;
mod beside;
mod call;
mod client;
mod config;
mod convert;
mod credentials;
mod error;
mod families;
mod interpret;
mod limits;
mod looks;
mod operation;
mod options;
mod pages;
mod reading;
mod records;
mod table;
mod wire;
mod zones;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use zonewright_core::capability::{Audit, Batch, Capability, CreateMode, Preconditions, TypeSupport};
use zonewright_core::catalog::{ProviderConfig, ProviderEntry};
use zonewright_core::change::{Group, Outcome};
use zonewright_core::endpoint::Endpoint;
use zonewright_core::interpret::Interpretation;
use zonewright_core::provider::{Adjustment, Listing, Provider, Read};
use zonewright_core::zone::ZoneId;
use zonewright_core::{RecordSet, RecordType, Result, Zone};
use zonewright_http::Share;

use crate::beside::Beside;
use crate::client::Service;
use crate::config::{Config, Defaults, Pace};
use crate::limits::Plan;
use crate::looks::Looks;
use crate::records::{Groups, Records};
use crate::zones::Zones;

pub use config::{FLAGS, SECRET_KEYS};
pub use options::OPTIONS;

/// The catalog entry.
pub const ENTRY: ProviderEntry = ProviderEntry {
    feature: "provider-cloudflare",
    page: "docs/providers/cloudflare.md",
    flags: FLAGS,
    check: config::check,
    options: OPTIONS,
    secret_keys: SECRET_KEYS,
    capability: || {
        Some(capability(Plan::Free, Pace { batch: Plan::Free.batch(), interval: Duration::from_secs(1), qps: 4 }))
    },
    ..ProviderEntry::new("cloudflare", "Cloudflare: DNS records, proxied or not", |config| {
        Box::pin(async move { Ok(Arc::new(Cloudflare::new(&config)?) as Arc<dyn Provider>) })
    })
};

/// The provider.
#[derive(Debug)]
pub struct Cloudflare {
    service: Arc<Service>,
    zones: Zones,
    page: Option<u64>,
    pace: Pace,
    defaults: Defaults,
    looks: Looks,
}

impl Cloudflare {
    /// A provider with this configuration. Asks for nothing.
    ///
    /// # Errors
    /// [`zonewright_core::ErrorKind::Configuration`] naming the flag, or the variable, proxy or file that cannot be used.
    pub fn new(config: &ProviderConfig) -> Result<Self> {
        let parsed = Config::parse(config, |name| std::env::var(name).ok())?;
        let service = Arc::new(Service::new(config, &parsed)?);
        let Config { instance, ids, filter, page, pace, defaults, .. } = parsed;
        let zones = Zones::new(instance, service.clone(), ids, filter);
        Ok(Self { service, zones, page, pace, defaults, looks: Looks::default() })
    }

    fn records_of<'a>(&'a self, zone: &'a Zone) -> Records<'a> {
        Records { service: &self.service, zone, size: self.page, turn: self.pace.turn() }
    }

    /// What the zone has beside its records, asked for anew.
    async fn look_beside(&self, zone: &Zone) -> Arc<Beside> {
        self.looks.anew(&self.service, zone, &self.defaults).await
    }

    /// What the zone has beside records that were read, asked for where it matters and is not known of late.
    async fn beside_read(&self, zone: &Zone, groups: &Groups) -> Arc<Beside> {
        if !groups.keys().any(|key| convert::is_proxiable(key.rtype)) {
            return Arc::default();
        }
        match self.looks.recent(zone) {
            Some(beside) => beside,
            None => self.look_beside(zone).await,
        }
    }

    /// The page of a listing. What stands beside the records is asked for with the first one.
    async fn listing(&self, zone: &Zone, cursor: Option<&zonewright_core::provider::Cursor>) -> Result<Listing> {
        let beside = match self.looks.last(zone).filter(|_| cursor.is_some()) {
            Some(beside) => beside,
            None => self.look_beside(zone).await,
        };
        let read = self.records_of(zone).page(cursor, Share::Full).await?;
        self.zones.count(&zone.key.zone, read.total);
        let sets = sets(&read.groups, &beside);
        Ok(match read.next {
            Some(next) => Listing::Page { sets, next },
            None => Listing::Full { sets, token: None },
        })
    }
}

/// Records as sets, with what stands beside them.
fn sets(groups: &Groups, beside: &Beside) -> Vec<RecordSet> {
    let one = |(key, records)| {
        let mut set = convert::read(key, records);
        beside.add(&mut set);
        set
    };
    groups.iter().map(|(key, records): (_, &Vec<wire::Record>)| (key, records.as_slice())).map(one).collect()
}

/// What the service can do in a zone of this plan.
fn capability(plan: Plan, pace: Pace) -> Capability {
    let changes = pace.batch.min(plan.batch());
    Capability {
        types: TypeSupport::Listed(types()),
        create: CreateMode::Additive,
        // Each value is a record, and one that comes while another goes may be two changes.
        batch: Batch { values: Some(changes), update: 2, interval: pace.interval, ..Batch::of(changes) },
        preconditions: Preconditions::Read,
        cname: apply::CNAME,
        audit: Audit::Listing,
        // A tenth of the user's rate.
        audit_pace: Duration::from_secs(10).checked_div(pace.qps).unwrap_or_default(),
        ..Capability::authoritative(changes, plan.ttl())
    }
}

/// The types that the service has, of those that can be written: all but DNAME.
fn types() -> Vec<RecordType> {
    RecordType::WRITABLE.into_iter().filter(|rtype| *rtype != RecordType::Dname).collect()
}

#[async_trait]
impl Provider for Cloudflare {
    fn capability(&self, zone: Option<&Zone>) -> Capability {
        let plan = zone.map(|zone| self.zones.known(&zone.key.zone).plan).unwrap_or_default();
        capability(plan, self.pace)
    }

    async fn zones(&self) -> Result<Vec<Zone>> {
        let zones = self.zones.list().await?;
        self.looks.retain(|id| zones.iter().any(|zone| zone.key.zone == *id));
        Ok(zones)
    }

    async fn zone(&self, id: &ZoneId) -> Result<Option<Zone>> {
        self.zones.one(id).await
    }

    async fn records(&self, zone: &Zone, read: Read<'_>) -> Result<Listing> {
        match read {
            Read::All | Read::Since(_) => self.listing(zone, None).await,
            Read::From(cursor) => self.listing(zone, Some(cursor)).await,
            Read::Names(names) if names.is_empty() => Ok(Listing::Names(Vec::new())),
            Read::Names(names) => {
                let groups = self.records_of(zone).at(names, self.zones.known(&zone.key.zone).total).await?;
                let beside = self.beside_read(zone, &groups).await;
                Ok(Listing::Names(sets(&groups, &beside)))
            }
        }
    }

    fn interpret(&self, _: &Zone, endpoint: &Endpoint) -> Interpretation {
        interpret::interpret(endpoint)
    }

    async fn adjust(&self, zone: &Zone, sets: &[RecordSet]) -> Vec<Adjustment> {
        let plan = self.zones.known(&zone.key.zone).plan;
        let beside = self.looks.last(zone).unwrap_or_default();
        let one = |set: &RecordSet| match adjust::adjust(set, plan, &self.defaults) {
            Adjustment::As { mut sets, mut notes } => {
                for set in &mut sets {
                    notes.extend(beside.narrow(&mut set.options));
                }
                Adjustment::As { sets, notes }
            }
            other => other,
        };
        let mut answers: Vec<Adjustment> = sets.iter().map(one).collect();
        agreed::agree(sets, &mut answers);
        answers
    }

    async fn apply(&self, zone: &Zone, groups: &[Group]) -> Vec<Outcome> {
        self.carry_out(zone, groups).await
    }

    async fn served(&self, _: &Zone) -> Result<Option<bool>> {
        Ok(None)
    }
}
