//! One round over the dirty names of a zone.
//!
//! In come names; out go groups, piece by piece. While one piece is in flight the next one is prepared, so that groups, old
//! and new record sets and messages of two pieces exist at a time, however many names there are. What must hold: outcomes
//! are remembered in the order in which the pieces were sent; a group that touches what the piece in flight changes or rests
//! on waits for its outcome; nothing is sent after an error that concerns the zone. Deletes that the brake counts come last,
//! when the whole round is known, and are planned once more before they go.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use futures::future::join;
use tokio::time::Instant;
use tracing::info;
use zonewright_core::capability::{Batch, Capability};
use zonewright_core::change::{Change, Group, Outcome};
use zonewright_core::error::{Error, ErrorKind, Result};
use zonewright_core::intent::Intent;
use zonewright_core::name::DnsName;

use crate::brake::{self, Passed, Tally};
use crate::claim_anomalies;
use crate::journal::Cause;
use crate::journal_sending::{self, Origin};
use crate::layer::MOST_DENIED;
use crate::orphans;
use crate::planning::{Pass, Prepared, footprint, prepare, read_before};
use crate::refusals;
use crate::worker::Worker;
use crate::write_through;

/// How many groups make a piece full: about one call of the provider, so that the next one can be prepared during each. A
/// provider that takes any number gets the whole round in one call.
pub(crate) fn piece_size(batch: Batch) -> usize {
    if batch.changes == usize::MAX {
        return usize::MAX;
    }
    // A record and its claim are two changes, and hold some 150 octets.
    let by_size = batch.size.map_or(usize::MAX, |size| size / 160);
    (batch.changes / 2).min(by_size).clamp(100, 500)
}

