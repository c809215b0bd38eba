//! What a change means for the entry of its record.
//!
//! In: what a group does to a record, or to the claim on one, and what is said of that record. Out: whether it may be done, what is written ahead of it, and what
//! the entry says after it. What must hold: what is written ahead gives no right to anything but what the step announces,
//! or what was ours before it.

use std::sync::Arc;

use zonewright_core::change::{Change, Group, Role, Step, StoreEffect, StoreStep};
use zonewright_core::claim::{Claim, ClaimRank, OwnerId, Ownership, judge};
use zonewright_core::{RecordKey, RecordSet};

use super::entry::{Entry, ZoneRecord};
use super::right::{Kind, Next, Right, Seal};

/// What a group does to one record, or to the claim on one that it leaves as it is.
#[derive(Clone, Copy)]
pub(super) enum Action<'g> {
    /// A record changes.
    Change(&'g Step),
    /// Its claim alone changes.
    Claim(&'g StoreStep),
}

impl<'g> Action<'g> {
    /// Everything that a group does.
    pub(super) fn all(group: &'g Group) -> impl Iterator<Item = Self> {
        group.steps.iter().map(Self::Change).chain(group.stored.iter().map(Self::Claim))
    }

    /// The record.
    pub(super) fn key(self) -> &'g RecordKey {
        match self {
            Self::Change(step) => step.change.key(),
            Self::Claim(step) => step.key(),
        }
    }

    /// The record as it stands before.
    pub(super) fn from(self) -> Option<&'g RecordSet> {
        match self {
            Self::Change(step) => step.change.from(),
            Self::Claim(step) => step.record(),
        }
    }

    /// The record as it stands after.
    pub(super) fn to(self) -> Option<&'g RecordSet> {
        match self {
            Self::Change(step) => step.change.to(),
            Self::Claim(step) => step.record(),
        }
    }

    /// Whether a claim ends whose record does not stand.
    pub(super) fn ends(self) -> bool {
        matches!(self, Self::Claim(StoreStep { effect: StoreEffect::End(_), .. }))
    }

    /// The record that is created, if one is.
    fn created(self) -> Option<&'g RecordSet> {
        match self {
            Self::Change(Step { change: Change::Create { to }, .. }) => Some(to),
            _ => None,
        }
    }

    /// The record with other data than it has, if it comes or changes.
    fn written(self) -> Option<&'g RecordSet> {
        match self {
            Self::Change(Step { change: Change::Update { from, to }, .. }) => {
                (Seal::of(from) != Seal::of(to)).then_some(to)
            }
            other => other.created(),
        }
    }

    /// Whether the claim on a record that stays becomes ours.
    fn takes(self, me: &OwnerId) -> bool {
        matches!(self, Self::Claim(StoreStep { effect: StoreEffect::Assign { owner: Some(owner), .. }, .. }) if owner == me)
    }

    /// Whether the claim on a record that stays ends.
    fn gives_up(self) -> bool {
        matches!(self, Self::Claim(StoreStep { effect: StoreEffect::Assign { owner: None, .. }, .. }))
    }

    fn held(self) -> Option<&'g Claim> {
        match self {
            Self::Change(step) => step.held.as_deref(),
            Self::Claim(step) => step.held.as_deref(),
        }
    }
}

/// The claims that are made on a record by what is said of it. What an owner only announced, or has not seen for a while, does
/// not count against the confirmed claim of another one.
pub(super) fn claims(rights: &[Right], standing: Option<Seal>) -> Vec<Claim> {
    let claim = |right: &Right| {
        let (resource, labels) = right.speaks(standing)?;
        Some(Claim {
            owner: right.owner.clone(),
            resource: resource.clone(),
            labels: labels.clone(),
            rank: ClaimRank::Typed,
            current: right.kind != Kind::Given,
            site: None,
        })
    };
    let firm = rights.iter().any(Right::is_firm);
    let counts = |right: &&Right| !firm || right.is_firm() || right.kind != Kind::Own;
    rights.iter().filter(counts).filter_map(claim).collect()
}

