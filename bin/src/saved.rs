//! The saved state as a file in `--state-dir`.
//!
//! In: settings. Out: the store, if a folder is named. What must hold: what is made here belongs to the process's user alone, whatever
//! the umask lets others do; a folder that is there already stays as it is.

use std::path::Path;
use std::sync::Arc;

use zonewright_core::Result;
use zonewright_core::catalog::Settings;
use zonewright_core::store::{FileStore, StateStore};

use crate::state_lock::StateLock;
use crate::{folder, state_dir, state_lock};

/// The store in `--state-dir`, if there is one, and what marks its state as in use. A process that only looks marks nothing.
///
/// # Errors
/// The folder cannot be made.
pub(crate) async fn open(settings: &Settings, looks: bool) -> Result<(Option<Arc<dyn StateStore>>, Option<StateLock>)> {
    let store = file_store(settings)?;
    if looks || store.is_none() {
        return Ok((store, None));
    }
    let state = state_dir::state_file(&state_dir::folder(settings), settings.text("txt-owner-id"));
    Ok((store, state_lock::share(&state).await))
}

/// The store in `--state-dir`, if there is one. Its folder is made where it is missing.
///
/// # Errors
/// The folder cannot be made.
fn file_store(settings: &Settings) -> Result<Option<Arc<dyn StateStore>>> {
    if settings.text("state-dir").is_empty() {
        return Ok(None);
    }
    let folder = state_dir::folder(settings);
    folder::create(&folder)?;
    Ok(Some(Arc::new(store(&folder, settings.text("txt-owner-id")))))
}

/// The store in a folder. What an owner kept under the name that others had too is where it begins: that is no file to be moved away,
/// as it may be another's.
fn store(folder: &Path, owner: &str) -> FileStore {
    FileStore::new(state_dir::state_file(folder, owner)).beginning_with(state_dir::former_state_file(folder, owner))
}

/// The store in the folder of a daemon, if it left a state there.
pub(crate) fn left_in(folder: &Path, owner: &str) -> Option<Arc<dyn StateStore>> {
    let files = [Some(state_dir::state_file(folder, owner)), state_dir::former_state_file(folder, owner)];
    let found = files.iter().flatten().any(|file| file.is_file());
    found.then(|| -> Arc<dyn StateStore> { Arc::new(store(folder, owner)) })
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::fs::PermissionsExt;

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

    /// Two owners share no file, and what one of them had before in that of both is not lost.
    #[tokio::test]
    async fn what_an_owner_kept_under_a_shared_name_is_where_it_begins() {
        let dir = tempfile::tempdir().expect("a folder");
        let former = dir.path().join("a-b.json");
        std::fs::write(&former, "former").expect("a state");
        let open = |owner: &str| file_store(&settings(dir.path(), owner)).expect("opened").expect("a store");
        let load = |store: Arc<dyn StateStore>| async move { store.load().await.expect("read") };
        let dotted = open("a.b");
        assert_eq!(load(dotted.clone()).await.as_deref(), Some(&b"former"[..]));
        assert!(left_in(dir.path(), "a.b").is_some() && left_in(dir.path(), "c.d").is_none());
        dotted.save(b"dotted").await.expect("saved");
        assert_eq!(load(open("a.b")).await.as_deref(), Some(&b"dotted"[..]));
        let plain = open("a-b");
        assert_eq!(load(plain.clone()).await.as_deref(), Some(&b"former"[..]), "the other owner has what it had");
        plain.save(b"plain").await.expect("saved");
        assert_eq!(load(open("a.b")).await.as_deref(), Some(&b"dotted"[..]));
    }
}
