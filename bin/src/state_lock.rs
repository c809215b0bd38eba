//! Who uses the state in a folder: a lock on a file beside it.
//!
//! In: where the state is. Out: a lock, or who has it. What must hold: a command changes the state only while no process has it in
//! memory, else that process would save its own over the change. The lock is one on an open file and ends with the process, however
//! that ends. Processes share it: two of them are warned of, and not stopped.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::{Instant, sleep};
use tracing::warn;
use zonewright_core::{Error, ErrorKind, Result};

/// How long another one may keep the lock that needs it for a moment.
const PATIENCE: Duration = Duration::from_secs(2);
/// The pause between two looks at the lock.
const LOOK: Duration = Duration::from_millis(20);

/// The state is in use as long as this lives.
#[derive(Debug)]
pub(crate) struct StateLock {
    _file: File,
}

/// The lock of a state: beside its file.
fn path(state: &Path) -> PathBuf {
    state.with_extension("json.lock")
}

/// Opens the file to lock. To lock one that another user made, reading is enough.
fn open(path: &Path) -> io::Result<File> {
    match OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => File::open(path),
        file => file,
    }
}

/// Takes a lock as soon as it is free; `false` if it is not within [`PATIENCE`].
async fn wait(take: impl Fn() -> std::result::Result<(), TryLockError>) -> io::Result<bool> {
    let until = Instant::now() + PATIENCE;
    loop {
        match take() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) if Instant::now() < until => sleep(LOOK).await,
            Err(TryLockError::WouldBlock) => return Ok(false),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// Marks a state as in use by this process. Where that cannot be, it goes on without, and says so.
pub(crate) async fn share(state: &Path) -> Option<StateLock> {
    let path = path(state);
    let taken = async {
        let mut file = open(&path)?;
        // Whoever has it for a moment is a command; whoever shares it uses the state as we do.
        let joins = file.try_lock().is_err() && file.try_lock_shared().is_ok();
        if !joins && !wait(|| file.try_lock_shared()).await? {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "a command keeps it locked"));
        }
        if joins {
            let user = user(&path);
            warn!(
                state = %state.display(),
                "{user} uses this state, too: each counts its deletes by itself, and the state that is saved last stays"
            );
        }
        // For people: the lock itself says whether anybody has it.
        let _ = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
        Ok(StateLock { _file: file })
    };
    match taken.await {
        Ok(lock) => Some(lock),
        Err(error) => {
            let path = path.display();
            warn!(%path, %error, "the state cannot be locked: what `zonewright approve` writes there while no socket answers may be lost");
            None
        }
    }
}

/// The last one that noted that it uses a state.
fn user(path: &Path) -> String {
    let id = fs::read_to_string(path).ok().and_then(|text| text.trim().parse::<u32>().ok());
    id.map_or_else(|| "another process".to_owned(), |id| format!("process {id}"))
}

/// Keeps every process from beginning with a state while a command changes it; `None` where the file system knows no locks.
///
/// # Errors
/// A process uses the state, or the lock cannot be taken.
pub(crate) async fn alone(state: &Path, operation: &'static str) -> Result<Option<StateLock>> {
    let path = path(state);
    let problem = |error| Error::new(ErrorKind::Unavailable, operation, path.display().to_string()).caused_by(error);
    let file = open(&path).map_err(problem)?;
    match wait(|| file.try_lock()).await {
        Ok(true) => Ok(Some(StateLock { _file: file })),
        Ok(false) => {
            let user = user(&path);
            let text = format!(
                "not done: {user} uses the state in {}, and would save its own over the change. Wait for its end if it is a single \
                 pass (--once). If it is a daemon, its log says why its socket does not answer: put that right, or stop it; then try \
                 again",
                state.display()
            );
            Err(Error::new(ErrorKind::Conflict, operation, text))
        }
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(None),
        Err(error) => Err(problem(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn processes_share_a_state_and_a_command_has_it_alone() {
        let dir = tempfile::tempdir().expect("a folder");
        let state = dir.path().join("me.json");
        let first = share(&state).await.expect("locked");
        let second = share(&state).await.expect("locked");
        drop(first);
        let error = alone(&state, "approve a plan").await.expect_err("it is in use").chain();
        assert!(error.contains(&format!("not done: process {} uses the state in ", std::process::id())), "{error}");
        drop(second);
        let command = alone(&state, "approve a plan").await.expect("nobody uses it any more").expect("locked");
        // A process that begins meanwhile waits for the command, and reads what it wrote.
        let ends = async {
            sleep(LOOK * 3).await;
            drop(command);
        };
        let (process, ()) = tokio::join!(share(&state), ends);
        assert!(process.is_some() && alone(&state, "approve a plan").await.is_err());
    }
}
