//! Where the journal is kept: a folder, ConfigMaps, or memory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tracing::warn;
use zonewright_core::catalog::Settings;
use zonewright_core::journal::{FolderJournal, JournalStore, Journaling, Limits, MemoryJournal, Mode};
use zonewright_core::{Error, ErrorKind, Result};

use crate::control;

fn wrong(text: &str) -> Error {
    Error::new(ErrorKind::Configuration, "read the flags", text)
}

/// How much depends on the journal.
///
/// # Errors
/// A configuration error that names the flag.
pub(crate) fn mode(settings: &Settings) -> Result<Mode> {
    Mode::parse(settings.text("journal")).ok_or_else(|| wrong("--journal is one of: required, best-effort, off"))
}

/// The journal in the folder that the settings name. A dry run writes nothing, and makes no folder.
///
/// # Errors
/// A configuration error that names the flag.
pub(crate) fn in_folder(settings: &Settings, dry_run: bool) -> Result<Journaling> {
    let mode = mode(settings)?;
    let folder = match settings.text("journal-dir") {
        "" => control::folder(settings).join(FOLDER),
        folder => PathBuf::from(folder),
    };
    let named = !settings.text("journal-dir").is_empty() || !settings.text("state-dir").is_empty();
    let writes = mode != Mode::Off && !dry_run;
    if !named && writes && !control::is_private(&control::folder(settings)) {
        warn!(
            folder = %control::folder(settings).display(),
            "the folder cannot be made, or others can write to it: the journal is kept in memory only; give --state-dir or --journal-dir"
        );
        return Ok(Journaling { store: Arc::new(MemoryJournal::default()), mode });
    }
    Ok(Journaling { store: Arc::new(FolderJournal::new(folder, &prefix(settings), limits(settings)?)), mode })
}

/// The folder of the journal in the state folder.
const FOLDER: &str = "journal";

fn prefix(settings: &Settings) -> String {
    control::file_name(settings.text("txt-owner-id"))
}

fn limits(settings: &Settings) -> Result<Limits> {
    let size = u64::try_from(settings.int("journal-file-size")).ok().filter(|size| *size > 0);
    let size = size.ok_or_else(|| wrong("--journal-file-size must be greater than 0"))?;
    let files = usize::try_from(settings.int("journal-files")).ok().filter(|files| *files > 1);
    let files = files.ok_or_else(|| wrong("--journal-files must be greater than 1"))?;
    Ok(Limits { file_size: size.saturating_mul(1 << 20), files })
}

/// The journal that a daemon left behind, for commands when none answers: in `--journal-dir`, else in the folder of its
/// state. `None` if there is no such folder.
pub(crate) fn left_behind(settings: &Settings, state: &Path) -> Option<Arc<dyn JournalStore>> {
    let folder = match settings.text("journal-dir") {
        "" => state.join(FOLDER),
        folder => PathBuf::from(folder),
    };
    folder.is_dir().then(|| -> Arc<dyn JournalStore> {
        Arc::new(FolderJournal::new(folder, &prefix(settings), Limits::default()))
    })
}
