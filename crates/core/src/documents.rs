//! A store of named documents with versions: where a registry keeps what several writers may change.
//!
//! In and out: documents of text with a few notes beside it. What must hold: a document is only replaced as it was read (its
//! version is named and checked), and only made where there is none; another writer's change comes back as
//! [`ErrorKind::Conflict`](crate::ErrorKind::Conflict), apart from every other failure.

use std::collections::BTreeMap;

use async_trait::async_trait;

use crate::error::Result;

/// What a store keeps under one name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Document {
    /// Short texts by short keys (`a-z` and `-`), readable without the text.
    pub notes: BTreeMap<String, String>,
    /// The text, as its owner writes it; the store does not read it.
    pub text: String,
}

/// A state of a document; opaque, and only good for comparing.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Version(pub String);

/// A document without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its name, under which it is read and replaced.
    pub name: String,
    /// Its present version.
    pub version: Version,
    /// Its notes, as in [`Document::notes`].
    pub notes: BTreeMap<String, String>,
}

/// Keeps documents.
#[async_trait]
pub trait DocumentStore: Send + Sync {
    /// Every document of the store, of all owners, in the order of the names.
    ///
    /// # Errors
    /// If it cannot be read.
    async fn list(&self) -> Result<Vec<Listed>>;

    /// A document with its version; `None` if there is none of this name.
    ///
    /// # Errors
    /// If it cannot be read.
    async fn read(&self, name: &str) -> Result<Option<(Version, Document)>>;

    /// Makes a document. Returns its version.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`](crate::ErrorKind::Conflict) if there is one already; otherwise whatever kept it from being written. After
    /// [`ErrorKind::Timeout`](crate::ErrorKind::Timeout) and [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable) it may be written all the same.
    async fn create(&self, name: &str, document: &Document) -> Result<Version>;

    /// Replaces a document that stands in this version. Returns the new one.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`](crate::ErrorKind::Conflict) if it has changed or is gone; otherwise as [`DocumentStore::create`].
    async fn replace(&self, name: &str, version: &Version, document: &Document) -> Result<Version>;

    /// Where a document is, for people.
    fn place(&self, name: &str) -> String;
}