/// Why a record is not ours to change, as a sentence.
pub(super) fn not_ours(key: &RecordKey, me: &OwnerId, ownership: &Ownership) -> String {
    match ownership {
        Ownership::Foreign(owner) => {
            format!("{key} belongs to owner {owner} in the registry object of its own or ours")
        }
        Ownership::Disputed(owners) => {
            let owners: Vec<String> = owners.iter().map(ToString::to_string).collect();
            format!("owners {} claim {key} at the same time", owners.join(", "))
        }
        Ownership::Unclaimed | Ownership::Ours(_) => format!("{key} is not listed as a record of owner {me}"),
    }
}

/// Whether an action may be done by what is said of its record.
///
/// # Errors
/// Why not.
pub(super) fn check(me: &OwnerId, action: Action<'_>, rights: &[Right]) -> Result<(), String> {
    let standing = action.from().map(Seal::of);
    let ownership = judge(&claims(rights, standing), Some(me));
    let takes = action.takes(me);
    let free = takes || action.created().is_some();
    let own = || rights.iter().any(|right| right.kind == Kind::Own && right.owner == *me);
    if let Some(problem) = two_open(me, action, rights).or_else(|| same_announced(me, action, rights)) {
        return Err(problem);
    }
    match ownership {
        _ if action.ends() && own() => Ok(()),
        Ownership::Ours(claim) if changed_since(action, claim.as_ref()) => {
            Err(format!("another writer changed whom {} belongs to in its entry", action.key()))
        }
        Ownership::Ours(_) => Ok(()),
        Ownership::Unclaimed if free => Ok(()),
        // That ends the dispute.
        Ownership::Disputed(owners) if action.gives_up() && owners.contains(me) => Ok(()),
        Ownership::Foreign(owner) if takes && gave(me, action, &owner, rights) => Ok(()),
        Ownership::Foreign(owner) if takes && action.held().is_some_and(|held| held.owner == owner) => Err(format!(
            "{} was given to owner {owner}, who has taken it into an object of their own; it comes back with: zonewright \
             transfer --from {owner} --to {me}",
            action.key()
        )),
        other => Err(not_ours(action.key(), me, &other)),
    }
}

/// Whether the entry of what becomes ours, or changes, leaves the objects room for others: one that does not would have them
/// split again and again.
///
/// # Errors
/// Why not.
pub(super) fn check_length(me: &OwnerId, action: Action<'_>, place: &ZoneRecord, longest: usize) -> Result<(), String> {
    let changes = matches!(action, Action::Change(_)) || action.takes(me);
    let Some(to) = action.to().filter(|_| changes) else { return Ok(()) };
    let length = Entry::of(place, to, done(me, action).as_ref(), None).length();
    if length <= longest {
        return Ok(());
    }
    Err(format!("the entry of {} in the registry would have {length} bytes, and {longest} is the most", place.key))
}

/// Whether the claim by which a record is ours is another one than its change was planned by: what it says of resource and
/// policy decides whether the change may be done.
fn changed_since(action: Action<'_>, claim: Option<&Claim>) -> bool {
    let planned = action.held().filter(|_| matches!(action, Action::Change(Step { role: Role::Record, .. })));
    planned.zip(claim).is_some_and(|(planned, now)| planned.resource != now.resource || planned.labels != now.labels)
}

/// Why a record cannot be announced: an update of it was, no reading has shown yet what became of that, and an entry holds one
/// announcement.
fn two_open(me: &OwnerId, action: Action<'_>, rights: &[Right]) -> Option<String> {
    let to = action.created()?;
    let own = rights.iter().find(|right| right.kind == Kind::Own && right.owner == *me)?;
    let other = own.only.is_some() && own.next.as_ref().is_some_and(|next| next.seal != Seal::of(to));
    other.then(|| format!("what became of an earlier write of {} is not known yet", to.key))
}

/// Why a record cannot be created, or changed to what it is to be: an entry speaks for the very same one, of another owner or of one to
/// whom it was handed. Whose it is could not be determined later.
fn same_announced(me: &OwnerId, action: Action<'_>, rights: &[Right]) -> Option<String> {
    let to = action.written()?;
    let other = rights.iter().find(|right| right.rivals(me, Some(Seal::of(to))))?;
    Some(format!("owner {} has announced {to} too, and no reading has shown yet what became of that", other.owner))
}

/// Whether the record is `owner`'s by our statement alone, as the action says that it is: what we gave and nobody took, we may
/// take back.
fn gave(me: &OwnerId, action: Action<'_>, owner: &OwnerId, rights: &[Right]) -> bool {
    let held = action.held().is_some_and(|held| held.owner == *owner);
    held && rights.iter().all(|right| right.kind == Kind::Given && right.owner != *me)
}

