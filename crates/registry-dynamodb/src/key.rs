//! What a row is called: `NAME#TYPE#SET`, always with two `#`, as external-dns writes it.
//!
//! In: the key of a record set, and out its text; and back, for whatever stands in the table. What must hold: a text that
//! is made here is read back as the same key.

use zonewright_core::record::SetId;
use zonewright_core::{DnsName, RecordKey, RecordType};

/// The longest hash key that the service takes, in bytes.
const LIMIT: usize = 2048;

/// The key of the row of a record set.
///
/// # Errors
/// Why there can be none: external-dns would read the key as that of another record, or it is too long.
pub(crate) fn text(key: &RecordKey) -> Result<String, String> {
    let text = format!("{}#{}#{}", key.name, key.rtype, key.set_id.as_ref().map_or("", SetId::as_str));
    if key.name.as_str().contains('#') {
        return Err(format!("{key} can have no row: its name holds a '#', which separates name and type in the table"));
    }
    if text.len() > LIMIT {
        return Err(format!("{key} can have no row: its key has {} bytes, and {LIMIT} is the limit", text.len()));
    }
    Ok(text)
}

/// The record set that a row is about.
///
/// # Errors
/// What is wrong with the text.
pub(crate) fn parse(text: &str) -> Result<RecordKey, String> {
    let mut parts = text.splitn(3, '#');
    let (Some(name), Some(rtype), Some(set_id)) = (parts.next(), parts.next(), parts.next()) else {
        return Err("expected NAME#TYPE#SET".to_owned());
    };
    let name = DnsName::parse(name).map_err(|problem| format!("{name:?} is no name: {problem}"))?;
    let rtype: RecordType = rtype.parse().map_err(|_| format!("{rtype:?} is no record type"))?;
    Ok(RecordKey { name, rtype, set_id: SetId::new(set_id) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str, rtype: RecordType, set_id: &str) -> RecordKey {
        RecordKey { name: DnsName::parse(name).unwrap(), rtype, set_id: SetId::new(set_id) }
    }

    #[test]
    fn keys_are_those_of_external_dns_and_are_read_back() {
        for (record, expected) in [
            (key("nginx.example.com", RecordType::A, ""), "nginx.example.com#A#"),
            (key("*.example.com", RecordType::Aaaa, ""), "*.example.com#AAAA#"),
            (key("_sip._tcp.example.com", RecordType::Srv, "eu"), "_sip._tcp.example.com#SRV#eu"),
            (key("a.example.com", RecordType::Cname, "with # in it"), "a.example.com#CNAME#with # in it"),
        ] {
            assert_eq!(text(&record).as_deref(), Ok(expected));
            assert_eq!(parse(expected), Ok(record));
        }
        assert_eq!(parse("NGINX.Example.com.#a#"), Ok(key("nginx.example.com", RecordType::A, "")));
    }

    #[test]
    fn what_is_no_key_is_reported() {
        for (row, problem) in [
            ("", "expected NAME#TYPE#SET"),
            ("a.example.com", "expected NAME#TYPE#SET"),
            ("a.example.com#A", "expected NAME#TYPE#SET"),
            ("a..example.com#A#", "is no name"),
            ("#A#", "is no name"),
            ("a.example.com#?!#", "is no record type"),
        ] {
            let error = parse(row).unwrap_err();
            assert!(error.contains(problem), "{row:?}: {error}");
        }
    }

    #[test]
    fn names_that_cannot_stand_in_a_key_are_refused() {
        assert!(text(&key("a#b.example.com", RecordType::A, "")).unwrap_err().contains("'#'"));
        assert!(text(&key("a.example.com", RecordType::A, &"x".repeat(2048))).unwrap_err().contains("2048"));
    }
}
