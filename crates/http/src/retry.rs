//! When an attempt is repeated, and after which pause.

use std::time::{Duration, SystemTime};

use backon::{BackoffBuilder as _, ExponentialBuilder};

/// How often and how long a request is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Most attempts, the first included; 1 never repeats.
    pub attempts: usize,
    /// The first pause. Each further one is twice as long, plus jitter of up to as much again.
    pub first: Duration,
    /// The longest pause that is waited for, whoever asks for it; a service that asks for more gets its error back to the
    /// caller, with the time it named.
    pub longest: Duration,
    /// No attempt begins after so much time was spent on attempts and pauses. Waiting for a turn is not counted: it says
    /// nothing about the service.
    pub total: Duration,
    /// Seed of the jitter, for runs that repeat exactly; by chance without.
    pub seed: Option<u64>,
}

impl RetryPolicy {
    /// One attempt alone, for what may not be done twice.
    pub const ONCE: Self = Self {
        attempts: 1,
        first: Duration::ZERO,
        longest: Duration::from_secs(10),
        total: Duration::ZERO,
        seed: None,
    };

    /// The pauses between attempts.
    pub(crate) fn pauses(&self) -> impl Iterator<Item = Duration> + Send + use<> {
        let mut builder = ExponentialBuilder::new()
            .with_min_delay(self.first)
            .with_max_delay(self.longest)
            .with_max_times(self.attempts.saturating_sub(1))
            .with_jitter();
        if let Some(seed) = self.seed {
            builder = builder.with_jitter_seed(seed);
        }
        let longest = self.longest;
        builder.build().map(move |pause| pause.min(longest))
    }
}

impl Default for RetryPolicy {
    /// Four attempts within a minute: pauses of about 0.2, 0.4 and 0.8 seconds, at most 10 where the service asks for it.
    fn default() -> Self {
        Self {
            attempts: 4,
            first: Duration::from_millis(200),
            longest: Duration::from_secs(10),
            total: Duration::from_mins(1),
            seed: None,
        }
    }
}

/// The value of a `Retry-After` header (RFC 9110 10.2.3), seen at `now`. `None` for what is neither seconds nor a date.
pub(crate) fn retry_after(text: &str, now: SystemTime) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let until = httpdate::parse_http_date(text).ok()?;
    Some(until.duration_since(now).unwrap_or(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn seconds_and_dates() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        for (text, expected) in [
            ("17", Some(17)),
            (" 0 ", Some(0)),
            ("Sun, 06 Nov 1994 08:50:07 GMT", Some(30)),
            ("Sunday, 06-Nov-94 08:50:07 GMT", Some(30)),
            ("Sun, 06 Nov 1994 08:00:00 GMT", Some(0)),
            ("-1", None),
            ("soon", None),
            ("", None),
        ] {
            assert_eq!(retry_after(text, now), expected.map(Duration::from_secs), "{text}");
        }
    }

    #[test]
    fn pauses_grow_and_have_an_end() {
        let policy = RetryPolicy { attempts: 9, seed: Some(7), ..RetryPolicy::default() };
        let pauses: Vec<_> = policy.pauses().collect();
        assert_eq!(pauses.len(), 8);
        assert_eq!(pauses, policy.pauses().collect::<Vec<_>>(), "the same seed gives the same pauses");
        assert_ne!(pauses, RetryPolicy { seed: Some(8), ..policy }.pauses().collect::<Vec<_>>());
        for (i, pause) in pauses.iter().enumerate() {
            let base = policy.first * 2_u32.pow(u32::try_from(i).unwrap());
            assert!(*pause >= base.min(policy.longest) && *pause <= (base * 2).min(policy.longest), "{i}: {pause:?}");
        }
        assert_eq!(RetryPolicy::ONCE.pauses().count(), 0);
    }

    proptest! {
        #[test]
        fn any_text_is_a_time_or_none(text in ".{0,40}") {
            let _ = retry_after(&text, SystemTime::UNIX_EPOCH);
        }
    }
}
