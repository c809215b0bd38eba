//! The saved state as a file in `--state-dir`.
//!
//! In: settings. Out: the store, if a folder is named. What must hold: what is made here belongs to the process's user alone, whatever
//! the umask lets others do; a folder that is there already stays as it is.

use std::sync::Arc;

use zonewright_core::Result;
use zonewright_core::catalog::Settings;
use zonewright_core::store::{FileStore, StateStore};

use crate::{folder, state_dir};

/// The store in `--state-dir`, if there is one. Its folder is made where it is missing.
///
/// # Errors
/// The folder cannot be made.
pub(crate) fn file_store(settings: &Settings) -> Result<Option<Arc<dyn StateStore>>> {
    let Some(file) = state_dir::state_file(settings) else { return Ok(None) };
    folder::create(&state_dir::folder(settings))?;
    Ok(Some(Arc::new(FileStore::new(file))))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use super::*;
    use crate::catalog::Catalog;
    use crate::flags::parse;

    /// The settings of a daemon of this owner with its state below a folder.
    fn settings(state: &Path, owner: &str) -> Settings {
        let state = format!("--state-dir={}", state.display());
        let owner = format!("--txt-owner-id={owner}");
        let line = ["--source=service", "--provider=local", "--policy=sync", "--manifests=m", &state, &owner];
        parse(&Catalog::built_in(), line.map(OsString::from), &|_| None).expect("flags").settings
    }

    /// The bits of a mode that tell what its user, group and others may do.
    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777
    }

    /// Under umask 0002 a folder was made that group could write to, and refused as such a moment later.
    #[test]
    fn a_state_folder_that_it_makes_is_its_own_alone() {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).expect("a mode");
        let state = dir.path().join("made/too");
        assert!(file_store(&settings(&state, "me")).expect("made").is_some());
        assert_eq!([&*state, &dir.path().join("made"), dir.path()].map(mode), [0o700, 0o700, 0o755]);
        assert!(folder::make(&state).is_ok(), "it is good for a socket");
    }
}
