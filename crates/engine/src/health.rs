//! Health: live means the loops turn, ready means views are complete and writes go through.

use std::sync::PoisonError;
use std::time::Duration;

use zonewright_core::claim::Ownership;
use zonewright_core::endpoint::KindId;
use zonewright_core::name::DnsName;
use zonewright_core::record::RecordSet;
use zonewright_core::source::KindState;

use crate::context::EngineContext;
use crate::desired_state::DesiredState;
use crate::provider_instance::ProviderInstance;
use crate::zone_handle::STALE;

/// A loop that has not turned for this long is stuck. That of a zone has as much longer as its calls may take: a large zone comes for
/// many minutes, and requests wait for their turn.
const STUCK: Duration = Duration::from_mins(3);

/// So many of the texts that cannot be read are shown.
const SHOWN: usize = 5;

/// Problems by what they concern; empty is good.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Health {
    /// Loops that do not turn: a restart would help.
    pub stuck: Vec<String>,
    /// What is not complete or not fresh: a restart would not help.
    pub unready: Vec<String>,
}

impl Health {
    pub(crate) fn of(context: &EngineContext) -> Self {
        let mut health = Self::default();
        let intake = *context.intake_turned.lock().unwrap_or_else(PoisonError::into_inner);
        if intake.elapsed() > STUCK {
            health.stuck.push("sources: the loop does not turn".to_owned());
        }
        health.unready.extend(sources(&context.desired_state()));
        health.unready.extend(context.state.in_doubt());
        health.unready.extend(context.instances.iter().filter_map(|instance| zone_list(instance)));
        for instance in &context.instances {
            let unsure = instance.listing().unsure.clone();
            health
                .unready
                .extend(unsure.into_iter().map(|(zone, why)| format!("zone {zone} of {}: {why}", instance.id)));
        }
        for handle in context.zone_handles() {
            let turned = handle.status().turned;
            let alive = turned.map(|at| handle.watch.until().map_or(at, |until| at.max(until)));
            if alive.is_some_and(|at| at.elapsed() > STUCK) {
                health.stuck.push(format!("zone {}: the loop does not turn", handle.title));
            }
            let unready = handle.publish_ready(&context.metrics);
            health.unready.extend(unready.map(|why| format!("zone {}: {why}", handle.title)));
        }
        health
    }

    /// Whether the loops turn.
    pub fn is_live(&self) -> bool {
        self.stuck.is_empty()
    }

    /// Whether everything is complete and fresh.
    pub fn is_ready(&self) -> bool {
        self.unready.is_empty()
    }
}

/// What of the sources is not complete or not fresh.
fn sources(desired_state: &DesiredState) -> Vec<String> {
    let errors = &desired_state.errors;
    let mut unready = Vec::new();
    let accepted = |(kind, state): &(&KindId, &KindState)| desired_state.is_accepted(kind, **state);
    for (kind, state) in desired_state.evidence.kinds.iter().filter(|kind| !accepted(kind)) {
        match state {
            KindState { complete: false, .. } => {
                let why = errors.unread.get(kind).map(|why| format!(": {why}")).unwrap_or_default();
                unready.push(format!("{kind}: not read completely{why}"));
            }
            // Where texts are read, what is wrong with them says more.
            KindState { fresh: false, .. } if errors.standing.is_empty() => {
                unready.push(format!("{kind}: the watch is lost"));
            }
            KindState { fresh: false, .. } => unready.push(format!("{kind}: not fresh")),
            _ => {}
        }
    }
    if !desired_state.evidence.kinds.iter().all(|kind| kind.1.is_evidence() || accepted(&kind)) {
        unready.extend(errors.standing.iter().take(SHOWN).map(|text| format!("cannot be read: {text}")));
    }
    unready
}

/// Why the list of an instance's zones is not fresh, if it is not.
fn zone_list(instance: &ProviderInstance) -> Option<String> {
    let listing = instance.listing();
    match &listing.error {
        Some((error, since)) if since.elapsed() > STALE || instance.zone_handles().is_empty() => {
            Some(format!("zones of {}: {}", instance.id, error.chain()))
        }
        None if !listing.tried => Some(format!("zones of {}: not listed yet", instance.id)),
        _ => None,
    }
}

/// One record set that is wanted or ours, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameState {
    /// The apex of its zone.
    pub zone: DnsName,
    /// What is published.
    pub set: RecordSet,
    /// The owner id of its claim, where there is one.
    pub owner: Option<String>,
    /// The resource that its claim names.
    pub resource: Option<String>,
}

/// Every record set of a managed type, with its owner.
pub(crate) fn names(context: &EngineContext) -> Vec<NameState> {
    let mut all = Vec::new();
    for instance in &context.instances {
        for handle in instance.zone_handles() {
            let managed = |rtype| context.config.managed.contains(&rtype);
            let sets: Vec<RecordSet> = handle.view().sets_of(managed).collect();
            let shown = |set: &RecordSet| !instance.is_claim(&handle.zone, set);
            for set in sets.into_iter().filter(shown) {
                let (owner, resource) = match instance.ownership(&handle.zone, &set.key) {
                    Ownership::Ours(claim) => (
                        claim.as_ref().map(|c| c.owner.to_string()),
                        claim.and_then(|c| c.resource).map(|r| r.to_string()),
                    ),
                    Ownership::Foreign(owner) => (Some(owner.to_string()), None),
                    Ownership::Unclaimed | Ownership::Disputed(_) => (None, None),
                };
                all.push(NameState { zone: handle.zone.name.clone(), set, owner, resource });
            }
        }
    }
    all
}
