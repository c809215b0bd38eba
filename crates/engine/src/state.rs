//! The state that survives restarts: brake windows, held plans, approvals, and the kinds that were seen.
//!
//! What must hold: a document that exists but cannot be read is never written over, and while it cannot be read, or what
//! changed cannot be saved, no counted delete goes ([`State::in_doubt`]). Only where the right to read or write it was missing from
//! the beginning does the state live in memory alone, and that is said.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::Instant;
use tracing::{info, warn};
use zonewright_core::clock::Timestamp;
use zonewright_core::endpoint::KindId;
use zonewright_core::error::{Error, ErrorKind, Result};
use zonewright_core::guard::{Approval, HeldPlan, JointPlan};
use zonewright_core::record::RecordKey;
use zonewright_core::store::StateStore;
use zonewright_core::zone::{InstanceId, ZoneId};

use crate::brake_ledger::BrakeLedger;
use crate::known_kinds::{EmptiedKinds, KnownKinds};
use crate::pins::Pin;
pub(crate) use crate::state_document::ZoneState;
use crate::state_document::{StateDocument, read};

/// How far the kept document can be relied on.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Trust {
    /// It was read, and what changes is saved.
    Sound,
    /// There may be one, and it cannot be read: why.
    Unread(String),
    /// What changed could not be saved: why.
    Unsaved(String),
    /// It may not be written since the start: it lives in memory alone.
    MemoryOnly,
    /// It may not be read since the start, so that nobody knows whether there is one: it lives in memory alone, and nothing is
    /// written over what may be there, until it can be read.
    Denied,
}

/// The kinds that the saved document speaks of; `None` if there may be one and it cannot be read, which [`State::load`] says.
pub(crate) async fn seen(store: &dyn StateStore) -> Option<BTreeSet<String>> {
    match read(store).await {
        Ok(document) => Some(document.unwrap_or_default().kinds.seen),
        Err(error) if error.kind == ErrorKind::Unauthorized => Some(BTreeSet::new()),
        Err(_) => None,
    }
}

/// Every hold of a saved state, by zone; `None` where no state was saved yet.
///
/// # Errors
/// As the store; [`ErrorKind::Invalid`] if what it holds is no state.
pub(crate) async fn saved_pins(store: &dyn StateStore) -> Result<Option<Vec<(String, Pin)>>> {
    Ok(read(store).await?.map(|document| document.pins()))
}

/// What the lock is around.
struct Inner {
    document: StateDocument,
    ledger: BrakeLedger,
    trust: Trust,
    /// Kinds that look empty, and did not to the process before.
    emptied: EmptiedKinds,
    /// Whether the document changed since it was last saved. It is set with the change: else a saving between the two would pass
    /// it by.
    dirty: bool,
}

/// Holds the document, and saves it soon after it changed.
pub(crate) struct State {
    store: Arc<dyn StateStore>,
    inner: Mutex<Inner>,
    changed: Notify,
    begun: Instant,
    /// Held while it is saved: who asks for that meanwhile waits, and knows then that his change is in it.
    saving: tokio::sync::Mutex<()>,
}

impl State {
    /// Opens the document for a look without a daemon.
    ///
    /// # Errors
    /// As the store; [`ErrorKind::Invalid`] if what it holds is no state.
    pub(crate) async fn open(store: Arc<dyn StateStore>) -> Result<Self> {
        let document = read(&*store).await?.unwrap_or_default();
        Ok(Self::of(store, document, Trust::Sound))
    }

    /// Loads the document, for a process that goes on with it. One that cannot be read is said, tried again, and never
    /// written over; whether it can be written is found out at once.
    pub(crate) async fn load(store: Arc<dyn StateStore>, now: Timestamp, approval_ttl: std::time::Duration) -> Self {
        let (mut document, trust) = match read(&*store).await {
            Ok(document) => (document.unwrap_or_default(), Trust::Sound),
            Err(error) if error.kind == ErrorKind::Unauthorized => {
                warn!(place = store.place(), error = error.chain(), "{MEMORY_ONLY}");
                (StateDocument::default(), Trust::Denied)
            }
            Err(error) => {
                warn!(place = store.place(), error = error.chain(), "{UNREAD}");
                (StateDocument::default(), Trust::Unread(error.chain()))
            }
        };
        document.take_over(now, approval_ttl);
        info!(place = store.place(), "state of brake and approvals");
        let state = Self::of(store, document, trust);
        state.try_out().await;
        state
    }

