//! How many tests each test program must execute: a feature or an attribute that drops tests is found, and not taken for a
//! faster run.
//!
//! The list is a file of lines `COUNT PROGRAM`, written by `cargo xtask test --write-counts`. A twentieth of the tests of a
//! program may go before somebody has to write it anew.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::tally::{Program, Tally};
use crate::workspace;

/// The list, from the repository's root.
const FILE: &str = "xtask/test-counts.txt";
/// What rewrites the list.
const REWRITE: &str = "cargo xtask test --write-counts";
const HEAD: &str = "\
# How many tests each test program executes. `cargo xtask test` fails where one executes less than 95 % of them or is not
# there any more, `cargo xtask check` where a file of tests is not listed. Written by `cargo xtask test --write-counts`.
";

/// Compares what has run with the list. A program that is listed and did not run is a problem only where `all` were to run, as
/// they are in CI. One that ran and is not listed is a notice: [`unlisted`] demands the lines of those that are easily forgotten.
///
/// # Errors
/// When there is a problem, or no list.
pub(super) fn check(tally: &mut Tally, all: bool) -> Result<()> {
    let path = path()?;
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {FILE}: write it by `{REWRITE}`"))?;
    let listed = parse(&text)?;
    tally.notices.extend(outgrown(&listed, &tally.programs));
    tally.notices.extend(new(&listed, &tally.programs));
    let problems = problems(&listed, &tally.programs, all);
    for problem in &problems {
        println!("    {problem}");
    }
    if !problems.is_empty() {
        bail!("{} test programs do not execute what {FILE} says", problems.len());
    }
    Ok(())
}

/// Writes the list from what has run.
///
/// # Errors
/// When the file cannot be written.
pub(super) fn write(tally: &Tally) -> Result<()> {
    fs::write(path()?, render(&tally.programs)).with_context(|| format!("cannot write {FILE}"))
}

fn path() -> Result<PathBuf> {
    Ok(workspace::root()?.join(FILE))
}

fn render(programs: &[Program]) -> String {
    let mut lines: Vec<(&str, usize)> = programs.iter().map(|p| (p.name.as_str(), p.executed())).collect();
    lines.retain(|(_, count)| *count > 0);
    lines.sort_unstable();
    let mut text = HEAD.to_owned();
    for (name, count) in lines {
        let _ = writeln!(text, "{count:>5} {name}");
    }
    text
}

/// The lines as (program, count).
fn parse(text: &str) -> Result<Vec<(&str, usize)>> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| entry(line).with_context(|| format!("{FILE}: {line:?} is no count and program"))).collect()
}

fn entry(line: &str) -> Option<(&str, usize)> {
    let (count, name) = line.split_once(' ')?;
    Some((name, count.parse().ok()?))
}

fn problems(listed: &[(&str, usize)], programs: &[Program], all: bool) -> Vec<String> {
    let mut problems = Vec::new();
    for (name, count) in listed {
        match programs.iter().find(|program| program.name == *name).map(Program::executed) {
            None if all => problems.push(format!(
                "{name} did not run; it has {count} tests. If it is gone, delete its line from {FILE}, or run `{REWRITE}`"
            )),
            Some(executed) if executed < least(*count) => problems.push(format!(
                "{name} executed {executed} tests of {count}. If they are gone on purpose, write the line `{executed} {name}` \
                 in {FILE}, or run `{REWRITE}`"
            )),
            _ => {}
        }
    }
    problems
}

/// What ran and is not listed.
fn new(listed: &[(&str, usize)], programs: &[Program]) -> Vec<String> {
    let is_listed = |name: &str| listed.iter().any(|(listed, _)| source(listed) == source(name));
    let new = |program: &&Program| program.executed() > 0 && !is_listed(&program.name);
    let notice = |program: &Program| {
        let Program { name, .. } = program;
        format!(
            "NOTICE {name} is not listed: add the line `{} {name}` to {FILE}, or run `{REWRITE}`",
            program.executed()
        )
    };
    programs.iter().filter(new).map(notice).collect()
}

/// The test programs of the workspace, `tests/NAME.rs` and `tests/NAME/main.rs` of each package, that the list does not know.
/// This is asked before anything is built.
///
/// # Errors
/// When the list or the repository cannot be read.
pub(crate) fn unlisted() -> Result<Vec<String>> {
    let text = fs::read_to_string(path()?).with_context(|| format!("cannot read {FILE}: write it by `{REWRITE}`"))?;
    let listed: Vec<&str> = parse(&text)?.into_iter().map(|(name, _)| name).collect();
    Ok(unlisted_of(&listed, &workspace::files()?))
}

