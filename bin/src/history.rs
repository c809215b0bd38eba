//! `zonewright history`: what was changed, when, why, and what became of it.
//!
//! The daemon answers; where none does, its journal is read: the folder, or the ConfigMaps of the cluster at hand. The newest
//! entry comes first, times are in UTC.

use std::fmt::Write as _;

use serde_json::{Value, json};
use zonewright_core::catalog::Settings;
use zonewright_core::clock::{Timestamp, utc};
use zonewright_core::duration::{self, Units};
use zonewright_core::{DnsName, Error, ErrorKind, Result};
use zonewright_engine::Engine;
use zonewright_engine::journal::{self, Handover, JournalRecord, Query, Reach};

use crate::control;
use crate::journal::{left_behind, nowhere};

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

/// A query as it goes over the socket.
pub(crate) fn asked(query: &Query) -> Value {
    json!({ "name": query.name, "zone": query.zone, "since": query.since, "plan": query.plan })
}

/// A query that came over the socket.
///
/// # Errors
/// What does not make sense.
pub(crate) fn query(request: &Value) -> Result<Query, String> {
    let text = |key: &str| request[key].as_str().map(str::to_owned);
    let name = text("name").map(|name| DnsName::parse(&name).map_err(|problem| format!("name {name:?}: {problem}")));
    let since = request["since"].as_i64().map(Timestamp);
    Ok(Query { name: name.transpose()?, zone: text("zone"), since, plan: text("plan") })
}

/// The daemon's answer.
pub(crate) async fn reply(engine: &Engine, request: &Value) -> Value {
    let limit = request["limit"].as_u64().and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
    let query = match query(request) {
        Ok(query) => query,
        Err(problem) => return json!({ "error": problem }),
    };
    match engine.history(&query, limit).await {
        Ok((entries, reach)) => answer(&engine.journal_place(), &entries, reach),
        Err(error) => json!({ "error": error.chain() }),
    }
}

fn answer(place: &str, entries: &[JournalRecord], reach: Reach) -> Value {
    let entries: Vec<Value> = entries.iter().map(entry).collect();
    json!({
        "place": place,
        "oldest": reach.oldest.map(utc),
        "unreadable": reach.unreadable,
        "entries": entries,
    })
}