/// The record that stands until the action is done; of one that is created, what it will be; none where a claim ends whose record
/// is gone.
pub(super) fn subject(action: Action<'_>) -> Option<&RecordSet> {
    action.from().or(action.to())
}

/// What is written before a group is sent; `None` where the entry already says what it must. `base` is our entry, `granted` the
/// claim by which the record is ours.
pub(super) fn ahead(me: &OwnerId, action: Action<'_>, base: Option<&Right>, granted: Option<&Claim>) -> Option<Right> {
    let own = base.filter(|base| base.kind == Kind::Own);
    match action {
        Action::Claim(step) => handed(me, step),
        Action::Change(step) if step.role == Role::Claim => None,
        Action::Change(step) => match &step.change {
            Change::Create { to } => Some(created(me, step, own, to)),
            Change::Update { from, to } => updated(me, step, own, granted, from, to),
            Change::Delete { from } => own.map(|own| own.within(from)),
        },
    }
}

fn created(me: &OwnerId, step: &Step, own: Option<&Right>, to: &RecordSet) -> Right {
    let known = |own: &&Right| own.only != Some(Seal::of(to));
    match own.filter(known) {
        // No reading shows the record, and it may stand all the same: our claim on it goes on, as far as it went.
        Some(own) => {
            let seen = if own.only.is_none() { Seal::of(to) } else { own.seen };
            Right { next: Some(Box::new(next(step, to))), seen, ..own.clone() }
        }
        None => Right { only: Some(Seal::of(to)), ..said(me, step, to) },
    }
}

fn updated(
    me: &OwnerId,
    step: &Step,
    own: Option<&Right>,
    granted: Option<&Claim>,
    from: &RecordSet,
    to: &RecordSet,
) -> Option<Right> {
    let (resource, labels) = granted.map(|claim| (claim.resource.clone(), claim.labels.clone())).unwrap_or_default();
    let same = resource == step.resource && labels == step.labels;
    if same && own.is_some_and(|own| !own.is_open()) {
        return None;
    }
    let next = Some(Box::new(next(step, to)));
    Some(match own.filter(|own| !own.is_open()) {
        Some(own) => Right { next, seen: Seal::of(from), ..own.clone() },
        None => Right { resource, labels, only: Some(Seal::of(from)), next, ..Right::own(me, from) },
    })
}

/// The entry of a record that changes hands: it counts for the record as it was read.
fn handed(me: &OwnerId, step: &StoreStep) -> Option<Right> {
    let StoreEffect::Assign { record, owner: Some(owner), resource, labels } = &step.effect else { return None };
    let kind = if owner == me { Kind::Own } else { Kind::Given };
    let (resource, labels) = (resource.clone(), sorted(labels));
    Some(Right { owner: owner.clone(), kind, resource, labels, only: Some(Seal::of(record)), ..Right::own(me, record) })
}

/// What our entry says once an action is done; `None` where it says nothing more. `ahead` was written before it.
pub(super) fn done(me: &OwnerId, action: Action<'_>) -> Option<Right> {
    match action {
        Action::Claim(step) => handed(me, step),
        Action::Change(step) if step.role == Role::Claim => None,
        Action::Change(step) => step.change.to().map(|to| said(me, step, to)),
    }
}

fn said(me: &OwnerId, step: &Step, set: &RecordSet) -> Right {
    Right { resource: step.resource.clone(), labels: sorted(&step.labels), ..Right::own(me, set) }
}

fn next(step: &Step, to: &RecordSet) -> Next {
    Next { seal: Seal::of(to), resource: step.resource.clone(), labels: sorted(&step.labels) }
}

fn sorted(labels: &[(Arc<str>, Arc<str>)]) -> Vec<(Arc<str>, Arc<str>)> {
    let mut labels = labels.to_vec();
    labels.sort();
    labels
}

impl Right {
    /// The same, for the record as it stands now and no other.
    fn within(&self, set: &RecordSet) -> Self {
        let standing = Seal::of(set);
        let (resource, labels) = self
            .speaks(Some(standing))
            .map_or_else(Default::default, |(resource, labels)| (resource.clone(), labels.clone()));
        Self { resource, labels, only: Some(standing), next: None, seen: standing, lost: false, ..self.clone() }
    }
}
