//! What is held back or left undone, and who is told: the brake, the held plan, foreign records, orphans.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::time::Instant;
use tracing::warn;

use super::facts::ownership;
use super::worker::Worker;
use crate::change::Change;
use crate::endpoint::Note;
use crate::guard::{self, HeldPlan, Load};
use crate::metrics::{ByZone, Mismatch};
use crate::name::DnsName;
use crate::plan::{NamePlan, PlannedGroup, Policy, Skip, Why};
use crate::record::{RecordKey, RecordSet};

/// Number of our records in the zone's view, as the brake counts them.
pub(super) fn count_owned(worker: &Worker) -> usize {
    let keys: Vec<RecordKey> = {
        let view = worker.desk.view();
        view.sets().filter(|set| in_scope(worker, set)).map(|set| set.key.clone()).collect()
    };
    keys.iter().filter(|key| ownership(&worker.office, &worker.desk, key).is_ours()).count()
}

fn in_scope(worker: &Worker, set: &RecordSet) -> bool {
    let config = &worker.board.config;
    config.managed.contains(&set.key.rtype)
        && config.filter.matches(&set.key.name)
        && !worker.office.instance.registry.is_claim(set)
}

/// Holds deletes that the brake or the evidence does not let pass; tells what is left undone. Returns what goes on.
pub(super) fn brake(
    worker: &mut Worker,
    names: &BTreeMap<DnsName, Instant>,
    plans: Vec<NamePlan>,
) -> Vec<PlannedGroup> {
    let planned: BTreeSet<DnsName> = names.keys().cloned().collect();
    let mut skips: Vec<Skip> = Vec::new();
    let mut groups: Vec<PlannedGroup> = Vec::new();
    for plan in plans {
        skips.extend(plan.skips);
        groups.extend(plan.groups);
    }
    tell(worker, &planned, &skips);
    let withheld: Vec<&Skip> =
        skips.iter().filter(|skip| skip.objects.is_empty() && matches!(skip.why, Why::Doubt(_))).collect();
    worker.waiting.extend(skips.iter().filter(|s| matches!(s.why, Why::Doubt(_))).map(|s| s.key.name.clone()));

    let counted: BTreeSet<RecordKey> = groups.iter().flat_map(|g| g.counted.iter().cloned()).collect();
    let now = worker.board.clock.now();
    let zone = worker.desk.label();
    let config = worker.board.config.brake;
    let reason = if counted.is_empty() {
        None
    } else {
        worker.owned = count_owned(worker);
        let only_deletes = |g: &&PlannedGroup| g.group.records().all(|s| matches!(s.change, Change::Delete { .. }));
        let free = groups.iter().filter(|g| g.counted.is_empty()).filter(only_deletes).count();
        let load = Load { counted: counted.len(), free, owned: worker.owned };
        worker.board.state.note(&zone, |state| {
            state.window.trim(config.window, now);
            state.approvals.retain(|approval| approval.until > now);
            let approved = guard::is_approved(&state.approvals, &counted, now);
            guard::judge(&config, &state.window, load, now).filter(|_| !approved)
        })
    };
    let (held, go): (Vec<PlannedGroup>, Vec<PlannedGroup>) =
        groups.into_iter().partition(|group| reason.is_some() && !group.counted.is_empty());
    worker.waiting.extend(held.iter().map(|g| g.group.name.clone()));
    hold(worker, &held, &withheld, reason);
    go
}

