//! What is said once of our records in a zone, when it is planned for the first time: which of them nobody asks for any more,
//! and which lie outside what is managed now.
//!
//! Other sources, namespaces or selectors than before leave records without an object: under `sync` they go, within the brake.
//! A narrower domain filter or fewer record types leave records alone: they are out of scope, and stay.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tracing::warn;
use zonewright_core::endpoint::ObjectPolicy;
use zonewright_core::plan::{POLICY_LABEL, Policy};
use zonewright_core::record::{RecordKey, RecordSet};

use crate::metrics::ByZone;
use crate::worker::Worker;

/// Says both, and keeps the number of those that are out of scope.
pub(crate) async fn announce(worker: &Worker) {
    if worker.instance.registry.owner().is_none() {
        return;
    }
    let Orphans { foreign_kinds, unasked, kept, other_prefix } = orphans(worker).await;
    let fate = if worker.context.config.policy == Policy::Sync {
        "they are deleted, as far as the brake lets them"
    } else {
        "they stay"
    };
    let zone = &worker.handle.title;
    for (kind, count) in foreign_kinds {
        warn!(zone = %zone, "{count} records of ours belong to resources of kind {kind:?}, which no --source reads: {fate}");
    }
    if !unasked.is_empty() {
        let count: usize = unasked.values().sum();
        let list: Vec<String> = unasked.iter().map(|(of, count)| format!("{of}: {count}")).collect();
        warn!(zone = %zone, "{count} records of ours are asked for by no object that is read now ({}): {fate}", list.join(", "));
    }
    if kept > 0 {
        warn!(zone = %zone, "{kept} records of ours are asked for by no object that is read now, and the policy in their claims keeps them");
    }
    if other_prefix > 0 {
        warn!(zone = %zone, "{other_prefix} records of ours are asked for with annotations of the other well-known prefix, which is \
            not in force: they are neither deleted nor changed; their events say which --annotation-prefix to add");
    }
    out_of_scope(worker).await;
}

/// Our records that no object asks for.
#[derive(Debug, Default)]
struct Orphans {
    /// By kind, where no source reads that kind.
    foreign_kinds: BTreeMap<String, usize>,
    /// By kind and namespace.
    unasked: BTreeMap<String, usize>,
    /// Those that nobody asks for and that the policy of their object keeps, by what their claims say of it.
    kept: usize,
    /// Those that are asked for under a prefix that is not in force.
    other_prefix: usize,
}

async fn orphans(worker: &Worker) -> Orphans {
    let known: BTreeSet<Arc<str>> = worker.context.desired_state().evidence.resources.keys().cloned().collect();
    let mut orphans = Orphans::default();
    let look = |set: RecordSet| {
        if worker.is_in_scope(&set) {
            orphans.look_at(worker, &known, &set.key);
        }
    };
    worker.each_set(look).await;
    orphans
}

impl Orphans {
    fn look_at(&mut self, worker: &Worker, known: &BTreeSet<Arc<str>>, key: &RecordKey) {
        let ownership = worker.ownership(key);
        let Some(claim) = ownership.claim() else { return };
        let Some(resource) = claim.resource.as_deref() else { return };
        let mut parts = resource.split('/');
        let (kind, namespace) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let desired_state = worker.context.desired_state();
        let asked = desired_state.table.at(&key.name);
        if !asked.endpoints.is_empty() || !asked.pending.is_empty() {
            return;
        }
        let policy = worker.context.config.policy;
        let is_kept = policy == Policy::Sync
            && !policy.may_delete(claim.label(POLICY_LABEL).and_then(ObjectPolicy::parse), false);
        if !asked.other_prefix.is_empty() && worker.context.config.brake.enabled {
            self.other_prefix += 1;
        } else if is_kept {
            self.kept += 1;
        } else if known.contains(kind) {
            *self.unasked.entry(format!("{kind} in namespace {namespace:?}")).or_default() += 1;
        } else {
            *self.foreign_kinds.entry(kind.to_owned()).or_default() += 1;
        }
    }
}

async fn out_of_scope(worker: &Worker) {
    let mut ours = 0;
    let look = |set: RecordSet| {
        let outside = !worker.is_in_scope(&set) && !worker.is_claim(&set);
        ours += usize::from(outside && worker.ownership(&set.key).is_ours());
    };
    worker.each_set(look).await;
    let label = ByZone { zone: worker.handle.label() };
    worker.context.metrics.out_of_scope.get_or_create(&label).set(i64::try_from(ours).unwrap_or(i64::MAX));
    if ours > 0 {
        warn!(
            zone = %worker.handle.title,
            "{ours} records of ours lie outside the domain filter or the managed record types: they are left alone"
        );
    }
}
