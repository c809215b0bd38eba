//! What is held back or left undone, and to whom that is reported: the brake, the held plan, foreign records, orphans.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tracing::{info, warn};
use zonewright_core::change::{Change, Group, Step};
use zonewright_core::clock::Timestamp;
use zonewright_core::endpoint::Note;
use zonewright_core::guard::{AcceptedKinds, Digest, HeldPlan, SAMPLES, Scope, hash};
use zonewright_core::name::DnsName;
use zonewright_core::plan::{NamePlan, PlannedGroup, Skip, Why};
use zonewright_core::record::{RecordKey, RecordSet};

use crate::brake_ledger::{Hold, Windows, ZoneLoad, lasting};
use crate::metrics::{ByZone, Mismatch};
use crate::worker::Worker;

/// Number of our records in the zone's view, as the brake counts them.
pub(crate) fn count_owned(worker: &Worker) -> usize {
    scope(worker).iter().filter(|key| worker.instance.ownership(&worker.handle.zone, key).is_ours()).count()
}

/// What was ours when a round began.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Before {
    /// [`Worker::owned`].
    owned: usize,
    /// The most within the brake's window.
    peak: usize,
}

impl Before {
    /// Now; or before the first round whose deletes still wait until every zone has been planned: what was created meanwhile
    /// must not let them go.
    pub(crate) fn of(worker: &Worker) -> Self {
        if let Some(before) = worker.waited {
            return before;
        }
        let window = worker.context.config.brake.window;
        let now = worker.context.clock.now();
        let peak = worker.context.state.note(&worker.handle.label(), |state| state.window.peak(window, now));
        Self { owned: worker.owned, peak }
    }
}

/// The keys of the records in the view that count.
pub(crate) fn scope(worker: &Worker) -> Vec<RecordKey> {
    let config = &worker.context.config;
    let managed = |rtype| config.managed.contains(&rtype);
    let counts = |set: &RecordSet| {
        let name = &set.key.name;
        let inside = config.filter.matches(name) && worker.handle.zone.filter.matches(name);
        inside && !worker.instance.is_claim(&worker.handle.zone, set)
    };
    let sets: Vec<RecordSet> = worker.handle.view().sets_of(managed).collect();
    sets.into_iter().filter(counts).map(|set| set.key).collect()
}

/// A delete that the brake counts.
#[derive(Debug, Clone)]
struct Deletion {
    /// What it takes away.
    digest: Digest,
    /// The namespace of the object that asked for it, where the claim names one.
    namespace: Option<Arc<str>>,
}

impl Deletion {
    fn of(step: &Step) -> Option<(RecordKey, Self)> {
        let from = step.change.from()?;
        let deletion = Self { digest: Digest::of(from, step.held.as_deref()), namespace: namespace(step) };
        Some((from.key.clone(), deletion))
    }
}

/// The namespace in the label that a step's claim carries: `shop` of `service/shop/web`.
pub(crate) fn namespace(step: &Step) -> Option<Arc<str>> {
    step.resource.as_ref()?.split('/').nth(1).filter(|namespace| !namespace.is_empty()).map(Arc::from)
}

/// The deletes that may go, each with what it takes away: another content under the same key is not meant.
pub(crate) type Passed = BTreeMap<RecordKey, Digest>;

/// The groups of counted deletes that may pass.
pub(crate) fn passing(groups: impl IntoIterator<Item = PlannedGroup>, passed: &Passed) -> impl Iterator<Item = Group> {
    let may_go = |planned: &PlannedGroup| {
        let deletions: BTreeMap<RecordKey, Deletion> = planned.group.records().filter_map(Deletion::of).collect();
        let meant = |key| deletions.get(key).is_some_and(|deletion| passed.get(key) == Some(&deletion.digest));
        !planned.counted.is_empty() && planned.counted.iter().all(meant)
    };
    groups.into_iter().filter(may_go).map(|planned| planned.group)
}

/// What the brake has to know of a whole round, gathered piece by piece.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// The deletes that the brake counts.
    counted: BTreeMap<RecordKey, Deletion>,
    /// Records of groups that only delete, and that it does not count; one of each.
    free: BTreeSet<RecordKey>,
    /// Deletes that wait for evidence, or for the end of a fight.
    withheld: BTreeSet<RecordKey>,
    /// What the first of them waits for.
    doubt: Option<String>,
    /// The kinds whose views only look doubtful, and for which some of them wait.
    kinds: AcceptedKinds,
}

