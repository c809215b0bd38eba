//! The state that survives restarts: brake windows, held plans, approvals, and the kinds that were seen.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tracing::{info, warn};

use super::holds::Holding;
use crate::clock::Timestamp;
use crate::error::{Error, ErrorKind, Result};
use crate::guard::{Approval, HeldPlan, Window};
use crate::store::Store;
use crate::zone::{InstanceId, ZoneId};

/// What is kept of one zone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ZoneState {
    #[serde(default)]
    pub(crate) window: Window,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) held: Option<HeldPlan>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) approvals: Vec<Approval>,
    /// Names that an undo set back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) holds: Vec<Holding>,
}

/// The document in the store.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Document {
    /// Zones by their key as text.
    #[serde(default)]
    zones: BTreeMap<String, ZoneState>,
    /// Kinds of which objects were seen.
    #[serde(default)]
    seen: BTreeSet<String>,
    /// Approvals that were taken from where the document is kept, and still stand there: each counts once.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    taken: BTreeSet<String>,
}

/// The kinds that the saved document speaks of; none if it cannot be read, which [`State::load`] says.
pub(crate) async fn seen(store: &dyn Store) -> BTreeSet<String> {
    let text = store.load().await.ok().flatten().unwrap_or_default();
    serde_json::from_slice::<Document>(&text).unwrap_or_default().seen
}

/// Every hold of a saved state, by zone; `None` where no state was saved yet.
///
/// # Errors
/// As the store; [`ErrorKind::Invalid`] if what it holds is no state.
pub(crate) async fn saved_holds(store: &dyn Store) -> Result<Option<Vec<(String, Holding)>>> {
    let Some(text) = store.load().await? else { return Ok(None) };
    let foreign = |e| {
        let text = format!("{}: what is saved there is no state", store.place());
        Error::new(ErrorKind::Invalid, "read state", text).caused_by(e)
    };
    Ok(Some(serde_json::from_slice::<Document>(&text).map_err(foreign)?.holds()))
}

impl Document {
    fn holds(&self) -> Vec<(String, Holding)> {
        let zones = self.zones.iter();
        zones.flat_map(|(zone, state)| state.holds.iter().map(|hold| (zone.clone(), hold.clone()))).collect()
    }
}

/// Holds the document, and saves it soon after it changed.
pub(crate) struct State {
    store: Arc<dyn Store>,
    document: Mutex<Document>,
    changed: Notify,
    dirty: AtomicBool,
}

impl State {
    /// Loads the document. One that cannot be read is as good as none, but that is said.
    pub(crate) async fn load(store: Arc<dyn Store>) -> Self {
        let document: Document = match store.load().await {
            Ok(Some(text)) => serde_json::from_slice(&text).unwrap_or_else(|error| {
                warn!(place = store.place(), %error, "the saved state does not parse; the brake starts with an empty window");
                Document::default()
            }),
            Ok(None) => Document::default(),
            Err(error) => {
                warn!(place = store.place(), error = error.chain(), "the saved state cannot be read; the brake starts with an empty window");
                Document::default()
            }
        };
        info!(place = store.place(), "state of brake and approvals");
        Self { store, document: Mutex::new(document), changed: Notify::new(), dirty: false.into() }
    }

