//! `cargo deny` over all dependencies: licences, bans and sources, and the advisory database where it can be reached. In: a
//! release of cargo-deny, built into the cache. What it demands stands in `deny.toml`.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::process::{everything_said, line, run};
use crate::{cache, workspace};

/// The release of cargo-deny.
const VERSION: &str = "0.20.2";
/// How many seconds the advisory database may take to come; where packets are lost, `git` waits for minutes.
const PATIENCE: &str = "120";

/// Checks the dependencies, with a cargo-deny that is built first if it is missing and `install` says so. Returns why the
/// advisory database was not asked, if it was not: that no network leads there says nothing about the change.
///
/// # Errors
/// When cargo-deny finds something, after all of it was printed; when it is missing or cannot be built.
pub(crate) fn check(install: bool) -> Result<Option<String>> {
    let program = program(&cache::folder()?);
    if install {
        ensure()?;
    } else if !program.exists() {
        bail!("cargo-deny {VERSION} is missing: `cargo xtask deny` builds it");
    }
    demand(&program, &["bans", "licenses", "sources"])?;
    if let Err(error) = fetch_advisories(&program) {
        return Ok(Some(format!("the advisory database was not asked, since it cannot be fetched: {error:#}")));
    }
    demand(&program, &["--disable-fetch", "advisories"])?;
    Ok(None)
}

/// Whether cargo-deny is in the cache.
///
/// # Errors
/// When there is no place for a cache.
pub(crate) fn is_there() -> Result<bool> {
    Ok(program(&cache::folder()?).exists())
}

/// Makes these checks, and prints what they found. Duplicates are warnings only, and told nowhere.
fn demand(program: &Path, checks: &[&str]) -> Result<()> {
    let mut command = workspace::command(program)?;
    command.args(["--log-level", "error", "--locked", "check"]).args(checks);
    let (succeeded, said) = everything_said(&mut command)?;
    if !succeeded {
        println!("{}", said.trim_end());
        bail!("{} found something", line(&command));
    }
    Ok(())
}

fn fetch_advisories(program: &Path) -> Result<()> {
    let mut command = workspace::command("timeout")?;
    command.arg(PATIENCE).arg(program).args(["fetch", "db"]);
    let (succeeded, said) = everything_said(&mut command)?;
    if !succeeded {
        let last = said.lines().rfind(|line| !line.trim().is_empty());
        bail!("{}", last.map_or("no answer", str::trim));
    }
    Ok(())
}

/// Builds cargo-deny if it is not in the cache yet; two minutes on two cores. Without optimisation: a check takes four seconds
/// all the same.
fn ensure() -> Result<()> {
    let cache = cache::folder()?;
    fs::create_dir_all(&cache).with_context(|| format!("cannot create {}", cache.display()))?;
    if program(&cache).exists() {
        return Ok(());
    }
    let lock = File::create(cache.join("lock-deny")).context("cannot create the cache's lock file")?;
    lock.lock().context("cannot lock the cache")?;
    // Another task may have built it while this one waited for the lock.
    if program(&cache).exists() { Ok(()) } else { build(&cache) }
}

fn build(cache: &Path) -> Result<()> {
    let started = Instant::now();
    println!("    building cargo-deny {VERSION} (kept in {})", cache.display());
    let work = cache.join(".build-cargo-deny");
    if work.exists() {
        fs::remove_dir_all(&work).context("cannot remove what an interrupted build left")?;
    }
    let finished = work.join("finished");
    let mut cargo = workspace::cargo()?;
    cargo
        .args(["install", "--quiet", "--locked", "--debug", "cargo-deny", "--version", VERSION, "--root"])
        .arg(&finished);
    cargo.env("CARGO_TARGET_DIR", work.join("target")).env("CARGO_PROFILE_DEV_DEBUG", "false");
    run(&mut cargo)?;
    fs::rename(&finished, folder(cache)).context("cannot move cargo-deny into place")?;
    fs::remove_dir_all(&work)?;
    println!("    built cargo-deny {VERSION} in {:.0?}", started.elapsed());
    Ok(())
}

fn folder(cache: &Path) -> PathBuf {
    cache.join(format!("cargo-deny-v{VERSION}"))
}

fn program(cache: &Path) -> PathBuf {
    folder(cache).join("bin/cargo-deny")
}
