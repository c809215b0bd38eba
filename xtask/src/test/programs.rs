//! Running test programs by `cargo test`: their output goes on to the terminal, and is counted for each program on the way.
//!
//! Cargo's JSON messages name the package of each program and hold what the compiler warns of, its line `Running` says which program
//! comes next; both and the output of the tests come through one pipe, in the order in which they were written.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::tally::Tally;
use crate::process::line;

/// Runs `command`, a `cargo test` without arguments for the programs, adds what it says to `tally`, and gives each line that is for
/// people to `show`. `suffix` tells programs apart that run more than once.
///
/// # Errors
/// When it cannot be started, or ends with a status other than 0.
pub(super) fn run(
    command: Command,
    root: &Path,
    suffix: &str,
    tally: &mut Tally,
    show: impl FnMut(&str),
) -> Result<()> {
    run_tests(command, &[], root, suffix, tally, show)
}

/// As [`run`], beside other work: what is said appears at the end, so that it does not stand between the lines of that. Each line is
/// shown to `look` as it comes.
pub(super) fn run_aside(
    command: Command,
    root: &Path,
    suffix: &str,
    tally: &mut Tally,
    mut look: impl FnMut(&str),
) -> Result<()> {
    let mut said = String::new();
    let result = run(command, root, suffix, tally, |line| {
        look(line);
        said.push_str(line);
        said.push('\n');
    });
    print!("{said}");
    result
}

/// As [`run`], for the tests with exactly these names; none stands for all.
pub(super) fn run_tests(
    mut command: Command,
    names: &[String],
    root: &Path,
    suffix: &str,
    tally: &mut Tally,
    mut show: impl FnMut(&str),
) -> Result<()> {
    command.arg("--message-format=json").env("CARGO_TERM_COLOR", "never");
    if !names.is_empty() {
        command.args(["--", "--exact"]).args(names);
    }
    let told = line(&command);
    let (output, input) = std::io::pipe().context("cannot make a pipe")?;
    command.stdout(input.try_clone()?).stderr(input);
    let mut child = command.spawn().with_context(|| format!("cannot start {told}"))?;
    // It holds the pipe's other end, which would never be closed.
    drop(command);
    let mut reader = Reader::new(root, suffix);
    for text in BufReader::new(output).split(b'\n') {
        let text = text.context("cannot read the tests' output")?;
        let text = String::from_utf8_lossy(&text);
        if let Some(text) = reader.read(&text, tally) {
            show(&text);
        }
    }
    reader.end(tally);
    let status = child.wait()?;
    if !status.success() {
        bail!("{told} ended with {status}");
    }
    Ok(())
}

/// What cargo writes before the name of a program that it runs.
const RUNNING: &str = "     Running ";
/// And before that of a crate whose documentation has tests.
const DOCUMENTED: &str = "   Doc-tests ";

/// Whether this line says that a program runs: everything is built.
pub(super) fn is_announced(line: &str) -> bool {
    line.contains(RUNNING) || line.contains(DOCUMENTED)
}

/// Knows which program is running.
struct Reader<'a> {
    root: &'a Path,
    suffix: &'a str,
    /// Folders of packages by the file names of their test programs, until the build is over and from then on.
    packages: HashMap<String, PathBuf>,
    building: bool,
    since: Option<Instant>,
}

impl<'a> Reader<'a> {
    fn new(root: &'a Path, suffix: &'a str) -> Self {
        Self { root, suffix, packages: HashMap::new(), building: true, since: None }
    }

    /// Takes in one line, and returns what of it is for people.
    fn read<'t>(&mut self, text: &'t str, tally: &mut Tally) -> Option<Cow<'t, str>> {
        if self.building
            && text.starts_with('{')
            && let Ok(message) = serde_json::from_str::<Value>(text)
            && let Some(reason) = message.get("reason").and_then(Value::as_str)
        {
            self.building = reason != "build-finished";
            self.packages.extend(program(&message));
            let told = message.get("message")?;
            tally.warnings += usize::from(is_of_a_place(told));
            return Some(Cow::Owned(told.get("rendered")?.as_str()?.trim_end().to_owned()));
        }
        if let Some(name) = self.announced(text) {
            self.end(tally);
            self.since = Some(Instant::now());
            tally.begin(format!("{name}{}", self.suffix));
        } else {
            tally.read(text);
        }
        Some(Cow::Borrowed(text))
    }

    fn end(&mut self, tally: &mut Tally) {
        if let Some(since) = self.since.take() {
            tally.end(since.elapsed());
        }
    }

    /// The name of the program that this line of cargo's says to run next.
    fn announced(&self, text: &str) -> Option<String> {
        if let Some((_, name)) = text.split_once(DOCUMENTED) {
            return Some(format!("doc-tests {name}"));
        }
        let (source, path) = text.split_once(RUNNING)?.1.strip_suffix(')')?.rsplit_once(" (")?;
        let package = self.packages.get(Path::new(path).file_name()?.to_str()?)?;
        let folder = package.strip_prefix(self.root).unwrap_or(package);
        Some(format!("{} {}", folder.display(), source.strip_prefix("unittests ").unwrap_or(source)))
    }
}

