//! What runs beside the tests: it needs no server and has no deadline.

use std::fs;
use std::process::Command;
use std::sync::mpsc;

use anyhow::{Context as _, Result, bail};

use super::tally::Tally;
use super::{Options, Report, SIMULATOR, programs, under_ci};
use crate::process::{line, run as run_command};
use crate::{check, deny, documentation, workspace};

/// What is beside the tests where no servers are.
pub(super) fn only_lane() -> Report {
    let mut report = Report::default();
    report.step("check", |_| check::run());
    report
}

pub(super) fn second_lane(options: Options) -> Report {
    let mut report = Report::default();
    report.step("check", |_| check::run());
    report.step("dependencies", |tally| dependencies(options, tally));
    report.step("simulation", simulation);
    report
}

pub(super) fn third_lane(built: &mpsc::Receiver<()>) -> Report {
    let mut report = Report::default();
    // Nothing is ever sent: this returns when the sender is gone.
    let _ = built.recv();
    report.step("lints", lints);
    report.step("docs", |_| docs());
    report.step("example", example);
    report
}

/// Without cargo-deny, and with no right to install it, this is left out as a test is whose server is missing.
fn dependencies(options: Options, tally: &mut Tally) -> Result<()> {
    let notice = if options.no_install && !under_ci() && !deny::is_there()? {
        Some("dependencies were not checked: cargo-deny is missing (cargo xtask deny)".to_owned())
    } else {
        deny::check(!options.no_install)?
    };
    tally.notices.extend(notice.map(|notice| format!("NOTICE {notice}")));
    Ok(())
}

/// What the tests are not built as: the program as it is by default. As small as it gets, it is part of the example. It is built and
/// not checked, since that takes of what the tests were built of; its library alone, since the end-to-end tests run the program.
fn lints(tally: &mut Tally) -> Result<()> {
    let mut cargo = linted("build")?;
    cargo.args(["-p", "zonewright", "--lib", "--locked"]);
    without_warnings(cargo, "", tally)
}

/// That of this program, which is no library: those are documented where their examples are tested.
fn docs() -> Result<()> {
    run_command(linted("doc")?.args(["-p", "xtask", "--no-deps", "--locked"]).env("RUSTDOCFLAGS", "-Dwarnings"))
}

/// The compiler is clippy.
fn linted(what: &str) -> Result<Command> {
    let mut cargo = workspace::nice_cargo()?;
    cargo.arg(what).env("RUSTC_WORKSPACE_WRAPPER", workspace::clippy_driver());
    Ok(cargo)
}

/// The provider from outside of the workspace: its suite, and its program. It has the workspace's versions, its profile for
/// dependencies (`.cargo/config.toml`) and its target folder, so that what both need is built once.
fn example(tally: &mut Tally) -> Result<()> {
    let root = workspace::root()?;
    let folder = root.join("examples/provider-file");
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).context("cannot copy Cargo.lock")?;
    let target = workspace::target()?;
    run_command(workspace::cargo()?.current_dir(&folder).args(["fmt", "--check"]))?;
    let mut cargo = workspace::nice_cargo()?;
    cargo.current_dir(&folder).arg("test").env("CARGO_TARGET_DIR", &target);
    without_warnings(cargo, "", tally)
}

/// The crates that make up the simulator, by the lowest level of optimisation at which it plays as fast as with 3: a third less to compile.
/// Regular expressions are linked by the filters, and none is played.
const LEVELS: [(&str, u8); 8] = [
    ("aho-corasick", 0),
    ("regex-automata", 0),
    ("regex-syntax", 0),
    ("zonewright-core", 2),
    ("zonewright-engine", 1),
    ("zonewright-registry", 2),
    ("zonewright-registry-dynamodb", 1),
    (SIMULATOR, 1),
];

/// The simulator's tests at full length: 150,000 rounds take two minutes with optimisation, and more than ten without. Overflows are
/// found as in a build without. Lints and documentation come along, as with the other tests.
fn simulation(tally: &mut Tally) -> Result<()> {
    let mut cargo = linted("test")?;
    cargo.args(["--release", "--locked", "-p", SIMULATOR]);
    cargo.args(["--config", "profile.release.overflow-checks=true"]);
    // Tests unwind in any case: where the program that they start does not, everything below it is built twice.
    cargo.args(["--config", "profile.release.panic=\"unwind\""]);
    for (name, level) in LEVELS {
        cargo.args(["--config", &format!("profile.release.package.{name}.opt-level={level}")]);
    }
    documentation::along_with_tests(&mut cargo)?;
    without_warnings(cargo, " (release)", tally)
}

/// Runs tests, or only builds; a warning of the compiler is an error.
fn without_warnings(cargo: Command, note: &str, tally: &mut Tally) -> Result<()> {
    let (before, told) = (tally.warnings, line(&cargo));
    programs::run_aside(cargo, &workspace::root()?, note, tally, |_| ())?;
    let warnings = tally.warnings - before;
    if warnings > 0 {
        bail!("{warnings} warnings of {told}");
    }
    Ok(())
}
