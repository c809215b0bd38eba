//! An account of the service: its requests, and what becomes of them.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use zonewright_core::error::{Error, ErrorKind, Result, Retry};

use super::{CloudFault, lock};
use crate::provider::{Fault, Service};

/// An account of the service: what its instances share.
#[derive(Debug)]
pub struct CloudAccount {
    /// What it is entered with; each has its own.
    key: String,
    requests: AtomicUsize,
    /// Those of them that read records.
    reads: AtomicUsize,
    throttled: Mutex<BTreeSet<usize>>,
    planned: Mutex<Option<Planned>>,
    gone: AtomicBool,
}

/// A fault of some requests.
#[derive(Debug, Clone, Copy)]
struct Planned {
    fault: Fault,
    /// The first request.
    from: usize,
    times: usize,
}

/// How a request went that was carried out.
#[derive(Debug)]
pub(super) enum Answer {
    /// It was answered.
    Whole,
    /// The answer was lost.
    Lost(Error),
    /// A page leads back to itself.
    Circle,
}

impl Default for CloudAccount {
    fn default() -> Self {
        static ACCOUNTS: AtomicUsize = AtomicUsize::new(1);
        Self {
            key: format!("key-of-account-{}.", ACCOUNTS.fetch_add(1, Ordering::SeqCst)),
            requests: AtomicUsize::default(),
            reads: AtomicUsize::default(),
            throttled: Mutex::default(),
            planned: Mutex::default(),
            gone: AtomicBool::default(),
        }
    }
}

impl CloudAccount {
    /// Requests so far, those that were throttled too.
    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    /// Reads of records so far, of pages and of names.
    pub fn reads(&self) -> usize {
        self.reads.load(Ordering::SeqCst)
    }

    /// Throttles the requests with these numbers, counted from 0.
    pub fn throttle(&self, requests: impl IntoIterator<Item = usize>) {
        lock(&self.throttled).extend(requests);
    }

    /// Whether the zone was taken away.
    pub(super) fn gone(&self) -> bool {
        self.gone.load(Ordering::SeqCst)
    }

    /// Counts a request.
    ///
    /// # Errors
    /// It was not carried out.
    pub(super) fn request(&self, operation: &'static str, broken: CloudFault) -> Result<Answer> {
        let number = self.requests.fetch_add(1, Ordering::SeqCst);
        if operation == "list records" {
            self.reads.fetch_add(1, Ordering::SeqCst);
        }
        if lock(&self.throttled).contains(&number) {
            return Err(throttled(operation).retry(Retry::After(Duration::from_secs(1))));
        }
        let planned = *lock(&self.planned);
        let hits = |planned: &Planned| number >= planned.from && number - planned.from < planned.times;
        match planned.filter(hits) {
            None => Ok(Answer::Whole),
            Some(planned) => self.fails(planned.fault, operation, broken),
        }
    }

    fn fails(&self, fault: Fault, operation: &'static str, broken: CloudFault) -> Result<Answer> {
        let key = if broken == CloudFault::ShowsKeys { &*self.key } else { "..." };
        if broken == CloudFault::LogsKeys {
            tracing::debug!(key = self.key, "a request has failed");
        }
        let error = |kind, text: &str| Error::new(kind, operation, format!("{text} (key {key})"));
        match fault {
            Fault::Throttled => {
                let again = if broken == CloudFault::Insists { 100 } else { 0 };
                self.requests.fetch_add(again, Ordering::SeqCst);
                Err(throttled(operation))
            }
            Fault::Denied | Fault::Expired | Fault::Skewed => Err(error(ErrorKind::Unauthorized, "refused")),
            Fault::Broken | Fault::Slow => Err(error(ErrorKind::Unavailable, "not there")),
            Fault::Garbage | Fault::WrongType => Err(error(ErrorKind::Protocol, "cannot be read")),
            Fault::AnswerLost | Fault::ConnectionLost | Fault::Cut | Fault::Late => {
                Ok(Answer::Lost(error(ErrorKind::Unavailable, "no answer")))
            }
            Fault::RepeatedPage => Ok(Answer::Circle),
        }
    }
}

fn throttled(operation: &'static str) -> Error {
    Error::new(ErrorKind::Throttled, operation, "too many requests")
}

impl Service for CloudAccount {
    fn requests(&self) -> usize {
        self.requests()
    }

    fn fail(&self, skip: usize, fault: Fault, times: usize) -> bool {
        *lock(&self.planned) = Some(Planned { fault, from: self.requests() + skip, times });
        true
    }

    fn heal(&self) {
        *lock(&self.planned) = None;
    }

    fn drop_zone(&self) -> bool {
        self.gone.store(true, Ordering::SeqCst);
        true
    }

    fn requests_of_a_change(&self) -> usize {
        1
    }

    fn secrets(&self) -> Vec<String> {
        vec![self.key.clone()]
    }
}
