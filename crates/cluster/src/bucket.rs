//! A token bucket: in come requests as they like, out they go at a steady rate after a burst. It follows tokio's clock, so
//! that tests can pause it.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// Lets `burst` callers through at once, then one each `interval`.
#[derive(Debug)]
pub(crate) struct Bucket {
    interval: Duration,
    burst: u32,
    /// When the bucket would be full again: the "theoretical arrival time" of the generic cell rate algorithm.
    full_at: Mutex<Instant>,
}

impl Bucket {
    /// A full bucket. A burst of zero counts as one, else nothing would ever pass.
    pub(crate) fn new(interval: Duration, burst: u32) -> Self {
        Self { interval, burst: burst.max(1), full_at: Mutex::new(Instant::now()) }
    }

    /// Waits for a token, and says how long that took. A caller that gives up waiting has used its token all the same.
    pub(crate) async fn take(&self) -> Duration {
        let (now, turn) = self.reserve();
        sleep_until(turn).await;
        turn.saturating_duration_since(now)
    }

    fn reserve(&self) -> (Instant, Instant) {
        let now = Instant::now();
        let mut full_at = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        let turn = turn(*full_at, now, self.interval, self.burst);
        *full_at = (*full_at).max(now) + self.interval;
        (now, turn)
    }
}

/// When a bucket that would be full again at `full_at` has its next token.
pub(crate) fn turn(full_at: Instant, now: Instant, interval: Duration, burst: u32) -> Instant {
    full_at.checked_sub(interval * burst.saturating_sub(1)).map_or(now, |turn| turn.max(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn waits(bucket: &Bucket, count: usize) -> Vec<u128> {
        let mut waits = Vec::new();
        for _ in 0..count {
            waits.push(bucket.take().await.as_millis());
        }
        waits
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_passes_at_once_and_then_the_rate_holds() {
        let bucket = Bucket::new(Duration::from_millis(200), 3);
        assert_eq!(waits(&bucket, 5).await, [0, 0, 0, 200, 200]);
    }

    #[tokio::test(start_paused = true)]
    async fn idle_time_fills_the_bucket_up_to_its_burst() {
        let bucket = Bucket::new(Duration::from_millis(200), 2);
        waits(&bucket, 4).await;
        tokio::time::advance(Duration::from_mins(1)).await;
        assert_eq!(waits(&bucket, 3).await, [0, 0, 200]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_of_zero_is_one() {
        assert_eq!(waits(&Bucket::new(Duration::from_secs(1), 0), 2).await, [0, 1000]);
    }
}
