//! Bugs planted on purpose, to see that the simulator notices each of them.
//!
//! In: the repository, and a table of bugs (`bugs`), each a few texts of the program and what stands there with the bug. Out: a copy of
//! the program with all of them, each behind a switch, and for each bug how many rounds were played until a rule was broken. What
//! must hold: with no switch on, the copy breaks no rule in as many rounds.

mod bugs;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, Result, bail};

use self::bugs::{BUGS, Bug, Claims};
use crate::process::{capture, everything_said, run};
use crate::workspace;

/// A bug is to be noticed within so many rounds.
const ROUNDS: u64 = 100_000;

/// What says which bug is planted: its number in the table, from 1.
const SWITCH: &str = "ZONEWRIGHT_PLANTED";

/// Where the switch is asked for.
const CORE: &str = "crates/core/src/lib.rs";

/// What the copy's core has besides.
const ASK: &str = "
#[doc(hidden)]
pub mod planted {
    //! Which bug is planted.
    use std::sync::LazyLock;

    static NUMBER: LazyLock<Option<u32>> = LazyLock::new(|| std::env::var(\"SWITCH\").ok()?.parse().ok());

    /// Whether it is this one.
    pub fn is(number: u32) -> bool {
        *NUMBER == Some(number)
    }
}
";

/// The page with the table, and what is around it there.
const PAGE: &str = "docs/simulator.md";
const BEGIN: &str = "<!-- planted: written by `cargo xtask planted --write` -->\n";
const END: &str = "<!-- end of planted -->\n";

/// What came of playing with one bug, or with none.
#[derive(Debug)]
struct Played {
    rounds: String,
    /// The history in which a rule was broken, and the rule.
    broken: Option<(String, String)>,
}

/// Plays with each bug whose name has one of `words` in it, or with all. Returns whether each was noticed, and nothing without one.
///
/// # Errors
/// Where a text of the table does not stand in the program any more, or the copy cannot be built.
pub(crate) fn play(arguments: &[String]) -> Result<bool> {
    let (write, words): (Vec<&String>, Vec<&String>) = arguments.iter().partition(|word| *word == "--write");
    if let Some(option) = words.iter().find(|word| word.starts_with("--")) {
        bail!("no such option: {option}; expected --write, or words of the names of bugs");
    }
    if !write.is_empty() && !words.is_empty() {
        bail!("--write is for all bugs together");
    }
    let chosen = |bug: &Bug| words.is_empty() || words.iter().any(|word| bug.name.contains(word.as_str()));
    let bugs: Vec<(usize, &Bug)> = BUGS.iter().enumerate().filter(|(_, bug)| chosen(bug)).collect();
    if bugs.is_empty() {
        bail!("no bug has any of these words in its name");
    }
    let program = build()?;
    let places: BTreeSet<Claims> = bugs.iter().flat_map(|(_, bug)| bug.claims.iter().copied()).collect();
    let bare = places.into_iter().map(|claims| (None, "nothing", claims));
    let planted =
        bugs.iter().flat_map(|(at, bug)| bug.claims.iter().map(move |claims| (Some(at + 1), bug.name, *claims)));
    let games: Vec<(Option<usize>, &str, Claims)> = bare.chain(planted).collect();
    let played = all(&program, &games)?;
    let mut good = true;
    let mut table = String::from("| bug | rounds | history | rule |\n|---|---|---|---|\n");
    for ((number, name, claims), Played { rounds, broken }) in games.iter().zip(&played) {
        good &= number.is_some() == broken.is_some();
        if number.is_some() {
            let (history, rule) = broken.as_ref().map_or(("", "not noticed"), |(history, rule)| (history, rule));
            writeln!(table, "| {name}{} | {rounds} | {history} | {rule} |", claims.added())?;
        }
    }
    println!("\n{table}");
    if good && !write.is_empty() {
        write_table(&table)?;
    }
    println!("{}", if good { "Each bug was noticed, and without one no rule was broken." } else { "FAILED" });
    Ok(good)
}

/// The texts of the table that do not stand once in their files: a bug that cannot be planted any more is none that is noticed.
///
/// # Errors
/// Where a file cannot be read.
pub(crate) fn misplaced() -> Result<Vec<String>> {
    let root = workspace::root()?;
    let mut problems = Vec::new();
    for bug in BUGS {
        for edit in bug.edits {
            let found = fs::read_to_string(root.join(edit.file)).map_or(0, |text| text.matches(edit.text).count());
            if found != 1 {
                problems.push(format!("{:?}: {:?} stands {found} times in {}", bug.name, edit.text, edit.file));
            }
        }
    }
    Ok(problems)
}

/// The copy with all bugs, built. What has not changed since the last time is left as it is, so that cargo sees that too.
fn build() -> Result<std::path::PathBuf> {
    let root = workspace::root()?;
    let place = workspace::target()?.join("planted");
    let tree = place.join("tree");
    let files = capture(
        Command::new("git").args(["ls-files", "--cached", "--others", "--exclude-standard"]).current_dir(&root),
    )?;
    let files: BTreeSet<&str> = files.lines().filter(|file| root.join(file).is_file()).collect();
    // A module that moved must not be there twice.
    forget(&tree, Path::new(""), &files)?;
    for file in files {
        let content = fs::read(root.join(file)).with_context(|| format!("reading {file}"))?;
        let content = match String::from_utf8(content) {
            Ok(text) => planted(file, text)?.into_bytes(),
            Err(other) => other.into_bytes(),
        };
        let copy = tree.join(file);
        if fs::read(&copy).is_ok_and(|standing| standing == content) {
            continue;
        }
        fs::create_dir_all(copy.parent().unwrap_or(&tree))?;
        fs::write(&copy, content).with_context(|| format!("writing the copy of {file}"))?;
    }
    let build = place.join("build");
    let unwinding = ["--config", "profile.release.panic=\"unwind\""];
    run(Command::new(workspace::cargo()?.get_program())
        .args(["build", "--release", "--locked", "-p", "zonewright-simulator"])
        .args(unwinding)
        .env("CARGO_TARGET_DIR", &build)
        .current_dir(&tree))?;
    Ok(build.join("release/zonewright-simulator"))
}

/// Takes away what is in a folder of the copy and not in the repository any more.
fn forget(tree: &Path, folder: &Path, files: &BTreeSet<&str>) -> Result<()> {
    let Ok(entries) = fs::read_dir(tree.join(folder)) else { return Ok(()) };
    for entry in entries {
        let entry = entry?;
        let place = folder.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            forget(tree, &place, files)?;
        } else if !place.to_str().is_some_and(|place| files.contains(place)) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// A file as it is in the copy.
fn planted(file: &str, mut text: String) -> Result<String> {
    for (at, bug) in BUGS.iter().enumerate() {
        for edit in bug.edits.iter().filter(|edit| edit.file == file) {
            if text.matches(edit.text).count() != 1 {
                bail!("{:?} cannot be planted: {:?} does not stand once in {file}", bug.name, edit.text);
            }
            let core = if file.starts_with("crates/core/") { "crate" } else { "zonewright_core" };
            let ask = format!("{core}::planted::is({})", at + 1);
            text = text.replacen(edit.text, &edit.with.replace("PLANTED", &ask), 1);
        }
    }
    if file == CORE {
        text.push_str(&ASK.replace("SWITCH", SWITCH));
    }
    Ok(text)
}

/// Plays all of it, as many at a time as there are processors.
fn all(program: &Path, games: &[(Option<usize>, &str, Claims)]) -> Result<Vec<Played>> {
    let (next, played) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some((number, name, claims)) = games.get(at) else { return };
            let came = one(program, *number, *claims);
            let shown = match &came {
                Ok(Played { rounds, broken: Some((history, rule)) }) => {
                    format!("{rounds} rounds: {rule} (history {history})")
                }
                Ok(Played { rounds, broken: None }) => format!("{rounds} rounds: no rule was broken"),
                Err(error) => format!("{error:#}"),
            };
            println!("    {name}{}: {shown}", claims.added());
            played.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((at, came));
        }
    };
    std::thread::scope(|scope| {
        let count = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        for _ in 0..count {
            scope.spawn(work);
        }
    });
    let mut played = played.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    played.sort_by_key(|(at, _)| *at);
    played.into_iter().map(|(_, came)| came).collect()
}

fn one(program: &Path, number: Option<usize>, claims: Claims) -> Result<Played> {
    let mut command = Command::new(program);
    command.args(["--rounds", &ROUNDS.to_string(), "--seed", "1", "--claims", claims.word()]);
    if let Some(number) = number {
        command.env(SWITCH, number.to_string());
    }
    let (_, said) = everything_said(&mut command)?;
    read(&said).with_context(|| format!("what the simulator said cannot be read:\n{said}"))
}

/// What a run of the simulator says: its rounds, and what was broken in which history.
fn read(said: &str) -> Option<Played> {
    let line = said.lines().rfind(|line| line.contains(" rounds in ") && line.contains(" histories"))?;
    let rounds = grouped(line.split(' ').next()?);
    let broken = said.lines().find_map(|line| {
        let (history, rest) = line.strip_prefix("Broken in history ")?.split_once(": ")?;
        let (rule, _) = rest.split_once(" (")?;
        Some((history.to_owned(), rule.to_owned()))
    });
    Some(Played { rounds, broken })
}

/// A number with a comma between the thousands.
fn grouped(digits: &str) -> String {
    let from_the_end = |at: usize| digits.len() - at;
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && from_the_end(at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn write_table(table: &str) -> Result<()> {
    let path = workspace::root()?.join(PAGE);
    let page = fs::read_to_string(&path)?;
    let parts = page.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let Some((before, after)) = parts else { bail!("{PAGE} has no place for the table: {BEGIN}...{END}") };
    fs::write(&path, format!("{before}{BEGIN}\n{table}\n{END}{after}"))?;
    println!("written to {PAGE}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_simulator_says_is_read() {
        let broken = "\
12048 rounds in 530 histories, 12 calls, 9 writes; 1.0 s, 12048 rounds a second

Broken in history 42: the brake holds (daemon 0: 3 deletes (of 2)). The shortest story of it:

Broken: the brake holds.
";
        let played = read(broken).unwrap();
        assert_eq!(played.rounds, "12,048");
        assert_eq!(played.broken, Some(("42".to_owned(), "the brake holds".to_owned())));
        let whole =
            "100004 rounds in 4442 histories, 1 calls, 1 writes; 1.0 s, 1 rounds a second\nNo rule was broken.\n";
        let played = read(whole).unwrap();
        assert_eq!((played.rounds.as_str(), played.broken), ("100,004", None));
        assert!(read("thread panicked").is_none());
    }

    #[test]
    fn thousands_are_set_apart() {
        let shown = ["", "7", "999", "1000", "1234567"].map(grouped);
        assert_eq!(shown, ["", "7", "999", "1,000", "1,234,567"]);
    }

    /// A bug has a name of its own, a switch in each replacement, and a place.
    #[test]
    fn each_bug_is_one_of_its_own() {
        let names: BTreeSet<&str> = BUGS.iter().map(|bug| bug.name).collect();
        assert_eq!(names.len(), BUGS.len());
        for bug in BUGS {
            assert!(!bug.claims.is_empty() && !bug.edits.is_empty(), "{}", bug.name);
            assert!(
                bug.edits.iter().all(|edit| edit.with.contains("PLANTED") && edit.text != edit.with),
                "{}",
                bug.name
            );
        }
    }
}
