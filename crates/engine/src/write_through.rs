//! Groups on their way out, and what became of them: write-through, journal, notes, and names that back off.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;
use tracing::{info, warn};
use zonewright_core::capability::Audit;
use zonewright_core::change::{Change, Group, Outcome, Role};
use zonewright_core::clock::Timestamp;
use zonewright_core::endpoint::Note;
use zonewright_core::error::{Error, ErrorKind, Retry};
use zonewright_core::intent::Intent;
use zonewright_core::name::DnsName;
use zonewright_core::record::{RecordKey, RecordSet, Ttl};

use crate::announce::Announcement;
use crate::brake;
use crate::changes::Changes;
use crate::metrics::{ByZone, Changed};
use crate::recent::RecentChange;
use crate::refusals::refused;
use crate::table_sizes;
use crate::worker::{Parked, Worker};

/// Lets the registry note what became of groups.
pub(crate) async fn commit(worker: &Worker, groups: &[Group], outcomes: &[Outcome]) {
    if worker.context.config.dry_run {
        return;
    }
    if let Err(problem) = worker.instance.registry.commit(&worker.handle.zone, groups, outcomes).await {
        warn!(zone = %worker.handle.zone.name, error = problem.chain(), "the registry could not note what became of the changes");
    }
}

/// Lets the registry know that groups which it prepared are not sent.
pub(crate) async fn give_up(worker: &Worker, groups: &[Group], why: &Error) {
    if !groups.is_empty() {
        let outcomes: Vec<Outcome> = groups.iter().map(|_| Outcome::NotSent(why.clone())).collect();
        commit(worker, groups, &outcomes).await;
    }
}

