//! Counting tests from what the test harness prints.

use std::fmt;
use std::time::Duration;

/// One test program that has run.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Program {
    /// Folder of the package and source file, such as `crates/core src/lib.rs`; `doc-tests CRATE` for those of a crate.
    pub(super) name: String,
    pub(super) passed: usize,
    pub(super) failed: usize,
    pub(super) took: Duration,
}

impl Program {
    /// How many tests ran, those that the test kit skipped included.
    pub(super) fn executed(&self) -> usize {
        self.passed + self.failed
    }
}

/// What all test programs together said.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// How many warnings there were while they were built.
    pub(super) warnings: usize,
    /// In the order in which they ran.
    pub(super) programs: Vec<Program>,
    /// Names of the tests that failed.
    pub(super) failures: Vec<String>,
    /// Names of those that failed, and passed when they ran once more with nothing beside them.
    pub(super) unsteady: Vec<String>,
    /// Tests that are not run by default, as `IGNORED <test>`.
    pub(super) ignored: Vec<String>,
    /// Tests that returned early because a program is missing, as the test kit wrote them. The harness counts them as
    /// passed.
    pub(super) skips: Vec<String>,
    /// What nothing fails for and everybody should know, as `NOTICE <sentence>`.
    pub(super) notices: Vec<String>,
}

/// How many tests may fail and be tried again: servers that compete for two cores miss a deadline now and then, a change that is
/// wrong fails more, or fails again.
const FEW: usize = 3;

impl Tally {
    /// Whether tests have failed, and so few that they are tried again.
    pub(super) fn few_failed(&self) -> bool {
        (1..=FEW).contains(&self.failures.len())
    }

    /// What is read from now on is the output of this program.
    pub(super) fn begin(&mut self, name: String) {
        self.programs.push(Program { name, ..Program::default() });
    }

    /// Takes in one line of output; most lines mean nothing. What a test writes past the capture, without a line break as yet,
    /// may stand before what the harness says.
    pub(super) fn read(&mut self, line: &str) {
        if let Some((_, result)) = line.split_once("test result: ") {
            // The doc tests of a crate have several results.
            if let Some(program) = self.programs.last_mut() {
                program.passed += count(result, "passed");
                program.failed += count(result, "failed");
            }
        } else if let Some((name, outcome)) = line.split_once("test ").and_then(|(_, test)| test.rsplit_once(" ... ")) {
            match outcome {
                "FAILED" => self.failures.push(name.to_owned()),
                _ if outcome.starts_with("ignored") => {
                    self.ignored.push(format!("IGNORED {name}{}", &outcome["ignored".len()..]));
                }
                _ => {}
            }
        }
    }

    /// The last program has ended.
    pub(super) fn end(&mut self, took: Duration) {
        if let Some(program) = self.programs.last_mut() {
            program.took = took;
        }
    }

    /// Adds what another run said.
    pub(super) fn absorb(&mut self, other: Self) {
        let Self { warnings, programs, failures, unsteady, ignored, skips, notices } = other;
        self.warnings += warnings;
        self.programs.extend(programs);
        self.failures.extend(failures);
        self.unsteady.extend(unsteady);
        self.ignored.extend(ignored);
        self.skips.extend(skips);
        self.notices.extend(notices);
    }

    /// All that failed has passed when it ran once more.
    pub(super) fn were_unsteady(&mut self) {
        self.unsteady.append(&mut self.failures);
    }

    /// How many tests passed, those that were skipped included, and how many failed.
    pub(super) fn totals(&self) -> (usize, usize) {
        let passed: usize = self.programs.iter().map(|program| program.passed).sum();
        let failed: usize = self.programs.iter().map(|program| program.failed).sum();
        (passed + self.unsteady.len(), failed.saturating_sub(self.unsteady.len()))
    }

    /// The programs, longest first, as lines of a table.
    pub(super) fn table(&self) -> Vec<String> {
        let mut programs: Vec<&Program> = self.programs.iter().collect();
        programs.sort_by_key(|program| std::cmp::Reverse(program.took));
        let line = |program: &&Program| {
            format!("{:>8.1} s {:>5} tests  {}", program.took.as_secs_f64(), program.executed(), program.name)
        };
        programs.iter().map(line).collect()
    }
}

/// `3 passed, 0 failed, 1 skipped`; skipped are those that were left out for a missing program and those ignored by
/// default.
impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (passed, failed) = self.totals();
        let skipped = self.skips.len() + self.ignored.len();
        write!(f, "{} passed, {failed} failed, {skipped} skipped", passed.saturating_sub(self.skips.len()))
    }
}

/// The number before `what` in `ok. 3 passed; 0 failed; ...`.
fn count(result: &str, what: &str) -> usize {
    let number = result.split([';', '.']).find_map(|part| part.trim().strip_suffix(what));
    number.and_then(|number| number.trim().parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, seconds: u64, output: &str) -> Tally {
        let mut tally = Tally::default();
        tally.begin(name.to_owned());
        output.lines().for_each(|line| tally.read(line));
        tally.end(Duration::from_secs(seconds));
        tally
    }

    #[test]
    fn results_add_up() {
        let output = "running 3 tests\n\
                      test a::b ... ok\n\
                      SKIPPED test c - should panic ... FAILED\n\
                      test soak ... ignored, takes an hour\n\
                      test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
                      a word test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.20s";
        let mut tally = read("a src/lib.rs", 1, output);
        tally.skips.push("SKIPPED x: named is missing".to_owned());
        assert_eq!(tally.to_string(), "12 passed, 1 failed, 2 skipped");
        assert_eq!(tally.failures, ["c - should panic"]);
        assert_eq!(tally.ignored, ["IGNORED soak, takes an hour"]);
    }

    #[test]
    fn what_passes_when_it_runs_once_more_has_passed() {
        let mut tally = read(
            "a tests/one.rs",
            1,
            "test slow ... FAILED\ntest result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured",
        );
        tally.were_unsteady();
        assert_eq!(tally.to_string(), "4 passed, 0 failed, 0 skipped");
        assert_eq!((tally.unsteady, tally.failures), (vec!["slow".to_owned()], Vec::new()));
    }

    #[test]
    fn the_longest_program_comes_first() {
        let mut tally = read("short", 2, "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured");
        tally.absorb(read("long", 61, "test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured"));
        assert_eq!(tally.table(), ["    61.0 s     4 tests  long", "     2.0 s     3 tests  short"]);
    }
}
