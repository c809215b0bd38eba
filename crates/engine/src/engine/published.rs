//! What is published, for sources that choose among more names than an object may have.
//!
//! In comes a name with the label of an object, out goes whether the object has a record there. What must hold: as long as a
//! zone that may hold the name is not read, the answer is "not known".

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use zonewright_core::claim::Ownership;
use zonewright_core::name::DnsName;
use zonewright_core::record::RecordSet;
use zonewright_core::source::{Presence, PublishedNames};

use super::board::{Board, Desk, Office};
use super::facts::ownership;

/// The board as sources see it.
pub(super) struct Published(pub(super) Weak<Board>);

impl PublishedNames for Published {
    fn presence(&self, name: &DnsName, resource: Option<&Arc<str>>) -> Presence {
        self.0.upgrade().map_or(Presence::Unread, |board| {
            let named = |_: &RecordSet, label: Option<&Arc<str>>| label.is_none_or(|label| resource == Some(label));
            presence(&board, name, &named)
        })
    }
}

/// Whether a record of ours stands at `name` that `counts`, by the set and the label of its claim.
pub(super) fn presence(
    board: &Board,
    name: &DnsName,
    counts: &dyn Fn(&RecordSet, Option<&Arc<str>>) -> bool,
) -> Presence {
    let mut unread = false;
    for office in &board.offices {
        unread |= !office.listing().tried;
        for desk in office.desks().iter().filter(|desk| desk.zone.covers(name)) {
            if !desk.view().is_complete() {
                unread = true;
            } else if holds(board, office, desk, name, counts) {
                return Presence::Held;
            }
        }
    }
    if unread { Presence::Unread } else { Presence::Free }
}

fn holds(
    board: &Board,
    office: &Office,
    desk: &Desk,
    name: &DnsName,
    counts: &dyn Fn(&RecordSet, Option<&Arc<str>>) -> bool,
) -> bool {
    let sets = desk.view().at(name);
    let records = sets
        .iter()
        .filter(|set| board.config.managed.contains(&set.key.rtype) && !office.instance.registry.is_claim(set));
    let mut records = records;
    records.any(|set| match ownership(office, desk, &set.key) {
        Ownership::Ours(claim) => counts(set, claim.as_ref().and_then(|claim| claim.resource.as_ref())),
        _ => false,
    })
}

/// How often sources were told that a zone was read, and how much of that the intake has taken over since.
#[derive(Debug, Default)]
pub(crate) struct ExternalChanges {
    told: AtomicU64,
    taken: AtomicU64,
}

impl ExternalChanges {
    /// Something will be mapped again.
    pub(super) fn tell(&self) {
        self.told.fetch_add(1, Ordering::SeqCst);
    }

    /// What was told so far, to be handed to [`ExternalChanges::take`] after the next look at the sources.
    pub(super) fn told(&self) -> u64 {
        self.told.load(Ordering::SeqCst)
    }

    pub(super) fn take(&self, told: u64) {
        self.taken.store(told, Ordering::SeqCst);
    }

    /// Whether something is still to be taken over.
    pub(super) fn is_open(&self) -> bool {
        self.told() != self.taken.load(Ordering::SeqCst)
    }
}
