//! What objects ask for: endpoints, where they come from, and what could not be read.

mod extras;
mod object;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

pub use extras::{EndpointExtras, Extras, Labels};
pub use object::{ObjectRef, TypeMeta, Uid};
use serde::{Deserialize, Serialize};
use thin_vec::ThinVec;

use crate::choice::Choice;
use crate::name::DnsName;
use crate::rdata::{Members, RData};
use crate::record::{AliasTarget, RecordData, RecordKey, Ttl};
use crate::rtype::RecordType;

/// A kind of object that a source reads, by resource and group: `services`, `endpointslices.discovery.k8s.io`.
pub type KindId = Arc<str>;

/// The kinds that a mapping read. Cloning shares them: most objects read the same few.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kinds(Arc<BTreeSet<KindId>>);

impl Kinds {
    /// Adds kinds; one that is there already stays once.
    pub fn extend(&mut self, kinds: impl IntoIterator<Item = KindId>) {
        for kind in kinds {
            if !self.0.contains(&kind) {
                Arc::make_mut(&mut self.0).insert(kind);
            }
        }
    }

    /// Takes one of these in the place of its equal, so that the memory is shared.
    pub fn share(&mut self, known: &mut Vec<Self>) {
        match known.iter().find(|known| *known == self) {
            Some(known) => *self = known.clone(),
            None => known.push(self.clone()),
        }
    }
}

impl Deref for Kinds {
    type Target = BTreeSet<KindId>;

    fn deref(&self) -> &BTreeSet<KindId> {
        &self.0
    }
}

impl From<BTreeSet<KindId>> for Kinds {
    fn from(kinds: BTreeSet<KindId>) -> Self {
        Self(Arc::new(kinds))
    }
}

impl<const N: usize> From<[KindId; N]> for Kinds {
    fn from(kinds: [KindId; N]) -> Self {
        Self(Arc::new(kinds.into()))
    }
}

/// Where an endpoint comes from; always known.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Origin {
    /// The `--source` that made it.
    pub source: Arc<str>,
    /// Position of that source among the `--source` flags.
    pub rank: usize,
    /// The object that asks, for events and claims.
    pub object: ObjectRef,
    /// Creation time of the object in seconds since 1970; the oldest holder wins. `None` sorts last.
    pub created: Option<i64>,
    /// The provider instances that the object names; `None` leaves it to them.
    pub choice: Option<Choice>,
}

/// How objects that ask for one name share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sharing {
    /// One of them holds the name.
    Holder,
    /// They are members of the name: their targets are joined.
    Union,
}

/// What one object allows to be done with its names (`zonewright.dev/policy`); it narrows `--policy`, never widens it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ObjectPolicy {
    /// Create, update and delete.
    Sync,
    /// Create and update, no deletes.
    UpsertOnly,
    /// Neither deletes nor updates.
    CreateOnly,
    /// Nothing at all.
    Frozen,
    /// Like `sync`, but the records stay when the object goes.
    Retain,
}

impl ObjectPolicy {
    /// Every policy with its word.
    pub const ALL: [(Self, &'static str); 5] = [
        (Self::Sync, "sync"),
        (Self::UpsertOnly, "upsert-only"),
        (Self::CreateOnly, "create-only"),
        (Self::Frozen, "frozen"),
        (Self::Retain, "retain"),
    ];

    /// The policy of a word; `None` if there is no such policy.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(_, word)| *word == text).map(|(policy, _)| policy)
    }

    /// The policy as an annotation names it.
    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(policy, _)| *policy == self).map_or("sync", |(_, word)| word)
    }
}

/// What an endpoint points to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Targets {
    /// Record data in the order in which the object states it, each once.
    Records(Vec<RData>),
    /// A provider alias.
    Alias(Box<AliasTarget>),
}

impl Targets {
    /// The records in the object's order, or none for an alias.
    pub fn as_records(&self) -> &[RData] {
        match self {
            Self::Records(records) => records,
            Self::Alias(_) => &[],
        }
    }

    /// Whether both hold the same, whatever the order.
    pub fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Records(a), Self::Records(b)) => Members::same(a, b),
            (a, b) => a == b,
        }
    }
}

impl From<&RecordData> for Targets {
    fn from(data: &RecordData) -> Self {
        match data {
            RecordData::Records(records) => Self::Records(records.clone()),
            RecordData::Alias(alias) => Self::Alias(Box::new(alias.clone())),
            RecordData::Items(items) => {
                Self::Records(items.iter().flat_map(|item| item.records.iter().cloned()).collect())
            }
        }
    }
}

