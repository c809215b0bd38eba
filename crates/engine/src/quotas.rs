//! Quotas over what is asked for and what is published.
//!
//! In come the namespaces in which something changed; out go the names whose turn it is now, or is no longer. Objects get an event
//! of the records that wait. Where a zone is not read yet, what may be published in it keeps its place.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use zonewright_core::contend::SameName;
use zonewright_core::endpoint::{Endpoint, Mapped, Note, ObjectRef, Sharing};
use zonewright_core::name::DnsName;
use zonewright_core::quota::{ExceededLimit, QuotaLimits, RequestedRecord};
use zonewright_core::record::{RecordKey, RecordSet};
use zonewright_core::source::Presence;

use crate::context::EngineContext;
use crate::desired_state::DesiredState;
use crate::metrics::ByNamespace;
use crate::presence::presence;

/// Decides anew over these namespaces; over all of them without any. Nothing is decided before planning begins: while objects
/// are still being listed, it must not count which came first.
pub(crate) fn settle(context: &EngineContext, namespaces: Option<&BTreeSet<Arc<str>>>) -> BTreeSet<DnsName> {
    if context.has_started() { decide(context, namespaces) } else { BTreeSet::new() }
}

/// Decides over everything, right before planning begins.
pub(crate) fn begin(context: &EngineContext) {
    decide(context, None);
}

/// Lets sources and quotas choose anew what rests on the content of a zone that was not read until now.
pub(crate) fn zone_read(context: &EngineContext) {
    for source in &context.sources {
        if source.published_read() {
            context.remaps.report();
        }
    }
    let names = settle(context, None);
    context.dispatch(&names);
}

fn decide(context: &EngineContext, namespaces: Option<&BTreeSet<Arc<str>>>) -> BTreeSet<DnsName> {
    let limits = context.config.quotas;
    let mut names = BTreeSet::new();
    if limits.are_off() {
        return names;
    }
    let mut notes = Vec::new();
    {
        let mut desired_state = context.desired_state();
        let all = || desired_state.table.namespaces().chain(desired_state.quotas.namespaces()).cloned().collect();
        let namespaces: BTreeSet<Arc<str>> = namespaces.cloned().unwrap_or_else(all);
        for namespace in namespaces {
            let items = items(context, &desired_state, &namespace);
            let settled = desired_state.quotas.settle(&namespace, &items, limits);
            names.extend(settled.changed.into_iter().map(|key| key.name));
            notes.extend(settled.reported.iter().map(|(object, waiting)| note(object, waiting, limits)));
            let label = ByNamespace { namespace: namespace.to_string() };
            if settled.waiting > 0 || !items.is_empty() {
                let waiting = i64::try_from(settled.waiting).unwrap_or(i64::MAX);
                context.metrics.quota_waiting.get_or_create(&label).set(waiting);
            } else {
                context.metrics.quota_waiting.remove(&label);
            }
        }
    }
    context.report(notes);
    names
}

/// Whether an endpoint has to wait. What is published by now, whoever wrote it, does not. `beside` is everything that is asked
/// for at its name.
pub(crate) fn waits(
    context: &EngineContext,
    desired_state: &DesiredState,
    endpoint: &Endpoint,
    beside: &[&Endpoint],
) -> bool {
    let own = || {
        let object = &endpoint.origin.object;
        beside.iter().filter(|other| other.origin.object == *object).map(|other| other.key()).collect()
    };
    desired_state.quotas.refuses(endpoint) && item(context, endpoint, &own()).presence != Presence::Held
}

fn note(object: &ObjectRef, waiting: &BTreeMap<RecordKey, ExceededLimit>, limits: QuotaLimits) -> Note {
    let limit = |cause: ExceededLimit| match cause {
        ExceededLimit::Object => format!("this object may have {} (--max-records-per-object)", limits.per_object),
        ExceededLimit::Namespace => {
            format!("namespace {} may have {} (--max-records-per-namespace)", object.namespace, limits.per_namespace)
        }
    };
    let causes: BTreeSet<ExceededLimit> = waiting.values().copied().collect();
    let why: Vec<String> = causes.into_iter().map(limit).collect();
    let first = waiting.keys().next().map(ToString::to_string).unwrap_or_default();
    let text = format!(
        "{} new records are not created, the first: {first}; {}. They are created when there is room",
        waiting.len(),
        why.join(", ")
    );
    Note::warning(object, "QuotaExceeded", text)
}

/// The records that count in a namespace: those of managed types, inside the filters and in some zone.
fn items(context: &EngineContext, desired_state: &DesiredState, namespace: &Arc<str>) -> Vec<RequestedRecord> {
    let zones: Vec<_> = context.instances.iter().map(|instance| (instance, instance.zone_handles())).collect();
    let takes = |endpoint: &Endpoint| {
        zones.iter().any(|(instance, handles)| handles.iter().any(|handle| instance.covers(handle, endpoint)))
    };
    let unlisted = context.instances.iter().any(|instance| !instance.listing().tried);
    let counts = |endpoint: &&Endpoint| {
        context.config.managed.contains(&endpoint.rtype)
            && context.config.filter.matches(&endpoint.name)
            && (unlisted || takes(endpoint))
    };
    let of_object = |mapped: &Mapped| {
        let own: HashSet<RecordKey> = mapped.endpoints.iter().map(Endpoint::key).collect();
        mapped.endpoints.iter().filter(counts).map(|endpoint| item(context, endpoint, &own)).collect::<Vec<_>>()
    };
    desired_state.table.of_namespace(namespace).flat_map(of_object).collect()
}

/// `own` is what the object asks for, at least at this name.
fn item(context: &EngineContext, endpoint: &Endpoint, own: &HashSet<RecordKey>) -> RequestedRecord {
    let union = endpoint.sharing == Sharing::Union || context.config.names.same_name == SameName::Union;
    let holds = |set: &RecordSet, label: Option<&Arc<str>>| {
        let same = set.key.rtype == endpoint.rtype;
        // A member of a union, inherited or not, is not named in its claim.
        let part = || same && endpoint.targets.as_records().iter().any(|data| set.data.as_records().contains(data));
        let is_own = label.is_none_or(|label| endpoint.resource.as_ref().is_none_or(|own| own == label));
        // What stands there and is not asked for any more gives way to what is.
        let replaced = || !own.iter().any(|key| key.name == set.key.name && key.rtype == set.key.rtype);
        (is_own || union && same || part()) && (same || replaced())
    };
    RequestedRecord {
        key: endpoint.key(),
        object: endpoint.origin.object.clone(),
        created: endpoint.origin.created,
        presence: presence(context, &endpoint.name, &holds),
    }
}
