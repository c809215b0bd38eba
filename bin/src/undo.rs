//! `zonewright undo` and `zonewright holds`: what was changed goes back, and stays so for a while.
//!
//! The daemon makes the plan and carries it out, since it is the one writer; the command shows the plan and asks. Nothing is
//! sent before somebody said yes.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};
use zonewright_core::catalog::Settings;
use zonewright_core::clock::{Timestamp, utc};
use zonewright_core::{DnsName, Error, ErrorKind, Result};
use zonewright_engine::journal::Query;
use zonewright_engine::{Engine, Pin, UndoPlan, UndoReport, UndoRequest, UndoZone, saved_pins};

use crate::control;
use crate::history::{moment, query, wrong};
use crate::journal::{nowhere, state_left_behind};

/// The daemon's answer to `undo`: a plan, or with a hash, what became of it.
pub(crate) async fn reply(engine: &Engine, request: &Value) -> Value {
    if let Some(hash) = request["hash"].as_str() {
        return match engine.undo(hash).await {
            Ok(report) => done(&report),
            Err(error) => json!({ "error": error.chain() }),
        };
    }
    let hold_for = Duration::from_millis(request["hold"].as_u64().unwrap_or(0));
    let query = match query(request) {
        Ok(query) if query.since.is_some() || query.plan.is_some() => Query { name: None, ..query },
        Ok(_) => return json!({ "error": "expected since or plan" }),
        Err(problem) => return json!({ "error": problem }),
    };
    match engine.plan_undo(&UndoRequest { query, pin_for: hold_for }).await {
        Ok(plan) => planned(&plan),
        Err(error) => json!({ "error": error.chain() }),
    }
}

fn planned(plan: &UndoPlan) -> Value {
    let zone = |zone: &UndoZone| json!({ "zone": zone.zone, "changes": zone.changes, "skipped": zone.skipped, "cut": zone.cut });
    let zones: Vec<Value> = plan.zones.iter().map(zone).collect();
    let hold = zonewright_core::duration::show(plan.pin_for);
    let oldest = plan.reach.oldest.map(|at| json!({ "at": at, "utc": utc(at) }));
    json!({ "plan": plan.hash, "groups": plan.len(), "zones": zones, "hold": hold, "oldest": oldest, "dry_run": plan.dry_run })
}

fn done(report: &UndoReport) -> Value {
    json!({ "restored": report.restored, "failed": report.failed, "dry": report.dry, "unsaved": report.unsaved })
}

/// The names on hold, as the daemon tells them.
pub(crate) fn holds_of(engine: &Engine) -> Value {
    holds_as_json(engine.pins())
}

fn holds_as_json(holds: Vec<(String, Pin)>) -> Value {
    let hold = |(zone, hold): (String, Pin)| {
        let names: Vec<&DnsName> = hold.names.keys().collect();
        json!({ "zone": zone, "plan": hold.plan, "since": utc(hold.since), "until": utc(hold.until), "names": names })
    };
    Value::Array(holds.into_iter().map(hold).collect())
}

/// The daemon's answer to `release`.
pub(crate) fn release(engine: &Engine, name: &str) -> Value {
    let name = match name {
        "all" => None,
        name => match DnsName::parse(name) {
            Ok(name) => Some(name),
            Err(problem) => return json!({ "error": format!("{name:?}: {problem}") }),
        },
    };
    let released = engine.unpin(name.as_ref());
    match name {
        Some(name) if released.is_empty() => {
            json!({ "error": format!("{name} is not on hold; `zonewright holds` shows the names that are") })
        }
        _ => json!({ "released": released }),
    }
}

/// What `zonewright holds` prints. Where no daemon answers, its saved state is read.
///
/// # Errors
/// No daemon answers, and there is no state of it either.
pub(crate) async fn holds(settings: &Settings, now: Timestamp) -> Result<String> {
    let folder = control::meant(settings);
    let reply = match control::ask(&folder, &json!({ "command": "holds" })).await {
        Err(error) if error.kind == ErrorKind::Unavailable => saved(settings, &folder, now).await?,
        reply => reply?,
    };
    if is_json(settings) {
        return Ok(format!("{reply}\n"));
    }
    let shown = held(&reply["holds"]);
    let shown = if shown.is_empty() { "No name is on hold.\n".to_owned() } else { shown };
    let place = reply["place"].as_str().map(|place| format!("State: {place} (no daemon answers).\n"));
    Ok(shown + &place.unwrap_or_default())
}

