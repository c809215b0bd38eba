//! What each provider costs who builds it alone: crates, processor time and the size of the program.
//!
//! In: the manifests. Out: a table in Markdown. Everything is built once in a folder of its own; a crate that several programs share is
//! compiled once, and its time counts for each of them. The compiler is called through this program, which notes how long it took; what
//! the build scripts of some crates compile in C is not among it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::{process, workspace};

/// Names the file to which a call as the compiler's wrapper writes its time.
const LOG: &str = "XTASK_COMPILE_LOG";
/// Ticks of the times in `/proc`: the same on every Linux.
const TICKS: u64 = 100;
/// What each program has besides its provider.
const BESIDES: &str = "cluster";

/// Builds the program with each provider alone, and with everything, and prints the table.
///
/// # Errors
/// A build fails, or a file cannot be read or written.
pub(crate) fn run() -> Result<()> {
    let folder = workspace::root()?.join("target/sizes");
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let log = folder.join("compile.log");
    println!("| features | crates | processor time | size |\n|---|---|---|---|");
    for features in providers()?.iter().map(|provider| format!("{BESIDES},{provider}")).chain(["full".to_owned()]) {
        let built = build(&folder, &log, &features)?;
        let times = times(&log)?;
        let ticks: u64 = built.units.iter().filter_map(|unit| times.get(unit)).sum();
        let (minutes, size) = (tenths(ticks, 60 * TICKS), tenths(built.size, 1_000_000));
        println!("| `{features}` | {} | {minutes} min | {size} MB |", built.packages);
    }
    Ok(())
}

/// The features of the program that bring a provider each.
fn providers() -> Result<Vec<String>> {
    let metadata =
        process::capture(workspace::cargo()?.args(["metadata", "--no-deps", "--format-version=1", "--locked"]))?;
    let metadata: Value = serde_json::from_str(&metadata).context("what cargo says of the workspace")?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let features = packages
        .filter(|package| package["name"] == "zonewright")
        .filter_map(|package| package["features"].as_object());
    let names = features.flat_map(serde_json::Map::keys).filter(|name| name.starts_with("provider-"));
    Ok(names.cloned().collect())
}

/// A number in some unit, with one decimal.
fn tenths(number: u64, unit: u64) -> String {
    let tenths = (number * 10 + unit / 2) / unit;
    format!("{}.{}", tenths / 10, tenths % 10)
}

struct Built {
    /// What the compiler calls what it made.
    units: BTreeSet<String>,
    packages: usize,
    /// Of the program, in bytes.
    size: u64,
}

fn build(folder: &Path, log: &Path, features: &str) -> Result<Built> {
    let this = std::env::current_exe().context("the path of this program")?;
    let mut command = workspace::cargo()?;
    command
        .args(["build", "--release", "--locked", "-p", "zonewright", "--bin", "zonewright", "--no-default-features"])
        .args(["--features", features, "--message-format=json-render-diagnostics", "--target-dir"])
        .arg(folder)
        .env("RUSTC_WRAPPER", this)
        .env(LOG, log);
    let told = process::capture(&mut command)?;
    let messages = told.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let artifacts: Vec<Value> = messages.filter(|message| message["reason"] == "compiler-artifact").collect();
    let files =
        artifacts.iter().filter_map(|artifact| artifact["filenames"].as_array()).flatten().filter_map(Value::as_str);
    let mut units: BTreeSet<String> = files.filter_map(unit_of).collect();
    // The program itself has no digest in its name; it is what was compiled last.
    units.extend(fs::read_to_string(log).ok().and_then(|log| Some(log.lines().rev().find_map(program)?.to_owned())));
    let packages: BTreeSet<&str> = artifacts.iter().filter_map(|artifact| artifact["package_id"].as_str()).collect();
    let program = folder.join("release/zonewright");
    let size = fs::metadata(&program).with_context(|| program.display().to_string())?.len();
    Ok(Built { units, packages: packages.len(), size })
}

/// The digest in a file's name, or in that of the folder of a build script.
fn unit_of(file: &str) -> Option<String> {
    let path = Path::new(file);
    let stem = path.file_stem().and_then(OsStr::to_str)?;
    let named = if stem.starts_with("build-script") { path.parent()?.file_name()?.to_str()? } else { stem };
    let digest = named.rsplit('-').next()?;
    (digest.len() == 16 && digest.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| digest.to_owned())
}

/// The unit of a line of the log, if it is the program.
fn program(line: &str) -> Option<&str> {
    let mut words = line.split(' ');
    let (unit, name) = (words.next()?, words.next()?);
    (name == "zonewright/bin").then_some(unit)
}

/// Processor time by unit, in ticks.
fn times(log: &Path) -> Result<BTreeMap<String, u64>> {
    let text = fs::read_to_string(log).with_context(|| log.display().to_string())?;
    let one = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let [unit, _, ticks] = words.as_slice() else { return None };
        Some(((*unit).to_owned(), ticks.parse().ok()?))
    };
    Ok(text.lines().filter_map(one).collect())
}

/// A call as the compiler's wrapper; `None` if this is none.
pub(crate) fn wrapped(arguments: &[String]) -> Option<Result<ExitCode>> {
    let log = PathBuf::from(std::env::var_os(LOG)?);
    let (compiler, rest) = arguments.split_first()?;
    Some(compile(compiler, rest, &log))
}

fn compile(compiler: &str, arguments: &[String], log: &Path) -> Result<ExitCode> {
    let status = Command::new(compiler).args(arguments).status().with_context(|| format!("cannot start {compiler}"))?;
    let after = |flag: &str| arguments.iter().skip_while(|one| *one != flag).nth(1).map(String::as_str);
    let unit = arguments.iter().find_map(|one| one.strip_prefix("extra-filename=-"));
    if let (Some(unit), Some(name)) = (unit, after("--crate-name")) {
        let kind = after("--crate-type").unwrap_or("test");
        let line = format!("{unit} {name}/{kind} {}\n", of_children()?);
        let file = OpenOptions::new().create(true).append(true).open(log);
        file.and_then(|mut file| file.write_all(line.as_bytes())).with_context(|| log.display().to_string())?;
    }
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Processor time of the children that have ended, in ticks (proc_pid_stat(5): `cutime` and `cstime`).
fn of_children() -> Result<u64> {
    let stat = fs::read_to_string("/proc/self/stat").context("/proc/self/stat")?;
    // The second field is a name in parentheses, which may hold blanks.
    let rest = stat.rsplit(')').next().unwrap_or_default();
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
    Ok(ticks(13) + ticks(14))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_compiled_is_known_by_its_digest() {
        for (file, expected) in [
            ("/t/release/deps/libserde-0123456789abcdef.rlib", Some("0123456789abcdef")),
            ("/t/release/build/ring-0123456789abcdef/build-script-build", Some("0123456789abcdef")),
            ("/t/release/zonewright", None),
            ("/t/release/deps/libserde-derive.so", None),
        ] {
            assert_eq!(unit_of(file).as_deref(), expected, "{file}");
        }
        assert_eq!(program("0123456789abcdef zonewright/bin 12"), Some("0123456789abcdef"));
        assert_eq!(program("0123456789abcdef zonewright/lib 12"), None);
        assert_eq!((tenths(1_949, 100), tenths(96, 100), tenths(0, 100)), ("19.5".into(), "1.0".into(), "0.0".into()));
    }

    #[test]
    fn the_time_of_children_is_read() {
        // They have taken none, or some: what counts is that the fields are those.
        assert!(of_children().unwrap() < 1_000_000);
    }
}
