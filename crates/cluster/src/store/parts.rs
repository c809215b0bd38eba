//! A document that is too large for one object: cut into parts, and a pointer to them in its place.
//!
//! In: the document. Out: texts that fit an object each, and the pointer by which they become one again. What must hold: a
//! reader gets the document as it was written, or an error; never half of it. Parts are written under names that the present
//! pointer does not use, and only then the pointer; so the former document stands until the new one is whole.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Most bytes of text in one object. The API server takes 1 MiB in all.
pub(super) const MOST: usize = 900_000;

/// More parts than this are no document of ours (some 90 MB).
const MOST_PARTS: usize = 100;

/// What stands in the place of a document that is kept in parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pointer {
    /// Number of parts.
    pub(super) parts: usize,
    /// Which of the two rows of objects they are in: `a` or `b`.
    pub(super) row: char,
    /// SHA-256 over the whole document, in hexadecimal.
    pub(super) sha256: String,
}

impl Pointer {
    /// The pointer that a text is, if it is one.
    pub(super) fn read(text: &str) -> Option<Self> {
        let pointer: Self = serde_json::from_str(text).ok()?;
        (pointer.parts <= MOST_PARTS && matches!(pointer.row, 'a' | 'b')).then_some(pointer)
    }

    /// The pointer to `parts`, in the row that `former` does not use.
    pub(super) fn to(document: &str, parts: &[&str], former: Option<&Self>) -> Self {
        let row = if former.is_some_and(|former| former.row == 'a') { 'b' } else { 'a' };
        Self { parts: parts.len(), row, sha256: digest(document) }
    }

    /// Whether this is the document that it points to.
    pub(super) fn matches(&self, document: &str) -> bool {
        digest(document) == self.sha256
    }

    /// The names of its objects, for a state of this name.
    pub(super) fn names(&self, state: &str) -> Vec<String> {
        (0..self.parts).map(|part| format!("{state}-state-{}-{part}", self.row)).collect()
    }
}

/// The texts of at most so many bytes that a document consists of.
pub(super) fn cut(document: &str, most: usize) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = document;
    while !rest.is_empty() {
        let (part, left) = rest.split_at_checked(rest.floor_char_boundary(most)).unwrap_or((rest, ""));
        parts.push(part);
        rest = left;
    }
    parts
}

fn digest(text: &str) -> String {
    Sha256::digest(text).iter().fold(String::new(), |mut out, byte| {
        write!(out, "{byte:02x}").expect("writing to a string cannot fail");
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_cut_between_characters_and_joins_again() {
        let text = "ab\u{e4}".repeat(10);
        let parts = cut(&text, 7);
        assert!(parts.iter().all(|part| part.len() <= 7 && !part.is_empty()), "{parts:?}");
        assert_eq!(parts.concat(), text);
        assert_eq!(cut("", 7), Vec::<&str>::new());
        let pointer = Pointer::to(&text, &parts, None);
        assert!(pointer.matches(&parts.concat()) && !pointer.matches(parts.first().unwrap()));
    }

    #[test]
    fn the_rows_take_turns() {
        let first = Pointer::to("x", &["x"], None);
        let second = Pointer::to("y", &["y"], Some(&first));
        assert_eq!((first.row, second.row, Pointer::to("z", &["z"], Some(&second)).row), ('a', 'b', 'a'));
        assert_eq!(second.names("zonewright-me"), ["zonewright-me-state-b-0"]);
    }

    #[test]
    fn a_state_is_no_pointer() {
        assert_eq!(Pointer::read("{}"), None);
        assert_eq!(Pointer::read("{\"zones\":{}}"), None);
        let text = serde_json::to_string(&Pointer::to("x", &["x"], None)).unwrap();
        assert!(Pointer::read(&text).is_some());
        assert_eq!(Pointer::read(&text.replace("\"parts\":1", "\"parts\":1000000")), None);
    }
}
