//! How large the engine's tables are, and what keeps those small that nobody else empties.
//!
//! Every table that is keyed by names, objects or zones of others has a bound or an owner that empties it: the list is in
//! `ARCHITECTURE.md`. In: the context. Out: the sizes, for a metric and for the test that finds a table which only grows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use zonewright_core::desired::Desired;
use zonewright_core::name::DnsName;

use crate::context::EngineContext;
use crate::metrics::ByTable;
use crate::provider_instance::ProviderInstance;
use crate::zone_handle::ZoneHandle;

/// Sizes by the name of the table.
pub(crate) type Sizes = BTreeMap<&'static str, usize>;

/// Every table of the engine; those of zones are added up.
pub(crate) fn sizes(context: &EngineContext) -> Sizes {
    let mut sizes: Sizes = context.desired_state().table.sizes().into();
    sizes.extend(["state_zones", "brake_zones"].into_iter().zip(context.state.sizes()));
    for handle in context.zone_handles() {
        let (written, unread) = handle.view().unsettled();
        for (table, size) in [("inbox", handle.inbox.len()), ("view_written", written), ("view_unread", unread)] {
            *sizes.entry(table).or_default() += size;
        }
        let status = handle.status();
        *sizes.entry("adoptable").or_default() += status.adoptable.len();
        for (table, size) in &status.tables {
            *sizes.entry(*table).or_default() += size;
        }
    }
    sizes
}

/// Shows the sizes.
pub(crate) fn publish(context: &EngineContext) {
    for (table, size) in sizes(context) {
        let label = ByTable { table: table.to_owned() };
        context.metrics.tables.get_or_create(&label).set(i64::try_from(size).unwrap_or(i64::MAX));
    }
}

/// Forgets the proofs of deletion that no record rests on any more, and zones that are gone for good.
pub(crate) fn prune(context: &EngineContext) {
    let instances: Vec<(Arc<ProviderInstance>, Vec<Arc<ZoneHandle>>)> =
        context.instances.iter().map(|o| (o.clone(), o.zone_handles())).collect();
    let unknown =
        context.instances.iter().any(|instance| !instance.listing().tried || instance.listing().error.is_some());
    let now = context.clock.now();
    if !unknown {
        context.state.prune(&context.served(), context.config.brake.window, now);
    }
    let mut desired_state = context.desired_state();
    if desired_state.table.stale_claims_due().is_some_and(|due| due <= now) {
        desired_state.table.collect_stale_claims(now, |name, labels| unknown || is_needed(&instances, name, labels));
    }
}

/// Whether a record that one of these objects held may still stand in some zone.
fn is_needed(
    instances: &[(Arc<ProviderInstance>, Vec<Arc<ZoneHandle>>)],
    name: &DnsName,
    labels: &BTreeSet<Option<Arc<str>>>,
) -> bool {
    let in_zone = |instance: &Arc<ProviderInstance>, handle: &Arc<ZoneHandle>| {
        let sets = {
            let view = handle.view();
            if !view.is_complete() {
                return true;
            }
            view.at(name)
        };
        sets.iter().any(|set| {
            let ownership = instance.ownership(&handle.zone, &set.key);
            ownership.is_ours() && labels.contains(&ownership.claim().and_then(|claim| claim.resource.clone()))
        })
    };
    let may_stand = |instance: &Arc<ProviderInstance>, handle: &Arc<ZoneHandle>| {
        handle.status().failing.is_some() || in_zone(instance, handle)
    };
    instances.iter().any(|(instance, zone_handles)| {
        zone_handles.iter().any(|handle| handle.zone.covers(name) && may_stand(instance, handle))
    })
}

/// Forgets the proof about a name, once nothing of ours stands there in any zone.
pub(crate) fn clear_tombstone(context: &EngineContext, desired: &mut Desired, name: &DnsName) {
    let stands = |instance: &Arc<ProviderInstance>| {
        let in_zone = |handle: &Arc<ZoneHandle>| {
            let sets = handle.view().at(name);
            sets.iter().any(|set| !instance.is_claim(&handle.zone, set))
        };
        instance.zone_handles().iter().any(|handle| handle.zone.covers(name) && in_zone(handle))
    };
    if !context.instances.iter().any(stands) {
        desired.clear_tombstone(name);
    }
}
