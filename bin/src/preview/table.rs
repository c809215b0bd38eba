//! A plan as people read it: by zone, each change in a line with its object and reason.

use std::fmt::Write as _;

use zonewright_core::change::Change;
use zonewright_core::endpoint::ObjectRef;
use zonewright_core::record::RecordSet;
use zonewright_engine::{HeldDeletes, LeftAlone, Outcome, PlannedChange, ZonePreview};

use super::Preview;

/// The words of external-dns, which people look for.
const UP_TO_DATE: &str = "All records are already up to date";

/// So many of the deletes that are held are listed in a zone.
const HELD_SHOWN: usize = 50;

/// Columns for the name and for the data; what is longer moves the rest of its line.
const NAME: usize = 40;
const DATA: usize = 44;

/// What a colour stands for.
#[derive(Debug, Clone, Copy)]
enum Paint {
    Create,
    Update,
    Delete,
    Quiet,
    Held,
    Heading,
}

impl Paint {
    fn code(self) -> &'static str {
        match self {
            Self::Create => "32",
            Self::Update => "33",
            Self::Delete => "31",
            Self::Quiet => "2",
            Self::Held => "35",
            Self::Heading => "1",
        }
    }
}

/// Lines, with or without colours.
struct Page {
    out: String,
    colours: bool,
}

impl Page {
    fn line(&mut self, paint: Paint, text: &str) {
        // Writing into a string cannot fail.
        let _ = if self.colours {
            writeln!(self.out, "\x1b[{}m{text}\x1b[0m", paint.code())
        } else {
            writeln!(self.out, "{text}")
        };
    }
}

/// The plan; `colours`: with escape sequences.
pub(super) fn of(preview: &Preview, colours: bool) -> String {
    let mut page = Page { out: String::new(), colours };
    for one in &preview.zones {
        zone(&mut page, one, &preview.flags);
    }
    notes(&mut page, preview);
    for (heading, problems) in [("Not read", &preview.outcome.unread), ("Not written", &preview.outcome.unwritten)] {
        if !problems.is_empty() {
            page.line(Paint::Heading, heading);
            for problem in problems {
                page.line(Paint::Delete, &format!("  {problem}"));
            }
        }
    }
    if preview.outcome.is_up_to_date() {
        page.line(Paint::Create, UP_TO_DATE);
    }
    page.line(Paint::Heading, &last_line(&preview.outcome));
    page.out
}

/// `3 to create, 0 to update, 1 to delete, 2 left alone`, and whatever else there is.
pub(super) fn last_line(outcome: &Outcome) -> String {
    let Outcome { changes, held, refused, left_alone, unread, unwritten, .. } = outcome;
    let mut text = format!(
        "{} to create, {} to update, {} to delete, {left_alone} left alone",
        changes.created, changes.updated, changes.deleted
    );
    let more = [
        (changes.claims, "claims to change"),
        (*held, "held"),
        (*refused, "refused"),
        (unread.len(), "not read"),
        (unwritten.len(), "not written"),
    ];
    for (count, what) in more.into_iter().filter(|(count, _)| *count > 0) {
        let _ = write!(text, ", {count} {what}");
    }
    text
}

fn zone(page: &mut Page, zone: &ZonePreview, flags: &str) {
    let ZonePreview { title, changes, claims, left_alone, held, .. } = zone;
    if changes.is_empty() && claims.is_empty() && left_alone.is_empty() && held.is_none() {
        return;
    }
    page.line(Paint::Heading, &format!("zone {title}"));
    for planned in changes {
        change(page, planned);
    }
    for line in claims {
        page.line(Paint::Update, &format!("  claim {line}"));
    }
    for one in left_alone {
        left(page, one);
    }
    if let Some(one) = held {
        waiting(page, one, flags);
    }
}

fn change(page: &mut Page, planned: &PlannedChange) {
    let (paint, sign, set, was) = match &planned.change {
        Change::Create { to } => (Paint::Create, '+', to, None),
        Change::Update { from, to } => (Paint::Update, '~', to, Some(was(from, to))),
        Change::Delete { from } => (Paint::Delete, '-', from, None),
    };
    let data = format!("{}{}", set.data, was.unwrap_or_default());
    let by = by(&planned.objects, planned.resource.as_deref());
    page.line(paint, &format!("  {sign} {}  {by}{}", columns(set, &data), planned.reason));
}

