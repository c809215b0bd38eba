//! A proposal is carried out, on the way that all changes go.
//!
//! In: actions as they were shown, and the journal of the daemon that looks after the zones. Out: the outcome of each.

use zonewright_core::change::{Group, Outcome};
use zonewright_core::claim::judge;
use zonewright_core::error::{Error, ErrorKind};
use zonewright_core::zone::Zone;

use super::{Action, InstanceSnapshot};
use crate::journal::{Destination, EntryOrigin, JournalWriter, owner_of};
use crate::pipeline::Pipeline;

/// Most groups that are sent together.
const PIECE: usize = 500;

impl InstanceSnapshot {
    /// Carries actions out, each written down before. Returns the outcome of each, in order. What earlier commands left unsettled
    /// is settled first, by the zones as they were read.
    pub async fn carry_out(&self, actions: &[Action], journal: &JournalWriter, origin: &EntryOrigin) -> Vec<Outcome> {
        journal.load_beside_daemon().await;
        for (zone, view) in &self.zones {
            let registry = &self.instance.registry;
            let ownership = |key: &_| judge(&registry.claims(zone, key, self), registry.owner());
            journal.settle(zone, |key| view.find(key), |key| owner_of(&ownership(key), registry.owner())).await;
        }
        let mut outcomes = Vec::new();
        for part in actions.chunk_by(|a, b| a.zone.key == b.zone.key).flat_map(|zone| zone.chunks(PIECE)) {
            outcomes.extend(self.send(part, journal, origin).await);
        }
        // What could not be written at the time is tried once more.
        journal.flush().await;
        outcomes
    }

    async fn send(&self, actions: &[Action], journal: &JournalWriter, origin: &EntryOrigin) -> Vec<Outcome> {
        let Some(zone) = actions.first().map(|action| &action.zone) else { return Vec::new() };
        let pipeline = self.pipeline(zone, journal);
        let groups: Vec<Group> = actions.iter().map(|action| action.group.clone()).collect();
        let (mut sent, unclaimed, committed) = pipeline.carry_out(origin, groups).await;
        if let Err(error) = committed {
            pipeline.doubt(&mut sent, &error).await;
        }
        let mut sent = sent.outcomes.into_iter();
        let outcome = |index: usize| match unclaimed.iter().find(|one| one.index == index) {
            Some(one) => Outcome::NotSent(Error::new(ErrorKind::Conflict, "prepare the claim", one.reason.clone())),
            None => sent.next().unwrap_or_else(|| {
                Outcome::Unknown(Error::new(ErrorKind::Protocol, "apply changes", "the provider gave no outcome"))
            }),
        };
        (0..actions.len()).map(outcome).collect()
    }

    fn pipeline<'a>(&'a self, zone: &'a Zone, journal: &'a JournalWriter) -> Pipeline<'a> {
        let to = Destination { zone, registry: &*self.instance.registry, published: self };
        Pipeline { journal, provider: &*self.instance.provider, to, state: None, dry_run: false }
    }
}
