//! Test programs that run beside each other, each row of them one after the other by a `cargo test` of its own.

use std::process::Command;
use std::thread;

use anyhow::Result;

use super::tally::Tally;
use super::{Building, Options, SkipFile, TESTS_A_CORE, programs, show, test_command};
use crate::{documentation, workspace};

/// The program of the end-to-end tests, which takes as long as all others together. Where there are no other lanes it is one of many.
const END_TO_END: &str = "e2e";

/// Test programs that run one after the other.
struct Row {
    cargo: Command,
    /// Lines are shown as they come; else all at the end, so that they do not stand between those of another row.
    is_live: bool,
}

impl Row {
    fn live(cargo: Command) -> Self {
        Self { cargo, is_live: true }
    }

    fn aside(cargo: Command) -> Self {
        Self { cargo, is_live: false }
    }
}

/// Builds everything, then runs the rows beside each other. Drops `building` when each of them has begun to run: it looks once more
/// whether all is built, and only one cargo at a time may do so. A program that is in no row is missed when the tests are counted.
pub(super) fn build_and_run(options: Options, skips: &SkipFile, tally: &mut Tally, building: Building) -> Result<()> {
    let root = workspace::root()?;
    let mut build = test_command(options, skips, 1)?;
    build.arg("--no-run");
    programs::run(build, &root, "", tally, show)?;
    let rows = if options.fast { fast_rows(options, skips)? } else { all_rows(options, skips)? };
    let rows = thread::scope(|scope| {
        let run = |Row { cargo, is_live }: Row, building: Building| {
            let root = &root;
            scope.spawn(move || {
                let (mut tally, mut faults, mut building) = (Tally::default(), 0, Some(building));
                let mut look = |line: &str| {
                    if programs::is_announced(line) {
                        building = None;
                    }
                    faults += usize::from(documentation::has_faults(line));
                };
                let result = if is_live {
                    programs::run(cargo, root, "", &mut tally, |line| {
                        look(line);
                        show(line);
                    })
                } else {
                    programs::run_aside(cargo, root, "", &mut tally, look)
                };
                // What the compiler warned of is told again by each of them, and was counted once.
                tally.warnings = faults;
                (result, tally)
            })
        };
        let rows: Vec<_> = rows.into_iter().map(|row| run(row, building.clone())).collect();
        drop(building);
        rows.into_iter().map(|row| row.join().expect("a row returns its errors")).collect::<Vec<_>>()
    });
    let mut result = Ok(());
    for (of_row, told) in rows {
        tally.absorb(told);
        result = result.and(of_row);
    }
    result
}

/// Those of `sidebyside` itself are those of its library.
const LIBRARIES_AND_PROGRAMS: [&str; 5] = ["--lib", "--bin", "[!s]*", "--bin", "sidebyside-*"];

/// The end-to-end tests, which wait for servers most of the time; all other programs; and every library is documented and its examples
/// tested.
fn all_rows(options: Options, skips: &SkipFile) -> Result<Vec<Row>> {
    let mut first = test_command(options, skips, TESTS_A_CORE - 1)?;
    first.args(["--test", END_TO_END]);
    let mut others = test_command(options, skips, TESTS_A_CORE / 2)?;
    others.args(LIBRARIES_AND_PROGRAMS).args(["--test", "[!e]*", "--test", "e[!2]*"]);
    let mut documented = test_command(options, skips, 1)?;
    documented.arg("--doc");
    documentation::along_with_tests(&mut documented)?;
    Ok(vec![Row::live(first), Row::aside(others), Row::aside(documented)])
}

/// Without servers the names of the programs say by their first letters which wait (those of a provider that is throttled, or whose
/// zone is large), and divide the others into two rows that take about as long. Examples in the documentation are left out: nothing keeps
/// what was made of them the last time.
fn fast_rows(options: Options, skips: &SkipFile) -> Result<Vec<Row>> {
    let row = |a_core| test_command(options, skips, a_core);
    let (mut first, mut second, mut waiting) = (row(TESTS_A_CORE)?, row(TESTS_A_CORE)?, row(1)?);
    first.args(LIBRARIES_AND_PROGRAMS).args(["--test", "[a-b]*", "--test", "[d-kmo-s]*"]);
    second.args(["--test", "c*"]);
    waiting.args(["--test", "[!a-kmo-s]*"]);
    Ok(vec![Row::live(first), Row::aside(second), Row::aside(waiting)])
}
