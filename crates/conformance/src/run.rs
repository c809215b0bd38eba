//! Runs one case: a runtime, a fresh harness, a deadline.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::time::Duration;

/// Longest time for one case; what takes longer hangs.
const DEADLINE: Duration = Duration::from_mins(3);

/// Runs one case on a runtime of its own; for the macros.
///
/// # Panics
/// If the case fails or hangs.
pub fn run<H>(name: &str, harness: impl AsyncFnOnce() -> Option<H>, case: impl AsyncFnOnce(H)) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("the system gives a test two threads");
    runtime.block_on(async {
        let Some(harness) = harness().await else { return skip(name) };
        let ended = tokio::time::timeout(DEADLINE, case(harness)).await;
        assert!(ended.is_ok(), "case {name} was not done after {DEADLINE:?}");
    });
}

/// Names the file that gathers what was skipped for the summary of `cargo xtask test`.
const SKIPS: &str = "ZONEWRIGHT_SKIPS";

/// Says that nothing was tested, past the capture of test output and in the summary of the test command: a skip must not look like
/// a success.
fn skip(name: &str) {
    let line = format!("SKIPPED {name}: the harness has nothing to test against\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
    if let Some(file) = std::env::var_os(SKIPS) {
        let opened = OpenOptions::new().create(true).append(true).open(&file);
        let written = opened.and_then(|mut file| file.write_all(line.as_bytes()));
        written.unwrap_or_else(|error| panic!("{}: the skip cannot be noted: {error}", file.display()));
    }
}

/// Says, past the capture of test output, what a declaration leaves out of a case.
pub(crate) fn note(what: &str) {
    let _ = writeln!(std::io::stderr(), "NOTE {what}");
}