/// Plans and carries out `names`. Returns whether anything was to be done.
///
/// # Errors
/// What makes the whole zone pause. Names that are not finished are back in the inbox.
pub(crate) async fn run(worker: &mut Worker, names: BTreeMap<DnsName, Instant>, first: bool) -> Result<bool> {
    worker.context.metrics.last_reconcile.set(worker.context.clock.now().as_seconds());
    let capability = worker.instance.provider.capability(Some(&worker.handle.zone));
    worker.origin = Origin::new(worker.context.journal_writer.plan(&worker.handle.label()), Cause::Round);
    if first {
        orphans::announce(worker);
        claim_anomalies::announce(worker);
    }
    let before = brake::Before::of(worker);
    let mut round = Round {
        piece: piece_size(capability.batch).max(worker.instance.registry.piece()),
        worker,
        capability,
        names: &names,
        first,
        tally: Tally::default(),
        problem: None,
        unfinished: BTreeSet::new(),
        changed: false,
        sent: 0,
    };
    // What was refused before comes last, and shares no piece with the rest.
    let (retried, mut all): (VecDeque<DnsName>, VecDeque<DnsName>) =
        names.keys().cloned().partition(|name| round.worker.is_retried(name));
    let whole = names.len() <= round.piece && retried.is_empty() && !round.worker.refusals.is_paused();
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

/// What a pass over names is to do.
#[derive(Debug, Clone, Copy)]
enum Goal<'a> {
    /// Everything; all names fit one piece. With what was ours when the round began.
    Whole(brake::Before),
    /// Everything but counted deletes, which are gathered.
    Survey,
    /// These counted deletes.
    Deletes(&'a Passed),
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
    tally: Tally,
    /// What concerns the zone: nothing is sent after it.
    problem: Option<Error>,
    /// Names that have to be planned again.
    unfinished: BTreeSet<DnsName>,
    changed: bool,
    sent: usize,
}

impl Round<'_> {
    /// Plans the names of `queue` and carries them out, one piece in flight while the next is prepared. Returns whether every
    /// name was planned.
    async fn pass(&mut self, mut queue: VecDeque<DnsName>, goal: Goal<'_>) -> bool {
        let mut ready: Vec<Group> = Vec::new();
        while !(queue.is_empty() && ready.is_empty()) {
            if self.worker.cancel.is_cancelled() {
                self.put_off(ready, queue, &stopped()).await;
                return false;
            }
            let busy = footprint(&ready);
            let (instance, handle) = (self.worker.instance.clone(), self.worker.handle.clone());
            let groups = std::mem::take(&mut ready);
            let (context, origin) = (self.worker.context.clone(), self.worker.origin.clone());
            let probes = self.probes(groups.iter().map(|group| &group.name));
            let flight = async {
                match groups.as_slice() {
                    [] => Vec::new(),
                    groups if probes => refusals::probe(&context, &instance, &handle, &origin, groups).await,
                    groups => journal_sending::send(&context, &instance, &handle, &origin, groups).await,
                }
            };
            let (outcomes, next) = join(flight, self.piece(&mut queue, goal, &busy)).await;
            self.land(&groups, outcomes).await;
            drop(groups);
            match next {
                Ok(groups) if self.problem.is_none() => ready = self.read_before(groups).await,
                Ok(groups) => self.leave(groups).await,
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
    ) -> Result<Vec<Group>> {
        let (mut ready, mut again) = (Vec::new(), Vec::new());
        let size = if self.probes(queue.front()) { MOST_DENIED } else { self.piece };
        let kind = queue.front().is_some_and(|name| self.worker.is_retried(name));
        while ready.len() < size {
            let room = (size - ready.len()).max(16);
            let alike = queue.iter().take(room).take_while(|name| self.worker.is_retried(name) == kind).count();
            let names: Vec<DnsName> = queue.drain(..alike).collect();
            if names.is_empty() {
                break;
            }
            let pass = match goal {
                Goal::Whole(before) => Pass::Whole(&mut self.tally, before),
                Goal::Survey => Pass::Survey(&mut self.tally),
                Goal::Deletes(keys) => Pass::Deletes(keys),
            };
            let busy = self.problem.is_none().then_some(busy);
            match prepare(self.worker, &self.capability, &names, self.first, pass, busy).await {
                Ok(Prepared { groups, later, planned }) => {
                    self.changed |= planned;
                    ready.extend(groups);
                    // After an error that concerns the zone they wait for another round, else for the next piece.
                    if busy.is_some() { again.extend(later) } else { self.unfinished.extend(later) }
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

    /// Whether groups of these names go one by one: the zone accepts nothing, or they were refused before.
    fn probes<'n>(&self, names: impl IntoIterator<Item = &'n DnsName>) -> bool {
        let mut names = names.into_iter();
        self.worker.refusals.is_paused() || names.any(|name| self.worker.is_retried(name))
    }

    /// Takes over what became of the groups that were in flight.
    async fn land(&mut self, groups: &[Group], outcomes: Vec<Outcome>) {
        if groups.is_empty() {
            return;
        }
        write_through::commit(self.worker, groups, &outcomes).await;
        self.sent += groups.len();
        if self.names.len() > self.piece {
            info!(zone = %self.worker.handle.zone.name, sent = self.sent, names = self.names.len(), "progress");
        }
        let (unfinished, problem) = write_through::remember(self.worker, groups, outcomes, self.names);
        self.unfinished.extend(unfinished);
        self.problem = self.problem.take().or(problem);
    }

    /// Where writes cannot be conditional, it is read right before it is changed.
    async fn read_before(&mut self, groups: Vec<Group>) -> Vec<Group> {
        let first = self.capability.preconditions.read_first();
        let (doubtful, mut sure): (Vec<Group>, Vec<Group>) =
            groups.into_iter().partition(|group| first || is_of_intents(group));
        if doubtful.is_empty() {
            return sure;
        }
        let names: Vec<DnsName> = doubtful.iter().map(|group| group.name.clone()).collect();
        match read_before(self.worker, doubtful).await {
            Ok(groups) => {
                sure.extend(groups);
                sure
            }
            Err(problem) => {
                self.unfinished.extend(names);
                self.problem = Some(problem);
                self.leave(sure).await;
                Vec::new()
            }
        }
    }

    /// Groups that were prepared in vain: the zone had trouble with the piece before them.
    async fn leave(&mut self, groups: Vec<Group>) {
        if let Some(problem) = self.problem.clone()
            && !groups.is_empty()
        {
            self.put_off(groups, VecDeque::new(), &problem).await;
        }
    }

    /// Leaves groups and names for another round, and lets the registry know.
    async fn put_off(&mut self, groups: Vec<Group>, queue: VecDeque<DnsName>, why: &Error) {
        write_through::give_up(self.worker, &groups, why).await;
        self.unfinished.extend(groups.into_iter().map(|group| group.name));
        self.unfinished.extend(queue);
    }

    /// The counted deletes that go on. Of a round that is not `complete` nothing is known. `before` is what was ours when the
    /// round began.
    async fn brake(&mut self, complete: bool, before: brake::Before) -> Passed {
        if !complete {
            self.unfinished.extend(self.tally.names());
            return Passed::new();
        }
        let go = brake::brake(self.worker, &self.tally, before).await;
        if self.problem.is_some() {
            self.unfinished.extend(go.keys().map(|key| key.name.clone()));
            return Passed::new();
        }
        go
    }

    fn finish(self) -> Result<bool> {
        // What was not sent after all takes no room.
        let reserved = std::mem::take(&mut self.worker.reserved);
        brake::release(self.worker, reserved);
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
