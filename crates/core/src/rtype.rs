//! Record types.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A resource record type (RFC 1035 3.2.2 and the IANA registry).
///
/// Types without a variant keep their number; provider-private types without a number (`ALIAS`) keep their name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RecordType {
    /// IPv4 address.
    A,
    /// IPv6 address.
    Aaaa,
    /// Canonical name.
    Cname,
    /// Text.
    Txt,
    /// Name server.
    Ns,
    /// Service location.
    Srv,
    /// Mail exchange.
    Mx,
    /// Pointer, for reverse names.
    Ptr,
    /// Certification authority authorisation.
    Caa,
    /// Naming authority pointer.
    Naptr,
    /// Service binding for HTTPS.
    Https,
    /// Service binding.
    Svcb,
    /// Delegation of a whole subtree.
    Dname,
    /// Start of authority.
    Soa,
    /// Any other type by number.
    Other(u16),
    /// A type that only a provider knows, by name.
    Named(TypeName),
}

/// The name of a provider-private record type: 1 to 16 bytes of upper-case ASCII letters, digits, `-` and `_`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeName([u8; 16]);

impl TypeName {
    fn parse(text: &str) -> Option<Self> {
        let ok = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        if text.is_empty() || text.len() > 16 || !text.bytes().all(ok) {
            return None;
        }
        let mut octets = [0; 16];
        for (to, from) in octets.iter_mut().zip(text.bytes()) {
            *to = from.to_ascii_uppercase();
        }
        Some(Self(octets))
    }

    /// The name in upper case.
    pub fn as_str(&self) -> &str {
        let len = self.0.iter().position(|b| *b == 0).unwrap_or(self.0.len());
        std::str::from_utf8(&self.0[..len]).expect("only ASCII is stored")
    }
}

impl fmt::Debug for TypeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text is no record type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no record type; expected a name such as A, AAAA, CNAME, TXT, or TYPE and a number")]
pub struct TypeError(pub String);

/// Variant, mnemonic and number of every type that has a variant of its own.
const KNOWN: [(RecordType, &str, u16); 14] = [
    (RecordType::A, "A", 1),
    (RecordType::Aaaa, "AAAA", 28),
    (RecordType::Cname, "CNAME", 5),
    (RecordType::Txt, "TXT", 16),
    (RecordType::Ns, "NS", 2),
    (RecordType::Srv, "SRV", 33),
    (RecordType::Mx, "MX", 15),
    (RecordType::Ptr, "PTR", 12),
    (RecordType::Caa, "CAA", 257),
    (RecordType::Naptr, "NAPTR", 35),
    (RecordType::Https, "HTTPS", 65),
    (RecordType::Svcb, "SVCB", 64),
    (RecordType::Dname, "DNAME", 39),
    (RecordType::Soa, "SOA", 6),
];

/// Types that are known by name to operators but that this program never writes: mnemonic and number.
const NUMBERED: [(&str, u16); 10] = [
    ("DS", 43),
    ("SSHFP", 44),
    ("RRSIG", 46),
    ("NSEC", 47),
    ("DNSKEY", 48),
    ("NSEC3", 50),
    ("NSEC3PARAM", 51),
    ("TLSA", 52),
    ("CDS", 59),
    ("CDNSKEY", 60),
];

impl RecordType {
    /// Every type that can be written, in the order in which help texts and tables list them.
    pub const WRITABLE: [Self; 13] = [
        Self::A,
        Self::Aaaa,
        Self::Cname,
        Self::Txt,
        Self::Ns,
        Self::Srv,
        Self::Mx,
        Self::Ptr,
        Self::Caa,
        Self::Naptr,
        Self::Https,
        Self::Svcb,
        Self::Dname,
    ];

    /// The IANA number; `None` for a provider-private type.
    pub fn number(self) -> Option<u16> {
        match self {
            Self::Other(n) => Some(n),
            Self::Named(_) => None,
            known => KNOWN.iter().find(|(t, _, _)| *t == known).map(|(_, _, n)| *n),
        }
    }

