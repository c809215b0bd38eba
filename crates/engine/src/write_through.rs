//! What became of groups, written through: into the zone's view, the brake's window, metrics, events, and the names that are
//! tried again.
//!
//! In: groups that were sent, each with its outcome. Out: the names that are not finished, and the error that concerns the zone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::time::Instant;
use tracing::{debug, info, warn};
use zonewright_core::capability::Audit;
use zonewright_core::change::{Change, Group, Outcome, Role, Step};
use zonewright_core::endpoint::{Note, shortened};
use zonewright_core::error::{Error, ErrorKind};
use zonewright_core::name::DnsName;
use zonewright_core::record::{RecordKey, RecordSet};

use crate::announce::Announcement;
use crate::deletes;
use crate::journal::EntryOrigin;
use crate::metrics::Changed;
use crate::pipeline::{Prepared, SentGroups, Unclaimed};
use crate::recent::RecentChange;
use crate::round_deletes::namespace;
use crate::table_sizes;
use crate::worker::Worker;

/// Bytes of a group's headline in events.
const HEADLINE: usize = 300;

/// What became of groups.
#[derive(Debug, Default)]
pub(crate) struct Landed {
    /// Each group that was sent, or should have been.
    pub(crate) done: Vec<(Group, Outcome)>,
    /// What the registry cannot claim.
    pub(crate) unclaimed: Vec<Unclaimed>,
    /// Names that are not finished.
    pub(crate) unfinished: BTreeSet<DnsName>,
    /// What concerns the zone.
    pub(crate) problem: Option<Error>,
}

/// Takes groups through the whole pipeline, and writes the outcomes through.
pub(crate) async fn carry_out(worker: &mut Worker, origin: &EntryOrigin, groups: Vec<Group>) -> Landed {
    if groups.is_empty() {
        return Landed::default();
    }
    let (sent, unclaimed, committed) = worker.pipeline().carry_out(origin, groups).await;
    report_commit(worker, committed);
    Landed { unclaimed, ..take_over(worker, sent, &BTreeMap::new()) }
}

/// Commits groups that were sent, and writes the outcomes through. `since`: when each name was first asked for.
pub(crate) async fn land(worker: &mut Worker, sent: SentGroups, since: &BTreeMap<DnsName, Instant>) -> Landed {
    let committed = worker.pipeline().commit(&sent).await;
    report_commit(worker, committed);
    take_over(worker, sent, since)
}

/// Lets the registry know that groups which it prepared are not sent. Returns their names.
pub(crate) async fn withdraw(worker: &Worker, prepared: Prepared, why: &Error) -> Vec<DnsName> {
    report_commit(worker, worker.pipeline().withdraw(&prepared, why).await);
    prepared.groups().iter().map(|group| group.name.clone()).collect()
}

fn report_commit(worker: &Worker, committed: Result<(), Error>) {
    if let Err(problem) = committed {
        warn!(zone = %worker.handle.title, error = problem.chain(), "the registry could not note what became of the changes");
        worker.handle.uncommitted.store(true, Ordering::Relaxed);
    }
    if let Some(text) = worker.context.journal_writer.new_failure()
        && let Some(object) = &worker.context.own_object
    {
        worker.context.report([Note::warning(object, "JournalFailed", text)]);
    }
}

fn take_over(worker: &mut Worker, sent: SentGroups, since: &BTreeMap<DnsName, Instant>) -> Landed {
    let took_effect =
        |(group, outcome): (&Group, &Outcome)| matches!(outcome, Outcome::Applied) && !group.changes_nothing();
    let accepted = sent.groups.iter().zip(&sent.outcomes).any(took_effect);
    if accepted {
        worker.retries.accepted();
    }
    let mut landed = Landed::default();
    for (group, outcome) in sent.groups.into_iter().zip(sent.outcomes) {
        record(worker, &group, &outcome);
        reserve(worker, &group, &outcome);
        if !matches!(outcome, Outcome::NotSent(_)) {
            worker.flaps.repaired(&group.name, worker.context.clock.now());
        }
        match &outcome {
            Outcome::Applied => applied(worker, &group, since.get(&group.name).copied()),
            Outcome::NotSent(error) if error.kind == ErrorKind::DryRun => {
                info!(zone = %worker.handle.title, "dry run, not sent: {}", group.headline());
                worker.tally.count(&group, worker.context.config.dry_run);
                if worker.context.config.previews() {
                    worker.handle.preview().would_send(&group);
                }
            }
            Outcome::NotSent(error) => landed.put_off(&group, Some(error)),
            Outcome::Unknown(error) => {
                worker.reads.doubt(worker.touched(&group));
                landed.put_off(&group, Some(error));
            }
            Outcome::Refused { error, .. } => refused(worker, &group, error, accepted, &mut landed),
        }
        landed.done.push((group, outcome));
    }
    landed.problem = worker.retries.refusals().verdict().or(landed.problem);
    landed
}

