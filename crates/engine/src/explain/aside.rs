//! Causes that lie before the desired table: what objects say, and what keeps it from being read.

use std::collections::{BTreeMap, VecDeque};

use zonewright_core::clock::utc;
use zonewright_core::explain::{Cause, Consideration, Dropped, Finding, Subject, UnreadAnnotation};
use zonewright_core::name::DnsName;

use crate::context::EngineContext;

/// The cause where an object asks for no name at all.
pub(super) fn of_object(context: &EngineContext, subject: &Subject, considered: &[Consideration]) -> Finding {
    let read = read_sources(context);
    let about = |object: &str| vec![("object", object.to_owned()), ("name", String::new()), ("detail", read.clone())];
    let Some(first) = considered.first() else {
        let about = about(&subject.to_string());
        let subject = subject.to_string();
        let before = not_ready(context, &subject).or_else(|| unread_kinds(context, &subject));
        return before.unwrap_or_else(|| Finding::new(Cause::NoSuchObject, about));
    };
    let said = considered.iter().find_map(|one| by_objects(None, one).pop_front());
    said.unwrap_or_else(|| {
        let mut about = about(&first.considered.object);
        about.push(("expected", "external-dns.kubernetes.io/hostname".to_owned()));
        Finding::new(Cause::NoNames, about)
    })
}

/// What an object says of why it does not ask for a name, or for any.
pub(super) fn by_objects(name: Option<&DnsName>, one: &Consideration) -> VecDeque<Finding> {
    let considered = &one.considered;
    let object = &considered.object;
    let title = name.map_or_else(|| "its names".to_owned(), ToString::to_string);
    let mut out = VecDeque::new();
    let concerned = |names: &[DnsName]| name.is_none_or(|name| names.is_empty() || names.contains(name));
    for Dropped { cause, by, .. } in considered.dropped.iter().filter(|dropped| concerned(&dropped.names)) {
        out.push_back(Finding::new(*cause, [("name", &title), ("object", object), ("flag", by), ("value", by)]));
    }
    for UnreadAnnotation { key, value, cause, expected } in &considered.unread {
        let asks = name.is_none_or(|name| mentions(value, name));
        if !asks {
            continue;
        }
        let (shown, expected) = match cause {
            Cause::OtherPrefix => (expected.clone(), "the prefix in force".to_owned()),
            _ => (format!("{key}={value}"), expected.clone()),
        };
        let about = [("name", title.clone()), ("object", object.clone()), ("value", shown), ("expected", expected)];
        out.push_back(Finding::new(*cause, about));
    }
    for note in &considered.notes {
        let Some((reason, message)) = note.split_once(": ") else { continue };
        let Some(cause) = Cause::of_note(reason) else { continue };
        if name.is_none_or(|name| mentions(message, name)) || cause == Cause::TemplateFailed {
            out.push_back(Finding::new(cause, [("name", &*title), ("object", object), ("detail", message)]));
        }
    }
    out
}

/// An object asks for the name, and none of its targets is one.
pub(super) fn invalid_targets(name: &DnsName, one: &Consideration) -> Option<Finding> {
    one.mapped.pending.iter().find(|pending| pending.name == *name)?;
    let about = |message: &str| {
        [("name", name.to_string()), ("object", one.considered.object.clone()), ("detail", message.to_owned())]
    };
    let notes = one.considered.notes.iter().filter_map(|note| note.split_once(": "));
    let wrong = |reason: &str| Cause::of_note(reason) == Some(Cause::InvalidTarget);
    notes
        .into_iter()
        .find(|(reason, _)| wrong(reason))
        .map(|(_, message)| Finding::new(Cause::InvalidTarget, about(message)))
}

/// Whether a text holds a name as a word of its own.
pub(super) fn mentions(text: &str, name: &DnsName) -> bool {
    let name = name.to_string();
    let part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '*');
    text.to_lowercase().split(|c: char| !part(c)).any(|word| word.trim_end_matches('.') == name)
}

/// Why nothing can be said for certain yet: planning has not begun.
pub(super) fn not_ready(context: &EngineContext, name: &str) -> Option<Finding> {
    if context.has_started() {
        return None;
    }
    let desired_state = context.desired_state();
    let unread = desired_state.evidence.kinds.iter().filter(|(_, state)| !state.complete);
    let unread: Vec<String> = unread.map(|(kind, _)| kind.to_string()).collect();
    let detail = if unread.is_empty() { "everything".to_owned() } else { unread.join(", ") };
    Some(Finding::new(Cause::NotStarted, [("name", name.to_owned()), ("detail", detail)]))
}

/// Kinds that cannot be read, if there are any.
pub(super) fn unread_kinds(context: &EngineContext, name: &str) -> Option<Finding> {
    let desired_state = context.desired_state();
    let errors = &desired_state.errors;
    let unread = desired_state.evidence.kinds.iter().filter(|(_, state)| !state.is_evidence());
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (kind, _) in unread {
        let why = errors.unread.get(kind).map_or("not read to the end", String::as_str);
        by_reason.entry(why).or_default().push(kind);
    }
    if by_reason.is_empty() {
        return None;
    }
    let detail: Vec<String> = by_reason.iter().map(|(why, kinds)| format!("{}: {why}", kinds.join(", "))).collect();
    Some(Finding::new(Cause::KindUnread, [("name", name.to_owned()), ("detail", detail.join("; "))]))
}

/// Objects that may ask for any name, since it cannot be determined for which; a few of them.
pub(super) fn unknown(context: &EngineContext) -> Vec<Finding> {
    let desired_state = context.desired_state();
    let verdict = |(object, reason): (String, &str)| {
        Finding::new(Cause::TemplateFailed, [("object", &*object), ("detail", reason)])
    };
    desired_state.table.unknowns().take(3).map(verdict).collect()
}

/// What is read, for people: kinds with their numbers, and the namespace where it is only one.
pub(super) fn read_sources(context: &EngineContext) -> String {
    let reach = &context.config.reach;
    let only = if reach.is_empty() { String::new() } else { format!(", of the namespace of {reach} alone") };
    let desired_state = context.desired_state();
    let kinds = desired_state.evidence.kinds.iter();
    let kinds: Vec<String> = kinds.map(|(kind, state)| format!("{} {kind}", state.objects)).collect();
    if kinds.is_empty() { "no kinds at all".to_owned() } else { kinds.join(", ") + &only }
}

/// An object asks for the name and has no targets.
pub(super) fn pending(context: &EngineContext, name: &DnsName) -> Option<Finding> {
    let grace = context.config.status_grace;
    let desired_state = context.desired_state();
    let asked = desired_state.table.at(name);
    let (pending, since) = asked.pending.first()?;
    let object = desired_state.table.who_waits(name);
    let about = [
        ("name", name.to_string()),
        ("object", object.unwrap_or_else(|| pending.resource.as_deref().unwrap_or("An object").to_owned())),
        ("detail", pending.reason.clone()),
        ("when", utc(since.plus(grace))),
    ];
    Some(Finding::new(Cause::PendingTargets, about))
}
