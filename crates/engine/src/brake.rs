//! The brake: whether the counted deletes of a round may go.
//!
//! In: the deletes of a whole round, and what was ours when it began. Out: those that go. The others are held and reported.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use zonewright_core::clock::Timestamp;
use zonewright_core::guard::{BrakeScope, Digest};
use zonewright_core::name::DnsName;
use zonewright_core::record::RecordKey;

use crate::brake_ledger::{Hold, Windows, ZoneLoad, lasting};
use crate::deletes::{self, Before, Reserved};
use crate::held_plan;
use crate::round_deletes::{Deletion, Passing, RoundDeletes};
use crate::state::ZoneState;
use crate::worker::Worker;

/// What was ours when a round begins now; or before the first round whose deletes still wait until every zone has been planned.
pub(crate) fn before(worker: &Worker) -> Before {
    worker.deletes.before().unwrap_or_else(|| {
        let window = worker.context.config.brake.window;
        let now = worker.context.clock.now();
        let peak = worker.context.state.note(&worker.handle.label(), |state| state.window.peak(window, now));
        Before { made: worker.claims.made, peak }
    })
}

/// What the brake says of the counted deletes of a round.
#[derive(Debug, Default)]
struct BrakeDecision {
    /// Those that pass.
    passed: Passing,
    /// Those of them that room was reserved for in the window, with what it said of each before.
    reserved: Reserved,
    /// Those of them that approvals cover, with the hash under which they were approved.
    approved: BTreeMap<RecordKey, String>,
    /// The others are held.
    hold: Option<Hold>,
    /// The others wait until every zone has been planned once.
    waits: bool,
    /// Zones that may have room since.
    relieved: Vec<String>,
}

/// Judges the deletes of a whole round; what the brake or the evidence does not let pass is held and reported. Returns the
/// counted deletes that go on. What the round itself created, since `before`, must not raise the share that may go, nor count
/// as what an owner had lately. Room for what goes is reserved and saved before anything is sent: a process that dies again and
/// again must not begin with an empty window each time.
pub(crate) async fn brake(worker: &mut Worker, deletes: &RoundDeletes, before: Before) -> Passing {
    worker.deletes.ask(deletes.asked.iter().cloned());
    let owned = owned_before(worker, deletes, before).await;
    let mut verdict = judge(worker, deletes, before.peak, owned);
    if !verdict.reserved.is_empty()
        && worker.context.config.brake.enabled
        && let Err(error) = worker.context.state.save().await
    {
        deletes::give_back(&worker.context.state, &worker.handle.label(), std::mem::take(&mut verdict.reserved));
        verdict.passed.retain(|key, _| verdict.approved.contains_key(key));
        let reason = format!("the state of the brake cannot be saved ({})", error.chain());
        verdict.hold = Some(Hold { scope: BrakeScope::Zone, reason, floor: false });
    }
    let BrakeDecision { passed, reserved, approved, hold, waits, relieved } = verdict;
    worker.deletes.reserve(reserved);
    worker.origin.approve(approved);
    worker.context.recheck(&relieved);
    let kept: BTreeMap<RecordKey, Digest> = deletes
        .counted
        .iter()
        .filter(|(key, _)| !passed.contains_key(key))
        .map(|(key, deletion)| (key.clone(), deletion.digest.clone()))
        .collect();
    worker.deletes.wait(kept.keys().map(|key| key.name.clone()));
    worker.deletes.wait_for_other_zones(waits.then_some(before));
    if waits {
        return passed;
    }
    worker.deletes.judged();
    held_plan::publish(worker, kept, deletes, hold);
    passed
}

