//! What is held back or left undone, and who is told: the brake, the held plan, foreign records, orphans.

use std::collections::{BTreeMap, BTreeSet};

use tracing::{info, warn};

use super::chronicle::approved_plan;
use super::facts::ownership;
use super::worker::Worker;
use crate::change::{Change, Group};
use crate::endpoint::Note;
use crate::guard::{self, HeldPlan, Load};
use crate::metrics::{ByZone, Mismatch};
use crate::name::DnsName;
use crate::plan::{NamePlan, PlannedGroup, Skip, Why};
use crate::record::{RecordKey, RecordSet};

/// Number of our records in the zone's view, as the brake counts them.
pub(super) fn count_owned(worker: &Worker) -> usize {
    scope(worker).iter().filter(|key| ownership(&worker.office, &worker.desk, key).is_ours()).count()
}

/// What was ours when a round began.
#[derive(Debug, Clone, Copy)]
pub(super) struct Before {
    /// [`Worker::owned`].
    owned: usize,
    /// The most within the brake's window.
    peak: usize,
}

impl Before {
    /// Now.
    pub(super) fn of(worker: &Worker) -> Self {
        let window = worker.board.config.brake.window;
        let now = worker.board.clock.now();
        let peak = worker.board.state.note(&worker.desk.label(), |state| state.window.peak(window, now));
        Self { owned: worker.owned, peak }
    }
}

/// The keys of the records in the view that count.
pub(super) fn scope(worker: &Worker) -> Vec<RecordKey> {
    let config = &worker.board.config;
    let managed = |rtype| config.managed.contains(&rtype);
    let counts = |set: &RecordSet| {
        let name = &set.key.name;
        let inside = config.filter.matches(name) && worker.desk.zone.filter.matches(name);
        inside && !worker.office.instance.registry.is_claim(set)
    };
    worker.desk.view().sets_of(managed).filter(counts).map(|set| set.key).collect()
}

/// What the brake has to know of a whole round, gathered piece by piece.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// The deletes that the brake counts.
    counted: BTreeSet<RecordKey>,
    /// Records of groups that only delete, and that it does not count; one of each.
    free: BTreeSet<RecordKey>,
    /// Deletes that wait for evidence, or for the end of a fight.
    withheld: BTreeSet<RecordKey>,
    /// What the first of them waits for.
    doubt: Option<String>,
}

impl Tally {
    /// Takes in the plans of a piece: tells what is left undone, and notes counted deletes for [`brake`]. Returns the groups
    /// that go on at once, and those of counted deletes.
    pub(super) fn take(
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
        tell(worker, &planned, &skips);
        if !worker.desk.status().planned {
            // Whatever this process saw before it began to plan was told by nobody yet.
            let kept = skips.iter().filter(|skip| matches!(skip.why, Why::Pending(_)) && skip.objects.is_empty());
            kept.for_each(|skip| info!(zone = %worker.desk.zone.name, "{}: {}", skip.key, skip.why));
        }
        for skip in &skips {
            let waits = matches!(skip.why, Why::Doubt(_) | Why::Fought(_));
            if matches!(skip.why, Why::Doubt(_)) || waits && skip.objects.is_empty() {
                worker.waiting.insert(skip.key.name.clone());
            }
            if waits && skip.objects.is_empty() {
                self.withheld.insert(skip.key.clone());
                self.doubt.get_or_insert_with(|| skip.why.to_string());
            }
        }
        let (counted, go): (Vec<PlannedGroup>, Vec<PlannedGroup>) =
            groups.into_iter().partition(|planned| !planned.counted.is_empty());
        self.counted.extend(counted.iter().flat_map(|planned| planned.counted.iter().cloned()));
        let only_deletes = |g: &&PlannedGroup| g.group.records().all(|s| matches!(s.change, Change::Delete { .. }));
        let first = |g: &PlannedGroup| g.group.changes().next().map(|change| change.key().clone());
        self.free.extend(go.iter().filter(only_deletes).filter_map(first));
        (go.into_iter().map(|planned| planned.group).collect(), counted)
    }

