//! Foreign changes of what is ours, and what follows where they do not stop.
//!
//! In: what a read of the zone changed in its view; out: contests begin and end, with a note to the objects, a log line and the
//! metric. Plans are restrained while a contest lasts: no delete, and a repair only now and then.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::time::Instant;
use tracing::{info, warn};
use zonewright_core::change::Change;
use zonewright_core::claim::{Claim, OwnerId, judge};
use zonewright_core::endpoint::{Note, ObjectRef};
use zonewright_core::flap::{Fight, Suspect};
use zonewright_core::name::DnsName;
use zonewright_core::plan::{NamePlan, PlannedGroup, Skip, Why};
use zonewright_core::record::{RecordKey, RecordSet};
use zonewright_core::registry::Published;
use zonewright_core::view::Changed;
use zonewright_core::zone::{Zone, ZoneKey};

use crate::provider_instance::ProviderInstance;
use crate::worker::Worker;
use crate::zone_handle::ZoneHandle;

/// What was published before a read changed the view of one zone.
struct Before<'a> {
    instance: &'a ProviderInstance,
    handle: &'a ZoneHandle,
    changed: &'a Changed,
}

impl Published for Before<'_> {
    fn find(&self, near: &ZoneKey, key: &RecordKey) -> Option<(ZoneKey, RecordSet)> {
        match self.changed.get(&key.name) {
            Some(former) if *near == self.handle.zone.key => {
                former.iter().find(|set| set.key == *key).map(|set| (near.clone(), set.clone()))
            }
            _ => self.instance.find(near, key),
        }
    }

    fn zones_at(&self, name: &DnsName) -> Vec<(Zone, bool)> {
        self.instance.zones_at(name)
    }
}

/// Counts the foreign changes among what a read `changed`. What an unanswered write of ours may have done does not count.
pub(crate) fn note(worker: &mut Worker, changed: Changed) {
    let changed = worker.reads.foreign(changed);
    if changed.is_empty() {
        return;
    }
    let now = worker.context.clock.now();
    for (name, suspect) in foreign(worker, &changed) {
        if worker.flaps.changed(&name, suspect, now) {
            begin(worker, &name);
        }
    }
    publish(worker);
}

/// Counts names where claims of ours, kept outside the zone, were changed by others. What an unanswered write of ours may have
/// done does not count.
pub(crate) fn note_claims(worker: &mut Worker, names: &BTreeSet<DnsName>) {
    let Some(owner) = worker.instance.registry.owner().cloned() else { return };
    let now = worker.context.clock.now();
    let mut counted = false;
    for name in names.iter().filter(|name| !worker.reads.is_doubtful(name)).cloned().collect::<Vec<_>>() {
        counted = true;
        if worker.flaps.changed(&name, Suspect::SameOwner(owner.clone()), now) {
            begin(worker, &name);
        }
    }
    if counted {
        publish(worker);
    }
}

/// The names of records that were ours and stand otherwise now, they or their claims, and who did it.
fn foreign(worker: &Worker, changed: &Changed) -> BTreeMap<DnsName, Suspect> {
    let (instance, handle) = (&worker.instance, &worker.handle);
    let registry = &instance.registry;
    let before = Before { instance, handle, changed };
    let mut found = BTreeMap::new();
    for key in candidates(worker, changed) {
        let former = registry.claims(&handle.zone, &key, &before);
        if !judge(&former, registry.owner()).is_ours() {
            continue;
        }
        let claims = registry.claims(&handle.zone, &key, &**instance);
        let set = |(_, set): (ZoneKey, RecordSet)| set;
        let same_record = before.find(&handle.zone.key, &key).map(set) == handle.view().find(&key);
        if same_record && former == claims {
            continue;
        }
        let suspect = suspect(registry.owner(), &former, &claims);
        let known = found.entry(key.name).or_insert_with(|| suspect.clone());
        if *known == Suspect::Unknown {
            *known = suspect;
        }
    }
    found
}

