//! Our own program, built by cargo as the container image has it, but without optimisation.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

/// Builds the daemon and returns its path.
///
/// # Errors
/// It cannot be built.
pub fn build() -> Result<PathBuf> {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--locked", "--package", "zonewright", "--bin", "zonewright", "--features", "full"])
        .arg("--message-format=json-render-diagnostics")
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    if !output.status.success() {
        bail!("cargo build of the daemon ended with {}", output.status);
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    let parsed = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut executables = parsed.filter_map(|message| message["executable"].as_str().map(PathBuf::from));
    executables.next_back().context("cargo named no executable")
}
