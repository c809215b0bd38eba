//! `zonewright undo` and `zonewright pinned`: changes are undone, and the names stay as they are for a while.
//!
//! The daemon makes the plan and carries it out, since it is the one writer; the command shows the plan and asks. Nothing is
//! sent before it is confirmed.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use zonewright_api::{JournalStart, Pinned, PinnedNames, Pins, PlanUndo, Undo, UndoResult, Unpin, Unpinned};
use zonewright_core::catalog::Settings;
use zonewright_core::clock::{Timestamp, utc};
use zonewright_core::{DnsName, Error, ErrorKind, Result};
use zonewright_engine::journal::Query;
use zonewright_engine::{Engine, Pin, UndoPlan, UndoReport, UndoRequest, UndoZone, saved_pins};

use crate::ask::{as_json, ask};
use crate::command_flags;
use crate::history::{moment, wrong};
use crate::journal::{nowhere, state_left_behind};
use crate::{output, state_dir};

/// What the daemon says of an undo that is only planned.
///
/// # Errors
/// Neither a time nor a plan is given; the journal cannot be read.
pub(crate) async fn plan(engine: &Engine, asked: PlanUndo) -> std::result::Result<zonewright_api::UndoPlan, String> {
    let PlanUndo { since, plan, zone, pin_for } = asked;
    if since.is_none() && plan.is_none() {
        return Err("expected since or plan".to_owned());
    }
    let query = Query { name: None, zone, since, plan };
    let request = UndoRequest { query, pin_for: Duration::from_millis(pin_for) };
    engine.plan_undo(&request).await.map(|plan| planned(&plan)).map_err(|error| error.chain())
}

fn planned(plan: &UndoPlan) -> zonewright_api::UndoPlan {
    let zone = |zone: &UndoZone| {
        let UndoZone { zone, changes, skipped, cut, .. } = zone.clone();
        zonewright_api::UndoZone { zone, changes, skipped, cut }
    };
    zonewright_api::UndoPlan {
        plan: plan.hash.clone(),
        groups: plan.len(),
        zones: plan.zones.iter().map(zone).collect(),
        hold: zonewright_core::duration::show(plan.pin_for),
        oldest: plan.reach.oldest.map(|at| JournalStart { at, utc: utc(at) }),
        dry_run: plan.dry_run,
    }
}

/// Carries out an undo that was shown.
///
/// # Errors
/// It is not the plan any more that was shown; nothing was done.
pub(crate) async fn carry_out(engine: &Engine, asked: &Undo) -> std::result::Result<UndoResult, String> {
    engine.undo(&asked.hash).await.map(done).map_err(|error| error.chain())
}

fn done(report: UndoReport) -> UndoResult {
    let UndoReport { restored, failed, dry, unsaved } = report;
    UndoResult { restored, failed, dry, unsaved }
}

/// The names that the daemon has pinned.
pub(crate) fn pinned_names(engine: &Engine) -> PinnedNames {
    PinnedNames { pinned: by_zone(engine.pins()), place: None }
}

fn by_zone(holds: Vec<(String, Pin)>) -> Vec<Pinned> {
    let pinned = |(zone, Pin { plan, since, until, names }): (String, Pin)| {
        let names = names.into_keys().collect();
        Pinned { zone, plan, since: utc(since), until: utc(until), names }
    };
    holds.into_iter().map(pinned).collect()
}

/// Ends pins.
///
/// # Errors
/// The name is not pinned.
pub(crate) fn unpin(engine: &Engine, asked: &Unpin) -> std::result::Result<Unpinned, String> {
    let names: Vec<DnsName> = engine.unpin(asked.name.as_ref()).into_iter().collect();
    match &asked.name {
        Some(name) if names.is_empty() => {
            Err(format!("{name} is not pinned; `zonewright pinned` shows the names that are"))
        }
        _ => Ok(Unpinned { names }),
    }
}

/// What `zonewright pinned` prints. Where no daemon answers, its saved state is read.
///
/// # Errors
/// No daemon answers, and there is no state of it either.
pub(crate) async fn pinned(settings: &Settings, now: Timestamp) -> Result<String> {
    let folder = state_dir::meant(settings);
    let reply = match ask(&folder, Pins {}).await {
        Err(error) if error.kind == ErrorKind::Unavailable => saved(settings, &folder, now).await?,
        reply => reply?,
    };
    if is_json(settings) {
        return Ok(as_json(&reply));
    }
    let shown = pinned_text(&reply.pinned, &command_flags::given(settings));
    let shown = if shown.is_empty() { "No name is pinned.\n".to_owned() } else { shown };
    let place = reply.place.map(|place| format!("State: {place} (no daemon answers).\n"));
    Ok(shown + &place.unwrap_or_default())
}