/// Takes over what became of groups. Returns names that are not finished, and the error that concerns the zone, if any.
pub(crate) fn remember(
    worker: &mut Worker,
    groups: &[Group],
    outcomes: Vec<Outcome>,
    names: &BTreeMap<DnsName, Instant>,
) -> (BTreeSet<DnsName>, Option<Error>) {
    let took_effect =
        |(group, outcome): (&Group, &Outcome)| matches!(outcome, Outcome::Applied) && !group.changes_nothing();
    let some_applied = groups.iter().zip(&outcomes).any(took_effect);
    if some_applied {
        worker.accepted();
    }
    let capability = worker.instance.provider.capability(Some(&worker.handle.zone));
    let default = capability.ttl.default;
    let mut unfinished = BTreeSet::new();
    let mut zone_problem = None;
    for (group, outcome) in groups.iter().zip(outcomes) {
        record(worker, group, &outcome);
        match outcome {
            Outcome::NotSent(_) | Outcome::Refused { .. } => {
                let reserved = reserved(worker, group);
                brake::release(worker, reserved);
            }
            // Whether it was done is found out by a reading: until then the room is taken.
            Outcome::Unknown(_) => drop(reserved(worker, group)),
            Outcome::Applied => {}
        }
        if !matches!(outcome, Outcome::NotSent(_)) {
            worker.flaps.repaired(&group.name, worker.context.clock.now());
        }
        match outcome {
            Outcome::Applied => applied(worker, group, names.get(&group.name).copied(), default),
            Outcome::NotSent(error) if error.kind == ErrorKind::DryRun => {
                info!(zone = %worker.handle.zone.name, "dry run, not sent: {}", group.headline());
                count(worker, group);
            }
            Outcome::NotSent(error) => {
                unfinished.insert(group.name.clone());
                zone_problem = zone_problem.or(Some(error));
            }
            Outcome::Unknown(error) => {
                worker.doubtful.extend(touched(worker, group));
                unsure(worker, group);
                unfinished.insert(group.name.clone());
                zone_problem = zone_problem.or(Some(error));
            }
            Outcome::Refused { error, .. } => match error.kind {
                ErrorKind::Conflict => {
                    unsure(worker, group);
                    // What is known of the zone is old, and perhaps not at this name alone.
                    if capability.audit == Audit::Cheap {
                        worker.audit_due = Instant::now();
                    }
                    refused(worker, group, &error);
                }
                ErrorKind::Unauthorized => {
                    if !worker.denied(group, &error, some_applied) {
                        unfinished.insert(group.name.clone());
                    }
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
    (unfinished, worker.refusals.verdict().or(zone_problem))
}

fn record(worker: &Worker, group: &Group, outcome: &Outcome) {
    let changes: Vec<String> = group.records().map(|step| step.change.to_string()).collect();
    for step in group.records() {
        let label = Changed {
            zone: worker.handle.label(),
            verb: step.change.verb().to_owned(),
            outcome: outcome.label().to_owned(),
        };
        worker.context.metrics.changes.get_or_create(&label).inc();
    }
    worker.context.recent.push(RecentChange {
        at: worker.context.clock.now(),
        zone: worker.handle.zone.name.to_string(),
        changes,
        outcome: outcome.label(),
        error: outcome.error().map(Error::chain),
        objects: group.objects.clone(),
    });
}

/// Counts what was sent; in a dry run, what would have been.
fn count(worker: &mut Worker, group: &Group) {
    let changes = Changes::of(group);
    worker.turn_changes += changes;
    if worker.context.config.dry_run {
        // Since nothing is done, the same is planned again and again.
        *worker.would_change.entry(group.name.clone()).or_default() += changes;
    } else {
        worker.changes += changes;
    }
}

fn applied(worker: &mut Worker, group: &Group, since: Option<Instant>, default: Ttl) {
    count(worker, group);
    worker
        .handle
        .view_mut()
        .write(group, Instant::now(), |set| RecordSet { ttl: set.ttl.or(Some(default)), ..set.clone() });
    if let Some(since) = since {
        let label = ByZone { zone: worker.handle.label() };
        worker.context.metrics.time_to_publish.get_or_create(&label).observe(since.elapsed().as_secs_f64());
    }
    let (mut came, mut went) = (Vec::new(), Vec::new());
    for step in group.steps.iter().filter(|step| step.role == Role::Record) {
        info!(zone = %worker.handle.zone.name, "{} {}", step.change.verb(), step.change);
        match step.change {
            Change::Create { .. } => came.push(step.change.key()),
            Change::Delete { .. } => went.push(step.change.key()),
            Change::Update { .. } => {}
        }
    }
    worker.owned = (worker.owned + came.len()).saturating_sub(went.len());
    let now = worker.context.clock.now();
    if !went.is_empty() {
        let mut desired_state = worker.context.desired_state();
        table_sizes::clear_tombstone(&worker.context, &mut desired_state.table, &group.name);
    }
    let zone = worker.handle.label();
    let counted = reserved(worker, group);
    worker.context.state.note(&zone, |state| {
        state.window.trim(worker.context.config.brake.window, now);
        state.window.owns(worker.owned, now);
        for key in &came {
            state.window.created(key);
        }
    });
    // An approval covers a delete once; what is made anew is another record.
    if worker.context.state.note(&zone, |state| state.spend(went.iter().chain(&came).copied())) {
        worker.context.state.zone(&zone, |_| ());
    }
    if !counted.is_empty() {
        let records = group.records().map(|step| (step.change.key(), brake::namespace(step)));
        let done: Vec<_> = records.filter(|(key, _)| counted.contains_key(*key)).collect();
        let done = done.iter().map(|(key, namespace)| (*key, namespace.as_ref()));
        worker.context.state.zone(&zone, |state| state.window.deleted(done, now));
    }
    worker
        .context
        .metrics
        .owned
        .get_or_create(&ByZone { zone: worker.handle.label() })
        .set(i64::try_from(worker.owned).unwrap_or(i64::MAX));
    let ready = Announcement::RecordReady;
    if worker.context.config.announce.contains(&ready) {
        let text = format!("{} in zone {}", group.headline(), worker.handle.zone.name);
        worker.context.report(group.objects.iter().map(|object| Note::normal(object, ready.as_str(), text.clone())));
    }
}

/// Takes the deletes of a group out of those that room is reserved for.
fn reserved(worker: &mut Worker, group: &Group) -> BTreeMap<RecordKey, Option<Timestamp>> {
    let keys = group.records().map(|step| step.change.key());
    keys.filter_map(|key| worker.reserved.remove_entry(key)).collect()
}

/// What stands at the names of a group is not known any more.
fn unsure(worker: &mut Worker, group: &Group) {
    let names = touched(worker, group);
    worker.unsure.extend(names);
}

fn refused_zone(worker: &mut Worker, group: &Group, error: &Error) {
    worker.reported.insert(group.name.clone());
    let text =
        format!("{} waits, zone {} cannot be written: {}", group.headline(), worker.handle.zone.name, error.chain());
    worker.context.report(group.objects.iter().map(|object| Note::warning(object, "ZoneNotWritable", text.clone())));
}

/// The names in this zone that a group changes or rests on.
pub(crate) fn touched(worker: &Worker, group: &Group) -> BTreeSet<DnsName> {
    let registry = &worker.instance.registry;
    let mut names: BTreeSet<DnsName> = group.changes().map(|change| change.key().name.clone()).collect();
    for step in group.records() {
        names.extend(registry.claim_names(&worker.handle.zone, step.change.key()));
    }
    // What an intent stands for decides whether it may go.
    let intents = group.changes().filter_map(Change::from).flat_map(Intent::all_in);
    names.extend(intents.flat_map(|intent| intent.records).map(|record| record.name));
    names.retain(|name| name.is_within(&worker.handle.zone.name));
    names
}

/// The registry cannot claim the records of a group; that is reported, and it is planned again later, since what is in the way may go.
pub(crate) fn not_claimed(worker: &mut Worker, group: &Group, reason: &str) {
    let seed = worker.context.seed;
    let attempts =
        park(worker, &group.name, false, |attempts| crate::backoff::backoff(seed, attempts + 2, Retry::Backoff));
    let text = format!("{}: {reason}", group.headline());
    if attempts == 1 {
        warn!(zone = %worker.handle.zone.name, "{text}");
    }
    worker.context.report(group.objects.iter().map(|object| Note::warning(object, "ClaimRefused", text.clone())));
}

/// What a group rests on, or what was written for it, is not what was read back: it is planned again, later each time.
pub(crate) fn unconfirmed(worker: &mut Worker, group: &Group) {
    let seed = worker.context.seed;
    let attempts = park(worker, &group.name, false, |attempts| crate::backoff::backoff(seed, attempts, Retry::Backoff));
    warn!(zone = %worker.handle.zone.name, attempts, "read back otherwise than it was known, not sent: {}", group.headline());
}

/// Lets a name back off alone; `denied` says that it is not allowed. Returns how often it has been refused by now.
pub(crate) fn park(worker: &mut Worker, name: &DnsName, denied: bool, pause: impl FnOnce(u32) -> Duration) -> u32 {
    let former = worker.attempts.get(name).copied().unwrap_or_else(|| Parked::until(Instant::now()));
    let attempts = former.attempts + 1;
    let until = Instant::now() + pause(attempts);
    worker.parked.insert(name.clone(), Parked { until, attempts, denied, ..former });
    attempts
}
