//! A sentence that goes on to hold is logged once, and once more after a while.

use std::time::Duration;

use tokio::time::Instant;

/// The same sentence is logged again after this time, so that the end of a long log says what is wrong.
const AGAIN: Duration = Duration::from_mins(10);

/// The sentence that was logged last.
#[derive(Debug, Default)]
pub(crate) struct Said(Option<(String, Instant)>);

impl Said {
    /// Whether a sentence is to be logged now.
    pub(crate) fn is_news(&mut self, text: &str, now: Instant) -> bool {
        let known = self.0.as_ref().is_some_and(|(said, at)| said == text && now.duration_since(*at) < AGAIN);
        if !known {
            self.0 = Some((text.to_owned(), now));
        }
        !known
    }

    /// It does not hold any more.
    pub(crate) fn forget(&mut self) {
        self.0 = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_news_once_and_after_a_while() {
        let (mut said, now) = (Said::default(), Instant::now());
        assert_eq!(["a", "a", "b", "b", "a"].map(|text| said.is_news(text, now)), [true, false, true, false, true]);
        assert!(!said.is_news("a", now + AGAIN / 2));
        assert!(said.is_news("a", now + AGAIN));
        said.forget();
        assert!(said.is_news("a", now + AGAIN));
    }
}
