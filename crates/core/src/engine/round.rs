//! One round over the dirty names of a zone: contend, lower, adjust, plan, guard, decorate, prepare, apply, remember.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tracing::{info, warn};

use super::facts::{NameFacts, NameScene, ownership};
use super::journal::Entry;
use super::worker::{Parked, Worker};
use crate::capability::{Capability, Preconditions};
use crate::change::{Change, Group, Outcome, Role};
use crate::contend::{Wanted, contend};
use crate::endpoint::{Endpoint, Note};
use crate::error::{Error, ErrorKind, Result, Retry};
use crate::guard::{self, HeldPlan, Load};
use crate::lower::lower;
use crate::metrics::{ByZone, Changed, Mismatch};
use crate::name::DnsName;
use crate::plan::{NamePlan, Placed, PlannedGroup, Policy, Rules, Skip, Why, plan};
use crate::provider::{Adjusted, Read};
use crate::record::{RecordKey, RecordSet};

/// Most groups that are handed on in one piece: a stop waits for one piece, and progress is told after each.
const PIECE: usize = 500;

/// What a name shall hold, before the provider adjusted it.
struct Draft {
    name: DnsName,
    sets: Vec<(RecordSet, Arc<Wanted>)>,
}

/// Plans and carries out `names`. Returns whether anything was to be done.
///
/// # Errors
/// What makes the whole zone pause. Names that are not finished are back in the inbox.
pub(super) async fn run(worker: &mut Worker, names: BTreeMap<DnsName, Instant>, first: bool) -> Result<bool> {
    worker.board.metrics.last_reconcile.set(worker.board.clock.now().as_seconds());
    let capability = worker.office.instance.provider.capability(Some(&worker.desk.zone));
    if first {
        announce_orphans(worker);
    }
    let drafts = draft(worker, &capability, names.keys(), first);
    let placed = match adjust(worker, drafts).await {
        Ok(placed) => placed,
        Err(problem) => {
            worker.desk.inbox.put_back(names);
            return Err(problem);
        }
    };
    let plans = decide(worker, &capability, &placed);
    let upgrades = upgrades(worker, &plans);
    let groups = brake(worker, &names, plans);
    let changed = !groups.is_empty() || !upgrades.is_empty();
    let mut groups = decorate(worker, groups).await;
    groups.extend(upgrades);
    if capability.preconditions != Preconditions::Any {
        groups = match read_before(worker, groups).await {
            Ok(groups) => groups,
            Err(problem) => {
                worker.desk.inbox.put_back(names);
                return Err(problem);
            }
        };
    }
    let left = send(worker, groups, &names).await;
    match left {
        Ok(()) => Ok(changed),
        Err((problem, unfinished)) => {
            let back = unfinished.into_iter().filter_map(|name| Some((name.clone(), *names.get(&name)?)));
            worker.desk.inbox.put_back(back);
            Err(problem)
        }
    }
}

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

/// Contends and lowers: pure, over the board.
fn draft<'a>(
    worker: &mut Worker,
    capability: &Capability,
    names: impl Iterator<Item = &'a DnsName>,
    first: bool,
) -> Vec<Draft> {
    let board = worker.board.clone();
    let config = &board.config;
    let instance = &worker.office.instance;
    let mut notes = Vec::new();
    let mut drafts = Vec::new();
    let mut inherited = Vec::new();
    let asks = board.asks();
    for name in names.filter(|name| config.filter.matches(name)) {
        let here = worker.office.route(name).iter().any(|desk| desk.zone.key == worker.desk.zone.key);
        let asked = asks.desired.at(name);
        let mut endpoints: Vec<&Endpoint> =
            asked.endpoints.into_iter().filter(|e| here && config.managed.contains(&e.rtype)).collect();
        endpoints.retain(|endpoint| match board.name_policy.permit(endpoint) {
            Ok(()) => true,
            Err(denied) => {
                let text = format!("{} {} is denied: {denied}", endpoint.name, endpoint.rtype);
                notes.push(Note::warning(&endpoint.origin.object, "Denied", text));
                false
            }
        });
        let published = worker.desk.view().at(name).to_vec();
        let scene = NameScene::new(&worker.office, &worker.desk, &published, &worker.inherited, first);
        let contended = contend(name, &endpoints, config.same_name, &scene);
        notes.extend(contended.notes);
        inherited.extend(contended.inherited);
        let mut sets = Vec::new();
        for mut wanted in contended.wanted {
            wanted.ttl = wanted.ttl.or(config.min_ttl);
            let standing = published.iter().find(|set| set.key == wanted.key);
            let lowered = lower(&wanted, &worker.desk.zone, capability, &instance.options, standing);
            notes.extend(lowered.notes);
            sets.extend(lowered.set.map(|set| (set, Arc::new(wanted))));
        }
        drafts.push(Draft { name: name.clone(), sets });
    }
    drop(asks);
    for draft in &drafts {
        worker.inherited.retain(|key| key.name != draft.name);
    }
    worker.inherited.extend(inherited);
    board.tell(notes);
    drafts
}

