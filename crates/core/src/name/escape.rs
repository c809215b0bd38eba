//! Labels between bytes and text: escapes, as in master files (RFC 1035 5.1).

use std::fmt::Write as _;

use super::{MAX_LABEL, MAX_WIRE, NameError};

/// Adds one byte of a label in its text form.
pub(super) fn push_octet(text: &mut String, octet: u8) {
    match octet {
        b'.' | b'\\' | b'"' | b';' | b'(' | b')' | b'@' | b'$' => {
            text.push('\\');
            text.push(char::from(octet));
        }
        0x21..=0x7e => text.push(char::from(octet)),
        _ => {
            // Writing into a string cannot fail.
            let _ = write!(text, "\\{octet:03}");
        }
    }
}

/// Whether a text is the text form of a name as it stands: labels of lower-case letters, digits and signs that are never
/// escaped, within the lengths. Nearly every name is; the others are taken apart.
pub(super) fn is_plain(text: &str) -> bool {
    let sign = |b: u8| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'*' | b'/');
    let label = |label: &[u8]| (1..=MAX_LABEL).contains(&label.len()) && label.iter().all(|b| sign(*b));
    text.len() + 2 <= MAX_WIRE && text.as_bytes().split(|b| *b == b'.').all(label)
}

/// Index of the first unescaped dot, or the length.
pub(super) fn label_end(text: &str) -> usize {
    let mut escaped = false;
    for (i, b) in text.bytes().enumerate() {
        match b {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'.' => return i,
            _ => {}
        }
    }
    text.len()
}

/// The bytes of a label; `None` where an escape is none.
pub(super) fn unescape(label: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(label.len());
    let mut bytes = label.bytes();
    while let Some(b) = bytes.next() {
        if b != b'\\' {
            out.push(b);
            continue;
        }
        let first = bytes.next()?;
        if !first.is_ascii_digit() {
            out.push(first);
            continue;
        }
        let mut value = u32::from(first - b'0');
        for _ in 0..2 {
            let digit = bytes.next().filter(u8::is_ascii_digit)?;
            value = value * 10 + u32::from(digit - b'0');
        }
        out.push(u8::try_from(value).ok()?);
    }
    Some(out)
}

/// The labels of a name.
pub(super) fn split_labels(text: &str) -> Result<Vec<Vec<u8>>, NameError> {
    let mut labels = Vec::new();
    let mut rest = text;
    loop {
        let end = label_end(rest);
        let label = unescape(&rest[..end]).ok_or_else(|| NameError::Escape(text.to_owned()))?;
        labels.push(label);
        match rest.get(end + 1..) {
            // One final dot closes the name.
            Some("") | None => return Ok(labels),
            Some(tail) => rest = tail,
        }
    }
}
