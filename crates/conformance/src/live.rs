//! The provider suite against a zone of a real account, which a person gives for it.
//!
//! In: a harness of that zone, which can show what it holds and empty it. Out: a verdict for each case. What must hold: a zone in
//! use is refused before anything is written, and a zone that was tried is left empty.

use std::panic::AssertUnwindSafe;
use std::process::ExitCode;

use async_trait::async_trait;
use futures::FutureExt as _;
use zonewright_core::catalog::{FlagKind, FlagSpec, FlagValue, Settings};
use zonewright_core::{Error, ErrorKind, Result, Zone};

use crate::provider::{CASES, Harness};

const TRY: &str = "try a zone";
const USAGE: &str = "usage: live --zone ID-OR-NAME [CASE...]";

/// A zone that holds nothing but what makes it one: the SOA record, and the NS records of its apex.
#[async_trait]
pub trait EmptyZone: Harness {
    /// What it holds besides, each as a name and a type.
    ///
    /// # Errors
    /// The zone cannot be read.
    async fn others(&self) -> Result<Vec<String>>;

    /// Takes all of that away.
    ///
    /// # Errors
    /// The zone cannot be read or written.
    async fn empty(&self) -> Result<()>;
}

/// How a case went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseResult {
    /// The name of the case.
    pub case: &'static str,
    /// Whether all its demands were met.
    pub passed: bool,
}

/// Plays these cases (all without any) one after the other, shows each verdict, and empties the zone after each.
///
/// # Errors
/// [`ErrorKind::Configuration`] if the zone is in use, or a case is not known; else it cannot be read or emptied.
pub async fn run(
    tried: &impl EmptyZone,
    cases: &[String],
    mut show: impl FnMut(&CaseResult),
) -> Result<Vec<CaseResult>> {
    if let Some(unknown) = cases.iter().find(|case| CASES.iter().all(|(name, _)| name != case)) {
        return Err(Error::new(ErrorKind::Configuration, TRY, format!("there is no case {unknown}")));
    }
    let others = tried.others().await?;
    if let Some(first) = others.first() {
        let (zone, count) = (&tried.zone().name, others.len());
        let text = format!(
            "zone {zone} holds {count} record sets besides its SOA and NS, such as {first}; expected an empty zone made for this"
        );
        return Err(Error::new(ErrorKind::Configuration, TRY, text));
    }
    let wanted = |name: &str| cases.is_empty() || cases.iter().any(|case| case == name);
    let mut verdicts = Vec::new();
    for (name, case) in CASES.iter().filter(|(name, _)| wanted(name)) {
        let passed = AssertUnwindSafe(case(tried)).catch_unwind().await.is_ok();
        tried.empty().await?;
        let verdict = CaseResult { case: name, passed };
        show(&verdict);
        verdicts.push(verdict);
    }
    Ok(verdicts)
}

/// The zone of this id or name.
///
/// # Errors
/// [`ErrorKind::NotFound`] if there is none, [`ErrorKind::Configuration`] if there are several.
pub fn pick(zones: Vec<Zone>, asked: &str) -> Result<Zone> {
    let asked = asked.trim_end_matches('.');
    let mut found = zones.into_iter().filter(|zone| zone.key.zone.as_str() == asked || zone.name.as_str() == asked);
    match (found.next(), found.next()) {
        (Some(zone), None) => Ok(zone),
        (None, _) => Err(Error::new(ErrorKind::NotFound, TRY, format!("there is no zone {asked}"))),
        (Some(_), Some(_)) => {
            let text = format!("several zones are named {asked}; expected the id of one");
            Err(Error::new(ErrorKind::Configuration, TRY, text))
        }
    }
}

/// Each flag with its default, as the command line makes them.
pub fn settings(flags: &[FlagSpec]) -> Settings {
    let mut settings = Settings::default();
    for flag in flags {
        let value = match flag.kind {
            FlagKind::Bool => FlagValue::Bool(flag.default == "true"),
            FlagKind::Int => FlagValue::Int(flag.default.parse().unwrap_or(0)),
            FlagKind::Choice(_) => FlagValue::Text(flag.default.to_owned()),
            _ => continue,
        };
        settings.set(flag.name, value, false);
    }
    settings
}

/// A program of it: `live --zone ID-OR-NAME [CASE...]`. `open` makes the harness of a zone.
#[allow(clippy::print_stdout, clippy::print_stderr, reason = "the main function of a program for the terminal")]
pub async fn main<Z: EmptyZone>(open: impl AsyncFnOnce(&str) -> Result<Z>) -> ExitCode {
    let mut words = std::env::args().skip(1);
    let (Some("--zone"), Some(zone)) = (words.next().as_deref(), words.next()) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let cases: Vec<String> = words.collect();
    let played = match open(&zone).await {
        Ok(tried) => run(&tried, &cases, show).await,
        Err(error) => Err(error),
    };
    match played {
        Ok(verdicts) => {
            let failed = verdicts.iter().filter(|verdict| !verdict.passed).count();
            println!("{} cases, {failed} failed", verdicts.len());
            if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

#[allow(clippy::print_stdout, reason = "a line of the program's output")]
fn show(verdict: &CaseResult) {
    println!("{} {}", if verdict.passed { "ok    " } else { "FAILED" }, verdict.case);
}
