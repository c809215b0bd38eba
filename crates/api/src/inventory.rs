//! What stands in zones, and whose it is.

use serde::{Deserialize, Serialize};
use zonewright_core::DnsName;
use zonewright_core::record::{RecordData, RecordSet};

/// Asks for the record sets of managed types. Answered by [`RecordList`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Records {
    /// Those at this name, or in the zone of this name.
    #[serde(default)]
    pub name: Option<DnsName>,
    /// Those in this zone: its name, its key as text, or its id.
    #[serde(default)]
    pub zone: Option<String>,
    /// Those that this owner claims.
    #[serde(default)]
    pub owner: Option<String>,
    /// Most records; `None` is no limit.
    #[serde(default)]
    pub limit: Option<usize>,
}

/// Asks for the zones. Answered by [`ZoneList`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Zones {}

/// Asks for the owners of records. Answered by [`OwnerList`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Owners {}

/// Record sets, by zone and name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordList {
    /// The record sets.
    pub records: Vec<ListedRecord>,
    /// Number of further ones beyond the limit.
    pub more: usize,
    /// Zones that were not read yet: their records are not among these.
    pub unread: Vec<String>,
}

/// One record set with its claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedRecord {
    /// The zone, by its key as text.
    pub zone: String,
    /// The record set as it stands in the zone.
    #[serde(flatten)]
    pub set: ShownSet,
    /// Whose it is.
    pub ownership: OwnershipKind,
    /// The owner id of the claim; several, joined by commas, where they dispute it.
    pub owner: Option<String>,
    /// The resource that our claim names, as `service/shop/web`.
    pub resource: Option<String>,
}

/// A record set for programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownSet {
    /// Owner name, without a final dot.
    pub name: String,
    /// Record type as zone files write it.
    #[serde(rename = "type")]
    pub rtype: String,
    /// Set identifier, if the record takes part in a routing policy.
    pub set_id: Option<String>,
    /// TTL in seconds.
    pub ttl: Option<u32>,
    /// One text for each record; of an alias its target.
    pub data: Vec<String>,
    /// The kind of the routing policy, if there is one.
    pub routing: Option<String>,
}

impl From<&RecordSet> for ShownSet {
    fn from(set: &RecordSet) -> Self {
        let data = match &set.data {
            RecordData::Records(records) => records.iter().map(ToString::to_string).collect(),
            other => vec![other.to_string()],
        };
        Self {
            name: set.key.name.to_string(),
            rtype: set.key.rtype.to_string(),
            set_id: set.key.set_id.as_ref().map(|id| id.as_str().to_owned()),
            ttl: set.ttl.map(zonewright_core::Ttl::secs),
            data,
            routing: set.routing.kind().map(|kind| kind.to_string()),
        }
    }
}

/// Whose a record set is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OwnershipKind {
    /// Claimed by the daemon's owner id.
    Ours,
    /// Claimed by another owner id.
    Foreign,
    /// Nobody claims it.
    Unclaimed,
    /// Several owners claim it.
    Disputed,
}

/// The zones of all provider instances.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZoneList {
    /// The zones that the daemon serves.
    pub zones: Vec<ListedZone>,
    /// Provider instances whose zones could not be listed, each with the reason.
    pub unlisted: Vec<(String, String)>,
}

/// One zone, and how it is doing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedZone {
    /// Its key as text.
    pub zone: String,
    /// The apex; for a provider without zones the domains that it serves.
    pub name: String,
    /// The provider instance.
    pub instance: String,
    /// The provider's id of it.
    pub id: String,
    /// Whether it can be resolved by everybody.
    pub public: bool,
    /// Why it is not ready, if it is not.
    pub problem: Option<String>,
    /// Number of record sets, claims left out.
    pub records: usize,
    /// Number of record sets that are ours.
    pub owned: usize,
    /// Number of deletes that are held.
    pub held: usize,
    /// Number of names that were refused, or could not be written, and are tried again.
    pub refused: usize,
    /// Number of record sets that are wanted or ours and stay as they are, which is reported to their objects.
    pub left_alone: usize,
    /// Number of names that another writer keeps changing back.
    pub contested: usize,
}

/// Who claims records.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnerList {
    /// The owners, in the order of their ids.
    pub owners: Vec<ListedOwner>,
    /// Number of record sets of managed types that nobody claims.
    pub unclaimed: usize,
    /// Number of record sets that several owners claim.
    pub disputed: usize,
}

/// One owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedOwner {
    /// The owner id.
    pub owner: String,
    /// Whether it is the daemon's own.
    pub ours: bool,
    /// Number of record sets.
    pub records: usize,
    /// The same by zone, by its key as text.
    pub zones: std::collections::BTreeMap<String, usize>,
}