/// Judges, and reserves, in one step over all zones. `owned` is what was ours before the round.
fn judge(worker: &Worker, deletes: &RoundDeletes, peak: usize, owned: usize) -> BrakeDecision {
    let now = worker.context.clock.now();
    let zone = worker.handle.label();
    let config = worker.context.config.brake;
    let doubt = worker.context.state.in_doubt();
    // It could not be saved that an approval is used up.
    let unsaved = worker.context.state.unsaved().is_some();
    let ready = worker.context.all_planned_for(&worker.instance.id);
    let gone = |key: &RecordKey| worker.handle.view().find(key).is_none();
    let asked = worker.deletes.asked();
    let asked_names: BTreeSet<&DnsName> = asked.iter().map(|key| &key.name).collect();
    worker.context.state.judge(|document, ledger| {
        let state = document.zones.entry(zone.clone()).or_default();
        state.window.trim(config.window, now);
        let mut approved = approved(state, deletes, gone, now);
        if unsaved {
            approved.clear();
        }
        let wanted: BTreeMap<RecordKey, Option<Arc<str>>> = deletes
            .counted
            .iter()
            .filter(|(key, _)| !approved.contains_key(key))
            .map(|(key, deletion)| (key.clone(), deletion.namespace.clone()))
            .collect();
        let counted: BTreeSet<RecordKey> = wanted.keys().cloned().collect();
        // Where it stands, another record in its place is the same wish.
        let is_asked = |key: &RecordKey| asked.contains(key) || asked_names.contains(&key.name) && !gone(key);
        let lasts = |held| lasting(held, &config, &counted, &deletes.withheld, is_asked);
        let former = state.held.as_ref().and_then(lasts);
        let load = ZoneLoad::new(wanted, deletes.free.len() + approved.len(), owned, peak);
        let relieved = ledger.note(&zone, &worker.instance.id, load);
        let mut verdict = BrakeDecision { approved, relieved, ..BrakeDecision::default() };
        let zones = &document.zones;
        let windows = Windows {
            of: &|label| zones.get(label).map(|state| &state.window),
            all: &|| zones.iter().map(|(label, state)| (label.as_str(), &state.window)).collect(),
        };
        verdict.hold = ledger.judge(&config, &zone, former, &windows, now);
        if config.enabled && !counted.is_empty() {
            verdict.doubt(doubt, ready);
        }
        verdict.pass(deletes);
        if !worker.context.config.dry_run {
            let go: BTreeSet<RecordKey> = counted.into_iter().filter(|key| verdict.passed.contains_key(key)).collect();
            ledger.gone(&zone, &go);
            verdict.reserved = document.zones.entry(zone.clone()).or_default().window.may_have_deleted(&go, now);
        }
        verdict
    })
}

/// Number of our records without those that the round created, which must not raise the share that may go. What it deleted meanwhile is
/// gone: where counted deletes waited for other zones, others went on.
async fn owned_before(worker: &Worker, deletes: &RoundDeletes, before: Before) -> usize {
    let owned = if deletes.counted.is_empty() { worker.claims.owned } else { worker.count_owned().await };
    owned.saturating_sub(usize::try_from(worker.claims.made - before.made).unwrap_or(0))
}

/// The counted deletes that approvals cover, with the hash under which they were approved. An approval of what is gone is spent.
fn approved(
    state: &mut ZoneState,
    deletes: &RoundDeletes,
    gone: impl Fn(&RecordKey) -> bool,
    now: Timestamp,
) -> BTreeMap<RecordKey, String> {
    state.approvals.retain(|approval| !approval.is_over(now));
    let open = state.approvals.iter().flat_map(|approval| approval.open.keys());
    let absent: Vec<RecordKey> = open.filter(|key| gone(key)).cloned().collect();
    state.spend(&absent);
    let plan_of = |(key, deletion): (&RecordKey, &Deletion)| {
        let covers = state.approvals.iter().find(|approval| approval.covers(key, &deletion.digest, now));
        covers.map(|approval| (key.clone(), approval.plan.clone()))
    };
    deletes.counted.iter().filter_map(plan_of).collect()
}

impl BrakeDecision {
    /// Nothing goes while the saved state is in doubt, or before every zone was planned once.
    fn doubt(&mut self, doubt: Option<String>, ready: bool) {
        let floor = self.hold.as_ref().is_some_and(|hold| hold.floor);
        self.hold = doubt.map(|reason| Hold { scope: BrakeScope::Zone, reason, floor }).or(self.hold.take());
        self.waits = !ready;
    }

    /// Notes which deletes go by it.
    fn pass(&mut self, deletes: &RoundDeletes) {
        let free = self.hold.is_none() && !self.waits;
        let going = deletes.counted.iter().filter(|(key, _)| free || self.approved.contains_key(*key));
        self.passed = going.map(|(key, deletion)| (key.clone(), deletion.digest.clone())).collect();
    }
}
