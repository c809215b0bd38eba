//! A piece of a round: names in, groups that are ready to be sent out.
//!
//! Contend, lower, adjust, plan, decorate, prepare. Pure over the context, but for `adjust` and `prepare`. The context is locked
//! for one piece at a time, so that sources are never kept waiting for a whole zone.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tracing::warn;
use zonewright_core::capability::{Atomicity, Capability, CreateMode, RoutingSupport};
use zonewright_core::change::{Group, Precondition};
use zonewright_core::contend::{SameName, contend};
use zonewright_core::endpoint::{Endpoint, Note};
use zonewright_core::error::{Error, ErrorKind, Result};
use zonewright_core::lower::lower;
use zonewright_core::name::DnsName;
use zonewright_core::plan::{Adoptable, NamePlan, Placed, Policy, Rules, plan};
use zonewright_core::provider::Read;
use zonewright_core::record::RecordSet;
use zonewright_core::registry::{Dropped, OwnershipChange, StaleClaims as StaleKind};

use crate::adjusting::{AdjustedDrafts, Draft, adjust};
use crate::admit::{Admitted, Gate, Unwritable};
use crate::brake::{Before, Passed, Tally, brake, passing};
use crate::contested;
use crate::name_facts::{NameFacts, NameScene};
use crate::pins;
use crate::quotas;
use crate::worker::Worker;
use crate::write_through::{self, not_claimed, touched};

