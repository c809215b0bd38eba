//! A provider whose items share one record set, as one where each is a set of its own.
//!
//! In: calls of the engine, in which each item is a set with an identifier ([`zonewright_core::in_set`]). Out: calls of the
//! provider, in which a change carries the whole set before and after. What must hold: the whole sets are read right before they
//! are changed, and what was read is what the provider holds the zone against, so that whatever somebody else does in between is
//! refused and no item of others is written over.

use std::sync::Arc;

use async_trait::async_trait;
use zonewright_core::capability::{Atomicity, Capability, Preconditions, RoutingSupport};
use zonewright_core::change::{Blame, Group, Outcome};
use zonewright_core::endpoint::Endpoint;
use zonewright_core::error::{Error, ErrorKind, Result};
use zonewright_core::in_set::merge::{self, Wholes};
use zonewright_core::in_set::{name, split};
use zonewright_core::interpret::Interpretation;
use zonewright_core::provider::{Adjustment, Listing, Provider, Read};
use zonewright_core::record::RecordSet;
use zonewright_core::registry::{Published, Registry};
use zonewright_core::zone::{Zone, ZoneId};

/// Splits what is read, merges what is written.
pub(crate) struct InSet {
    inner: Arc<dyn Provider>,
    /// Whether claims are kept: without them no item could be told from those of others.
    claims: bool,
}

impl std::fmt::Debug for InSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("InSet")
    }
}

/// Puts this around a provider whose items share record sets; any other stays as it is.
pub(crate) fn around(inner: Arc<dyn Provider>, registry: &dyn Registry) -> Arc<dyn Provider> {
    match inner.capability(None).routing {
        RoutingSupport::InSet(_) => Arc::new(InSet { inner, claims: registry.owner().is_some() }),
        RoutingSupport::None | RoutingSupport::PerSet(_) => inner,
    }
}

/// Names the items of ours in what was read; of a provider without such items it stays as it is. `published` is what was known
/// before.
pub(crate) fn named(
    listing: Listing,
    zone: &Zone,
    (provider, registry): (&dyn Provider, &dyn Registry),
    published: &dyn Published,
) -> Listing {
    if !matches!(provider.capability(Some(zone)).routing, RoutingSupport::InSet(_)) {
        return listing;
    }
    let name = |sets: Vec<RecordSet>| name::name(sets, zone, registry, published);
    match listing {
        Listing::Full { sets, token } => Listing::Full { sets: name(sets), token },
        Listing::Names(sets) => Listing::Names(name(sets)),
        other => other,
    }
}

fn apart(sets: Vec<RecordSet>) -> Vec<RecordSet> {
    sets.into_iter().flat_map(split).collect()
}

impl InSet {
    /// The whole sets at the names of some groups.
    async fn wholes(&self, zone: &Zone, groups: &[Group]) -> Result<Wholes> {
        let names = merge::names(groups);
        match self.inner.records(zone, Read::Names(&names)).await? {
            Listing::Names(sets) | Listing::Full { sets, .. } => {
                Ok(sets.into_iter().map(|set| (set.key.clone(), set)).collect())
            }
            Listing::Page { .. } | Listing::Delta { .. } | Listing::Unchanged => {
                let text = "the names that were asked for were not answered as a whole";
                Err(Error::new(ErrorKind::Protocol, "read records", text))
            }
        }
    }

