//! Names as Route 53 writes them.
//!
//! In: a name in an answer, such as `\052.example.org.`. Out: a [`DnsName`], and back. What must hold: every name survives the
//! way there and back, and a name whose escapes cannot be read is an error, never another name.
//!
//! Route 53 escapes each byte but `a-z`, `0-9`, `-`, `_` as `\` and three **octal** digits, where master files have decimal
//! ones; so `*` comes as `\052`. See *DNS domain name format* in the developer guide of Route 53.

use std::fmt::Write as _;

use zonewright_core::name::{DnsName, NameError};

/// Why a text in an answer is no name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RouteNameError {
    /// A backslash without three octal digits up to `\377`.
    #[error("name {0:?} has a bad escape; expected \\ and three octal digits up to \\377")]
    Escape(String),
    /// Two dots in a row, a dot at the start, or nothing at all.
    #[error("name {0:?} is empty or has an empty label")]
    EmptyLabel(String),
    /// The unescaped name breaks a rule of all names.
    #[error(transparent)]
    Name(#[from] NameError),
}

/// Reads a name of an answer, with or without its final dot.
///
/// # Errors
/// [`RouteNameError`] says what is wrong with it.
pub fn read(text: &str) -> Result<DnsName, RouteNameError> {
    if text == "." {
        return Ok(DnsName::root());
    }
    let labels = text
        .strip_suffix('.')
        .unwrap_or(text)
        .split('.')
        .map(|label| unescape(label).ok_or_else(|| RouteNameError::Escape(text.to_owned())))
        .collect::<Result<Vec<_>, _>>()?;
    if labels.iter().any(Vec::is_empty) {
        return Err(RouteNameError::EmptyLabel(text.to_owned()));
    }
    Ok(DnsName::from_raw_labels(labels.iter().map(Vec::as_slice))?)
}

/// Writes a name as an answer has it: escaped, with a final dot.
pub fn write(name: &DnsName) -> String {
    if name.is_root() {
        return ".".to_owned();
    }
    let mut text = String::new();
    for label in name.raw_labels() {
        for byte in label {
            push(&mut text, byte);
        }
        text.push('.');
    }
    text
}

fn push(text: &mut String, byte: u8) {
    if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_') {
        text.push(char::from(byte));
    } else {
        // Writing into a string does not fail.
        let _ = write!(text, "\\{byte:03o}");
    }
}

/// The bytes of a label; nothing if one of its escapes is no octal one.
fn unescape(label: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(label.len());
    let mut rest = label.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(if byte == b'\\' { octal(&mut rest)? } else { byte });
    }
    Some(bytes)
}

fn octal(digits: &mut impl Iterator<Item = u8>) -> Option<u8> {
    let mut value = 0_u8;
    for _ in 0..3 {
        let digit = digits.next().filter(|digit| (b'0'..=b'7').contains(digit))?;
        value = value.checked_mul(8)?.checked_add(digit - b'0')?;
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(theirs: &str, ours: &str) {
        let name = read(theirs).unwrap();
        assert_eq!(name.as_str(), ours);
        assert_eq!(write(&name), theirs);
    }

    #[test]
    fn names_are_the_same_both_ways() {
        check("www.example.org.", "www.example.org");
        check("\\052.example.org.", "*.example.org");
        check("_sip._tcp.example.org.", "_sip._tcp.example.org");
        check(".", ".");
    }

    #[test]
    fn escapes_are_octal() {
        assert_eq!(read("a\\057b.example.org.").unwrap().raw_labels().next().unwrap(), b"a/b");
        assert_eq!(read("\\377.example.org").unwrap().raw_labels().next().unwrap(), [0o377]);
    }

    #[test]
    fn an_escaped_dot_ends_no_label() {
        let name = read("a\\056b.example.org.").unwrap();
        assert_eq!(name.label_count(), 3);
        assert_eq!(write(&name), "a\\056b.example.org.");
    }

    #[test]
    fn the_star_is_also_read_plain() {
        assert_eq!(read("*.example.org").unwrap(), read("\\052.example.org.").unwrap());
    }

    #[test]
    fn bad_escapes_are_errors() {
        for text in ["\\05.example.org.", "\\058.org.", "\\400.org.", "a\\", "\\a.org."] {
            assert_eq!(read(text), Err(RouteNameError::Escape(text.to_owned())), "{text}");
        }
    }

    #[test]
    fn empty_labels_are_errors() {
        for text in ["", "a..org.", ".org."] {
            assert_eq!(read(text), Err(RouteNameError::EmptyLabel(text.to_owned())), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_name_survives(labels in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..20), 1..6)) {
            let name = DnsName::from_raw_labels(labels.iter().map(Vec::as_slice)).unwrap();
            prop_assert_eq!(read(&write(&name)), Ok(name));
        }
    }
}
