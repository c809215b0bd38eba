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

    /// This much earlier.
    #[must_use]
    pub fn minus(self, length: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(length.as_millis()).unwrap_or(i64::MAX)))
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

/// A moment as RFC 3339 writes it in UTC, in whole seconds: `2026-01-31T23:59:59Z`.
pub fn utc(at: Timestamp) -> String {
    let seconds = at.0.div_euclid(1_000);
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Years that begin in March, in eras of 400 years.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_in_utc() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_798_761_599, "2026-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
        ] {
            assert_eq!(utc(Timestamp(seconds * 1_000 + 999)), expected);
        }
    }
}
