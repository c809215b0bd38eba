//! One round over the dirty names of a zone.
//!
//! In come names; out go groups, piece by piece. While one piece is in flight the next one is prepared, so that groups, old
//! and new record sets and messages of two pieces exist at a time, however many names there are. What must hold: outcomes
//! are remembered in the order in which the pieces were sent; a group that touches what the piece in flight changes or rests
//! on waits for its outcome; nothing is sent after an error that concerns the zone. Deletes that the brake counts come last,
//! when the whole round is known, and are planned once more before they go.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use futures::future::join;
use tokio::task::yield_now;
use tokio::time::Instant;
use tracing::info;
use zonewright_core::capability::Capability;
use zonewright_core::change::{Change, Group};
use zonewright_core::error::{Error, ErrorKind, Result};
use zonewright_core::intent::Intent;
use zonewright_core::name::DnsName;

use crate::brake::{self, brake};
use crate::deletes::{self, Before};
use crate::footprint::footprint;
use crate::journal::{Cause, EntryOrigin};
use crate::layer::MOST_DENIED;
use crate::pipeline::{Dispatch, Pipeline, Prepared, SentGroups, piece_size};
use crate::planning::{Goal, Piece, RoundTerms, prepare, read_before};
use crate::round_deletes::{Passing, RoundDeletes};
use crate::worker::Worker;
use crate::write_through::{self, Landed};
use crate::{claim_anomalies, orphans};

/// Names that are prepared at a time while a piece is in flight: what is in flight has its turn between two such strides, so
/// that the server works while the rest is prepared.
const STRIDE: usize = 32;

/// Plans and carries out `names`. Returns whether anything was to be done.
///
/// # Errors
/// What makes the whole zone pause. Names that are not finished are back in the inbox.
pub(crate) async fn run(worker: &mut Worker, names: BTreeMap<DnsName, Instant>, first: bool) -> Result<bool> {
    worker.context.metrics.last_reconcile.set(worker.context.clock.now().as_seconds());
    let capability = worker.capability();
    worker.origin = EntryOrigin::new(worker.context.journal_writer.plan(&worker.handle.label()), Cause::Round);
    if first {
        orphans::announce(worker).await;
        claim_anomalies::announce(worker).await;
    }
    let before = brake::before(worker);
    let mut round = Round::new(worker, capability, &names, first);
    // What was refused before comes last, and shares no piece with the rest.
    let (retried, mut all): (VecDeque<DnsName>, VecDeque<DnsName>) =
        names.keys().cloned().partition(|name| round.worker.retries.is_retried(name));
    let whole = names.len() <= round.piece && retried.is_empty() && !round.worker.retries.is_paused();
    all.extend(retried);
    if whole {
        round.worker.surveyed |= round.pass(all, Goal::Whole(before)).await;
        return round.finish();
    }
    let complete = round.pass(all, Goal::Survey).await;
    round.worker.surveyed |= complete;
    let counted = round.brake(complete, before).await;
    if !counted.is_empty() {
        let names: BTreeSet<DnsName> = counted.keys().map(|key| key.name.clone()).collect();
        round.pass(names.into_iter().collect(), Goal::Deletes(&counted)).await;
    }
    round.finish()
}

/// Creates and updates records at `names` before the zone is listed; everything else waits. Returns whether anything was to be done.
///
/// # Errors
/// As [`run`].
pub(crate) async fn early(worker: &mut Worker, names: BTreeMap<DnsName, Instant>) -> Result<bool> {
    let capability = worker.capability();
    worker.origin = EntryOrigin::new(worker.context.journal_writer.plan(&worker.handle.label()), Cause::Round);
    let mut round = Round::new(worker, capability, &names, true);
    round.pass(names.keys().cloned().collect(), Goal::Early).await;
    round.finish()
}

/// What a round knows while it goes on.
struct Round<'a> {
    worker: &'a mut Worker,
    capability: Capability,
    /// How many groups make a piece full.
    piece: usize,
    /// Every name of the round, with the moment it was first asked for.
    names: &'a BTreeMap<DnsName, Instant>,
    first: bool,
    deletes: RoundDeletes,
    /// What concerns the zone: nothing is sent after it.
    problem: Option<Error>,
    /// Names that have to be planned again.
    unfinished: BTreeSet<DnsName>,
    changed: bool,
    sent: usize,
}

