//! The one way on which changes go out, whatever their cause: a round, claims that move, an undo, a command of the operator.
//!
//! In: groups and where they come from. Out: one outcome for each. The registry *prepares* them, the *journal* is written, the
//! provider *applies*, the outcomes are written down, and the registry *commits*. What must hold: nothing is sent that was not
//! prepared, and where the journal is required, nothing that is not in it; whatever was prepared is committed or withdrawn.
//!
//! The worker of a zone then writes the outcomes through to its view (`write_through`); a command reads the zones anew.

use zonewright_core::capability::Batch;
use zonewright_core::change::{Group, Outcome};
use zonewright_core::error::{Error, Result};
use zonewright_core::provider::Provider;
use zonewright_core::registry::Dropped;

use crate::context::EngineContext;
use crate::journal::{Begun, Destination, EntryOrigin, JournalWriter};
use crate::provider_instance::ProviderInstance;
use crate::state::State;
use crate::zone_handle::ZoneHandle;

/// Groups that the registry has prepared. Only [`Pipeline::prepare`] makes them.
#[derive(Debug, Default)]
#[must_use = "what was prepared is sent or withdrawn"]
pub(crate) struct Prepared(Vec<Group>);

impl Prepared {
    pub(crate) fn groups(&self) -> &[Group] {
        &self.0
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds others after these.
    pub(crate) fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// Those that fit, and the others.
    pub(crate) fn split(self, fits: impl FnMut(&Group) -> bool) -> (Self, Self) {
        let (yes, no) = self.0.into_iter().partition(fits);
        (Self(yes), Self(no))
    }
}

/// A group that the registry cannot claim.
#[derive(Debug)]
pub(crate) struct Unclaimed {
    /// Its place among the groups that were given.
    pub(crate) index: usize,
    pub(crate) group: Group,
    pub(crate) reason: String,
}

/// How groups go to the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dispatch {
    /// In one call.
    Together,
    /// Each in a call of its own, until the outcome of one is unknown or it was not sent.
    OneByOne,
}

/// Groups that were sent, each with its outcome.
#[derive(Debug, Default)]
#[must_use = "what was sent is committed"]
pub(crate) struct SentGroups {
    pub(crate) groups: Vec<Group>,
    /// One for each group, in order.
    pub(crate) outcomes: Vec<Outcome>,
    begun: Begun,
}

/// The stages between a plan and a zone.
#[derive(Clone, Copy)]
pub(crate) struct Pipeline<'a> {
    pub(crate) journal: &'a JournalWriter,
    pub(crate) provider: &'a dyn Provider,
    pub(crate) to: Destination<'a>,
    /// Where approvals are kept that end when their deletes are sent, or their records made anew; a command of the operator has none.
    pub(crate) state: Option<&'a State>,
    /// The registry is not asked to write anything down.
    pub(crate) dry_run: bool,
}

impl<'a> Pipeline<'a> {
    /// The pipeline of one zone.
    pub(crate) fn of(context: &'a EngineContext, instance: &'a ProviderInstance, handle: &'a ZoneHandle) -> Self {
        Self {
            journal: &context.journal_writer,
            provider: &*instance.provider,
            to: Destination { zone: &handle.zone, registry: &*instance.registry, published: instance },
            state: Some(&context.state),
            dry_run: context.config.dry_run,
        }
    }

    /// All stages, one after the other.
    pub(crate) async fn carry_out(
        &self,
        origin: &EntryOrigin,
        groups: Vec<Group>,
    ) -> (SentGroups, Vec<Unclaimed>, Result<()>) {
        let (prepared, unclaimed) = self.prepare(groups).await;
        let sent = self.send(origin, prepared, Dispatch::Together).await;
        let committed = self.commit(&sent).await;
        (sent, unclaimed, committed)
    }

    /// Lets the registry write down what must stand before the groups are sent.
    pub(crate) async fn prepare(&self, groups: Vec<Group>) -> (Prepared, Vec<Unclaimed>) {
        if self.dry_run || groups.is_empty() {
            return (Prepared(groups), Vec::new());
        }
        let (mut prepared, mut unclaimed) = (Prepared::default(), Vec::new());
        for (index, result) in self.to.registry.prepare(self.to.zone, groups).await.into_iter().enumerate() {
            match result {
                Ok(group) => prepared.0.push(group),
                Err((group, Dropped { reason, .. })) => unclaimed.push(Unclaimed { index, group, reason }),
            }
        }
        (prepared, unclaimed)
    }

