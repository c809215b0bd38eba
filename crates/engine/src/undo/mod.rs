//! Undo: from the journal to a plan that can be looked at, and from a plan to what stood before.
//!
//! In: which entries are meant. Out: groups that bring back what stood before them, sent by the worker of each zone like
//! those of a round: prepared, journaled, through the layers. What must hold: a record is only touched where it is ours and
//! exactly as we left it, looked at once more right before; its name is pinned before the first group is sent.

mod judge;
mod plan;
mod work;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;
use tracing::info;
use zonewright_core::change::{Role, Step};
use zonewright_core::clock::Timestamp;
use zonewright_core::error::{Error, ErrorKind, Result};

use crate::context::EngineContext;
use crate::journal::{Fold, Folded, JournalRecord, UndoRefusal, read};
use crate::provider_instance::ProviderInstance;
use crate::zone_handle::ZoneHandle;
use judge::judge;
pub(crate) use plan::Order;
pub use plan::{UndoPlan, UndoReport, UndoRequest, UndoZone};
pub(super) use work::carry_out;

/// How long a zone may take to begin with an undo.
const PATIENCE: Duration = Duration::from_mins(2);

/// How long a plan waits for zones to be read.
const GLANCE: Duration = Duration::from_secs(20);

/// Plans that were looked at and not confirmed; the oldest are forgotten.
const OFFERS: usize = 8;

/// Makes a plan of what the journal says and the views hold.
///
/// # Errors
/// The journal cannot be read.
pub(super) async fn plan(context: &EngineContext, request: &UndoRequest) -> Result<UndoPlan> {
    let mut folds: BTreeMap<String, Fold> = BTreeMap::new();
    let mut beside: BTreeSet<String> = BTreeSet::new();
    let take = |record: JournalRecord| {
        context.found_open(&record);
        if record.entry.cause.is_command() {
            beside.insert(record.entry.zone.clone());
        }
        let verdict = record.closing.map(|closing| closing.verdict);
        folds.entry(record.entry.zone.clone()).or_default().take(&record.entry, verdict);
        ControlFlow::Continue(())
    };
    context.journal_writer.flush().await;
    let reach = read(&*context.journal_writer.journaling().store, &request.query, take).await?;
    look(context, &beside).await;
    let zones: Vec<UndoZone> = folds.into_iter().map(|(zone, fold)| zone_plan(context, &zone, fold)).collect();
    let plan = UndoPlan {
        hash: context.journal_writer.plan("undo"),
        zones,
        pin_for: request.pin_for,
        reach,
        dry_run: context.config.dry_run,
    };
    if !plan.is_empty() {
        let mut offers = context.offers();
        let surplus = (offers.len() + 1).saturating_sub(OFFERS);
        offers.drain(..surplus);
        offers.push(plan.clone());
    }
    Ok(plan)
}

/// Has zones read again that a command changed: the views do not know of it before the next audit. Where that is not
/// possible, the plan rests on what is known; right before it is carried out the names are read in any case.
async fn look(context: &EngineContext, zones: &BTreeSet<String>) {
    let zone_handles = zones.iter().filter_map(|zone| served(context, zone)).map(|(_, handle)| handle);
    let looks =
        zone_handles.filter(|handle| handle.status().failing.is_none()).map(|handle| timeout(GLANCE, handle.look()));
    futures::future::join_all(looks).await;
}