impl Landed {
    /// The name of a group is planned again; `error` concerns the zone.
    fn put_off(&mut self, group: &Group, error: Option<&Error>) {
        self.unfinished.insert(group.name.clone());
        if self.problem.is_none() {
            self.problem = error.cloned();
        }
    }
}

/// For the metrics, and for people who look.
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

/// Room in the brake's window that a group was given is given back where it was not carried out.
fn reserve(worker: &mut Worker, group: &Group, outcome: &Outcome) {
    match outcome {
        Outcome::NotSent(_) | Outcome::Refused { .. } => {
            let reserved = worker.deletes.take_reserved(group);
            deletes::give_back(&worker.context.state, &worker.handle.label(), reserved);
        }
        // Whether it was done is found out by a reading: until then the room is taken, from now on, since it may have been done just now.
        Outcome::Unknown(_) => {
            let reserved = worker.deletes.take_reserved(group);
            let now = worker.context.clock.now();
            let zone = worker.handle.label();
            if !reserved.is_empty() {
                worker.context.state.zone(&zone, |state| state.window.may_have_deleted(reserved.keys(), now));
            }
            // What is created did not stand: an earlier delete of it was done, and if it stands by now, the next one is another.
            let came = group.records().filter(|step| matches!(step.change, Change::Create { .. }));
            let came: Vec<&RecordKey> = came.map(|step| step.change.key()).collect();
            // It may stand now, and be out of sight in the next listing: an owner may have had so many.
            let owned = worker.claims.owned + worker.reads.may_have_made(came.len());
            worker.context.state.note(&zone, |state| {
                state.window.owns(owned, now);
                for key in came {
                    state.window.created(key);
                }
            });
        }
        Outcome::Applied => {}
    }
}

fn refused(worker: &mut Worker, group: &Group, error: &Error, accepted: bool, landed: &mut Landed) {
    match error.kind {
        ErrorKind::Conflict => {
            worker.reads.unsure(worker.touched(group));
            // What is known of the zone is old, and perhaps not at this name alone.
            if worker.capability().audit == Audit::Cheap {
                worker.reads.audit_now();
            }
            refused_alone(worker, group, error);
        }
        ErrorKind::Unauthorized if worker.retries.waits_alone(&group.name, accepted) => {
            let (attempts, unread) = worker.retries.denied(&group.name, error, accepted);
            if unread {
                worker.reads.unsure([group.name.clone()]);
            }
            report_refused(worker, group, error, attempts);
        }
        ErrorKind::Unauthorized => landed.put_off(group, None),
        ErrorKind::Invalid | ErrorKind::Unsupported => refused_alone(worker, group, error),
        // Where others went through, only this group is to blame.
        _ if accepted => refused_alone(worker, group, error),
        _ => {
            refused_zone(worker, group, error);
            landed.put_off(group, Some(error));
        }
    }
}

/// The group backs off alone.
fn refused_alone(worker: &mut Worker, group: &Group, error: &Error) {
    let attempts = worker.retries.refused(&group.name, error);
    report_refused(worker, group, error, attempts);
}

