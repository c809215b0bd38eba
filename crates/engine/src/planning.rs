//! A piece of a round: names in, groups that are prepared out.
//!
//! Draft, plan, restrain, brake, decorate, prepare.

use std::collections::BTreeSet;

use tokio::task::yield_now;
use tracing::{info, warn};
use zonewright_core::capability::{Atomicity, Capability, CreateMode};
use zonewright_core::change::{Change, Group};
use zonewright_core::endpoint::Note;
use zonewright_core::error::{Error, ErrorKind, Result};
use zonewright_core::guard::Digest;
use zonewright_core::name::DnsName;
use zonewright_core::plan::{Adoptable, NamePlan, PlannedGroup, Policy, Skip, Why};
use zonewright_core::record::{RecordKey, RecordSet};
use zonewright_core::registry::{OwnershipChange, StaleClaims};

use crate::adjusting::{AdjustedDrafts, adjust};
use crate::admit::Unwritable;
use crate::approvals;
use crate::brake::brake;
use crate::deletes::Before;
use crate::drafting::{Drafts, decide, draft};
use crate::footprint::{footprint, touches};
use crate::pipeline::{Prepared, Unclaimed};
use crate::round_deletes::{Passing, RoundDeletes, passing};
use crate::state::ZoneState;
use crate::worker::{AT_A_TIME, Worker};
use crate::{claim_room, contested, pinning, skip_notes, write_through};

/// What names of a round are planned for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Goal<'a> {
    /// Everything, since all names fit one piece. With what was ours when the round began.
    Whole(Before),
    /// Everything but counted deletes; those are gathered for the brake.
    Survey,
    /// What is created and updated, since the zone is not listed yet: nothing that rests on the whole view.
    Early,
    /// These counted deletes alone, which the brake let pass.
    Deletes(&'a Passing),
}

/// What came of names.
pub(crate) struct Piece {
    /// The groups, with their claims.
    pub(crate) prepared: Prepared,
    /// Names of groups that meet one in flight: to be planned again after it.
    pub(crate) later: Vec<DnsName>,
    /// Whether there was anything to do, also what cannot be claimed.
    pub(crate) planned: bool,
}

/// What is the same for all pieces of a round.
#[derive(Clone, Copy)]
pub(crate) struct RoundTerms<'a> {
    pub(crate) capability: &'a Capability,
    pub(crate) goal: Goal<'a>,
    /// The zone is planned for the first time.
    pub(crate) first: bool,
}

/// Plans `names` and prepares what is to be sent. `busy` are the names that groups in flight change or rest on; without it
/// nothing will be sent, and every group is left for later.
///
/// # Errors
/// The provider could not adjust what is wanted: nothing of the piece was planned.
pub(crate) async fn prepare(
    worker: &mut Worker,
    names: &[DnsName],
    round: RoundTerms<'_>,
    deletes: &mut RoundDeletes,
    busy: Option<&BTreeSet<DnsName>>,
) -> Result<Piece> {
    let (plans, wanted) = plan(worker, names, round).await?;
    let surveys = !matches!(round.goal, Goal::Deletes(_) | Goal::Early);
    let claims = if surveys { claims(worker, names, round.capability, &plans) } else { Vec::new() };
    let groups = match round.goal {
        Goal::Whole(before) => {
            let (mut groups, counted) = gather(worker, names, plans, &wanted, deletes);
            let go = brake(worker, deletes, before).await;
            groups.extend(passing(counted, &go));
            groups
        }
        Goal::Survey => gather(worker, names, plans, &wanted, deletes).0,
        Goal::Early => {
            plans.into_iter().flat_map(|plan| plan.groups).map(|planned| planned.group).filter(takes_nothing).collect()
        }
        Goal::Deletes(keys) => {
            let going = still_approved(worker, keys);
            let groups: Vec<Group> = passing(plans.into_iter().flat_map(|plan| plan.groups), &going).collect();
            // What was to go and may not any more, since the view of it is in doubt by now, say, is planned again with the next
            // turn: nothing else asks for these names.
            let going: BTreeSet<&DnsName> = groups.iter().map(|group| &group.name).collect();
            worker.deletes.wait(names.iter().filter(|name| !going.contains(name)).cloned());
            groups
        }
    };
    let planned = !groups.is_empty() || !claims.is_empty();
    let Some(busy) = busy else {
        let later = groups.into_iter().chain(claims).map(|group| group.name).collect();
        return Ok(Piece { prepared: Prepared::default(), later, planned });
    };
    let groups = decorate(worker, groups);
    // A claim that a group changes or rests on is that group's affair, until its outcome is known.
    let taken = footprint(&groups);
    let (held, claims): (Vec<Group>, Vec<Group>) = claims.into_iter().partition(|group| touches(group, &taken));
    let groups = groups.into_iter().chain(claims);
    let (wait, go): (Vec<Group>, Vec<Group>) = groups.partition(|group| !busy.is_empty() && touches(group, busy));
    let later = wait.into_iter().chain(held).map(|group| group.name).collect();
    let (prepared, unclaimed) = worker.pipeline().prepare(go).await;
    for Unclaimed { group, reason, .. } in unclaimed {
        write_through::unclaimed(worker, &group, &reason);
    }
    Ok(Piece { prepared, later, planned })
}

