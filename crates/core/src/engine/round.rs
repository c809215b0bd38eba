//! One round over the dirty names of a zone: contend, lower, adjust, plan, guard, decorate, prepare, apply, remember.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::facts::{NameFacts, NameScene};
use super::hold::{announce_orphans, brake};
use super::send::{not_claimed, send, touched};
use super::worker::Worker;
use crate::capability::{Capability, Preconditions};
use crate::change::Group;
use crate::contend::{Wanted, contend};
use crate::endpoint::{Endpoint, Note};
use crate::error::Result;
use crate::lower::lower;
use crate::name::DnsName;
use crate::plan::{NamePlan, Placed, PlannedGroup, Policy, Rules, plan};
use crate::provider::{Adjusted, Read};
use crate::record::RecordSet;

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