/// Tells the objects of what is left undone, and keeps the number of records that are left alone for their owner.
fn tell(worker: &mut Worker, planned: &BTreeSet<DnsName>, skips: &[Skip]) {
    worker.board.tell(skips.iter().flat_map(Skip::notes).collect::<Vec<_>>());
    let metric = worker.board.metrics.owner_mismatch.clone();
    worker.mismatched.retain(|key, label| {
        let stays = !planned.contains(&key.name);
        if !stays {
            metric.get_or_create(label).dec();
        }
        stays
    });
    let owner = worker.office.instance.registry.owner().map(ToString::to_string).unwrap_or_default();
    for skip in skips {
        let foreign = match &skip.why {
            Why::Foreign(owner) | Why::ForeignClaim(owner) => owner.to_string(),
            Why::Unclaimed | Why::ForeignBeside(_) => String::new(),
            _ => continue,
        };
        let domain = skip.key.name.parent().filter(|parent| parent.label_count() > 1);
        let label = Mismatch {
            record_type: skip.key.rtype.lower(),
            owner: owner.to_lowercase(),
            foreign_owner: foreign.to_lowercase(),
            domain: domain.unwrap_or_else(|| skip.key.name.clone()).to_string(),
        };
        metric.get_or_create(&label).inc();
        worker.mismatched.insert(skip.key.clone(), label);
    }
}

/// Says once which of our records belong to kinds that no source reads: under `sync` they go, within the brake.
pub(super) fn announce_orphans(worker: &Worker) {
    let keys: Vec<RecordKey> = {
        let view = worker.desk.view();
        view.sets().filter(|set| in_scope(worker, set)).map(|set| set.key.clone()).collect()
    };
    let known: BTreeSet<Arc<str>> = worker.board.asks().evidence.resources.keys().cloned().collect();
    let mut orphans: BTreeMap<String, usize> = BTreeMap::new();
    for key in &keys {
        let ownership = ownership(&worker.office, &worker.desk, key);
        let Some(resource) = ownership.claim().and_then(|claim| claim.resource.as_deref()) else { continue };
        let kind = resource.split('/').next().unwrap_or_default();
        if !known.contains(kind) {
            *orphans.entry(kind.to_owned()).or_default() += 1;
        }
    }
    for (kind, count) in orphans {
        let fate =
            if worker.board.config.policy == Policy::Sync { "they are deleted, within the brake" } else { "they stay" };
        warn!(zone = %worker.desk.zone.name, "{count} records of ours belong to resources of kind {kind:?}, which no --source reads: {fate}");
    }
}

/// Publishes the held plan: saved state, metric, log, event.
fn hold(worker: &Worker, held: &[PlannedGroup], withheld: &[&Skip], reason: Option<String>) {
    let zone = worker.desk.label();
    let mut deletes: BTreeMap<RecordKey, String> = BTreeMap::new();
    for change in held.iter().flat_map(|g| g.group.changes()) {
        deletes.insert(change.key().clone(), change.from().map(|set| set.data.to_string()).unwrap_or_default());
    }
    let view = worker.desk.view();
    for skip in withheld {
        deletes.insert(skip.key.clone(), view.find(&skip.key).map(|set| set.data.to_string()).unwrap_or_default());
    }
    drop(view);
    let doubt = withheld.first().map(|skip| skip.why.to_string());
    let reason = [reason, doubt].into_iter().flatten().collect::<Vec<_>>().join("; ");
    let count = i64::try_from(deletes.len()).unwrap_or(i64::MAX);
    worker.board.metrics.held.get_or_create(&ByZone { zone: zone.clone() }).set(count);
    let former = worker.board.state.held_hash(&zone);
    if deletes.is_empty() {
        if former.is_some() {
            worker.board.state.zone(&zone, |state| state.held = None);
        }
        return;
    }
    let hash = guard::hash(&zone, deletes.keys());
    if former.as_ref() == Some(&hash) {
        return;
    }
    let text = format!("{} deletes in zone {} are held: {reason}", deletes.len(), worker.desk.zone.name);
    let now = worker.board.clock.now();
    worker.board.state.zone(&zone, |state| {
        let since = state.held.as_ref().map_or(now, |former| former.since);
        state.held = Some(HeldPlan { hash: hash.clone(), deletes, reason, since });
    });
    warn!(hash, "{text}. Look at them with `zonewright plans`, let them go with `zonewright approve {hash}`");
    if let Some(object) = &worker.board.own_object {
        let text = format!("{text}. Approve with: zonewright approve {hash}");
        worker.board.tell([Note::warning(object, "PlanHeld", text)]);
    }
}
