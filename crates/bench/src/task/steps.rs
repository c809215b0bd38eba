//! How long the daemon takes to compile from nothing, and how large it becomes.

use std::process::Stdio;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use crate::build::cargo;
use crate::report::{Section, megabytes, seconds};

pub(super) fn run() -> Result<String> {
    let sets: [(&str, &[&str]); 3] = [
        ("default", &[]),
        ("`provider-rfc2136` alone", &["--no-default-features", "--features", "provider-rfc2136"]),
        ("`full`", &["--features", "full"]),
    ];
    let rows = sets.iter().map(|(what, features)| row(what, features)).collect::<Result<Vec<_>>>()?;
    let about = "`cargo build --release --package zonewright` into an empty folder; all sources were fetched before.";
    Ok(Section::new("Cold builds", about).table(&["features", "time", "binary"], &rows).finish())
}

fn row(what: &str, features: &[&str]) -> Result<Vec<String>> {
    let folder = tempfile::Builder::new().prefix("zonewright-cold-").tempdir()?;
    eprintln!("    building with {what}");
    let begun = Instant::now();
    let status = cargo()
        .args(["build", "--release", "--locked", "--quiet", "--package", "zonewright", "--target-dir"])
        .arg(folder.path())
        .args(features)
        .stdout(Stdio::null())
        .status()
        .context("run cargo")?;
    if !status.success() {
        bail!("the build with {what} ended with {status}");
    }
    let took = begun.elapsed();
    let size = std::fs::metadata(folder.path().join("release/zonewright"))?.len();
    Ok(vec![what.to_owned(), seconds(took), megabytes(size)])
}