    /// The type of an IANA number.
    pub fn from_number(number: u16) -> Self {
        KNOWN.iter().find(|(_, _, n)| *n == number).map_or(Self::Other(number), |(t, _, _)| *t)
    }

    /// Whether the type holds host addresses.
    pub fn is_address(self) -> bool {
        matches!(self, Self::A | Self::Aaaa)
    }

    /// Whether a record of this type excludes a record of `other` at the same name (RFC 1034 3.6.2; DNSSEC types may
    /// stand beside a CNAME, RFC 4034 3).
    pub fn excludes(self, other: Self) -> bool {
        let dnssec = |t| matches!(t, Self::Other(46 | 47));
        self != other && (self == Self::Cname || other == Self::Cname) && !dnssec(self) && !dnssec(other)
    }

    /// Whether a record of this type may stand in for one of `other`: both say where a name leads to (A, AAAA, CNAME).
    ///
    /// ```
    /// use zonewright_core::RecordType;
    ///
    /// assert!(RecordType::Aaaa.replaces(RecordType::A));
    /// assert!(!RecordType::Txt.replaces(RecordType::A) && !RecordType::A.replaces(RecordType::A));
    /// ```
    pub fn replaces(self, other: Self) -> bool {
        let leads = |rtype| matches!(rtype, Self::A | Self::Aaaa | Self::Cname);
        self != other && leads(self) && leads(other)
    }

    /// The mnemonic in lower case, as it stands in claim names and metric labels.
    pub fn lower(self) -> String {
        self.to_string().to_ascii_lowercase()
    }
}

impl fmt::Display for RecordType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => f.pad(name.as_str()),
            Self::Other(n) => match NUMBERED.iter().find(|(_, number)| number == n) {
                Some((name, _)) => f.pad(name),
                None => f.pad(&format!("TYPE{n}")),
            },
            known => {
                let name = KNOWN.iter().find(|(t, _, _)| t == known).map_or("TYPE0", |(_, name, _)| name);
                f.pad(name)
            }
        }
    }
}

impl FromStr for RecordType {
    type Err = TypeError;

    fn from_str(text: &str) -> Result<Self, TypeError> {
        let upper = text.to_ascii_uppercase();
        if let Some((known, _, _)) = KNOWN.iter().find(|(_, name, _)| *name == upper) {
            return Ok(*known);
        }
        if let Some((_, number)) = NUMBERED.iter().find(|(name, _)| *name == upper) {
            return Ok(Self::Other(*number));
        }
        if let Some(digits) =
            upper.strip_prefix("TYPE").filter(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_digit()))
        {
            return digits.parse().map(Self::from_number).map_err(|_| TypeError(text.to_owned()));
        }
        TypeName::parse(&upper).map(Self::Named).ok_or_else(|| TypeError(text.to_owned()))
    }
}

impl Serialize for RecordType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RecordType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_agree() {
        for (rtype, name, number) in KNOWN {
            assert_eq!(rtype.to_string(), name);
            assert_eq!(name.parse(), Ok(rtype));
            assert_eq!(name.to_lowercase().parse(), Ok(rtype));
            assert_eq!(RecordType::from_number(number), rtype);
            assert_eq!(rtype.number(), Some(number));
        }
        assert_eq!("TYPE65280".parse(), Ok(RecordType::Other(65280)));
        assert_eq!(RecordType::Other(65280).to_string(), "TYPE65280");
        assert_eq!("TLSA".parse(), Ok(RecordType::Other(52)));
        assert_eq!("alias".parse::<RecordType>().unwrap().to_string(), "ALIAS");
        assert!("no type!".parse::<RecordType>().is_err());
        assert!("".parse::<RecordType>().is_err());
        assert!("TYPE70000".parse::<RecordType>().is_err());
        assert!("TYPE+1".parse::<RecordType>().is_err());
    }

    #[test]
    fn only_cname_excludes() {
        use RecordType::{A, Aaaa, Cname, Other, Txt};
        assert!(Cname.excludes(A) && A.excludes(Cname) && Txt.excludes(Cname));
        assert!(!A.excludes(Aaaa) && !Cname.excludes(Cname) && !Cname.excludes(Other(46)));
    }
}