    fn of(store: Arc<dyn StateStore>, document: StateDocument, trust: Trust) -> Self {
        let emptied = EmptiedKinds::of(&document.kinds);
        let inner = Inner { document, ledger: BrakeLedger::default(), trust, emptied, dirty: false };
        Self {
            store,
            inner: Mutex::new(inner),
            changed: Notify::new(),
            begun: Instant::now(),
            saving: tokio::sync::Mutex::default(),
        }
    }

    /// Writes once, to know whether that is allowed.
    async fn try_out(&self) {
        {
            let mut inner = self.lock();
            inner.dirty = true;
            if inner.trust != Trust::Sound {
                return;
            }
        }
        if let Err(error) = self.save().await
            && error.kind == ErrorKind::Unauthorized
        {
            warn!(place = self.store.place(), error = error.chain(), "{MEMORY_ONLY}");
            self.lock().trust = Trust::MemoryOnly;
        }
    }

    /// Tries once more to read a document that could not be read. Returns whether it could be now.
    pub(crate) async fn read_again(&self, now: Timestamp, approval_ttl: std::time::Duration) -> bool {
        let denied = match self.lock().trust {
            Trust::Unread(_) => false,
            Trust::Denied => true,
            Trust::Sound | Trust::Unsaved(_) | Trust::MemoryOnly => return false,
        };
        match read(&*self.store).await {
            Ok(document) => {
                let mut earlier = document.unwrap_or_default();
                earlier.take_over(now, approval_ttl);
                let mut inner = self.lock();
                // What this process judged already stands in the place of what was held before it.
                for (zone, state) in &mut earlier.zones {
                    state.held = state.held.take().filter(|_| !inner.ledger.knows(zone));
                }
                inner.emptied.join(&earlier.kinds);
                inner.document.join(earlier);
                // Whether it may be written now is found out with the next saving.
                inner.trust = if denied { Trust::MemoryOnly } else { Trust::Sound };
                drop(inner);
                info!(place = self.store.place(), "the saved state can be read now");
                self.touch();
                true
            }
            Err(error) => {
                if !denied {
                    self.lock().trust = Trust::Unread(error.chain());
                }
                false
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why no counted delete may rest on the kept state now, if that is so.
    pub(crate) fn in_doubt(&self) -> Option<String> {
        let inner = self.lock();
        match &inner.trust {
            _ if inner.emptied.is_unknown_to_plans() => {
                Some("what the saved state says of kinds is not looked at yet".to_owned())
            }
            Trust::Sound | Trust::MemoryOnly | Trust::Denied => None,
            Trust::Unread(why) => Some(format!("the state of the brake cannot be read ({why})")),
            Trust::Unsaved(why) => Some(format!("the state of the brake cannot be saved ({why})")),
        }
    }

    /// Time since this process began with it.
    pub(crate) fn age(&self) -> std::time::Duration {
        self.begun.elapsed()
    }

    /// Why the kept document was not read, if that is so.
    pub(crate) fn unread(&self) -> Option<String> {
        match &self.lock().trust {
            Trust::Unread(why) => Some(why.clone()),
            Trust::Sound | Trust::MemoryOnly | Trust::Denied | Trust::Unsaved(_) => None,
        }
    }

    /// Why what changed was not saved, if that is so.
    pub(crate) fn unsaved(&self) -> Option<String> {
        match &self.lock().trust {
            Trust::Unsaved(why) => Some(why.clone()),
            Trust::Sound | Trust::MemoryOnly | Trust::Denied | Trust::Unread(_) => None,
        }
    }

    /// Looks at, or changes, windows and approvals of all zones in one step, beside what the brake knows of them.
    pub(crate) fn judge<T>(&self, judge: impl FnOnce(&mut StateDocument, &mut BrakeLedger) -> T) -> T {
        let inner = &mut *self.lock();
        inner.dirty = true;
        judge(&mut inner.document, &mut inner.ledger)
    }

    /// Changes what is kept of a zone; it is saved soon.
    pub(crate) fn zone<T>(&self, zone: &str, change: impl FnOnce(&mut ZoneState) -> T) -> T {
        let out = self.note(zone, change);
        self.touch();
        out
    }

    /// Changes what is kept of a zone, where it does no harm if that is forgotten; it is saved with the next change.
    pub(crate) fn note<T>(&self, zone: &str, change: impl FnOnce(&mut ZoneState) -> T) -> T {
        let mut inner = self.lock();
        inner.dirty = true;
        change(inner.document.zones.entry(zone.to_owned()).or_default())
    }

    /// Hashes that were approved where the document is kept.
    ///
    /// # Errors
    /// As the store.
    pub(crate) async fn approvals(&self) -> Result<BTreeSet<String>> {
        self.store.approvals().await
    }

    /// Of the approvals that stand there now, those that were not taken yet; they are from here on.
    pub(crate) fn take(&self, standing: &BTreeSet<String>) -> BTreeSet<String> {
        let mut inner = self.lock();
        let taken = &mut inner.document.taken;
        let fresh: BTreeSet<String> = standing.difference(taken).cloned().collect();
        let changed = *taken != *standing;
        taken.clone_from(standing);
        drop(inner);
        if changed {
            self.touch();
        }
        fresh
    }

    /// How a plan is approved where the document is kept.
    pub(crate) fn approve_with(&self, hash: &str) -> Option<String> {
        self.store.approve_with(hash)
    }

    /// Looks at what is kept of a zone.
    pub(crate) fn look<T>(&self, zone: &str, look: impl FnOnce(&ZoneState) -> T) -> T {
        match self.lock().document.zones.get(zone) {
            Some(state) => look(state),
            None => look(&ZoneState::default()),
        }
    }

    /// The zones of an instance of which something is kept.
    pub(crate) fn zones_of(&self, instance: &InstanceId) -> BTreeSet<ZoneId> {
        let prefix = format!("{instance}/");
        let inner = self.lock();
        inner.document.zones.keys().filter_map(|label| label.strip_prefix(&prefix)).map(ZoneId::from).collect()
    }

    /// Every hold, by zone.
    pub(crate) fn pins(&self) -> Vec<(String, Pin)> {
        self.lock().document.pins()
    }

    /// The hash of the held plan of a zone.
    pub(crate) fn held_hash(&self, zone: &str) -> Option<String> {
        self.lock().document.zones.get(zone)?.held.as_ref().map(|held| held.hash.clone())
    }

    /// Every held plan, by zone.
    pub(crate) fn held(&self) -> Vec<(String, HeldPlan)> {
        let held = |(zone, state): (&String, &ZoneState)| Some((zone.clone(), state.held.clone()?));
        self.lock().document.zones.iter().filter_map(held).collect()
    }

    /// The doubt about kinds that some held delete waits for.
    pub(crate) fn waited_for(&self) -> BTreeSet<(KindId, u64)> {
        let inner = self.lock();
        let held = inner.document.zones.values().filter_map(|state| state.held.as_ref());
        held.flat_map(|plan| plan.kinds.iter().map(|(kind, doubt)| (kind.clone(), *doubt))).collect()
    }

    /// The plans that were held together over several zones, each under one hash.
    pub(crate) fn joint(&self) -> Vec<JointPlan> {
        self.lock().document.joint()
    }

    /// Approves the held plan of this hash, or those that are held together under it; `None` if there is none. Returns the
    /// zones and how many deletes it covers.
    pub(crate) fn approve(&self, hash: &str, until: Timestamp) -> Option<(String, usize)> {
        let mut inner = self.lock();
        let document = &mut inner.document;
        let joint = document.joint().into_iter().find(|joint| joint.hash == hash);
        let covered = |zone: &String, held: &HeldPlan| {
            held.hash == hash || joint.as_ref().is_some_and(|joint| joint.zones.contains_key(zone))
        };
        let (mut zones, mut count) = (Vec::new(), 0);
        for (zone, state) in &mut document.zones {
            let Some(held) = state.held.as_ref().filter(|held| covered(zone, held)) else { continue };
            // What was approved is what was typed: its hash leads to the deletes that it approved, and back.
            state.approvals.push(Approval { plan: hash.to_owned(), ..held.approval(until) });
            count += held.held.len();
            zones.push(zone.clone());
        }
        drop(inner);
        if zones.is_empty() {
            return None;
        }
        self.touch();
        Some((zones.join(", "), count))
    }

    /// An undo sets records back: the approvals of their deletes end, in every zone.
    pub(crate) fn revoke(&self, zone: &str, keys: &BTreeSet<RecordKey>) {
        let mut inner = self.lock();
        let zones = &mut inner.document.zones;
        let speaks = |approval: &&Approval| {
            keys.iter().any(|key| approval.spent.contains(key) || approval.open.contains_key(key))
        };
        let approvals = zones.get(zone).map_or(&[][..], |state| &state.approvals);
        let plans: BTreeSet<String> = approvals.iter().filter(speaks).map(|approval| approval.plan.clone()).collect();
        if plans.is_empty() {
            return;
        }
        for state in zones.values_mut() {
            state.approvals.retain(|approval| !plans.contains(&approval.plan));
        }
        drop(inner);
        info!(
            plans = plans.into_iter().collect::<Vec<_>>().join(", "),
            "approvals end: what they approved is set back"
        );
        self.touch();
    }

    /// A zone is gone: the brake does not reckon with it any more. Returns zones that may have room since.
    pub(crate) fn forget_load(&self, zone: &str) -> Vec<String> {
        self.lock().ledger.forget(zone)
    }

    /// Forgets zones that are not `served` any more, once nothing of them matters.
    pub(crate) fn prune(&self, served: &BTreeSet<String>, window: std::time::Duration, now: Timestamp) {
        let mut inner = self.lock();
        let zones = &mut inner.document.zones;
        let before = zones.len();
        zones.retain(|zone, state| served.contains(zone) || !state.is_idle(window, now));
        let shrank = zones.len() != before;
        drop(inner);
        if shrank {
            self.touch();
        }
    }

    /// The number of zones that something is kept of, and of those that the brake reckons with.
    pub(crate) fn sizes(&self) -> [usize; 2] {
        let inner = self.lock();
        [inner.document.zones.len(), inner.ledger.len()]
    }

    /// Looks at the kinds that look empty, or changes which of them do: that is not saved.
    pub(crate) fn emptied<T>(&self, change: impl FnOnce(&mut EmptiedKinds) -> T) -> T {
        change(&mut self.lock().emptied)
    }

    /// Changes what is known of kinds. `change` says whether it did; it is saved soon then.
    pub(crate) fn kinds(&self, change: impl FnOnce(&mut KnownKinds, &mut EmptiedKinds) -> bool) {
        let inner = &mut *self.lock();
        if change(&mut inner.document.kinds, &mut inner.emptied) {
            inner.dirty = true;
            self.changed.notify_one();
        }
    }

    fn touch(&self) {
        self.lock().dirty = true;
        self.changed.notify_one();
    }

    /// Waits for a change.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Saves the document if it changed since it was last saved. One that could not be read is not written over: the change
    /// waits.
    ///
    /// # Errors
    /// As the store; the change stays to be saved. Where it may not be read or written since the start, that is no error.
    pub(crate) async fn save(&self) -> Result<()> {
        let _saving = self.saving.lock().await;
        let text = {
            let mut inner = self.lock();
            if let Trust::Unread(why) = &inner.trust {
                let text = format!(
                    "{}: what is saved there cannot be read, and is not written over: {why}",
                    self.store.place()
                );
                return Err(Error::new(ErrorKind::Unavailable, "write state", text));
            }
            if inner.trust == Trust::Denied || !std::mem::take(&mut inner.dirty) {
                return Ok(());
            }
            serde_json::to_vec(&inner.document)
        };
        let saved =
            match text {
                Ok(text) => self.store.save(&text).await,
                Err(e) => Err(Error::new(ErrorKind::Invalid, "write state", "the document cannot be written as JSON")
                    .caused_by(e)),
            };
        let mut inner = self.lock();
        inner.dirty |= saved.is_err();
        match (&saved, &inner.trust) {
            (_, Trust::Unread(_)) => {}
            (Ok(()), _) => inner.trust = Trust::Sound,
            (Err(_), Trust::MemoryOnly) => return Ok(()),
            (Err(error), _) => inner.trust = Trust::Unsaved(error.chain()),
        }
        saved
    }
}

const MEMORY_ONLY: &str = "the state may not be kept there: the brake's window and approvals live in memory only, and are forgotten at a restart";
const UNREAD: &str = "the saved state cannot be read: until it can, or is taken away, deletes that the brake counts are held, and nothing is written over it";

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
