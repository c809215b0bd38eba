//! Names that an undo set back: they are planned, but nothing is done at them.
//!
//! In: the names, with what objects asked for at them at that moment. Out: plans without the groups of those names. A hold
//! ends when its time is over, when the operator releases it, or when an object asks for something else at the name; the
//! last needs a view that can be trusted, else a restart or a lost watch would end it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tracing::info;
use zonewright_core::clock::Timestamp;
use zonewright_core::desired::Asked;
use zonewright_core::endpoint::{Endpoint, Targets};
use zonewright_core::guard;
use zonewright_core::name::DnsName;
use zonewright_core::plan::{NamePlan, PlannedGroup, Skip, Why};
use zonewright_core::record::SetId;

use super::board::{Asks, Board};
use super::worker::Worker;
use crate::metrics::ByZone;

/// What one undo holds in one zone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holding {
    /// The hash of the undo.
    pub plan: String,
    /// Since when.
    pub since: Timestamp,
    /// Until when, if nothing ends it before.
    pub until: Timestamp,
    /// The names, each with a digest of what was asked for there; none where that could not be told.
    pub names: BTreeMap<DnsName, Option<String>>,
}

/// A digest of what is asked for at a name: from whom and what, not in which order. `None` while that cannot be told.
pub(super) fn digest(asks: &Asks, name: &DnsName) -> Option<String> {
    let asked = asks.desired.at(name);
    let trusted = asks.evidence.doubtful(asks.evidence.kinds.keys()).is_empty();
    (trusted && asked.pending.is_empty() && !asks.desired.has_unknown()).then(|| digest_of(&asked))
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
        [endpoint.origin.source, object.kind, object.namespace, object.name],
        [endpoint.rtype.to_string(), endpoint.set_id.as_ref().map(SetId::as_str)],
        [endpoint.ttl.map(zonewright_core::record::Ttl::secs)],
        targets,
        endpoint.routing,
        endpoint.properties,
        endpoint.labels,
        endpoint.policy,
    ])
    .to_string()
}

/// Puts names on hold; they leave the holds that they were on.
pub(super) fn put(worker: &Worker, plan: &str, until: Timestamp, names: &BTreeSet<DnsName>) {
    let digests = {
        let asks = worker.board.asks();
        names.iter().map(|name| (name.clone(), digest(&asks, name))).collect::<BTreeMap<_, _>>()
    };
    let since = worker.board.clock.now();
    worker.board.state.zone(&worker.desk.label(), |state| {
        forget(&mut state.holds, names);
        if !digests.is_empty() {
            state.holds.push(Holding { plan: plan.to_owned(), since, until, names: digests });
        }
    });
    publish(&worker.board, &worker.desk.label());
}

/// Takes names off every hold. Returns those that were on one.
fn forget(holds: &mut Vec<Holding>, names: &BTreeSet<DnsName>) -> BTreeSet<DnsName> {
    let mut gone = BTreeSet::new();
    for hold in holds.iter_mut() {
        hold.names.retain(|name, _| {
            let goes = names.contains(name);
            if goes {
                gone.insert(name.clone());
            }
            !goes
        });
    }
    holds.retain(|hold| !hold.names.is_empty());
    gone
}

/// Ends holds in one zone: of one name, or of all. Returns the names.
pub(super) fn release(board: &Board, zone: &str, names: Option<&BTreeSet<DnsName>>) -> BTreeSet<DnsName> {
    let held = board.state.look(zone, |state| names_of(&state.holds));
    let meant: BTreeSet<DnsName> =
        held.into_iter().filter(|name| names.is_none_or(|names| names.contains(name))).collect();
    if !meant.is_empty() {
        board.state.zone(zone, |state| forget(&mut state.holds, &meant));
        publish(board, zone);
    }
    meant
}

fn names_of(holds: &[Holding]) -> BTreeSet<DnsName> {
    holds.iter().flat_map(|hold| hold.names.keys().cloned()).collect()
}

pub(super) fn publish(board: &Board, zone: &str) {
    let count = board.state.look(zone, |state| state.holds.iter().map(|hold| hold.names.len()).sum::<usize>());
    let gauge = board.metrics.on_hold.get_or_create(&ByZone { zone: zone.to_owned() }).clone();
    gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
}

/// Ends the holds whose time is over; their names are planned again.
pub(super) fn expire(worker: &Worker) {
    let now = worker.board.clock.now();
    let zone = worker.desk.label();
    let over = |hold: &&Holding| hold.until <= now;
    let due: Vec<Holding> = worker.board.state.look(&zone, |s| s.holds.iter().filter(over).cloned().collect());
    if due.is_empty() {
        return;
    }
    let names = names_of(&due);
    info!(zone = %worker.desk.zone.name, names = names.len(), "the holds of an undo are over; the names are planned again");
    release(&worker.board, &zone, Some(&names));
    worker.desk.inbox.changed(names);
}

/// Takes out of the plans what would be done at names on hold. A name at which objects ask for something else than at the
/// time of the undo is released first.
pub(super) fn restrain(worker: &Worker, names: &[DnsName], plans: &mut [NamePlan]) {
    let zone = worker.desk.label();
    let held: BTreeMap<DnsName, (Option<String>, Arc<str>)> = worker.board.state.look(&zone, |state| {
        let of =
            |hold: &Holding, name: &DnsName| Some((name.clone(), (hold.names.get(name)?.clone(), text(hold, name))));
        let at = |name| state.holds.iter().find_map(|hold| of(hold, name));
        if state.holds.is_empty() { BTreeMap::new() } else { names.iter().filter_map(at).collect() }
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
                why: Why::OnHold(why.clone()),
                objects: planned.group.objects.clone(),
            }));
        }
        plan.upgrades.retain(|key| stays(&key.name).is_none());
        plan.adoptable.retain(|one| stays(&one.published.key.name).is_none());
    }
}

/// What the object of a name on hold is told.
fn text(hold: &Holding, name: &DnsName) -> Arc<str> {
    Arc::from(format!(
        "it was set back by undo {} and is on hold until {}; change the object, or let it go with: zonewright undo --release {name}",
        hold.plan,
        zonewright_core::clock::utc(hold.until),
    ))
}

/// Releases the names at which something else is asked for than at the time of the undo.
fn changed(worker: &Worker, held: &BTreeMap<DnsName, (Option<String>, Arc<str>)>) -> BTreeSet<DnsName> {
    let now: BTreeMap<&DnsName, String> = {
        let asks = worker.board.asks();
        held.keys().filter_map(|name| Some((name, digest(&asks, name)?))).collect()
    };
    let zone = worker.desk.label();
    let (mut changed, mut first) = (BTreeSet::new(), Vec::new());
    for (name, digest) in now {
        match held.get(name).and_then(|(former, _)| former.as_ref()) {
            Some(former) if *former != digest => {
                changed.insert(name.clone());
            }
            Some(_) => {}
            // It could not be told at the time: this is the first that is known.
            None => first.push((name.clone(), digest)),
        }
    }
    if !first.is_empty() {
        worker.board.state.zone(&zone, |state| {
            for (name, digest) in first {
                let slots = state.holds.iter_mut().filter_map(|hold| hold.names.get_mut(&name));
                slots.for_each(|slot| *slot = Some(digest.clone()));
            }
        });
    }
    for name in &changed {
        info!(zone = %worker.desk.zone.name, name = %name, "{name} is no longer on hold: its object changed");
    }
    if !changed.is_empty() {
        release(&worker.board, &zone, Some(&changed));
    }
    changed
}