/// The counted deletes that may go, without those whose approval ended while others of the round were sent: by an undo, or in time.
fn still_approved(worker: &Worker, passing: &Passing) -> Passing {
    let now = worker.context.clock.now();
    worker.context.state.look(&worker.handle.label(), |state| {
        let covers =
            |key: &RecordKey, digest: &Digest| state.approvals.iter().any(|approval| approval.covers(key, digest, now));
        let may_go = |(key, digest): &(&RecordKey, &Digest)| !worker.origin.is_approved(key) || covers(key, digest);
        passing.iter().filter(may_go).map(|(key, digest)| (key.clone(), digest.clone())).collect()
    })
}

/// Whether a group takes no record away.
fn takes_nothing(group: &Group) -> bool {
    group.records().all(|step| !matches!(step.change, Change::Delete { .. }))
}

/// Plans names, without what a contest or a pin does not allow. With the keys of what is wanted there as the provider publishes it,
/// where an approval, or a held plan, may depend on it.
async fn plan(
    worker: &mut Worker,
    names: &[DnsName],
    round: RoundTerms<'_>,
) -> Result<(Vec<NamePlan>, BTreeSet<RecordKey>)> {
    let mut all = Drafts::default();
    for (number, part) in names.chunks(AT_A_TIME).enumerate() {
        if number > 0 {
            yield_now().await;
        }
        all.append(draft(worker, round.capability, part, round.first));
    }
    let Drafts { names: drafts, notes, mut unmet, .. } = all;
    let labelled = worker.instance.options.is_open();
    let AdjustedDrafts { placed, refused, unknown, notes: adjusted } =
        adjust(&*worker.instance.provider, &worker.handle.zone, drafts, labelled).await?;
    for wanted in refused {
        unmet.entry(wanted.key.name.clone()).or_default().push(Unwritable::from((*wanted).clone()));
    }
    for (name, error) in unknown {
        worker.retries.unadjusted(&name, &error);
        warn!(zone = %worker.handle.title, %name, error = error.chain(), "the provider cannot say how it would publish this name");
    }
    if !matches!(round.goal, Goal::Deletes(_) | Goal::Early) {
        worker.tally.replan(names);
        unmet.values().flatten().for_each(|wanted| worker.tally.leave_alone(wanted.key.clone()));
        if worker.context.config.previews() {
            let mut preview = worker.handle.preview();
            preview.replan(names);
            let notes: Vec<&Note> = notes.iter().chain(&adjusted).collect();
            preview.unwritable(unmet.values().flatten().map(|wanted| &wanted.key), &notes);
        }
        worker.context.report(notes.into_iter().chain(adjusted));
    }
    let mut wanted = BTreeSet::new();
    let depends = |state: &ZoneState| !state.approvals.is_empty() || state.held.as_ref().is_some_and(|held| held.floor);
    if worker.context.state.look(&worker.handle.label(), depends) {
        wanted.extend(placed.iter().flat_map(|(_, placed)| placed).map(|placed| placed.set.key.clone()));
        wanted.extend(unmet.values().flatten().map(|wanted| wanted.key.clone()));
    }
    let mut plans = Vec::with_capacity(placed.len());
    for (number, part) in placed.chunks(AT_A_TIME).enumerate() {
        if number > 0 {
            yield_now().await;
        }
        plans.extend(decide(worker, round.capability, part, &unmet));
    }
    contested::restrain(worker, &mut plans);
    pinning::restrain(worker, names, &mut plans);
    Ok((plans, wanted))
}

