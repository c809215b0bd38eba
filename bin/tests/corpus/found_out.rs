//! A program that does nothing, fails or hangs is found out.

use std::time::Duration;

use crate::compare::differences;
use crate::program::Program;
use crate::{PROGRAM, cases, corpus};

/// The differences of a recorded run that creates something, with this program in place of ours.
async fn differences_of(program: Program<'_>) -> Vec<String> {
    let case = cases(&corpus(), "ingress").into_iter().find(|case| !case.run.changes.create.is_empty());
    let case = case.expect("a run that creates something");
    differences(&case.run, &program.play(&case.objects, &case.run).await)
}

#[tokio::test]
async fn a_program_that_does_nothing_is_found_out() {
    let found = differences_of(Program { path: "true", ..PROGRAM }).await;
    assert!(found.iter().any(|line| line.starts_with("  create: missing")), "{found:?}");
}

#[tokio::test]
async fn a_program_that_fails_is_found_out() {
    let found = differences_of(Program { path: "false", ..PROGRAM }).await;
    assert_eq!(found, ["  exit: expected success, got failure"]);
}

#[tokio::test]
async fn a_program_that_does_not_end_is_found_out() {
    let found = differences_of(Program { limit: Duration::ZERO, ..PROGRAM }).await;
    assert_eq!(found.first().map(String::as_str), Some("  did not end within 0ns"), "{found:?}");
}
