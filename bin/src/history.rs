//! `zonewright history`: what was changed, when, why, and what became of it.
//!
//! The daemon answers; where none does, its journal is read: the folder, or the ConfigMaps of the cluster at hand. The newest
//! entry comes first, times are in UTC.

use std::fmt::Write as _;

use zonewright_api::{ChangedRecord, ClaimChange, History, HistoryAnswer, HistoryEntry};
use zonewright_core::catalog::Settings;
use zonewright_core::clock::{Timestamp, utc};
use zonewright_core::duration::{self, Units};
use zonewright_core::{DnsName, Error, ErrorKind, Result};
use zonewright_engine::Engine;
use zonewright_engine::journal::{self, Handover, JournalReach, JournalRecord, Query};

use crate::ask::{as_json, ask};
use crate::journal::{left_behind, nowhere};
use crate::state_dir;

pub(crate) fn wrong(text: impl Into<String>) -> Error {
    Error::new(ErrorKind::Configuration, "read the flags", text)
}

/// A moment as people give it: RFC 3339, or how long ago.
///
/// # Errors
/// A sentence that names the flag.
pub(crate) fn moment(flag: &str, text: &str, now: Timestamp) -> Result<Timestamp> {
    if let Ok(at) = text.parse::<jiff::Timestamp>() {
        return Ok(Timestamp(at.as_millisecond()));
    }
    let ago = duration::parse(text, Units::DaysAndWeeks).ok().filter(|ago| !ago.negative);
    let ago = ago.ok_or_else(|| {
        wrong(format!("--{flag} {text:?}: expected a time such as 2026-01-31T12:00:00Z, or how long ago, such as 30m"))
    })?;
    Ok(Timestamp(now.0.saturating_sub(i64::try_from(ago.length.as_millis()).unwrap_or(i64::MAX))))
}

fn query(asked: &History) -> Query {
    let History { name, zone, since, plan, .. } = asked.clone();
    Query { name, zone, since, plan }
}

/// The daemon's answer.
///
/// # Errors
/// The journal cannot be read.
pub(crate) async fn reply(engine: &Engine, asked: History) -> std::result::Result<HistoryAnswer, String> {
    match engine.history(&query(&asked), asked.limit.unwrap_or(usize::MAX)).await {
        Ok((entries, reach)) => Ok(answer(&engine.journal_place(), &entries, reach)),
        Err(error) => Err(error.chain()),
    }
}

fn answer(place: &str, entries: &[JournalRecord], reach: JournalReach) -> HistoryAnswer {
    HistoryAnswer {
        place: place.to_owned(),
        oldest: reach.oldest.map(utc),
        unreadable: reach.unreadable,
        entries: entries.iter().map(entry).collect(),
    }
}

fn entry(record: &JournalRecord) -> HistoryEntry {
    let (entry, closing) = (&record.entry, record.closing.as_ref());
    let changes = entry.steps.iter().filter_map(|step| {
        let change = step.change()?;
        let (text, verb) = (change.to_string(), change.verb().to_owned());
        Some(ChangedRecord { text, verb, claim: step.claim, from: step.from.clone(), to: step.to.clone() })
    });
    HistoryEntry {
        id: entry.id,
        time: utc(entry.at),
        zone: entry.zone.clone(),
        name: entry.name.clone(),
        plan: entry.plan.clone(),
        cause: entry.cause.as_str().to_owned(),
        changes: changes.collect(),
        claims: entry.handed.iter().map(claim).collect(),
        objects: entry.objects.iter().map(ToString::to_string).collect(),
        outcome: closing.map_or("not known", |closing| closing.verdict.as_str()).to_owned(),
        found: closing.is_some_and(|closing| closing.found),
        error: closing.and_then(|closing| closing.error.clone()),
    }
}

