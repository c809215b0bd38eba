//! Several problems of one object in one event.
//!
//! In: notes of one moment. Out: one warning for each object, which numbers its problems. What must hold: no problem is lost
//! without saying how many are, and each keeps its end, which says why.

use std::collections::HashMap;

use zonewright_core::endpoint::{Note, ObjectRef, Severity, shortened};

use super::MAX_NOTE;

/// The reason of a note that several problems were gathered in.
const SEVERAL_PROBLEMS: &str = "SeveralProblems";

/// One warning for each object, in the order of the first: who has more than one problem gets all of them at once.
pub(super) fn gather(notes: Vec<Note>) -> Vec<Note> {
    let mut gathered: Vec<Vec<Note>> = Vec::with_capacity(notes.len());
    let mut places: HashMap<ObjectRef, usize> = HashMap::new();
    for note in notes {
        let end = gathered.len();
        let place = match note.severity {
            Severity::Warning => *places.entry(note.object.clone()).or_insert(end),
            Severity::Normal => end,
        };
        match gathered.get_mut(place) {
            Some(together) if together.contains(&note) => {}
            Some(together) => together.push(note),
            None => gathered.push(vec![note]),
        }
    }
    gathered.into_iter().filter_map(joined).collect()
}

/// Where several problems do not fit, each is shortened; none to less.
const LEAST: usize = 80;

/// What number and separator of a problem take.
const PLACE: usize = 8;

fn joined(mut notes: Vec<Note>) -> Option<Note> {
    if notes.len() < 2 {
        return notes.pop();
    }
    let whole: usize = notes.iter().map(|note| note.message.len() + PLACE).sum();
    let (share, shown) = match notes.len() {
        count if whole <= MAX_NOTE => (usize::MAX, count),
        count if count * (LEAST + PLACE) <= MAX_NOTE => (MAX_NOTE / count - PLACE, count),
        // The end says how many are left out.
        _ => (LEAST, (MAX_NOTE - 40) / (LEAST + PLACE)),
    };
    let text = |(at, note): (usize, &Note)| format!("({}) {}", at + 1, shortened(&note.message, share));
    let mut parts: Vec<String> = notes.iter().take(shown).enumerate().map(text).collect();
    if shown < notes.len() {
        parts.push(format!("and {} more, see the log", notes.len() - shown));
    }
    let message = parts.join("; ");
    let same = notes.iter().all(|note| notes.first().is_some_and(|first| first.reason == note.reason));
    let first = notes.into_iter().next()?;
    Some(Note { reason: if same { first.reason } else { SEVERAL_PROBLEMS }, message, ..first })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(who: &str, severity: Severity, reason: &'static str, message: &str) -> Note {
        let object = crate::events::post::tests::note(who, reason, message).object;
        Note { severity, reason, message: message.to_owned(), object }
    }

    #[test]
    fn one_note_for_each_object() {
        use Severity::{Normal, Warning};
        let notes = vec![
            note("a", Warning, "X", "one"),
            note("b", Warning, "X", "alone"),
            note("a", Warning, "Y", "two"),
            note("a", Normal, "Z", "by the way"),
            note("a", Normal, "Y", "and"),
            note("a", Warning, "X", "one"),
            note("c", Warning, "X", "p"),
            note("c", Warning, "X", "q"),
        ];
        let gathered: Vec<_> =
            gather(notes).into_iter().map(|n| (n.object.name.to_string(), n.reason, n.message)).collect();
        let expected = [
            ("a", SEVERAL_PROBLEMS, "(1) one; (2) two"),
            ("b", "X", "alone"),
            ("a", "Z", "by the way"),
            ("a", "Y", "and"),
            ("c", "X", "(1) p; (2) q"),
        ];
        assert_eq!(gathered, expected.map(|(who, reason, text)| (who.to_owned(), reason, text.to_owned())));
        assert_eq!(gather(Vec::new()), []);
    }

    #[test]
    fn what_is_too_long_is_shortened_and_no_problem_lost() {
        let problem =
            |n: usize| note("a", Severity::Warning, "X", &format!("problem {n}: {} is wrong", "x".repeat(300)));
        let gathered = gather((1..=9).map(problem).collect()).remove(0).message;
        assert!(gathered.len() <= MAX_NOTE, "{}", gathered.len());
        for n in 1..=9 {
            assert!(gathered.contains(&format!("({n}) problem {n}: x")), "{gathered}");
        }
        assert_eq!(gathered.matches("x is wrong").count(), 9);
        let gathered = gather((1..=60).map(problem).collect()).remove(0).message;
        assert!(gathered.len() <= MAX_NOTE && gathered.contains("(11) problem 11: x"), "{gathered}");
        assert!(gathered.ends_with("; and 49 more, see the log"), "{gathered}");
    }
}