/// The keys of records that stood at changed names, or whose claims stand at one.
fn candidates(worker: &Worker, changed: &Changed) -> BTreeSet<RecordKey> {
    let registry = &worker.instance.registry;
    let config = &worker.context.config;
    let counts = |set: &&RecordSet| {
        let name = &set.key.name;
        let inside = config.filter.matches(name) && worker.instance.filter.matches(name);
        config.managed.contains(&set.key.rtype) && inside && !worker.is_claim(set)
    };
    let mut keys: BTreeSet<RecordKey> = changed.values().flatten().filter(counts).map(|set| set.key.clone()).collect();
    let holds_claims = |(name, former): &(&DnsName, &Vec<RecordSet>)| {
        former.iter().chain(&worker.handle.view().at(name)).any(|set| registry.is_claim(set))
    };
    let claims: BTreeSet<&DnsName> = changed.iter().filter(holds_claims).map(|(name, _)| name).collect();
    if !claims.is_empty() {
        let rests =
            |key: &RecordKey| registry.claim_names(&worker.handle.zone, key).iter().any(|name| claims.contains(name));
        keys.extend(worker.scope(rests));
    }
    keys
}

fn suspect(ours: Option<&OwnerId>, former: &[Claim], claims: &[Claim]) -> Suspect {
    if let Some(foreign) = claims.iter().find(|claim| Some(&claim.owner) != ours) {
        return Suspect::Owner(foreign.owner.clone());
    }
    match claims.first() {
        Some(claim) if claims != former => Suspect::SameOwner(claim.owner.clone()),
        _ => Suspect::Unknown,
    }
}

/// Reports that a contest begins.
fn begin(worker: &Worker, name: &DnsName) {
    let Some(contest) = worker.flaps.fight(name) else { return };
    warn!(zone = %worker.handle.title, name = %name, suspect = %contest.suspect, "{name}: {contest}");
    let text = format!("{name}: {contest}");
    let objects: BTreeSet<ObjectRef> = {
        let desired_state = worker.context.desired_state();
        desired_state.table.at(name).endpoints.iter().map(|endpoint| endpoint.origin.object.clone()).collect()
    };
    worker.context.report(objects.iter().map(|object| Note::warning(object, "RecordContested", text.clone())));
}

/// Ends what has calmed down; its names are planned again.
pub(crate) fn calm(worker: &mut Worker) {
    let ended = worker.flaps.calm(worker.context.clock.now());
    if ended.is_empty() {
        return;
    }
    for name in &ended {
        info!(zone = %worker.handle.title, name = %name, "{name}: it is no longer changed back");
    }
    worker.handle.inbox.changed(ended);
    publish(worker);
}

fn publish(worker: &Worker) {
    let contests: Vec<(DnsName, Fight)> =
        worker.flaps.fights().map(|(name, contest)| (name.clone(), contest.clone())).collect();
    let count = i64::try_from(contests.len()).unwrap_or(i64::MAX);
    worker.context.metrics.contested.get_or_create(&worker.label()).set(count);
    worker.handle.status().contested = contests;
}

/// Takes out of the plans what a contest does not allow: deletes altogether, all else until the next repair is due.
pub(crate) fn restrain(worker: &mut Worker, plans: &mut [NamePlan]) {
    if worker.flaps.fights().next().is_none() {
        return;
    }
    let now = worker.context.clock.now();
    for plan in plans {
        let groups = std::mem::take(&mut plan.groups);
        for planned in groups {
            let name = &planned.group.name;
            let Some(contest) = worker.flaps.fight(name) else {
                plan.groups.push(planned);
                continue;
            };
            let deletes = planned.group.changes().all(|change| matches!(change, Change::Delete { .. }));
            if !deletes && contest.repair <= now {
                plan.groups.push(planned);
                continue;
            }
            if !deletes {
                let until = Instant::now() + contest.repair.since(now);
                worker.retries.rest_until(name, until);
            }
            plan.skips.extend(skips(&planned, contest));
        }
        let (calm, contested): (Vec<RecordKey>, Vec<RecordKey>) =
            std::mem::take(&mut plan.upgrades).into_iter().partition(|key| worker.flaps.fight(&key.name).is_none());
        plan.upgrades = calm;
        plan.unmoved.extend(contested);
    }
}

fn skips(planned: &PlannedGroup, contest: &Fight) -> Vec<Skip> {
    let why: Arc<str> = Arc::from(contest.to_string());
    let skip = |change: &Change| Skip {
        key: change.key().clone(),
        why: Why::Contested(why.clone()),
        objects: planned.group.objects.clone(),
    };
    planned.group.changes().map(skip).collect()
}
