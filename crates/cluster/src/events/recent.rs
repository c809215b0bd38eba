//! What was reported lately: by digest, so that the memory of it is small and bounded; and how much of which object.

use std::collections::HashMap;
use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio::time::Instant;
use zonewright_core::endpoint::{Note, Uid};

use crate::bucket::turn;

/// The same note is not posted again within this time.
const QUIET: Duration = Duration::from_mins(10);
/// More than can be posted in [`QUIET`], so nothing is forgotten too soon but in a flood.
const MOST: usize = 16_384;
/// What one object may have at once, and the time until it may have another one: the limits of client-go's event broadcaster.
pub(super) const OBJECT_BURST: u32 = 25;
pub(super) const OBJECT_INTERVAL: Duration = Duration::from_mins(5);
/// Objects whose share is remembered, as many as client-go does.
const OBJECTS: usize = 4_096;

/// Names a note by what it says: object, reason and message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Fingerprint(u64);

#[derive(Debug, Default)]
pub(super) struct Recent(HashMap<Fingerprint, Instant>);

/// When the share of each object, by its UID, would be whole again.
#[derive(Debug, Default)]
pub(super) struct Shares(HashMap<Uid, Instant>);

impl Fingerprint {
    /// The same in every process, so that an event of an earlier one is found again by its name.
    pub(super) fn of(note: &Note) -> Self {
        let mut hash = Sha256::new();
        for part in [&*note.object.uid.to_string(), note.reason, &note.message] {
            hash.update(part);
            hash.update([0]);
        }
        let bytes: [u8; 32] = hash.finalize().into();
        Self(bytes.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// Sixteen hexadecimal digits.
    pub(super) fn text(self) -> String {
        format!("{:016x}", self.0)
    }
}

impl Recent {
    pub(super) fn holds(&self, note: &Note, now: Instant) -> bool {
        self.0.get(&Fingerprint::of(note)).is_some_and(|posted| now.duration_since(*posted) < QUIET)
    }

    pub(super) fn add(&mut self, note: &Note, now: Instant) {
        if self.0.len() >= MOST {
            self.0.retain(|_, posted| now.duration_since(*posted) < QUIET);
        }
        if self.0.len() >= MOST {
            // A flood: rather reported twice than remembered without end.
            self.0.clear();
        }
        self.0.insert(Fingerprint::of(note), now);
    }
}

impl Shares {
    /// Takes one event of an object's share; `false` if it is used up.
    pub(super) fn take(&mut self, note: &Note, now: Instant) -> bool {
        let full_at = self.0.get(&note.object.uid).map_or(now, |full_at| (*full_at).max(now));
        if turn(full_at, now, OBJECT_INTERVAL, OBJECT_BURST) > now {
            return false;
        }
        if self.0.len() >= OBJECTS {
            self.0.retain(|_, full_at| *full_at > now);
        }
        if self.0.len() >= OBJECTS {
            // So many objects at once are held by the limit of all together.
            self.0.clear();
        }
        self.0.insert(note.object.uid.clone(), full_at + OBJECT_INTERVAL);
        true
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

    #[tokio::test(start_paused = true)]
    async fn an_object_has_a_burst_and_then_one_in_five_minutes() {
        let mut shares = Shares::default();
        tokio::time::advance(Duration::from_hours(10)).await;
        let start = Instant::now();
        let (chatty, quiet) = (note("chatty", "One", "text"), note("quiet", "One", "text"));
        let taken = |shares: &mut Shares, at: Duration| (0..100).filter(|_| shares.take(&chatty, start + at)).count();
        assert_eq!(taken(&mut shares, Duration::ZERO), 25);
        assert!(shares.take(&quiet, start));
        assert_eq!(taken(&mut shares, Duration::from_secs(299)), 0);
        assert_eq!(taken(&mut shares, Duration::from_mins(5)), 1);
        assert_eq!(taken(&mut shares, Duration::from_hours(9)), 25);
    }

    #[tokio::test(start_paused = true)]
    async fn the_shares_are_bounded() {
        let mut shares = Shares::default();
        for number in 0..=OBJECTS {
            shares.take(&note(&number.to_string(), "One", "text"), Instant::now());
        }
        assert!(shares.0.len() <= OBJECTS);
    }
}
