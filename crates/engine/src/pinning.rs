//! Names that an undo set back: they are planned, but nothing is done at them.
//!
//! In: the names, with what objects asked for at them at that moment. Out: plans without the groups of those names. A pin
//! ends when its time is over, when the operator ends it, or when an object asks for something else at the name; the
//! last needs a view that can be trusted, else a restart or a lost watch would end it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tracing::info;
use zonewright_core::clock::Timestamp;
use zonewright_core::desired::Asked;
use zonewright_core::endpoint::{Endpoint, Targets};
use zonewright_core::guard;
use zonewright_core::name::DnsName;
use zonewright_core::plan::{NamePlan, PlannedGroup, Skip, Why};
use zonewright_core::record::SetId;

use crate::context::EngineContext;
use crate::desired_state::DesiredState;
use crate::metrics::ByZone;
use crate::pins::Pin;
use crate::worker::Worker;

/// A digest of what is asked for at a name: from whom and what, not in which order. `None` while that is not known.
fn digest(context: &EngineContext, desired_state: &DesiredState, name: &DnsName) -> Option<String> {
    let asked = desired_state.table.at(name);
    let trusted = desired_state.evidence.doubtful(desired_state.evidence.kinds.keys()).is_empty();
    let doubted = desired_state.table.has_unknown(context.config.status_grace, context.clock.now());
    (trusted && asked.pending.is_empty() && !doubted).then(|| digest_of(&asked))
}

fn digest_of(asked: &Asked<'_>) -> String {
    let mut lines: Vec<String> = asked.endpoints.iter().map(|endpoint| line(endpoint)).collect();
    lines.sort();
    guard::hash("", lines)
}

fn line(endpoint: &Endpoint) -> String {
    let targets = match &endpoint.targets {
        Targets::Records(records) => {
            let mut records: Vec<String> = records.iter().map(ToString::to_string).collect();
            records.sort();
            serde_json::json!(records)
        }
        Targets::Alias(alias) => serde_json::json!(alias),
    };
    let object = &endpoint.origin.object;
    serde_json::json!([
        [&endpoint.origin.source, object.kind(), &object.namespace, &object.name],
        [endpoint.rtype.to_string(), endpoint.extras.set_id.as_ref().map(SetId::as_str)],
        [endpoint.ttl.map(zonewright_core::record::Ttl::secs)],
        targets,
        endpoint.extras.routing,
        endpoint.extras.properties,
        endpoint.extras.labels,
        endpoint.policy,
    ])
    .to_string()
}

/// Pins names; they leave the pins that they were under.
pub(crate) fn pin(worker: &Worker, plan: &str, until: Timestamp, names: &BTreeSet<DnsName>) {
    let digests = {
        let desired_state = worker.context.desired_state();
        names
            .iter()
            .map(|name| (name.clone(), digest(&worker.context, &desired_state, name)))
            .collect::<BTreeMap<_, _>>()
    };
    let since = worker.context.clock.now();
    worker.context.state.zone(&worker.handle.label(), |state| {
        forget(&mut state.pins, names);
        if !digests.is_empty() {
            state.pins.push(Pin { plan: plan.to_owned(), since, until, names: digests });
        }
    });
    publish(&worker.context, &worker.handle.label());
}

/// Takes names out of every pin. Returns those that were in one.
fn forget(pins: &mut Vec<Pin>, names: &BTreeSet<DnsName>) -> BTreeSet<DnsName> {
    let mut gone = BTreeSet::new();
    for pin in pins.iter_mut() {
        pin.names.retain(|name, _| {
            let goes = names.contains(name);
            if goes {
                gone.insert(name.clone());
            }
            !goes
        });
    }
    pins.retain(|pin| !pin.names.is_empty());
    gone
}

/// Ends pins in one zone: of one name, or of all. Returns the names.
pub(crate) fn unpin(context: &EngineContext, zone: &str, names: Option<&BTreeSet<DnsName>>) -> BTreeSet<DnsName> {
    let held = context.state.look(zone, |state| names_of(&state.pins));
    let meant: BTreeSet<DnsName> =
        held.into_iter().filter(|name| names.is_none_or(|names| names.contains(name))).collect();
    if !meant.is_empty() {
        context.state.zone(zone, |state| forget(&mut state.pins, &meant));
        publish(context, zone);
    }
    meant
}

fn names_of(pins: &[Pin]) -> BTreeSet<DnsName> {
    pins.iter().flat_map(|pin| pin.names.keys().cloned()).collect()
}

pub(crate) fn publish(context: &EngineContext, zone: &str) {
    let count = context.state.look(zone, |state| state.pins.iter().map(|pin| pin.names.len()).sum::<usize>());
    let gauge = context.metrics.pinned.get_or_create(&ByZone { zone: zone.to_owned() }).clone();
    gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
}

