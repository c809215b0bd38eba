//! The source that the engine sees: one index behind a lock, and the wake-ups.
//!
//! In come the chosen sources and a feed of events; the engine waits in `changed`, then takes what changed. One `K8sSource` serves all
//! `--source`s of one feed. What must hold: after an event that can change a result or an evidence, a waiter wakes; a
//! waiter also wakes at the moment at which a lost watch stops being fresh, though nothing happens then. An engine that
//! asks for the evidence and then takes objects never gets objects that belong to a later, weaker evidence.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use tokio::time::{Instant, sleep_until};
use zonewright_core::endpoint::KindId;
use zonewright_core::explain::{Consideration, Subject};
use zonewright_core::source::{Evidence, KindState, PublishedNames, Review, Source, SourceErrors, Update};

use crate::batch::MappingBatch;
use crate::feed::FeedEvent;
use crate::feed::manifests::{FileProblem, UnreadObject};
use crate::index::Index;
use crate::kind::Kind;
use crate::lookup::Reads;
#[cfg(feature = "cluster")]
use crate::sources::crd::Status;
use crate::store::ObjectKey;

/// A source over objects of a cluster, or of a folder.
#[derive(Debug)]
pub struct K8sSource {
    state: Mutex<State>,
    /// Held while objects are mapped, which one caller does at a time and without the state.
    mapping: Mutex<()>,
    wake: Notify,
    /// Objects were mapped: names may be wanted that are not resolved, and statuses may be due.
    mapped: Notify,
}

#[derive(Debug)]
struct State {
    index: Index,
    /// The trust in each kind when the engine last took something over.
    taken: Trust,
    /// The trust that was last reported to the engine; `None` as long as it has not asked.
    reported: Option<Trust>,
    /// The engine was given nothing because it has to ask for the evidence first.
    held: bool,
    faults: Vec<FileProblem>,
    unread: Vec<UnreadObject>,
    /// Why the last attempt to read a kind failed.
    failed: BTreeMap<Kind, String>,
    /// Everything that went wrong with reading since the start.
    failures: u64,
}

/// The states of all kinds without the numbers of objects, which change without any meaning for the trust.
type Trust = BTreeMap<KindId, KindState>;

impl State {
    fn new(index: Index) -> Self {
        Self {
            index,
            taken: Trust::new(),
            reported: None,
            held: false,
            faults: Vec::new(),
            unread: Vec::new(),
            failed: BTreeMap::new(),
            failures: 0,
        }
    }

    fn trust(&self, now: Instant) -> Trust {
        let mut states = self.index.states(now);
        for state in states.values_mut() {
            state.objects = 0;
        }
        states
    }

    fn has_news(&self, now: Instant) -> bool {
        self.held || self.index.is_dirty() || self.trust(now) != self.taken
    }

    /// Begins to take what there is now. An engine that asked for the evidence, and takes objects that came after it was
    /// weakened, would act on a trust that is gone. So it gets nothing and is woken at once, to ask again; but no more than
    /// once in a row.
    fn begin(&mut self, now: Instant) -> Option<MappingBatch> {
        let trust = self.trust(now);
        let outdated = self.reported.as_ref().is_some_and(|reported| *reported != trust);
        self.held = outdated && !self.held;
        if self.held {
            return None;
        }
        self.taken = trust;
        Some(self.index.begin())
    }

    fn evidence(&mut self, now: Instant) -> Evidence {
        self.reported = Some(self.trust(now));
        self.index.evidence(now)
    }
}

impl K8sSource {
    /// A source over `index`; a feed has to be given to it ([`K8sSource::feed`]).
    pub fn new(index: Index) -> Self {
        let state = Mutex::new(State::new(index));
        Self { state, mapping: Mutex::default(), wake: Notify::new(), mapped: Notify::new() }
    }

    /// Takes in what a feed saw, in order.
    pub fn feed(&self, events: impl IntoIterator<Item = FeedEvent>) {
        let now = Instant::now();
        let mut state = self.state();
        for event in events {
            let failed = matches!(
                event,
                FeedEvent::Lost(..) | FeedEvent::Unreadable(_) | FeedEvent::Forbidden(_) | FeedEvent::Blind(_)
            );
            state.failures += u64::from(failed);
            state.index.apply(event, now);
        }
        let news = state.has_news(now);
        drop(state);
        if news {
            self.wake.notify_waiters();
        }
    }

    /// Takes in why an attempt to read a kind failed; the event of the failure comes by [`K8sSource::feed`].
    pub(crate) fn note_failure(&self, kind: Kind, reason: String) {
        self.state().failed.insert(kind, reason);
    }

    /// Takes in everything that is wrong with the manifests now; what was not before is reported.
    pub(crate) fn note_faults(&self, faults: Vec<FileProblem>) {
        let mut state = self.state();
        for fault in faults.iter().filter(|fault| !state.faults.contains(fault)) {
            tracing::error!(file = %fault.file.display(), line = fault.line, "{}", fault.message);
        }
        let new = faults.iter().filter(|fault| !state.faults.contains(fault)).count();
        state.failures += new as u64;
        state.faults = faults;
    }

