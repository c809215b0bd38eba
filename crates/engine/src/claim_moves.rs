//! Claims on their way to where today's settings put them.
//!
//! In: keys of our records whose claim does not stand there, or not only there, as the plans found them. Out: groups that
//! change claims and no record, about one call of the provider with each turn, after whatever else the turn had to do: so a
//! move of a whole zone holds up no change for longer than one call. What must hold: what is taken away rests on claims that
//! were read of the zone after they were written. Nothing is remembered across restarts: the zone itself shows how far the
//! move has come.
//!
//! No record comes or goes, so the brake counts nothing here, and `upsert-only` moves claims like `sync` does: a former claim
//! that goes is no delete of a record. Under `create-only` nothing is changed that stands, so claims stay where they are; they
//! are counted, for the former settings are needed as long. In a dry run the first step is reported and nothing is sent.

use std::collections::BTreeSet;

use tokio::time::Instant;
use tracing::{info, warn};
use zonewright_core::change::{Change, Group, Outcome, Step};
use zonewright_core::error::Result;
use zonewright_core::name::DnsName;
use zonewright_core::record::{RecordKey, RecordSet};

use crate::claim_queue::MoveEnd;
use crate::contested;
use crate::footprint::names_of;
use crate::journal::{Cause, EntryOrigin};
use crate::pipeline::piece_size;
use crate::worker::Worker;
use crate::write_through::{self, Landed};

/// How many claims move with one turn, where a provider takes any number.
const MOST: usize = 500;

/// Shows how many claims are still to be moved.
pub(crate) fn publish(worker: &mut Worker) {
    let handle = worker.handle.clone();
    let view = handle.view();
    worker.claims.moves.retain_left(|key| view.holds(key));
    let count = i64::try_from(worker.claims.moves.count()).unwrap_or(i64::MAX);
    worker.context.metrics.claims_to_move.get_or_create(&worker.label()).set(count);
}

/// Moves claims by one step, about one call's worth. Returns whether something was to be done.
///
/// # Errors
/// What makes the whole zone pause. The names are back in the inbox.
pub(crate) async fn step(worker: &mut Worker) -> Result<bool> {
    if worker.claims.moves.due() == 0 || worker.cancel.is_cancelled() {
        return Ok(false);
    }
    let capability = worker.capability();
    let keys = worker.claims.moves.take(piece_size(capability.batch).min(MOST));
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
            worker.claims.moves.leave(key);
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
            Some(group) if meets(&group, &changed, &used) => worker.claims.moves.later(key),
            Some(mut group) => {
                // A claim that is kept outside the zone says whose it was: it stays ours.
                let steps = group.steps.iter_mut().map(|step| &mut step.held);
                let held = steps.chain(group.stored.iter_mut().map(|step| &mut step.held));
                for held in held.filter(|held| held.is_none()) {
                    *held = worker.ownership(&key).claim().cloned().map(Box::new);
                }
                changed.extend(group.changes().map(|change| change.key().name.clone()));
                changed.extend(group.stored.iter().map(|step| step.key().name.clone()));
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
        || group.stored.iter().any(|step| used.contains(&step.key().name))
}

/// Nothing can be done for a record: its claim is where it belongs, or something is in the way.
fn leave(worker: &mut Worker, key: RecordKey, record: RecordSet) {
    let ownership = worker.ownership(&key);
    let Some(claim) = ownership.claim().filter(|claim| !claim.current) else { return };
    worker.claims.moves.leave(key);
    let (instance, zone) = (&worker.instance, &worker.handle.zone);
    worker.claims.moves.hinder(|| {
        // What keeps a claim from being written shows in an update that changes nothing.
        let change = Change::Update { from: record.clone(), to: record };
        let step = Step { labels: claim.labels.clone(), ..Step::record(change, claim.resource.clone()) };
        let decorated = instance.registry.decorate(zone, vec![Group::of(step, Vec::new())], &**instance);
        decorated.into_iter().find_map(Result::err).map(|(_, dropped)| dropped.reason)
    });
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
    let changed = worker.read_names(names).await?;
    let names = changed.keys().cloned().collect();
    contested::note(worker, changed);
    Ok(names)
}

/// The names are planned again; until then they count as not moved.
fn put_back(worker: &mut Worker, groups: Vec<(RecordKey, Group)>) {
    worker.handle.inbox.put_back(groups.iter().map(|(key, _)| (key.name.clone(), Instant::now())));
    for (key, _) in groups {
        worker.claims.moves.leave(key);
    }
}

async fn send(worker: &mut Worker, groups: Vec<(RecordKey, Group)>) -> Result<()> {
    let (keys, groups): (Vec<RecordKey>, Vec<Group>) = groups.into_iter().unzip();
    let origin = EntryOrigin::new(worker.context.journal_writer.plan(&worker.handle.label()), Cause::Round);
    let Landed { done, unclaimed, unfinished, problem } = write_through::carry_out(worker, &origin, groups).await;
    for one in &unclaimed {
        write_through::unclaimed(worker, &one.group, &one.reason);
    }
    let applied = done.iter().filter(|(_, outcome)| matches!(outcome, Outcome::Applied));
    let moved: BTreeSet<&DnsName> = applied.map(|(group, _)| &group.name).collect();
    // Where all are unclaimed, their names are planned again anyway.
    for key in keys.into_iter().filter(|_| !done.is_empty()) {
        // What was refused is planned again, at its time. In a dry run nothing has come of a step: it would be reported for ever.
        if moved.contains(&key.name) && !worker.context.config.dry_run {
            worker.claims.moves.later(key);
        } else {
            worker.claims.moves.leave(key);
        }
    }
    worker.handle.inbox.put_back(unfinished.into_iter().map(|name| (name, Instant::now())));
    problem.map_or(Ok(()), Err)
}

fn begin(worker: &mut Worker, groups: usize) {
    if let Some(records) = worker.claims.moves.begin_step(groups) {
        info!(zone = %worker.handle.title, records, "claims are moved to where today's settings put them");
    }
}

/// Reports that a move has come to its end, and what it left.
fn end(worker: &mut Worker) {
    let MoveEnd { steps, left, hindrance } = worker.claims.moves.end_step();
    if let Some(steps) = steps {
        info!(zone = %worker.handle.title, steps, left, "the move of claims has ended");
    }
    if let Some(why) = hindrance {
        warn!(zone = %worker.handle.title, left,
            "claims cannot be moved, their records stay ours while the former settings are given; for example: {why}");
    }
}