impl Tally {
    /// Takes in the plans of a piece: tells what is left undone, and notes counted deletes for [`brake`]. Returns the groups
    /// that go on at once, and those of counted deletes.
    pub(crate) fn take(
        &mut self,
        worker: &mut Worker,
        names: &[DnsName],
        plans: Vec<NamePlan>,
    ) -> (Vec<Group>, Vec<PlannedGroup>) {
        let planned: BTreeSet<DnsName> = names.iter().cloned().collect();
        let (mut skips, mut groups) = (Vec::new(), Vec::new());
        for plan in plans {
            skips.extend(plan.skips);
            groups.extend(plan.groups);
        }
        report(worker, &planned, &skips);
        if !worker.handle.status().planned {
            // Whatever this process saw before it began to plan was reported by nobody yet.
            let kept = skips.iter().filter(|skip| matches!(skip.why, Why::Pending(_)) && skip.objects.is_empty());
            kept.for_each(|skip| info!(zone = %worker.handle.zone.name, "{}: {}", skip.key, skip.why));
        }
        for skip in &skips {
            let waits = matches!(skip.why, Why::Doubt(_) | Why::Fought(_));
            if !(waits && skip.objects.is_empty()) {
                worker.left_alone.insert(skip.key.clone());
            }
            if matches!(skip.why, Why::Doubt(_)) || waits && skip.objects.is_empty() {
                worker.waiting.insert(skip.key.name.clone());
            }
            if waits && skip.objects.is_empty() {
                self.withhold(worker, skip);
            }
        }
        let (counted, go): (Vec<PlannedGroup>, Vec<PlannedGroup>) =
            groups.into_iter().partition(|planned| !planned.counted.is_empty());
        for planned in &counted {
            let deletions = planned.group.records().filter_map(Deletion::of);
            self.counted.extend(deletions.filter(|(key, _)| planned.counted.contains(key)));
        }
        let only_deletes = |g: &&PlannedGroup| g.group.records().all(|s| matches!(s.change, Change::Delete { .. }));
        let first = |g: &PlannedGroup| g.group.changes().next().map(|change| change.key().clone());
        self.free.extend(go.iter().filter(only_deletes).filter_map(first));
        (go.into_iter().map(|planned| planned.group).collect(), counted)
    }

    fn withhold(&mut self, worker: &Worker, skip: &Skip) {
        self.withheld.insert(skip.key.clone());
        self.doubt.get_or_insert_with(|| skip.why.to_string());
        let Why::Doubt(kinds) = &skip.why else { return };
        let desired_state = worker.context.desired_state();
        let doubted = |kind| Some((Arc::clone(kind), desired_state.evidence.kinds.get(kind)?.doubted?));
        self.kinds.extend(kinds.iter().filter_map(doubted));
    }

    /// The names of the counted deletes.
    pub(crate) fn names(&self) -> impl Iterator<Item = DnsName> {
        self.counted.keys().map(|key| key.name.clone())
    }
}

