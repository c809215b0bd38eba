//! Notes to where they are read: the log, and the cluster's events where there is a cluster.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use zonewright_core::endpoint::{Note, Reporter, Severity};

/// The same sentence about the same object is logged once in this time.
const QUIET: Duration = Duration::from_mins(10);

/// Most sentences that are remembered; beyond that the memory starts anew.
const MEMORY: usize = 20_000;

/// Logs warnings, and passes every note on.
pub(crate) struct Told {
    next: Option<Arc<dyn Reporter>>,
    recent: Mutex<HashMap<String, Instant>>,
}

impl std::fmt::Debug for Told {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Told")
    }
}

impl Told {
    /// Logs, and passes on to `next`.
    pub(crate) fn new(next: Option<Arc<dyn Reporter>>) -> Self {
        Self { next, recent: Mutex::default() }
    }

    fn is_news(&self, key: String) -> bool {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if recent.len() >= MEMORY {
            recent.retain(|_, at| at.elapsed() < QUIET);
        }
        if recent.len() >= MEMORY {
            recent.clear();
        }
        match recent.insert(key, Instant::now()) {
            Some(at) if at.elapsed() < QUIET => false,
            Some(_) | None => true,
        }
    }
}

/// What tells one sentence about one object from another. The other prefix concerns the configuration rather than each
/// object: one line says it for all.
fn key(note: &Note) -> String {
    match note.reason {
        "OtherAnnotationPrefix" => note.reason.to_owned(),
        _ => format!("{}\n{}\n{}", note.object, note.reason, note.message),
    }
}

impl Reporter for Told {
    fn tell(&self, note: &Note) {
        if note.severity == Severity::Warning && self.is_news(key(note)) {
            tracing::warn!(object = %note.object, reason = note.reason, "{}", note.message);
        }
        if let Some(next) = &self.next {
            next.tell(note);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_news_once_in_a_while() {
        let told = Told::new(None);
        assert!(told.is_news("a".to_owned()));
        assert!(!told.is_news("a".to_owned()));
        assert!(told.is_news("b".to_owned()));
    }
}
