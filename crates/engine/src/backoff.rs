//! Pauses between attempts.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use zonewright_core::error::Retry;

/// Pause after the `failures`-th failure in a row: 1, 2, 4 ... up to 60 seconds, or what the other side asked for, with up
/// to a quarter more by `seed`, so that many do not come back at once.
pub(crate) fn backoff(seed: u64, failures: u32, retry: Retry) -> Duration {
    let base = Duration::from_secs(1 << failures.saturating_sub(1).min(6)).min(Duration::from_mins(1));
    let base = match retry {
        Retry::After(least) => least.max(base),
        Retry::Backoff | Retry::Never => base,
    };
    let mut hasher = DefaultHasher::new();
    (seed, failures).hash(&mut hasher);
    let spread = hasher.finish() % 256;
    base + base * u32::try_from(spread).unwrap_or(0) / 1024
}
