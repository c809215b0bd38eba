//! What a peer does against the protocol, reported once.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tracing::warn;

/// Most sentences that are kept and logged; a peer with more faults has been reported often enough.
const MOST: usize = 200;

/// Sentences by what they are about. Each is logged when it first comes up.
#[derive(Debug, Default)]
pub(crate) struct OnceLog {
    sentences: Mutex<BTreeMap<String, String>>,
}

impl OnceLog {
    fn sentences(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.sentences.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Logs what the peer did, what the protocol says, and what is done about it; once for each `about`.
    pub(crate) fn once(&self, about: &str, did: &str, protocol: &str, so: &str) {
        let mut sentences = self.sentences();
        if sentences.len() < MOST && !sentences.contains_key(about) {
            let sentence = format!("the webhook provider {did}; the protocol {protocol}; {so}");
            warn!(about, "{sentence}");
            sentences.insert(about.to_owned(), sentence);
        }
    }

    /// Every sentence so far.
    pub(crate) fn all(&self) -> Vec<String> {
        self.sentences().values().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sentence_comes_once_and_their_number_has_an_end() {
        let log = OnceLog::default();
        for _ in 0..2 {
            log.once("media", "answered text", "wants JSON", "it is read all the same");
        }
        assert_eq!(log.all(), ["the webhook provider answered text; the protocol wants JSON; it is read all the same"]);
        (0..2 * MOST).for_each(|i| log.once(&i.to_string(), "", "", ""));
        assert_eq!(log.all().len(), MOST);
    }
}
