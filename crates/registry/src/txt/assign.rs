//! Claims that change hands while their record stays.
//!
//! In: a record as it was read, and what shall become of the claim on it. Out: a group of claim changes that requires the
//! record and every claim as they were read, or the sentence that says why not.

use zonewright_core::change::{Change, Group};
use zonewright_core::claim::{Claim, OwnerId, Ownership, judge};
use zonewright_core::registry::{Dropped, OwnershipChange};
use zonewright_core::{RData, RecordData, RecordSet};

use super::decorate::Draft;
use super::rewrite::foreign_members;
use super::value::Heritage;
use super::view::{Site, View};

pub(super) fn assign(view: &View<'_>, record: &RecordSet, change: &OwnershipChange) -> Result<Option<Group>, Dropped> {
    let mut draft = Draft::empty(view);
    draft.requires.push(record.clone());
    let claims = view.claims(&record.key);
    let ownership = judge(&claims, Some(&view.rules.owner));
    let done = match (change, ownership) {
        (OwnershipChange::Take(_), Ownership::Ours(_)) | (OwnershipChange::Disown, Ownership::Unclaimed) => {
            return Ok(None);
        }
        (OwnershipChange::Take(resource), Ownership::Unclaimed) => {
            draft.place(record, &Heritage::new(&view.rules.owner, resource.as_ref(), &[]))
        }
        (OwnershipChange::Give(owner), Ownership::Foreign(other)) if *owner == other => return Ok(None),
        (OwnershipChange::Give(owner), Ownership::Ours(Some(claim))) => give(&mut draft, record, owner, &claim),
        (OwnershipChange::Disown, Ownership::Ours(_)) => disown(&mut draft, record),
        // The claims of the others stay: that ends the dispute.
        (OwnershipChange::Disown, Ownership::Disputed(owners)) if owners.contains(&view.rules.owner) => {
            let shared = draft.shared_sites(&record.key).collect();
            withdraw(&mut draft, record, shared)
        }
        (_, other) => Err(draft.not_ours(&record.key, &other, &claims)),
    };
    done.map_err(|reason| Dropped { reason })?;
    let group = Group {
        name: record.key.name.clone(),
        steps: Vec::new(),
        stored: Vec::new(),
        requires: Vec::new(),
        objects: Vec::new(),
    };
    Ok(Some(draft.add_to(group)).filter(|group| !group.steps.is_empty()))
}

/// The claim says another owner from now on: where it stands if that is its place, else at its place, and the former goes.
fn give(draft: &mut Draft<'_>, record: &RecordSet, owner: &OwnerId, claim: &Claim) -> Result<(), String> {
    let heritage = Heritage::new(owner, claim.resource.as_ref(), &claim.labels);
    if !draft.view.is_at_home(&record.key, claim) {
        draft.place(record, &heritage)?;
        return disown(draft, record);
    }
    for site in draft.own_sites(&record.key).collect::<Vec<_>>() {
        if claim.site.as_ref().is_none_or(|(_, set)| set.key != site.set.key) {
            draft.withdraw_claim(&record.key, site)?;
            continue;
        }
        let text = draft.text(&record.key, &heritage)?;
        let members = foreign_members(draft.view.rules, &site.set).into_iter().chain([text]);
        let data: RecordData = RecordData::records(members.collect::<Vec<RData>>());
        let to = RecordSet { data, ..site.set.clone() };
        draft.push(&record.key, Change::Update { from: site.set, to })?;
    }
    Ok(())
}

fn disown(draft: &mut Draft<'_>, record: &RecordSet) -> Result<(), String> {
    let own = draft.own_sites(&record.key).collect();
    withdraw(draft, record, own)
}

fn withdraw(draft: &mut Draft<'_>, record: &RecordSet, sites: Vec<Site>) -> Result<(), String> {
    sites.into_iter().try_for_each(|site| draft.withdraw_claim(&record.key, site))
}
