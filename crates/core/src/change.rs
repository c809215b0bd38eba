//! Changes to a zone, the groups that stand or fall together, and what became of them.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::claim::{Claim, OwnerId};
use crate::endpoint::ObjectRef;
use crate::error::{Error, ErrorKind};
use crate::name::DnsName;
use crate::record::{RecordKey, RecordSet};
use crate::rtype::RecordType;

/// A change of one record set. Old and new travel together: the old one is also the precondition.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Change {
    /// Nothing of this key stands now.
    Create {
        /// What shall stand.
        to: RecordSet,
    },
    /// The content changes; both sides have the same key.
    Update {
        /// What stands now.
        from: RecordSet,
        /// What shall stand.
        to: RecordSet,
    },
    /// The record set goes.
    Delete {
        /// What stands now.
        from: RecordSet,
    },
}

impl Change {
    /// The key that is changed.
    pub fn key(&self) -> &RecordKey {
        match self {
            Self::Create { to } | Self::Update { to, .. } => &to.key,
            Self::Delete { from } => &from.key,
        }
    }

    /// What stands before.
    pub fn from(&self) -> Option<&RecordSet> {
        match self {
            Self::Create { .. } => None,
            Self::Update { from, .. } | Self::Delete { from } => Some(from),
        }
    }

    /// What stands after.
    pub fn to(&self) -> Option<&RecordSet> {
        match self {
            Self::Create { to } | Self::Update { to, .. } => Some(to),
            Self::Delete { .. } => None,
        }
    }

    /// Every verb, as metrics and logs write it.
    pub const VERBS: [&str; 3] = ["create", "update", "delete"];

    /// One of [`Change::VERBS`].
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Create { .. } => "create",
            Self::Update { .. } => "update",
            Self::Delete { .. } => "delete",
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Create { to } => write!(f, "+ {to}"),
            Self::Update { from, to } => write!(f, "~ {to} (was {})", Former { from, to }),
            Self::Delete { from } => write!(f, "- {from}"),
        }
    }
}

/// What an update replaces: the content, and a TTL where another one is asked for.
struct Former<'a> {
    from: &'a RecordSet,
    to: &'a RecordSet,
}

impl fmt::Display for Former<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to } = self;
        match from.ttl.filter(|_| to.ttl.is_some() && from.ttl != to.ttl) {
            Some(ttl) if from.data == to.data => write!(f, "TTL {ttl}"),
            Some(ttl) => write!(f, "{}, TTL {ttl}", from.data),
            None => from.data.fmt(f),
        }
    }
}

/// Whether a step changes a record that an object asked for, or the claim on one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// A record that an object asks for, or asked for.
    Record,
    /// A claim record; never counted by the brake.
    Claim,
}

/// One change of a group, with what the registry needs to know for its claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The change, with the old and the new side.
    pub change: Change,
    /// Record or claim.
    pub role: Role,
    /// The resource that the claim shall name.
    pub resource: Option<Arc<str>>,
    /// Further labels that the claim shall carry, in the order of their keys.
    pub labels: Vec<(Arc<str>, Arc<str>)>,
    /// Our claim on the record as it stands now, if it is known; a provider that takes labels along sends it.
    pub held: Option<Box<Claim>>,
    /// Whose the record will be.
    pub owner: Option<OwnerId>,
}

impl Step {
    /// A change of a record.
    pub fn record(change: Change, resource: Option<Arc<str>>) -> Self {
        Self { change, role: Role::Record, resource, labels: Vec::new(), held: None, owner: None }
    }

    /// A change of a claim.
    pub fn claim(change: Change) -> Self {
        Self { change, role: Role::Claim, resource: None, labels: Vec::new(), held: None, owner: None }
    }
}

/// A change of a claim that is kept outside the zones, on a record that the group leaves as it is. The registry's
/// [`ClaimStore`](crate::registry::ClaimStore) writes it; nothing of it is sent to a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreStep {
    /// What becomes of the claim.
    pub effect: StoreEffect,
    /// The claim as it stands now, if it is known.
    pub held: Option<Box<Claim>>,
}

/// What becomes of a claim that is kept outside the zones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreEffect {
    /// The record stays, and its claim is this one.
    Assign {
        /// The record as it was read.
        record: RecordSet,
        /// Whose it becomes; `None` for nobody's.
        owner: Option<OwnerId>,
        /// The resource that the claim shall name.
        resource: Option<Arc<str>>,
        /// Further labels that the claim shall carry, in the order of their keys.
        labels: Vec<(Arc<str>, Arc<str>)>,
    },
    /// No such record stands, and the claim on it ends.
    End(RecordKey),
}

impl StoreStep {
    /// The record stays and becomes `owner`'s, or nobody's.
    pub fn assign(
        record: RecordSet,
        owner: Option<OwnerId>,
        resource: Option<Arc<str>>,
        labels: Vec<(Arc<str>, Arc<str>)>,
    ) -> Self {
        Self { effect: StoreEffect::Assign { record, owner, resource, labels }, held: None }
    }

    /// The claim on a record that does not stand ends.
    pub fn end(key: RecordKey) -> Self {
        Self { effect: StoreEffect::End(key), held: None }
    }

