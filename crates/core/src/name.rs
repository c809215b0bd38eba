//! Domain names, parsed once.

mod escape;

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use escape::{is_plain, label_end, push_octet, split_labels, unescape};

/// An absolute domain name: lower case, A-labels, lengths checked (RFC 1035 2.3.4).
///
/// It is built only by parsing, so nothing past that point trims dots or folds case. Any RFC 1035 label is taken (`*`
/// inside a label, `_`, escaped octets); the narrower rules for host names and wildcards are asked separately, with
/// [`DnsName::check_owner`], where a record is wanted.
///
/// The text form has no final dot (the root is `.`), and writes an octet that has a meaning in master files as `\c`,
/// an octet outside printable ASCII as `\DDD`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DnsName(Arc<str>);

/// Why a text is no domain name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The text is empty.
    #[error("empty name")]
    Empty,
    /// Two dots in a row, or a dot at the start.
    #[error("name {0:?} has an empty label")]
    EmptyLabel(String),
    /// A label of more than 63 octets.
    #[error("label {label:?} of name {name:?} is longer than 63 octets")]
    LongLabel {
        /// The offending label.
        label: String,
        /// The whole name.
        name: String,
    },
    /// More than 255 octets in wire form.
    #[error("name {0:?} is longer than 253 characters")]
    Long(String),
    /// A backslash without what must follow it.
    #[error("name {0:?} has a bad escape; expected \\DDD up to \\255, or \\ and one character")]
    Escape(String),
    /// Octets from a server that end inside a name.
    #[error("a name is cut short")]
    Cut,
    /// An international label that UTS 46 does not map.
    #[error("name {0:?} has an international label that cannot be encoded")]
    International(String),
    /// White space inside.
    #[error("name {0:?} contains white space")]
    Space(String),
    /// A wildcard anywhere but as the whole first label, or a character that host names do not have.
    #[error("name {name:?} {problem}")]
    Owner {
        /// The whole name.
        name: String,
        /// What is wrong and what was expected.
        problem: &'static str,
    },
}

const MAX_LABEL: usize = 63;
const MAX_WIRE: usize = 255;

impl DnsName {
    /// The root of the name space.
    pub fn root() -> Self {
        Self(Arc::from("."))
    }