    /// Sends groups of whole sets. Returns what became of each group, and the positions of those that were refused as one with
    /// others.
    async fn send(&self, zone: &Zone, groups: &[Group], outcomes: &mut [Option<Outcome>]) -> Result<Vec<usize>> {
        let plan = merge::plan(groups, &self.wholes(zone, groups).await?);
        for (at, error) in plan.refused {
            put(outcomes, at, Outcome::refused(error));
        }
        let (sent, unchanged): (Vec<_>, Vec<_>) = plan.merged.into_iter().partition(|merged| merged.group.is_some());
        unchanged.iter().flat_map(|merged| &merged.members).for_each(|at| put(outcomes, *at, Outcome::Applied));
        let bodies: Vec<Group> = sent.iter().filter_map(|merged| merged.group.clone()).collect();
        if bodies.is_empty() {
            return Ok(Vec::new());
        }
        let mut alone = Vec::new();
        for (merged, outcome) in sent.into_iter().zip(self.inner.apply(zone, &bodies).await) {
            let refused = matches!(outcome, Outcome::Refused { blame: Blame::Group, .. });
            if refused && merged.members.len() > 1 {
                alone.extend(merged.members);
                continue;
            }
            merged.members.iter().for_each(|at| put(outcomes, *at, outcome.clone()));
        }
        Ok(alone)
    }
}

fn put(outcomes: &mut [Option<Outcome>], at: usize, outcome: Outcome) {
    if let Some(place) = outcomes.get_mut(at) {
        *place = Some(outcome);
    }
}

#[async_trait]
impl Provider for InSet {
    fn capability(&self, zone: Option<&Zone>) -> Capability {
        let inner = self.inner.capability(zone);
        // One write of the whole set holds record and claim together; without that an item could stand without its claim.
        let routed = self.claims && inner.batch.atomic == Atomicity::Batch;
        let routing = if routed { inner.routing } else { RoutingSupport::InSet(&[]) };
        // What a group demands of the zone is held against the very reading that comes before its write: a reading of the engine's
        // own before that would only cost as much again.
        let preconditions = if inner.preconditions.read_first() { Preconditions::Any } else { inner.preconditions };
        Capability { set_ids: routed, one_kind: true, routing, preconditions, ..inner }
    }

    async fn zones(&self) -> Result<Vec<Zone>> {
        self.inner.zones().await
    }

    async fn zone(&self, id: &ZoneId) -> Result<Option<Zone>> {
        self.inner.zone(id).await
    }

    async fn records(&self, zone: &Zone, read: Read<'_>) -> Result<Listing> {
        Ok(match self.inner.records(zone, read).await? {
            Listing::Page { sets, next } => Listing::Page { sets: apart(sets), next },
            Listing::Full { sets, token } => Listing::Full { sets: apart(sets), token },
            Listing::Names(sets) => Listing::Names(apart(sets)),
            other @ (Listing::Delta { .. } | Listing::Unchanged) => other,
        })
    }

    fn interpret(&self, zone: &Zone, endpoint: &Endpoint) -> Interpretation {
        self.inner.interpret(zone, endpoint)
    }

    async fn adjust(&self, zone: &Zone, sets: &[RecordSet]) -> Vec<Adjustment> {
        self.inner.adjust(zone, sets).await
    }

    async fn served(&self, zone: &Zone) -> Result<Option<bool>> {
        self.inner.served(zone).await
    }

    async fn apply(&self, zone: &Zone, groups: &[Group]) -> Vec<Outcome> {
        let mut outcomes: Vec<Option<Outcome>> = groups.iter().map(|_| None).collect();
        let alone = match self.send(zone, groups, &mut outcomes).await {
            Ok(alone) => alone,
            Err(error) => return groups.iter().map(|_| Outcome::NotSent(error.clone())).collect(),
        };
        // Groups that were refused as one are tried one by one: only a bad one is refused.
        for at in alone {
            let Some(group) = groups.get(at) else { continue };
            let mut one = [None];
            let sent = self.send(zone, std::slice::from_ref(group), &mut one).await;
            let [outcome] = one;
            let outcome = match (sent, outcome) {
                (Err(error), _) => Outcome::NotSent(error),
                (Ok(_), Some(outcome)) => outcome,
                (Ok(_), None) => Outcome::Unknown(unanswered()),
            };
            put(&mut outcomes, at, outcome);
        }
        outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(|| Outcome::Unknown(unanswered()))).collect()
    }
}

fn unanswered() -> Error {
    Error::new(ErrorKind::Protocol, "apply changes", "the provider gave no outcome for a change")
}
