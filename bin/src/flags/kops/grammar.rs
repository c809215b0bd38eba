//! The grammar of Go's pflag, as dns-controller's command line has it.
//!
//! In come arguments; out go the texts of dns-controller's own flags, and the other arguments in the daemon's grammar. What differs: a
//! switch takes `=true` and `=false`, a flag may be given twice (the last one counts), a value may begin with a dash, `_` stands for `-`,
//! and one dash before a single letter. What must hold: nothing is passed over, so that a mistyped flag is an error.

use std::collections::VecDeque;
use std::ffi::OsString;

use zonewright_core::catalog::{FlagKind, FlagSpec, FlagValue};

use super::table::SHORT;
use crate::flags::set::FlagSet;
use crate::flags::settings::Texts;
use crate::flags::value;

/// What the arguments are.
#[derive(Debug, Default)]
pub(super) struct Split {
    /// The texts of the command's own flags.
    pub(super) own: Texts,
    /// Everything else.
    pub(super) rest: Vec<OsString>,
}

/// Takes the command's own flags out of the arguments.
///
/// # Errors
/// What is wrong with one of them.
pub(super) fn split(
    arguments: impl IntoIterator<Item = OsString>,
    own: &FlagSet,
    daemon: &FlagSet,
) -> Result<Split, String> {
    let mut left: VecDeque<OsString> = arguments.into_iter().collect();
    let mut out = Split::default();
    while let Some(argument) = left.pop_front() {
        if argument == "--" {
            out.rest.extend(std::iter::once(argument).chain(left));
            break;
        }
        if argument == "-h" || argument == "-V" {
            out.rest.push(argument);
            continue;
        }
        let Some((name, value)) = argument.to_str().map(named).transpose()?.flatten() else {
            out.rest.push(argument);
            continue;
        };
        refused(&name)?;
        let known = own.row(&name).map(|row| (row, true)).or_else(|| daemon.row(&name).map(|row| (row, false)));
        let Some((row, ours)) = known else {
            out.rest.push(argument);
            continue;
        };
        let text = match value {
            None if row.spec.kind == FlagKind::Bool => "true".to_owned(),
            None => next(&mut left, &name)?,
            Some(text) => text,
        };
        if ours {
            take(&mut out.own, row.spec, text);
        } else {
            out.rest.push(OsString::from(daemon_form(row.spec, &text)?));
        }
    }
    Ok(out)
}

/// The long name and the attached value of a flag; `None` of what is no flag.
fn named(argument: &str) -> Result<Option<(String, Option<String>)>, String> {
    if let Some(body) = argument.strip_prefix("--").filter(|body| !body.is_empty()) {
        let (name, value) = body.split_once('=').map_or((body, None), |(name, value)| (name, Some(value.to_owned())));
        return Ok(Some((name.replace('_', "-"), value)));
    }
    let Some((letter, rest)) = argument.strip_prefix('-').and_then(first_letter) else { return Ok(None) };
    let (_, name) =
        SHORT.iter().find(|(short, _)| *short == letter).ok_or_else(|| format!("unknown short flag '-{letter}'"))?;
    let value = Some(rest.strip_prefix('=').unwrap_or(rest)).filter(|_| !rest.is_empty());
    Ok(Some(((*name).to_owned(), value.map(str::to_owned))))
}

fn first_letter(text: &str) -> Option<(char, &str)> {
    let mut chars = text.chars();
    Some((chars.next()?, chars.as_str()))
}

fn next(left: &mut VecDeque<OsString>, name: &str) -> Result<String, String> {
    let value = left.pop_front().ok_or_else(|| format!("expected argument for flag '--{name}'"))?;
    value.into_string().map_err(|_| format!("the value of '--{name}' is not UTF-8"))
}

/// Lists are split at commas and grow; of everything else the last text counts.
fn take(texts: &mut Texts, spec: FlagSpec, text: String) {
    let all = texts.entry(spec.name).or_default();
    if spec.kind.repeats() {
        all.extend(text.split(',').map(str::to_owned));
    } else {
        *all = vec![text];
    }
}

/// A flag of the daemon as the daemon takes it: switches without a value.
fn daemon_form(spec: FlagSpec, text: &str) -> Result<String, String> {
    let name = spec.name;
    if spec.kind != FlagKind::Bool {
        return Ok(format!("--{name}={text}"));
    }
    match value::parse(&spec, vec![text.to_owned()]) {
        Ok(FlagValue::Bool(true)) => Ok(format!("--{name}")),
        Ok(_) => Ok(format!("--no-{name}")),
        Err(problem) => Err(format!("{problem} (flag --{name})")),
    }
}

/// Flags of dns-controller that cannot be obeyed here.
fn refused(name: &str) -> Result<(), String> {
    if name.starts_with("gossip") || name == "memberlist-bind-port" {
        return Err(format!(
            "--{name}: gossip clusters, whose names go into hosts files, are not supported; keep dns-controller for these"
        ));
    }
    Ok(())
}
