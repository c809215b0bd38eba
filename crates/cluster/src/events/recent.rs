//! What was told lately: by digest, so that the memory of it is small and bounded.

use std::collections::HashMap;
use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio::time::Instant;
use zonewright_core::endpoint::Note;

/// The same note is not posted again within this time.
const QUIET: Duration = Duration::from_mins(10);
/// More than can be posted in [`QUIET`], so nothing is forgotten too soon but in a flood.
const MOST: usize = 4_096;

/// Names a note by what it says: object, reason and message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Fingerprint(u64);

#[derive(Debug, Default)]
pub(super) struct Recent(HashMap<Fingerprint, Instant>);

impl Fingerprint {
    /// The same in every process, so that an event of an earlier one is found again by its name.
    pub(super) fn of(note: &Note) -> Self {
        let mut hash = Sha256::new();
        for part in [&*note.object.uid, note.reason, &note.message] {
            hash.update(part);
            hash.update([0]);
        }
        let octets: [u8; 32] = hash.finalize().into();
        Self(octets.iter().take(8).fold(0, |number, octet| number << 8 | u64::from(*octet)))
    }

    /// Sixteen hexadecimal digits.
    pub(super) fn text(self) -> String {
        format!("{:016x}", self.0)
    }
}

impl Recent {
    pub(super) fn holds(&self, note: &Note, now: Instant) -> bool {
        self.0.get(&Fingerprint::of(note)).is_some_and(|told| now.duration_since(*told) < QUIET)
    }

    pub(super) fn add(&mut self, note: &Note, now: Instant) {
        if self.0.len() >= MOST {
            self.0.retain(|_, told| now.duration_since(*told) < QUIET);
        }
        if self.0.len() >= MOST {
            // A flood: rather told twice than remembered without end.
            self.0.clear();
        }
        self.0.insert(Fingerprint::of(note), now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::post::tests::note;

    #[test]
    fn notes_differ_by_object_reason_and_message() {
        let base = note("a", "One", "text");
        assert_eq!(Fingerprint::of(&base), Fingerprint::of(&note("a", "One", "text")));
        for other in [note("b", "One", "text"), note("a", "Two", "text"), note("a", "One", "texts")] {
            assert_ne!(Fingerprint::of(&base), Fingerprint::of(&other), "{other:?}");
        }
        assert_eq!(Fingerprint::of(&base).text().len(), 16);
    }

    #[tokio::test(start_paused = true)]
    async fn a_note_is_new_again_after_ten_minutes() {
        let mut recent = Recent::default();
        let start = Instant::now();
        let note = note("a", "One", "text");
        assert!(!recent.holds(&note, start));
        recent.add(&note, start);
        assert!(recent.holds(&note, start + Duration::from_secs(599)));
        assert!(!recent.holds(&note, start + Duration::from_mins(10)));
    }

    #[tokio::test(start_paused = true)]
    async fn the_memory_is_bounded() {
        let mut recent = Recent::default();
        for number in 0..=MOST {
            recent.add(&note("a", "One", &number.to_string()), Instant::now());
        }
        assert!(recent.0.len() <= MOST);
    }
}
