//! Texts that somebody else wrote, up to a size: what is larger is refused, since a text that is cut says something else.

use std::io::{self, Read};

/// Reads a text of at most this many bytes.
///
/// # Errors
/// It is larger, it is not UTF-8, or it cannot be read.
pub(crate) fn text(source: impl Read, limit: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    source.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > limit) {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than {limit} bytes")));
    }
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_larger_is_refused_and_not_cut() {
        assert_eq!(text(&b"four"[..], 4).unwrap(), "four");
        let refused = |bytes: &[u8]| text(bytes, 4).unwrap_err().to_string();
        assert_eq!(refused(b"fives"), "it is larger than 4 bytes");
        // The limit falls into the middle of a character.
        assert_eq!(refused("for\u{e4}".as_bytes()), "it is larger than 4 bytes");
        assert!(refused(&[0xff]).contains("invalid utf-8"), "{}", refused(&[0xff]));
    }
}
