//! Bringing the claim on a record that stays to where and how it would be written today.
//!
//! In: a record as it was read, and what is published. Out: the next step of the move, or nothing if there is none. The steps:
//! the claim is written at today's place beside the former one; and once it stands there, the former ones go. Every step
//! requires the record and the claims that it rests on, exactly as they were read, and leaves at least one claim of ours that
//! today's settings read. So the move can be broken off anywhere and taken up by any process. A step that takes claims away must
//! rest on what was read of the zone, not on what was written: the engine sees to that.
//!
//! A claim in the other form (plain, sealed) stands at the right name already: it is replaced there in one step, and both forms
//! are read.

use zonewright_core::change::Group;
use zonewright_core::claim::{Claim, judge};
use zonewright_core::{RecordKey, RecordSet};

use super::claims::leftovers;
use super::decorate::Draft;
use super::value::Heritage;
use super::view::View;

/// `None` if the record is not ours, nothing is to be moved, or something is in the way.
pub(super) fn upgrade(view: &View<'_>, record: &RecordSet) -> Option<Group> {
    let claims = view.claims(&record.key);
    let ownership = judge(&claims, Some(&view.rules.owner));
    let claim = ownership.claim()?;
    let mut draft = Draft::empty(view);
    draft.reforms = true;
    draft.requires.push(record.clone());
    if claim.current {
        drop_leftovers(view, &record.key, claim, &mut draft)?;
    } else {
        let heritage = Heritage::new(&view.rules.owner, claim.resource.as_ref(), &claim.labels);
        draft.claim(None, record, &heritage, claim).ok()?;
    }
    let group = Group {
        name: record.key.name.clone(),
        steps: Vec::new(),
        stored: Vec::new(),
        requires: Vec::new(),
        objects: Vec::new(),
    };
    Some(draft.add_to(group)).filter(|group| !group.steps.is_empty())
}

fn drop_leftovers(view: &View<'_>, key: &RecordKey, claim: &Claim, draft: &mut Draft<'_>) -> Option<()> {
    let (_, home) = claim.site.as_ref()?;
    draft.requires.push(home.clone());
    leftovers(view, key).into_iter().try_for_each(|site| draft.withdraw_claim(key, site)).ok()
}
