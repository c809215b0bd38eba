//! The strings of a TXT record, in one piece of memory.

use std::cmp::Ordering;
use std::sync::Arc;

/// Longest string (RFC 1035 3.3).
const MAX: usize = 255;

/// The strings of a TXT record, in their order; there is at least one. Kept as on the wire: a zone has a text for each record that is
/// ours.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Txt(Arc<[u8]>);

impl Txt {
    /// Cuts `text` into strings of 255 octets; an empty text is one empty string.
    pub fn from_text(text: &str) -> Self {
        Self::from_octets(text.as_bytes())
    }

    /// As [`Txt::from_text`], for any octets.
    pub fn from_octets(octets: &[u8]) -> Self {
        Self::of([octets])
    }

    /// The strings as they are; a string of more than 255 octets is cut.
    pub fn from_strings(strings: impl IntoIterator<Item = Vec<u8>>) -> Self {
        Self::of(strings)
    }

    fn of(strings: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Self {
        let mut wire = Vec::new();
        for string in strings {
            let string = string.as_ref();
            if string.is_empty() {
                wire.push(0);
            }
            for piece in string.chunks(MAX) {
                wire.push(u8::try_from(piece.len()).unwrap_or(u8::MAX));
                wire.extend_from_slice(piece);
            }
        }
        if wire.is_empty() {
            wire.push(0);
        }
        Self(wire.into())
    }

    /// The strings in order.
    pub fn strings(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = &*self.0;
        std::iter::from_fn(move || {
            let (length, tail) = rest.split_first()?;
            let (string, tail) = tail.split_at_checked(usize::from(*length))?;
            rest = tail;
            Some(string)
        })
    }

    /// All strings joined, as readers of claims and SPF take them (RFC 7208 3.3).
    pub fn joined(&self) -> Vec<u8> {
        self.strings().fold(Vec::with_capacity(self.0.len()), |mut all, string| {
            all.extend_from_slice(string);
            all
        })
    }

    /// [`Txt::joined`] as text, if it is UTF-8.
    pub fn text(&self) -> Option<String> {
        String::from_utf8(self.joined()).ok()
    }
}

impl PartialOrd for Txt {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Txt {
    /// String by string.
    fn cmp(&self, other: &Self) -> Ordering {
        self.strings().cmp(other.strings())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_as_they_were_given() {
        let of = |strings: &[&[u8]]| Txt::from_strings(strings.iter().map(|string| string.to_vec()));
        let strings = |txt: &Txt| txt.strings().map(<[u8]>::to_vec).collect::<Vec<_>>();
        for given in [&[&b"a"[..], b"", b"bc"][..], &[b""], &[b"x"]] {
            assert_eq!(strings(&of(given)), given);
        }
        assert_eq!(strings(&of(&[])), [b""]);
        assert_eq!(Txt::from_text(""), of(&[b""]));
        let long = vec![b'x'; 600];
        assert_eq!(strings(&Txt::from_octets(&long)).iter().map(Vec::len).collect::<Vec<_>>(), [255, 255, 90]);
        assert_eq!(Txt::from_octets(&long).joined(), long);
        assert_ne!(of(&[b"ab"]), of(&[b"a", b"b"]));
    }

    #[test]
    fn texts_are_ordered_by_what_they_say() {
        let mut texts = ["b", "aaa", "", "ab"].map(Txt::from_text);
        texts.sort();
        assert_eq!(texts, ["", "aaa", "ab", "b"].map(Txt::from_text));
    }
}