/// One record set that one object asks for.
///
/// ```
/// use std::sync::Arc;
/// use zonewright_core::endpoint::{Endpoint, EndpointExtras, ObjectRef, Origin, Sharing, Targets, TypeMeta};
/// use zonewright_core::record::SetId;
/// use zonewright_core::{DnsName, RData, RecordType};
///
/// let object = ObjectRef {
///     types: TypeMeta::new("v1", "Service"),
///     namespace: "shop".into(),
///     name: "web".into(),
///     uid: "5b1f".into(),
/// };
/// let endpoint = Endpoint {
///     name: DnsName::parse("web.example.com")?,
///     rtype: RecordType::A,
///     targets: Targets::Records(vec![RData::parse(RecordType::A, "192.0.2.1").unwrap()]),
///     ttl: None,
///     origin: Arc::new(Origin { source: "service".into(), rank: 0, object, created: Some(1_700_000_000), choice: None }),
///     resource: Some("service/shop/web".into()),
///     sharing: Sharing::Holder,
///     policy: None,
///     extras: EndpointExtras { set_id: SetId::new("blue"), ..EndpointExtras::default() }.into(),
/// };
/// assert_eq!(endpoint.to_string(), "web.example.com A 192.0.2.1");
/// assert!(endpoint.extras.routing.is_simple());
/// # Ok::<(), zonewright_core::name::NameError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Owner name of the record, fully qualified.
    pub name: DnsName,
    /// Record type as the object states it; the provider may publish another one.
    pub rtype: RecordType,
    /// Record data, or the target of an alias.
    pub targets: Targets,
    /// TTL; `None` leaves it to the provider.
    pub ttl: Option<Ttl>,
    /// Where it comes from.
    pub origin: Arc<Origin>,
    /// The label that external-dns would write into the claim, e.g. `service/default/web`; absent where it writes none.
    pub resource: Option<Arc<str>>,
    /// How it shares its name.
    pub sharing: Sharing,
    /// The object's own policy.
    pub policy: Option<ObjectPolicy>,
    /// What few endpoints have.
    pub extras: Extras,
}

impl Endpoint {
    /// The key of the record set that is asked for.
    pub fn key(&self) -> RecordKey {
        RecordKey { name: self.name.clone(), rtype: self.rtype, set_id: self.extras.set_id.clone() }
    }

    /// The same with other extras.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut EndpointExtras)) -> Self {
        self.extras.edit(change);
        self
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.rtype)?;
        match &self.targets {
            Targets::Records(records) => records.iter().try_for_each(|data| write!(f, " {data}")),
            Targets::Alias(alias) => write!(f, " alias of {}", alias.target),
        }
    }
}

/// A name that an object still asks for, whose targets are not known now (a blank load-balancer status).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    /// The name that waits; what is published for it stays meanwhile.
    pub name: DnsName,
    /// The label that the claim would carry.
    pub resource: Option<Arc<str>>,
    /// Why there are no targets.
    pub reason: String,
}

/// Something that an object asks for and that cannot be determined now, not even its names: a template failed. Records whose
/// claim carries the label are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// The label that the claims would carry.
    pub resource: Option<Arc<str>>,
    /// Why it is not known.
    pub reason: String,
    /// Whether records are kept for the grace only, as those of a name without targets are.
    pub passing: bool,
}

/// What an object asks for under a well-known annotation prefix that is not in force, as far as it differs from what it asks
/// for under the prefixes that are. Nothing is published for it; what an earlier process published stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherPrefix {
    /// The prefix, with its final slash.
    pub prefix: Arc<str>,
    /// The endpoints that the annotations with this prefix ask for.
    pub endpoints: Vec<Endpoint>,
    /// Names without targets.
    pub pending: ThinVec<Pending>,
    /// The object that carries the prefix.
    pub object: ObjectRef,
}

/// What the mapping of one object gave.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mapped {
    /// The endpoints that it asks for, in the order in which it states them.
    pub endpoints: Vec<Endpoint>,
    /// Names without targets.
    pub pending: ThinVec<Pending>,
    /// What is asked for beyond that, and cannot be determined now.
    pub unknown: ThinVec<Unknown>,
    /// What to report to the owner of the object.
    pub notes: ThinVec<Note>,
    /// Every kind that the mapper read: the result is only as complete and fresh as these.
    pub kinds: Kinds,
    /// What it asks for under another prefix; only objects that carry such a prefix have it.
    pub other_prefix: Option<Box<OtherPrefix>>,
}

/// How serious a note is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// For information; an event of type Normal.
    Normal,
    /// Something does not work as asked; an event of type Warning.
    Warning,
}

/// Something that the owner of an object should know: which field, what is wrong, what was expected.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Note {
    /// The object on which the event is posted.
    pub object: ObjectRef,
    /// Whether it becomes an event of type Normal or Warning.
    pub severity: Severity,
    /// A word in CamelCase, the `reason` of an event and the label of a metric.
    pub reason: &'static str,
    /// One or two sentences.
    pub message: String,
}

impl Note {
    /// A note of severity [`Severity::Warning`].
    pub fn warning(object: &ObjectRef, reason: &'static str, message: impl Into<String>) -> Self {
        Self { object: object.clone(), severity: Severity::Warning, reason, message: message.into() }
    }

    /// A piece of information.
    pub fn normal(object: &ObjectRef, reason: &'static str, message: impl Into<String>) -> Self {
        Self { object: object.clone(), severity: Severity::Normal, reason, message: message.into() }
    }
}

/// A text of at most so many bytes; what is left out in its middle leaves `...`, so that its end, the reason, stays.
pub fn shortened(text: &str, bytes: usize) -> Cow<'_, str> {
    if text.len() <= bytes {
        return Cow::Borrowed(text);
    }
    let half = bytes.saturating_sub(5) / 2;
    let head = text.get(..text.floor_char_boundary(half)).unwrap_or_default();
    let tail = text.get(text.ceil_char_boundary(text.len() - half)..).unwrap_or_default();
    Cow::Owned(format!("{head} ... {tail}"))
}

/// Takes notes to where they are read: events, log, metrics.
pub trait Reporter: Send + Sync {
    /// Reports one note. Never blocks; a full queue loses notes, not records.
    fn report(&self, note: &Note);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_keeps_its_end() {
        assert_eq!(shortened("short", 5), "short");
        assert_eq!(shortened("0123456789abcdef", 15), "01234 ... bcdef");
        assert_eq!(shortened(&"ä".repeat(20), 15), "ää ... ää");
    }
}
