//! The external-dns webhook protocol: a provider that is a program of its own, next door.
//!
//! This is the client end. The server end, which gives any of our providers to such clients, is the module `server` behind
//! the Cargo feature of that name.
//!
//! In: the address of a peer. Out: a provider with one zone, the root, whose filter is the domain filter that the peer
//! gives. The peer is asked when it is needed: one that is away, or answers nonsense, is an error of that moment and
//! ends nothing. What a peer does against the protocol is reported once, in a sentence that says what it did, what the
//! protocol says, and what is done about it.
//!
//! # Cost
//! | what | requests |
//! |---|---|
//! | listing the zone (the negotiation) | `GET <address>` |
//! | reading it, all or at some names | `GET /records` |
//! | adjusting wanted sets | `POST /adjustendpoints` |
//! | a call of `apply` | `POST /records`, for all groups of the call |
//! | ... that is answered with 500, or with a success other than 204 | `GET /records` besides |
//!
//! # Differences to external-dns
//! * No answer, and no missing answer, ends the process; the negotiation is repeated, so that a peer that starts late or
//!   changes its filter is noticed.
//! * The same key in several endpoints is one set with all targets; external-dns takes the last.
//! * One bad record does not hold up the others, also where the peer answers 500 for it.
//! * A body with something behind its JSON value is refused: half a listing is none.
//! * A Content-Type of another version is refused everywhere; external-dns looks at it in the negotiation alone.
//! * Nothing is sent in a dry run.

mod adjust;
mod apply;
mod client;
mod config;
mod convert;
mod error;
mod exchange;
mod labels;
mod media;
mod once_log;
mod refusal;
#[cfg(feature = "server")]
pub mod server;
mod view;
mod wire;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use zonewright_core::capability::{
    Audit, Batch, Capability, CnameRules, CreateMode, Preconditions, RoutingSupport, TargetCount, TtlRange, TypeSupport,
};
use zonewright_core::catalog::{ProviderConfig, ProviderEntry};
use zonewright_core::change::{Group, Outcome};
use zonewright_core::filter::DomainFilter;
use zonewright_core::interpret::Interpretation;
use zonewright_core::options::OptionTable;
use zonewright_core::provider::{Adjustment, Listing, Provider, Read};
use zonewright_core::zone::{InstanceId, ZoneId, ZoneRule};
use zonewright_core::{DnsName, Error, ErrorKind, RecordSet, Result, Ttl, Zone};

pub use config::{FLAGS, SECRET_KEYS};

use crate::apply::Strikes;
use crate::client::Client;
use crate::config::Config;
use crate::convert::{Quoting, Spellings, encode, plain};
use crate::error::ExchangeError;
use crate::once_log::OnceLog;
use crate::view::{PeerListing, UNSET};
use crate::wire::Endpoint;

/// The catalog entry. The option table is open: every key without `/` or beginning with `webhook/` is passed as text.
pub const ENTRY: ProviderEntry = ProviderEntry {
    feature: "provider-webhook",
    page: "docs/providers/webhook.md",
    flags: FLAGS,
    options: OptionTable { open_prefix: Some("webhook/"), ..OptionTable::NONE },
    secret_keys: SECRET_KEYS,
    capability: || Some(capability()),
    webhook: true,
    unserved: Some("that one speaks the protocol itself; let its callers use the address in --webhook-provider-url"),
    ..ProviderEntry::new("webhook", "Any provider that speaks the external-dns webhook protocol", |config| {
        Box::pin(async move { Ok(Arc::new(Webhook::new(&config)?) as Arc<dyn Provider>) })
    })
};

/// The id and the name of the one zone.
const ROOT: &str = ".";

/// The provider.
#[derive(Debug)]
pub struct Webhook {
    instance: InstanceId,
    client: Client,
    log: OnceLog,
    strikes: Strikes,
    state: Mutex<State>,
}

/// What the peer said last.
#[derive(Debug, Default)]
struct State {
    filter: Option<DomainFilter>,
    spellings: Spellings,
}

impl Webhook {
    /// A provider with this configuration. Connects to nothing.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] naming the flag.
    pub fn new(config: &ProviderConfig) -> Result<Self> {
        let config = Config::parse(config)?;
        let instance = config.instance.clone();
        let (log, strikes, state) = (OnceLog::default(), Strikes::default(), Mutex::default());
        Ok(Self { instance, client: Client::new(config)?, log, strikes, state })
    }