/// Groups that change claims alone: what unfinished writes left behind, and what is adopted. Notes what is to be moved.
fn claims(worker: &mut Worker, names: &[DnsName], capability: &Capability, plans: &[NamePlan]) -> Vec<Group> {
    let adoptions = adoptions(worker, names, plans);
    for name in names {
        worker.claims.adopting.remove(name);
    }
    worker.claims.adopting.extend(adoptions.iter().map(|group| group.name.clone()));
    let groups = stale_claims(worker, capability, names).into_iter().chain(adoptions).collect();
    worker.claims.moves.found(names, plans);
    groups
}

/// Takes in the plans of a piece: reports what is left undone, and gathers counted deletes for the brake. Returns the groups
/// that go on at once, and those of counted deletes.
fn gather(
    worker: &mut Worker,
    names: &[DnsName],
    plans: Vec<NamePlan>,
    wanted: &BTreeSet<RecordKey>,
    deletes: &mut RoundDeletes,
) -> (Vec<Group>, Vec<PlannedGroup>) {
    let (mut skips, mut groups) = (Vec::new(), Vec::new());
    for plan in plans {
        skips.extend(plan.skips);
        groups.extend(plan.groups);
    }
    skipped(worker, names, &skips);
    deletes.withhold(skips.iter().filter(|skip| is_withheld(skip)), &worker.context.desired_state().evidence);
    deletes.asked.extend(wanted.iter().cloned());
    let taken = deletes.take(groups);
    approvals::end_of_what_came_back(worker, names, wanted, deletes);
    taken
}

/// Whether a delete waits by itself: for evidence, or for the end of a contest.
fn is_withheld(skip: &Skip) -> bool {
    matches!(skip.why, Why::Doubt(_) | Why::Contested(_)) && skip.objects.is_empty()
}

/// Reports what is left undone, and remembers it.
fn skipped(worker: &mut Worker, names: &[DnsName], skips: &[Skip]) {
    worker.context.report(skips.iter().flat_map(|skip| skip_notes::of(worker, skip)).collect::<Vec<_>>());
    let planned: BTreeSet<DnsName> = names.iter().cloned().collect();
    worker.claims.mismatched.replan(&planned, skips, worker.instance.registry.owner());
    if !worker.handle.status().planned {
        // Whatever this process saw before it began to plan was reported by nobody yet.
        let kept = skips.iter().filter(|skip| matches!(skip.why, Why::Pending(_)) && skip.objects.is_empty());
        kept.for_each(|skip| info!(zone = %worker.handle.title, "{}: {}", skip.key, skip.why));
    }
    for skip in skips {
        if !is_withheld(skip) {
            worker.tally.leave_alone(skip.key.clone());
            if worker.context.config.previews() {
                let more = skip_notes::more(worker, skip);
                worker.handle.preview().skip(skip, more);
            }
        }
        if matches!(skip.why, Why::Doubt(_)) || is_withheld(skip) {
            worker.deletes.wait([skip.key.name.clone()]);
        }
    }
}

