//! Approvals of held plans: by command, or at the place where the state is kept.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};
use zonewright_core::endpoint::Note;
use zonewright_core::guard::JointPlan;
use zonewright_core::name::DnsName;
use zonewright_core::record::RecordKey;

use crate::context::EngineContext;
use crate::round_deletes::RoundDeletes;
use crate::worker::Worker;

/// Time between two looks at the store, while a plan is held.
const PERIOD: Duration = Duration::from_secs(10);

/// Approves the held deletes of this hash. Returns the zone and their number; `None` if no such plan is held.
pub(crate) fn approve(context: &EngineContext, hash: &str) -> Option<(String, usize)> {
    let until = context.clock.now().plus(context.config.brake.approval_ttl);
    let plans = context.state.held();
    let approved = context.state.approve(hash, until)?;
    info!(hash, zone = approved.0, deletes = approved.1, "plan approved");
    // A view that looks doubtful only because it is empty is as it should be, says the operator: that is nothing to warn of
    // any more. Deletes rest on it only where they were shown; one that is lost stays in doubt.
    let shown = plans.into_iter().filter(|(zone, _)| approved.0.split(", ").any(|one| one == zone));
    context.desired_state().accepted.extend(shown.flat_map(|(_, plan)| plan.kinds));
    context.zone_handles().iter().for_each(|handle| handle.inbox.recheck());
    Some(approved)
}

/// A delete was approved since nobody asked for its record. Where somebody does again, before it was done, that is over: if the
/// object goes once more, that is another delete. `names` were planned, these records are `wanted` there as the provider publishes them
/// (a host name as aliases, say), and `deletes` are to go.
pub(crate) fn end_of_what_came_back(
    worker: &Worker,
    names: &[DnsName],
    wanted: &BTreeSet<RecordKey>,
    deletes: &RoundDeletes,
) {
    let (state, zone) = (&worker.context.state, worker.handle.label());
    if state.look(&zone, |state| state.approvals.is_empty()) {
        return;
    }
    let names: BTreeSet<&DnsName> = names.iter().collect();
    let kept = |key: &&RecordKey| names.contains(&key.name) && !deletes.counted.contains_key(*key);
    let mut back: Vec<RecordKey> = state.look(&zone, |state| {
        state.approvals.iter().flat_map(|approval| approval.open.keys()).filter(kept).cloned().collect()
    });
    let desired_state = worker.context.desired_state();
    let asks = |key: &RecordKey| desired_state.table.at(&key.name).endpoints.iter().any(|one| one.key() == *key);
    back.retain(|key| wanted.contains(key) || asks(key));
    drop(desired_state);
    if !back.is_empty() {
        state.zone(&zone, |state| state.spend(&back));
    }
}

/// Takes approvals from the store. Nothing is asked while no plan is held. Each approval counts once, also over restarts: one
/// that is left standing must not approve the same deletes a month later.
pub(crate) async fn watch(context: Arc<EngineContext>, cancel: CancellationToken) {
    let mut said = false;
    loop {
        tokio::select! {
            biased;
            () = cancel.cancelled() => return,
            () = sleep(PERIOD) => {}
        }
        look(&context, &mut said).await;
    }
}

/// Looks once. Before the first plan of a process this counts for what an earlier one held. `said`: a failure was reported.
pub(crate) async fn look(context: &EngineContext, said: &mut bool) {
    if context.state.held().is_empty() {
        return;
    }
    match context.state.approvals().await {
        Ok(hashes) => {
            *said = false;
            context.state.take(&hashes).iter().for_each(|hash| take(context, hash));
        }
        Err(error) if !*said => {
            *said = true;
            warn!(error = error.chain(), "approvals cannot be read; `zonewright approve` works all the same");
        }
        Err(_) => {}
    }
}

fn take(context: &EngineContext, hash: &str) {
    if approve(context, hash).is_none() {
        warn!(
            hash,
            "a plan of this hash was approved, but none is held; it may have changed since, and nothing is done"
        );
    }
}

/// Plans over several zones that were held at the last look, each with whether it was reported.
pub(crate) type JointSeen = BTreeMap<String, bool>;

/// Reports plans that are held together over several zones, each once, and when it was held at the last look too: removals that
/// come one by one make one report.
pub(crate) fn announce_joint(context: &EngineContext, seen: &mut JointSeen) {
    let joint = context.state.joint();
    let flags = &context.config.command_flags;
    let settled = |hash: &String| seen.contains_key(hash) || context.config.one_pass;
    let now = joint.iter().map(|plan| (plan.hash.clone(), settled(&plan.hash))).collect();
    let said = |hash: &String| seen.get(hash).copied().unwrap_or_default();
    for plan in joint.iter().filter(|plan| settled(&plan.hash) && !said(&plan.hash)) {
        let JointPlan { hash, reason, zones, .. } = plan;
        let text = format!("{} deletes in {} zones are held together: {reason}", plan.deletes(), zones.len());
        let or = context.state.approve_with(hash).map(|command| format!(" or `{command}`")).unwrap_or_default();
        warn!(
            hash,
            "{text}. Look at them with `zonewright plans{flags}`, approve all of them with `zonewright approve {hash}{flags}`{or}"
        );
        if let Some(object) = &context.own_object {
            let text = format!("{text}. Approve all of them with: zonewright approve {hash}{flags}");
            context.report([Note::warning(object, "PlanHeld", text)]);
        }
    }
    *seen = now;
}
