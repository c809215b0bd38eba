//! The state that survives restarts: brake windows, held plans, approvals, and the kinds that were seen.
//!
//! What must hold: a document that exists but cannot be read is never written over, and while it cannot be read, or what
//! changed cannot be saved, no counted delete goes ([`State::in_doubt`]). Only where the right to read or write it was missing from
//! the beginning does the state live in memory alone, and that is said.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::Instant;
use zonewright_core::clock::Timestamp;
use zonewright_core::endpoint::KindId;
use zonewright_core::error::{ErrorKind, Result};
use zonewright_core::guard::HeldPlan;
use zonewright_core::store::StateStore;
use zonewright_core::zone::{InstanceId, ZoneId};

use crate::brake_ledger::BrakeLedger;
use crate::known_kinds::{EmptiedKinds, KnownKinds};
use crate::pins::Pin;

mod approving;
mod document;
mod keeping;

pub(crate) use document::ZoneState;
use document::{StateDocument, read};
use keeping::Trust;

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

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Time since this process began with it.
    pub(crate) fn age(&self) -> std::time::Duration {
        self.begun.elapsed()
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
}

#[cfg(test)]
mod tests;