    /// What the peer did against the protocol so far, one sentence for each thing.
    pub fn reported(&self) -> Vec<String> {
        self.log.all()
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The filter that the peer gave last.
    fn filter(&self) -> Option<DomainFilter> {
        self.state().filter.clone()
    }

    /// The old side of a change, as the peer spells it.
    fn spelled(&self, set: &RecordSet, quoting: Quoting) -> std::result::Result<Endpoint, String> {
        self.state().spellings.old(set, quoting)
    }

    fn error(&self, operation: &'static str, fault: ExchangeError) -> Error {
        fault.into_error(operation, &self.client.address())
    }

    fn no_such_zone(&self, zone: &Zone, operation: &'static str) -> Error {
        let context = format!(
            "{}: there is no zone {}; a webhook provider is the zone {ROOT}",
            self.client.address(),
            zone.key.zone
        );
        Error::new(ErrorKind::NotFound, operation, context)
    }

    fn zone_with(&self, filter: DomainFilter) -> Zone {
        Zone { filter, ..Zone::new(&self.instance, ROOT, DnsName::root()) }
    }
}

/// Whether this is the one zone.
fn is_root(zone: &Zone) -> bool {
    zone.name.is_root() && zone.key.zone.as_str() == ROOT
}

/// What the protocol can say; what the peer can do is its own affair.
fn capability() -> Capability {
    let second = Ttl::from_secs(1).unwrap_or(Ttl::MAX);
    Capability {
        targets: TargetCount::Full,
        types: TypeSupport::Any,
        routing: RoutingSupport::None,
        set_ids: true,
        one_kind: false,
        create: CreateMode::Guarded,
        batch: Batch::of(usize::MAX),
        preconditions: Preconditions::Stated,
        // 0 is the protocol's word for unset.
        ttl: TtlRange { min: second, ..TtlRange::any(UNSET) },
        cname: CnameRules { alone: false, flattened: false },
        alias: false,
        wildcards: true,
        asterisk_in_labels: true,
        zone_rule: ZoneRule::LongestSuffix,
        audit: Audit::Listing,
        audit_pace: Duration::ZERO,
        settle: Duration::ZERO,
    }
}

#[async_trait]
impl Provider for Webhook {
    fn capability(&self, _zone: Option<&Zone>) -> Capability {
        capability()
    }

    async fn zones(&self) -> Result<Vec<Zone>> {
        Ok(vec![self.zone_with(self.negotiate().await?)])
    }

    async fn zone(&self, id: &ZoneId) -> Result<Option<Zone>> {
        if id.as_str() != ROOT {
            return Ok(None);
        }
        let known = self.filter();
        let filter = match known {
            Some(filter) => filter,
            None => self.negotiate().await?,
        };
        Ok(Some(self.zone_with(filter)))
    }

    async fn records(&self, zone: &Zone, read: Read<'_>) -> Result<Listing> {
        const OPERATION: &str = "list records";
        if !is_root(zone) {
            return Err(self.no_such_zone(zone, OPERATION));
        }
        let PeerListing { sets, spellings } = self.list().await.map_err(|fault| self.error(OPERATION, fault))?;
        self.state().spellings = spellings;
        let sets = sets.into_values();
        Ok(match read {
            Read::All | Read::From(_) | Read::Since(_) => Listing::Full { sets: sets.collect(), token: None },
            Read::Names(names) => Listing::Names(at(sets, names)),
        })
    }

    fn interpret(&self, _: &Zone, _: &zonewright_core::endpoint::Endpoint) -> Interpretation {
        Interpretation::as_stated()
    }

    async fn adjust(&self, zone: &Zone, sets: &[RecordSet]) -> Vec<Adjustment> {
        const OPERATION: &str = "adjust endpoints";
        if !is_root(zone) {
            return Adjustment::unknown(sets, &self.no_such_zone(zone, OPERATION));
        }
        let mut asked = Vec::with_capacity(sets.len());
        let mut adjusted: Vec<Vec<RecordSet>> = Vec::with_capacity(sets.len());
        for (from, set) in sets.iter().enumerate() {
            match encode(set, Quoting::Bare) {
                Ok(endpoint) => {
                    asked.push((from, endpoint));
                    adjusted.push(Vec::new());
                }
                // What cannot be said is left as it is, and refused with the reason when it comes to be written.
                Err(_) => adjusted.push(vec![plain(set)]),
            }
        }
        if !asked.is_empty() {
            let question = asked.iter().map(|(_, endpoint)| endpoint.clone()).collect();
            let answers = match self.adjusted(question).await {
                Ok(answers) => answers,
                Err(fault) => return Adjustment::unknown(sets, &self.error(OPERATION, fault)),
            };
            for one in adjust::matched(sets, &asked, answers, &self.log) {
                if let Some(sets) = adjusted.get_mut(one.from) {
                    sets.push(one.set);
                }
            }
        }
        let answer = |sets: Vec<RecordSet>| {
            if sets.is_empty() {
                Adjustment::Refused(LEFT_OUT.to_owned())
            } else {
                Adjustment::As { sets, notes: Vec::new() }
            }
        };
        adjusted.into_iter().map(answer).collect()
    }

    async fn apply(&self, zone: &Zone, groups: &[Group]) -> Vec<Outcome> {
        self.carry_out(zone, groups).await
    }

    async fn served(&self, _: &Zone) -> Result<Option<bool>> {
        Ok(None)
    }
}

const LEFT_OUT: &str = "the webhook left it out of its answer to POST /adjustendpoints; its log may say why";

fn at(sets: impl Iterator<Item = RecordSet>, names: &BTreeSet<DnsName>) -> Vec<RecordSet> {
    sets.filter(|set| names.contains(&set.key.name)).collect()
}
