//! An explanation as people read it: the cause and what to do first, then what was found on the way.

use std::fmt::Write as _;

use zonewright_core::explain::{
    Considered, Dropped, Explanation, Finding, NameExplanation, PublishedSet, UnreadAnnotation, ZoneExplanation,
};

/// The whole text.
pub(super) fn shown(explanation: &Explanation) -> String {
    let Explanation { subject, verdict, place, objects, names, more_names } = explanation;
    // Writing into a string cannot fail.
    let mut out = String::new();
    said(&mut out, verdict, "");
    let _ = writeln!(out, "\nWhat {place} finds of {subject}:");
    for object in objects {
        considered(&mut out, object);
    }
    if objects.is_empty() {
        out.push_str("  no object that is read has to do with it\n");
    }
    for name in names {
        of_name(&mut out, name, names.len() > 1);
    }
    if *more_names > 0 {
        let _ = writeln!(out, "  {more_names} more names; ask for one of them by its name");
    }
    out
}

fn said(out: &mut String, verdict: &Finding, indent: &str) {
    let _ = writeln!(out, "{indent}{}\n{indent}{}", verdict.sentence, verdict.advice);
}

fn list(out: &mut String, title: &str, lines: &[String]) {
    for line in lines {
        let _ = writeln!(out, "    {title} {line}");
    }
}

fn considered(out: &mut String, object: &Considered) {
    let Considered { object, source, asks, pending, read, unread, dropped, notes, names: _ } = object;
    let _ = writeln!(out, "  {object} (source {source})");
    list(out, "asks for", asks);
    list(out, "waits for targets:", pending);
    list(out, "annotation read:", read);
    for UnreadAnnotation { key, value, expected, .. } in unread {
        let _ = writeln!(out, "    annotation not read: {key}={value} (known: {expected})");
    }
    for Dropped { cause, by, .. } in dropped {
        let _ = writeln!(out, "    left out: {} by {by}", cause.row().word);
    }
    list(out, "reported:", notes);
}

fn of_name(out: &mut String, name: &NameExplanation, several: bool) {
    let NameExplanation { name, verdict, further, zones } = name;
    if several {
        let _ = writeln!(out, "  {name}");
        said(out, verdict, "    ");
    }
    for verdict in further {
        let _ = writeln!(out, "  also: {}", verdict.sentence);
    }
    if zones.is_empty() {
        let _ = writeln!(out, "  {name} lies in no zone that is served");
    }
    for zone in zones {
        of_zone(out, zone);
    }
}

fn of_zone(out: &mut String, zone: &ZoneExplanation) {
    if !zone.chosen {
        let _ = writeln!(out, "  zone {}: the name belongs to a zone below it", zone.zone);
        return;
    }
    let _ = writeln!(out, "  zone {}", zone.zone);
    list(out, "shall stand:", &zone.wanted);
    for PublishedSet { record, owner, resource, claims, since, by } in &zone.published {
        let of = resource.as_ref().map(|resource| format!(" for {resource}")).unwrap_or_default();
        let _ =
            writeln!(out, "    stands: {record}; owner: {owner}{of}; claims are looked for at {}", claims.join(", "));
        if let Some(since) = since {
            let _ = writeln!(out, "      written {since} by {}", by.join(", "));
        }
    }
    if zone.published.is_empty() {
        out.push_str("    nothing stands at the name\n");
    }
    if let Some(deleted) = &zone.deleted {
        let _ = writeln!(out, "    deleted {deleted}");
    }
    list(out, "left undone:", &zone.left_undone);
    list(out, "noted:", &zone.notes);
    if let Some(held) = &zone.held {
        let _ = writeln!(out, "    held in plan {} since {}: {}", held.hash, held.since, held.reason);
    }
    if let Some(parked) = &zone.parked {
        let _ = writeln!(out, "    tried {} times, again at {}", parked.attempts, parked.next);
    }
    if let Some(error) = &zone.trouble {
        let _ = writeln!(out, "    the zone does not work: {error}");
    }
    if let Some(answer) = &zone.last_answer {
        let _ = writeln!(out, "    last answer: {answer}");
    }
    list(out, "the server answers now:", &zone.served);
}
