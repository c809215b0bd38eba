//! Cloudflare.
//!
//! In: the contract of [`zonewright_core::provider::Provider`]. Out: requests of Cloudflare's API, at the pace of the user. What must
//! hold:
//!
//! - A record set is as many records as it has values. All that a call changes goes in one batch, which the service carries out as a
//!   whole or not at all.
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
mod beside;
mod client;
mod config;
mod convert;
mod credentials;
mod error;
mod interpret;
mod limits;
mod looks;
mod operation;
mod options;
mod pages;
mod records;
mod table;
mod wire;
mod zones;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tracing::warn;
use zonewright_core::capability::{Audit, Batch, Capability, CreateMode, Preconditions, TypeSupport};
use zonewright_core::catalog::{ProviderConfig, ProviderEntry};
use zonewright_core::change::{Change, Group, Outcome};
use zonewright_core::endpoint::Endpoint;
use zonewright_core::interpret::Interpretation;
use zonewright_core::provider::{Adjustment, Listing, Provider, Read};
use zonewright_core::zone::ZoneId;
use zonewright_core::{DnsName, Error, ErrorKind, RecordSet, RecordType, Result, Zone};

use crate::beside::Beside;
use crate::client::Service;
use crate::config::{Config, Defaults, Pace};
use crate::limits::Plan;
use crate::looks::Looks;
use crate::operation::APPLY;
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
    /// [`ErrorKind::Configuration`] naming the flag, or the variable, proxy or file that cannot be used.
    pub fn new(config: &ProviderConfig) -> Result<Self> {
        let parsed = Config::parse(config, |name| std::env::var(name).ok())?;
        let service = Arc::new(Service::new(config, &parsed)?);
        let Config { instance, ids, filter, page, pace, defaults, .. } = parsed;
        let zones = Zones::new(instance, service.clone(), ids, filter);
        Ok(Self { service, zones, page, pace, defaults, looks: Looks::default() })
    }

    fn records_of<'a>(&'a self, zone: &'a Zone) -> Records<'a> {
        Records { service: &self.service, zone, size: self.page }
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
        let read = self.records_of(zone).page(cursor).await?;
        self.zones.count(&zone.key.zone, read.total);
        let sets = sets(&read.groups, &beside);
        Ok(match read.next {
            Some(next) => Listing::Page { sets, next },
            None => Listing::Full { sets, token: None },
        })
    }

    /// What stands at the names of groups, and beside them. Where something beside them is to change, it is asked for anew: what another
    /// writer made of it meanwhile is not taken away.
    async fn standing(&self, zone: &Zone, groups: &[Group]) -> Result<(Groups, Arc<Beside>)> {
        let names = apply::names(groups);
        let total = self.zones.known(&zone.key.zone).total;
        let standing = self.records_of(zone).at(&names, total).await?;
        let touches = |group: &Group| group.changes().any(|change| convert::is_proxiable(change.key().rtype));
        if !groups.iter().any(touches) {
            return Ok((standing, Arc::default()));
        }
        let recent = self.looks.recent(zone).filter(|beside| beside.is_settled(groups, &standing));
        let beside = match recent {
            Some(beside) => beside,
            None => self.look_beside(zone).await,
        };
        Ok((standing, beside))
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
        let mut outcomes: Vec<Option<Outcome>> =
            groups.iter().map(|group| group.changes_nothing().then_some(Outcome::Applied)).collect();
        if outcomes.iter().all(Option::is_some) {
            return outcomes.into_iter().flatten().collect();
        }
        let (standing, beside) = match self.standing(zone, groups).await {
            Ok(read) => read,
            Err(error) => return unread(&error, outcomes),
        };
        let read = Instant::now();
        let twice = apply::written_twice(groups);
        let mut batches: Vec<(usize, wire::Batch)> = Vec::new();
        for (at, (group, outcome)) in groups.iter().zip(&mut outcomes).enumerate() {
            if outcome.is_some() {
                continue;
            }
            if twice.contains(&at) {
                let text = format!("{}: another group of the call writes the same record set", group.name);
                *outcome = Some(Outcome::refused(Error::new(ErrorKind::Invalid, APPLY, text)));
                continue;
            }
            match apply::batch(zone, group, &standing, &beside) {
                Ok(batch) => batches.push((at, batch)),
                Err(refused) => *outcome = Some(refused),
            }
        }
        // What a name has beside its last record goes first: the record is what it is remembered by.
        let hostnames = self.defaults.hostnames.as_ref();
        let of_call: Vec<&Group> = batches.iter().filter_map(|(at, _)| groups.get(*at)).collect();
        if !beside.is_settled(groups, &standing) {
            self.looks.changed(zone);
        }
        let stays = beside.take_away(&self.service, zone, &of_call, &standing, hostnames).await;
        let mut call = Call::default();
        for (at, batch) in batches {
            let (Some(group), Some(outcome)) = (groups.get(at), outcomes.get_mut(at)) else { continue };
            match apply::kept(group, &stays) {
                Some(kept) => *outcome = Some(kept),
                None => call.add(at, batch),
            }
        }
        let sent =
            if call.batch.len() == 0 { Ok(()) } else { apply::send(&self.service, zone, &call.batch, read).await };
        // A group that changes no record went through whatever became of the others.
        let mut refused = sent.err().map(|failure| apply::failed(&failure, &call.sent)).unwrap_or_default();
        let through: Vec<&Group> =
            call.groups.iter().filter(|at| !refused.contains_key(at)).filter_map(|at| groups.get(*at)).collect();
        let failed = beside.apply(&self.service, zone, &through, hostnames).await;
        for at in &call.groups {
            let (Some(outcome), Some(group)) = (outcomes.get_mut(*at), groups.get(*at)) else { continue };
            let has_changes = call.sent.binary_search_by_key(at, |(sent, _)| *sent).is_ok();
            *outcome = Some(refused.remove(at).unwrap_or_else(|| with_beside(zone, group, &failed, has_changes)));
        }
        let unsent = || Outcome::NotSent(Error::new(ErrorKind::Unavailable, APPLY, "the group was not reached"));
        outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(unsent)).collect()
    }

    async fn served(&self, _: &Zone) -> Result<Option<bool>> {
        Ok(None)
    }
}

