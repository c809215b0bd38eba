//! The presentation form of record data (RFC 1035 5.1, RFC 3597 5), in and out.

use std::fmt::{self, Write as _};
use std::str::FromStr;
use std::sync::Arc;

use super::{Caa, Content, Naptr, Opaque, RData, RDataError, Svcb, Txt};
use crate::name::DnsName;
use crate::rtype::RecordType;

impl RData {
    /// Parses the presentation form. Names may end with a dot or not: they are absolute either way.
    ///
    /// TXT takes quoted strings, unquoted words, or (an annotation's value) a bare text with blanks and no quotes, which
    /// is one string. Types without a variant take the form of RFC 3597 or keep the text as it is.
    ///
    /// # Errors
    /// [`RDataError`] says what was expected.
    pub fn parse(rtype: RecordType, text: &str) -> Result<Self, RDataError> {
        let mut fields = Fields { rtype, text, words: Vec::new().into_iter() };
        match rtype {
            RecordType::Txt if !text.starts_with("\\#") => {
                return parse_txt(text).map(RData::Txt).ok_or_else(|| fields.expected(TXT));
            }
            _ => {}
        }
        if let Some(octets) = generic(text) {
            return RData::from_wire(rtype, &octets);
        }
        match rtype {
            RecordType::Txt => return Ok(RData::Txt(Txt::from_text(text))),
            RecordType::Other(_) | RecordType::Named(_) | RecordType::Soa => {
                return Ok(RData::Other(Box::new(Opaque { rtype, content: Content::Text(text.to_owned()) })));
            }
            _ => {}
        }
        let words = words(text).ok_or_else(|| fields.expected("balanced quotes and escapes"))?;
        fields.words = words.into_iter();
        let data = match rtype {
            RecordType::A => RData::A(fields.parsed("an IPv4 address such as 192.0.2.1")?),
            RecordType::Aaaa => RData::Aaaa(fields.parsed("an IPv6 address such as 2001:db8::1")?),
            RecordType::Cname => RData::Cname(fields.name("a host name")?),
            RecordType::Dname => RData::Dname(fields.name("a domain name")?),
            RecordType::Ns => RData::Ns(fields.name("a host name")?),
            RecordType::Ptr => RData::Ptr(fields.name("a host name")?),
            RecordType::Mx => RData::Mx { preference: fields.parsed(MX)?, exchange: fields.name(MX)? },
            RecordType::Srv => RData::Srv {
                priority: fields.parsed(SRV)?,
                weight: fields.parsed(SRV)?,
                port: fields.parsed(SRV)?,
                target: fields.name(SRV)?,
            },
            RecordType::Caa => parse_caa(&mut fields)?,
            RecordType::Naptr => RData::Naptr(Box::new(Naptr {
                order: fields.parsed(NAPTR)?,
                preference: fields.parsed(NAPTR)?,
                flags: fields.string(NAPTR)?,
                services: fields.string(NAPTR)?,
                regexp: fields.string(NAPTR)?,
                replacement: fields.name(NAPTR)?,
            })),
            RecordType::Svcb => RData::Svcb(Box::new(parse_svcb(&mut fields)?)),
            RecordType::Https => RData::Https(Box::new(parse_svcb(&mut fields)?)),
            RecordType::Txt | RecordType::Soa | RecordType::Other(_) | RecordType::Named(_) => {
                return Err(fields.expected("another type"));
            }
        };
        fields.end()?;
        Ok(data)
    }
}

const TXT: &str = "strings of at most 255 octets each, quoted if they hold blanks";
const MX: &str = "a preference and a host, such as `10 mail.example.com`";
const SRV: &str = "priority, weight, port and host, such as `0 50 443 www.example.com`";
const CAA: &str = "flags, tag and value, such as `0 issue \"ca.example.net\"`";
const NAPTR: &str = "order, preference, flags, services, expression and replacement, such as `100 10 \"u\" \"E2U+sip\" \"!^.*$!sip:a@example.com!\" .`";
const SVCB: &str = "priority, target and parameters, such as `1 . alpn=h2,h3`";

/// One word of the text: its octets, and the text as written (for names, which keep their escapes).
struct Word {
    octets: Vec<u8>,
    raw: String,
}

struct Fields<'a> {
    rtype: RecordType,
    text: &'a str,
    words: std::vec::IntoIter<Word>,
}

