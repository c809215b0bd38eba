//! `cargo deny` over all dependencies: licences, bans and sources, and the advisory database where it can be reached. In: a
//! release of cargo-deny, built into the cache. What it demands stands in `deny.toml`.

use std::path::Path;

use anyhow::{Result, bail};

use crate::process::{everything_said, line};
use crate::tool::Tool;
use crate::workspace;

/// A check takes four seconds without optimisation, too.
const DENY: Tool = Tool { name: "cargo-deny", version: "0.20.2" };
/// How many seconds the advisory database may take to come; where packets are lost, `git` waits for minutes.
const PATIENCE: &str = "120";

/// Checks the dependencies, with a cargo-deny that is built first if it is missing and `install` says so. Returns why the
/// advisory database was not asked, if it was not: that no network leads there says nothing about the change.
///
/// # Errors
/// When cargo-deny finds something, after all of it was printed; when it is missing or cannot be built.
pub(crate) fn check(install: bool) -> Result<Option<String>> {
    let program = if install { DENY.ensure()? } else { DENY.program()? };
    if !program.exists() {
        bail!("cargo-deny {} is missing: `cargo xtask deny` builds it", DENY.version);
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
    DENY.is_there()
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