/// Reported once, and again when it is refused for another reason.
fn report_refused(worker: &mut Worker, group: &Group, error: &Error, attempts: u32) {
    // A set of thousands of values is not shown whole.
    let headline = group.headline();
    let headline = shortened(&headline, HEADLINE);
    if !worker.retries.is_news(&group.name, &headline, error) {
        debug!(zone = %worker.handle.title, error = error.chain(), attempts, "refused again: {headline}");
        return;
    }
    if group.objects.is_empty() {
        warn!(zone = %worker.handle.title, error = error.chain(), attempts, "refused: {headline}");
    } else {
        // The line about the object says the same.
        debug!(zone = %worker.handle.title, error = error.chain(), attempts, "refused: {headline}");
    }
    let text = format!("{headline} was refused: {}", error.chain());
    let named = worker.context.config.announce.contains(&Announcement::RecordError);
    let reason = if named { Announcement::RecordError.as_str() } else { "RecordRefused" };
    worker.context.report(group.objects.iter().map(|object| Note::warning(object, reason, text.clone())));
}

fn refused_zone(worker: &mut Worker, group: &Group, error: &Error) {
    worker.reads.reported.insert(group.name.clone());
    let text = format!("{} waits, zone {} cannot be written: {}", group.headline(), worker.handle.title, error.chain());
    worker.context.report(group.objects.iter().map(|object| Note::warning(object, "ZoneNotWritable", text.clone())));
}

fn applied(worker: &mut Worker, group: &Group, since: Option<Instant>) {
    worker.tally.count(group, worker.context.config.dry_run);
    let default = worker.capability().ttl.default;
    let as_read = |set: &RecordSet| RecordSet { ttl: set.ttl.or(Some(default)), ..set.clone() };
    worker.handle.view_mut().write(group, Instant::now(), as_read);
    worker.wake_neighbours(group.changes().map(|change| &change.key().name));
    if let Some(since) = since {
        let histogram = worker.context.metrics.time_to_publish.get_or_create(&worker.label()).clone();
        histogram.observe(since.elapsed().as_secs_f64());
    }
    for step in group.steps.iter().filter(|step| step.role == Role::Record) {
        info!(zone = %worker.handle.title, "{} {}", step.change.verb(), step.change);
    }
    let keys = |wanted: fn(&Change) -> bool| -> Vec<&RecordKey> {
        let steps = group.steps.iter().filter(|step| step.role == Role::Record && wanted(&step.change));
        steps.map(|step| step.change.key()).collect()
    };
    let came = keys(|change| matches!(change, Change::Create { .. }));
    let went = keys(|change| matches!(change, Change::Delete { .. }));
    worker.claims.count(came.len(), went.len());
    if !went.is_empty() {
        let mut desired_state = worker.context.desired_state();
        table_sizes::clear_tombstone(&worker.context, &mut desired_state.table, &group.name);
    }
    count_in_window(worker, group, &came, &went);
    let passes = !went.is_empty() && is_contended(worker, &group.name) || joins_another(worker, group);
    let leaves_claims = worker.instance.registry.is_moving() && came.iter().any(|key| has_claim_elsewhere(worker, key));
    let adopted = worker.claims.adopting.remove(&group.name);
    if passes || leaves_claims || adopted || !group.changes_nothing() && worker.tally.leaves_alone(&group.name) {
        // Who holds the name now, by what was just made, claimed or taken away, decides about what is left undone or shared there.
        // And a claim that a record left behind, when somebody took it away, stands where former settings put it.
        worker.handle.inbox.again([group.name.clone()]);
    }
    worker.publish_owned();
    announce(worker, group);
}

/// Whether a claim on a record stands elsewhere than where it would be written today, too.
fn has_claim_elsewhere(worker: &Worker, key: &RecordKey) -> bool {
    worker.ownership(key).claim().is_some_and(|claim| !claim.current)
}