fn unlisted_of(listed: &[&str], files: &[PathBuf]) -> Vec<String> {
    let programs = files.iter().filter_map(|file| test_program(file));
    let unlisted = programs.filter(|name| !listed.iter().any(|listed| source(listed) == name));
    unlisted.map(|name| format!("{name} is not in {FILE}: add a line `COUNT {name}`, or run `{REWRITE}`")).collect()
}

/// The name of a program without the note of how it was built.
fn source(name: &str) -> &str {
    name.split_once(" (").map_or(name, |(source, _)| source)
}

/// `PACKAGE tests/NAME.rs` of a file that is a test program; a module `tests` of a source folder holds none.
fn test_program(file: &Path) -> Option<String> {
    let (package, path) = file.to_str()?.split_once("/tests/")?;
    let program = match path.split_once('/') {
        None => file.extension().is_some_and(|extension| extension == "rs"),
        Some((_, rest)) => rest == "main.rs",
    };
    (program && !package.contains("/src")).then(|| format!("{package} tests/{path}"))
}

/// The fewest tests that will do where so many are listed.
fn least(listed: usize) -> usize {
    listed - listed / 20
}

/// A list that lags far behind protects little.
fn outgrown(listed: &[(&str, usize)], programs: &[Program]) -> Option<String> {
    let (tests, executed) = listed.iter().fold((0, 0), |(tests, executed), (name, count)| {
        let program = programs.iter().find(|program| program.name == *name);
        (tests + count, executed + program.map_or(*count, Program::executed))
    });
    (executed > tests + tests / 10)
        .then(|| format!("NOTICE {FILE} lists {tests} tests, and {executed} were executed: run `{REWRITE}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn programs(counts: &[(&str, usize)]) -> Vec<Program> {
        let program = |(name, passed): &(&str, usize)| Program {
            name: (*name).to_owned(),
            passed: *passed,
            ..Program::default()
        };
        counts.iter().map(program).collect()
    }

    fn check(listed: &[(&str, usize)], run: &[(&str, usize)], all: bool, expected: &[&str]) {
        let problems = problems(listed, &programs(run), all);
        let starts: Vec<&str> =
            problems.iter().map(|text| text.split([':', '.', ';']).next().unwrap_or_default()).collect();
        assert_eq!(starts, expected);
    }

    #[test]
    fn a_twentieth_may_go() {
        check(&[("a", 100)], &[("a", 95)], true, &[]);
        check(&[("a", 100)], &[("a", 94)], true, &["a executed 94 tests of 100"]);
        check(&[("a", 19)], &[("a", 18)], true, &["a executed 18 tests of 19"]);
        check(&[("a", 1)], &[("a", 0)], true, &["a executed 0 tests of 1"]);
        check(&[("a", 1)], &[("a", 7)], true, &[]);
    }

    #[test]
    fn a_program_that_is_gone_is_a_problem() {
        check(&[("a", 3), ("b", 4)], &[("a", 3)], true, &["b did not run"]);
        check(&[("a", 3), ("b", 4)], &[("a", 3)], false, &[]);
        check(&[("a", 3)], &[("a", 3), ("c", 1)], true, &[]);
    }

    #[test]
    fn a_program_that_is_new_is_told() {
        let run = programs(&[("a", 3), ("b", 2), ("c", 1), ("empty", 0)]);
        let told = new(&[("a", 3), ("b (release)", 2)], &run);
        assert_eq!(told.len(), 1);
        assert!(told[0].starts_with("NOTICE c is not listed: add the line `1 c`"), "{told:?}");
    }

    #[test]
    fn a_file_of_tests_has_a_line() {
        let files: Vec<PathBuf> = [
            "crates/a/tests/x.rs",
            "crates/a/tests/y/main.rs",
            "crates/a/tests/y/part.rs",
            "crates/a/tests/data.json",
            "crates/a/src/tests/x.rs",
        ]
        .map(PathBuf::from)
        .into();
        let found = unlisted_of(&["crates/a tests/x.rs (release)"], &files);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("crates/a tests/y/main.rs is not in "), "{found:?}");
    }

    #[test]
    fn what_is_written_is_read() {
        let text =
            render(&programs(&[("crates/b tests/x.rs", 12), ("crates/a src/lib.rs (release)", 3), ("empty", 0)]));
        let expected = [("crates/a src/lib.rs (release)", 3), ("crates/b tests/x.rs", 12)];
        assert_eq!(parse(&text).unwrap(), expected);
        assert_eq!(parse("many a").unwrap_err().to_string(), format!("{FILE}: \"many a\" is no count and program"));
    }

    #[test]
    fn a_list_that_lags_behind_is_told() {
        assert_eq!(outgrown(&[("a", 100), ("b", 100)], &programs(&[("a", 120)])), None);
        assert!(outgrown(&[("a", 100)], &programs(&[("a", 111)])).is_some());
    }
}
