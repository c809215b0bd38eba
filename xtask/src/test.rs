//! The one test command: every step runs, each says how long it took, and the last line is the verdict.

mod tally;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use self::tally::Tally;
use crate::process::{line, run as run_command};
use crate::{check, ensure_servers, workspace};

/// What the command line asks for.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Options {
    /// Take the servers that are there.
    no_install: bool,
    /// Leave out what takes minutes: lints, docs, servers.
    fast: bool,
}

impl Options {
    /// # Errors
    /// Names the first option that does not exist.
    pub(crate) fn parse(arguments: &[String]) -> Result<Self> {
        let mut options = Self::default();
        for argument in arguments {
            match argument.as_str() {
                "--no-install" => options.no_install = true,
                "--fast" => options.fast = true,
                other => bail!("`cargo xtask test` has no option {other}"),
            }
        }
        Ok(options)
    }
}

/// A step that has run.
struct Step {
    name: &'static str,
    took: Duration,
    result: Result<()>,
}

/// Runs all steps, even after one has failed, and prints the summary. Returns whether all is well.
pub(crate) fn run(options: Options) -> bool {
    let mut steps = Vec::new();
    let mut tally = Tally::default();
    if !options.no_install && !options.fast {
        steps.push(step("servers", ensure_servers));
    }
    steps.push(step("format", format));
    if !options.fast {
        steps.push(step("lints", lints));
        steps.push(step("docs", docs));
    }
    steps.push(step("check", check::run));
    steps.push(step("tests", || tests(options, &mut tally)));
    if !options.fast {
        steps.push(step("example", example));
        steps.push(step("simulation", simulation));
    }
    if under_ci() {
        steps.push(step("no skips", || no_skips(&tally)));
    }
    summarise(&steps, &tally);
    steps.iter().all(|step| step.result.is_ok())
}

fn step(name: &'static str, action: impl FnOnce() -> Result<()>) -> Step {
    println!("==> {name}");
    let started = Instant::now();
    let result = action();
    let took = started.elapsed();
    match &result {
        Ok(()) => println!("<== {name}: ok, {took:.1?}"),
        Err(error) => println!("<== {name}: FAILED, {took:.1?}: {error:#}"),
    }
    Step { name, took, result }
}

fn format() -> Result<()> {
    run_command(workspace::cargo()?.args(["fmt", "--all", "--check"]))
}

/// Everything is checked with all that the images hold; the binary also as it is by default, and as small as it gets.
const FULL: [&str; 2] = ["--features", "zonewright/full,zonewright/rfc2136-gss-tsig"];

fn lints() -> Result<()> {
    let deny = ["--", "-D", "warnings"];
    run_command(
        workspace::cargo()?.args(["clippy", "--workspace", "--all-targets", "--locked"]).args(FULL).args(deny),
    )?;
    run_command(workspace::cargo()?.args(["clippy", "-p", "zonewright", "--all-targets", "--locked"]).args(deny))?;
    let small = ["--no-default-features", "--features", "provider-rfc2136"];
    run_command(workspace::cargo()?.args(["clippy", "-p", "zonewright", "--locked"]).args(small).args(deny))
}

fn docs() -> Result<()> {
    run_command(
        workspace::cargo()?
            .args(["doc", "--workspace", "--no-deps", "--locked"])
            .args(FULL)
            .env("RUSTDOCFLAGS", "-Dwarnings"),
    )
}

/// The provider from outside of the workspace: its suite, and its program. It has the workspace's versions and target folder, so
/// that what both need is built once.
fn example() -> Result<()> {
    let root = workspace::root()?;
    let folder = root.join("examples/provider-file");
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).context("cannot copy Cargo.lock")?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    for task in [&["fmt", "--check"][..], &["test"]] {
        run_command(workspace::cargo()?.current_dir(&folder).args(task).env("CARGO_TARGET_DIR", &target))?;
    }
    Ok(())
}

/// The simulator's tests at full length: 150,000 rounds take a minute with optimisation, and ten without.
fn simulation() -> Result<()> {
    run_command(workspace::cargo()?.args(["test", "--release", "--locked", "-p", "zonewright-simulator"]))
}

/// Runs the tests with their output passed through, and counts them on the way.
fn tests(options: Options, tally: &mut Tally) -> Result<()> {
    let skips = SkipFile::new();
    let mut cargo = workspace::cargo()?;
    cargo
        .args(["test", "--workspace", "--locked", "--no-fail-fast"])
        .args(FULL)
        .env("ZONEWRIGHT_SKIPS", &skips.0)
        .stdout(Stdio::piped());
    if options.fast {
        cargo.env("ZONEWRIGHT_NO_SERVERS", "1");
    }
    let result = stream(&mut cargo, |line| tally.read(line));
    tally.skips = skips.read();
    result
}

/// Where everything is meant to be installed, a test that did not run has failed.
fn no_skips(tally: &Tally) -> Result<()> {
    if !tally.skips.is_empty() {
        bail!("{} tests were skipped", tally.skips.len());
    }
    Ok(())
}

/// Runs `command`, passes each line of its standard output through and shows it to `read`.
fn stream(command: &mut Command, mut read: impl FnMut(&str)) -> Result<()> {
    let mut child = command.spawn().with_context(|| format!("cannot start {}", line(command)))?;
    let output = child.stdout.take().context("the standard output was not piped")?;
    for text in BufReader::new(output).split(b'\n') {
        let text = text.context("cannot read the tests' output")?;
        let text = String::from_utf8_lossy(&text);
        println!("{text}");
        read(&text);
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("{} ended with {status}", line(command));
    }
    Ok(())
}

/// The file to which the test kit appends a line for every test that it skips. Removed on drop.
struct SkipFile(PathBuf);

impl SkipFile {
    fn new() -> Self {
        Self(std::env::temp_dir().join(format!("zonewright-skips-{}", std::process::id())))
    }

    fn read(&self) -> Vec<String> {
        let text = fs::read_to_string(&self.0).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

impl Drop for SkipFile {
    fn drop(&mut self) {
        // Absent when nothing was skipped.
        let _ = fs::remove_file(&self.0);
    }
}

fn under_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "0" && value != "false")
}

fn summarise(steps: &[Step], tally: &Tally) {
    println!("\nsummary");
    for Step { name, took, result } in steps {
        let verdict = if result.is_ok() { "ok" } else { "FAILED" };
        println!("  {name:<10} {verdict:<7} {took:>8.1?}");
    }
    for test in &tally.failures {
        println!("  FAILED {test}");
    }
    for skip in tally.skips.iter().chain(&tally.ignored) {
        println!("  {skip}");
    }
    println!("{tally}");
}
