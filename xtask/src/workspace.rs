//! The workspace as cargo and git see it: its root, its members, its files.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};

use crate::process::capture;

/// One package of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    /// Name of the package.
    pub(crate) name: String,
    /// Its folder, absolute.
    pub(crate) folder: PathBuf,
}

/// The repository's root: the folder above this package's.
///
/// # Errors
/// When the task was not started through cargo.
pub(crate) fn root() -> Result<PathBuf> {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").context("run this as `cargo xtask`")?;
    let root = Path::new(&package).parent().context("the xtask package stands in the root of the file system")?;
    Ok(root.to_owned())
}

/// Where cargo builds.
///
/// # Errors
/// As [`root`].
pub(crate) fn target() -> Result<PathBuf> {
    Ok(std::env::var_os("CARGO_TARGET_DIR").map_or(root()?.join("target"), PathBuf::from))
}

/// From now on nothing is kept for a later build that only what changed would be built in, and nothing for a debugger: both cost time
/// and room now. A panic names its line all the same.
pub(crate) fn build_once() {
    ONCE.store(true, Ordering::Relaxed);
}

static ONCE: AtomicBool = AtomicBool::new(false);

/// The same cargo that runs this task, in the repository's root.
///
/// # Errors
/// As [`root`].
pub(crate) fn cargo() -> Result<Command> {
    command(cargo_program())
}

/// The same, for work that is to have only the time that nothing else wants: beside it, programs with deadlines run on as if
/// they were alone.
///
/// # Errors
/// As [`root`].
pub(crate) fn nice_cargo() -> Result<Command> {
    let mut command = command("nice")?;
    command.args(["-n", "19"]).arg(cargo_program());
    Ok(command)
}

/// Nothing is left that the work of [`nice_cargo`] has to stand back for: it goes on as this task does. Others on the machine
/// would starve it.
///
/// # Errors
/// When it may not be done; only root may.
pub(crate) fn no_longer_nice() -> Result<()> {
    let own = capture(&mut Command::new("nice"))?;
    // The group 0 is that of the calling process, to which this task and all of its children belong.
    capture(Command::new("renice").args(["-n", own.trim(), "-g", "0"])).map(drop)
}

fn cargo_program() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// The compiler with clippy's lints, as `cargo clippy` starts it: beside cargo, unless that was started by a proxy.
pub(crate) fn clippy_driver() -> PathBuf {
    beside_cargo("clippy-driver")
}

/// What makes documentation and tests its examples, as cargo starts it.
pub(crate) fn rustdoc() -> PathBuf {
    beside_cargo("rustdoc")
}

fn beside_cargo(name: &str) -> PathBuf {
    let beside = Path::new(&cargo_program()).with_file_name(name);
    if beside.is_file() { beside } else { name.into() }
}

/// A program that runs in the repository's root.
///
/// # Errors
/// As [`root`].
pub(crate) fn command(program: impl AsRef<OsStr>) -> Result<Command> {
    let mut command = Command::new(program);
    command.current_dir(root()?);
    // Set by `cargo run` for this package; the packages that are built from here must not see it.
    for name in ["CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH"] {
        command.env_remove(name);
    }
    if ONCE.load(Ordering::Relaxed) {
        command.env("CARGO_INCREMENTAL", "0").env("CARGO_PROFILE_DEV_DEBUG", "false");
    }
    Ok(command)
}

/// Every package of the workspace.
///
/// # Errors
/// When cargo cannot read the workspace.
pub(crate) fn members() -> Result<Vec<Member>> {
    let tree = ["tree", "--workspace", "--locked", "--depth", "0", "--prefix", "none", "--format", "{p}"];
    let text = capture(cargo()?.args(tree))?;
    Ok(text.lines().filter_map(parse_member).collect())
}

/// Every file of the repository, relative to its root: those that git knows and those that it would take in.
///
/// # Errors
/// When git fails.
pub(crate) fn files() -> Result<Vec<PathBuf>> {
    let listing = ["ls-files", "--cached", "--others", "--exclude-standard", "-z"];
    let text = capture(Command::new("git").args(listing).current_dir(root()?))?;
    Ok(text.split_terminator('\0').map(PathBuf::from).collect())
}

/// `name v0.1.0 (/folder)`, with `(proc-macro)` before the folder where it is one.
fn parse_member(line: &str) -> Option<Member> {
    let name = line.split(' ').next()?.to_owned();
    let folder = line.trim_end().strip_suffix(')')?.rsplit_once('(')?.1;
    Some(Member { name, folder: folder.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_read_from_the_tree() {
        let expected = Member { name: "zonewright-core".to_owned(), folder: "/a b/crates/core".into() };
        assert_eq!(parse_member("zonewright-core v0.1.0 (/a b/crates/core)"), Some(expected));
        assert_eq!(parse_member(""), None);
    }
}