/// Asks the provider for the form in which it would read the sets back.
async fn adjust(worker: &Worker, drafts: Vec<Draft>) -> Result<Vec<(DnsName, Vec<Placed>)>> {
    let sets: Vec<RecordSet> = drafts.iter().flat_map(|d| d.sets.iter().map(|(set, _)| set.clone())).collect();
    let mut adjusted: Vec<Vec<RecordSet>> = sets.iter().map(|_| Vec::new()).collect();
    if !sets.is_empty() {
        for Adjusted { from, set } in worker.office.instance.provider.adjust(&worker.desk.zone, &sets).await? {
            if let Some(slot) = adjusted.get_mut(from) {
                slot.push(set);
            }
        }
    }
    let mut adjusted = adjusted.into_iter();
    let place = |draft: Draft| {
        let placed = draft
            .sets
            .into_iter()
            .flat_map(|(_, wanted)| {
                let sets = adjusted.next().unwrap_or_default();
                sets.into_iter().map(move |set| Placed { set, wanted: wanted.clone() })
            })
            .collect();
        (draft.name, placed)
    };
    Ok(drafts.into_iter().map(place).collect())
}

/// Plans each name: pure, over the board.
fn decide(worker: &mut Worker, capability: &Capability, placed: &[(DnsName, Vec<Placed>)]) -> Vec<NamePlan> {
    let board = worker.board.clone();
    let config = &board.config;
    let asks = board.asks();
    let rules = Rules {
        policy: config.policy,
        managed: &config.managed,
        strict_cname: capability.strict_cname,
        many_targets: capability.targets == crate::capability::TargetCount::Full,
        apex: &worker.desk.zone.name,
    };
    let now = board.clock.now();
    let mut plans = Vec::new();
    for (name, placed) in placed {
        let sets = worker.desk.view().at(name).to_vec();
        let (claims, published): (Vec<&RecordSet>, Vec<&RecordSet>) =
            sets.iter().partition(|set| worker.office.instance.registry.is_claim(set));
        let claims: Vec<_> = claims.iter().map(|set| set.key.rtype).collect();
        let asked = asks.desired.at(name);
        let facts = NameFacts {
            office: &worker.office,
            desk: &worker.desk,
            name,
            asked: &asked,
            desired: &asks.desired,
            evidence: &asks.evidence,
            grace: config.status_grace,
            now,
        };
        plans.push(plan(placed, &published, &claims, rules, &facts));
    }
    plans
}

/// Claims of ours that do not stand where they would be written today; moving one changes no record.
fn upgrades(worker: &Worker, plans: &[NamePlan]) -> Vec<Group> {
    if worker.board.config.policy == Policy::CreateOnly {
        return Vec::new();
    }
    let registry = &worker.office.instance.registry;
    let keys = plans.iter().flat_map(|plan| &plan.upgrades);
    let records: Vec<RecordSet> = keys.filter_map(|key| worker.desk.view().find(key).cloned()).collect();
    records.iter().filter_map(|record| registry.upgrade(&worker.desk.zone, record, &*worker.office)).collect()
}