/// What stood before an update, as far as it differs.
fn was(from: &RecordSet, to: &RecordSet) -> String {
    let ttl = from.ttl.filter(|ttl| to.ttl.is_some_and(|new| new != *ttl));
    match (ttl, from.data == to.data) {
        (Some(ttl), true) => format!(" (TTL was {ttl})"),
        (Some(ttl), false) => format!(" (was {ttl} {} {})", from.key.rtype, from.data),
        (None, true) => String::new(),
        (None, false) => format!(" (was {})", from.data),
    }
}

/// Name, TTL, type and data in columns.
fn columns(set: &RecordSet, data: &str) -> String {
    let ttl = set.ttl.map_or_else(|| "-".to_owned(), |ttl| ttl.to_string());
    let id = set.key.set_id.as_ref().map(|id| format!("({}) ", id.as_str())).unwrap_or_default();
    let data = format!("{id}{data}");
    format!("{:<NAME$} {ttl:>6} {:<5} {data:<DATA$}", set.key.name.to_string(), set.key.rtype.to_string())
}

/// Who asks, before the reason.
fn by(objects: &[ObjectRef], resource: Option<&str>) -> String {
    match (objects, resource) {
        ([], None) => String::new(),
        ([], Some(resource)) => format!("{resource}: "),
        (objects, _) => {
            let mut names: Vec<String> = objects.iter().take(3).map(ToString::to_string).collect();
            names.extend(objects.len().checked_sub(4).map(|more| format!("{} more", more + 1)));
            format!("{}: ", names.join(", "))
        }
    }
}

fn left(page: &mut Page, left: &LeftAlone) {
    let by = by(&left.objects, None);
    page.line(Paint::Quiet, &format!("  = {} is left alone: {by}{}", left.key, left.why));
}

fn waiting(page: &mut Page, held: &HeldDeletes, flags: &str) {
    page.line(Paint::Held, &format!("  ! {} deletes are held, since {}", held.count, held.reason));
    for set in held.sets.iter().take(HELD_SHOWN) {
        page.line(Paint::Held, format!("  ! {}", columns(set, &set.data.to_string())).trim_end());
    }
    let more = held.count.saturating_sub(held.sets.len().min(HELD_SHOWN));
    if more > 0 {
        page.line(Paint::Held, &format!("  ! and {more} more"));
    }
    let hash = &held.hash;
    page.line(
        Paint::Held,
        &format!("    plan {hash}: once the daemon holds it, approve it with: zonewright approve {hash}{flags}"),
    );
}

/// What would be reported on objects and no line says yet.
fn notes(page: &mut Page, preview: &Preview) {
    let said: Vec<&LeftAlone> = preview.zones.iter().flat_map(|zone| &zone.left_alone).collect();
    let known: std::collections::BTreeSet<&str> = said.iter().map(|left| left.why.as_str()).collect();
    let new = |message: &str| {
        let after_key = message.split_once(": ").map_or(message, |(_, rest)| rest);
        !known.contains(after_key) && !known.contains(message)
    };
    let mut notes = preview.notes.iter().filter(|note| new(&note.message)).peekable();
    if notes.peek().is_some() {
        page.line(Paint::Heading, "Other notes on objects");
    }
    for note in notes {
        page.line(Paint::Quiet, &format!("  {}: {}: {}", note.object, note.reason, note.message));
    }
}

#[cfg(test)]
mod tests {
    use zonewright_core::endpoint::{Note, TypeMeta, Uid};
    use zonewright_core::testing::{name, set};
    use zonewright_core::zone::{InstanceId, Zone};
    use zonewright_engine::{Changes, PassProblem};

    use super::*;

    fn object(who: &str) -> ObjectRef {
        let types = TypeMeta::new("v1", "Service");
        ObjectRef { types, namespace: "shop".into(), name: who.into(), uid: Uid::default() }
    }

    fn planned(change: Change, objects: &[&str], resource: Option<&str>, reason: &str) -> PlannedChange {
        let objects = objects.iter().map(|who| object(who)).collect();
        PlannedChange { change, objects, resource: resource.map(str::to_owned), reason: reason.to_owned() }
    }