    /// Another process goes on with what was loaded.
    pub(crate) fn take_over(&self, now: Timestamp) {
        for zone in self.lock().zones.values_mut() {
            zone.window.taken_over(now);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Document> {
        self.document.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what is kept of a zone; it is saved soon.
    pub(crate) fn zone<T>(&self, zone: &str, change: impl FnOnce(&mut ZoneState) -> T) -> T {
        let out = self.note(zone, change);
        self.touch();
        out
    }

    /// Changes what is kept of a zone, where it does no harm if that is forgotten; it is saved with the next change.
    pub(crate) fn note<T>(&self, zone: &str, change: impl FnOnce(&mut ZoneState) -> T) -> T {
        self.dirty.store(true, Ordering::SeqCst);
        change(self.lock().zones.entry(zone.to_owned()).or_default())
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
        let mut document = self.lock();
        let fresh: BTreeSet<String> = standing.difference(&document.taken).cloned().collect();
        let changed = document.taken != *standing;
        document.taken.clone_from(standing);
        drop(document);
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
        match self.lock().zones.get(zone) {
            Some(state) => look(state),
            None => look(&ZoneState::default()),
        }
    }

    /// The zones of an instance of which something is kept.
    pub(crate) fn zones_of(&self, instance: &InstanceId) -> BTreeSet<ZoneId> {
        let prefix = format!("{instance}/");
        self.lock().zones.keys().filter_map(|label| label.strip_prefix(&prefix)).map(ZoneId::from).collect()
    }

    /// Every hold, by zone.
    pub(crate) fn holds(&self) -> Vec<(String, Holding)> {
        self.lock().holds()
    }

    /// The hash of the held plan of a zone.
    pub(crate) fn held_hash(&self, zone: &str) -> Option<String> {
        self.lock().zones.get(zone)?.held.as_ref().map(|held| held.hash.clone())
    }

    /// Every held plan, by zone.
    pub(crate) fn held(&self) -> Vec<(String, HeldPlan)> {
        self.lock().zones.iter().filter_map(|(zone, state)| Some((zone.clone(), state.held.clone()?))).collect()
    }

    /// Approves the held plan of this hash; `None` if there is none. Returns the zone and how many deletes it covers.
    pub(crate) fn approve(&self, hash: &str, until: Timestamp) -> Option<(String, usize)> {
        let mut document = self.lock();
        let (zone, state) =
            document.zones.iter_mut().find(|(_, state)| state.held.as_ref().is_some_and(|held| held.hash == hash))?;
        let keys: BTreeSet<_> = state.held.iter().flat_map(|held| held.deletes.keys().cloned()).collect();
        let count = keys.len();
        state.approvals.push(Approval { keys, until });
        let zone = zone.clone();
        drop(document);
        self.touch();
        Some((zone, count))
    }

    /// Remembers kinds of which objects are seen.
    pub(crate) fn saw(&self, kinds: impl IntoIterator<Item = String>) {
        let mut document = self.lock();
        let before = document.seen.len();
        document.seen.extend(kinds);
        let grew = document.seen.len() != before;
        drop(document);
        if grew {
            self.touch();
        }
    }

    fn touch(&self) {
        self.dirty.store(true, Ordering::SeqCst);
        self.changed.notify_one();
    }

    /// Waits for a change.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Saves the document if it changed since it was last saved.
    ///
    /// # Errors
    /// As the store; the change stays to be saved.
    pub(crate) async fn save(&self) -> Result<()> {
        if !self.dirty.swap(false, Ordering::SeqCst) {
            return Ok(());
        }
        let text = serde_json::to_vec(&*self.lock());
        let saved =
            match text {
                Ok(text) => self.store.save(&text).await,
                Err(e) => Err(Error::new(ErrorKind::Invalid, "write state", "the document cannot be written as JSON")
                    .caused_by(e)),
            };
        if saved.is_err() {
            self.dirty.store(true, Ordering::SeqCst);
        }
        saved
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::MemoryStore;
    use crate::testing::set;

    #[tokio::test]
    async fn the_document_comes_back_from_the_store() {
        let store = Arc::new(MemoryStore::default());
        let state = State::load(store.clone()).await;
        let key = set("a.example A 192.0.2.1").key;
        state.zone("i/z", |zone| {
            zone.window.deleted([&key], Timestamp(5));
            zone.held = Some(HeldPlan {
                hash: "abc".to_owned(),
                deletes: BTreeMap::from([(key.clone(), "192.0.2.1".to_owned())]),
                reason: "many".to_owned(),
                since: Timestamp(5),
                floor: false,
            });
        });
        state.saw(["services".to_owned()]);
        assert_eq!(state.approve("nope", Timestamp(9)), None);
        assert_eq!(state.approve("abc", Timestamp(9)), Some(("i/z".to_owned(), 1)));
        let standing = BTreeSet::from(["abc".to_owned()]);
        assert_eq!(state.take(&standing), standing);
        state.save().await.unwrap();
        assert_eq!(seen(&*store).await.len(), 1);
        let back = State::load(store).await;
        assert_eq!(*back.lock(), *state.lock());
        assert_eq!(back.take(&standing), BTreeSet::new(), "each approval counts once, also after a restart");
        assert_eq!(back.take(&BTreeSet::new()), BTreeSet::new());
        assert_eq!(back.take(&standing), standing, "taken away and given again is a new one");
    }

    #[tokio::test]
    async fn a_document_that_does_not_parse_is_no_stop() {
        let store = Arc::new(MemoryStore::default());
        store.save(b"{ not json").await.unwrap();
        assert!(State::load(store).await.held().is_empty());
    }
}
