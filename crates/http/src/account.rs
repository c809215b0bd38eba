//! What all clients share that use the same credentials: rate, concurrency, and the pauses that the service asks for.
//!
//! Services count requests by account. So the limit stands at the account and not at the client, and a `429 Too Many
//! Requests` that one request gets holds up all the others.

use std::collections::HashMap;
use std::fmt;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use governor::clock::Clock;
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep, sleep_until};
use zonewright_core::turn::waiting;

use crate::request::Share;

/// [`Share::Background`] may use one of so many parts of the rate.
const PARTS: u32 = 5;

/// So many requests in so much time, with a burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Requests in each period, evenly spread.
    pub requests: NonZeroU32,
    /// The period; above zero.
    pub period: Duration,
    /// So many requests may go at once after a quiet time.
    pub burst: NonZeroU32,
}

impl Rate {
    /// So many requests a second, in bursts of as many. Zero counts as one.
    pub fn per_second(requests: u32) -> Self {
        let requests = NonZeroU32::new(requests).unwrap_or(NonZeroU32::MIN);
        Self { requests, period: Duration::from_secs(1), burst: requests }
    }

    fn quota(self, parts: u32) -> Option<Quota> {
        let burst = NonZeroU32::new(self.burst.get() / parts).unwrap_or(NonZeroU32::MIN);
        let interval = self.period.checked_mul(parts)? / self.requests.get();
        Some(Quota::with_period(interval)?.allow_burst(burst))
    }
}

/// The limits of an account.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AccountLimits {
    /// The rate; none where the service is not known to count.
    pub rate: Option<Rate>,
    /// Most requests under way at once; none is no limit.
    pub concurrency: Option<NonZeroU32>,
}

/// An account; clones are the same account.
#[derive(Clone)]
pub struct Account(Arc<Inner>);

struct Inner {
    name: String,
    full: Option<Arc<Turns>>,
    background: Option<Arc<Turns>>,
    slots: Option<Arc<Slots>>,
    /// Nothing is sent before this time.
    paused: Mutex<Option<Instant>>,
}

/// The right to send one request; dropped when its answer is complete.
#[derive(Debug)]
pub struct Permit(#[expect(dead_code, reason = "held until it is dropped")] Option<OwnedSemaphorePermit>);

impl Account {
    /// An account with these limits. The name appears in log lines: it is no credential.
    pub fn new(name: impl Into<String>, limits: AccountLimits) -> Self {
        let turns = |parts| limits.rate.and_then(|rate| rate.quota(parts)).map(Turns::new).map(Arc::new);
        let (full, background) = (turns(1), turns(PARTS));
        let slots = slots(limits.concurrency);
        Self(Arc::new(Inner { name: name.into(), full, background, slots, paused: Mutex::default() }))
    }

    /// A part of it, which goes at the pace of the whole, and has its own slots and pauses: for a service that counts some of the requests
    /// by themselves besides, and refuses those without the others.
    fn part(&self, name: String, concurrency: Option<NonZeroU32>) -> Self {
        let Inner { full, background, .. } = &*self.0;
        let (full, background) = (full.clone(), background.clone());
        Self(Arc::new(Inner { name, full, background, slots: slots(concurrency), paused: Mutex::default() }))
    }

    /// An account without limits of its own; pauses that the service asks for are obeyed all the same.
    pub fn unlimited(name: impl Into<String>) -> Self {
        Self::new(name, AccountLimits::default())
    }

    /// The name in logs and metrics.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Nothing is sent for this long: the service said so. For senders besides [`crate::Client`], such as a vendor's SDK.
    pub fn pause(&self, length: Duration) {
        let Some(until) = Instant::now().checked_add(length) else { return };
        let mut paused = self.paused();
        *paused = Some(paused.map_or(until, |known| known.max(until)));
    }

    /// Waits for a turn: first for the share, then for a slot, then for the rate, then for the end of a pause. A caller
    /// that gives up waiting has used nothing of the rate that it had not yet been given. The slot comes before the rate, so
    /// that requests which got their turns do not gather behind a slow service, and go out together later.
    ///
    /// # Errors
    /// The rest of a pause that is longer than `longest`.
    pub async fn admit(&self, share: Share, longest: Duration) -> Result<Permit, Duration> {
        self.within(longest)?;
        if let (Share::Background, Some(turns)) = (share, &self.0.background) {
            waiting(turns.next()).await;
        }
        let slot = match &self.0.slots {
            Some(slots) => waiting(slots.one(share)).await,
            None => None,
        };
        if let Some(turns) = &self.0.full {
            match share {
                Share::Next => waiting(turns.first()).await,
                Share::Full | Share::Background => waiting(turns.next()).await,
            }
        }
        self.rested(longest).await?;
        Ok(Permit(slot))
    }

    /// Waits for the end of a pause that the service asked for, and for nothing else: no turn is used.
    ///
    /// # Errors
    /// The rest of a pause that is longer than `longest`.
    pub async fn rested(&self, longest: Duration) -> Result<(), Duration> {
        while let Some(until) = self.within(longest)? {
            sleep_until(until).await;
        }
        Ok(())
    }

    /// The end of the pause, if there is one and it is not longer than this.
    fn within(&self, longest: Duration) -> Result<Option<Instant>, Duration> {
        let Some(until) = *self.paused() else { return Ok(None) };
        let rest = until.saturating_duration_since(Instant::now());
        match rest {
            Duration::ZERO => Ok(None),
            rest if rest > longest => Err(rest),
            _ => Ok(Some(until)),
        }
    }

    fn paused(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.paused.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Account({})", self.0.name)
    }
}

fn slots(most: Option<NonZeroU32>) -> Option<Arc<Slots>> {
    let most = usize::try_from(most?.get()).unwrap_or(usize::MAX);
    let free = Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)));
    Some(Arc::new(Slots { queue: tokio::sync::Mutex::default(), free }))
}