/// What names are planned for.
pub(crate) enum Pass<'a> {
    /// Everything, since these are all names of the round. With what was ours when it began.
    Whole(&'a mut Tally, Before),
    /// Everything but counted deletes; those are gathered for the brake. What is left undone is reported.
    Survey(&'a mut Tally),
    /// These counted deletes alone, which the brake let pass.
    Deletes(&'a Passed),
}

/// What came of names.
pub(crate) struct Prepared {
    /// The groups, with their claims.
    pub(crate) groups: Vec<Group>,
    /// Names of groups that meet one in flight: to be planned again after it.
    pub(crate) later: Vec<DnsName>,
    /// Whether there was anything to do, also what cannot be claimed.
    pub(crate) planned: bool,
}

/// Plans `names` and prepares what is to be sent. `busy` are the names that groups in flight change or rest on; without it
/// nothing will be sent, and every group is left for later.
///
/// # Errors
/// The provider could not adjust what is wanted: nothing of the piece was planned.
pub(crate) async fn prepare(
    worker: &mut Worker,
    capability: &Capability,
    names: &[DnsName],
    first: bool,
    pass: Pass<'_>,
    busy: Option<&BTreeSet<DnsName>>,
) -> Result<Prepared> {
    let (drafts, notes, mut unmet) = draft(worker, capability, names, first);
    let again = matches!(pass, Pass::Deletes(_));
    let labelled = worker.instance.options.is_open();
    let AdjustedDrafts { placed, refused, unknown, notes: adjusted } =
        adjust(&*worker.instance.provider, &worker.handle.zone, drafts, labelled).await?;
    for wanted in refused {
        unmet.entry(wanted.key.name.clone()).or_default().push(Unwritable::from((*wanted).clone()));
    }
    let seed = worker.context.seed;
    for (name, error) in unknown {
        warn!(zone = %worker.handle.zone.name, %name, error = error.chain(), "the provider cannot tell how it would publish this name");
        write_through::park(worker, &name, false, |attempts| crate::backoff::backoff(seed, attempts, error.retry));
    }
    if !again {
        worker.context.report(notes.into_iter().chain(adjusted));
        let planned: BTreeSet<&DnsName> = names.iter().collect();
        worker.left_alone.retain(|key| !planned.contains(&key.name));
        worker.left_alone.extend(unmet.values().flatten().map(|wanted| wanted.key.clone()));
    }
    let mut plans = decide(worker, capability, &placed, &unmet);
    drop(placed);
    contested::restrain(worker, &mut plans);
    pins::restrain(worker, names, &mut plans);
    let adoptions = if again { Vec::new() } else { adoptions(worker, names, &plans) };
    let sweeps = if again { Vec::new() } else { sweeps(worker, capability, names) };
    let sweeps: Vec<Group> = sweeps.into_iter().chain(adoptions).collect();
    if !again {
        worker.moves.found(names, &plans);
    }
    let groups = match pass {
        Pass::Whole(tally, before) => {
            let (mut groups, counted) = tally.take(worker, names, plans);
            let go = brake(worker, tally, before).await;
            groups.extend(passing(counted, &go));
            groups
        }
        Pass::Survey(tally) => tally.take(worker, names, plans).0,
        Pass::Deletes(keys) => passing(plans.into_iter().flat_map(|plan| plan.groups), keys).collect(),
    };
    let planned = !groups.is_empty() || !sweeps.is_empty();
    let Some(busy) = busy else {
        let names = groups.into_iter().chain(sweeps).map(|group| group.name).collect();
        return Ok(Prepared { groups: Vec::new(), later: names, planned });
    };
    let groups = decorate(worker, groups);
    // A claim that a group changes or rests on is that group's affair, until its outcome is known.
    let taken = footprint(&groups);
    let (held, sweeps): (Vec<Group>, Vec<Group>) = sweeps.into_iter().partition(|group| touches(group, &taken));
    let groups = groups.into_iter().chain(sweeps);
    let (wait, go): (Vec<Group>, Vec<Group>) = groups.partition(|group| !busy.is_empty() && touches(group, busy));
    let later = wait.into_iter().chain(held).map(|group| group.name).collect();
    Ok(Prepared { groups: announce(worker, go).await, later, planned })
}

/// The names that groups change or rest on.
pub(crate) fn footprint(groups: &[Group]) -> BTreeSet<DnsName> {
    groups.iter().flat_map(names_of).cloned().collect()
}

fn touches(group: &Group, names: &BTreeSet<DnsName>) -> bool {
    names_of(group).any(|name| names.contains(name))
}

pub(crate) fn names_of(group: &Group) -> impl Iterator<Item = &DnsName> {
    let required = group.requires.iter().map(|precondition| match precondition {
        Precondition::Exact(set) => &set.key.name,
        Precondition::Absent(key) => &key.name,
        Precondition::NameNotInUse(name) => name,
    });
    group.changes().map(|change| &change.key().name).chain(required)
}

/// What is asked for and cannot be written, by name.
type Unmet = BTreeMap<DnsName, Vec<Unwritable>>;

/// Contends and lowers: pure, over the context.
fn draft(
    worker: &mut Worker,
    capability: &Capability,
    names: &[DnsName],
    first: bool,
) -> (Vec<Draft>, Vec<Note>, Unmet) {
    let context = worker.context.clone();
    let config = &context.config;
    let instance = &worker.instance;
    let mut notes = Vec::new();
    let mut drafts = Vec::new();
    let mut unmet = Unmet::new();
    let mut inherited = Vec::new();
    let desired_state = context.desired_state();
    let counts = |name: &&DnsName| config.filter.matches(name) && worker.handle.zone.filter.matches(name);
    for name in names.iter().filter(counts) {
        let candidates = worker.instance.candidates(&worker.handle, name);
        let here = candidates.contains(&worker.handle.zone.key.zone);
        let asked = desired_state.table.at(name);
        let endpoints = asked.endpoints.iter().copied().filter(|_| here);
        let endpoints =
            endpoints.filter(|endpoint| !quotas::waits(&context, &desired_state, endpoint, &asked.endpoints));
        let gate = Gate {
            context: &context,
            provider: &*instance.provider,
            zone: &worker.handle.zone,
            candidates: &candidates,
            capability,
            managed: &config.managed,
        };
        let Admitted { forms, refused } = gate.admit(endpoints, &mut notes);
        if !refused.is_empty() {
            unmet.insert(name.clone(), refused);
        }
        let endpoints: Vec<&Endpoint> = forms.iter().map(Cow::as_ref).collect();
        let published = worker.handle.view().at(name);
        let scene = NameScene::new(&worker.instance, &worker.handle, &published, &worker.inherited, first);
        let contended = contend(name, &endpoints, config.names.at(name, &worker.handle.zone, capability), &scene);
        notes.extend(contended.notes);
        inherited.extend(contended.inherited);
        let mut sets = Vec::new();
        for mut wanted in contended.wanted {
            wanted.ttl = wanted.ttl.or(config.min_ttl);
            let standing = published.iter().find(|set| set.key == wanted.key);
            let lowered = lower(&wanted, &worker.handle.zone, capability, &instance.options, standing);
            notes.extend(lowered.notes);
            match lowered.set {
                Some(set) => sets.push((set, Arc::new(wanted))),
                None => unmet.entry(name.clone()).or_default().push(Unwritable::from(wanted)),
            }
        }
        drafts.push(Draft { name: name.clone(), sets });
    }
    drop(desired_state);
    if !worker.inherited.is_empty() {
        let planned: HashSet<&DnsName> = drafts.iter().map(|draft| &draft.name).collect();
        worker.inherited.retain(|key| !planned.contains(&key.name));
    }
    worker.inherited.extend(inherited);
    (drafts, notes, unmet)
}

/// Plans each name: pure, over the context.
fn decide(
    worker: &mut Worker,
    capability: &Capability,
    placed: &[(DnsName, Vec<Placed>)],
    unmet: &Unmet,
) -> Vec<NamePlan> {
    let context = worker.context.clone();
    let config = &context.config;
    let desired_state = context.desired_state();
    let rules = Rules {
        policy: config.policy,
        managed: &config.managed,
        cname: capability.cname,
        one_kind: matches!(capability.routing, RoutingSupport::PerSet(_)),
        many_targets: capability.targets == zonewright_core::capability::TargetCount::Full,
        apex: &worker.handle.zone.name,
    };
    let now = context.clock.now();
    let mut plans = Vec::new();
    for (name, placed) in placed {
        let sets = worker.handle.view().at(name);
        let (claims, published): (Vec<&RecordSet>, Vec<&RecordSet>) =
            sets.iter().partition(|set| worker.instance.is_claim(&worker.handle.zone, set));
        let claims: Vec<_> = claims.iter().map(|set| set.key.rtype).collect();
        let asked = desired_state.table.at(name);
        let facts = NameFacts {
            instance: &worker.instance,
            handle: &worker.handle,
            name,
            asked: &asked,
            unmet: unmet.get(name).map_or(&[], Vec::as_slice),
            desired: &desired_state.table,
            evidence: &desired_state.evidence,
            state: &context.state,
            grace: config.status_grace,
            now,
            joined: config.names.same_name == SameName::Union,
            guarded: config.brake.enabled,
        };
        plans.push(plan(placed, &published, &claims, rules, &facts));
    }
    plans
}

/// What unfinished writes left behind; taking it away changes no record.
fn sweeps(worker: &mut Worker, capability: &Capability, names: &[DnsName]) -> Vec<Group> {
    if worker.context.config.policy == Policy::CreateOnly {
        return Vec::new();
    }
    let (registry, zone) = (&worker.instance.registry, &worker.handle.zone);
    let claims: Vec<RecordSet> = names.iter().flat_map(|name| worker.handle.view().at(name)).collect();
    let claims = claims.into_iter().filter(|set| registry.is_claim(set));
    let sweep =
        |set: RecordSet| Some((registry.collect_stale_claims(zone, &set, StaleKind::Intents, &*worker.instance)?, set));
    let (groups, void): (Vec<Group>, Vec<RecordSet>) = claims.filter_map(sweep).unzip();
    if capability.batch.atomic != Atomicity::None && capability.create != CreateMode::Additive {
        return groups;
    }
    // Another process may be between its intent and its record.
    let old = worker.stale_intents.found(names, void);
    groups.into_iter().filter(|group| group.changes().all(|change| old.contains(change.key()))).collect()
}

/// Remembers what stands unclaimed, and claims what holds exactly what is wanted, if that is asked for.
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
        let custody = OwnershipChange::Take(one.resource.clone());
        let registry = &worker.instance.registry;
        registry.assign(&worker.handle.zone, &one.published, &custody, &*worker.instance).ok().flatten()
    };
    found.into_iter().filter(|one| one.matches()).filter_map(|one| take(&one)).collect()
}

