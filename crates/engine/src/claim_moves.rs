//! Claims on their way to where today's settings put them.
//!
//! In: keys of our records whose claim does not stand there, or not only there, as the plans found them. Out: groups that
//! change claims and no record, about one call of the provider with each turn, after whatever else the turn had to do: so a
//! move of a whole zone holds up no change for longer than one call. What must hold: what is taken away rests on claims that
//! were read of the zone after they were written. Nothing is remembered across restarts: the zone itself tells how far the
//! move has come.
//!
//! No record comes or goes, so the brake counts nothing here, and `upsert-only` moves claims like `sync` does: a former claim
//! that goes is no delete of a record. Under `create-only` nothing is changed that stands, so claims stay where they are; they
//! are counted, for the former settings are needed as long. In a dry run the first step is reported and nothing is sent.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;
use tracing::{info, warn};
use zonewright_core::change::{Change, Group, Outcome, Step};
use zonewright_core::error::Result;
use zonewright_core::name::DnsName;
use zonewright_core::plan::NamePlan;
use zonewright_core::provider::Read;
use zonewright_core::record::{RecordKey, RecordSet};

use crate::contested;
use crate::journal::Cause;
use crate::journal_sending::{self, Origin};
use crate::planning::{announce, names_of};
use crate::round::piece_size;
use crate::worker::Worker;
use crate::write_through;

type ByName = BTreeMap<DnsName, Vec<RecordKey>>;

/// How many claims move with one turn, where a provider takes any number.
const MOST: usize = 500;

/// The claims of a zone that are to be moved.
#[derive(Debug, Default)]
pub(crate) struct Moves {
    /// To be looked at in this pass over the zone.
    due: ByName,
    /// Moved a step, to be looked at in the next pass.
    next: ByName,
    /// Not moved now: the policy forbids it, something is in the way, or the name is planned again first.
    left: ByName,
    /// The steps since the move began; `None` while there is none.
    steps: Option<usize>,
    /// What is in the way of one of those left.
    hindrance: Option<String>,
    /// What was reported of that last.
    reported: Option<String>,
}

impl Moves {
    /// Takes over what the plans of `names` found.
    pub(crate) fn found(&mut self, names: &[DnsName], plans: &[NamePlan]) {
        for name in names {
            self.due.remove(name);
            self.next.remove(name);
            self.left.remove(name);
        }
        for plan in plans {
            plan.upgrades.iter().for_each(|key| put(&mut self.due, key.clone()));
            plan.unmoved.iter().for_each(|key| put(&mut self.left, key.clone()));
        }
    }

    /// How many names there is something to do about now.
    pub(crate) fn due(&self) -> usize {
        self.due.len() + self.next.len()
    }

    /// Number of names, with those that are not moved now.
    pub(crate) fn len(&self) -> usize {
        self.due() + self.left.len()
    }

    /// Takes the keys of the next names, about so many.
    fn take(&mut self, most: usize) -> Vec<RecordKey> {
        if self.due.is_empty() {
            self.due = std::mem::take(&mut self.next);
        }
        let mut keys = Vec::new();
        while keys.len() < most
            && let Some((_, some)) = self.due.pop_first()
        {
            keys.extend(some);
        }
        keys
    }

    fn count(&self) -> usize {
        [&self.due, &self.next, &self.left].into_iter().flat_map(BTreeMap::values).map(Vec::len).sum()
    }
}

fn put(keys: &mut ByName, key: RecordKey) {
    let some = keys.entry(key.name.clone()).or_default();
    if !some.contains(&key) {
        some.push(key);
    }
}

/// Shows how many claims are still to be moved.
pub(crate) fn publish(worker: &mut Worker) {
    if !worker.moves.left.is_empty() {
        let handle = worker.handle.clone();
        let view = handle.view();
        worker.moves.left.retain(|_, keys| {
            keys.retain(|key| view.holds(key));
            !keys.is_empty()
        });
    }
    let count = i64::try_from(worker.moves.count()).unwrap_or(i64::MAX);
    worker.context.metrics.claims_to_move.get_or_create(&worker.label()).set(count);
}

