//! The forms of values by record type: *Supported DNS record types* in the developer guide.
//!
//! Codes that clients have reported from the service are as reported (`ARRDATAIllegalIPv4Address`, `InvalidCharacterString`,
//! `CharacterStringTooLong`, the `Domain..` codes); the others follow their style.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::name::{canonical, octal};

/// The record types of the service.
#[rustfmt::skip]
pub(super) const KINDS: &[&str] = &[
    "SOA", "A", "TXT", "NS", "CNAME", "MX", "NAPTR", "PTR", "SRV", "SPF", "AAAA", "CAA", "DS", "TLSA", "SSHFP", "SVCB", "HTTPS",
];

/// Code and words of what is wrong.
type Problem = (String, &'static str);
type Checked = Result<(), Problem>;

/// Checks a value of a record type.
///
/// # Errors
/// What is wrong, in the words of the service.
pub(super) fn check(kind: &str, value: &str) -> Result<(), String> {
    form(kind, value).map_err(|(code, words)| {
        format!("Invalid Resource Record: 'FATAL problem: {code} ({words}) encountered with '{value}''")
    })
}

fn form(kind: &str, value: &str) -> Checked {
    let parts = || fields(value).ok_or_else(not_quoted);
    match kind {
        "A" => parse::<Ipv4Addr>(value, "ARRDATAIllegalIPv4Address", "Value is not a valid IPv4 address"),
        "AAAA" => parse::<Ipv6Addr>(value, "AAAARRDATAIllegalIPv6Address", "Value is not a valid IPv6 address"),
        "TXT" | "SPF" => strings(value),
        "CNAME" | "NS" | "PTR" => name(value),
        _ => match (kind, parts()?.as_slice()) {
            ("MX", [preference, target]) => number::<u16>(kind, preference).and_then(|()| name(target)),
            ("SRV", [numbers @ .., target]) if numbers.len() == 3 => {
                numbers.iter().try_for_each(|part| number::<u16>(kind, part))?;
                name(target)
            }
            ("CAA", [flags, tag, text]) => {
                number::<u8>(kind, flags)?;
                letters(kind, tag)?;
                strings(text)
            }
            ("NAPTR", [order, preference, flags, service, pattern, replacement]) => {
                number::<u16>(kind, order)?;
                number::<u16>(kind, preference)?;
                [flags, service, pattern].into_iter().try_for_each(|text| strings(text))?;
                if *replacement == "." { Ok(()) } else { name(replacement) }
            }
            ("DS", [tag, algorithm, digest_kind, digest]) => {
                number::<u16>(kind, tag)?;
                number::<u8>(kind, algorithm)?;
                number::<u8>(kind, digest_kind)?;
                hexadecimal(kind, digest)
            }
            ("TLSA", [usage, selector, matching, data]) => {
                [usage, selector, matching].into_iter().try_for_each(|part| number::<u8>(kind, part))?;
                hexadecimal(kind, data)
            }
            ("SSHFP", [algorithm, hash, data]) => {
                [algorithm, hash].into_iter().try_for_each(|part| number::<u8>(kind, part))?;
                hexadecimal(kind, data)
            }
            ("SVCB" | "HTTPS", [priority, target, parameters @ ..]) => service(kind, priority, target, parameters),
            ("SOA", [server, mailbox, numbers @ ..]) if numbers.len() == 5 => {
                name(server)?;
                name(mailbox)?;
                numbers.iter().try_for_each(|part| number::<u32>(kind, part))
            }
            _ => Err((format!("{kind}RRDATAWrongNumberOfFields"), "Value does not have the fields of its type")),
        },
    }
}

fn parse<T: std::str::FromStr>(value: &str, code: &str, words: &'static str) -> Checked {
    value.parse::<T>().map(|_| ()).map_err(|_| (code.to_owned(), words))
}

fn number<T: std::str::FromStr>(kind: &str, value: &str) -> Checked {
    parse::<T>(value, &format!("{kind}RRDATAIllegalNumber"), "Value is not a number in its range")
}

fn letters(kind: &str, value: &str) -> Checked {
    let sound = value.len() <= 255 && value.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if sound { Ok(()) } else { Err((format!("{kind}RRDATAIllegalTag"), "Value is not a valid tag")) }
}

fn hexadecimal(kind: &str, value: &str) -> Checked {
    let sound = value.len().is_multiple_of(2) && value.bytes().all(|byte| byte.is_ascii_hexdigit());
    if sound { Ok(()) } else { Err((format!("{kind}RRDATAIllegalHexadecimal"), "Value is not hexadecimal")) }
}

fn name(value: &str) -> Checked {
    // The words of a wrong name are those of names: only its code is taken over.
    canonical(value).map(|_| ()).map_err(|problem| {
        let code = problem.strip_prefix("FATAL problem: ").and_then(|rest| rest.split(' ').next());
        (code.unwrap_or_default().to_owned(), "Value is not a valid domain name")
    })
}

/// `alias` mode (priority 0) has no parameters; a target may be the owner itself (`.`).
fn service(kind: &str, priority: &str, target: &str, parameters: &[&str]) -> Checked {
    number::<u16>(kind, priority)?;
    if target != "." {
        name(target)?;
    }
    let mut keys: Vec<&str> = parameters.iter().map(|part| part.split('=').next().unwrap_or_default()).collect();
    let count = keys.len();
    keys.sort_unstable();
    keys.dedup();
    let known = |key: &&str| !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if keys.len() != count || !keys.iter().all(known) || (priority == "0" && count != 0) {
        return Err((format!("{kind}RRDATAIllegalParameter"), "Value has service parameters that do not fit"));
    }
    Ok(())
}

fn not_quoted() -> Problem {
    ("InvalidCharacterString".to_owned(), "Value should be enclosed in quotation marks")
}

/// The fields of a value, separated by blanks outside quotation marks; none where a mark stays open.
fn fields(value: &str) -> Option<Vec<&str>> {
    let (mut quoted, mut escaped, mut start) = (false, false, None);
    let mut fields = Vec::new();
    for (at, letter) in value.char_indices() {
        match letter {
            ' ' | '\t' if !quoted && !escaped => {
                fields.extend(start.take().and_then(|start| value.get(start..at)));
                continue;
            }
            '"' if !escaped => quoted = !quoted,
            _ => {}
        }
        escaped = letter == '\\' && !escaped;
        start.get_or_insert(at);
    }
    fields.extend(start.and_then(|start| value.get(start..)));
    (!quoted).then_some(fields)
}

/// One or more strings in quotation marks, each of at most 255 bytes.
fn strings(value: &str) -> Checked {
    let parts = fields(value).filter(|parts| !parts.is_empty()).ok_or_else(not_quoted)?;
    parts.iter().try_for_each(|part| string(part))
}

fn string(part: &str) -> Checked {
    let inner = part.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).ok_or_else(not_quoted)?;
    let unsupported = || ("UnsupportedCharacter".to_owned(), "Value contains unsupported characters");
    let mut rest = inner.bytes().peekable();
    let mut count = 0;
    while let Some(byte) = rest.next() {
        match byte {
            b'\\' if rest.peek().is_some_and(u8::is_ascii_digit) => {
                octal(&mut rest).ok_or_else(unsupported)?;
            }
            b'\\' => {
                rest.next().ok_or_else(not_quoted)?;
            }
            b'"' => return Err(not_quoted()),
            b' '..=b'~' => {}
            _ => return Err(unsupported()),
        }
        count += 1;
    }
    if count > 255 { Err(("CharacterStringTooLong".to_owned(), "Value is too long")) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_in_the_form_of_their_type_are_taken() {
        let longest = format!("\"{}\" \"{}\"", "a".repeat(255), "\\344".repeat(255));
        for (kind, value) in [
            ("A", "192.0.2.1"),
            ("AAAA", "2001:db8::1"),
            ("CNAME", "www.example.org"),
            ("CNAME", "*.example.org."),
            ("MX", "10 mail.example.org"),
            ("TXT", "\"a\" \"b c\""),
            ("TXT", "\"\""),
            ("TXT", "\"say \\\"hi\\\" \\\\\""),
            ("TXT", longest.as_str()),
            ("SPF", "\"v=spf1 -all\""),
            ("SRV", "1 10 5269 xmpp.example.org."),
            ("CAA", "0 issue \"ca.example.org; a=b\""),
            ("NAPTR", "100 50 \"u\" \"E2U+sip\" \"!^.*$!sip:a@b!\" ."),
            ("DS", "123 4 5 1234567890abcdef"),
            ("TLSA", "3 1 1 00aa"),
            ("SSHFP", "4 2 00AA"),
            ("HTTPS", "1 . alpn=\"h2,h3\" port=8443"),
            ("HTTPS", "0 svc.example.org"),
            ("SVCB", "16 svc.example.org. no-default-alpn"),
            ("SOA", "ns.example.org. host.example.org. 1 7200 900 1209600 86400"),
        ] {
            assert_eq!(check(kind, value), Ok(()), "{kind} {value}");
            assert!(KINDS.contains(&kind));
        }
    }

    #[test]
    fn other_values_are_refused() {
        let long = format!("\"{}\"", "a".repeat(256));
        for (kind, value, code) in [
            ("A", "192.0.2", "ARRDATAIllegalIPv4Address"),
            ("A", "2001:db8::1", "ARRDATAIllegalIPv4Address"),
            ("AAAA", "192.0.2.1", "AAAARRDATAIllegalIPv6Address"),
            ("CNAME", "a..org", "DomainLabelEmpty"),
            ("NS", "", "DomainNameEmpty"),
            ("PTR", "a b", "UnsupportedCharacter"),
            ("MX", "mail.example.org", "MXRRDATAWrongNumberOfFields"),
            ("MX", "65536 mail.example.org", "MXRRDATAIllegalNumber"),
            ("TXT", "plain", "InvalidCharacterString"),
            ("TXT", "", "InvalidCharacterString"),
            ("TXT", "\"open", "InvalidCharacterString"),
            ("TXT", "\"a\"b\"", "InvalidCharacterString"),
            ("TXT", "\"a\"\"b\"", "InvalidCharacterString"),
            ("TXT", "\"\u{e4}\"", "UnsupportedCharacter"),
            ("TXT", "\"\\999\"", "UnsupportedCharacter"),
            ("TXT", long.as_str(), "CharacterStringTooLong"),
            ("SRV", "1 2 host.example.org", "SRVRRDATAWrongNumberOfFields"),
            ("SRV", "1 2 x host.example.org", "SRVRRDATAIllegalNumber"),
            ("CAA", "0 is-sue \"x\"", "CAARRDATAIllegalTag"),
            ("CAA", "0 issue x", "InvalidCharacterString"),
            ("NAPTR", "1 2 u \"s\" \"p\" .", "InvalidCharacterString"),
            ("DS", "1 2 3 xyz", "DSRRDATAIllegalHexadecimal"),
            ("TLSA", "3 1 1 0", "TLSARRDATAIllegalHexadecimal"),
            ("SSHFP", "4 256 00", "SSHFPRRDATAIllegalNumber"),
            ("HTTPS", "0 svc.example.org alpn=h2", "HTTPSRRDATAIllegalParameter"),
            ("SVCB", "1 . port=1 port=2", "SVCBRRDATAIllegalParameter"),
            ("SOA", "ns.example.org. host.example.org. 1 2 3 4", "SOARRDATAWrongNumberOfFields"),
        ] {
            let problem = check(kind, value).unwrap_err();
            assert!(problem.contains(&format!("FATAL problem: {code} (")), "{kind} {value}: {problem}");
        }
    }
}
