//! The worker's part of an undo: look once more, pin the names, send, and report.

use std::collections::BTreeSet;

use tracing::{info, warn};
use zonewright_core::change::{Group, Outcome};
use zonewright_core::clock::Timestamp;
use zonewright_core::error::{Error, Result};
use zonewright_core::name::DnsName;
use zonewright_core::record::RecordKey;

use super::judge::judge;
use super::plan::{Order, UndoReport};
use super::title;
use crate::journal::{Cause, EntryOrigin, Folded};
use crate::pipeline::{Unclaimed, piece_size};
use crate::worker::Worker;
use crate::write_through::{self, Landed};
use crate::{contested, pinning};

/// Carries out the order that waits for this zone, if there is one.
///
/// # Errors
/// What makes the zone pause. What was not done is in the report, and will not be done later.
pub(crate) async fn carry_out(worker: &mut Worker) -> Result<()> {
    let Some(order) = worker.handle.take_order() else { return Ok(()) };
    let Order { plan, until, folded, done } = order;
    let mut report = UndoReport::default();
    let result = work(worker, &plan, until, folded, &mut report).await;
    worker.handle.inbox.again(report.restored.iter().cloned());
    // Who asked may have gone.
    let _ = done.send(report);
    result
}

async fn work(
    worker: &mut Worker,
    plan: &str,
    until: Timestamp,
    folded: Vec<Folded>,
    report: &mut UndoReport,
) -> Result<()> {
    if let Err(problem) = look(worker, &folded).await {
        report.failed.extend(folded.iter().map(|folded| (title(folded), problem.chain())));
        return Err(problem);
    }
    let mut groups = Vec::new();
    for folded in &folded {
        match judge(&worker.context, &worker.instance, &worker.handle, folded) {
            Ok(group) => groups.push(group),
            Err(refusal) => report.failed.push((title(folded), refusal.to_string())),
        }
    }
    if worker.context.config.dry_run {
        report.dry = groups.len();
        for group in &groups {
            info!(zone = %worker.handle.title, "dry run, not sent: {}", group.headline());
        }
        return Ok(());
    }
    let names: BTreeSet<DnsName> = groups.iter().flat_map(names_of).collect();
    pinning::pin(worker, plan, until, &names);
    // The approvals of the deletes that are set back here end.
    let keys = groups.iter().flat_map(Group::changes).map(|change| change.key().clone()).collect();
    worker.context.state.revoke(&worker.handle.label(), &keys);
    if let Err(problem) = worker.context.state.save().await {
        warn!(error = problem.chain(), "the pins of an undo could not be saved; a restart would forget them");
        report.unsaved = Some(problem.chain());
    }
    let mut kept = BTreeSet::new();
    let result = send_all(worker, plan, groups, report, &mut kept).await;
    let lost: BTreeSet<DnsName> = names.difference(&kept).cloned().collect();
    let freed = pinning::unpin(&worker.context, &worker.handle.label(), Some(&lost));
    worker.handle.inbox.again(freed);
    result
}

/// The names of the records of a group, which are pinned.
fn names_of(group: &Group) -> impl Iterator<Item = DnsName> + '_ {
    let records = group.records().map(|step| step.change.key().name.clone());
    std::iter::once(group.name.clone()).chain(records)
}

/// Reads what stands at the names, so that nothing rests on an old view.
async fn look(worker: &mut Worker, folded: &[Folded]) -> Result<()> {
    let registry = worker.instance.registry.clone();
    registry.load().await?;
    let records = || folded.iter().flat_map(|folded| folded.records().map(|(key, _)| key).chain(folded.handed.keys()));
    let keys = folded.iter().flat_map(|folded| folded.spans.keys()).chain(records());
    let claims = records().flat_map(|key| registry.claim_names(&worker.handle.zone, key));
    let mut names: BTreeSet<DnsName> = keys.map(|key| key.name.clone()).chain(claims).collect();
    names.retain(|name| name.is_within(&worker.handle.zone.name));
    let changed = worker.read_names(&names).await?;
    // What others changed is news to the plan, too: nobody else will find it.
    worker.handle.inbox.again(changed.keys().cloned());
    contested::note(worker, changed);
    Ok(())
}

/// Sends groups in pieces. The names of those that are in force, or may be, are `kept` pinned.
async fn send_all(
    worker: &mut Worker,
    plan: &str,
    groups: Vec<Group>,
    report: &mut UndoReport,
    kept: &mut BTreeSet<DnsName>,
) -> Result<()> {
    let origin = EntryOrigin::new(plan.to_owned(), Cause::Undo);
    let size = piece_size(worker.capability().batch);
    let mut problem: Option<Error> = None;
    let mut groups = groups.into_iter().peekable();
    while groups.peek().is_some() {
        let piece: Vec<Group> = groups.by_ref().take(size).collect();
        if let Some(problem) = &problem {
            report.failed.extend(piece.iter().map(|group| (group.headline(), problem.chain())));
            continue;
        }
        let piece = decorated(worker, piece, report);
        let landed = write_through::carry_out(worker, &origin, piece).await;
        let Landed { done, unclaimed, unfinished, problem: failure } = landed;
        let refused = |Unclaimed { group, reason, .. }: Unclaimed| (group.headline(), reason);
        report.failed.extend(unclaimed.into_iter().map(refused));
        for (group, outcome) in &done {
            if matches!(outcome, Outcome::Applied | Outcome::Unknown(_)) {
                kept.extend(names_of(group));
            }
            match outcome.error() {
                None => report.restored.push(group.name.clone()),
                Some(error) => report.failed.push((group.headline(), error.chain())),
            }
        }
        worker.handle.inbox.again(unfinished);
        problem = failure;
    }
    problem.map_or(Ok(()), Err)
}

/// A registry that keeps claims outside the zones adds them here; the others' are in the groups, as they stood.
fn decorated(worker: &Worker, groups: Vec<Group>, report: &mut UndoReport) -> Vec<Group> {
    let (registry, zone) = (&worker.instance.registry, &worker.handle.zone);
    let outside = |group: &Group| {
        let names = |key: &RecordKey| registry.claim_names(zone, key);
        let mut records = group.records().peekable();
        registry.owner().is_some()
            && records.peek().is_some()
            && records.all(|step| names(step.change.key()).is_empty())
    };
    let (bare, mut ready): (Vec<Group>, Vec<Group>) = groups.into_iter().partition(outside);
    let decorated = if bare.is_empty() { Vec::new() } else { registry.decorate(zone, bare, &*worker.instance) };
    for result in decorated {
        match result {
            Ok(group) => ready.push(group),
            Err((group, dropped)) => report.failed.push((group.headline(), dropped.reason)),
        }
    }
    ready
}
