//! Runs one case: a runtime, a fresh harness, a deadline.

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

/// Says that nothing was tested, past the capture of test output: a skip must not look like a success.
fn skip(name: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED {name}: the harness has nothing to test against");
}

/// Says, past the capture of test output, what a declaration leaves out of a case.
pub(crate) fn note(what: &str) {
    let _ = writeln!(std::io::stderr(), "NOTE {what}");
}
