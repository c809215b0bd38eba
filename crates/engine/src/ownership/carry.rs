//! A proposal is carried out: written down, sent, and written down again.
//!
//! In: actions as they were shown, and the journal of the daemon that looks after the zones. Out: the outcome of each. What must
//! hold: an entry is durable before its group is sent; where the journal is required and cannot be written, nothing is.

use zonewright_core::change::{Group, Outcome};
use zonewright_core::claim::{OwnerId, judge};
use zonewright_core::error::{Error, ErrorKind};
use zonewright_core::record::{RecordKey, RecordSet};
use zonewright_core::registry::Dropped;
use zonewright_core::zone::Zone;

use super::{Action, InstanceSnapshot};
use crate::journal::{Handover, Scribe, Standing, owner_of};

/// Most groups that are sent together.
const PIECE: usize = 500;

impl InstanceSnapshot {
    /// Carries actions out, each written down before. Returns the outcome of each, in order. What earlier commands left unsettled
    /// is settled first, by the zones as they were read.
    pub async fn carry_out(&self, actions: &[Action], journal: &Scribe) -> Vec<Outcome> {
        journal.settle(self).await;
        let mut outcomes = Vec::new();
        for part in actions.chunk_by(|a, b| a.zone.key == b.zone.key).flat_map(|zone| zone.chunks(PIECE)) {
            outcomes.extend(self.send(part, journal).await);
        }
        outcomes
    }

    async fn send(&self, actions: &[Action], journal: &Scribe) -> Vec<Outcome> {
        let Some(zone) = actions.first().map(|action| &action.zone) else { return Vec::new() };
        let groups: Vec<Group> = actions.iter().map(|action| action.group.clone()).collect();
        let prepared = self.instance.registry.prepare(zone, groups).await;
        let ready: Vec<(Group, &[Handover])> = prepared
            .iter()
            .zip(actions)
            .filter_map(|(group, action)| Some((group.as_ref().ok()?.clone(), action.handed.as_slice())))
            .collect();
        let mut sent = self.apply(zone, ready, journal).await.into_iter();
        let outcome = |group: Result<Group, (Group, Dropped)>| match group {
            Err((_, dropped)) => Outcome::NotSent(Error::new(ErrorKind::Conflict, "prepare the claim", dropped.reason)),
            Ok(_) => sent.next().unwrap_or_else(|| {
                Outcome::Unknown(Error::new(ErrorKind::Protocol, "apply changes", "the provider gave no outcome"))
            }),
        };
        prepared.into_iter().map(outcome).collect()
    }

    /// Writes down, sends, and lets the registry and the journal know what became of it.
    async fn apply(&self, zone: &Zone, ready: Vec<(Group, &[Handover])>, journal: &Scribe) -> Vec<Outcome> {
        if ready.is_empty() {
            return Vec::new();
        }
        let entries: Vec<(&Group, &[Handover])> = ready.iter().map(|(group, handed)| (group, *handed)).collect();
        let begun = journal.begin(zone, &entries).await;
        let groups: Vec<Group> = ready.into_iter().map(|(group, _)| group).collect();
        let sent = match &begun {
            Ok(_) => self.instance.provider.apply(zone, &groups).await,
            Err(error) => groups.iter().map(|_| Outcome::NotSent(error.clone())).collect(),
        };
        let noted = self.instance.registry.commit(zone, &groups, &sent).await;
        let sent: Vec<Outcome> = match noted {
            Ok(()) => sent,
            // What was not sent is no more in force for that.
            Err(error) => sent.into_iter().map(|outcome| unnoted(outcome, &error)).collect(),
        };
        if let Ok(ids) = &begun {
            journal.end(ids, &sent).await;
        }
        sent
    }
}

/// An outcome that the registry could not write down.
fn unnoted(outcome: Outcome, error: &Error) -> Outcome {
    if matches!(outcome, Outcome::NotSent(_)) { outcome } else { Outcome::Unknown(error.clone()) }
}

impl Standing for InstanceSnapshot {
    fn zone(&self, zone: &str) -> Option<&Zone> {
        self.zones.iter().map(|(known, _)| known).find(|known| known.key.to_string() == zone)
    }

    fn stands(&self, zone: &Zone, key: &RecordKey) -> Option<RecordSet> {
        self.zones.iter().find(|(known, _)| known.key == zone.key).and_then(|(_, view)| view.find(key))
    }

    fn owner(&self, zone: &Zone, key: &RecordKey) -> Option<OwnerId> {
        let registry = &self.instance.registry;
        owner_of(&judge(&registry.claims(zone, key, self), registry.owner()), registry.owner())
    }
}
