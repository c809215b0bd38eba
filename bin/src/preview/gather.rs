//! What would be reported on objects, gathered while a pass looks at them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use zonewright_core::endpoint::{Note, Reporter, Severity};

/// So many notes are kept.
const MOST: usize = 10_000;

/// Keeps warnings, each once, and passes every note on.
#[derive(Default)]
pub(crate) struct Gatherer {
    notes: Mutex<(BTreeSet<String>, Vec<Note>)>,
    next: Option<Arc<dyn Reporter>>,
}

impl Gatherer {
    /// One that passes notes on to `next`.
    pub(crate) fn before(next: Arc<dyn Reporter>) -> Self {
        Self { next: Some(next), ..Self::default() }
    }

    /// What was gathered so far, by object.
    pub(crate) fn take(&self) -> Vec<Note> {
        let mut notes = std::mem::take(&mut self.notes.lock().unwrap_or_else(PoisonError::into_inner).1);
        notes.sort_by(|a, b| (&a.object, &a.message).cmp(&(&b.object, &b.message)));
        notes
    }
}

impl std::fmt::Debug for Gatherer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Gatherer")
    }
}

impl Reporter for Gatherer {
    fn report(&self, note: &Note) {
        if note.severity == Severity::Warning {
            let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
            let (known, list) = &mut *notes;
            if list.len() < MOST && known.insert(format!("{} {} {}", note.object, note.reason, note.message)) {
                list.push(note.clone());
            }
        }
        if let Some(next) = &self.next {
            next.report(note);
        }
    }
}
