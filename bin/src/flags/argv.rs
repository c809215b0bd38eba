//! The words of a command line to texts by flag name.
//!
//! In come the arguments as the shell gave them; out come, for each flag that was given, its texts in order. The grammar
//! is that of external-dns (the Go library kingpin): argument files, switches without a value, no value that begins with
//! a dash unless it is attached with `=`, and no second time for a flag that holds one value. Where clap reads a command
//! line otherwise, [`normalise`] puts it into a form that both read alike.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use zonewright_core::catalog::FlagKind;

use super::help;
use super::removed;
use super::set::FlagSet;
use super::shell::Page;
use crate::input;

/// Largest argument file, in bytes.
const FILE_LIMIT: u64 = 1 << 20;

/// How many argument files may be read; a file that names itself ends here.
const FILES: u32 = 64;

/// What the arguments ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Given {
    /// The help text: of what this build can do, or of every flag.
    Help {
        /// With the flags of everything that is not here.
        long: bool,
    },
    /// The version.
    Version,
    /// A text for shells or manual pages.
    Page(Page),
    /// Texts by flag name, `true` and `false` for switches, and the words that are no flags.
    Values(Texts, Vec<String>),
}

/// Texts by flag name.
pub(super) type Texts = BTreeMap<&'static str, Vec<String>>;

/// Reads the arguments; `words` is how many words that are no flags are taken.
///
/// # Errors
/// One sentence in the words of external-dns.
pub(super) fn read(
    arguments: impl IntoIterator<Item = OsString>,
    set: &FlagSet,
    words: usize,
) -> Result<Given, String> {
    let arguments = arguments.into_iter().enumerate().map(|(at, argument)| {
        argument.into_string().map_err(|bad| format!("argument {} is not UTF-8: {}", at + 1, bad.to_string_lossy()))
    });
    let mut queue = Queue { left: arguments.collect::<Result<_, _>>()?, files: FILES };
    match normalise(&mut queue, set)? {
        Normal::Arguments(arguments) => matches(arguments, set, words),
        Normal::Answer(given) => Ok(given),
    }
}

/// Arguments that are still to be read; an argument file is put in its own place.
struct Queue {
    left: VecDeque<String>,
    files: u32,
}

impl Queue {
    fn next(&mut self) -> Result<Option<String>, String> {
        while let Some(argument) = self.left.pop_front() {
            let Some(path) = argument.strip_prefix('@') else { return Ok(Some(argument)) };
            self.files = self
                .files
                .checked_sub(1)
                .ok_or_else(|| format!("more than {FILES} argument files, the last @{path}"))?;
            for line in lines(path)?.into_iter().rev() {
                self.left.push_front(line);
            }
        }
        Ok(None)
    }

    /// The argument after a flag, if it can be the flag's value.
    fn value(&mut self) -> Result<Option<String>, String> {
        let Some(argument) = self.next()? else { return Ok(None) };
        if argument.len() > 1 && argument.starts_with('-') {
            self.left.push_front(argument);
            return Ok(None);
        }
        Ok(Some(argument))
    }
}

fn lines(path: &str) -> Result<Vec<String>, String> {
    let read = std::fs::File::open(path).and_then(|file| input::text(file, FILE_LIMIT));
    let text = read.map_err(|error| format!("argument file {path}: {error}"))?;
    Ok(text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect())
}

enum Normal {
    Arguments(Vec<String>),
    Answer(Given),
}

/// Attaches every value to its flag with `=` and refuses what clap would read in another sense.
fn normalise(queue: &mut Queue, set: &FlagSet) -> Result<Normal, String> {
    let mut out = Vec::new();
    while let Some(argument) = queue.next()? {
        match argument.as_str() {
            "--" => {
                out.push(argument);
                out.extend(queue.left.drain(..));
            }
            "--help" | "-h" => return Ok(Normal::Answer(Given::Help { long: false })),
            "--help-long" => return Ok(Normal::Answer(Given::Help { long: true })),
            "--version" | "-V" => return Ok(Normal::Answer(Given::Version)),
            switch => match Page::of(switch, queue.left.iter().cloned()) {
                Some(page) => return Ok(Normal::Answer(Given::Page(page))),
                None => out.push(attach(argument, queue, set)?),
            },
        }
    }
    Ok(Normal::Arguments(out))
}

fn attach(argument: String, queue: &mut Queue, set: &FlagSet) -> Result<String, String> {
    let Some(body) = argument.strip_prefix("--") else { return Ok(argument) };
    let (name, value) = match body.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (body, None),
    };
    if set.switch(name).is_some() {
        return match value {
            Some(value) => Err(format!("unexpected {value}: the switch '--{name}' takes no value, use --[no-]{name}")),
            None => Ok(argument),
        };
    }
    match (set.row(name), value) {
        (Some(_), None) => match queue.value()? {
            Some(value) => Ok(format!("--{name}={value}")),
            None => Err(format!("expected argument for flag '--{name}'")),
        },
        _ => Ok(argument),
    }
}

fn matches(arguments: Vec<String>, set: &FlagSet, words: usize) -> Result<Given, String> {
    let found = help::command(set).try_get_matches_from(arguments).map_err(|e| explain(&e, set))?;
    let loose: Vec<String> = found.get_many(help::WORDS).into_iter().flatten().cloned().collect();
    if let Some(word) = loose.get(words) {
        return Err(format!("unexpected {word}"));
    }
    let mut values = BTreeMap::new();
    for row in set.rows() {
        let name = row.spec.name;
        let texts = if row.spec.kind == FlagKind::Bool {
            let on = found.get_flag(name).then(|| "true".to_owned());
            on.or_else(|| found.get_flag(&help::negated(name)).then(|| "false".to_owned())).into_iter().collect()
        } else {
            found.get_many::<String>(name).into_iter().flatten().cloned().collect::<Vec<_>>()
        };
        if !texts.is_empty() {
            values.insert(name, texts);
        }
    }
    Ok(Given::Values(values, loose))
}

/// The words of external-dns for what clap found. Values are never repeated: they may be secrets.
fn explain(error: &clap::Error, set: &FlagSet) -> String {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.as_str(),
        Some(ContextValue::Strings(texts)) => texts.first().map_or("", String::as_str),
        _ => "",
    };
    let argument = text(ContextKind::InvalidArg);
    match error.kind() {
        ErrorKind::UnknownArgument => unknown(argument, text(ContextKind::SuggestedArg)),
        ErrorKind::ArgumentConflict => repeated(argument, set),
        _ => format!("cannot read the argument {argument}"),
    }
}

fn repeated(argument: &str, set: &FlagSet) -> String {
    // Clap shows the argument with a sample value: `--interval <DURATION>`.
    let long = argument.split_whitespace().next().unwrap_or_default().trim_start_matches('-');
    let long = long.split_once('=').map_or(long, |(name, _)| name);
    let name = set.switch(long).map_or(long, |(row, _)| row.spec.name);
    format!("flag '{name}' cannot be repeated")
}

fn unknown(argument: &str, suggested: &str) -> String {
    if let Some(name) = argument.strip_prefix("--") {
        let name = name.split_once('=').map_or(name, |(name, _)| name);
        let hint = match (removed::reason(name), suggested) {
            (Some(reason), _) => format!(": {reason}"),
            (None, "") => String::new(),
            (None, other) => format!(", did you mean '{other}'?"),
        };
        return format!("unknown long flag '--{name}'{hint}");
    }
    match argument.strip_prefix('-').and_then(|rest| rest.chars().next()) {
        Some(letter) => format!("unknown short flag '-{letter}'"),
        None => format!("unexpected {argument}"),
    }
}
