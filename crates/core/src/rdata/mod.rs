//! Record data: one typed variant per record type.
//!
//! [`RData::parse`] and [`std::fmt::Display`] are the presentation form, [`RData::to_wire`] and [`RData::from_wire`] the
//! uncompressed wire form. Whatever is read and not understood is [`RData::Other`]: it stays in the view of a zone, and
//! is never ours.

mod members;
mod svcb;
mod text;
mod txt;
mod wire;

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};

pub(crate) use members::Members;
pub use svcb::{SvcParams, Svcb};
pub use txt::Txt;

use crate::name::{DnsName, NameError};
use crate::rtype::RecordType;

/// The data of one resource record.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RData {
    /// RFC 1035 3.4.1.
    A(Ipv4Addr),
    /// RFC 3596.
    Aaaa(Ipv6Addr),
    /// RFC 1035 3.3.1.
    Cname(DnsName),
    /// RFC 6672.
    Dname(DnsName),
    /// RFC 1035 3.3.11.
    Ns(DnsName),
    /// RFC 1035 3.3.12.
    Ptr(DnsName),
    /// RFC 1035 3.3.14: one or more character strings of up to 255 octets.
    Txt(Txt),
    /// RFC 1035 3.3.9.
    Mx {
        /// Lower is preferred.
        preference: u16,
        /// The mail host; the root says "no mail" (RFC 7505).
        exchange: DnsName,
    },
    /// RFC 2782.
    Srv {
        /// Lower is tried first.
        priority: u16,
        /// Share among equal priorities.
        weight: u16,
        /// Port of the service.
        port: u16,
        /// Host of the service.
        target: DnsName,
    },
    /// RFC 8659.
    Caa(Box<Caa>),
    /// RFC 3403.
    Naptr(Box<Naptr>),
    /// RFC 9460.
    Svcb(Box<Svcb>),
    /// RFC 9460.
    Https(Box<Svcb>),
    /// Anything else.
    Other(Box<Opaque>),
}

/// The fields of a CAA record (RFC 8659 4.1).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Caa {
    /// Bit 7 is "critical".
    pub flags: u8,
    /// Property name in lower case.
    pub tag: Arc<str>,
    /// Property value, as bytes.
    pub value: Arc<[u8]>,
}

/// The fields of a NAPTR record (RFC 3403 4.1).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Naptr {
    /// Processed in rising order.
    pub order: u16,
    /// Rank among equal orders.
    pub preference: u16,
    /// Flags, e.g. `u`.
    pub flags: Vec<u8>,
    /// Services, e.g. `E2U+sip`.
    pub services: Vec<u8>,
    /// Substitution expression, as bytes; empty where `replacement` counts.
    pub regexp: Vec<u8>,
    /// Next name; the root if the expression is used.
    pub replacement: DnsName,
}

/// Data of a type that is not modelled.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Opaque {
    /// Its record type.
    pub rtype: RecordType,
    /// Its data, as text or on the wire.
    pub content: Content,
}

/// How opaque data was given.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Content {
    /// RDATA octets, e.g. from a zone transfer.
    Octets(Vec<u8>),
    /// Text as a provider or object gave it.
    Text(String),
}

/// Why a text is no record data of its type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RDataError {
    /// A name inside does not parse.
    #[error("{rtype} {text:?}: {source}")]
    Name {
        /// The record type.
        rtype: RecordType,
        /// The whole text.
        text: String,
        /// What is wrong with the name.
        source: NameError,
    },
    /// Anything else, with what was expected.
    #[error("{text:?} is no {rtype} data; expected {expected}")]
    Text {
        /// The record type.
        rtype: RecordType,
        /// The whole text.
        text: String,
        /// What was expected instead.
        expected: &'static str,
    },
    /// Octets from a server that do not fit their type.
    #[error("malformed {rtype} data of {length} octets")]
    Wire {
        /// The record type.
        rtype: RecordType,
        /// Length of the data.
        length: usize,
    },
}

impl RData {
    /// The record type of this data.
    pub fn rtype(&self) -> RecordType {
        match self {
            Self::A(_) => RecordType::A,
            Self::Aaaa(_) => RecordType::Aaaa,
            Self::Cname(_) => RecordType::Cname,
            Self::Dname(_) => RecordType::Dname,
            Self::Ns(_) => RecordType::Ns,
            Self::Ptr(_) => RecordType::Ptr,
            Self::Txt(_) => RecordType::Txt,
            Self::Mx { .. } => RecordType::Mx,
            Self::Srv { .. } => RecordType::Srv,
            Self::Caa(_) => RecordType::Caa,
            Self::Naptr(_) => RecordType::Naptr,
            Self::Svcb(_) => RecordType::Svcb,
            Self::Https(_) => RecordType::Https,
            Self::Other(opaque) => opaque.rtype,
        }
    }

    /// The type that a bare target gets: IPv4 text is A, IPv6 text AAAA, anything else CNAME (IPv4-mapped IPv6 is AAAA,
    /// leading zeros make it no address).
    pub fn type_of_target(target: &str) -> RecordType {
        if target.parse::<Ipv4Addr>().is_ok() {
            RecordType::A
        } else if target.parse::<Ipv6Addr>().is_ok() {
            RecordType::Aaaa
        } else {
            RecordType::Cname
        }
    }

    /// The name that this data points to, for types that have one.
    pub fn target(&self) -> Option<&DnsName> {
        match self {
            Self::Cname(name) | Self::Dname(name) | Self::Ns(name) | Self::Ptr(name) => Some(name),
            Self::Mx { exchange, .. } => Some(exchange),
            Self::Srv { target, .. } => Some(target),
            Self::Naptr(naptr) => Some(&naptr.replacement),
            Self::Svcb(svcb) | Self::Https(svcb) => Some(&svcb.target),
            Self::A(_) | Self::Aaaa(_) | Self::Txt(_) | Self::Caa(_) | Self::Other(_) => None,
        }
    }
}

impl Serialize for RData {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.rtype(), self.to_string()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RData {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (rtype, text) = <(RecordType, String)>::deserialize(deserializer)?;
        Self::parse(rtype, &text).map_err(serde::de::Error::custom)
    }
}

impl fmt::Display for RData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        text::write(self, f)
    }
}