    /// The record that the claim speaks of.
    pub fn key(&self) -> &RecordKey {
        match &self.effect {
            StoreEffect::Assign { record, .. } => &record.key,
            StoreEffect::End(key) => key,
        }
    }

    /// That record as it stands; `None` where it does not.
    pub fn record(&self) -> Option<&RecordSet> {
        match &self.effect {
            StoreEffect::Assign { record, .. } => Some(record),
            StoreEffect::End(_) => None,
        }
    }
}

impl fmt::Display for StoreStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.effect {
            StoreEffect::Assign { record, owner: Some(owner), .. } => write!(f, "= {record} (owner {owner})"),
            StoreEffect::Assign { record, owner: None, .. } => write!(f, "= {record} (no owner)"),
            StoreEffect::End(key) => write!(f, "- claim of {key}"),
        }
    }
}

/// Something that must hold of the zone for a group to take effect, besides the old side of its changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Precondition {
    /// This record set stands exactly so. Its TTL is not compared, since RFC 2136 cannot.
    Exact(RecordSet),
    /// No record set of this key stands.
    Absent(RecordKey),
    /// No record of any type stands at the name.
    NameNotInUse(DnsName),
}

impl Precondition {
    /// The name that it speaks of.
    pub fn name(&self) -> &DnsName {
        match self {
            Self::Exact(set) => &set.key.name,
            Self::Absent(key) => &key.name,
            Self::NameNotInUse(name) => name,
        }
    }
}

/// The changes that stand or fall together: a record, its claim, and for a change of type the old record and claim too.
///
/// ```
/// use zonewright_core::change::{Change, Group, Precondition, Step};
/// use zonewright_core::{DnsName, RData, RecordSet, RecordType};
///
/// let name = DnsName::parse("www.example.com")?;
/// let to = RecordSet::simple(name, RecordType::A, None, [RData::parse(RecordType::A, "192.0.2.1").unwrap()]);
/// let group = Group::of(Step::record(Change::Create { to: to.clone() }, Some("service/shop/web".into())), vec![]);
/// assert_eq!(group.preconditions(), [Precondition::Absent(to.key)]);
/// # Ok::<(), zonewright_core::name::NameError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The name that the group is about.
    pub name: DnsName,
    /// The changes in the zone; empty only where claims outside of it are all that changes.
    pub steps: Vec<Step>,
    /// Claims outside the zones that change while their records stay as they are.
    pub stored: Vec<StoreStep>,
    /// What must hold besides the old sides of the steps: claims that stay as they are, names that must be free.
    pub requires: Vec<Precondition>,
    /// The objects that caused it, for events.
    pub objects: Vec<ObjectRef>,
}

impl Group {
    /// A group of one record change.
    pub fn of(step: Step, objects: Vec<ObjectRef>) -> Self {
        Self {
            name: step.change.key().name.clone(),
            steps: vec![step],
            stored: Vec::new(),
            requires: Vec::new(),
            objects,
        }
    }

    /// A group that changes one claim outside the zones and nothing in them.
    pub fn stored(step: StoreStep) -> Self {
        let name = step.key().name.clone();
        Self { name, steps: Vec::new(), stored: vec![step], requires: Vec::new(), objects: Vec::new() }
    }

    /// The changes, records and claims.
    pub fn changes(&self) -> impl Iterator<Item = &Change> {
        self.steps.iter().map(|step| &step.change)
    }

    /// The steps that change records.
    pub fn records(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(|step| step.role == Role::Record)
    }

    /// Everything that must hold for the group to take effect: the old side of each change or its absence, the records whose
    /// claims outside the zones change, then [`Group::requires`]. A CNAME that is created needs its name unused, but for what the group itself takes away.
    pub fn preconditions(&self) -> Vec<Precondition> {
        let mut all = Vec::new();
        for change in self.changes() {
            match change {
                Change::Create { to } if to.key.rtype == RecordType::Cname => all.extend(self.room_for_cname(&to.key)),
                Change::Create { to } => all.push(Precondition::Absent(to.key.clone())),
                Change::Update { from, .. } | Change::Delete { from } => all.push(Precondition::Exact(from.clone())),
            }
        }
        let claimed = self.stored.iter().filter_map(StoreStep::record).cloned().map(Precondition::Exact);
        all.extend(claimed.filter(|claimed| !self.requires.contains(claimed)));
        all.extend(self.requires.iter().cloned());
        all
    }

    /// A CNAME stands alone: its name is not in use, or nothing stands there but what the group itself takes away.
    fn room_for_cname(&self, key: &RecordKey) -> Vec<Precondition> {
        let going = |rtype| {
            self.changes()
                .any(|c| matches!(c, Change::Delete { from } if from.key.name == key.name && from.key.rtype == rtype))
        };
        if !self.changes().any(|c| matches!(c, Change::Delete { from } if from.key.name == key.name)) {
            return vec![Precondition::NameNotInUse(key.name.clone())];
        }
        let staying = RecordType::WRITABLE.into_iter().filter(|rtype| !going(*rtype));
        staying.map(|rtype| Precondition::Absent(RecordKey { rtype, ..key.clone() })).collect()
    }