/// Adds the claims: pure, over the context.
fn decorate(worker: &mut Worker, mut groups: Vec<Group>) -> Vec<Group> {
    let registry = worker.instance.registry.clone();
    for step in groups.iter_mut().flat_map(|group| &mut group.steps) {
        step.owner = registry.owner().filter(|_| step.change.to().is_some()).cloned();
    }
    let mut ready = Vec::new();
    for result in registry.decorate(&worker.handle.zone, groups, &*worker.instance) {
        match result {
            Ok(group) => match claim_room::make_room(worker, group) {
                Ok(group) => ready.push(group),
                Err((group, reason)) => write_through::unclaimed(worker, &group, &reason),
            },
            Err((group, dropped)) => write_through::unclaimed(worker, &group, &dropped.reason),
        }
    }
    ready
}

/// What unfinished writes left behind; taking it away changes no record.
fn stale_claims(worker: &mut Worker, capability: &Capability, names: &[DnsName]) -> Vec<Group> {
    if worker.context.config.policy == Policy::CreateOnly {
        return Vec::new();
    }
    let (registry, zone) = (&worker.instance.registry, &worker.handle.zone);
    let claims: Vec<RecordSet> = names.iter().flat_map(|name| worker.handle.view().at(name)).collect();
    let claims = claims.into_iter().filter(|set| registry.is_claim(set));
    let collect = |set: RecordSet| {
        Some((registry.collect_stale_claims(zone, &set, StaleClaims::Intents, &*worker.instance)?, set))
    };
    let (groups, void): (Vec<Group>, Vec<RecordSet>) = claims.filter_map(collect).unzip();
    if capability.batch.atomic != Atomicity::None && capability.create != CreateMode::Additive {
        return groups;
    }
    // Another process may be between its intent and its record.
    let old = worker.claims.stale.found(names, void);
    groups.into_iter().filter(|group| group.changes().all(|change| old.contains(change.key()))).collect()
}

/// Remembers what stands unclaimed, and claims what holds exactly what is wanted or a placeholder, if that is asked for.
fn adoptions(worker: &Worker, names: &[DnsName], plans: &[NamePlan]) -> Vec<Group> {
    let found: Vec<&Adoptable> = plans.iter().flat_map(|plan| &plan.adoptable).collect();
    {
        let mut status = worker.handle.status();
        if !status.adoptable.is_empty() {
            let planned: BTreeSet<&DnsName> = names.iter().collect();
            status.adoptable.retain(|key, _| !planned.contains(&key.name));
        }
        status.adoptable.extend(found.iter().map(|one| (one.published.key.clone(), (*one).clone())));
    }
    let config = &worker.context.config;
    if !config.adopt || config.dry_run {
        return Vec::new();
    }
    let take = |one: &&Adoptable| {
        let change = OwnershipChange::Take(one.resource.clone());
        let registry = &worker.instance.registry;
        registry.assign(&worker.handle.zone, &one.published, &change, &*worker.instance).ok().flatten()
    };
    let is_for_us = |one: &&Adoptable| one.matches() || one.is_placeholder(&config.placeholders);
    found.into_iter().filter(is_for_us).filter_map(|one| take(&one)).collect()
}

/// Where writes cannot be conditional, record and claim are read right before they are changed. Groups about names
/// that turn out to hold something else are left for another round.
///
/// # Errors
/// As [`zonewright_core::provider::Provider::records`].
pub(crate) async fn read_before(worker: &mut Worker, prepared: Prepared) -> Result<Prepared> {
    let names: BTreeSet<DnsName> = prepared.groups().iter().flat_map(|group| worker.touched(group)).collect();
    if names.is_empty() || worker.context.config.dry_run {
        return Ok(prepared);
    }
    let changed = match worker.read_names(&names).await {
        Ok(changed) => changed,
        Err(problem) => {
            write_through::withdraw(worker, prepared, &problem).await;
            return Err(problem);
        }
    };
    let (stale, fresh) = prepared.split(|group| worker.touched(group).iter().any(|name| changed.contains_key(name)));
    // What was found out is news to its own name, too, which need not be that of a group.
    let news: Vec<DnsName> = changed.keys().cloned().collect();
    contested::note(worker, changed);
    let why = Error::new(ErrorKind::Conflict, "read before a change", "the zone has changed");
    let again = write_through::withdraw(worker, stale, &why).await;
    worker.handle.inbox.again(again.into_iter().chain(news));
    Ok(fresh)
}
