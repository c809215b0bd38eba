//! Answers as Go writes them, so that a caller cannot distinguish the two.
//!
//! In: what is to be said. Out: JSON with a line end, `null` for a list without elements, and `<`, `>`, `&` escaped.

use serde::Serialize;

use crate::wire::Endpoint;

/// A list of endpoints.
pub(super) fn list(endpoints: &[Endpoint]) -> Vec<u8> {
    if endpoints.is_empty() { b"null\n".to_vec() } else { json(&endpoints) }
}

/// Any other value.
pub(super) fn json(value: &impl Serialize) -> Vec<u8> {
    // Strings, numbers and lists of them: there is nothing that cannot be written.
    let plain = serde_json::to_string(value).unwrap_or_default();
    let mut out = String::with_capacity(plain.len() + 1);
    for c in plain.chars() {
        match c {
            // They stand in strings only, so the escape is always right.
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            other => out.push(other),
        }
    }
    out.push('\n');
    out.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_go_writes_it() {
        let text = |endpoints: &[Endpoint]| String::from_utf8(list(endpoints)).unwrap();
        assert_eq!(text(&[]), "null\n");
        let endpoint = Endpoint {
            name: "a.test".to_owned(),
            targets: vec!["<a> & \"b\" \u{2028}ü".to_owned()],
            rtype: "TXT".to_owned(),
            ..Endpoint::default()
        };
        let expected = "[{\"dnsName\":\"a.test\",\"targets\":[\"\\u003ca\\u003e \\u0026 \\\"b\\\" \\u2028ü\"],\"recordType\":\"TXT\"}]\n";
        assert_eq!(text(std::slice::from_ref(&endpoint)), expected);
        let read: Vec<Endpoint> = serde_json::from_slice(&list(std::slice::from_ref(&endpoint))).unwrap();
        assert_eq!(read, [endpoint]);
    }
}
