//! The way to a state of the zone while requests fail: what is reported on the way must be true.

use std::time::Duration;

use zonewright_core::RecordSet;
use zonewright_core::capability::Atomicity;
use zonewright_core::change::{Change, Group, Outcome};
use zonewright_core::error::{Error, Retry};
use zonewright_core::listing;
use zonewright_core::provider::Listing;

use super::service::Service;
use super::view::{Sets, by_key, difference};
use super::walk::Walk;

/// Rounds after which one fault must be overcome.
const ROUNDS: usize = 8;

/// The longest pause that is waited for between rounds.
const PAUSE: Duration = Duration::from_secs(2);

/// A walk while requests fail.
pub(crate) struct Disturbed<'w, 'a> {
    walk: &'w mut Walk<'a>,
    /// What fails, for messages.
    when: &'w str,
}

impl<'w, 'a> Disturbed<'w, 'a> {
    pub(crate) fn new(walk: &'w mut Walk<'a>, when: &'w str) -> Self {
        Self { walk, when }
    }

    /// A list of zones has the zone in it, or is an error.
    pub(crate) async fn zones(&self) {
        match self.walk.provider().zones().await {
            Ok(zones) => assert!(
                zones.iter().any(|zone| zone.key == self.walk.zone().key),
                "{}: the zone is missing in the list {zones:?}",
                self.when
            ),
            Err(error) => self.walk.discreet(&error),
        }
    }

    /// Goes to the state where exactly `wanted` is ours, as a controller does: it lists, plans, writes, and begins anew.
    pub(crate) async fn reach(&mut self, wanted: &[RecordSet]) {
        let wanted = by_key(self.walk.adjusted(wanted).await, "adjust");
        for _ in 0..ROUNDS {
            match self.round(&wanted).await {
                Ok(zone) => return self.walk.arrive(&zone, &wanted),
                Err(retry) => pause(retry).await,
            }
        }
        panic!("{}: what is wanted is not there after {ROUNDS} rounds", self.when);
    }

    /// One round; what stands after it if nothing failed.
    async fn round(&self, wanted: &Sets) -> Result<Sets, Retry> {
        let (walk, when) = (&*self.walk, self.when);
        let listed = match listing::whole(walk.provider(), walk.zone()).await {
            Ok(Listing::Full { sets, .. }) => by_key(sets, "the listing"),
            Ok(other) => panic!("{when}: a read of all gave {other:?}"),
            Err(error) => {
                walk.discreet(&error);
                return Err(error.retry);
            }
        };
        let before = walk.dump().await;
        assert!(listed == before, "{when}: the listing is not true:{}", difference(&listed, &before));
        let groups = walk.groups_from(&listed, wanted);
        let outcomes = walk.apply(&groups).await;
        let after = walk.dump().await;
        let mut retry = None;
        for (group, outcome) in groups.iter().zip(&outcomes) {
            self.is_true(group, outcome, &before, &after);
            if let Some(error) = outcome.error() {
                walk.discreet(error);
                retry = Some(error.retry);
            }
        }
        walk.foreign_stands(when).await;
        retry.map_or(Ok(after), Err)
    }

    /// Demands that the outcome is what has happened.
    fn is_true(&self, group: &Group, outcome: &Outcome, before: &Sets, after: &Sets) {
        let done = |change: &Change| match change.to() {
            Some(to) => after.get(&to.key).is_some_and(|found| to.is_met_by(found)),
            None => !after.contains_key(change.key()),
        };
        let undone = |change: &Change| after.get(change.key()) == before.get(change.key());
        let (all_done, all_undone) = (group.changes().all(done), group.changes().all(undone));
        let as_reported = match outcome {
            Outcome::Applied => all_done,
            Outcome::Refused { .. } | Outcome::NotSent(_) => all_undone,
            Outcome::Unknown(_) if self.walk.capability.batch.atomic == Atomicity::Batch => all_done || all_undone,
            Outcome::Unknown(_) => group.changes().all(|change| done(change) || undone(change)),
        };
        assert!(
            as_reported,
            "{}: {} is reported as {outcome:?}; since then:{}",
            self.when,
            group.headline(),
            difference(after, before)
        );
    }
}

/// Waits as long as the error asks for, within reason.
async fn pause(retry: Retry) {
    if let Retry::After(pause) = retry {
        tokio::time::sleep(pause.min(PAUSE)).await;
    }
}

impl Walk<'_> {
    /// Demands that an error says something, and nothing that was given in confidence.
    pub(crate) fn discreet(&self, error: &Error) {
        let text = format!("{error} {error:?}");
        assert!(!error.to_string().trim().is_empty(), "an error without a word: {text}");
        for secret in self.service().into_iter().flat_map(Service::secrets) {
            assert!(!text.contains(&secret), "an error shows what was given in confidence: {text}");
        }
    }
}
