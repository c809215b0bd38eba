//! Names as the service takes and stores them: *DNS record types* and *Create DNS records* in its documentation.

/// The form in which a zone keeps the name of a record: lower case, without a final dot, and with the zone's name at its end.
/// `@` is the zone itself; whatever does not end with the zone's name is taken as relative to it.
///
/// None if that is no name.
pub(super) fn complete(text: &str, zone: &str) -> Option<String> {
    let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
    let whole = match name.as_str() {
        "@" => zone.to_owned(),
        name if within(name, zone) => name.to_owned(),
        name => format!("{name}.{zone}"),
    };
    (whole.len() <= 253 && whole.split('.').all(is_owner_label)).then_some(whole)
}

/// Whether a name is the zone's or lies under it.
pub(super) fn within(name: &str, zone: &str) -> bool {
    name.strip_suffix(zone).is_some_and(|before| before.is_empty() || before.ends_with('.'))
}

/// A host name in the content of a record: lower case and without a final dot. None if it is no host name, or an address.
pub(super) fn host(text: &str) -> Option<String> {
    let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
    let last = name.rsplit('.').next().unwrap_or_default();
    let numeric = last.bytes().all(|byte| byte.is_ascii_digit());
    (name.len() <= 253 && !numeric && name.split('.').all(is_label)).then_some(name)
}

/// The same, or a dot alone.
pub(super) fn host_or_root(text: &str) -> Option<String> {
    if text == "." { Some(text.to_owned()) } else { host(text) }
}

/// The names of records have more than host names: *DNS record types* says that any byte may stand there, and a star that is no
/// label of its own is taken with a warning.
fn is_owner_label(label: &str) -> bool {
    (1..=63).contains(&label.len())
        && label.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\'))
}

fn is_label(label: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=63).contains(&label.len()) && label.bytes().all(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_completed() {
        for (text, expected) in [
            ("www", Some("www.a.org")),
            ("WWW.A.org.", Some("www.a.org")),
            ("@", Some("a.org")),
            ("a.org", Some("a.org")),
            ("*.x", Some("*.x.a.org")),
            ("*", Some("*.a.org")),
            ("www.b.org", Some("www.b.org.a.org")),
            ("ba.org", Some("ba.org.a.org")),
            ("_dmarc", Some("_dmarc.a.org")),
            ("", None),
            ("a..b", None),
            ("x.*", Some("x.*.a.org")),
            ("a-*", Some("a-*.a.org")),
            ("a b", None),
            ("é", None),
        ] {
            assert_eq!(complete(text, "a.org").as_deref(), expected, "{text}");
        }
        assert_eq!(complete(&"a".repeat(64), "a.org"), None);
        assert_eq!(complete(&vec!["a".repeat(63); 4].join("."), "a.org"), None);
    }

    #[test]
    fn hosts_are_no_addresses() {
        assert_eq!(host("Mail.B.org.").as_deref(), Some("mail.b.org"));
        for text in ["192.0.2.1", "2001:db8::1", "https://a.org", "", ".", "a..b"] {
            assert_eq!(host(text), None, "{text}");
        }
        assert_eq!(host_or_root(".").as_deref(), Some("."));
    }
}
