//! Kinds whose lists are empty from the start, though the process before saw several objects.
//!
//! The doubt ends with an object, or once every zone is planned and no held delete waits for it: the last ones were approved, or
//! nothing that is published rested on the kind. A single pass has no other way to learn that objects are gone than that they are not
//! there any more: it believes the lists, and the brake is left.

use std::sync::Arc;

use tracing::info;
use zonewright_core::source::{DOUBT_FROM, Evidence, KindState, SourceErrors};

use crate::context::EngineContext;
use crate::known_kinds::FROM_THE_START;
use crate::provider_instance::FirstPlans;
use crate::state::State;
use crate::zone_handle::Status;

/// How far the views of all sources can be trusted now.
pub(crate) fn evidence_of(context: &EngineContext) -> Evidence {
    let mut evidence = Evidence::default();
    for source in &context.sources {
        evidence.merge(source.evidence());
    }
    let one_pass = context.config.one_pass;
    context.state.emptied(|emptied| if one_pass { emptied.believe() } else { emptied.doubt(&mut evidence) });
    evidence
}

/// What was taken over is remembered for the next process.
pub(crate) fn remember(state: &State, evidence: &Evidence) {
    state.kinds(|known, _| known.note(evidence));
}

/// Says why such a kind is not complete.
pub(crate) fn explain(state: &State, errors: &mut SourceErrors) {
    for kind in state.emptied(|emptied| emptied.doubted().clone()) {
        errors.unread.entry(Arc::from(kind)).or_insert_with(|| {
            format!("its list holds no object, and an earlier process saw {DOUBT_FROM} or more; approve the deletes if that is right")
        });
    }
}

/// Ends the doubt about kinds for which no delete waits, once every zone is planned. Returns whether it has ended for some: every
/// zone is looked at again then.
pub(crate) fn settle(context: &EngineContext) -> bool {
    let mut ended = context.state.emptied(|emptied| emptied.doubted().clone());
    if ended.is_empty() || !is_planned(context) {
        return false;
    }
    for (kind, doubt) in context.state.waited_for() {
        if doubt == FROM_THE_START {
            ended.remove(&*kind);
        }
    }
    if ended.is_empty() {
        return false;
    }
    let mut desired_state = context.desired_state();
    for (kind, state) in &mut desired_state.evidence.kinds {
        if ended.contains(&**kind) && state.telling() == 0 && state.doubted == Some(FROM_THE_START) {
            *state = KindState { complete: true, doubted: None, ..*state };
        }
    }
    desired_state.errors.unread.retain(|kind, _| !ended.contains(&**kind));
    drop(desired_state);
    context.state.kinds(|known, emptied| emptied.end(&ended, known));
    for kind in &ended {
        info!(kind, "no delete waits for this kind: it is taken to be empty");
    }
    context.zone_handles().iter().for_each(|handle| handle.inbox.recheck());
    true
}

/// Whether what every zone holds was judged by what is doubted now.
fn is_planned(context: &EngineContext) -> bool {
    let judged = |status: &Status| status.planned && status.failing.is_none() && !status.working;
    context.has_started()
        && context
            .instances
            .iter()
            .all(|instance| FirstPlans::of(instance) == FirstPlans::Done && instance.listing().error.is_none())
        && context.zone_handles().iter().all(|handle| judged(&handle.status()) && !handle.inbox.wants_recheck())
}
