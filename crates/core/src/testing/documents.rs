//! A [`DocumentStore`] in memory that fails on demand.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

use crate::documents::{Document, DocumentStore, Listed, Version};
use crate::error::{Error, ErrorKind, Result};

/// What a [`MemoryDocuments`] does instead of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The write is carried out.
    None,
    /// Another writer was faster: its write stands, whatever it is, and ours is refused.
    Conflict,
    /// Nothing is written, for no stated reason.
    Before,
    /// It is written, and the answer is lost.
    After,
    /// Nothing is written, and nothing answers any more until [`MemoryDocuments::revive`].
    CrashBefore,
    /// It is written, and nothing answers any more until [`MemoryDocuments::revive`].
    CrashAfter,
}

/// Documents in memory, with faults on demand.
#[derive(Debug, Default)]
pub struct MemoryDocuments(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    documents: BTreeMap<String, (u64, Document)>,
    versions: u64,
    faults: VecDeque<Fault>,
    /// What others put there right before the next write.
    overtaking: Vec<(String, Document)>,
    dead: bool,
    reads: usize,
    writes: usize,
}

impl MemoryDocuments {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the next writes meet, in this order; later ones are carried out.
    pub fn fail(&self, faults: impl IntoIterator<Item = Fault>) {
        self.state().faults = faults.into_iter().collect();
    }

    /// Ends a crash, and forgets faults that have not come yet.
    pub fn revive(&self) {
        let mut state = self.state();
        state.dead = false;
        state.faults.clear();
    }

    /// Whether a crash has come and was not ended.
    pub fn is_dead(&self) -> bool {
        self.state().dead
    }

    /// Number of reads (lists and documents) and of writes that were asked for.
    pub fn calls(&self) -> (usize, usize) {
        let state = self.state();
        (state.reads, state.writes)
    }

    /// A document, past all faults.
    pub fn document(&self, name: &str) -> Option<Document> {
        self.state().documents.get(name).map(|(_, document)| document.clone())
    }

    /// The names of all documents.
    pub fn names(&self) -> Vec<String> {
        self.state().documents.keys().cloned().collect()
    }

    /// Puts a document in place by another hand, or takes it away.
    pub fn edit(&self, name: &str, document: Option<Document>) {
        let mut state = self.state();
        match document {
            Some(document) => drop(state.put(name, &document)),
            None => drop(state.documents.remove(name)),
        }
    }

    /// Puts a document in place by another hand in the moment before the next write, whatever that is.
    pub fn overtake(&self, name: &str, document: Document) {
        self.state().overtaking.push((name.to_owned(), document));
    }

    fn read_as<T>(&self, read: impl FnOnce(&State) -> T) -> Result<T> {
        let mut state = self.state();
        state.reads += 1;
        if state.dead { Err(dead("read the documents")) } else { Ok(read(&state)) }
    }

    fn write(&self, name: &str, expected: Option<&Version>, document: &Document) -> Result<Version> {
        let mut state = self.state();
        state.writes += 1;
        if state.dead {
            return Err(dead("write the document"));
        }
        for (name, document) in std::mem::take(&mut state.overtaking) {
            state.put(&name, &document);
        }
        let fault = state.faults.pop_front().unwrap_or(Fault::None);
        if fault == Fault::Conflict {
            state.touch(name, document);
        }
        let standing = state.documents.get(name).map(|(version, _)| Version(version.to_string()));
        if standing.as_ref() != expected {
            return Err(Error::new(ErrorKind::Conflict, "write the document", format!("{name} has changed")));
        }
        state.dead = matches!(fault, Fault::CrashBefore | Fault::CrashAfter);
        if matches!(fault, Fault::Before | Fault::CrashBefore) {
            return Err(dead("write the document"));
        }
        let version = state.put(name, document);
        match fault {
            Fault::None | Fault::Conflict => Ok(version),
            _ => Err(Error::new(ErrorKind::Timeout, "write the document", "no answer")),
        }
    }
}

impl State {
    fn put(&mut self, name: &str, document: &Document) -> Version {
        self.versions += 1;
        self.documents.insert(name.to_owned(), (self.versions, document.clone()));
        Version(self.versions.to_string())
    }

    /// Another writer: it leaves what stands as it is, and makes what does not stand without a text.
    fn touch(&mut self, name: &str, document: &Document) {
        let standing = self.documents.get(name).map(|(_, standing)| standing.clone());
        let theirs = standing.unwrap_or_else(|| Document { text: "[]".to_owned(), ..document.clone() });
        self.put(name, &theirs);
    }
}

fn dead(operation: &'static str) -> Error {
    Error::new(ErrorKind::Unavailable, operation, "connection refused")
}

#[async_trait]
impl DocumentStore for MemoryDocuments {
    async fn list(&self) -> Result<Vec<Listed>> {
        self.read_as(|state| {
            let listed = |(name, (version, document)): (&String, &(u64, Document))| Listed {
                name: name.clone(),
                version: Version(version.to_string()),
                notes: document.notes.clone(),
            };
            state.documents.iter().map(listed).collect()
        })
    }

    async fn read(&self, name: &str) -> Result<Option<(Version, Document)>> {
        self.read_as(|state| {
            let found = state.documents.get(name);
            found.map(|(version, document)| (Version(version.to_string()), document.clone()))
        })
    }

    async fn create(&self, name: &str, document: &Document) -> Result<Version> {
        self.write(name, None, document)
    }

    async fn replace(&self, name: &str, version: &Version, document: &Document) -> Result<Version> {
        self.write(name, Some(version), document)
    }

    fn place(&self, name: &str) -> String {
        format!("memory document {name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Document {
        Document { notes: BTreeMap::new(), text: text.to_owned() }
    }

    #[tokio::test]
    async fn only_what_was_read_is_replaced() {
        let store = MemoryDocuments::default();
        let first = store.create("a", &text("1")).await.unwrap();
        assert_eq!(store.create("a", &text("2")).await.unwrap_err().kind, ErrorKind::Conflict);
        let second = store.replace("a", &first, &text("2")).await.unwrap();
        assert_eq!(store.replace("a", &first, &text("3")).await.unwrap_err().kind, ErrorKind::Conflict);
        assert_eq!(store.read("a").await.unwrap(), Some((second.clone(), text("2"))));
        store.edit("a", None);
        assert_eq!(store.replace("a", &second, &text("3")).await.unwrap_err().kind, ErrorKind::Conflict);
    }

    #[tokio::test]
    async fn faults_come_in_the_order_given() {
        let store = MemoryDocuments::default();
        store.fail([Fault::Before, Fault::After, Fault::Conflict, Fault::CrashAfter]);
        assert_eq!(store.create("a", &text("1")).await.unwrap_err().kind, ErrorKind::Unavailable);
        assert_eq!(store.document("a"), None);
        assert_eq!(store.create("a", &text("1")).await.unwrap_err().kind, ErrorKind::Timeout);
        assert_eq!(store.document("a"), Some(text("1")));
        let (version, _) = store.read("a").await.unwrap().unwrap();
        assert_eq!(store.replace("a", &version, &text("2")).await.unwrap_err().kind, ErrorKind::Conflict);
        let (version, _) = store.read("a").await.unwrap().unwrap();
        assert!(store.replace("a", &version, &text("2")).await.is_err() && store.is_dead());
        assert!(store.list().await.is_err());
        store.revive();
        assert_eq!(store.list().await.unwrap().len(), 1);
        assert_eq!(store.document("a"), Some(text("2")));
    }
}
