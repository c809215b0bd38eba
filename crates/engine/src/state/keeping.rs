//! How the document is read and saved, and how far it can be relied on.

use std::sync::Arc;
use std::time::Duration;

use tracing::{info, warn};
use zonewright_core::clock::Timestamp;
use zonewright_core::error::{Error, ErrorKind, Result};
use zonewright_core::store::StateStore;

use super::State;
use super::document::{StateDocument, read};

/// How far the kept document can be relied on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trust {
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

impl State {
    /// Loads the document, for a process that goes on with it. One that cannot be read is said, tried again, and never
    /// written over; whether it can be written is found out at once.
    pub(crate) async fn load(store: Arc<dyn StateStore>, now: Timestamp, approval_ttl: Duration) -> Self {
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
    pub(crate) async fn read_again(&self, now: Timestamp, approval_ttl: Duration) -> bool {
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
                    inner.ledger.recall(zone, &state.window);
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

    /// Why the kept document was not read, if that is so.
    pub(crate) fn unread(&self) -> Option<String> {
        match &self.lock().trust {
            Trust::Unread(why) => Some(why.clone()),
            Trust::Sound | Trust::MemoryOnly | Trust::Denied | Trust::Unsaved(_) => None,
        }
    }

    /// Whether there may be a document that was never read.
    pub(super) fn is_blind(&self) -> bool {
        matches!(self.lock().trust, Trust::Unread(_) | Trust::Denied)
    }

    /// Why what changed was not saved, if that is so.
    pub(crate) fn unsaved(&self) -> Option<String> {
        match &self.lock().trust {
            Trust::Unsaved(why) => Some(why.clone()),
            Trust::Sound | Trust::MemoryOnly | Trust::Denied | Trust::Unread(_) => None,
        }
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
