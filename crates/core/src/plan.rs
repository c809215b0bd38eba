//! The plan for one name: what is wanted against what is published, under ownership, policy and evidence.
//!
//! Pure. In come the record sets that shall stand (in the provider's form), those that do stand, and [`PlanFacts`]; out go
//! groups of changes, and for everything that is not done the reason.

mod change_type;
mod foreign_values;
mod in_set;
mod kept;
mod moved;
mod other_prefix;
mod routing;
mod row;
mod why;

use std::collections::BTreeSet;
use std::sync::Arc;

pub use other_prefix::OtherPrefixRequest;
use row::Row;
pub use why::{Skip, Why};

use crate::capability::CnameRules;
use crate::change::Group;
use crate::claim::Ownership;
use crate::contend::Wanted;
use crate::endpoint::{KindId, ObjectPolicy};
use crate::name::DnsName;
use crate::rdata::RData;
use crate::record::{RecordData, RecordKey, RecordSet, SetId};
use crate::rtype::RecordType;

/// What the further labels begin with that this program notes in claims for itself: no object may say any of them.
pub const OWN_LABELS: &str = "zonewright-";

/// The further label by which a claim remembers the policy of its object, for the time after the object is gone.
pub const POLICY_LABEL: &str = "zonewright-policy";

/// The further label, in memory only, of a claim that is ours by a former owner's name alone: it is rewritten only where
/// an object asks for its record.
pub const FORMER_OWNER_LABEL: &str = "zonewright-former-owner";

/// The further label, in memory only, of a claim on a record set that holds values of others too: one for each of these, in the form
/// of its type's text. They are kept.
pub const FOREIGN_VALUE_LABEL: &str = "zonewright-foreign-value";

/// What may be done at all (`--policy`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Policy {
    /// Create, update, delete.
    Sync,
    /// Create and update.
    UpsertOnly,
    /// Create alone: what stands is neither updated nor deleted.
    CreateOnly,
}

impl Policy {
    /// The policy of a word of `--policy`.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "sync" => Some(Self::Sync),
            "upsert-only" => Some(Self::UpsertOnly),
            "create-only" => Some(Self::CreateOnly),
            _ => None,
        }
    }

    fn may_update(self, object: Option<ObjectPolicy>) -> bool {
        self != Self::CreateOnly && !matches!(object, Some(ObjectPolicy::CreateOnly | ObjectPolicy::Frozen))
    }

    /// Whether a record may be deleted whose object has, or had, a policy of its own; `object_asks`: it still asks for something at
    /// the name.
    pub fn may_delete(self, object: Option<ObjectPolicy>, object_asks: bool) -> bool {
        let retained = object == Some(ObjectPolicy::Retain) && !object_asks;
        self == Self::Sync && !retained && matches!(object, None | Some(ObjectPolicy::Sync | ObjectPolicy::Retain))
    }
}

/// A record set that shall stand, in the provider's form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// The set as it would be written.
    pub set: RecordSet,
    /// What it was made from.
    pub wanted: Arc<Wanted>,
    /// Whether it is an item of a record set that it shares: then its claim says which ([`crate::in_set::label`]).
    pub in_set: bool,
}

/// What is known of a name besides its record sets.
pub trait PlanFacts {
    /// Whose a record set is, or would be: claims may stand where the record does not.
    fn ownership(&self, key: &RecordKey) -> Ownership;

    /// The kinds on which a removal for this resource may not rest now, besides those that the name's claimants read.
    /// `None` is a claim that names no resource: it needs every kind.
    fn doubt(&self, resource: Option<&Arc<str>>) -> Vec<KindId>;

    /// Those of `doubt` that the delete of this record may not pass: the rest is doubt that an operator saw and accepted for
    /// this very delete.
    fn unaccepted(&self, key: &RecordKey, doubt: Vec<KindId>) -> Vec<KindId>;

    /// The kinds that the claimants of the name read and that are not complete and fresh.
    fn doubt_of_claimants(&self) -> Vec<KindId>;

    /// Why the resource asks for the name without known targets, if it does and its grace is not over. `None` as resource
    /// is any object.
    fn pending(&self, resource: Option<&Arc<str>>) -> Option<String>;

    /// What objects ask for at the name under a well-known annotation prefix that is not in force.
    fn other_prefix(&self) -> &[OtherPrefixRequest];

    /// Whether the record stands where something is asked for that cannot be written: under its own key, or by the resource
    /// that holds it with a type that would take its place (one that excludes it, or an address of the other family).
    fn unmet(&self, key: &RecordKey, resource: Option<&Arc<str>>) -> bool;

    /// Whether a DELETE event proves that the resource is gone.
    fn is_proven_gone(&self, resource: Option<&Arc<str>>) -> bool;
}

/// The fixed side of a plan.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// What may be done at all.
    pub policy: Policy,
    /// The record types that count; others are invisible, but for CNAMEs that must stand alone.
    pub managed: &'a BTreeSet<RecordType>,
    /// What a CNAME may stand beside in this zone, and where.
    pub cname: CnameRules,
    /// Whether all sets of a name and type have one kind of routing policy.
    pub one_kind: bool,
    /// Whether those sets are items of one record set, each named by our claim on it ([`crate::in_set`]).
    pub in_set: bool,
    /// Whether a record set may hold several records.
    pub many_targets: bool,
    /// The apex of the zone.
    pub apex: &'a DnsName,
}

