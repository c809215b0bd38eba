//! Few notes in the place of many.
//!
//! In come the notes of one moment, however many; out go, for each object and reason, the first [`FIRST`] and a count of the
//! others. What must hold: no object can fill the log, the queue of events or the memory, and it is always said how many notes
//! are left out.

use std::collections::BTreeMap;

use crate::endpoint::{Note, ObjectRef, Severity, shortened};

/// So many notes of one reason are kept for each object.
pub const FIRST: usize = 10;

/// Longest message of a note, in bytes; an event takes little more.
pub const LONGEST: usize = 1_000;

/// Notes that are being gathered.
///
/// ```
/// # use std::sync::Arc;
/// # use zonewright_core::endpoint::{Note, ObjectRef, TypeMeta, Uid};
/// # use zonewright_core::notes::Notes;
/// # let word = |text: &str| Arc::<str>::from(text);
/// # let object = ObjectRef { types: TypeMeta::new("v1", "Service"), namespace: word("a"), name: word("b"), uid: Uid::default() };
/// let mut notes = Notes::default();
/// for n in 0..1_000 {
///     notes.add(Note::warning(&object, "InvalidHostname", format!("name {n} is wrong")));
/// }
/// let notes = notes.into_vec();
/// assert_eq!(notes.len(), 11);
/// assert_eq!(notes[10].message, "990 more of this kind; only the first 10 are reported");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Notes {
    list: Vec<Note>,
    counts: BTreeMap<ObjectRef, BTreeMap<(&'static str, Severity), Count>>,
}

/// What came of one reason.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Count {
    /// Positions in the list.
    kept: Vec<usize>,
    /// How many are left out.
    more: usize,
}

impl Notes {
    /// Adds a note, if it is not among those that are kept already.
    pub fn add(&mut self, note: Note) {
        let Note { object, severity, reason, message } = note;
        self.add_with(&object, severity, reason, || message);
    }

    /// The same; the message is not even made where the note is only counted.
    pub fn add_with(
        &mut self,
        object: &ObjectRef,
        severity: Severity,
        reason: &'static str,
        message: impl FnOnce() -> String,
    ) {
        if !self.counts.contains_key(object) {
            self.counts.insert(object.clone(), BTreeMap::new());
        }
        let Some(reasons) = self.counts.get_mut(object) else { return };
        let count = reasons.entry((reason, severity)).or_default();
        if count.kept.len() >= FIRST {
            count.more += 1;
            return;
        }
        let message = message();
        let message = if message.len() > LONGEST { shortened(&message, LONGEST).into_owned() } else { message };
        let known = |at: &usize| self.list.get(*at).is_some_and(|note| note.message == message);
        if !count.kept.iter().any(known) {
            count.kept.push(self.list.len());
            self.list.push(Note { object: object.clone(), severity, reason, message });
        }
    }

    /// The notes in the order in which they came, then the counts of those that are left out.
    pub fn into_vec(self) -> Vec<Note> {
        let Self { mut list, counts } = self;
        for (object, reasons) in counts {
            for ((reason, severity), Count { more, .. }) in reasons {
                if more > 0 {
                    let message = format!("{more} more of this kind; only the first {FIRST} are reported");
                    list.push(Note { object: object.clone(), severity, reason, message });
                }
            }
        }
        list
    }
}

impl Extend<Note> for Notes {
    fn extend<I: IntoIterator<Item = Note>>(&mut self, notes: I) {
        notes.into_iter().for_each(|note| self.add(note));
    }
}

impl FromIterator<Note> for Notes {
    fn from_iter<I: IntoIterator<Item = Note>>(notes: I) -> Self {
        let mut all = Self::default();
        all.extend(notes);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::object;

    fn note(who: &str, reason: &'static str, message: &str) -> Note {
        Note::warning(&object("Service", who), reason, message)
    }

    #[test]
    fn each_object_and_reason_has_its_own_ten() {
        let many = (0..25).flat_map(|n| [note("a", "X", &n.to_string()), note("a", "Y", &(n / 2).to_string())]);
        let notes: Notes = many.chain([note("b", "X", "only")]).collect();
        let shown: Vec<String> =
            notes.into_vec().into_iter().map(|n| format!("{} {} {}", n.object.name, n.reason, n.message)).collect();
        let of = |start: &str| shown.iter().filter(|line| line.starts_with(start)).count();
        assert_eq!((of("a X"), of("a Y"), of("b X")), (11, 11, 1), "{shown:?}");
        assert!(shown.contains(&"a X 15 more of this kind; only the first 10 are reported".to_owned()), "{shown:?}");
        // The same thing is said once, as long as it is among the first.
        assert!(shown.contains(&"a Y 6 more of this kind; only the first 10 are reported".to_owned()), "{shown:?}");
    }

    #[test]
    fn what_is_only_counted_is_not_even_written() {
        let mut notes = Notes::default();
        let mut written = 0;
        for n in 0..1_000 {
            notes.add_with(&object("Service", "a"), Severity::Warning, "X", || {
                written += 1;
                n.to_string()
            });
        }
        assert_eq!((written, notes.into_vec().len()), (FIRST, FIRST + 1));
    }

    #[test]
    fn messages_are_cut() {
        let notes: Notes = [note("a", "X", &"x".repeat(300_000))].into_iter().collect();
        assert!(notes.into_vec().iter().all(|note| note.message.len() <= LONGEST));
    }
}
