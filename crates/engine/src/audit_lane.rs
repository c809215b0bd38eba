//! When the zones of an instance are audited, all of them together: what nobody waits for is to leave the account's rate to changes.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// A lane that the audits of all zones of an instance go along, one page behind another.
#[derive(Debug, Default)]
pub(crate) struct AuditLane(Mutex<Option<Instant>>);

impl AuditLane {
    /// Books the next audit of so many pages, of which each keeps the lane for `pace`. Returns when the lane is there for it: not
    /// before everything that was booked earlier has gone along.
    pub(crate) fn book(&self, pages: usize, pace: Duration) -> Instant {
        let now = Instant::now();
        let length = pace.saturating_mul(u32::try_from(pages.max(1)).unwrap_or(u32::MAX));
        let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let from = free.map_or(now, |free| free.max(now));
        let until = from.checked_add(length).unwrap_or(from);
        *free = Some(until);
        until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn audits_follow_each_other() {
        let (lane, pace, start) = (AuditLane::default(), Duration::from_secs(2), Instant::now());
        let after = |pages| (lane.book(pages, pace) - start).as_secs();
        assert_eq!([after(1), after(1), after(3), after(0)], [2, 4, 10, 12]);
        tokio::time::advance(Duration::from_mins(1)).await;
        assert_eq!(after(1), 62, "a lane that was free is not made up for");
        assert_eq!((lane.book(9, Duration::ZERO) - start).as_secs(), 62, "without a pace nothing waits");
        assert!(lane.book(usize::MAX, Duration::MAX) >= start, "what cannot be counted does not overflow");
    }
}
