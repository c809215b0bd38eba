//! DNS servers that take dynamic updates (RFC 2136): BIND, Knot, PowerDNS and others.
//!
//! Zones are named by `--rfc2136-zone`; they are read by AXFR, kept current by the SOA record and IXFR, and changed
//! by signed UPDATE messages, one for all groups of a call. Every update carries the old records as prerequisites, so that
//! the server itself refuses what was planned on a view that is no longer true.
//!
//! # Cost
//! | what | DNS messages |
//! |---|---|
//! | a call of `apply` | 1 |
//! | ... that turns another type into a CNAME | 1 more for each such name, to read it back |
//! | ... the first that changes a text on a server | 1 more, to learn whether it compares letters exactly |
//! | ... that changes texts on a server that does not (PowerDNS) | 1 more for each text, to compare it here; a transfer as well for texts below a delegation |
//! | listing a zone | 1 request, the answer in as many messages as the zone needs |
//! | asking whether anything changed | 1, and 1 for the difference |
//! | ... where the key may not ask queries | 1 more, in vain |
//! | ... where the difference does not come | 1 more, for the whole zone; where it was waited for or cut off, the whole zone at once for an hour |
//! | ... of another server than the zone was read of, after an unexplained refusal, and once a day | 1 request, as for listing it |
//! | an update that is refused without a signature | as for reading one name |
//! | an update by GSS-TSIG while no context is at hand | 1 more; 2 where the server is given by its address |
//! | reading a name | 1 if it is not there or a CNAME, else 12; 1 for each parent, and for each name beside a wildcard |
//!
//! # Differences to external-dns
//! * Zones must be named; there is no update of the root for want of a zone.
//! * Zones are always transferred, with or without `--rfc2136-axfr`. A refused, cut or unsigned transfer is an error, never
//!   an empty zone.
//! * All record types are read and thirteen written; a set without TTL is written with `--rfc2136-min-ttl`, 0 by default, as
//!   in external-dns.
//! * Small requests go by UDP, and connections are used again.
//! * Unless `--rfc2136-batch-change-size` is given, a message holds up to 1,000 changes, as far as they fit; the 50 of
//!   external-dns make a start with many new names several times slower.
//! * `hmac-md5` keys work.
//! * GSS-TSIG (Cargo feature `gss-tsig`) negotiates one security context for each server and keeps it, instead of one for each
//!   message. Where the server is given by its address, the service is named after the zone's primary server (SOA). The
//!   service's name is not changed by asking the DNS, whatever `krb5.conf` says.

mod apply;
mod config;
mod error;
#[cfg(feature = "gss-tsig")]
mod gss;
mod identity;
mod link;
mod read;
mod server;
mod servers;
mod soa;
mod state;
mod stream;
mod tls;
mod transfer;
mod tsig;
mod update;
mod wire;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use futures::future::BoxFuture;
use zonewright_core::capability::{Batch, Capability, TtlRange};
use zonewright_core::catalog::{ProviderConfig, ProviderEntry};
use zonewright_core::change::{Blame, Group, Outcome};
use zonewright_core::endpoint::Endpoint;
use zonewright_core::interpret::Interpretation;
use zonewright_core::provider::{Adjustment, Listing, Provider, Read};
use zonewright_core::zone::{InstanceId, ZoneId};
use zonewright_core::{DnsName, ErrorKind, RecordSet, Result, Ttl, Zone};

pub use config::{FLAGS, SECRET_KEYS};

use crate::config::Config;
use crate::error::ExchangeError;
use crate::server::Server;
use crate::servers::Servers;
use crate::state::{Doubts, State, Transfers};
use crate::transfer::Transferred;

/// The catalog entry.
pub const ENTRY: ProviderEntry = ProviderEntry {
    feature: "provider-rfc2136",
    page: "docs/providers/rfc2136.md",
    flags: FLAGS,
    check: config::check,
    secret_keys: SECRET_KEYS,
    capability: || Some(capability(config::USUAL_BATCH, Ttl::ZERO)),
    ..ProviderEntry::new("rfc2136", "Any DNS server that takes dynamic updates (BIND, Knot, PowerDNS)", |config| {
        Box::pin(async move { Ok(Arc::new(Rfc2136::new(&config)?) as Arc<dyn Provider>) })
    })
};

/// Octets of text in a call, by [`Group::size`]; names, prerequisites and the signature need room too. A call that is still
/// too long for a message is sent as several.
const BATCH_SIZE: usize = 40 * 1024;

/// The provider.
#[derive(Debug)]
pub struct Rfc2136 {
    instance: InstanceId,
    zones: Vec<DnsName>,
    min_ttl: Ttl,
    batch: usize,
    servers: Servers,
    transfers: Transfers,
    messages: Arc<AtomicU64>,
}

