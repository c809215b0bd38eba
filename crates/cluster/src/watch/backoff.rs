//! How long to wait before the next attempt: soon at first, never longer than 10 s while the server is away.

use std::time::Duration;

use rand::Rng;

const FIRST: Duration = Duration::from_millis(200);
const LONGEST: Duration = Duration::from_secs(10);
/// The pause where only a change in the cluster can help: a kind that does not exist, a missing right.
const HOPELESS: Duration = Duration::from_secs(30);
/// So often a right that is missing is asked for again with ordinary pauses, 13 s in all.
const EARLY_ATTEMPTS: u32 = 6;
/// The longest pause that the server may ask for.
const ASKED: Duration = Duration::from_mins(1);

/// Pauses that double from 200 ms to 10 s; each is shortened at random by up to a half, so that the watches of one process,
/// and many processes, do not come back in step.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// The next pause; at least what the server asked for.
    pub(super) fn next(&mut self, asked: Option<Duration>) -> Duration {
        let longest = FIRST.saturating_mul(2_u32.saturating_pow(self.failures)).min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        jitter(longest).max(asked.unwrap_or_default().min(ASKED))
    }

    /// The pause where only a change in the cluster can help.
    pub(super) fn hopeless() -> Duration {
        jitter(HOPELESS)
    }

    /// The pause where a right is missing: short at first, since who was just made is often given its rights a moment later.
    pub(super) fn rightless(&mut self) -> Duration {
        let soon = self.failures < EARLY_ATTEMPTS;
        if soon { self.next(None) } else { Self::hopeless() }
    }

    /// A watch lived: the next failure is the first.
    pub(super) fn reset(&mut self) {
        self.failures = 0;
    }
}

fn jitter(longest: Duration) -> Duration {
    longest.mul_f64(rand::rng().random_range(0.5..=1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_ten_seconds() {
        let mut backoff = Backoff::default();
        for longest in [200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000] {
            let pause = backoff.next(None).as_millis();
            assert!(pause >= longest / 2 && pause <= longest, "{pause} for {longest}");
        }
        backoff.reset();
        assert!(backoff.next(None) <= FIRST);
    }

    #[test]
    fn a_missing_right_is_asked_for_soon_and_then_seldom() {
        let mut backoff = Backoff::default();
        let pauses: Vec<Duration> = (0..8).map(|_| backoff.rightless()).collect();
        let (soon, late) = pauses.split_at(EARLY_ATTEMPTS as usize);
        assert!(soon.iter().all(|pause| *pause <= LONGEST), "{pauses:?}");
        assert!(late.iter().all(|pause| *pause >= HOPELESS / 2), "{pauses:?}");
    }

    #[test]
    fn the_servers_wish_counts_up_to_a_minute() {
        let mut backoff = Backoff::default();
        assert_eq!(backoff.next(Some(Duration::from_secs(7))), Duration::from_secs(7));
        assert_eq!(backoff.next(Some(Duration::from_secs(7_000))), ASKED);
    }
}