/// Where writes cannot be conditional, record and claim are read right before they are changed. Groups about names
/// that turn out to hold something else are left for another round.
///
/// # Errors
/// As [`zonewright_core::provider::Provider::records`].
pub(crate) async fn read_before(worker: &mut Worker, groups: Vec<Group>) -> Result<Vec<Group>> {
    let names: BTreeSet<DnsName> = groups.iter().flat_map(|group| touched(worker, group)).collect();
    if names.is_empty() || worker.context.config.dry_run {
        return Ok(groups);
    }
    let began = Instant::now();
    let read = worker.instance.provider.records(&worker.handle.zone, Read::Names(&names)).await;
    let listing = match read {
        Ok(listing) => listing,
        Err(problem) => {
            write_through::give_up(worker, &groups, &problem).await;
            return Err(problem);
        }
    };
    let changed = worker.handle.view_mut().take(listing, Some(&names), began, Duration::ZERO);
    let (stale, fresh): (Vec<Group>, Vec<Group>) =
        groups.into_iter().partition(|group| touched(worker, group).iter().any(|name| changed.contains_key(name)));
    // What was found out is news to its own name, too, which need not be that of a group.
    let news: Vec<DnsName> = changed.keys().cloned().collect();
    contested::note(worker, changed);
    write_through::give_up(
        worker,
        &stale,
        &Error::new(ErrorKind::Conflict, "read before a change", "the zone has changed"),
    )
    .await;
    worker.handle.inbox.again(stale.into_iter().map(|group| group.name).chain(news));
    Ok(fresh)
}

/// Adds the claims: pure, over the context.
fn decorate(worker: &mut Worker, mut groups: Vec<Group>) -> Vec<Group> {
    let registry = worker.instance.registry.clone();
    for step in groups.iter_mut().flat_map(|group| &mut group.steps) {
        step.owner = registry.owner().filter(|_| step.change.to().is_some()).cloned();
    }
    let decorated = registry.decorate(&worker.handle.zone, groups, &*worker.instance);
    claimed(worker, decorated)
}

/// Lets the registry write down what must stand before the groups are sent.
pub(crate) async fn announce(worker: &mut Worker, groups: Vec<Group>) -> Vec<Group> {
    if worker.context.config.dry_run || groups.is_empty() {
        return groups;
    }
    let prepared = worker.instance.registry.prepare(&worker.handle.zone, groups).await;
    claimed(worker, prepared)
}

fn claimed(worker: &mut Worker, groups: Vec<Result<Group, (Group, Dropped)>>) -> Vec<Group> {
    let mut ready = Vec::new();
    for result in groups {
        match result {
            Ok(group) => ready.push(group),
            Err((group, dropped)) => not_claimed(worker, &group, &dropped.reason),
        }
    }
    ready
}