impl Fields<'_> {
    fn expected(&self, expected: &'static str) -> RDataError {
        RDataError::Text { rtype: self.rtype, text: self.text.to_owned(), expected }
    }

    fn word(&mut self, expected: &'static str) -> Result<Word, RDataError> {
        self.words.next().ok_or_else(|| self.expected(expected))
    }

    fn parsed<T: FromStr>(&mut self, expected: &'static str) -> Result<T, RDataError> {
        let word = self.word(expected)?;
        // Rust reads `+1` as a number; master files do not.
        let plain = Some(word.raw).filter(|raw| !raw.starts_with('+'));
        plain.and_then(|raw| raw.parse().ok()).ok_or_else(|| self.expected(expected))
    }

    fn name(&mut self, expected: &'static str) -> Result<DnsName, RDataError> {
        let word = self.word(expected)?;
        DnsName::parse(&word.raw).map_err(|source| RDataError::Name {
            rtype: self.rtype,
            text: self.text.to_owned(),
            source,
        })
    }

    fn string(&mut self, expected: &'static str) -> Result<Vec<u8>, RDataError> {
        let word = self.word(expected)?;
        if word.octets.len() > 255 { Err(self.expected(expected)) } else { Ok(word.octets) }
    }

    fn end(&mut self) -> Result<(), RDataError> {
        match self.words.next() {
            None => Ok(()),
            Some(_) => Err(self.expected("nothing after the last field")),
        }
    }
}

/// Splits at blanks; quotes join, `\DDD` and `\c` are resolved in `octets` and kept in `raw`.
fn words(text: &str) -> Option<Vec<Word>> {
    let mut out = Vec::new();
    let mut chars = text.chars().peekable();
    loop {
        while chars.next_if(char::is_ascii_whitespace).is_some() {}
        if chars.peek().is_none() {
            return Some(out);
        }
        let mut word = Word { octets: Vec::new(), raw: String::new() };
        let mut quoted = false;
        while let Some(&c) = chars.peek() {
            if !quoted && c.is_ascii_whitespace() {
                break;
            }
            chars.next();
            match c {
                '"' => quoted = !quoted,
                '\\' => escape(&mut chars, &mut word)?,
                _ => {
                    word.raw.push(c);
                    word.octets.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                }
            }
        }
        if quoted {
            return None;
        }
        out.push(word);
    }
}

/// Takes what follows a backslash: `DDD`, or a character that stands for itself.
fn escape(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, word: &mut Word) -> Option<()> {
    let first = chars.next()?;
    word.raw.push('\\');
    word.raw.push(first);
    if !first.is_ascii_digit() {
        word.octets.extend_from_slice(first.encode_utf8(&mut [0; 4]).as_bytes());
        return Some(());
    }
    let mut value = first.to_digit(10)?;
    for _ in 0..2 {
        let c = chars.next()?;
        word.raw.push(c);
        value = value * 10 + c.to_digit(10)?;
    }
    word.octets.push(u8::try_from(value).ok()?);
    Some(())
}

/// A text that does not begin with a quote is one value as it stands; only the quoted form has strings and escapes.
fn parse_txt(text: &str) -> Option<Txt> {
    if !text.trim_start().starts_with('"') {
        return Some(Txt::from_text(text));
    }
    let words = words(text)?;
    if words.iter().any(|w| w.octets.len() > 255) && words.len() > 1 {
        return None;
    }
    // One quoted text of any length is a value that nobody has cut yet.
    Some(Txt::from_strings(words.into_iter().map(|w| w.octets)))
}

/// The octets of the generic form `\\# LENGTH HEX...` (RFC 3597 5).
fn generic(text: &str) -> Option<Vec<u8>> {
    let mut parts = text.strip_prefix("\\#")?.split_ascii_whitespace();
    let length: usize = parts.next()?.parse().ok()?;
    let hex: Vec<u8> = parts.flat_map(str::bytes).collect();
    let digit = |b: u8| char::from(b).to_digit(16).and_then(|d| u8::try_from(d).ok());
    let octets = hex
        .chunks(2)
        .map(|pair| match pair {
            [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
            _ => None,
        })
        .collect::<Option<Vec<u8>>>()?;
    (octets.len() == length).then_some(octets)
}

fn parse_caa(fields: &mut Fields<'_>) -> Result<RData, RDataError> {
    let flags = fields.parsed(CAA)?;
    let tag = fields.word(CAA)?.raw.to_ascii_lowercase();
    if tag.is_empty() || tag.len() > 255 || !tag.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return Err(fields.expected(CAA));
    }
    let value = fields.word(CAA)?.octets;
    Ok(RData::Caa(Box::new(Caa { flags, tag: Arc::from(tag), value: Arc::from(value) })))
}

