//! Record sets: what a zone holds, and what one should hold.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::capability::RoutingKind;
use crate::name::DnsName;
use crate::options::Options;
use crate::rdata::{Members, RData};
use crate::rtype::RecordType;

/// A time to live in seconds, 0 to 2^31 - 1 (RFC 2181 8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Ttl(u32);

impl Ttl {
    /// Not to be cached.
    pub const ZERO: Self = Self(0);

    /// The largest TTL.
    pub const MAX: Self = Self(i32::MAX as u32);

    /// A TTL of so many seconds; `None` above 2^31 - 1.
    pub fn from_secs(seconds: u32) -> Option<Self> {
        (seconds <= Self::MAX.0).then_some(Self(seconds))
    }

    /// Reads a TTL off the wire, where a value with the top bit set counts as 0 (RFC 2181 8).
    pub fn from_wire(seconds: u32) -> Self {
        Self::from_secs(seconds).unwrap_or(Self(0))
    }

    /// The TTL in seconds.
    pub fn secs(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Ttl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Distinguishes several record sets of one name and type (routing policies). Never empty.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SetId(Arc<str>);

impl SetId {
    /// A set identifier; `None` for an empty text, which means "no identifier" wherever it is written.
    pub fn new(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| Self(Arc::from(text)))
    }

    /// The identifier as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The identity of a record set.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RecordKey {
    /// Owner name, fully qualified.
    pub name: DnsName,
    /// Record type.
    pub rtype: RecordType,
    /// Set identifier, if the record takes part in a routing policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set_id: Option<SetId>,
}

impl RecordKey {
    /// The key of a record set without a set identifier.
    pub fn simple(name: DnsName, rtype: RecordType) -> Self {
        Self { name, rtype, set_id: None }
    }

    /// Whether these are the records that make a zone one, which are nobody's but its operator's: NS or SOA at its apex.
    pub fn makes_zone(&self, apex: &DnsName) -> bool {
        self.name == *apex && matches!(self.rtype, RecordType::Ns | RecordType::Soa)
    }
}

impl fmt::Display for RecordKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.rtype)?;
        match &self.set_id {
            Some(id) => write!(f, " ({})", id.as_str()),
            None => Ok(()),
        }
    }
}

/// How answers are chosen among record sets of one name and type.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum Routing {
    /// One record set, no choice.
    #[default]
    Simple,
    /// In proportion to a weight.
    Weighted {
        /// Share of this set; 0 takes it out unless all are 0.
        weight: u32,
    },
    /// By measured latency from the client to a cloud region.
    Latency {
        /// The region that this set answers for.
        region: Arc<str>,
    },
    /// The primary while it is healthy, else the secondary.
    Failover {
        /// Whether this set is the primary.
        primary: bool,
    },
    /// By where the client is.
    Geolocation {
        /// Continent, country and subdivision codes, as far as given.
        location: Geolocation,
    },
    /// By distance, moved by a bias.
    Geoproximity {
        /// Where the resource is.
        place: GeoPlace,
        /// -99 to 99: grows or shrinks the area that the resource answers for.
        bias: i16,
    },
    /// Up to eight healthy answers at random.
    Multivalue,
}

impl Routing {
    /// Whether there is no choice.
    pub fn is_simple(&self) -> bool {
        *self == Self::Simple
    }

    /// The kind of the policy, without its values; `None` where there is no choice.
    pub fn kind(&self) -> Option<RoutingKind> {
        Some(match self {
            Self::Simple => return None,
            Self::Weighted { .. } => RoutingKind::Weighted,
            Self::Latency { .. } => RoutingKind::Latency,
            Self::Failover { .. } => RoutingKind::Failover,
            Self::Geolocation { .. } => RoutingKind::Geolocation,
            Self::Geoproximity { .. } => RoutingKind::Geoproximity,
            Self::Multivalue => RoutingKind::Multivalue,
        })
    }
}

/// Codes of a place on earth; a set with none of them is the default.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Geolocation {
    /// Continent code, e.g. `EU`.
    pub continent: Option<Arc<str>>,
    /// ISO 3166-1 country code.
    pub country: Option<Arc<str>>,
    /// Subdivision code within the country.
    pub subdivision: Option<Arc<str>>,
}

/// The place of a resource for geoproximity routing.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum GeoPlace {
    /// A cloud region.
    Region(Arc<str>),
    /// A local zone group.
    LocalZoneGroup(Arc<str>),
    /// Latitude and longitude in degrees with two decimals, as text so that equality is exact.
    Coordinates(Arc<str>, Arc<str>),
}

/// A provider's own pointer to another resource, answered like an address record (Route 53 alias, Azure alias).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AliasTarget {
    /// Host name, or the provider's id of the target resource.
    pub target: Arc<str>,
    /// The zone that the target lives in, where the provider asks for it.
    pub zone: Option<Arc<str>>,
    /// Whether the target's health counts.
    pub evaluate_health: bool,
}

/// What a record set holds.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RecordData {
    /// Record data, sorted and without duplicates: order carries no meaning in a zone. Build it with
    /// [`RecordData::records`].
    Records(Vec<RData>),
    /// A provider alias.
    Alias(AliasTarget),
    /// The items of a routing policy that stands in one record set (Cloud DNS), in their order. Only what a provider with
    /// [`crate::capability::RoutingSupport::InSet`] lists and writes has them: everything above it sees each item as a set of its
    /// own ([`crate::in_set`]).
    Items(Vec<Item>),
}

