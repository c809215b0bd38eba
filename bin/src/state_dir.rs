//! Where a daemon keeps its state, its socket and the token for it, by the flags that it and its commands are given.

use std::path::{Path, PathBuf};

use zonewright_core::catalog::Settings;

use crate::folder;

/// The folder for socket and state: `--state-dir`, else one of the user's own by the owner id.
pub(crate) fn folder(settings: &Settings) -> PathBuf {
    match settings.text("state-dir") {
        "" => base().join(format!("{PREFIX}{}", file_name(settings.text("txt-owner-id")))),
        folder => PathBuf::from(folder),
    }
}

const PREFIX: &str = "zonewright-";

fn base() -> PathBuf {
    std::env::var_os("XDG_RUNTIME_DIR").map_or_else(std::env::temp_dir, PathBuf::from)
}

/// The folder of the daemon that a command means: as [`folder`], but where the user named none, the only one there is.
pub(crate) fn meant(settings: &Settings) -> PathBuf {
    let named = settings.given("state-dir") || settings.given("txt-owner-id");
    let only = || {
        let folders = std::fs::read_dir(base()).ok()?.flatten().map(|entry| entry.path());
        let ours = |path: &PathBuf| {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            name.starts_with(PREFIX) && socket(path).exists() && folder::check(path).is_ok()
        };
        match folders.filter(ours).collect::<Vec<_>>().as_slice() {
            [one] => Some(one.clone()),
            _ => None,
        }
    };
    Some(()).filter(|()| !named).and_then(|()| only()).unwrap_or_else(|| folder(settings))
}

/// Whether a daemon answers on the socket of this folder.
pub(crate) fn answers(folder: &Path) -> bool {
    folder::check(folder).is_ok() && std::os::unix::net::UnixStream::connect(socket(folder)).is_ok()
}

/// An owner id as a file name: what is no letter, digit, `-` or `_` becomes `-`.
pub(crate) fn file_name(owner: &str) -> String {
    owner.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' }).collect()
}

/// The daemon's socket in its folder.
pub(crate) fn socket(folder: &Path) -> PathBuf {
    folder.join("control.sock")
}

/// The token that whoever asks over the socket shows.
pub(crate) fn token(folder: &Path) -> PathBuf {
    folder.join("control.token")
}

/// Where the state is kept; `None` without `--state-dir`.
pub(crate) fn state_file(settings: &Settings) -> Option<PathBuf> {
    let folder = Some(settings.text("state-dir")).filter(|folder| !folder.is_empty())?;
    Some(Path::new(folder).join(format!("{}.json", file_name(settings.text("txt-owner-id")))))
}
