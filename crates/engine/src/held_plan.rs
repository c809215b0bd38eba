//! The held plan of a zone, published: saved state, metric, log, event.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;
use tracing::warn;
use zonewright_core::endpoint::Note;
use zonewright_core::explain::{Cause, Consideration, Subject};
use zonewright_core::guard::{AcceptedKinds, BrakeScope, Digest, HeldPlan, SAMPLES, hash};
use zonewright_core::record::RecordKey;

use crate::brake_ledger::Hold;
use crate::metrics::ByZone;
use crate::round_deletes::RoundDeletes;
use crate::state::ZoneState;
use crate::worker::Worker;

/// Longer than any plan settles: in the only pass there is nothing to wait for.
const LONG: Duration = Duration::from_hours(1);

/// Publishes what is held of a round: counted deletes that the brake kept, and what waits for evidence.
pub(crate) fn publish(
    worker: &mut Worker,
    mut held: BTreeMap<RecordKey, Digest>,
    deletes: &RoundDeletes,
    brake: Option<Hold>,
) {
    for key in &deletes.withheld {
        let Some(set) = worker.handle.view().find(key) else { continue };
        let ownership = worker.instance.ownership(&worker.handle.zone, key);
        held.insert(key.clone(), Digest::of(&set, ownership.claim()));
    }
    let (scope, reason, floor) = match brake {
        Some(Hold { scope, reason, floor }) => (scope, Some(reason), floor),
        // Doubt about a kind is the same in every zone.
        None if !deletes.kinds.is_empty() => (BrakeScope::Process, None, false),
        None => (BrakeScope::Zone, None, false),
    };
    // A plan that stays held says already what it was held for.
    let doubt = deletes.doubt.clone().filter(|doubt| !reason.as_ref().is_some_and(|reason| reason.contains(doubt)));
    let reason = [reason, doubt].into_iter().flatten().collect::<Vec<_>>().join("; ");
    keep(worker, held, Kept { reason, floor, scope, kinds: deletes.kinds.clone() });
}

/// So many objects get a note about a plan; the rest is in the plan.
const OBJECTS: usize = 20;

/// Reports a held delete to the objects that are still there and do not ask for its record any more.
fn report_to_objects(worker: &Worker, hash: &str) {
    let label = |key: &RecordKey| {
        worker.ownership(key).claim()?.resource.as_deref().and_then(|label| Subject::parse(label).ok())
    };
    let plan = worker.context.state.look(&worker.handle.label(), |state| {
        let plan = state.held.as_ref().filter(|plan| plan.hash == hash)?;
        Some((plan.held.keys().cloned().collect::<Vec<_>>(), plan.reason.clone()))
    });
    let Some((keys, reason)) = plan else { return };
    let keys = keys.into_iter().filter_map(|key| Some((key.clone(), label(&key)?)));
    let meant: Vec<(RecordKey, Subject)> =
        keys.filter(|(_, about)| matches!(about, Subject::Object(_))).take(OBJECTS).collect();
    if meant.is_empty() {
        return;
    }
    let (context, hash) = (worker.context.clone(), hash.to_owned());
    let at_once = context.config.one_pass || context.config.seed.is_some();
    let report = move || {
        let mut notes = Vec::new();
        for (key, about) in meant {
            let found = context.sources.iter().flat_map(|source| source.consider(&about));
            let asks = |one: &Consideration| one.mapped.endpoints.iter().any(|endpoint| endpoint.key() == key);
            for one in found.filter(|one| !asks(one)) {
                let flags = &context.config.command_flags;
                let text = format!(
                    "{key} is no longer asked for here, but its delete is held: {reason}. Approve with: zonewright approve \
                     {hash}{flags}"
                );
                notes.push(Note::warning(&one.object, Cause::HeldDelete.reason(), text));
            }
        }
        context.report(notes);
    };
    // The sources look through their objects: nothing waits for that but the only pass, whose last word is its summary, and a history
    // that is to be repeated, in which no other thread may have a part.
    if at_once {
        report();
    } else {
        tokio::task::spawn_blocking(report);
    }
}

