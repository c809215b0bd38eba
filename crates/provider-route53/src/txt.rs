//! TXT values as Route 53 writes them.
//!
//! In: the value of a resource record, such as `"a" "b\344"`. Out: its character strings, and back. What must hold: every
//! value survives the way there and back, and one that cannot be read is an error, never another value.
//!
//! Each string stands in quotes; a byte outside printable ASCII is `\` and three **octal** digits, a quote `\"`, a backslash
//! `\\`. See *TXT record type* in the developer guide of Route 53.

use std::fmt::Write as _;

/// Most bytes of one character string (RFC 1035 3.3).
const LONGEST: usize = 255;

/// Why a value in an answer is no TXT record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RouteTxtError {
    /// Something else than strings in quotes with blanks between them.
    #[error("TXT value {0:?} is not a list of strings in double quotes")]
    Quotes(String),
    /// A backslash with neither three octal digits up to `\377` nor a character that is no digit after it.
    #[error(
        "TXT value {0:?} has a bad escape; expected \\ and three octal digits up to \\377, or \\ and one character"
    )]
    Escape(String),
    /// A character string of more than 255 bytes.
    #[error("TXT value {0:?} has a string of more than 255 bytes")]
    Long(String),
}

/// Reads the character strings of a value.
///
/// # Errors
/// [`RouteTxtError`] says what is wrong with it.
pub fn read(value: &str) -> Result<Vec<Vec<u8>>, RouteTxtError> {
    let mut strings = Vec::new();
    let mut rest = value.trim_matches([' ', '\t']).as_bytes();
    while !rest.is_empty() {
        let inside = rest.strip_prefix(b"\"").ok_or_else(|| RouteTxtError::Quotes(value.to_owned()))?;
        let (string, after) = string(inside, value)?;
        if string.len() > LONGEST {
            return Err(RouteTxtError::Long(value.to_owned()));
        }
        strings.push(string);
        rest = after.trim_ascii_start();
    }
    if strings.is_empty() { Err(RouteTxtError::Quotes(value.to_owned())) } else { Ok(strings) }
}

/// Reads up to the closing quote; returns what follows it too.
fn string<'a>(inside: &'a [u8], value: &str) -> Result<(Vec<u8>, &'a [u8]), RouteTxtError> {
    let mut bytes = Vec::new();
    let mut rest = inside;
    loop {
        match rest {
            [b'"', after @ ..] => return Ok((bytes, after)),
            [b'\\', after @ ..] => {
                let (byte, after) = escaped(after).ok_or_else(|| RouteTxtError::Escape(value.to_owned()))?;
                bytes.push(byte);
                rest = after;
            }
            [byte, after @ ..] => {
                bytes.push(*byte);
                rest = after;
            }
            [] => return Err(RouteTxtError::Quotes(value.to_owned())),
        }
    }
}

/// The byte that an escape stands for, and what follows it.
fn escaped(text: &[u8]) -> Option<(u8, &[u8])> {
    match text {
        [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..] => {
            Some((((a - b'0') << 6) | ((b - b'0') << 3) | (c - b'0'), after))
        }
        [byte, after @ ..] if !byte.is_ascii_digit() => Some((*byte, after)),
        _ => None,
    }
}

/// Writes character strings as the value of a resource record.
pub fn write<'a>(strings: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut value = String::new();
    for string in strings {
        value.push_str(if value.is_empty() { "\"" } else { " \"" });
        for &byte in string {
            push(&mut value, byte);
        }
        value.push('"');
    }
    value
}

fn push(value: &mut String, byte: u8) {
    match byte {
        b'"' | b'\\' => value.extend(['\\', char::from(byte)]),
        b' '..=b'~' => value.push(char::from(byte)),
        _ => {
            // Writing into a string does not fail.
            let _ = write!(value, "\\{byte:03o}");
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(value: &str, strings: &[&[u8]]) {
        assert_eq!(read(value).unwrap(), strings);
        assert_eq!(write(strings.iter().copied()), value);
    }

    #[test]
    fn values_are_the_same_both_ways() {
        check(r#""v=spf1 -all""#, &[b"v=spf1 -all"]);
        check(r#""a" "b""#, &[b"a", b"b"]);
        check(r#""""#, &[b""]);
        check(r#""say \"hi\" \\ bye""#, &[br#"say "hi" \ bye"#]);
        check(r#""\344\000""#, &[&[0o344, 0]]);
    }

    #[test]
    fn blanks_between_strings_do_not_count() {
        assert_eq!(read(" \"a\"\t  \"b\" ").unwrap(), [b"a", b"b"]);
    }

    #[test]
    fn values_without_quotes_are_errors() {
        for value in ["", "a", r#""a"#, r#""a" b"#] {
            assert_eq!(read(value), Err(RouteTxtError::Quotes(value.to_owned())), "{value}");
        }
    }

    #[test]
    fn bad_escapes_are_errors() {
        for value in [r#""\400""#, r#""\08""#, r#""\0""#, r#""\"#] {
            assert_eq!(read(value), Err(RouteTxtError::Escape(value.to_owned())), "{value}");
        }
    }

    #[test]
    fn a_string_has_at_most_255_bytes() {
        assert!(read(&write([[b'a'; 255].as_slice()])).is_ok());
        assert!(matches!(read(&write([[b'a'; 256].as_slice()])), Err(RouteTxtError::Long(_))));
    }

    proptest! {
        #[test]
        fn any_value_survives(strings in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..256), 1..4)) {
            prop_assert_eq!(read(&write(strings.iter().map(Vec::as_slice))), Ok(strings));
        }
    }
}
