//! `--manifests DIR`: a folder of YAML and JSON files in place of a cluster.
//!
//! In comes a folder (and its subfolders; names that begin with a dot are passed over); out come feed events. Objects are
//! as `kubectl get -o yaml` writes them, `status` included. The kernel reports changes, which are taken up within 100 ms; a
//! look at the folder every [`POLL`] catches what the kernel did not report. What must hold: nothing that happens to the
//! folder is taken for a DELETE event, and a folder that is away deletes nothing.

mod document;
mod folder;
mod listing;
mod wake;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout, timeout_at};

use self::folder::{Folder, Scan};
use self::wake::Wake;
use crate::source::K8sSource;

pub(crate) use self::document::DocumentReads;
pub use self::folder::{FileProblem, UnreadObject};

/// How often the folder is looked at when nothing is reported.
pub const POLL: Duration = Duration::from_secs(1);

/// The longest time between two looks at a large folder.
const MOST: Duration = Duration::from_mins(5);

/// A change is taken up when nothing more has been reported for so long ...
const QUIET: Duration = Duration::from_millis(15);

/// ... or when it is so old.
const PATIENCE: Duration = Duration::from_millis(60);

/// A feed that reads a folder until its task ends.
#[derive(Debug)]
pub(crate) struct ManifestFeed {
    folder: Folder,
    wake: Wake,
}

/// How long to wait after a scan that took so long. Where the kernel reports changes, looking at every file takes no more than a
/// thousandth of a processor; else a twentieth.
fn poll_after(took: Duration, watched: bool) -> Duration {
    let factor = if watched { 1_000 } else { 20 };
    (took * factor).clamp(POLL, MOST)
}

impl ManifestFeed {
    /// A feed for `source` from `dir`.
    ///
    /// # Errors
    /// `dir` is no folder, or cannot be read now.
    pub(crate) fn new(dir: &Path, wanted: DocumentReads) -> io::Result<Self> {
        std::fs::read_dir(dir)?;
        Ok(Self { folder: Folder::new(PathBuf::from(dir), wanted), wake: Wake::default() })
    }

    /// Reads the folder, hands what changed to `source`, waits, and begins again.
    pub(crate) async fn run(self, source: Arc<K8sSource>) {
        let mut feed = self;
        loop {
            let began = Instant::now();
            // A scan that panicked would have lost the folder's state; the task's end is seen by whoever holds it.
            let Ok((back, scan)) = spawn_blocking(move || feed.scan()).await else { return };
            feed = back;
            let pause = poll_after(began.elapsed(), feed.wake.is_up());
            source.note_faults(scan.faults);
            source.note_unread(scan.unread);
            source.feed(scan.events);
            feed.rest(scan.again.unwrap_or(pause)).await;
        }
    }

    fn scan(mut self) -> (Self, Scan) {
        // Watched first: what changes after this is reported, what changed before is read.
        self.wake.watch(self.folder.dir());
        let scan = self.folder.scan(SystemTime::now());
        (self, scan)
    }

    /// Waits for a change and the quiet after it, at most for the time `longest`.
    async fn rest(&self, longest: Duration) {
        if timeout(longest, self.wake.changed()).await.is_err() {
            return;
        }
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            let quiet = (Instant::now() + QUIET).min(deadline);
            if timeout_at(quiet, self.wake.changed()).await.is_err() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_folder_is_looked_at_seldom() {
        let (short, long) = (Duration::from_micros(500), Duration::from_millis(40));
        assert_eq!([poll_after(short, true), poll_after(long, true)].map(|pause| pause.as_secs()), [1, 40]);
        assert_eq!([poll_after(short, false), poll_after(long * 5, false)].map(|pause| pause.as_secs()), [1, 4]);
        assert_eq!(poll_after(long * 100, true), MOST);
    }
}