/// Ends the pins whose time is over; their names are planned again.
pub(crate) fn expire(worker: &Worker) {
    let now = worker.context.clock.now();
    let zone = worker.handle.label();
    let over = |pin: &&Pin| pin.until <= now;
    let due: Vec<Pin> = worker.context.state.look(&zone, |s| s.pins.iter().filter(over).cloned().collect());
    if due.is_empty() {
        return;
    }
    let names = names_of(&due);
    info!(zone = %worker.handle.title, names = names.len(), "the pins of an undo have ended; the names are planned again");
    unpin(&worker.context, &zone, Some(&names));
    worker.handle.inbox.changed(names);
}

/// Takes out of the plans what would be done at pinned names. A name at which objects ask for something else than at the
/// time of the undo is unpinned first.
pub(crate) fn restrain(worker: &Worker, names: &[DnsName], plans: &mut [NamePlan]) {
    let zone = worker.handle.label();
    let flags = &worker.context.config.command_flags;
    let held: BTreeMap<DnsName, (Option<String>, Arc<str>)> = worker.context.state.look(&zone, |state| {
        let of =
            |pin: &Pin, name: &DnsName| Some((name.clone(), (pin.names.get(name)?.clone(), text(pin, name, flags))));
        let at = |name| state.pins.iter().find_map(|pin| of(pin, name));
        if state.pins.is_empty() { BTreeMap::new() } else { names.iter().filter_map(at).collect() }
    });
    if held.is_empty() {
        return;
    }
    let changed = changed(worker, &held);
    for plan in plans {
        let stays = |name: &DnsName| held.get(name).filter(|_| !changed.contains(name));
        let (waiting, go): (Vec<PlannedGroup>, Vec<PlannedGroup>) =
            std::mem::take(&mut plan.groups).into_iter().partition(|planned| stays(&planned.group.name).is_some());
        plan.groups = go;
        for planned in waiting {
            let Some((_, why)) = stays(&planned.group.name) else { continue };
            plan.skips.extend(planned.group.changes().map(|change| Skip {
                key: change.key().clone(),
                why: Why::Pinned(why.clone()),
                objects: planned.group.objects.clone(),
            }));
        }
        plan.upgrades.retain(|key| stays(&key.name).is_none());
        plan.adoptable.retain(|one| stays(&one.published.key.name).is_none());
    }
}

/// Why a name is pinned in a zone, if it is.
pub(crate) fn why(context: &EngineContext, zone: &str, name: &DnsName) -> Option<Arc<str>> {
    let flags = &context.config.command_flags;
    let pinned = |pin: &&Pin| pin.names.contains_key(name);
    context.state.look(zone, |state| state.pins.iter().find(pinned).map(|pin| text(pin, name, flags)))
}

/// What is reported on the object of a pinned name.
fn text(pin: &Pin, name: &DnsName, flags: &str) -> Arc<str> {
    Arc::from(format!(
        "it was restored by undo {} and is pinned until {}; change the object, or unpin it with: zonewright undo --unpin {name}{flags}",
        pin.plan,
        zonewright_core::clock::utc(pin.until),
    ))
}

/// Unpins the names at which something else is asked for than at the time of the undo.
fn changed(worker: &Worker, held: &BTreeMap<DnsName, (Option<String>, Arc<str>)>) -> BTreeSet<DnsName> {
    let now: BTreeMap<&DnsName, String> = {
        let desired_state = worker.context.desired_state();
        held.keys().filter_map(|name| Some((name, digest(&worker.context, &desired_state, name)?))).collect()
    };
    let zone = worker.handle.label();
    let (mut changed, mut first) = (BTreeSet::new(), Vec::new());
    for (name, digest) in now {
        match held.get(name).and_then(|(former, _)| former.as_ref()) {
            Some(former) if *former != digest => {
                changed.insert(name.clone());
            }
            Some(_) => {}
            // It was not known at the time: this is the first that is known.
            None => first.push((name.clone(), digest)),
        }
    }
    if !first.is_empty() {
        worker.context.state.zone(&zone, |state| {
            for (name, digest) in first {
                let slots = state.pins.iter_mut().filter_map(|pin| pin.names.get_mut(&name));
                slots.for_each(|slot| *slot = Some(digest.clone()));
            }
        });
    }
    for name in &changed {
        info!(zone = %worker.handle.title, name = %name, "{name} is no longer pinned: its object changed");
    }
    if !changed.is_empty() {
        unpin(&worker.context, &zone, Some(&changed));
    }
    changed
}
