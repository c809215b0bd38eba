//! What names shall hold: interpreted by the provider, contended for, lowered to what it can hold, and, once it has adjusted that,
//! compared with what stands.
//!
//! Pure over the context. The desired state is locked for one piece at a time, so that sources are never kept
//! waiting for a whole zone.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use zonewright_core::capability::{Capability, RoutingSupport, TargetCount};
use zonewright_core::claim::Ownership;
use zonewright_core::contend::{SameName, contend};
use zonewright_core::endpoint::{Endpoint, Note};
use zonewright_core::in_set::ttl::one_ttl;
use zonewright_core::lower::lower;
use zonewright_core::name::DnsName;
use zonewright_core::plan::{NamePlan, Placed, Rules, plan};
use zonewright_core::record::{RecordKey, RecordSet};

use crate::adjusting::Draft;
use crate::admit::{Admitted, Gate, Unwritable};
use crate::desired_state::DesiredState;
use crate::name_facts::{NameContentionFacts, NamePlanFacts};
use crate::quotas;
use crate::worker::Worker;

/// What is asked for and cannot be written, by name.
pub(crate) type Unmet = BTreeMap<DnsName, Vec<Unwritable>>;

/// What came of contention and lowering.
#[derive(Default)]
pub(crate) struct Drafts {
    pub(crate) names: Vec<Draft>,
    pub(crate) notes: Vec<Note>,
    pub(crate) unmet: Unmet,
    inherited: Vec<RecordKey>,
}

impl Drafts {
    /// Adds what came of other names.
    pub(crate) fn append(&mut self, others: Self) {
        let Self { names, notes, unmet, inherited } = others;
        self.names.extend(names);
        self.notes.extend(notes);
        self.unmet.extend(unmet);
        self.inherited.extend(inherited);
    }
}

/// Contends and lowers: pure, over the context. The desired state is locked meanwhile.
pub(crate) fn draft(worker: &mut Worker, capability: &Capability, names: &[DnsName], first: bool) -> Drafts {
    let context = worker.context.clone();
    let desired_state = context.desired_state();
    let counts = |name: &&DnsName| context.config.filter.matches(name) && worker.instance.counts(&worker.handle, name);
    let mut all = Drafts::default();
    for name in names.iter().filter(counts) {
        draft_name(worker, capability, &desired_state, name, first, &mut all);
    }
    drop(desired_state);
    let planned: HashSet<&DnsName> = all.names.iter().map(|draft| &draft.name).collect();
    worker.claims.inherit(&planned, std::mem::take(&mut all.inherited));
    all
}

fn draft_name(
    worker: &Worker,
    capability: &Capability,
    desired_state: &DesiredState,
    name: &DnsName,
    first: bool,
    all: &mut Drafts,
) {
    let (context, instance, zone) = (&worker.context, &worker.instance, &worker.handle.zone);
    let config = &context.config;
    let candidates = instance.candidates(&worker.handle, name);
    let here = candidates.contains(&zone.key.zone);
    let asked = desired_state.table.at(name);
    let endpoints = asked.endpoints.iter().copied().filter(|_| here);
    let endpoints = endpoints.filter(|endpoint| !quotas::waits(context, desired_state, endpoint, &asked.endpoints));
    let gate = Gate { context, instance, zone, candidates: &candidates, capability, managed: &config.managed };
    let Admitted { forms, refused } = gate.admit(endpoints, &mut all.notes);
    if !refused.is_empty() {
        all.unmet.insert(name.clone(), refused);
    }
    let endpoints: Vec<&Endpoint> = forms.iter().map(Cow::as_ref).collect();
    let published = worker.handle.view().at(name);
    let scene = NameContentionFacts::new(instance, &worker.handle, &published, worker.claims.inherited(), first);
    let mut contended = contend(name, &endpoints, config.names.at(name, zone, capability), &scene);
    if matches!(capability.routing, RoutingSupport::InSet(_)) {
        let ours = |key: &RecordKey| scene.ownership.get(key).is_some_and(Ownership::is_ours);
        one_ttl(&mut contended.wanted, &published, &ours, &mut contended.notes);
    }
    all.notes.extend(contended.notes);
    all.inherited.extend(contended.inherited);
    let mut sets = Vec::new();
    for mut wanted in contended.wanted {
        wanted.ttl = wanted.ttl.or(config.min_ttl);
        let standing = published.iter().find(|set| set.key == wanted.key);
        let lowered = lower(&wanted, zone, capability, &instance.options, standing);
        all.notes.extend(lowered.notes);
        match lowered.set {
            Some(set) => sets.push((set, Arc::new(wanted))),
            None => all.unmet.entry(name.clone()).or_default().push(Unwritable::from(wanted)),
        }
    }
    all.names.push(Draft { name: name.clone(), sets });
}

/// Plans each name: pure, over the context.
pub(crate) fn decide(
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
        one_kind: capability.one_kind,
        in_set: matches!(capability.routing, RoutingSupport::InSet(_)),
        many_targets: capability.targets == TargetCount::Full,
        apex: &worker.handle.zone.name,
    };
    let now = context.clock.now();
    let mut plans = Vec::new();
    for (name, placed) in placed {
        let sets = worker.handle.view().at(name);
        let (claims, published): (Vec<&RecordSet>, Vec<&RecordSet>) = sets.iter().partition(|set| worker.is_claim(set));
        let claims = claims.iter().filter(|set| !makes_way(worker, set, placed));
        let claims: Vec<_> = claims.map(|set| set.key.rtype).collect();
        let asked = desired_state.table.at(name);
        let facts = NamePlanFacts {
            instance: &worker.instance,
            handle: &worker.handle,
            name,
            asked: &asked,
            elsewhere: placed.is_empty().then(|| worker.instance.in_place_of(&worker.handle, name)).flatten(),
            unmet: unmet.get(name).map_or(&[], Vec::as_slice),
            desired: &desired_state.table,
            evidence: &desired_state.evidence,
            state: &context.state,
            grace: config.status_grace,
            now,
            joined: config.names.same_name == SameName::Union,
            guarded: config.brake.enabled,
            one_kind: capability.one_kind,
        };
        plans.push(plan(placed, &published, &claims, rules, &facts));
    }
    plans
}

/// Whether a set of claims goes in the group that makes what is wanted at its name.
fn makes_way(worker: &Worker, set: &RecordSet, placed: &[Placed]) -> bool {
    let (registry, zone) = (&worker.instance.registry, &worker.handle.zone);
    placed.iter().any(|placed| registry.makes_way(zone, set, &placed.set.key, &*worker.instance))
}