/// One item of a routing policy that stands in one record set with the others.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Item {
    /// The policy, with the value by which this item is chosen (its weight, its location); never [`Routing::Simple`].
    pub routing: Routing,
    /// Record data, sorted and without duplicates.
    pub records: Vec<RData>,
}

impl RecordData {
    /// The items of a policy, sorted: their order carries no meaning.
    pub fn items(items: impl IntoIterator<Item = Item>) -> Self {
        let mut all: Vec<Item> = items.into_iter().collect();
        all.sort_by_cached_key(|item| (crate::in_set::policy_key(&item.routing), item.records.clone()));
        Self::Items(all)
    }

    /// Sorted, deduplicated record data.
    pub fn records(records: impl IntoIterator<Item = RData>) -> Self {
        let mut all: Vec<RData> = records.into_iter().collect();
        all.sort();
        all.dedup();
        Self::Records(all)
    }

    /// The records, or none for an alias.
    pub fn as_records(&self) -> &[RData] {
        match self {
            Self::Records(records) => records,
            Self::Alias(_) | Self::Items(_) => &[],
        }
    }

    /// Whether everything that `other` holds stands here too (then going from `other` to `self` removes nothing).
    pub fn contains(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Records(mine), Self::Records(theirs)) => {
                let mine = Members::of(mine);
                theirs.iter().all(|data| mine.holds(data))
            }
            (mine, theirs) => mine == theirs,
        }
    }
}

impl fmt::Display for RecordData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Records(records) => {
                for (i, data) in records.iter().enumerate() {
                    if i > 0 {
                        f.write_str(" ; ")?;
                    }
                    write!(f, "{data}")?;
                }
                Ok(())
            }
            Self::Alias(alias) => write!(f, "alias of {}", alias.target),
            Self::Items(items) => {
                for (i, item) in items.iter().enumerate() {
                    let before = if i > 0 { " | " } else { "" };
                    let records = item.records.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ; ");
                    write!(f, "{before}{}: {records}", crate::in_set::policy_key(&item.routing))?;
                }
                Ok(())
            }
        }
    }
}

/// All records of one key.
///
/// ```
/// use zonewright_core::{DnsName, RData, RecordSet, RecordType, Ttl};
///
/// let name = DnsName::parse("www.example.com")?;
/// let data = ["192.0.2.2", "192.0.2.1"].map(|text| RData::parse(RecordType::A, text).unwrap());
/// let set = RecordSet::simple(name, RecordType::A, Ttl::from_secs(300), data);
/// assert_eq!(set.to_string(), "www.example.com 300 A 192.0.2.1 ; 192.0.2.2");
/// # Ok::<(), zonewright_core::name::NameError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RecordSet {
    /// Name, type and set identifier.
    pub key: RecordKey,
    /// TTL; `None` only in a wanted set, where it leaves the choice to the provider. A set that was read always has one,
    /// unless the provider has none for it (an alias).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<Ttl>,
    /// The records, or the target of an alias.
    pub data: RecordData,
    /// Routing policy; simple where there is none.
    #[serde(default, skip_serializing_if = "Routing::is_simple")]
    pub routing: Routing,
    /// Provider-specific settings, parsed.
    #[serde(default, skip_serializing_if = "Options::is_empty")]
    pub options: Options,
}

impl RecordSet {
    /// A record set without routing and options.
    pub fn simple(
        name: DnsName,
        rtype: RecordType,
        ttl: Option<Ttl>,
        records: impl IntoIterator<Item = RData>,
    ) -> Self {
        Self {
            key: RecordKey::simple(name, rtype),
            ttl,
            data: RecordData::records(records),
            routing: Routing::Simple,
            options: Options::default(),
        }
    }

    /// Whether a zone that holds `published` holds what this wanted set asks for: an unset TTL asks for nothing, all else
    /// must be equal.
    pub fn is_met_by(&self, published: &Self) -> bool {
        self.key == published.key
            && self.data == published.data
            && self.routing == published.routing
            && self.options == published.options
            && (self.ttl.is_none() || self.ttl == published.ttl)
    }
}

impl fmt::Display for RecordSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.key.name)?;
        if let Some(ttl) = self.ttl {
            write!(f, " {ttl}")?;
        }
        write!(f, " {}", self.key.rtype)?;
        if let Some(id) = &self.key.set_id {
            write!(f, " ({})", id.as_str())?;
        }
        write!(f, " {}", self.data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ttl_bounds() {
        assert_eq!(Ttl::from_secs(2_147_483_647), Some(Ttl::MAX));
        assert_eq!(Ttl::from_secs(2_147_483_648), None);
        assert_eq!(Ttl::from_wire(0x8000_0001).secs(), 0);
    }

    #[test]
    fn an_unset_ttl_asks_for_nothing() {
        let name = DnsName::parse("a.example.com").unwrap();
        let data = RData::parse(RecordType::A, "192.0.2.1").unwrap();
        let set = |ttl| RecordSet::simple(name.clone(), RecordType::A, ttl, [data.clone()]);
        assert!(set(None).is_met_by(&set(Ttl::from_secs(300))));
        assert!(!set(Ttl::from_secs(60)).is_met_by(&set(Ttl::from_secs(300))));
    }
}