    /// Writes groups down, sends them, and writes down what became of them.
    pub(crate) async fn send(&self, origin: &EntryOrigin, prepared: Prepared, pace: Dispatch) -> SentGroups {
        let Prepared(groups) = prepared;
        let Some(state) = self.state.filter(|_| !self.dry_run) else { return self.calls(origin, groups, pace).await };
        let zone = self.to.zone.key.to_string();
        let sent = match state.before_sending(&zone, &groups).await {
            Ok(()) => self.calls(origin, groups, pace).await,
            Err(error) => {
                let (stay, go): (Vec<_>, Vec<_>) =
                    groups.into_iter().partition(|group| state.rests_on_approval(&zone, group));
                let mut sent = self.calls(origin, go, pace).await;
                sent.outcomes.extend(stay.iter().map(|_| Outcome::NotSent(error.clone())));
                sent.groups.extend(stay);
                sent
            }
        };
        state.after_sending(&zone, &sent.groups, &sent.outcomes);
        sent
    }

    /// Sends groups in as many calls as it takes.
    async fn calls(&self, origin: &EntryOrigin, groups: Vec<Group>, pace: Dispatch) -> SentGroups {
        let size = match pace {
            Dispatch::Together => groups.len().max(1),
            Dispatch::OneByOne => 1,
        };
        let mut sent = SentGroups::default();
        for call in groups.chunks(size) {
            let stop = sent.outcomes.last().and_then(|last| match last {
                Outcome::NotSent(error) | Outcome::Unknown(error) => Some(error.clone()),
                Outcome::Applied | Outcome::Refused { .. } => None,
            });
            match stop {
                Some(error) => sent.outcomes.push(Outcome::NotSent(error)),
                None => self.call(origin, call, &mut sent).await,
            }
        }
        SentGroups { groups, ..sent }
    }

    async fn call(&self, origin: &EntryOrigin, groups: &[Group], sent: &mut SentGroups) {
        match self.journal.begin(self.to, origin, groups).await {
            Ok(begun) => {
                let outcomes = self.provider.apply(self.to.zone, groups).await;
                self.journal.end(self.to, &begun, groups, &outcomes).await;
                sent.outcomes.extend(outcomes);
                sent.begun.extend(begun);
            }
            Err(error) => sent.outcomes.extend(groups.iter().map(|_| Outcome::NotSent(error.clone()))),
        }
    }

    /// Lets the registry note what became of groups.
    ///
    /// # Errors
    /// As [`zonewright_core::registry::ClaimStore::commit`].
    pub(crate) async fn commit(&self, sent: &SentGroups) -> Result<()> {
        self.note(&sent.groups, &sent.outcomes).await
    }

    /// Lets the registry know that groups which it prepared are not sent.
    ///
    /// # Errors
    /// As [`Pipeline::commit`].
    pub(crate) async fn withdraw(&self, prepared: &Prepared, why: &Error) -> Result<()> {
        let outcomes: Vec<Outcome> = prepared.0.iter().map(|_| Outcome::NotSent(why.clone())).collect();
        self.note(&prepared.0, &outcomes).await
    }

    async fn note(&self, groups: &[Group], outcomes: &[Outcome]) -> Result<()> {
        if self.dry_run || groups.is_empty() {
            return Ok(());
        }
        self.to.registry.commit(self.to.zone, groups, outcomes).await
    }

    /// The registry could not write down what became of groups: what was sent counts as unknown, in the journal too.
    pub(crate) async fn doubt(&self, sent: &mut SentGroups, error: &Error) {
        // What was not sent is no more in force for that.
        for outcome in sent.outcomes.iter_mut().filter(|outcome| !matches!(outcome, Outcome::NotSent(_))) {
            *outcome = Outcome::Unknown(error.clone());
        }
        self.journal.end(self.to, &sent.begun, &sent.groups, &sent.outcomes).await;
    }
}

/// How many groups make a piece full: about one call of the provider, so that the next one can be prepared during each. A
/// provider that takes any number gets the whole round in one call.
pub(crate) fn piece_size(batch: Batch) -> usize {
    if batch.changes == usize::MAX {
        return usize::MAX;
    }
    // A record and its claim are two changes, and hold some 150 bytes.
    let by_size = batch.size.map_or(usize::MAX, |size| size / 160);
    (batch.changes / 2).min(by_size).clamp(100, 500)
}