impl<'a> Round<'a> {
    fn new(worker: &'a mut Worker, capability: Capability, names: &'a BTreeMap<DnsName, Instant>, first: bool) -> Self {
        Self {
            piece: piece_size(capability.batch).max(worker.instance.registry.piece()),
            worker,
            capability,
            names,
            first,
            deletes: RoundDeletes::default(),
            problem: None,
            unfinished: BTreeSet::new(),
            changed: false,
            sent: 0,
        }
    }

    /// Plans the names of `queue` and carries them out, one piece in flight while the next is prepared. Returns whether every
    /// name was planned.
    async fn pass(&mut self, mut queue: VecDeque<DnsName>, goal: Goal<'_>) -> bool {
        let mut ready = Prepared::default();
        while !(queue.is_empty() && ready.is_empty()) {
            if self.worker.cancel.is_cancelled() {
                self.put_off(ready, queue, &stopped()).await;
                return false;
            }
            ready = self.still_approved(ready).await;
            let busy = footprint(ready.groups());
            let pace = self.pace(ready.groups().iter().map(|group| &group.name));
            let (context, instance, handle) =
                (self.worker.context.clone(), self.worker.instance.clone(), self.worker.handle.clone());
            let origin = self.worker.origin.clone();
            let pipeline = Pipeline::of(&context, &instance, &handle);
            let flight = pipeline.send(&origin, std::mem::take(&mut ready), pace);
            let (sent, next) = join(flight, self.piece(&mut queue, goal, &busy)).await;
            self.land(sent).await;
            match next {
                Ok(prepared) if self.problem.is_none() => ready = self.read_before(prepared).await,
                Ok(prepared) => self.leave(prepared).await,
                Err(problem) => {
                    self.problem.get_or_insert(problem);
                    self.unfinished.extend(queue);
                    return false;
                }
            }
        }
        true
    }

    /// Prepares groups until the piece is full or no name is left. Those that touch a `busy` name are left for the next
    /// piece.
    async fn piece(
        &mut self,
        queue: &mut VecDeque<DnsName>,
        goal: Goal<'_>,
        busy: &BTreeSet<DnsName>,
    ) -> Result<Prepared> {
        let (mut ready, mut again) = (Prepared::default(), Vec::new());
        let size = if self.pace(queue.front()) == Dispatch::OneByOne { MOST_DENIED } else { self.piece };
        let kind = queue.front().is_some_and(|name| self.worker.retries.is_retried(name));
        // A whole round is judged at once; a registry that writes down many as quickly as a few is given many.
        let at_once = matches!(goal, Goal::Whole(_)) || self.worker.instance.registry.piece() > 0;
        while ready.len() < size {
            let room = size - ready.len();
            let room = if at_once { room.max(16) } else { room.min(STRIDE) };
            let alike = queue.iter().take(room).take_while(|name| self.worker.retries.is_retried(name) == kind).count();
            let names: Vec<DnsName> = queue.drain(..alike).collect();
            if names.is_empty() {
                break;
            }
            let terms = RoundTerms { capability: &self.capability, goal, first: self.first };
            let busy = self.problem.is_none().then_some(busy);
            match prepare(self.worker, &names, terms, &mut self.deletes, busy).await {
                Ok(Piece { prepared, later, planned }) => {
                    self.changed |= planned;
                    ready.extend(prepared);
                    // After an error that concerns the zone they wait for another round, else for the next piece.
                    if busy.is_some() {
                        again.extend(later);
                    } else {
                        self.unfinished.extend(later);
                    }
                    if !queue.is_empty() {
                        // Where nothing is to be sent, nothing else here waits.
                        yield_now().await;
                    }
                }
                Err(problem) => {
                    self.unfinished.extend(names.into_iter().chain(again));
                    self.put_off(ready, VecDeque::new(), &problem).await;
                    return Err(problem);
                }
            }
        }
        queue.extend(again);
        Ok(ready)
    }

