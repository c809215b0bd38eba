//! Wall-clock time that tests can move, in step with tokio's (possibly paused) clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

/// Milliseconds since 1970. State that survives a restart is stamped with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// This much later.
    #[must_use]
    pub fn plus(self, length: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(length.as_millis()).unwrap_or(i64::MAX)))
    }

    /// Time from `earlier` to here; zero if it is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Seconds since 1970 with fraction, as metrics carry it.
    #[expect(clippy::cast_precision_loss, reason = "milliseconds since 1970 fit 53 bits for the next 285,000 years")]
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / 1_000.0
    }
}

/// Wall-clock time at a monotonic base: it never jumps while the process runs, and follows a paused clock.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    base: Instant,
    wall: Timestamp,
}

impl Clock {
    /// A clock that reads the system's time once, now.
    pub fn system() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { base: Instant::now(), wall: Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX)) }
    }

    /// A clock that begins at `wall`.
    pub fn starting_at(wall: Timestamp) -> Self {
        Self { base: Instant::now(), wall }
    }

    /// The time now.
    pub fn now(&self) -> Timestamp {
        self.wall.plus(self.base.elapsed())
    }
}