    /// The names of the counted deletes.
    pub(super) fn names(&self) -> impl Iterator<Item = DnsName> {
        self.counted.iter().map(|key| key.name.clone())
    }
}

/// Judges the deletes of a whole round; what the brake or the evidence does not let pass is held and told. Returns the
/// counted deletes that go on. What the round itself created, since `before`, must not raise the share that may go, nor count
/// as what an owner had lately.
pub(super) fn brake(worker: &mut Worker, tally: &Tally, before: Before) -> BTreeSet<RecordKey> {
    let now = worker.board.clock.now();
    let zone = worker.desk.label();
    let config = worker.board.config.brake;
    let mut approval = None;
    let mut floor = false;
    let reason = if tally.counted.is_empty() {
        None
    } else {
        let after = worker.owned;
        worker.owned = count_owned(worker);
        let owned = (worker.owned + before.owned).saturating_sub(after);
        let load = Load { counted: &tally.counted, free: tally.free.len(), owned, peak: before.peak };
        worker.board.state.note(&zone, |state| {
            state.window.trim(config.window, now);
            state.approvals.retain(|approval| approval.until > now);
            let approved = guard::is_approved(&state.approvals, &tally.counted, now);
            approval = approved_plan(&zone, &state.approvals, &tally.counted).filter(|_| approved);
            let former = state.held.as_ref().and_then(|held| held.stays(&config, &tally.counted, &tally.withheld));
            floor = former.is_some() || guard::leaves_nothing(&config, load).is_some();
            guard::judge(&config, &state.window, load, now).or(former).filter(|_| !approved)
        })
    };
    if let (Some(plan), None) = (approval, &reason) {
        worker.origin.approve(plan, tally.counted.clone());
    }
    let held = if reason.is_some() { tally.counted.clone() } else { BTreeSet::new() };
    worker.waiting.extend(held.iter().map(|key| key.name.clone()));
    let go = if reason.is_some() { BTreeSet::new() } else { tally.counted.clone() };
    floor &= reason.is_some();
    hold(worker, held.into_iter().chain(tally.withheld.iter().cloned()), [reason, tally.doubt.clone()], floor);
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

/// Publishes the held plan: saved state, metric, log, event.
fn hold(worker: &mut Worker, held: impl Iterator<Item = RecordKey>, reasons: [Option<String>; 2], floor: bool) {
    let zone = worker.desk.label();
    let deletes: BTreeMap<RecordKey, String> = {
        let view = worker.desk.view();
        held.map(|key| {
            let data = view.find(&key).map(|set| set.data.to_string()).unwrap_or_default();
            (key, data)
        })
        .collect()
    };
    let reason = reasons.into_iter().flatten().collect::<Vec<_>>().join("; ");
    let count = i64::try_from(deletes.len()).unwrap_or(i64::MAX);
    worker.board.metrics.held.get_or_create(&ByZone { zone: zone.clone() }).set(count);
    let former = worker.board.state.held_hash(&zone);
    if deletes.is_empty() {
        worker.announced = None;
        if former.is_some() {
            worker.board.state.zone(&zone, |state| state.held = None);
        }
        return;
    }
    let hash = guard::hash(&zone, deletes.keys());
    // What an earlier process held is told again: nobody reads the log of that one.
    if former.as_ref() == Some(&hash) && worker.announced.as_ref() == Some(&hash) {
        return;
    }
    worker.announced = Some(hash.clone());
    let text = format!("{} deletes in zone {} are held: {reason}", deletes.len(), worker.desk.zone.name);
    let now = worker.board.clock.now();
    worker.board.state.zone(&zone, |state| {
        let since = state.held.as_ref().map_or(now, |former| former.since);
        state.held = Some(HeldPlan { hash: hash.clone(), deletes, reason, since, floor });
    });
    let or = worker.board.state.approve_with(&hash).map(|command| format!(" or `{command}`")).unwrap_or_default();
    warn!(hash, "{text}. Look at them with `zonewright plans`, let them go with `zonewright approve {hash}`{or}");
    if let Some(object) = &worker.board.own_object {
        let text = format!("{text}. Approve with: zonewright approve {hash}");
        worker.board.tell([Note::warning(object, "PlanHeld", text)]);
    }
}
