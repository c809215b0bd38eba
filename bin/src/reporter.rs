//! Notes to the log, and to the cluster's events where there is a cluster.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use zonewright_core::endpoint::{Note, Reporter, Severity};
use zonewright_core::notes::FIRST;

/// The same sentence about the same object is logged once in this time.
const QUIET: Duration = Duration::from_mins(10);

/// Most sentences that are remembered, and most objects; beyond that the memory starts anew.
const MEMORY: usize = 20_000;

/// So many sentences of one reason about one object are logged in [`QUIET`]: those of two mappings of it, with their counts.
/// An object that is changed again and again, wrong each time, says no more than that.
const MOST: usize = 2 * (FIRST + 1);

/// Logs warnings, and passes every note on.
pub(crate) struct LogReporter {
    next: Option<Arc<dyn Reporter>>,
    recent: Mutex<Recent>,
}

/// What was logged lately, by digest.
#[derive(Default)]
struct Recent {
    hasher: RandomState,
    sentences: HashMap<u64, Instant>,
    /// How many sentences of one reason about one object, and since when they are counted.
    subjects: HashMap<u64, (Instant, usize)>,
}

/// Whether a sentence is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decision {
    /// It is logged.
    Logged,
    /// It is the last one of its reason about its object that is logged for a while.
    Last,
    /// It was logged lately.
    Known,
    /// There were too many of its kind.
    TooMany,
}

impl std::fmt::Debug for LogReporter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LogReporter")
    }
}

impl LogReporter {
    /// Logs, then reports to `next`.
    pub(crate) fn new(next: Option<Arc<dyn Reporter>>) -> Self {
        Self { next, recent: Mutex::default() }
    }

    fn decide(&self, note: &Note) -> Decision {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner).decide(note, Instant::now())
    }
}

impl Recent {
    /// Whether a note is logged: a sentence about an object is logged once in [`QUIET`]. The other prefix concerns the
    /// configuration rather than each object, so one line says it for all.
    fn decide(&mut self, note: &Note, now: Instant) -> Decision {
        if note.reason == "OtherAnnotationPrefix" {
            return if self.is_new(self.hasher.hash_one(note.reason), now) {
                Decision::Logged
            } else {
                Decision::Known
            };
        }
        let subject = self.hasher.hash_one((&note.object, note.reason));
        if !self.is_new(self.hasher.hash_one((subject, &note.message)), now) {
            return Decision::Known;
        }
        bound(&mut self.subjects, |(since, _)| now.duration_since(*since) < QUIET);
        let (since, count) = self.subjects.entry(subject).or_insert((now, 0));
        if now.duration_since(*since) >= QUIET {
            (*since, *count) = (now, 0);
        }
        *count += 1;
        match *count {
            count if count < MOST => Decision::Logged,
            MOST => Decision::Last,
            _ => Decision::TooMany,
        }
    }

    fn is_new(&mut self, sentence: u64, now: Instant) -> bool {
        bound(&mut self.sentences, |at| now.duration_since(*at) < QUIET);
        let before = self.sentences.insert(sentence, now);
        before.is_none_or(|at| now.duration_since(at) >= QUIET)
    }
}

/// Makes room, if there is none.
fn bound<T>(memory: &mut HashMap<u64, T>, lasts: impl Fn(&T) -> bool) {
    if memory.len() >= MEMORY {
        memory.retain(|_, value| lasts(value));
    }
    if memory.len() >= MEMORY {
        memory.clear();
    }
}

impl Reporter for LogReporter {
    fn report(&self, note: &Note) {
        if note.severity == Severity::Warning {
            let decide = self.decide(note);
            if matches!(decide, Decision::Logged | Decision::Last) {
                tracing::warn!(object = %note.object, reason = note.reason, "{}", note.message);
            }
            if decide == Decision::Last {
                let minutes = QUIET.as_secs() / 60;
                tracing::warn!(object = %note.object, reason = note.reason, "more of this kind are not logged for {minutes} minutes");
            }
            if decide == Decision::TooMany {
                return;
            }
        }
        if let Some(next) = &self.next {
            next.report(note);
        }
    }
}

#[cfg(test)]
mod tests {
    use zonewright_core::endpoint::{ObjectRef, TypeMeta};

    use super::*;

    fn note(who: &str, message: &str) -> Note {
        let types = TypeMeta::new("v1", "Service");
        let object = ObjectRef { types, namespace: "shop".into(), name: who.into(), uid: "1".into() };
        Note::warning(&object, "Wrong", message)
    }

    #[test]
    fn a_sentence_is_news_once_in_a_while() {
        let (mut recent, now) = (Recent::default(), Instant::now());
        assert_eq!(recent.decide(&note("a", "x"), now), Decision::Logged);
        assert_eq!(recent.decide(&note("a", "x"), now), Decision::Known);
        assert_eq!(recent.decide(&note("a", "y"), now), Decision::Logged);
        assert_eq!(recent.decide(&note("b", "x"), now), Decision::Logged);
        assert_eq!(recent.decide(&note("a", "x"), now + QUIET), Decision::Logged);
    }

    #[test]
    fn one_object_cannot_fill_the_log() {
        let (mut recent, now) = (Recent::default(), Instant::now());
        let mut decide = |n: usize, now| recent.decide(&note("a", &n.to_string()), now);
        assert!((1..MOST).all(|n| decide(n, now) == Decision::Logged));
        assert_eq!(decide(MOST, now), Decision::Last);
        assert!((0..1_000).all(|n| decide(MOST + 1 + n, now) == Decision::TooMany));
        assert_eq!(decide(0, now + QUIET), Decision::Logged);
        assert_eq!(recent.decide(&note("b", "x"), now), Decision::Logged, "the others are heard");
    }
}
