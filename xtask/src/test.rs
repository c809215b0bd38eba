//! The one test command: every step runs, each says how long it took, and the last line is the verdict.
//!
//! Three lanes run beside each other. In the first, one step follows the other. The others have what needs no server and no
//! deadline, and get the time that the first does not use: while single crates compile or are linked, and while tests wait. The third
//! builds in the target folder of the tests, where only one command can build at a time, so it waits until those are built.

mod beside;
pub(crate) mod counts;
mod programs;
mod rows;
mod tally;

use std::ffi::OsString;
use std::fs;
use std::num::NonZero;
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use self::tally::Tally;
use crate::process::run as run_command;
use crate::{ensure_servers, workspace};

/// What the command line asks for.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Options {
    /// Take the servers that are there.
    no_install: bool,
    /// Leave out what takes minutes: lints, docs, servers.
    fast: bool,
    /// Write how many tests were executed, in place of comparing it.
    write_counts: bool,
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
                "--write-counts" => options.write_counts = true,
                other => bail!("`cargo xtask test` has no option {other}"),
            }
        }
        if options.fast && options.write_counts {
            bail!("--fast leaves tests out, so --write-counts does not go with it");
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

/// What has run so far.
#[derive(Default)]
struct Report {
    steps: Vec<Step>,
    tally: Tally,
}

impl Report {
    fn step(&mut self, name: &'static str, action: impl FnOnce(&mut Tally) -> Result<()>) {
        println!("==> {name}");
        let started = Instant::now();
        let result = action(&mut self.tally);
        let took = started.elapsed();
        match &result {
            Ok(()) => println!("<== {name}: ok, {took:.1?}"),
            Err(error) => println!("<== {name}: FAILED, {took:.1?}: {error:#}"),
        }
        self.steps.push(Step { name, took, result });
    }

    fn absorb(&mut self, other: Self) {
        self.steps.extend(other.steps);
        self.tally.absorb(other.tally);
    }

    fn passed(&self) -> bool {
        self.steps.iter().all(|step| step.result.is_ok())
    }
}

/// Runs all steps, even after one has failed, and prints the summary. Returns whether all is well.
pub(crate) fn run(options: Options) -> bool {
    let started = Instant::now();
    if built_once() {
        workspace::build_once();
    }
    let mut report = Report::default();
    if !options.no_install && !options.fast {
        report.step("servers", |_| ensure_servers());
    }
    thread::scope(|scope| {
        let (building, built) = mpsc::channel();
        let mut beside = Vec::new();
        if options.fast {
            beside.push(scope.spawn(beside::only_lane));
        } else {
            beside.push(scope.spawn(move || beside::second_lane(options)));
            beside.push(scope.spawn(move || beside::third_lane(&built)));
        }
        first_lane(&mut report, options, building);
        if !beside.is_empty()
            && let Err(error) = workspace::no_longer_nice()
        {
            println!("the other lanes go on at their low priority: {error:#}");
        }
        let beside: Vec<Report> =
            beside.into_iter().map(|lane| lane.join().expect("a step returns its errors")).collect();
        // Nothing builds or runs beside them any more.
        if report.tally.few_failed() {
            report.step("once more", |tally| once_more(options, tally));
        }
        for lane in beside {
            report.absorb(lane);
        }
    });
    let passed = report.passed();
    report.step("counts", |tally| counts(options, passed, tally));
    if under_ci() {
        report.step("no skips", |tally| no_skips(tally));
    }
    summarise(&report, started.elapsed());
    report.passed()
}

/// Whether what is built now is not built upon: in CI, and in a target folder in which nobody has built anything but this task yet.
fn built_once() -> bool {
    let incremental = workspace::target().map(|target| target.join("debug/incremental"));
    let Ok(entries) = incremental.and_then(|folder| Ok(fs::read_dir(folder)?)) else { return true };
    under_ci() || entries.flatten().all(|entry| entry.file_name().to_string_lossy().starts_with("xtask"))
}

/// Compares how many tests were executed with what is listed, or lists it.
fn counts(options: Options, passed: bool, tally: &mut Tally) -> Result<()> {
    if !options.write_counts {
        return counts::check(tally, !options.fast);
    }
    if !passed {
        bail!("not written, since not everything has passed");
    }
    counts::write(tally)
}

/// Drops `building` once all tests are built and run, or cannot be built.
fn first_lane(report: &mut Report, options: Options, building: Building) {
    report.step("format", |_| format());
    report.step("tests", |tally| tests(options, tally, building));
    if !options.fast {
        report.step("warnings", |tally| no_warnings(tally));
    }
}

/// The third lane waits for an end of this.
type Building = mpsc::Sender<()>;

fn format() -> Result<()> {
    run_command(workspace::cargo()?.args(["fmt", "--all", "--check"]))
}

/// The simulator, whose tests are there for a lane of their own.
const SIMULATOR: &str = "zonewright-simulator";

/// All that the images hold.
const FULL: [&str; 2] = ["--features", "zonewright/full,zonewright/rfc2136-gss-tsig"];

/// The compiler that builds the tests is clippy, so that nothing is compiled a second time for its lints: what it warned of has been
/// counted on the way.
fn no_warnings(tally: &Tally) -> Result<()> {
    if tally.warnings > 0 {
        bail!("{} warnings while the tests were built and the libraries documented", tally.warnings);
    }
    Ok(())
}

/// Builds and runs the tests. Drops `building` when everything is built and runs. The verdict on a few that fail is that of
/// [`once_more`].
fn tests(options: Options, tally: &mut Tally, building: Building) -> Result<()> {
    let skips = SkipFile::new();
    let result = rows::build_and_run(options, &skips, tally, building);
    tally.skips.extend(skips.read());
    if tally.few_failed() { Ok(()) } else { result }
}

fn show(line: &str) {
    println!("{line}");
}

/// The `cargo test` of everything but the simulator, with so many tests at a time for each core.
fn test_command(options: Options, skips: &SkipFile, a_core: usize) -> Result<Command> {
    let mut cargo = workspace::cargo()?;
    let this = std::env::current_exe().context("this program is not found")?;
    cargo
        .args(["test", "--workspace", "--locked", "--no-fail-fast"])
        .env("ZONEWRIGHT_XTASK", this)
        .args(FULL)
        .env("ZONEWRIGHT_SKIPS", &skips.0)
        .env("RUST_TEST_THREADS", threads(a_core));
    if options.fast {
        cargo.env("ZONEWRIGHT_NO_SERVERS", "1");
    } else {
        cargo.args(["--exclude", SIMULATOR]).env("RUSTC_WORKSPACE_WRAPPER", workspace::clippy_driver());
    }
    Ok(cargo)
}

/// Runs the tests that failed once more, one after the other. Those that pass now are told in the summary: each is a test to mend.
///
/// # Errors
/// When one of them fails again, or is not found again.
fn once_more(options: Options, tally: &mut Tally) -> Result<()> {
    let skips = SkipFile::new();
    let names: Vec<String> = tally.failures.iter().map(|told| name(told).to_owned()).collect();
    println!("{}", names.join(", "));
    let mut cargo = test_command(options, &skips, 1)?;
    cargo.env("RUST_TEST_THREADS", "1");
    let mut again = Tally::default();
    programs::run_tests(cargo, &names, &workspace::root()?, "", &mut again, |line| println!("{line}"))?;
    let (passed, failed) = again.totals();
    if failed > 0 || passed < names.len() {
        bail!("of {} tests that failed, {passed} passed when they ran once more", names.len());
    }
    tally.were_unsteady();
    Ok(())
}

/// The name of a test as the harness takes it: where it says that one failed, it adds what is expected of it.
fn name(told: &str) -> &str {
    told.strip_suffix(" - should panic").unwrap_or(told)
}

/// How many tests run at a time for each core: those with servers wait for them, or for clocks, four fifths of their time.
const TESTS_A_CORE: usize = 5;

/// How many tests run at a time, unless the environment says so.
fn threads(a_core: usize) -> OsString {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    std::env::var_os("RUST_TEST_THREADS").unwrap_or_else(|| (a_core * cores).to_string().into())
}

/// Where everything is meant to be installed, a test that did not run has failed.
fn no_skips(tally: &Tally) -> Result<()> {
    if !tally.skips.is_empty() {
        bail!("{} tests were skipped", tally.skips.len());
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

fn summarise(report: &Report, took: Duration) {
    let Report { steps, tally } = report;
    println!("\ntest programs, longest first");
    for line in tally.table() {
        println!("  {line}");
    }
    println!("\nsummary");
    for Step { name, took, result } in steps {
        let verdict = if result.is_ok() { "ok" } else { "FAILED" };
        println!("  {name:<12} {verdict:<7} {:>7.1} s", took.as_secs_f64());
    }
    println!("  {:<12} {:<7} {:>7.1} s", "together", "", took.as_secs_f64());
    for test in &tally.failures {
        println!("  FAILED {test}");
    }
    for test in &tally.unsteady {
        println!("  UNSTEADY {test}: failed, and passed alone");
    }
    for line in tally.skips.iter().chain(&tally.ignored).chain(&tally.notices) {
        println!("  {line}");
    }
    println!("{tally}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_failed_is_found_again() {
        assert_eq!(["a::b", "a::b - should panic"].map(name), ["a::b"; 2]);
    }

    #[test]
    fn options_are_known_by_name() {
        let parse = |words: &[&str]| Options::parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        assert_eq!(parse(&["--fast"]).unwrap(), Options { fast: true, ..Options::default() });
        assert_eq!(parse(&["--quick"]).unwrap_err().to_string(), "`cargo xtask test` has no option --quick");
        assert!(parse(&["--write-counts", "--fast"]).is_err());
    }
}