fn entry(told: &JournalRecord) -> Value {
    let (entry, closing) = (&told.entry, told.closing.as_ref());
    let changes: Vec<Value> = entry
        .steps
        .iter()
        .filter_map(|step| Some((step, step.change()?)))
        .map(|(step, change)| {
            let text = change.to_string();
            json!({ "text": text, "verb": change.verb(), "claim": step.claim, "from": step.from, "to": step.to })
        })
        .collect();
    let claim = |one: &Handover| {
        json!({
            "text": one.to_string(), "record": one.key.to_string(),
            "from": one.had.owner, "to": one.has.owner,
            "resource": one.has.resource.as_ref().or(one.had.resource.as_ref()),
        })
    };
    let claims: Vec<Value> = entry.handed.iter().map(claim).collect();
    let objects: Vec<String> = entry.objects.iter().map(ToString::to_string).collect();
    json!({
        "id": entry.id,
        "time": utc(entry.at),
        "zone": entry.zone,
        "name": entry.name,
        "plan": entry.plan,
        "cause": entry.cause.as_str(),
        "changes": changes,
        "claims": claims,
        "objects": objects,
        "outcome": closing.map_or("not known", |closing| closing.verdict.as_str()),
        "found": closing.is_some_and(|closing| closing.found),
        "error": closing.and_then(|closing| closing.error.clone()),
    })
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
    let query = Query {
        name: Some(name).filter(|name| !name.is_empty()).map(parse).transpose()?,
        zone: some("zone").map(str::to_owned),
        since: some("since").map(|since| moment("since", since, now)).transpose()?,
        plan: some("plan").map(str::to_owned),
    };
    let mut request = asked(&query);
    request["command"] = json!("history");
    request["limit"] = json!(limit);
    let folder = control::meant(settings);
    let reply = match control::ask(&folder, &request).await {
        Err(error) if error.kind == ErrorKind::Unavailable => match left_behind(settings, &folder).await? {
            Some(store) => {
                let (entries, reach) = journal::last(&*store, &query, limit).await?;
                answer(&format!("{} (no daemon answers)", store.place()), &entries, reach)
            }
            None => return Err(nowhere(settings, "journal", &folder)),
        },
        reply => reply?,
    };
    Ok(if settings.text("output") == "json" { format!("{reply}\n") } else { table(&reply) })
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn list(value: &Value, key: &str) -> Vec<Value> {
    value[key].as_array().cloned().unwrap_or_default()
}

/// A reply as people read it: a line for each record and each claim that changes hands; texts of claims only where nothing else
/// changed.
fn table(reply: &Value) -> String {
    let mut rows = vec![["TIME", "OUTCOME", "PLAN", "CHANGE"].map(str::to_owned)];
    for entry in list(reply, "entries") {
        let changes = list(&entry, "changes");
        let (claims, records): (Vec<Value>, Vec<Value>) =
            changes.into_iter().partition(|change| change["claim"] == true);
        let outcome = match (entry["found"] == true, entry["error"].as_str()) {
            (true, _) => format!("{} (found)", text(&entry, "outcome")),
            _ => text(&entry, "outcome").to_owned(),
        };
        let plan = match text(&entry, "cause") {
            "round" => text(&entry, "plan").to_owned(),
            cause => format!("{} ({cause})", text(&entry, "plan")),
        };
        let handed = list(&entry, "claims");
        let told = match (handed.is_empty(), records.is_empty()) {
            (false, _) => records.into_iter().chain(handed).collect(),
            (true, true) => claims,
            (true, false) => records,
        };
        for change in told {
            let why = list(&entry, "objects").iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ");
            let why = if why.is_empty() { why } else { format!("  for {why}") };
            let error = entry["error"].as_str().map(|error| format!("  ({error})")).unwrap_or_default();
            let change = format!("{}{why}{error}", text(&change, "text"));
            rows.push([text(&entry, "time").to_owned(), outcome.clone(), plan.clone(), change]);
        }
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
    let reach = reply["oldest"].as_str().map_or_else(|| "it is empty".to_owned(), |at| format!("it goes back to {at}"));
    let _ = writeln!(out, "Journal: {}; {reach}.", text(reply, "place"));
    if reply["unreadable"].as_u64().is_some_and(|count| count > 0) {
        let _ = writeln!(out, "{} lines of it could not be read.", reply["unreadable"]);
    }
    out
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

    #[test]
    fn a_query_survives_the_socket() {
        let query = Query {
            name: DnsName::parse("x.example").ok(),
            zone: Some("i/z".to_owned()),
            since: Some(Timestamp(7)),
            plan: Some("abc".to_owned()),
        };
        assert_eq!(super::query(&asked(&query)), Ok(query));
        assert_eq!(super::query(&json!({})), Ok(Query::default()));
        assert!(super::query(&json!({ "name": "a..b" })).is_err());
    }

    #[test]
    fn a_table_with_records_first_and_its_reach() {
        let record = json!({ "text": "~ x.example A 192.0.2.2 (was 192.0.2.1)", "claim": false });
        let claim = json!({ "text": "~ a-x.example TXT ...", "claim": true });
        let reply = json!({
            "place": "/state/journal", "oldest": "2026-01-01T00:00:00Z", "unreadable": 2,
            "entries": [
                { "time": "2026-01-02T00:00:00Z", "outcome": "refused", "plan": "abc", "cause": "undo", "error": "bad",
                  "changes": [claim, record], "objects": ["Service ns/a"] },
                { "time": "2026-01-01T00:00:00Z", "outcome": "applied", "found": true, "plan": "def", "cause": "round",
                  "changes": [claim], "objects": [] },
            ],
        });
        assert_eq!(
            table(&reply),
            "TIME                  OUTCOME          PLAN        CHANGE\n\
             2026-01-02T00:00:00Z  refused          abc (undo)  ~ x.example A 192.0.2.2 (was 192.0.2.1)  for Service ns/a  (bad)\n\
             2026-01-01T00:00:00Z  applied (found)  def         ~ a-x.example TXT ...\n\
             Journal: /state/journal; it goes back to 2026-01-01T00:00:00Z.\n2 lines of it could not be read.\n"
        );
        let nothing = table(&json!({ "place": "memory only", "entries": [], "oldest": null }));
        assert_eq!(nothing, "No change is written down that fits.\nJournal: memory only; it is empty.\n");
    }

    #[test]
    fn claims_that_change_hands_are_told_in_words() {
        let text = |owner: &str| json!({ "text": format!("~ a-x.example TXT owner={owner}"), "claim": true });
        let claim = json!({ "text": "claim of x.example A: owner old -> new", "record": "x.example A" });
        let reply = json!({
            "place": "p", "oldest": "2026-01-01T00:00:00Z",
            "entries": [{ "time": "2026-01-01T00:00:00Z", "outcome": "applied", "plan": "abc", "cause": "transfer",
                "changes": [text("new")], "claims": [claim], "objects": [] }],
        });
        let shown = table(&reply);
        assert!(shown.contains("applied  abc (transfer)  claim of x.example A: owner old -> new\n"), "{shown}");
        assert!(!shown.contains("TXT"), "{shown}");
    }
}
