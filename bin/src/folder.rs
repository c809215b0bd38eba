//! Folders of the user's own: the state, the journal and the control socket lie in them.
//!
//! In comes a path; out comes whether what lies there can be believed. What must hold: nobody but the owner can put anything
//! into such a folder, else a held plan could be approved, or shown otherwise than it is, by another user of the machine.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;

use zonewright_core::{Error, ErrorKind, Result};

const OPERATION: &str = "check the folder";

/// The user id of the superuser.
const ROOT: u32 = 0;

/// Makes the folder (mode 0700), if it is not there. It has to be the process's own.
///
/// # Errors
/// It cannot be made; it belongs to another user, or others can write to it.
pub(crate) fn make(folder: &Path) -> Result<()> {
    create(folder)?;
    judge(folder, &[own(folder)?])
}

/// Makes the folder (mode 0700), and those above it, where they are not there.
///
/// # Errors
/// It cannot be made.
pub(crate) fn create(folder: &Path) -> Result<()> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| {
        Error::new(ErrorKind::Configuration, "make the folder", folder.display().to_string()).caused_by(error)
    })
}

/// Checks a folder that another process made, before what lies there is believed: it belongs to this user or to root.
///
/// # Errors
/// It is not there; it belongs to another user, or others can write to it.
pub(crate) fn check(folder: &Path) -> Result<()> {
    judge(folder, &[own(folder)?, ROOT])
}

fn unknown(folder: &Path, error: io::Error) -> Error {
    Error::new(ErrorKind::Configuration, OPERATION, folder.display().to_string()).caused_by(error)
}

/// The user of this process: its own folder in /proc belongs to it.
fn own(folder: &Path) -> Result<u32> {
    fs::metadata("/proc/self").map(|process| process.uid()).map_err(|error| unknown(folder, error))
}

/// The folder, and the link to it if it is reached by one, have to belong to one of these users.
fn judge(folder: &Path, owners: &[u32]) -> Result<()> {
    let found = fs::metadata(folder).map_err(|error| unknown(folder, error))?;
    let link = fs::symlink_metadata(folder).map_err(|error| unknown(folder, error))?;
    let ours = |part: &Metadata| owners.contains(&part.uid());
    if found.is_dir() && ours(&found) && ours(&link) && found.mode() & 0o022 == 0 {
        return Ok(());
    }
    let (what, owner) =
        (if found.is_dir() { "a folder" } else { "no folder, but" }, if ours(&link) { &found } else { &link }.uid());
    let expected: Vec<String> = owners.iter().map(u32::to_string).collect();
    let text = format!(
        "{} is {what} of user {owner} with mode {:04o}; expected a folder of user {} that group and others cannot write to \
         (mode 0700)",
        folder.display(),
        found.mode() & 0o7777,
        expected.join(" or "),
    );
    Err(Error::new(ErrorKind::Configuration, OPERATION, text))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn with_mode(folder: &Path, mode: u32) {
        fs::set_permissions(folder, fs::Permissions::from_mode(mode)).expect("a mode");
    }

    #[test]
    fn a_folder_that_others_can_write_to_is_none() {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = dir.path().join("a/b");
        assert!(check(&folder).is_err(), "it is not there");
        make(&folder).expect("made");
        assert_eq!(fs::metadata(&folder).expect("there").mode() & 0o7777, 0o700);
        for (mode, good) in
            [(0o755, true), (0o750, true), (0o1777, false), (0o770, false), (0o702, false), (0o700, true)]
        {
            with_mode(&folder, mode);
            for result in [make(&folder), check(&folder)] {
                assert_eq!(result.is_ok(), good, "{mode:o}");
                let Err(error) = result else { continue };
                let text = error.chain();
                let expected = format!("{} is a folder of user {}", folder.display(), own(&folder).expect("a user"));
                assert!(
                    text.contains(&expected) && text.contains(&format!("with mode {mode:04o}; expected")),
                    "{text}"
                );
            }
        }
    }

    #[test]
    fn a_file_is_no_folder_and_a_link_of_ones_own_is_one() {
        let dir = tempfile::tempdir().expect("a folder");
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        fs::write(&file, "").expect("a file");
        assert!(make(&file).is_err());
        assert!(check(&file).expect_err("a file").chain().contains("no folder"));
        symlink(dir.path(), &link).expect("a link");
        assert!(check(&link).is_ok());
        with_mode(dir.path(), 0o777);
        assert!(check(&link).is_err());
    }

    #[test]
    fn a_folder_of_another_user_is_none() {
        let dir = tempfile::tempdir().expect("a folder");
        let other = own(dir.path()).expect("a user") + 1;
        assert!(judge(dir.path(), &[other]).is_err());
        assert!(judge(dir.path(), &[other, other - 1]).is_ok());
    }
}