/// Moves claims by one step, about one call's worth. Returns whether something was to be done.
///
/// # Errors
/// What makes the whole zone pause. The names are back in the inbox.
pub(crate) async fn step(worker: &mut Worker) -> Result<bool> {
    if worker.moves.due() == 0 || worker.cancel.is_cancelled() {
        return Ok(false);
    }
    let capability = worker.instance.provider.capability(Some(&worker.handle.zone));
    let keys = worker.moves.take(piece_size(capability.batch).min(MOST));
    let mut groups = look(worker, keys);
    let unread = unread(worker, &groups, capability.preconditions.read_first());
    if !unread.is_empty() && !worker.context.config.dry_run {
        let changed = match read(worker, &unread).await {
            Ok(changed) => changed,
            Err(problem) => {
                put_back(worker, groups);
                return Err(problem);
            }
        };
        let (stale, fresh): (Vec<_>, Vec<_>) =
            groups.into_iter().partition(|(_, group)| names_of(group).any(|name| changed.contains(name)));
        // What we wrote is gone, or others were at work: each of these names is planned again, at its time.
        for (key, group) in stale {
            write_through::unconfirmed(worker, &group);
            put(&mut worker.moves.left, key);
        }
        groups = look(worker, fresh.into_iter().map(|(key, _)| key).collect());
    }
    let some = !groups.is_empty();
    begin(worker, groups.len());
    let sent = send(worker, groups).await;
    end(worker);
    sent.map(|()| some)
}

/// The next step for each key. What needs none is done; what cannot be moved is left.
fn look(worker: &mut Worker, keys: Vec<RecordKey>) -> Vec<(RecordKey, Group)> {
    let (instance, handle) = (worker.instance.clone(), worker.handle.clone());
    let (mut groups, mut changed, mut used) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    for key in keys {
        let Some(record) = handle.view().find(&key) else { continue };
        match instance.registry.upgrade(&handle.zone, &record, &*instance) {
            // Records that share a claim move one after the other.
            Some(group) if meets(&group, &changed, &used) => put(&mut worker.moves.next, key),
            Some(mut group) => {
                // Where nothing changes in the zone, the step says whose it was: it stays ours.
                for step in group.steps.iter_mut().filter(|step| step.held.is_none()) {
                    step.held = instance.ownership(&handle.zone, &key).claim().cloned().map(Box::new);
                }
                changed.extend(group.changes().map(|change| change.key().name.clone()));
                used.extend(names_of(&group).cloned());
                groups.push((key, group));
            }
            None => leave(worker, key, record),
        }
    }
    groups
}

/// Whether a group changes what others use, or uses what others change.
fn meets(group: &Group, changed: &BTreeSet<DnsName>, used: &BTreeSet<DnsName>) -> bool {
    names_of(group).any(|name| changed.contains(name))
        || group.changes().any(|change| used.contains(&change.key().name))
}

/// Nothing can be done for a record: its claim is where it belongs, or something is in the way.
fn leave(worker: &mut Worker, key: RecordKey, record: RecordSet) {
    let ownership = worker.instance.ownership(&worker.handle.zone, &key);
    let Some(claim) = ownership.claim().filter(|claim| !claim.current) else { return };
    put(&mut worker.moves.left, key);
    if worker.moves.hindrance.is_some() {
        return;
    }
    // What keeps a claim from being written shows in an update that changes nothing.
    let change = Change::Update { from: record.clone(), to: record };
    let step = Step { labels: claim.labels.clone(), ..Step::record(change, claim.resource.clone()) };
    let group = Group::of(step, Vec::new());
    let decorated = worker.instance.registry.decorate(&worker.handle.zone, vec![group], &*worker.instance);
    worker.moves.hindrance = decorated.into_iter().find_map(Result::err).map(|(_, dropped)| dropped.reason);
}