fn claim(one: &Handover) -> ClaimChange {
    let resource = one.has.resource.as_ref().or(one.had.resource.as_ref());
    ClaimChange {
        text: one.to_string(),
        record: one.key.to_string(),
        from: one.had.owner.as_ref().map(ToString::to_string),
        to: one.has.owner.as_ref().map(ToString::to_string),
        resource: resource.map(ToString::to_string),
    }
}

/// What `zonewright history` prints.
///
/// # Errors
/// Flags that make no sense; no daemon answers, and there is no journal either.
pub(crate) async fn show(settings: &Settings, name: &str, now: Timestamp) -> Result<String> {
    let limit = usize::try_from(settings.int("limit")).ok().filter(|limit| *limit > 0);
    let limit = limit.ok_or_else(|| wrong("--limit must be greater than 0"))?;
    let parse = |name: &str| DnsName::parse(name).map_err(|problem| wrong(format!("{name:?}: {problem}")));
    let some = |flag: &str| Some(settings.text(flag)).filter(|text| !text.is_empty());
    let asked = History {
        name: Some(name).filter(|name| !name.is_empty()).map(parse).transpose()?,
        zone: some("zone").map(str::to_owned),
        since: some("since").map(|since| moment("since", since, now)).transpose()?,
        plan: some("plan").map(str::to_owned),
        limit: Some(limit),
    };
    let folder = state_dir::meant(settings);
    let reply = match ask(&folder, asked.clone()).await {
        Err(error) if error.kind == ErrorKind::Unavailable => match left_behind(settings, &folder).await? {
            Some(store) => {
                let (entries, reach) = journal::last(&*store, &query(&asked), limit).await?;
                answer(&format!("{} (no daemon answers)", store.place()), &entries, reach)
            }
            None => return Err(nowhere(settings, "journal", &folder)),
        },
        reply => reply?,
    };
    Ok(if settings.text("output") == "json" { as_json(&reply) } else { table(&reply) })
}

/// A reply as people read it: a line for each record and each claim that changes hands; texts of claims only where nothing else
/// changed.
fn table(reply: &HistoryAnswer) -> String {
    let mut rows = vec![["TIME", "OUTCOME", "PLAN", "CHANGE"].map(str::to_owned)];
    for entry in &reply.entries {
        let HistoryEntry { time, outcome, plan, .. } = entry;
        let outcome = if entry.found { format!("{outcome} (found)") } else { outcome.clone() };
        let plan = if entry.cause == "round" { plan.clone() } else { format!("{plan} ({})", entry.cause) };
        let why = entry.objects.join(", ");
        let why = if why.is_empty() { why } else { format!("  for {why}") };
        let error = entry.error.as_ref().map(|error| format!("  ({error})")).unwrap_or_default();
        rows.extend(
            lines(entry).map(|text| [time.clone(), outcome.clone(), plan.clone(), format!("{text}{why}{error}")]),
        );
    }
    let width = |column: usize| rows.iter().map(|row| row.get(column).map_or(0, String::len)).max().unwrap_or(0);
    let (time, outcome, plan) = (width(0), width(1), width(2));
    // Writing into a string cannot fail.
    let mut out = String::new();
    if rows.len() == 1 {
        out.push_str("No change is written down that fits.\n");
    } else {
        for [at, what, whose, change] in &rows {
            let _ = writeln!(out, "{at:time$}  {what:outcome$}  {whose:plan$}  {change}");
        }
    }
    let HistoryAnswer { place, oldest, unreadable, .. } = reply;
    let reach = oldest.as_ref().map_or_else(|| "it is empty".to_owned(), |at| format!("it goes back to {at}"));
    let _ = writeln!(out, "Journal: {place}; {reach}.");
    if *unreadable > 0 {
        let _ = writeln!(out, "{unreadable} lines of it could not be read.");
    }
    out
}

