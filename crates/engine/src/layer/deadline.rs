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

/// The longest that a listing in one answer may take that is not seen to come.
const LONGEST_LISTING: Duration = Duration::from_hours(1);

/// So many names may be asked for one by one in the time of one call: some services answer for no more with one request.
const NAMES_OF_A_CALL: usize = 50;

/// How long the first answer to a listing may take, by zone. What comes in pages has the limit of one call for each of them; what
/// comes in one answer takes as long as the zone is large: four times as long as the last one took, and after a time-out twice
/// as long as that one was given. A question for what changed, or for single names, may come to a listing in one answer too, and has
/// the same time; it is not given more after a time-out, since it may as well be that the server is silent. Where the answer is seen to
/// come ([`turn::progress`]) all this is of no account.
#[derive(Debug, Default)]
struct Budgets {
    of_zones: Mutex<HashMap<ZoneKey, Duration>>,
    /// Where there is no second attempt.
    at_once: bool,
}

impl Budgets {
    fn of(&self, zone: &Zone, read: Read<'_>, least: Duration) -> Duration {
        let known = self.of_zones.lock().unwrap_or_else(PoisonError::into_inner).get(&zone.key).copied();
        match read {
            Read::From(_) => least,
            Read::All if self.at_once => LONGEST_LISTING,
            Read::Names(names) => {
                let calls = u32::try_from(names.len() / NAMES_OF_A_CALL).unwrap_or(u32::MAX);
                known.unwrap_or_default().max(least.saturating_mul(calls.saturating_add(1))).min(LONGEST_LISTING)
            }
            _ => known.unwrap_or_default().clamp(least.min(LONGEST_LISTING), LONGEST_LISTING),
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
        let operation = if matches!(read, Read::All) { "list records" } else { "read records" };
        let (budget, began) = (self.budgets.of(zone, read, self.limit), Instant::now());
        let listed = Self::limited(budget, operation, self.inner.records(zone, read)).await;
        match (read, &listed) {
            (Read::All, Ok(_)) | (Read::Since(_), Ok(Listing::Full { .. })) => {
                self.budgets.set(zone, began.elapsed() * 4);
            }
            (Read::All, Err(error)) if error.kind == ErrorKind::Timeout => self.budgets.set(zone, budget * 2),
            _ => {}
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use zonewright_core::provider::{Cursor, Token};
    use zonewright_core::testing::{capability, name};
    use zonewright_core::zone::InstanceId;

    use super::*;

    /// A server whose zone takes so long to come, and whose other answers take no time.
    struct Slow {
        transfer: Mutex<Duration>,
        /// Whether anything changed.
        changed: Mutex<bool>,
        /// Whether it is seen to come.
        in_pieces: bool,
    }

    impl Slow {
        fn set(&self, transfer: Duration, changed: bool) {
            (*self.transfer.lock().unwrap(), *self.changed.lock().unwrap()) = (transfer, changed);
        }
    }

    #[async_trait]
    impl Provider for Slow {
        fn capability(&self, _: Option<&Zone>) -> Capability {
            capability()
        }
        async fn zones(&self) -> Result<Vec<Zone>> {
            Ok(Vec::new())
        }
        async fn zone(&self, _: &ZoneId) -> Result<Option<Zone>> {
            Ok(None)
        }
        async fn records(&self, _: &Zone, read: Read<'_>) -> Result<Listing> {
            if matches!(read, Read::Since(_)) && !*self.changed.lock().unwrap() {
                return Ok(Listing::Unchanged);
            }
            let transfer = *self.transfer.lock().unwrap();
            for _ in 0..transfer.as_secs() {
                tokio::time::sleep(seconds(1)).await;
                if self.in_pieces {
                    turn::progress();
                }
            }
            Ok(match read {
                Read::Names(_) => Listing::Names(Vec::new()),
                _ => Listing::Full { sets: Vec::new(), token: None },
            })
        }
        fn interpret(&self, _: &Zone, _: &Endpoint) -> Interpretation {
            Interpretation::as_stated()
        }
        async fn adjust(&self, _: &Zone, _: &[RecordSet]) -> Vec<Adjustment> {
            Vec::new()
        }
        async fn apply(&self, _: &Zone, _: &[Group]) -> Vec<Outcome> {
            Vec::new()
        }
        async fn served(&self, _: &Zone) -> Result<Option<bool>> {
            Ok(None)
        }
    }

    fn seconds(number: u64) -> Duration {
        Duration::from_secs(number)
    }

    /// Whether it worked, and how many seconds it took.
    async fn read(layer: &Deadline, read: Read<'_>) -> (bool, u64) {
        let zone = Zone::new(&InstanceId::from("i"), "z", name("z"));
        let began = Instant::now();
        let worked = layer.records(&zone, read).await.is_ok();
        (worked, began.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn a_zone_that_comes_whole_again_has_the_time_of_a_listing() {
        let inner = Arc::new(Slow { transfer: Mutex::new(seconds(4)), changed: Mutex::new(true), in_pieces: false });
        let layer = Deadline::new(inner.clone(), seconds(5));
        let (token, cursor) = (Token("1".to_owned()), Cursor("2".to_owned()));
        let (since, names) = (Read::Since(&token), BTreeSet::from([name("a.z")]));
        assert_eq!(read(&layer, Read::All).await, (true, 4));
        inner.set(seconds(15), true);
        assert_eq!(read(&layer, since).await, (true, 15), "four times what the listing took are 16 s");
        inner.set(seconds(50), true);
        assert_eq!(read(&layer, Read::Names(&names)).await, (true, 50));
        assert_eq!(read(&layer, Read::From(&cursor)).await, (false, 5), "a page has the time of one call");
        // That nothing changed says nothing of how long the zone takes.
        inner.set(seconds(200), false);
        assert_eq!(read(&layer, since).await, (true, 0));
        inner.set(seconds(200), true);
        let mut attempts = Vec::new();
        for _ in 0..3 {
            attempts.push(read(&layer, since).await);
        }
        assert_eq!(attempts, [(false, 60); 3], "it may be that the server is silent");
        assert_eq!(read(&layer, Read::Names(&names)).await, (false, 60));
        // A listing must come once.
        let mut attempts = Vec::new();
        for _ in 0..3 {
            attempts.push(read(&layer, Read::All).await);
        }
        assert_eq!(attempts, [(false, 60), (false, 120), (true, 200)], "twice as long after a time-out");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_seen_to_come_takes_as_long_as_it_takes() {
        let inner = Arc::new(Slow { transfer: Mutex::new(seconds(200)), changed: Mutex::new(true), in_pieces: true });
        let layer = Deadline::new(inner, seconds(5));
        let token = Token("1".to_owned());
        assert_eq!(read(&layer, Read::All).await, (true, 200));
        assert_eq!(read(&layer, Read::Since(&token)).await, (true, 200));
    }

    #[tokio::test(start_paused = true)]
    async fn many_names_have_the_time_of_as_many_calls() {
        let inner = Arc::new(Slow { transfer: Mutex::new(seconds(44)), changed: Mutex::new(true), in_pieces: false });
        let layer = Deadline::new(inner, seconds(5));
        let names = |count: usize| (0..count).map(|n| name(&format!("n{n}.z"))).collect::<BTreeSet<_>>();
        for (count, expected) in [(1, (false, 5)), (99, (false, 10)), (400, (true, 44))] {
            assert_eq!(read(&layer, Read::Names(&names(count))).await, expected, "{count}");
        }
    }
}