/// What the brake says of the counted deletes of a round.
#[derive(Debug, Default)]
struct Verdict {
    /// They go.
    passed: Passed,
    /// Those of them that room was reserved for in the window, with what it said of each before.
    reserved: BTreeMap<RecordKey, Option<Timestamp>>,
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
pub(crate) async fn brake(worker: &mut Worker, tally: &Tally, before: Before) -> Passed {
    let mut verdict = judge(worker, tally, before);
    if !verdict.reserved.is_empty()
        && worker.context.config.brake.enabled
        && let Err(error) = worker.context.state.save().await
    {
        release(worker, std::mem::take(&mut verdict.reserved));
        verdict.passed.retain(|key, _| verdict.approved.contains_key(key));
        let reason = format!("the state of the brake cannot be saved ({})", error.chain());
        verdict.hold = Some(Hold { scope: Scope::Zone, reason, floor: false });
    }
    let Verdict { passed, reserved, approved, hold, waits, relieved } = verdict;
    worker.reserved.extend(reserved);
    worker.origin.approve(approved);
    worker.context.recheck(&relieved);
    let kept: BTreeMap<RecordKey, Digest> = tally
        .counted
        .iter()
        .filter(|(key, _)| !passed.contains_key(key))
        .map(|(key, deletion)| (key.clone(), deletion.digest.clone()))
        .collect();
    worker.waiting.extend(kept.keys().map(|key| key.name.clone()));
    worker.waited = waits.then_some(before);
    if waits {
        return passed;
    }
    publish(worker, kept, tally, hold);
    passed
}

/// Judges, and reserves, in one step over all zones.
fn judge(worker: &Worker, tally: &Tally, before: Before) -> Verdict {
    let now = worker.context.clock.now();
    let zone = worker.handle.label();
    let config = worker.context.config.brake;
    let instance = &worker.instance.id;
    let after = worker.owned;
    let owned = if tally.counted.is_empty() { after } else { count_owned(worker) };
    let owned = (owned + before.owned).saturating_sub(after);
    let doubt = worker.context.state.in_doubt();
    let ready = worker.context.all_planned_for(&worker.instance.id);
    let gone = |key: &RecordKey| worker.handle.view().find(key).is_none();
    worker.context.state.judge(|document, ledger| {
        let state = document.zones.entry(zone.clone()).or_default();
        state.window.trim(config.window, now);
        state.approvals.retain(|approval| !approval.is_over(now));
        let absent: Vec<RecordKey> =
            state.approvals.iter().flat_map(|approval| approval.open.keys()).filter(|key| gone(key)).cloned().collect();
        state.spend(&absent);
        let plan_of = |key: &RecordKey, deletion: &Deletion| {
            let covers = state.approvals.iter().find(|approval| approval.covers(key, &deletion.digest, now));
            covers.map(|approval| (key.clone(), approval.plan.clone()))
        };
        let approved: BTreeMap<RecordKey, String> =
            tally.counted.iter().filter_map(|(key, deletion)| plan_of(key, deletion)).collect();
        let wanted: BTreeMap<RecordKey, Option<Arc<str>>> = tally
            .counted
            .iter()
            .filter(|(key, _)| !approved.contains_key(key))
            .map(|(key, deletion)| (key.clone(), deletion.namespace.clone()))
            .collect();
        let counted: BTreeSet<RecordKey> = wanted.keys().cloned().collect();
        let former = state.held.as_ref().and_then(|held| lasting(held, &config, &counted, &tally.withheld));
        let load = ZoneLoad::new(wanted, tally.free.len() + approved.len(), owned, before.peak);
        let relieved = ledger.note(&zone, instance, load);
        let mut verdict = Verdict { approved, relieved, ..Verdict::default() };
        let zones = &document.zones;
        let windows = Windows {
            of: &|label| zones.get(label).map(|state| &state.window),
            all: &|| zones.iter().map(|(label, state)| (label.as_str(), &state.window)).collect(),
        };
        verdict.hold = ledger.judge(&config, &zone, former, &windows, now);
        if config.enabled && !counted.is_empty() {
            let floor = verdict.hold.as_ref().is_some_and(|hold| hold.floor);
            verdict.hold = doubt.map(|reason| Hold { scope: Scope::Zone, reason, floor }).or(verdict.hold);
            verdict.waits = !ready;
        }
        let free = verdict.hold.is_none() && !verdict.waits;
        let goes = |key: &RecordKey| free || verdict.approved.contains_key(key);
        let going = tally.counted.iter().filter(|(key, _)| goes(key));
        verdict.passed = going.map(|(key, deletion)| (key.clone(), deletion.digest.clone())).collect();
        if !worker.context.config.dry_run {
            let go: BTreeSet<RecordKey> = counted.into_iter().filter(|key| verdict.passed.contains_key(key)).collect();
            ledger.gone(&zone, &go);
            let state = document.zones.entry(zone.clone()).or_default();
            verdict.reserved = state.window.may_have_deleted(&go, now);
        }
        verdict
    })
}

/// Gives back the room of deletes that were not done.
pub(crate) fn release(worker: &Worker, reserved: BTreeMap<RecordKey, Option<Timestamp>>) {
    if reserved.is_empty() {
        return;
    }
    worker.context.state.zone(&worker.handle.label(), |state| {
        for (key, former) in reserved {
            state.window.not_deleted(&key, former);
        }
    });
}

/// Publishes what is held of a round: counted deletes that the brake kept, and what waits for evidence.
fn publish(worker: &mut Worker, mut deletes: BTreeMap<RecordKey, Digest>, tally: &Tally, hold: Option<Hold>) {
    for key in &tally.withheld {
        let Some(set) = worker.handle.view().find(key) else { continue };
        let ownership = worker.instance.ownership(&worker.handle.zone, key);
        deletes.insert(key.clone(), Digest::of(&set, ownership.claim()));
    }
    let (scope, reason, floor) = match hold {
        Some(Hold { scope, reason, floor }) => (scope, Some(reason), floor),
        None => (Scope::Zone, None, false),
    };
    let reason = [reason, tally.doubt.clone()].into_iter().flatten().collect::<Vec<_>>().join("; ");
    keep(worker, deletes, Kept { reason, floor, scope, kinds: tally.kinds.clone() });
}

/// Reports what is left undone, and keeps the number of records that are left alone for their owner.
fn report(worker: &mut Worker, planned: &BTreeSet<DnsName>, skips: &[Skip]) {
    worker.context.report(skips.iter().flat_map(Skip::notes).collect::<Vec<_>>());
    let metrics = worker.context.metrics.clone();
    worker.mismatched.retain(|key, label| {
        let stays = !planned.contains(&key.name);
        if !stays {
            metrics.match_again(label);
        }
        stays
    });
    let owner = worker.instance.registry.owner().map(ToString::to_string).unwrap_or_default();
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
        metrics.mismatch(&label);
        if let Some(former) = worker.mismatched.insert(skip.key.clone(), label) {
            metrics.match_again(&former);
        }
    }
}

