//! What a provider can do. One value drives lowering, batching, the conformance suite and the generated matrix.

use std::time::Duration;

use crate::record::Ttl;
use crate::rtype::RecordType;
use crate::zone::ZoneRule;

/// The abilities of a provider, narrowed for one zone where zones differ.
///
/// A provider begins with what a DNS server can do, and says what is otherwise:
///
/// ```
/// use zonewright_core::Ttl;
/// use zonewright_core::capability::{Audit, Capability, Preconditions, TtlRange};
///
/// let minute = Ttl::from_secs(60).unwrap();
/// let capability = Capability {
///     wildcards: false,
///     preconditions: Preconditions::Changed,
///     audit: Audit::Listing,
///     ..Capability::authoritative(100, TtlRange { min: minute, max: Ttl::MAX, default: minute })
/// };
/// assert_eq!(capability.ttl.clamp(Ttl::ZERO), minute);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent abilities, each with its own name; no state machine")]
pub struct Capability {
    /// Whether a record set may hold several records.
    pub targets: TargetCount,
    /// The record types that can be written.
    pub types: TypeSupport,
    /// Which routing policies the provider has, and where it keeps them.
    pub routing: RoutingSupport,
    /// Whether sets of one name and type can stand side by side, each with an identifier.
    pub set_ids: bool,
    /// Whether all sets of a name stand in one room (Route 53): those of a type have one kind of routing policy, none is a kind too,
    /// and types that exclude each other do so under different identifiers as well.
    pub one_kind: bool,
    /// What a create does where something stands already.
    pub create: CreateMode,
    /// Limits of one call.
    pub batch: Batch,
    /// What can be demanded of the zone before a write takes effect.
    pub preconditions: Preconditions,
    /// Bounds of TTLs.
    pub ttl: TtlRange,
    /// What a CNAME may stand beside, and where.
    pub cname: CnameRules,
    /// Whether alias records exist.
    pub alias: bool,
    /// Whether wildcard names can be written.
    pub wildcards: bool,
    /// Whether an asterisk can stand in a label beside other characters, as claims of wildcards have it (`a-*`).
    pub asterisk_in_labels: bool,
    /// How names go to zones.
    pub zone_rule: ZoneRule,
    /// How a zone is kept current.
    pub audit: Audit,
    /// Least time from one page of an audit to the next, over all zones of an instance: a tenth of what the service allows leaves the
    /// rest to changes. Zero where it does not count requests.
    pub audit_pace: Duration,
    /// How long a listing may lag behind a write: within that time after a write, what was written counts and not what is
    /// listed. A process waits so long before its first reading, so that it reads what its predecessor wrote.
    pub settle: Duration,
}

impl Capability {
    /// What an authoritative DNS server can do that takes changes with preconditions, in batches of so many: whole record
    /// sets of every writable type, guarded and atomic.
    pub fn authoritative(changes: usize, ttl: TtlRange) -> Self {
        Self {
            targets: TargetCount::Full,
            types: TypeSupport::Listed(RecordType::WRITABLE.to_vec()),
            routing: RoutingSupport::None,
            set_ids: false,
            one_kind: false,
            create: CreateMode::Guarded,
            batch: Batch::of(changes),
            preconditions: Preconditions::Any,
            ttl,
            cname: CnameRules::STRICT,
            alias: false,
            wildcards: true,
            asterisk_in_labels: true,
            zone_rule: ZoneRule::LongestSuffix,
            audit: Audit::Cheap,
            audit_pace: Duration::ZERO,
            settle: Duration::ZERO,
        }
    }
}

/// Whether a record set may hold several records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetCount {
    /// Any number of records in a set.
    Full,
    /// One; further targets are reported and left out.
    First,
}

/// The record types that can be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypeSupport {
    /// These types alone.
    Listed(Vec<RecordType>),
    /// Every type: the provider decides itself (webhook).
    Any,
}

impl TypeSupport {
    /// Whether `rtype` can be written.
    pub fn has(&self, rtype: RecordType) -> bool {
        match self {
            Self::Listed(types) => types.contains(&rtype),
            Self::Any => true,
        }
    }
}

/// Kinds of routing policies, without their values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RoutingKind {
    /// Answers in proportion to the weights of the sets.
    Weighted,
    /// The answer of the region with the least latency to the client.
    Latency,
    /// Primary and secondary.
    Failover,
    /// By place of the client.
    Geolocation,
    /// By the distance from the client to the resource, with a bias.
    Geoproximity,
    /// Several healthy answers.
    Multivalue,
}

impl std::fmt::Display for RoutingKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Weighted => "weighted",
            Self::Latency => "latency",
            Self::Failover => "failover",
            Self::Geolocation => "geolocation",
            Self::Geoproximity => "geoproximity",
            Self::Multivalue => "multivalue",
        })
    }
}

/// Which routing policies there are, and where they are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoutingSupport {
    /// No routing policies: every set is a simple one.
    None,
    /// Each set is a record of its own (Route 53).
    PerSet(&'static [RoutingKind]),
    /// All sets of a name and type are items of one record (Cloud DNS).
    InSet(&'static [RoutingKind]),
}

/// What a CNAME may stand beside, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CnameRules {
    /// Whether RFC 1034 3.6.2 (a CNAME stands alone) holds in what the provider lists. A webhook lists whatever its author saw
    /// fit.
    pub alone: bool,
    /// Whether a CNAME may stand at the apex of a zone. It is answered there with the addresses of its target (flattened), and
    /// stands beside every type but addresses.
    pub flattened: bool,
}