fn parse_svcb(fields: &mut Fields<'_>) -> Result<Svcb, RDataError> {
    let priority = fields.parsed(SVCB)?;
    let target = fields.name(SVCB)?;
    let params: Vec<(String, Vec<u8>)> = fields
        .words
        .by_ref()
        .map(|word| match word.octets.iter().position(|b| *b == b'=') {
            Some(at) => (String::from_utf8_lossy(&word.octets[..at]).into_owned(), word.octets[at + 1..].to_vec()),
            None => (String::from_utf8_lossy(&word.octets).into_owned(), Vec::new()),
        })
        .collect();
    Svcb::parse(priority, target, params).ok_or_else(|| fields.expected(SVCB))
}

pub(super) fn write(data: &RData, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match data {
        RData::A(address) => write!(f, "{address}"),
        RData::Aaaa(address) => write!(f, "{address}"),
        RData::Cname(name) | RData::Dname(name) | RData::Ns(name) | RData::Ptr(name) => write!(f, "{}", name.fqdn()),
        RData::Txt(txt) => {
            for (i, string) in txt.strings().enumerate() {
                if i > 0 {
                    f.write_char(' ')?;
                }
                quoted(string, f)?;
            }
            Ok(())
        }
        RData::Mx { preference, exchange } => write!(f, "{preference} {}", exchange.fqdn()),
        RData::Srv { priority, weight, port, target } => write!(f, "{priority} {weight} {port} {}", target.fqdn()),
        RData::Caa(caa) => {
            write!(f, "{} {} ", caa.flags, caa.tag)?;
            quoted(&caa.value, f)
        }
        RData::Naptr(naptr) => {
            write!(f, "{} {} ", naptr.order, naptr.preference)?;
            for string in [&naptr.flags, &naptr.services, &naptr.regexp] {
                quoted(string, f)?;
                f.write_char(' ')?;
            }
            f.write_str(&naptr.replacement.fqdn())
        }
        RData::Svcb(svcb) | RData::Https(svcb) => write!(f, "{svcb}"),
        RData::Other(opaque) => match &opaque.content {
            Content::Text(text) => f.write_str(text),
            Content::Octets(octets) => {
                write!(f, "\\# {}", octets.len())?;
                if !octets.is_empty() {
                    f.write_char(' ')?;
                }
                octets.iter().try_for_each(|octet| write!(f, "{octet:02x}"))
            }
        },
    }
}