/// The holds of the state that a daemon saved, with its place.
async fn saved(settings: &Settings, folder: &Path, now: Timestamp) -> Result<Value> {
    let nowhere = || nowhere(settings, "saved state", folder);
    let store = state_left_behind(settings, folder).await?.ok_or_else(nowhere)?;
    let holds = saved_pins(&*store, now).await?.ok_or_else(nowhere)?;
    Ok(json!({ "holds": holds_as_json(holds), "place": store.place() }))
}

fn is_json(settings: &Settings) -> bool {
    settings.text("output") == "json"
}

/// Names on hold as people read them.
pub(crate) fn held(holds: &Value) -> String {
    // Writing into a string cannot fail.
    let mut out = String::new();
    for hold in holds.as_array().into_iter().flatten() {
        let text = |key: &str| hold[key].as_str().unwrap_or_default();
        for name in hold["names"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            let _ = writeln!(
                out,
                "{name} in zone {}: on hold until {}, set back by undo {}; let it go with: zonewright undo --release {name}",
                text("zone"),
                text("until"),
                text("plan"),
            );
        }
    }
    out
}

/// `zonewright undo`: shows the plan, asks, and has it carried out. Or ends holds, with `--release`.
///
/// # Errors
/// Flags that make no sense; no daemon answers; the plan could not be carried out.
pub(crate) async fn run(settings: &Settings, now: Timestamp) -> Result<ExitCode> {
    let given = |flag: &str| !settings.text(flag).is_empty();
    let ways: Vec<&str> = ["since", "plan", "release"].into_iter().filter(|flag| given(flag)).collect();
    if ways.len() != 1 {
        return Err(wrong("expected one of --since, --plan and --release"));
    }
    let folder = control::meant(settings);
    if given("release") {
        let request = json!({ "command": "release", "name": settings.text("release") });
        let reply = control::ask(&folder, &request).await?;
        let count = reply["released"].as_array().map_or(0, Vec::len);
        say(settings, &reply, &format!("{count} names are no longer on hold.\n"));
        return Ok(ExitCode::SUCCESS);
    }
    let hold = settings.duration("hold-for");
    if hold.is_zero() {
        return Err(wrong("--hold-for must be greater than 0, or the next round would undo the undo"));
    }
    let since = given("since").then(|| moment("since", settings.text("since"), now)).transpose()?;
    let some = |flag: &str| Some(settings.text(flag)).filter(|text| !text.is_empty());
    let request = json!({
        "command": "undo", "since": since, "plan": some("plan"), "zone": some("zone"),
        "hold": u64::try_from(hold.as_millis()).unwrap_or(u64::MAX),
    });
    let plan = control::ask(&folder, &request).await?;
    let reach = plan["oldest"]["at"].as_i64();
    let late = since.filter(|since| reach.is_none_or(|oldest| oldest > since.0));
    say(settings, &plan, &shown(&plan, late));
    if plan["groups"].as_u64().unwrap_or(0) == 0 {
        return Ok(ExitCode::SUCCESS);
    }
    if !settings.bool("yes") && !confirmed()? {
        return Ok(ExitCode::FAILURE);
    }
    carry_out(settings, &folder, &plan).await
}

async fn carry_out(settings: &Settings, folder: &Path, plan: &Value) -> Result<ExitCode> {
    let reply = control::ask(folder, &json!({ "command": "undo", "hash": plan["plan"] })).await?;
    say(settings, &reply, &outcome(&reply));
    let failed = reply["failed"].as_array().is_some_and(|failed| !failed.is_empty());
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn say(settings: &Settings, reply: &Value, text: &str) {
    if is_json(settings) { println!("{reply}") } else { print!("{text}") }
}

/// Asks at the terminal. Where there is none, nobody said yes.
fn confirmed() -> Result<bool> {
    let failed = |e| Error::new(ErrorKind::Unavailable, "ask at the terminal", "standard input").caused_by(e);
    if !std::io::stdin().is_terminal() {
        eprintln!("Nothing was done: give --yes to carry it out.");
        return Ok(false);
    }
    eprint!("Carry this out? [y/N] ");
    std::io::stderr().flush().map_err(failed)?;
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).map_err(failed)?;
    let yes = matches!(line.trim(), "y" | "Y" | "yes");
    if !yes {
        eprintln!("Nothing was done.");
    }
    Ok(yes)
}