/// What a held plan says besides its deletes.
struct Kept {
    reason: String,
    floor: bool,
    scope: BrakeScope,
    kinds: AcceptedKinds,
}

/// Publishes the held plan: saved state, metric, log, event.
fn keep(worker: &mut Worker, held: BTreeMap<RecordKey, Digest>, kept: Kept) {
    let Kept { reason, floor, scope, kinds } = kept;
    let zone = worker.handle.label();
    let count = i64::try_from(held.len()).unwrap_or(i64::MAX);
    worker.context.metrics.held.get_or_create(&ByZone { zone: zone.clone() }).set(count);
    let former =
        worker.context.state.look(&zone, |state| state.held.as_ref().map(|held| (held.hash.clone(), held.since)));
    if held.is_empty() {
        worker.deletes.nothing_held();
        if former.is_some() {
            worker.context.state.zone(&zone, |state| state.held = None);
        }
        return;
    }
    let doubts = kinds.iter().map(|(kind, doubt)| format!("{kind} {doubt}"));
    let now = worker.context.clock.now();
    // The same deletes, held another time, are another plan: who approved them then has not seen these.
    let since = former.as_ref().map_or(now, |(_, since)| *since);
    let lines = held.iter().map(|(key, digest)| format!("{key} {digest}")).chain(doubts);
    let hash = hash(&zone, lines.chain([format!("since {}", since.0)]));
    // What an earlier process held is reported again: nobody reads the log of that one.
    let news = worker.deletes.announce(&hash);
    if former.is_some_and(|(former, _)| former == hash) && !news {
        keep_up(worker, &zone, Kept { reason, floor, scope, kinds });
        return;
    }
    let text = format!("{} deletes in zone {} are held: {reason}", held.len(), worker.handle.title);
    let samples: BTreeMap<RecordKey, String> = {
        let view = worker.handle.view();
        let content = |key: &RecordKey| view.find(key).map(|set| set.data.to_string()).unwrap_or_default();
        held.keys().take(SAMPLES).map(|key| (key.clone(), content(key))).collect()
    };
    let held = held.into_iter().map(|(key, digest)| (key, Some(digest))).collect();
    worker.context.state.zone(&zone, |state| {
        state.held = Some(HeldPlan { hash: hash.clone(), held, samples, reason, since, floor, scope, kinds });
    });
    let now = Instant::now();
    worker.deletes.settle(hash, text, now);
    if worker.context.config.one_pass {
        report(worker, now + LONG);
    }
}

/// A plan that was reported is held for something else by now: who looks at it reads that. How many records it is judged by changes often, and is
/// saved with the next change.
fn keep_up(worker: &Worker, zone: &str, kept: Kept) {
    let Kept { reason, floor, scope, .. } = kept;
    let differs = |held: &HeldPlan| [held.reason != reason, held.floor != floor || held.scope != scope];
    let state = &worker.context.state;
    let [reads, holds] = state.look(zone, |state| state.held.as_ref().map(differs)).unwrap_or_default();
    let update = |state: &mut ZoneState| {
        if let Some(held) = &mut state.held {
            (held.reason, held.floor, held.scope) = (reason, floor, scope);
        }
    };
    if holds {
        state.zone(zone, update);
    } else if reads {
        state.note(zone, update);
    }
}

/// Reports the held plan in the log and by an event, once it has settled: removals that come one by one make one report.
pub(crate) fn announce(worker: &mut Worker) {
    report(worker, Instant::now());
}

fn report(worker: &mut Worker, now: Instant) {
    let Some((hash, text)) = worker.deletes.take_settled(now) else { return };
    let or = worker.context.state.approve_with(&hash).map(|command| format!(" or `{command}`")).unwrap_or_default();
    let flags = &worker.context.config.command_flags;
    warn!(hash, "{text}. See `zonewright plans{flags}`; approve with `zonewright approve {hash}{flags}`{or}");
    if let Some(object) = &worker.context.own_object {
        let text = format!("{text}. Approve with: zonewright approve {hash}{flags}");
        worker.context.report([Note::warning(object, "PlanHeld", text)]);
    }
    report_to_objects(worker, &hash);
}
