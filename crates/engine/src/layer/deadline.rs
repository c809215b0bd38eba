//! Ends what takes too long. A write that was cut off is [`Outcome::Unknown`]: it may have been carried out.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;
use zonewright_core::capability::Capability;
use zonewright_core::change::{Group, Outcome};
use zonewright_core::endpoint::Endpoint;
use zonewright_core::error::{Error, ErrorKind, Result};
use zonewright_core::interpret::Interpretation;
use zonewright_core::provider::{Adjustment, Listing, Provider, Read};
use zonewright_core::record::RecordSet;
use zonewright_core::turn;
use zonewright_core::zone::{Zone, ZoneId, ZoneKey};

/// A limit on the time of one call. Waiting for a turn is not counted ([`turn`]).
pub struct Deadline {
    inner: Arc<dyn Provider>,
    limit: Duration,
    budgets: Budgets,
}

/// The longest that a listing in one answer may take.
const LONGEST_LISTING: Duration = Duration::from_hours(1);

/// How long the first answer to a listing may take, by zone. What comes in pages has the limit of one call for each of them; what
/// comes in one answer takes as long as the zone is large: four times as long as the last one took, and after a time-out twice
/// as long as that one was given.
#[derive(Debug, Default)]
struct Budgets {
    of_zones: Mutex<HashMap<ZoneKey, Duration>>,
    /// Where there is no second attempt.
    at_once: bool,
}

impl Budgets {
    fn of(&self, zone: &Zone, least: Duration) -> Duration {
        let known = self.of_zones.lock().unwrap_or_else(PoisonError::into_inner).get(&zone.key).copied();
        if self.at_once {
            LONGEST_LISTING
        } else {
            known.unwrap_or_default().clamp(least.min(LONGEST_LISTING), LONGEST_LISTING)
        }
    }

    fn set(&self, zone: &Zone, budget: Duration) {
        self.of_zones
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(zone.key.clone(), budget.min(LONGEST_LISTING));
    }
}

impl Deadline {
    /// The layer around a provider; `limit` is the time for one call.
    pub fn new(inner: Arc<dyn Provider>, limit: Duration) -> Self {
        Self { inner, limit, budgets: Budgets::default() }
    }

    /// A listing has the longest time from the first attempt on: there may be no second one.
    #[must_use]
    pub fn patient(mut self, patient: bool) -> Self {
        self.budgets.at_once = patient;
        self
    }

    fn error(operation: &'static str, limit: Duration) -> Error {
        let limit = zonewright_core::duration::show(limit);
        Error::new(ErrorKind::Timeout, operation, format!("no answer within {limit}"))
    }

    async fn within<T>(&self, operation: &'static str, call: impl Future<Output = Result<T>>) -> Result<T> {
        Self::limited(self.limit, operation, call).await
    }

    async fn limited<T>(limit: Duration, operation: &'static str, call: impl Future<Output = Result<T>>) -> Result<T> {
        turn::within(limit, call).await.unwrap_or_else(|| Err(Self::error(operation, limit)))
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
        if !matches!(read, Read::All) {
            return self.within("read records", self.inner.records(zone, read)).await;
        }
        let (budget, began) = (self.budgets.of(zone, self.limit), Instant::now());
        let listed = Self::limited(budget, "list records", self.inner.records(zone, read)).await;
        match &listed {
            Ok(_) => self.budgets.set(zone, began.elapsed() * 4),
            Err(error) if error.kind == ErrorKind::Timeout => self.budgets.set(zone, budget * 2),
            Err(_) => {}
        }
        listed
    }

    fn interpret(&self, zone: &Zone, endpoint: &Endpoint) -> Interpretation {
        self.inner.interpret(zone, endpoint)
    }

    async fn adjust(&self, zone: &Zone, sets: &[RecordSet]) -> Vec<Adjustment> {
        let limit = self.limit;
        let adjusted = turn::within(limit, self.inner.adjust(zone, sets)).await;
        adjusted.unwrap_or_else(|| Adjustment::unknown(sets, &Self::error("adjust records", limit)))
    }

    async fn served(&self, zone: &Zone) -> Result<Option<bool>> {
        self.within("ask whether changes are served", self.inner.served(zone)).await
    }

    async fn apply(&self, zone: &Zone, groups: &[Group]) -> Vec<Outcome> {
        match turn::within(self.limit, self.inner.apply(zone, groups)).await {
            Some(outcomes) => outcomes,
            None => groups.iter().map(|_| Outcome::Unknown(Self::error("apply changes", self.limit))).collect(),
        }
    }
}