/// The pinned names of the state that a daemon saved, with its place.
async fn saved(settings: &Settings, folder: &Path, now: Timestamp) -> Result<PinnedNames> {
    let nowhere = || nowhere(settings, "saved state", folder);
    let store = state_left_behind(settings, folder).await?.ok_or_else(nowhere)?;
    let holds = saved_pins(&*store, now).await?.ok_or_else(nowhere)?;
    Ok(PinnedNames { pinned: by_zone(holds), place: Some(store.place()) })
}

fn is_json(settings: &Settings) -> bool {
    settings.text("output") == "json"
}

/// Pinned names as people read them.
pub(crate) fn pinned_text(pinned: &[Pinned], flags: &str) -> String {
    // Writing into a string cannot fail.
    let mut out = String::new();
    for Pinned { zone, plan, until, names, .. } in pinned {
        for name in names {
            let _ = writeln!(
                out,
                "{name} in zone {zone}: pinned until {until} by undo {plan}; unpin it with: zonewright undo --unpin {name}{flags}",
            );
        }
    }
    out
}

/// `zonewright undo`: shows the plan, asks, and has it carried out. Or unpins names, with `--unpin`.
///
/// # Errors
/// Flags that make no sense; no daemon answers; the plan could not be carried out.
pub(crate) async fn run(settings: &Settings, now: Timestamp) -> Result<ExitCode> {
    let given = |flag: &str| !settings.text(flag).is_empty();
    let ways: Vec<&str> = ["since", "plan", "unpin"].into_iter().filter(|flag| given(flag)).collect();
    if ways.len() != 1 {
        return Err(wrong("expected one of --since, --plan and --unpin"));
    }
    let folder = state_dir::meant(settings);
    if given("unpin") {
        let name = match settings.text("unpin") {
            "all" => None,
            name => Some(DnsName::parse(name).map_err(|problem| wrong(format!("{name:?}: {problem}")))?),
        };
        let reply = ask(&folder, Unpin { name }).await?;
        let count = reply.names.len();
        say(settings, &reply, &format!("{count} names are no longer pinned.\n"));
        return Ok(ExitCode::SUCCESS);
    }
    let pin_for = settings.duration("pin-for");
    if pin_for.is_zero() {
        return Err(wrong("--pin-for must be greater than 0, or the next round would revert the undo"));
    }
    let since = given("since").then(|| moment("since", settings.text("since"), now)).transpose()?;
    let some = |flag: &str| Some(settings.text(flag)).filter(|text| !text.is_empty());
    let request = PlanUndo {
        since,
        plan: some("plan").map(str::to_owned),
        zone: some("zone").map(str::to_owned),
        pin_for: u64::try_from(pin_for.as_millis()).unwrap_or(u64::MAX),
    };
    let plan = ask(&folder, request).await?;
    let late = since.filter(|since| plan.oldest.as_ref().is_none_or(|oldest| oldest.at > *since));
    say(settings, &plan, &shown(&plan, late));
    if plan.groups == 0 {
        // A plan that is not in the journal is a mistake; a time after which nothing was changed is an answer.
        let nothing = plan.zones.is_empty() && given("plan");
        return Ok(if nothing { ExitCode::FAILURE } else { ExitCode::SUCCESS });
    }
    if !settings.bool("yes") && !confirmed()? {
        return Ok(ExitCode::FAILURE);
    }
    ask_to_carry_out(settings, &folder, plan.plan).await
}