/// The names that have to be read before the groups are sent: all of them where writes cannot be conditional, else
/// those where we wrote claims and have not looked since.
fn unread(worker: &Worker, groups: &[(RecordKey, Group)], all: bool) -> BTreeSet<DnsName> {
    let view = worker.handle.view();
    let here = |name: &&DnsName| name.is_within(&worker.handle.zone.name);
    let names = groups.iter().filter(|(_, group)| all || names_of(group).any(|name| !view.is_read(name)));
    names.flat_map(|(_, group)| names_of(group)).filter(here).cloned().collect()
}

/// Reads names back. Returns those that hold something else than was known.
async fn read(worker: &mut Worker, names: &BTreeSet<DnsName>) -> Result<BTreeSet<DnsName>> {
    let began = Instant::now();
    let listing = worker.instance.provider.records(&worker.handle.zone, Read::Names(names)).await?;
    let changed = worker.handle.view_mut().take(listing, Some(names), began, Duration::ZERO);
    let names = changed.keys().cloned().collect();
    contested::note(worker, changed);
    Ok(names)
}

/// The names are planned again; until then they count as not moved.
fn put_back(worker: &mut Worker, groups: Vec<(RecordKey, Group)>) {
    worker.handle.inbox.put_back(groups.iter().map(|(key, _)| (key.name.clone(), Instant::now())));
    for (key, _) in groups {
        put(&mut worker.moves.left, key);
    }
}

async fn send(worker: &mut Worker, groups: Vec<(RecordKey, Group)>) -> Result<()> {
    let (keys, groups): (Vec<RecordKey>, Vec<Group>) = groups.into_iter().unzip();
    let groups = announce(worker, groups).await;
    if groups.is_empty() {
        return Ok(());
    }
    let origin = Origin::new(worker.context.journal_writer.plan(&worker.handle.label()), Cause::Round);
    let outcomes = journal_sending::send(&worker.context, &worker.instance, &worker.handle, &origin, &groups).await;
    write_through::commit(worker, &groups, &outcomes).await;
    let moved: BTreeSet<DnsName> = applied(&groups, &outcomes);
    for key in keys {
        // What was refused is planned again, at its time. In a dry run nothing has come of a step: it would be reported for ever.
        let goes_on = moved.contains(&key.name) && !worker.context.config.dry_run;
        let to = if goes_on { &mut worker.moves.next } else { &mut worker.moves.left };
        put(to, key);
    }
    let (unfinished, problem) = write_through::remember(worker, &groups, outcomes, &BTreeMap::new());
    worker.handle.inbox.put_back(unfinished.into_iter().map(|name| (name, Instant::now())));
    problem.map_or(Ok(()), Err)
}

fn applied(groups: &[Group], outcomes: &[Outcome]) -> BTreeSet<DnsName> {
    let done = groups.iter().zip(outcomes).filter(|(_, outcome)| matches!(outcome, Outcome::Applied));
    done.map(|(group, _)| group.name.clone()).collect()
}

fn begin(worker: &mut Worker, groups: usize) {
    if groups > 0 && worker.moves.steps.is_none() {
        let records = worker.moves.count() + groups;
        info!(zone = %worker.handle.zone.name, records, "claims are moved to where today's settings put them");
    }
    if groups > 0 {
        *worker.moves.steps.get_or_insert(0) += groups;
    }
}

/// Reports that a move has come to its end, and what it left.
fn end(worker: &mut Worker) {
    if worker.moves.due() > 0 {
        return;
    }
    let left: usize = worker.moves.left.values().map(Vec::len).sum();
    if let Some(steps) = worker.moves.steps.take() {
        info!(zone = %worker.handle.zone.name, steps, left, "the move of claims is over");
    }
    let hindrance = worker.moves.hindrance.take().filter(|why| worker.moves.reported.as_ref() != Some(why));
    if let Some(why) = hindrance {
        worker.moves.reported = Some(why.clone());
        warn!(zone = %worker.handle.zone.name, left,
            "claims cannot be moved, their records stay ours while the former settings are given; for example: {why}");
    }
}