impl Rfc2136 {
    /// A provider with this configuration. Connects to nothing.
    ///
    /// # Errors
    /// [`zonewright_core::ErrorKind::Configuration`] naming the flag.
    pub fn new(config: &ProviderConfig) -> Result<Self> {
        let Config { instance, hosts, zones, identity, min_ttl, period, batch, strategy } = Config::parse(config)?;
        let messages = Arc::new(AtomicU64::new(0));
        let server = |host: config::Host| {
            Server::new(host.name, host.port, host.tls, identity.towards_another(), Arc::clone(&messages))
        };
        let servers = Servers::new(hosts.into_iter().map(server).collect(), strategy);
        Ok(Self { instance, zones, min_ttl, batch, servers, transfers: Transfers::new(period), messages })
    }

    /// How many requests were sent so far, repetitions included.
    pub fn messages(&self) -> u64 {
        self.messages.load(Ordering::Relaxed)
    }

    async fn all(&self, zone: &DnsName) -> Result<Listing> {
        let ask = |server| -> BoxFuture<'_, Result<(String, read::Contents), ExchangeError>> {
            Box::pin(labelled(server, read::all(server, zone)))
        };
        let (server, read::Contents { soa, records }) = self.servers.read("list records", zone, None, ask).await?;
        self.transfers.read(zone, &Doubts::default(), true);
        Ok(Listing::Full { sets: wire::group(records), token: Some(State { server, soa }.token()) })
    }

    async fn since(&self, zone: &DnsName, known: &State) -> Result<Listing> {
        let doubts = self.transfers.doubts(zone);
        let ask = |server| -> BoxFuture<'_, Result<(String, Transferred), ExchangeError>> {
            Box::pin(labelled(server, read::news(server, zone, known, &doubts)))
        };
        let (server, news) = self.servers.read("list changes", zone, Some(&known.server), ask).await?;
        self.transfers.read(zone, &doubts, matches!(news, Transferred::Full { .. }));
        Ok(match news {
            Transferred::Current(_) => Listing::Unchanged,
            Transferred::Steps { soa, steps } => Listing::Delta { steps, token: State { server, soa }.token() },
            Transferred::Full { soa, records } => {
                Listing::Full { sets: wire::group(records), token: Some(State { server, soa }.token()) }
            }
        })
    }
}

/// What servers can do in messages of so many changes.
fn capability(changes: usize, min_ttl: Ttl) -> Capability {
    let ttl = TtlRange { min: min_ttl, ..TtlRange::any(min_ttl) };
    let plain = Capability::authoritative(changes, ttl);
    Capability { batch: Batch { size: Some(BATCH_SIZE), ..plain.batch }, ..plain }
}

/// What was read, with the label of the server that it was read of.
async fn labelled<T>(
    server: &Server,
    read: impl Future<Output = Result<T, ExchangeError>>,
) -> Result<(String, T), ExchangeError> {
    Ok((server.label(), read.await?))
}

/// Whether a precondition of this very group was refused.
fn is_conflict(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Refused { error, blame: Blame::Group } if error.kind == ErrorKind::Conflict)
}

#[async_trait]
impl Provider for Rfc2136 {
    fn capability(&self, _zone: Option<&Zone>) -> Capability {
        capability(self.batch, self.min_ttl)
    }

    async fn zones(&self) -> Result<Vec<Zone>> {
        Ok(self.zones.iter().map(|name| Zone::new(&self.instance, name.as_str(), name.clone())).collect())
    }

    async fn zone(&self, id: &ZoneId) -> Result<Option<Zone>> {
        let name = self.zones.iter().find(|name| name.as_str() == id.as_str());
        Ok(name.map(|name| Zone::new(&self.instance, name.as_str(), name.clone())))
    }

    async fn records(&self, zone: &Zone, read: Read<'_>) -> Result<Listing> {
        let zone = &zone.name;
        match read {
            // A zone transfer is one page.
            Read::All | Read::From(_) => self.all(zone).await,
            Read::Since(token) => match State::parse(token) {
                Some(known) => self.since(zone, &known).await,
                None => self.all(zone).await,
            },
            Read::Names(names) => {
                let ask = |server| -> BoxFuture<'_, Result<Vec<RecordSet>, ExchangeError>> {
                    Box::pin(read::names(server, zone, names))
                };
                self.servers.read("read names", zone, None, ask).await.map(Listing::Names)
            }
        }
    }

    fn interpret(&self, _: &Zone, _: &Endpoint) -> Interpretation {
        Interpretation::as_stated()
    }

    async fn adjust(&self, _zone: &Zone, sets: &[RecordSet]) -> Vec<Adjustment> {
        let raised = |set: &RecordSet| RecordSet { ttl: set.ttl.map(|ttl| ttl.max(self.min_ttl)), ..set.clone() };
        sets.iter().map(|set| Adjustment::to(raised(set))).collect()
    }

    async fn apply(&self, zone: &Zone, groups: &[Group]) -> Vec<Outcome> {
        let outcomes = apply::apply(&self.servers, &zone.name, groups, self.min_ttl).await;
        for (group, _) in groups.iter().zip(&outcomes).filter(|(_, outcome)| is_conflict(outcome)) {
            self.transfers.refused(&zone.name, group);
        }
        outcomes
    }

    async fn served(&self, _: &Zone) -> Result<Option<bool>> {
        Ok(None)
    }
}