    /// Parses a name with or without a final dot. International labels become A-labels by UTS 46 (non-transitional, as
    /// browsers do), everything becomes lower case.
    ///
    /// # Errors
    /// [`NameError`] says which label breaks which rule.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        if text == "." {
            return Ok(Self::root());
        }
        if is_plain(text) {
            return Ok(Self(Arc::from(text)));
        }
        if text.is_empty() {
            return Err(NameError::Empty);
        }
        if text.chars().any(char::is_whitespace) {
            return Err(NameError::Space(text.to_owned()));
        }
        if text.is_ascii() {
            return Self::from_labels(|| text.to_owned(), &split_labels(text)?);
        }
        // Escapes and international labels do not mix: the mapping works on characters.
        if text.contains('\\') {
            return Err(NameError::International(text.to_owned()));
        }
        let ascii = idna::uts46::Uts46::new()
            .to_ascii(
                text.as_bytes(),
                idna::AsciiDenyList::EMPTY,
                idna::uts46::Hyphens::Allow,
                idna::uts46::DnsLength::Ignore,
            )
            .map_err(|_| NameError::International(text.to_owned()))?;
        // A full-width backslash maps to a plain one, which would begin an escape that nobody wrote.
        if ascii.contains('\\') {
            return Err(NameError::International(text.to_owned()));
        }
        Self::from_labels(|| text.to_owned(), &split_labels(&ascii)?)
    }

    /// Builds a name from raw labels, most specific first, without the root's empty one.
    ///
    /// # Errors
    /// As [`DnsName::parse`], for lengths.
    pub fn from_raw_labels<'a>(labels: impl IntoIterator<Item = &'a [u8]>) -> Result<Self, NameError> {
        let labels: Vec<&[u8]> = labels.into_iter().collect();
        let shown = || labels.iter().map(|l| String::from_utf8_lossy(l).into_owned()).collect::<Vec<_>>().join(".");
        Self::from_labels(shown, &labels)
    }

    /// Reads an uncompressed wire-form name that fills `octets` from its start; returns the rest too.
    ///
    /// # Errors
    /// [`NameError::Cut`] if the octets end before the name does, or hold a compression pointer; as [`DnsName::parse`] for
    /// lengths.
    pub fn from_wire(octets: &[u8]) -> Result<(Self, &[u8]), NameError> {
        let mut labels = Vec::new();
        let mut rest = octets;
        loop {
            let (&len, tail) = rest.split_first().ok_or(NameError::Cut)?;
            if len == 0 {
                return Ok((Self::from_raw_labels(labels)?, tail));
            }
            if usize::from(len) > MAX_LABEL || usize::from(len) > tail.len() {
                return Err(NameError::Cut);
            }
            let (label, tail) = tail.split_at(usize::from(len));
            labels.push(label);
            rest = tail;
        }
    }

    /// The uncompressed wire form (RFC 1035 3.1), at most 255 octets.
    pub fn to_wire(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.0.len() + 2);
        if !self.0.contains('\\') {
            for label in self.labels() {
                out.push(u8::try_from(label.len()).expect("a label has at most 63 octets, checked when parsed"));
                out.extend_from_slice(label.as_bytes());
            }
            out.push(0);
            return out;
        }
        for label in self.raw_labels() {
            out.push(u8::try_from(label.len()).expect("a label has at most 63 octets, checked when parsed"));
            out.extend_from_slice(&label);
        }
        out.push(0);
        out
    }

    /// `shown` is the name as errors quote it.
    fn from_labels(shown: impl Fn() -> String, labels: &[impl AsRef<[u8]>]) -> Result<Self, NameError> {
        if labels.is_empty() {
            return Ok(Self::root());
        }
        let mut wire = 1;
        let mut text = String::new();
        for (i, label) in labels.iter().map(AsRef::as_ref).enumerate() {
            if label.is_empty() {
                return Err(NameError::EmptyLabel(shown()));
            }
            if label.len() > MAX_LABEL {
                return Err(NameError::LongLabel { label: String::from_utf8_lossy(label).into_owned(), name: shown() });
            }
            wire += label.len() + 1;
            if i > 0 {
                text.push('.');
            }
            for &octet in label {
                push_octet(&mut text, octet.to_ascii_lowercase());
            }
        }
        if wire > MAX_WIRE {
            return Err(NameError::Long(shown()));
        }
        Ok(Self(Arc::from(text)))
    }

    /// The text form without a final dot; `.` for the root.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text form with a final dot.
    pub fn fqdn(&self) -> String {
        if self.is_root() { ".".to_owned() } else { format!("{}.", self.0) }
    }

    /// Whether this is the root.
    pub fn is_root(&self) -> bool {
        &*self.0 == "."
    }

    /// The labels in text form, most specific first; none for the root.
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        let mut rest = if self.is_root() { None } else { Some(&*self.0) };
        std::iter::from_fn(move || {
            let text = rest?;
            let end = label_end(text);
            rest = text.get(end + 1..);
            Some(&text[..end])
        })
    }

    /// The labels as octets, escapes resolved.
    pub fn raw_labels(&self) -> impl Iterator<Item = Vec<u8>> + '_ {
        self.labels().map(|label| unescape(label).unwrap_or_default())
    }

    /// Number of labels, 0 for the root.
    pub fn label_count(&self) -> usize {
        self.labels().count()
    }

    /// The first label and the rest; `None` for the root.
    pub fn split_first(&self) -> Option<(&str, Self)> {
        if self.is_root() {
            return None;
        }
        let end = label_end(&self.0);
        let rest = self.0.get(end + 1..).map_or_else(Self::root, |rest| Self(Arc::from(rest)));
        Some((&self.0[..end], rest))
    }

    /// The name without its first label; `None` for the root.
    pub fn parent(&self) -> Option<Self> {
        self.split_first().map(|(_, rest)| rest)
    }

    /// Whether this name is `zone` or below it, by whole labels.
    pub fn is_within(&self, zone: &Self) -> bool {
        if zone.is_root() || self == zone {
            return true;
        }
        let Some(head) = self.0.strip_suffix(&*zone.0) else { return false };
        // The dot before the suffix must not be an escaped one.
        let Some(head) = head.strip_suffix('.') else { return false };
        head.bytes().rev().take_while(|b| *b == b'\\').count() % 2 == 0
    }

    /// Whether the first label is `*` (RFC 4592).
    pub fn is_wildcard(&self) -> bool {
        self.labels().next() == Some("*")
    }

    /// This name with `label` (text form) put before it.
    ///
    /// # Errors
    /// As [`DnsName::parse`].
    pub fn prepend(&self, label: &str) -> Result<Self, NameError> {
        // An open escape at the end would swallow the dot.
        if label.bytes().rev().take_while(|b| *b == b'\\').count() % 2 == 1 {
            return Err(NameError::Escape(label.to_owned()));
        }
        if self.is_root() { Self::parse(label) } else { Self::parse(&format!("{label}.{}", self.0)) }
    }

    /// The rules for a name that a record is wanted at: letters, digits, `-` and `_` in labels (also `/` for RFC 2317
    /// reverse names), and `*` only as the whole first label.
    ///
    /// # Errors
    /// [`NameError::Owner`] says which rule is broken.
    pub fn check_owner(&self) -> Result<(), NameError> {
        let bad = |problem| NameError::Owner { name: self.to_string(), problem };
        if self.is_root() {
            return Err(bad("is the root, where no record can be wanted"));
        }
        for (i, label) in self.labels().enumerate() {
            if label == "*" && i == 0 {
                continue;
            }
            if label.contains('*') {
                return Err(bad("has a wildcard in the wrong place; `*` may only be the whole first label"));
            }
            if !label.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'/')) {
                return Err(bad("has a character that no host name has; expected letters, digits, `-` and `_`"));
            }
        }
        Ok(())
    }

    /// The name that an address's PTR record stands at (RFC 1035 3.5, RFC 3596 2.5).
    pub fn reverse(address: std::net::IpAddr) -> Self {
        let text = match address {
            std::net::IpAddr::V4(v4) => {
                let [a, b, c, d] = v4.octets();
                format!("{d}.{c}.{b}.{a}.in-addr.arpa")
            }
            std::net::IpAddr::V6(v6) => {
                let mut text = String::with_capacity(72);
                for octet in v6.octets().iter().rev() {
                    let _ = write!(text, "{:x}.{:x}.", octet & 0xf, octet >> 4);
                }
                text.push_str("ip6.arpa");
                text
            }
        };
        Self(Arc::from(text))
    }

    /// The text form with A-labels shown as Unicode, where they decode; for filters and for people.
    pub fn to_unicode(&self) -> Cow<'_, str> {
        // Only such a label decodes to anything else, and nearly no name has one.
        if !self.0.contains("xn--") {
            return Cow::Borrowed(&self.0);
        }
        let (text, _) = idna::uts46::Uts46::new().to_unicode(
            self.0.as_bytes(),
            idna::AsciiDenyList::EMPTY,
            idna::uts46::Hyphens::Allow,
        );
        Cow::Owned(text.into_owned())
    }
}

impl fmt::Display for DnsName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for DnsName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DnsName({})", self.0)
    }
}

impl FromStr for DnsName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        Self::parse(text)
    }
}

impl Serialize for DnsName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for DnsName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests;
