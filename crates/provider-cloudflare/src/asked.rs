//! When something was asked for, and how long its answers took.

use std::time::Duration;

use tokio::time::Instant;

/// Requests that one reading rests on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    /// When the first of them was sent, after the wait for its turn.
    pub(crate) since: Instant,
    requests: u32,
    /// From each request to the end of its answer, all together.
    answers: Duration,
}

impl Asked {
    /// One request, which was sent at this time and is answered now.
    pub(crate) fn once(sent: Instant) -> Self {
        Self { since: sent, requests: 1, answers: sent.elapsed() }
    }

    /// These requests and later ones.
    #[must_use]
    pub(crate) fn and(self, later: Self) -> Self {
        Self {
            since: self.since,
            requests: self.requests.saturating_add(later.requests),
            answers: self.answers.saturating_add(later.answers),
        }
    }

    /// The time from the first of them to what is sent after the last one, where each turn comes so long after the one before, and
    /// nothing else waits.
    pub(crate) fn needs(self, turn: Duration) -> Duration {
        turn.saturating_mul(self.requests).saturating_add(self.answers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn requests_need_their_turns_and_their_answers() {
        let second = Duration::from_secs(1);
        let asked = async |seconds: u32| {
            let sent = Instant::now();
            tokio::time::sleep(second * seconds).await;
            Asked::once(sent)
        };
        let first = asked(2).await;
        // A wait for a turn, or for the end of a pause, says nothing of what they need.
        tokio::time::sleep(10 * second).await;
        let both = first.and(asked(3).await);
        assert_eq!((first.needs(second), both.needs(second)), (3 * second, 7 * second));
        assert_eq!((both.since, both.needs(Duration::ZERO)), (first.since, 5 * second));
    }
}
