//! The folder outside `target/` where what takes minutes to build is kept, keyed by version.

use std::path::PathBuf;

use anyhow::{Context, Result};

/// `$ZONEWRIGHT_CACHE`, else `$XDG_CACHE_HOME/zonewright`, else `~/.cache/zonewright`. The test kit looks in the same
/// place.
///
/// # Errors
/// When none of the three variables is set.
pub(crate) fn folder() -> Result<PathBuf> {
    if let Some(folder) = variable("ZONEWRIGHT_CACHE") {
        return Ok(folder);
    }
    if let Some(folder) = variable("XDG_CACHE_HOME") {
        return Ok(folder.join("zonewright"));
    }
    let home = variable("HOME").context("no place for the cache: set ZONEWRIGHT_CACHE or HOME")?;
    Ok(home.join(".cache/zonewright"))
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}
