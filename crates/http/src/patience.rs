//! How long a request may take and when it is tried again, for all clients of a process.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::retry::RetryPolicy;

/// Patience with a service: one value for the instances of a process, as a `Shared` keeps it. Clients that are built later have it.
#[derive(Debug, Default)]
pub struct Patience(Mutex<Times>);

#[derive(Debug, Clone, Copy)]
struct Times {
    timeout: Duration,
    pause: Duration,
}

impl Patience {
    /// Longest time of one attempt, from connecting to the last byte of the answer: 30 seconds if never set.
    pub fn timeout(&self) -> Duration {
        self.times().timeout
    }

    /// The first pause between two attempts, as [`RetryPolicy::first`]: its default if never set.
    pub fn pause(&self) -> Duration {
        self.times().pause
    }

    /// The default policy with this pause.
    pub fn retry(&self) -> RetryPolicy {
        RetryPolicy { first: self.pause(), ..RetryPolicy::default() }
    }

    /// Sets the longest time of one attempt and the first pause between two.
    pub fn set(&self, timeout: Duration, pause: Duration) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Times { timeout, pause };
    }

    fn times(&self) -> Times {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Times {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(30), pause: RetryPolicy::default().first }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_half_a_minute_until_it_is_set() {
        let patience = Patience::default();
        assert_eq!((patience.timeout(), patience.retry()), (Duration::from_secs(30), RetryPolicy::default()));
        patience.set(Duration::from_millis(250), Duration::from_millis(5));
        assert_eq!(
            (patience.timeout(), patience.retry().first),
            (Duration::from_millis(250), Duration::from_millis(5))
        );
    }
}