/// A character string in quotes; octets outside printable ASCII as `\DDD`.
pub(super) fn quoted(octets: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_char('"')?;
    for &octet in octets {
        match octet {
            b'"' | b'\\' => write!(f, "\\{}", char::from(octet))?,
            0x20..=0x7e => f.write_char(char::from(octet))?,
            _ => write!(f, "\\{octet:03}")?,
        }
    }
    f.write_char('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rtype: &str, input: &str, expected: &str) {
        let rtype: RecordType = rtype.parse().unwrap();
        let data = RData::parse(rtype, input).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(data.rtype(), rtype);
        assert_eq!(data.to_string(), expected, "{input:?}");
        assert_eq!(RData::parse(rtype, &data.to_string()), Ok(data.clone()), "read back");
        let wire = data.to_wire();
        if let Some(wire) = wire {
            assert_eq!(RData::from_wire(rtype, &wire), Ok(data), "through the wire form");
        }
    }

    #[test]
    fn every_type_in_and_out() {
        for (rtype, input, expected) in [
            ("A", "192.0.2.1", "192.0.2.1"),
            ("AAAA", "2001:DB8:0:0::1", "2001:db8::1"),
            ("AAAA", "::ffff:1.2.3.4", "::ffff:1.2.3.4"),
            ("CNAME", "Target.Example.com", "target.example.com."),
            ("DNAME", "example.net.", "example.net."),
            ("NS", "ns1.example.com", "ns1.example.com."),
            ("PTR", "host.example.com.", "host.example.com."),
            ("TXT", "plain", "\"plain\""),
            ("TXT", "two words", "\"two words\""),
            ("TXT", "\"a\" \"b c\"", "\"a\" \"b c\""),
            ("TXT", "\"quote \\\" and \\\\ and \\007\"", "\"quote \\\" and \\\\ and \\007\""),
            ("TXT", "", "\"\""),
            ("TXT", "v=DKIM1; p=\"a b\"", "\"v=DKIM1; p=\\\"a b\\\"\""),
            ("TXT", "C:\\temp", "\"C:\\\\temp\""),
            ("TXT", "\"\\é\"", "\"\\195\\169\""),
            ("MX", "10 mail.example.com.", "10 mail.example.com."),
            ("MX", "0 .", "0 ."),
            ("SRV", "0 50 30192 foo.example.org.", "0 50 30192 foo.example.org."),
            ("CAA", "0 ISSUE \"ca.example.net; account=1\"", "0 issue \"ca.example.net; account=1\""),
            ("CAA", "128 iodef mailto:x@example.com", "128 iodef \"mailto:x@example.com\""),
            (
                "NAPTR",
                "100 10 u E2U+sip !^.*$!sip:a@example.com! .",
                "100 10 \"u\" \"E2U+sip\" \"!^.*$!sip:a@example.com!\" .",
            ),
            ("HTTPS", "1 . alpn=h3,h2 port=8443", "1 . alpn=\"h3,h2\" port=8443"),
            ("HTTPS", "0 svc.example.net", "0 svc.example.net."),
            (
                "SVCB",
                "16 foo.example.org mandatory=ipv4hint,alpn alpn=\"h2,h3-19\" ipv4hint=192.0.2.1",
                "16 foo.example.org. mandatory=alpn,ipv4hint alpn=\"h2,h3-19\" ipv4hint=192.0.2.1",
            ),
            (
                "SVCB",
                "1 a.b key667=hello\\210qoo ipv6hint=2001:db8::1",
                "1 a.b. ipv6hint=2001:db8::1 key667=\"hello\\210qoo\"",
            ),
            (
                "SVCB",
                "1 a.b no-default-alpn alpn=h2 ech=AEj+DQ== dohpath=/q{?dns}",
                "1 a.b. alpn=\"h2\" no-default-alpn ech=\"AEj+DQ==\" dohpath=\"/q{?dns}\"",
            ),
            ("TYPE65280", "\\# 3 0aFF00", "\\# 3 0aff00"),
            ("TYPE65280", "free text", "free text"),
            ("A", "\\# 4 c0000201", "192.0.2.1"),
            ("CAA", "\\# 3 000041", "\\# 3 000041"),
            ("SVCB", "\\# 8 0001 00 0003 0001 05", "\\# 8 0001000003000105"),
        ] {
            check(rtype, input, expected);
        }
    }

    #[test]
    fn bad_data_says_what_was_expected() {
        for (rtype, input, part) in [
            ("A", "010.1.2.3", "IPv4 address"),
            ("A", "1.2.3.4 5.6.7.8", "nothing after"),
            ("A", "::1", "IPv4"),
            ("AAAA", "1.2.3.4", "IPv6"),
            ("CNAME", "", "host name"),
            ("CNAME", "a..b", "empty label"),
            ("MX", "mail.example.com", "preference"),
            ("MX", "+10 mail.example.com", "preference"),
            ("MX", "70000 mail.example.com", "preference"),
            ("SRV", "0 50 foo.example.org", "priority, weight, port"),
            ("CAA", "0 issue", "flags, tag and value"),
            ("TXT", "\"open", "quoted"),
            ("NAPTR", "1 2 3", "order"),
            ("HTTPS", "1 . alpn", "priority, target"),
            ("HTTPS", "1 . port=1 port=2", "priority, target"),
            ("HTTPS", "1 . no-default-alpn=x", "priority, target"),
            ("SVCB", "1 . mandatory=port", "priority, target"),
        ] {
            let error = RData::parse(rtype.parse().unwrap(), input).expect_err(input).to_string();
            assert!(error.contains(part), "{rtype} {input:?}: {error}");
        }
    }

    #[test]
    fn a_long_quoted_text_is_cut_into_strings() {
        let long = "x".repeat(300);
        let RData::Txt(txt) = RData::parse(RecordType::Txt, &format!("\"{long}\"")).unwrap() else { panic!() };
        assert_eq!(txt.strings().map(<[u8]>::len).collect::<Vec<_>>(), [255, 45]);
        assert_eq!(txt.text(), Some(long));
    }
}
