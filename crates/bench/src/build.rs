//! Binaries of the daemon, built by cargo for release.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

/// The image's features: what is measured unless something else is said.
pub(crate) const FULL: &str = "full";
/// The image's features without its allocator.
pub(crate) const PLAIN: &str = "cluster,demo,provider-local,provider-rfc2136";

/// The cargo that runs this program, or the one in `PATH`.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.stdin(Stdio::null());
    command
}

/// Builds the daemon with exactly these features and copies it to `folder`, where no other build replaces it.
pub(crate) fn daemon(features: &str, folder: &Path) -> Result<PathBuf> {
    let output = cargo()
        .args(["build", "--release", "--locked", "--package", "zonewright", "--bin", "zonewright"])
        .args(["--no-default-features", "--features", features, "--message-format=json-render-diagnostics"])
        .stderr(Stdio::inherit())
        .output()
        .context("run cargo")?;
    if !output.status.success() {
        bail!("cargo build of the daemon with {features} ended with {}", output.status);
    }
    let built = executable(&String::from_utf8_lossy(&output.stdout)).context("cargo named no executable")?;
    let kept = folder.join(format!("zonewright-{}", features.replace(',', "-")));
    std::fs::copy(&built, &kept).with_context(|| format!("copy {}", built.display()))?;
    Ok(kept)
}

/// The executable that cargo's messages name.
fn executable(messages: &str) -> Option<PathBuf> {
    let parsed = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    parsed.filter_map(|message| message["executable"].as_str().map(PathBuf::from)).next_back()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_executable_is_found_among_messages() {
        let messages = "{\"reason\":\"compiler-artifact\",\"executable\":null}\nnoise\n\
                        {\"reason\":\"compiler-artifact\",\"executable\":\"target/x\"}\n{\"reason\":\"build-finished\"}";
        assert_eq!(executable(messages), Some(PathBuf::from("target/x")));
        assert_eq!(executable("{}"), None);
    }
}