fn zone_plan(context: &EngineContext, zone: &str, fold: Fold) -> UndoZone {
    let served = served(context, zone);
    let mut plan = UndoZone {
        zone: zone.to_owned(),
        folded: Vec::new(),
        changes: Vec::new(),
        skipped: Vec::new(),
        cut: Vec::new(),
    };
    for folded in fold.finish() {
        let judged = match &served {
            Some((instance, handle)) => judge(context, instance, handle, &folded),
            None => Err(UndoRefusal::NoZone(zone.to_owned())),
        };
        match judged {
            Ok(group) => {
                plan.changes.extend(folded.lines());
                let shown = |step: &&Step| step.role == Role::Record || folded.passed().next().is_none();
                plan.changes.extend(group.steps.iter().filter(shown).map(|step| step.change.to_string()));
                plan.cut.extend(folded.name().filter(|_| folded.cut).cloned());
                plan.folded.push(folded);
            }
            Err(UndoRefusal::Back) => {}
            Err(refusal) => plan.skipped.push((title(&folded), refusal.to_string())),
        }
    }
    plan
}

fn served(context: &EngineContext, zone: &str) -> Option<(Arc<ProviderInstance>, Arc<ZoneHandle>)> {
    let handle = |instance: &Arc<ProviderInstance>| {
        let handle = instance.zone_handles().into_iter().find(|handle| handle.label() == zone)?;
        let listed = handle.status().listed;
        listed.then(|| (instance.clone(), handle))
    };
    context.instances.iter().find_map(handle)
}

fn title(folded: &Folded) -> String {
    folded.key().map(ToString::to_string).unwrap_or_default()
}

/// Carries out a plan that was offered.
///
/// # Errors
/// There is no such plan.
pub(super) async fn confirm(context: &EngineContext, hash: &str) -> Result<UndoReport> {
    let plan = {
        let mut offers = context.offers();
        offers.iter().position(|offer| offer.hash == hash).map(|at| offers.remove(at))
    };
    let Some(plan) = plan else {
        let text = format!("there is no undo {hash} to confirm; make a plan anew");
        return Err(Error::new(ErrorKind::NotFound, "undo", text));
    };
    let until = context.clock.now().plus(plan.pin_for);
    let (dry_run, zones) = (plan.dry_run, plan.zones.into_iter());
    let zones: Vec<UndoZone> = zones.filter(|zone| !zone.folded.is_empty()).collect();
    // What an approval still lets go ends here, in every zone, and not only when the round is over that is under way.
    for zone in zones.iter().filter(|_| !dry_run) {
        let keys = zone.folded.iter().flat_map(|folded| folded.records().map(|(key, _)| key.clone())).collect();
        context.state.revoke(&zone.zone, &keys);
    }
    let zones = zones.into_iter();
    let orders = zones.map(|zone| order(context, zone, &plan.hash, until));
    let reports = futures::future::join_all(orders).await;
    let mut report = UndoReport::default();
    for zone in reports {
        report.join(zone);
    }
    info!(plan = hash, restored = report.restored.len(), failed = report.failed.len(), "undo");
    Ok(report)
}

async fn order(context: &EngineContext, zone: UndoZone, plan: &str, until: Timestamp) -> UndoReport {
    let titles: Vec<String> = zone.folded.iter().map(title).collect();
    let nothing = |why: &str| UndoReport {
        failed: titles.iter().map(|title| (title.clone(), why.to_owned())).collect(),
        ..UndoReport::default()
    };
    let Some((_, handle)) = served(context, &zone.zone) else { return nothing("its zone is not served now") };
    let failing = handle.status().failing.as_ref().map(|(error, _)| error.chain());
    if let Some(error) = failing {
        return nothing(&format!("the zone cannot be served now: {error}"));
    }
    let (done, answer) = oneshot::channel();
    if !handle.order(Order { plan: plan.to_owned(), until, folded: zone.folded, done }) {
        return nothing("another undo waits for this zone; try again when it is done");
    }
    let mut answer = std::pin::pin!(answer);
    if let Ok(answer) = timeout(PATIENCE, &mut answer).await {
        return answer.unwrap_or_else(|_| nothing("the zone's loop ended; whether it was done is in the history"));
    }
    if handle.take_order().is_some() {
        return nothing("the zone cannot be served now; nothing was done, and nothing will be");
    }
    answer.await.unwrap_or_else(|_| nothing("the zone's loop ended; whether it was done is in the history"))
}
