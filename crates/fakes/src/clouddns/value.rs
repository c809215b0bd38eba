//! The values of record sets: what is accepted, and the form in which the service keeps them.

use std::net::{Ipv4Addr, Ipv6Addr};

/// The types that the service has, of those that clients write. Others are refused.
const KINDS: &[&str] = &[
    "A", "AAAA", "ALIAS", "CAA", "CNAME", "DNSKEY", "DS", "HTTPS", "IPSECKEY", "MX", "NAPTR", "NS", "PTR", "SOA",
    "SPF", "SRV", "SSHFP", "SVCB", "TLSA", "TXT",
];

/// The types whose sets may have a routing policy.
const ROUTED: &[&str] = &["A", "AAAA", "CNAME", "MX", "SRV", "TXT"];

/// Most bytes of one string of a text (RFC 1035 3.3.14).
const STRING: usize = 255;

pub(super) fn is_kind(kind: &str) -> bool {
    KINDS.contains(&kind)
}

pub(super) fn is_routed(kind: &str) -> bool {
    ROUTED.contains(&kind)
}

/// A name as it is kept: in lower case, with a final dot. `None` for what is no name: without the dot, with an empty or a long label,
/// with the label `*` elsewhere than first.
pub(super) fn name(text: &str) -> Option<String> {
    let bare = text.strip_suffix('.')?;
    let label = |(at, label): (usize, &str)| {
        let letters = label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_*".contains(&byte));
        (1..=63).contains(&label.len()) && letters && (at == 0 || label != "*")
    };
    (bare.len() <= 253 && bare.split('.').enumerate().all(label)).then(|| text.to_ascii_lowercase())
}

/// The host of a value, absolute; the root where a type has one.
fn host(text: &str) -> Option<String> {
    if text == "." { Some(".".to_owned()) } else { name(text) }
}

fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// A value as it is kept, or none if it is none of this type.
pub(super) fn value(kind: &str, text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    match (kind, words.as_slice()) {
        ("A", [address]) => address.parse::<Ipv4Addr>().ok().map(|address| address.to_string()),
        ("AAAA", [address]) => address.parse::<Ipv6Addr>().ok().map(|address| address.to_string()),
        ("CNAME" | "NS" | "PTR" | "ALIAS", [target]) => host(target),
        ("MX", [preference, target]) => {
            number::<u16>(preference)?;
            Some(format!("{preference} {}", host(target)?))
        }
        ("SRV", [priority, weight, port, target]) => {
            [priority, weight, port].into_iter().try_for_each(|part| number::<u16>(part).map(drop))?;
            Some(format!("{priority} {weight} {port} {}", host(target)?))
        }
        ("TXT" | "SPF", [_, ..]) => {
            let strings = strings(text)?;
            Some(strings.iter().map(|string| format!("\"{string}\"")).collect::<Vec<_>>().join(" "))
        }
        ("CAA", [flags, tag, ..]) => {
            number::<u8>(flags)?;
            let rest = text.trim_start().get(flags.len()..)?.trim_start().get(tag.len()..)?;
            let [value] = strings(rest)?.try_into().ok()?;
            Some(format!("{flags} {tag} \"{value}\""))
        }
        ("NAPTR", [order, preference, ..]) => {
            [order, preference].into_iter().try_for_each(|part| number::<u16>(part).map(drop))?;
            host(words.last()?).map(|_| words.join(" "))
        }
        ("HTTPS" | "SVCB", [priority, target, ..]) => {
            number::<u16>(priority)?;
            host(target).map(|_| words.join(" "))
        }
        ("SOA", [_, _, _, _, _, _, _]) | ("DS" | "TLSA" | "SSHFP" | "DNSKEY" | "IPSECKEY", [_, _, _, ..]) => {
            Some(words.join(" "))
        }
        _ => None,
    }
}

/// The strings of a text: in quotation marks, or words. `None` if a mark is left open or a string is too long.
fn strings(text: &str) -> Option<Vec<String>> {
    let mut strings = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (string, after) = if let Some(quoted) = rest.strip_prefix('"') {
            let end = end_of(quoted)?;
            (quoted.get(..end)?, quoted.get(end + 1..)?)
        } else {
            let end = rest.find(|letter: char| letter.is_ascii_whitespace() || letter == '"').unwrap_or(rest.len());
            rest.split_at_checked(end)?
        };
        let escapes = string.matches('\\').count();
        if string.len() - escapes.min(string.len()) > STRING {
            return None;
        }
        strings.push(string.to_owned());
        rest = after.trim_start();
    }
    Some(strings)
}

/// Where the mark is that ends a string.
fn end_of(quoted: &str) -> Option<usize> {
    let mut escaped = false;
    quoted.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_absolute() {
        assert_eq!(name("WWW.example.org.").as_deref(), Some("www.example.org."));
        for wildcard in ["*.example.org.", "a-*.example.org."] {
            assert_eq!(name(wildcard).as_deref(), Some(wildcard));
        }
        for wrong in
            ["www.example.org", "", ".", "a..org.", "a.*.org.", "a b.org.", &format!("{}.org.", "a".repeat(64))]
        {
            assert_eq!(name(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn values_have_their_form() {
        for (kind, text, kept) in [
            ("A", "192.0.2.1", Some("192.0.2.1")),
            ("A", "192.0.2", None),
            ("AAAA", "2001:DB8::0", Some("2001:db8::")),
            ("CNAME", "Web.example.org.", Some("web.example.org.")),
            ("CNAME", "web", None),
            ("MX", "10 mail.example.org.", Some("10 mail.example.org.")),
            ("MX", "mail.example.org.", None),
            ("MX", "0 .", Some("0 .")),
            ("SRV", "1 2 80 web.example.org.", Some("1 2 80 web.example.org.")),
            ("SRV", "1 2 99999 web.example.org.", None),
            ("TXT", "\"a b\" \"c\"", Some("\"a b\" \"c\"")),
            ("TXT", "a b", Some("\"a\" \"b\"")),
            ("TXT", "\"a", None),
            ("TXT", "\"a \\\" b\"", Some("\"a \\\" b\"")),
            ("CAA", "0 issue \"ca.org\"", Some("0 issue \"ca.org\"")),
            ("CAA", "0 issue", None),
            ("NAPTR", "1 2 \"S\" \"SIP\" \"\" .", Some("1 2 \"S\" \"SIP\" \"\" .")),
            ("HTTPS", "1 . alpn=h2", Some("1 . alpn=h2")),
            ("DS", "1 2", None),
            ("URI", "1 2 \"x\"", None),
        ] {
            assert_eq!(value(kind, text).as_deref(), kept, "{kind} {text}");
        }
        assert!(value("TXT", &format!("\"{}\"", "a".repeat(255))).is_some());
        assert!(value("TXT", &format!("\"{}\"", "a".repeat(256))).is_none());
    }
}
