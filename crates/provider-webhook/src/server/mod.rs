//! The server end of the webhook protocol: any provider for callers that speak it, as external-dns does with
//! `--webhook-server`.
//!
//! In: a provider in its layers, and the order to stop. Out: answers to the four questions of the protocol. Nothing is
//! planned here. What must hold: a change is made only where that stands which its caller says; 204 is said only where
//! everything was done; changes that have begun are carried to their end, whether their caller waits or not.
//!
//! | request | answer |
//! |---|---|
//! | any other path | 200, the domain filter: the zones, as far as the filter of the flags lets them |
//! | `GET /records` | 200, the records of all zones |
//! | `POST /adjustendpoints` | 200, the endpoints as they would be read back: interpreted, lowered, adjusted |
//! | `POST /records` | 204, or 500 with the names that were not done, each with its reason |
//!
//! A body that is no JSON of the protocol is answered with 400, one that is too large with 413, another method on the two
//! paths with 400, errors of the provider with 500.

mod adjust;
mod ask;
mod carry;
mod form;
mod former;
mod horizon;
mod http;
mod pace;
mod place;
mod scope;
mod unstated;
mod write;

use std::sync::{Arc, Mutex, PoisonError};

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::warn;
use zonewright_core::listing::whole;
use zonewright_core::options::OptionReader;
use zonewright_core::provider::{Listing, Provider};
use zonewright_core::{Error, ErrorKind, RecordType, Result, Zone};

pub use pace::Times;
pub use scope::ServedNames;

use self::place::Places;
use crate::wire::{Endpoint, Filter};

/// What is served, and within which bounds.
pub struct Serving {
    /// The provider, in its layers.
    pub provider: Arc<dyn Provider>,
    /// The options that the provider knows.
    pub options: OptionReader,
    /// The domain filter of the flags.
    pub scope: ServedNames,
    /// Bounds of waiting.
    pub times: Times,
    /// Most bytes in the body of a request; `None` is no limit.
    pub limit: Option<usize>,
}

impl std::fmt::Debug for Serving {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Serving").field("scope", &self.scope).finish_non_exhaustive()
    }
}

/// The server end.
pub struct Server {
    provider: Arc<dyn Provider>,
    options: OptionReader,
    scope: ServedNames,
    times: Times,
    limit: Option<usize>,
    /// Requests that are being answered, and changes whose caller is gone.
    begun: TaskTracker,
    /// Held from reading what stands to changing it, where the provider takes no preconditions.
    reading: tokio::sync::Mutex<()>,
    /// The last error of a reading, until a reading works.
    read_error: Mutex<Option<String>>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("scope", &self.scope).finish_non_exhaustive()
    }
}

impl Server {
    /// A server that does not listen yet.
    pub fn new(serving: Serving) -> Arc<Self> {
        let Serving { provider, options, scope, times, limit } = serving;
        let (begun, reading, read_error) = (TaskTracker::new(), tokio::sync::Mutex::default(), Mutex::default());
        Arc::new(Self { provider, options, scope, times, limit, begun, reading, read_error })
    }

    /// Answers on `listener` until `stop` is cancelled, and then to the end of what has begun.
    pub async fn serve(self: Arc<Self>, listener: TcpListener, stop: CancellationToken) {
        http::serve(self, listener, stop).await;
    }

    /// Whether the provider could be read when it was last asked.
    ///
    /// # Errors
    /// What went wrong.
    pub fn readable(&self) -> std::result::Result<(), String> {
        self.read_error().clone().map_or(Ok(()), Err)
    }

    fn read_error(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        self.read_error.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps in mind whether a reading worked.
    fn noted<T>(&self, result: Result<T>) -> Result<T> {
        *self.read_error() = result.as_ref().err().map(Error::chain);
        result
    }

    /// The zones that are served.
    async fn zones(&self) -> Result<Vec<Zone>> {
        Ok(self.scope.of(self.noted(self.provider.zones().await)?))
    }

    fn with_places<T>(&self, zones: &[Zone], work: impl FnOnce(&Places<'_>) -> T) -> T {
        let capability = |zone: &Zone| self.provider.capability(Some(zone));
        let interpret = |zone: &Zone, endpoint: &_| self.provider.interpret(zone, endpoint);
        work(&Places {
            zones,
            rule: self.provider.capability(None).zone_rule,
            scope: &self.scope,
            options: &self.options,
            capability: &capability,
            interpret: &interpret,
        })
    }

    async fn filter(&self) -> Result<Filter> {
        Ok(self.scope.offered(&self.zones().await?))
    }

    /// Everything that the zones hold, but for their SOA records, which nobody asks for.
    async fn records(&self) -> Result<Vec<Endpoint>> {
        let mut all = Vec::new();
        for zone in self.zones().await? {
            let listing = self.noted(whole(&*self.provider, &zone).await)?;
            let Listing::Full { sets, .. } = listing else {
                let context = format!("the listing of zone {} is not complete", zone.name);
                return Err(Error::new(ErrorKind::Protocol, "list records", context));
            };
            for set in sets.iter().filter(|set| set.key.rtype != RecordType::Soa) {
                match form::encode(set) {
                    Ok(endpoint) => all.push(endpoint),
                    Err(problem) => warn!(zone = %zone.name, "left out of the listing: {problem}"),
                }
            }
        }
        Ok(all)
    }
}
