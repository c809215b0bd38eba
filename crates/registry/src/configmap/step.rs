//! What a change means for the entry of its record.
//!
//! In: a step of a group and what is said of its record. Out: whether it may be done, what is written ahead of it, and what
//! the entry says after it. What must hold: what is written ahead gives no right to anything but what the step announces,
//! or what was ours before it.

use std::sync::Arc;

use zonewright_core::change::{Change, Role, Step};
use zonewright_core::claim::{Claim, ClaimRank, OwnerId, Ownership, judge};
use zonewright_core::{RecordKey, RecordSet};

use super::right::{Kind, Next, Right, Seal};

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

/// Whether a step may be done by what is said of its record.
///
/// # Errors
/// Why not.
pub(super) fn check(me: &OwnerId, step: &Step, rights: &[Right]) -> Result<(), String> {
    let standing = step.change.from().map(Seal::of);
    let ownership = judge(&claims(rights, standing), Some(me));
    let takes = step.role == Role::Claim && step.owner.as_ref() == Some(me);
    let free = takes || matches!(step.change, Change::Create { .. });
    let ends = step.is_lost() && rights.iter().any(|right| right.kind == Kind::Own && right.owner == *me);
    if let Some(problem) = two_open(me, step, rights).or_else(|| same_announced(me, step, rights)) {
        return Err(problem);
    }
    match ownership {
        _ if ends => Ok(()),
        Ownership::Ours(claim) if changed_since(step, claim.as_ref()) => {
            Err(format!("somebody else changed whom {} belongs to in its entry", step.change.key()))
        }
        Ownership::Ours(_) => Ok(()),
        Ownership::Unclaimed if free => Ok(()),
        Ownership::Foreign(owner) if takes && gave(me, step, &owner, rights) => Ok(()),
        Ownership::Foreign(owner) if takes && step.held.as_ref().is_some_and(|held| held.owner == owner) => {
            Err(format!(
                "{} was given to owner {owner}, who has taken it into an object of their own; it comes back with: zonewright \
             transfer --from {owner} --to {me}",
                step.change.key()
            ))
        }
        other => Err(not_ours(step.change.key(), me, &other)),
    }
}

/// Whether the claim by which a record is ours is another one than the step was planned by: what it says of resource and policy
/// decides whether the step may be done.
fn changed_since(step: &Step, claim: Option<&Claim>) -> bool {
    let planned = step.held.as_deref().filter(|_| step.role == Role::Record);
    planned.zip(claim).is_some_and(|(planned, now)| planned.resource != now.resource || planned.labels != now.labels)
}

/// Why a record cannot be announced: an update of it was, no reading has shown yet what became of that, and an entry holds one
/// announcement.
fn two_open(me: &OwnerId, step: &Step, rights: &[Right]) -> Option<String> {
    let Change::Create { to } = &step.change else { return None };
    let own = rights.iter().find(|right| right.kind == Kind::Own && right.owner == *me)?;
    let other = own.only.is_some() && own.next.as_ref().is_some_and(|next| next.seal != Seal::of(to));
    other.then(|| format!("what became of an earlier write of {} is not known yet", step.change.key()))
}

/// Why a record cannot be announced: another owner's entry speaks for the very same one. Whose it is could not be told later.
fn same_announced(me: &OwnerId, step: &Step, rights: &[Right]) -> Option<String> {
    let Change::Create { to } = &step.change else { return None };
    let other = |right: &&Right| right.kind == Kind::Own && right.owner != *me && right.only.is_some();
    let other = rights.iter().filter(other).find(|right| right.speaks(Some(Seal::of(to))).is_some())?;
    Some(format!("owner {} has announced {to} too, and no reading has shown yet what became of that", other.owner))
}

/// Whether the record is `owner`'s by our word alone, as the step says that it is: what we gave and nobody took, we may take
/// back.
fn gave(me: &OwnerId, step: &Step, owner: &OwnerId, rights: &[Right]) -> bool {
    let held = step.held.as_ref().is_some_and(|held| held.owner == *owner);
    held && rights.iter().all(|right| right.kind == Kind::Given && right.owner != *me)
}

/// The record that stands until the step is done; of one that is created, what it will be.
pub(super) fn subject(change: &Change) -> &RecordSet {
    match change {
        Change::Create { to } => to,
        Change::Update { from, .. } | Change::Delete { from } => from,
    }
}

/// What is written before the step is sent; `None` where the entry already says what it must. `base` is our entry, `granted`
/// the claim by which the record is ours.
pub(super) fn ahead(me: &OwnerId, step: &Step, base: Option<&Right>, granted: Option<&Claim>) -> Option<Right> {
    if step.role == Role::Claim {
        return handed(me, step);
    }
    let own = base.filter(|base| base.kind == Kind::Own);
    match &step.change {
        Change::Create { to } => Some(created(me, step, own, to)),
        Change::Update { from, to } => updated(me, step, own, granted, from, to),
        Change::Delete { from } => own.map(|own| own.within(from)),
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
fn handed(me: &OwnerId, step: &Step) -> Option<Right> {
    let (owner, record) = (step.owner.as_ref()?, step.change.from()?);
    let kind = if owner == me { Kind::Own } else { Kind::Given };
    Some(Right { owner: owner.clone(), kind, only: Some(Seal::of(record)), ..said(me, step, record) })
}

/// What our entry says once the step is done; `None` where it says nothing more. `ahead` was written before it.
pub(super) fn done(me: &OwnerId, step: &Step) -> Option<Right> {
    match (step.role, &step.change) {
        (Role::Claim, _) => handed(me, step),
        (Role::Record, Change::Create { to } | Change::Update { to, .. }) => Some(said(me, step, to)),
        (Role::Record, Change::Delete { .. }) => None,
    }
}

fn said(me: &OwnerId, step: &Step, set: &RecordSet) -> Right {
    Right { resource: step.resource.clone(), labels: sorted(step), ..Right::own(me, set) }
}

fn next(step: &Step, to: &RecordSet) -> Next {
    Next { seal: Seal::of(to), resource: step.resource.clone(), labels: sorted(step) }
}

fn sorted(step: &Step) -> Vec<(Arc<str>, Arc<str>)> {
    let mut labels = step.labels.clone();
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