/// A plan as people read it; `late` is the moment that was asked for, if the journal does not go back to it.
fn shown(plan: &Value, late: Option<Timestamp>) -> String {
    // Writing into a string cannot fail.
    let mut out = String::new();
    for zone in plan["zones"].as_array().into_iter().flatten() {
        let changes: Vec<&str> = zone["changes"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let skipped = zone["skipped"].as_array().cloned().unwrap_or_default();
        if changes.is_empty() && skipped.is_empty() {
            continue;
        }
        let _ = writeln!(out, "zone {}", zone["zone"].as_str().unwrap_or_default());
        for change in changes {
            let _ = writeln!(out, "  {change}");
        }
        for name in zone["cut"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            let _ = writeln!(out, "  {name} goes back to what somebody else made of it in between, not further");
        }
        for skip in skipped {
            let text = |at: usize| skip[at].as_str().unwrap_or_default().to_owned();
            let _ = writeln!(out, "  left alone: {}: {}", text(0), text(1));
        }
    }
    if let Some(since) = late {
        let oldest = plan["oldest"]["utc"].as_str().map_or("it is empty".to_owned(), |at| format!("it begins at {at}"));
        let _ = writeln!(out, "The journal does not go back to {}: {oldest}.", utc(since));
    }
    match plan["groups"].as_u64().unwrap_or(0) {
        0 => out.push_str("There is nothing to undo.\n"),
        count => {
            let hold = plan["hold"].as_str().unwrap_or_default();
            let _ = writeln!(
                out,
                "Plan {}: {count} names go back, and are on hold for {hold}.",
                plan["plan"].as_str().unwrap_or_default()
            );
        }
    }
    if plan["dry_run"] == true {
        out.push_str("The daemon runs with --dry-run: nothing would be sent.\n");
    }
    out
}

fn outcome(reply: &Value) -> String {
    let mut out = String::new();
    for failed in reply["failed"].as_array().into_iter().flatten() {
        let text = |at: usize| failed[at].as_str().unwrap_or_default();
        let _ = writeln!(out, "not done: {}: {}", text(0), text(1));
    }
    if let Some(why) = reply["unsaved"].as_str() {
        let _ = writeln!(out, "The holds could not be saved and would be forgotten at a restart: {why}");
    }
    let restored = reply["restored"].as_array().map_or(0, Vec::len);
    match reply["dry"].as_u64() {
        Some(dry) if dry > 0 => {
            let _ = writeln!(out, "Dry run: {dry} names would have gone back; nothing was sent.");
        }
        _ => {
            let _ = writeln!(out, "{restored} names went back and are on hold; `zonewright holds` shows them.");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_as_people_read_it() {
        let nothing = json!({ "zones": [], "groups": 0, "oldest": null });
        assert_eq!(shown(&nothing, None), "There is nothing to undo.\n");
        let plan = json!({
            "plan": "abc", "groups": 1, "hold": "24h0m0s", "dry_run": true,
            "oldest": { "at": 5_000, "utc": "1970-01-01T00:00:05Z" },
            "zones": [
                { "zone": "i/quiet", "changes": [], "skipped": [], "cut": [] },
                { "zone": "i/example", "changes": ["- x.example 60 A 192.0.2.1"], "skipped": [["y.example A", "gone"]], "cut": ["x.example"] },
            ],
        });
        assert_eq!(
            shown(&plan, Some(Timestamp(1_000))),
            "zone i/example\n  - x.example 60 A 192.0.2.1\n  \
             x.example goes back to what somebody else made of it in between, not further\n  \
             left alone: y.example A: gone\n\
             The journal does not go back to 1970-01-01T00:00:01Z: it begins at 1970-01-01T00:00:05Z.\n\
             Plan abc: 1 names go back, and are on hold for 24h0m0s.\n\
             The daemon runs with --dry-run: nothing would be sent.\n"
        );
    }

    #[test]
    fn what_became_of_it() {
        let report = UndoReport {
            restored: vec![DnsName::parse("x.example").unwrap()],
            failed: vec![("- y.example".to_owned(), "refused".to_owned())],
            dry: 0,
            unsaved: Some("no room".to_owned()),
        };
        assert_eq!(
            outcome(&done(&report)),
            "not done: - y.example: refused\nThe holds could not be saved and would be forgotten at a restart: no room\n\
             1 names went back and are on hold; `zonewright holds` shows them.\n"
        );
        let dry = UndoReport { dry: 3, ..UndoReport::default() };
        assert_eq!(outcome(&done(&dry)), "Dry run: 3 names would have gone back; nothing was sent.\n");
    }

    #[test]
    fn holds_as_people_read_them() {
        let holds = json!([{ "zone": "i/z", "plan": "abc", "until": "2026-01-01T00:00:00Z", "names": ["a.example"] }]);
        assert_eq!(
            held(&holds),
            "a.example in zone i/z: on hold until 2026-01-01T00:00:00Z, set back by undo abc; let it go with: \
             zonewright undo --release a.example\n"
        );
    }
}
