//! What a daemon has written down: in, a document; out, the same one after every restart. A dead process writes nothing. The place
//! may fail: what cannot be read must never be written over, and what cannot be kept must hold deletes.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tokio::time::Instant;
use zonewright_core::store::StateStore;
use zonewright_core::{ErrorKind, Result};

use super::{error, lock};
use crate::rules::Rule;
use crate::truth::Truth;

/// How the place of a state is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Mood {
    /// It works.
    #[default]
    Well,
    /// Nothing can be saved.
    Full,
    /// Nothing can be read.
    Shut,
    /// What is read makes no sense.
    Garbled,
}

/// The state of one daemon, kept over its restarts.
#[derive(Debug, Default)]
pub(crate) struct Drawer {
    document: Option<Vec<u8>>,
    /// When it was last written.
    pub(crate) saved: Option<Instant>,
    pub(crate) mood: Mood,
}

/// The store of one process.
#[derive(Debug)]
pub(crate) struct StateLine {
    pub(crate) daemon: usize,
    pub(crate) truth: Arc<Mutex<Truth>>,
    pub(crate) drawer: Arc<Mutex<Drawer>>,
    pub(crate) dead: Arc<AtomicBool>,
    /// Whether there is a state that this process could not read.
    pub(crate) blind: Arc<AtomicBool>,
}

impl StateLine {
    /// Tells the judge since when this process works without its state.
    fn note(&self) {
        let lost = self.blind.load(Ordering::SeqCst) || lock(&self.drawer).mood == Mood::Full;
        let mut truth = lock(&self.truth);
        if lost {
            truth.stateless.entry(self.daemon).or_insert_with(Instant::now);
        } else {
            truth.stateless.remove(&self.daemon);
            truth.has_kept.insert(self.daemon);
        }
    }
}

#[async_trait]
impl StateStore for StateLine {
    async fn load(&self) -> Result<Option<Vec<u8>>> {
        let (document, mood) = {
            let drawer = lock(&self.drawer);
            (drawer.document.clone(), drawer.mood)
        };
        let bad = matches!(mood, Mood::Shut | Mood::Garbled) && document.is_some();
        self.blind.store(bad, Ordering::SeqCst);
        self.note();
        match mood {
            Mood::Shut => Err(error(ErrorKind::Unavailable, "read state", "the drawer is stuck")),
            Mood::Garbled => Ok(document.map(|document| document.iter().rev().copied().collect())),
            Mood::Well | Mood::Full => Ok(document),
        }
    }

    async fn save(&self, document: &[u8]) -> Result<()> {
        self.note();
        if self.dead.load(Ordering::SeqCst) {
            return Ok(());
        }
        if lock(&self.drawer).mood == Mood::Full {
            return Err(error(ErrorKind::Unavailable, "write state", "the drawer is full"));
        }
        let blind = self.blind.load(Ordering::SeqCst);
        let mut truth = lock(&self.truth);
        truth.verdicts.note(Rule::StateKept, true);
        if blind {
            truth.broken(Rule::StateKept, format!("daemon {} could not read it", self.daemon));
        }
        drop(truth);
        let mut drawer = lock(&self.drawer);
        drawer.document = Some(document.to_vec());
        drawer.saved = Some(Instant::now());
        Ok(())
    }

    async fn approvals(&self) -> Result<BTreeSet<String>> {
        Ok(BTreeSet::new())
    }

    fn approve_with(&self, _: &str) -> Option<String> {
        None
    }

    fn place(&self) -> String {
        "a drawer".to_owned()
    }
}