/// Slots, in the order in which they were asked for; who may go before the others ([`Share::Next`]) waits for one of them at most, and
/// for those who may too.
struct Slots {
    queue: tokio::sync::Mutex<()>,
    /// The first one of the queue waits here, and who may go before the others.
    free: Arc<Semaphore>,
}

impl Slots {
    /// Waits for a slot. The semaphore is never closed; without a permit there is no limit.
    async fn one(&self, share: Share) -> Option<OwnedSemaphorePermit> {
        let _first_in_the_queue = match share {
            Share::Next => None,
            Share::Full | Share::Background => Some(self.queue.lock().await),
        };
        self.free.clone().acquire_owned().await.ok()
    }
}

/// So many turns in a row may go before the first one of the queue.
const BEFORE: u32 = 9;

/// Turns at a steady rate after a burst, in the order in which they were asked for; who may go before the others waits for one of them
/// at most, and for those who may too. Where there is always one who may, every tenth turn is of the queue.
struct Turns {
    queue: tokio::sync::Mutex<()>,
    /// Held by the one whose turn is the next; of the queue's first one only while it looks, until its turn is due. How many turns went
    /// before the queue since it had one.
    front: tokio::sync::Mutex<u32>,
    clock: TokioClock,
    limiter: RateLimiter<NotKeyed, InMemoryState, TokioClock, NoOpMiddleware<Nanos>>,
}

impl Turns {
    fn new(quota: Quota) -> Self {
        let clock = TokioClock { start: Instant::now() };
        let limiter = RateLimiter::direct_with_clock(quota, clock);
        Self { queue: tokio::sync::Mutex::default(), front: tokio::sync::Mutex::default(), clock, limiter }
    }

    /// Waits for the next turn. Nothing is used until it comes.
    async fn next(&self) {
        let _first_in_the_queue = self.queue.lock().await;
        loop {
            let mut before = self.front.lock().await;
            let is_due = *before >= BEFORE;
            match self.limiter.check() {
                Err(early) if !is_due => {
                    drop(before);
                    sleep(early.wait_time_from(self.clock.now())).await;
                    continue;
                }
                Err(_) => self.turn().await,
                Ok(()) => {}
            }
            *before = 0;
            return;
        }
    }

    /// The same before those who wait in the queue.
    async fn first(&self) {
        let mut before = self.front.lock().await;
        self.turn().await;
        *before = before.saturating_add(1);
    }

    /// Waits for the turn of the one who holds the front.
    async fn turn(&self) {
        while let Err(early) = self.limiter.check() {
            sleep(early.wait_time_from(self.clock.now())).await;
        }
    }
}

/// Tokio's clock, which tests can pause, for governor.
#[derive(Debug, Clone, Copy)]
struct TokioClock {
    start: Instant,
}

impl Clock for TokioClock {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        Nanos::new(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}

/// The accounts of a process, so that several instances with the same credentials share one.
#[derive(Debug, Default)]
pub struct Accounts(Mutex<HashMap<String, WeakAccount>>);

/// An entry that does not keep an account alive which nobody uses any more.
struct WeakAccount(Weak<Inner>);

impl Accounts {
    /// The account of these credentials at this service. One that is in use keeps the limits that it began with.
    ///
    /// Its name is the service with a digest of the credentials, from which they cannot be derived.
    pub fn of(&self, service: &str, credentials: &SecretString, limits: AccountLimits) -> Account {
        let digest = Sha256::digest(credentials.expose_secret());
        let name = format!("{service}/{:.12}", format!("{digest:x}"));
        self.known(name, |name| Account::new(name, limits))
    }

    /// The part of this name of an account: it goes at the pace of the whole, has so many requests of its own under way at once, and what the
    /// service says of one of the two pauses that one alone. For a service that counts some of the requests by themselves besides.
    pub fn part(&self, whole: &Account, what: &str, concurrency: Option<NonZeroU32>) -> Account {
        self.known(format!("{}/{what}", whole.name()), |name| whole.part(name, concurrency))
    }

    fn known(&self, name: String, new: impl FnOnce(String) -> Account) -> Account {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, account| account.0.strong_count() > 0);
        if let Some(inner) = known.get(&name).and_then(|account| account.0.upgrade()) {
            return Account(inner);
        }
        let account = new(name.clone());
        known.insert(name, WeakAccount(Arc::downgrade(&account.0)));
        account
    }
}

impl fmt::Debug for WeakAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WeakAccount")
    }
}

#[cfg(test)]
#[path = "account_tests.rs"]
mod tests;
