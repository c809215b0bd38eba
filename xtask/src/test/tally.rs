//! Counting tests from what the test harness prints.

use std::fmt;

/// What all test programs together said.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    passed: usize,
    failed: usize,
    /// Names of the tests that failed.
    pub(super) failures: Vec<String>,
    /// Tests that are not run by default, as `IGNORED <test>`.
    pub(super) ignored: Vec<String>,
    /// Tests that returned early because a program is missing, as the test kit wrote them. The harness counts them as
    /// passed.
    pub(super) skips: Vec<String>,
}

impl Tally {
    /// Takes in one line of output; most lines mean nothing.
    pub(super) fn read(&mut self, line: &str) {
        if let Some(result) = line.strip_prefix("test result: ") {
            self.passed += count(result, "passed");
            self.failed += count(result, "failed");
        } else if let Some((name, outcome)) = line.strip_prefix("test ").and_then(|test| test.rsplit_once(" ... ")) {
            match outcome {
                "FAILED" => self.failures.push(name.to_owned()),
                _ if outcome.starts_with("ignored") => {
                    self.ignored.push(format!("IGNORED {name}{}", &outcome["ignored".len()..]));
                }
                _ => {}
            }
        }
    }
}

/// `3 passed, 0 failed, 1 skipped`; skipped are those that were left out for a missing program and those ignored by
/// default.
impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let skipped = self.skips.len() + self.ignored.len();
        write!(f, "{} passed, {} failed, {skipped} skipped", self.passed.saturating_sub(self.skips.len()), self.failed)
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

    #[test]
    fn results_add_up() {
        let mut tally = Tally::default();
        let output = "running 3 tests\n\
                      test a::b ... ok\n\
                      test c - should panic ... FAILED\n\
                      test soak ... ignored, takes an hour\n\
                      test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
                      test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.20s";
        output.lines().for_each(|line| tally.read(line));
        tally.skips.push("SKIPPED x: named is missing".to_owned());
        assert_eq!(tally.to_string(), "12 passed, 1 failed, 2 skipped");
        assert_eq!(tally.failures, ["c - should panic"]);
        assert_eq!(tally.ignored, ["IGNORED soak, takes an hour"]);
    }
}