/// Holds deletes that the brake or the evidence does not let pass; tells what is left undone. Returns what goes on.
fn brake(worker: &mut Worker, names: &BTreeMap<DnsName, Instant>, plans: Vec<NamePlan>) -> Vec<PlannedGroup> {
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
        worker.board.state.zone(&zone, |state| {
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
fn announce_orphans(worker: &Worker) {
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
    let hash = guard::hash(&zone, deletes.keys());
    let now = worker.board.clock.now();
    let fresh = worker.board.state.zone(&zone, |state| {
        if deletes.is_empty() {
            state.held = None;
            return None;
        }
        let since = state.held.as_ref().map_or(now, |former| former.since);
        let known = state.held.as_ref().is_some_and(|former| former.hash == hash);
        let plan = HeldPlan { hash: hash.clone(), deletes, reason: reason.clone(), since };
        let text = format!("{} deletes in zone {} are held: {reason}", plan.deletes.len(), worker.desk.zone.name);
        state.held = Some(plan);
        (!known).then_some(text)
    });
    if let Some(text) = fresh {
        warn!(hash, "{text}. Look at them with `zonewright plans`, let them go with `zonewright approve {hash}`");
        if let Some(object) = &worker.board.own_object {
            worker.board.tell([Note::warning(
                object,
                "PlanHeld",
                format!("{text}. Approve with: zonewright approve {hash}"),
            )]);
        }
    }
}

/// Where the zone cannot be told what to expect, record and claim are read right before they are changed. Groups about names
/// that turn out to hold something else are left for another round.
async fn read_before(worker: &mut Worker, groups: Vec<Group>) -> Result<Vec<Group>> {
    let names: BTreeSet<DnsName> = groups.iter().flat_map(|group| touched(worker, group)).collect();
    if names.is_empty() || worker.board.config.dry_run {
        return Ok(groups);
    }
    let began = Instant::now();
    let listing = worker.office.instance.provider.records(&worker.desk.zone, Read::Names(&names)).await?;
    let changed = worker.desk.view_mut().take(listing, Some(&names), began, Duration::ZERO);
    let (stale, fresh): (Vec<Group>, Vec<Group>) =
        groups.into_iter().partition(|group| touched(worker, group).iter().any(|name| changed.contains(name)));
    worker.desk.inbox.again(stale.into_iter().map(|group| group.name));
    Ok(fresh)
}

/// The names in this zone that a group changes or rests on.
fn touched(worker: &Worker, group: &Group) -> BTreeSet<DnsName> {
    let registry = &worker.office.instance.registry;
    let mut names: BTreeSet<DnsName> = group.changes().map(|change| change.key().name.clone()).collect();
    for step in group.records() {
        names.extend(registry.claim_names(&worker.desk.zone, step.change.key()));
    }
    names.retain(|name| name.is_within(&worker.desk.zone.name));
    names
}

/// Adds the claims, and lets the registry prepare.
async fn decorate(worker: &mut Worker, groups: Vec<PlannedGroup>) -> Vec<Group> {
    let registry = worker.office.instance.registry.clone();
    let groups: Vec<Group> = groups.into_iter().map(|g| g.group).collect();
    let decorated = registry.decorate(&worker.desk.zone, groups, &*worker.office);
    let mut ready = Vec::new();
    for result in decorated {
        match result {
            Ok(group) => ready.push(group),
            Err((group, dropped)) => not_claimed(worker, &group, &dropped.reason),
        }
    }
    if worker.board.config.dry_run {
        return ready;
    }
    let mut prepared = Vec::new();
    for result in registry.prepare(&worker.desk.zone, ready).await {
        match result {
            Ok(group) => prepared.push(group),
            Err((group, dropped)) => not_claimed(worker, &group, &dropped.reason),
        }
    }
    prepared
}

/// The registry cannot claim the records of a group: it is told and planned again later, since what is in the way may go.
fn not_claimed(worker: &mut Worker, group: &Group, reason: &str) {
    let attempts = park(worker, group, |attempts| super::backoff(attempts + 2, Retry::Backoff));
    let text = format!("{}: {reason}", group.headline());
    if attempts == 1 {
        warn!(zone = %worker.desk.zone.name, "{text}");
    }
    worker.board.tell(group.objects.iter().map(|object| Note::warning(object, "ClaimRefused", text.clone())));
}

/// Lets a group's name back off alone; returns how often it has been refused by now.
fn park(worker: &mut Worker, group: &Group, pause: impl FnOnce(u32) -> Duration) -> u32 {
    let attempts = worker.attempts.get(&group.name).copied().unwrap_or(0) + 1;
    let until = Instant::now() + pause(attempts);
    worker.parked.insert(group.name.clone(), Parked { until, attempts });
    attempts
}

/// Sends groups piece by piece. On an error that concerns the zone: the error, and the names that are not finished.
async fn send(
    worker: &mut Worker,
    groups: Vec<Group>,
    names: &BTreeMap<DnsName, Instant>,
) -> std::result::Result<(), (Error, BTreeSet<DnsName>)> {
    let total = groups.len();
    let mut sent = 0;
    let mut rest = groups;
    while !rest.is_empty() && !worker.cancel.is_cancelled() {
        let later = rest.split_off(rest.len().min(PIECE));
        let piece = std::mem::replace(&mut rest, later);
        let outcomes = worker.office.instance.provider.apply(&worker.desk.zone, &piece).await;
        if !worker.board.config.dry_run
            && let Err(problem) = worker.office.instance.registry.commit(&worker.desk.zone, &piece, &outcomes).await
        {
            warn!(zone = %worker.desk.zone.name, error = problem.chain(), "the registry could not note what became of the changes");
        }
        sent += piece.len();
        if total > PIECE {
            info!(zone = %worker.desk.zone.name, sent, total, "progress");
        }
        let mut unfinished = remember(worker, &piece, outcomes, names);
        if let Some(problem) = unfinished.1.take() {
            unfinished.0.extend(rest.iter().map(|group| group.name.clone()));
            return Err((problem, unfinished.0));
        }
    }
    worker.desk.inbox.put_back(rest.iter().filter_map(|group| Some((group.name.clone(), *names.get(&group.name)?))));
    Ok(())
}

/// Takes over what became of groups. Returns names that are not finished, and the error that concerns the zone, if any.
fn remember(
    worker: &mut Worker,
    groups: &[Group],
    outcomes: Vec<Outcome>,
    names: &BTreeMap<DnsName, Instant>,
) -> (BTreeSet<DnsName>, Option<Error>) {
    let some_applied = outcomes.iter().any(|outcome| matches!(outcome, Outcome::Applied));
    let mut unfinished = BTreeSet::new();
    let mut zone_problem = None;
    for (group, outcome) in groups.iter().zip(outcomes) {
        record(worker, group, &outcome);
        match outcome {
            Outcome::Applied => applied(worker, group, names.get(&group.name).copied()),
            Outcome::NotSent(error) if error.kind == ErrorKind::DryRun => {
                info!(zone = %worker.desk.zone.name, "dry run, not sent: {}", group.headline());
            }
            Outcome::NotSent(error) => {
                unfinished.insert(group.name.clone());
                zone_problem = zone_problem.or(Some(error));
            }
            Outcome::Unknown(error) => {
                unsure(worker, group);
                unfinished.insert(group.name.clone());
                zone_problem = zone_problem.or(Some(error));
            }
            Outcome::Refused { error, .. } => match error.kind {
                ErrorKind::Conflict => {
                    unsure(worker, group);
                    refused(worker, group, &error);
                }
                ErrorKind::Invalid | ErrorKind::Unsupported => refused(worker, group, &error),
                // Where others went through, it is this group's own trouble.
                _ if some_applied => refused(worker, group, &error),
                _ => {
                    unfinished.insert(group.name.clone());
                    refused_zone(worker, group, &error);
                    zone_problem = zone_problem.or(Some(error));
                }
            },
        }
    }
    (unfinished, zone_problem)
}

fn record(worker: &Worker, group: &Group, outcome: &Outcome) {
    let changes: Vec<String> = group.records().map(|step| step.change.to_string()).collect();
    for step in group.records() {
        let label = Changed {
            zone: worker.desk.label(),
            verb: step.change.verb().to_owned(),
            outcome: outcome.label().to_owned(),
        };
        worker.board.metrics.changes.get_or_create(&label).inc();
    }
    worker.board.journal.push(Entry {
        at: worker.board.clock.now(),
        zone: worker.desk.zone.name.to_string(),
        changes,
        outcome: outcome.label(),
        error: outcome.error().map(Error::chain),
        objects: group.objects.clone(),
    });
}

fn applied(worker: &mut Worker, group: &Group, since: Option<Instant>) {
    let capability = worker.office.instance.provider.capability(Some(&worker.desk.zone));
    let default = capability.ttl.default;
    worker
        .desk
        .view_mut()
        .write(group, Instant::now(), |set| RecordSet { ttl: set.ttl.or(Some(default)), ..set.clone() });
    if let Some(since) = since {
        let label = ByZone { zone: worker.desk.label() };
        worker.board.metrics.time_to_publish.get_or_create(&label).observe(since.elapsed().as_secs_f64());
    }
    let (mut came, mut went) = (0, 0);
    for step in group.steps.iter().filter(|step| step.role == Role::Record) {
        info!(zone = %worker.desk.zone.name, "{} {}", step.change.verb(), step.change);
        match step.change {
            Change::Create { .. } => came += 1,
            Change::Delete { .. } => went += 1,
            Change::Update { .. } => {}
        }
    }
    worker.owned = (worker.owned + came).saturating_sub(went);
    let now = worker.board.clock.now();
    let proven = went > 0 && {
        let mut asks = worker.board.asks();
        let resources: Vec<_> = group.records().map(|step| step.resource.clone()).collect();
        let proven = resources.iter().any(|resource| asks.desired.is_proven_gone(&group.name, resource.as_ref()));
        if worker.desk.view().at(&group.name).iter().all(|set| worker.office.instance.registry.is_claim(set)) {
            asks.desired.bury(&group.name);
        }
        proven
    };
    worker.board.state.zone(&worker.desk.label(), |state| {
        state.window.owns(worker.owned, now);
        if came == 0 && !proven {
            state.window.deleted(went, now);
        }
    });
    worker
        .board
        .metrics
        .owned
        .get_or_create(&ByZone { zone: worker.desk.label() })
        .set(i64::try_from(worker.owned).unwrap_or(i64::MAX));
    let text = format!("{} in zone {}", group.headline(), worker.desk.zone.name);
    worker.board.tell(group.objects.iter().map(|object| Note::normal(object, "RecordReady", text.clone())));
}

/// What stands at the names of a group is not known any more.
fn unsure(worker: &mut Worker, group: &Group) {
    let names = touched(worker, group);
    worker.unsure.extend(names);
}

/// The group backs off alone.
fn refused(worker: &mut Worker, group: &Group, error: &Error) {
    let attempts = park(worker, group, |attempts| match (error.kind, error.retry) {
        // The names are read again and planned from what stands there: at once, the first time.
        (ErrorKind::Conflict, _) if attempts == 1 => Duration::ZERO,
        (_, Retry::Never) => Duration::from_hours(1),
        (_, retry) => super::backoff(attempts + 2, retry),
    });
    warn!(zone = %worker.desk.zone.name, error = error.chain(), attempts, "refused: {}", group.headline());
    let text = format!("{} was refused: {}", group.headline(), error.chain());
    worker.board.tell(group.objects.iter().map(|object| Note::warning(object, "RecordRefused", text.clone())));
}

fn refused_zone(worker: &Worker, group: &Group, error: &Error) {
    let text =
        format!("{} waits, zone {} cannot be written: {}", group.headline(), worker.desk.zone.name, error.chain());
    worker.board.tell(group.objects.iter().map(|object| Note::warning(object, "ZoneNotWritable", text.clone())));
}