/// What a worker counted ends with it.
impl Drop for Worker {
    fn drop(&mut self) {
        self.mismatched.values().for_each(|label| self.context.metrics.match_again(label));
    }
}

/// What a held plan says besides its deletes.
struct Kept {
    reason: String,
    floor: bool,
    scope: Scope,
    kinds: AcceptedKinds,
}

/// Publishes the held plan: saved state, metric, log, event.
fn keep(worker: &mut Worker, held: BTreeMap<RecordKey, Digest>, kept: Kept) {
    let Kept { reason, floor, scope, kinds } = kept;
    let zone = worker.handle.label();
    let count = i64::try_from(held.len()).unwrap_or(i64::MAX);
    worker.context.metrics.held.get_or_create(&ByZone { zone: zone.clone() }).set(count);
    let former = worker.context.state.held_hash(&zone);
    if held.is_empty() {
        worker.announced = None;
        if former.is_some() {
            worker.context.state.zone(&zone, |state| state.held = None);
        }
        return;
    }
    let doubts = kinds.iter().map(|(kind, doubt)| format!("{kind} {doubt}"));
    let hash = hash(&zone, held.iter().map(|(key, digest)| format!("{key} {digest}")).chain(doubts));
    // What an earlier process held is reported again: nobody reads the log of that one.
    if former.as_ref() == Some(&hash) && worker.announced.as_ref() == Some(&hash) {
        return;
    }
    worker.announced = Some(hash.clone());
    let text = format!("{} deletes in zone {} are held: {reason}", held.len(), worker.handle.zone.name);
    let now = worker.context.clock.now();
    let samples: BTreeMap<RecordKey, String> = {
        let view = worker.handle.view();
        let content = |key: &RecordKey| view.find(key).map(|set| set.data.to_string()).unwrap_or_default();
        held.keys().take(SAMPLES).map(|key| (key.clone(), content(key))).collect()
    };
    let held = held.into_iter().map(|(key, digest)| (key, Some(digest))).collect();
    worker.context.state.zone(&zone, |state| {
        let since = state.held.as_ref().map_or(now, |former| former.since);
        state.held = Some(HeldPlan { hash: hash.clone(), held, samples, reason, since, floor, scope, kinds });
    });
    let or = worker.context.state.approve_with(&hash).map(|command| format!(" or `{command}`")).unwrap_or_default();
    warn!(hash, "{text}. Look at them with `zonewright plans`, let them go with `zonewright approve {hash}`{or}");
    if let Some(object) = &worker.context.own_object {
        let text = format!("{text}. Approve with: zonewright approve {hash}");
        worker.context.report([Note::warning(object, "PlanHeld", text)]);
    }
}