/// Whether a group makes or changes a record at a name where another object has one, or passes it on, and several ask for one type:
/// another object may hold the name now. What is asked for is looked at last: most names are one object's.
fn joins_another(worker: &Worker, group: &Group) -> bool {
    if group.changes().all(|change| matches!(change, Change::Delete { .. })) {
        return false;
    }
    let stands = worker.handle.view().at(&group.name);
    if stands.len() < 2 {
        return false;
    }
    let written: BTreeMap<&RecordKey, &Step> = group.records().map(|step| (step.change.key(), step)).collect();
    // The claim on what was just written may not be confirmed yet.
    let label = |set: &RecordSet| {
        if let Some(step) = written.get(&set.key) {
            return Some(step.resource.clone());
        }
        let ownership = worker.ownership(&set.key);
        ownership.is_ours().then(|| ownership.claim().and_then(|claim| claim.resource.clone()))
    };
    let mut labels: BTreeMap<_, BTreeSet<Option<Arc<str>>>> = BTreeMap::new();
    for set in &stands {
        // Whom a record is taken from held the name until now.
        let former = written.get(&set.key).and_then(|step| Some(step.held.as_ref()?.resource.clone()));
        labels.entry(&set.key.set_id).or_default().extend(label(set).into_iter().chain(former));
    }
    labels.values().any(|labels| labels.len() > 1) && has_rivals(worker, &group.name)
}

/// Whether several objects ask for one record of a name. Identifiers that the provider does not know tell no records apart.
fn has_rivals(worker: &Worker, name: &DnsName) -> bool {
    let known = worker.capability().set_ids;
    let desired_state = worker.context.desired_state();
    let asked = desired_state.table.at(name).endpoints;
    let mut first = BTreeMap::new();
    asked.iter().any(|endpoint| {
        let object = &endpoint.origin.object;
        let RecordKey { rtype, set_id, .. } = endpoint.key();
        *first.entry((rtype, set_id.filter(|_| known))).or_insert(object) != object
    })
}

/// Whether several objects ask for a name.
fn is_contended(worker: &Worker, name: &DnsName) -> bool {
    let desired_state = worker.context.desired_state();
    let asked = desired_state.table.at(name);
    let mut objects = asked.endpoints.iter().map(|endpoint| &endpoint.origin.object);
    objects.next().is_some_and(|first| objects.any(|other| other != first))
}

/// Writes into the brake's window what came and went.
fn count_in_window(worker: &mut Worker, group: &Group, came: &[&RecordKey], went: &[&RecordKey]) {
    let now = worker.context.clock.now();
    let zone = worker.handle.label();
    let counted = worker.deletes.take_reserved(group);
    let state = &worker.context.state;
    state.note(&zone, |state| {
        state.window.trim(worker.context.config.brake.window, now);
        state.window.owns(worker.claims.owned, now);
        for key in came {
            state.window.created(key);
        }
    });
    // An approval covers a delete once; what is made anew is another record.
    if state.note(&zone, |state| state.spend(went.iter().chain(came).copied())) {
        state.zone(&zone, |_| ());
    }
    if !counted.is_empty() {
        let records = group.records().map(|step| (step.change.key(), namespace(step)));
        let done: Vec<_> = records.filter(|(key, _)| counted.contains_key(*key)).collect();
        let done = done.iter().map(|(key, namespace)| (*key, namespace.as_ref()));
        state.zone(&zone, |state| state.window.deleted(done, now));
    }
}

fn announce(worker: &Worker, group: &Group) {
    let ready = Announcement::RecordReady;
    // What goes, by an undo for instance, is no record that is ready.
    let stands = group.records().any(|step| step.change.to().is_some());
    if stands && worker.context.config.announce.contains(&ready) {
        let text = format!("{} in zone {}", group.headline(), worker.handle.zone.title());
        worker.context.report(group.objects.iter().map(|object| Note::normal(object, ready.as_str(), text.clone())));
    }
}

/// The registry cannot claim the records of a group; that is reported, and it is planned again later, since what is in the way may go.
pub(crate) fn unclaimed(worker: &mut Worker, group: &Group, reason: &str) {
    let attempts = worker.retries.unclaimed(&group.name, reason);
    let text = format!("{}: {reason}", group.headline());
    if attempts == 1 {
        warn!(zone = %worker.handle.title, "{text}");
    }
    worker.context.report(group.objects.iter().map(|object| Note::warning(object, "ClaimRefused", text.clone())));
}

/// What a group rests on, or what was written for it, is not what was read back: it is planned again, later each time.
pub(crate) fn unconfirmed(worker: &mut Worker, group: &Group) {
    let attempts = worker.retries.unconfirmed(&group.name);
    warn!(zone = %worker.handle.title, attempts, "read back otherwise than it was known, not sent: {}", group.headline());
}