    /// Groups of these names go one by one where the zone accepts nothing, or they were refused before.
    fn pace<'n>(&self, names: impl IntoIterator<Item = &'n DnsName>) -> Dispatch {
        let retries = &self.worker.retries;
        let probes = retries.is_paused() || names.into_iter().any(|name| retries.is_retried(name));
        if probes { Dispatch::OneByOne } else { Dispatch::Together }
    }

    /// Takes over what became of the groups that were in flight.
    async fn land(&mut self, sent: SentGroups) {
        if sent.groups.is_empty() {
            return;
        }
        self.sent += sent.groups.len();
        let Landed { unfinished, problem, .. } = write_through::land(self.worker, sent, self.names).await;
        if self.names.len() > self.piece {
            info!(zone = %self.worker.handle.title, sent = self.sent, names = self.names.len(), "progress");
        }
        self.unfinished.extend(unfinished);
        self.problem = self.problem.take().or(problem);
    }

    /// Where writes cannot be conditional, the zone is read right before it is changed.
    async fn read_before(&mut self, prepared: Prepared) -> Prepared {
        let first = self.capability.preconditions.read_first();
        // A claim outside of the zone that a record gets without being changed has no condition there.
        let taken = |group: &Group| group.changes_nothing() && !group.stored.is_empty();
        let (doubtful, mut sure) = prepared.split(|group| first || is_of_intents(group) || taken(group));
        if doubtful.is_empty() {
            return sure;
        }
        let names: Vec<DnsName> = doubtful.groups().iter().map(|group| group.name.clone()).collect();
        match read_before(self.worker, doubtful).await {
            Ok(fresh) => {
                sure.extend(fresh);
                sure
            }
            Err(problem) => {
                self.unfinished.extend(names);
                self.problem = Some(problem);
                self.leave(sure).await;
                Prepared::default()
            }
        }
    }

    /// What was prepared, without deletes whose approval has ended since: by an undo, or because the record is asked for again.
    async fn still_approved(&mut self, prepared: Prepared) -> Prepared {
        let (context, origin) = (&self.worker.context, &self.worker.origin);
        let zone = self.worker.handle.label();
        let (go, ended) = prepared.split(|group| {
            let mut deleted = group.records().filter(|step| matches!(step.change, Change::Delete { .. }));
            let approved = deleted.any(|step| origin.is_approved(step.change.key()));
            !approved || context.state.rests_on_approval(&zone, group)
        });
        if !ended.is_empty() {
            let why = Error::new(ErrorKind::Conflict, "apply changes", "the approval of these deletes has ended");
            self.put_off(ended, VecDeque::new(), &why).await;
        }
        go
    }

    /// Groups that were prepared in vain: the zone failed at the piece before them.
    async fn leave(&mut self, prepared: Prepared) {
        if let Some(problem) = self.problem.clone()
            && !prepared.is_empty()
        {
            self.put_off(prepared, VecDeque::new(), &problem).await;
        }
    }

    /// Leaves groups and names for another round, and lets the registry know.
    async fn put_off(&mut self, prepared: Prepared, queue: VecDeque<DnsName>, why: &Error) {
        self.unfinished.extend(write_through::withdraw(self.worker, prepared, why).await);
        self.unfinished.extend(queue);
    }

    /// The counted deletes that go on. Of a round that is not `complete` nothing is known. `before` is what was ours when the
    /// round began.
    async fn brake(&mut self, complete: bool, before: Before) -> Passing {
        if !complete {
            self.worker.deletes.ask(std::mem::take(&mut self.deletes.asked));
            self.unfinished.extend(self.deletes.names());
            return Passing::new();
        }
        let go = brake(self.worker, &self.deletes, before).await;
        if self.problem.is_some() {
            self.unfinished.extend(go.keys().map(|key| key.name.clone()));
            return Passing::new();
        }
        go
    }

    fn finish(self) -> Result<bool> {
        // What was not sent after all takes no room.
        let reserved = self.worker.deletes.take_all_reserved();
        deletes::give_back(&self.worker.context.state, &self.worker.handle.label(), reserved);
        let since = |name: DnsName| self.names.get(&name).copied().map(|since| (name, since));
        self.worker.handle.inbox.put_back(self.unfinished.into_iter().filter_map(since));
        self.problem.map_or(Ok(self.changed), Err)
    }
}

fn stopped() -> Error {
    Error::new(ErrorKind::Unavailable, "apply changes", "the process stops")
}

/// Whether a group changes intents alone: no condition of the provider speaks of the records that they stand for.
fn is_of_intents(group: &Group) -> bool {
    group.records().next().is_none()
        && group.changes().filter_map(Change::from).any(|set| !Intent::all_in(set).is_empty())
}