impl CnameRules {
    /// Those of a plain authoritative DNS server.
    pub const STRICT: Self = Self { alone: true, flattened: false };

    /// Whether records of these types exclude each other at one name; `apex` says whether it is that of the zone.
    ///
    /// ```
    /// use zonewright_core::RecordType::{A, Cname, Mx};
    /// use zonewright_core::capability::CnameRules;
    ///
    /// let flattening = CnameRules { alone: true, flattened: true };
    /// assert!(CnameRules::STRICT.excludes(Cname, Mx, true));
    /// assert!(flattening.excludes(Cname, Mx, false) && flattening.excludes(Cname, A, true));
    /// assert!(!flattening.excludes(Cname, Mx, true));
    /// ```
    pub fn excludes(self, one: RecordType, other: RecordType, apex: bool) -> bool {
        let address = |rtype| matches!(rtype, RecordType::A | RecordType::Aaaa | RecordType::Cname);
        one.excludes(other) && (!(self.flattened && apex) || address(one) && address(other))
    }
}

impl RoutingSupport {
    /// Whether there is this policy.
    pub fn has(self, kind: RoutingKind) -> bool {
        match self {
            Self::None => false,
            Self::PerSet(kinds) | Self::InSet(kinds) => kinds.contains(&kind),
        }
    }
}

/// What a create does where something stands already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreateMode {
    /// It fails, so nothing foreign is joined or overwritten.
    Guarded,
    /// It adds a member beside what stands, so it is read back and withdrawn if a foreign one appeared.
    Additive,
}

/// What can be demanded of the zone before a write takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preconditions {
    /// Nothing: a targeted read of record and claim comes first.
    None,
    /// Each change states what stood before; whether that is held against the zone is the other side's affair, and it has
    /// nothing but a full listing to read by. So nothing is read first (webhook).
    Stated,
    /// The exact old content of the record sets that the group itself changes; a targeted read of record and claim comes first.
    Changed,
    /// The same, and what a group requires besides ([`crate::change::Group::requires`]) is read by the provider itself, right before
    /// the write. So nothing else is read first.
    Checked,
    /// Nothing; but the provider itself reads all that a group changes and requires, right before the write, and refuses what is not
    /// as it was expected. What changes between that reading and the write it cannot know, so a create is read back as ever; and nothing
    /// else is read first.
    Read,
    /// The exact content, or absence, of any record set or name. Not where nothing is atomic ([`Atomicity::None`]): record and claim
    /// are written one after the other there, and the one may change between them.
    Any,
}

impl Preconditions {
    /// Whether record and claim are read right before they are changed.
    pub fn read_first(self) -> bool {
        matches!(self, Self::None | Self::Changed)
    }
}

/// Limits of one call of `apply`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch {
    /// Most changes in a call, a record and its claim counting as two, and an update as [`Batch::update`].
    pub changes: usize,
    /// Most values in a call: the records of all sets that are written or taken away (an alias is one).
    pub values: Option<usize>,
    /// Most bytes (or characters, as the service counts) in a call, by [`crate::change::Group::size`].
    pub size: Option<usize>,
    /// What an update counts in changes: 2 where it is sent as a delete and a create, whose values then count both.
    pub update: usize,
    /// Least time from the end of a call to the beginning of the next one in the same zone.
    pub interval: Duration,
    /// What stands or falls together.
    pub atomic: Atomicity,
}

impl Batch {
    /// So many changes in a call, without any other limit; the whole call stands or falls together.
    pub const fn of(changes: usize) -> Self {
        Self { changes, values: None, size: None, update: 1, interval: Duration::ZERO, atomic: Atomicity::Batch }
    }
}

/// What stands or falls together in one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Atomicity {
    /// The whole call.
    Batch,
    /// Each record set for itself; groups need the intent protocol.
    None,
}

/// Bounds of TTLs in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TtlRange {
    /// The smallest TTL that can be written, in seconds.
    pub min: Ttl,
    /// The largest TTL that can be written, in seconds.
    pub max: Ttl,
    /// What an unset TTL becomes. It may lie outside of the bounds, where a service has a value of its own for "as you like"
    /// (Cloudflare: 1).
    pub default: Ttl,
}

impl TtlRange {
    /// Every TTL that there is, and what an unset one becomes.
    pub fn any(default: Ttl) -> Self {
        Self { min: Ttl::ZERO, max: Ttl::MAX, default }
    }

    /// The nearest TTL that the provider takes.
    pub fn clamp(&self, ttl: Ttl) -> Ttl {
        if ttl == self.default { ttl } else { ttl.clamp(self.min, self.max) }
    }
}

/// How a zone is kept current after its first listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audit {
    /// A cheap question (SOA serial) shows whether anything changed, and a delta follows: every `--interval`.
    Cheap,
    /// Only a full listing shows that; it goes on for a tenth of the time, at [`Capability::audit_pace`].
    Listing,
}
