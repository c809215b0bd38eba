//! Programs of other people that are built with cargo, once, into the cache.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};

use crate::process::run;
use crate::{cache, workspace};

/// A release of a program on the registry of packages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tool {
    /// Of the package and its program.
    pub(crate) name: &'static str,
    /// The release.
    pub(crate) version: &'static str,
}

impl Tool {
    /// Whether it is in the cache.
    ///
    /// # Errors
    /// When there is no place for a cache.
    pub(crate) fn is_there(self) -> Result<bool> {
        Ok(self.program()?.exists())
    }

    /// Where it stands, built or not.
    ///
    /// # Errors
    /// When there is no place for a cache.
    pub(crate) fn program(self) -> Result<PathBuf> {
        Ok(self.folder(&cache::folder()?).join("bin").join(self.name))
    }

    /// Builds it if it is not in the cache yet, without optimisation: minutes, once.
    ///
    /// # Errors
    /// When it cannot be built.
    pub(crate) fn ensure(self) -> Result<PathBuf> {
        let (cache, program) = (cache::folder()?, self.program()?);
        fs::create_dir_all(&cache).with_context(|| format!("cannot create {}", cache.display()))?;
        if program.exists() {
            return Ok(program);
        }
        let lock = File::create(cache.join(format!("lock-{}", self.name))).context("cannot create a lock file")?;
        lock.lock().context("cannot lock the cache")?;
        // Another task may have built it while this one waited for the lock.
        if !program.exists() {
            self.build(&cache)?;
        }
        Ok(program)
    }

    fn folder(self, cache: &Path) -> PathBuf {
        cache.join(format!("{}-v{}", self.name, self.version))
    }

    fn build(self, cache: &Path) -> Result<()> {
        let (Self { name, version }, started) = (self, Instant::now());
        println!("    building {name} {version} (kept in {})", cache.display());
        let work = cache.join(format!(".build-{name}"));
        if work.exists() {
            fs::remove_dir_all(&work).context("cannot remove what an interrupted build left")?;
        }
        let finished = work.join("finished");
        let mut cargo = workspace::cargo()?;
        cargo.args(["install", "--quiet", "--locked", "--debug", name, "--version", version, "--root"]).arg(&finished);
        cargo.env("CARGO_TARGET_DIR", work.join("target")).env("CARGO_PROFILE_DEV_DEBUG", "false");
        run(&mut cargo)?;
        fs::rename(&finished, self.folder(cache)).with_context(|| format!("cannot move {name} into place"))?;
        fs::remove_dir_all(&work)?;
        println!("    built {name} {version} in {:.0?}", started.elapsed());
        Ok(())
    }
}