    /// Whether nothing in the zone changes: the group is for the registry alone ([`Group::stored`]), and a provider answers
    /// [`Outcome::Applied`] to it without a request.
    pub fn changes_nothing(&self) -> bool {
        self.steps.is_empty()
    }

    /// Size in bytes as batch limits count it: the text of all values, new and old.
    pub fn size(&self) -> usize {
        let of = |set: Option<&RecordSet>| set.map_or(0, |s| s.data.to_string().len());
        self.changes().map(|change| of(change.from()) + of(change.to())).sum()
    }

    /// The first change of a record, or of a claim if there is none; for messages.
    pub fn headline(&self) -> String {
        let first = self.records().next().or(self.steps.first()).map(|step| step.change.to_string());
        let first = first.or_else(|| self.stored.first().map(ToString::to_string));
        first.unwrap_or_else(|| self.name.to_string())
    }
}

/// How much a refusal says about the groups of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blame {
    /// This group is the one that was refused.
    Group,
    /// The call was refused as a whole: some group of it is bad.
    Batch,
}

/// What became of one group.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// It is in force.
    Applied,
    /// It was refused and nothing of it is in force.
    Refused {
        /// Why, with the kind that decides about another attempt.
        error: Error,
        /// Whether it was this group.
        blame: Blame,
    },
    /// It was never sent.
    NotSent(Error),
    /// Whether it is in force is not known (time-out, cut answer): the names are read before anything else is done to
    /// them.
    Unknown(Error),
}

impl Outcome {
    /// A refusal of this very group.
    pub fn refused(error: Error) -> Self {
        Self::Refused { error, blame: Blame::Group }
    }

    /// The error, unless the group was applied.
    pub fn error(&self) -> Option<&Error> {
        match self {
            Self::Applied => None,
            Self::Refused { error, .. } | Self::NotSent(error) | Self::Unknown(error) => Some(error),
        }
    }

    /// Whether the other side does not allow it: credentials or rights are missing, for this group or for everything.
    pub fn is_denied(&self) -> bool {
        matches!(self, Self::Refused { error, .. } if error.kind == ErrorKind::Unauthorized)
    }

    /// Every label of metrics, in the order of the variants.
    pub const LABELS: [&str; 4] = ["applied", "refused", "not_sent", "unknown"];

    /// The outcome as a metric label, one of [`Outcome::LABELS`].
    pub fn label(&self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::Refused { .. } => "refused",
            Self::NotSent(_) => "not_sent",
            Self::Unknown(_) => "unknown",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rdata::RData;
    use crate::record::Ttl;

    fn set(name: &str, rtype: RecordType, data: &str) -> RecordSet {
        RecordSet::simple(DnsName::parse(name).unwrap(), rtype, None, [RData::parse(rtype, data).unwrap()])
    }

    #[test]
    fn an_update_shows_what_it_replaces() {
        let with = |ttl: Option<u32>, data: &str| RecordSet {
            ttl: ttl.and_then(Ttl::from_secs),
            ..set("a.example", RecordType::A, data)
        };
        for (from, to, expected) in [
            ((Some(60), "192.0.2.1"), (Some(60), "192.0.2.2"), "~ a.example 60 A 192.0.2.2 (was 192.0.2.1)"),
            ((Some(60), "192.0.2.1"), (Some(30), "192.0.2.1"), "~ a.example 30 A 192.0.2.1 (was TTL 60)"),
            ((Some(60), "192.0.2.1"), (Some(30), "192.0.2.2"), "~ a.example 30 A 192.0.2.2 (was 192.0.2.1, TTL 60)"),
            ((None, "192.0.2.1"), (Some(30), "192.0.2.1"), "~ a.example 30 A 192.0.2.1 (was 192.0.2.1)"),
            ((Some(60), "192.0.2.1"), (None, "192.0.2.2"), "~ a.example A 192.0.2.2 (was 192.0.2.1)"),
        ] {
            let change = Change::Update { from: with(from.0, from.1), to: with(to.0, to.1) };
            assert_eq!(change.to_string(), expected);
        }
    }

    #[test]
    fn a_new_cname_needs_an_unused_name_unless_it_replaces() {
        let cname = set("a.example", RecordType::Cname, "b.example");
        let a = set("a.example", RecordType::A, "192.0.2.1");
        let create = Step::record(Change::Create { to: cname.clone() }, None);
        let fresh = Group::of(create.clone(), vec![]);
        assert_eq!(fresh.preconditions(), [Precondition::NameNotInUse(cname.key.name.clone())]);
        let delete = Step::record(Change::Delete { from: a.clone() }, None);
        let swap = Group { steps: vec![delete, create], ..fresh };
        let all = swap.preconditions();
        assert!(all.contains(&Precondition::Exact(a.clone())) && !all.contains(&Precondition::Absent(a.key.clone())));
        let absent = |rtype| all.contains(&Precondition::Absent(RecordKey { rtype, ..a.key.clone() }));
        assert!(absent(RecordType::Cname) && absent(RecordType::Txt) && absent(RecordType::Aaaa));
    }
}
