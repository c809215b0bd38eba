//! The source of the standard library, for targets that rustup has not installed: Debian's package of it, kept in the cache.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use sha2::{Digest as _, Sha256};

use crate::cache;
use crate::process::{capture, run};

/// The release, which is that of the compiler.
const RUST: &str = "1.95.0";
/// Debian's package of it, and the SHA-256 of its file.
const PACKAGE: &str = "rust-src_1.95.0+dfsg1-2~bpo13+1_all.deb";
const SHA256: &str = "7b76db5b880a77f9e52975d2baa6209d2f76d2c9c2789515c3088cb960e2c83b";

/// The folder of the source, fetched if it is not in the cache yet.
///
/// # Errors
/// When the compiler is of another release, or the package cannot be had.
pub(super) fn source() -> Result<PathBuf> {
    let compiler = capture(Command::new("rustc").arg("--version"))?;
    if compiler.split(' ').nth(1) != Some(RUST) {
        bail!(
            "the standard library's source is known for Rust {RUST}, and this is {}: `rustup target add` the targets for musl",
            compiler.trim()
        );
    }
    let cache = cache::folder()?;
    let place = cache.join(format!("rust-src-v{RUST}"));
    let source = place.join(format!("usr/src/rustc-{RUST}"));
    if source.exists() {
        return Ok(source);
    }
    let lock = File::create(cache.join("lock-rust-src")).context("cannot create the cache's lock file")?;
    lock.lock().context("cannot lock the cache")?;
    let work = cache.join(".build-rust-src");
    if work.exists() {
        fs::remove_dir_all(&work).context("cannot remove what an interrupted attempt left")?;
    }
    fs::create_dir_all(&work)?;
    let package = work.join(PACKAGE);
    println!("    the source of the standard library {RUST} (kept in {})", cache.display());
    fetch(&package)?;
    run(Command::new("dpkg-deb").arg("--extract").arg(&package).arg(work.join("out")))?;
    fs::rename(work.join("out"), &place).context("cannot move the source into place")?;
    fs::remove_dir_all(&work)?;
    Ok(source)
}

/// The package, from the mirror that this machine's apt uses.
fn fetch(file: &std::path::Path) -> Result<()> {
    let targets = ["indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"];
    let mirrors = capture(Command::new("apt-get").args(targets))?;
    let mirror = mirrors.lines().find(|mirror| mirror.ends_with("/debian/") || mirror.ends_with("/debian"));
    let mirror = mirror.context("apt knows no mirror of Debian: `rustup target add` the targets for musl")?;
    let address = format!("{}/pool/main/r/rustc/{PACKAGE}", mirror.trim_end_matches('/'));
    run(Command::new("curl")
        .args(["--fail", "--silent", "--show-error", "--location", "--output"])
        .arg(file)
        .arg(address))?;
    let digest = format!("{:x}", Sha256::digest(fs::read(file)?));
    if digest != SHA256 {
        bail!("{PACKAGE} has the SHA-256 {digest}; expected {SHA256}");
    }
    Ok(())
}