/// What one call sends, and of which groups.
#[derive(Debug, Default)]
struct Call {
    batch: wire::Batch,
    /// Positions of its groups.
    groups: Vec<usize>,
    /// Those that have changes in the batch, in the same order, with whether they leave more records than there were.
    sent: Vec<(usize, bool)>,
}

impl Call {
    fn add(&mut self, at: usize, batch: wire::Batch) {
        self.groups.push(at);
        if batch.len() > 0 {
            self.sent.push((at, batch.posts.len() > batch.deletes.len()));
        }
        self.batch.extend(batch);
    }
}

/// What became of a group whose records went through. Where what stands beside them did not follow, the group is refused if it asked
/// for nothing else; else its names are to be read, and what is missing is then asked for by itself.
fn with_beside(zone: &Zone, group: &Group, failed: &BTreeMap<DnsName, Error>, has_changes: bool) -> Outcome {
    let mut keys = group.changes().map(Change::key).filter(|key| convert::is_proxiable(key.rtype));
    match keys.find_map(|key| failed.get(&key.name)) {
        None => Outcome::Applied,
        Some(error) if has_changes => {
            warn!(zone = %zone.name, name = %group.name, %error, "the records stand; what belongs beside them does not");
            Outcome::Unknown(error.clone())
        }
        Some(error) => Outcome::refused(apply::of_group(error)),
    }
}

/// The groups whose names could not be read: nothing was sent.
fn unread(error: &Error, outcomes: Vec<Option<Outcome>>) -> Vec<Outcome> {
    let outcome = || match error.kind {
        ErrorKind::NotFound => Outcome::refused(error.clone()),
        _ => Outcome::NotSent(error.clone()),
    };
    outcomes.into_iter().map(|done| done.unwrap_or_else(outcome)).collect()
}
