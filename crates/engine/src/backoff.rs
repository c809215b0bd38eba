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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_from_one_second_to_one_minute_and_a_quarter_more_at_most() {
        for seed in 0..1_000 {
            for (failures, seconds) in [(1, 1), (2, 2), (3, 4), (4, 8), (5, 16), (6, 32), (7, 60), (8, 60), (1_000, 60)]
            {
                let base = Duration::from_secs(seconds);
                let pause = backoff(seed, failures, Retry::Backoff);
                assert!(pause >= base && pause < base + base / 4, "{failures} failures: {pause:?}");
            }
            // What the other side asks for is the least that it gets.
            let asked = Duration::from_mins(10);
            let pause = backoff(seed, 3, Retry::After(asked));
            assert!(pause >= asked && pause < asked + asked / 4, "{pause:?}");
            assert!(backoff(seed, 7, Retry::After(Duration::from_secs(1))) >= Duration::from_mins(1));
        }
        let first: std::collections::BTreeSet<Duration> =
            (0..100).map(|seed| backoff(seed, 7, Retry::Backoff)).collect();
        assert!(first.len() > 50, "they do not come back at once");
    }
}
