//! How many requests a caller has in a time.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

/// A limit of requests, and when each caller made its last ones.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    limit: Option<(usize, Duration)>,
    recent: BTreeMap<String, VecDeque<Instant>>,
}

impl Pace {
    /// So many requests of a caller in this time; no limit if never set.
    pub(crate) fn set(&mut self, limit: Option<(usize, Duration)>) {
        self.limit = limit;
    }

    /// Counts a request of the caller at this time.
    ///
    /// # Errors
    /// The time until there is room for one more, if there is none now. Such a request is not counted.
    pub(crate) fn take(&mut self, caller: &str, now: Instant) -> Result<(), Duration> {
        let Some((requests, window)) = self.limit else { return Ok(()) };
        let recent = self.recent.entry(caller.to_owned()).or_default();
        while recent.front().is_some_and(|at| now.duration_since(*at) >= window) {
            recent.pop_front();
        }
        if recent.len() >= requests {
            let first = recent.front().map_or(Duration::ZERO, |at| now.duration_since(*at));
            return Err(window.saturating_sub(first));
        }
        recent.push_back(now);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_caller_has_its_limit() {
        let mut pace = Pace::default();
        let (start, second) = (Instant::now(), Duration::from_secs(1));
        assert_eq!([(); 3].map(|()| pace.take("a", start)), [Ok(()); 3]);
        pace.set(Some((2, second * 4)));
        assert_eq!([0, 1, 3].map(|at| pace.take("a", start + second * at)), [Ok(()), Ok(()), Err(second)]);
        assert_eq!(pace.take("b", start), Ok(()));
        assert_eq!(pace.take("a", start + second * 4), Ok(()));
        assert_eq!(pace.take("a", start + second * 4), Err(second));
    }
}
