//! Documents in the memory of the process: they are gone when it ends.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use zonewright_core::documents::{Document, DocumentStore, Listed, Version};
use zonewright_core::{Error, ErrorKind, Result};

/// Documents by name, each with the number of the write that made it what it is.
#[derive(Debug, Default)]
pub(super) struct ProcessDocuments(Mutex<Documents>);

#[derive(Debug, Default)]
struct Documents {
    by_name: BTreeMap<String, (u64, Document)>,
    writes: u64,
}

fn version(write: u64) -> Version {
    Version(write.to_string())
}

impl ProcessDocuments {
    fn documents(&self) -> MutexGuard<'_, Documents> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a document that stands in the version `expected`; `None`: that does not stand.
    fn write(&self, name: &str, expected: Option<&Version>, document: &Document) -> Result<Version> {
        let mut documents = self.documents();
        let standing = documents.by_name.get(name).map(|(write, _)| version(*write));
        if standing.as_ref() != expected {
            return Err(Error::new(ErrorKind::Conflict, "write a document", format!("{name} has changed")));
        }
        documents.writes += 1;
        let write = documents.writes;
        documents.by_name.insert(name.to_owned(), (write, document.clone()));
        Ok(version(write))
    }
}

#[async_trait]
impl DocumentStore for ProcessDocuments {
    async fn list(&self) -> Result<Vec<Listed>> {
        let listed = |(name, (write, document)): (&String, &(u64, Document))| Listed {
            name: name.clone(),
            version: version(*write),
            notes: document.notes.clone(),
        };
        Ok(self.documents().by_name.iter().map(listed).collect())
    }

    async fn read(&self, name: &str) -> Result<Option<(Version, Document)>> {
        let documents = self.documents();
        Ok(documents.by_name.get(name).map(|(write, document)| (version(*write), document.clone())))
    }

    async fn create(&self, name: &str, document: &Document) -> Result<Version> {
        self.write(name, None, document)
    }

    async fn replace(&self, name: &str, version: &Version, document: &Document) -> Result<Version> {
        self.write(name, Some(version), document)
    }

    fn place(&self, name: &str) -> String {
        format!("document {name} in memory")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_what_was_read_is_replaced() {
        let text = |text: &str| Document { notes: BTreeMap::new(), text: text.to_owned() };
        let documents = ProcessDocuments::default();
        let first = documents.create("a", &text("1")).await.unwrap();
        assert_eq!(documents.create("a", &text("2")).await.unwrap_err().kind, ErrorKind::Conflict);
        let second = documents.replace("a", &first, &text("2")).await.unwrap();
        assert_eq!(documents.replace("a", &first, &text("3")).await.unwrap_err().kind, ErrorKind::Conflict);
        assert_eq!(documents.read("a").await.unwrap(), Some((second.clone(), text("2"))));
        let listed = documents.list().await.unwrap();
        assert_eq!(listed.iter().map(|it| (it.name.as_str(), &it.version)).collect::<Vec<_>>(), [("a", &second)]);
    }
}