    fn preview() -> Preview {
        let create = Change::Create { to: set("a.example A ttl=60 192.0.2.1") };
        let (from, to) = (set("b.example A ttl=60 192.0.2.1"), set("b.example A ttl=300 192.0.2.2"));
        let delete = Change::Delete { from: set("c.example A ttl=60 192.0.2.3") };
        let changes = vec![
            planned(create, &["a"], Some("service/shop/a"), "no record stands there"),
            planned(Change::Update { from, to }, &["b", "c", "d", "e", "f"], None, "the data and the TTL differ"),
            planned(delete, &[], Some("service/shop/c"), "no object requests it any more"),
        ];
        let left = LeftAlone {
            key: set("d.example A 192.0.2.4").key,
            reason: "ForeignRecord".to_owned(),
            why: "it is not ours".to_owned(),
            objects: vec![object("d")],
        };
        let held = HeldDeletes {
            hash: "3f2a".to_owned(),
            reason: "there are many".to_owned(),
            sets: vec![set("e.example A ttl=60 192.0.2.5")],
            count: 2,
        };
        let zone = ZonePreview {
            zone: Zone::new(&InstanceId::from("rfc2136"), "example", name("example")),
            title: "example".to_owned(),
            changes,
            claims: vec!["= x".to_owned()],
            left_alone: vec![left],
            held: Some(held),
        };
        let notes = vec![
            Note::warning(&object("d"), "ForeignRecord", "d.example A: it is not ours"),
            Note::warning(&object("x"), "InvalidHostname", "a_b is no host name"),
        ];
        let changes = Changes { created: 1, updated: 1, deleted: 1, claims: 1 };
        let unread = vec![PassProblem { what: "services".to_owned(), why: "no answer".to_owned() }];
        let outcome = Outcome { changes, held: 2, left_alone: 1, unread, dry_run: true, ..Outcome::default() };
        Preview { flags: " --txt-owner-id=me".to_owned(), zones: vec![zone], notes, outcome }
    }

    #[test]
    fn a_plan_as_people_read_it() {
        let squeezed = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let text = of(&preview(), false);
        assert_eq!(
            text.lines().map(squeezed).collect::<Vec<_>>(),
            [
                "zone example",
                "+ a.example 60 A 192.0.2.1 Service shop/a: no record stands there",
                "~ b.example 300 A 192.0.2.2 (was 60 A 192.0.2.1) Service shop/b, Service shop/c, Service shop/d, 2 more: the \
                 data and the TTL differ",
                "- c.example 60 A 192.0.2.3 service/shop/c: no object requests it any more",
                "claim = x",
                "= d.example A is left alone: Service shop/d: it is not ours",
                "! 2 deletes are held, since there are many",
                "! e.example 60 A 192.0.2.5",
                "! and 1 more",
                "plan 3f2a: once the daemon holds it, approve it with: zonewright approve 3f2a --txt-owner-id=me",
                "Other notes on objects",
                "Service shop/x: InvalidHostname: a_b is no host name",
                "Not read",
                "services: no answer",
                "1 to create, 1 to update, 1 to delete, 1 left alone, 1 claims to change, 2 held, 1 not read",
            ]
        );
        assert!(!text.contains('\x1b') && !text.contains(UP_TO_DATE));
    }

    #[test]
    fn colours_only_where_they_are_asked_for() {
        let text = of(&preview(), true);
        assert!(text.contains("\x1b[32m  + a.example") && text.contains("\x1b[31m  - c.example"), "{text}");
        let plain: String =
            text.split('\x1b').map(|part| part.split_once('m').map_or(part, |(_, rest)| rest)).collect();
        assert_eq!(plain.lines().count(), of(&preview(), false).lines().count());
    }

    #[test]
    fn up_to_date_is_said_only_where_it_is_so() {
        let nothing = |outcome| Preview { flags: String::new(), zones: Vec::new(), notes: Vec::new(), outcome };
        let text = of(&nothing(Outcome { dry_run: true, ..Outcome::default() }), false);
        assert_eq!(text, format!("{UP_TO_DATE}\n0 to create, 0 to update, 0 to delete, 0 left alone\n"));
        for outcome in [
            Outcome { left_alone: 1, ..Outcome::default() },
            Outcome { held: 1, ..Outcome::default() },
            Outcome { unfinished: true, ..Outcome::default() },
        ] {
            assert!(!of(&nothing(outcome), false).contains(UP_TO_DATE));
        }
    }

    #[test]
    fn an_update_says_what_was() {
        let check = |from, to, expected: &str| assert_eq!(was(&set(from), &set(to)), expected);
        check("a.example A ttl=60 192.0.2.1", "a.example A ttl=90 192.0.2.1", " (TTL was 60)");
        check("a.example A ttl=60 192.0.2.1", "a.example A ttl=60 192.0.2.2", " (was 192.0.2.1)");
        check("a.example A ttl=60 192.0.2.1", "a.example A ttl=60 192.0.2.1", "");
    }
}
