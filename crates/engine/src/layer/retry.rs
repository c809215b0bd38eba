//! Repeats what may be repeated: reads, and groups that were certainly never sent. Obeys what the other side asked for.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use backon::{BackoffBuilder, ExponentialBuilder};
use tokio::time::Instant;
use zonewright_core::capability::{Capability, Preconditions};
use zonewright_core::change::{Group, Outcome};
use zonewright_core::endpoint::Endpoint;
use zonewright_core::error::{Error, ErrorKind, Result, Retry};
use zonewright_core::interpret::Interpretation;
use zonewright_core::provider::{Adjustment, Listing, Provider, Read};
use zonewright_core::record::RecordSet;
use zonewright_core::turn;
use zonewright_core::zone::{Zone, ZoneId};

/// The longest pause that is waited here; what asks for more goes back to the zone's own back-off.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// How long what was read of a zone is good enough to write by, where writes cannot state all that they expect of the zone: a write that has
/// to wait for longer goes back, and the zone is read again before it.
pub(super) const READ_HOLDS: Duration = Duration::from_secs(3);

/// Whether a write rests on what was read or written before it: it can state nothing, or nothing of records that it does not change, as
/// the one of a claim alone.
fn rests_on_reading(preconditions: Preconditions) -> bool {
    preconditions.read_first() || preconditions == Preconditions::Checked
}

/// Growing pauses with jitter between attempts.
pub struct RetryLayer {
    inner: Arc<dyn Provider>,
    attempts: usize,
    seed: Option<u64>,
}

impl RetryLayer {
    /// Around `inner`; `attempts` counts the first one too.
    pub fn new(inner: Arc<dyn Provider>, attempts: usize) -> Self {
        Self { inner, attempts: attempts.max(1), seed: None }
    }

    /// With jitter that is drawn from `seed`, so that it can be repeated; by chance without one.
    #[must_use]
    pub fn seeded(self, seed: Option<u64>) -> Self {
        Self { seed, ..self }
    }

    fn pauses(&self) -> impl Iterator<Item = Duration> + use<> {
        let builder = ExponentialBuilder::default()
            .with_min_delay(Duration::from_millis(200))
            .with_max_delay(LONGEST_PAUSE)
            .with_jitter()
            .with_max_times(self.attempts - 1);
        match self.seed {
            Some(seed) => builder.with_jitter_seed(seed).build(),
            None => builder.build(),
        }
    }

    async fn repeat<T, F: Future<Output = Result<T>>>(&self, call: impl Fn() -> F) -> Result<T> {
        let mut pauses = self.pauses();
        loop {
            let (answer, took) = turn::timed(call()).await;
            let error = match answer {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            let Some(pause) = pause_before(&error, &mut pauses) else { return Err(error) };
            turn::lost(took);
            turn::waiting(tokio::time::sleep(pause)).await;
        }
    }
}

/// How long to wait before a repetition of a call that failed so; `None` gives up. What will not change by itself within
/// seconds (credentials, conflicts, configuration) is not repeated.
fn pause_before(error: &Error, pauses: &mut impl Iterator<Item = Duration>) -> Option<Duration> {
    let passing =
        matches!(error.kind, ErrorKind::Throttled | ErrorKind::Unavailable | ErrorKind::Timeout | ErrorKind::Protocol);
    match error.retry {
        _ if !passing => None,
        Retry::Never => None,
        Retry::Backoff => pauses.next(),
        Retry::After(least) => pauses.next().map(|pause| pause.max(least)).filter(|pause| *pause <= LONGEST_PAUSE),
    }
}

impl std::fmt::Debug for RetryLayer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RetryLayer").field("attempts", &self.attempts).finish_non_exhaustive()
    }
}

#[async_trait]
impl Provider for RetryLayer {
    fn capability(&self, zone: Option<&Zone>) -> Capability {
        self.inner.capability(zone)
    }

    async fn zones(&self) -> Result<Vec<Zone>> {
        self.repeat(|| self.inner.zones()).await
    }

    async fn zone(&self, id: &ZoneId) -> Result<Option<Zone>> {
        self.repeat(|| self.inner.zone(id)).await
    }

    async fn records(&self, zone: &Zone, read: Read<'_>) -> Result<Listing> {
        self.repeat(|| self.inner.records(zone, read)).await
    }

    fn interpret(&self, zone: &Zone, endpoint: &Endpoint) -> Interpretation {
        self.inner.interpret(zone, endpoint)
    }

    async fn adjust(&self, zone: &Zone, sets: &[RecordSet]) -> Vec<Adjustment> {
        let mut adjusted = self.inner.adjust(zone, sets).await;
        let mut pauses = self.pauses();
        loop {
            let error = |adjustment: &Adjustment| match adjustment {
                Adjustment::Unknown(error) => Some(error.clone()),
                Adjustment::As { .. } | Adjustment::Refused(_) => None,
            };
            let open: Vec<usize> =
                adjusted.iter().enumerate().filter(|(_, one)| error(one).is_some()).map(|(i, _)| i).collect();
            let first = open.first().and_then(|i| error(adjusted.get(*i)?));
            let Some(pause) = first.and_then(|error| pause_before(&error, &mut pauses)) else { return adjusted };
            tokio::time::sleep(pause).await;
            let again: Vec<RecordSet> = open.iter().filter_map(|i| sets.get(*i)).cloned().collect();
            for (i, fresh) in open.into_iter().zip(self.inner.adjust(zone, &again).await) {
                if let Some(slot) = adjusted.get_mut(i) {
                    *slot = fresh;
                }
            }
        }
    }

    async fn served(&self, zone: &Zone) -> Result<Option<bool>> {
        self.inner.served(zone).await
    }

    async fn apply(&self, zone: &Zone, groups: &[Group]) -> Vec<Outcome> {
        let by_reading = rests_on_reading(self.capability(Some(zone)).preconditions);
        let begun = Instant::now();
        let mut outcomes = self.inner.apply(zone, groups).await;
        let mut pauses = self.pauses();
        loop {
            let unsent: Vec<usize> =
                outcomes.iter().enumerate().filter(|(_, o)| matches!(o, Outcome::NotSent(_))).map(|(i, _)| i).collect();
            let first = unsent.first().and_then(|i| outcomes[*i].error());
            let Some(pause) = first.and_then(|error| pause_before(error, &mut pauses)) else { return outcomes };
            if by_reading && begun.elapsed() + pause > READ_HOLDS {
                return outcomes;
            }
            tokio::time::sleep(pause).await;
            let again: Vec<Group> = unsent.iter().filter_map(|i| groups.get(*i)).cloned().collect();
            let fresh = self.inner.apply(zone, &again).await;
            for (i, outcome) in unsent.into_iter().zip(fresh) {
                outcomes[i] = outcome;
            }
        }
    }
}
