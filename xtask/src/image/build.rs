//! The program for a platform: one static binary, linked against musl.
//!
//! `zig` compiles the C of `ring` and `mimalloc` and links, for every platform alike. The standard library for the target is the
//! one that rustup installed; where it installed none, it is built from its source.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use super::{Platform, standard_library};
use crate::process::{capture, run};
use crate::tool::Tool;
use crate::{python, workspace};

/// Has cargo use zig.
const ZIGBUILD: Tool = Tool { name: "cargo-zigbuild", version: "0.24.1" };

/// Where images are built, and written unless another place is named.
pub(super) fn target_folder() -> Result<PathBuf> {
    Ok(workspace::target()?.join("image"))
}

/// Builds the program of a platform, and says where it stands.
pub(super) fn program(platform: Platform, revision: &str) -> Result<PathBuf> {
    let (root, target) = (workspace::root()?, target_folder()?);
    let zigbuild = ZIGBUILD.ensure()?;
    let mut remapped = vec![(root.clone(), "/src"), (cargo_home()?, "/cargo")];
    let mut cargo = workspace::cargo()?;
    cargo.args(["zigbuild", "--locked", "--profile", "dist", "--target", platform.target]);
    cargo.args(["--package", "zonewright", "--no-default-features", "--features", "full"]);
    if !is_installed(platform.target)? {
        let source = standard_library::source()?;
        // Cargo looks for the source in the toolchain, which is not ours to write to; with this it looks here.
        cargo.env("__CARGO_TESTS_ONLY_SRC_ROOT", source.join("library"));
        cargo.env("RUSTC_BOOTSTRAP", "1").arg("-Zbuild-std=std,panic_abort");
        remapped.push((source, "/rustc"));
    }
    cargo
        .env("PATH", with_path(&zigbuild)?)
        .env("CARGO_ZIGBUILD_ZIG_PATH", python::zig()?)
        .env("CARGO_TARGET_DIR", &target)
        .env("RUSTFLAGS", rust_flags(&remapped))
        .env("CFLAGS", words(&remapped, "-ffile-prefix-map="))
        .env("SOURCE_DATE_EPOCH", "0")
        .env("ZONEWRIGHT_REVISION", revision);
    run(&mut cargo)?;
    Ok(target.join(platform.target).join("dist/zonewright"))
}

/// A flag for each folder that is known by another name in the binary: no path of this machine is in it.
fn words(remapped: &[(PathBuf, &str)], flag: &str) -> String {
    let word = |(from, to): &(PathBuf, &str)| format!("{flag}{}={to}", from.display());
    remapped.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// Zig brings what stands before and after `main`. A panic ends the process, and the names of functions are not in the binary: nobody
/// would read the tables for unwinding, which are a tenth of it.
fn rust_flags(remapped: &[(PathBuf, &str)]) -> String {
    format!("-Clink-self-contained=no -Cforce-unwind-tables=no {}", words(remapped, "--remap-path-prefix="))
}

fn cargo_home() -> Result<PathBuf> {
    let given = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cargo"));
    given.or_else(home).context("no CARGO_HOME and no HOME")
}

/// The search path with the folder of a program before it.
fn with_path(program: &Path) -> Result<std::ffi::OsString> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folder = program.parent().context("a program stands in a folder")?;
    let folders = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&path));
    Ok(std::env::join_paths(folders)?)
}

fn is_installed(target: &str) -> Result<bool> {
    let folder = capture(Command::new("rustc").args(["--print", "target-libdir", "--target", target]))?;
    Ok(Path::new(folder.trim()).exists())
}