impl Rules<'_> {
    /// Whether a set and a record of another type cannot stand at one name.
    fn excludes(&self, set: &RecordSet, other: RecordType) -> bool {
        self.cname.excludes(set.key.rtype, other, set.key.name == *self.apex)
    }
}

/// A group with what the brake needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedGroup {
    /// The changes of records and claims that stand or fall together.
    pub group: Group,
    /// The records that go for good and without proof: those the brake counts.
    pub counted: Vec<RecordKey>,
}

/// What to do at one name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamePlan {
    /// What to send, each group by itself.
    pub groups: Vec<PlannedGroup>,
    /// What is left undone.
    pub skips: Vec<Skip>,
    /// Our records that stay as they are and whose claim is to be brought to where it would be written today.
    pub upgrades: Vec<RecordKey>,
    /// Our records whose claim does not stand there either, but is not moved now: the policy forbids it, or it is still open
    /// what becomes of the record.
    pub unmoved: Vec<RecordKey>,
    /// Records that are wanted and stand, and that nobody claims.
    pub adoptable: Vec<Adoptable>,
}

/// A record that is wanted and that stands, without a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adoptable {
    /// As it is wanted.
    pub wanted: RecordSet,
    /// As it stands.
    pub published: RecordSet,
    /// Who would hold it.
    pub resource: Option<Arc<str>>,
}

impl Adoptable {
    /// Whether it holds what is wanted, whatever its TTL.
    pub fn matches(&self) -> bool {
        self.wanted.data == self.published.data && self.wanted.routing == self.published.routing
    }

    /// Whether it holds one of these values alone: what stands there until the name is published.
    pub fn is_placeholder(&self, placeholders: &[RData]) -> bool {
        match &self.published.data {
            RecordData::Records(values) => {
                self.published.routing.is_simple() && values.len() == 1 && placeholders.contains(&values[0])
            }
            RecordData::Alias(_) | RecordData::Items(_) => false,
        }
    }
}

/// Plans one name. `published` is everything that stands at the name but claims; `claims` are the types of those.
pub fn plan(
    placed: &[Placed],
    published: &[&RecordSet],
    claims: &[RecordType],
    rules: Rules<'_>,
    facts: &dyn PlanFacts,
) -> NamePlan {
    let mut out = NamePlan::default();
    let (managed, other): (Vec<&RecordSet>, Vec<&RecordSet>) =
        published.iter().copied().partition(|s| rules.managed.contains(&s.key.rtype));
    let mut placed: Vec<&Placed> = placed.iter().collect();
    let mut managed: Vec<(&RecordSet, Ownership)> =
        managed.into_iter().map(|set| (set, facts.ownership(&set.key))).collect();
    let row = |placed, published, id: Option<Option<&SetId>>| {
        // Where a name's sets stand in one room, what is not managed bars a CNAME under any identifier.
        let in_row = |set: &&&RecordSet| rules.one_kind || id.is_none_or(|id| set.key.set_id.as_ref() == id);
        let beside = other.iter().filter(in_row);
        let beside = beside.map(|set| set.key.rtype).chain(claims.iter().copied()).collect();
        Row { placed, published, beside, rules, facts }
    };
    if rules.in_set {
        // Without claims nothing distinguishes our items from those of others.
        let unclaimed = |(set, whose): (_, Ownership)| {
            let set: &RecordSet = set;
            let bare = whose == Ownership::Ours(None) && !set.routing.is_simple();
            (set, if bare { Ownership::Unclaimed } else { whose })
        };
        let mut whole = row(placed, managed.into_iter().map(unclaimed).collect(), None);
        in_set::keep_places(&mut whole, &mut out);
        (placed, managed) = (whole.placed, whole.published);
    }
    // Elsewhere nothing waits for what comes under another identifier.
    let everything = if rules.one_kind { placed.clone() } else { Vec::new() };
    let room = moved::Room::of(&everything, &managed);
    if rules.one_kind {
        (placed, managed) = routing::exchange(row(placed, managed, None), &mut out);
    }
    let standing = managed.iter().map(|(set, _)| *set).chain(other.iter().copied());
    let ids: BTreeSet<Option<&SetId>> =
        placed.iter().map(|p| &p.set).chain(standing).map(|s| s.key.set_id.as_ref()).collect();
    let mut moving = Vec::new();
    for id in ids {
        let (here, rest) = managed.into_iter().partition(|(set, _)| set.key.set_id.as_ref() == id);
        managed = rest;
        let wanted = placed.iter().copied().filter(|p| p.set.key.set_id.as_ref() == id).collect();
        moving.extend(row(wanted, here, Some(id)).plan(&|set, ownership| room.moves(set, ownership), &mut out));
    }
    if !moving.is_empty() {
        let whole = row(everything, Vec::new(), None);
        for (set, ownership) in &moving {
            whole.move_away(set, ownership, &mut out);
        }
    }
    out
}

#[cfg(test)]
mod tests;