async fn ask_to_carry_out(settings: &Settings, folder: &Path, hash: String) -> Result<ExitCode> {
    let reply = ask(folder, Undo { hash }).await?;
    say(settings, &reply, &outcome(&reply));
    Ok(if reply.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn say(settings: &Settings, reply: &impl serde::Serialize, text: &str) {
    if is_json(settings) {
        output::print(as_json(reply))
    } else {
        output::print(text)
    };
}

/// Asks at the terminal; without one the answer is no.
fn confirmed() -> Result<bool> {
    let failed = |e| Error::new(ErrorKind::Unavailable, "ask at the terminal", "standard input").caused_by(e);
    if !std::io::stdin().is_terminal() {
        output::complain("Nothing was done: confirm with --yes.");
        return Ok(false);
    }
    write!(std::io::stderr(), "Carry this out? [y/N] ").map_err(failed)?;
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).map_err(failed)?;
    let yes = matches!(line.trim(), "y" | "Y" | "yes");
    if !yes {
        output::complain("Nothing was done.");
    }
    Ok(yes)
}

/// A plan as people read it; `late` is the moment that was asked for, if the journal does not go back to it.
fn shown(plan: &zonewright_api::UndoPlan, late: Option<Timestamp>) -> String {
    // Writing into a string cannot fail.
    let mut out = String::new();
    for zonewright_api::UndoZone { zone, changes, skipped, cut } in &plan.zones {
        if changes.is_empty() && skipped.is_empty() {
            continue;
        }
        let _ = writeln!(out, "zone {zone}");
        for change in changes {
            let _ = writeln!(out, "  {change}");
        }
        for name in cut {
            let _ = writeln!(out, "  {name} is restored only to the later change by another writer");
        }
        for (what, why) in skipped {
            let _ = writeln!(out, "  unchanged: {what}: {why}");
        }
    }
    if let Some(since) = late {
        let begins = |oldest: &JournalStart| format!("it begins at {}", oldest.utc);
        let oldest = plan.oldest.as_ref().map_or("it is empty".to_owned(), begins);
        let _ = writeln!(out, "The journal does not go back to {}: {oldest}.", utc(since));
    }
    match plan.groups {
        0 => out.push_str("There is nothing to undo.\n"),
        count => {
            let _ = writeln!(out, "Plan {}: {count} names will be restored and pinned for {}.", plan.plan, plan.hold);
        }
    }
    if plan.dry_run {
        out.push_str("The daemon runs with --dry-run: nothing would be sent.\n");
    }
    out
}

fn outcome(reply: &UndoResult) -> String {
    let mut out = String::new();
    for (what, why) in &reply.failed {
        let _ = writeln!(out, "failed: {what}: {why}");
    }
    if let Some(why) = &reply.unsaved {
        let _ = writeln!(out, "The pins could not be saved and would be lost at a restart: {why}");
    }
    let _ = match (reply.dry, reply.restored.len()) {
        (0, count) => writeln!(out, "{count} names were restored and pinned; `zonewright pinned` shows them."),
        (dry, _) => writeln!(out, "Dry run: {dry} names would have been restored; nothing was sent."),
    };
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_as_people_read_it() {
        let name = |text: &str| DnsName::parse(text).unwrap();
        assert_eq!(shown(&zonewright_api::UndoPlan::default(), None), "There is nothing to undo.\n");
        let quiet = zonewright_api::UndoZone { zone: "i/quiet".to_owned(), ..zonewright_api::UndoZone::default() };
        let busy = zonewright_api::UndoZone {
            zone: "i/example".to_owned(),
            changes: vec!["- x.example 60 A 192.0.2.1".to_owned()],
            skipped: vec![("y.example A".to_owned(), "gone".to_owned())],
            cut: vec![name("x.example")],
        };
        let plan = zonewright_api::UndoPlan {
            plan: "abc".to_owned(),
            groups: 1,
            zones: vec![quiet, busy],
            hold: "24h0m0s".to_owned(),
            oldest: Some(JournalStart { at: Timestamp(5_000), utc: "1970-01-01T00:00:05Z".to_owned() }),
            dry_run: true,
        };
        assert_eq!(
            shown(&plan, Some(Timestamp(1_000))),
            "zone i/example\n  - x.example 60 A 192.0.2.1\n  \
             x.example is restored only to the later change by another writer\n  \
             unchanged: y.example A: gone\n\
             The journal does not go back to 1970-01-01T00:00:01Z: it begins at 1970-01-01T00:00:05Z.\n\
             Plan abc: 1 names will be restored and pinned for 24h0m0s.\n\
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
            outcome(&done(report)),
            "failed: - y.example: refused\nThe pins could not be saved and would be lost at a restart: no room\n\
             1 names were restored and pinned; `zonewright pinned` shows them.\n"
        );
        let dry = UndoReport { dry: 3, ..UndoReport::default() };
        assert_eq!(outcome(&done(dry)), "Dry run: 3 names would have been restored; nothing was sent.\n");
    }

    #[test]
    fn pinned_names_as_people_read_them() {
        let names = vec![DnsName::parse("a.example").unwrap()];
        let until = "2026-01-01T00:00:00Z".to_owned();
        let pinned = Pinned { zone: "i/z".to_owned(), plan: "abc".to_owned(), since: String::new(), until, names };
        assert_eq!(
            pinned_text(&[pinned], ""),
            "a.example in zone i/z: pinned until 2026-01-01T00:00:00Z by undo abc; unpin it with: zonewright undo --unpin \
             a.example\n"
        );
    }
}
