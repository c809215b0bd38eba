//! The kernel's word that something below a folder changed.
//!
//! In comes a folder; out come wake-ups. What must hold: a write, rename, creation or removal below the watched folder
//! wakes whoever waits; reading a file does not, or the feed would wake itself.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::Notify;

use super::folder::identity;

/// A watch on a folder that may go away and come back.
#[derive(Debug, Default)]
pub(super) struct Wake {
    changes: Arc<Notify>,
    watched: Option<Watched>,
    /// A watch could not be set up, and that was said.
    failed: bool,
}

#[derive(Debug)]
struct Watched {
    /// Stops watching when dropped.
    _watcher: RecommendedWatcher,
    folder: (u64, u64),
}

impl Wake {
    /// Waits for the next change.
    pub(super) async fn changed(&self) {
        self.changes.notified().await;
    }

    /// Whether the kernel reports changes.
    pub(super) fn is_up(&self) -> bool {
        self.watched.is_some()
    }

    /// Watches `dir`, anew if another folder has taken its place. Without a watch only the poll sees changes.
    pub(super) fn watch(&mut self, dir: &Path) {
        let Ok(folder) = fs::metadata(dir).map(|metadata| identity(&metadata)) else {
            self.watched = None;
            return;
        };
        if self.watched.as_ref().is_some_and(|watched| watched.folder == folder) {
            return;
        }
        match watcher(dir, Arc::clone(&self.changes)) {
            Ok(watcher) => {
                self.watched = Some(Watched { _watcher: watcher, folder });
                self.failed = false;
            }
            Err(error) if !self.failed => {
                tracing::warn!(dir = %dir.display(), %error, "changes are found by polling: the folder cannot be watched");
                self.failed = true;
            }
            Err(_) => {}
        }
    }
}

fn watcher(dir: &Path, changes: Arc<Notify>) -> notify::Result<RecommendedWatcher> {
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        if event.map_or(true, |event| is_change(event.kind)) {
            changes.notify_one();
        }
    })?;
    watcher.watch(dir, RecursiveMode::Recursive)?;
    Ok(watcher)
}

fn is_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(access) => access == AccessKind::Close(AccessMode::Write),
        _ => true,
    }
}
