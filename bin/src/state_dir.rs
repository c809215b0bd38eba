//! Where a daemon keeps its state, its socket and the token for it, by the flags that it and its commands are given.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
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

/// An owner id as a file name: what is no letter, digit, `-` or `_` becomes `-`. Where that changed anything, `-` and eight
/// hexadecimal digits of its SHA-256 follow, so that `a.b` and `a-b` stay apart.
pub(crate) fn file_name(owner: &str) -> String {
    let name = without_digest(owner);
    if name == owner {
        return name;
    }
    let digest = Sha256::digest(owner);
    digest.iter().take(4).fold(format!("{name}-"), |mut out, byte| {
        write!(out, "{byte:02x}").expect("writing to a string cannot fail");
        out
    })
}

fn without_digest(owner: &str) -> String {
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

/// Where the state of an owner is kept in a folder.
pub(crate) fn state_file(folder: &Path, owner: &str) -> PathBuf {
    folder.join(format!("{}.json", file_name(owner)))
}

/// Where it was kept before names had a digest, if that is elsewhere. What is there may also be another owner's.
pub(crate) fn former_state_file(folder: &Path, owner: &str) -> Option<PathBuf> {
    let name = without_digest(owner);
    (name != owner).then(|| folder.join(format!("{name}.json")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_that_differ_have_files_that_differ() {
        for plain in ["default", "cluster-1", "My_Cluster"] {
            assert_eq!(file_name(plain), plain);
            assert_eq!(former_state_file(Path::new("/s"), plain), None);
        }
        let alike = ["a-b", "a.b", "a b", "a/b", "a\u{e4}b"];
        for owner in &alike[1..] {
            let name = file_name(owner);
            assert!(name.len() == 12 && name.starts_with("a-b-"), "{owner}: {name}");
            assert_eq!(former_state_file(Path::new("/s"), owner), Some(PathBuf::from("/s/a-b.json")));
        }
        let names: std::collections::BTreeSet<String> = alike.into_iter().map(file_name).collect();
        assert_eq!(names.len(), alike.len(), "{names:?}");
    }
}
