//! Where the little state lives that survives a restart: the brake's window, held plans, approvals, kinds seen.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;

use crate::error::{Error, ErrorKind, Result};

/// Keeps one small document.
#[async_trait]
pub trait StateStore: Send + Sync {
    /// The document as it was last saved; `None` if there is none yet.
    ///
    /// # Errors
    /// If it cannot be read.
    async fn load(&self) -> Result<Option<Vec<u8>>>;

    /// Replaces the document.
    ///
    /// # Errors
    /// If it cannot be written; [`ErrorKind::Unauthorized`] where the right to is missing.
    async fn save(&self, document: &[u8]) -> Result<()>;

    /// Hashes of held plans that were approved at the place itself, by whoever has the right to write there.
    ///
    /// # Errors
    /// If that cannot be read.
    async fn approvals(&self) -> Result<BTreeSet<String>>;

    /// How the plan of this hash is approved at the place itself, for people; `None` where it cannot be.
    fn approve_with(&self, hash: &str) -> Option<String>;

    /// Where it is, for people.
    fn place(&self) -> String;
}

/// Keeps the document in memory: it does not survive a restart.
#[derive(Debug, Default)]
pub struct MemoryStore(Mutex<Option<Vec<u8>>>);

#[async_trait]
impl StateStore for MemoryStore {
    async fn load(&self) -> Result<Option<Vec<u8>>> {
        Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    async fn save(&self, document: &[u8]) -> Result<()> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(document.to_vec());
        Ok(())
    }

    async fn approvals(&self) -> Result<BTreeSet<String>> {
        Ok(BTreeSet::new())
    }

    fn approve_with(&self, _: &str) -> Option<String> {
        None
    }

    fn place(&self) -> String {
        "memory only".to_owned()
    }
}

/// The document of another store as it stands: what is saved is forgotten. For processes that only look.
pub struct ReadOnlyStore(pub Arc<dyn StateStore>);

#[async_trait]
impl StateStore for ReadOnlyStore {
    async fn load(&self) -> Result<Option<Vec<u8>>> {
        self.0.load().await
    }

    async fn save(&self, _: &[u8]) -> Result<()> {
        Ok(())
    }

    async fn approvals(&self) -> Result<BTreeSet<String>> {
        self.0.approvals().await
    }

    fn approve_with(&self, hash: &str) -> Option<String> {
        self.0.approve_with(hash)
    }

    fn place(&self) -> String {
        self.0.place()
    }
}

impl std::fmt::Debug for ReadOnlyStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ReadOnlyStore({})", self.0.place())
    }
}

/// Keeps the document in a file, replaced in one step. What was saved is on the disk, also after a power cut.
#[derive(Debug, Clone)]
pub struct FileStore {
    path: PathBuf,
    /// Where the document is until the first saving.
    former: Option<PathBuf>,
    /// How many documents were given to be saved.
    given: Arc<AtomicU64>,
    /// The number of the one that was saved last. One is written at a time, and none over a later one: a file is written to its end,
    /// also where nobody waits for that any more.
    saved: Arc<Mutex<u64>>,
}

impl FileStore {
    /// A store in `path`; its folder must exist.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), former: None, given: Arc::default(), saved: Arc::default() }
    }

    /// The same store, which begins with the document in `former` where nothing was saved yet. That one stays as it is.
    #[must_use]
    pub fn beginning_with(self, former: Option<PathBuf>) -> Self {
        Self { former, ..self }
    }

    fn error(&self, operation: &'static str, source: io::Error) -> Error {
        Error::new(ErrorKind::Unavailable, operation, self.path.display().to_string()).caused_by(source)
    }
}

/// Puts a document in the place of a file, so that whatever happens one of the two is there, whole.
fn replace(path: &Path, document: &[u8]) -> io::Result<()> {
    let fresh = path.with_extension("new");
    let mut file = File::create(&fresh)?;
    file.write_all(document)?;
    // Else the new name may be on the disk before what it leads to.
    file.sync_all()?;
    fs::rename(&fresh, path)?;
    // A folder that cannot be opened as a file is none that has to be.
    if let Some(folder) = path.parent() {
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
    }
    Ok(())
}

#[async_trait]
impl StateStore for FileStore {
    async fn load(&self) -> Result<Option<Vec<u8>>> {
        for path in [&self.path].into_iter().chain(&self.former) {
            match fs::read(path) {
                Ok(document) => return Ok(Some(document)),
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(self.error("read state", e)),
            }
        }
        Ok(None)
    }

    async fn save(&self, document: &[u8]) -> Result<()> {
        let (path, saved, document) = (self.path.clone(), self.saved.clone(), document.to_vec());
        let number = self.given.fetch_add(1, Ordering::Relaxed) + 1;
        let work = move || {
            let mut saved = saved.lock().unwrap_or_else(PoisonError::into_inner);
            if *saved < number {
                replace(&path, &document)?;
                *saved = number;
            }
            Ok(())
        };
        let done = tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(io::Error::other(error)));
        done.map_err(|e| match e.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Error::new(ErrorKind::Unauthorized, "write state", self.path.display().to_string()).caused_by(e)
            }
            _ => self.error("write state", e),
        })
    }

    async fn approvals(&self) -> Result<BTreeSet<String>> {
        Ok(BTreeSet::new())
    }

    fn approve_with(&self, _: &str) -> Option<String> {
        None
    }

    fn place(&self) -> String {
        self.path.display().to_string()
    }
}

/// What takes in pieces of text: whole lines, in the order in which they were written.
pub type Visitor<'a> = dyn FnMut(&[u8]) -> ControlFlow<()> + Send + 'a;

/// A place that lines are appended to.
#[async_trait]
pub trait JournalStore: Send + Sync {
    /// Appends lines, none of which holds a line break. They are durable when this returns; where it fails, a part of them
    /// may be, but never a part of one.
    ///
    /// # Errors
    /// Whatever keeps them from being kept: no room, no right, no answer.
    async fn append(&self, lines: &[String]) -> Result<()>;

    /// Gives everything that is kept to `visit`, in pieces, the newest piece first, until it breaks off.
    ///
    /// # Errors
    /// Whatever keeps the journal from being read. One that is empty is none.
    async fn read(&self, visit: &mut Visitor<'_>) -> Result<()>;

    /// Whether outcomes wait for the next entry, because each append is dear (a call to an API server).
    fn outcomes_wait(&self) -> bool;

    /// Where it is, for people.
    fn place(&self) -> String;
}