/// Records and claims that change hands; the texts of claims where there is neither.
fn lines(entry: &HistoryEntry) -> impl Iterator<Item = &str> {
    let records = || entry.changes.iter().filter(|change| !change.claim);
    let bare = entry.claims.is_empty() && records().next().is_none();
    let texts = entry.changes.iter().filter(move |change| !change.claim || bare).map(|change| change.text.as_str());
    texts.chain(entry.claims.iter().map(|claim| claim.text.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_as_people_give_them() {
        let now = Timestamp(1_800_000_000_000);
        let check = |text: &str, expected: Option<i64>| {
            assert_eq!(moment("since", text, now).ok().map(|at| at.0), expected, "{text}");
        };
        check("30m", Some(1_799_998_200_000));
        check("1d", Some(1_799_913_600_000));
        check("0", Some(1_800_000_000_000));
        check("2027-01-15T08:00:00Z", Some(1_800_000_000_000));
        check("2027-01-15T09:00:00.5+01:00", Some(1_800_000_000_500));
        for wrong in ["", "30", "-5m", "yesterday", "2027-01-15"] {
            check(wrong, None);
        }
    }

    fn change(text: &str, claim: bool) -> ChangedRecord {
        ChangedRecord { text: text.to_owned(), verb: "update".to_owned(), claim, from: None, to: None }
    }

    fn entry(time: &str, cause: &str, outcome: &str, changes: Vec<ChangedRecord>) -> HistoryEntry {
        HistoryEntry {
            id: 1,
            time: time.to_owned(),
            zone: "i/example".to_owned(),
            name: DnsName::parse("x.example").unwrap(),
            plan: "abc".to_owned(),
            cause: cause.to_owned(),
            changes,
            claims: vec![],
            objects: vec![],
            outcome: outcome.to_owned(),
            found: false,
            error: None,
        }
    }

    #[test]
    fn a_table_with_records_first_and_its_reach() {
        let record = change("~ x.example A 192.0.2.2 (was 192.0.2.1)", false);
        let claim = change("~ a-x.example TXT ...", true);
        let undone = HistoryEntry {
            error: Some("bad".to_owned()),
            objects: vec!["Service ns/a".to_owned()],
            ..entry("2026-01-02T00:00:00Z", "undo", "refused", vec![claim.clone(), record])
        };
        let found = HistoryEntry {
            plan: "def".to_owned(),
            found: true,
            ..entry("2026-01-01T00:00:00Z", "round", "applied", vec![claim])
        };
        let reply = HistoryAnswer {
            place: "/state/journal".to_owned(),
            oldest: Some("2026-01-01T00:00:00Z".to_owned()),
            unreadable: 2,
            entries: vec![undone, found],
        };
        assert_eq!(
            table(&reply),
            "TIME                  OUTCOME          PLAN        CHANGE\n\
             2026-01-02T00:00:00Z  refused          abc (undo)  ~ x.example A 192.0.2.2 (was 192.0.2.1)  for Service ns/a  (bad)\n\
             2026-01-01T00:00:00Z  applied (found)  def         ~ a-x.example TXT ...\n\
             Journal: /state/journal; it goes back to 2026-01-01T00:00:00Z.\n2 lines of it could not be read.\n"
        );
        let nothing = table(&HistoryAnswer { place: "memory only".to_owned(), ..HistoryAnswer::default() });
        assert_eq!(nothing, "No change is written down that fits.\nJournal: memory only; it is empty.\n");
    }

    #[test]
    fn claims_that_change_hands_are_in_words() {
        let text = "claim of x.example A: owner old -> new".to_owned();
        let claim = ClaimChange { text, record: "x.example A".to_owned(), from: None, to: None, resource: None };
        let changes = vec![change("~ a-x.example TXT owner=new", true)];
        let handed =
            HistoryEntry { claims: vec![claim], ..entry("2026-01-01T00:00:00Z", "transfer", "applied", changes) };
        let shown = table(&HistoryAnswer { entries: vec![handed], ..HistoryAnswer::default() });
        assert!(shown.contains("applied  abc (transfer)  claim of x.example A: owner old -> new\n"), "{shown}");
        assert!(!shown.contains("TXT"), "{shown}");
    }
}