/// The file name of the program that was built, and the folder of its package.
fn program(message: &Value) -> Option<(String, PathBuf)> {
    let text = |field: &str| message.get(field).and_then(Value::as_str);
    let program = Path::new(text("executable")?).file_name()?.to_str()?;
    Some((program.to_owned(), Path::new(text("manifest_path")?).parent()?.to_owned()))
}

/// Whether what the compiler says is about a place, or of a lint; else it is the sum at the end of a crate.
fn is_of_a_place(diagnostic: &Value) -> bool {
    let has_span = diagnostic.get("spans").and_then(Value::as_array).is_some_and(|spans| !spans.is_empty());
    has_span || diagnostic.get("code").is_some_and(|code| !code.is_null())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_counted_for_each_program() {
        let output = r#"   Compiling a v0.1.0
{"reason":"compiler-artifact","manifest_path":"/w/crates/a/Cargo.toml","executable":null}
{"reason":"compiler-artifact","manifest_path":"/w/crates/a/Cargo.toml","executable":"/t/debug/deps/a-01"}
{"reason":"compiler-artifact","manifest_path":"/w/crates/b/Cargo.toml","executable":"/t/debug/deps/one-02"}
{"reason":"compiler-message","message":{"rendered":"warning: unused\n","code":{"code":"unused"},"spans":[]}}
{"reason":"compiler-message","message":{"rendered":"warning: 1 warning emitted\n","code":null,"spans":[]}}
{"reason":"build-finished","success":true}
     Running unittests src/lib.rs (/t/debug/deps/a-01)
running 2 tests
{"reason":"what a test prints"}
test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
     Running tests/one.rs (target/debug/deps/one-02)
Running away (from a test)
test result: FAILED. 1 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
   Doc-tests a
test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s"#;
        let (mut tally, mut reader) = (Tally::default(), Reader::new(Path::new("/w"), " (release)"));
        let shown: Vec<Cow<'_, str>> = output.lines().filter_map(|text| reader.read(text, &mut tally)).collect();
        assert_eq!(shown.len(), output.lines().count() - 4);
        assert_eq!((shown[1].as_ref(), tally.warnings), ("warning: unused", 1));
        let counts: Vec<(&str, usize)> = tally.programs.iter().map(|p| (p.name.as_str(), p.executed())).collect();
        assert_eq!(
            counts,
            [
                ("crates/a src/lib.rs (release)", 2),
                ("crates/b tests/one.rs (release)", 4),
                ("doc-tests a (release)", 5),
            ]
        );
    }

    #[test]
    fn names_are_for_the_programs_and_come_last() {
        let mut command = Command::new("/bin/echo");
        command.args(["test", "--workspace"]);
        let (mut tally, mut shown) = (Tally::default(), Vec::new());
        let names = ["a::b".to_owned(), "c".to_owned()];
        run_tests(command, &names, Path::new("/w"), "", &mut tally, |text| shown.push(text.to_owned())).unwrap();
        assert_eq!(shown, ["test --workspace --message-format=json -- --exact a::b c"]);
    }

    #[test]
    fn a_command_that_fails_is_an_error_after_its_output() {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "echo out; echo err >&2; exit 3"]);
        let (mut tally, mut shown) = (Tally::default(), Vec::new());
        let error = run(command, Path::new("/w"), "", &mut tally, |text| shown.push(text.to_owned())).unwrap_err();
        assert!(error.to_string().ends_with("ended with exit status: 3"), "{error}");
        assert_eq!(shown, ["out", "err"]);
    }
}