    /// What is wrong with the manifests now.
    pub fn faults(&self) -> Vec<FileProblem> {
        self.state().faults.clone()
    }

    pub(crate) fn note_unread(&self, unread: Vec<UnreadObject>) {
        self.state().unread = unread;
    }

    /// The objects of the manifests that none of the chosen sources reads.
    pub fn unread_objects(&self) -> Vec<UnreadObject> {
        self.state().unread.clone()
    }

    /// The kinds that have to be fed, and how far.
    pub fn reads(&self) -> Reads {
        self.state().index.reads().clone()
    }

    /// Waits for statuses that are due.
    #[cfg(feature = "cluster")]
    pub(crate) async fn due_statuses(&self) -> BTreeMap<ObjectKey, Status> {
        loop {
            let mapped = self.mapped.notified();
            let due = self.take_statuses();
            if !due.is_empty() {
                return due;
            }
            mapped.await;
        }
    }

    /// The statuses that are due now; they count as written from then on.
    #[cfg(feature = "cluster")]
    pub(crate) fn take_statuses(&self) -> BTreeMap<ObjectKey, Status> {
        self.state().index.take_statuses()
    }

    /// A status that could not be written is due again, unless a newer one is. Returns whether its object is there.
    #[cfg(feature = "cluster")]
    pub(crate) fn put_back_status(&self, key: &ObjectKey, status: Status) -> bool {
        self.state().index.put_back_status(key, status)
    }

    /// Waits until objects have been mapped, from this call on.
    pub(crate) fn mapped(&self) -> Notified<'_> {
        self.mapped.notified()
    }

    /// The names of the objects of a kind that mappers looked up, there or not.
    pub(crate) fn wanted(&self, kind: Kind) -> BTreeSet<Arc<str>> {
        self.state().index.wanted(kind)
    }

    /// Whether every other kind has been listed or failed to be, and everything that came is mapped.
    pub(crate) fn is_settled_but(&self, kind: Kind) -> bool {
        let state = self.state();
        let states = state.index.states(Instant::now());
        state.index.is_mapped() && states.iter().all(|(id, state)| state.settled || *id == kind.id())
    }

    /// The kinds that were ever served, to be handed to the source of a later process.
    pub fn seen(&self) -> BTreeSet<KindId> {
        self.state().index.seen()
    }

    /// Number of times that a mapper ran.
    pub fn remapped(&self) -> u64 {
        self.state().index.remapped()
    }

    /// Mappers run without this lock; where one panicked, its batch is part of the next.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Source for K8sSource {
    async fn changed(&self) {
        loop {
            // Made before the look at the state: it sees whatever wakes from here on, polled or not.
            let woken = self.wake.notified();
            let now = Instant::now();
            let expiry = {
                let state = self.state();
                if state.has_news(now) {
                    return;
                }
                state.index.next_expiry(now)
            };
            tokio::select! {
                () = woken => {}
                () = wait_until(expiry) => {}
            }
        }
    }

    fn take(&self, everything: bool) -> Update {
        let _mapping = self.mapping.lock().unwrap_or_else(PoisonError::into_inner);
        let batch = self.state().begin(Instant::now());
        let update = batch.map(|mut batch| {
            let mut changed = Vec::new();
            while let Some(part) = batch.map_part() {
                self.state().index.take_over(part, &mut changed);
            }
            drop(batch);
            self.state().index.end(changed, everything)
        });
        self.mapped.notify_waiters();
        update.unwrap_or_default()
    }

    fn review(&self, most: usize) -> Review {
        // Nothing is reported meanwhile that the caller has not taken over.
        let _mapping = self.mapping.lock().unwrap_or_else(PoisonError::into_inner);
        self.state().index.review(most)
    }

    fn evidence(&self) -> Evidence {
        self.state().evidence(Instant::now())
    }

    fn errors(&self) -> SourceErrors {
        let state = self.state();
        let standing: Vec<String> = state.faults.iter().map(ToString::to_string).collect();
        let reason =
            |kind: Kind, object: Option<&ObjectKey>| match (object, state.failed.get(&kind), standing.as_slice()) {
                (Some(object), _, _) => format!("{object} cannot be read"),
                (None, Some(reason), _) => reason.clone(),
                (None, None, [fault]) => fault.clone(),
                (None, None, [fault, more @ ..]) => format!("{fault} (and {} more)", more.len()),
                (None, None, []) => "not read to its end".to_owned(),
            };
        let unread = state.index.unread().map(|(kind, object)| (kind.id(), reason(kind, object))).collect();
        SourceErrors { failures: state.failures, standing, unread }
    }

    fn use_published(&self, published: Arc<dyn PublishedNames>) {
        self.state().index.use_published(published);
    }

    fn published_read(&self) -> bool {
        let news = self.state().index.published_read();
        if news {
            self.wake.notify_waiters();
        }
        news
    }

    fn consider(&self, subject: &Subject) -> Vec<Consideration> {
        let snapshot = self.state().index.snapshot_for(subject);
        snapshot.consider(subject)
    }
}

/// Waits until the moment, or for ever if there is none.
pub(crate) async fn wait_until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
